//! What the journal promises when its process dies, its disk is full, or its disk cannot be written.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[path = "journals/world.rs"]
mod world;

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use forge_store::journal::{RunLock, Store, StoreError, database};
use tempfile::{TempDir, tempdir};
use world::{Chance, RUNS, body, copy, fill, row};

const CHILD: &str = "FORGE_TEST_JOURNAL_CHILD";

#[test]
fn killing_the_writer_loses_no_acknowledged_record() {
    let dir = tempdir().unwrap();
    let run = RUNS[0];
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::acquire(dir.path(), run).unwrap();
    drop(store.begin_run(lock, 1, &body(run, 1), &row(1)).unwrap());
    drop(store);
    let mut chance = Chance::new("kills");
    let mut acknowledged = 1;
    for _ in 0..20 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "the_child_that_appends_until_it_is_killed"])
            .arg("--nocapture")
            .env(CHILD, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let enough = chance.below(60);
        let mut n_events = 0;
        for line in lines {
            // A line may be torn: then it acknowledges nothing.
            let Ok(line) = line else { break };
            let Some(seq) = line.strip_prefix("appended ").and_then(|line| line.strip_suffix('.'))
            else {
                continue;
            };
            acknowledged = seq.parse().unwrap();
            n_events += 1;
            if n_events == enough + 1 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let store = Store::open_to_read(dir.path()).unwrap();
        let records = store.read(run, 1).unwrap();
        let last = records.len() as u64;
        assert!(last >= acknowledged, "{last} are there, {acknowledged} were acknowledged");
        assert!(last <= acknowledged + 1, "at most one more than was acknowledged");
        for record in &records {
            assert_eq!(record.body, body(run, record.seq));
        }
        assert_eq!(store.row(run).unwrap().row, row(last));
    }
    let mut store = Store::open(dir.path()).unwrap();
    let lock = RunLock::acquire(dir.path(), run).expect("the lock died with its holder");
    assert_eq!(store.take_over(lock).unwrap().epoch(), 22);
    eprintln!("20 kills, {acknowledged} records");
}

#[test]
#[ignore = "not a test: the process that the test above starts and kills"]
fn the_child_that_appends_until_it_is_killed() {
    let dir = PathBuf::from(std::env::var_os(CHILD).expect("the test above starts it"));
    let run = RUNS[0];
    let mut store = Store::open(&dir).unwrap();
    let mut writer = store.take_over(RunLock::acquire(&dir, run).unwrap()).unwrap();
    for _ in 0..100_000 {
        let seq = writer.seq() + 1;
        store.append(&mut writer, seq, &body(run, seq), &row(seq), &[]).unwrap();
        println!("appended {seq}.");
    }
}

#[test]
fn two_processes_that_make_the_journal_at_once_get_the_same_one() {
    let dir = tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let dir = dir.path();
            scope.spawn(move || {
                let mut store = Store::open(dir).unwrap();
                let run = format!("run-{number}");
                let lock = RunLock::acquire(dir, &run).unwrap();
                store.begin_run(lock, 1, "{}", "{}").unwrap();
            });
        }
    });
    let left: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(Store::open_to_read(dir.path()).unwrap().rows().unwrap().len(), 8);
}

#[test]
fn on_a_full_disk_nothing_is_half_written_and_with_space_it_goes_on() {
    let Some(disk) = Disk::mount("size=600k") else { return };
    let dir = disk.path().join("forge");
    let run = RUNS[0];
    let mut store = Store::open(&dir).unwrap();
    let lock = RunLock::acquire(&dir, run).unwrap();
    let mut writer = store.begin_run(lock, 1, &body(run, 1), &row(1)).unwrap();
    let refused = loop {
        let seq = writer.seq() + 1;
        if let Err(error) = store.append(&mut writer, seq, &body(run, seq), &row(seq), &[]) {
            break error;
        }
    };
    assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
    let last = writer.seq();
    eprintln!("the disk was full after {last} records");
    assert!(!dir.join("forge.db.damaged").exists());
    assert_eq!(store.read(run, 1).unwrap().len() as u64, last);
    assert_eq!(store.row(run).unwrap().row, row(last));
    let fresh = dir.join("other");
    let none = Store::open(&fresh).unwrap_err();
    assert!(matches!(none, StoreError::Full { .. }), "{none}");
    assert!(!database(&fresh).exists());
    disk.remount("size=8m");
    for seq in last + 1..last + 50 {
        assert_eq!(store.append(&mut writer, seq, &body(run, seq), &row(seq), &[]).unwrap(), seq);
    }
    drop((store, writer));
    let store = Store::open_to_read(&dir).unwrap();
    assert_eq!(store.read(run, 1).unwrap().len() as u64, last + 49);
    assert_eq!(store.check().unwrap().records, last + 49);
}

#[test]
fn a_disk_that_cannot_be_written_can_still_be_read_and_shows_the_latest() {
    let Some(disk) = Disk::mount("size=8m") else { return };
    let (folded, open) = (disk.path().join("folded"), disk.path().join("open"));
    let records = fill(&folded);
    // Beside it the same journal, one record later, and that one only in its log.
    let elsewhere = tempdir().unwrap();
    copy(&folded, elsewhere.path());
    let mut store = Store::open(elsewhere.path()).unwrap();
    let lock = RunLock::acquire(elsewhere.path(), RUNS[0]).unwrap();
    let mut writer = store.take_over(lock).unwrap();
    store.append(&mut writer, 9000, "{\"later\":1}", "{}", &[]).unwrap();
    copy(elsewhere.path(), &open);
    disk.remount("ro");
    let store = Store::open_to_read(&folded).unwrap();
    assert_eq!(store.read(RUNS[0], 1).unwrap(), records[0]);
    assert_eq!(store.rows().unwrap().len(), 3);
    drop(store);
    let store = Store::open_to_read(&open).unwrap();
    assert_eq!(store.read(RUNS[0], 61).unwrap()[0].body, "{\"later\":1}");
    drop(store);
    let refused = RunLock::acquire(&folded, "another").unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    let refused = Store::open(&disk.path().join("new")).unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    let refused = Store::open(&folded).unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
}

#[test]
fn damage_on_a_disk_that_cannot_be_written_is_refused_without_a_mark() {
    let Some(disk) = Disk::mount("size=8m") else { return };
    let dir = disk.path().join("forge");
    fill(&dir);
    let mut bytes = fs::read(database(&dir)).unwrap();
    bytes[17] ^= 1;
    fs::write(database(&dir), bytes).unwrap();
    disk.remount("ro");
    let refused = Store::open(&dir).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_) | StoreError::ReadOnly { .. }), "{refused}");
    assert!(matches!(Store::open_to_read(&dir), Err(StoreError::Damaged(_))));
    assert!(!dir.join("forge.db.damaged").exists());
}

/// A small disk of our own, which goes away with its owner.
struct Disk(TempDir);

impl Disk {
    /// `None`, and loud words, where nobody lets us mount.
    fn mount(options: &str) -> Option<Disk> {
        let dir = tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "forge-test"])
            .arg(dir.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            // Past the test's own capture, so that it is always seen.
            let written = writeln!(io::stderr(), "NOT PROVED: no small disk can be mounted here");
            written.unwrap();
        }
        mounted.then_some(Disk(dir))
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let status = Command::new("mount").args(["-o", &options]).arg(self.path()).status();
        assert!(status.unwrap().success());
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
