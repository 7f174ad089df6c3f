//! The mark beside a damaged database, `forge.db.damaged`, and copies to read one.
//!
//! The process that notices damage leaves the mark; from then on every opening to write is refused
//! with its text. The first mark stays: it is nearest to the cause. Forge never removes it. A person
//! does, together with the database, after `salvage`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::error::{Damage, StoreError};
use super::paths::{beside, database, scratch_name};
use crate::disk::{Disk, RealDisk, SyncPoint};

/// Returns the mark of a database.
pub(super) fn mark_path(dir: &Path) -> PathBuf {
    beside(&database(dir), ".damaged")
}

/// Refuses if the mark is there.
pub(super) fn refuse_marked(dir: &Path) -> Result<(), StoreError> {
    match read_mark(dir) {
        Some(damage) => Err(StoreError::Damaged(damage)),
        None => Ok(()),
    }
}

/// Reads the mark. One that cannot be read is still a mark.
fn read_mark(dir: &Path) -> Option<Damage> {
    let text = match fs::read_to_string(mark_path(dir)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => error.to_string(),
    };
    let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let what = value["what"].as_str().unwrap_or("it was found damaged before");
    Some(Damage {
        file: database(dir),
        run: value["run"].as_str().map(str::to_owned),
        seq: value["seq"].as_u64(),
        what: what.to_owned(),
    })
}

/// Leaves the mark if the error is damage, and the first. On a disk that cannot be written it fails
/// without an error: such a disk cannot be harmed either.
pub(super) fn mark_if_damaged(dir: &Path, error: &StoreError) {
    if let StoreError::Damaged(damage) = error
        && !mark_path(dir).exists()
    {
        let _ = write_mark(&RealDisk, dir, damage);
    }
}

fn write_mark(disk: &dyn Disk, dir: &Path, damage: &Damage) -> io::Result<()> {
    let path = mark_path(dir);
    let when = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let Damage { file: _, run, seq, what } = damage;
    let text = json!({ "when": when, "what": what, "run": run, "seq": seq });
    let scratch = beside(&path, &format!(".new-{}", scratch_name()));
    disk.write(&scratch, format!("{text}\n").as_bytes())?;
    disk.sync(&scratch, SyncPoint::DamageMark)?;
    disk.rename(&scratch, &path)?;
    disk.sync(dir, SyncPoint::DamageMark)
}

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Makes one inside `folder`.
    pub(super) fn new(folder: &Path) -> io::Result<ScratchFolder> {
        let path = folder.join(format!(".forge-copy-{}", scratch_name()));
        // A dead process with the same id may have left one.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(ScratchFolder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Copies a database and its log into the folder. The shared memory is not copied: `SQLite`
    /// makes it from the log.
    pub(super) fn copy_database(&self, original: &Path) -> io::Result<PathBuf> {
        let copy = self.0.join("forge.db");
        fs::copy(original, &copy)?;
        match fs::copy(beside(original, "-wal"), beside(&copy, "-wal")) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(copy)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::noting::NotingDisk;

    #[test]
    fn the_mark_and_its_name_are_synced() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let disk = NotingDisk::default();
        let damage = Damage { file: database(&folder), run: None, seq: Some(7), what: "x".into() };
        write_mark(&disk, &folder, &damage).unwrap();
        let order = ["write scratch", "sync scratch", "rename forge.db.damaged", "sync folder"];
        assert_eq!(disk.taken(), order);
        assert_eq!(read_mark(&folder), Some(damage));
    }
}
