//! Claude Code is killed with its driver, stopped by Ctrl-C, or left alone, each in the middle of a tool.
//!
//! The tool writes a file into the checkout, says that it is there, and then waits at a named pipe.

use std::fs;

use rustix::process::{Pid, Signal, kill_process_group};
use scripted_model::{Script, ScriptStep, ToolCall};
use serde_json::Value;

use crate::{
    processes::{kept, signal},
    stage::{ANSWER_MICROS, Stage, answer, note},
    world::{DONE, INTERRUPTED, Running, World, has, until},
};

/// What the tool does before it waits.
const WAITS_IN_THE_TOOL: &str = "echo first > part.txt; mkfifo $HOME/gate; touch $HOME/began; read word < $HOME/gate; echo $word > word.txt";

/// The worker calls the tool that waits, and once it is back does the rest.
fn script() -> Script {
    let done = answer(serde_json::json!({"summary": "did both parts", "commit": "Both parts"}));
    Script::new([
        ScriptStep::call(ToolCall::bash(WAITS_IN_THE_TOOL)).saying("I begin."),
        ScriptStep::call(ToolCall::bash("cat part.txt && echo second > rest.txt")),
        note(),
        done,
    ])
    .fail_after_last()
}

/// A run whose agent is in the middle of its tool.
fn in_the_tool(stage: &Stage) -> (Running, String) {
    let (running, run) = stage.start(&[]);
    until("the tool to begin", || stage.world.beside("began").exists().then_some(()));
    // Claude Code writes its session down a little later than it begins to work.
    until("the session to be on disk", || knows_of_the_tool(&stage.world).then_some(()));
    (running, run)
}

/// Whether the one session of this world has the call of the tool in it.
fn knows_of_the_tool(world: &World) -> bool {
    let projects = fs::read_dir(world.beside(".claude/projects")).into_iter().flatten().flatten();
    let sessions = projects.flat_map(|project| fs::read_dir(project.path()).into_iter().flatten());
    let texts = sessions.flatten().filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.into_iter().any(|text| text.contains("mkfifo"))
}

fn sessions(ended: &[Value]) -> Vec<&str> {
    ended.iter().map(|one| one["receipt"]["session"].as_str().unwrap_or_default()).collect()
}

/// The tree that the run's branch has at its end.
fn landed(world: &World, run: &str, path: &str) -> String {
    let head = world.view(run)["head"].as_str().expect("something has landed").to_owned();
    world.git(&["show", &format!("{head}:{path}")])
}

/// The second attempt went on where the first one was stopped.
fn went_on(stage: Stage, run: &str) {
    let ended = stage.ended(run);
    assert_eq!(ended.len(), 2, "{ended:#?}");
    assert_eq!(ended[1]["outcome"], "done", "{ended:#?}");
    let [first, second] = sessions(&ended)[..] else { unreachable!("there are two") };
    assert_eq!(first, second, "it goes on in the same session");
    assert!(stage.world.brief(run, "work#2").starts_with("You began this work in this session"));
    assert_eq!(landed(&stage.world, run, "part.txt"), "first", "the first part is still there");
    assert_eq!(landed(&stage.world, run, "rest.txt"), "second");
    assert_eq!(stage.left_over(), [], "nobody is left");
    // The first answer has a price, whoever tells it.
    let cost = &ended[0]["receipt"]["spent"]["cost"];
    let estimated = cost["estimated"].as_u64().unwrap_or_default();
    assert!(*cost == "unknown" || estimated > 0, "{cost}");
    assert_eq!(ended[1]["receipt"]["spent"]["cost"]["known"], 3 * ANSWER_MICROS);
    let requests = stage.key.finish();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(request.session.as_deref(), Some(first));
    }
    let history = requests[1].messages.to_string();
    has(&history, &["mkfifo", "I begin.", "You began this work in this session"]);
}

#[test]
fn killed_with_its_driver_in_mid_tool_it_goes_on_in_its_session() {
    let Some(stage) = Stage::solo(script()) else { return };
    let (running, run) = in_the_tool(&stage);
    let kept = kept(&stage.world.repo);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].agents.len() >= 2, "claude and its shell: {kept:?}");
    running.signal(Signal::KILL);
    for one in &kept {
        signal(one.keeper, Signal::KILL);
        one.agents.iter().for_each(|pid| {
            signal(*pid, Signal::KILL);
        });
    }
    running.end();
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(stage.ended(&run)[0]["outcome"], "lost");
    has(&said.all(), &["work was lost"]);
    went_on(stage, &run);
}

#[test]
fn killed_driver_and_keeper_leave_no_agent_behind_and_it_goes_on() {
    let Some(stage) = Stage::solo(script()) else { return };
    let (running, run) = in_the_tool(&stage);
    let kept = kept(&stage.world.repo);
    running.signal(Signal::KILL);
    signal(kept[0].keeper, Signal::KILL);
    running.end();
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(stage.ended(&run)[0]["outcome"], "lost");
    went_on(stage, &run);
}

#[test]
fn stopped_by_ctrl_c_in_mid_tool_it_goes_on_in_its_session() {
    let Some(stage) = Stage::solo(script()) else { return };
    let (running, run) = in_the_tool(&stage);
    let group = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process_group(group, Signal::INT).unwrap();
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    has(&said.out, &["work was interrupted", "Next    forge resume "]);
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert_eq!(stage.ended(&run)[0]["outcome"], "interrupted");
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    went_on(stage, &run);
}

#[test]
fn left_alone_by_its_driver_it_ends_under_its_keeper_and_is_taken_in_once() {
    let Some(stage) = Stage::solo(script()) else { return };
    let (running, run) = in_the_tool(&stage);
    running.signal(Signal::KILL);
    running.end();
    fs::write(stage.world.beside("gate"), "go\n").unwrap();
    let ending = stage.world.attempt(&run, "work#1").join("ending.json");
    until("the agent to end by itself", || ending.exists().then_some(()));
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 1, "it was not started again: {ended:#?}");
    assert_eq!(ended[0]["outcome"], "done");
    assert_eq!(ended[0]["receipt"]["spent"]["cost"]["known"], 4 * ANSWER_MICROS);
    assert_eq!(landed(&stage.world, &run, "word.txt"), "go");
    assert_eq!(landed(&stage.world, &run, "rest.txt"), "second");
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert_eq!(stage.key.finish().len(), 4);
}

#[test]
fn a_session_that_is_gone_begins_anew_within_the_same_attempt() {
    let Some(stage) = Stage::solo(script()) else { return };
    let (running, run) = in_the_tool(&stage);
    running.signal(Signal::INT);
    assert_eq!(running.end().code, INTERRUPTED);
    fs::remove_dir_all(stage.world.beside(".claude/projects")).unwrap();
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 2, "{ended:#?}");
    assert_eq!(ended[1]["outcome"], "done");
    let [first, second] = sessions(&ended)[..] else { unreachable!("there are two") };
    assert_ne!(first, second, "the old one is gone");
    assert_eq!(landed(&stage.world, &run, "part.txt"), "first", "the files are not gone");
    let requests = stage.key.finish();
    assert_eq!(requests[1].session.as_deref(), Some(second));
    let told = requests[1].messages.to_string();
    assert!(!told.contains("mkfifo"), "it knows nothing of before");
    assert!(!told.contains("You began this work in this session"), "{told}");
    assert_eq!(ended[1]["receipt"]["spent"]["cost"]["known"], 3 * ANSWER_MICROS);
}
