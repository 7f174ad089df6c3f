//! The driver's side of a keeper: starting one, waiting for its end, stopping it.
//!
//! Not here: reading what it left; see [`crate::attempt::status`].
//!
//! Invariant: a handle is on the keeper which wrote the claim, or on nobody.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, pidfd_send_signal};

use crate::attempt::claim::Identity;
use crate::attempt::dir::AttemptFolder;
use crate::processes;
use crate::redact::packed;
use crate::variables::{ATTEMPT_DIR_VARIABLE, KEEP, SECRETS_VARIABLE};

/// A keeper that is alive, found through its claim.
#[derive(Debug)]
pub struct Keeper {
    identity: Option<Identity>,
    /// Becomes readable when the keeper has ended.
    handle: Option<OwnedFd>,
}

/// How to stop an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The agent is asked to end, and killed after its grace.
    Gently,
    /// The agent is killed.
    AtOnce,
}

impl Keeper {
    /// Finds the keeper of that identity; a pid which means another process now finds nobody.
    pub(crate) fn find(identity: Option<Identity>) -> Self {
        let handle = identity.as_ref().and_then(|identity| {
            let is_this_boot = processes::boot_id().is_ok_and(|boot| boot == identity.boot);
            if is_this_boot { processes::open(identity.pid, identity.start) } else { None }
        });
        Self { identity, handle }
    }

    /// Its pid, for people to read. Never signal it: it may mean somebody else by then.
    pub fn pid(&self) -> Option<i32> {
        self.identity.as_ref().map(|identity| identity.pid)
    }

    /// Poll this for reading to hear of its end. `None` if it cannot be reached from here: look
    /// again later.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.handle.as_ref().map(AsFd::as_fd)
    }

    /// Asks the keeper to stop its attempt. It still writes an ending.
    pub fn stop(&self, stop: Stop) -> io::Result<()> {
        let handle = self.handle.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let signal = match stop {
            Stop::Gently => Signal::TERM,
            Stop::AtOnce => Signal::INT,
        };
        Ok(pidfd_send_signal(handle, signal)?)
    }
}

/// Starts `program __keep FOLDER` with exactly this environment, which the agent inherits.
///
/// The keeper carries the mark of its attempt like everybody below it: who wipes the own mark and
/// loses all other ancestors still comes from a marked one.
pub fn start_keeper(
    program: &Path,
    folder: &AttemptFolder,
    env: &[(OsString, OsString)],
) -> io::Result<Child> {
    start_knowing_keeper(program, folder, env, &[])
}

/// The same, and tells it which values are secret, besides those of its environment. They go through
/// a pipe, because they are in no file and the agent must not have them.
pub fn start_knowing_keeper(
    program: &Path,
    folder: &AttemptFolder,
    env: &[(OsString, OsString)],
    secrets: &[Vec<u8>],
) -> io::Result<Child> {
    let path = std::path::absolute(&folder.path)?;
    let log = OpenOptions::new().append(true).create(true).open(folder.keeper_log())?;
    let mut command = Command::new(program);
    command
        .arg(KEEP)
        .arg(&path)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .env(ATTEMPT_DIR_VARIABLE, &path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    if secrets.is_empty() {
        return command.spawn();
    }
    let mut child = command.env(SECRETS_VARIABLE, "stdin").stdin(Stdio::piped()).spawn()?;
    let mut pipe = child.stdin.take().expect("its input is a pipe");
    // A keeper that dies before it has read them is found dead.
    let _ = pipe.write_all(&packed(secrets));
    Ok(child)
}
