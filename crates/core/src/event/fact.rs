//! The facts of a run, and the records that hold them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Time,
    id::{AttemptId, CallId, JudgementId, QuestionId, Scope, UnitId},
    item::Item,
    money::{Money, Spent, Used},
    routing::{Assignment, Successor},
    verdict::{BlockerClass, Finding, VerdictWord},
};

use super::{
    Answer, Approval, Call, Edit, End, FailureKind, Hold, Outcome, Person, Question, Receipt,
    ResultChange, Ruling, SentBack, SettingsChange, Start, Waiver,
};

/// All facts of one decision. They are stored together or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// When it was decided. Never earlier than the record before.
    pub at: Time,
    /// The facts of one decision, in order.
    pub facts: Vec<Event>,
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run started. Settings, flow, roles and base commit are fixed here.
    RunStarted(Box<Start>),
    /// The run was held: nothing new starts until [`Event::RunResumed`].
    RunHeld {
        /// The reason; it also determines what happens to running calls.
        hold: Hold,
    },
    /// The run was resumed: work may start again, also in a failed run.
    RunResumed { by: Person },
    /// The budget of the whole run changed.
    BudgetRaised {
        /// The new budget of the run.
        budget: Money,
        by: Person,
    },
    /// A person changed settings of the run while it was stopped.
    SettingsChanged { change: Box<SettingsChange>, by: Person },
    /// A stage reported the items that a later `each` goes over.
    ItemsListed {
        /// The scope in which later stages can use the list.
        scope: Scope,
        list: String,
        /// The items, in order.
        items: Vec<Item>,
    },
    /// The stage is done as far as it can be: these items are not finished, and cannot go on.
    ItemsLeft {
        unit: UnitId,
        /// Their ids, in the order of the list.
        items: Vec<String>,
    },
    /// The stage, or a gate of it, begins as soon as what its gates as text ask for holds.
    NeedsAsked {
        unit: UnitId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gate: Option<String>,
    },
    /// It holds.
    NeedsMet {
        unit: UnitId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gate: Option<String>,
    },
    /// The stage was skipped, because it does not apply to this run or item.
    UnitSkipped { unit: UnitId },
    /// The gate was skipped, because it does not apply to this run or item.
    GateSkipped { unit: UnitId, gate: String },
    /// The unit may start, and waits until its paths are claimed for it.
    PathsWanted { unit: UnitId },
    /// Other work has the paths of the unit, which waits for it.
    PathsTaken {
        unit: UnitId,
        /// The other work, in words.
        what: String,
    },
    /// The paths of the unit are claimed for it, until its work is merged or given up.
    PathsClaimed { unit: UnitId },
    /// An attempt was started. The fact is stored before the work begins, so a crash cannot hide it.
    AttemptStarted {
        attempt: AttemptId,
        /// The process that works on it. `null` for an `each`, a checkpoint, or a stage whose gates run first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Call>,
    },
    /// An attempt ended.
    AttemptEnded {
        attempt: AttemptId,
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Receipt>,
    },
    /// A gate started.
    JudgementStarted {
        judgement: JudgementId,
        /// The call that runs for the gate.
        call: Call,
    },
    /// It was decided which agent and account work on a call, before its program starts. Only where limits decide on that.
    CallAssigned { call: CallId, to: Assignment },
    /// The agent of a call cannot do the work, and somebody else takes over. That happens once.
    WorkPassedOn {
        call: CallId,
        /// Why it cannot.
        class: BlockerClass,
        to: Successor,
    },
    /// A gate ended with a verdict, or with the reason why there is none.
    Judged { judgement: JudgementId, ruling: Ruling, receipt: Receipt },
    /// An outdated call ended. Only its price counts.
    CallSettled {
        call: CallId,
        spent: Spent,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<Used>,
        /// How long it took, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        took_ms: u64,
    },
    /// The gate passed without a judgement.
    GatePassed {
        unit: UnitId,
        gate: String,
        by: Approval,
        /// The combined verdict of the attempt's reviews, if the gate passed automatically.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict: Option<VerdictWord>,
    },
    /// The gate did not pass, but the unit continues.
    GateWaived { unit: UnitId, gate: String, why: Waiver },
    /// A question was asked.
    QuestionAsked(Box<Question>),
    /// A question was answered.
    Answered {
        question: QuestionId,
        answer: Answer,
        /// The person's words. They are copied unchanged into the next brief.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
        by: Person,
    },
    /// The unit is worked on again, and the stages after it are reset.
    UnitReopened {
        unit: UnitId,
        by: SentBack,
        /// The findings that the next attempt must fix.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
        /// A person's words to the next attempt, or the remaining work that the agent reported.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
    },
    /// The unit passed all of its gates and is done.
    UnitAccepted { unit: UnitId },
    /// The unit failed or is blocked, and is not tried again automatically.
    UnitFailed { unit: UnitId, kind: FailureKind, reason: String },
    /// The work of a unit was merged into the run's branch. It is never reopened.
    Landed {
        unit: UnitId,
        /// The commit that was checked and merged.
        commit: String,
        /// The code tree of the run's result after the merge.
        tree: String,
        /// The tip of the run's branch after the merge: that commit, or a merge commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// Whether the merge changed the run's result.
        #[serde(default, skip_serializing_if = "ResultChange::is_changed")]
        brings: ResultChange,
        /// The new name of the run's branch, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// A note for the user. It stops nothing.
    Noticed { unit: UnitId, what: String },
    /// A person edited an artifact or the code. The edit counts as a new attempt: its gates run again, and so do the
    /// stages that used the old version.
    Edited {
        /// The attempt that the edit counts as.
        attempt: AttemptId,
        edit: Edit,
        by: Person,
        /// The person's reason.
        why: String,
    },
    /// The run was rewound: all facts before this one are copied from another run.
    RunRewound {
        /// The run that the facts were copied from.
        from: String,
        /// The unit that is done again.
        unit: UnitId,
        /// The branch of the new run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        by: Person,
    },
    /// A new driver took over the run. From here on, endings signed with this public key count as well.
    EndingKeyAdded { key: String },
    /// A delivery, which must happen only once, is about to start.
    EffectIntended {
        attempt: AttemptId,
        /// The key that identifies the delivery, so that it is not repeated.
        mark: String,
    },
    /// The delivery is done.
    EffectDone {
        attempt: AttemptId,
        /// The key of the delivery.
        mark: String,
        /// The name of the delivery outside, such as a URL.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reference: String,
    },
    /// The run ended.
    RunEnded { end: End },
}

impl Event {
    /// Returns the unit that a fact is about. An answer names its question only, and the run as a whole is no unit.
    pub fn unit(&self) -> Option<UnitId> {
        if let Self::ItemsLeft { unit, .. }
        | Self::NeedsAsked { unit, .. }
        | Self::NeedsMet { unit, .. }
        | Self::UnitSkipped { unit }
        | Self::GateSkipped { unit, .. }
        | Self::PathsWanted { unit }
        | Self::PathsTaken { unit, .. }
        | Self::PathsClaimed { unit }
        | Self::GatePassed { unit, .. }
        | Self::GateWaived { unit, .. }
        | Self::UnitReopened { unit, .. }
        | Self::UnitAccepted { unit }
        | Self::UnitFailed { unit, .. }
        | Self::Landed { unit, .. }
        | Self::Noticed { unit, .. } = self
        {
            Some(unit.clone())
        } else if let Self::QuestionAsked(question) = self {
            Some(question.unit.clone())
        } else if let Self::EffectIntended { attempt, .. } | Self::EffectDone { attempt, .. } = self
        {
            Some(attempt.unit.clone())
        } else if let Self::CallAssigned { call, .. } | Self::WorkPassedOn { call, .. } = self {
            Some(call.unit().clone())
        } else {
            self.call().map(|call| call.unit().clone())
        }
    }

    /// Returns the call that it starts, ends, or puts a person's change in the place of.
    pub fn call(&self) -> Option<CallId> {
        if let Self::AttemptStarted { attempt, .. }
        | Self::AttemptEnded { attempt, .. }
        | Self::Edited { attempt, .. } = self
        {
            Some(CallId::Attempt(attempt.clone()))
        } else if let Self::JudgementStarted { judgement, .. } | Self::Judged { judgement, .. } =
            self
        {
            Some(CallId::Judgement(judgement.clone()))
        } else if let Self::CallSettled { call, .. } = self {
            Some(call.clone())
        } else {
            None
        }
    }

    /// Returns the call that it ends.
    pub(crate) fn call_ended(&self) -> Option<CallId> {
        if let Self::AttemptStarted { .. } | Self::JudgementStarted { .. } = self {
            None
        } else {
            self.call()
        }
    }

    /// Returns the call that it starts, and the number of the call's folder.
    pub fn call_started(&self) -> Option<(CallId, u32)> {
        let call = if let Self::AttemptStarted { call, .. } = self {
            call.as_ref()?
        } else if let Self::JudgementStarted { call, .. } = self {
            call
        } else {
            return None;
        };
        Some((self.call()?, call.ordinal))
    }

    /// Returns what a call left behind that ended while it still mattered.
    pub fn receipt(&self) -> Option<&Receipt> {
        if let Self::AttemptEnded { receipt, .. } = self {
            receipt.as_ref()
        } else if let Self::Judged { receipt, .. } = self {
            Some(receipt)
        } else {
            None
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
