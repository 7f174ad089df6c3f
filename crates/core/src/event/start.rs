//! What is frozen when a run starts: the first fact of every journal.
//!
//! What happens later is in `event.rs`. Like there: add optional fields, and never change what an
//! old one means.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::{Blob, Person};
use crate::money::{Money, Spent, Used};

/// All that is frozen when a run starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// What the user asked for, in their words.
    pub request: String,
    /// The flow's name.
    pub flow: String,
    /// The flow's text, and the texts of the flows it uses, by name.
    pub texts: BTreeMap<String, String>,
    /// The version of the flow format.
    pub format: u32,
    /// A value for every parameter of the flow.
    pub params: BTreeMap<String, String>,
    /// The treatment of human gates marked `auto`.
    pub approvals: Approvals,
    /// How much the run may spend and do at once.
    pub limits: Limits,
    /// Settings, as a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Blob>,
    /// Role prompts, by name, as blobs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Blob>,
    /// The project's instructions, as a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Blob>,
    /// The commit that the run starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The branch of the user's that this commit was the tip of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// The branch that the run's result lands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The branch of the user's that is to follow the result at the end, if they say so then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// Which rule chose a parameter, in words, for those that were not simply given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub chosen: BTreeMap<String, String>,
    /// Where the request comes from, such as the address of an issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How much the summary tells.
    #[serde(default, skip_serializing_if = "Detail::is_plain")]
    pub detail: Detail,
    /// Who looked at the request before the run began, and what that cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coherence: Option<Coherence>,
    /// The public key by which endings of the first driver's calls are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending_key: Option<String>,
    /// The Forge that started it.
    pub version: String,
    pub by: Person,
}

/// The limits of a run's cost and concurrency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// All calls together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Money>,
    /// One call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_budget: Option<Money>,
    /// Calls under way at the same time.
    pub at_once: u32,
    /// Calls whose price nobody told, under a budget that nobody set: such a call counts with what was told of it, and
    /// after this many the run is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpriced_calls: Option<u32>,
}

/// A change of a run's settings by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsChange {
    /// The keys that were set, with their values as they were said.
    pub set: BTreeMap<String, String>,
    /// All settings of the run from here on, as a blob.
    pub settings: Blob,
    /// The limits from here on. The cap of the whole run is not among them.
    pub limits: Limits,
    /// Whether evidence from before still counts.
    #[serde(default)]
    pub evidence: Before,
    /// Void where an agent or a model changed: no session of the one before goes on.
    #[serde(default)]
    pub sessions: Before,
}

/// The fate of what was made before a change of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// It counts as before.
    #[default]
    Kept,
    /// It was made under other settings, and counts no more.
    Void,
}

/// The treatment of human gates marked `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approvals {
    /// Every one is asked about.
    ByPeople,
    /// Where every review passed without critical findings.
    Automatic,
}

/// The amount of detail in the summary of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// The usual amount of text.
    #[default]
    Plain,
    /// Also what helps to find out why: every call, with its folder and session.
    Debug,
}

impl Detail {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

/// The look at a request before its run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coherence {
    /// What it used up. It is part of what the run spent.
    pub spent: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
    /// The explanation of the agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    #[serde(default, skip_serializing_if = "TriageOutcome::is_pass")]
    pub came_to: TriageOutcome,
}

/// The outcome of the triage of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CameTo")]
pub enum TriageOutcome {
    /// It can be acted on.
    #[default]
    Pass,
    /// Nobody could act on it, so that no run began.
    Block,
    /// Nothing that could be read.
    Nothing,
}

impl TriageOutcome {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_pass(&self) -> bool {
        *self == Self::Pass
    }
}
