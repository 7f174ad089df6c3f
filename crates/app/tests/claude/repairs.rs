//! The result of a turn cannot be used: it is mended once in the same session, and then it is a fault.

use rustix::process::Signal;
use scripted_model::{ModelRequest, Script, ScriptStep, ToolCall};
use serde_json::Value;

use crate::{
    processes::{kept, signal},
    stage::{Stage, answer, done, note, paid},
    world::{DONE, WAITS, has},
};

fn cost(ended: &Value) -> u64 {
    ended["receipt"]["spent"]["cost"]["known"].as_u64().unwrap_or_else(|| panic!("{ended:#}"))
}

fn sessions(requests: &[ModelRequest]) -> Vec<&str> {
    let mut all: Vec<&str> =
        requests.iter().map(|request| request.session.as_deref().unwrap_or_default()).collect();
    all.dedup();
    all
}

#[test]
fn a_missing_artifact_is_mended_in_one_more_turn_of_the_same_session() {
    let script =
        Script::new([done(), note().when_contains("cannot be used"), done()]).fail_after_last();
    let Some(stage) = Stage::solo(script) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = stage.world.latest();
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 1, "{ended:#?}");
    let spent = stage.world.view(&run)["spent"].as_u64();
    let requests = stage.key.finish();
    has(&requests[1].last, &["note.md", "Fix exactly that"]);
    assert_eq!(sessions(&requests).len(), 1);
    assert_eq!(cost(&ended[0]), paid(&requests), "both turns are counted once");
    assert_eq!(spent, Some(paid(&requests)));
}

#[test]
fn an_answer_that_was_never_given_is_asked_for_once_more() {
    // Claude Code asks for it once by itself.
    let silent = || ScriptStep::say("I am done.");
    let script = Script::new([note(), silent(), silent(), done().when_contains("cannot be used")]);
    let Some(stage) = Stage::solo(script.fail_after_last()) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, DONE, "{said}");
    let run = stage.world.latest();
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 1, "{ended:#?}");
    let requests = stage.key.finish();
    assert_eq!(requests.len(), 4);
    assert_eq!(sessions(&requests).len(), 1);
    assert_eq!(cost(&ended[0]), paid(&requests), "both turns are counted once");
}

#[test]
fn who_leaves_no_result_twice_has_missed_and_after_two_misses_a_person_is_asked() {
    let Some(stage) = Stage::solo(Script::new([ScriptStep::say("I am done.")])) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["work left no usable result", "no `result.json`", "retry"]);
    let run = stage.world.latest();
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 2, "{ended:#?}");
    for one in &ended {
        assert_eq!(one["outcome"]["fault"]["class"], "no_result", "{one:#}");
    }
    let requests = stage.key.finish();
    let repairs = requests.iter().filter(|request| request.last.contains("Fix exactly that"));
    assert_eq!(repairs.count(), 2, "one repair for each attempt");
    assert_eq!(ended.iter().map(cost).sum::<u64>(), paid(&requests), "every turn is counted once");
    assert_eq!(sessions(&requests).len(), 2, "a second attempt has a session of its own");
}

#[test]
fn an_answer_of_the_wrong_form_is_refused_by_the_program_and_tried_again_in_the_same_turn() {
    let wrong = answer(serde_json::json!({"summary": 5}));
    let script = Script::new([note(), wrong, done()]).fail_after_last();
    let Some(stage) = Stage::solo(script) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, DONE, "{said}");
    let requests = stage.key.finish();
    assert_eq!(requests.len(), 3);
    has(&requests[2].last, &["does not match required schema"]);
}

#[test]
fn killed_in_its_repair_turn_it_goes_on_and_what_it_cost_is_not_known() {
    let wait =
        ScriptStep::call(ToolCall::bash("true")).when_contains("cannot be used").wait_for("never");
    let script = Script::new([done(), wait, note(), done()]).fail_after_last();
    let Some(stage) = Stage::solo(script) else { return };
    let (running, run) = stage.start(&[]);
    stage.key.wait_until_reached("never");
    let kept = kept(&stage.world.repo);
    running.signal(Signal::KILL);
    for one in &kept {
        signal(one.keeper, Signal::KILL);
    }
    running.end();
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 2, "{ended:#?}");
    assert_eq!(ended[0]["outcome"], "lost");
    assert_eq!(ended[0]["receipt"]["spent"]["cost"], "unknown", "{ended:#?}");
    assert_eq!(ended[0]["receipt"]["session"], ended[1]["receipt"]["session"]);
    assert_eq!(stage.left_over(), [], "nobody is left");
    stage.key.finish();
}
