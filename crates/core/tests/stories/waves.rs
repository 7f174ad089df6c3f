//! Items in waves: what comes after nothing first, then what comes after that.

use forge_core::{
    event::{Answer, End},
    item::Item,
    run::Phase,
};

use crate::world::{World, after, block, writes};

const FLOW: &str = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 4
order = "waves"
stuck = "pass-with-notes"
  [[stage.stage]]
  name = "make"
  agent = "m"
  rounds = 0
  exhausted = "fail"
  gates = [{ review = "critic" }]
"#;

/// Two waves, and a task alone in the third.
fn tasks() -> Vec<Item> {
    vec![
        writes("A", "a"),
        writes("B", "b"),
        after(writes("C", "c"), "A"),
        after(writes("D", "d"), "C"),
    ]
}

fn listed() -> World {
    let mut world = World::small(FLOW).list("split", tasks()).at_once(10).begin();
    world.end("split#1");
    world
}

#[test]
fn a_wave_begins_when_all_of_the_wave_before_is_done() {
    let mut world = listed();
    assert_eq!(world.calls(), ["build.A/make#1", "build.B/make#1"]);
    world.end("build.A/make#1");
    world.end("build.A/make#1/critic#1");
    assert_eq!(world.calls(), ["build.B/make#1"], "C could begin, but its wave has not come");
    world.end("build.B/make#1");
    world.end("build.B/make#1/critic#1");
    assert_eq!(world.calls(), ["build.C/make#1"]);
}

#[test]
fn what_failed_or_asks_does_not_hold_up_the_waves_after_it() {
    let mut world = World::small(FLOW)
        .list("split", tasks())
        .verdict("build.B/make#1/critic#1", block("no licence"))
        .played();
    world.is(&Phase::Going);
    world.says("build.D/make done");
    world.say(1, Answer::GiveUp, "");
    world.is(&Phase::Over(End::Done));
    world.says("build: not finished, and not in the result: B");
}

#[test]
fn what_waits_for_an_answer_holds_up_only_what_comes_after_it() {
    let mut tasks = tasks();
    tasks.push(after(after(writes("E", "e"), "B"), "C"));
    let world = World::small(FLOW)
        .list("split", tasks)
        .verdict("build.B/make#1/critic#1", block("no licence"))
        .played();
    world.says("build.D/make done");
    world.never_says("build.E/make#1 started");
}

#[test]
fn a_run_in_waves_survives_a_crash_after_every_record() {
    World::small(FLOW).list("split", tasks()).survives_every_crash();
}
