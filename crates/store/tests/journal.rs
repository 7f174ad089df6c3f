//! What the journal promises while the disk is well.

#[path = "journals/world.rs"]
mod world;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use forge_store::journal::{
    CheckReport, CommandRow, GENESIS, RunLock, Store, StoreError, database,
};
use tempfile::tempdir;
use world::{RECORDS, RUNS, body, fill, row};

#[test]
fn records_are_read_in_the_order_and_with_the_bytes_they_were_written() {
    let dir = tempdir().unwrap();
    let written = fill(dir.path());
    let store = Store::open_to_read(dir.path()).unwrap();
    for (run, written) in RUNS.iter().zip(&written) {
        let read = store.read(run, 1).unwrap();
        assert_eq!(&read, written);
        let mut head = GENESIS.to_owned();
        for (seq, record) in (1..).zip(&read) {
            assert_eq!((record.seq, &record.body), (seq, &body(run, seq)));
            assert!(record.follows(&head, run));
            head.clone_from(&record.sum);
        }
        assert_eq!(store.row(run).unwrap().head, head);
        assert_eq!(store.read(run, 58).unwrap(), written[57..]);
        assert_eq!(store.read(run, 61).unwrap(), []);
        assert_eq!(store.read(run, 1000).unwrap(), []);
    }
    assert_eq!(store.check().unwrap(), CheckReport { runs: 3, records: 3 * RECORDS });
}

#[test]
fn the_second_writer_of_a_run_is_refused_by_the_lock_and_told_who_holds_it() {
    let dir = tempdir().unwrap();
    let held = RunLock::acquire(dir.path(), RUNS[0]).unwrap();
    let refused = RunLock::acquire(dir.path(), RUNS[0]).unwrap_err();
    assert!(
        matches!(&refused, StoreError::Held { pid: Some(pid), .. } if *pid == std::process::id())
    );
    assert_eq!(refused.next_step(), format!("forge log {} --follow", RUNS[0]));
    RunLock::acquire(dir.path(), RUNS[1]).expect("another run has its own lock");
    drop(held);
    RunLock::acquire(dir.path(), RUNS[0]).expect("the lock goes with its holder");
}

#[test]
fn a_lock_whose_holder_is_gone_is_waited_for_but_not_for_ever() {
    let dir = tempdir().unwrap();
    let _held = RunLock::acquire(dir.path(), RUNS[0]).unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let lock = dir.path().join("runs").join(RUNS[0]).join("lock");
    fs::write(&lock, format!("{}\n", gone.id())).unwrap();
    let began = Instant::now();
    let refused = RunLock::acquire(dir.path(), RUNS[0]).unwrap_err();
    assert!(matches!(&refused, StoreError::Held { pid: Some(pid), .. } if *pid == gone.id()));
    assert!(began.elapsed() >= Duration::from_millis(500), "{:?}", began.elapsed());
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_no_run() {
    let dir = tempdir().unwrap();
    for name in ["", "..", "a/b", "../../etc", "-x", "a\0b", "é"] {
        let refused = RunLock::acquire(dir.path(), name).unwrap_err();
        assert!(matches!(refused, StoreError::BadRunId { .. }), "{name}");
    }
}

#[test]
fn a_writer_that_was_overtaken_is_refused_and_writes_nothing() {
    let dir = tempdir().unwrap();
    let run = RUNS[0];
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::acquire(dir.path(), run).unwrap();
    let mut stale = store.begin_run(lock, 1, "{}", "{}").unwrap();
    // Somebody deleted the lock file: the lock is lost, the epoch is not.
    fs::remove_file(dir.path().join("runs").join(run).join("lock")).unwrap();
    let mut other = Store::open(dir.path()).unwrap();
    let mut fresh = other.take_over(RunLock::acquire(dir.path(), run).unwrap()).unwrap();
    assert_eq!((fresh.epoch(), fresh.seq()), (2, 1));
    let refused = store.append(&mut stale, 2, "{\"stale\":1}", "{}", &[]).unwrap_err();
    assert!(matches!(refused, StoreError::Overtaken { .. }));
    assert_eq!(other.append(&mut fresh, 2, "{\"fresh\":1}", "{}", &[]).unwrap(), 2);
    let command = other.insert_command(run, 3, "cli", "ann", "{}").unwrap();
    let refused = store.settle_command(&stale, command, "no").unwrap_err();
    assert!(matches!(refused, StoreError::Overtaken { .. }));
    assert_eq!(store.read(run, 2).unwrap()[0].body, "{\"fresh\":1}");
    assert_eq!(store.command_outcome(command).unwrap(), None);
}

#[test]
#[should_panic(expected = "never lets a run's time go back")]
fn time_never_goes_back() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::acquire(dir.path(), RUNS[0]).unwrap();
    let mut writer = store.begin_run(lock, 10, "{}", "{}").unwrap();
    let _ = store.append(&mut writer, 9, "{}", "{}", &[]);
}

#[test]
fn a_run_begins_once() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    drop(store.begin_run(RunLock::acquire(dir.path(), RUNS[0]).unwrap(), 1, "{}", "{}").unwrap());
    let lock = RunLock::acquire(dir.path(), RUNS[0]).unwrap();
    let refused = store.begin_run(lock, 1, "{}", "{}").unwrap_err();
    assert!(matches!(refused, StoreError::RunExists { .. }));
    assert_eq!(store.check().unwrap(), CheckReport { runs: 1, records: 1 });
}

#[test]
fn each_process_gets_the_outcome_of_its_own_command_with_the_facts_that_follow() {
    let dir = tempdir().unwrap();
    let run = RUNS[0];
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::acquire(dir.path(), run).unwrap();
    let mut writer = store.begin_run(lock, 1, "{}", "{}").unwrap();
    let mut cli = Store::open(dir.path()).unwrap();
    let mut web = Store::open(dir.path()).unwrap();
    let before = store.data_version().unwrap();
    let approve = cli.insert_command(run, 2, "cli", "ann", r#"{"approve":"Q1"}"#).unwrap();
    assert_ne!(store.data_version().unwrap(), before);
    let revise = web.insert_command(run, 2, "web", "bob", r#"{"revise":"Q1"}"#).unwrap();
    let open = store.open_commands(run).unwrap();
    let seen: Vec<_> = open
        .iter()
        .map(|row| match row {
            CommandRow::Whole(command) => (command.id, command.person.as_str()),
            CommandRow::Foreign(id) => (*id, "nobody"),
        })
        .collect();
    assert_eq!(seen, [(approve, "ann"), (revise, "bob")]);
    store
        .append(&mut writer, 3, r#"{"answered":"Q1"}"#, "{}", &[(approve, "accepted".into())])
        .unwrap();
    assert_eq!(web.command_outcome(revise).unwrap(), None);
    store.settle_command(&writer, revise, "refused: Q1 was answered by ann").unwrap();
    assert_eq!(cli.command_outcome(approve).unwrap().as_deref(), Some("accepted"));
    let outcome = web.command_outcome(revise).unwrap();
    assert_eq!(outcome.as_deref(), Some("refused: Q1 was answered by ann"));
    assert_eq!(store.open_commands(run).unwrap(), []);
    let refused = cli.insert_command("20990101-nobody-zzzz", 1, "cli", "ann", "{}").unwrap_err();
    assert!(matches!(refused, StoreError::NoSuchRun { .. }));
}

#[test]
fn a_command_that_cannot_be_answered_takes_the_whole_record_with_it() {
    let dir = tempdir().unwrap();
    let run = RUNS[0];
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::acquire(dir.path(), run).unwrap();
    let mut writer = store.begin_run(lock, 1, "{}", "{\"row\":1}").unwrap();
    let command = store.insert_command(run, 2, "cli", "ann", "{}").unwrap();
    store.settle_command(&writer, command, "done").unwrap();
    let settled = [(command, "again".to_owned())];
    let refused = store.append(&mut writer, 2, "{}", "{\"row\":2}", &settled).unwrap_err();
    assert!(matches!(refused, StoreError::NoOpenCommand { .. }));
    assert_eq!(store.read(run, 1).unwrap().len(), 1);
    assert_eq!(store.row(run).unwrap().row, "{\"row\":1}");
    assert_eq!(store.command_outcome(command).unwrap().as_deref(), Some("done"));
    assert_eq!(store.append(&mut writer, 2, "{}", "{}", &[]).unwrap(), 2);
}

#[test]
fn data_version_changes_when_another_connection_writes_and_only_then() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let watcher = Store::open_to_read(dir.path()).unwrap();
    let before = watcher.data_version().unwrap();
    assert_eq!(watcher.data_version().unwrap(), before);
    let lock = RunLock::acquire(dir.path(), RUNS[0]).unwrap();
    let own = store.data_version().unwrap();
    store.begin_run(lock, 1, "{}", "{}").unwrap();
    assert_ne!(watcher.data_version().unwrap(), before);
    assert_eq!(store.data_version().unwrap(), own);
}

#[test]
fn a_unique_prefix_names_a_run_and_a_typo_gets_the_nearest() {
    let dir = tempdir().unwrap();
    fill(dir.path());
    let store = Store::open_to_read(dir.path()).unwrap();
    assert_eq!(store.resolve("20260102").unwrap(), RUNS[1]);
    assert_eq!(store.resolve("20260103-TIDY").unwrap(), RUNS[2]);
    assert_eq!(store.resolve(RUNS[0]).unwrap(), RUNS[0]);
    // The beginning of its short id, which are its last four letters.
    let short = &RUNS[0][RUNS[0].len() - 4..RUNS[0].len() - 1];
    assert_eq!(store.resolve(short).unwrap(), RUNS[0]);
    let several = store.resolve("2026010").unwrap_err();
    assert!(matches!(&several, StoreError::Ambiguous { runs, .. } if runs == &RUNS));
    for typo in ["20260102-mnd", "mend-the", "parser"] {
        let none = store.resolve(typo).unwrap_err();
        assert!(
            matches!(&none, StoreError::NoSuchRun { nearest: Some(run), .. } if run == RUNS[1]),
            "{typo}: {none}"
        );
    }
    let none = store.resolve("qqqqqqqqqqqqqqqqqqqq").unwrap_err();
    assert!(matches!(none, StoreError::NoSuchRun { nearest: None, .. }));
    let none = store.read("20260102", 1).unwrap_err();
    assert!(matches!(none, StoreError::NoSuchRun { .. }), "{none}");
}

#[test]
fn reading_never_makes_anything() {
    let dir = tempdir().unwrap();
    let here = dir.path().join("forge");
    assert!(matches!(Store::open_to_read(&here), Err(StoreError::Missing { .. })));
    assert!(!here.exists());
    drop(Store::open(&here).unwrap());
    let mut reader = Store::open_to_read(&here).unwrap();
    let lock = RunLock::acquire(&here, RUNS[0]).unwrap();
    assert!(matches!(reader.begin_run(lock, 1, "{}", "{}"), Err(StoreError::ReadOnly { .. })));
}

#[test]
fn a_journal_of_a_later_forge_is_refused_and_not_called_damaged() {
    let dir = tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    // printf '6:totals,1:2,1:0,' | sha256sum
    let mark = "43a77c84b9a3c4bd09d2f8b74b3c3360f5bc03e7f025acedd257236341cac0e9";
    let connection = rusqlite::Connection::open(database(dir.path())).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA user_version = 2; UPDATE totals SET version = 2, mark = '{mark}'"
        ))
        .unwrap();
    drop(connection);
    for refused in [Store::open(dir.path()), Store::open_to_read(dir.path())] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, StoreError::NewerSchema { found: 2, known: 1, .. }), "{refused}");
    }
    assert!(!dir.path().join("forge.db.damaged").exists());
}

#[test]
fn a_row_can_be_replaced_without_touching_the_records() {
    let dir = tempdir().unwrap();
    let written = fill(dir.path());
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::acquire(dir.path(), RUNS[1]).unwrap();
    store.replace_row(&lock, "{\"rebuilt\":true}").unwrap();
    assert_eq!(store.row(RUNS[1]).unwrap().row, "{\"rebuilt\":true}");
    assert_eq!(store.read(RUNS[1], 1).unwrap(), written[1]);
    assert_eq!(store.row(RUNS[0]).unwrap().row, row(RECORDS));
}

#[test]
fn the_last_one_out_leaves_no_log_behind() {
    let dir = tempdir().unwrap();
    fill(dir.path());
    assert!(!dir.path().join("forge.db-wal").exists());
    assert!(!dir.path().join("forge.db-shm").exists());
}

#[test]
fn ten_thousand_runs_are_listed_newest_first() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let count: u64 = 10_000;
    for number in 0..count {
        let run = format!("20260101-a-run-of-many-{number:05}");
        let lock = RunLock::acquire(dir.path(), &run).unwrap();
        store.begin_run(lock, number, "{}", &"x".repeat(500)).unwrap();
    }
    drop(store);
    let start = Instant::now();
    let store = Store::open_to_read(dir.path()).unwrap();
    let rows = store.rows().unwrap();
    eprintln!("{count} runs opened and listed in {:?}", start.elapsed());
    assert_eq!(rows.len() as u64, count);
    assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.at)));
}

#[test]
fn rows_without_some_words_are_found_the_latest_first() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    for (at, row) in
        [(5, "{\"is\":\"over\"}"), (6, "{\"is\":\"open\"}"), (9, "{\"is\":\"gone\"}"), (7, "{}")]
    {
        let lock = RunLock::acquire(dir.path(), &format!("run-{at}")).unwrap();
        store.begin_run(lock, at, "{}", row).unwrap();
    }
    let found = |words: &[&str]| -> Vec<u64> {
        store.rows_without(words).unwrap().iter().map(|row| row.at).collect()
    };
    assert_eq!(found(&["\"is\":\"over\"", "\"is\":\"gone\""]), [7, 6]);
    assert_eq!(found(&[]), [9, 7, 6, 5]);
    assert!(found(&["{"]).is_empty());
}

#[test]
fn of_a_long_run_the_first_wrong_record_is_named_whichever_core_looks_at_it() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::acquire(dir.path(), "long").unwrap();
    let mut writer = store.begin_run(lock, 1, "{}", "{}").unwrap();
    for at in 2..=1_200 {
        store.append(&mut writer, at, "{}", "{}", &[]).unwrap();
    }
    assert_eq!(store.read("long", 1).unwrap().len(), 1_200);
    drop((store, writer));
    let by_hand = rusqlite::Connection::open(database(dir.path())).unwrap();
    by_hand.execute("UPDATE records SET body = '[]' WHERE seq IN (700, 1000)", []).unwrap();
    drop(by_hand);
    let store = Store::open_to_read(dir.path()).unwrap();
    let found = store.read("long", 1).unwrap_err().to_string();
    assert!(found.contains("700"), "{found}");
    assert_eq!(store.read("long", 1_002).unwrap().len(), 199, "what is after them is as it was");
}
