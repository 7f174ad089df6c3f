//! The first run of a person who has set nothing: one command, the agent that is there, the default budget, a clean
//! branch, a card at the end.

use std::{ffi::OsString, fmt::Write as _, fs, process::Command};

use crate::{
    mine,
    world::{DONE, Running, Said, WRONG, World, finish, has},
};

/// Makes one small change and reviews it.
const QUICK: &str = r#"
cat > /dev/null
case "$FORGE_ROLE" in
implementer) echo one > one.txt; result 'made one' '"commit":"Add one"' ;;
reviewer) echo good > "$FORGE_OUTBOX/review.md"; result 'it is good' '"verdict":"pass","findings":[]' ;;
esac
"#;

/// A repository with checks that can be found, and a person whose own settings know these agents and no more.
fn world(agents: &[&str]) -> World {
    let world = World::new();
    world.write("Makefile", "test:\n\tcat one.txt\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "checks"]);
    let mut settings = String::new();
    for name in agents {
        let path = world.beside(&format!("{name}.sh"));
        mine::program(&path, QUICK);
        let path = path.to_str().unwrap();
        let _ = write!(settings, "[agents.{name}]\ncommand = [\"{path}\"]\n");
    }
    fs::write(world.user_file(), settings).unwrap();
    world
}

/// The program with default settings, on a machine without any agent that Forge knows by name.
fn forge(world: &World, args: &[&str]) -> Command {
    let mut command = world.command_as_it_is(args);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let known = ["claude", "codex", "opencode", "gemini"];
    let without = std::env::split_paths(&path)
        .filter(|folder| !known.iter().any(|name| folder.join(name).exists()));
    command.env("PATH", std::env::join_paths(without).unwrap_or_else(|_| OsString::new()));
    command
}

fn run(world: &World, args: &[&str]) -> Said {
    finish(&mut forge(world, args))
}

#[test]
fn a_request_alone_is_a_run_with_the_only_agent_the_found_checks_and_the_default_budget() {
    let world = world(&["mine"]);
    finish(&mut forge(&world, &["config", "set", "--user", "flow", "quick"]));
    let said = run(&world, &["add a file with one line"]);
    assert_eq!(said.code, DONE, "{said}");
    has(
        &said.err,
        &[
            "Agent    mine, the only one found; change it with: forge agents use NAME",
            "Checks   make test (found in the project)",
            "Budget   stops at $10 or after 60 calls of unknown price (default; change it",
            "Estimate 2 calls",
            "(rough, no earlier runs of this flow)",
        ],
    );
    let run = world.latest();
    let id = run.rsplit('-').next().unwrap();
    let branch = format!("forge/add-a-file-with-one-line-{id}");
    let card: Vec<&str> = said.out.lines().rev().take_while(|line| !line.is_empty()).collect();
    assert!(card.len() <= 6, "{said}");
    has(
        &said.out,
        &[
            "✓ Done · ",
            &format!("Branch  {branch} · 1 file +1 -0"),
            "Checks  ✓ make test",
            &format!(
                "Next    forge diff {id} · forge merge {id} · forge pr {id} · forge show {id}"
            ),
        ],
    );
    assert_eq!(world.git(&["diff", "--name-only", &format!("main..{branch}")]), "one.txt");
    // The next one knows what such a run takes here.
    let said = run_again(&world);
    has(&said.err, &["Estimate 2 calls · 1m (from 1 earlier run)"]);
}

fn run_again(world: &World) -> Said {
    run(world, &["add another file with one line"])
}

#[test]
fn a_single_unknown_word_is_no_request() {
    let world = world(&["mine"]);
    for word in ["export", "statsu", "fix"] {
        let said = run(&world, &[word]);
        assert_eq!(said.code, WRONG, "{said}");
    }
    assert!(world.is_untouched());
}

#[test]
fn where_several_agents_are_installed_nobody_is_taken_unasked() {
    let world = world(&["mine", "other"]);
    let said = run(&world, &["run", "--quick", "add a file with one line"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["mine, other", "forge agents use mine", "--agent mine"]);
    assert!(world.is_untouched());
    let said = run(&world, &["run", "--quick", "--agent", "other", "add a file with one line"]);
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn a_program_that_is_too_old_is_not_one_of_several() {
    let world = world(&["mine"]);
    let said = |version: &str| {
        let folder = world.beside("programs");
        fs::create_dir_all(&folder).unwrap();
        let text = format!("#!/bin/sh\necho 'codex-cli {version}'\n");
        fs::write(folder.join("codex"), text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.join("codex"), mode).unwrap();
        let mut command = forge(&world, &["run", "--quick", "add a file with one line"]);
        let paths =
            std::env::join_paths([folder.into_os_string(), "/usr/bin".into(), "/bin".into()]);
        finish(command.env("PATH", paths.unwrap()))
    };
    let both = said("0.166.0");
    assert_eq!(both.code, WRONG, "{both}");
    has(&both.err, &["codex, mine"]);
    let only = said("0.1.0");
    assert_eq!(only.code, DONE, "{only}");
}

#[test]
fn without_any_agent_a_run_says_how_to_get_one() {
    let world = world(&[]);
    let said = run(&world, &["add a file with one line"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["no usable agent is installed", "forge agents"]);
    assert!(world.is_untouched());
}

#[test]
fn a_request_is_read_from_a_file_and_from_standard_input() {
    let world = world(&["mine"]);
    world.write("request.md", "add a file with one line\n");
    let said = run(&world, &["run", "--quick", "-F", "request.md"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.view(&world.latest())["request"], "add a file with one line");
    let mut command = forge(&world, &["run", "--quick", "-"]);
    command.stdin(fs::File::open(world.repo.join("request.md")).unwrap());
    let said = Running::of(&mut command).end();
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.view(&world.latest())["request"], "add a file with one line");
}

#[test]
fn a_result_that_nothing_checked_says_so_first() {
    let world = world(&["mine"]);
    world.git(&["rm", "--quiet", "Makefile"]);
    world.git(&["commit", "--quiet", "-m", "no checks"]);
    let said = run(&world, &["run", "--quick", "add a file with one line"]);
    has(&said.err, &["Checks   none found: you are asked before an unverified result is merged"]);
    has(&said.out, &["? Needs you · "]);
}
