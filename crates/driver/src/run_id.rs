//! Ids of runs: the day, the first words of the request, and four letters of chance, which make no word.

use forge_core::slug::{slug, split_run_id};

/// A new id: `YYYYMMDD-<slug>-<4 letters and digits>`.
pub fn new_run_id(request: &str) -> String {
    let today = jiff::Zoned::now().strftime("%Y%m%d").to_string();
    let mut bytes = [0_u8; 4];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    if filled != Ok(bytes.len()) {
        bytes = std::process::id().to_le_bytes();
    }
    let tail: String = bytes.iter().map(|byte| letter(*byte)).collect();
    match slug(request).as_str() {
        "" => format!("{today}-run-{tail}"),
        slug => format!("{today}-{slug}-{tail}"),
    }
}

/// Without vowels, so that they are no word of a language, and without what looks like a one or a zero.
fn letter(byte: u8) -> char {
    const LETTERS: &[u8] = b"bcdfghjkmnpqrstvwxz23456789";
    char::from(LETTERS[usize::from(byte) % LETTERS.len()])
}

/// Returns how a run is called in messages: the letters of chance, by which it can be named.
pub fn short_id(run: &str) -> &str {
    split_run_id(run).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_core::slug::SLUG_CHARS_MAX;

    #[test]
    fn an_id_holds_the_first_words_of_the_request() {
        let id = new_run_id("Add a queue,\nplease!");
        let (date, rest) = id.split_once('-').unwrap();
        assert_eq!(date.len(), 8);
        assert!(rest.starts_with("add-a-queue-please-"), "{id}");
        assert_eq!(rest.len(), "add-a-queue-please-".len() + 4);
    }

    #[test]
    fn an_id_is_a_plain_folder_name_whatever_the_request_says() {
        for request in ["../../etc", "", "日本", &"x".repeat(500), "a/b\\c\0d"] {
            let id = new_run_id(request);
            assert!(id.len() <= 8 + 1 + SLUG_CHARS_MAX + 1 + 4, "{id}");
            assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{id}");
        }
    }
}
