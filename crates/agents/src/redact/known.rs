//! Which values are known to be secret, and in which forms they may turn up.
//!
//! Invariant: a form is at least `SECRET_BYTES_MIN` and at most `PIECE_BYTES_MAX` long, so that
//! little has to be held back; a longer value is known piece by piece.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Shorter values are too likely to be ordinary words.
const SECRET_BYTES_MIN: usize = 8;
/// Longer forms are cut into pieces.
const PIECE_BYTES_MAX: usize = 512;
/// Of a longer value only this much is known.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Parts of names which say that the value is secret.
const TELLING_PARTS: &[&str] =
    &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];
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

fn is_telling(name: &str) -> bool {
    let name = name.to_uppercase().replace(HARMLESS_PART, "");
    TELLING_PARTS.iter().any(|part| name.contains(part))
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
    let mut forms: Vec<Vec<u8>> = whole.iter().flat_map(|form| pieces(form)).collect();
    forms.sort();
    forms.dedup();
    forms
}

fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a string is always JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

/// Cuts into pieces of about the same length, so that none is too short.
fn pieces(form: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let count = form.len().div_ceil(PIECE_BYTES_MAX).max(1);
    form.chunks(form.len().div_ceil(count))
        .filter(|piece| piece.len() >= SECRET_BYTES_MIN)
        .map(<[u8]>::to_vec)
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A value in base64.
struct Encoded {
    /// Without the characters at both ends in which the neighbours have a part.
    inside: Vec<u8>,
    /// The character after it, if the value is the last thing encoded and does not end evenly.
    last: Option<u8>,
}

/// The base64 of `value` behind `shift` unknown bytes.
fn encoded(value: &[u8], shift: usize, alphabet: &[u8; 64]) -> Encoded {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(value);
    let whole = bytes.len() * 8 / 6;
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        text.extend([18, 12, 6, 0].map(|down| alphabet[(bits >> down & 63) as usize]));
    }
    let last = if bytes.len().is_multiple_of(3) { None } else { Some(text[whole]) };
    Encoded { inside: text[(shift * 8).div_ceil(6)..whole].to_vec(), last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_alignment() {
        // printf 'xx%sy' 'hunter2-hunter2' | base64, with 0, 1 and 2 bytes before it.
        let value = b"hunter2-hunter2";
        for (shift, line) in
            ["aHVudGVyMi1odW50ZXIyeQ==", "eGh1bnRlcjItaHVudGVyMnk=", "eHhodW50ZXIyLWh1bnRlcjJ5"]
                .iter()
                .enumerate()
        {
            let form = String::from_utf8(encoded(value, shift, STANDARD).inside).unwrap();
            assert!(line.contains(&form), "{form} is not in {line}");
            assert!(form.len() >= 18);
        }
    }

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
    fn a_long_value_is_known_in_pieces_none_of_which_is_short() {
        let value: Vec<u8> = (0..513_u32).map(|index| b'a' + (index % 23) as u8).collect();
        let lengths: Vec<usize> = pieces(&value).map(|piece| piece.len()).collect();
        assert_eq!(lengths, [257, 256]);
    }
}
