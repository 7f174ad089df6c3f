//! Family C: slices of tasks.

use forge_core::{
    event::{Answer, End},
    run::Phase,
};

use crate::world::{World, after, revise, start_of, tag, writes};

#[test]
fn a_milestone_discusses_and_researches_before_it_plans() {
    let world = World::milestone().played();
    world.is(&Phase::Over(End::Done));
    world.before("discuss done", "research#1 started");
    world.before("research done", "plan#1 started");
    world.before("slices.S1/close merged as commit-", "slices.S2/look-for-risks#1 started");
    world.before("triage done", "close#1 started");
}

#[test]
fn conditions_look_at_the_nearest_item_with_the_tag() {
    let world = World::milestone().played();
    world.says("slices.S1/look-for-risks skipped");
    world.says("slices.S2/look-for-risks done");
    world.says("slices.S1/tasks.A/think-of-security done");
    world.says("slices.S1/tasks.B/think-of-security skipped");
    // The task has no such tag, its slice has.
    world.says("slices.S2/tasks.C/execute#1/danger-scout#1 passed");
    world.says("slices.S1/tasks.A/execute: danger-scout skipped");
}

#[test]
fn a_tag_of_a_task_wins_over_the_tag_of_its_slice() {
    let world = World::milestone()
        .list("slices.S2/plan", vec![tag(writes("C", "y/c"), "risk", "low")])
        .played();
    world.says("slices.S2/tasks.C/execute: danger-scout skipped");
}

#[test]
fn parameters_skip_stages_in_the_order_of_the_table() {
    let mut world = World::milestone();
    world.start = start_of(
        "milestone",
        &[("milestone", crate::world::MILESTONE)],
        &[("discuss", "no"), ("research", "no")],
    );
    let world = world.played();
    world.is(&Phase::Over(End::Done));
    let story = world.story();
    assert_eq!(story[1..3], ["discuss skipped", "research skipped"]);
}

#[test]
fn tasks_that_touch_the_same_files_never_run_together() {
    let tasks = vec![writes("A", "x"), writes("B", "x/deep/file"), writes("C", "z")];
    let mut world = World::milestone().list("slices.S1/plan", tasks).begin();
    for call in ["discuss#1", "research#1", "plan#1", "plan#1/artifact#1"] {
        if call == "research#1" {
            world.say(1, Answer::Approve, "");
        }
        world.end(call);
    }
    world.end("slices.S1/plan#1");
    world.end("slices.S1/plan#1/artifact#1");
    world.end("slices.S1/plan#1/plan-checker#1");
    world.end("slices.S1/plan#1/check-symbols#1");
    assert_eq!(world.calls(), ["slices.S1/tasks.A/execute#1", "slices.S1/tasks.C/execute#1"]);
    world.go_on();
    world.before("slices.S1/tasks.A/execute done", "slices.S1/tasks.B/execute#1 started");
}

#[test]
fn a_repair_goes_back_to_the_plan_of_the_slice_and_keeps_what_is_good() {
    let world = World::milestone()
        .verdict("slices.S1/tasks.A/execute#1/repair-scout#1", revise(1))
        .list(
            "slices.S1/plan#2",
            vec![tag(writes("A", "x/other"), "security", "yes"), writes("B", "x/b")],
        )
        .played();
    world.is(&Phase::Over(End::Done));
    // B was the last effect, so it was done before A was sent back.
    world.before(
        "slices.S1/tasks.B/execute done",
        "slices.S1/plan sent back by repair-scout: F1 src/a.rs:7: problem 0",
    );
    assert_eq!(world.unit("slices.S1/tasks.B/execute").attempt, 1, "what done is kept");
    assert_eq!(world.unit("slices.S1/tasks.A/execute").attempt, 2, "what changed begins again");
}

#[test]
fn a_plan_that_runs_out_of_rounds_fails_where_the_flow_says_so() {
    let world = World::milestone()
        .verdict("slices.S1/plan#1/plan-checker#1", revise(3))
        .verdict("slices.S1/plan#2/plan-checker#1", revise(2))
        .verdict("slices.S1/plan#3/plan-checker#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Failed));
    world.says("slices.S1/plan failed: `plan-checker` sent it back too often");
    world.never_says("slices.S2/");
}

#[test]
fn advice_is_noted_and_stops_nothing() {
    let world = World::milestone().verdict("slices.S1/plan#1/check-symbols#1", revise(2)).played();
    world.is(&Phase::Over(End::Done));
    world.says("slices.S1/plan: check-symbols is advisory; its findings are noted");
    assert_eq!(world.unit("slices.S1/plan").attempt, 1);
    assert_eq!(world.unit("slices.S1/plan").notes.len(), 2);
}

#[test]
fn gates_that_look_first_let_work_be_done_only_where_they_find_something() {
    let world =
        World::milestone().verdict("slices.S2/answer-review#1/challenger#1", revise(1)).played();
    world.is(&Phase::Over(End::Done));
    assert!(world.unit("slices.S1/answer-review").receipt.is_none(), "nothing was worked");
    assert!(world.unit("slices.S2/answer-review").receipt.is_some());
    assert_eq!(world.unit("slices.S2/answer-review").attempt, 2);
}

#[test]
fn gates_that_look_first_and_run_out_of_rounds_pass_with_notes() {
    let world = World::milestone()
        .verdict("slices.S2/answer-review#1/challenger#1", revise(2))
        .verdict("slices.S2/answer-review#2/challenger#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Done));
    world.says("slices.S2/answer-review: challenger has no revisions left; its findings are noted");
}

#[test]
fn a_failed_task_lets_its_siblings_land() {
    let tasks = vec![writes("A", "x/a"), writes("B", "x/b"), after(writes("D", "x/d"), "A")];
    let world = World::milestone()
        .list("slices.S1/plan", tasks)
        .verdict("slices.S1/tasks.A/execute#1/verify#1", crate::world::block("no"))
        .answer(2, Answer::GiveUp, "")
        .played();
    world.is(&Phase::Over(End::Blocked));
    world.says("slices.S1/tasks.B/execute merged as commit-");
    world.says("slices.S1/tasks failed: these tasks cannot continue: A, D");
    world.never_says("slices.S1/tasks.D");
}

#[test]
fn every_milestone_survives_a_crash_after_every_record() {
    World::milestone()
        .verdict("slices.S1/tasks.A/execute#1/repair-scout#1", revise(1))
        .verdict("slices.S2/answer-review#1/challenger#1", revise(1))
        .survives_every_crash();
}
