//! What may be asked before a run exists. How it is asked is for the user interface; what follows is decided
//! in `choices.rs`.
//!
//! Invariant: whoever cannot ask says so, and never answers for a person.

use forge_driver::Error;
use forge_project::error::Kind;

/// Prompts and notes before a run exists. A method that is not implemented asks nothing.
pub trait Asks {
    /// Returns whether somebody is there to answer.
    fn presence(&self) -> Presence {
        Presence::Nobody
    }

    /// Asks whether a repository may run these commands on this machine.
    fn commands(&mut self, commands: &[String]) -> Allowed;

    /// Tells what a person should know before they choose, and before anything is paid.
    fn know(&mut self, _note: &str) {}

    /// Tells what is waited for.
    fn wait(&mut self, _what: &str) {}

    /// Returns which of several agents is to be used, from now on.
    fn agent(&mut self, _offers: &[AgentOffer]) -> Reply<String> {
        Reply::Nobody
    }

    /// Asks whether to continue without automatic approvals, which this run cannot have.
    fn without_auto(&mut self, _why: &str) -> Reply<()> {
        Reply::Nobody
    }

    /// Returns an answer to each question about the request, in the words of the person.
    fn discussion(&mut self, _questions: &[&str]) -> Reply<Vec<String>> {
        Reply::Nobody
    }
}

/// A person at the terminal, or a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Here,
    Nobody,
}

/// The reply of a person to a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<T> {
    /// A person said this.
    Said(T),
    /// A person wants to stop.
    Stop,
    /// There is nobody to ask.
    Nobody,
}

/// The answer to a repository's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// They do, and want to be asked again.
    Once,
    /// They do, and it is kept.
    FromNowOn,
    /// They do not, or there is nobody to ask.
    No,
}

/// The branch for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchChoice {
    /// To the run's own branch, and nowhere else.
    New,
    /// To the run's own branch; at the end, the branch that is checked out may follow it.
    Current,
}

/// An agent that is installed, for a person to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOffer {
    /// Its name in the settings.
    pub name: String,
    /// The name of the product, for those that Forge knows.
    pub title: Option<String>,
}

/// A prompt whether commands of a repository may be run, where nothing else is asked.
pub type AskCommands<'a> = &'a mut dyn FnMut(&[String]) -> Allowed;

/// There is nobody to ask.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Asks for Nobody {
    fn commands(&mut self, _commands: &[String]) -> Allowed {
        Allowed::No
    }
}

/// Returns that a person wanted no run after all.
pub(super) fn stopped() -> Error {
    let what = "stopped before the run started; nothing was created".to_owned();
    Error { kind: Kind::Interrupted, what, next: None }
}
