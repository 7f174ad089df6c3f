//! The types of a summary, as `--json` prints them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Time,
    event::Colour,
    money::{Cost, Money},
    routing::Route,
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
    /// The name of the change: the one that the design gave it, or the first line of the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The full request.
    pub request: String,
    /// Where the request comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The state of the run.
    pub standing: Standing,
    /// The reason of the state, where one is needed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    pub rest: RemainingWork,
    pub started_at: Time,
    /// How long nothing was under way, in milliseconds: it waited for a person, or stood still.
    #[serde(default)]
    pub waited_ms: u64,
    /// How much of that it was paused, stopped or not driven.
    #[serde(default)]
    pub held_ms: u64,
    /// The time of the summary.
    pub at: Time,
    /// The value of every parameter, and how it was chosen if the user did not give it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<ParamView>,
    /// The commit that it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The branch of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit of the result, once something was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub proof: ProofView,
    /// Deliveries, done or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<DeliveryView>,
    /// Its tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskRow>,
    /// The number of tasks that the list omits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_tasks: u32,
    /// Open findings, the most severe first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<RemainingFinding>,
    /// The number of findings that the list omits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_findings: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<RemarkView>,
    /// The number of remarks that the list omits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_remarks: u32,
    /// Checkpoints that passed, and who approved them.
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
    /// The number of calls that the list omits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_calls: u32,
}

/// The remaining work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Rest")]
pub enum RemainingWork {
    /// Work remains.
    Work,
    /// Only the run's own record remains: all work is accepted.
    ToBeWrittenDown,
    /// Nothing remains.
    Nothing,
}

/// A parameter of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParamView {
    pub name: String,
    /// Its value.
    pub value: String,
    /// How it was chosen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub chosen: String,
}

/// The proof of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofView {
    pub state: ProofState,
    /// The code tree of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Commands that ran on exactly this tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckView>,
    /// Checks that a person overrode, with the person's words.
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
    /// Delivered.
    Delivered,
    /// Skipped, because it does not apply to this run.
    NotWanted,
    /// Not delivered.
    NotDelivered,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRow {
    /// The id of the task, with its scope.
    pub id: String,
    /// One line about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    pub state: TaskStanding,
    /// Attempts at its work.
    pub attempts: u32,
    /// How often it was sent back automatically.
    pub rounds: u32,
    /// Reported cost, in micro-dollars.
    pub known: Money,
    /// Estimated cost that was not reported.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub estimated: Money,
    /// The number of calls of unknown price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_calls: u32,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskStanding {
    /// Not started.
    Waiting,
    /// Started.
    Open,
    /// Needs an answer.
    Asking,
    /// Accepted and merged.
    Landed,
    /// Accepted without a change.
    Unchanged,
    /// Accepted.
    Done,
    /// It failed.
    Failed,
}

/// An edit of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditView {
    /// The unit that was edited.
    pub unit: String,
    /// The artifact, or nothing if it was code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    pub who: String,
    /// The person's reason.
    pub why: String,
}

/// A checkpoint that passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalView {
    pub unit: String,
    pub gate: String,
    /// Empty if the gate passed automatically.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
    /// The person's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// Use of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRow {
    /// The stage, or a gate of it.
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
    /// The role of the agent, or the name of the command.
    pub role: String,
    /// The agent, if it was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// The tier, effort and thinking that the agent was asked for, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    pub end: CallEnd,
    /// The id of the agent's session.
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
    /// One observation about this run, as a sentence.
    pub fact: String,
    pub advice: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}
