//! What tokens look like when nobody told us their values.
//!
//! To add one: a row in [`SHAPES`]. A prefix that also occurs in ordinary words wants
//! [`PatternStart::WordStart`]; a set that is too wide takes ordinary text with it. What is known by a
//! name beside it (`password=`) is in `told`.
//!
//! Invariant: a decision, once made on a part of a run, stays the same for all longer parts.

use Charset::{Alphanumeric, Dotted, Upper, Wide, Word};

/// A run of token characters that is still undecided at this length is taken for a secret.
pub(super) const HOLD_BYTES_MAX: usize = 512;

/// Characters which tokens are made of. A later set holds all characters of the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(super) enum Charset {
    Upper,
    Alphanumeric,
    /// And `_` and `-`.
    Word,
    /// And `.`.
    Dotted,
    /// And what else base64 has: `+`, `/` and `=`.
    Wide,
    /// And whatever a password may have, but for quotes, brackets and what ends a value.
    Value,
}

impl Charset {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
            Self::Dotted => Self::Word.has(byte) || byte == b'.',
            Self::Wide => Self::Dotted.has(byte) || b"+/=".contains(&byte),
            Self::Value => Self::Wide.has(byte) || b"!#%*:?@^~".contains(&byte),
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
pub(super) enum PatternStart {
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
    /// Exactly as many characters as it must have at least, all of them hexadecimal digits.
    Hex,
}

/// How much of a token is covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Covers {
    All,
    /// What comes after the prefix, which says what it is.
    Run,
}

/// A kind of token: a prefix, and then at least so many characters of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) family: &'static str,
    pub(super) prefix: &'static [u8],
    pub(super) set: Charset,
    pub(super) place: PatternStart,
    pub(super) covers: Covers,
    characters_min: usize,
    has: Has,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    Secret,
    Text,
    /// More of it must be seen.
    Open,
}

const fn shape(family: &'static str, prefix: &'static str, set: Charset, min: usize) -> Shape {
    let (place, has, covers) = (PatternStart::Anywhere, Has::Anything, Covers::All);
    Shape { family, prefix: prefix.as_bytes(), set, place, covers, characters_min: min, has }
}

const fn at_start(shape: Shape, has: Has) -> Shape {
    Shape { place: PatternStart::WordStart, has, ..shape }
}

const fn behind(shape: Shape) -> Shape {
    Shape { covers: Covers::Run, ..shape }
}

/// Every kind of token we know by its beginning.
pub(super) const SHAPES: &[Shape] = &[
    shape("an Anthropic key", "sk-ant-", Word, 16),
    shape("an OpenAI key", "sk-proj-", Word, 16),
    shape("an OpenAI key", "sk-svcacct-", Word, 16),
    shape("an OpenAI key", "sk-admin-", Word, 16),
    at_start(shape("an OpenAI key", "sk-", Word, 20), Has::Digit),
    shape("a GitHub token", "ghp_", Alphanumeric, 30),
    shape("a GitHub token", "gho_", Alphanumeric, 30),
    shape("a GitHub token", "ghu_", Alphanumeric, 30),
    shape("a GitHub token", "ghs_", Alphanumeric, 30),
    shape("a GitHub token", "ghr_", Alphanumeric, 30),
    shape("a GitHub token", "github_pat_", Word, 22),
    shape("a GitLab token", "glpat-", Word, 20),
    shape("a GitLab token", "gldt-", Word, 20),
    shape("a GitLab token", "glrt-", Word, 20),
    shape("an AWS access key", "AKIA", Upper, 16),
    shape("an AWS access key", "ASIA", Upper, 16),
    shape("a Google key", "AIza", Word, 35),
    shape("a Google client secret", "GOCSPX-", Word, 20),
    at_start(shape("a Google access token", "ya29.", Word, 20), Has::Digit),
    shape("a Slack token", "xoxb-", Word, 10),
    shape("a Slack token", "xoxp-", Word, 10),
    shape("a Slack token", "xoxa-", Word, 10),
    shape("a Slack token", "xoxr-", Word, 10),
    shape("a Slack token", "xoxs-", Word, 10),
    shape("a Slack token", "xapp-", Word, 20),
    behind(shape("a Slack webhook", "hooks.slack.com/services/", Wide, 20)),
    shape("a Stripe key", "sk_live_", Alphanumeric, 16),
    shape("a Stripe key", "rk_live_", Alphanumeric, 16),
    shape("a Stripe key", "sk_test_", Alphanumeric, 16),
    shape("a Stripe key", "rk_test_", Alphanumeric, 16),
    shape("a Stripe key", "whsec_", Wide, 24),
    shape("an npm token", "npm_", Alphanumeric, 30),
    shape("a PyPI token", "pypi-", Word, 50),
    shape("a Hugging Face token", "hf_", Alphanumeric, 30),
    at_start(shape("a SendGrid key", "SG.", Dotted, 40), Has::Digit),
    at_start(shape("a Twilio key", "SK", Alphanumeric, 32), Has::Hex),
    shape("a DigitalOcean token", "dop_v1_", Alphanumeric, 40),
    shape("a DigitalOcean token", "doo_v1_", Alphanumeric, 40),
    at_start(shape("a Databricks token", "dapi", Alphanumeric, 32), Has::Hex),
    at_start(shape("a Cloudflare key", "v1.0-", Word, 100), Has::Digit),
    shape("a Heroku key", "HRKU-", Word, 30),
    shape("a Docker token", "dckr_pat_", Word, 20),
    at_start(shape("a Vault token", "hvs.", Word, 24), Has::Digit),
    shape("a Shopify token", "shpat_", Alphanumeric, 30),
    behind(shape("an Azure key", "AccountKey=", Wide, 40)),
    behind(shape("an Azure key", "SharedAccessKey=", Wide, 40)),
    // Two encoded objects and a signature.
    at_start(shape("a JSON web token", "eyJ", Dotted, 20), Has::TwoDots),
];

impl Shape {
    /// Whether a run after the prefix makes a secret. `is_over` says that it goes on no further.
    pub(super) fn decide(&self, run: &[u8], is_over: bool) -> Decision {
        let is_long = run.len() >= self.characters_min;
        let has = match self.has {
            Has::Anything => true,
            Has::Digit => run.iter().any(u8::is_ascii_digit),
            Has::TwoDots => run.split(|&byte| byte == b'.').count() > 2,
            Has::Hex => {
                let is_hex = run.iter().all(u8::is_ascii_hexdigit);
                if !is_hex || run.len() > self.characters_min {
                    return Decision::Text;
                }
                is_over
            }
        };
        match (is_long && has, is_over) {
            (true, _) => Decision::Secret,
            (false, true) => Decision::Text,
            (false, false) => Decision::Open,
        }
    }
}

/// The family of blocks of private keys.
pub(super) const KEY_BLOCK: &str = "a private key";
/// Begins a block that may be a private key.
pub(super) const KEY_BLOCK_BEGIN: &[u8] = b"-----BEGIN ";
/// The kind of a block (`RSA PRIVATE KEY`) is not longer than this.
const BLOCK_KIND_BYTES_MAX: usize = 64;

/// Whether what follows [`KEY_BLOCK_BEGIN`] makes it a private key.
pub(super) fn is_key_block(header: &[u8], is_over: bool) -> Decision {
    let kind = &header[..header.len().min(BLOCK_KIND_BYTES_MAX)];
    let end = Some(block_kind_len(header)).filter(|&end| end < kind.len());
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

/// How long the kind of a block is that stands at the beginning of a header.
pub(super) fn block_kind_len(header: &[u8]) -> usize {
    let kind = header.iter().take(BLOCK_KIND_BYTES_MAX);
    kind.take_while(|&&byte| Upper.has(byte) || byte == b' ').count()
}
