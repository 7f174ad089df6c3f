//! How work fails, and when two failures are the same failure.
//!
//! A failure is the same as another if it has the same stage, the same class and the same last
//! lines once everything that changes by itself (digits, hex, paths, times) is taken out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of failure of a call.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    /// The program could not be started.
    NotStarted,
    /// The program ended with an error.
    Crashed,
    /// Something outside killed the program, such as a system without memory.
    Killed,
    /// The call took too long, or printed nothing for too long.
    TimedOut,
    /// The call printed more than the limit allows.
    TooMuchOutput,
    /// The result is missing or cannot be read.
    NoResult,
    /// A declared artifact is missing or unreadable.
    NoArtifact,
    /// The reported list of items is invalid, for example because items wait for each other.
    FlawedList,
    /// The call reached its price cap.
    OutOfBudget,
    /// A command of the flow failed.
    CommandFailed,
    /// A review requested changes without a usable finding.
    NoFindings,
    /// The checkout could not be set up, or the change in it could not be committed.
    NoWorkspace,
    /// The change contains a secret, so nothing was committed.
    Secret,
}

impl FaultClass {
    /// Returns true if the work may be good, and only what was left of it does not have the form that it must have.
    pub const fn is_about_form(self) -> bool {
        match self {
            Self::NoResult | Self::NoArtifact | Self::FlawedList | Self::NoFindings => true,
            Self::NotStarted
            | Self::Crashed
            | Self::Killed
            | Self::TimedOut
            | Self::TooMuchOutput
            | Self::OutOfBudget
            | Self::CommandFailed
            | Self::NoWorkspace
            | Self::Secret => false,
        }
    }

    /// Returns true if the call left nothing that could be used, so that the next one is told only what it cannot do without.
    pub(crate) const fn left_nothing(self) -> bool {
        match self {
            Self::Crashed
            | Self::Killed
            | Self::TimedOut
            | Self::TooMuchOutput
            | Self::NoResult => true,
            Self::NotStarted
            | Self::NoArtifact
            | Self::FlawedList
            | Self::OutOfBudget
            | Self::CommandFailed
            | Self::NoFindings
            | Self::NoWorkspace
            | Self::Secret => false,
        }
    }

    /// Returns true if the work was cut short by something that is not in its session, which can therefore go on.
    pub(crate) const fn cuts_short(self) -> bool {
        match self {
            Self::Killed | Self::TimedOut | Self::OutOfBudget => true,
            Self::NotStarted
            | Self::Crashed
            | Self::TooMuchOutput
            | Self::NoResult
            | Self::NoArtifact
            | Self::FlawedList
            | Self::CommandFailed
            | Self::NoFindings
            | Self::NoWorkspace
            | Self::Secret => false,
        }
    }
}

/// The failure of an attempt, for the one that comes after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub class: FaultClass,
    /// The last lines of the output.
    pub what: String,
}

/// Returns the line that says most of a failure, and how many more lines say something of their own.
///
/// Programs come to the point at the end. Secrets are listed, one on each line.
pub fn main_line(class: FaultClass, what: &str) -> (&str, usize) {
    let mut lines = what.lines().map(str::trim).filter(|line| !line.is_empty());
    if class == FaultClass::Secret {
        return (lines.next().unwrap_or_default(), lines.count());
    }
    (lines.next_back().unwrap_or_default(), 0)
}

/// How many identical failures a run takes before it stops and calls for a person.
pub const IDENTICAL_FAILURES_MAX: u32 = 3;

/// Only this many of the last lines make a failure what it is.
const FINGERPRINT_LINES: usize = 5;

/// Returns the text of a failure without all that changes by itself.
pub fn fingerprint(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(FINGERPRINT_LINES)..];
    let words = last.iter().flat_map(|line| line.split_whitespace());
    words.filter_map(steady).collect::<Vec<String>>().join(" ")
}

/// Returns the part of a word that is the same next time, if there is one.
fn steady(word: &str) -> Option<String> {
    if word.contains(['/', '\\']) {
        return None;
    }
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_hex = |part: &str| {
        let digits = part.strip_prefix("0x").or_else(|| (part.len() >= 6).then_some(part));
        digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let parts = word.split(|c: char| !c.is_ascii_alphanumeric());
    if has_digit && parts.clone().any(is_hex) {
        return None;
    }
    let kept: String = word.chars().filter(|c| !c.is_ascii_digit()).collect();
    let says_something = kept.chars().any(char::is_alphanumeric);
    says_something.then(|| kept.to_lowercase())
}
