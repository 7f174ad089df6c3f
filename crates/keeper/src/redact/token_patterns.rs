//! What tokens look like when nobody told us their values.
//!
//! To add one: a row in [`SHAPES`]. A prefix that also occurs in ordinary words wants
//! [`PatternStart::WordStart`]; a set that is too wide takes ordinary text with it. What is known by a
//! name beside it (`password=`) is in `named_values`.

use Charset::{Alphanumeric, Dotted, Upper, Wide, Word};

/// More of a run of token characters is not looked at. One that lacks something at this length may
/// have it later, and is taken for a secret.
pub(super) const HOLD_BYTES_MAX: usize = 512;

/// Shorter values cannot be distinguished from words, in bytes.
pub(super) const CHANCE_BYTES_MIN: usize = 16;

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
    /// Whether a run after the prefix makes a secret; of a longer one, its first [`HOLD_BYTES_MAX`].
    pub(super) fn is_secret(&self, run: &[u8]) -> bool {
        let is_full = run.len() == HOLD_BYTES_MAX;
        let has = match self.has {
            Has::Anything => true,
            Has::Digit => is_full || run.iter().any(u8::is_ascii_digit),
            Has::TwoDots => is_full || run.split(|&byte| byte == b'.').count() > 2,
            Has::Hex => run.len() == self.characters_min && run.iter().all(u8::is_ascii_hexdigit),
        };
        run.len() >= self.characters_min && has
    }
}

/// Whether chance made this value: long, letters and digits mixed, no path and no address.
pub(super) fn is_chance(value: &[u8]) -> bool {
    let is_place = value.windows(3).any(|three| three == b"://")
        || [&b"/"[..], b"./", b"../", b"~"].iter().any(|start| value.starts_with(start));
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_turn = |two: &&[u8]| {
        two[0].is_ascii_digit() && two[1].is_ascii_alphabetic()
            || two[0].is_ascii_alphabetic() && two[1].is_ascii_digit()
    };
    let turns = value.windows(2).filter(is_turn).count();
    value.len() >= CHANCE_BYTES_MIN && !is_place && letters >= 4 && turns >= 2
}
