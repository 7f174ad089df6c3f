//! Which values are known to be secret, and in which forms they may turn up.
//!
//! Invariant: a form is at least `SECRET_BYTES_MIN` and at most `PIECE_BYTES_MAX` long, so that
//! little has to be held back; a longer value is known piece by piece.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

use super::{
    base64::{STANDARD, URL_SAFE, encoded},
    named_values::password,
};

/// Shorter values are too likely to be ordinary words.
const SECRET_BYTES_MIN: usize = 8;
/// Longer forms are cut into pieces.
const PIECE_BYTES_MAX: usize = 512;
/// Of a longer value only this much is known.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// More values are not told to a keeper, in bytes.
const PACKED_BYTES_MAX: usize = 1 << 20;
/// The bytes of the length of a value.
const LENGTH_BYTES: usize = 4;

/// Parts of names which say that the value is secret.
const TELLING_PARTS: &[&str] =
    &["KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "PWD", "CREDENTIAL", "AUTH", "COOKIE"];
/// Ends of names which say so.
const TELLING_ENDS: &[&str] = &["_PASS", "_PAT", "_DSN"];
/// Names that only look as if they told: where a shell is.
const HARMLESS: &[&str] = &["PWD", "OLDPWD"];
/// Has a telling part in it, and tells nothing: `GIT_AUTHOR_NAME`.
const HARMLESS_PART: &str = "AUTHOR";

/// The secret values of an environment: of the named variables, and of those whose names tell.
pub fn known_secrets(
    env: impl Iterator<Item = (OsString, OsString)>,
    named: &[String],
) -> Vec<Vec<u8>> {
    env.filter(|(name, _)| {
        let name = name.to_string_lossy();
        named.iter().any(|named| *named == name) || is_telling(&name)
    })
    .map(|(_, value)| value.into_vec())
    .filter(|value| value.len() >= SECRET_BYTES_MIN)
    .collect()
}

/// The secret values in a file of settings, such as `.env`: of each line `NAME=VALUE`, with or
/// without `export` and quotes. A value counts if its name tells; or if it is neither a word, a
/// number, a path nor an address without a password. Values under 8 bytes never count.
pub fn secrets_in_file(text: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        let line = line.strip_prefix(b"export ").unwrap_or(line).trim_ascii_start();
        let Some(sign) = line.iter().position(|&byte| byte == b'=') else { continue };
        let name = String::from_utf8_lossy(line[..sign].trim_ascii()).into_owned();
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        let value = unquoted(line[sign + 1..].trim_ascii());
        if !is_name || value.len() < SECRET_BYTES_MIN {
            continue;
        }
        let password = password_in(value);
        if is_telling(&name) || password.is_some() || !is_plain(value) {
            found.push(value.to_vec());
        }
        found.extend(password.filter(|password| password.len() >= SECRET_BYTES_MIN));
    }
    found
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [first @ (b'"' | b'\''), inside @ .., last] if first == last => inside,
        _ => value,
    }
}

/// The password of an address.
fn password_in(value: &[u8]) -> Option<Vec<u8>> {
    let start = value.windows(3).position(|three| three == b"://")? + 3;
    password(&value[start..]).map(|range| value[start..][range].to_vec())
}

/// A word, a number, a path, or an address: nothing that is secret by itself.
fn is_plain(value: &[u8]) -> bool {
    let is_word = value.iter().all(|byte| byte.is_ascii_alphabetic() || b" _-,".contains(byte));
    let is_number = value.iter().all(|byte| byte.is_ascii_digit() || b".:-".contains(byte));
    let is_address = value.windows(3).any(|three| three == b"://");
    let is_path = [&b"/"[..], b"./", b"../", b"~/"].iter().any(|start| value.starts_with(start));
    is_word || is_number || is_address || is_path
}

/// Values as bytes for a pipe. What does not fit is left out.
pub(crate) fn packed(values: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        let Ok(len) = u32::try_from(value.len()) else { continue };
        if bytes.len() + value.len() + LENGTH_BYTES <= PACKED_BYTES_MAX {
            bytes.extend(len.to_le_bytes());
            bytes.extend(value);
        }
    }
    bytes
}

/// Values that came through a pipe, as far as they came.
pub(crate) fn unpacked(from: impl Read) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    // What was read before an error is still worth knowing.
    let _ = from.take(PACKED_BYTES_MAX as u64).read_to_end(&mut bytes);
    let mut rest = bytes.as_slice();
    let mut values = Vec::new();
    while let Some((len, after)) = rest.split_first_chunk::<LENGTH_BYTES>() {
        let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
        let Some((value, after)) = after.split_at_checked(len) else { break };
        values.push(value.to_vec());
        rest = after;
    }
    values
}

fn is_telling(name: &str) -> bool {
    let name = name.to_uppercase().replace(HARMLESS_PART, "");
    !HARMLESS.contains(&name.as_str())
        && (TELLING_PARTS.iter().any(|part| name.contains(part))
            || TELLING_ENDS.iter().any(|end| name.ends_with(end)))
}

/// All forms in which a value may turn up. None if it is too short to be told from a word.
pub(super) fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let value = &value[..value.len().min(VALUE_BYTES_MAX)];
    if value.len() < SECRET_BYTES_MIN {
        return Vec::new();
    }
    let mut whole = vec![value.to_vec()];
    if let Ok(text) = std::str::from_utf8(value) {
        let once = escaped(text);
        // Transcripts are JSON, and hold the JSON of tools as strings.
        whole.push(escaped(&once).into_bytes());
        whole.push(once.into_bytes());
    }
    for alphabet in [STANDARD, URL_SAFE] {
        for shift in 0..3 {
            let mut form = encoded(value, shift, alphabet);
            whole.push(form.inside.clone());
            form.inside.extend(form.last);
            whole.push(form.inside);
        }
    }
    whole.extend([hex(value, b"0123456789abcdef"), hex(value, b"0123456789ABCDEF")]);
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        whole.push(in_address(value, digits));
    }
    let mut forms: Vec<Vec<u8>> = whole.iter().flat_map(|form| pieces(form)).collect();
    forms.sort();
    forms.dedup();
    forms
}

fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a string is always JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

fn hex(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let two = |byte: &u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
    value.iter().flat_map(two).collect()
}

/// As it stands in an address: `%` and two digits for all but letters, digits and a few signs.
fn in_address(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    for &byte in value {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(byte);
        } else {
            text.push(b'%');
            text.extend(hex(&[byte], digits));
        }
    }
    text
}

/// Cuts into pieces of about the same length, so that none is too short.
fn pieces(form: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let count = form.len().div_ceil(PIECE_BYTES_MAX).max(1);
    form.chunks(form.len().div_ceil(count))
        .filter(|piece| piece.len() >= SECRET_BYTES_MIN)
        .map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_secret_and_an_author_is_not() {
        let env = [
            ("MY_API_KEY", "aaaaaaaaaa"),
            ("github_token", "bbbbbbbbbb"),
            ("GIT_AUTHOR_NAME", "cccccccccc"),
            ("NAMED", "dddddddddd"),
            ("SHORT_KEY", "1234567"),
            ("HOME", "/home/somebody"),
        ];
        let env = env.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let found = known_secrets(env.into_iter(), &["NAMED".to_owned()]);
        assert_eq!(found, [&b"aaaaaaaaaa"[..], b"bbbbbbbbbb", b"dddddddddd"]);
    }

    #[test]
    fn a_file_of_settings_has_secrets_where_names_or_values_tell() {
        let text = b"# comment=with-a-sign-in-it-1
export API_KEY='plainwords'
OTHER=\"x9-2kf-77-aa\"\nMODE=development\nPORTS=8080:8081\nPLACE=/var/lib/thing-1
URL=https://example.org/a1b2c3d4
DB=postgres://app:s3cr3t-s3cr3t@db/app\nPASSWORD=short\nnot a line\n A B=cccccccccc1\n";
        let found = secrets_in_file(text);
        let found: Vec<&str> = found.iter().map(|value| str::from_utf8(value).unwrap()).collect();
        let url = "postgres://app:s3cr3t-s3cr3t@db/app";
        assert_eq!(found, ["plainwords", "x9-2kf-77-aa", url, "s3cr3t-s3cr3t"]);
    }

    #[test]
    fn values_pass_through_a_pipe_as_they_are_and_as_many_as_fit() {
        let values = [b"one two".to_vec(), vec![0, 255, 10], vec![b'x'; 100_000]];
        let bytes = packed(&values);
        assert_eq!(unpacked(bytes.as_slice()), values);
        assert_eq!(unpacked(&bytes[..bytes.len() - 1]), values[..2], "as far as they came");
        let many = vec![vec![b'y'; 300_000]; 5];
        assert_eq!(unpacked(packed(&many).as_slice()).len(), 3);
    }

    #[test]
    fn a_long_value_is_known_in_pieces_none_of_which_is_short() {
        let value: Vec<u8> = (0..513_u32).map(|index| b'a' + (index % 23) as u8).collect();
        let lengths: Vec<usize> = pieces(&value).map(|piece| piece.len()).collect();
        assert_eq!(lengths, [257, 256]);
    }
}
