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
    /// The worker says it is done. Only the gates say whether it is good.
    Done,
    /// A part is done, and the worker says what is left.
    Partial {
        /// The work that remains.
        note: String,
    },
    /// The worker cannot go on, and another try would not help.
    Blocked { class: BlockerClass, what: String },
    /// It ended without a result that can be used.
    Fault {
        class: FaultClass,
        /// The last lines.
        what: String,
    },
    /// A rate or usage limit. It costs no attempt.
    Limited {
        /// When it can go on.
        until: Time,
        /// Which limit, and whose.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        what: String,
    },
    /// Something else works on the same paths. It costs no attempt.
    Deferred {
        /// When it is looked at again.
        until: Time,
        /// The name of the work that holds the paths.
        what: String,
    },
    /// Nobody can say what became of it.
    Lost,
    /// We stopped it. It is nobody's fault.
    Interrupted,
}

/// The outcome of one judgement by a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// It has a verdict.
    Verdict(Verdict),
    /// It ended without a verdict that can be used.
    Fault {
        class: FaultClass,
        /// The last lines.
        what: String,
    },
    /// There is nothing that could prove it, so it is not proved. Never a pass.
    Unverified {
        what: String,
        /// Commands that the run itself added and that could prove it, if a person allows them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<String>,
    },
    /// The judge cannot go on, and another look would not help.
    Blocked { class: BlockerClass, what: String },
    /// A rate or usage limit.
    Limited {
        /// When it can go on.
        until: Time,
        /// Which limit, and whose.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        what: String,
    },
    /// Nobody can say what became of it.
    Lost,
    /// We stopped it.
    Interrupted,
}

/// The reason why a run starts nothing new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// A person wants a pause. What runs may end.
    Paused { by: Person },
    /// A person pressed Ctrl-C. What runs is asked to end.
    Interrupted { by: Person },
    /// A person wants it stopped. What runs is killed.
    Stopped { by: Person },
    /// The run may not spend more. What runs may end.
    OutOfBudget {
        /// Which cap.
        what: String,
    },
    /// Work that is only partly done has no rounds left. Only in journals of earlier builds: now a person is asked.
    Unfinished {
        unit: UnitId,
        /// The work that remains.
        note: String,
    },
    /// The same failure again and again: a person has to look at the surroundings.
    Escalated {
        /// Which failure.
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
    /// All is good.
    Done,
    /// Something failed. `resume` opens it again.
    Failed,
    /// Something is blocked. `resume` opens it again.
    Blocked,
    /// A person gave it up, for good.
    Abandoned,
}

/// The kind of a unit's failure: may another try help?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// It did not work out.
    Failed,
    /// No attempt can repair it.
    Blocked,
}
