//! Bytes as lower-case hexadecimal digits, the form in which hashes are shown and stored.

use std::fmt::Write as _;

/// Writes two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
