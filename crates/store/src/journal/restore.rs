//! Makes a whole journal of a damaged one, with all records that `SQLite` or `events.jsonl` still have.
//!
//! The damaged files are kept in a folder of their own. The mark of the damage goes last: as long as it is there, nothing is
//! written, and this can be done again.
//!
//! Invariant: a run that lost a record in its middle is never restored without it; then nothing is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::connection::Store;
use super::damage::{ScratchFolder, mark_path};
use super::error::StoreError;
use super::hash_chain::JournalRecord;
use super::lock::RunLock;
use super::newest::newest_path;
use super::paths::{beside, database};
use super::salvage::{Completeness, SalvageReport, recover};
use crate::disk::{Disk as _, RealDisk, SyncPoint};

/// The most damaged journals that are kept beside one.
const ASIDE_MAX: u32 = 1_000;

/// Restores the journal of a folder. `row` writes what `status` shows of a run. The report names the folder with the
/// damaged files.
pub fn restore(
    dir: &Path,
    row: impl Fn(&str, &[JournalRecord]) -> Result<String, StoreError>,
) -> Result<SalvageReport, StoreError> {
    let refused = |source| StoreError::refused(dir, source);
    let scratch = ScratchFolder::new(dir).map_err(refused)?;
    let (found, notes) = recover(dir, scratch.path())?;
    // Whoever drives a run still has the damaged files open.
    let locks: Result<Vec<RunLock>, StoreError> =
        found.iter().map(|(run, _)| RunLock::acquire_briefly(dir, &run.run)).collect();
    let _locks = locks?;
    let mut store = Store::open(scratch.path())?;
    for (run, records) in &found {
        if run.completeness == Completeness::Short || records.is_empty() {
            let (run, seq) = (run.run.clone(), run.records + 1);
            return Err(StoreError::RecordLost { run, seq });
        }
        store.insert_again(&run.run, records, &row(&run.run, records)?)?;
    }
    drop(store);
    let made = database(scratch.path());
    RealDisk.sync(&made, SyncPoint::Database).map_err(refused)?;
    let aside = put_aside(dir).map_err(refused)?;
    let file = database(dir);
    for suffix in ["-wal", "-shm"] {
        remove(&beside(&file, suffix)).map_err(refused)?;
    }
    RealDisk.rename(&made, &file).map_err(refused)?;
    RealDisk.sync(dir, SyncPoint::Database).map_err(refused)?;
    remove(&newest_path(dir)).map_err(refused)?;
    remove(&mark_path(dir)).map_err(refused)?;
    let runs = found.into_iter().map(|(run, _)| run).collect();
    Ok(SalvageReport { folder: aside, runs, notes })
}

/// Copies all files of a damaged journal into a new folder.
fn put_aside(dir: &Path) -> io::Result<PathBuf> {
    let file = database(dir);
    let free =
        (1..=ASIDE_MAX).map(|n| dir.join(format!("damaged-{n}"))).find(|path| !path.exists());
    let aside = free.ok_or_else(|| io::Error::other("too many folders with damaged journals"))?;
    fs::create_dir(&aside)?;
    for suffix in ["", "-wal", "-shm", ".damaged", ".newest"] {
        let from = beside(&file, suffix);
        if from.exists() {
            let to = beside(&database(&aside), suffix);
            fs::copy(&from, &to)?;
            RealDisk.sync(&to, SyncPoint::Salvaged)?;
        }
    }
    RealDisk.sync(&aside, SyncPoint::Salvaged)?;
    RealDisk.sync(dir, SyncPoint::Salvaged)?;
    Ok(aside)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
