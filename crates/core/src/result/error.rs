//! Everything that can be wrong with a result, each with a sentence.
//!
//! An agent gets the sentence back for its one repair turn, so it says what to change.

use thiserror::Error;

use super::limits::{ENTRIES_MAX, FINDINGS_MAX, RESULT_BYTES_MAX, RESULT_FORMAT};

/// What was found is quoted up to this length.
const QUOTE_CHARACTERS_MAX: usize = 100;
/// So much of a reader's complaint is kept after what it quotes: it ends with the names that are expected.
const EXPECTED_CHARACTERS_MAX: usize = 300;

/// The reason why a result is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ResultError {
    #[error("no `result.json` in the outbox")]
    Missing,
    #[error("`result.json` is not a regular file")]
    NotAFile,
    #[error("`result.json` cannot be read: {error}")]
    Unreadable { error: String },
    #[error("`result.json` is larger than {RESULT_BYTES_MAX} bytes")]
    TooLarge,
    #[error("`result.json` is not JSON: {what}, in line {line}, column {column}")]
    NotJson { line: usize, column: usize, what: String },
    #[error("`result.json` is not a JSON object")]
    NotAnObject,
    #[error("`forge` is {found}, and must be {RESULT_FORMAT}")]
    WrongVersion { found: String },
    #[error("`attempt` is `{found}`, and this attempt is `{expected}`")]
    WrongAttempt { found: String, expected: String },
    #[error("the key `{key}` is missing")]
    MissingKey { key: &'static str },
    /// It is JSON, but a key or a value is not as agreed.
    #[error("`result.json` is not valid: {what}, in line {line}, column {column}")]
    WrongShape { line: usize, column: usize, what: String },
    #[error("`status` is blocked, but `blocker` does not say by what")]
    NoBlocker,
    #[error("there are {count} findings; at most {FINDINGS_MAX} are allowed")]
    TooManyFindings { count: usize },
    /// A list, or something in one, has too many entries.
    #[error("`{place}` has {count} entries; at most {ENTRIES_MAX} are allowed")]
    TooManyEntries { place: String, count: usize },
    #[error("`{place}` has {characters} characters; at most {max} are allowed")]
    TextTooLong { place: String, characters: usize, max: usize },
    /// A path that is absolute, or leads out of the tree.
    #[error("`{place}` is `{path}`, which is not a relative path inside the tree")]
    BadPath { place: String, path: String },
}

impl ResultError {
    /// `found` is what stands there instead of the version of this contract.
    pub fn wrong_version(found: &str) -> Self {
        Self::WrongVersion { found: shorten(found) }
    }

    /// `found` is what stands there instead of the name of the attempt.
    pub fn wrong_attempt(found: &str, expected: &str) -> Self {
        Self::WrongAttempt { found: shorten(found), expected: expected.to_owned() }
    }

    /// `what` is the complaint of the JSON reader, which may quote a key of any length.
    pub fn wrong_shape(line: usize, column: usize, what: &str) -> Self {
        let characters = what.chars().count();
        let rest = characters.saturating_sub(EXPECTED_CHARACTERS_MAX);
        let what = if rest > QUOTE_CHARACTERS_MAX {
            format!("{}…{}", shorten(what), what.chars().skip(rest).collect::<String>())
        } else {
            what.to_owned()
        };
        Self::WrongShape { line, column, what }
    }
}

/// Shortens what an agent wrote, for quoting it.
pub(super) fn shorten(text: &str) -> String {
    text.chars().take(QUOTE_CHARACTERS_MAX).collect()
}
