//! What a call, or a person in its place, left behind: artifacts, code, evidence, what it cost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::Blob;
use crate::{
    money::{Money, Spent, Used},
    verdict::{Finding, Shown},
};

/// The work outside for an attempt or a judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Counted over the whole run, from one. It names the folder; agents choose no paths.
    pub ordinal: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Money>,
}

/// The traces of one call: cost, files, evidence, notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub spent: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// At most 500 characters, in its own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The summary for a checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// The commit that Forge made of it, or that was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The code tree of that commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The written files, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Blob>,
    /// The agent's own session, so that an interrupted attempt can go on in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
    /// The run's result with it, where it landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What Forge itself ran on the code, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Paths that it changed. A long list is cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Notes for the person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What a worker found itself and left for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Finding>,
    /// What Forge saw when it made the commit, and what the gate `changes` objects to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<String>,
    /// What an agent wants others to know, besides its findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// What checks said on trees that Forge made itself to test the checks, such as one with a test that must fail. It says
    /// nothing about the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Evidence>,
}

/// Something that an agent wants others to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    /// A decision that it made on the way.
    Decision(String),
    /// Work that is left for later.
    FollowUp(String),
    /// A note for later attempts and runs.
    Memory(String),
    /// Something that must be true of its work, and is not.
    Unmet(String),
    /// An open note of another unit that it dealt with, as that note is named.
    Settled(String),
}

/// The result of a command that Forge itself ran, bound to the code tree that it ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    pub command: String,
    pub tree: String,
    pub colour: Colour,
    /// How long it took, in milliseconds. Nothing, if it was known already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// What was in the checkout besides the commit.
    #[serde(default, skip_serializing_if = "ProofStart::is_cached")]
    pub start: ProofStart,
    /// How it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CheckFailure>,
}

/// What was in a checkout besides its commit when a command was run in it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProofStart {
    /// Caches of an earlier proof, perhaps.
    #[default]
    Cached,
    /// Nothing.
    Pristine,
}

/// The failure of a command that Forge ran, to be known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFailure {
    /// The last lines without all that changes by itself.
    pub fingerprint: String,
    /// The tests that failed, where the output names tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<String>>,
}

/// The result of a command that Forge ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    /// It did.
    Green,
    /// It did not.
    Red,
}

/// A change that a person made to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// An artifact of the unit.
    Artifact {
        name: String,
        /// Its new content.
        content: Blob,
    },
    /// The code in the workspace of the unit.
    Code {
        /// The commit that Forge made of it.
        commit: String,
        tree: String,
    },
}

/// The effect of a landing on the run's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Brings")]
pub enum ResultChange {
    /// It did.
    #[default]
    #[serde(rename = "something")]
    Changed,
    /// There was nothing to land: the result had all of it already.
    #[serde(rename = "nothing")]
    Unchanged,
}

impl ProofStart {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_cached(&self) -> bool {
        *self == Self::Cached
    }
}

impl Evidence {
    /// Returns true if this failure is the other one, with no test failing that did not fail there.
    pub fn repeats(&self, other: &Self) -> bool {
        let (Some(failure), Some(before)) = (&self.failure, &other.failure) else { return false };
        self.command == other.command && failure.repeats(before)
    }
}

impl CheckFailure {
    /// Returns true if this failure is the other one, with no test failing that did not fail there.
    pub fn repeats(&self, before: &Self) -> bool {
        let no_new_test = match (&self.tests, &before.tests) {
            (Some(tests), Some(known)) => tests.iter().all(|test| known.contains(test)),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.fingerprint == before.fingerprint && no_new_test
    }
}

impl ResultChange {
    /// Returns what a run whose result was `before` gets from one that is `after`.
    pub(crate) fn between(before: Option<&str>, after: &str) -> Self {
        if before == Some(after) { Self::Unchanged } else { Self::Changed }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_changed(&self) -> bool {
        *self == Self::Changed
    }
}

impl Remark {
    /// Returns the word for what kind of remark this is, and its text.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Decision(text) => ("decided", text),
            Self::FollowUp(text) => ("for later", text),
            Self::Memory(text) => ("to remember", text),
            Self::Unmet(text) => ("not met", text),
            Self::Settled(text) => ("settled", text),
        }
    }
}

impl Receipt {
    /// Returns what speaks against work that is said to be done: serious findings of the worker's own, and what must be true and
    /// is not.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let serious = self.found.iter().filter(|finding| finding.is_serious());
        let unmet = self.remarks.iter().filter(|remark| matches!(remark, Remark::Unmet(_)));
        let unmet = unmet.map(|remark| format!("not met: {}", remark.parts().1));
        serious.map(Finding::to_line).chain(unmet).collect()
    }

    /// Returns the checks that failed on the code that was looked at, not those of where the run started.
    pub fn red(&self) -> impl Iterator<Item = &Evidence> {
        let tree = self.evidence.first().map(|evidence| &evidence.tree);
        let is_red = move |one: &&Evidence| one.colour == Colour::Red && Some(&one.tree) == tree;
        self.evidence.iter().filter(is_red)
    }

    /// Builds a receipt with a cost and nothing else.
    pub fn from_spent(spent: Spent) -> Self {
        Self {
            spent,
            used: None,
            summary: String::new(),
            shown: None,
            commit: None,
            tree: None,
            artifacts: BTreeMap::new(),
            session: None,
            took_ms: 0,
            head: None,
            evidence: Vec::new(),
            changed: Vec::new(),
            notes: Vec::new(),
            found: Vec::new(),
            flaws: Vec::new(),
            remarks: Vec::new(),
            trials: Vec::new(),
        }
    }
}
