//! One driver per run: a lock of the operating system, held while a process drives it.
//!
//! The lock ends with its process, however that ends, so there is nothing to clean up and no
//! heartbeat. A driver leaves its pid in the file, for messages; a process that holds the lock only
//! briefly leaves none, so that others know to wait for it. The file stays: deleting a lock file lets
//! two processes lock two files of the same name.

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
    /// Dropping the file releases the lock. A simulated journal has none.
    file: Option<File>,
}

/// The right to claim paths for a run, for as long as it lives.
#[derive(Debug)]
pub struct ClaimsLock {
    /// Dropping the file releases the lock. A simulated journal has none.
    _file: Option<File>,
}

impl ClaimsLock {
    /// The lock of a journal that has no other processes.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) const SIMULATED: Self = Self { _file: None };

    /// Takes the lock, unless somebody holds it longer than a look takes.
    pub(super) fn acquire(dir: &Path) -> Result<Option<Self>, StoreError> {
        let path = dir.join("claims.lock");
        let refused = |source| StoreError::refused(&path, source);
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(&path).map_err(refused)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { _file: Some(file) })),
                Err(TryLockError::WouldBlock) if began.elapsed() < BRIEFLY => {
                    thread::sleep(RETRY_EVERY);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(refused(error)),
            }
        }
    }
}

/// How long a lock that is held briefly may be held.
const BRIEFLY: Duration = Duration::from_secs(5);
/// How long a lock may outlast its process: a child that a driver was starting when it was killed has it until that becomes its program.
const OUTLASTS_MAX: Duration = Duration::from_millis(500);
/// How often it is tried again meanwhile.
const RETRY_EVERY: Duration = Duration::from_millis(5);

impl RunLock {
    /// Takes the lock of a run to drive it; an error names the process that drives it already. Waits
    /// for processes that hold it briefly, and for what a killed one leaves.
    pub fn acquire(dir: &Path, run: &str) -> Result<RunLock, StoreError> {
        let lock = RunLock::wait(dir, run)?;
        // The pid is a courtesy: a full disk must not prevent the lock.
        if let Some(mut file) = lock.file.as_ref() {
            let _ = file.rewind().and_then(|()| writeln!(file, "{}", std::process::id()));
        }
        Ok(lock)
    }

    /// Takes the lock of a run briefly; an error names the process that drives it. Waits for other
    /// processes that hold it briefly.
    pub fn acquire_briefly(dir: &Path, run: &str) -> Result<RunLock, StoreError> {
        RunLock::wait(dir, run)
    }

    fn wait(dir: &Path, run: &str) -> Result<RunLock, StoreError> {
        let began = Instant::now();
        loop {
            match RunLock::attempt(dir, run) {
                Err(StoreError::Held { pid, .. }) if began.elapsed() < patience(pid) => {
                    thread::sleep(RETRY_EVERY);
                }
                taken => return taken,
            }
        }
    }

    /// Takes the lock of a run briefly if it is free. Never waits.
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
        Ok(RunLock { run: run.to_owned(), dir: dir.to_owned(), file: Some(file) })
    }

    /// Returns the lock of a run whose journal is simulated.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn simulated(dir: &Path, run: &str) -> RunLock {
        RunLock { run: run.to_owned(), dir: dir.to_owned(), file: None }
    }

    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the folder of the journal.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for RunLock {
    /// Removes the pid, which would name the wrong process to the next one that fails to lock.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = file.set_len(0);
        }
    }
}

/// Returns the runs of this journal that name a driver, with its process. One that was killed may be among them.
pub fn named_drivers(dir: &Path) -> Vec<(String, u32)> {
    let folders = fs::read_dir(dir.join("runs")).into_iter().flatten().flatten();
    let named = folders.filter_map(|folder| {
        let mut file = File::open(folder.path().join("lock")).ok()?;
        Some((folder.file_name().into_string().ok()?, holder(&mut file)?))
    });
    named.collect()
}

/// Returns how long a lock is waited for that a process has.
fn patience(pid: Option<u32>) -> Duration {
    match pid {
        None => BRIEFLY,
        Some(pid) if Path::new("/proc").join(pid.to_string()).exists() => Duration::ZERO,
        Some(_) => OUTLASTS_MAX,
    }
}

/// Returns the process that drives the run. `None` if the lock is held briefly, and in the moment between
/// locking and writing the pid.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Tells whether a text can be the id of a run, and so the name of a folder.
pub fn is_run_id(run: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=100).contains(&run.len()) && run.bytes().all(plain) && !run.starts_with('-')
}
