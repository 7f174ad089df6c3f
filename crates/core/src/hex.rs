//! Bytes as lower-case hexadecimal digits, the form in which hashes are shown and stored.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    text
}
