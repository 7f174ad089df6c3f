//! Claude Code is stopped at its cap inside an attempt, and the run goes on with more money.

use scripted_model::{Script, ScriptStep, ToolCall};

use crate::{
    errors::goes_on,
    stage::{ANSWER_MICROS, Stage, good, paid},
    world::{DONE, PARKED, finish, has},
};

/// What the run may spend in these tests: two answers, and a part of the third.
const BUDGET: &str = "0.01";
const BUDGET_MICROS: u64 = 10_000;

#[test]
fn who_would_go_on_for_ever_is_stopped_at_the_cap_and_goes_on_in_its_session_with_more_money() {
    let works = ScriptStep::call(ToolCall::bash("true")).saying("I begin.");
    let Some(stage) = Stage::solo(Script::new([works])) else { return };
    let said = stage.run(&["--budget", BUDGET]);
    let run = stage.world.latest();
    assert_eq!(said.code, PARKED, "{said}");
    has(&said.out, &["Out of budget", " --budget "]);
    let view = stage.world.view(&run);
    let spent = view["spent"].as_u64().unwrap() + view["estimated"].as_u64().unwrap_or_default();
    assert!(spent <= BUDGET_MICROS + ANSWER_MICROS, "one turn over at most: {view:#}");
    assert!(spent + ANSWER_MICROS > BUDGET_MICROS, "it was let go on while it could: {view:#}");
    assert_eq!(view["standing"], "parked");
    assert_eq!(stage.left_over(), [], "nobody is left");
    let key = stage.key("more", good());
    let more = ["resume", &run, "--budget", "1"];
    let said = finish(&mut stage.command_at(key.url(), &more));
    assert_eq!(said.code, DONE, "{said}");
    let first = spent;
    let all = stage.world.view(&run);
    let after = key.finish();
    let second = paid(&after);
    let total = all["spent"].as_u64().unwrap() + all["estimated"].as_u64().unwrap_or_default();
    assert_eq!(total, first + second, "{all:#}");
    let requests = stage.key.finish();
    assert!(requests.len() <= 3, "{}", requests.len());
    goes_on(&requests, &after);
}
