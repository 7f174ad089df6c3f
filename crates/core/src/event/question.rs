//! Questions to persons, their answers, and what lets work pass or sends it back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unmet_need::UnmetNeed;
use crate::{
    failure::FaultClass,
    id::{QuestionId, UnitId},
    money::Money,
    verdict::BlockerClass,
};

/// The way in which a gate passed without a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// A person approved it, in answer to this question.
    Person { question: QuestionId },
    /// Approved automatically: the run was started with `--auto`, and every review passed without serious findings.
    Automatic,
}

/// The reason why a gate that did not pass no longer blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiver {
    /// The gate only gives advice.
    Advisory,
    /// The gate sent the work back as often as allowed. Its findings become notes.
    RoundsUsedUp,
    /// The gate found as many serious problems as before. Its findings become notes.
    NotShrinking,
    /// The gate requests changes, but the flow names no stage that could make them. Its findings become notes.
    NothingToRedo,
    /// A person approved it, in answer to this question.
    Person { question: QuestionId },
}

/// The origin of a reopened unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SentBack {
    /// A gate. This uses up a round.
    Gate { unit: UnitId, gate: String },
    /// The merge: a conflict, or checks that fail after it. This happens at most once.
    Landing,
    /// The agent, which did only a part of the work. This uses up a round.
    Partial,
    /// A person, in answer to a question. This does not use up a round.
    Person { question: QuestionId },
    /// A person resumed a failed run.
    Resumed,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    pub id: QuestionId,
    pub unit: UnitId,
    /// The gate that the question is about, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    pub why: QuestionReason,
    pub options: Vec<Choice>,
}

/// The reason for a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Why")]
pub enum QuestionReason {
    /// The flow asks for it.
    Checkpoint {
        /// The text of the question, from the flow.
        text: String,
    },
    /// The gate sent the work back as often as allowed.
    RoundsUsedUp,
    /// The gate finds as many problems as before.
    NotShrinking,
    /// The agent repeatedly left no usable result.
    NoResult {
        /// The kind of the last failure, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<FaultClass>,
        /// How the last attempt ended.
        what: String,
    },
    /// The call reached its price cap and would reach it again.
    CapReached {
        /// The price cap, if Forge set it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<Money>,
    },
    /// The call was repeatedly lost, interrupted or rate-limited.
    Setbacks {
        /// The number of times in a row.
        n: u32,
    },
    /// The gate repeatedly ended without a verdict.
    NoVerdict {
        /// How the last attempt ended.
        what: String,
    },
    /// The agent or the reviewer cannot continue.
    Blocked { class: BlockerClass, what: String },
    /// The change conflicts with other merged work, for the second time.
    DoesNotLand,
    /// The gate requests changes of work that is already merged.
    LandedAlready,
    /// The gate requests changes, but the flow names no stage that could make them.
    NothingToRedo,
    /// There is no check that could verify the result.
    Unverified {
        what: String,
        /// Commands that the run itself added. To approve is to allow them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<String>,
    },
    /// The change touches protected files, so a person must approve it.
    Guarded,
    /// A review reports that another attempt would not help.
    Objected { what: String },
    /// The reviews passed but name a serious problem.
    Doubted { what: Vec<String> },
    /// The agent reports a task as done, but nothing changed.
    NothingChanged,
    /// What must hold before it begins does not hold.
    NotReady { unmet: Vec<UnmetNeed> },
    /// The work was repeatedly done only in part.
    Unfinished {
        /// The work that remains.
        what: String,
    },
}

/// One way to answer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Approve: the gate passes.
    Approve,
    /// Request changes, with words that say which.
    Revise,
    /// Try again.
    Retry,
    /// Override a check by the name of its gate.
    Waive,
    /// Reject: the unit fails.
    GiveUp,
}

/// An answer of a person to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Approve: the gate passes.
    Approve,
    /// Request changes: the work goes back to the agent.
    Revise,
    /// Try again.
    Retry,
    /// Override the gate with this name: it counts as passed.
    Waive {
        /// The name of the gate, as the person gave it.
        gate: String,
    },
    /// Reject: the unit fails.
    GiveUp,
}

impl QuestionReason {
    /// Returns true if a person is asked because something did not work out.
    pub const fn is_failure(&self) -> bool {
        match self {
            Self::RoundsUsedUp
            | Self::NotShrinking
            | Self::NoResult { .. }
            | Self::CapReached { .. }
            | Self::Setbacks { .. }
            | Self::NoVerdict { .. }
            | Self::Blocked { .. }
            | Self::DoesNotLand
            | Self::LandedAlready
            | Self::NothingToRedo
            | Self::Objected { .. }
            | Self::NotReady { .. }
            | Self::Unfinished { .. } => true,
            Self::Checkpoint { .. }
            | Self::Unverified { .. }
            | Self::Guarded
            | Self::Doubted { .. }
            | Self::NothingChanged => false,
        }
    }
}

impl Question {
    /// Returns the commands that this answer allows Forge to run. They were not there when the run began.
    pub fn allows(&self, answer: &Answer) -> &[String] {
        match (&self.why, answer) {
            (QuestionReason::Unverified { found, .. }, Answer::Approve) => found,
            (_, _) => &[],
        }
    }

    /// Returns true if this answer repeats what was asked about, as it is. Where work has no result that could be changed,
    /// words go with another try.
    pub fn tries_again(&self, answer: &Answer) -> bool {
        let is_work = self.gate.is_none() && self.options.contains(&Choice::Retry);
        *answer == Answer::Retry || (*answer == Answer::Revise && is_work)
    }

    /// Returns true if this answer takes the work as it is, so that its gates look at it.
    pub fn takes_work(&self, answer: &Answer) -> bool {
        matches!(self.why, QuestionReason::Doubted { .. })
            && self.gate.is_none()
            && *answer == Answer::Approve
    }
}

impl Answer {
    /// Returns the way to answer that this is.
    pub fn choice(&self) -> Choice {
        match self {
            Self::Approve => Choice::Approve,
            Self::Revise => Choice::Revise,
            Self::Retry => Choice::Retry,
            Self::Waive { .. } => Choice::Waive,
            Self::GiveUp => Choice::GiveUp,
        }
    }
}

impl Choice {
    /// Returns the word on screens.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Revise => "request changes",
            Self::Retry => "retry",
            Self::Waive => "override",
            Self::GiveUp => "reject",
        }
    }

    /// Returns the command that gives it.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Revise => "revise",
            Self::Retry => "retry",
            Self::Waive => "override",
            Self::GiveUp => "reject",
        }
    }

    /// Returns the word in data.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Revise => "revise",
            Self::Retry => "retry",
            Self::Waive => "waive",
            Self::GiveUp => "give-up",
        }
    }
}
