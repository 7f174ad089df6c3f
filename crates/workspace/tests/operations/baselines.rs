//! What the set-up left in a checkout is no change of the worker's.

use std::{fs, os::unix::fs::PermissionsExt as _};

use forge_workspace::{
    CachesAfter, FileAccess, FilesPolicy, Operation, OperationResult, RecordBaseline, RestoreFiles,
    perform,
};

use crate::world::{World, committed, git, let_through, opened, read, restored, write};

/// Lets the set-up have ended in the checkout `a`; the files that it left.
fn recorded(world: &World) -> Vec<String> {
    let location = world.location("a");
    match perform(&Operation::Baseline(RecordBaseline { location, save: None })) {
        Ok(OperationResult::Baseline(recorded)) => recorded.paths,
        other => panic!("not recorded: {other:?}"),
    }
}

fn paths_of(world: &World) -> Vec<String> {
    let base = world.head();
    let made = committed(&world.committing("a", &[&base]));
    made.changes.into_iter().map(|change| change.path).collect()
}

#[test]
fn what_the_set_up_left_is_not_committed_as_a_change() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "package-lock.json", "{}");
    write(&tree, "egg info/x*y", "");
    write(&tree, "a.txt", "of the set-up\n");
    fs::remove_file(tree.join("src/b.txt")).unwrap();
    write(&tree, "trace.log", "ignored");
    assert_eq!(recorded(&world), ["a.txt", "src/b.txt", "egg info/x*y", "package-lock.json"]);
    assert_eq!(paths_of(&world), [] as [&str; 0]);
    write(&tree, "new.txt", "of the worker\n");
    // An ignore file of the worker's does not bring them in either.
    write(&tree, ".gitignore", "!*\n");
    assert_eq!(paths_of(&world), [".gitignore", "new.txt", "trace.log"]);
    assert_eq!(read(&tree, "a.txt"), "of the set-up\n", "the files stay as they are");
    assert_eq!(read(&tree, "package-lock.json"), "{}");
    assert!(!tree.join("src/b.txt").exists());
}

#[test]
fn what_a_worker_changes_beyond_the_set_up_is_its_change() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    for (path, text) in [("lock", "1"), ("kept", "1"), ("a.txt", "1"), ("src/b.txt", "1")] {
        write(&tree, path, text);
    }
    recorded(&world);
    write(&tree, "lock", "2");
    fs::set_permissions(tree.join("kept"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(tree.join("src/b.txt")).unwrap();
    assert_eq!(paths_of(&world), ["kept", "lock", "src/b.txt"]);
}

#[test]
fn a_secret_that_the_set_up_left_stops_no_commit_and_becomes_no_object() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, ".npmrc", crate::world::SECRET);
    write(&tree, "a.txt", crate::world::SECRET);
    recorded(&world);
    write(&tree, "new.txt", "");
    let base = world.head();
    let made = let_through(&world.committing("a", &[&base]));
    assert_eq!(made.changes.len(), 1, "{made:?}");
    let objects = world.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    for object in objects.lines() {
        assert!(!world.git(&["cat-file", "-p", object]).contains(crate::world::SECRET));
    }
}

#[test]
fn a_reader_is_not_told_of_what_the_set_up_left_and_the_files_that_git_does_not_know_stay() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.access = FileAccess::Read;
    let tree = opened(&operation).tree;
    fs::set_permissions(tree.join("a.txt"), fs::Permissions::from_mode(0o644)).unwrap();
    write(&tree, "a.txt", "of the set-up\n");
    write(&tree, "lock", "1");
    recorded(&world);
    let restore = RestoreFiles {
        location: world.location("a"),
        at: world.head(),
        access: FileAccess::Read,
        caches: CachesAfter::Sealed,
    };
    assert_eq!(restored(&restore).discarded, [] as [&str; 0]);
    assert_eq!(read(&tree, "lock"), "1");
    write(&tree, "lock", "2");
    write(&tree, "mine", "");
    assert_eq!(restored(&restore).discarded, ["lock", "mine"]);
    assert!(!tree.join("lock").exists());
}

#[test]
fn the_baseline_is_known_when_the_checkout_is_opened_again() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "lock", "1");
    recorded(&world);
    for files in [FilesPolicy::ResetTracked, FilesPolicy::KeepWork] {
        let mut operation = world.opening("a");
        operation.files = files;
        opened(&operation);
        assert_eq!(read(&tree, "lock"), "1", "{files:?}");
        assert_eq!(paths_of(&world), [] as [&str; 0], "{files:?}");
    }
    let mut pristine = world.opening("a");
    pristine.files = FilesPolicy::Pristine;
    opened(&pristine);
    assert!(!tree.join("lock").exists());
    write(&tree, "lock", "1");
    assert_eq!(paths_of(&world), ["lock"], "nothing of an older set-up is left");
}

#[test]
fn a_set_up_that_runs_again_takes_nothing_away_from_interrupted_work() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "lock", "1");
    recorded(&world);
    write(&tree, "a.txt", "of the worker\n");
    write(&tree, "mine", "1");
    let mut again = world.opening("a");
    again.files = FilesPolicy::KeepWork;
    opened(&again);
    for (path, text) in [("lock", "2"), ("mine", "2"), ("more", "2")] {
        write(&tree, path, text);
    }
    assert_eq!(recorded(&world), ["lock", "more"]);
    assert_eq!(paths_of(&world), ["a.txt", "mine"]);
    assert_eq!(git(&tree, &["rev-parse", "HEAD"]), world.head());
}
