//! Everything that can be wrong with a result, each with a sentence.
//!
//! An agent gets the sentence back for its one repair turn, so it says what to change.

use std::fmt;

use super::limits::{
    ENTRIES_MAX, FINDINGS_MAX, RESULT_BYTES_MAX, RESULT_FORMAT, SUMMARY_CHARACTERS_MAX,
};

/// What was found is quoted up to this length.
const QUOTE_CHARACTERS_MAX: usize = 100;
/// So much of a reader's complaint is kept after what it quotes: it ends with the names that are expected.
const EXPECTED_CHARACTERS_MAX: usize = 300;

/// The reason why a result is not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResultError {
    Missing,
    NotAFile,
    Unreadable {
        error: String,
    },
    TooLarge,
    NotJson {
        line: usize,
        column: usize,
        what: String,
    },
    NotAnObject,
    WrongVersion {
        found: String,
    },
    WrongAttempt {
        found: String,
        expected: String,
    },
    MissingKey {
        key: &'static str,
    },
    /// It is JSON, but a key or a value is not as agreed.
    WrongShape {
        line: usize,
        column: usize,
        what: String,
    },
    NoBlocker,
    SummaryTooLong {
        characters: usize,
    },
    TooManyFindings {
        count: usize,
    },
    /// A list, or something in one, has too many entries.
    TooManyEntries {
        place: String,
        count: usize,
    },
    TextTooLong {
        place: String,
        characters: usize,
        max: usize,
    },
    /// A path that is absolute, or leads out of the tree.
    BadPath {
        place: String,
        path: String,
    },
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

impl fmt::Display for ResultError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(out, "there is no `result.json` in the outbox"),
            Self::NotAFile => write!(out, "`result.json` is not a regular file"),
            Self::Unreadable { error } => write!(out, "`result.json` cannot be read: {error}"),
            Self::TooLarge => write!(out, "`result.json` is larger than {RESULT_BYTES_MAX} bytes"),
            Self::NotJson { line, column, what } => {
                write!(out, "`result.json` is not JSON: {what}, in line {line}, column {column}")
            }
            Self::NotAnObject => write!(out, "`result.json` is not a JSON object"),
            Self::WrongVersion { found } => {
                write!(out, "`forge` is {found}, and must be {RESULT_FORMAT}")
            }
            Self::WrongAttempt { found, expected } => {
                write!(out, "`attempt` is `{found}`, and this attempt is `{expected}`")
            }
            Self::MissingKey { key } => write!(out, "the key `{key}` is missing"),
            Self::WrongShape { line, column, what } => {
                write!(
                    out,
                    "`result.json` is not as agreed: {what}, in line {line}, column {column}"
                )
            }
            Self::NoBlocker => {
                write!(out, "`status` is blocked, and `blocker` does not say by what")
            }
            Self::SummaryTooLong { characters } => {
                write!(
                    out,
                    "`summary` has {characters} characters, and may have {SUMMARY_CHARACTERS_MAX}"
                )
            }
            Self::TooManyFindings { count } => {
                write!(out, "there are {count} findings, and may be {FINDINGS_MAX}")
            }
            Self::TooManyEntries { place, count } => {
                write!(out, "`{place}` has {count} entries, and may have {ENTRIES_MAX}")
            }
            Self::TextTooLong { place, characters, max } => {
                write!(out, "`{place}` has {characters} characters, and may have {max}")
            }
            Self::BadPath { place, path } => {
                write!(out, "`{place}` is `{path}`, which is not a relative path inside the tree")
            }
        }
    }
}

impl std::error::Error for ResultError {}

/// Shortens what an agent wrote, for quoting it.
pub(super) fn shorten(text: &str) -> String {
    text.chars().take(QUOTE_CHARACTERS_MAX).collect()
}
