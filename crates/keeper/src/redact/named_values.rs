//! Secrets that are known by what stands before them: a telling name and a sign
//! (`"db_password": "…"`), the scheme of a header (`Bearer …`), or the user of an address
//! (`https://user:…@host`).
//!
//! The value must look as if chance had made it, because names like `token` stand in all code:
//! `token = next_token()` and `password: String` are none.
//!
//! Invariant: nothing here looks behind the end of a line, nor further than
//! [`WINDOW_BYTES`](super::candidates::WINDOW_BYTES).

use std::{ops::Range, sync::LazyLock};

use regex::bytes::Regex;

use super::{
    base64,
    token_patterns::{CHANCE_BYTES_MIN, Charset, is_chance},
};

/// Names that tell, in the cases in which they are written. What comes before them does not
/// matter, and some letters of a name after them neither: `AWS_SECRET_ACCESS_KEY`.
const NAMES: &[&str] = &[
    "password",
    "Password",
    "PASSWORD",
    "passwd",
    "Passwd",
    "PASSWD",
    "passphrase",
    "Passphrase",
    "PASSPHRASE",
    "secret",
    "Secret",
    "SECRET",
    "token",
    "Token",
    "TOKEN",
    "api_key",
    "api-key",
    "apikey",
    "apiKey",
    "Api_Key",
    "Api-Key",
    "ApiKey",
    "API_KEY",
    "API-KEY",
    "APIKEY",
    "access_key",
    "access-key",
    "accessKey",
    "AccessKey",
    "ACCESS_KEY",
    "private_key",
    "private-key",
    "privateKey",
    "PrivateKey",
    "PRIVATE_KEY",
    "credential",
    "Credential",
    "CREDENTIAL",
    "authorization",
    "Authorization",
    "AUTHORIZATION",
];
/// The schemes of a header whose value is a token.
const BEARERS: &[&str] = &["Bearer ", "bearer ", "BEARER "];
/// The schemes of a header whose value is a user and a password in base64.
const BASICS: &[&str] = &["Basic ", "basic ", "BASIC "];
/// Where an address may have a user; also as JSON writes it, once and twice.
const ADDRESSES: &[&str] = &["://", ":\\/\\/", ":\\\\/\\\\/"];

/// More of a value is not looked at, in bytes.
const VALUE_BYTES_MAX: usize = 512;
/// Shorter passwords in addresses are not told from examples, in bytes.
const PASSWORD_BYTES_MIN: usize = 5;

/// Passwords that are written for everybody to see.
const EXAMPLES: &[&str] = &[
    "admin", "changeme", "example", "guest", "hunter2", "passw0rd", "passwd", "password",
    "postgres", "secret", "token", "username",
];

/// What stands between a name that tells and its value. The comparisons are here to be distinguished from
/// signs: there is no value behind them.
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?x-u) \A [\w-]{0,40} (?:\\{0,8}["'`])? \]? [\x20\t]{0,8}
        (?: == | :: | =~ | (?: := | => | [=:>] ) [\x20\t]{0,8} (?:\\{0,8}["'`])? )"#,
    )
});
const COMPARISONS: &[&[u8]] = &[b"==", b"::", b"=~"];

/// A user and a password in an address.
static USER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?-u)\A[\w!$%&*+.;=^~-]{0,128}:[\w!$%&*+.;=^~:-]{0,512}@"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("it is a constant, and tests use it")
}

/// Words behind which a secret may stand.
#[derive(Debug)]
pub(super) struct Introduction {
    pub(super) family: &'static str,
    pub(super) words: &'static [&'static str],
    /// The characters with which the secret goes on, if it may be longer than what is looked at.
    pub(super) set: Option<Charset>,
    /// Finds the secret in what follows one of the words.
    pub(super) find: fn(&[u8]) -> Option<Range<usize>>,
}

/// Every way to introduce a secret.
pub(super) const INTRODUCTIONS: &[Introduction] = &[
    Introduction { family: "a secret value", words: NAMES, set: Some(Charset::Value), find: named },
    Introduction {
        family: "a bearer token",
        words: BEARERS,
        set: Some(Charset::Wide),
        find: bearer,
    },
    Introduction {
        family: "a name with its password",
        words: BASICS,
        set: Some(Charset::Wide),
        find: basic,
    },
    Introduction {
        family: "an address with a password",
        words: ADDRESSES,
        set: None,
        find: password,
    },
];

fn named(text: &[u8]) -> Option<Range<usize>> {
    let between = BETWEEN.find(text)?;
    let is_sign = !COMPARISONS.iter().any(|sign| between.as_bytes().ends_with(sign));
    let value = Charset::Value.run(&text[between.end()..], VALUE_BYTES_MAX);
    let end = between.end() + value.len();
    let is_call = value.len() < VALUE_BYTES_MAX && text.get(end) == Some(&b'(');
    (is_sign && is_chance(value) && !is_call).then_some(between.end()..end)
}

fn bearer(text: &[u8]) -> Option<Range<usize>> {
    let value = Charset::Wide.run(text, VALUE_BYTES_MAX);
    let is_token = value.len() >= CHANCE_BYTES_MIN && value.iter().any(u8::is_ascii_digit);
    is_token.then_some(0..value.len())
}

fn basic(text: &[u8]) -> Option<Range<usize>> {
    let value = Charset::Wide.run(text, VALUE_BYTES_MAX);
    let plain = base64::decoded(value);
    let is_plain = plain.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte >= 0x80);
    let has_both = plain.len() > PASSWORD_BYTES_MIN && plain.contains(&b':');
    (is_plain && has_both).then_some(0..value.len())
}

/// Finds the password behind the `://` of an address.
pub(super) fn password(text: &[u8]) -> Option<Range<usize>> {
    let both = USER.find(text)?;
    let from = 1 + both.as_bytes().iter().position(|&byte| byte == b':')?;
    let (user, password) = (&text[..from - 1], &text[from..both.end() - 1]);
    let is_example = EXAMPLES.iter().any(|word| password.eq_ignore_ascii_case(word.as_bytes()))
        || password.starts_with(b"$")
        || password.windows(2).all(|two| two[0] == two[1]);
    let is_secret = password.len() >= PASSWORD_BYTES_MIN && password != user && !is_example;
    is_secret.then_some(from..both.end() - 1)
}
