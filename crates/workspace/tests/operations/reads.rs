//! Questions to the user's repository.

use forge_workspace::{FileChangeKind, Repository};

use crate::world::{World, fingerprint, write, write_program};

#[test]
fn a_branch_a_commit_and_a_file_are_found_by_name() {
    let world = World::new();
    let repository = world.repository();
    assert_eq!(repository.branch().as_deref(), Some("main"));
    assert_eq!(repository.resolve_commit("main"), Some(world.head()));
    assert_eq!(repository.resolve_commit("HEAD~0"), Some(world.head()));
    for name in ["none", "-x", "--help", "HEAD:a.txt", ""] {
        assert_eq!(repository.resolve_commit(name), None, "{name}");
    }
    let head = world.head();
    assert_eq!(repository.file_at(&head, "a.txt", 100).unwrap().unwrap(), b"one\ntwo\nthree\n");
    for path in ["src", "none", "*.txt", "src/"] {
        assert_eq!(repository.file_at(&head, path, 100).unwrap(), None, "{path}");
    }
    assert!(repository.file_at(&head, "a.txt", 5).unwrap_err().to_string().contains("more than 5"));
    assert_eq!(repository.files_at(&head, "").unwrap(), [".gitignore", "a.txt", "src/b.txt"]);
    assert_eq!(repository.files_at(&head, "src").unwrap(), ["src/b.txt"]);
    assert_eq!(repository.files_at(&head, "sr").unwrap(), Vec::<String>::new());
}

#[test]
fn a_detached_head_has_no_branch_and_an_unborn_one_no_commit() {
    let world = World::new();
    world.git(&["checkout", "-q", "--detach"]);
    assert_eq!(world.repository().branch(), None);
    assert_eq!(world.repository().head(), Some(world.head()));
    let empty = World::empty(&["init", "--quiet", "--initial-branch=trunk"]);
    assert_eq!(empty.repository().head(), None);
    assert_eq!(empty.repository().branch().as_deref(), Some("trunk"));
    assert_eq!(empty.repository().resolve_commit("HEAD"), None);
}

#[test]
fn a_linked_worktree_has_its_own_head() {
    let world = World::new();
    let linked = world.beside("linked");
    world.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let repository = Repository::find(&linked).unwrap();
    assert_eq!(repository.branch().as_deref(), Some("side"));
    assert_eq!(repository.common_dir, world.repository().common_dir);
}

#[test]
fn a_difference_is_plain_limited_to_its_paths_and_says_where_it_is_cut() {
    let world = World::new();
    let from = world.head();
    world.write("a.txt", "one\nzwei\nthree\n");
    world.write("-x", "x\n");
    world.write("big.txt", &"line\n".repeat(1000));
    world.write(".gitattributes", "*.txt diff=loud\n");
    world.git(&["config", "diff.loud.textconv", "tr a-z A-Z <"]);
    world.git(&["config", "diff.external", "false"]);
    world.git(&["config", "color.ui", "always"]);
    world.git(&["config", "diff.noprefix", "true"]);
    let to = world.commit("to");
    let repository = world.repository();
    let text = |paths: &[&str], max: usize| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        String::from_utf8(repository.diff(&from, &to, &paths, max).unwrap().text).unwrap()
    };
    let one = text(&["a.txt"], 10_000);
    assert!(one.starts_with("diff --git a/a.txt b/a.txt\n"), "{one}");
    assert!(one.contains("\n-two\n+zwei\n"), "{one}");
    assert!(!one.contains("big.txt"));
    assert!(text(&["-x"], 10_000).contains("+x"));
    assert_eq!(text(&["*.txt", ":(top)a.txt"], 10_000), "", "names, not patterns");
    let cut = text(&[], 500);
    assert!(cut.ends_with("\n[not shown, too large: big.txt]\n"), "{cut}");
    assert!(cut.len() < 600);
    let kinds: Vec<FileChangeKind> =
        repository.changes(&from, &to).unwrap().into_iter().map(|change| change.kind).collect();
    let added = FileChangeKind::Added;
    assert_eq!(kinds, [added.clone(), added.clone(), FileChangeKind::Modified, added]);
}

#[test]
fn a_branch_that_moved_on_is_seen_with_its_conflicts() {
    let world = World::new();
    let base = world.head();
    world.git(&["checkout", "-q", "-b", "run"]);
    world.write("a.txt", "one\nours\nthree\n");
    let head = world.commit("run");
    world.git(&["checkout", "-q", "main"]);
    let repository = world.repository();
    assert_eq!(repository.branch_advance("main", &base, &head).unwrap(), None);
    assert_eq!(repository.branch_advance("gone", &base, &head).unwrap(), None);
    world.write("fine.txt", "");
    world.commit("fine");
    world.write("a.txt", "one\ntheirs\nthree\n");
    let tip = world.commit("not fine");
    let moved = repository.branch_advance("main", &base, &head).unwrap().unwrap();
    assert_eq!((moved.tip, moved.n_commits, moved.conflicts), (tip, 2, vec!["a.txt".to_owned()]));
    assert!(repository.is_ancestor(&base, &head).unwrap());
    assert!(!repository.is_ancestor(&head, &base).unwrap());
}

#[test]
fn a_pin_keeps_a_commit_and_nothing_else_can_be_written() {
    let world = World::new();
    let repository = world.repository();
    repository.pin("refs/forge/x/y", &world.head()).unwrap();
    assert_eq!(world.git(&["rev-parse", "refs/forge/x/y"]), world.head());
    let refused = repository.pin("refs/heads/main", &world.head()).unwrap_err();
    assert!(refused.to_string().contains("refs/heads/main"), "{refused}");
}

#[test]
fn questions_write_nothing_and_start_nothing_of_the_users() {
    let world = World::new();
    let head = world.head();
    let mark = world.beside("ran");
    write_program(
        &world.root.join(".git/hooks/reference-transaction"),
        &format!("touch {}", mark.display()),
    );
    world.git(&["config", "core.fsmonitor", &format!("touch {}", mark.display())]);
    write(&world.root.join(".git"), "index.lock", "");
    let before = fingerprint(&world.root);
    let repository = world.repository();
    repository.changes(&head, &head).unwrap();
    repository.code_tree(&head).unwrap();
    repository.pin("refs/forge/x/y", &head).unwrap();
    repository.uncommitted_paths().unwrap();
    // So it is looked up whether settings are in git.
    for (path, is_tracked) in [("a.txt", true), ("forge.local.toml", false)] {
        assert_eq!(Repository::is_tracked(&world.root, path), is_tracked, "{path}");
    }
    assert_eq!(repository.unmet_preconditions(&head).unwrap(), Vec::<String>::new());
    assert_eq!(fingerprint(&world.root), before);
    assert!(!mark.exists());
}

#[test]
fn a_repository_is_found_from_within_and_whatever_its_name() {
    let world = World::new();
    write(&world.root, "deep/er/x", "");
    assert_eq!(Repository::find(&world.root.join("deep/er")).unwrap(), world.repository());
    assert_eq!(world.repository().common_dir, world.root.join(".git"));
    assert_eq!(world.repository().top.as_deref(), Some(world.root.as_path()));
    let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"a \xff\nb".to_vec());
    let odd = world.beside("odd").join(name);
    std::fs::create_dir_all(&odd).unwrap();
    crate::world::git(&odd, &["init", "--quiet"]);
    assert_eq!(Repository::find(&odd).unwrap().common_dir, odd.join(".git"));
}

#[test]
fn a_folder_outside_any_repository_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let error = Repository::find(folder.path()).unwrap_err();
    assert!(error.to_string().contains("is not in a git repository"), "{error}");
}

#[test]
fn a_ref_of_the_users_in_the_place_of_forges_refs_is_refused_before_anything_begins() {
    let world = World::new();
    world.git(&["update-ref", "refs/forge", "HEAD"]);
    let problems = world.repository().unmet_preconditions(&world.head()).unwrap();
    assert!(problems.len() == 1 && problems[0].contains("`refs/forge`"), "{problems:?}");
    world.git(&["update-ref", "-d", "refs/forge"]);
    world.git(&["update-ref", "refs/forge/run/base", "HEAD"]);
    let problems = world.repository().unmet_preconditions(&world.head()).unwrap();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn who_made_a_commit_does_not_decide_what_is_shown_of_it() {
    let world = World::new();
    let from = world.head();
    world.write(".gitattributes", "*.py -diff\n*.txt binary diff=hidden\n");
    world.write("aaa.txt", &"padding\n".repeat(10_000));
    world.write("calc.py", "import os\n");
    world.write("odd [x]*\\#.py", "odd\n");
    world.write("#first", "hash\n");
    world.write("line.txt", &"x".repeat(60_000));
    world.write("pic.png", "\0binary");
    world.git(&["config", "diff.hidden.textconv", "true"]);
    let to = world.commit("to");
    let diff = world.repository().diff(&from, &to, &[], 10_000).unwrap();
    let text = String::from_utf8(diff.text).unwrap();
    for shown in ["+import os\n", "+odd\n", "+hash\n", "+*.py -diff\n"] {
        assert!(text.contains(shown), "{shown}{text}");
    }
    let object = world.git(&["rev-parse", &format!("{to}:pic.png")]);
    assert!(text.contains(&format!("\nBinary file, 7 bytes, object {object}\n")), "{text}");
    assert_eq!(diff.unshown, ["line.txt", "aaa.txt"]);
    assert!(text.ends_with("[not shown, too large: line.txt]\n[not shown, too large: aaa.txt]\n"));
    let all = world.repository().diff(&from, &to, &[], 1 << 20).unwrap();
    assert_eq!(all.unshown, [] as [&str; 0]);
    assert_eq!(world.repository().diff(&to, &to, &[], 10).unwrap().text, b"");
}

#[test]
fn a_file_that_becomes_a_link_is_one_part_of_a_difference() {
    let world = World::new();
    let from = world.head();
    std::fs::remove_file(world.root.join("a.txt")).unwrap();
    std::os::unix::fs::symlink("src/b.txt", world.root.join("a.txt")).unwrap();
    world.write("z.txt", "z\n");
    let to = world.commit("to");
    let diff = world.repository().diff(&from, &to, &[], 10_000).unwrap();
    assert_eq!(diff.unshown, [] as [&str; 0]);
    assert!(String::from_utf8(diff.text).unwrap().contains("+z\n"));
}
