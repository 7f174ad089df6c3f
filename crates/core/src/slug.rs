//! Words of a request or a title as a part of a name: of a run's id, and of its branch.

/// The most characters of a slug.
pub const SLUG_CHARS_MAX: usize = 40;

/// The most characters of the words in the name of a branch.
pub const BRANCH_WORDS_MAX: usize = 24;

/// Words that say nothing at the end of a name.
const FILLERS: [&str; 14] =
    ["a", "an", "and", "as", "at", "by", "for", "in", "is", "of", "on", "or", "the", "to"];

/// Returns the first words of a text, in lower case, with dashes between them.
pub fn slug(text: &str) -> String {
    words(text, SLUG_CHARS_MAX)
}

/// Returns the first words of a text for the name of a branch. None at its end is a filler, unless all are.
pub fn branch_words(text: &str) -> String {
    let mut words = words(text, BRANCH_WORDS_MAX);
    while let Some((rest, last)) = words.rsplit_once('-')
        && FILLERS.contains(&last)
    {
        words.truncate(rest.len());
    }
    words
}

fn words(text: &str, chars_max: usize) -> String {
    let mut slug = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let dash = usize::from(!slug.is_empty());
        if slug.len() + dash + word.len() > chars_max {
            if slug.is_empty() {
                slug.push_str(&word[..chars_max].to_ascii_lowercase());
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

/// Splits the id of a run into its words and its last letters.
pub fn split_run_id(run: &str) -> (&str, &str) {
    let (rest, letters) = run.rsplit_once('-').unwrap_or(("", run));
    (rest.split_once('-').map_or("", |(_, words)| words), letters)
}

/// Returns a branch that has the words of a request in its name, with those of a title in their place.
pub(crate) fn retitled(branch: &str, request: &str, title: &str) -> Option<String> {
    let replaced = |make: fn(&str) -> String| {
        let (old, new) = (make(request), make(title));
        let (before, after) = branch.split_once(&format!("{old}-"))?;
        let is_start = before.is_empty() || before.ends_with(['-', '/']);
        (is_start && !old.is_empty() && !new.is_empty() && old != new)
            .then(|| format!("{before}{new}-{after}"))
    };
    // The longer words begin with the shorter ones.
    replaced(slug).or_else(|| replaced(branch_words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_has_few_words_and_none_that_says_nothing_at_its_end() {
        for (text, words) in [
            ("Add CSV export", "add-csv-export"),
            ("Show what was spent in each month, and let me open it", "show-what-was-spent"),
            ("and the", "and"),
            (&"x".repeat(99), &"x".repeat(24)),
        ] {
            assert_eq!(branch_words(text), words, "{text}");
        }
    }

    #[test]
    fn the_words_of_a_request_in_a_branch_make_way_for_those_of_a_title() {
        let request = "Show what was spent in each month, and let me open it";
        let title = "Months and export";
        for (branch, retitled_as) in [
            ("forge/show-what-was-spent-oqmd", Some("forge/months-and-export-oqmd")),
            ("show-what-was-spent-oqmd", Some("months-and-export-oqmd")),
            (
                "forge/20261115-show-what-was-spent-in-each-month-and-oqmd",
                Some("forge/20261115-months-and-export-oqmd"),
            ),
            ("forge/oqmd", None),
            ("mine", None),
        ] {
            assert_eq!(retitled(branch, request, title).as_deref(), retitled_as, "{branch}");
        }
        assert_eq!(retitled("forge/show-what-was-spent-oqmd", request, request), None);
    }

    #[test]
    fn an_id_is_its_day_its_words_and_its_letters() {
        assert_eq!(split_run_id("20261115-add-csv-export-oqmd"), ("add-csv-export", "oqmd"));
        assert_eq!(split_run_id("20261115-run-oqmd"), ("run", "oqmd"));
        assert_eq!(split_run_id("r1"), ("", "r1"));
    }
}
