//! Whether the words of a request can be a request at all. Every refusal has its reason and
//! commands that would be taken.
//!
//! Not here: whether a request makes sense, which takes an agent (`triage.rs`).
//!
//! Invariant: this looks at the words and at nothing else, so that the same words always get the
//! same answer, and nothing was made or called before it.

use std::sync::LazyLock;

use forge_core::view::shorten;
use forge_driver::Error;
use regex::Regex;

use super::request::{QUICK_FLOW, Request};

/// Shorter texts say nothing that could be done.
const REQUEST_CHARS_MIN: usize = 5;

/// The most characters of an address that a refusal quotes.
const SHOWN_CHARS_MAX: usize = 100;

/// Flags that somebody put inside the quotes, if the request ends with them.
const FLAGS: [&str; 12] = [
    "--auto",
    "--yes",
    "--nopr",
    "--no-pr",
    "--discuss",
    "--effort",
    "--type",
    "--resume",
    "--quick",
    "--dry-run",
    "-y",
    "-n",
];

/// Two requests that would be taken.
const EXAMPLES: &str = "forge run \"what you want\"\n   or: forge run --issue issue.json";

/// The beginning of a word that was meant as an address, in small letters.
static MEANT_AS_ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[a-z0-9+.-]+://|https?//|htt?ps?:|ttps?:|www\.)").expect("a valid pattern")
});

/// An address of the web in small letters: its host, and its path.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    let label = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
    let host = format!(r"localhost|{label}(?:\.{label})+");
    let path = r#"/[^\\<>"{}|^`?#\x00-\x1f\x7f-\x{9f}]*"#;
    Regex::new(&format!("^https?://({host})(?::[0-9]{{1,5}})?({path})?(?:[?#].*)?$"))
        .expect("a valid pattern")
});

/// Refuses words that cannot be a request.
pub(super) fn refuse_words(request: &Request) -> Result<(), Error> {
    let text = request.text.trim();
    if text.is_empty() {
        return Err(refused("the request is empty"));
    }
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_alone = first.len() == text.len();
    let lower = first.to_ascii_lowercase();
    match ADDRESS.captures(&lower) {
        Some(_) if is_alone => return Err(no_issue(first)),
        None if MEANT_AS_ADDRESS.is_match(&lower) => {
            let what = format!("`{}` is not a valid URL", shown(first));
            return Err(refused(what));
        }
        Some(_) | None => {}
    }
    if text.chars().count() < REQUEST_CHARS_MIN {
        let what = format!("`{text}` is too short to be a request");
        return Err(refused(what));
    }
    if !text.chars().any(char::is_alphanumeric) {
        return Err(refused("the request is only punctuation"));
    }
    if !text.chars().any(char::is_alphabetic) {
        return Err(refused("the request has no word in it"));
    }
    // A flow of the user's own may need no more than a name.
    let is_for_us = request.flow.as_deref().is_none_or(|flow| flow == QUICK_FLOW);
    if is_for_us && is_alone && text.is_ascii() {
        let what = format!("`{text}` is a single word; say in a sentence what you want");
        return Err(refused(what));
    }
    refuse_flags(request, text)
}

/// Refuses a request that ends with what looks like a flag.
fn refuse_flags(request: &Request, text: &str) -> Result<(), Error> {
    let Some(last) = text.split_whitespace().next_back() else { return Ok(()) };
    let name = last.split_once('=').map_or(last, |(name, _)| name);
    let is_one = FLAGS.contains(&name) && (last.contains('=') || name != "--effort");
    let is_size = last.len() <= 2 && last.chars().all(|c| c.is_ascii_uppercase());
    let is_amount = last.trim_start_matches('$').parse::<f64>().is_ok();
    let before = text.split_whitespace().rev().nth(1);
    let before =
        before.filter(|word| *word == "--effort" && is_size || *word == "--budget" && is_amount);
    if !is_one && before.is_none() {
        return Ok(());
    }
    let flag = before.map_or_else(|| last.to_owned(), |before| format!("{before} {last}"));
    let mut outside = request.clone();
    outside.text = text.strip_suffix(&*flag).unwrap_or(text).trim_end().into();
    for word in outside.typed.iter_mut().filter(|word| **word == request.text) {
        word.clone_from(&outside.text);
    }
    let (name, value) = flag.split_once(' ').unwrap_or((&flag, ""));
    let again = match value {
        "" => outside.said_again(&[], &[name]).replacen(" run ", &format!(" run {name} "), 1),
        value => outside.said_again(&[(name, value)], &[]),
    };
    Err(Error::usage(
        format!("the request ends with `{flag}`; a flag inside the quotes has no effect"),
        again,
    ))
}

/// Says that an address is of no issue.
fn no_issue(address: &str) -> Error {
    refused(format!(
        "`{}` is not the address of an issue, such as https://github.com/OWNER/REPO/issues/7",
        shown(address)
    ))
}

/// Returns a refusal with two requests that would be taken.
pub(super) fn refused(what: impl Into<String>) -> Error {
    Error::usage(what, EXAMPLES)
}

fn shown(word: &str) -> String {
    shorten(word, SHOWN_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> String {
        let error = refuse_words(&Request::new(text)).expect_err(text);
        assert!(error.next.is_some_and(|next| next.contains("forge run")), "{text}");
        error.what
    }

    #[test]
    fn words_that_say_nothing_are_refused_with_their_reason() {
        for (text, expected) in [
            ("", "is empty"),
            (" \n\t", "is empty"),
            ("fix", "too short"),
            ("日本", "too short"),
            ("improve", "a single word"),
            ("../../etc/passwd", "a single word"),
            ("nope-S99", "a single word"),
            ("?!?!?!?!", "only punctuation"),
            ("12345 678", "no word in it"),
            ("fix the list --effort=Q", "ends with `--effort=Q`"),
            ("fix the list --effort L", "ends with `--effort L`"),
            ("fix the list --budget 5", "ends with `--budget 5`"),
            ("fix the list -y", "ends with `-y`"),
            ("fix the list --auto", "ends with `--auto`"),
        ] {
            assert!(why(text).contains(expected), "{text:?}: {}", why(text));
        }
    }

    #[test]
    fn a_shell_runs_nothing_of_what_is_proposed() {
        let next =
            refuse_words(&Request::new("fix the list --auto")).expect_err("a flag").next.unwrap();
        for command in next.lines() {
            let outside: String = command.split('\'').step_by(2).collect();
            assert!(!outside.contains(['`', '$']), "{command}");
        }
    }

    #[test]
    fn a_flag_inside_the_quotes_is_proposed_outside_of_them_beside_the_other_flags() {
        let next = |words: &[&str], text: &str| {
            let typed = words.iter().map(|word| (*word).to_owned()).collect();
            let request = Request { typed, ..Request::new(text) };
            refuse_words(&request).expect_err("a flag").next.unwrap()
        };
        let text = "fix the list --auto";
        let said = next(&["-C", "..", "run", "--quick", "--budget", "2", text], text);
        assert_eq!(said, "forge -C .. run --auto --quick --budget 2 'fix the list'");
        let text = "fix the list --effort L";
        assert_eq!(next(&["run", "-y", text], text), "forge run --effort L -y 'fix the list'");
        assert_eq!(next(&[], text), "forge run --effort L 'fix the list'");
    }

    #[test]
    fn requests_of_any_kind_are_taken() {
        for text in [
            "do it",
            "日本語で書いて",
            "read ../../etc/passwd",
            "add the flag --json to the list",
            "add an --effort flag",
            "https://example.org/spec says how the list must look; build it",
            "Why is a:b:c refused?",
        ] {
            assert!(refuse_words(&Request::new(text)).is_ok(), "{text}");
        }
    }

    #[test]
    fn addresses_that_are_none_are_refused_as_such() {
        for text in [
            "http://",
            "https:/github.com/a/b/issues/1",
            "https//github.com/a/b",
            "htps://github.com/a/b/issues/1",
            "https://",
            "https://nohost",
            "https://git hub.com/a",
            "https://-a.org/x",
            "https://a..org",
            "https://a.org:port/x",
            "ftp://a.org/x",
            "www.example.org/x",
            "https://a.org/<x>",
        ] {
            assert!(why(text).contains("is not a valid URL"), "{text}: {}", why(text));
        }
    }

    #[test]
    fn an_address_that_is_of_no_issue_is_refused() {
        for text in ["https://github.com/o/r", "https://example.org/x"] {
            assert!(why(text).contains("is not the address of an issue"), "{}", why(text));
        }
    }
}
