//! The id of a record: a name that is also the name of a file, and nothing more than that.
//!
//! Invariant: no id leads out of a folder. `[A-Za-z0-9][A-Za-z0-9_-]{0,59}(\.[1-9][0-9]?)?` has no separator, does not
//! begin with a dot or a dash, and has at most one dot, before a number.
//! Invariant: two ids that differ only in case are the same id.

use std::{cmp::Ordering, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::NotAName;

/// The most characters before the number of a part.
const NAME_CHARS_MAX: usize = 60;
/// The most digits of the number of a part.
const PART_DIGITS_MAX: usize = 2;

/// The id of a record, such as `ACME-S01-T02`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct WorkId(String);

impl WorkId {
    /// Returns the id as it was written first.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id that follows these, in the order of their numbers: `stem` with the next number.
    pub(super) fn next<'a>(
        stem: &str,
        digits: usize,
        taken: impl Iterator<Item = &'a Self>,
    ) -> Result<Self, NotAName> {
        let number = |id: &Self| {
            let begins = id.0.get(..stem.len()).is_some_and(|text| text.eq_ignore_ascii_case(stem));
            begins.then(|| id.0.get(stem.len()..)?.parse::<u32>().ok())?
        };
        let last = taken.filter_map(number).max().unwrap_or(0);
        format!("{stem}{:0digits$}", last + 1).parse()
    }
}

impl FromStr for WorkId {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let (name, part) = match text.split_once('.') {
            Some((name, part)) => (name, Some(part)),
            None => (text, None),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_name = name.len() <= NAME_CHARS_MAX
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(is_plain);
        let is_part = part.is_none_or(|part| {
            part.len() <= PART_DIGITS_MAX
                && part.starts_with(|c: char| ('1'..='9').contains(&c))
                && part.chars().all(|c| c.is_ascii_digit())
        });
        if is_name && is_part {
            return Ok(Self(text.to_owned()));
        }
        let expected = "a record: letters, digits, `-` and `_`, at most 60, such as `ACME-S01`";
        Err(NotAName { text: text.escape_debug().to_string(), expected })
    }
}

impl TryFrom<String> for WorkId {
    type Error = NotAName;

    fn try_from(text: String) -> Result<Self, NotAName> {
        text.parse()
    }
}

impl From<WorkId> for String {
    fn from(id: WorkId) -> Self {
        id.0
    }
}

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl PartialEq for WorkId {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for WorkId {}

impl PartialOrd for WorkId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WorkId {
    fn cmp(&self, other: &Self) -> Ordering {
        let lower = |id: &Self| id.0.to_ascii_lowercase();
        lower(self).cmp(&lower(other))
    }
}
