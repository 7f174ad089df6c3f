//! The lock of a folder of Forge's own. It ends with the process that holds it.

use std::{
    fs::File,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{FlockOperation, flock};

use crate::git::{
    error::{IoContext as _, WorkspaceError},
    job, safe_files,
};

/// Limit on the wait for another process in a checkout: a git whose Forge was killed.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(120);
const LOCK_POLL: Duration = Duration::from_millis(10);

/// Takes the lock of a folder, for others or for itself alone, as soon as the process that has it ends.
pub(crate) fn acquire_lock(dir: &Path, how: FlockOperation) -> Result<File, WorkspaceError> {
    let path = dir.join("lock");
    if safe_files::file_kind(&path)?.is_some_and(|kind| !kind.is_file()) {
        safe_files::remove(&path)?;
    }
    let options = File::options().write(true).create(true).truncate(false).open(&path);
    let lock = options.context("open", &path)?;
    let began = Instant::now();
    while flock(&lock, how).is_err() {
        if began.elapsed() > LOCK_WAIT_MAX || job::is_cancelled() {
            return Err(WorkspaceError::new(
                format!("another process still works in {}", dir.display()),
                "end it (see `fuser` or `lsof` on the lock file there), then resume",
            ));
        }
        thread::sleep(LOCK_POLL);
    }
    Ok(lock)
}
