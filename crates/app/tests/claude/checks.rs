//! `forge agents check claude`: one tiny real call, and in words what is wrong.

use std::fs;

use scripted_model::{AnswerEnding, Script, ScriptStep, ToolCall, claude::Credential};
use serde_json::{Value, json};

use crate::{
    stage::{MODEL, Stage},
    world::{DONE, Said, finish, has},
};

/// Checks the agent.
fn check(stage: &Stage, more: &[&str]) -> Said {
    let tmp = stage.world.beside("tmp");
    fs::create_dir_all(&tmp).unwrap();
    let args = [&["agents", "check", "claude", "--allow"], more].concat();
    let said = finish(stage.command_at(stage.key.url(), &args).env("TMPDIR", &tmp));
    assert_eq!(stage.left_over(), [], "nobody is left");
    said
}

#[test]
fn an_agent_that_answers_is_said_to_answer_with_version_model_and_price() {
    let ready = json!({"forge": 1, "attempt": "check#1", "status": "done", "summary": "ready"});
    let Some(stage) = Stage::solo(Script::new([ScriptStep::call(ToolCall::answer(ready))])) else {
        return;
    };
    let words = check(&stage, &[]);
    assert_eq!(words.code, DONE, "{words}");
    has(&words.all(), &["works", MODEL, "<$0.01"]);
    let checked: Value = serde_json::from_str(&check(&stage, &["--json"]).out).unwrap();
    assert_eq!(checked["state"], "ready", "{checked:#}");
    assert_eq!(checked["model"], MODEL);
    has(checked["version"].as_str().unwrap(), &["2.1."]);
    assert_eq!(fs::read_dir(stage.world.beside("tmp")).unwrap().count(), 0, "nothing is left");
    assert_eq!(stage.key.finish().len(), 2);
}

/// What is checked of a call that fails, and what a person is checked to do.
fn check_says(script: Script, who: Credential, wanted: &[&str]) {
    let Some(stage) = Stage::of(script, who) else { return };
    let said = check(&stage, &[]);
    assert_ne!(said.code, DONE, "{said}");
    has(&said.all(), wanted);
    stage.key.finish();
}

#[test]
fn who_is_not_logged_in_is_told_how_to() {
    check_says(Script::default(), Credential::Missing, &["is not logged in", "/login"]);
}

#[test]
fn a_wrong_model_is_named() {
    let script = Script::new([ScriptStep::status(404, "model: claude-sonnet-4-5")]);
    check_says(script, Credential::ApiKey, &["cannot use this model", MODEL]);
}

#[test]
fn a_usage_window_says_until_when() {
    let script = Script::new([ScriptStep::usage_window("five_hour", 1_900_000_000)]);
    check_says(script, Credential::Subscription, &["has reached a limit", "2030-03-17"]);
}

#[test]
fn a_refusal_is_told_as_one() {
    let script = Script::new([ScriptStep::default().ending(AnswerEnding::Refusal)]);
    check_says(script, Credential::ApiKey, &["refuses the task"]);
}
