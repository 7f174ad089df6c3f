//! Secrets that are known by what stands before them: a telling name and a sign
//! (`"db_password": "…"`), the scheme of a header (`Bearer …`), or the user of an address
//! (`https://user:…@host`).
//!
//! The value must look as if chance had made it, because names like `token` stand in all code:
//! `token = next_token()` and `password: String` are none.
//!
//! Invariant: what is said of the beginning of a text is never taken back when there is more.

use super::{base64, token_patterns::Charset};

/// Where a secret lies in the text that was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NamedValue {
    Secret {
        from: usize,
        until: usize,
    },
    Text,
    /// More of it must be seen.
    Open,
}

/// Names that tell, in the cases in which they are written. What comes before them does not
/// matter, and up to `NAME_BYTES_MAX` of a name after them neither: `AWS_SECRET_ACCESS_KEY`.
pub(super) const NAMES: &[&str] = &[
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
pub(super) const BEARERS: &[&str] = &["Bearer ", "bearer ", "BEARER "];
/// The schemes of a header whose value is a user and a password in base64.
pub(super) const BASICS: &[&str] = &["Basic ", "basic ", "BASIC "];
/// Where an address may have a user; also as JSON writes it, once and twice.
pub(super) const ADDRESSES: &[&str] = &["://", ":\\/\\/", ":\\\\/\\\\/"];

/// The rest of a name is not longer than this, in bytes.
const NAME_BYTES_MAX: usize = 40;
/// Nor are the spaces or the backslashes around it.
const BLANKS_MAX: usize = 8;
/// Nor is a value.
const VALUE_BYTES_MAX: usize = 512;
/// The name of a user in an address is not longer than this, in bytes.
const USER_BYTES_MAX: usize = 128;
/// Shorter values are not told from words, in bytes.
const VALUE_BYTES_MIN: usize = 16;
/// Shorter passwords in addresses are not told from examples, in bytes.
const PASSWORD_BYTES_MIN: usize = 5;

/// Passwords that are written for everybody to see.
const EXAMPLES: &[&str] = &[
    "admin", "changeme", "example", "guest", "hunter2", "passw0rd", "passwd", "password",
    "postgres", "secret", "token", "username",
];

/// A text that is read from its beginning.
struct ValueReader<'a> {
    text: &'a [u8],
    at: usize,
}

impl ValueReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip(&mut self, max: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text[self.at..];
        let len = rest.iter().take(max).take_while(|&&byte| is(byte)).count();
        self.at += len;
        len
    }

    /// A quotation mark with the backslashes that JSON puts before it, if there is one.
    fn skip_quote(&mut self) {
        let began = self.at;
        self.skip(BLANKS_MAX, |byte| byte == b'\\');
        if self.skip(1, |byte| b"\"'`".contains(&byte)) == 0 && self.peek().is_some() {
            self.at = began;
        }
    }

    fn skip_blanks(&mut self) {
        self.skip(BLANKS_MAX, |byte| byte == b' ' || byte == b'\t');
    }

    /// The sign between a name and its value.
    fn skip_sign(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let is = |sign: &[u8]| rest.starts_with(sign);
        let len = match rest {
            _ if is(b"==") || is(b"::") || is(b"=~") => 0,
            _ if is(b":=") || is(b"=>") => 2,
            [b'=' | b':' | b'>', ..] => 1,
            _ => 0,
        };
        self.at += len;
        len > 0
    }
}

/// Looks at what follows one of [`NAMES`].
pub(super) fn named(text: &[u8], is_over: bool) -> NamedValue {
    let mut reader = ValueReader { text, at: 0 };
    let open = if is_over { NamedValue::Text } else { NamedValue::Open };
    reader.skip(NAME_BYTES_MAX, |byte| Charset::Word.has(byte));
    reader.skip_quote();
    reader.skip(1, |byte| byte == b']');
    reader.skip_blanks();
    // Two bytes make the difference between `=` and `==`.
    if text.len() < reader.at + 2 {
        return open;
    }
    if !reader.skip_sign() {
        return NamedValue::Text;
    }
    reader.skip_blanks();
    reader.skip_quote();
    let from = reader.at;
    let value = Charset::Value.run(&text[from..], VALUE_BYTES_MAX);
    let after = text.get(from + value.len());
    let is_full = value.len() == VALUE_BYTES_MAX;
    let is_call = !is_full && after == Some(&b'(');
    match (is_full || after.is_some() || is_over, is_chance(value) && !is_call) {
        (false, _) => NamedValue::Open,
        (true, true) => NamedValue::Secret { from, until: from + value.len() },
        (true, false) => NamedValue::Text,
    }
}

/// Looks at what follows one of [`BEARERS`].
pub(super) fn bearer(text: &[u8], is_over: bool) -> NamedValue {
    let value = Charset::Wide.run(text, VALUE_BYTES_MAX);
    let is_whole = is_over || value.len() < text.len() || value.len() == VALUE_BYTES_MAX;
    let is_token = value.len() >= VALUE_BYTES_MIN && value.iter().any(u8::is_ascii_digit);
    match (is_whole, is_token) {
        (_, true) => NamedValue::Secret { from: 0, until: value.len() },
        (true, false) => NamedValue::Text,
        (false, false) => NamedValue::Open,
    }
}

/// Looks at what follows one of [`BASICS`].
pub(super) fn basic(text: &[u8], is_over: bool) -> NamedValue {
    let value = Charset::Wide.run(text, VALUE_BYTES_MAX);
    let is_whole = is_over || value.len() < text.len() || value.len() == VALUE_BYTES_MAX;
    if !is_whole {
        return NamedValue::Open;
    }
    let plain = base64::decoded(value);
    let is_plain = plain.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte >= 0x80);
    let has_both = plain.len() > PASSWORD_BYTES_MIN && plain.contains(&b':');
    if is_plain && has_both {
        NamedValue::Secret { from: 0, until: value.len() }
    } else {
        NamedValue::Text
    }
}

/// Looks at what follows one of [`ADDRESSES`].
pub(super) fn address(text: &[u8], is_over: bool) -> NamedValue {
    let open = if is_over { NamedValue::Text } else { NamedValue::Open };
    let is_part = |byte: u8| byte.is_ascii_graphic() && !b"/?#@\"'`<>\\{}[]()|,".contains(&byte);
    let mut reader = ValueReader { text, at: 0 };
    reader.skip(USER_BYTES_MAX, |byte| byte != b':' && is_part(byte));
    let user = &text[..reader.at];
    match reader.peek() {
        None => return open,
        Some(b':') => reader.at += 1,
        Some(_) => return NamedValue::Text,
    }
    let from = reader.at;
    let len = reader.skip(VALUE_BYTES_MAX, is_part);
    let password = &text[from..from + len];
    match reader.peek() {
        None => return open,
        Some(b'@') => {}
        Some(_) => return NamedValue::Text,
    }
    let is_example = EXAMPLES.iter().any(|word| password.eq_ignore_ascii_case(word.as_bytes()))
        || password.starts_with(b"$")
        || password.windows(2).all(|two| two[0] == two[1]);
    if len < PASSWORD_BYTES_MIN || password == user || is_example {
        NamedValue::Text
    } else {
        NamedValue::Secret { from, until: from + len }
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
    value.len() >= VALUE_BYTES_MIN && !is_place && letters >= 4 && turns >= 2
}
