//! One driver per run: a lock of the operating system, held for life.
//!
//! The lock dies with its process, however that dies, so there is nothing to clean up and no
//! heartbeat. A driver leaves its pid in the file, for messages; a door that only looks or journals
//! leaves none, so that others know to wait for it. The file stays: deleting a lock file lets two
//! processes lock two files of the same name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::error::StoreError;

/// The right to write a run, for as long as it lives.
#[derive(Debug)]
pub struct RunLock {
    run: String,
    dir: PathBuf,
    /// Dropping the file lets go of the lock.
    file: File,
}

/// How long somebody who holds a lock briefly may take.
const BRIEFLY: Duration = Duration::from_secs(5);
/// How often it is tried again meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(5);

impl RunLock {
    /// Takes the lock of a run to drive it, or says who does. Waits for doors, which hold it briefly.
    pub fn take(dir: &Path, run: &str) -> Result<RunLock, StoreError> {
        let mut lock = RunLock::wait(dir, run)?;
        // The pid is a courtesy: a full disk must not keep anybody from the lock.
        let _ = lock.file.rewind().and_then(|()| writeln!(lock.file, "{}", std::process::id()));
        Ok(lock)
    }

    /// Takes the lock of a run for a moment, or says who drives it. Waits for other doors.
    pub fn take_briefly(dir: &Path, run: &str) -> Result<RunLock, StoreError> {
        RunLock::wait(dir, run)
    }

    fn wait(dir: &Path, run: &str) -> Result<RunLock, StoreError> {
        let began = Instant::now();
        loop {
            match RunLock::attempt(dir, run) {
                Err(StoreError::Held { pid: None, .. }) if began.elapsed() < BRIEFLY => {
                    thread::sleep(LOOK_EVERY);
                }
                taken => return taken,
            }
        }
    }

    /// Takes the lock for a moment if it is free, or says at once who holds it. For those who only
    /// look, and wait for nobody.
    pub fn attempt(dir: &Path, run: &str) -> Result<RunLock, StoreError> {
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
        Ok(RunLock { run: run.to_owned(), dir: dir.to_owned(), file })
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

/// Whoever comes next must not take our pid for theirs.
impl Drop for RunLock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Who wrote the pid. `None` if it is a door, and in the moment between locking and writing.
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
