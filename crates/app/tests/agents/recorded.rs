//! Streams that were recorded of the real Claude Code, played to Forge as they were printed: what each error is to the run, and what a person
//! is wanted to do next.
//!
//! Not here: what each stream comes to (`agents/tests/streams.rs`), and Claude Code itself (`claude`). One stream for each kind of end.

use serde_json::Value;

use crate::{
    mine::{ONE, program},
    world::{INTERRUPTED, Running, WAITS, World, has},
};

const STREAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agents/tests/transcripts/claude");

/// The run begins, and Claude Code prints a recorded stream.
fn begins(stream: &str) -> (World, Running) {
    let world = World::new();
    let path = world.beside("agent.sh");
    program(&path, &format!("cat > /dev/null; cat {STREAMS}/{stream}.jsonl; exit 1"));
    let command = path.display().to_string();
    world.write(
        "forge.toml",
        format!("agent = \"c\"\n[agents.c]\nlike = \"claude\"\ncommand = [{command:?}]\n"),
    );
    world.roles(&["worker"]);
    world.flow("one", ONE);
    let mut running = world.start(&["run", "--flow", "one", "do it"]);
    running.until_says("work started");
    // A fact is wanted only when it is durable.
    running.until_says("work ");
    (world, running)
}

/// How the first attempt ended.
fn outcome(world: &World, run: &str) -> Value {
    let facts = world.facts(run);
    let ended = facts.iter().find_map(|fact| fact.get("attempt_ended"));
    ended.expect("it has ended")["outcome"].clone()
}

#[test]
fn what_a_person_has_to_do_something_about_is_asked_and_not_tried_again() {
    for (stream, class, wanted) in [
        ("no-key", "no_access", &["The provider refuses access", "Not logged in", "Log in"][..]),
        ("403", "no_access", &["Failed to authenticate", "Log in"]),
        ("model-404", "no_access", &["issue with the selected model", "or switch model or agent"]),
        ("overflow", "context_overflow", &["is blocked", "Prompt is too long"]),
        ("max-tokens", "context_overflow", &["is blocked", "response exceeded"]),
    ] {
        let (world, running) = begins(stream);
        let said = running.end();
        assert_eq!(said.code, WAITS, "{stream}: {said}");
        let run = world.latest();
        let outcome = outcome(&world, &run);
        assert_eq!(outcome["blocked"]["class"], class, "{stream}: {outcome:#}");
        let view = world.view(&run);
        has(view["asked"][0]["text"].as_str().unwrap(), wanted);
        // What is too long is tried once with a stronger model.
        let attempts = if class == "context_overflow" { 2 } else { 1 };
        assert_eq!(view["units"][0]["attempt"], attempts, "{stream}");
        has(&world.ok(&["status", &run]), &["forge retry", "forge reject"]);
    }
}

#[test]
fn what_passes_by_itself_is_waited_for_and_is_nobodys_miss() {
    for (stream, wanted) in [
        ("429-plain", "Request rejected (429)"),
        ("500", "API Error: 500"),
        ("midstream", "Server error mid-response"),
        ("connection-refused", "API Error: "),
    ] {
        let (world, running) = begins(stream);
        let run = world.latest();
        let view = world.view(&run);
        assert_eq!((&view["standing"], &view["questions"]), (&"limited".into(), &0.into()));
        let until = outcome(&world, &run)["limited"]["until"].as_u64().expect("it waits");
        assert_eq!(view["until"], until, "{stream}");
        let log = world.ok(&["log", &run, "--json"]);
        let ended = log.lines().find(|line| line.contains("attempt_ended")).unwrap();
        let ended: Value = serde_json::from_str(ended).unwrap();
        let wait = until - ended["at"].as_u64().unwrap();
        assert!((29_000..=35_000).contains(&wait), "{stream}: half a minute first, not {wait} ms");
        has(&world.ok(&["status", &run]), &["limited until ", wanted]);
        world.ok(&["stop", &run]);
        assert_eq!(running.end().code, INTERRUPTED);
    }
}
