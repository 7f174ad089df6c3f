//! What is shown on a terminal: rendered, coloured and in pages; and as it is for programs.

use std::{env, fs, os::unix::fs::PermissionsExt as _, process::Command};

use crate::world::{CONTENT, DONE, FORGE, Said, World, finish, has};

const DOCUMENT: &str = r"# A **draft** with \u001b[31ma trick\u001b[0m\n\nSome `code` here.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";

fn drafted(document: &str) -> (World, String) {
    let world = World::new();
    world.scenario(&CONTENT.replace("# A draft\\n", document));
    assert_eq!(world.run("draft", &["--auto"]).code, DONE);
    let run = world.latest();
    (world, run)
}

/// Calls the program at a terminal of 24 lines.
fn at_a_terminal(world: &World, args: &str, variables: &[(&str, &str)]) -> Said {
    let mut script = Command::new("script");
    world.surround(&mut script);
    let line = format!("stty rows 24 cols 60; exec {FORGE} {args}");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").current_dir(&world.repo);
    script.envs(variables.iter().copied());
    let said = finish(&mut script);
    Said { out: said.out.replace('\r', ""), ..said }
}

#[test]
fn an_artifact_is_rendered_on_a_terminal_and_its_bytes_are_for_programs() {
    let (world, run) = drafted(DOCUMENT);
    let bytes = world.ok(&["show", &run, "draft.md"]);
    assert!(bytes.starts_with("# A **draft** with \u{1b}[31ma trick"), "{bytes}");
    let shown = at_a_terminal(&world, &format!("show {run} draft.md"), &[]).out;
    has(&shown, &["\u{1b}[1m", "draft", "code", "1 │ 2"]);
    assert!(!shown.contains("**") && !shown.contains("\u{1b}[31m"), "{shown}");
    let plain = at_a_terminal(&world, &format!("show {run} draft.md"), &[("NO_COLOR", "1")]).out;
    has(&plain, &["# A draft with", "1 │ 2"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
}

#[test]
fn the_manual_page_is_shown_by_man_or_as_plain_help_where_there_is_none() {
    let world = World::new();
    let man = |script: &str| {
        let program = world.beside("bin/man");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", world.beside("bin").display(), env::var("PATH").unwrap());
        at_a_terminal(&world, "man", &[("PATH", &path), ("PAGER", "cat")])
    };
    let said = man("echo \"man $*\"; grep -c '^.TH forge 1'");
    assert_eq!((said.code, said.out.as_str()), (DONE, "man -l -\n1\n"));
    let said = man("exit 3");
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["Usage: forge", "Exit codes"]);
    assert!(!said.out.contains(".TH"), "{said}");
}

#[test]
fn what_is_longer_than_the_screen_goes_through_the_pager_that_was_named() {
    let (world, run) = drafted(&"line\\n\\n".repeat(40));
    let pager = ("PAGER", "sed s/line/paged/");
    let show = format!("show {run} draft.md");
    has(&at_a_terminal(&world, &show, &[pager]).out, &["paged\n\npaged"]);
    for (args, variables) in [
        (format!("{show} --no-pager"), vec![pager]),
        (show.clone(), vec![pager, ("FORGE_PAGER", "cat")]),
        (show.clone(), vec![pager, ("FORGE_PAGER", "")]),
        (format!("show {run} review.md"), vec![pager]),
    ] {
        let said = at_a_terminal(&world, &args, &variables);
        assert!(!said.out.contains("paged") && said.code == 0, "{said}");
    }
    let mut piped = world.command(&["show", &run, "draft.md"]);
    assert!(!finish(piped.env("PAGER", "sed s/line/paged/")).out.contains("paged"));
    // The pager's own code is ours, and nothing is said twice.
    let said = at_a_terminal(&world, &show, &[("PAGER", "head -n 1; exit 7")]);
    assert_eq!((said.code, said.out.matches("line").count()), (7, 1), "{said}");
}

#[test]
fn a_log_is_in_pages_and_goes_by_if_it_is_followed() {
    let (world, run) = drafted("short\\n");
    let pager = [("PAGER", "sed s/^/P:/")];
    let log = at_a_terminal(&world, &format!("log {run}"), &pager).out;
    let lines = world.ok(&["log", &run]);
    assert!(lines.lines().count() > 3 && !lines.contains("P:"));
    assert_eq!(log.contains("P:"), log.lines().count() >= 24, "{log}");
    let followed = at_a_terminal(&world, &format!("log {run} --follow"), &pager).out;
    assert!(!followed.contains("P:"), "{followed}");
}
