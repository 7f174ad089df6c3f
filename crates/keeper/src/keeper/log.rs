//! What the keeper itself has to say: into `keeper.log`, and into the ending.
//!
//! Invariant: nothing goes out but through a redactor, not even the message of a panic.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::redact::{Redactor, known_secrets};

/// The keeper's own voice. It knows what must not be said.
#[derive(Clone)]
pub struct Log {
    secrets: Vec<Vec<u8>>,
    /// Those that the driver passed on.
    given: Vec<Vec<u8>>,
    /// Made when there is something to say. The error stream, if it is none.
    file: Option<PathBuf>,
}

impl Log {
    /// Knows what the driver passed on, and the variables whose names tell that they are secret, and speaks
    /// for panics too.
    pub(super) fn begin(given: Vec<Vec<u8>>, file: Option<PathBuf>) -> Self {
        let secrets = [known_secrets(env::vars_os(), &[]), given.clone()].concat();
        let log = Self { secrets, given, file };
        log.speak_for_panics();
        log
    }

    /// Knows nothing, and leaves panics alone.
    #[cfg(test)]
    pub(super) fn silent() -> Self {
        Self { secrets: Vec::new(), given: Vec::new(), file: None }
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
        let line = format!("keeper: {}\n", self.redact(message));
        let _ = match self.file.as_deref().map(open) {
            Some(Ok(mut file)) => file.write_all(line.as_bytes()),
            Some(Err(_)) | None => io::stderr().write_all(line.as_bytes()),
        };
    }
}

/// Opens the log to add to it. The agent can reach its folder: nothing is written through a link, nor waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().append(true).create(true).custom_flags(flags).open(path)
}
