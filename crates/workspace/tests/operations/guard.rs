//! The guard who looks at what a commit would add: what stops, what passes, and that nothing of
//! what was stopped is in the user's repository.

use std::{collections::BTreeSet, fs, os::unix::fs::symlink, path::Path};

use forge_workspace::{ContentPart, Operation, OperationResult, RefusedCommit, perform_with_guard};

use crate::{
    kills::kill_often,
    world::{
        SECRET, World, contents, files, git, let_through, opened, refused, shell, watchful, write,
    },
};

/// All objects of a repository, packed or not, whether anything points to them or not.
fn objects(root: &Path) -> BTreeSet<String> {
    let said = git(root, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    said.lines().map(str::to_owned).collect()
}

/// Whether the secret is in any object of the user's.
fn is_leaked(world: &World) -> bool {
    let all = objects(&world.root);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let found = contents(&world.root.join(".git"), &all);
    found.iter().any(|content| String::from_utf8_lossy(content).contains(SECRET))
}

/// Commits, and sees that it is refused in these words and that nothing was written.
fn stays_out(world: &World, parents: &[&str], expected: &[&str]) {
    let operation = world.committing("a", parents);
    let tree = operation.location.dir.join("tree");
    let before = (world.fingerprint(), objects(&world.root), files(&tree));
    assert_eq!(refused(&operation), expected);
    assert_eq!((world.fingerprint(), objects(&world.root), files(&tree)), before);
    assert!(!is_leaked(world));
    assert_eq!(world.git(&["for-each-ref", "refs/forge"]), "");
    assert_eq!(git(&tree, &["rev-parse", "--is-inside-work-tree"]), "true");
}

#[test]
fn a_secret_in_a_new_or_a_changed_file_stops_before_anything_is_written() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "new.txt", &format!("x\ny {SECRET}\n"));
    write(&tree, "a.txt", &format!("one\nmore\n{SECRET}\nthree\n"));
    write(&tree, "src/fine.txt", "fine\n");
    write(&tree, "trace.log", SECRET);
    stays_out(&world, &[&world.head()], &["a.txt:3", "new.txt:2"]);
    // Taken out, it passes, and so does what is ignored.
    write(&tree, "new.txt", "x\n");
    write(&tree, "a.txt", "one\nmore\n");
    let made = let_through(&world.committing("a", &[&world.head()]));
    assert_eq!(made.changes.len(), 3);
    assert!(!is_leaked(&world));
}

#[test]
fn what_the_guard_does_not_see_would_be_written() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "new.txt", SECRET);
    let operation = Operation::Commit(world.committing("a", &[&world.head()]));
    assert!(matches!(
        perform_with_guard(&operation, &mut |_| Vec::new()),
        Ok(OperationResult::Committed(_))
    ));
    assert!(is_leaked(&world), "so the other stories would notice it");
}

#[test]
fn a_secret_that_was_there_may_stay_move_and_go() {
    let world = World::new();
    world.write("old.txt", &format!("a\nb {SECRET}\nc\n"));
    world.write("gone.txt", &format!("{SECRET}\n"));
    world.write("moved.bin", &format!("\0{SECRET}"));
    world.write("moved.txt", &format!("1\n2\n3 {SECRET}\n"));
    symlink(format!("../{SECRET}"), world.root.join("link")).unwrap();
    let base = world.commit("with a secret");
    let tree = opened(&world.opening("a")).tree;
    // Its line has not changed, has another place, and other spaces around it.
    write(&tree, "old.txt", &format!("first\nA\n\tb {SECRET}\r\n"));
    fs::remove_file(tree.join("gone.txt")).unwrap();
    fs::rename(tree.join("moved.bin"), tree.join("here.bin")).unwrap();
    fs::rename(tree.join("moved.txt"), tree.join("here.txt")).unwrap();
    fs::rename(tree.join("link"), tree.join("src/link")).unwrap();
    write(&tree, "here.txt", &format!("1\nchanged\n3 {SECRET}\n"));
    let made = let_through(&world.committing("a", &[&base]));
    assert_eq!(made.changes.len(), 5, "{:?}", made.changes);
}

#[test]
fn another_line_with_it_is_new_although_the_file_had_one() {
    let world = World::new();
    world.write("old.txt", &format!("b {SECRET}\n"));
    let base = world.commit("with a secret");
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "old.txt", &format!("b {SECRET}\nc {SECRET}\n"));
    assert_eq!(refused(&world.committing("a", &[&base])), ["old.txt:2"]);
}

#[test]
fn names_and_aims_of_links_are_looked_at() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, &format!("src/{SECRET}.txt"), "fine");
    symlink(format!("https://x:{SECRET}@host"), tree.join("link")).unwrap();
    fs::remove_file(tree.join("a.txt")).unwrap();
    symlink(SECRET, tree.join("a.txt")).unwrap();
    stays_out(&world, &[&world.head()], &["the aim of a.txt", "the aim of link", "a name"]);
}

#[test]
fn what_has_no_lines_is_looked_at_in_pieces() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "a.bin", &format!("\0\n\n{SECRET}"));
    let wide: Vec<u8> =
        std::iter::once(0xfeff).chain(SECRET.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    fs::write(tree.join("wide.txt"), wide).unwrap();
    // It lies on the cut between two pieces.
    let mut large = vec![b'x'; (4 << 20) - 5];
    large.extend(SECRET.bytes());
    large.extend(vec![b'y'; 5 << 20]);
    fs::write(tree.join("large.txt"), large).unwrap();
    stays_out(&world, &[&world.head()], &["a.bin:0", "large.txt:0", "wide.txt:1"]);
}

#[test]
fn a_piece_is_of_a_bounded_size_and_nothing_is_left_out() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    fs::write(tree.join("large"), vec![b'x'; 9 << 20]).unwrap();
    let operation = Operation::Commit(world.committing("a", &[&world.head()]));
    let mut seen = Vec::new();
    let made = perform_with_guard(&operation, &mut |added| {
        if added.part == ContentPart::Piece {
            seen.push(added.text.len());
        }
        Vec::new()
    });
    assert!(matches!(made, Ok(OperationResult::Committed(_))));
    let overlap = 64 << 10;
    assert_eq!(seen, [4 << 20, 4 << 20, (1 << 20) + 2 * overlap]);
}

#[test]
fn odd_names_and_files_that_cannot_be_read_do_not_blind_it() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "-x \"y\"\nz*", "fine");
    write(&tree, "unreadable", "fine");
    write(&tree, "late", SECRET);
    shell(&tree, "chmod 0 unreadable; git init -q inner; echo hunter2-hunter2 > inner/f");
    stays_out(&world, &[&world.head()], &["inner/f:1", "late:1"]);
    shell(&tree, "mkfifo pipe");
    assert_eq!(refused(&world.committing("a", &[&world.head()])), ["inner/f:1", "late:1"]);
}

#[test]
fn what_is_kept_out_is_not_looked_at_and_not_written_even_if_it_is_not_ignored() {
    let world = World::new();
    world.write(".env.test", SECRET);
    world.write(".gitignore", ".env.test\n");
    world.commit("ignored");
    let mut operation = world.opening("a");
    operation.copy = vec![".env.test".to_owned()];
    operation.cache = vec!["store".to_owned()];
    let tree = opened(&operation).tree;
    write(&tree, "store/deep/file", SECRET);
    write(&tree, ".gitignore", "!.env.test\n!store\n");
    let made = let_through(&world.committing("a", &[&world.head()]));
    assert_eq!(made.changes.len(), 1);
    assert!(!is_leaked(&world));
    assert_eq!(fs::read_to_string(tree.join(".env.test")).unwrap(), SECRET);
    assert_eq!(fs::read_to_string(tree.join("store/deep/file")).unwrap(), SECRET);
}

#[test]
fn a_secret_that_the_agent_committed_and_took_out_again_never_reaches_the_user() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "own.txt", SECRET);
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-qm", SECRET]);
    git(&tree, &["tag", "-am", SECRET, SECRET]);
    stays_out(&world, &[&world.head()], &["own.txt:1"]);
    fs::remove_file(tree.join("own.txt")).unwrap();
    write(&tree, "b.txt", "b");
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-qm", "without"]);
    let made = let_through(&world.committing("a", &[&world.head()]));
    assert_eq!(made.own_commits, 2);
    assert!(!is_leaked(&world));
}

#[test]
fn a_merge_is_compared_with_both_sides() {
    let world = World::new();
    let base = world.head();
    world.write("theirs.txt", &format!("{SECRET}\n"));
    world.write("a.txt", &format!("one\ntwo\nthree\n{SECRET}\n"));
    let theirs = world.commit("theirs");
    world.git(&["checkout", "-q", "-b", "side", &base]);
    world.write("a.txt", "zero\none\ntwo\nthree\n");
    let ours = world.commit("ours");
    let mut operation = world.opening("a");
    operation.merge = Some(theirs.clone());
    let tree = opened(&operation).tree;
    // What the other side brings is in its history already.
    let made = let_through(&world.committing("a", &[&ours, &theirs]));
    assert_eq!(world.git(&["rev-list", "--parents", "-n1", &made.commit]).split(' ').count(), 3);
    write(&tree, "b.txt", &format!("again {SECRET}"));
    assert_eq!(refused(&world.committing("a", &[&ours, &theirs])), ["b.txt:1"]);
}

#[test]
fn a_refusal_that_is_killed_anywhere_is_the_same_in_the_end() {
    let world = World::new();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    shell(&tree, "git init -q nested; touch nested/x");
    write(&tree, "a.txt", SECRET);
    let commit = Operation::Commit(world.committing("a", &[&operation.at]));
    let made = kill_often(&world, &commit, || ());
    assert_eq!(made, OperationResult::Refused(RefusedCommit { flaws: vec!["a.txt:1".to_owned()] }));
    assert!(tree.join("nested/.git/HEAD").is_file());
    assert!(!is_leaked(&world));
    // Without the secret, the killed ones leave no trace.
    write(&tree, "a.txt", "fine");
    let made = perform_with_guard(&commit, &mut watchful);
    assert!(matches!(made, Ok(OperationResult::Committed(_))), "{made:?}");
}
