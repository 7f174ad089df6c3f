//! How it all looks, as snapshots. Ids, times and paths are taken out; all else is a promise.
//!
//! After a change that is wanted: `INSTA_UPDATE=always cargo test -p forge --test commands looks`,
//! and read the difference.

use std::{fmt::Write as _, fs};

use crate::world::{CONTENT, DONE, WAITS, World};

fn waiting() -> (World, String) {
    let world = World::new();
    let findings = CONTENT.replace(
        "findings = []",
        "findings = [{ severity = \"minor\", path = \"draft.md\", line = 1, what = \"the title is bland\" }]",
    );
    world.scenario(&findings);
    let said = world.forge(&["run", "Write about queues", "--budget", "2"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    (world, run)
}

pub(crate) const COMMANDS: [&str; 45] = [
    "demo",
    "init",
    "run",
    "resume",
    "attach",
    "status",
    "show",
    "log",
    "watch",
    "brief",
    "approve",
    "revise",
    "reject",
    "retry",
    "override",
    "answer",
    "pause",
    "stop",
    "edit",
    "rewind",
    "abandon",
    "diff",
    "open",
    "merge",
    "pr",
    "undo",
    "clean",
    "stats",
    "feature",
    "sprint",
    "task",
    "bug",
    "work",
    "verdict",
    "gate",
    "import",
    "hook",
    "flow",
    "agents",
    "config",
    "doctor",
    "completions",
    "man",
    "help",
    "version",
];

#[test]
fn the_help_of_every_command() {
    let world = World::new();
    let help = world.ok(&["--help"]);
    for command in COMMANDS {
        let is_listed = help.lines().any(|line| {
            line.strip_prefix("  ").is_some_and(|line| {
                line.starts_with(&format!("{command} "))
                    || line.starts_with(&format!("{command}, "))
            })
        });
        assert!(is_listed, "{command} is in the help");
    }
    insta::assert_snapshot!("help-short", world.ok(&["-h"]));
    assert_eq!(world.ok(&["help"]), help);
    assert_eq!(world.ok(&["help", "run"]), world.ok(&["run", "--help"]));
    assert_eq!(world.ok(&["help", "config", "set"]), world.ok(&["config", "set", "--help"]));
    assert_eq!(world.ok(&["version"]), world.ok(&["--version"]));
    for command in COMMANDS.into_iter().chain([""]) {
        let args: Vec<&str> =
            [command, "--help"].into_iter().filter(|arg| !arg.is_empty()).collect();
        for line in world.ok(&args).lines() {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
}

/// Commands that have commands of their own.
const INNER: [(&str, &[&str]); 11] = [
    ("feature", &["new", "list", "show", "set", "move", "retire"]),
    ("sprint", &["new", "list", "show", "set", "move", "retire", "block", "unblock"]),
    ("task", &["new", "list", "show", "set", "move", "retire", "block", "unblock"]),
    ("bug", &["new", "list", "show", "set", "move", "retire"]),
    ("stats", &["friction"]),
    ("work", &["check", "pages", "write"]),
    ("gate", &["check"]),
    ("hook", &["write", "allow"]),
    ("flow", &["list", "show", "check"]),
    ("agents", &["check", "use"]),
    ("config", &["get", "list", "explain", "set", "unset", "edit", "path", "schema", "allow"]),
];

/// `cargo xtask schemas` writes the page.
#[test]
fn the_reference_of_the_commands_is_what_their_help_says() {
    let world = World::new();
    let mut text = format!(
        "# Commands\n\nMade from `forge help` by `cargo xtask schemas`; do not edit.\n\n```text\n{}```\n",
        world.ok(&["--help"])
    );
    let mut push = |words: &[&str]| {
        let help = world.ok(&[words, &["--help"]].concat());
        writeln!(text, "\n## forge {}\n\n```text\n{help}```", words.join(" ")).unwrap();
    };
    for command in COMMANDS {
        push(&[command]);
        for inner in INNER.iter().filter(|(outer, _)| *outer == command).flat_map(|(_, all)| *all) {
            push(&[command, inner]);
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
    if std::env::var_os("FORGE_WRITE_SCHEMAS").is_some() {
        fs::write(path, &text).unwrap();
    }
    let page = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(page, text, "docs/reference/cli.md is behind: cargo xtask schemas");
}

#[test]
fn a_run_that_waits_at_a_checkpoint() {
    let (world, run) = waiting();
    insta::assert_snapshot!("status-run", world.redact(&world.ok(&["status", &run])));
    insta::assert_snapshot!("status", world.redact(&world.ok(&["status"])));
    insta::assert_snapshot!("status-json", world.redact(&world.ok(&["status", "--json"])));
    insta::assert_snapshot!(
        "status-run-json",
        world.redact(&world.ok(&["status", &run, "--json"]))
    );
    insta::assert_snapshot!("log", world.redact(&world.ok(&["log", &run])));
    let state = fs::read_to_string(world.place().join(format!("runs/{run}/state.json"))).unwrap();
    insta::assert_snapshot!("state", world.redact(&state));
    insta::assert_snapshot!("answer", world.redact(&world.ok(&["answer", &run, "Q1", "approve"])));
}

#[test]
fn a_run_from_its_start_to_a_checkpoint_and_from_there_to_its_end() {
    let world = World::new();
    world.scenario(CONTENT);
    let said = world.forge(&["run", "Write about queues"]);
    assert_eq!(said.code, WAITS, "{said}");
    insta::assert_snapshot!("run", world.redact(&said.all()));
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "approve"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    insta::assert_snapshot!("resume", world.redact(&said.all()));
}

#[test]
fn the_brief_that_an_agent_gets() {
    let (world, run) = waiting();
    world.ok(&["answer", &run, "Q1", "revise", "Shorter, please."]);
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
    insta::assert_snapshot!("brief-writer", world.redact(&world.brief(&run, "write#2")));
    insta::assert_snapshot!("brief-reviewer", world.redact(&world.brief(&run, "write#2/review#1")));
}

#[test]
fn a_flow_that_is_shown_and_a_doctor_who_is_content() {
    let (world, _) = waiting();
    insta::assert_snapshot!("flow-show-draft", world.ok(&["flow", "show", "draft"]));
    insta::assert_snapshot!("flow-list", world.ok(&["flow", "list"]));
    let doctor = world.ok(&["doctor"]);
    // What is another on another machine.
    let is_local = |line: &&str| line.contains("git version") || line.contains("are free on the");
    let doctor: Vec<&str> = doctor.lines().filter(|line| !is_local(line)).collect();
    insta::assert_snapshot!("doctor", world.redact(&doctor.join("\n")));
}

#[test]
fn settings_that_are_listed_and_one_that_is_explained() {
    let world = World::new();
    fs::remove_file(world.user_file()).unwrap();
    world.write(
        "forge.toml",
        "[limits]\ncall_budget = \"20\"\n[verify]\ncommands = [\"cargo test\"]\n",
    );
    world.write("forge.local.toml", "# mine\nlimits.call_budget = \"2\"\n[agents.mine]\ncommand = [\"/a.sh\", \"--fast\"]\n[roles.reviewer]\nagent = \"mine\"\n");
    insta::assert_snapshot!("config-list", world.redact(&world.ok(&["config", "list"])));
    let explained = world.ok(&["config", "explain", "limits.call_budget"]);
    insta::assert_snapshot!("config-explain", world.redact(&explained));
    let explained = world.ok(&["config", "explain", "agents.mine.command"]);
    insta::assert_snapshot!("config-explain-table", world.redact(&explained));
}
