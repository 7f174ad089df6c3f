//! Putting the files of a checkout back.

use std::{fs, os::unix::fs::PermissionsExt as _};

use forge_workspace::{CachesAfter, FileAccess, Operation, RestoreFiles};

use crate::world::{World, failure, files, git, opened, read, restored, shell, write};

fn restoring(world: &World, access: FileAccess) -> RestoreFiles {
    RestoreFiles {
        location: world.location("a"),
        at: world.head(),
        access,
        caches: CachesAfter::Sealed,
    }
}

#[test]
fn what_a_reviewer_changed_is_discarded_and_named() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.access = FileAccess::Read;
    let tree = opened(&operation).tree;
    let before = files(&tree);
    assert_eq!(restored(&restoring(&world, FileAccess::Read)).discarded, Vec::<String>::new());
    shell(&tree, "rm a.txt; echo x > a.txt; chmod u+w src/b.txt; rm src/b.txt; mkfifo pipe");
    write(&tree, "new/x", "");
    write(&tree, "trace.log", "kept");
    shell(
        &tree,
        "git init -q sub; touch sub/y; git checkout -q -b elsewhere; git add -A; git commit -qm x",
    );
    let made = restored(&restoring(&world, FileAccess::Read));
    assert_eq!(made.discarded, ["a.txt", "new/x", "pipe", "src/b.txt", "sub/"]);
    let mut after = files(&tree);
    assert_eq!(after.remove("trace.log").as_deref(), Some("100644 kept"));
    assert_eq!(after, before, "also without the write bits");
    assert_eq!(git(&tree, &["symbolic-ref", "HEAD"]), "refs/heads/forge/work");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
}

#[test]
fn a_tree_can_be_put_back_to_an_older_commit_and_be_written_again() {
    let world = World::new();
    let old = world.head();
    world.write("later.txt", "");
    world.commit("later");
    let mut operation = world.opening("a");
    operation.access = FileAccess::Read;
    let tree = opened(&operation).tree;
    let made = restored(&RestoreFiles {
        location: world.location("a"),
        at: old.clone(),
        access: FileAccess::Write,
        caches: CachesAfter::Sealed,
    });
    assert!(made.discarded.is_empty() || made.discarded == ["later.txt"], "{made:?}");
    assert!(!tree.join("later.txt").exists());
    assert_eq!(git(&tree, &["rev-parse", "HEAD"]), old);
    let rights = fs::metadata(tree.join("a.txt")).unwrap().permissions().mode();
    assert_ne!(rights & 0o200, 0);
    assert_eq!(read(&tree, "src/b.txt"), "b\n");
}

#[test]
fn a_checkout_that_was_never_opened_cannot_be_put_back() {
    let world = World::new();
    let failure = failure(&Operation::Restore(restoring(&world, FileAccess::Write)));
    assert!(failure.next.contains("opened again"), "{failure}");
}
