//! Checkouts that nobody has touched since this process left them.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use forge_workspace::{
    CachesAfter, FileAccess, FilesPolicy, OpenCheckout, Operation, RecordBaseline, RestoreFiles,
    perform,
};

use crate::world::{World, files, git, opened, read, restored, shell, write};

fn reading(world: &World) -> OpenCheckout {
    OpenCheckout { access: FileAccess::Read, worker: None, ..world.opening("a") }
}

fn restoring(world: &World) -> RestoreFiles {
    let (location, at) = (world.location("a"), world.head());
    RestoreFiles { location, at, access: FileAccess::Read, caches: CachesAfter::Sealed }
}

/// The folder of the agent's git is made anew whenever anything is done.
fn agent_git(tree: &Path) -> u64 {
    fs::metadata(tree.join(".git")).unwrap().ino()
}

#[test]
fn a_checkout_that_nobody_touched_is_neither_put_back_nor_opened_again() {
    let world = World::new();
    let first = opened(&reading(&world));
    let (before, git_before) = (files(&first.tree), agent_git(&first.tree));
    for _ in 0..2 {
        assert_eq!(restored(&restoring(&world)).discarded, Vec::<String>::new());
        let again = opened(&reading(&world));
        assert_eq!((&again.tree, &again.head, again.is_new), (&first.tree, &first.head, false));
    }
    assert_eq!((files(&first.tree), agent_git(&first.tree)), (before, git_before));
}

#[test]
fn whatever_was_touched_is_seen_however_it_was_hidden() {
    // In the moment after the files were written, too: nothing waits here.
    let touches = [
        "chmod u+w a.txt; printf 'oNe\ntwo\nthree\n' > a.txt",
        "chmod u+w a.txt; touch -r a.txt ../time; printf 'oNe\ntwo\nthree\n' > a.txt; touch -r ../time a.txt; chmod u-w a.txt",
        "chmod u+w a.txt",
        "rm -f a.txt",
        "cp a.txt ../copy; rm -f a.txt; ln -s ../copy a.txt",
        "mv src elsewhere",
        "mkfifo pipe",
        "echo new > new.txt",
        "git --git-dir=../forge.git --work-tree=. update-index --assume-unchanged a.txt; chmod u+w a.txt; printf 'oNe\ntwo\nthree\n' > a.txt",
        "rm -r ../forge.git",
        "chmod 000 src",
    ];
    for touch in touches {
        let world = World::new();
        let tree = opened(&reading(&world)).tree;
        let before = files(&tree);
        shell(&tree, touch);
        if touch != "rm -r ../forge.git" {
            restored(&restoring(&world));
            assert_eq!(files(&tree), before, "put back after {touch}");
            shell(&tree, touch);
        }
        opened(&reading(&world));
        assert_eq!(files(&tree), before, "opened after {touch}");
    }
}

/// The second of the last change of a file.
fn changed_s(file: &Path) -> i64 {
    fs::metadata(file).unwrap().ctime()
}

#[test]
fn a_change_in_the_second_of_the_index_is_seen_though_size_and_time_were_put_back() {
    loop {
        let world = World::new();
        let tree = opened(&reading(&world)).tree;
        shell(
            &tree,
            "touch -d '1 hour ago' a.txt; \
             git --git-dir=../forge.git --work-tree=. update-index -q --refresh",
        );
        let second = changed_s(&tree.join("a.txt"));
        shell(
            &tree,
            "chmod u+w a.txt; touch -r a.txt ../time; printf 'oNe\ntwo\nthree\n' > a.txt; \
             touch -r ../time a.txt; chmod u-w a.txt",
        );
        if changed_s(&tree.join("a.txt")) != second {
            continue;
        }
        assert_eq!(restored(&restoring(&world)).discarded, ["a.txt"]);
        assert_eq!(read(&tree, "a.txt"), "one\ntwo\nthree\n");
        break;
    }
}

#[test]
fn where_only_the_agents_git_changed_only_that_is_made_again() {
    let world = World::new();
    let tree = opened(&reading(&world)).tree;
    let file = fs::metadata(tree.join("a.txt")).unwrap().ctime_nsec();
    shell(&tree, "git checkout -q -b elsewhere; git config user.name Mallory; git tag x");
    assert_eq!(restored(&restoring(&world)).discarded, Vec::<String>::new());
    assert_eq!(git(&tree, &["symbolic-ref", "HEAD"]), "refs/heads/forge/work");
    assert_eq!(git(&tree, &["tag"]), "");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    shell(&tree, "git tag y");
    opened(&reading(&world));
    assert_eq!(git(&tree, &["tag"]), "");
    assert_eq!(fs::metadata(tree.join("a.txt")).unwrap().ctime_nsec(), file, "no file was written");
}

#[test]
fn another_opening_or_other_settings_of_the_users_open_it_again() {
    let world = World::new();
    let tree = opened(&reading(&world)).tree;
    opened(&world.opening("a"));
    write(&tree, "a.txt", "it can be written");
    opened(&reading(&world));
    assert_eq!(read(&tree, "a.txt"), "one\ntwo\nthree\n");
    git(&world.root, &["config", "user.name", "Somebody Else"]);
    opened(&reading(&world));
    assert_eq!(git(&tree, &["config", "user.name"]), "Somebody Else");
    write(&world.root, ".git/info/exclude", "*.own\n");
    opened(&reading(&world));
    write(&tree, "x.own", "");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
}

/// Lets a set-up have ended in the checkout.
fn set_up(world: &World, tree: &Path, script: &str) {
    shell(tree, script);
    let location = world.location("a");
    perform(&Operation::Baseline(RecordBaseline { location, save: None })).unwrap();
}

#[test]
fn what_a_set_up_left_stays_for_readers_and_goes_for_a_proof() {
    let world = World::new();
    let tree = opened(&reading(&world)).tree;
    set_up(&world, &tree, "echo ignored > trace.log");
    assert_eq!(restored(&restoring(&world)).discarded, Vec::<String>::new());
    opened(&reading(&world));
    assert_eq!(read(&tree, "trace.log"), "ignored\n");
    let proof = OpenCheckout { files: FilesPolicy::Pristine, ..reading(&world) };
    opened(&proof);
    assert!(!tree.join("trace.log").exists());
    set_up(&world, &tree, "echo ignored > trace.log");
    opened(&proof);
    assert!(!tree.join("trace.log").exists());
}

#[test]
fn what_a_set_up_hides_from_git_is_discarded_and_named() {
    let world = World::new();
    let proof = OpenCheckout { files: FilesPolicy::Pristine, ..reading(&world) };
    let tree = opened(&proof).tree;
    let before = files(&tree);
    set_up(
        &world,
        &tree,
        "chmod u+w a.txt; echo changed > a.txt; mkdir -p .forge/runs/x; touch .forge/runs/x/y; \
         git --git-dir=../forge.git --work-tree=. update-index a.txt",
    );
    assert_eq!(restored(&restoring(&world)).discarded, ["a.txt"]);
    assert_eq!(files(&tree), before);
}

#[test]
fn a_git_folder_of_the_agents_that_became_a_link_is_made_again() {
    let world = World::new();
    let tree = opened(&reading(&world)).tree;
    shell(&tree, "mv .git ../elsewhere; ln -s ../elsewhere .git");
    restored(&restoring(&world));
    assert!(fs::symlink_metadata(tree.join(".git")).unwrap().is_dir());
}
