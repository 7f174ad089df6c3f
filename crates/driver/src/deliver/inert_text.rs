//! Words of others in which a host finds neither people to call nor issues to close.
//!
//! Invariant: each such word is a code span of its own, whatever code the words around it begin or end.

/// Words behind which a host closes an issue.
const CLOSING: &[&str] = &["clos", "fix", "resolv", "implement"];
/// What ends a sentence or a bracket at a word, and is no part of it.
const AROUND: &[char] =
    &['(', ')', '[', ']', '{', '}', '"', '\'', '*', '_', ',', ';', ':', '.', '!', '?', '`'];

/// Returns a text whose mentions (`@name`) and references (`#5`, `o/r#5`, `GH-5`, an address to close) are code.
pub fn inert(text: &str) -> String {
    // No run of backticks in the text is as long, so none of them ends or begins with one of these.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let ticks = "`".repeat(longest + 1);
    let mut is_closing = false;
    let mut inert = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let is_meant =
            has_mention(word) || has_reference(word) || (is_closing && word.contains("://"));
        let core = word.trim_matches(AROUND);
        match word.find(core) {
            Some(place) if is_meant => {
                let (before, after) = (&word[..place], &piece[place + core.len()..]);
                let plain = [before, core, after].map(|part| part.replace('`', ""));
                for part in [&plain[0], &ticks, &plain[1], &ticks, &plain[2]] {
                    inert.push_str(part);
                }
            }
            Some(_) | None => inert.push_str(piece),
        }
        if !word.is_empty() {
            let word = core.to_lowercase();
            is_closing = CLOSING.iter().any(|closing| word.starts_with(closing));
        }
    }
    inert
}

fn has_mention(word: &str) -> bool {
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    word.match_indices('@').any(|(at, _)| {
        // In an address of mail a name is before it.
        !word[..at].ends_with(is_in_name) && word[at + 1..].starts_with(char::is_alphanumeric)
    })
}

fn has_reference(word: &str) -> bool {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let is_page = word.contains("://");
    let lower = word.trim_matches(AROUND).to_ascii_lowercase();
    lower.strip_prefix("gh-").is_some_and(is_number)
        || (!is_page && word.match_indices('#').any(|(at, _)| is_number(&word[at + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_not_called_and_issues_not_closed_by_words_of_others() {
        for (text, expected) in [
            ("ask @ada, (@org/team)", "ask `@ada`, (`@org/team`)"),
            ("Closes #5.\nfixes  org/repo#3", "Closes `#5`.\nfixes  `org/repo#3`"),
            ("Resolves: https://h/o/r/issues/7", "Resolves: `https://h/o/r/issues/7`"),
            ("see https://h/o/r/issues/7#1 and GH-8", "see https://h/o/r/issues/7#1 and `GH-8`"),
            ("mail ada@x.org, # heading, C#", "mail ada@x.org, # heading, C#"),
            ("a `b @ada` c", "a `b ``@ada`` c"),
            ("`@ada`", "``@ada``"),
            ("```\n@Override\n```", "```\n````@Override````\n```"),
            ("x\t@é  \n", "x\t`@é`  \n"),
        ] {
            assert_eq!(inert(text), expected);
        }
    }
}
