//! What does not hold of the gates as text of a phase.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmetNeed {
    pub kind: UnmetKind,
    /// The file, field or phase.
    pub subject: String,
    /// The value, size or verdict that the gate asks for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub want: String,
    /// The value, size or verdict that it has.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
}

/// The manner in which something does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnmetKind {
    /// The file does not exist.
    ArtifactMissing,
    /// The file is smaller than asked for.
    ArtifactTooSmall,
    /// A required field has another value.
    RequireFailed,
    /// A forbidden field has such a value.
    ForbidTriggered,
    /// The phase has no recorded verdict.
    VerdictMissing,
    /// The phase has another verdict.
    VerdictDiffers,
    /// The gate asks for something that cannot be read.
    Misconfigured,
}

impl fmt::Display for UnmetNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, subject, want, got } = self;
        match kind {
            UnmetKind::ArtifactMissing if got.is_empty() => write!(f, "{subject} is missing"),
            UnmetKind::ArtifactMissing => write!(f, "{subject} is missing; {got}"),
            UnmetKind::ArtifactTooSmall => {
                let want = want.trim_end_matches(" bytes");
                write!(f, "{subject} has {got}; at least {want} are needed")
            }
            UnmetKind::RequireFailed => {
                write!(f, "{} must be {want}, and is {got}", field_words(subject))
            }
            UnmetKind::ForbidTriggered => write!(f, "{} is {got}", field_words(subject)),
            UnmetKind::VerdictMissing => {
                write!(f, "{subject} has no verdict yet; {want} is needed")
            }
            UnmetKind::VerdictDiffers => {
                write!(f, "{subject} has the verdict {got}; {want} is needed")
            }
            UnmetKind::Misconfigured => write!(f, "{subject}: {got}"),
        }
    }
}

/// Returns a field as a part of a sentence: `task.status` is the status of the task.
fn field_words(field: &str) -> String {
    match field.split_once('.') {
        Some((kind, name)) => format!("the {name} of the {kind}"),
        None => field.to_owned(),
    }
}

impl UnmetNeed {
    /// Returns a need that cannot be looked at.
    pub fn misconfigured(subject: impl Into<String>, what: impl Into<String>) -> Self {
        let (subject, got) = (subject.into(), what.into());
        Self { kind: UnmetKind::Misconfigured, subject, want: String::new(), got }
    }
}
