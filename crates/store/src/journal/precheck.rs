//! What is looked at before `SQLite` may touch a database file.
//!
//! `SQLite` takes an empty file for a new database, a log beside a new database for its own, and a
//! wrong free-page pointer for room to write. Here the things that never change are compared with
//! what we once wrote, so that such a file is called damaged and not used.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use super::error::{Damage, StoreError};
use super::schema::{APPLICATION, PAGE_BYTES};
use super::wal::{self, word};
use super::{beside, database};

/// Bytes of the header that are the same in every database of ours: (from, what they are, bytes).
const FIXED: [(usize, &str, &[u8]); 7] = [
    (0, "name of the format", b"SQLite format 3\0"),
    (16, "page size", &[0x10, 0x00]),
    (18, "journal mode", &[2, 2]),
    (20, "page layout", &[0, 64, 32, 32]),
    (44, "schema format", &[0, 0, 0, 4]),
    (52, "vacuum mode", &[0, 0, 0, 0]),
    (56, "text encoding", &[0, 0, 0, 1]),
];

/// Looks at the files of a database that exists.
pub(super) fn inspect(file: &Path) -> Result<(), StoreError> {
    let suspect = |what: String| {
        StoreError::Damaged(Damage { file: file.to_owned(), run: None, seq: None, what })
    };
    let refused = |source| StoreError::refused(file, source);
    let header = header(file).map_err(refused)?;
    let Some(header) = header else {
        return Err(suspect("it is shorter than its header".into()));
    };
    for (from, what, bytes) in FIXED {
        if header[from..from + bytes.len()] != *bytes {
            return Err(suspect(format!("the {what} in its header is not what was written")));
        }
    }
    if word(&header, 68) != APPLICATION {
        return Err(suspect("its header does not say that it is a journal of Forge".into()));
    }
    if let Some(what) = wal::hole(&beside(file, "-wal")).map_err(refused)? {
        return Err(suspect(what));
    }
    if let Some(what) = odd_size(file).map_err(refused)? {
        return Err(suspect(what));
    }
    Ok(())
}

/// Says why a missing database is a lost one, not one that never was.
pub(super) fn lost(dir: &Path) -> Option<StoreError> {
    let file = database(dir);
    let log = fs::metadata(beside(&file, "-wal")).is_ok_and(|log| log.len() > 0);
    let what = if log {
        "it is gone, but its log is here".to_owned()
    } else {
        let run = fs::read_dir(dir.join("runs")).ok()?.flatten().find(|run| {
            fs::metadata(run.path().join("events.jsonl")).is_ok_and(|events| events.len() > 0)
        })?;
        format!("it is gone, but the folder of run {} is here", run.file_name().display())
    };
    Some(StoreError::Damaged(Damage { file, run: None, seq: None, what }))
}

fn header(file: &Path) -> io::Result<Option<[u8; 100]>> {
    let mut header = [0; 100];
    match File::open(file)?.read_exact(&mut header) {
        Ok(()) => Ok(Some(header)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Compares the file's length with what its header says. Only a database without a log can be
/// asked: with one, the log knows better. Looked at twice, since a log may come and go meanwhile.
fn odd_size(file: &Path) -> io::Result<Option<String>> {
    let look = || -> io::Result<Option<(u64, u64)>> {
        let quiet = || !fs::metadata(beside(file, "-wal")).is_ok_and(|log| log.len() > 0);
        if !quiet() {
            return Ok(None);
        }
        let Some(header) = header(file)? else { return Ok(Some((0, 1))) };
        let said = u64::from(word(&header, 28)) * PAGE_BYTES as u64;
        let real = fs::metadata(file)?.len();
        Ok((said != real && quiet()).then_some((real, said)))
    };
    let first = look()?;
    if first.is_none() || look()? != first {
        return Ok(None);
    }
    Ok(first.map(|(real, said)| format!("it has {real} bytes, and its header says {said}")))
}
