//! The driver's side of a keeper: starting one, waiting for its end, stopping it.
//!
//! Not here: reading what it left; see [`crate::attempt::status`].
//!
//! Invariant: a handle is on the keeper which wrote the claim, or on nobody.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Signal, pidfd_send_signal};

use crate::attempt::claim::Identity;
use crate::attempt::dir::AttemptFolder;
use crate::attempt::ending_signature::EndingSigner;
use crate::processes;
use crate::redact::packed;
use crate::variables::{KEEP, MARK_VARIABLE, SECRETS_VARIABLE};

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
        pidfd_send_signal(handle, signal)?;
        wake(handle)
    }
}

/// Lets a keeper go on that was stopped: it hears signals, and keeps to its limits, only while it runs. Code below
/// it can stop it.
pub fn wake(keeper: impl AsFd) -> io::Result<()> {
    Ok(pidfd_send_signal(keeper, Signal::CONT)?)
}

/// Ends a keeper that does not react. Its attempt has no ending then, and what it leaves is to be swept.
pub fn kill(keeper: impl AsFd) -> io::Result<()> {
    Ok(pidfd_send_signal(keeper, Signal::KILL)?)
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
    start_knowing_keeper(program, folder, env, None, &[])
}

/// The same, and tells it the key for its ending, and which values are secret, besides those of its
/// environment. They go through a pipe, because they are in no file and the agent must not have them.
pub fn start_knowing_keeper(
    program: &Path,
    folder: &AttemptFolder,
    env: &[(OsString, OsString)],
    signer: Option<&EndingSigner>,
    secrets: &[Vec<u8>],
) -> io::Result<Child> {
    Ok(WaitingKeeper::start(program, folder, env)?.begin(signer, secrets))
}

/// A keeper that was started and waits for what it is told: then it claims its folder, which need not be there before. If this is
/// dropped, it ends, and so it does if this process dies.
#[derive(Debug)]
pub struct WaitingKeeper {
    folder: AttemptFolder,
    env: Vec<(OsString, OsString)>,
    child: Child,
    /// Only ever closed with what it waits for, or with nothing.
    pipe: Option<ChildStdin>,
}

impl WaitingKeeper {
    pub fn start(
        program: &Path,
        folder: &AttemptFolder,
        env: &[(OsString, OsString)],
    ) -> io::Result<Self> {
        let path = std::path::absolute(&folder.path)?;
        let mut command = Command::new(program);
        command
            .arg(KEEP)
            .arg(&path)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .env(MARK_VARIABLE, processes::mark(&path))
            .env(SECRETS_VARIABLE, "stdin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pipe = child.stdin.take();
        Ok(Self { folder: folder.clone(), env: env.to_vec(), child, pipe })
    }

    /// Whether it waits for this step, with exactly this environment.
    pub fn is_for(&self, folder: &AttemptFolder, env: &[(OsString, OsString)]) -> bool {
        self.folder == *folder && self.env == env
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Tells it the key for its ending, and which values are secret.
    pub fn begin(mut self, signer: Option<&EndingSigner>, secrets: &[Vec<u8>]) -> Child {
        let mut pipe = self.pipe.take().expect("it was told nothing yet");
        let seed = signer.map(|signer| signer.seed().to_vec()).unwrap_or_default();
        // A keeper that dies before it has read them is found dead.
        let _ = pipe.write_all(&[packed(&[seed]), packed(secrets)].concat());
        self.child
    }

    /// Ends it. It has touched nothing.
    pub fn dismiss(mut self) {
        drop(self.pipe.take());
        // Its end is its own doing, unless it was stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
