//! Everything that a provider can answer instead of an answer: what it is to the run, the sentence in the log, and
//! what a person is words to do next.
//!
//! A limit of half a minute and more is looked at and not waited for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use scripted_model::{
    AnswerEnding, ModelRequest, Script, ScriptStep, ToolCall, claude::Credential,
};
use serde_json::Value;

use crate::{
    stage::{Stage, done, good, note},
    world::{DONE, INTERRUPTED, Running, WAITS, WRONG, finish, has},
};

/// How a run stands after its first attempt met an error.
struct Met {
    outcome: Value,
    view: Value,
    log: String,
    status: String,
    requests: Vec<ModelRequest>,
    /// When the attempt ended.
    at: u64,
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// How the run stands once its first attempt has ended. After that it is stopped, if it does not wait for a person.
fn met(stage: Stage, url: Option<&str>) -> Met {
    let url = url.unwrap_or(stage.key.url());
    let args = ["run", "--flow", "solo", "do it"];
    let mut running = Running::of(&mut stage.command_at(url, &args));
    running.until_says("work started");
    // A fact is words only when it is durable.
    running.until_says("work ");
    let run = stage.world.latest();
    let outcome = stage.ended(&run)[0]["outcome"].clone();
    let is_limited = outcome.get("limited").is_some();
    let view = stage.world.view(&run);
    assert_eq!(view["standing"], if is_limited { "limited" } else { "waiting" }, "{outcome:#}");
    let log = stage.world.story(&run).join("\n");
    let status = stage.world.ok(&["status", &run]);
    let line = stage.world.ok(&["log", &run, "--json"]);
    let line = line.lines().find(|line| line.contains("attempt_ended")).unwrap().to_owned();
    let at = serde_json::from_str::<Value>(&line).unwrap()["at"].as_u64().unwrap();
    if is_limited {
        stage.world.ok(&["stop", &run]);
        assert_eq!(running.end().code, INTERRUPTED);
    } else {
        assert_eq!(running.end().code, WAITS);
    }
    assert_eq!(stage.left_over(), [], "nobody is left");
    Met { outcome, view, log, status, requests: stage.key.finish(), at }
}

/// The same, if every request is answered like this.
fn met_by(step: ScriptStep) -> Option<Met> {
    Some(met(Stage::solo(Script::new([step]))?, None))
}

impl Met {
    /// A person has to do something: the question says what.
    fn is_blocked(&self, class: &str, words: &[&str]) {
        let what = format!("{:#}\n{}\n{}", self.outcome, self.log, self.status);
        assert_eq!(self.outcome["blocked"]["class"], class, "{what}");
        let question = self.view["asked"][0]["text"].as_str().unwrap();
        has(question, words);
        has(&self.log, &["work#1 blocked"]);
        has(&self.status, &["forge retry", "forge reject"]);
        assert_eq!(self.view["units"][0]["attempt"], 1, "it was not tried again by itself");
    }

    /// It waits by itself: nobody is asked, and nothing was missed.
    fn waits(&self, at_least_ms: u64, words: &[&str]) {
        let what = format!("{:#}\n{}\n{}", self.outcome, self.log, self.status);
        let until = self.outcome["limited"]["until"].as_u64().unwrap_or_else(|| panic!("{what}"));
        assert!(until >= self.at + at_least_ms - 1000, "{until} {what}");
        assert!(until <= self.at + at_least_ms + 5000, "{until} {what}");
        has(&self.log, &["work#1 waits until"]);
        has(&self.log, words);
        has(&self.status, &["limited until "]);
        has(&self.status, words);
        assert_eq!(self.view["questions"], 0, "{what}");
        assert_eq!(self.view["until"], until, "{what}");
    }
}

#[test]
fn a_wrong_key_is_asked_about_and_retry_after_a_login_goes_on() {
    let script = Script::new([ScriptStep::status(401, "invalid x-api-key")]);
    let Some(stage) = Stage::solo(script) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["refuses access", "Log in", "retry"]);
    let run = stage.world.latest();
    assert_eq!(stage.ended(&run)[0]["outcome"]["blocked"]["class"], "no_access");
    stage.world.ok(&["answer", &run, "Q1", "retry"]);
    let key = stage.key("logged-in", good());
    let said = finish(&mut stage.command_at(key.url(), &["resume", &run]));
    assert_eq!(said.code, DONE, "{said}");
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 2, "the person's retry is a new attempt");
    assert_eq!(ended[1]["outcome"], "done");
    assert_eq!(key.finish().len(), 2);
    stage.key.finish();
}

#[test]
fn a_login_that_expires_in_a_call_is_asked_about_and_retry_goes_on_in_its_session() {
    let begins = ScriptStep::call(ToolCall::bash("echo first > part.txt")).saying("I begin.");
    let script = Script::new([begins, ScriptStep::status(401, "OAuth token has expired")]);
    let Some(stage) = Stage::solo(script) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = stage.world.latest();
    assert_eq!(stage.ended(&run)[0]["outcome"]["blocked"]["class"], "no_access");
    stage.world.ok(&["answer", &run, "Q1", "retry"]);
    let key = stage.key("logged-in", good());
    let said = finish(&mut stage.command_at(key.url(), &["resume", &run]));
    assert_eq!(said.code, DONE, "{said}");
    goes_on(&stage.key.finish(), &key.finish());
}

#[test]
fn who_is_not_logged_in_starts_no_run_if_an_agent_looks_at_the_request_first() {
    let script = Script::new([ScriptStep::status(401, "OAuth token has expired")]);
    let Some(stage) = Stage::solo(script) else { return };
    let args = ["run", "--flow", "feature", "--yes", "add a second note"];
    let said = finish(&mut stage.command_at(stage.key.url(), &args));
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["claude is not logged in: ", "help: run `claude`, then /login"]);
    assert_eq!(stage.world.ids(), Vec::<String>::new());
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert!(!stage.key.finish().is_empty(), "it was asked");
}

/// The second part of a call is asked for in the session of the first, and knows what was done there.
pub(crate) fn goes_on(before: &[ModelRequest], after: &[ModelRequest]) {
    same_session(before, after);
    has(&after[0].messages.to_string(), &["I begin.", "You began this work in this session"]);
}

fn same_session(before: &[ModelRequest], after: &[ModelRequest]) {
    let first = before[0].session.as_deref().expect("it tells its session");
    for request in before.iter().chain(after) {
        assert_eq!(request.session.as_deref(), Some(first), "it goes on in its session");
    }
}

#[test]
fn a_rate_limit_is_waited_for_and_is_no_miss() {
    // Claude Code waits and asks again itself before it gives up, so the provider's delay is short here.
    let step = ScriptStep::status(429, "slow down").header("retry-after", "1");
    let Some(met) = met_by(step) else { return };
    met.waits(30_000, &["slow down"]);
    assert_eq!(met.requests.len(), 4, "three times again by itself");
}

#[test]
fn a_usage_window_is_a_timer_that_ends_exactly_at_its_reset_and_costs_no_person() {
    let reset = now() / 1000 + 12;
    let script = Script::new([ScriptStep::usage_window("five_hour", reset), note(), done()])
        .fail_after_last();
    let Some(stage) = Stage::of(script, Credential::Subscription) else { return };
    let (mut running, run) = stage.start(&[]);
    running.until_says("work waits until");
    let first = stage.ended(&run)[0].clone();
    assert_eq!(first["outcome"]["limited"]["until"], reset * 1000, "{first}");
    let view = stage.world.view(&run);
    if now() < reset * 1000 {
        assert_eq!(view["standing"], "limited");
        assert_eq!(view["until"], reset * 1000);
        has(&stage.world.ok(&["status", &run]), &["limited until ", "5-hour limit"]);
    }
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    let facts = stage.world.facts(&run);
    assert!(!facts.iter().any(|fact| fact.get("question_asked").is_some()), "nobody is asked");
    assert_eq!(stage.ended(&run)[1]["outcome"], "done");
    let unit = &stage.world.view(&run)["units"][0];
    assert_eq!(unit["state"], "accepted");
    assert!(now() >= reset * 1000, "not before the reset");
    let requests = stage.key.finish();
    assert_eq!(requests.len(), 3, "the limit was asked for once");
    assert_eq!(requests[0].session, requests[1].session, "it goes on in its session");
}

#[test]
fn a_refusal_is_asked_about() {
    let Some(met) = met_by(ScriptStep::default().ending(AnswerEnding::Refusal)) else { return };
    met.is_blocked("model_refusal", &["is blocked"]);
    assert_ne!(met.view["spent"], 0, "a refusal has its price");
}

#[test]
fn a_provider_that_falls_silent_is_left_by_ctrl_c_and_the_run_goes_on_later() {
    let script = Script::new([ScriptStep::say("Wait").ending(AnswerEnding::Stall)]);
    let Some(stage) = Stage::solo(script) else { return };
    let (running, run) = stage.start(&[]);
    stage.key.wait_for_requests(1);
    running.signal(rustix::process::Signal::INT);
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    assert_eq!(stage.ended(&run)[0]["outcome"], "interrupted");
    assert_eq!(stage.left_over(), [], "nobody is left");
    let key = stage.key("again", good());
    let said = finish(&mut stage.command_at(key.url(), &["resume", &run]));
    assert_eq!(said.code, DONE, "{said}");
    key.finish();
    stage.key.finish();
}

#[test]
#[ignore = "in full size only: nothing shorter than a minute can be set"]
fn a_provider_that_falls_silent_for_longer_than_it_may_is_left_and_tried_again_in_its_session() {
    let begins = ScriptStep::call(ToolCall::bash("true")).saying("I begin.");
    let silence = ScriptStep::say("Wait").ending(AnswerEnding::Stall);
    let Some(stage) = Stage::solo(Script::new([begins, silence])) else { return };
    stage.set("[limits]\nsilence_minutes = 1\n");
    let (running, run) = stage.start(&[]);
    stage.key.request_after(2, Duration::from_secs(150)).expect("it is tried again");
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 1, "{ended:#?}");
    assert_eq!(ended[0]["outcome"]["fault"]["class"], "timed_out", "{ended:#?}");
    has(
        &stage.world.story(&run).join("\n"),
        &["it printed nothing for 1 min (limits.silence_minutes)"],
    );
    stage.world.ok(&["stop", &run]);
    assert_eq!(running.end().code, INTERRUPTED);
    assert_eq!(stage.left_over(), [], "nobody is left");
    let requests = stage.key.finish();
    same_session(&requests[..2], &requests[2..]);
    // It left nothing, so it is told once more what it must leave.
    has(&requests[2].messages.to_string(), &["I begin.", "This was tried before"]);
}
