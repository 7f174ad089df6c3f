//! The records of runs, `.forge/runs/`, are in no checkout, and no worker changes them.

use std::fs;

use forge_workspace::{CachesAfter, FileAccess, FilesPolicy, RestoreFiles, RunHooks};

use crate::world::{
    WHEN_MS, World, committed, git, hooked, opened, restored, write, write_program,
};

fn world_with_records() -> World {
    let world = World::new();
    world.write(".forge/runs/old/summary.md", "old\n");
    world.write(".forge/roles/r.md", "role\n");
    world.commit("records");
    world
}

#[test]
fn no_checkout_has_the_records_of_runs_and_git_misses_nothing() {
    let world = world_with_records();
    for files in [FilesPolicy::ResetTracked, FilesPolicy::KeepWork, FilesPolicy::Pristine] {
        let mut operation = world.opening("a");
        operation.files = files;
        let tree = opened(&operation).tree;
        assert!(!tree.join(".forge/runs").exists(), "{files:?}");
        assert!(tree.join(".forge/roles/r.md").exists());
        assert_eq!(git(&tree, &["status", "--porcelain"]), "", "{files:?}");
        write(&tree, ".forge/runs/x/real.py", "");
    }
    let (at, access) = (world.head(), FileAccess::Write);
    restored(&RestoreFiles {
        location: world.location("a"),
        at,
        access,
        caches: CachesAfter::Sealed,
    });
    assert!(!world.location("a").dir.join("tree/.forge/runs").exists());
}

#[test]
fn a_commit_has_the_records_of_its_parent_whatever_a_worker_wrote() {
    let world = world_with_records();
    let base = world.head();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, ".forge/runs/old/summary.md", "changed\n");
    write(&tree, ".forge/runs/x/real.py", "");
    write(&tree, ".gitignore", "!*\n");
    write(&tree, "new.txt", "");
    let made = committed(&world.committing("a", &[&base]));
    let changes: Vec<&str> = made.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(changes, [".gitignore", "new.txt"]);
    assert_eq!(world.content(&made.commit, ".forge/runs/old/summary.md").unwrap(), "old\n");
    assert_eq!(made.notes.len(), 2, "{:?}", made.notes);
    assert!(made.notes[1].contains(".forge/runs/x/real.py"), "{:?}", made.notes);
    fs::remove_dir_all(tree.join(".forge")).unwrap();
    write(&tree, ".forge", "a file\n");
    let made = committed(&world.committing("a", &[&base]));
    assert_eq!(world.content(&made.commit, ".forge/runs/old/summary.md").unwrap(), "old\n");
}

#[test]
fn hooks_see_no_change_of_the_records() {
    let world = world_with_records();
    let base = world.head();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "new.txt", "");
    let made = committed(&world.committing("a", &[&base]));
    let seen = world.beside("seen");
    let script = format!("git status --porcelain > {}; git add -A", seen.display());
    write_program(&world.root.join(".git/hooks/pre-commit"), &script);
    let result = hooked(&RunHooks {
        location: world.location("a"),
        commit: made.commit.clone(),
        message: "work".to_owned(),
        when_ms: WHEN_MS,
        pin: "refs/forge/test/hooked".to_owned(),
        output_max: 1000,
        accepted: None,
    });
    assert_eq!(result.commit, made.commit, "{result:?}");
    assert_eq!(fs::read_to_string(seen).unwrap(), "A  new.txt\n");
}
