//! The body of a private key behind its header, read piece by piece.
//!
//! ```text
//! -----BEGIN … -----\nProc-Type: 4,ENCRYPTED\n     2→MIIEow…\n-----END … -----
//!              Dashes                                   Run      Kind  LastDashes
//! ```
//! Behind each of them it is `Behind`, until something else is found.
//!
//! A header alone makes no key: people write about keys. So only what looks like a body is covered:
//! lines that are one run of base64, with the numbers and signs that tools put before them, and
//! long runs wherever they are. Line ends are also known as JSON writes them (`\n`, `\\n`).
//!
//! Not here: covering, and what of a cover must stay.
//!
//! Invariant: no step covers a quote or a half of an escape.
//! Invariant: what a step says of the beginning of a text is never taken back when there is more;
//! it looks at most [`LOOK_BYTES_MAX`] ahead.

use super::token_patterns::{Charset, is_chance};

/// The family of private keys.
pub(super) const KEY_FAMILY: &str = "a private key";
/// Begins the header of a private key, or of something else.
pub(super) const HEADER_BEGIN: &[u8] = b"-----BEGIN ";

/// A block is followed for this long if its end never comes.
pub(super) const BLOCK_BYTES_MAX: usize = 16 * 1024;
/// Ends a block.
const END: &[u8] = b"-----END ";
/// So many dashes end a header.
const DASHES: usize = 5;
/// The kind of a block (`RSA PRIVATE KEY`) is not longer than this, in bytes.
const KIND_BYTES_MAX: usize = 64;
/// What stands between two lines of a body is not longer than this, in bytes.
const GAP_BYTES_MAX: usize = 64;
/// A run of base64 of this length is no word, in bytes.
const LONG_BYTES: usize = 44;
/// The value of a header like `DEK-Info: …` is not longer than this, in bytes.
const VALUE_BYTES_MAX: usize = 128;
/// Nor is the name of one.
const NAME_BYTES_MAX: usize = 24;
/// More backslashes are never put before a character.
const BACKSLASHES_MAX: usize = 16;
/// Spaces behind a line.
const BLANKS_MAX: usize = 8;
/// No step looks further ahead.
pub(super) const LOOK_BYTES_MAX: usize =
    GAP_BYTES_MAX + LONG_BYTES + NAME_BYTES_MAX + VALUE_BYTES_MAX + 2 * BACKSLASHES_MAX + END.len();

/// Names of headers inside of a block.
const HEADERS: &[&[u8]] =
    &[b"Proc-Type:", b"DEK-Info:", b"Version:", b"Comment:", b"Hash:", b"Charset:", b"MessageID:"];

/// The meaning of quotes in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quotes {
    /// A quote without a backslash ends the string that the block is in.
    End,
    /// Quotes are text.
    Text,
}

/// Where in a block the stream is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyReading {
    /// In the dashes of the header, so many at most.
    Dashes(usize),
    /// Right behind the header or a line of the body.
    Behind,
    /// In a long run.
    Run,
    /// At the end of a line that is no part of the body.
    LineEnd,
    /// In such a line.
    Text,
    /// In the kind of the end marker, so many bytes at most.
    Kind(usize),
    /// In the dashes of the end marker.
    LastDashes(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyStep {
    /// The bytes up to `from` are text, those up to `until` are of the key.
    Key {
        from: usize,
        until: usize,
        then: KeyReading,
    },
    Text {
        len: usize,
        then: KeyReading,
    },
    /// The block is over.
    Over,
    /// More must be seen.
    Open,
}

/// What something that begins at a place is; `None` if more must be seen.
type Decided<T> = Option<T>;

impl KeyReading {
    /// The beginning of what stands behind a header.
    pub(super) const fn begin() -> Self {
        Self::Dashes(DASHES)
    }

    /// Whether it takes whatever has come, and does not look ahead.
    pub(super) fn is_run(self) -> bool {
        match self {
            Self::Dashes(_) | Self::Run | Self::Kind(_) | Self::LastDashes(_) => true,
            Self::Behind | Self::LineEnd | Self::Text => false,
        }
    }

    /// Reads the next bytes. `is_over` says that no more will come.
    pub(super) fn step(self, text: &[u8], quotes: Quotes, is_over: bool) -> KeyStep {
        let text = Lookahead { text: &text[..text.len().min(LOOK_BYTES_MAX)], is_over };
        if text.text.is_empty() {
            return if is_over { KeyStep::Over } else { KeyStep::Open };
        }
        let key = |len, then| KeyStep::Key { from: 0, until: len, then };
        match self {
            Self::Dashes(left) => match text.count(0, left, |byte| byte == b'-') {
                0 => KeyStep::Text { len: 0, then: Self::Behind },
                len => key(len, Self::Dashes(left - len)),
            },
            Self::Run => match text.count(0, LOOK_BYTES_MAX, is_base64) {
                0 => KeyStep::Text { len: 0, then: Self::Behind },
                len => key(len, Self::Run),
            },
            Self::Kind(left) => {
                let is_kind = |byte: u8| byte.is_ascii_uppercase() || byte == b' ';
                match text.count(0, left, is_kind) {
                    0 => KeyStep::Text { len: 0, then: Self::LastDashes(DASHES) },
                    len => key(len, Self::Kind(left - len)),
                }
            }
            Self::LastDashes(left) => match text.count(0, left, |byte| byte == b'-') {
                0 => KeyStep::Over,
                len => key(len, Self::LastDashes(left - len)),
            },
            Self::Behind | Self::LineEnd => self.line(&text).unwrap_or(KeyStep::Open),
            Self::Text => text.word(quotes).unwrap_or(KeyStep::Open),
        }
    }

    /// Reads what stands before a line, and the line if it is one of a body.
    fn line(self, text: &Lookahead<'_>) -> Decided<KeyStep> {
        let (mut at, mut breaks) = (0, 0);
        let key = |from, until, then| {
            let from = if self == Self::Behind { 0 } else { from };
            Some(KeyStep::Key { from, until, then })
        };
        let other = |len| Some(KeyStep::Text { len, then: Self::Text });
        while at < GAP_BYTES_MAX {
            if text.starts_with(at, b"\n{")? {
                return other(at);
            }
            if text.starts_with(at, END)? {
                return key(at, at + END.len(), Self::Kind(KIND_BYTES_MAX));
            }
            let Some(byte) = text.byte(at)? else { return other(at) };
            if breaks > 0
                && let Some(len) = text.header(at)?
            {
                return key(at, at + len, Self::Behind);
            }
            match byte {
                b'\\' => match text.escape(at)? {
                    // A character of the body may be written as an escape: `\/`.
                    Escape::Break(len) | Escape::Character(len) => {
                        (at, breaks) = (at + len, breaks + 1);
                    }
                    Escape::Blank(len) => at += len,
                    Escape::Quote | Escape::None => return other(at),
                },
                b'\n' | b'\r' => (at, breaks) = (at + 1, breaks + 1),
                b' ' | b'\t' => at += 1,
                _ if is_base64(byte) => {
                    let len = text.count(at, LONG_BYTES, is_base64);
                    let run = &text.text[at..at + len];
                    if len == LONG_BYTES {
                        let end = at + len;
                        return if is_hash(run) { other(end) } else { key(at, end, Self::Run) };
                    }
                    let behind = text.behind(at + len)?;
                    let is_number = run.iter().all(u8::is_ascii_digit);
                    match behind {
                        Behind::End => return key(at, at + len, Self::Behind),
                        Behind::Line if breaks > 0 || at == 0 => {
                            return key(at, at + len, Self::Behind);
                        }
                        Behind::Other if breaks > 0 && is_no_word(run) => {
                            return key(at, at + len, Self::Behind);
                        }
                        Behind::Other if is_number && breaks > 0 => at += len,
                        Behind::Line | Behind::Other => return other(at + len),
                    }
                }
                // What tools put before a line: `12:`, `  2→`, `> `, `# `, `| `, `-`.
                b':' | b'|' | b'>' | b'#' | b'*' | b'-' | 0xe2 | 0x86 | 0x92 if breaks > 0 => {
                    at += 1;
                }
                _ => return other(at),
            }
        }
        other(at)
    }
}

/// The bytes from a place on, as far as they have come.
struct Lookahead<'a> {
    text: &'a [u8],
    is_over: bool,
}

enum Escape {
    /// A line end of this length.
    Break(usize),
    Blank(usize),
    /// A character that may be one of base64.
    Character(usize),
    Quote,
    /// Nothing that is known.
    None,
}

enum Behind {
    /// The end of a line or a string.
    Line,
    /// The end marker of the block.
    End,
    Other,
}

impl Lookahead<'_> {
    /// The byte at a place, or that there is none.
    fn byte(&self, at: usize) -> Decided<Option<u8>> {
        match self.text.get(at) {
            Some(&byte) => Some(Some(byte)),
            None if self.is_over || self.text.len() == LOOK_BYTES_MAX => Some(None),
            None => None,
        }
    }

    fn starts_with(&self, at: usize, what: &[u8]) -> Decided<bool> {
        let rest = self.text.get(at..).unwrap_or_default();
        let is_cut = rest.len() < what.len() && what.starts_with(rest);
        let is_last = self.is_over || self.text.len() == LOOK_BYTES_MAX;
        if is_cut && !is_last { None } else { Some(rest.starts_with(what)) }
    }

    fn count(&self, at: usize, max: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.iter().take(max).take_while(|&&byte| is(byte)).count()
    }

    fn escape(&self, at: usize) -> Decided<Escape> {
        let n = self.count(at, BACKSLASHES_MAX, |byte| byte == b'\\');
        let Some(byte) = self.byte(at + n)? else { return Some(Escape::None) };
        Some(match byte {
            b'n' | b'r' | b'\n' => Escape::Break(n + 1),
            b't' => Escape::Blank(n + 1),
            b'/' => Escape::Character(n + 1),
            b'u' => {
                let digits = self.count(at + n + 1, 4, |byte| byte.is_ascii_hexdigit());
                if digits < 4 && self.byte(at + n + 1 + digits)?.is_none() {
                    return Some(Escape::None);
                }
                Escape::Character(n + 1 + digits)
            }
            b'"' | b'\'' | b'`' => Escape::Quote,
            _ => Escape::None,
        })
    }

    /// How long a header inside of the block is, if it is one.
    fn header(&self, at: usize) -> Decided<Option<usize>> {
        for name in HEADERS {
            if self.starts_with(at, name)? {
                let is_value = |byte: u8| byte != b'\\' && byte != b'"' && byte >= b' ';
                let len = self.count(at + name.len(), VALUE_BYTES_MAX, is_value);
                // Whether it goes on is seen at the byte behind it.
                if len < VALUE_BYTES_MAX {
                    self.byte(at + name.len() + len)?;
                }
                return Some(Some(name.len() + len));
            }
        }
        Some(None)
    }

    /// What stands behind a run that ends at a place.
    fn behind(&self, at: usize) -> Decided<Behind> {
        // The run may go on.
        let at = at + self.count(at, BLANKS_MAX, |byte| byte == b' ' || byte == b'\t');
        let Some(byte) = self.byte(at)? else { return Some(Behind::Line) };
        if self.starts_with(at, END)? {
            return Some(Behind::End);
        }
        Some(match byte {
            b'\n' | b'\r' | b'"' | b'\'' | b'`' => Behind::Line,
            b'\\' => match self.escape(at)? {
                Escape::Break(_) | Escape::Blank(_) | Escape::Character(_) | Escape::Quote => {
                    Behind::Line
                }
                Escape::None => Behind::Other,
            },
            _ => Behind::Other,
        })
    }

    /// Reads the next word of a text that is no body.
    fn word(&self, quotes: Quotes) -> Decided<KeyStep> {
        let text = |len| Some(KeyStep::Text { len, then: KeyReading::Text });
        if self.starts_with(0, b"\n{")? {
            return Some(KeyStep::Over);
        }
        if self.starts_with(0, END)? {
            let then = KeyReading::Kind(KIND_BYTES_MAX);
            return Some(KeyStep::Key { from: 0, until: END.len(), then });
        }
        let Some(byte) = self.byte(0)? else { return Some(KeyStep::Over) };
        match byte {
            b'"' => match quotes {
                Quotes::End => Some(KeyStep::Over),
                Quotes::Text => text(1),
            },
            b'\n' | b'\r' => Some(KeyStep::Text { len: 0, then: KeyReading::LineEnd }),
            b'\\' => match self.escape(0)? {
                Escape::Break(_) => Some(KeyStep::Text { len: 0, then: KeyReading::LineEnd }),
                Escape::Blank(len) | Escape::Character(len) => text(len),
                Escape::Quote | Escape::None => {
                    text(1 + self.count(0, BACKSLASHES_MAX, |byte| byte == b'\\'))
                }
            },
            _ if is_base64(byte) => {
                let len = self.count(0, LONG_BYTES, is_base64);
                if len == LONG_BYTES && !is_hash(&self.text[..len]) {
                    return Some(KeyStep::Key { from: 0, until: len, then: KeyReading::Run });
                }
                // Whether it goes on is seen at the byte behind it.
                if len < LONG_BYTES {
                    self.byte(len)?;
                }
                text(len)
            }
            _ => text(1),
        }
    }
}

/// How long the kind behind a [`HEADER_BEGIN`] is (`RSA PRIVATE KEY`), if it is one of private keys.
pub(super) fn private_kind_len(header: &[u8]) -> Option<usize> {
    let kind = header.iter().take(KIND_BYTES_MAX);
    let len = kind.take_while(|&&byte| Charset::Upper.has(byte) || byte == b' ').count();
    let is_private = header[..len].windows(11).any(|words| words == b"PRIVATE KEY");
    (is_private && len < KIND_BYTES_MAX && header.get(len) == Some(&b'-')).then_some(len)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Commits and sums are no keys.
fn is_hash(run: &[u8]) -> bool {
    run.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a short run is base64 and no word, whatever stands behind it.
fn is_no_word(run: &[u8]) -> bool {
    let is_padded = run.len() > 2 && run.len().is_multiple_of(4) && run.ends_with(b"=");
    is_padded || is_chance(run)
}
