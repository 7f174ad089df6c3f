//! Opening a checkout.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        net::UnixListener,
    },
};

use forge_workspace::{
    CachesAfter, FileAccess, FilesPolicy, OpenCheckout, Operation, RestoreFiles,
};

use crate::world::{World, failure, files, git, opened, read, restored, shell, write};

#[test]
fn an_opened_checkout_has_the_files_of_the_commit_and_a_git_on_its_branch() {
    let world = World::new();
    world.write("dirty.txt", "not committed");
    let before = world.fingerprint();
    let operation = world.opening("a");
    let made = opened(&operation);
    assert!(made.is_new);
    assert_eq!(made.head, world.head());
    assert_eq!(made.tree, operation.location.dir.join("tree"));
    assert_eq!(read(&made.tree, "a.txt"), "one\ntwo\nthree\n");
    assert!(!made.tree.join("dirty.txt").exists());
    assert_eq!(git(&made.tree, &["status", "--porcelain"]), "");
    assert_eq!(git(&made.tree, &["symbolic-ref", "HEAD"]), "refs/heads/forge/work");
    assert_eq!(
        git(&made.tree, &["rev-parse", "HEAD", "main"]),
        [world.head(), world.head()].join("\n")
    );
    assert_eq!(git(&made.tree, &["remote"]), "");
    assert_eq!(git(&made.tree, &["log", "--format=%s"]), "first");
    assert_eq!(git(&made.tree, &["fsck", "--strict"]), "");
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn opening_again_changes_nothing_and_is_not_new() {
    let world = World::new();
    let operation = world.opening("a");
    let first = opened(&operation);
    let before = files(&first.tree);
    let second = opened(&operation);
    assert!(!second.is_new);
    assert_eq!(files(&second.tree), before);
}

#[test]
fn exactly_puts_tracked_files_back_keeps_ignored_ones_and_removes_the_rest() {
    let world = World::new();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    write(&tree, "a.txt", "changed");
    fs::remove_file(tree.join("src/b.txt")).unwrap();
    write(&tree, "new/untracked.txt", "");
    write(&tree, "trace.log", "kept");
    write(&tree, "target/out", "kept");
    fs::create_dir_all(tree.join("empty/empty")).unwrap();
    shell(&tree, "git init -q nested && cd nested && touch x && git add x && git commit -qm x");
    opened(&operation);
    assert_eq!(read(&tree, "a.txt"), "one\ntwo\nthree\n");
    assert_eq!(read(&tree, "src/b.txt"), "b\n");
    assert_eq!(read(&tree, "trace.log"), "kept");
    assert_eq!(read(&tree, "target/out"), "kept");
    for gone in ["new", "empty", "nested"] {
        assert!(!tree.join(gone).exists(), "{gone}");
    }
}

#[test]
fn as_left_keeps_what_an_interrupted_attempt_left() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.files = FilesPolicy::KeepWork;
    let first = opened(&operation);
    assert!(first.is_new, "made because it was missing");
    let tree = first.tree;
    write(&tree, "a.txt", "half done");
    write(&tree, "new.txt", "new");
    git(&tree, &["add", "new.txt"]);
    git(&tree, &["commit", "-qm", "own"]);
    fs::write(tree.join(".git/index.lock"), "").unwrap();
    let second = opened(&operation);
    assert!(!second.is_new);
    assert_eq!(read(&tree, "a.txt"), "half done");
    assert_eq!(git(&tree, &["log", "--format=%s"]), "own\nfirst");
    git(&tree, &["add", "-A"]);
}

#[test]
fn as_left_mends_a_git_that_does_not_work_and_keeps_the_files() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.files = FilesPolicy::KeepWork;
    let tree = opened(&operation).tree;
    let ruins = [
        "rm -rf .git",
        "rm .git/HEAD",
        "rm -rf .git/objects",
        "echo x > .git/config",
        "echo x > .git/index",
        "git config core.worktree /nowhere",
        "git config core.bare true",
        "echo /nowhere > .git/objects/info/alternates",
        "mv .git elsewhere.log; ln -s elsewhere.log .git",
        "rm -rf .git; mkfifo .git",
        "rm .git/config; mkfifo .git/config",
        "rm .gitignore; mkfifo .gitignore; git update-index --assume-unchanged .gitignore",
    ];
    for ruin in ruins {
        write(&tree, "a.txt", "half done");
        shell(&tree, ruin);
        opened(&operation);
        assert_eq!(read(&tree, "a.txt"), "half done", "{ruin}");
        assert_eq!(git(&tree, &["rev-parse", "HEAD"]), world.head(), "{ruin}");
        let status = git(&tree, &["status", "--porcelain"]);
        assert!(status.contains(" M a.txt"), "{ruin}: {status}");
    }
}

#[test]
fn pristine_leaves_nothing_but_the_commit_and_the_cache() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.files = FilesPolicy::Pristine;
    operation.cache = vec!["target".to_owned(), "deep/cache".to_owned()];
    let tree = opened(&operation).tree;
    write(&tree, "target/out", "kept");
    write(&tree, "deep/cache/out", "kept");
    shell(&tree, "git init -q target/nested");
    let put_back = RestoreFiles {
        location: operation.location.clone(),
        at: world.head(),
        access: FileAccess::Write,
        caches: CachesAfter::Sealed,
    };
    restored(&put_back);
    write(&tree, "deep/other", "");
    write(&tree, "trace.log", "");
    write(&tree, "new.txt", "");
    write(&tree, "src/b.txt", "changed");
    shell(&tree, "git config user.name x; mkfifo pipe.log");
    assert!(!opened(&operation).is_new);
    let left: Vec<String> = files(&tree).into_keys().collect();
    assert_eq!(left, [".gitignore", "a.txt", "deep/cache/out", "src/b.txt", "target/out"]);
    assert_eq!(read(&tree, "src/b.txt"), "b\n");
    assert_eq!(git(&tree, &["config", "user.name"]), "User");
}

#[test]
fn a_cache_that_somebody_touched_since_the_files_were_put_back_is_not_kept() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.files = FilesPolicy::Pristine;
    operation.cache = vec!["target".to_owned()];
    let tree = opened(&operation).tree;
    let put_back = RestoreFiles {
        location: operation.location.clone(),
        at: world.head(),
        access: FileAccess::Write,
        caches: CachesAfter::Sealed,
    };
    for touch in ["echo x > target/out", "touch target/new", "mv target/out target/other"] {
        write(&tree, "target/out", "made by the checks");
        restored(&put_back);
        shell(&tree, touch);
        assert!(opened(&operation).is_new, "{touch}: the setup has to run again");
        assert!(!tree.join("target").exists(), "{touch}");
    }
    write(&tree, "target/out", "never put back");
    opened(&operation);
    assert!(!tree.join("target").exists(), "nobody knows who filled it");
    write(&tree, "target/out", "made by red checks");
    restored(&RestoreFiles { caches: CachesAfter::Unsealed, ..put_back });
    assert!(opened(&operation).is_new && !tree.join("target").exists(), "it may be bait");
}

#[test]
fn an_index_that_hides_files_from_git_is_made_anew() {
    let world = World::new();
    let mut operation = world.opening("a");
    for files in [FilesPolicy::Pristine, FilesPolicy::ResetTracked] {
        operation.files = files;
        let tree = opened(&operation).tree;
        write(&tree, "a.txt", "planted");
        write(&tree, "src/b.txt", "planted");
        let at = "GIT_DIR=../forge.git GIT_WORK_TREE=. git update-index";
        shell(&tree, &format!("{at} --skip-worktree a.txt; {at} --assume-unchanged src/b.txt"));
        opened(&operation);
        assert_eq!(read(&tree, "src/b.txt"), "b\n", "{files:?}");
        assert_eq!(read(&tree, "a.txt"), "one\ntwo\nthree\n", "{files:?}");
    }
}

#[test]
fn a_cache_that_became_a_link_is_not_kept() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.files = FilesPolicy::Pristine;
    operation.cache = vec!["target".to_owned()];
    let tree = opened(&operation).tree;
    symlink(&world.root, tree.join("target")).unwrap();
    let before = world.fingerprint();
    opened(&operation);
    assert!(fs::symlink_metadata(tree.join("target")).is_err());
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn a_read_only_tree_has_no_write_bits_and_git_sees_no_change() {
    let world = World::new();
    world.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(world.root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a.txt", world.root.join("link")).unwrap();
    world.commit("more");
    let mut operation = world.opening("a");
    let tree = opened(&operation).tree;
    write(&tree, "trace.log", "");
    let mode = |path: &str| fs::metadata(tree.join(path)).unwrap().permissions().mode() & 0o777;
    let (plain, program) = (mode("a.txt"), mode("run.sh"));
    operation.access = FileAccess::Read;
    opened(&operation);
    assert_eq!(mode("a.txt"), plain & !0o222);
    assert_eq!(mode("run.sh"), program & !0o222);
    assert_ne!(mode("trace.log") & 0o200, 0, "ignored files keep their rights");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    operation.access = FileAccess::Write;
    opened(&operation);
    assert_ne!(mode("a.txt") & 0o200, 0);
    assert_ne!(mode("run.sh") & 0o300, 0);
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
}

#[test]
fn taking_away_rights_does_not_follow_a_link_to_the_user() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.files = FilesPolicy::KeepWork;
    let tree = opened(&operation).tree;
    fs::remove_dir_all(tree.join("src")).unwrap();
    symlink(world.root.join("src"), tree.join("src")).unwrap();
    let before = world.fingerprint();
    operation.access = FileAccess::Read;
    opened(&operation);
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn named_files_are_copied_and_never_shown_as_new() {
    let world = World::new();
    world.write(".env.test", "SECRET=1");
    world.write("conf/deep/x", "x");
    world.write("with space#!.txt", "odd");
    symlink("x", world.root.join("conf/deep/inner")).unwrap();
    symlink("/etc/passwd", world.root.join("conf/outer")).unwrap();
    world.write("a.txt", "the user's own version");
    let mut operation = world.opening("a");
    operation.copy =
        [".env.test", "conf", "with space#!.txt", "a.txt", "missing"].map(str::to_owned).to_vec();
    let tree = opened(&operation).tree;
    assert_eq!(read(&tree, ".env.test"), "SECRET=1");
    assert_eq!(read(&tree, "conf/deep/inner"), "x");
    assert_eq!(read(&tree, "with space#!.txt"), "odd");
    assert!(fs::symlink_metadata(tree.join("conf/outer")).is_err());
    assert_eq!(read(&tree, "a.txt"), "one\ntwo\nthree\n", "tracked files are not overwritten");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    write(&tree, ".env.test", "changed by the agent");
    operation.files = FilesPolicy::KeepWork;
    opened(&operation);
    assert_eq!(read(&tree, ".env.test"), "changed by the agent");
    operation.files = FilesPolicy::ResetTracked;
    opened(&operation);
    assert_eq!(read(&tree, ".env.test"), "SECRET=1");
}

#[test]
fn copies_do_not_follow_links_on_either_side() {
    let world = World::new();
    let outside = world.beside("outside");
    write(&outside, "secret", "s");
    symlink(&outside, world.root.join("linked")).unwrap();
    world.write("conf/x", "x");
    let mut operation = world.opening("a");
    let tree = opened(&operation).tree;
    symlink(&outside, tree.join("conf")).unwrap();
    operation.files = FilesPolicy::KeepWork;
    operation.copy = vec!["linked/secret".to_owned(), "conf/x".to_owned()];
    opened(&operation);
    assert!(!tree.join("linked").exists());
    assert!(!outside.join("x").exists());
}

#[test]
fn a_path_outside_the_repository_cannot_be_copied() {
    let world = World::new();
    for path in ["../x", "/etc/passwd", ".git/config"] {
        let mut operation = world.opening("a");
        operation.copy = vec![path.to_owned()];
        let failure = failure(&Operation::Open(operation));
        assert!(failure.what.contains(path), "{failure}");
        assert!(failure.next.contains("copy"), "{failure}");
    }
}

#[test]
fn the_setup_fingerprint_changes_with_its_files_only() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.setup_inputs = ["a.txt", "src", "missing"].map(str::to_owned).to_vec();
    let first = opened(&operation).setup;
    assert_eq!(first.len(), 64);
    assert_eq!(opened(&operation).setup, first);
    world.write("other.txt", "");
    world.commit("other");
    operation.at = world.head();
    assert_eq!(opened(&operation).setup, first);
    world.write("missing", "");
    world.commit("no longer missing");
    operation.at = world.head();
    let second = opened(&operation).setup;
    assert_ne!(second, first);
    world.write("src/c.txt", "");
    world.commit("a file in a folder");
    operation.at = world.head();
    assert_ne!(opened(&operation).setup, second);
}

#[test]
fn pipes_sockets_and_nested_repositories_do_not_stop_an_opening() {
    let world = World::new();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    shell(
        &tree,
        "rm a.txt .gitignore; mkfifo a.txt .gitignore .gitattributes pipe src/.gitattributes",
    );
    shell(
        &tree,
        "git init -q sub; mkdir ro; touch ro/x; chmod 500 ro; rm -rf src/b.txt; mkdir src/b.txt",
    );
    drop(UnixListener::bind(tree.join("socket")).unwrap());
    opened(&operation);
    let left: Vec<String> = files(&tree).into_keys().collect();
    assert_eq!(left, [".gitignore", "a.txt", "src/b.txt"]);
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
}

#[test]
fn a_merge_without_conflict_is_in_the_files_and_not_committed() {
    let world = World::new();
    let base = world.head();
    world.git(&["checkout", "-q", "-b", "other"]);
    world.write("other.txt", "other\n");
    let other = world.commit("other");
    world.git(&["checkout", "-q", "main"]);
    world.write("main.txt", "main\n");
    world.commit("main");
    let mut operation = world.opening("a");
    operation.merge = Some(other.clone());
    let made = opened(&operation);
    assert_eq!(made.conflicts, Vec::<String>::new());
    assert_eq!(made.head, world.head());
    assert_eq!(read(&made.tree, "other.txt"), "other\n");
    assert_eq!(read(&made.tree, "main.txt"), "main\n");
    assert_eq!(git(&made.tree, &["rev-parse", "MERGE_HEAD"]), other);
    assert_eq!(git(&made.tree, &["status", "--porcelain"]), "A  other.txt");
    operation.merge = Some(base);
    let made = opened(&operation);
    assert!(!made.tree.join("other.txt").exists(), "an ancestor is not merged");
    assert!(!made.tree.join(".git/MERGE_HEAD").exists());
}

#[test]
fn a_merge_with_conflict_leaves_markers_and_the_usual_state() {
    let world = World::new();
    world.git(&["checkout", "-q", "-b", "other"]);
    world.write("a.txt", "one\ntheirs\nthree\n");
    let other = world.commit("other");
    world.git(&["checkout", "-q", "main"]);
    world.write("a.txt", "one\nours\nthree\n");
    world.commit("main");
    let mut operation = world.opening("a");
    operation.merge = Some(other);
    let made = opened(&operation);
    assert_eq!(made.conflicts, ["a.txt"]);
    let text = read(&made.tree, "a.txt");
    for part in ["<<<<<<< ", "ours", "||||||| ", "two", "=======", "theirs", ">>>>>>> "] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(git(&made.tree, &["status", "--porcelain"]), "UU a.txt");
    write(&made.tree, "a.txt", "one\nboth\nthree\n");
    operation.files = FilesPolicy::KeepWork;
    let again = opened(&operation);
    assert_eq!(again.conflicts, ["a.txt"], "reported again");
    assert_eq!(read(&made.tree, "a.txt"), "one\nboth\nthree\n");
}

#[test]
fn a_branch_that_is_in_the_way_of_the_base_wins() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.branch = "main/x".to_owned();
    let tree = opened(&operation).tree;
    assert_eq!(git(&tree, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main/x");
    operation.branch = "../../../x".to_owned();
    assert!(failure(&Operation::Open(operation)).what.contains("cannot be the name"));
}

#[test]
fn an_unknown_commit_is_a_failure_that_says_so() {
    let world = World::new();
    let mut operation = world.opening("a");
    operation.at = "0123456789012345678901234567890123456789".to_owned();
    let failure = failure(&Operation::Open(operation));
    assert!(failure.what.contains("0123456789"), "{failure}");
    assert!(!failure.next.is_empty());
}

#[test]
fn attributes_that_somebody_left_do_not_shape_the_files() {
    let world = World::new();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    write(&tree, ".gitattributes", "* eol=crlf\n");
    write(&tree, "src/.gitattributes", "* eol=crlf\n");
    write(&tree, "target/.gitattributes", "kept\n");
    fs::remove_file(tree.join("a.txt")).unwrap();
    fs::remove_file(tree.join("src/b.txt")).unwrap();
    opened(&operation);
    assert_eq!(read(&tree, "a.txt"), "one\ntwo\nthree\n");
    assert_eq!(read(&tree, "src/b.txt"), "b\n");
    assert!(tree.join("target/.gitattributes").exists(), "ignored, and nothing is below it");
}

#[test]
fn files_are_written_again_when_only_their_attributes_changed() {
    let world = World::new();
    let mut operation = world.opening("a");
    let tree = opened(&operation).tree;
    let plain = files(&tree);
    world.write(".gitattributes", "a.txt eol=crlf\n");
    operation.at = world.commit("other line ends");
    opened(&operation);
    assert_eq!(read(&tree, "a.txt"), "one\r\ntwo\r\nthree\r\n");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    operation.at = world.git(&["rev-parse", "HEAD^"]);
    opened(&operation);
    assert_eq!(files(&tree), plain);
    world.git(&["config", "core.autocrlf", "true"]);
    opened(&operation);
    assert_eq!(read(&tree, "src/b.txt"), "b\r\n", "also when a setting changed");
}

#[test]
fn an_opening_that_failed_in_the_middle_left_nothing_to_keep() {
    let world = World::new();
    let mut operation = world.opening("a");
    let tree = opened(&operation).tree;
    world.write(".gitattributes", "*.bad filter=bad\n");
    world.write("b.bad", "b\n");
    world.write("a.txt", "newer\n");
    operation.at = world.commit("bad");
    world.git(&["config", "filter.bad.smudge", "false"]);
    world.git(&["config", "filter.bad.required", "true"]);
    let failed = failure(&Operation::Open(operation.clone()));
    assert!(failed.next.contains("filter"), "{failed}");
    world.git(&["config", "filter.bad.smudge", "cat"]);
    write(&tree, "a.txt", "torn");
    operation.files = FilesPolicy::KeepWork;
    let made = opened(&operation);
    assert!(!made.is_new, "the setup ran in it before");
    assert_eq!(read(&tree, "a.txt"), "newer\n");
    assert_eq!(read(&tree, "b.bad"), "b\n");
}

#[test]
fn what_somebody_else_left_is_not_taken_for_ones_own_work() {
    let world = World::new();
    let reads = OpenCheckout { worker: None, access: FileAccess::Read, ..world.opening("a") };
    opened(&reads);
    world.write("landed.txt", "landed meanwhile\n");
    let landed = world.commit("landed");
    let work =
        OpenCheckout { files: FilesPolicy::KeepWork, at: landed.clone(), ..world.opening("a") };
    let made = opened(&work);
    assert_eq!(made.head, landed);
    assert_eq!(read(&made.tree, "landed.txt"), "landed meanwhile\n");
    let other = OpenCheckout { worker: Some("other".to_owned()), ..work.clone() };
    write(&made.tree, "a.txt", "work of the first one");
    assert_eq!(read(&opened(&other).tree, "a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn work_that_goes_on_goes_on_from_the_commit_that_it_began_with() {
    let world = World::new();
    let first = world.opening("a");
    let tree = opened(&first).tree;
    write(&tree, "a.txt", "half done");
    world.write("landed.txt", "landed meanwhile\n");
    let landed = world.commit("landed");
    let again = OpenCheckout { files: FilesPolicy::KeepWork, at: landed, ..first.clone() };
    let made = opened(&again);
    assert_eq!(made.head, first.at, "a commit on it takes nothing away that landed");
    assert_eq!(read(&made.tree, "a.txt"), "half done");
    assert!(!made.tree.join("landed.txt").exists());
}

#[test]
fn work_that_goes_on_has_merged_what_it_began_with_and_not_what_landed_since() {
    let world = World::new();
    let own = world.opening("a").at;
    world.write("early.txt", "landed before\n");
    let early = world.commit("early");
    let first = OpenCheckout { at: own, merge: Some(early.clone()), ..world.opening("a") };
    let tree = opened(&first).tree;
    write(&tree, "a.txt", "half done");
    world.write("late.txt", "landed meanwhile\n");
    let late = world.commit("late");
    let again =
        OpenCheckout { files: FilesPolicy::KeepWork, merge: Some(late.clone()), ..first.clone() };
    for _ in 0..2 {
        let made = opened(&again);
        assert_eq!(made.merge.as_ref(), Some(&early), "a commit takes nothing away that landed");
        assert_eq!(read(&made.tree, "a.txt"), "half done");
        assert!(made.tree.join("early.txt").exists() && !made.tree.join("late.txt").exists());
    }
    let anew = OpenCheckout { files: FilesPolicy::ResetTracked, ..again };
    let made = opened(&anew);
    assert_eq!(made.merge, Some(late));
    assert!(made.tree.join("late.txt").exists());
}
