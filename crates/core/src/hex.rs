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

/// Returns true if a text is what [`hex`] writes for these bytes.
pub fn is_hex_of(text: &str, bytes: &[u8]) -> bool {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |half: u8| DIGITS[usize::from(half)];
    let is_pair = |(pair, byte): (&[u8; 2], &u8)| *pair == [digit(byte >> 4), digit(byte & 15)];
    rest.is_empty() && pairs.len() == bytes.len() && pairs.iter().zip(bytes).all(is_pair)
}
