//! What is said on the command line.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use super::world::{CONTENT, DONE, WAITS, WRONG, World, has};

#[test]
fn amounts_that_are_none_are_refused() {
    let world = World::new();
    world.scenario(CONTENT);
    for amount in [
        "abc",
        "0",
        "0.0",
        "-1",
        "NaN",
        "inf",
        "1e3",
        "",
        " ",
        "1.2.3",
        "0.0000001",
        "99999999999999999999",
        "1,5",
        "£3",
    ] {
        let said = world.refused(&["run", "do it", &format!("--budget={amount}")]);
        has(&said, &["error: ", amount, "dollars", "help: forge run", "--budget=2.50"]);
        world.refused(&["run", "do it", "--budget", amount]);
    }
    assert!(world.is_untouched());
    assert_eq!(
        world.forge(&["run", "--auto", "do it", "--budget", "$2.5"]).code,
        DONE,
        "a dollar sign does no harm"
    );
}

#[test]
fn params_that_are_none_are_refused() {
    let world = World::new();
    world.flow("p", "[params]\nsize = { values = [\"S\"], default = \"S\" }\n[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    for (param, expected) in [
        ("size", "has no `=`"),
        ("=S", "no parameter ``"),
        ("size=", "can be S, not ``"),
        ("size=S=S", "not `S=S`"),
        ("Size=S", "no parameter `Size`"),
    ] {
        has(
            &world.refused(&["run", "--flow", "p", "do it", "--param", param]),
            &["error: ", expected, "help: "],
        );
    }
    has(
        &world.refused(&["run", "--flow", "p", "do it", "--param", "size=S", "--param", "size=S"]),
        &["`size` is given twice"],
    );
    has(&world.refused(&["run", "do it", "--param", "size=S"]), &["error: "]);
    assert!(world.is_untouched());
}

#[test]
fn requests_that_say_nothing_are_refused() {
    let world = World::new();
    world.scenario(CONTENT);
    for request in ["", " ", "\n\t\n"] {
        has(&world.refused(&["run", request]), &["the request is empty", "help: forge run"]);
    }
    assert_eq!(world.forge(&["run"]).code, WRONG);
    assert_eq!(world.forge(&["run", "two", "requests"]).code, WRONG);
    assert!(world.is_untouched());
}

#[test]
fn any_other_request_is_taken_as_it_is() {
    let world = World::new();
    world.scenario(CONTENT);
    let odd = [
        "../../etc/passwd",
        "日本語で書いて",
        "a & b; $(c)",
        "--help me",
        "\u{1b}[31mred",
        &"x".repeat(100_000),
    ];
    for request in odd {
        let said = world.forge(&["run", "--auto", "--", request]);
        assert_eq!(said.code, DONE, "{said}");
        let run = world.latest();
        assert_eq!(world.view(&run)["request"], request);
        assert!(
            run.len() <= 54 && run.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'),
            "{run}"
        );
        let shown = world.ok(&["status", &run]);
        assert!(
            !shown.contains('\x1b'),
            "what somebody wrote does not steer the terminal: {shown:?}"
        );
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80 || line.contains("folder")),
            "{shown}"
        );
    }
}

#[test]
fn ids_that_lead_elsewhere_are_refused_by_every_command() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.forge(&["run", "do it"]).code, WAITS);
    for id in [
        "../x",
        "/etc",
        "..",
        ".",
        "",
        "a/b",
        "a\\b",
        "%",
        "*",
        "20_",
        "2026'; drop table runs; --",
        "-x",
    ] {
        for args in [
            vec!["status", "--", id],
            vec!["log", "--", id],
            vec!["resume", "--", id],
            vec!["pause", "--", id],
            vec!["stop", "--", id],
            vec!["abandon", "--", id],
            vec!["answer", "--", id, "Q1", "approve"],
        ] {
            let said = world.refused(&args);
            has(&said, &["error: ", "help: forge status"]);
        }
    }
    let folders = std::fs::read_dir(world.place().join("runs")).unwrap().count();
    assert_eq!(folders, 1, "no folder was made for any of them");
    assert!(!world.repo.join(".git/forge/x").exists() && !world.repo.join(".git/x").exists());
}

#[test]
fn words_that_are_not_utf8_are_refused_and_not_guessed() {
    let world = World::new();
    world.scenario(CONTENT);
    let odd = OsStr::from_bytes(b"caf\xe9");
    for args in [
        vec![OsStr::new("run"), odd],
        vec![OsStr::new("status"), odd],
        vec![odd],
        vec![OsStr::new("flow"), OsStr::new("show"), odd],
    ] {
        let said = world.forge(&args);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &["error: "]);
    }
    assert!(world.is_untouched());
    // A path may be anything.
    let path = world.repo.join(odd);
    std::fs::write(&path, CONTENT).unwrap();
    let said = world.forge(&[
        OsStr::new("run"),
        OsStr::new("--auto"),
        OsStr::new("--scenario"),
        path.as_os_str(),
        OsStr::new("do it"),
    ]);
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn commands_and_options_that_do_not_exist_are_refused_with_the_nearest() {
    let world = World::new();
    has(&world.refused(&["statu"]), &["status"]);
    has(&world.refused(&["run", "do it", "--buget", "3"]), &["--budget"]);
    has(&world.refused(&["doctor", "--rebuild", "--salvage", "x"]), &["cannot be used with"]);
    assert!(world.is_untouched());
}

/// What moves a cursor, or turns the text around.
fn steers(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}'
}

#[test]
fn what_agents_and_people_say_steers_nobody_who_reads_summary_offer_and_commits() {
    let world = World::new();
    let evil = "\\u001b[2J \\u009b31m \\u202egood \\rday";
    world.write(".forge/roles/worker.md", "+++\ncode = \"writes\"\n+++\nYou work.\n");
    world.roles(&["planner"]);
    world.write("check.sh", "true\n");
    world.write(
        "forge.toml",
        "[agents.scripted]\nscenario = \"play.toml\"\n[verify]\ncommands = [\"sh check.sh\"]\n",
    );
    world.flow(
        "offered",
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\nwrites = [\"design.md\"]\n\
         [[stage]]\nname = \"build\"\neach = \"tasks\"\n\
         [[stage.stage]]\nname = \"make\"\nagent = \"worker\"\n\
         gates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n\
         [[stage]]\nname = \"offer\"\ndeliver = \"pull-request\"\nreads = [\"request.md\", \"design.md\"]\n\
         [[stage]]\nname = \"sum\"\ndeliver = \"summary\"\nwrites = [\"summary.md\"]\n\
         [[stage]]\nname = \"record\"\ndeliver = \"commit\"\n",
    );
    world.scenario(&format!(
        "[[play]]\nrole = \"planner\"\nartifacts = {{ \"design.md\" = \"{evil}\" }}\n\
         result = {{ summary = \"{evil}\", shown = {{ title = \"T {evil}\", approach = \"{evil}\", risk = \"low\" }}, \
         lists = {{ tasks = [{{ id = \"T1\", title = \"One {evil}\" }}] }} }}\n\
         [[play]]\nfiles = {{ \"b.txt\" = \"b\\n\" }}\n\
         result = {{ summary = \"{evil}\", commit = \"Add b {evil}\\n\\nAnd {evil}\", findings = [\
         {{ severity = \"minor\", path = \"b.txt\", what = \"small {evil}\" }}], follow_ups = [\"later {evil}\"] }}\n"
    ));
    world.git(&["add", "check.sh"]);
    world.git(&["commit", "--quiet", "-m", "a check"]);
    let said = world.forge(&["run", "--flow", "offered", "make \u{1b}[31mred \u{9b}1m \u{202e}it"]);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let branch = format!("refs/forge/{run}/head");
    let messages = world.git(&["log", "--format=%B", &format!("main..{branch}")]);
    has(&messages, &["Add b ", "And "]);
    let file = |name: &str| world.git(&["show", &format!("{branch}:.forge/runs/{run}/{name}")]);
    let summary = file("summary.md");
    has(&summary, &["| T1 | One ", "small ", "later ", "make "]);
    let folder = world.place().join("runs").join(&run);
    let live = std::fs::read_to_string(folder.join("summary.md")).unwrap();
    let offer = std::fs::read_to_string(folder.join("delivery/001/pull-request.md")).unwrap();
    has(&offer, &["# T ", "| T1 | One ", "small ", "make "]);
    let title = world.git(&["log", "--format=%s", &format!("main..{branch}")]);
    for text in [messages, title, summary, live, offer] {
        assert!(!text.contains(steers), "{text:?}");
    }
}

#[test]
fn what_an_agent_says_does_not_steer_the_terminal() {
    let world = World::new();
    let evil = "\\u001b[2J\\u001b]0;owned\\u0007 \\u009b31m \\u202egood";
    world.scenario(&CONTENT.replace("wrote a draft", evil).replace("one page", evil));
    let said = world.forge(&["run", "do it"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    for text in [said.all(), world.ok(&["status", &run]), world.ok(&["log", &run])] {
        assert!(!text.contains(steers), "{text:?}");
    }
    // Programs get what was said.
    assert_eq!(
        world.view(&run)["asked"][0]["summary"].as_str().unwrap().chars().next(),
        Some('\u{1b}')
    );
}
