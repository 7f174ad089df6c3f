//! Doc comments that only turn a name into a question: "What it is.", "Who wants it.".

use super::source::File;

/// How such a comment begins.
const BEGINNINGS: &[&str] = &["Who", "Whoever", "Whom", "What", "Whether"];
/// A longer one says something, in characters.
const LENGTH_MIN: usize = 40;

/// The comments of a file that say nothing, each with its line.
pub(super) fn empty(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in file.text.lines().chain([""]).enumerate() {
        match (line.trim_start().strip_prefix("///"), &mut open) {
            (Some(text), Some((_, all))) => {
                all.push(' ');
                all.push_str(text.trim());
            }
            (Some(text), None) => open = Some((number + 1, text.trim().to_owned())),
            (None, _) => found.extend(open.take().filter(|(_, text)| is_empty(text))),
        }
    }
    found
}

fn is_empty(comment: &str) -> bool {
    let first = comment.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    BEGINNINGS.contains(&first) && comment.chars().count() < LENGTH_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn a_comment_that_says_nothing_is_seen() {
        let text = "struct A {\n    /// What it is.\n    a: u8,\n    /// Whoever wants it.\n    b: u8,\n\
            /// Whatever it is.\n    c: u8,\n    /// What it is,\n    /// and a second line that says it all.\n    d: u8,\n}\n\
            // What it is.\nfn f() {}\n/// Whether it is one\nfn g() {}\n";
        let files = source::parse(vec![("x.rs".into(), text.to_owned())]).unwrap();
        let found = empty(&files[0]);
        let expected = [(2, "What it is."), (4, "Whoever wants it."), (14, "Whether it is one")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
