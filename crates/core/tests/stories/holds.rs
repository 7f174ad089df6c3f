//! Pause, Ctrl-C, stop, abandon and resume.

use forge_core::{
    Command, Refusal,
    event::{Answer, End, Hold, Outcome, Ruling},
    run::Phase,
    wanted::{StopManner, stop},
};

use crate::world::{World, block, fault, partial, person, revises, writes};

const TWO: &str = r#"
[[stage]]
name = "a"
agent = "x"
rounds = 0
gates = [{ review = "critic" }]
[[stage]]
name = "b"
after = []
agent = "y"
[[stage]]
name = "c"
after = ["a", "b"]
gates = [{ human = "Good?" }]
"#;

#[test]
fn a_paused_run_lets_work_end_and_starts_nothing_not_even_reviewers() {
    let mut world = World::small(TWO).begin();
    world.pause();
    world.is(&Phase::Held(Hold::Paused { by: person("ada") }));
    assert_eq!(world.wanted(), ["a#1", "b#1"], "what runs may end");
    world.end("a#1");
    world.end("b#1");
    assert_eq!(world.calls(), [] as [String; 0], "no reviewer starts");
    assert_eq!(world.wanted(), [] as [String; 0]);
    world.resume();
    assert_eq!(world.calls(), ["a#1/critic#1"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_paused_run_closes_what_is_finished_and_still_takes_answers() {
    let mut world = World::small(TWO).begin();
    world.end("a#1");
    world.pause();
    world.end("a#1/critic#1");
    world.says("a done");
    world.end("b#1");
    world.says("b done");
    assert_eq!(world.unit("c").attempt, 0);
    world.resume();
    world.pause();
    world.say(1, Answer::Approve, "");
    world.says("c done");
    world.is(&Phase::Held(Hold::Paused { by: person("ada") }));
    world.resume();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn an_interrupted_run_wants_its_calls_ended_gently_and_their_attempts_are_nobodys_fault() {
    let mut world = World::small(TWO).begin();
    world.interrupt();
    world.is(&Phase::Held(Hold::Interrupted { by: person("ada") }));
    assert_eq!(world.wanted(), [] as [String; 0]);
    assert_eq!(stop(&world.run), StopManner::Gently);
    assert_eq!(world.calls(), ["a#1", "b#1"]);
    world.ends("a#1", Outcome::Interrupted);
    world.ends("b#1", Outcome::Interrupted);
    assert_eq!(world.calls(), [] as [String; 0]);
    world.resume();
    assert_eq!(world.calls(), ["a#2", "b#2"]);
    assert_eq!(world.unit("a").misses, 0);
}

#[test]
fn a_stopped_run_wants_its_calls_killed_at_once() {
    let mut world = World::small(TWO).begin();
    assert_eq!(stop(&world.run), StopManner::Gently);
    world.stop();
    world.is(&Phase::Held(Hold::Stopped { by: person("ada") }));
    assert_eq!(stop(&world.run), StopManner::AtOnce);
    assert_eq!(world.wanted(), [] as [String; 0]);
}

#[test]
fn a_second_interrupt_does_not_weaken_a_stop() {
    let interrupt = || Command::Interrupt { by: person("ada") };
    let mut world = World::small(TWO).begin();
    world.pause();
    world.interrupt();
    let refused = |world: &mut World, command| world.command(command).unwrap_err().to_string();
    assert_eq!(refused(&mut world, interrupt()), "the run is already interrupted");
    world.stop();
    assert_eq!(refused(&mut world, interrupt()), "the run is already stopped");
    let stop_again = Command::Stop { by: person("ada") };
    assert_eq!(refused(&mut world, stop_again), "the run is already stopped");
    assert_eq!(stop(&world.run), StopManner::AtOnce);
}

#[test]
fn work_that_is_partly_done_does_not_let_a_stopped_run_go_on() {
    for is_stop in [true, false] {
        let mut world = World::small(TWO).begin();
        if is_stop {
            world.stop();
        } else {
            world.interrupt();
        }
        world.ends("a#1", partial("the rest"));
        assert_eq!(world.wanted(), ["Q1"], "b is not wanted again");
        assert!(matches!(
            world.run.phase(),
            Phase::Held(Hold::Stopped { .. } | Hold::Interrupted { .. })
        ));
        world.resume();
        assert_eq!(world.unit("a").left_to_do, "the rest");
    }
}

#[test]
fn an_abandoned_run_is_over_whatever_its_calls_still_say() {
    for outcome in [Outcome::Done, partial("x"), fault("x"), Outcome::Lost] {
        let mut world = World::small(TWO).begin();
        world.ends("a#1", fault("x"));
        world.abandon();
        world.is(&Phase::Over(End::Abandoned));
        assert_eq!(stop(&world.run), StopManner::AtOnce);
        world.ends("a#2", outcome.clone());
        world.ends("b#1", outcome);
        world.is(&Phase::Over(End::Abandoned));
        assert_eq!(world.wanted(), [] as [String; 0]);
        assert_eq!(world.about("no longer needed").len(), 2, "only the prices count");
        world.never_says("asks about");
    }
}

#[test]
fn a_judge_of_an_abandoned_run_sends_nothing_back() {
    let mut world = World::small(TWO).begin();
    world.end("a#1");
    world.abandon();
    world.rules("a#1/critic#1", revises(1));
    world.never_says("sent back");
    world.is(&Phase::Over(End::Abandoned));
}

#[test]
fn a_failed_run_is_open_again_after_a_resume_and_a_done_one_is_not() {
    let mut world = World::small(TWO).begin();
    world.end("a#1");
    world.rules("a#1/critic#1", Ruling::Verdict(block("no")));
    world.say(1, Answer::GiveUp, "");
    world.go_on();
    world.is(&Phase::Over(End::Blocked));
    world.resume();
    world.says("a starts again");
    world.go_on();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.unit("b").attempt, 1, "what done is not redone");
    let again = world.command(Command::Resume { by: person("ada"), budget: None });
    assert_eq!(again, Err(Refusal::Over(End::Done)));
}

#[test]
fn a_resumed_run_reopens_each_failed_item_and_keeps_its_siblings() {
    let flow = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "outer"
each = "tasks"
at_once = 3
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ human = "Good?" }]
"#;
    let items = vec![writes("A", "a"), writes("B", "b"), writes("C", "c")];
    let mut world = World::small(flow).list("split", items).begin();
    world.end("split#1");
    for item in ["A", "B", "C"] {
        world.end(&format!("outer.{item}/make#1"));
    }
    world.say(1, Answer::GiveUp, "");
    world.say(2, Answer::Approve, "");
    world.say(3, Answer::GiveUp, "");
    world.is(&Phase::Over(End::Failed));
    world.resume();
    assert_eq!(
        world.about("starts again"),
        ["outer.A/make starts again", "outer.C/make starts again"]
    );
    assert_eq!(world.calls(), ["outer.A/make#2", "outer.C/make#2"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn nothing_lands_in_a_run_that_was_parked_in_the_same_moment() {
    // The last money is used up while another item waits to land.
    let flow = r#"
[[stage]]
name = "split"
command = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 2
  [[stage.stage]]
  name = "make"
  command = "m"
  gates = [{ land = true }]
  [[stage.stage]]
  name = "tell"
  agent = "t"
"#;
    let items = vec![writes("A", "a"), writes("B", "b"), writes("C", "c")];
    let mut world = World::small(flow).budget("0.02").list("split", items).begin();
    world.end("split#1");
    world.end("build.A/make#1");
    world.end("build.A/make#1/land#1");
    world = world
        .cost("build.A/tell#1", forge_core::money::Cost::Known(forge_core::money::Money(20_000)));
    world.end("build.A/tell#1");
    // C comes to the gate first. B waits there, and stands before C in the table.
    world.end("build.C/make#1");
    world.end("build.B/make#1");
    // C has landed, so that its next row finds no money, after B was found to be next.
    world.end("build.C/make#1/land#1");
    assert!(matches!(world.run.phase(), Phase::Held(Hold::OutOfBudget { .. })));
    assert_eq!(world.calls(), [] as [String; 0]);
}

#[test]
fn a_failed_run_can_be_given_up_for_good() {
    let rows =
        "\n[[stage]]\nname = \"work\"\nagent = \"worker\"\ngates = [{ review = \"critic\" }]\n";
    let mut world = World::small(rows)
        .verdict("work#1/critic#1", block("no"))
        .answer(1, Answer::GiveUp, "")
        .played();
    world.is(&Phase::Over(End::Blocked));
    world.abandon();
    world.is(&Phase::Over(End::Abandoned));
}
