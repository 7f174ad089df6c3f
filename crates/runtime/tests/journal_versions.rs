//! Journals of every version that was ever released stay readable. `journals/v1/forge.db` was
//! written by `cargo test -p forge-runtime --test journal_versions -- --ignored write_version_1`
//! and is not written again: what it says below is what it must say for ever.

use std::fs;
use std::path::{Path, PathBuf};

use forge_runtime::journal::{Checked, RunLock, Store, database};
use tempfile::tempdir;

const DONE: &str = "20260101-add-a-flag-k3vq";
const WAITS: &str = "20260102-mend-the-parser-7dma";

#[test]
fn the_journal_of_version_1_stays_readable() {
    let dir = tempdir().unwrap();
    // A copy: even reading makes files beside a database.
    fs::copy(database(&kept()), database(dir.path())).unwrap();
    let store = Store::open_to_read(dir.path()).unwrap();
    assert_eq!(store.check().unwrap(), Checked { runs: 2, records: 8 });
    let rows = store.rows().unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (row.run.as_str(), row.seq, row.epoch)).collect();
    assert_eq!(shown, [(WAITS, 3, 1), (DONE, 5, 2)]);
    assert_eq!(rows[1].row, r#"{"state":"done","flow":"feature"}"#);
    let records = store.read(DONE, 1).unwrap();
    let bodies: Vec<_> = records.iter().map(|record| record.body.as_str()).collect();
    assert_eq!(bodies, done_bodies());
    assert_eq!(records[4].sum, LAST_SUM);
    assert_eq!((records[4].at, records[4].epoch), (1_767_225_640_000, 2));
    let open = store.open_commands(WAITS).unwrap();
    assert_eq!((open.len(), open[0].who.as_str(), open[0].door.as_str()), (1, "ann", "cli"));
    drop(store);
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::take(dir.path(), WAITS).unwrap();
    let mut writer = store.take_over(lock).unwrap();
    let at = writer.at();
    assert_eq!(store.append(&mut writer, at, "{}", "{}", &[]).unwrap(), 4);
}

const LAST_SUM: &str = "8fa12af4f96a7dce546d52c1b682828974237fe95e04c90f471cc5b2ae87bcf0";

#[test]
#[ignore = "writes the file that must never change; for the first time only"]
fn write_version_1() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let start = 1_767_225_600_000;
    let row = r#"{"state":"working","flow":"feature"}"#;
    let bodies = done_bodies();
    let lock = RunLock::take(dir.path(), DONE).unwrap();
    let mut writer = store.begin_run(lock, start, bodies[0], row).unwrap();
    store.append(&mut writer, start + 10_000, bodies[1], row, &[]).unwrap();
    store.append(&mut writer, start + 20_000, bodies[2], row, &[]).unwrap();
    drop(writer);
    let mut writer = store.take_over(RunLock::take(dir.path(), DONE).unwrap()).unwrap();
    let command = store.insert_command(DONE, start + 25_000, "web", "bob", r#"{"approve":"Q1"}"#);
    let settled = [(command.unwrap(), "accepted".to_owned())];
    store.append(&mut writer, start + 30_000, bodies[3], row, &settled).unwrap();
    let row = r#"{"state":"done","flow":"feature"}"#;
    store.append(&mut writer, start + 40_000, bodies[4], row, &[]).unwrap();
    let lock = RunLock::take(dir.path(), WAITS).unwrap();
    let row = r#"{"state":"waits","flow":"bug"}"#;
    let start = start + 86_400_000;
    let mut writer =
        store.begin_run(lock, start, r#"{"facts":[{"RunStarted":{"flow":"bug"}}]}"#, row).unwrap();
    let long = format!(r#"{{"facts":[{{"Noted":"{}"}}]}}"#, "a long text, ".repeat(400));
    store.append(&mut writer, start + 1, &long, row, &[]).unwrap();
    store
        .append(&mut writer, start + 2, r#"{"facts":[{"Asked":{"question":"Q1"}}]}"#, row, &[])
        .unwrap();
    store.insert_command(WAITS, start + 3, "cli", "ann", r#"{"approve":"Q1"}"#).unwrap();
    println!("{}", store.row(DONE).unwrap().head);
    drop(store);
    fs::create_dir_all(kept()).unwrap();
    assert!(!database(&kept()).exists(), "the kept journal is never written again");
    fs::copy(database(dir.path()), database(&kept())).unwrap();
}

fn done_bodies() -> [&'static str; 5] {
    [
        r#"{"facts":[{"RunStarted":{"flow":"feature","params":{"effort":"S"},"base":"3f2a"}}]}"#,
        r#"{"facts":[{"AttemptStarted":{"attempt":"analyse#1"}}]}"#,
        r#"{"facts":[{"AttemptEnded":{"attempt":"analyse#1","outcome":"done","spent":{"tokens":1200}}}]}"#,
        r#"{"facts":[{"Answered":{"question":"Q1","who":"bob","door":"web","words":"schön"}}]}"#,
        r#"{"facts":[{"RunFinished":{"outcome":"done"}}]}"#,
    ]
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals/v1")
}
