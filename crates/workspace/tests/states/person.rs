//! The person whose repository it is: begins in any state, and goes on working meanwhile.

use std::{fs, path::Path};

use crate::{
    chance::Chance,
    world::{World, git, try_git, write, write_program},
};

/// Names of files, from plain to odd.
pub(crate) const NAMES: &[&str] =
    &["a.txt", "src/b.txt", "new.txt", "ü ö/x y", "-x", "*", "deep/er/z", "q\"q\n"];

/// What kind of repository it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Detached,
    Bare,
    WithSubmodule,
    LinkedWorktree,
    Sha256,
}

const KINDS: &[Kind] = &[
    Kind::Plain,
    Kind::Plain,
    Kind::Detached,
    Kind::Bare,
    Kind::WithSubmodule,
    Kind::LinkedWorktree,
    Kind::Sha256,
];

/// A repository in a random state.
pub(crate) fn born(chance: &mut Chance) -> (World, Kind) {
    let kind = *chance.one(KINDS);
    let format = if kind == Kind::Sha256 { "sha256" } else { "sha1" };
    let format = format!("--object-format={format}");
    let mut world = World::with(&["init", "-q", "--template=", "--initial-branch=main", &format]);
    if kind == Kind::WithSubmodule {
        let source = world.beside("source");
        fs::create_dir(&source).unwrap();
        git(&source, &["init", "-q", "--template="]);
        write(&source, "inner", "inner\n");
        git(&source, &["add", "-A"]);
        let name = ["-c", "user.name=U", "-c", "user.email=u@x"];
        git(&source, &[&name[..], &["commit", "-qm", "inner"]].concat());
        world.git(&["submodule", "--quiet", "add", source.to_str().unwrap(), "lib/sub"]);
        world.commit("sub");
    }
    if kind == Kind::LinkedWorktree {
        let linked = world.beside("linked");
        world.git(&["worktree", "add", "-q", "-b", "linked", linked.to_str().unwrap()]);
        world.root = linked;
    }
    if kind == Kind::Detached {
        world.git(&["checkout", "-q", "--detach"]);
    }
    if kind == Kind::Bare {
        let bare = world.beside("bare.git");
        world.git(&["clone", "-q", "--bare", "--template=", ".", bare.to_str().unwrap()]);
        world.root = bare;
        world.git(&["config", "user.name", "User"]);
        world.git(&["config", "user.email", "user@example.org"]);
    }
    for _ in 0..chance.below(4) {
        act(&world, kind, chance);
    }
    if chance.once_in(3) {
        let script = *chance.one(&[
            "echo formatted >> a.txt; git add -- a.txt",
            "exit 1",
            "touch junk.txt; [ -L src ] || echo x > src/b.txt",
        ]);
        write_program(&world.repository().common_dir.join("hooks/pre-commit"), script);
    }
    (world, kind)
}

/// One thing that the person does. With a locked index, git refuses some of it; that is fine.
pub(crate) fn act(world: &World, kind: Kind, chance: &mut Chance) {
    let does = |args: &[&str]| drop(try_git(&world.root, args));
    if kind == Kind::Bare {
        match chance.below(3) {
            0 => does(&["branch", "-f", "side", "HEAD"]),
            1 => does(&["tag", "-f", "t"]),
            _ => does(&["config", "some.thing", "new"]),
        }
        return;
    }
    let name = *chance.one(NAMES);
    match chance.below(11) {
        0 => world.write(name, "dirty\n"),
        1 => drop(fs::remove_file(world.root.join(name))),
        2 => does(&["add", "-A"]),
        3 => {
            world.write(name, &format!("committed {}\n", chance.below(1000)));
            does(&["add", "-A"]);
            does(&["commit", "-q", "--no-verify", "-m", "person"]);
        }
        4 => does(&["stash", "-q"]),
        5 => world.write("person.log", "ignored\n"),
        6 => lock(&world.root),
        7 => does(&["checkout", "-q", "-b", "side"]),
        8 => does(&["tag", "-f", "t"]),
        9 => does(&["config", "some.thing", "new"]),
        _ => does(&["pack-refs", "--all"]),
    }
}

/// Locks the index, as a git that was killed leaves it; or unlocks it.
fn lock(root: &Path) {
    let index = git(root, &["rev-parse", "--path-format=absolute", "--git-path", "index.lock"]);
    if fs::remove_file(&index).is_err() {
        fs::write(&index, "").unwrap();
    }
}
