//! Reads `events.jsonl`, the second copy of a run's records.
//!
//! `SQLite` drops the end of its log from the first wrong byte on, without an error, because that is
//! what a torn end looks like. The projection is written after each record, so it may be behind the
//! journal but never ahead of one that has lost nothing: this is how such a loss is noticed.
//!
//! Not here: writing it. Invariant: a wrong byte in the projection is never taken for a record.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::hash_chain::{GENESIS, JournalRecord};
use super::paths::projection;

/// How much of the end is read at first, and at most.
const TAIL_BYTES: u64 = 64 << 10;
const TAIL_BYTES_MAX: u64 = 16 << 20;

/// Returns the number of the last record that a run's projection holds and that follows from the one before.
/// `None` if there is no such record.
///
/// Must be read before the journal that it is compared with: a driver may append meanwhile.
pub(super) fn last_projected(dir: &Path, run: &str) -> Option<u64> {
    let path = projection(dir, run);
    let mut bytes = TAIL_BYTES;
    loop {
        let (tail, is_all) = tail(&path, bytes).ok()?;
        if let Some(seq) = last_linked(&tail, is_all, run) {
            return Some(seq);
        }
        if is_all || bytes >= TAIL_BYTES_MAX {
            return None;
        }
        bytes *= 16;
    }
}

/// Returns the same for every run that has a projection.
pub(super) fn all_projected(dir: &Path) -> BTreeMap<String, u64> {
    projected_runs(dir)
        .into_iter()
        .filter_map(|run| last_projected(dir, &run).map(|seq| (run, seq)))
        .collect()
}

/// Returns the names of the folders that may hold a projection.
pub(super) fn projected_runs(dir: &Path) -> Vec<String> {
    let folders = fs::read_dir(dir.join("runs")).into_iter().flatten().flatten();
    folders.filter_map(|folder| folder.file_name().into_string().ok()).collect()
}

/// Returns all records that a run's projection holds, whether they follow from each other or not.
pub(super) fn projected_records(dir: &Path, run: &str) -> Vec<JournalRecord> {
    let bytes = fs::read(projection(dir, run)).unwrap_or_default();
    lines(&bytes).flatten().collect()
}

fn tail(path: &Path, most: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok((bytes, length <= most))
}

fn last_linked(tail: &[u8], is_all: bool, run: &str) -> Option<u64> {
    let mut records: Vec<_> = lines(tail).collect();
    if is_all {
        records.insert(0, None);
    }
    records.windows(2).rev().find_map(|pair| {
        let previous = pair[0].as_ref().map_or(GENESIS, |before| before.sum.as_str());
        let record = pair[1].as_ref()?;
        record.follows(previous, run).then_some(record.seq)
    })
}

/// Returns the lines that are terminated, each as the record that it holds.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Option<JournalRecord>> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(|line| std::str::from_utf8(line).ok().and_then(JournalRecord::from_line))
}
