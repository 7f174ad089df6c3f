//! One thing that `forge doctor` checked.

use forge_driver::Error;
use schemars::JsonSchema;
use serde::Serialize;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct HealthFinding {
    pub what: String,
    pub health: Health,
    /// The next command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The health of one checked thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It works.
    Good,
    /// It works, with something that the user should know.
    Note,
    /// It does not work.
    Bad,
}

pub(super) fn good(what: impl Into<String>) -> HealthFinding {
    HealthFinding { what: what.into(), health: Health::Good, next: None }
}

pub(super) fn note(what: impl Into<String>, next: impl Into<String>) -> HealthFinding {
    HealthFinding { what: what.into(), health: Health::Note, next: Some(next.into()) }
}

pub(super) fn bad(error: impl Into<Error>) -> HealthFinding {
    let error: Error = error.into();
    HealthFinding { what: error.what, health: Health::Bad, next: error.next }
}
