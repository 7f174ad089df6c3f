//! What the journal promises when bytes go wrong: it says so, it stops writing, and what `SQLite` or
//! the projections still hold comes out again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[path = "journals/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use forge_store::journal::{
    CommandRow, Completeness, JournalRecord, RunLock, SalvageReport, SalvageSource, Store,
    StoreError, database, projection, restore, salvage,
};
use tempfile::tempdir;
use world::{Chance, RECORDS, RUNS, body, copy, fill, flips, project, row};

#[test]
fn a_flipped_byte_anywhere_is_noticed_and_the_projections_have_every_record() {
    let original = tempdir().unwrap();
    let records = fill(original.path());
    let bytes = fs::read(database(original.path())).unwrap();
    let mut chance = Chance::new("flips in the database");
    let mut noticed = 0;
    for _ in 0..flips() {
        // Every tenth one in the first page, where everything hangs together.
        let limit = if chance.below(10) == 0 { 4096 } else { bytes.len() };
        let (at, flip) = (chance.below(limit), chance.below(255) + 1);
        let what = format!("byte {at} of {}, changed by {flip:#x}", bytes.len());
        let mut wrong = bytes.clone();
        wrong[at] ^= u8::try_from(flip).unwrap();
        let run = catch_unwind(AssertUnwindSafe(|| suffer(&wrong, &records, &what)));
        noticed += usize::from(run.unwrap_or_else(|_| panic!("{what}")));
    }
    eprintln!("{noticed} of {} flips were noticed by reading, the others hurt nothing", flips());
}

#[test]
fn a_flipped_byte_in_the_log_is_noticed_by_the_projections() {
    let original = tempdir().unwrap();
    let (records, bytes, log) = unfolded(original.path());
    let mut chance = Chance::new("flips in the log");
    let mut noticed = 0;
    for _ in 0..flips() {
        let (at, flip) = (chance.below(log.len()), chance.below(255) + 1);
        let what = format!("byte {at} of the log of {}, changed by {flip:#x}", log.len());
        let mut wrong = log.clone();
        wrong[at] ^= u8::try_from(flip).unwrap();
        let run = catch_unwind(AssertUnwindSafe(|| suffer_log(&bytes, &wrong, &records, &what)));
        noticed += usize::from(run.unwrap_or_else(|_| panic!("{what}")));
    }
    eprintln!("{noticed} of {} flips were noticed by reading", flips());
}

#[test]
fn a_log_that_is_lost_or_cut_is_noticed_and_the_projections_bring_the_records_back() {
    let original = tempdir().unwrap();
    let (records, bytes, log) = unfolded(original.path());
    let newest = fs::read(original.path().join("there/forge.db.newest")).unwrap();
    for kept in [None, Some(0), Some(31), Some(log.len() / 2), Some(log.len() - 1)] {
        let dir = tempdir().unwrap();
        let dir = dir.path();
        fs::write(database(dir), &bytes).unwrap();
        fs::write(dir.join("forge.db.newest"), &newest).unwrap();
        if let Some(kept) = kept {
            fs::write(dir.join("forge.db-wal"), &log[..kept]).unwrap();
        }
        // Noticed before any run is looked at, also by whoever comes second.
        for _ in 0..2 {
            let refused = Store::open_to_read(dir).unwrap_err();
            assert!(matches!(&refused, StoreError::Damaged(_)), "{kept:?}: {refused}");
            let refused = Store::open(dir).unwrap_err();
            assert!(matches!(&refused, StoreError::Damaged(_)), "{kept:?}: {refused}");
        }
        assert_eq!(fs::read(database(dir)).unwrap(), bytes, "{kept:?}");
        project(dir, &records);
        let restored = restore(dir, |_, records| Ok(row(records.len() as u64))).unwrap();
        assert_eq!(restored.notes, [] as [String; 0], "{kept:?}");
        assert_eq!(fs::read(restored.folder.join("forge.db")).unwrap(), bytes);
        let mut store = Store::open(dir).unwrap();
        for (run, records) in RUNS.iter().zip(&records) {
            assert_eq!(&store.read(run, 1).unwrap(), records);
        }
        store.check().unwrap();
        let mut writer = store.take_over(RunLock::acquire(dir, RUNS[0]).unwrap()).unwrap();
        store.append(&mut writer, 9999, "{}", "{}", &[]).unwrap();
    }
}

#[test]
fn a_journal_with_a_record_that_is_whole_nowhere_is_not_restored() {
    let original = tempdir().unwrap();
    let (_, bytes, log) = unfolded(original.path());
    let dir = tempdir().unwrap();
    let dir = dir.path();
    fs::write(database(dir), &bytes).unwrap();
    fs::write(dir.join("forge.db-wal"), &log).unwrap();
    let connection = rusqlite::Connection::open(database(dir)).unwrap();
    connection.execute("DELETE FROM records WHERE run = ?1 AND seq = 40", [RUNS[1]]).unwrap();
    drop(connection);
    let before = fs::read(database(dir)).unwrap();
    let refused = restore(dir, |_, _| Ok(row(1))).unwrap_err();
    assert!(matches!(&refused, StoreError::RecordLost { seq: 40, .. }), "{refused}");
    assert_eq!(fs::read(database(dir)).unwrap(), before);
}

#[test]
fn a_database_that_was_cut_short_is_damaged_and_never_new() {
    let original = tempdir().unwrap();
    let records = fill(original.path());
    let bytes = fs::read(database(original.path())).unwrap();
    let mut chance = Chance::new("cuts");
    let fixed = [0, 1, 15, 16, 99, 100, 512, 4095, 4096, 4097, 8192, bytes.len() - 1];
    let random: Vec<usize> = (0..flips() / 10).map(|_| chance.below(bytes.len())).collect();
    for length in fixed.into_iter().chain(random) {
        let dir = tempdir().unwrap();
        fs::write(database(dir.path()), &bytes[..length]).unwrap();
        match Store::open(dir.path()) {
            Err(StoreError::Damaged(_)) => {}
            // A last page that is short is noticed if one of its records needs the missing bytes.
            Ok(_) if bytes.len() - length < 4096 => {
                read_all(dir.path(), &records, &format!("cut at {length}"));
            }
            other => panic!("{length}: {other:?}"),
        }
        assert_eq!(fs::read(database(dir.path())).unwrap(), &bytes[..length]);
        let alone = salvaged(dir.path());
        for (run, records) in RUNS.iter().zip(&records) {
            assert!(records.starts_with(alone.1.get(*run).map_or(&[], Vec::as_slice)));
        }
        project(dir.path(), &records);
        assert_all(&salvaged(dir.path()), &records, &format!("cut at {length}"));
    }
}

#[test]
fn damage_leaves_a_mark_and_nobody_writes_after_it() {
    let original = tempdir().unwrap();
    let records = fill(original.path());
    let dir = original.path();
    let mut driver = Store::open(dir).unwrap();
    let mut writer = driver.take_over(RunLock::acquire(dir, RUNS[0]).unwrap()).unwrap();
    driver.append(&mut writer, 5000, "{}", "{}", &[]).unwrap();
    // While the driver has its log open, a record of another run goes bad.
    let mut bytes = fs::read(database(dir)).unwrap();
    let needle = records[1][40].sum.as_bytes();
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[at] ^= 1;
    fs::write(database(dir), &bytes).unwrap();
    let reader = Store::open_to_read(dir).unwrap();
    let refused = reader.read(RUNS[1], 1).unwrap_err();
    let StoreError::Damaged(damage) = &refused else { panic!("{refused}") };
    assert_eq!((damage.run.as_deref(), damage.seq), (Some(RUNS[1]), Some(41)));
    assert!(refused.next_step().starts_with("forge doctor --restore"));
    let mark: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.join("forge.db.damaged")).unwrap()).unwrap();
    assert_eq!((mark["run"].as_str(), mark["seq"].as_u64()), (Some(RUNS[1]), Some(41)));
    assert!(mark["when"].is_u64() && mark["what"].is_string());
    let refused = driver.append(&mut writer, 5001, "{}", "{}", &[]).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)));
    let refused = driver.insert_command(RUNS[2], 1, "cli", "ann", "{}").unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)));
    drop((reader, driver, writer));
    assert_eq!(fs::read(database(dir)).unwrap(), bytes, "not even a checkpoint");
    let refused = Store::open(dir).unwrap_err();
    assert!(matches!(&refused, StoreError::Damaged(damage) if damage.seq == Some(41)));
    // What is whole can still be looked at, in a copy.
    let reader = Store::open_to_read(dir).unwrap();
    assert_eq!(reader.read(RUNS[2], 1).unwrap(), records[2]);
    assert_eq!(reader.read(RUNS[0], 1).unwrap().len() as u64, RECORDS + 1);
    assert!(reader.read(RUNS[1], 1).is_err());
    drop(reader);
    assert_eq!(fs::read(database(dir)).unwrap(), bytes);
}

#[test]
fn a_journal_that_ends_before_its_projection_has_lost_something() {
    let dir = tempdir().unwrap();
    let records = fill(dir.path());
    project(dir.path(), &records);
    let mut store = Store::open(dir.path()).unwrap();
    store.take_over(RunLock::acquire(dir.path(), RUNS[0]).unwrap()).expect("both end alike");
    drop(store);
    let earlier = fs::read(database(dir.path())).unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let mut writer = store.take_over(RunLock::acquire(dir.path(), RUNS[1]).unwrap()).unwrap();
    store.append(&mut writer, 9000, "{}", "{}", &[]).unwrap();
    let mut records = records;
    records[1] = store.read(RUNS[1], 1).unwrap();
    drop((store, writer));
    project(dir.path(), &records);
    let attempts: [Attempt; 5] = [
        |store, dir| store.take_over(RunLock::acquire(dir, RUNS[1])?).map(drop),
        |store, _| store.read(RUNS[1], 1).map(drop),
        |store, _| store.row(RUNS[1]).map(drop),
        |store, _| store.insert_command(RUNS[1], 1, "cli", "ann", "{}").map(drop),
        |store, _| store.check().map(drop),
    ];
    for (number, attempt) in attempts.iter().enumerate() {
        fs::write(database(dir.path()), &earlier).unwrap();
        for beside in ["forge.db.damaged", "forge.db.newest"] {
            let _ = fs::remove_file(dir.path().join(beside));
        }
        let mut store = Store::open(dir.path()).unwrap();
        store.read(RUNS[0], 1).expect("the other runs are whole");
        let refused = attempt(&mut store, dir.path()).unwrap_err();
        let StoreError::Damaged(damage) = &refused else { panic!("{number}: {refused}") };
        assert_eq!(damage.seq, Some(RECORDS + 1), "{number}: {refused}");
        drop(store);
        assert_eq!(fs::read(database(dir.path())).unwrap(), earlier, "{number}");
        assert!(matches!(Store::open(dir.path()), Err(StoreError::Damaged(_))), "{number}");
    }
}

#[test]
fn a_run_that_only_its_projection_knows_was_lost() {
    let dir = tempdir().unwrap();
    let records = fill(dir.path());
    let other = tempdir().unwrap();
    Store::open(other.path()).unwrap();
    project(other.path(), &records);
    let refused = Store::open_to_read(other.path()).unwrap().check().unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
}

#[test]
fn a_wrong_byte_in_a_projection_says_nothing_about_the_journal() {
    let dir = tempdir().unwrap();
    let records = fill(dir.path());
    let store = Store::open_to_read(dir.path()).unwrap();
    project(dir.path(), &records);
    let path = projection(dir.path(), RUNS[0]);
    let bytes = fs::read(&path).unwrap();
    let last = records[0].last().unwrap().to_line().len() + 1;
    for at in (bytes.len() - last..bytes.len()).take(60).chain(bytes.len() - 3..bytes.len()) {
        for flip in [0x01, 0x02, 0x04, 0x08, 0x10] {
            let mut wrong = bytes.clone();
            wrong[at] ^= flip;
            fs::write(&path, wrong).unwrap();
            assert_eq!(store.read(RUNS[0], 1).unwrap(), records[0], "byte {at}, {flip:#x}");
        }
    }
    for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(store.read(RUNS[0], 1).unwrap(), records[0], "cut at {length}");
    }
}

#[test]
fn a_database_that_is_gone_is_not_made_anew_over_what_is_left_of_it() {
    let dir = tempdir().unwrap();
    let records = fill(dir.path());
    project(dir.path(), &records);
    fs::remove_file(database(dir.path())).unwrap();
    let refused = Store::open(dir.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
    assert!(!database(dir.path()).exists());
    let saved = salvaged(dir.path());
    assert_all(&saved, &records, "projections alone");
    let unknown = |run: &forge_store::journal::RecoveredRun| {
        run.completeness == Completeness::Unknown
            && run.sources.iter().eq([&SalvageSource::Projection])
    };
    assert!(saved.0.runs.iter().all(unknown));

    let dir = tempdir().unwrap();
    fs::write(dir.path().join("forge.db-wal"), [1; 5000]).unwrap();
    assert!(matches!(Store::open(dir.path()), Err(StoreError::Damaged(_))));
}

#[test]
fn salvage_puts_a_record_from_one_source_between_those_of_the_other() {
    let original = tempdir().unwrap();
    let records = fill(original.path());
    let mut bytes = fs::read(database(original.path())).unwrap();
    for seq in [3, 30] {
        let needle = records[0][seq].sum.as_bytes();
        let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
        bytes[at] ^= 1;
    }
    let dir = tempdir().unwrap();
    fs::write(database(dir.path()), bytes).unwrap();
    let (report, saved) = salvaged(dir.path());
    assert_eq!(saved[RUNS[0]], records[0][..3]);
    let short = &report.runs[0];
    assert_eq!((short.completeness, short.first_damaged), (Completeness::Short, Some(4)));
    assert_eq!(report.runs[1].completeness, Completeness::Whole);
    // A projection that is behind, and torn in the middle of its last line.
    project(dir.path(), &records);
    let path = projection(dir.path(), RUNS[0]);
    let lines = fs::read_to_string(&path).unwrap();
    let end = lines.lines().take(35).map(|line| line.len() + 1).sum::<usize>() + 50;
    fs::write(&path, &lines[..end]).unwrap();
    let saved = salvaged(dir.path());
    assert_all(&saved, &records, "both together");
    assert_eq!(saved.0.runs[0].completeness, Completeness::Whole);
    assert!(
        saved.0.runs[0].sources.iter().eq([&SalvageSource::Database, &SalvageSource::Projection])
    );
}

#[test]
fn a_wrong_byte_in_what_status_shows_or_in_what_a_command_asked_is_noticed() {
    let original = tempdir().unwrap();
    fill(original.path());
    let mut store = Store::open(original.path()).unwrap();
    store.insert_command(RUNS[1], 1, "cli", "ann", r#"{"approve":"Q7"}"#).unwrap();
    drop(store);
    let bytes = fs::read(database(original.path())).unwrap();
    let spoilt = |needle: &str| {
        let dir = tempdir().unwrap();
        let mut wrong = bytes.clone();
        let at = bytes.windows(needle.len()).rposition(|window| window == needle.as_bytes());
        wrong[at.unwrap() + needle.len() - 1] ^= 1;
        fs::write(database(dir.path()), wrong).unwrap();
        dir
    };
    let dir = spoilt(r#""working","seq":60"#);
    let store = Store::open_to_read(dir.path()).unwrap();
    assert!(matches!(store.rows(), Err(StoreError::Damaged(_))));
    let damaged = RUNS.iter().filter(|run| matches!(store.row(run), Err(StoreError::Damaged(_))));
    assert_eq!(damaged.count(), 1);
    let dir = spoilt(r#"{"approve":"Q7"#);
    let store = Store::open_to_read(dir.path()).unwrap();
    let open = store.open_commands(RUNS[1]).unwrap();
    assert!(matches!(open.as_slice(), [CommandRow::Foreign(_)]), "{open:?}");
}

#[test]
fn a_command_written_by_hand_is_foreign_and_keeps_nobody_from_the_others() {
    let dir = tempdir().unwrap();
    fill(dir.path());
    let by_hand = rusqlite::Connection::open(database(dir.path())).unwrap();
    let insert = "INSERT INTO commands (run, at, door, who, body, mark) VALUES ";
    for values in [
        "(?1, 1, 'cli', 'ann', '{}', 'x')",
        "(?1, -1, 'cli', 'ann', '{}', 'x')",
        "(?1, 1, 'cli', 'ann', CAST(x'ff' AS TEXT), 'x')",
    ] {
        by_hand.execute(&format!("{insert}{values}"), [RUNS[1]]).unwrap();
    }
    drop(by_hand);
    let mut store = Store::open(dir.path()).unwrap();
    let sent = store.insert_command(RUNS[1], 1, "cli", "ann", "{}").unwrap();
    let open = store.open_commands(RUNS[1]).unwrap();
    let (last, foreign) = open.split_last().unwrap();
    assert!(matches!(last, CommandRow::Whole(command) if command.id == sent), "{last:?}");
    assert_eq!(foreign.len(), 3);
    assert!(foreign.iter().all(|row| matches!(row, CommandRow::Foreign(_))), "{foreign:?}");
    let writer = store.take_over(RunLock::acquire(dir.path(), RUNS[1]).unwrap()).unwrap();
    for row in foreign {
        let CommandRow::Foreign(id) = row else { continue };
        store.settle_command(&writer, *id, "refused").unwrap();
    }
    assert_eq!(store.open_commands(RUNS[1]).unwrap().len(), 1);
}

#[test]
fn every_byte_of_the_header_that_can_hurt_is_watched() {
    let original = tempdir().unwrap();
    let records = fill(original.path());
    let bytes = fs::read(database(original.path())).unwrap();
    // A write version that makes the database read-only, counters and hints that change nothing,
    // high bytes that SQLite ignores, and room that is not used.
    let idle = |at: usize| matches!(at, 18 | 24..28 | 32..=46 | 48..52 | 56..60 | 64..68 | 72..100);
    for at in 0..100 {
        let dir = tempdir().unwrap();
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x41;
        fs::write(database(dir.path()), wrong).unwrap();
        let noticed = read_all(dir.path(), &records, &format!("byte {at}"));
        assert!(noticed || idle(at), "byte {at}");
    }
}

#[test]
fn a_driver_does_not_write_where_a_wrong_pointer_says_that_there_is_room() {
    let dir = tempdir().unwrap();
    fill(dir.path());
    let mut bytes = fs::read(database(dir.path())).unwrap();
    // Page 9, which is in use, becomes the first free page.
    bytes[32..40].copy_from_slice(&[0, 0, 0, 9, 0, 0, 0, 1]);
    fs::write(database(dir.path()), &bytes).unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let refused = store.take_over(RunLock::acquire(dir.path(), RUNS[1]).unwrap()).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
    drop(store);
    assert_eq!(fs::read(database(dir.path())).unwrap(), bytes);
}

#[test]
fn a_run_whose_name_has_a_wrong_byte_is_damaged_and_not_missing() {
    let dir = tempdir().unwrap();
    fill(dir.path());
    let mut bytes = fs::read(database(dir.path())).unwrap();
    let needle = RUNS[1].as_bytes();
    let places: Vec<usize> =
        (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(needle)).collect();
    for at in places {
        bytes[at + 9] ^= 1;
    }
    fs::write(database(dir.path()), &bytes).unwrap();
    let store = Store::open_to_read(dir.path()).unwrap();
    let refused = store.read(RUNS[1], 1).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
}

/// Something that must be refused.
type Attempt = fn(&mut Store, &Path) -> Result<(), StoreError>;

/// Tries everything on a database with one wrong byte. Says whether reading noticed.
fn suffer(bytes: &[u8], records: &[Vec<JournalRecord>], what: &str) -> bool {
    let dir = tempdir().unwrap();
    let dir = dir.path();
    fs::write(database(dir), bytes).unwrap();
    let noticed = read_all(dir, records, what);
    assert_eq!(fs::read(database(dir)).unwrap(), bytes, "{what}: reading changed the database");
    assert_eq!(noticed, dir.join("forge.db.damaged").exists(), "{what}: the mark");
    assert_nothing_wrong(&salvaged(dir), records, what);
    project(dir, records);
    assert_all(&salvaged(dir), records, what);
    write_on(dir, records, what);
    assert_all_begin(&salvaged(dir), records, what);
    noticed
}

/// Tries everything on a log with one wrong byte, which makes `SQLite` drop what follows. Says
/// whether that was noticed.
fn suffer_log(bytes: &[u8], log: &[u8], records: &[Vec<JournalRecord>], what: &str) -> bool {
    let world = || {
        let dir = tempdir().unwrap();
        fs::write(database(dir.path()), bytes).unwrap();
        fs::write(dir.path().join("forge.db-wal"), log).unwrap();
        dir
    };
    // Without projections a dropped end cannot be seen, but nothing is wrong.
    let dir = world();
    match Store::open_to_read(dir.path()) {
        Err(StoreError::Damaged(_)) => {}
        Err(other) => panic!("{what}: {other}"),
        Ok(store) => {
            for (run, records) in RUNS.iter().zip(records) {
                match store.read(run, 1) {
                    Err(StoreError::Damaged(_)) => {}
                    Err(other) => panic!("{what}: {other}"),
                    Ok(read) => assert!(records.starts_with(&read), "{what}: wrong records"),
                }
            }
        }
    }
    assert_nothing_wrong(&salvaged(dir.path()), records, what);
    // With them every run is whole or refused, for readers and for drivers, and nothing is written.
    let dir = world();
    let dir = dir.path();
    project(dir, records);
    let mut noticed = false;
    for (run, records) in RUNS.iter().zip(records) {
        let read = Store::open_to_read(dir).and_then(|store| store.read(run, 1));
        match read {
            Ok(read) => assert_eq!(&read, records, "{what}"),
            Err(StoreError::Damaged(_)) => noticed = true,
            Err(other) => panic!("{what}: {other}"),
        }
    }
    let _ = fs::remove_file(dir.join("forge.db.damaged"));
    for (run, records) in RUNS.iter().zip(records) {
        let lock = RunLock::acquire(dir, run).unwrap();
        match Store::open(dir).and_then(|mut store| store.take_over(lock).map(|_| store)) {
            Ok(store) => assert_eq!(&store.read(run, 1).unwrap(), records, "{what}"),
            Err(StoreError::Damaged(_)) => noticed = true,
            Err(other) => panic!("{what}: {other}"),
        }
    }
    assert_eq!(noticed, dir.join("forge.db.damaged").exists(), "{what}: the mark");
    assert_all(&salvaged(dir), records, what);
    noticed
}

/// Each salvaged run is the beginning of what was written.
fn assert_nothing_wrong((_, saved): &Saved, records: &[Vec<JournalRecord>], what: &str) {
    for (run, saved) in saved {
        let run = RUNS.iter().position(|known| known == run);
        let run = run.unwrap_or_else(|| panic!("{what}: salvage made up a run"));
        assert!(records[run].starts_with(saved), "{what}: salvage brought out something wrong");
    }
}

/// Reads everything: each run is exactly what it was, or damaged.
fn read_all(dir: &Path, records: &[Vec<JournalRecord>], what: &str) -> bool {
    let store = match Store::open_to_read(dir) {
        Ok(store) => store,
        Err(StoreError::Damaged(_)) => return true,
        Err(other) => panic!("{what}: {other}"),
    };
    let mut noticed = false;
    for (run, records) in RUNS.iter().zip(records) {
        match store.read(run, 1) {
            Ok(read) => assert_eq!(&read, records, "{what}"),
            Err(StoreError::Damaged(_)) => noticed = true,
            Err(other) => panic!("{what}: {other}"),
        }
    }
    match store.rows() {
        Ok(rows) => {
            let right = rows.iter().filter(|found| found.row == row(RECORDS)).count();
            assert_eq!((rows.len(), right), (3, 3), "{what}");
        }
        Err(StoreError::Damaged(_)) => noticed = true,
        Err(other) => panic!("{what}: {other}"),
    }
    noticed
}

/// Goes on writing, if that is not refused: nothing old may suffer from it.
fn write_on(dir: &Path, records: &[Vec<JournalRecord>], what: &str) {
    let Ok(mut store) = Store::open(dir) else { return };
    let Ok(mut writer) = store.take_over(RunLock::acquire(dir, RUNS[1]).unwrap()) else { return };
    for seq in RECORDS + 1..RECORDS + 20 {
        let appended = store.append(&mut writer, 9000, &body(RUNS[1], seq), &row(seq), &[]);
        match appended {
            Ok(_) => {}
            Err(StoreError::Damaged(_)) => return,
            Err(other) => panic!("{what}: {other}"),
        }
    }
    for (run, records) in RUNS.iter().zip(records) {
        match store.read(run, 1) {
            Ok(read) => assert!(read.starts_with(records), "{what}: after writing on"),
            Err(StoreError::Damaged(_)) => {}
            Err(other) => panic!("{what}: {other}"),
        }
    }
}

type Saved = (SalvageReport, BTreeMap<String, Vec<JournalRecord>>);

fn salvaged(dir: &Path) -> Saved {
    let to = tempdir().unwrap();
    let report = salvage(dir, to.path()).unwrap();
    let read = |run: &str| -> Vec<JournalRecord> {
        let lines = fs::read_to_string(to.path().join(format!("{run}.jsonl"))).unwrap();
        lines.lines().map(|line| JournalRecord::from_line(line).unwrap()).collect()
    };
    let saved: BTreeMap<_, _> =
        report.runs.iter().map(|run| (run.run.clone(), read(&run.run))).collect();
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), saved.len(), "nothing else is left there");
    (report, saved)
}

fn assert_all((report, saved): &Saved, records: &[Vec<JournalRecord>], what: &str) {
    assert_eq!(saved.len(), RUNS.len(), "{what}: {report:?}");
    for (run, records) in RUNS.iter().zip(records) {
        assert_eq!(&saved[*run], records, "{what}: {report:?}");
    }
}

fn assert_all_begin((report, saved): &Saved, records: &[Vec<JournalRecord>], what: &str) {
    for (run, records) in RUNS.iter().zip(records) {
        assert!(saved[*run].starts_with(records), "{what}: {report:?}");
    }
}

/// A journal of which a part is still in the log.
fn unfolded(dir: &Path) -> (Vec<Vec<JournalRecord>>, Vec<u8>, Vec<u8>) {
    let there = dir.join("there");
    let aside = dir.join("aside");
    let mut records = fill(&there);
    let mut store = Store::open(&there).unwrap();
    for (run, records) in RUNS.iter().zip(&mut records) {
        let mut writer = store.take_over(RunLock::acquire(&there, run).unwrap()).unwrap();
        for seq in RECORDS + 1..RECORDS + 10 {
            store.append(&mut writer, 9000, &body(run, seq), &row(seq), &[]).unwrap();
        }
        *records = store.read(run, 1).unwrap();
    }
    copy(&there, &aside);
    let log = fs::read(aside.join("forge.db-wal")).unwrap();
    (records, fs::read(database(&aside)).unwrap(), log)
}
