//! Whether the result of a run is proved, and which proofs a person waived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the result of a run is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProofState {
    /// Nothing has landed, so there is nothing to prove.
    NothingLanded,
    /// Every check that was run on exactly this code succeeded.
    Verified,
    /// Nothing proves it.
    Unverified,
    /// A check failed on exactly this code.
    Red,
}

/// A gate that a person waived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaivedView {
    /// Whose gate.
    pub unit: String,
    /// Which.
    pub gate: String,
    /// Who.
    pub who: String,
    /// In which words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}
