//! Completions and manual pages: whatever the help knows is in them.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use crate::{
    looks::COMMANDS,
    unnamed::short,
    world::{CONTENT, FORGE, WAITS, World, has},
};

/// Gives a program a text to read, and what it said about it. Nothing, if it is not there.
fn reads(program: &str, args: &[&str], text: &str) -> Option<(bool, String)> {
    let mut command = Command::new(program);
    // The sizes of families of tests set nothing.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FORGE_") {
            command.env_remove(name);
        }
    }
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn every_shell_gets_a_script_that_knows_every_command() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.ok(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{command} is completed in {shell}");
        }
        has(&script, &["budget", "no-try"]);
        assert!(!script.contains("__keep"), "nobody calls our own processes");
        let parser = ["bash", "zsh", "fish"].into_iter().find(|parser| *parser == shell);
        if let Some(parser) = parser
            && let Some((is_right, said)) = reads(parser, &["-n"], &script)
        {
            assert!(is_right, "{parser} -n: {said}");
        }
    }
    let refused = world.refused(&["completions", "tcsh"]);
    has(&refused, &["tcsh", "powershell"]);
}

#[test]
fn bash_completes_a_command_an_option_and_the_names_of_runs_stages_flows_and_agents() {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    let id = short(&run);
    let script = world.ok(&["completions", "bash"]);
    let ask = |words: &str, at: usize| {
        let words = words.replacen("forge", FORGE, 1);
        let ask = format!(
            "{script}\nCOMP_WORDS=({words})\nCOMP_CWORD={at}\n_forge_names {FORGE} \"${{COMP_WORDS[{at}]}}\" \"\"\necho \"${{COMPREPLY[@]}}\"\n"
        );
        let place = format!("cd {}\n", world.repo.display());
        let (is_right, said) =
            reads("bash", &["--norc", "-s"], &(place + &ask)).expect("bash is there");
        assert!(is_right, "{said}");
        said
    };
    has(&ask("forge docto", 1), &["doctor"]);
    has(&ask("forge run --bud", 2), &["--budget"]);
    assert_eq!(ask("forge show ''", 2).trim(), id);
    assert_eq!(ask(&format!("forge approve {}", &id[..2]), 2).trim(), id);
    has(&ask(&format!("forge show {id} ''"), 3), &["draft.md", "write"]);
    has(&ask("forge run --flow ''", 3), &["draft", "feature"]);
    has(&ask("forge agents use ''", 3), &["claude", "scripted"]);
    has(&ask("forge config get limits.b", 3), &["limits.budget"]);
    assert_eq!(ask("forge pause ''", 2).trim(), id);
    assert!(!ask("forge resume --budget ''", 3).contains('['), "no placeholders are offered");
}

#[test]
fn every_command_has_a_manual_page_with_its_options() {
    let world = World::new();
    let dir = world.beside("man1");
    let said = world.ok(&["man", "--dir", dir.to_str().unwrap()]);
    let n = fs::read_dir(&dir).unwrap().count();
    has(&said, &[&format!("wrote {n} pages")]);
    let page = |name: &str| fs::read_to_string(dir.join(format!("{name}.1"))).unwrap();
    let first = page("forge");
    assert_eq!(first, world.ok(&["man"]), "the first page is the one that is printed");
    has(&first, &[".TH forge 1", ".SH NAME", ".SH SYNOPSIS", ".SH SUBCOMMANDS", "Exit codes"]);
    for command in COMMANDS {
        assert!(first.contains(&format!("forge\\-{command}(1)")), "{command}:\n{first}");
        let page = page(&format!("forge-{command}"));
        has(&page, &[&format!(".TH forge-{command} 1"), ".SH NAME", ".SH OPTIONS"]);
        if let Some((is_right, said)) = reads("man", &["-l", "-"], &page) {
            assert!(is_right, "man -l: {said}");
        }
    }
    has(&page("forge-config-set"), &[".SH SYNOPSIS", "local"]);
}
