//! A database that is not what was written: it is named, never written again, and all that is
//! whole can be brought out.

use std::{fs, path::Path};

use super::world::{CONTENT, DONE, WAITS, WRONG, World, has};

/// Commands that would write.
fn changing(run: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["run", "another"],
        vec!["resume", run],
        vec!["answer", run, "Q1", "approve"],
        vec!["pause", run],
        vec!["stop", run],
        vec!["abandon", run],
        vec!["doctor", "--rebuild"],
    ]
}

fn world() -> (World, String) {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.forge(&["run", "do one"]).code, WAITS);
    assert_eq!(world.forge(&["run", "do two"]).code, WAITS);
    let run = world.latest();
    (world, run)
}

/// After a harm: every changing command refuses and names the file, and not a byte changes.
fn stays_as_it_is(world: &World, run: &str) {
    let database = world.database();
    let before = bytes(&database);
    let blobs = count(&world.place().join("blobs"));
    for _ in 0..2 {
        for args in changing(run) {
            let said = world.forge(&args);
            assert_eq!(said.code, WRONG, "{args:?}: {said}");
            has(&said.err, &["error: ", "forge.db", "help: "]);
        }
        world.forge(&["status"]);
        world.forge(&["log", run]);
        let said = world.forge(&["doctor"]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.out, &["✗ wrong", "forge.db", "forge doctor --restore"]);
    }
    assert_eq!(bytes(&database), before, "not a byte of it was changed");
    assert_eq!(count(&world.place().join("blobs")), blobs, "nothing was added beside it");
    assert_eq!(count(&world.place().join("runs")), 2, "no run was begun");
}

fn bytes(path: &Path) -> Option<Vec<u8>> {
    if path.is_dir() { Some(b"folder".to_vec()) } else { fs::read(path).ok() }
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The records of both runs as they were, and those that can be brought out.
fn salvage(world: &World) -> Vec<(String, usize)> {
    let to = world.beside("salvaged");
    let said = world.forge(&["doctor", "--salvage", to.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said}");
    has(&said.out, &["exported to"]);
    let mut found: Vec<(String, usize)> = fs::read_dir(&to)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"))
        .map(|entry| {
            let name = entry.path().file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(entry.path()).unwrap().lines().count())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn a_database_that_was_cut_short_is_named_and_left_alone() {
    let (world, run) = world();
    let length = fs::metadata(world.database()).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(world.database()).unwrap();
    file.set_len(length / 2).unwrap();
    stays_as_it_is(&world, &run);
    assert!(salvage(&world).iter().all(|(_, n)| *n == 4), "what shows the runs fills the gaps");
}

#[test]
fn a_flipped_byte_in_a_record_is_named_and_everything_before_it_is_brought_out() {
    let (world, run) = world();
    let ids = world.ids();
    let mut found = fs::read(world.database()).unwrap();
    // The last record of the last run: the words of its question.
    let needle = b"question_asked";
    let at =
        (0..found.len() - needle.len()).rev().find(|at| found[*at..].starts_with(needle)).unwrap();
    found[at] ^= 1;
    fs::write(world.database(), found).unwrap();
    let said = world.forge(&["doctor"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.out, &["✗ wrong", "forge.db is damaged", "--restore"]);
    // What shows the runs holds a second copy. First without it, then with it.
    for id in &ids {
        let folder = world.place().join("runs").join(id);
        fs::rename(folder.join("events.jsonl"), folder.join("kept")).unwrap();
    }
    let refused = world.refused(&["doctor", "--restore"]);
    has(&refused, &["record 4 of run", "nothing was changed", "--salvage"]);
    let records = salvage(&world);
    assert_eq!(records.iter().map(|(_, n)| n).max(), Some(&4), "one run is whole: {records:?}");
    assert_eq!(
        records.iter().map(|(_, n)| n).min(),
        Some(&3),
        "all before the damage: {records:?}"
    );
    assert_eq!(records.len(), ids.len());
    for id in &ids {
        let folder = world.place().join("runs").join(id);
        fs::rename(folder.join("kept"), folder.join("events.jsonl")).unwrap();
    }
    fs::remove_dir_all(world.beside("salvaged")).unwrap();
    assert!(salvage(&world).iter().all(|(_, n)| *n == 4), "the copy fills the gap");
    stays_as_it_is(&world, &run);
    let said = world.ok(&["doctor", "--restore"]);
    has(&said, &["the journal is intact again", "damaged-1"]);
    has(&world.ok(&["doctor"]), &["the journal is intact: 2 runs, 8 entries"]);
    world.ok(&["answer", &run, "Q1", "approve"]);
}

#[test]
fn a_log_that_was_lost_or_cut_after_a_crash_is_named_and_restore_brings_its_facts_back() {
    for is_lost in [true, false] {
        let world = World::new();
        world.scenario(CONTENT);
        assert_eq!(world.forge(&["run", "do one"]).code, WAITS);
        let wait = "while [ ! -e $HOME/go ]; do sleep 0.02; done";
        world.flow("slow", &format!("[[stage]]\nname = \"a\"\ncommand = \"{wait}\"\n"));
        let mut running = world.start(&["run", "--flow", "slow", "do two"]);
        running.until_says("a started");
        let run = world.latest();
        let records = ["log", &run, "--json"];
        let before = world.ok(&records);
        running.signal(rustix::process::Signal::KILL);
        running.end();
        // All that the second run has written is in the log.
        let log = world.place().join("forge.db-wal");
        let length = fs::metadata(&log).unwrap().len();
        if is_lost {
            fs::remove_file(&log).unwrap();
        } else {
            fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(length / 2).unwrap();
        }
        has(&world.refused(&["status"]), &["forge.db", "help: "]);
        stays_as_it_is(&world, &run);
        has(&world.ok(&["doctor", "--restore"]), &["the journal is intact again"]);
        assert_eq!(world.ok(&records), before, "lost: {is_lost}");
        has(&world.ok(&["doctor"]), &["the journal is intact: 2 runs"]);
        world.go();
        let said = world.forge(&["resume", &run]);
        assert_eq!(said.code, DONE, "{said}");
    }
}

#[test]
fn an_empty_database_is_not_taken_for_a_new_one() {
    let (world, run) = world();
    fs::write(world.database(), "").unwrap();
    stays_as_it_is(&world, &run);
}

#[test]
fn a_text_or_a_folder_in_place_of_the_database_is_named() {
    let (world, run) = world();
    fs::write(world.database(), "my notes\n".repeat(2000)).unwrap();
    stays_as_it_is(&world, &run);
    let (world, run) = self::world();
    fs::remove_file(world.database()).unwrap();
    fs::create_dir(world.database()).unwrap();
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["forge.db", "help: "]);
    assert_eq!(world.forge(&["status"]).code, WRONG);
    assert_eq!(world.forge(&["run", "do it"]).code, WRONG);
    assert!(world.database().is_dir());
    assert_eq!(count(&world.place().join("runs")), 2);
}

#[test]
fn a_database_that_is_gone_while_its_runs_are_there_is_missed_and_not_made_anew() {
    let (world, run) = world();
    fs::remove_file(world.database()).unwrap();
    for beside in ["forge.db-wal", "forge.db-shm"] {
        let _ = fs::remove_file(world.place().join(beside));
    }
    stays_as_it_is(&world, &run);
    assert!(!world.database().exists());
}

#[test]
fn a_journal_of_a_later_forge_is_refused_and_left_alone() {
    let (world, run) = world();
    // SQLite keeps the version in bytes 60 to 63 of its header, and our tables say it too.
    let mut found = fs::read(world.database()).unwrap();
    found[63] = 99;
    fs::write(world.database(), &found).unwrap();
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["forge.db", "version 99", "help: "]);
    assert_eq!(fs::read(world.database()).unwrap(), found);
}

#[test]
fn salvage_refuses_a_folder_that_is_there_and_changes_nothing() {
    let (world, _) = world();
    let before = bytes(&world.database());
    let there = world.beside("there");
    fs::create_dir(&there).unwrap();
    has(
        &world.refused(&["doctor", "--salvage", there.to_str().unwrap()]),
        &["already exists", "help: "],
    );
    assert_eq!(salvage(&world).len(), 2, "a healthy journal can be exported too");
    assert_eq!(bytes(&world.database()), before);
}

#[test]
fn a_blob_that_is_gone_or_forged_is_named() {
    let (world, run) = world();
    for entry in walk(&world.place().join("blobs")) {
        let mut permissions = fs::metadata(&entry).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
        fs::set_permissions(&entry, permissions).unwrap();
        fs::write(&entry, "forged").unwrap();
    }
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["blob", "help: "]);
    assert_eq!(world.records(&run), 4);
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
