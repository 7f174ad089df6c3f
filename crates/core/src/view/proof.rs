//! Whether the result of a run is proved, and which proofs a person waived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::Colour,
    id::gate_label,
    run::{GivenAnswer, WaivedGate},
};

/// Whether the result of a run is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProofState {
    /// There is no result yet.
    NothingLanded,
    /// Every check passed on exactly this code.
    Verified,
    /// No check ran on this code.
    Unverified,
    /// A check failed on exactly this code.
    Red,
}

/// A gate that a person overrode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaivedView {
    pub unit: String,
    pub gate: String,
    pub who: String,
    /// The person's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

impl ProofState {
    /// Whether a result is proved by what was run on exactly its tree.
    pub(super) fn from_colours(tree: Option<&str>, colours: &[Colour]) -> Self {
        match (tree, colours) {
            (None, _) => Self::NothingLanded,
            (Some(_), []) => Self::Unverified,
            (Some(_), some) if some.contains(&Colour::Red) => Self::Red,
            (Some(_), _) => Self::Verified,
        }
    }
}

impl WaivedView {
    /// Returns who overrode what, and why, as a sentence.
    pub fn sentence(&self) -> String {
        format!("{} overrode the {}: {}", self.who, gate_label(&self.gate), self.words)
    }

    pub(super) fn new(waived: &WaivedGate, said: Option<&GivenAnswer>) -> Self {
        Self {
            unit: waived.unit.to_string(),
            gate: waived.gate.clone(),
            who: said.map(|said| said.by.who.clone()).unwrap_or_default(),
            words: said.map(|said| said.words.clone()).unwrap_or_default(),
        }
    }
}
