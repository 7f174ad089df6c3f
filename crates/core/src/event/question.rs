//! Questions to persons, their answers, and what lets work pass or sends it back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// A person, in answer to this question.
    Person { question: QuestionId },
    /// Nobody: the run says `--auto`, and every review passed without serious findings.
    Automatic,
}

/// The reason why a gate that did not pass no longer blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiver {
    /// It only gives advice.
    Advisory,
    /// It sent the work back often enough. What it found is noted.
    RoundsUsedUp,
    /// It found no fewer serious things than before. What it found is noted.
    NotShrinking,
    /// It wants changes, and no stage is named that could make them. What it found is noted.
    NothingToRedo,
    /// A person, in answer to this question.
    Person { question: QuestionId },
}

/// The origin of a reopened unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SentBack {
    /// A gate. This uses up a round.
    Gate { unit: UnitId, gate: String },
    /// Landing: a conflict, or red after the merge. It happens once.
    Landing,
    /// The worker itself, which did only a part. This uses up a round.
    Partial,
    /// A person, in answer to a question. It uses up nothing.
    Person { question: QuestionId },
    /// A person opened a failed run again.
    Resumed,
}

/// A choice for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    pub id: QuestionId,
    pub unit: UnitId,
    /// The gate that it is about, where there is one.
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
    /// The flow says so.
    Checkpoint {
        /// The flow's words.
        text: String,
    },
    /// The gate sent it back as often as it may.
    RoundsUsedUp,
    /// The gate still finds as much as before.
    NotShrinking,
    /// It has no result that can be used, again and again.
    NoResult {
        /// What kind of failure the last one was, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<FaultClass>,
        /// How the last one ended.
        what: String,
    },
    /// It reached its cap, and would spend the same again.
    CapReached {
        /// What it was allowed to spend, where we had a say in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<Money>,
    },
    /// It keeps being lost, interrupted or limited.
    Setbacks {
        /// How often in a row.
        n: u32,
    },
    /// The gate keeps ending without a verdict.
    NoVerdict {
        /// How the last one ended.
        what: String,
    },
    /// The worker or the judge cannot go on.
    Blocked { class: BlockerClass, what: String },
    /// It does not fit to what landed meanwhile, twice.
    DoesNotLand,
    /// What the gate wants changed has landed already.
    LandedAlready,
    /// The gate wants changes, and no stage is named that could make them.
    NothingToRedo,
    /// There is nothing that could prove it.
    Unverified {
        what: String,
        /// Commands that the run itself added. Approving is allowing them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<String>,
    },
    /// It changes files that guard the project, and a person has to agree.
    Guarded,
    /// A review says that no attempt can repair it.
    Objected { what: String },
    /// It is said to be good, and those who say so name something serious.
    Doubted { what: Vec<String> },
    /// A task is done, and nothing changed.
    NothingChanged,
    /// It is only partly done, again and again.
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
    /// Let it through this one gate.
    Approve,
    /// Send it back with words.
    Revise,
    /// Try again.
    Retry,
    /// Let it through a gate that proves something, by the gate's name.
    Waive,
    /// Fail this unit.
    GiveUp,
}

/// An answer of a person to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Let it through this one gate.
    Approve,
    /// Send it back.
    Revise,
    /// Try again.
    Retry,
    /// Let it through the gate of this name.
    Waive {
        /// The name, said by the person.
        gate: String,
    },
    /// Fail this unit.
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
