//! What a call, or a person in its place, left behind: artifacts, code, evidence, what it cost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::Blob;
use crate::{
    friction::Friction,
    money::{Money, Spent, Used},
    routing::{Route, Successor, Wish},
    verdict::{Finding, Shown},
};

/// The process that works on an attempt or a judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The number of the call in the run, from 1. It names the call's folder.
    pub ordinal: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Money>,
    /// What an agent's call wants. Older versions of Forge did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wish: Option<Wish>,
}

/// The receipt of one call: cost, files, evidence and notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub spent: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// The tier, effort and thinking that the agent was asked for, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// The agent's summary, at most 500 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The summary for a checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// The commit of the change, or the commit that was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The code tree of that commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The written files, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Blob>,
    /// The agent's session, so that an interrupted attempt can continue in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Who could take over, if the agent cannot do the work: what to read is too long for its model, or the model refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<Successor>,
    /// The agent or the account whose limit it reached, if there are several: nothing more is asked of it before that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_up: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
    /// The tip of the run's branch after the merge, if the change was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The commands that Forge ran on the code, with their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Changed paths. A long list is cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Notes for the person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Problems that the agent reported itself and left open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Finding>,
    /// Problems that Forge saw when it made the commit. The gate `changes` reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<String>,
    /// Remarks of the agent for later stages and for the user, besides findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// What hindered the agent, as it says itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub friction: Vec<Friction>,
    /// Results of checks on trees that Forge made to test the checks, such as one with a test that must fail. They say
    /// nothing about the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Evidence>,
}

/// A remark of an agent for later stages and for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    /// A decision that the agent made.
    Decision(String),
    /// Work that is left for later.
    FollowUp(String),
    /// A note for later attempts and runs.
    Memory(String),
    /// A requirement that the work does not meet.
    Unmet(String),
    /// The id of an open note of another unit that is now resolved.
    Settled(String),
}

/// The result of a command that Forge itself ran, bound to the code tree that it ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    pub command: String,
    pub tree: String,
    pub colour: Colour,
    /// Duration in milliseconds; `null` if an earlier result was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// Files that the checkout had besides the commit.
    #[serde(default, skip_serializing_if = "ProofStart::is_cached")]
    pub start: ProofStart,
    /// The fingerprint of the failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CheckFailure>,
}

/// Files that a checkout had besides its commit when a command ran in it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProofStart {
    /// Possibly caches of an earlier check.
    #[default]
    Cached,
    /// Nothing.
    Pristine,
}

/// The fingerprint of a failed command, so that the same failure is recognized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFailure {
    /// The last lines of the output, without parts that differ in every run, such as times.
    pub fingerprint: String,
    /// The tests that failed, where the output names tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Vec<String>>,
}

/// The result of a command that Forge ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    /// The command succeeded.
    Green,
    /// The command failed.
    Red,
}

/// A change that a person made to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// An artifact of the unit.
    Artifact {
        name: String,
        /// The new content of the artifact.
        content: Blob,
    },
    /// The code in the workspace of the unit.
    Code {
        /// The commit that Forge made of the edit.
        commit: String,
        tree: String,
    },
}

/// The effect of a merge on the run's branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Brings")]
pub enum ResultChange {
    /// The merge changed the run's branch.
    #[default]
    #[serde(rename = "something")]
    Changed,
    /// The branch already contained the change, so nothing was merged.
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
            route: None,
            summary: String::new(),
            shown: None,
            commit: None,
            tree: None,
            artifacts: BTreeMap::new(),
            session: None,
            successor: None,
            used_up: None,
            took_ms: 0,
            head: None,
            evidence: Vec::new(),
            changed: Vec::new(),
            notes: Vec::new(),
            found: Vec::new(),
            flaws: Vec::new(),
            remarks: Vec::new(),
            friction: Vec::new(),
            trials: Vec::new(),
        }
    }
}
