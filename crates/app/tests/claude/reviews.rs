//! A reviewer that is stopped, limited or locked out goes on by itself: the work that it looks at is not done again. What
//! it changes in the code is discarded.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use scripted_model::{Script, ScriptStep, ToolCall, claude::Credential};
use serde_json::{Value, json};

use crate::{
    stage::{Stage, answer, done, note},
    world::{DONE, INTERRUPTED, Running, Said, has},
};

/// The line of a brief by which a reviewer's steps are known.
const REVIEWER: &str = "You are the reviewer.";

/// The author does its work at once. Then comes the reviewer.
fn script(reviewer: impl IntoIterator<Item = ScriptStep>) -> Script {
    let author = [ScriptStep::call(ToolCall::bash("echo work > work.txt")), note(), done()];
    let author = author.map(|step| step.when_talk_contains("You are the worker."));
    let reviewer = reviewer.into_iter().map(|step| step.when_talk_contains(REVIEWER));
    Script::new(author.into_iter().chain(reviewer)).fail_after_last()
}

fn review() -> ScriptStep {
    ScriptStep::call(ToolCall::write("${outbox}/review.md", "PASS\n"))
}

fn pass() -> ScriptStep {
    answer(json!({"summary": "good", "verdict": "pass", "findings": []}))
}

fn start(stage: &Stage) -> Running {
    let args = ["run", "--flow", "looked", "do it"];
    Running::of(&mut stage.command_at(stage.key.url(), &args))
}

/// The looks of the reviewer: each with its ruling and its receipt.
fn looks(stage: &Stage, run: &str) -> Vec<Value> {
    let facts = stage.world.facts(run);
    let judged = facts.iter().filter_map(|fact| fact.get("judged")).cloned();
    judged
        .filter(|judged| judged["judgement"].as_str().is_some_and(|it| it.contains("/review#")))
        .collect()
}

/// All is done, and the author worked once.
fn is_done(stage: &Stage, said: &Said, run: &str) {
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(stage.ended(run).len(), 1, "the author worked once");
    assert_eq!(stage.left_over(), [], "nobody is left");
}

#[test]
fn a_reviewer_that_was_stopped_goes_on_in_its_session_and_the_author_is_not_asked_again() {
    let wait = ScriptStep::call(ToolCall::bash("cat work.txt")).saying("I look.");
    let script = script([wait, review().wait_for("never"), review(), pass()]);
    let Some(stage) = Stage::solo(script) else { return };
    let running = start(&stage);
    stage.key.wait_until_reached("never");
    running.signal(Signal::INT);
    assert_eq!(running.end().code, INTERRUPTED);
    let run = stage.world.latest();
    let said = stage.forge(&["resume", &run]);
    is_done(&stage, &said, &run);
    let looks = looks(&stage, &run);
    assert_eq!(looks.len(), 2, "{looks:#?}");
    assert_eq!(looks[0]["ruling"], "interrupted");
    assert_eq!(looks[0]["receipt"]["session"], looks[1]["receipt"]["session"]);
    let requests = stage.key.finish();
    let last = requests.last().unwrap().messages.to_string();
    has(&last, &["I look.", "You began this work in this session"]);
}

#[test]
fn a_usage_window_of_a_reviewer_is_a_timer_and_the_work_is_kept() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let reset = since.as_secs() + 15;
    let script = script([ScriptStep::usage_window("seven_day", reset), review(), pass()]);
    let Some(stage) = Stage::of(script, Credential::Subscription) else { return };
    let mut running = start(&stage);
    running.until_says("review waits until");
    let said = running.end();
    let run = stage.world.latest();
    is_done(&stage, &said, &run);
    let looks = looks(&stage, &run);
    assert_eq!(looks[0]["ruling"]["limited"]["until"], reset * 1000, "{looks:#?}");
    assert_eq!(looks.len(), 2);
    has(&said.out, &["weekly limit"]);
    let facts = stage.world.facts(&run);
    assert!(!facts.iter().any(|fact| fact.get("question_asked").is_some()), "nobody is asked");
    stage.key.finish();
}

#[test]
fn what_a_reviewer_changes_is_not_in_the_result() {
    let write = ScriptStep::call(ToolCall::write("${cwd}/written.txt", "by the reviewer\n"))
        .and_call(ToolCall::bash("echo changed > work.txt; rm README.md; echo done"));
    let Some(stage) = Stage::solo(script([write, review(), pass()])) else { return };
    let running = start(&stage);
    let said = running.end();
    let run = stage.world.latest();
    is_done(&stage, &said, &run);
    let head = stage.world.view(&run)["head"].as_str().unwrap().to_owned();
    assert_eq!(stage.world.git(&["show", &format!("{head}:work.txt")]), "work");
    let files = stage.world.git(&["ls-tree", "--name-only", &head]);
    has(&files, &["README.md"]);
    assert!(!files.contains("written.txt"), "{files}");
    let looks = looks(&stage, &run);
    let notes = looks[0]["receipt"]["notes"].to_string();
    has(&notes, &["it was not allowed: Write", "discarded", "work.txt"]);
    stage.key.finish();
}
