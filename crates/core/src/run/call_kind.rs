//! How a call is carried out, as the flow of its run says it.
//!
//! Not here: carrying it out. That is the driver's.

use crate::{
    flow::{BuiltIn, Check, Delivery, Directive, Flow, Work},
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
    Command { run: String },
    /// A look for an artifact, by Forge itself.
    Artifact {
        /// The artifact's name.
        name: String,
    },
    /// A look at what the work left, by Forge itself.
    Outputs { directives: Vec<Directive> },
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
    Deliver { what: Delivery },
}

impl CallKind {
    /// Returns how a flow says that a call is carried out, if something is called for it at all.
    pub fn from_flow(flow: &Flow, call: &CallId) -> Option<Self> {
        match call {
            CallId::Attempt(attempt) => Self::from_work(&flow.stage(&attempt.unit)?.work),
            CallId::Judgement(judgement) => {
                Self::from_check(&flow.gate(&judgement.attempt.unit, &judgement.gate)?.check)
            }
        }
    }

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
            Check::Outputs { directives } => Some(Self::Outputs { directives: directives.clone() }),
            Check::Verify => Some(Self::Verify),
            Check::Land => Some(Self::Land),
            Check::BuiltIn { check } => Some(Self::BuiltIn { check: *check }),
            Check::Human { .. } => None,
        }
    }

    /// Returns the role that an agent plays in it.
    pub fn role(&self) -> Option<&str> {
        if let Self::Agent { role } = self { Some(role) } else { None }
    }

    /// Returns the role that an agent plays in it, or what is done.
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Agent { role } => role,
            Self::Command { .. } => "command",
            Self::Artifact { .. } => "artifact",
            Self::Outputs { .. } => "outputs",
            Self::Verify => "verify",
            Self::Land => "land",
            Self::BuiltIn { check } => check.as_str(),
            Self::Deliver { what } => what.as_str(),
        }
    }

    /// Returns true if it is one program, an agent or a command, whose output can be followed.
    pub fn has_stream(&self) -> bool {
        matches!(self, Self::Agent { .. } | Self::Command { .. })
    }

    /// Returns true if it needs the checkout of its scope, in which agents and commands work.
    pub fn needs_work_checkout(&self) -> bool {
        self.has_stream() || *self == Self::BuiltIn { check: BuiltIn::Changes }
    }

    /// Returns true if it needs the checkout in which proofs are made, of which a run has one.
    pub fn needs_proof_checkout(&self) -> bool {
        matches!(
            self,
            Self::Verify
                | Self::Land
                | Self::BuiltIn { check: BuiltIn::NewTests | BuiltIn::Guarded }
        )
    }
}
