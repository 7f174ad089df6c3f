//! What a person at a real terminal is asked before a run exists, and each answer that they can give.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    process::Stdio,
    sync::{Arc, Mutex},
    thread,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::starts::{LANDING, SIZED};
use crate::world::{DONE, INTERRUPTED, WAITS, World, has, until_or};

/// Calls the program at a terminal: whenever the first text shows up, the second one is typed. Gives how it
/// ended, and what was to be seen.
fn at_a_terminal(world: &World, args: &[&str], typed: &[(&str, &str)]) -> (i32, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = world.command(args);
    command.stdin(terminal.try_clone().unwrap()).stderr(terminal).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    // The command holds the terminal open, too.
    drop(command);
    let mut master = File::from(master);
    let seen = Arc::new(Mutex::new(String::new()));
    let reader = thread::spawn({
        let (mut master, seen) = (master.try_clone().unwrap(), Arc::clone(&seen));
        move || {
            let mut bytes = [0_u8; 4096];
            // It ends with an error when the last one who had the terminal open is gone.
            while let Ok(n @ 1..) = master.read(&mut bytes) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        }
    });
    let mut from = 0;
    for (wanted, keys) in typed {
        let look = || {
            let seen = seen.lock().unwrap();
            seen[from..].find(wanted).map(|at| from + at + wanted.len())
        };
        from = until_or(wanted, look, || seen.lock().unwrap().clone());
        master.write_all(keys.as_bytes()).unwrap();
    }
    let status = child.wait().unwrap();
    reader.join().unwrap();
    let seen = seen.lock().unwrap().replace('\r', "");
    (status.code().unwrap_or(-1), seen)
}

fn sized() -> World {
    let world = World::new();
    world.flow("sized", SIZED);
    world
}

fn start_of(world: &World) -> serde_json::Value {
    world.facts(&world.latest())[0]["run_started"].clone()
}

#[test]
fn who_stops_at_a_question_has_no_run() {
    let world = sized();
    let args = ["run", "--flow", "sized", "--auto", "--effort", "L", "show the sum"];
    for keys in ["q", "\u{4}"] {
        let (code, seen) = at_a_terminal(&world, &args, &[("s stop", keys)]);
        assert_eq!(code, INTERRUPTED, "{seen}");
        has(&seen, &["stopped before the run started; nothing was created"]);
    }
    assert!(world.is_untouched());
}

#[test]
fn automatic_approvals_where_there_can_be_none_are_given_up_or_the_run_is() {
    let world = sized();
    let args = ["run", "--flow", "sized", "--auto", "--effort", "L", "show the sum"];
    let (code, seen) = at_a_terminal(&world, &args, &[("s stop", "s")]);
    assert_eq!(code, INTERRUPTED, "{seen}");
    assert!(world.is_untouched());
    let (code, seen) = at_a_terminal(&world, &args, &[("s stop", "c")]);
    assert_eq!(code, WAITS, "{seen}");
    has(
        &seen,
        &["`--auto` is not possible with sized at size L", "the run continues without `--auto`"],
    );
    assert_eq!(start_of(&world)["approvals"], "by_people");
}

#[test]
fn a_discussion_becomes_part_of_the_request_word_for_word() {
    let world = sized();
    let args = ["run", "--flow", "sized", "--effort", "S", "--discuss", "show the sum"];
    let typed = [
        ("what is not?", "only the list;\n  not the export\n\n"),
        ("must stay as it is?", "\n"),
        ("know it is done?", "the \"tests\" pass\n\n"),
    ];
    let (code, seen) = at_a_terminal(&world, &args, &typed);
    assert_eq!(code, DONE, "{seen}");
    assert_eq!(
        start_of(&world)["request"],
        "show the sum\n\n## Discussion\n\
         \nWhat is in scope, and what is not?\n\nonly the list;\n  not the export\n\
         \nHow will you know it is done?\n\nthe \"tests\" pass\n"
    );
}

#[test]
fn at_the_end_the_branch_follows_after_a_yes_and_only_then() {
    for (keys, follows) in [("n\n", false), ("y\n", true)] {
        let world = World::new();
        world.flow("landing", LANDING);
        world.write("forge.toml", "[verify]\ncommands = [\"true\"]\n");
        world.commit();
        world.git(&["checkout", "--quiet", "-b", "mine"]);
        let before = world.git(&["rev-parse", "mine"]);
        let args = ["run", "--flow", "landing", "--branch", "current", "show the sum"];
        let (code, seen) = at_a_terminal(&world, &args, &[("fast-forward mine", keys)]);
        assert_eq!(code, DONE, "{seen}");
        let branch = format!("forge/{}", world.latest());
        let result = world.git(&["rev-parse", &branch]);
        assert_ne!(result, before);
        let now = world.git(&["rev-parse", "mine"]);
        assert_eq!(now == result, follows, "{seen}");
        assert_eq!(now == before, !follows, "{seen}");
        assert_eq!(world.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    }
}

#[test]
fn where_nobody_can_say_yes_the_command_is_printed() {
    let world = World::new();
    world.flow("landing", LANDING);
    world.write("forge.toml", "[verify]\ncommands = [\"true\"]\n");
    world.commit();
    world.git(&["checkout", "--quiet", "-b", "mine"]);
    let before = world.git(&["rev-parse", "mine"]);
    let said = world.run("landing", &["--branch", "current"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &[&format!("fast-forward mine: git merge --ff-only forge/{}", world.latest())]);
    assert_eq!(world.git(&["rev-parse", "mine"]), before);
    world.write("README.md", "changed by hand\n");
    let said = world.run("landing", &["--branch", "current"]);
    has(&said.out, &["mine was not fast-forwarded: the checkout has changes", "git switch mine"]);
}
