//! What may be asked before a run exists. How it is asked is for the door; what follows is decided
//! in `start.rs`.
//!
//! Invariant: whoever cannot ask says so, and never answers for a person.

/// What may be asked before a run exists.
pub trait Asks {
    /// Whether a repository may run these commands on this machine.
    fn commands(&mut self, commands: &[String]) -> Allowed;
}

/// Whether a person lets a repository run its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// They do, and want to be asked again.
    Once,
    /// They do, and it is kept.
    FromNowOn,
    /// They do not, or there is nobody to ask.
    No,
}

/// How a door asks whether commands of a repository may be run, where nothing else is asked.
pub type AskCommands<'a> = &'a mut dyn FnMut(&[String]) -> Allowed;

/// There is nobody to ask.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Asks for Nobody {
    fn commands(&mut self, _commands: &[String]) -> Allowed {
        Allowed::No
    }
}
