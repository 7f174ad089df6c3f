//! Ids of runs: the day, the first words of the request, and four letters of chance.

/// The most characters of a request that become part of a run's id.
const SLUG_CHARS_MAX: usize = 40;

/// A new id: `YYYYMMDD-<slug>-<4 base32>`.
pub fn new_run_id(request: &str) -> String {
    let today = jiff::Zoned::now().strftime("%Y%m%d").to_string();
    let mut bytes = [0_u8; 4];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    if filled != Ok(bytes.len()) {
        bytes = std::process::id().to_le_bytes();
    }
    let letters = b"abcdefghijklmnopqrstuvwxyz234567";
    let tail: String =
        bytes.iter().map(|byte| char::from(letters[usize::from(byte % 32)])).collect();
    match slug(request).as_str() {
        "" => format!("{today}-run-{tail}"),
        slug => format!("{today}-{slug}-{tail}"),
    }
}

/// The first words of a request, in lower case, with dashes between them.
pub fn slug(request: &str) -> String {
    let mut slug = String::new();
    for word in request.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
    {
        let dash = usize::from(!slug.is_empty());
        if slug.len() + dash + word.len() > SLUG_CHARS_MAX {
            if slug.is_empty() {
                slug.push_str(&word[..SLUG_CHARS_MAX].to_ascii_lowercase());
            }
            break;
        }
        if dash == 1 {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

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
