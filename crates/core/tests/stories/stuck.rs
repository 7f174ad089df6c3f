//! Items that cannot go on: what becomes of their stage, and of the run.

use forge_core::{
    event::{Answer, End, Hold, Outcome, Ruling},
    item::Item,
    run::Phase,
    view::ResultView,
};

use crate::world::{World, after, block, revise, start_of, writes};

fn flow(stuck: &str) -> String {
    format!(
        r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 3
{stuck}
  [[stage.stage]]
  name = "make"
  agent = "m"
  rounds = 0
  exhausted = "fail"
  gates = [{{ review = "critic" }}, {{ land = true }}]
[[stage]]
name = "look-back"
agent = "l"
"#
    )
}

const LEFT: &str = "build: not finished, and not in the result: T1, T2";

/// Three tasks, the second one after the first.
fn tasks() -> Vec<Item> {
    vec![writes("T1", "t1"), after(writes("T2", "t2"), "T1"), writes("T3", "t3")]
}

#[test]
fn a_stage_is_done_without_the_items_that_cannot_go_on_and_names_them() {
    let world = World::small(&flow("stuck = \"pass-with-notes\""))
        .list("split", tasks())
        .verdict("build.T1/make#1/critic#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Done));
    world.says(LEFT);
    world.before(LEFT, "look-back#1 started");
    world.says("build.T3/make merged as commit-");
    world.never_says("build.T2/make#1 started");
    let notes = ResultView::new("r", &world.run).notes;
    assert!(notes.iter().any(|note| note.contains("T1, T2")), "{notes:?}");
}

#[test]
fn without_the_key_the_stage_fails_as_ever() {
    let world = World::small(&flow(""))
        .list("split", tasks())
        .verdict("build.T1/make#1/critic#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Failed));
    world.says("build failed: these tasks cannot continue: T1, T2");
}

#[test]
fn a_stage_in_which_no_item_is_done_fails() {
    let world = World::small(&flow("stuck = \"pass-with-notes\""))
        .list("split", vec![writes("T1", "t1"), after(writes("T2", "t2"), "T1")])
        .verdict("build.T1/make#1/critic#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Failed));
    world.never_says("look-back#1 started");
}

#[test]
fn a_stage_with_fewer_done_items_than_it_must_have_fails() {
    let world = World::small(&flow("stuck = \"pass-with-notes\"\nitems_min = 2"))
        .list("split", tasks())
        .verdict("build.T1/make#1/critic#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Failed));
}

#[test]
fn a_stage_that_failed_after_it_had_left_items_begins_a_new_attempt_when_the_run_is_opened_again() {
    let flow = flow(
        "stuck = \"pass-with-notes\"\nrounds = 0\nexhausted = \"fail\"\ngates = [{ review = \"judge\" }]",
    );
    let mut world = World::small(&flow)
        .list("split", tasks())
        .verdict("build.T1/make#1/critic#1", revise(1))
        .verdict("build#1/judge#1", block("not without T1"))
        .played();
    world.say(1, Answer::GiveUp, "");
    world.go_on();
    world.is(&Phase::Over(End::Blocked));
    world.resume();
    world.go_on();
    world.says("build.T1/make merged as commit-");
    world.before("build#2 started", "build#2/judge#1 started");
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_person_who_gives_a_task_up_lets_the_rest_be_finished() {
    let mut world = World::small(&flow("stuck = \"pass-with-notes\""))
        .list("split", tasks())
        .verdict("build.T1/make#1/critic#1", block("no licence"))
        .played();
    world.is(&Phase::Going);
    world.never_says("look-back#1 started");
    world.say(1, Answer::GiveUp, "");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.says(LEFT);
}

#[test]
fn a_run_that_is_to_stop_there_is_held_at_the_first_item_that_needs_a_person() {
    let mut world = World::small(&flow("stuck = \"hold\"")).list("split", tasks()).begin();
    world.end("split#1");
    world.end("build.T1/make#1");
    world.rules("build.T1/make#1/critic#1", Ruling::Verdict(block("no licence")));
    let what = "`T1` needs you, and this flow does not continue without it".to_owned();
    world.is(&Phase::Held(Hold::Escalated { what }));
    world.end("build.T3/make#1");
    assert_eq!(world.calls(), [""; 0], "what runs is finished, and nothing new begins");
    world.resume();
    world.go_on();
    world.says("build.T3/make merged as commit-");
    world.say(1, Answer::GiveUp, "");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.says(LEFT);
}

#[test]
fn what_becomes_of_stuck_items_can_be_a_parameter() {
    let with = |value: &str| {
        let text = format!(
            "[params]\nstuck = {{ values = [\"pass-with-notes\", \"hold\"], default = \"pass-with-notes\" }}\n{}",
            flow("stuck = { param = \"stuck\" }")
        );
        let text = format!("name = \"f\"\n{text}");
        World::of(start_of("f", &[("f", &text)], &[("stuck", value)]))
            .list("split", tasks())
            .verdict("build.T1/make#1/critic#1", revise(1))
            .played()
    };
    with("pass-with-notes").is(&Phase::Over(End::Done));
    assert!(matches!(with("hold").run.phase(), Phase::Held(Hold::Escalated { .. })));
}

#[test]
fn items_that_are_left_survive_a_crash_after_every_record() {
    World::small(&flow("stuck = \"pass-with-notes\""))
        .list("split", tasks())
        .verdict("build.T1/make#1/critic#1", revise(1))
        .survives_every_crash();
}

#[test]
fn a_task_that_waits_for_a_person_leaves_its_place_to_the_next() {
    let tasks = vec![writes("T1", "t1"), writes("T2", "t2"), writes("T3", "t3")];
    let mut world = World::small(&flow("").replace("at_once = 3", "at_once = 1"))
        .list("split", tasks)
        .verdict("build.T1/make#1/critic#1", block("no licence"))
        .verdict("build.T2/make#1/critic#1", block("no licence either"))
        .played();
    world.says("build.T3/make merged as commit-");
    world.say(1, Answer::Revise, "use another one");
    world.say(2, Answer::Revise, "and here");
    assert_eq!(world.wanted(), ["build.T1/make#2"], "one at a time, also of those that come back");
    world.go_on();
    world.before("build.T1/make#2 finished: did build.T1/make#2", "build.T2/make#2 started");
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_task_that_waits_for_a_limit_keeps_its_place() {
    let mut world = World::small(&flow("").replace("at_once = 3", "at_once = 1"))
        .list("split", vec![writes("T1", "t1"), writes("T2", "t2")])
        .begin();
    world.end("split#1");
    let (until, what) = (60_000, "too many requests".to_owned());
    world.ends("build.T1/make#1", Outcome::Limited { until, what });
    world.never_says("build.T2/make#1 started");
}
