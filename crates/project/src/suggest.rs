//! The nearest right word for a wrong one, and the line that a byte lies in.
//!
//! Not here: which words are right. Callers bring them.

use std::cmp::Reverse;

use strsim::levenshtein;

/// Returns the line that a byte lies in, counted from one.
pub fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
}

/// Returns a message of the TOML reader, with the nearest right key where a key is unknown.
pub fn explain(message: &str) -> String {
    let message = message.trim();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(unknown), true) = (quoted.next(), message.starts_with("unknown field")) else {
        return message.to_owned();
    };
    match nearest(unknown, quoted) {
        Some(near) => format!("unknown key `{unknown}`; did you mean `{near}`?"),
        None => message.replacen("unknown field", "unknown key", 1),
    }
}

/// Longer words are near to nothing. Comparing takes time by the square of the length.
const WORD_CHARS_MAX: usize = 200;

/// Of a word with fewer characters, three changes leave nothing.
const SHORT_CHARS: usize = 6;

/// Returns the word that is least different, if it is not too different.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > WORD_CHARS_MAX {
        return None;
    }
    let most = if length < SHORT_CHARS { 2 } else { length / 2 + 1 };
    known
        // Of two that are equally near the longer one is meant: letters are left out more often than mistaken.
        .map(|near| (levenshtein(word, near), Reverse(near.len()), near))
        .filter(|(distance, _, _)| *distance <= most)
        .min()
        .map(|(_, _, near)| near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_with_the_fewest_changes() {
        let known = ["budget", "call_budget", "at_once"];
        assert_eq!(nearest("budgt", known.into_iter()), Some("budget"));
        assert_eq!(nearest("nope", ["roles"].into_iter()), None, "nothing of it is left");
        assert_eq!(nearest("atonce", known.into_iter()), Some("at_once"));
        assert_eq!(nearest("x", known.into_iter()), None);
        assert_eq!(nearest("staus", ["stats", "status"].into_iter()), Some("status"));
    }

    #[test]
    fn a_word_without_end_is_near_to_nothing() {
        let long = "b".repeat(WORD_CHARS_MAX + 1);
        assert_eq!(nearest(&long, [long.as_str()].into_iter()), None);
        assert_eq!(nearest(&long[1..], [&long[1..]].into_iter()), Some(&long[1..]));
    }
}
