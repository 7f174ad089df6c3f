//! Salvage: of a journal with any wrong bytes, what is exported is a chain of records that were written, from the first on.

use std::{fs, path::Path};

use forge_fuzz::FuzzTarget;
use forge_store::journal::{
    Completeness, GENESIS, JournalRecord, Store, StoreError, database, projection, salvage,
};
use tempfile::tempdir;

const RUN: &str = "20260101-add-a-flag-aaaa";
/// The chain that all seeds are copies of, in the form of `events.jsonl`.
const WRITTEN: &str = include_str!("../../corpus/salvage-projection/events.jsonl");

#[test]
fn a_wrong_projection_gives_a_beginning_of_what_was_written_and_nothing_else() {
    let tokens = &["{\"seq\":1,\"at\":", ",\"epoch\":1,", ",\"sum\":\"", "\",\"body\":", "}\n"];
    FuzzTarget {
        name: "salvage-projection",
        check: check_projection,
        tokens,
        bytes_max: 32 * 1024,
    }
    .run();
}

#[test]
fn a_wrong_database_is_refused_or_gives_a_beginning_of_what_was_written() {
    let tokens = &["SQLite format 3\0", "CREATE TABLE", RUN];
    FuzzTarget { name: "salvage-database", check: check_database, tokens, bytes_max: 256 * 1024 }
        .run();
}

fn check_projection(input: &[u8]) {
    let dir = tempdir().unwrap();
    let path = projection(dir.path(), RUN);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, input).unwrap();
    check_salvage(dir.path());
    assert_eq!(fs::read(path).unwrap(), input, "what is salvaged is not changed");
}

fn check_database(input: &[u8]) {
    let dir = tempdir().unwrap();
    fs::write(database(dir.path()), input).unwrap();
    check_salvage(dir.path());
    assert_eq!(fs::read(database(dir.path())).unwrap(), input, "what is salvaged is not changed");
    match Store::open_to_read(dir.path()).and_then(|store| store.read(RUN, 1)) {
        Ok(records) => assert_written(&records),
        Err(StoreError::Damaged(damage)) => assert!(!damage.to_string().is_empty()),
        Err(_) => {}
    }
}

fn check_salvage(dir: &Path) {
    let to = tempdir().unwrap();
    let report = salvage(dir, to.path()).unwrap();
    for run in &report.runs {
        let text = fs::read_to_string(to.path().join(format!("{}.jsonl", run.run))).unwrap();
        let records: Vec<JournalRecord> = text
            .lines()
            .map(|line| JournalRecord::from_line(line).expect("it was written as a record"))
            .collect();
        assert_eq!(run.records, records.len() as u64);
        if run.run == RUN {
            assert_written(&records);
        } else {
            assert!(records.is_empty(), "records of a run that never was: {}", run.run);
        }
        if run.completeness == Completeness::Short {
            assert_eq!(run.first_damaged, Some(run.records + 1));
        }
    }
}

fn assert_written(records: &[JournalRecord]) {
    let mut head = GENESIS.to_owned();
    let written = WRITTEN.lines().filter_map(JournalRecord::from_line);
    for (record, written) in records.iter().zip(written.map(Some).chain(std::iter::repeat(None))) {
        assert!(record.follows(&head, RUN), "record {} does not follow", record.seq);
        assert_eq!(Some(record), written.as_ref(), "a record that nobody wrote");
        head.clone_from(&record.sum);
    }
}
