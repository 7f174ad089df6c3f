//! A finding that nobody dealt with, as views show it, and the name by which others can speak of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Finding;

/// An open finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LeftView")]
pub struct RemainingFinding {
    pub unit: String,
    /// Why the finding is open.
    #[serde(rename = "left")]
    pub reason: RemainingReason,
    /// The person who approved the work with the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub finding: Finding,
}

/// The reason why a finding is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Left")]
pub enum RemainingReason {
    /// The work was not accepted.
    Open,
    /// A person overrode the gate, or approved the work with the finding.
    Waived,
    /// The finding is only a note.
    Note,
}

impl RemainingFinding {
    /// Returns its severity, and the person who accepted it, if one did: `major, accepted by ada`.
    pub fn severity_words(&self) -> String {
        let severity = self.finding.severity.as_str();
        match (self.reason, &self.by) {
            (RemainingReason::Waived, Some(who)) => format!("{severity}, accepted by {who}"),
            (_, _) => severity.to_owned(),
        }
    }

    /// Returns the name by which others can speak of it.
    pub fn id(&self) -> String {
        format!("{} {}", self.unit, self.finding.id)
    }
}
