//! What keepers, settings and git wait for the disk for, and in which order: counted by a library that is
//! loaded into every process and notes its syncs and renames.
//!
//! Not here: the driver and the store, whose syncs are left out one by one in `driver/tests/simulation`.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use super::world::{DONE, World, finish};

/// Compiles the library, and lets a command use it.
fn noting(world: &World, command: &mut Command) -> PathBuf {
    let (library, log) = (world.beside("libsyncs.so"), world.beside("syncs"));
    if !library.exists() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/syncs/syncs.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .args([source, "-ldl"])
            .status();
        assert!(compiled.unwrap().success(), "what builds SQLite builds this");
    }
    let _ = fs::remove_file(&log);
    command.env("LD_PRELOAD", &library).env("SYNC_LOG", &log);
    log
}

/// What was noted: what was done, and to which path.
fn noted(log: &PathBuf) -> Vec<(String, String)> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let line = |line: &str| {
        let mut words = line.splitn(3, ' ').skip(1).map(str::to_owned);
        (words.next().unwrap(), words.next().unwrap())
    };
    text.lines().map(line).collect()
}

/// The notes about one folder and what is directly in it, by the names in it.
fn in_folder(notes: &[(String, String)], folder: &str) -> Vec<String> {
    let inside = |path: &str| match path.strip_prefix(folder) {
        Some("") => Some(".".to_owned()),
        Some(rest) => rest.strip_prefix('/').map(str::to_owned),
        None => None,
    };
    let line = |(what, path): &(String, String)| Some(format!("{what} {}", inside(path)?));
    notes.iter().filter_map(line).collect()
}

/// What a run of this command did in the folder of its call, and in that of the step that opened its checkout.
fn noted_in(command: &str, gates: &str) -> [Vec<String>; 2] {
    let world = World::new();
    let flow = format!("[[stage]]\nname = \"note\"\ncommand = {command:?}\n{gates}\n");
    world.flow("one", &flow);
    // The project's commands get named variables only, and their keepers no others.
    world.write(
        "forge.toml",
        "[verify]\ncommands = [\"true\"]\npass = [\"LD_PRELOAD\", \"SYNC_LOG\"]\n",
    );
    let mut command = world.command(&["run", "--flow", "one", "note it"]);
    let log = noting(&world, &mut command);
    let said = finish(&mut command);
    assert_eq!(said.code, DONE, "{said}");
    let call = world.attempt(&world.latest(), "note#1");
    let call = call.to_str().unwrap();
    let is_noted =
        |(what, path): &(String, String)| what != "create" || path.ends_with("/attempt.json");
    let notes: Vec<_> = noted(&log).into_iter().filter(is_noted).collect();
    let own = in_folder(&notes, call).into_iter().filter(|note| !note.contains("steps")).collect();
    let place = |what: &str| notes.iter().position(|note| note.1 == format!("{call}/{what}"));
    let opened = "steps/open/ending.json";
    assert!(place("attempt.json").is_some(), "{notes:?}");
    assert!(place(opened) < place("attempt.json"), "before the next step is prepared");
    [own, in_folder(&notes, &format!("{call}/steps/open"))]
}

#[test]
fn one_sync_keeps_the_ending_of_a_step_with_the_little_that_it_left() {
    let small = "echo noted > \"$FORGE_ATTEMPT_DIR/outbox/note.md\"";
    let [own, opened] = noted_in(small, "writes = [\"note.md\"]");
    assert_eq!(own, ["create attempt.json", "sync ending.tmp", "rename ending.json"]);
    // Who only reads can be given its checkout again.
    assert_eq!(opened.last().map(String::as_str), Some("rename ending.json"));
    assert!(!opened.iter().any(|note| note.starts_with("sync")), "{opened:?}");
}

#[test]
fn much_that_a_step_left_is_synced_before_its_ending() {
    let large = "yes noted | head -n 9000 > \"$FORGE_ATTEMPT_DIR/outbox/note.md\"";
    let [own, _] = noted_in(large, "writes = [\"note.md\"]");
    let ending = ["sync ending.tmp", "rename ending.json"];
    let left = ["create attempt.json", "sync outbox/note.md", "sync transcript"];
    assert_eq!(own, [&left[..], &ending].concat());
}

#[test]
fn the_checkout_of_who_writes_is_known_to_be_open_before_the_work_begins() {
    let gates = "gates = [{ check = \"changes\" }, { verify = true }, { land = true }]";
    let [_, opened] = noted_in("echo made > made", gates);
    let synced = ["sync ending.tmp", "rename ending.json"];
    assert_eq!(opened[opened.len() - 2..], synced, "{opened:?}");
}

#[test]
fn settings_and_approvals_are_synced_before_they_replace_the_old_ones() {
    let world = World::new();
    let mut command = world.command(&["config", "set", "--user", "limits.at_once", "3"]);
    let log = noting(&world, &mut command);
    assert_eq!(finish(&mut command).code, DONE);
    let steps = |notes: &[(String, String)]| -> Vec<String> {
        notes.iter().map(|(what, _)| what.clone()).filter(|what| what != "create").collect()
    };
    assert_eq!(steps(&noted(&log)), ["sync", "rename", "sync"]);
    world.write("forge.toml", "[verify]\ncommands = [\"true\"]\n");
    world.commit();
    let mut command = world.command(&["config", "approve"]);
    let log = noting(&world, &mut command);
    assert_eq!(finish(&mut command).code, DONE);
    assert_eq!(steps(&noted(&log)), ["sync", "rename", "sync"]);
}

#[test]
fn commits_and_refs_of_a_run_are_synced() {
    let world = World::new();
    world.write("forge.toml", "[verify]\ncommands = [\"true\"]\n");
    let flow = "[[stage]]\nname = \"make\"\ncommand = \"echo made > made\"\ngates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n";
    world.flow("lands", flow);
    let mut command = world.command(&["run", "--flow", "lands", "make it"]);
    let log = noting(&world, &mut command);
    let said = finish(&mut command);
    assert_eq!(said.code, DONE, "{said}");
    let notes = noted(&log);
    let synced: BTreeSet<&str> =
        notes.iter().filter(|(what, _)| what == "sync").map(|(_, path)| path.as_str()).collect();
    let is_synced = |part: &str| synced.iter().any(|path| path.contains(part));
    assert!(is_synced("/.git/objects/"), "{synced:#?}");
    assert!(is_synced("/.git/refs/forge/"), "{synced:#?}");
}
