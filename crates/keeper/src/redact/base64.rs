//! Base64: how a text looks in it, and back.
//!
//! A text that is encoded behind others begins at one of three alignments; but for the characters
//! at its ends it looks the same whatever the others are.

pub(super) const STANDARD: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub(super) const URL_SAFE: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A value in base64.
pub(super) struct Encoded {
    /// Without the characters at both ends in which the neighbours have a part.
    pub(super) inside: Vec<u8>,
    /// The character after it, if the value is the last thing encoded and does not end evenly.
    pub(super) last: Option<u8>,
}

/// The base64 of `value` behind `shift` unknown bytes.
pub(super) fn encoded(value: &[u8], shift: usize, alphabet: &[u8; 64]) -> Encoded {
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

/// What a text is the base64 of, in either alphabet, as far as it is one.
pub(super) fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for &character in text {
        let Some(value) = value(character) else { break };
        bits = (bits << 6 | value) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits & 0xff) as u8);
        }
    }
    bytes
}

/// What stands in the text from an [`Encoded::inside`] on, without its first byte, of which a part
/// is in the characters before.
pub(super) fn decoded_inside(text: &[u8], shift: usize) -> Vec<u8> {
    let before = (shift * 8).div_ceil(6);
    let mut whole = vec![b'A'; before];
    whole.extend_from_slice(text);
    let mut bytes = decoded(&whole);
    bytes.drain(..bytes.len().min(shift + 1));
    bytes
}

fn value(character: u8) -> Option<u32> {
    Some(u32::from(match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
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
            let at = line.find(&form).unwrap_or_else(|| panic!("{form} is not in {line}"));
            assert!(form.len() >= 18);
            let decoded = decoded_inside(&line.as_bytes()[at..], shift);
            assert!(decoded.starts_with(&value[1..]), "{}", String::from_utf8_lossy(&decoded));
        }
        assert_eq!(decoded(b"Pj4-Pz8_"), decoded(b"Pj4+Pz8/"));
    }
}
