//! A private key behind its header, read token by token.
//!
//! ```text
//! -----BEGIN … -----\nProc-Type: 4,ENCRYPTED\n     2→MIIEow…\n-----END … -----
//!       header      gap        key          gap      key   gap     key
//! ```
//! A header alone makes no key: people write about keys. So only what looks like a body is covered:
//! lines that are one run of base64, with the numbers and signs that tools put before them, and
//! long runs wherever they are. Line ends are also known as JSON writes them (`\n`, `\\n`).
//!
//! Not here: covering, and what of a cover must stay.
//!
//! Invariant: no token has a quote or a half of an escape in it that is covered.
//! Invariant: a token is decided by [`LOOK_BYTES_MAX`], whatever comes behind them.

use std::{ops::Range, sync::LazyLock};

use regex::bytes::Regex;
use regex_automata::{Anchored, Input, meta, util::syntax};

use super::token_patterns::is_chance;

/// The family of private keys.
pub(super) const KEY_FAMILY: &str = "a private key";
/// Begins the header of a private key, or of something else.
pub(super) const HEADER_BEGIN: &[u8] = b"-----BEGIN ";
/// A key is followed for this long if its end never comes, in bytes.
pub(super) const KEY_BYTES_MAX: usize = 16 * 1024;
/// What stands between two pieces of a key is not longer than this, in bytes.
pub(super) const GAP_BYTES_MAX: usize = 64;
/// No token needs more to be decided, in bytes.
pub(super) const LOOK_BYTES_MAX: usize = 160;

/// A header. The first dash may be missing: in base64 a part of it is in the character before.
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?-u)\A-?----BEGIN [A-Z0-9 ]{0,52}PRIVATE KEY[A-Z0-9 ]{0,52}-{1,5}")
});

/// A line with something about the key, in its body.
static FIELD: LazyLock<Regex> = LazyLock::new(|| {
    let names = "Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID";
    pattern(&format!(r#"(?-u)\A(?:{names}):[^\\"\x00-\x1f]{{0,128}}"#))
});

/// All tokens; the first that fits is it. A short run of base64 is one with what stands behind it.
const TOKENS: &[(Token, &str)] = &[
    (Token::NextLine, r"\n\{"),
    (Token::End, "-----END [A-Z ]{0,64}-{0,5}"),
    (Token::LineEnd, r"[\r\n]|\\{1,16}[nr\n]"),
    (Token::Blank, r"[ \t]|\\{1,16}t"),
    (Token::Character, r"\\{1,16}(?:/|u[0-9A-Fa-f]{0,4})"),
    (Token::Quote, "\""),
    (Token::Hash, "[0-9a-f]{44}"),
    (Token::Long, "[A-Za-z0-9+/=]{44}"),
    (Token::Line, r#"[A-Za-z0-9+/=]{1,43}[ \t]{0,8}(?:\z|[\r\n"'`]|\\{1,16}[nr\ntu/"'`])"#),
    (Token::Last, "[A-Za-z0-9+/=]{1,43}[ \t]{0,8}-----END "),
    (Token::Word, "[A-Za-z0-9+/=]{1,43}"),
    (Token::Sign, r"[:|>#*\xe2\x86\x92-]"),
    (Token::Other, r"\\{1,16}(?s:.)?|(?s:.)"),
];

static TOKEN: LazyLock<meta::Regex> = LazyLock::new(|| {
    let all: Vec<&str> = TOKENS.iter().map(|(_, pattern)| *pattern).collect();
    let bytes = syntax::Config::new().unicode(false).utf8(false);
    let built = meta::Builder::new().syntax(bytes).build_many(&all);
    built.expect("they are constants, and tests use them")
});

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    /// A line end, and the beginning of a line of JSON.
    NextLine,
    /// The end marker of the key.
    End,
    Field,
    LineEnd,
    Blank,
    /// An escape that may be one of base64.
    Character,
    /// A quotation mark without a backslash.
    Quote,
    /// Commits and sums are no keys.
    Hash,
    /// A run of base64 that is no word.
    Long,
    /// A short run before the end of a line or a string.
    Line,
    /// A short run before the end marker.
    Last,
    /// A short run before something else.
    Word,
    /// What tools put before a line: `12:`, `  2→`, `> `, `# `, `| `, `-`.
    Sign,
    Other,
}

/// The meaning of quotes in a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quotes {
    /// A quote without a backslash ends the string that the key is in.
    End,
    /// Quotes are text.
    Text,
}

/// A private key that is being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PrivateKeyReader {
    at: usize,
    until: usize,
    quotes: Quotes,
    /// Where the last piece of the key ended, if nothing but a gap has come since.
    gap: Option<usize>,
    /// Whether nothing has come that a line of a body may not begin with.
    is_line_start: bool,
}

/// The next token, as far as the stream has to know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum KeyStep {
    /// A piece of the key, with the gap before it.
    Key(Range<usize>),
    Text,
    /// The key is over.
    Over,
    /// More must be seen.
    Open,
}

enum TokenRole {
    Key,
    Gap,
    Prose,
    Over,
}

/// How long the header is with which a text begins, if it is one of a private key.
pub(super) fn header_len(text: &[u8]) -> Option<usize> {
    HEADER.find(text).map(|header| header.end())
}

impl PrivateKeyReader {
    /// Reads on behind a header.
    pub(super) fn new(header: Range<usize>, quotes: Quotes) -> Self {
        let (at, until) = (header.end, header.start + KEY_BYTES_MAX);
        Self { at, until, quotes, gap: Some(at), is_line_start: false }
    }

    /// Everything before this place is settled.
    pub(super) fn settled(&self) -> usize {
        self.gap.unwrap_or(self.at)
    }

    /// Follows a text whose first bytes were dropped.
    pub(super) fn shift(&mut self, dropped: usize) {
        self.at -= dropped;
        self.until = self.until.saturating_sub(dropped);
        self.gap = self.gap.map(|gap| gap - dropped);
    }

    /// Reads the next token. `is_over` says that no more will come.
    pub(super) fn step(&mut self, pending: &[u8], is_over: bool) -> KeyStep {
        let rest = &pending[self.at..];
        let text = &rest[..rest.len().min(LOOK_BYTES_MAX)];
        if text.is_empty() && is_over || self.at >= self.until {
            return KeyStep::Over;
        }
        if !is_over && text.len() < LOOK_BYTES_MAX && !self.has_end(text) {
            return KeyStep::Open;
        }
        let (token, len) = self.token(text);
        let role = self.role(token, &text[..len]);
        let from = self.settled();
        self.at += len;
        match role {
            TokenRole::Key => {
                (self.gap, self.is_line_start) = (Some(self.at), false);
                if token == Token::End {
                    self.until = self.at;
                }
                return KeyStep::Key(from..self.at);
            }
            TokenRole::Gap => {
                self.is_line_start |= matches!(token, Token::LineEnd | Token::Character);
                self.gap = self.gap.filter(|gap| self.at - gap <= GAP_BYTES_MAX);
            }
            TokenRole::Prose => (self.gap, self.is_line_start) = (None, false),
            TokenRole::Over => return KeyStep::Over,
        }
        KeyStep::Text
    }

    /// Whether the key is over within a text: no token goes further.
    fn has_end(&self, text: &[u8]) -> bool {
        let is_end = |at: usize| match text[at] {
            b'"' => self.quotes == Quotes::End,
            b'\n' => text[at + 1..].starts_with(b"{"),
            _ => false,
        };
        (0..text.len()).any(|at| is_end(at) && !text[..at].ends_with(b"\\"))
    }

    /// The token with which a text begins, and its length.
    fn token(&self, text: &[u8]) -> (Token, usize) {
        if self.is_line_start
            && let Some(field) = FIELD.find(text)
        {
            return (Token::Field, field.end());
        }
        let found = TOKEN.search_half(&Input::new(text).anchored(Anchored::Yes));
        let found = found.expect("the last token fits everything");
        let token = TOKENS[found.pattern().as_usize()].0;
        let is_before = matches!(token, Token::Line | Token::Last);
        let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
        let run = || text.iter().take_while(is_base64).count();
        (token, if is_before { run() } else { found.offset() })
    }

    fn role(&self, token: Token, text: &[u8]) -> TokenRole {
        let is_behind = self.is_line_start || self.gap.is_some();
        // Base64 right behind a piece of the key belongs to it.
        let is_glued = self.gap == Some(self.at);
        match token {
            Token::End | Token::Field | Token::Long => TokenRole::Key,
            Token::Hash | Token::Line | Token::Last | Token::Word if is_glued => TokenRole::Key,
            Token::Line if self.is_line_start => TokenRole::Key,
            Token::Last if is_behind => TokenRole::Key,
            Token::Word if self.is_line_start && is_no_word(text) => TokenRole::Key,
            Token::LineEnd | Token::Blank => TokenRole::Gap,
            Token::Character if is_behind => TokenRole::Gap,
            Token::Word if self.is_line_start && text.iter().all(u8::is_ascii_digit) => {
                TokenRole::Gap
            }
            Token::Sign if self.is_line_start => TokenRole::Gap,
            Token::NextLine => TokenRole::Over,
            Token::Quote if self.quotes == Quotes::End => TokenRole::Over,
            Token::Character
            | Token::Quote
            | Token::Hash
            | Token::Line
            | Token::Last
            | Token::Word
            | Token::Sign
            | Token::Other => TokenRole::Prose,
        }
    }
}

/// Whether a short run is base64 and no word, whatever stands behind it.
fn is_no_word(run: &[u8]) -> bool {
    let is_padded = run.len() > 2 && run.len().is_multiple_of(4) && run.ends_with(b"=");
    is_padded || is_chance(run)
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("it is a constant, and tests use it")
}
