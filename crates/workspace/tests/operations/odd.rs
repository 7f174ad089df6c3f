//! Repositories unlike others: each works, or is refused in words.

use std::{fs, os::unix::ffi::OsStringExt as _, path::Path};

use forge_workspace::{CheckoutLocation, FilesPolicy, Operation, Repository};

use crate::world::{
    World, committed, failure, files, git, opened, read, shell, write, write_program,
};

/// Opens, changes, commits and looks at the result, and at the user.
fn works(world: &World) {
    let before = world.fingerprint();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    write(&tree, "made.txt", "made\n");
    let made = committed(&world.committing("a", &[&operation.at]));
    assert_eq!(world.content(&made.commit, "made.txt").unwrap(), "made\n");
    assert_eq!(made.changes.len(), 1, "{:?}", made.changes);
    let mut again = operation.clone();
    again.at.clone_from(&made.commit);
    again.files = FilesPolicy::Pristine;
    let tree = opened(&again).tree;
    assert_eq!(read(&tree, "made.txt"), "made\n");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    assert_eq!(git(&tree, &["rev-parse", "HEAD"]), made.commit);
    assert_eq!(world.fingerprint(), before);
    assert_eq!(
        world.repository().unmet_preconditions(&operation.at).unwrap(),
        Vec::<String>::new()
    );
    world.git(&["fsck", "--strict"]);
}

#[test]
fn a_bare_repository_works_and_has_nothing_to_copy() {
    let source = World::new();
    let mut world = World::new();
    world.root = world.beside("bare.git");
    git(&source.root, &["clone", "-q", "--bare", ".", world.root.to_str().unwrap()]);
    assert_eq!(world.repository().top, None);
    works(&world);
    let mut operation = world.opening("b");
    operation.copy = vec!["config".to_owned()];
    assert!(!opened(&operation).tree.join("config").exists());
}

#[test]
fn a_linked_worktree_works() {
    let mut world = World::new();
    let linked = world.beside("linked");
    world.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let main = world.fingerprint();
    let root = std::mem::replace(&mut world.root, linked);
    write(&world.root, ".env", "copied");
    works(&world);
    let mut operation = world.opening("b");
    operation.copy = vec![".env".to_owned()];
    assert_eq!(read(&opened(&operation).tree, ".env"), "copied");
    world.root = root;
    assert_eq!(world.fingerprint(), main);
}

#[test]
fn a_detached_head_works() {
    let world = World::new();
    world.git(&["checkout", "-q", "--detach"]);
    works(&world);
}

#[test]
fn a_shallow_clone_works() {
    let source = World::new();
    source.write("more", "");
    source.commit("more");
    let mut world = World::new();
    world.root = world.beside("shallow");
    let url = format!("file://{}", source.root.display());
    git(&source.root, &["clone", "-q", "--depth=1", &url, world.root.to_str().unwrap()]);
    works(&world);
    let tree = world.location("a").dir.join("tree");
    assert_eq!(git(&tree, &["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn a_sparse_checkout_gives_a_full_tree() {
    let world = World::new();
    world.git(&["sparse-checkout", "set", "--cone", "none"]);
    assert!(!world.root.join("src/b.txt").exists());
    works(&world);
    assert_eq!(read(&world.location("a").dir.join("tree"), "src/b.txt"), "b\n");
}

#[test]
fn sha_256_works() {
    let world = World::with(&["init", "-q", "--initial-branch=main", "--object-format=sha256"]);
    assert_eq!(world.head().len(), 64);
    works(&world);
}

#[test]
fn reftables_work() {
    let probe = tempfile::tempdir().unwrap();
    let init = ["init", "-q", "--initial-branch=main", "--ref-format=reftable"];
    if !crate::world::try_git(probe.path(), &init).status.success() {
        return; // A git without them has none to work with.
    }
    let world = World::with(&init);
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    write(&tree, "made.txt", "");
    let made = committed(&world.committing("a", &[&operation.at]));
    assert_eq!(world.git(&["rev-parse", "refs/forge/test/a"]), made.commit);
    assert_eq!(git(&tree, &["rev-parse", "HEAD"]), world.head());
}

#[test]
fn a_locked_index_of_the_user_does_not_matter() {
    let world = World::new();
    write(&world.root, ".git/index.lock", "");
    works(&world);
}

#[test]
fn line_ends_follow_the_users_settings() {
    let world = World::new();
    world.git(&["config", "core.autocrlf", "true"]);
    world.git(&["config", "core.safecrlf", "true"]);
    world.write(".gitattributes", "*.bin -text\n*.unix text eol=lf\n");
    world.write("x.bin", "a\r\n");
    world.write("x.unix", "a\n");
    world.git(&["-c", "core.safecrlf=false", "add", "-A"]);
    world.git(&["commit", "-qm", "ends"]);
    works(&world);
    let tree = world.location("a").dir.join("tree");
    assert_eq!(read(&tree, "a.txt"), "one\r\ntwo\r\nthree\r\n");
    assert_eq!(read(&tree, "x.unix"), "a\n");
    write(&tree, "mixed.txt", "a\r\nb\n");
    let made = committed(&world.committing("a", &[&world.head()]));
    assert_eq!(world.content(&made.commit, "mixed.txt").unwrap(), "a\nb\n");
}

#[test]
fn filters_and_ignores_of_the_user_hold() {
    let world = World::new();
    world.git(&["config", "filter.rot.clean", "tr a-z b-za"]);
    world.git(&["config", "filter.rot.smudge", "tr b-za a-z"]);
    write(&world.root, ".git/info/attributes", "*.rot filter=rot\n");
    write(&world.root, ".git/info/exclude", "private.txt");
    let ignores = world.beside("ignores");
    fs::write(&ignores, "global.txt\n").unwrap();
    world.git(&["config", "core.excludesFile", ignores.to_str().unwrap()]);
    world.write("x.rot", "abc\n");
    world.commit("rot");
    works(&world);
    let tree = world.location("a").dir.join("tree");
    assert_eq!(read(&tree, "x.rot"), "abc\n");
    for path in ["y.rot", "private.txt", "global.txt"] {
        write(&tree, path, "abc\n");
    }
    assert_eq!(git(&tree, &["status", "--porcelain"]), "?? y.rot");
    let made = committed(&world.committing("a", &[&world.head()]));
    assert_eq!(world.content(&made.commit, "y.rot").unwrap(), "bcd\n");
    assert_eq!(world.content(&made.commit, "private.txt"), None);
    assert_eq!(world.content(&made.commit, "global.txt"), None);
}

#[test]
fn a_filter_that_fails_is_a_failure_with_a_next_step() {
    let world = World::new();
    world.git(&["config", "filter.bad.clean", "false"]);
    world.git(&["config", "filter.bad.required", "true"]);
    let tree = opened(&world.opening("a")).tree;
    write(&tree, ".gitattributes", "*.bad filter=bad\n");
    write(&tree, "x.bad", "x");
    let failure = failure(&Operation::Commit(world.committing("a", &[&world.head()])));
    assert!(failure.what.contains("bad"), "{failure}");
    assert!(failure.next.contains("filter"), "{failure}");
}

#[test]
fn settings_that_hold_for_the_users_folder_hold_on_the_checkout() {
    let world = World::new();
    let included = world.beside("included");
    fs::write(&included, "[user]\n\tname = Included\n").unwrap();
    let condition = format!("includeIf.gitdir:{}/.path", world.root.display());
    world.git(&["config", &condition, included.to_str().unwrap()]);
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "x", "");
    let made = committed(&world.committing("a", &[&world.head()]));
    assert_eq!(world.git(&["show", "-s", "--format=%an", &made.commit]), "Included");
    assert_eq!(git(&tree, &["config", "user.name"]), "Included");
}

#[test]
fn signing_monitors_and_templates_of_the_user_do_not_stop_us() {
    let world = World::new();
    let mark = world.beside("ran");
    let script = format!("touch {}; exit 1", mark.display());
    for key in ["core.fsmonitor", "gpg.program", "core.editor", "diff.external"] {
        world.git(&["config", key, &script]);
    }
    world.git(&["config", "commit.gpgSign", "true"]);
    world.git(&["config", "i18n.commitEncoding", "latin1"]);
    write_program(&world.root.join(".git/hooks/post-checkout"), &script);
    write_program(&world.root.join(".git/hooks/reference-transaction"), &script);
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "x", "");
    let mut operation = world.committing("a", &[&world.head()]);
    operation.message = "größer".to_owned();
    let made = committed(&operation);
    assert_eq!(
        world.git(&[
            "-c",
            "i18n.logOutputEncoding=utf8",
            "show",
            "-s",
            "--format=%s",
            &made.commit
        ]),
        "größer"
    );
    assert!(!mark.exists());
}

#[test]
fn a_repository_and_a_checkout_with_odd_names_work() {
    let mut base = World::new();
    let name = std::ffi::OsString::from_vec(b"#a \"\xff\n:b".to_vec());
    let root = base.beside("odd").join(&name);
    fs::create_dir_all(root.parent().unwrap()).unwrap();
    fs::rename(&base.root, &root).unwrap();
    let Repository { common_dir, top } = Repository::find(&root).unwrap();
    let location = CheckoutLocation { common_dir, top, dir: base.beside("checkouts").join(&name) };
    base.root = root;
    let mut operation = base.opening("a");
    operation.location = location.clone();
    let text = serde_json::to_string(&Operation::Open(operation.clone())).unwrap();
    assert_eq!(
        serde_json::from_str::<Operation>(&text).unwrap(),
        Operation::Open(operation.clone())
    );
    let made = opened(&operation);
    assert_eq!(git(&made.tree, &["status", "--porcelain"]), "");
    assert_eq!(git(&made.tree, &["log", "--format=%s"]), "first");
    git(&made.tree, &["commit", "-q", "--allow-empty", "-m", "own"]);
    let commit = forge_workspace::CommitFiles {
        location,
        onto: vec![operation.at],
        message: "m".to_owned(),
        rewords: None,
        when_ms: 0,
        pin: "refs/forge/x".to_owned(),
    };
    assert_eq!(committed(&commit).own_commits, 1);
}

/// A user with a submodule in a submodule, both fetched.
fn with_submodules() -> World {
    let world = World::new();
    for name in ["inner", "sub"] {
        let source = world.beside(&format!("{name}-source"));
        fs::create_dir(&source).unwrap();
        git(&source, &["init", "-q", "--initial-branch=main"]);
        git(&source, &["config", "user.name", "U"]);
        git(&source, &["config", "user.email", "u@x"]);
        write(&source, "file", name);
        git(&source, &["add", "-A"]);
        git(&source, &["commit", "-qm", name]);
    }
    let inner = world.beside("inner-source");
    let sub = world.beside("sub-source");
    git(&sub, &["submodule", "--quiet", "add", inner.to_str().unwrap(), "deep/inner"]);
    git(&sub, &["commit", "-qm", "inner"]);
    world.git(&["submodule", "--quiet", "add", sub.to_str().unwrap(), "lib/sub"]);
    world.commit("sub");
    world.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    world
}

#[test]
fn submodules_that_the_user_has_are_there_and_private() {
    let world = with_submodules();
    works(&world);
    let tree = world.location("a").dir.join("tree");
    assert_eq!(read(&tree, "lib/sub/file"), "sub");
    assert_eq!(read(&tree, "lib/sub/deep/inner/file"), "inner");
    assert_eq!(git(&tree.join("lib/sub"), &["status", "--porcelain"]), "");
    assert_eq!(git(&tree.join("lib/sub"), &["remote"]), "");
    assert!(git(&tree, &["submodule", "status"]).contains("lib/sub"));
}

#[test]
fn a_changed_submodule_is_told_and_not_committed_and_put_back() {
    let world = with_submodules();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    let mark = world.beside("ran");
    let clean = files(&tree);
    write(&tree, "lib/sub/file", "changed");
    shell(&tree.join("lib/sub"), "git add -A; git commit -qm x");
    shell(&tree.join("lib/sub"), &format!("git config core.fsmonitor 'touch {}'", mark.display()));
    write(&tree, "lib/sub/deep/inner/new", "new");
    let before = world.fingerprint();
    let made = committed(&world.committing("a", &[&operation.at]));
    assert_eq!(made.commit, operation.at);
    let odd = made.notes.join("\n");
    assert!(odd.contains("lib/sub was changed") && odd.contains("lib/sub/deep/inner was"), "{odd}");
    assert!(tree.join("lib/sub/.git").is_dir());
    opened(&operation);
    assert_eq!(files(&tree), clean);
    assert_eq!(world.fingerprint(), before);
    assert!(!mark.exists());
}

#[test]
fn a_submodule_goes_only_together_with_its_entry() {
    let world = with_submodules();
    let operation = world.opening("a");
    let tree = opened(&operation).tree;
    fs::remove_dir_all(tree.join("lib")).unwrap();
    let made = committed(&world.committing("a", &[&operation.at]));
    assert_eq!(made.commit, operation.at);
    assert!(made.notes.join("\n").contains("lib/sub was removed: kept"), "{:?}", made.notes);
    write(&tree, "lib/sub", "a file");
    let made = committed(&world.committing("a", &[&operation.at]));
    assert_eq!(made.commit, operation.at);
    assert!(made.notes.join("\n").contains("was changed"), "{:?}", made.notes);
    fs::remove_dir_all(tree.join("lib")).unwrap();
    fs::remove_file(tree.join(".gitmodules")).unwrap();
    let made = committed(&world.committing("a", &[&operation.at]));
    assert!(!world.git(&["ls-tree", "-r", &made.commit]).contains("160000"));
    assert_eq!(made.notes, Vec::<String>::new());
}

#[test]
fn a_submodule_that_was_never_fetched_is_refused_with_the_command() {
    let source = with_submodules();
    let mut world = World::new();
    world.root = world.beside("clone");
    git(&source.root, &["clone", "-q", ".", world.root.to_str().unwrap()]);
    let problems = world.repository().unmet_preconditions(&world.head()).unwrap();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("lib/sub") && problems[0].contains("git submodule update --init"));
    let failure = failure(&Operation::Open(world.opening("a")));
    assert!(failure.next.contains("git submodule update --init"), "{failure}");
}

#[test]
fn submodules_of_a_linked_worktree_are_found() {
    let mut world = with_submodules();
    let linked = world.beside("linked");
    world.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    world.root = linked;
    world.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    works(&world);
    assert_eq!(read(&world.location("a").dir.join("tree"), "lib/sub/deep/inner/file"), "inner");
}

#[test]
fn a_partial_clone_works_when_the_objects_are_there_and_is_named_when_not() {
    let source = World::new();
    source.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = |name: &str, more: &str| {
        let mut world = World::new();
        world.root = world.beside(name);
        let url = format!("file://{}", source.root.display());
        let target = world.root.to_str().unwrap().to_owned();
        git(&source.root, &["clone", "-q", "--filter=blob:none", more, &url, &target]);
        world.git(&["config", "user.name", "U"]);
        world.git(&["config", "user.email", "u@x"]);
        world
    };
    let whole = clone("whole", "--quiet");
    works(&whole);
    let lacking = clone("lacking", "--no-checkout");
    let problems = lacking.repository().unmet_preconditions(&lacking.head()).unwrap();
    assert!(
        problems[0].contains("partial clone") && problems[0].contains("git archive"),
        "{problems:?}"
    );
    let failure = failure(&Operation::Open(lacking.opening("a")));
    assert!(!failure.what.is_empty());
    let archive = world_archive(&lacking);
    assert!(archive, "the command that we name works");
    assert_eq!(
        lacking.repository().unmet_preconditions(&lacking.head()).unwrap(),
        Vec::<String>::new()
    );
    opened(&lacking.opening("a"));
}

fn world_archive(world: &World) -> bool {
    let head = world.head();
    crate::world::try_git(&world.root, &["archive", &head]).status.success()
}

#[test]
fn git_lfs_works_with_its_program_or_is_refused_in_words() {
    let world = World::new();
    world.write(".gitattributes", "*.big filter=lfs diff=lfs merge=lfs -text\n");
    world.commit("lfs");
    let problems = world.repository().unmet_preconditions(&world.head()).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let has = std::env::split_paths(&path).any(|folder| folder.join("git-lfs").exists());
    assert_eq!(problems.is_empty(), has, "{problems:?}");
    if !has {
        assert!(problems[0].contains("git lfs install"), "{problems:?}");
    }
}

#[test]
fn a_store_of_git_lfs_is_shared_with_the_checkout() {
    let world = World::new();
    fs::create_dir_all(world.root.join(".git/lfs")).unwrap();
    let tree = opened(&world.opening("a")).tree;
    let store = world.root.join(".git/lfs");
    assert_eq!(Path::new(&git(&tree, &["config", "lfs.storage"])), store);
}
