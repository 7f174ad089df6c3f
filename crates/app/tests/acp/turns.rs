//! What becomes of the turns of real ACP agents.

use std::{fs, os::unix::fs::PermissionsExt as _};

use scripted_model::{Script, ScriptStep};
use serde_json::Value;

use crate::{
    schema::holds_ours,
    stage::{MODEL, RealAgent, Stage, protocol_package, rest, result},
    world::{DONE, Running, WAITS, World, has},
};

/// Steps of the call whose brief names it so.
fn call(name: &str, steps: impl IntoIterator<Item = ScriptStep>) -> Vec<ScriptStep> {
    let line = format!("attempt  \"{name}\"\n");
    steps.into_iter().map(|step| step.when_talk_contains(&line)).collect()
}

/// The worker makes a file by its own tool, and its note by a command.
fn work(agent: RealAgent) -> [ScriptStep; 2] {
    [
        ScriptStep::call(agent.write("${outbox}/note.md", "# A note\n")),
        ScriptStep::call(agent.shell("echo made > made.txt")).saying("I make it."),
    ]
}

fn plays_worker_and_reviewer(agent: RealAgent) {
    let [note, made] = work(agent);
    let script = Script::new(
        [
            call("work#1", [note, made, result(agent, ""), rest()]),
            call(
                "work#1/review#1",
                [
                    // It has no business there.
                    ScriptStep::call(agent.write("${here}/spoiled.txt", "spoiled")),
                    ScriptStep::call(agent.write("${outbox}/review.md", "good\n")),
                    result(agent, ",\"verdict\":\"pass\",\"findings\":[]"),
                    rest(),
                ],
            ),
        ]
        .concat(),
    );
    let Some(stage) = Stage::new(agent, script) else { return };
    let args = ["run", "--flow", "looked", "--auto", "do it"];
    let mut running = Running::of(&mut stage.command(&args));
    running.until_says("review started");
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    let run = stage.world.latest();
    let view = stage.world.view(&run);
    let made =
        stage.world.git(&["show", &format!("{}:made.txt", view["branch"].as_str().unwrap())]);
    assert_eq!(made, "made");
    let receipts = stage.receipts(&run);
    assert_eq!(receipts.len(), 2);
    for receipt in &receipts {
        assert!(receipt["session"].is_string(), "{receipt:#}");
        assert!(receipt["spent"]["cost"]["known"].as_u64() > Some(0), "{receipt:#}");
    }
    has(&receipts[1]["notes"].to_string(), &["it was not allowed", "edit: "]);
    assert_eq!(stage.left_over(), [], "nobody is left");
    let [ours, theirs] = stage.messages();
    holds_ours(&protocol_package().unwrap(), &ours, &theirs);
    stage.key.finish();
}

#[test]
fn claude_by_acp_plays_a_worker_and_a_reviewer_who_may_not_write() {
    plays_worker_and_reviewer(RealAgent::Claude);
}

#[test]
#[ignore = "only in full size"]
fn opencode_by_acp_plays_a_worker_and_a_reviewer_who_may_not_write() {
    plays_worker_and_reviewer(RealAgent::OpenCode);
}

fn mends_its_result(agent: RealAgent) {
    let [note, made] = work(agent);
    let mended = result(agent, "").when_talk_contains("I make it.");
    let script = Script::new([note, made, rest(), mended, rest()]);
    let Some(stage) = Stage::new(agent, script) else { return };
    let said = stage.forge(&["run", "--flow", "solo", "--auto", "do it"]);
    assert_eq!(said.code, DONE, "{said}");
    let receipts = stage.receipts(&stage.world.latest());
    assert_eq!(receipts.len(), 1, "one attempt with two turns");
    let methods: Vec<String> = stage.messages()[0]
        .iter()
        .filter_map(|message| Some(message["method"].as_str()?.to_owned()))
        .collect();
    assert_eq!(
        methods,
        [
            "initialize",
            "session/new",
            "session/prompt",
            "initialize",
            "session/load",
            "session/prompt"
        ]
    );
    stage.key.finish();
}

#[test]
#[ignore = "only in full size"]
fn claude_by_acp_mends_its_result_in_the_same_session() {
    mends_its_result(RealAgent::Claude);
}

#[test]
#[ignore = "only in full size"]
fn opencode_by_acp_mends_its_result_in_the_same_session() {
    mends_its_result(RealAgent::OpenCode);
}

fn goes_on_after_it_was_stopped(agent: RealAgent) {
    let [note, made] = work(agent);
    let again = made.clone().when_talk_contains("I make it.");
    let script =
        Script::new([note, made, rest().wait_for("stopped"), again, result(agent, ""), rest()]);
    let Some(stage) = Stage::new(agent, script) else { return };
    let mut running =
        Running::of(&mut stage.command(&["run", "--flow", "solo", "--auto", "do it"]));
    running.until_says("work started");
    let run = stage.world.latest();
    stage.key.wait_until_reached("stopped");
    let said = stage.forge(&["stop", &run]);
    assert_eq!(said.code, DONE, "{said}");
    running.end();
    assert_eq!(stage.left_over(), [], "nobody is left");
    stage.key.release("stopped");
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    let said = &stage.messages()[0];
    let of = |method: &str| said.iter().filter(|message| message["method"] == method).count();
    assert_eq!((of("session/new"), of("session/load")), (1, 1), "it is the same session");
    stage.key.finish();
}

#[test]
#[ignore = "only in full size"]
fn claude_by_acp_goes_on_in_its_session_after_it_was_stopped() {
    goes_on_after_it_was_stopped(RealAgent::Claude);
}

#[test]
#[ignore = "only in full size"]
fn opencode_by_acp_goes_on_in_its_session_after_it_was_stopped() {
    goes_on_after_it_was_stopped(RealAgent::OpenCode);
}

fn is_checked(agent: RealAgent, model: &str) {
    let script = Script::new([result(agent, ""), rest()]);
    let Some(stage) = Stage::new(agent, script) else { return };
    let said = stage.forge(&["agents", "check", "real", "--allow", "--model", model]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.all(), &["works", model]);
    let asked = stage.key.requests();
    let said = stage.forge(&["agents", "check", "real", "--allow", "--model", "no-such-model"]);
    assert_ne!(said.code, DONE, "{said}");
    let words = said.all().split_whitespace().collect::<Vec<_>>().join(" ");
    has(&words, &["cannot use this model", "no-such-model", "; the agent has: "]);
    assert_eq!(stage.key.finish().len(), asked.len(), "nothing was asked of a model");
}

#[test]
#[ignore = "only in full size"]
fn claude_by_acp_is_checked_with_a_model_of_its_own() {
    is_checked(RealAgent::Claude, "haiku");
}

#[test]
#[ignore = "only in full size"]
fn opencode_by_acp_is_checked_with_a_model_of_its_own() {
    is_checked(RealAgent::OpenCode, &format!("fake/{MODEL}"));
}

#[test]
fn an_agent_of_another_version_is_a_question_at_once_and_costs_nothing() {
    let world = World::new();
    let path = world.beside("old.sh");
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":0}}"#;
    fs::write(&path, format!("#!/bin/sh\nread line; echo '{answer}'; cat > /dev/null\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let settings =
        format!("agent = \"old\"\n[agents.old]\nacp = [{:?}]\n", path.display().to_string());
    world.write("forge.toml", settings);
    world.roles(&["worker"]);
    world.flow("one", "[[stage]]\nname = \"work\"\nagent = \"worker\"\n");
    let said = world.run("one", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.all(), &["speaks version 0 of the Agent Client Protocol"]);
    let facts = world.facts(&world.latest());
    let ended: Vec<&Value> = facts.iter().filter_map(|fact| fact.get("attempt_ended")).collect();
    assert_eq!(ended.len(), 1, "it is not tried again");
    assert_eq!(ended[0]["outcome"]["blocked"]["class"], "tooling_failure", "{:#}", ended[0]);
    assert_eq!(ended[0]["receipt"]["spent"]["cost"]["known"], 0);
}

fn waits_for_its_provider(agent: RealAgent) {
    let slow = ScriptStep::status(429, "slow down").header("retry-after", "1");
    let Some(stage) = Stage::new(agent, Script::new([slow])) else { return };
    let mut running =
        Running::of(&mut stage.command(&["run", "--flow", "solo", "--auto", "do it"]));
    running.until_says("work started");
    running.until_says("work ");
    let run = stage.world.latest();
    let facts = stage.world.facts(&run);
    let ended = facts.iter().find_map(|fact| fact.get("attempt_ended")).unwrap();
    assert!(ended["outcome"].get("limited").is_some(), "{ended:#}");
    stage.world.ok(&["stop", &run]);
    running.end();
    stage.key.finish();
}

#[test]
#[ignore = "only in full size"]
fn claude_by_acp_waits_for_a_provider_that_is_limited() {
    waits_for_its_provider(RealAgent::Claude);
}
