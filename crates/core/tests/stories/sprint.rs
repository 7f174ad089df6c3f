//! Family B: tasks in a sprint.

use forge_core::{
    event::{Answer, End},
    run::Phase,
};

use crate::world::{World, block, partial, revise};

#[test]
fn a_sprint_plans_builds_and_lands_every_task() {
    let world = World::sprint().played();
    world.is(&Phase::Over(End::Done));
    for task in ["T1", "T2", "T3"] {
        world.before(
            &format!("tasks.{task}/plan done"),
            &format!("tasks.{task}/implement#1 started"),
        );
        world.before(
            &format!("tasks.{task}/write-back done"),
            &format!("tasks.{task}/commit merged as commit-"),
        );
    }
    world.before("tasks done", "retrospective#1 started");
}

#[test]
fn a_task_waits_for_the_task_it_comes_after() {
    let world = World::sprint().played();
    world.before("tasks.T1/commit done", "tasks.T2/plan#1 started");
    world.before("tasks.T3/plan#1 started", "tasks.T1/commit done");
}

#[test]
fn the_architect_sends_a_task_back_to_its_plan_and_what_followed_is_reset() {
    let world = World::sprint().verdict("tasks.T1/implement#1/architect#1", revise(1)).played();
    world.is(&Phase::Over(End::Done));
    world.before(
        "tasks.T1/plan sent back by architect: F1 src/a.rs:7: problem 0",
        "tasks.T1/plan#2 started",
    );
    world.before("tasks.T1/plan#2 started", "tasks.T1/implement#2 started");
    assert_eq!(world.unit("tasks.T1/plan").round, 1, "rounds count where the work is sent back");
    assert_eq!(world.unit("tasks.T1/implement").round, 0);
    assert_eq!(world.unit("tasks.T1/plan").findings.len(), 1);
}

#[test]
fn when_the_plan_has_no_rounds_left_it_is_the_unit_with_the_gate_that_asks() {
    let world = World::sprint()
        .verdict("tasks.T1/implement#1/architect#1", revise(3))
        .verdict("tasks.T1/implement#2/architect#1", revise(2))
        .verdict("tasks.T1/implement#3/architect#1", revise(1))
        .played();
    world.says("Q1 asks about tasks.T1/implement: `architect` still does not pass, and no revisions are left. What now?");
}

#[test]
fn a_blocked_task_stops_only_what_waits_for_it() {
    let mut world =
        World::sprint().verdict("tasks.T1/plan#1/supervisor#1", block("no licence")).played();
    world.is(&Phase::Going);
    world.says("tasks.T3/commit merged as commit-");
    world.say(1, Answer::GiveUp, "");
    world.is(&Phase::Over(End::Blocked));
    world.says("tasks.T3/commit merged as commit-");
    world.never_says("tasks.T2/");
    world.says("tasks failed: these tasks cannot continue: T1, T2");
    world.never_says("retrospective");
}

#[test]
fn a_task_that_is_partly_done_and_asked_about_stops_only_what_waits_for_it() {
    let mut world = World::sprint()
        .outcome("tasks.T1/implement#1", partial("two thirds"))
        .outcome("tasks.T1/implement#2", partial("one third"))
        .outcome("tasks.T1/implement#3", partial("the index"))
        .played();
    world.is(&Phase::Going);
    assert_eq!(world.about("asks about").len(), 1);
    world.says("Q1 asks about tasks.T1/implement: The work is only partly done, and no attempts are left; left: the index. What now?");
    world.says("tasks.T3/commit merged as commit-");
    world.never_says("tasks.T2/");
    world.say(1, Answer::Retry, "leave out the index");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("tasks.T3/implement").attempt, 1, "what is done is not redone");
}

#[test]
fn a_blocked_run_that_is_resumed_reopens_only_the_failed_leaf() {
    let mut world = World::sprint()
        .verdict("tasks.T1/plan#1/supervisor#1", block("no licence"))
        .answer(1, Answer::GiveUp, "")
        .played();
    let before = world.journal.len();
    world.resume();
    world.go_on();
    world.is(&Phase::Over(End::Done));
    let reopened = world.about("starts again");
    assert_eq!(reopened, ["tasks.T1/plan starts again"]);
    assert!(before < world.journal.len());
    assert_eq!(world.unit("tasks.T3/commit").attempt, 1, "what is done is not redone");
    assert_eq!(world.unit("tasks").attempt, 1, "the each wakes with its item");
}

#[test]
fn no_more_items_are_open_than_the_flow_says() {
    let world = World::sprint().at_once(10).begin();
    assert_eq!(world.calls(), ["plan-sprint#1"]);
    let mut world = world;
    world.end("plan-sprint#1");
    world.end("plan-sprint#1/artifact#1");
    assert_eq!(world.calls(), ["tasks.T1/plan#1", "tasks.T3/plan#1"]);
}

#[test]
fn a_flow_inside_a_flow_is_one_item_of_its_own() {
    let world = World::nested().played();
    world.is(&Phase::Over(End::Done));
    world.says("sprint.sprint/tasks.T1/commit merged as commit-");
    world.before("sprint.sprint/retrospective done", "sprint#1 finished");
    world.before("Q1 asks about sprint: Was this a good sprint?", "deliver#1 started");
}

#[test]
fn every_sprint_survives_a_crash_after_every_record() {
    World::sprint()
        .verdict("tasks.T1/implement#1/architect#1", revise(1))
        .verdict("tasks.T3/commit#1/land#1", revise(1))
        .survives_every_crash();
    World::nested().survives_every_crash();
}
