//! The start or the end of a text within a limit of bytes, whole characters only.

/// Returns the start of a text, at most so many bytes, whole characters only.
pub fn start_of(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the end of a text, at most so many bytes, whole characters only.
pub fn end_of(text: &str, bytes_max: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes_max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_ends_are_whole_characters() {
        assert_eq!((start_of("aé", 2), end_of("éa", 2)), ("a", "a"));
        assert_eq!((start_of("aé", 3), end_of("éa", 3)), ("aé", "éa"));
        assert_eq!((start_of("é", 9), end_of("é", 9)), ("é", "é"));
        assert_eq!((start_of("é", 0), end_of("é", 0)), ("", ""));
    }
}
