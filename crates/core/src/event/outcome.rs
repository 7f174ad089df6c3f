//! How work, a look at it, and a run end, and why a run is held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::Person;
use crate::{
    Time,
    failure::FaultClass,
    id::UnitId,
    verdict::{BlockerClass, Verdict},
};

/// The outcome of one attempt at the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The agent reports that the work is done. The gates decide whether it is accepted.
    Done,
    /// A part of the work is done, and the agent reports what remains.
    Partial {
        /// The work that remains.
        note: String,
    },
    /// The agent cannot continue, and another attempt would not help.
    Blocked { class: BlockerClass, what: String },
    /// The call ended without a usable result.
    Fault {
        class: FaultClass,
        /// The last lines of the output.
        what: String,
    },
    /// A rate or usage limit was reached. It does not count as an attempt.
    Limited {
        /// The time at which the call can continue.
        until: Time,
        /// The limit and its provider.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        what: String,
    },
    /// Other work uses the same paths. It does not count as an attempt.
    Deferred {
        /// The time of the next try.
        until: Time,
        /// The work that uses the paths.
        what: String,
    },
    /// The call was lost: its process ended without writing an ending.
    Lost,
    /// Forge stopped the call.
    Interrupted,
}

/// The outcome of one judgement by a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The gate has a verdict.
    Verdict(Verdict),
    /// The judgement ended without a usable verdict.
    Fault {
        class: FaultClass,
        /// The last lines of the output.
        what: String,
    },
    /// There is no check that could verify it. This never counts as passed.
    Unverified {
        what: String,
        /// Commands that the run itself added. They could verify it, if a person allows them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<String>,
    },
    /// The reviewer cannot continue, and another attempt would not help.
    Blocked { class: BlockerClass, what: String },
    /// A rate or usage limit.
    Limited {
        /// The time at which the call can continue.
        until: Time,
        /// The limit and its provider.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        what: String,
    },
    /// The call was lost: its process ended without writing an ending.
    Lost,
    /// Forge stopped the judgement.
    Interrupted,
}

/// The reason why a run starts nothing new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// A person paused the run. Running calls may finish.
    Paused { by: Person },
    /// A person pressed Ctrl-C. Running calls are asked to stop.
    Interrupted { by: Person },
    /// A person stopped the run. Running calls are killed.
    Stopped { by: Person },
    /// The budget is used up. Running calls may finish.
    OutOfBudget {
        /// The budget that was reached.
        what: String,
    },
    /// Work that is only partly done was sent back as often as allowed. Only in journals of older versions; now a
    /// question is asked.
    Unfinished {
        unit: UnitId,
        /// The work that remains.
        note: String,
    },
    /// The same failure repeats, so the cause is probably outside the run.
    Escalated {
        /// The failure that repeats.
        what: String,
    },
}

impl Hold {
    /// Returns the word for a run that is held like this.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Paused { .. } => "paused",
            Self::Interrupted { .. } => "interrupted",
            Self::Stopped { .. } => "stopped",
            Self::OutOfBudget { .. } | Self::Unfinished { .. } => "parked",
            Self::Escalated { .. } => "escalated",
        }
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The run is done.
    Done,
    /// A stage failed. `forge resume` continues the run.
    Failed,
    /// A stage is blocked. `forge resume` continues the run.
    Blocked,
    /// A person abandoned the run. This is final.
    Abandoned,
}

/// Whether another attempt could help after a unit's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The unit failed; another attempt may help.
    Failed,
    /// The unit is blocked; another attempt would not help.
    Blocked,
}
