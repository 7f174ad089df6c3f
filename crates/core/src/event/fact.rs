//! The facts of a run, and the records that hold them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Time,
    id::{AttemptId, CallId, JudgementId, QuestionId, Scope, UnitId},
    item::Item,
    money::{Money, Spent, Used},
    verdict::{Finding, VerdictWord},
};

use super::{
    Answer, Approval, Call, Edit, End, FailureKind, Hold, Outcome, Person, Question, Receipt,
    ResultChange, Ruling, SentBack, SettingsChange, Start, Waiver,
};

/// All facts of one decision. It is in the journal whole, or it never happened.
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
    /// The run began. All that could change under it is frozen here.
    RunStarted(Box<Start>),
    /// Nothing new starts until [`Event::RunResumed`].
    RunHeld {
        /// Why, and what becomes of the calls under way.
        hold: Hold,
    },
    /// Work may start again. A failed run is open again, too.
    RunResumed { by: Person },
    /// The run may spend this much, all in all.
    BudgetRaised {
        /// The new cap of the run.
        budget: Money,
        by: Person,
    },
    /// A person changed settings of the run at a stop.
    SettingsChanged { change: Box<SettingsChange>, by: Person },
    /// A stage reported the items that a later `each` goes over.
    ItemsListed {
        /// The table in which the list can be seen.
        scope: Scope,
        list: String,
        /// The items, in order.
        items: Vec<Item>,
    },
    /// The stage does not apply to this run or item.
    UnitSkipped { unit: UnitId },
    /// The gate does not apply to this run or item.
    GateSkipped { unit: UnitId, gate: String },
    /// Intent, written before the work begins, so that a crash can never hide it.
    AttemptStarted {
        attempt: AttemptId,
        /// What runs outside for it. Nothing for an `each`, a checkpoint, or gates that look first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Call>,
    },
    /// The work ended, in one of the ways work can end.
    AttemptEnded {
        attempt: AttemptId,
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Receipt>,
    },
    /// Intent of a gate to look.
    JudgementStarted {
        judgement: JudgementId,
        /// The call that runs outside.
        call: Call,
    },
    /// A gate looked.
    Judged { judgement: JudgementId, ruling: Ruling, receipt: Receipt },
    /// A call that no longer mattered ended. Only its price counts.
    CallSettled {
        call: CallId,
        spent: Spent,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<Used>,
        /// How long it took, in milliseconds.
        #[serde(default, skip_serializing_if = "is_zero")]
        took_ms: u64,
    },
    /// The gate was passed without a judgement.
    GatePassed {
        unit: UnitId,
        gate: String,
        by: Approval,
        /// What the reviews of the attempt said together, where nobody was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict: Option<VerdictWord>,
    },
    /// The gate did not pass, and the unit goes on all the same.
    GateWaived { unit: UnitId, gate: String, why: Waiver },
    /// A person has to choose.
    QuestionAsked(Box<Question>),
    /// A person chose.
    Answered {
        question: QuestionId,
        answer: Answer,
        /// In which words. They reach the next brief as they are.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
        by: Person,
    },
    /// The unit goes back to work, and what followed it is reset.
    UnitReopened {
        unit: UnitId,
        by: SentBack,
        /// The findings that the next attempt must deal with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
        /// A person's words to the next attempt, or what the worker says is left to do.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
    },
    /// No gate is left.
    UnitAccepted { unit: UnitId },
    /// The unit will not be tried again by itself.
    UnitFailed { unit: UnitId, kind: FailureKind, reason: String },
    /// The work of a unit is part of the run's result, and is never reopened.
    Landed {
        unit: UnitId,
        /// The commit that landed: the one that was judged.
        commit: String,
        /// The code tree of the run's result with it.
        tree: String,
        /// The run's result with it: that commit itself, or the one that merged it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// Whether the result is another one with it.
        #[serde(default, skip_serializing_if = "ResultChange::is_changed")]
        brings: ResultChange,
        /// The name of the run's branch from here on, if it is not the one that it had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// Something that a person should know, and that stops nothing.
    Noticed { unit: UnitId, what: String },
    /// A person mended something by hand. It counts as an attempt of its own: its gates look at
    /// it, and what read it before is done again.
    Edited {
        /// The attempt that it counts as.
        attempt: AttemptId,
        edit: Edit,
        by: Person,
        /// Why, in their words.
        why: String,
    },
    /// The facts before this one are shared with another run, which went another way from here.
    RunRewound {
        /// The run that they come from.
        from: String,
        /// The unit that is done anew.
        unit: UnitId,
        /// The branch that the result lands on from here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        by: Person,
    },
    /// Another driver follows the run. From now on endings that are signed by this public key count, too.
    EndingKeyAdded { key: String },
    /// Something that must happen once is about to.
    EffectIntended {
        attempt: AttemptId,
        /// The mark by which the outside world is asked whether it happened already.
        mark: String,
    },
    /// It happened.
    EffectDone {
        attempt: AttemptId,
        /// The same mark.
        mark: String,
        /// What the outside world calls it, such as an address.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reference: String,
    },
    /// Nothing is left to do.
    RunEnded { end: End },
}

impl Event {
    /// Returns the unit that a fact is about. An answer names its question only, and the run as a whole is no unit.
    pub fn unit(&self) -> Option<UnitId> {
        if let Self::UnitSkipped { unit }
        | Self::GateSkipped { unit, .. }
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
