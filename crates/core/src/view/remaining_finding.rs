//! A finding that nobody dealt with, as views show it, and the name by which others can speak of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Finding;

/// A finding that is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LeftView")]
pub struct RemainingFinding {
    pub unit: String,
    /// Why it is left.
    #[serde(rename = "left")]
    pub reason: RemainingReason,
    /// The person whose answer let it pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub finding: Finding,
}

/// The reason why a finding remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Left")]
pub enum RemainingReason {
    /// The work did not become good.
    Open,
    /// The gate that found it was waived, or a person let it pass.
    Waived,
    /// Nobody had to act on it.
    Note,
}

impl RemainingReason {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waived => "waived",
            Self::Note => "note",
        }
    }
}

impl RemainingFinding {
    /// Returns why it is left, and by whom.
    pub fn reason_words(&self) -> String {
        match &self.by {
            Some(who) => format!("{} by {who}", self.reason.as_str()),
            None => self.reason.as_str().to_owned(),
        }
    }

    /// Returns the name by which others can speak of it.
    pub fn id(&self) -> String {
        format!("{} {}", self.unit, self.finding.id)
    }
}
