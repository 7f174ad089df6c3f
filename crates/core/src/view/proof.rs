//! Whether the result of a run is proved, and which proofs a person waived.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::Colour,
    id::gate_label,
    run::{GivenAnswer, WaivedGate},
};

/// The proof state of a run's result.
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
    pub unit: String,
    pub gate: String,
    pub who: String,
    /// In which words.
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
