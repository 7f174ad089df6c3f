//! How a call is carried out, as the flow of its run says it.
//!
//! Not here: carrying it out. That is the driver's.

use super::fold::Run;
use crate::{
    flow::{BuiltIn, Check, Delivery, Work},
    id::CallId,
};

/// The way in which a call is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// An agent that plays a role.
    Agent {
        /// The name of the role.
        role: String,
    },
    /// A line for the shell.
    Command {
        /// The line.
        run: String,
    },
    /// A look for an artifact, by Forge itself.
    Artifact {
        /// The artifact's name.
        name: String,
    },
    /// A run of the project's checks.
    Verify,
    /// A merge into the run's result.
    Land,
    /// A check of the changes that Forge brings along.
    BuiltIn {
        /// The check.
        check: BuiltIn,
    },
    /// A delivery of the run's result.
    Deliver {
        /// What is delivered.
        what: Delivery,
    },
}

impl CallKind {
    fn from_work(work: &Work) -> Option<Self> {
        match work {
            Work::Agent { role } => Some(Self::Agent { role: role.clone() }),
            Work::Command { run } => Some(Self::Command { run: run.clone() }),
            Work::Deliver { what } => Some(Self::Deliver { what: *what }),
            Work::Each { .. } | Work::Flow { .. } | Work::Nothing => None,
        }
    }

    fn from_check(check: &Check) -> Option<Self> {
        match check {
            Check::Review { role } => Some(Self::Agent { role: role.clone() }),
            Check::Command { run } => Some(Self::Command { run: run.clone() }),
            Check::Artifact { name } => Some(Self::Artifact { name: name.clone() }),
            Check::Verify => Some(Self::Verify),
            Check::Land => Some(Self::Land),
            Check::BuiltIn { check } => Some(Self::BuiltIn { check: *check }),
            Check::Human { .. } => None,
        }
    }

    /// The role that an agent plays in it.
    pub fn role(&self) -> Option<&str> {
        match self {
            Self::Agent { role } => Some(role),
            Self::Command { .. }
            | Self::Artifact { .. }
            | Self::Verify
            | Self::Land
            | Self::BuiltIn { .. }
            | Self::Deliver { .. } => None,
        }
    }

    /// Whether it is one program, an agent or a command, whose output can be followed.
    pub fn has_stream(&self) -> bool {
        match self {
            Self::Agent { .. } | Self::Command { .. } => true,
            Self::Artifact { .. }
            | Self::Verify
            | Self::Land
            | Self::BuiltIn { .. }
            | Self::Deliver { .. } => false,
        }
    }

    /// Whether it needs the checkout of its scope, in which agents and commands work.
    pub fn needs_work_checkout(&self) -> bool {
        self.has_stream() || *self == Self::BuiltIn { check: BuiltIn::Changes }
    }

    /// Whether it needs the checkout in which proofs are made, of which a run has one.
    pub fn needs_proof_checkout(&self) -> bool {
        match self {
            Self::Verify | Self::Land | Self::BuiltIn { check: BuiltIn::NewTests } => true,
            Self::Agent { .. }
            | Self::Command { .. }
            | Self::Artifact { .. }
            | Self::Deliver { .. }
            | Self::BuiltIn { check: BuiltIn::Changes | BuiltIn::Guarded } => false,
        }
    }
}

impl Run {
    /// Returns how a call of this run is carried out.
    ///
    /// # Panics
    ///
    /// If the run has no such call: its unit is gone, has only items or gates, or asks a person.
    pub fn call_kind(&self, call: &CallId) -> CallKind {
        self.find_call_kind(call).expect("a call is of a unit whose flow says who carries it out")
    }

    /// Returns how a call is carried out, if its unit is still there and something is called for it.
    pub fn find_call_kind(&self, call: &CallId) -> Option<CallKind> {
        if !self.has(call.unit()) {
            return None;
        }
        let stage = self.stage(call.unit());
        match call {
            CallId::Attempt(_) => CallKind::from_work(&stage.work),
            CallId::Judgement(judgement) => {
                CallKind::from_check(&stage.gates[stage.gate(&judgement.gate)?].check)
            }
        }
    }
}
