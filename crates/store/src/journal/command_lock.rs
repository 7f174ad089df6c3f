//! Which process stands behind a command: it holds a lock on a file that is named after the command, for as long
//! as it waits for the answer.
//!
//! The kernel names the holder of a record lock, as the one who asks sees it, so it cannot be forged: a row that
//! somebody wrote into the database by hand has no process behind it, and one that is locked names its process.
//!
//! Not here: whether that process may give commands; the driver looks at it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk, getpid};

const FOLDER: &str = "commands";

/// The locks of this process: its driver may take commands of its own screen. The kernel does not name a holder to
/// itself, and lets go of a record lock when its holder closes the file anywhere.
static OWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The lock on a command that was inserted. It ends with its process.
#[derive(Debug)]
pub(super) struct CommandLock {
    path: PathBuf,
    _file: File,
}

/// The process behind a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandSender {
    Process(i32),
    /// One that cannot be seen from here, such as one in another PID namespace.
    OutOfSight,
    Nobody,
}

impl CommandLock {
    pub(super) fn take(dir: &Path, number: i64) -> io::Result<Self> {
        let path = path(dir, number);
        fs::create_dir_all(dir.join(FOLDER))?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(&path)?;
        fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
        OWN.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone());
        Ok(Self { path, _file: file })
    }
}

impl Drop for CommandLock {
    fn drop(&mut self) {
        OWN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
        let _nobody_needs_it = fs::remove_file(&self.path);
    }
}

/// Finds the process behind a command.
pub(super) fn sender(dir: &Path, number: i64) -> io::Result<CommandSender> {
    let path = path(dir, number);
    if OWN.lock().unwrap_or_else(PoisonError::into_inner).contains(&path) {
        return Ok(CommandSender::Process(getpid().as_raw_nonzero().get()));
    }
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(CommandSender::Nobody),
        Err(error) => return Err(error),
    };
    let whole = Flock {
        start: 0,
        length: 0,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    Ok(match fcntl_getlk(&file, &whole)? {
        None => CommandSender::Nobody,
        Some(held) => match held.pid.map(|pid| pid.as_raw_nonzero().get()) {
            Some(pid @ 1..) => CommandSender::Process(pid),
            Some(_) | None => CommandSender::OutOfSight,
        },
    })
}

fn path(dir: &Path, number: i64) -> PathBuf {
    dir.join(FOLDER).join(format!("{number}.lock"))
}
