//! One driver per run: a lock of the operating system, held for life.
//!
//! The lock dies with its process, however that dies, so there is nothing to clean up and no
//! heartbeat. The pid inside the file is only for messages; nobody decides by it. The file stays:
//! deleting a lock file lets two processes lock two files of the same name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// The right to write a run, for as long as it lives.
#[derive(Debug)]
pub struct RunLock {
    run: String,
    dir: PathBuf,
    /// Dropping the file lets go of the lock.
    _file: File,
}

impl RunLock {
    /// Takes the lock of a run, or says at once who holds it.
    pub fn take(dir: &Path, run: &str) -> Result<RunLock, StoreError> {
        if !is_run_id(run) {
            return Err(StoreError::BadRunId { run: run.to_owned() });
        }
        let folder = dir.join("runs").join(run);
        let path = folder.join("lock");
        let refused = |source| StoreError::refused(&path, source);
        fs::create_dir_all(&folder).map_err(refused)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(refused)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Held { run: run.to_owned(), pid: holder(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(refused(source)),
        }
        file.set_len(0).map_err(refused)?;
        // The pid is a courtesy: a full disk must not keep anybody from the lock.
        let _ = file.rewind().and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(RunLock { run: run.to_owned(), dir: dir.to_owned(), _file: file })
    }

    /// The run that this lock is for.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The folder of the journal that this lock is for.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Who wrote the pid. `None` in the moment between locking and writing.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Whether a text can be the id of a run, and so the name of a folder.
pub fn is_run_id(run: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=100).contains(&run.len()) && run.bytes().all(plain) && !run.starts_with('-')
}
