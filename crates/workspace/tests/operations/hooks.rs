//! The user's commit hooks.

use std::fs;

use forge_workspace::{Operation, OperationResult, RunHooks, perform_with_guard};

use crate::world::{
    SECRET, WHEN_MS, World, committed, failure, fingerprint, git, hooked, opened, read, shell,
    watchful, write, write_program,
};

/// A world with a commit of a checkout, and an operation to run the hooks for it.
fn ready(world: &World) -> RunHooks {
    let tree = opened(&world.opening("a")).tree;
    write(&tree, "a.txt", "changed\n");
    write(&tree, "new.txt", "new\n");
    let commit = committed(&world.committing("a", &[&world.head()])).commit;
    RunHooks {
        location: world.location("a"),
        commit,
        message: "work".to_owned(),
        when_ms: WHEN_MS,
        pin: "refs/forge/test/hooked".to_owned(),
        output_max: 200,
        accepted: None,
    }
}

fn hook(world: &World, name: &str, script: &str) {
    write_program(&world.root.join(".git/hooks").join(name), script);
}

#[test]
fn without_hooks_the_commit_stays_as_it_is() {
    let world = World::new();
    let operation = ready(&world);
    hook(&world, "post-commit", "touch ran.txt");
    hook(&world, "prepare-commit-msg", "exit 1");
    write(&world.root, ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    let before = world.fingerprint();
    let made = hooked(&operation);
    assert_eq!(made.commit, operation.commit);
    assert_eq!(made.refusal, None);
    assert_eq!(world.git(&["rev-parse", "refs/forge/test/hooked"]), operation.commit);
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn hooks_see_the_commit_as_git_commit_shows_it() {
    let world = World::new();
    let operation = ready(&world);
    hook(
        &world,
        "pre-commit",
        "exec > seen.log 2>&1; pwd; git diff --cached --name-status; git rev-parse HEAD; \
         git symbolic-ref HEAD; git rev-parse --show-toplevel; echo $GIT_AUTHOR_NAME $GIT_EDITOR; \
         (unset GIT_DIR GIT_INDEX_FILE; cd src; git diff --cached --name-only; git write-tree)",
    );
    let before = world.fingerprint();
    let made = hooked(&operation);
    assert_eq!(made.commit, operation.commit);
    let tree = operation.location.dir.join("tree");
    let top = tree.display();
    let head = world.head();
    let id = world.git(&["rev-parse", &format!("{}^{{tree}}", operation.commit)]);
    assert_eq!(
        read(&tree, "seen.log"),
        format!(
            "{top}\nM\ta.txt\nA\tnew.txt\n{head}\nrefs/heads/forge/work\n{top}\nUser :\na.txt\nnew.txt\n{id}\n"
        )
    );
    assert!(tree.join(".git").is_dir(), "the agent has its own again");
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn what_a_hook_stages_becomes_part_of_the_commit() {
    let world = World::new();
    let operation = ready(&world);
    let base = world.head();
    hook(
        &world,
        "pre-commit",
        "echo formatted > a.txt; git add a.txt; echo left > src/b.txt; touch junk.txt; \
         echo big > extra.txt; git add extra.txt",
    );
    hook(&world, "commit-msg", "echo; echo 'Signed-off: x  ' >> \"$1\"");
    let before = world.fingerprint();
    let made = hooked(&operation);
    assert_ne!(made.commit, operation.commit);
    assert_eq!(made.changed, ["a.txt", "extra.txt"]);
    assert_eq!(world.content(&made.commit, "a.txt").unwrap(), "formatted\n");
    assert_eq!(world.content(&made.commit, "src/b.txt").unwrap(), "b\n");
    assert_eq!(world.git(&["rev-parse", &format!("{}^", made.commit)]), base);
    assert_eq!(
        world.git(&["show", "-s", "--format=%B", &made.commit]).trim(),
        "work\nSigned-off: x"
    );
    let tree = operation.location.dir.join("tree");
    assert_eq!(read(&tree, "a.txt"), "formatted\n", "the files are those of the new commit");
    assert_eq!(read(&tree, "src/b.txt"), "b\n");
    assert!(!tree.join("junk.txt").exists());
    assert_eq!(world.fingerprint(), before);
    world.git(&["gc", "-q", "--prune=now"]);
    world.git(&["fsck", "--strict"]);
    assert_eq!(hooked(&operation).commit, made.commit, "the same again");
}

#[test]
fn a_hook_that_says_no_is_a_refusal_with_the_end_of_its_words() {
    let world = World::new();
    let operation = ready(&world);
    hook(&world, "pre-commit", "seq 1 1000; echo bad >&2; echo x > a.txt; git add a.txt; exit 3");
    let before = world.fingerprint();
    let made = hooked(&operation);
    let refusal = made.refusal.unwrap();
    assert_eq!(refusal.hook, "pre-commit");
    assert!(refusal.output.ends_with("1000\nbad"), "{}", refusal.output);
    assert!(refusal.output.len() <= 200);
    assert_eq!(made.commit, operation.commit);
    assert_eq!(read(&operation.location.dir.join("tree"), "a.txt"), "changed\n", "it is put back");
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn a_message_that_a_hook_refuses_or_empties_is_a_refusal() {
    let world = World::new();
    let operation = ready(&world);
    hook(&world, "commit-msg", "grep -q JIRA \"$1\" || { echo 'no ticket'; exit 1; }");
    let refusal = hooked(&operation).refusal.unwrap();
    assert_eq!((refusal.hook.as_str(), refusal.output.as_str()), ("commit-msg", "no ticket"));
    hook(&world, "commit-msg", ": > \"$1\"");
    assert_eq!(hooked(&operation).refusal.unwrap().hook, "commit-msg");
}

#[test]
fn hooks_lie_where_the_users_settings_say() {
    let world = World::new();
    write_program(&world.root.join(".husky/pre-commit"), "echo tracked; exit 1");
    world.commit("hooks of the project");
    let operation = ready(&world);
    write_program(&world.root.join("own/pre-commit"), "echo own; exit 1");
    let said = || hooked(&operation).refusal.map(|refusal| refusal.output);
    world.git(&["config", "core.hooksPath", ".husky"]);
    assert_eq!(said().as_deref(), Some("tracked"));
    world.git(&["config", "core.hooksPath", "own"]);
    assert_eq!(said().as_deref(), Some("own"), "found in the user's checkout");
    let outside = world.beside("outside");
    write_program(&outside.join("pre-commit"), "echo outside; exit 1");
    world.git(&["config", "core.hooksPath", outside.to_str().unwrap()]);
    assert_eq!(said().as_deref(), Some("outside"));
    world.git(&["config", "core.hooksPath", "/dev/null"]);
    assert_eq!(said(), None);
}

#[test]
fn hooks_that_use_git_freely_leave_the_user_alone() {
    let world = World::new();
    let operation = ready(&world);
    hook(
        &world,
        "pre-commit",
        "git config x.y z; echo s > a.txt; git stash -q; git stash pop -q; git checkout -q -- a.txt; \
         git tag t; git branch b; git gc -q --prune=now; git update-ref refs/heads/main HEAD; true",
    );
    let agent = fingerprint(&operation.location.dir.join("tree/.git"));
    let before = world.fingerprint();
    assert_eq!(hooked(&operation).refusal, None);
    assert_eq!(world.fingerprint(), before);
    assert_eq!(fingerprint(&operation.location.dir.join("tree/.git")), agent);
    world.git(&["fsck", "--strict"]);
}

#[test]
fn a_hook_never_meets_the_settings_of_the_agents_git() {
    let world = World::new();
    let operation = ready(&world);
    let tree = operation.location.dir.join("tree");
    let mark = world.beside("ran");
    shell(&tree, &format!("git config core.fsmonitor 'touch {}'", mark.display()));
    hook(&world, "pre-commit", "unset GIT_DIR GIT_INDEX_FILE; git status -s; git add -A; true");
    assert_eq!(hooked(&operation).refusal, None);
    assert!(!mark.exists());
}

#[test]
fn a_root_commit_has_hooks_too() {
    let world = World::empty(&["init", "--quiet", "--initial-branch=main"]);
    world.write("a.txt", "a\n");
    let root = world.commit("root");
    opened(&world.opening("a"));
    hook(
        &world,
        "pre-commit",
        "git rev-parse -q --verify HEAD && exit 1; echo x > a.txt; git add a.txt",
    );
    let operation = RunHooks {
        location: world.location("a"),
        commit: root,
        message: "root".to_owned(),
        when_ms: WHEN_MS,
        pin: "refs/forge/test/hooked".to_owned(),
        output_max: 100,
        accepted: None,
    };
    let made = hooked(&operation);
    assert_eq!(made.refusal, None);
    assert_eq!(world.git(&["rev-list", "--count", &made.commit]), "1");
}

#[test]
fn hooks_cannot_run_where_nothing_was_opened() {
    let world = World::new();
    let operation = ready(&world);
    fs::remove_dir_all(&operation.location.dir).unwrap();
    assert!(failure(&Operation::Hooks(operation)).what.contains("not there"));
}

#[test]
fn a_hook_that_was_killed_leaves_a_checkout_that_opens_again() {
    let world = World::new();
    let operation = ready(&world);
    let tree = operation.location.dir.join("tree");
    // As a kill in the middle leaves it: the agent's git aside, ours in its place.
    shell(
        &operation.location.dir,
        "mkdir aside; printf '.git\\0' > aside/list; mv tree/.git aside/0; echo 'gitdir: x' > tree/.git",
    );
    assert_eq!(hooked(&operation).refusal, None);
    assert!(tree.join(".git").is_dir());
    assert_eq!(git(&tree, &["symbolic-ref", "HEAD"]), "refs/heads/forge/work");
}

/// What the guard said to what the hooks added.
fn refused(operation: &RunHooks) -> Vec<String> {
    match perform_with_guard(&Operation::Hooks(operation.clone()), &mut watchful) {
        Ok(OperationResult::Refused(refused)) => refused.flaws,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_secret_that_a_hook_stages_becomes_no_object_of_the_users() {
    let world = World::new();
    let operation = ready(&world);
    let objects = || world.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    let before = objects();
    hook(&world, "pre-commit", &format!("echo {SECRET} >> a.txt; git add a.txt"));
    assert_eq!(refused(&operation), ["a.txt:2"]);
    hook(&world, "pre-commit", &format!("echo x > {SECRET}; git add {SECRET}"));
    assert_eq!(refused(&operation), ["a name"]);
    hook(&world, "pre-commit", "exit 0");
    hook(&world, "commit-msg", &format!("echo {SECRET} > $1"));
    assert_eq!(refused(&operation), ["COMMIT_EDITMSG:1"]);
    assert_eq!(objects(), before);
    let tree = operation.location.dir.join("tree");
    assert_eq!(git(&tree, &["status", "--porcelain"]), " M a.txt\n?? new.txt");
}

#[test]
fn hooks_that_the_run_changed_do_not_run() {
    let world = World::new();
    world.git(&["config", "core.hooksPath", ".githooks"]);
    write_program(&world.root.join(".githooks/pre-commit"), "echo by the user; exit 1");
    let accepted = world.commit("hooks");
    let mut operation = ready(&world);
    operation.accepted = Some(accepted.clone());
    assert_eq!(hooked(&operation).refusal.unwrap().output, "by the user");
    let tree = opened(&world.opening("a")).tree;
    let mark = world.beside("ran");
    write_program(&tree.join(".githooks/pre-commit"), &format!("touch {}", mark.display()));
    operation.commit = committed(&world.committing("a", &[&accepted])).commit;
    let made = hooked(&operation);
    assert_eq!(made.refusal.unwrap().output, "by the user", "the user's checkout has them");
    assert!(made.notes[0].contains(".githooks"), "{:?}", made.notes);
    assert!(!mark.exists());
}
