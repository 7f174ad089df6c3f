//! One step of a call: its folder, and what is done in it under a keeper.

use std::path::{Path, PathBuf};

use forge_agents::Earlier;
use forge_project::settings::PassedVariables;
use forge_workspace::Operation;
use serde::{Deserialize, Serialize};

/// One thing to do under a keeper.
pub struct Step {
    /// Its folder.
    pub folder: PathBuf,
    pub what: StepKind,
    /// Whether it is done even in a run that was stopped meanwhile.
    pub on_stop: OnStop,
}

/// The work of a step.
pub enum StepKind {
    /// A turn of the agent.
    Turn {
        /// Which.
        turn: Turn,
        /// The working directory.
        dir: PathBuf,
        /// Files in it that have conflict markers.
        conflicts: Vec<String>,
    },
    /// The command of the stage or of the gate.
    Command {
        /// The working directory.
        dir: PathBuf,
    },
    /// A line for the shell.
    Shell {
        /// The line.
        line: String,
        /// The working directory.
        dir: PathBuf,
        /// How much it may take.
        limits: forge_keeper::StepLimits,
        /// What it gets of the person's environment.
        pass: PassedVariables,
    },
    /// Work on a checkout.
    Operation(Box<Operation>),
    /// Something that others see.
    Outside(OutsideOrder),
}

/// Argument 1 of the program that acts outside (`api/src/outside.rs`), with the files of the order and of the answer behind it.
pub const OUTSIDE: &str = "__outside";

/// Something to do outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideOrder {
    pub run: String,
    /// The mark by which the journal says that it is intended.
    pub mark: String,
    pub what: OutsideEffect,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutsideEffect {
    /// A commit becomes the run's branch at the remote.
    Push { commit: String, onto: PushOnto },
    /// The pull request is opened, or updated.
    PullRequest,
    /// The summary becomes a comment at the issue, or the one that is there is updated.
    Comment,
}

/// What the branch of a push is at the remote before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PushOnto {
    /// Nothing: the run has pushed nothing yet.
    Nothing,
    /// An earlier commit of the run.
    Own,
    /// The same, and only while the pull request is open.
    OwnWhileOpen,
}

/// The answer: done, or why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutsideAnswer {
    Done {
        /// Where it is.
        reference: String,
        /// Flaws that stop nothing.
        notes: Vec<String>,
    },
    /// Why not, and what can be done.
    Refused { what: String },
}

/// Whether a step is done even in a run that was stopped meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStop {
    /// Only while the call is wanted.
    Cancel,
    /// Also afterwards: the work has ended, and this takes it in.
    Finish,
}

/// Whether a set-up that was made in a checkout before is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUpBefore {
    /// If its inputs are the same.
    Kept,
    /// The files that it made are gone.
    Gone,
}

/// The folder of a call among those of its run.
pub fn call_folder(attempts: &Path, ordinal: u32) -> PathBuf {
    attempts.join(format!("{ordinal:04}"))
}

/// Where the steps of a call lie.
pub fn steps_of(folder: &Path) -> PathBuf {
    folder.join("steps")
}

/// Which turn of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The first: in a new session, or in the one that was interrupted.
    First,
    /// The session was gone.
    Anew,
    /// The result could not be used.
    Repair {
        /// Why.
        flaw: String,
        /// Where it goes on.
        session: String,
        /// The part of its cap that is spent.
        spent_micros: u64,
        /// What its session has reported, for programs that report totals.
        earlier: Earlier,
    },
}
