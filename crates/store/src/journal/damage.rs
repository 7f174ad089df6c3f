//! The mark beside a damaged database, `forge.db.damaged`, and copies to look at one.
//!
//! Whoever notices damage leaves the mark; from then on every opening to write is refused with its
//! text. The first mark stays: it is nearest to the cause. Nobody here removes it. A person does,
//! together with the database, after `salvage`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::error::{Damage, StoreError};
use super::schema::scratch_name;
use super::{beside, database};

/// Where the mark of a database lies.
pub(super) fn mark_path(dir: &Path) -> PathBuf {
    beside(&database(dir), ".damaged")
}

/// Refuses if the mark is there.
pub(super) fn refuse_marked(dir: &Path) -> Result<(), StoreError> {
    match marked(dir) {
        Some(damage) => Err(StoreError::Damaged(damage)),
        None => Ok(()),
    }
}

/// What the mark says, if there is one. A mark that cannot be read is still a mark.
pub(super) fn marked(dir: &Path) -> Option<Damage> {
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

/// Leaves the mark. A disk that cannot be written cannot be harmed either, so failing is no matter.
pub(super) fn leave_mark(dir: &Path, damage: &Damage) {
    let path = mark_path(dir);
    if !path.exists() {
        let _ = write_mark(dir, &path, damage);
    }
}

fn write_mark(dir: &Path, path: &Path, damage: &Damage) -> io::Result<()> {
    let when = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let Damage { file: _, run, seq, what } = damage;
    let text = json!({ "when": when, "what": what, "run": run, "seq": seq });
    let scratch = beside(path, &format!(".new-{}", scratch_name()));
    let mut file = File::create(&scratch)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    fs::rename(&scratch, path)?;
    File::open(dir)?.sync_all()
}

/// A folder that goes away with its owner.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn inside(folder: &Path) -> io::Result<Scratch> {
        let path = folder.join(format!(".forge-copy-{}", scratch_name()));
        // Of a dead process that had our number.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(Scratch(path))
    }

    /// Copies a database and its log, and says where the copy is. The shared memory is left
    /// behind: `SQLite` makes it anew from the log.
    pub(super) fn copy(&self, original: &Path) -> io::Result<PathBuf> {
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

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
