//! What tokens look like when nobody told us their values.
//!
//! To add one: a row in [`SHAPES`]. A prefix that also occurs in ordinary words wants
//! [`Place::WordStart`]; a set that is too wide takes ordinary text with it.
//!
//! Invariant: a decision, once made on a part of a run, stays the same for all longer parts.

/// Characters which tokens are made of. A later set holds all characters of the earlier ones, but
/// for `Marker`, which only ever ends a block and inside of which no token begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(super) enum Charset {
    Upper,
    Alphanumeric,
    /// And `_` and `-`.
    Word,
    /// And `.`.
    Dotted,
    Marker,
}

impl Charset {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Marker => byte.is_ascii_uppercase() || byte == b' ' || byte == b'-',
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
            Self::Dotted => Self::Word.has(byte) || byte == b'.',
        }
    }

    /// The beginning of `text` that is of this set, at most `max` bytes.
    pub(super) fn run(self, text: &[u8], max: usize) -> &[u8] {
        let text = &text[..text.len().min(max)];
        let len = text.iter().position(|&byte| !self.has(byte)).unwrap_or(text.len());
        &text[..len]
    }
}

/// Where a shape may begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Anywhere,
    /// Not in the middle of a word.
    WordStart,
}

/// What a run must have besides its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Has {
    Anything,
    /// A digit, as chance has it and names of things have not.
    Digit,
    TwoDots,
}

/// A kind of token: a prefix, and then at least so many characters of a set.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) prefix: &'static [u8],
    pub(super) set: Charset,
    pub(super) place: Place,
    characters_min: usize,
    has: Has,
}

/// What is known of a run so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    Secret,
    Text,
    /// More of it must be seen.
    Open,
}

const fn shape(prefix: &'static str, set: Charset, characters_min: usize) -> Shape {
    let (place, has) = (Place::Anywhere, Has::Anything);
    Shape { prefix: prefix.as_bytes(), set, place, characters_min, has }
}

/// Every kind of token we know, longer prefixes before the shorter ones they begin with.
pub(super) const SHAPES: &[Shape] = &[
    shape("sk-ant-", Charset::Word, 16),
    shape("sk-proj-", Charset::Word, 16),
    Shape { place: Place::WordStart, has: Has::Digit, ..shape("sk-", Charset::Word, 20) },
    shape("ghp_", Charset::Alphanumeric, 30),
    shape("gho_", Charset::Alphanumeric, 30),
    shape("ghu_", Charset::Alphanumeric, 30),
    shape("ghs_", Charset::Alphanumeric, 30),
    shape("github_pat_", Charset::Word, 22),
    shape("glpat-", Charset::Word, 20),
    shape("AKIA", Charset::Upper, 16),
    shape("ASIA", Charset::Upper, 16),
    shape("AIza", Charset::Word, 35),
    shape("xoxb-", Charset::Word, 10),
    shape("xoxp-", Charset::Word, 10),
    shape("xoxa-", Charset::Word, 10),
    shape("npm_", Charset::Alphanumeric, 30),
    shape("pypi-", Charset::Word, 50),
    shape("hf_", Charset::Alphanumeric, 30),
    // A JSON web token: two encoded objects and a signature.
    Shape { place: Place::WordStart, has: Has::TwoDots, ..shape("eyJ", Charset::Dotted, 20) },
];

impl Shape {
    /// Whether a run after the prefix makes a secret. `is_over` says that it goes on no further.
    pub(super) fn decide(&self, run: &[u8], is_over: bool) -> Decision {
        let has = match self.has {
            Has::Anything => true,
            Has::Digit => run.iter().any(u8::is_ascii_digit),
            Has::TwoDots => run.split(|&byte| byte == b'.').count() > 2,
        };
        match (run.len() >= self.characters_min && has, is_over) {
            (true, _) => Decision::Secret,
            (false, true) => Decision::Text,
            (false, false) => Decision::Open,
        }
    }
}

/// Begins a block that may be a private key.
pub(super) const KEY_BLOCK_BEGIN: &[u8] = b"-----BEGIN ";
/// Ends such a block.
pub(super) const KEY_BLOCK_END: &[u8] = b"-----END ";
/// The kind of a block (`RSA PRIVATE KEY`) is not longer than this.
const BLOCK_KIND_BYTES_MAX: usize = 64;

/// Whether what follows [`KEY_BLOCK_BEGIN`] makes it a private key.
pub(super) fn is_key_block(header: &[u8], is_over: bool) -> Decision {
    let kind = &header[..header.len().min(BLOCK_KIND_BYTES_MAX)];
    let end = kind.iter().position(|&byte| !(Charset::Upper.has(byte) || byte == b' '));
    match end {
        Some(end) if kind[end..].starts_with(b"-") => {
            let is_private = kind[..end].windows(11).any(|words| words == b"PRIVATE KEY");
            if is_private { Decision::Secret } else { Decision::Text }
        }
        Some(_) => Decision::Text,
        None if is_over || kind.len() == BLOCK_KIND_BYTES_MAX => Decision::Text,
        None => Decision::Open,
    }
}
