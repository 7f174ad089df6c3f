//! What is frozen when a run starts: the first fact of every journal.
//!
//! What happens later is in `event.rs`. Like there: add optional fields, and never change what an
//! old one means.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::{Blob, Person};
use crate::{
    item::Item,
    money::{Money, Spent, Used},
    routing::Routing,
    work::WorkKind,
};

/// Everything that is fixed when a run starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// The request, in the user's words.
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
    /// The limits of cost and concurrency.
    pub limits: Limits,
    /// The hash of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Blob>,
    /// The hashes of the role prompts, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Blob>,
    /// The hashes of the skills that roles name, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skills: BTreeMap<String, Blob>,
    /// The hash of what the project's documents about its architecture are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Blob>,
    /// The hash of the project's instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Blob>,
    /// The commit that the run starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The user's branch that pointed to this commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// The branch of the run's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The user's branch that can be moved to the result at the end, if the user agrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// How each parameter that the user did not give was chosen, in words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub chosen: BTreeMap<String, String>,
    /// Where the request comes from, such as the address of an issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The amount of detail in the summary.
    #[serde(default, skip_serializing_if = "Detail::is_plain")]
    pub detail: Detail,
    /// The check of the request before the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coherence: Option<Coherence>,
    /// What happens where other work may change the same files. Older versions of Forge did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_overlap: Option<OnOverlap>,
    /// What decides on tiers besides flow and items. Older versions of Forge did not write it, and had no tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// The record of work that the run is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Box<RunSubject>>,
    /// Lists that are known at the start, by name. The stages that would report them are skipped.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<String, Vec<Item>>,
    /// The public key that verifies the endings of the first driver's calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending_key: Option<String>,
    /// The version of Forge that started the run.
    pub version: String,
    pub by: Person,
}

/// The record of work that a run is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSubject {
    pub kind: WorkKind,
    /// Its id, its title, the paths that may be changed for it, and what must hold when it is done.
    pub item: Item,
    /// Tasks of a sprint that the run leaves out, because they are blocked or need a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Why each of them is left out, by id, as the end of a sentence. Older versions of Forge did not write it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, String>,
    /// The sprint that it belongs to, if it is a task of one. Older versions of Forge did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprint: Option<String>,
    /// How the records of tasks that the run itself plans are called. Older versions of Forge did not write it.
    #[serde(default, skip_serializing_if = "PlannedTaskIds::is_as_planned")]
    pub task_ids: PlannedTaskIds,
}

/// The ids of the records of tasks that a run itself plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlannedTaskIds {
    /// The sprint and the task, as in `ACME-S01-T1`.
    #[default]
    AsPlanned,
    /// As those of tasks that people create: `ACME-S01-T01`.
    TwoDigits,
}

impl PlannedTaskIds {
    /// Returns true for what older versions of Forge did.
    pub const fn is_as_planned(&self) -> bool {
        matches!(self, Self::AsPlanned)
    }
}

/// What happens where other work may change the same files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnOverlap {
    /// A note says so, and both continue.
    Warn,
    /// Work claims its paths before it begins, and waits while other work has them.
    Defer,
    /// A person is asked.
    Block,
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
    /// The number of calls at the same time.
    pub at_once: u32,
    /// The number of calls of unknown price after which a run with the default budget stops. Such a call counts with
    /// the part of its price that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpriced_calls: Option<u32>,
}

/// A change of a run's settings by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsChange {
    /// The keys that were set, with their values as given.
    pub set: BTreeMap<String, String>,
    /// The hash of all settings of the run after the change.
    pub settings: Blob,
    /// The new limits, without the budget of the whole run.
    pub limits: Limits,
    /// What decides on tiers from here on, if that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// Whether evidence from before still counts.
    #[serde(default)]
    pub evidence: Before,
    /// Whether earlier sessions are void, because an agent or a model changed.
    #[serde(default)]
    pub sessions: Before,
}

/// Whether evidence from before a change of the settings still counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// The evidence still counts.
    #[default]
    Kept,
    /// The evidence was made under other settings and no longer counts.
    Void,
}

/// The treatment of human gates marked `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approvals {
    /// A person is asked at every gate.
    ByPeople,
    /// The gate passes automatically if every review passed without critical findings.
    Automatic,
}

/// The amount of detail in the summary of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// The usual amount of detail.
    #[default]
    Plain,
    /// Also every call, with its folder and session.
    Debug,
}

impl Detail {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

/// The check of a request before its run started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coherence {
    /// Tokens and price of this call. They are part of what the run spent.
    pub spent: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
    /// The agent's explanation.
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
    /// The request is clear enough to start.
    #[default]
    Pass,
    /// The request is not clear enough, so no run was started.
    Block,
    /// The agent's answer could not be read.
    Nothing,
}

impl TriageOutcome {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_pass(&self) -> bool {
        *self == Self::Pass
    }
}
