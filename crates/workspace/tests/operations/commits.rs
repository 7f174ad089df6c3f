//! Committing the files of a checkout.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use forge_workspace::{CodeHistory as _, CommitFiles, FileChangeKind, Operation};

use crate::world::{WHEN_MS, World, committed, contents, failure, git, opened, shell, write};

#[test]
fn a_commit_has_the_files_as_they_are_and_the_users_name() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "a.txt", "changed\n");
    write(&tree, "new.txt", "new\n");
    write(&tree, "trace.log", "ignored");
    fs::remove_file(tree.join("src/b.txt")).unwrap();
    let before = world.fingerprint();
    let base = world.head();
    let made = committed(&world.committing("a", &[&base]));
    let changes: Vec<(&str, &FileChangeKind)> =
        made.changes.iter().map(|change| (change.path.as_str(), &change.kind)).collect();
    assert_eq!(
        changes,
        [
            ("a.txt", &FileChangeKind::Modified),
            ("new.txt", &FileChangeKind::Added),
            ("src/b.txt", &FileChangeKind::Deleted)
        ]
    );
    assert_eq!(made.notes, Vec::<String>::new());
    assert_eq!(world.content(&made.commit, "a.txt").unwrap(), "changed\n");
    assert_eq!(world.content(&made.commit, "trace.log"), None);
    let shown = world.git(&["show", "-s", "--format=%an <%ae> %at|%cn %ct|%P|%B", &made.commit]);
    let seconds = WHEN_MS / 1000;
    assert_eq!(
        shown.trim(),
        format!("User <user@example.org> {seconds}|User {seconds}|{base}|work")
    );
    assert_eq!(world.git(&["rev-parse", "refs/forge/test/a"]), made.commit);
    assert_eq!(world.git(&["rev-parse", &format!("{}^{{tree}}", made.commit)]), made.tree);
    assert_eq!(world.fingerprint(), before);
    world.git(&["gc", "-q", "--prune=now"]);
    world.git(&["fsck", "--strict"]);
}

#[test]
fn the_same_files_give_the_same_commit() {
    let world = World::new();
    let base = world.head();
    let mut commits = Vec::new();
    for name in ["a", "b"] {
        let tree = opened(&world.opening(name)).tree;
        write(&tree, "new.txt", "new\n");
        commits.push(committed(&world.committing(name, &[&base])).commit);
        commits.push(committed(&world.committing(name, &[&base])).commit);
    }
    commits.dedup();
    assert_eq!(commits.len(), 1);
}

#[test]
fn without_a_change_the_commit_is_the_parent() {
    let world = World::new();
    opened(&world.opening("a"));
    let base = world.head();
    let made = committed(&world.committing("a", &[&base]));
    assert_eq!(made.commit, base);
    assert_eq!(made.changes, []);
}

#[test]
fn a_message_that_comes_later_replaces_that_of_the_same_files() {
    let world = World::new();
    let base = world.head();
    write(&opened(&world.opening("a")).tree, "new", "x");
    let first = committed(&world.committing("a", &[&base])).commit;
    let again = CommitFiles {
        message: "Say why".to_owned(),
        rewords: Some(first.clone()),
        ..world.committing("a", &[&first])
    };
    let reworded = committed(&again);
    let shown = world.git(&["show", "-s", "--format=%P|%B", &reworded.commit]);
    assert_eq!(shown.trim(), format!("{base}|Say why"));
    assert_eq!(world.content(&reworded.commit, "new").as_deref(), Some("x"));
    // Somebody else's commit keeps its message.
    let foreign = CommitFiles { rewords: Some(base.clone()), ..again };
    assert_eq!(committed(&foreign).commit, first);
}

#[test]
fn every_message_ends_with_one_newline_also_that_of_two_commits_made_one() {
    let world = World::new();
    let base = world.head();
    let tree = opened(&world.opening("a")).tree;
    let commit = |onto: &str, file: &str, message: &str| {
        write(&tree, file, "x");
        let message = message.to_owned();
        committed(&CommitFiles { message, ..world.committing("a", &[onto]) }).commit
    };
    let first = commit(&base, "one", "First");
    let second = commit(&first, "two", "Both\n\nand why\n\n\n");
    let squashed = world.repository().squash(&base, &second, "refs/forge/test/b").unwrap();
    assert_eq!(world.git(&["rev-parse", &format!("{squashed}^")]), base);
    let commits = contents(&world.root.join(".git"), &[&first, &second, &squashed]);
    for (commit, message) in commits.iter().zip(["First", "Both\n\nand why", "Both\n\nand why"]) {
        let text = String::from_utf8_lossy(commit);
        let (_, found) = text.split_once("\n\n").unwrap();
        assert_eq!(found, format!("{message}\n"));
    }
}

#[test]
fn an_empty_message_is_refused() {
    let world = World::new();
    opened(&world.opening("a"));
    let mut operation = world.committing("a", &[&world.head()]);
    operation.message = " \n\0".to_owned();
    assert!(failure(&Operation::Commit(operation)).what.contains("no message"));
}

#[test]
fn only_refs_of_forge_are_pinned() {
    let world = World::new();
    opened(&world.opening("a"));
    for pin in ["refs/heads/main", "refs/forge/../heads/main", "refs/forge/", "HEAD"] {
        let mut operation = world.committing("a", &[&world.head()]);
        operation.pin = pin.to_owned();
        assert!(failure(&Operation::Commit(operation)).what.contains(pin));
    }
}

#[test]
fn a_checkout_that_was_never_opened_cannot_be_committed() {
    let world = World::new();
    let failure = failure(&Operation::Commit(world.committing("a", &[&world.head()])));
    assert!(failure.what.contains("not there, or damaged"), "{failure}");
}

#[test]
fn commits_of_the_agent_are_folded_in_and_counted() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    for number in 0..3 {
        write(&tree, "own.txt", &number.to_string());
        git(&tree, &["add", "-A"]);
        git(&tree, &["commit", "-qm", "own"]);
    }
    write(&tree, "rest.txt", "");
    let base = world.head();
    let made = committed(&world.committing("a", &[&base]));
    assert_eq!(made.own_commits, 3);
    assert_eq!(world.git(&["rev-list", "--count", &format!("{base}..{}", made.commit)]), "1");
    assert_eq!(world.content(&made.commit, "own.txt").unwrap(), "2");
    assert!(world.content(&made.commit, "rest.txt").is_some());
    git(&tree, &["gc", "-q", "--prune=now"]);
    assert_eq!(committed(&world.committing("a", &[&base])).own_commits, 3, "also when packed");
}

#[test]
fn flags_and_settings_of_the_agents_git_play_no_role() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "a.txt", "changed\n");
    shell(
        &tree,
        "git update-index --assume-unchanged a.txt; git update-index --skip-worktree src/b.txt",
    );
    shell(
        &tree,
        "git config core.autocrlf true; git config core.excludesFile /dev/null; echo '*' > .git/info/exclude",
    );
    shell(&tree, "git config filter.x.clean 'touch /nowhere; cat'; git config core.fileMode false");
    fs::remove_file(tree.join("src/b.txt")).unwrap();
    write(&tree, "crlf.txt", "a\r\n");
    let made = committed(&world.committing("a", &[&world.head()]));
    assert_eq!(world.content(&made.commit, "a.txt").unwrap(), "changed\n");
    assert_eq!(world.content(&made.commit, "src/b.txt"), None);
    assert_eq!(world.content(&made.commit, "crlf.txt").unwrap(), "a\r\n");
}

#[test]
fn a_nested_repository_becomes_plain_files_and_keeps_its_git() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    shell(&tree, "git init -q empty; touch empty/e");
    shell(
        &tree,
        "git init -q full; cd full; touch f; git add f; git -c user.name=x -c user.email=x commit -qm f",
    );
    shell(&tree, "mkdir -p target; git init -q target/hidden; touch target/hidden/h");
    assert!(tree.join("full/.git/refs").is_dir());
    let made = committed(&world.committing("a", &[&world.head()]));
    let listed = world.git(&["ls-tree", "-r", "--name-only", &made.commit]);
    assert_eq!(listed, ".gitignore\na.txt\nempty/e\nfull/f\nsrc/b.txt");
    assert_eq!(made.notes.len(), 2, "{:?}", made.notes);
    assert!(made.notes.iter().all(|odd| odd.contains("plain files")), "{:?}", made.notes);
    for git in ["empty/.git/HEAD", "full/.git/HEAD", "target/hidden/.git/HEAD", ".git/HEAD"] {
        assert!(tree.join(git).is_file(), "{git}");
    }
    assert!(!world.location("a").dir.join("aside").exists());
}

#[test]
fn what_git_cannot_keep_is_left_out_and_told() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "fine.txt", "fine");
    write(&tree, ".GIT/x", "");
    shell(&tree, "mkfifo pipe; rm a.txt; mkfifo a.txt .gitattributes");
    let made = committed(&world.committing("a", &[&world.head()]));
    assert!(world.content(&made.commit, "fine.txt").is_some());
    let odd = made.notes.join("\n");
    for path in ["pipe is", "a.txt is", ".GIT/x has a name"] {
        assert!(odd.contains(path), "{path} in {odd}");
    }
}

#[test]
fn copied_files_and_caches_are_never_committed() {
    let world = World::new();
    world.write(".env.test", "SECRET");
    let mut operation = world.opening("a");
    operation.copy = vec![".env.test".to_owned()];
    operation.cache = vec!["node_modules".to_owned()];
    let tree = opened(&operation).tree;
    write(&tree, "node_modules/x", "");
    write(&tree, ".gitignore", "!.env.test\n!node_modules\n");
    shell(
        &tree,
        "git add -f .env.test node_modules; git -c user.name=x -c user.email=x commit -qm x",
    );
    let made = committed(&world.committing("a", &[&world.head()]));
    let listed = world.git(&["ls-tree", "-r", "--name-only", &made.commit]);
    assert_eq!(listed, ".gitignore\na.txt\nsrc/b.txt");
}

#[test]
fn names_kinds_and_modes_are_kept() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    let names =
        ["-x", "*", ":(top)x", "a b", "ü/ö", "new\nline", "\"q\"", "A.TXT", "#h", "!n", "\\b"];
    for name in names {
        write(&tree, name, name);
    }
    let raw = std::ffi::OsStr::new("raw");
    let mut raw = std::os::unix::ffi::OsStrExt::as_bytes(raw).to_vec();
    raw.push(0xff);
    let raw: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(raw);
    fs::write(tree.join(&raw), "raw").unwrap();
    symlink("/nowhere", tree.join("link")).unwrap();
    fs::set_permissions(tree.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(tree.join("src/b.txt"), tree.join("moved.txt")).unwrap();
    fs::remove_file(tree.join(".gitignore")).unwrap();
    symlink("a.txt", tree.join(".gitignore")).unwrap();
    let made = committed(&world.committing("a", &[&world.head()]));
    let kind = |path: &str| {
        made.changes.iter().find(|change| change.path == path).map(|change| change.kind.clone())
    };
    for name in names.iter().filter(|name| !name.starts_with('"')) {
        assert_eq!(kind(name), Some(FileChangeKind::Added), "{name}");
        assert_eq!(world.content(&made.commit, name).as_deref(), Some(*name));
    }
    assert_eq!(kind("\"\\\"q\\\"\""), Some(FileChangeKind::Added));
    assert_eq!(kind("\"raw\\377\""), Some(FileChangeKind::Added));
    assert_eq!(world.content(&made.commit, "\"raw\\377\"").as_deref(), Some("raw"));
    assert_eq!(kind("link"), Some(FileChangeKind::Added));
    assert!(made.notes[0].contains("link to outside"), "{:?}", made.notes);
    assert_eq!(kind("a.txt"), Some(FileChangeKind::ModeChanged));
    assert_eq!(kind("moved.txt"), Some(FileChangeKind::Renamed { from: "src/b.txt".to_owned() }));
    assert_eq!(kind(".gitignore"), Some(FileChangeKind::TypeChanged));
}

#[test]
fn a_merge_has_both_parents_and_says_where_markers_are_left() {
    let world = World::new();
    world.git(&["checkout", "-q", "-b", "other"]);
    world.write("a.txt", "one\ntheirs\nthree\n");
    world.write("dist.log", "tracked although it is ignored");
    world.git(&["add", "-f", "dist.log"]);
    let other = world.commit("other");
    world.git(&["checkout", "-q", "main"]);
    world.write("a.txt", "one\nours\nthree\n");
    let head = world.commit("main");
    let mut operation = world.opening("a");
    operation.merge = Some(other.clone());
    let tree = opened(&operation).tree;
    let made = committed(&world.committing("a", &[&head, &other]));
    assert_eq!(made.notes, ["unresolved conflict markers in a.txt"]);
    write(&tree, "a.txt", "one\nboth\nthree\n");
    let made = committed(&world.committing("a", &[&head, &other]));
    assert_eq!(made.notes, Vec::<String>::new());
    assert_eq!(world.git(&["rev-parse", &format!("{}^1", made.commit)]), head);
    assert_eq!(world.git(&["rev-parse", &format!("{}^2", made.commit)]), other);
    assert!(world.content(&made.commit, "dist.log").is_some(), "the other side's file stays");
}

#[test]
fn a_second_parent_that_is_in_already_is_no_parent() {
    let world = World::new();
    let base = world.head();
    world.write("more.txt", "");
    let head = world.commit("more");
    opened(&world.opening("a"));
    assert_eq!(committed(&world.committing("a", &[&head, &base])).commit, head);
}

#[test]
fn a_file_that_became_ignored_stays_out_also_after_a_first_try() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "gen.txt", "");
    let base = world.head();
    assert_eq!(committed(&world.committing("a", &[&base])).changes.len(), 1);
    write(&tree, ".gitignore", "gen.txt\n");
    let made = committed(&world.committing("a", &[&base]));
    assert_eq!(world.content(&made.commit, "gen.txt"), None);
}

#[test]
fn objects_that_somebody_pruned_are_made_again() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "new.txt", "only here\n");
    let base = world.head();
    let first = committed(&world.committing("a", &[&base])).commit;
    world.git(&["update-ref", "-d", "refs/forge/test/a"]);
    world.git(&["gc", "-q", "--prune=now"]);
    let second = committed(&world.committing("a", &[&base])).commit;
    assert_eq!(first, second);
    assert_eq!(world.content(&second, "new.txt").unwrap(), "only here\n");
    world.git(&["fsck", "--strict"]);
}

#[test]
fn the_code_tree_leaves_out_the_folder_of_runs() {
    let world = World::new();
    let code = world.git(&["rev-parse", "HEAD^{tree}"]);
    world.write(".forge/runs/x/state.json", "{}");
    let recorded = world.commit("records");
    assert_eq!(world.repository().code_tree(&recorded).unwrap(), code);
    let tree = opened(&world.opening("a")).tree;
    write(&tree, ".forge/flows/f.toml", "");
    let more = committed(&world.committing("a", &[&recorded]));
    let listed = world.git(&["ls-tree", "-r", "--name-only", &more.tree]);
    assert_eq!(listed, ".forge/flows/f.toml\n.gitignore\na.txt\nsrc/b.txt");
}

#[test]
fn new_attributes_hold_for_files_that_did_not_change() {
    let world = World::new();
    world.write("crlf.txt", "a\r\n");
    let base = world.commit("crlf");
    let mut commits = Vec::new();
    for name in ["a", "b"] {
        let tree = opened(&world.opening(name)).tree;
        if name == "a" {
            // Here our index knows the file and would not look at it again, there it does not.
            shell(&tree, "touch -d 2001-01-01 crlf.txt");
            assert_eq!(committed(&world.committing(name, &[&base])).commit, base);
        }
        write(&tree, ".gitattributes", "*.txt text\n");
        commits.push(committed(&world.committing(name, &[&base])).commit);
    }
    assert_eq!(commits[0], commits[1]);
    assert_eq!(world.content(&commits[0], "crlf.txt").unwrap(), "a\n");
}

#[test]
fn a_link_to_outside_is_committed_and_told() {
    let world = World::new();
    let tree = opened(&world.opening("a")).tree;
    symlink("../a.txt", tree.join("src/fine")).unwrap();
    symlink("../../a.txt", tree.join("src/out")).unwrap();
    symlink(&world.root, tree.join("user")).unwrap();
    let made = committed(&world.committing("a", &[&world.head()]));
    assert_eq!(made.changes.len(), 3);
    let odd =
        ["src/out", "user"].map(|path| format!("{path} is a link to outside of the repository"));
    assert_eq!(made.notes, odd);
}
