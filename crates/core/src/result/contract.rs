//! The shape of `result.json`. The doc comments of fields are the descriptions in the published schema, so
//! they are written for agents to read.
//!
//! Not here: limits (`limits`, `validate`), and the types that a result shares with the journal
//! (`verdict`, `item`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::SUMMARY_CHARACTERS_MAX;
use crate::friction::{Friction, FrictionReport};
use crate::item::Item;
use crate::verdict::{BlockerClass, Finding, Proof, Risk, Severity, Shown};

/// What a summary that was too long ends with.
const SUMMARY_CUT: &str = "… (cut)";

/// The `result.json` of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentResult {
    /// The version of this format: 1.
    pub forge: u64,
    /// The name of this attempt, exactly as in the brief.
    pub attempt: String,
    /// Whether the work is done, done in part, or blocked.
    pub status: Status,
    /// What was done, in at most 500 characters. A longer text is cut.
    pub summary: String,
    /// For reviewers: the verdict on the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ReportedVerdict>,
    /// Problems that were found, at most 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ReportedFinding>,
    /// Lists of items to work on, by the name of the list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<String, Vec<Item>>,
    /// For each must-have that was asked for: whether it is met, and what proves it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must: Vec<MustHave>,
    /// What a person should see before deciding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<ReportedShown>,
    /// Why the work cannot continue; required if the status is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<Blocker>,
    /// A proposed commit message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Open notes of other stages that are now resolved, by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<String>,
    /// Decisions that were made during the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Work that is left for later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<String>,
    /// Notes for later attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<String>,
    /// What hindered the work, if anything did. An entry that is not as described is noted and left out.
    #[serde(default, skip_serializing_if = "FrictionReport::is_empty")]
    #[schemars(with = "Vec<Friction>")]
    pub friction: FrictionReport,
}

/// The progress of the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Done,
    Partial,
    Blocked,
}

/// The verdict of a reviewer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Verdict")]
pub enum ReportedVerdict {
    Pass,
    Revise,
    Block,
}

// Apart from `Finding`, because the journal's has an id, which Forge gives.
/// One thing found wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Finding")]
pub struct ReportedFinding {
    pub severity: Severity,
    /// The file, relative to the root of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line in that file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The problem.
    pub what: String,
    /// Why the problem matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// A command with its output, or a quote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The earlier finding which this one repeats, such as F3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
}

/// One must-have, and its proof.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MustHave {
    pub id: String,
    pub state: MustState,
    /// The proof that it holds.
    #[serde(default)]
    pub proof: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MustState {
    Met,
    Unmet,
}

// Apart from `Shown`, because the journal leaves out what is empty, and an agent must say it.
/// What a person should see before deciding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Shown")]
pub struct ReportedShown {
    pub approach: String,
    #[serde(default)]
    pub key_changes: Vec<String>,
    pub risk: Risk,
    /// The change in one line of at most 72 characters, for the title of a pull request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
}

/// The reason why the work cannot continue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocker {
    pub class: StatedBlocker,
    pub what: String,
}

// Apart from `BlockerClass`, because the journal has one class more, which only Forge can see. Its schema
// has no description: it would change the published one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "BlockerClass")]
pub enum StatedBlocker {
    ContextOverflow,
    ScopeExceeded,
    ModelRefusal,
    ToolingFailure,
    ExternalDependency,
    Unknown,
}

/// A key which a role may be obliged to give.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ResultKey {
    Verdict,
    Findings,
    Lists,
    Must,
    Shown,
    Commit,
    Settled,
}

impl ResultKey {
    pub const ALL: [Self; 7] = [
        Self::Verdict,
        Self::Findings,
        Self::Lists,
        Self::Must,
        Self::Shown,
        Self::Commit,
        Self::Settled,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Findings => "findings",
            Self::Lists => "lists",
            Self::Must => "must",
            Self::Shown => "shown",
            Self::Commit => "commit",
            Self::Settled => "settled",
        }
    }
}

impl AgentResult {
    /// Cuts a summary that is too long, and says so in it.
    pub fn cut_summary(&mut self) {
        if self.summary.chars().count() > SUMMARY_CHARACTERS_MAX {
            let room = SUMMARY_CHARACTERS_MAX - SUMMARY_CUT.chars().count();
            self.summary = self.summary.chars().take(room).chain(SUMMARY_CUT.chars()).collect();
        }
    }
}

impl From<ReportedFinding> for Finding {
    fn from(reported: ReportedFinding) -> Self {
        let ReportedFinding { severity, path, line, what, why, proof, was } = reported;
        let (id, why, doubt) = (String::new(), why.unwrap_or_default(), None);
        Self { id, severity, path, line, what, why, proof, was, doubt }
    }
}

impl From<ReportedShown> for Shown {
    fn from(ReportedShown { approach, key_changes, risk, title }: ReportedShown) -> Self {
        Self { approach, key_changes, risk: Some(risk), title }
    }
}

impl From<StatedBlocker> for BlockerClass {
    fn from(stated: StatedBlocker) -> Self {
        match stated {
            StatedBlocker::ContextOverflow => Self::ContextOverflow,
            StatedBlocker::ScopeExceeded => Self::ScopeExceeded,
            StatedBlocker::ModelRefusal => Self::ModelRefusal,
            StatedBlocker::ToolingFailure => Self::ToolingFailure,
            StatedBlocker::ExternalDependency => Self::ExternalDependency,
            StatedBlocker::Unknown => Self::Unknown,
        }
    }
}
