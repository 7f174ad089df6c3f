//! The newest record that was written, noted outside the database in `forge.db.newest`.
//!
//! A log that is lost or cut takes its records with it, and what is left is a whole, older database: only
//! something beside it can tell. The note is written after each transaction and not synced. It may be behind the
//! journal, or unreadable after a crash, and then says nothing; it is never ahead of a journal that lost nothing.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::error::JournalFault;
use super::hash_chain::seal;
use super::paths::{beside, database};
use super::reader::find_row;

/// How long the note is, with blanks at its end. One that is cut first and written anew is put on the disk by some file
/// systems when it is closed, and that is waited for.
const NOTE_BYTES: usize = 512;

/// The last record of the run that was written last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewestRecord {
    pub(super) run: String,
    pub(super) seq: u64,
}

/// Returns the file of the note.
pub(super) fn newest_path(dir: &Path) -> PathBuf {
    beside(&database(dir), ".newest")
}

impl NewestRecord {
    /// Reads the note. Must be read before the journal that it is compared with.
    pub(super) fn read(dir: &Path) -> Option<NewestRecord> {
        let note: Value = serde_json::from_slice(&fs::read(newest_path(dir)).ok()?).ok()?;
        let newest =
            NewestRecord { run: note["run"].as_str()?.to_owned(), seq: note["seq"].as_u64()? };
        (note["mark"] == newest.mark()).then_some(newest)
    }

    /// Writes the note. Where that fails, a loss is noticed later or by other means.
    pub(super) fn note(&self, dir: &Path) {
        let note = json!({ "run": self.run, "seq": self.seq, "mark": self.mark() }).to_string();
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(false).open(newest_path(dir))?;
            file.write_all(format!("{note:<width$}\n", width = NOTE_BYTES - 1).as_bytes())
        };
        let _ = write();
    }

    /// Refuses a journal that does not have the record.
    pub(super) fn refuse_lost(&self, connection: &Connection) -> Result<(), JournalFault> {
        let found = find_row(connection, &self.run)?.map_or(0, |row| row.seq);
        if found >= self.seq {
            return Ok(());
        }
        let what = format!(
            "its log was lost or cut: entry {} of the run was written, and {found} are here",
            self.seq
        );
        Err(JournalFault::damage(&self.run, Some(found + 1), what))
    }

    fn mark(&self) -> String {
        seal(&["newest", &self.run, &self.seq.to_string()])
    }
}
