//! Agents that ruin everything within their reach. Whatever they do in the tree, the user's
//! repository stays as it was, and the next operation does what it should.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use forge_workspace::{CachesAfter, FileAccess, RestoreFiles};

use crate::world::{
    World, committed, files, git, opened, read, restored, shell, write, write_program,
};

/// What an agent does in its tree; `$USER_ROOT` is the user's checkout.
const RAMPAGES: &[&str] = &[
    "echo x > a.txt; git stash; git stash; git stash drop",
    "git add -A; git commit -qm x; git commit --allow-empty -qm y",
    "git checkout -q --detach; git branch -D main forge/work",
    "git gc -q --prune=now; git reflog expire --all --expire=now; git prune; git repack -adq",
    "git config user.name x; git config core.autocrlf true; git config core.hooksPath /tmp",
    "git config core.fsmonitor 'touch $USER_ROOT/ran'; git config core.pager 'touch ran'",
    "git config alias.add '!touch $USER_ROOT/ran'; git config diff.external 'touch $USER_ROOT/ran'",
    "git config filter.evil.clean 'touch $USER_ROOT/ran'; echo '* filter=evil' > .git/info/attributes",
    "git worktree add -q ../wt; git worktree prune; git worktree add -q inner",
    "git remote add user $USER_ROOT; git push -q user HEAD:main; git push -q user +HEAD:refs/heads/x",
    "git push -q $USER_ROOT +HEAD:refs/heads/x; git push -q file://$USER_ROOT/.git HEAD:refs/tags/x",
    "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch $USER_ROOT/ran' > .git/hooks/pre-commit; chmod +x .git/hooks/*",
    "rm -rf .git",
    "rm -rf .git; ln -s $USER_ROOT/.git .git",
    "rm -rf .git; echo gitdir: $USER_ROOT/.git > .git",
    "rm -rf .git; git init -q; git add -A; git commit -qm x",
    "rm -rf .git; git clone -q $USER_ROOT clone; mv clone/.git .git",
    "git config core.worktree $USER_ROOT",
    "git config core.bare true",
    "echo $USER_ROOT/.git > .git/commondir",
    "echo ruined > .git/index; echo ruined > .git/HEAD; echo ruined > .git/config",
    "git update-index --assume-unchanged a.txt; git update-index --skip-worktree src/b.txt",
    "git sparse-checkout set none",
    "rm -rf src; ln -s $USER_ROOT/src src",
    "rm -rf src; ln -s $USER_ROOT src",
    "rm a.txt; ln -s $USER_ROOT/a.txt a.txt",
    "rm .gitignore; ln -s $USER_ROOT/.gitignore .gitignore; ln -s / root; ln -s $USER_ROOT/.git sub.git",
    "rm -rf src a.txt; mkdir a.txt; mkfifo src a.txt/pipe",
    "chmod 000 src a.txt; mkdir -p ro/deep; touch ro/deep/x; chmod 500 ro/deep ro",
    "git init -q nested; cd nested; touch x; git add x; git commit -qm x; git config core.fsmonitor 'touch $USER_ROOT/ran'; git config core.worktree $USER_ROOT",
    "mkdir nested; ln -s $USER_ROOT/.git nested/.git; touch nested/x",
    "mkdir nested; echo gitdir: $USER_ROOT/.git > nested/.git; touch nested/x",
    "git submodule add -q $USER_ROOT sub",
    "printf '[submodule \"../../x\"]\\npath = src\\nurl = $USER_ROOT\\n' > .gitmodules",
    "rm -rf .git/objects; ln -s $USER_ROOT/.git/objects .git/objects; echo x > x; git add x",
    "echo '* filter=evil eol=crlf merge=evil diff=evil' > .gitattributes; printf '*\\n!*.txt\\n' > .gitignore",
];

/// What an agent does to the tree itself, from outside of it.
const OUTSIDE: &[&str] = &[
    "rm -rf tree; ln -s $USER_ROOT tree",
    "rm -rf tree",
    "rm -rf tree; touch tree",
    "rm -rf tree; mkfifo tree",
    "mv tree away; cp -r $USER_ROOT tree",
    "rm -rf forge.git",
    "rm -rf forge.git; ln -s $USER_ROOT/.git forge.git",
    "echo ruined > forge.git/index; echo ruined > forge.git/config; echo ruined > forge.git/opened.json",
    "touch forge.git/index.lock forge.git/HEAD.lock",
    "mkdir aside git.new; ln -s $USER_ROOT aside/0; printf 'src/b.txt\\0' > aside/list",
    "ln -s $USER_ROOT git.new; ln -s $USER_ROOT hooks.git",
    "rm -f lock; ln -s $USER_ROOT/a.txt lock",
];

/// A user with everything that could be lost: staged, dirty, untracked, stashed, hooks, a tag.
fn user() -> World {
    let world = World::new();
    world.write("a.txt", "stashed\n");
    world.git(&["stash", "-q"]);
    world.write("src/b.txt", "staged\n");
    world.git(&["add", "src/b.txt"]);
    world.write("src/b.txt", "dirty\n");
    world.write("untracked.txt", "untracked\n");
    world.write("x.log", "ignored\n");
    world.git(&["tag", "v1"]);
    world.git(&["branch", "side"]);
    write_program(&world.root.join(".git/hooks/post-commit"), "touch ran");
    world
}

fn rampage(world: &World, dir: &Path, script: &str) {
    let script = script.replace("$USER_ROOT", world.root.to_str().unwrap());
    shell(dir, &format!("{script}\ntrue"));
}

/// The files of a tree as git knows them, without ignored ones.
fn known(tree: &Path) -> BTreeMap<String, String> {
    let mut found = files(tree);
    found.retain(|path, _| !path.ends_with("log"));
    // The rights of others are not git's business.
    found.into_iter().map(|(path, text)| (path, text.replacen("100600 ", "100644 ", 1))).collect()
}

fn clean_files(world: &World) -> BTreeMap<String, String> {
    known(&opened(&world.opening("clean")).tree)
}

/// An agent that is kept from the user's repository only by us may write there if it really wants
/// to. What it destroys by its own hands is not asked about; here are none of these.
fn each(scripts: &[&str], dir: impl Fn(&World) -> PathBuf, check: impl Fn(&World, &str)) {
    let world = user();
    opened(&world.opening("a"));
    let before = world.fingerprint();
    for script in scripts {
        opened(&world.opening("a"));
        rampage(&world, &dir(&world), script);
        check(&world, script);
        let mut after = world.fingerprint();
        // The index of a worktree that an agent made from the user's git is its own doing.
        after.retain(|path, _| !path.starts_with(".git/worktrees/"));
        assert_eq!(after, before, "{script}");
        world.git(&["fsck", "--connectivity-only", "--no-dangling"]);
    }
}

fn tree_of(world: &World) -> PathBuf {
    world.location("a").dir.join("tree")
}

#[test]
fn after_any_rampage_a_checkout_opens_exactly() {
    let expected = clean_files(&user());
    each(RAMPAGES, tree_of, |world, script| {
        let tree = opened(&world.opening("a")).tree;
        assert_eq!(known(&tree), expected, "{script}");
        assert_eq!(git(&tree, &["status", "--porcelain"]), "", "{script}");
        assert_eq!(
            git(&tree, &["rev-parse", "HEAD", "main"]),
            [world.head(), world.head()].join("\n")
        );
    });
}

#[test]
fn after_any_rampage_a_commit_has_the_files_of_the_tree() {
    each(RAMPAGES, tree_of, |world, script| {
        let tree = tree_of(world);
        write(&tree, "result.txt", script);
        let made = committed(&world.committing("a", &[&world.head()]));
        assert_eq!(world.content(&made.commit, "result.txt").as_deref(), Some(script));
        let listed = world.git(&["ls-tree", "-r", &made.commit]);
        assert!(!listed.contains("160000"), "{script}: {listed}");
        for path in ["a.txt", "src/b.txt"] {
            let is_file = fs::symlink_metadata(tree.join(path)).is_ok_and(|found| found.is_file())
                && fs::read(tree.join(path)).is_ok();
            let is_linked =
                fs::symlink_metadata(tree.join("src")).is_ok_and(|found| found.is_symlink());
            if is_file && !is_linked {
                let kept = world.content(&made.commit, path).map(|text| text.replace('\r', ""));
                assert_eq!(kept, Some(read(&tree, path).replace('\r', "")), "{script}: {path}");
            }
        }
    });
}

#[test]
fn after_any_rampage_a_tree_is_put_back() {
    let expected = clean_files(&user());
    each(RAMPAGES, tree_of, |world, script| {
        restored(&RestoreFiles {
            location: world.location("a"),
            at: world.head(),
            access: FileAccess::Write,
            caches: CachesAfter::Sealed,
        });
        let tree = tree_of(world);
        assert_eq!(known(&tree), expected, "{script}");
        assert_eq!(git(&tree, &["status", "--porcelain"]), "", "{script}");
    });
}

#[test]
fn a_checkout_whose_folders_were_ruined_opens_exactly() {
    let expected = clean_files(&user());
    each(
        OUTSIDE,
        |world| world.location("a").dir,
        |world, script| {
            let tree = opened(&world.opening("a")).tree;
            assert_eq!(known(&tree), expected, "{script}");
            assert_eq!(git(&tree, &["status", "--porcelain"]), "", "{script}");
        },
    );
}

#[test]
fn the_folder_of_a_checkout_may_have_become_a_link_to_the_user() {
    let world = user();
    let before = world.fingerprint();
    let dir = world.location("a").dir;
    fs::create_dir_all(dir.parent().unwrap()).unwrap();
    symlink(&world.root, &dir).unwrap();
    let tree = opened(&world.opening("a")).tree;
    assert_eq!(read(&tree, "src/b.txt"), "b\n");
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn no_settings_of_an_agent_start_a_program() {
    let world = user();
    let mark = world.beside("ran");
    let tree = opened(&world.opening("a")).tree;
    let evil = format!("touch {}", mark.display());
    for key in [
        "core.fsmonitor",
        "filter.e.clean",
        "filter.e.smudge",
        "filter.e.process",
        "diff.external",
        "core.sshCommand",
        "merge.e.driver",
        "core.pager",
        "gpg.program",
    ] {
        git(&tree, &["config", key, &evil]);
    }
    shell(&tree, "git config commit.gpgSign true; git config filter.e.required true");
    write(&tree, ".gitattributes", "* filter=e merge=e diff=e\n");
    write(&tree, ".git/info/attributes", "* filter=e merge=e diff=e\n");
    write_program(&tree.join(".git/hooks/post-checkout"), &evil);
    write_program(&tree.join(".git/hooks/post-index-change"), &evil);
    let made = committed(&world.committing("a", &[&world.head()]));
    restored(&RestoreFiles {
        location: world.location("a"),
        at: world.head(),
        access: FileAccess::Write,
        caches: CachesAfter::Sealed,
    });
    let mut operation = world.opening("a");
    operation.at = made.commit;
    opened(&operation);
    assert!(!mark.exists());
}
