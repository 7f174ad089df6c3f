//! What may be asked before a run exists, asked at the terminal.
//!
//! Not here: what follows from an answer. Nothing of this is data, so all of it goes where errors go.

use forge_runtime::start::{Allowed, Asks};

use super::config;

/// The person at the terminal, if there is one.
pub(crate) struct Terminal;

impl Asks for Terminal {
    fn commands(&mut self, commands: &[String]) -> Allowed {
        ask_commands(commands)
    }
}

/// Whether a repository may run these commands.
pub(crate) fn ask_commands(commands: &[String]) -> Allowed {
    match config::ask(commands) {
        config::Consent::Given => Allowed::FromNowOn,
        config::Consent::Refused | config::Consent::NobodyToAsk => Allowed::No,
    }
}
