//! What the keeper itself has to say: into `keeper.log`, and into the ending.
//!
//! Invariant: nothing goes out but through a redactor, not even the message of a panic.

use std::env;
use std::io::{self, Write};
use std::panic;

use crate::redact::{Redactor, known_secrets};

/// The keeper's own voice. It knows what must not be said.
#[derive(Clone)]
pub struct Log {
    secrets: Vec<Vec<u8>>,
    /// Those that the driver passed on.
    given: Vec<Vec<u8>>,
}

impl Log {
    /// Knows what the driver passed on, and the variables whose names tell that they are secret, and speaks
    /// for panics too.
    pub(super) fn begin(given: Vec<Vec<u8>>) -> Self {
        let secrets = [known_secrets(env::vars_os(), &[]), given.clone()].concat();
        let log = Self { secrets, given };
        log.speak_for_panics();
        log
    }

    /// Knows nothing, and leaves panics alone.
    #[cfg(test)]
    pub(super) fn silent() -> Self {
        Self { secrets: Vec::new(), given: Vec::new() }
    }

    /// From now on the values of these variables are secret as well.
    pub(super) fn learn(&mut self, named: &[String]) {
        self.secrets = [known_secrets(env::vars_os(), named), self.given.clone()].concat();
        self.speak_for_panics();
    }

    fn speak_for_panics(&self) {
        let log = self.clone();
        panic::set_hook(Box::new(move |panic| log.complain(&panic.to_string())));
    }

    /// A redactor for a stream in which the same must not be said.
    pub(super) fn redactor(&self) -> Redactor {
        Redactor::new(self.secrets.iter().cloned())
    }

    /// The text without its secrets. A redactor is made each time: there is seldom anything to say.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut out = Vec::with_capacity(text.len());
        let mut redactor = self.redactor();
        redactor.push(text.as_bytes(), &mut out);
        redactor.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Into `keeper.log`. If that cannot be written there is nobody else to tell.
    pub(super) fn complain(&self, message: &str) {
        let _ = writeln!(io::stderr(), "keeper: {}", self.redact(message));
    }
}
