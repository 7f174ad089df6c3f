//! One agent's stream, as it comes and afterwards.

use std::{fs, process::Command};

use forge_api::watch::events::UnitEvent;
use rustix::process::Signal;
use scripted_model::{Script, ScriptStep, Server, ToolCall, claude::ClaudeCode};
use serde_json::{Value, json};

use crate::{
    goes::UNTIL_GO,
    reads::fits,
    world::{CONTENT, DONE, FORGE, INTERRUPTED, Running, WAITS, WRONG, World, finish, has, until},
};

/// A writer who says something and then waits, and a reviewer who says something.
fn slow() -> String {
    CONTENT
        .replacen(
            "role = \"writer\"",
            &format!("role = \"writer\"\nsay = [\"I think about it.\"]\nrun = \"{UNTIL_GO}\""),
            1,
        )
        .replacen("role = \"reviewer\"", "role = \"reviewer\"\nsay = [\"I read it.\"]", 1)
}

#[test]
fn what_an_agent_says_is_seen_while_it_works_and_who_looks_away_stops_nobody() {
    let world = World::new();
    world.scenario(&slow());
    let running = world.start(&["run", "do it", "--auto"]);
    let run = until("a run", || {
        world.database().exists().then(|| world.ids().first().cloned()).flatten()
    });
    world.until_agents_started(&run, 1);
    let mut first = world.start(&["watch", &run, "write"]);
    first.until_says("write · scripted");
    has(&first.until_says("I think"), &["says   I think about it."]);
    first.signal(Signal::INT);
    let said = first.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    has(&said.err, &["Stopped watching. The run continues."]);
    let mut second = world.start(&["watch", &run, "write"]);
    second.until_says("I think");
    world.go();
    second.until_says("done · $0.01 · 1.2k tokens");
    second.until_says("write: review · scripted");
    let line = second.until_says("I read it.");
    assert!(line.as_bytes()[2] == b':' && line.as_bytes()[5] == b':', "it has a time: {line}");
    second.until_says("write: review passed");
    let said = second.end();
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["write is done"]);
    assert_eq!(running.end().code, DONE);
}

#[test]
fn afterwards_the_last_attempt_is_told_from_its_beginning_in_every_form() {
    let world = World::new();
    world.scenario(&CONTENT.replacen(
        "role = \"writer\"",
        "role = \"writer\"\nsay = [\"first line\\nsecond \\u001b[31mline\\u001b[0m\\u0007\"]",
        1,
    ));
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    let said = world.ok(&["watch", &run, "write"]);
    has(&said, &["write · scripted", "says   first line\n                 second"]);
    has(&said, &["write needs your answer to Q1", "Next: forge status "]);
    assert!(!said.contains(['\u{1b}', '\u{7}']), "nothing steers the terminal: {said}");
    let transcript =
        |call: &str| fs::read_to_string(world.attempt(&run, call).join("transcript")).unwrap();
    let raw = world.ok(&["watch", &run, "write", "--raw"]);
    assert_eq!(raw, transcript("write#1") + &transcript("write#1/review#1"));
    assert_eq!(world.ok(&["watch", &run, "write#1", "--raw"]), transcript("write#1"));
    for line in world.ok(&["watch", &run, "write", "--json"]).lines() {
        fits(schemars::schema_for!(UnitEvent), &serde_json::from_str::<Value>(line).unwrap());
    }
    has(&world.ok(&["watch", &run, "write/review#1"]), &["write: review has ended"]);
}

#[test]
fn a_unit_is_named_by_any_part_that_is_its_own() {
    let world = World::new();
    world.roles(&["planner"]);
    world.flow(
        "each",
        "[[stage]]\nname = \"plan\"\nagent = \"planner\"\nlist = \"tasks\"\n\
         [[stage]]\nname = \"tasks\"\neach = \"tasks\"\n  [[stage.stage]]\n  name = \"work\"\n  command = \"echo I am $FORGE_CALL\"\n",
    );
    world.scenario("[[play]]\nrole = \"planner\"\nresult = { lists = { tasks = [{ id = \"A\", title = \"\" }, { id = \"B\", title = \"\" }] } }\n");
    assert_eq!(world.run("each", &[]).code, DONE);
    let run = world.latest();
    for name in ["B", "B/work", "tasks.B/work", "work#1/B", "tasks.B/work#1"] {
        let said = world.forge(&["watch", &run, name]);
        if name == "work#1/B" {
            assert_eq!(said.code, WRONG, "{said}");
        } else {
            assert_eq!(said.code, DONE, "{said}");
            has(&said.out, &["output I am tasks.B/work#1", "exit code 0"]);
        }
    }
    let refused = world.refused(&["watch", &run, "work"]);
    has(&refused, &["`work` can be A/work, B/work", "help: forge watch"]);
    has(
        &world.refused(&["watch", &run, "wort"]),
        &["has no task or stage `wort`", "help: forge status"],
    );
    has(&world.refused(&["watch", &run, "plan#7"]), &["has not started `plan#7`", "`plan#1`?"]);
    has(&world.refused(&["watch", "nope", "plan"]), &["no run `nope`"]);
}

#[test]
fn a_run_that_nobody_drives_is_not_waited_for() {
    let world = World::new();
    world.scenario(&slow());
    let mut running = world.start(&["run", "do it"]);
    running.until_says("write started");
    let run = world.latest();
    world.until_agents_started(&run, 1);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, -9);
    let mut watch = world.start(&["watch", &run, "write"]);
    watch.until_says("I think");
    world.go();
    let said = watch.end();
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["done · $0.01", "the run is not running", "Next: forge resume "]);
    assert_eq!(world.forge(&["resume", &run]).code, WAITS);
}

#[test]
fn a_large_transcript_is_never_in_memory_as_a_whole() {
    let world = World::new();
    world.scenario(&CONTENT.replacen(
        "role = \"writer\"",
        "role = \"writer\"\nhuge_output_bytes = 24000000",
        1,
    ));
    world.write("forge.local.toml", "limits.output_mib = 128\n");
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    for more in ["", "--raw"] {
        // Of its own memory it gets less than the transcript has.
        let line = format!("ulimit -d 16384; exec {FORGE} watch {run} write {more} | wc -c");
        let mut shell = Command::new("/bin/sh");
        world.surround(&mut shell);
        let said = finish(shell.args(["-c", &line]).current_dir(&world.repo));
        let bytes: usize = said.out.trim().parse().unwrap();
        assert!(bytes > if more.is_empty() { 1_000 } else { 24_000_000 }, "{more} {said}");
    }
}

#[test]
fn the_real_claude_is_seen_at_work() {
    let Some(claude) = ClaudeCode::find("claude is watched at work") else { return };
    let world = World::new();
    world.roles(&["writer"]);
    world.flow("one", "[[stage]]\nname = \"look\"\nagent = \"writer\"\n");
    let program = claude.program();
    world.write(
        "forge.local.toml",
        format!("[agents.claude]\ncommand = [{program:?}]\nmodel = \"claude-sonnet-4-5\"\n"),
    );
    let server = Server::start().unwrap();
    let answer = json!({"forge": 1, "attempt": "look#1", "status": "done", "summary": "looked"});
    let key = server.key(
        "watch",
        Script::new([
            ScriptStep::call(ToolCall::bash("cat README.md")).saying("I look around."),
            ScriptStep::call(ToolCall::answer(answer)).wait_for("watched"),
        ]),
    );
    let mut run = world.command(&["run", "--flow", "one", "--agent", "claude", "look at it"]);
    run.env("ANTHROPIC_BASE_URL", key.url()).env("ANTHROPIC_API_KEY", "sk-ant-made-up");
    let running = Running::of(&mut run);
    key.wait_until_reached("watched");
    let id = world.latest();
    let mut watch = world.start(&["watch", &id, "look"]);
    watch.until_says("look · claude · claude-sonnet-4-5");
    has(&watch.until_says("version 2.1"), &["model claude-sonnet-4-5, version 2.1.325"]);
    watch.until_says("says   I look around.");
    has(&watch.until_says("cat README.md"), &["tool   Bash"]);
    key.release("watched");
    watch.until_says("done · $0.0");
    assert_eq!(watch.end().code, DONE);
    assert_eq!(running.end().code, DONE);
    key.finish();
}
