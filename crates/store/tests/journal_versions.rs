//! Journals of every version that was ever released stay readable, and mean what they meant.
//!
//! `journals/v1/forge.db` was written by the Forge of that version, driving the flow and scenario
//! beside it: one run with most kinds of facts that is done, one that waits for a person. It is
//! never written again. What it says below is what it must say for ever.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use forge_core::view::{Names, RunView, Standing, sentence};
use forge_store::journal::{CheckReport, RunLock, Store, database};
use forge_store::records::{facts, fold};
use tempfile::{TempDir, tempdir};

const DONE: &str = "20261115-show-every-fact-5ziz";
const WAITS: &str = "20261115-a-second-one-pbsi";

/// A copy: even reading makes files beside a database.
fn copy() -> (TempDir, Store) {
    let dir = tempdir().expect("a temporary folder");
    fs::copy(database(&kept()), database(dir.path())).expect("the journal is kept");
    let store = Store::open_to_read(dir.path()).expect("the journal can be read");
    (dir, store)
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals/v1")
}

#[test]
fn the_journal_of_version_1_is_whole_and_its_runs_stand_where_they_stood() {
    let (_dir, store) = copy();
    assert_eq!(store.check().unwrap(), CheckReport { runs: 2, records: 34 });
    let done = RunView::new(DONE, &fold(&store.read(DONE, 1).unwrap()).unwrap());
    assert_eq!(done.row.standing, Standing::Done);
    let row: serde_json::Value = serde_json::from_str(&store.row(DONE).unwrap().row).unwrap();
    let mut folded = serde_json::to_value(&done.row).unwrap();
    // Rows of that version did not have these yet.
    let fields = folded.as_object_mut().unwrap();
    assert_eq!(fields.remove("waited_ms"), Some(57.into()));
    assert_eq!(fields.remove("serious_findings"), Some(2.into()));
    assert_eq!(folded, row, "the row and the fold agree");
    let waits = RunView::new(WAITS, &fold(&store.read(WAITS, 1).unwrap()).unwrap());
    assert_eq!(waits.row.standing, Standing::Waiting);
    assert_eq!(waits.asked[0].text, "Is this the plan?");
}

#[test]
fn the_journal_of_version_1_tells_the_same_story() {
    let (_dir, store) = copy();
    let mut text = String::new();
    for record in store.read(DONE, 1).unwrap() {
        for fact in facts(&record).unwrap() {
            writeln!(text, "{} {}", record.seq, sentence(&fact, Names::Exact)).unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_journal_of_version_1_can_be_taken_over_and_written_on() {
    let (dir, reader) = copy();
    drop(reader);
    let mut store = Store::open(dir.path()).unwrap();
    let mut writer = store.take_over(RunLock::acquire(dir.path(), WAITS).unwrap()).unwrap();
    let (seq, at) = (writer.seq(), writer.at());
    assert_eq!(store.append(&mut writer, at, "[]", "{}", &[]).unwrap(), seq + 1);
}
