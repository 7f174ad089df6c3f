//! The types of a summary, as `--json` prints them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Time,
    event::Colour,
    money::{Cost, Money},
};

use crate::view::{
    format::Amount,
    proof::{ProofState, WaivedView},
    remaining_finding::RemainingFinding,
    remarks::RemarkView,
    standing::Standing,
    stats::{CallEnd, StatsRow},
};

/// The summary of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryView {
    pub run: String,
    pub flow: String,
    /// The request, whole.
    pub request: String,
    /// Where the request comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How it ended, or where it stands.
    pub standing: Standing,
    /// Why, where that needs words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    pub rest: RemainingWork,
    pub started_at: Time,
    /// How long it waited for a person with nothing under way, in milliseconds.
    #[serde(default)]
    pub waited_ms: u64,
    /// The moment that the summary is of.
    pub at: Time,
    /// A value for every parameter, and how it was chosen, where it was not simply given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<ParamView>,
    /// The commit that it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The branch that its result lands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that is its result, once something has landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub proof: ProofView,
    /// Deliveries, done or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<DeliveryView>,
    /// Its tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskRow>,
    /// Tasks that the list leaves out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_tasks: u32,
    /// Findings that are left, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<RemainingFinding>,
    /// Findings that the list leaves out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_findings: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<RemarkView>,
    /// Remarks that the list leaves out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_remarks: u32,
    /// Checkpoints that passed, and who let them pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalView>,
    /// Edits by persons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditView>,
    /// Changes of the settings by persons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Advice for the next run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub improvements: Vec<Improvement>,
    /// What each phase used, in the order of the flow.
    pub phases: Vec<PhaseRow>,
    pub total: StatsRow,
    /// Every call, if the run was started with `--debug`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallView>,
    /// Calls that the list leaves out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_calls: u32,
}

/// The remaining work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Rest")]
pub enum RemainingWork {
    /// Work.
    Work,
    /// Only the run's own record: all work is good.
    ToBeWrittenDown,
    /// Nothing: the run is over.
    Nothing,
}

/// A parameter of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParamView {
    pub name: String,
    /// Its value.
    pub value: String,
    /// Which rule chose it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub chosen: String,
}

/// The proof of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofView {
    pub state: ProofState,
    /// The code tree that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Commands that ran on exactly this tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckView>,
    /// Proofs that a person waived, and in which words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<WaivedView>,
}

/// A command that was run on the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckView {
    pub command: String,
    pub colour: Colour,
}

/// A delivery of a run, done or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryView {
    pub unit: String,
    /// `pull-request`, `comment`, …
    pub what: String,
    pub state: DeliveryState,
    /// The name of the effect outside, such as a URL.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// Why it was not done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryState {
    /// It was.
    Delivered,
    /// It does not apply to this run.
    NotWanted,
    /// It was not.
    NotDelivered,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRow {
    /// Its id, behind the scope that it lies in.
    pub id: String,
    /// One line about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    pub state: TaskStanding,
    /// Attempts at its work.
    pub attempts: u32,
    /// How often it was sent back by what is not a person.
    pub rounds: u32,
    /// What it is known to have cost, in micro-dollars.
    pub known: Money,
    /// What it is estimated to have cost besides.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub estimated: Money,
    /// Calls whose price nobody knows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_calls: u32,
}

/// The standing of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStanding {
    /// Nothing has begun.
    Waiting,
    /// It was begun.
    Open,
    /// A person is asked about it.
    Asking,
    /// It is good, and part of the result.
    Landed,
    /// It is good, and nothing was changed for it.
    Unchanged,
    /// It is good.
    Done,
    /// It failed.
    Failed,
}

/// An edit of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditView {
    /// Of which unit.
    pub unit: String,
    /// The artifact, or nothing if it was code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    pub who: String,
    /// Why, in their words.
    pub why: String,
}

/// A checkpoint that passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalView {
    pub unit: String,
    pub gate: String,
    /// Empty if the gate passed by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
    /// In which words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// Use of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRow {
    /// The stage, or the gate behind it.
    pub stage: String,
    /// The label of the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Attempts at the work.
    pub attempts: u32,
    /// What its calls used; `key` is the label, or the stage.
    #[serde(flatten)]
    pub used: StatsRow,
}

impl TaskRow {
    /// Returns the cost with its unknown parts.
    pub fn amount(&self) -> Amount {
        Amount { known: self.known, estimated: self.estimated, unknown_calls: self.unknown_calls }
    }
}

impl TaskStanding {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Open => "open",
            Self::Asking => "asked about",
            Self::Landed => "merged",
            Self::Unchanged => "nothing changed",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallView {
    /// The number of its folder.
    pub ordinal: u32,
    pub call: String,
    /// Whom the agent played, or what was done.
    pub role: String,
    /// The agent, if it was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    pub end: CallEnd,
    /// The agent's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Tokens, all together.
    pub tokens: u64,
    pub cost: Cost,
}

/// Advice for the next run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Improvement {
    /// The observed fact.
    pub fact: String,
    pub advice: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}
