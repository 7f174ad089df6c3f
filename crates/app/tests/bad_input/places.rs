//! Where the program is called: outside a repository, in odd folders, without what it needs.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    process::Command,
};

use super::world::{CONTENT, DONE, FORGE, WAITS, WRONG, World, finish, has, until};

const ALL: [&[&str]; 11] = [
    &["run", "do it"],
    &["resume"],
    &["status"],
    &["status", "x"],
    &["log"],
    &["answer", "x", "Q1", "approve"],
    &["pause"],
    &["stop"],
    &["abandon", "x"],
    &["flow", "list"],
    &["doctor"],
];

#[test]
fn outside_a_repository_every_command_says_where_it_belongs() {
    let folder = tempfile::tempdir().unwrap();
    for args in ALL {
        let mut command = Command::new(FORGE);
        let said = finish(
            command.args(args).current_dir(folder.path()).env("GIT_CEILING_DIRECTORIES", "/"),
        );
        assert_eq!(said.code, WRONG, "{args:?}: {said}");
        has(&said.all(), &["is not in a git repository", "help: ", "git init"]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn a_folder_that_is_gone_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("rmdir {0} && {FORGE} status", folder.path().display());
    let mut shell = Command::new("/bin/sh");
    let said = finish(shell.args(["-c", &line]).current_dir(folder.path()));
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["the current folder is gone", "help: "]);
}

#[test]
fn a_bare_repository_can_have_runs() {
    let world = World::new();
    let bare = world.beside("bare.git");
    world.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let play = world.write("play.toml", CONTENT);
    let mut command =
        world.command(&["run", "--auto", "do it", "--scenario", play.to_str().unwrap()]);
    let said = finish(command.current_dir(&bare));
    assert_eq!(said.code, DONE, "{said}");
    assert!(bare.join("forge/forge.db").exists());
    let said = finish(world.command(&["doctor"]).current_dir(&bare));
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn a_linked_worktree_shares_the_runs_of_its_repository() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.forge(&["run", "do it"]).code, WAITS);
    let run = world.latest();
    let linked = world.beside("linked");
    world.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let there = |args: &[&str]| finish(world.command(args).current_dir(&linked));
    has(&there(&["status"]).out, &["needs you"]);
    assert_eq!(there(&["answer", &run, "Q1", "approve"]).code, DONE);
    assert_eq!(world.view(&run)["standing"], "done");
    // Its own settings and flows are used there.
    fs::write(linked.join("forge.toml"), "[limits]\nat_once = 1\n").unwrap();
    let linked_text = linked.to_str().unwrap();
    world.git(&["-C", linked_text, "commit", "--quiet", "--all", "-m", "no agent"]);
    let refused = there(&["run", "do it"]);
    assert_eq!(refused.code, WRONG, "{refused}");
    has(&refused.err, &["no usable agent is installed"]);
    assert!(!linked.join(".git/forge").exists());
    assert_eq!(finish(world.command(&["status"]).current_dir(world.repo.join(".git"))).code, DONE);
}

#[test]
fn a_folder_deep_inside_a_checkout_belongs_to_it() {
    let world = World::new();
    world.scenario(CONTENT);
    let deep = world.repo.join("a/b c/ü");
    fs::create_dir_all(&deep).unwrap();
    let said = finish(world.command(&["run", "--auto", "do it"]).current_dir(&deep));
    assert_eq!(said.code, DONE, "the scenario is found beside the settings: {said}");
}

#[test]
fn without_git_it_says_that_git_is_missing() {
    let world = World::new();
    for args in ALL {
        let said = finish(world.command(args).env("PATH", world.beside("nothing")));
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.all(), &["git cannot be run", "help: install git"]);
    }
    assert!(world.is_untouched());
}

#[test]
fn no_home_and_no_name_are_no_reason_to_stop_if_there_is_a_place_for_checkouts() {
    let world = World::new();
    world.scenario(CONTENT);
    let home = world.beside("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o0)).unwrap();
    // Below a file nobody can make a folder, not even a superuser.
    let nowhere = world.repo.join("README.md/home");
    let state = world.beside("state");
    let run = || {
        let mut command = world.command(&["run", "--auto", "do it"]);
        command.env_remove("USER").env("XDG_STATE_HOME", &state);
        command
    };
    for home in [home.as_os_str(), nowhere.as_os_str(), OsStr::new("")] {
        let said = finish(run().env("HOME", home));
        assert_eq!(said.code, DONE, "{said}");
    }
    let said = finish(run().env_remove("HOME").env("TZ", "Nowhere/Land"));
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.ids().len(), 4);
}

#[test]
fn without_a_place_for_checkouts_it_is_said_what_to_set_or_to_make() {
    let world = World::new();
    world.scenario(CONTENT);
    let nowhere = world.repo.join("README.md/home");
    let with = |home: &OsStr, args: &[&str]| finish(world.command(args).env("HOME", home));
    let said = with(OsStr::new(""), &["run", "--auto", "do it"]);
    assert_eq!(said.code, WRONG, "{said}");
    let expected = "neither XDG_STATE_HOME nor HOME is set to an absolute path";
    has(&said.err, &["error: ", expected, "help: set HOME"]);
    assert_eq!(with(OsStr::new(""), &["status"]).code, DONE);
    assert!(world.is_untouched(), "a run that cannot work is not begun");
    // A place that cannot be made stops the driver, and no agent is blamed; the user makes it.
    let said = with(nowhere.as_os_str(), &["run", "--auto", "do it"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["cannot make the folder", "README.md/home", "forge resume"]);
    let run = world.latest();
    assert_eq!(world.agents_started(&run), 0);
    assert_eq!(world.forge(&["resume", &run]).code, DONE);
}

#[test]
fn a_driver_whose_repository_is_moved_away_stops_and_says_to_move_it_back() {
    let world = World::new();
    let wait = "while [ ! -e $HOME/go ]; do sleep 0.02; done";
    world.flow("slow", &format!("[[stage]]\nname = \"slow\"\ncommand = \"{wait}\"\n"));
    let mut running = world.start(&["run", "--flow", "slow", "do it"]);
    running.until_says("slow started");
    let run = world.latest();
    until("its keeper", || {
        world.find_attempt(&run, "slow#1")?.join("claim").exists().then_some(())
    });
    let elsewhere = world.beside("elsewhere");
    fs::rename(&world.repo, &elsewhere).unwrap();
    world.go();
    let said = running.end();
    assert_eq!(said.code, WRONG, "{said}");
    has(
        &said.err,
        &["/repo/.git/forge is gone", "help: move the repository back, then forge resume"],
    );
    assert!(!world.repo.exists(), "nothing is made anew where it was");
    fs::rename(&elsewhere, &world.repo).unwrap();
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn paths_with_spaces_quotes_and_other_letters_work() {
    for name in
        ["with space", "it's \"quoted\"", "ünïcödé 日本 🦀", "$HOME;`id`&|<>", "-dash", "a%20b?#"]
    {
        let world = World::named(name);
        world.scenario(CONTENT);
        let said = world.forge(&["run", "do it"]);
        assert_eq!(said.code, WAITS, "{name}: {said}");
        let run = world.latest();
        world.ok(&["answer", &run, "Q1", "approve"]);
        let draft = world.place().join(format!("runs/{run}/artifacts/draft.md"));
        assert_eq!(fs::read_to_string(draft).unwrap(), "# A draft\n");
        world.ok(&["doctor"]);
    }
}

#[test]
fn a_repository_whose_path_is_not_text_is_refused_and_no_other_folder_is_made() {
    let world = World::named(OsStr::from_bytes(b"caf\xe9"));
    world.scenario(CONTENT);
    for args in ALL {
        let said = world.forge(args);
        assert_eq!(said.code, WRONG, "{args:?}: {said}");
        has(&said.all(), &["UTF-8", "help: "]);
    }
    let mut beside: Vec<_> =
        fs::read_dir(world.beside("")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    beside.sort();
    let there = [OsStr::new(".config"), OsStr::from_bytes(b"caf\xe9")];
    assert_eq!(beside, there, "nothing was made beside it");
    assert!(world.is_untouched());
}

#[test]
fn variables_of_git_that_point_elsewhere_do_not_make_runs_elsewhere_by_surprise() {
    let (here, there) = (World::new(), World::new());
    here.flow("plain", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    let mut command = here.command(&["status"]);
    let said = finish(command.env("GIT_DIR", there.repo.join(".git")));
    assert_eq!(said.code, DONE, "as git itself would: {said}");
    assert!(here.is_untouched() && there.is_untouched());
}
