//! Where the files of a journal are, and what they are called.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the database of a journal folder.
pub fn database(dir: &Path) -> PathBuf {
    dir.join("forge.db")
}

/// Returns the projection of a run's records: one [`JournalRecord::to_line`] per line, written by the
/// driver after each record. The journal only reads it, as a second copy.
///
/// [`JournalRecord::to_line`]: super::JournalRecord::to_line
pub fn projection(dir: &Path, run: &str) -> PathBuf {
    dir.join("runs").join(run).join("events.jsonl")
}

/// Returns a file whose name begins with that of another: `forge.db-wal`, `forge.db.damaged`.
pub(super) fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes a name that no other live process, and no other call in this one, uses.
pub(super) fn scratch_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
