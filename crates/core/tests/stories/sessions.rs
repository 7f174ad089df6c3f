//! A call that was set back goes on in the session of its agent; any other call begins anew.

use forge_core::{
    Input, Run,
    event::{Answer, Outcome, Receipt, Ruling},
    failure::FaultClass,
    id::CallId,
    money::{Cost, Money, Spent},
    verdict::BlockerClass,
};

use crate::world::{World, fault, partial, revises, unread, writes};

const ONE: &str = r#"
[[stage]]
name = "work"
agent = "worker"
writes = ["work.md"]
misses = 3
gates = [{ review = "critic" }]
[[stage]]
name = "next"
agent = "other"
"#;

fn in_session(session: &str) -> Receipt {
    Receipt { session: Some(session.to_owned()), ..Receipt::from_spent(Spent::NOTHING) }
}

fn limited(until: u64) -> Outcome {
    Outcome::Limited { until, what: "a limit".to_owned() }
}

/// The session that a call under way goes on in, as the run has it and as its journal has it.
#[track_caller]
fn session(world: &World, call: &str) -> Option<String> {
    let call: CallId = call.parse().unwrap();
    assert!(world.run.calls().contains_key(&call), "{call} is not under way: {:?}", world.calls());
    let mut again = Run::new();
    world.records().iter().for_each(|record| again.apply_record(record));
    assert_eq!(again.session(&call), world.run.session(&call), "a replay knows another session");
    world.run.session(&call).map(str::to_owned)
}

/// The work was begun in the session `s1`, and ended like this.
fn after(outcome: Outcome) -> World {
    let mut world = World::small(ONE).leaves("work#1", in_session("s1")).begin();
    assert_eq!(session(&world, "work#1"), None, "the first attempt begins anew");
    world.ends("work#1", outcome);
    world
}

#[test]
fn an_attempt_that_was_set_back_goes_on_in_its_session() {
    for outcome in [Outcome::Interrupted, Outcome::Lost, limited(0)] {
        assert_eq!(session(&after(outcome), "work#2"), Some("s1".into()));
    }
    let mut world = after(limited(900_000));
    world.input_at(900_000, &Input::Tick).unwrap();
    assert_eq!(session(&world, "work#2"), Some("s1".into()), "also when the limit is over");
}

#[test]
fn a_stopped_run_goes_on_in_its_sessions_when_it_is_resumed() {
    let mut world = World::small(ONE).leaves("work#1", in_session("s1")).begin();
    world.stop();
    world.ends("work#1", Outcome::Interrupted);
    world.resume();
    assert_eq!(session(&world, "work#2"), Some("s1".into()));
}

fn cut_short(class: FaultClass) -> Outcome {
    Outcome::Fault { class, what: "cut short".to_owned() }
}

#[test]
fn work_that_was_cut_short_from_outside_goes_on_in_its_session() {
    for class in [FaultClass::TimedOut, FaultClass::Killed] {
        assert_eq!(session(&after(cut_short(class)), "work#2"), Some("s1".into()), "{class:?}");
    }
    let mut world = after(cut_short(FaultClass::OutOfBudget));
    world.say(1, Answer::Retry, "");
    assert_eq!(session(&world, "work#2"), Some("s1".into()), "with the cap once more");
    let what = "not logged in".to_owned();
    let mut world = after(Outcome::Blocked { class: BlockerClass::NoAccess, what: what.clone() });
    world.say(1, Answer::Retry, "");
    assert_eq!(session(&world, "work#2"), Some("s1".into()), "logged in again");
    let mut world = after(Outcome::Blocked { class: BlockerClass::NoAccess, what });
    world.say(1, Answer::Retry, "leave the tests alone");
    assert_eq!(session(&world, "work#2"), None, "it is other work");
}

#[test]
fn work_that_used_up_the_run_goes_on_in_its_session_with_more_money() {
    let mut world = World::small(ONE)
        .budget("0.50")
        .cost("work#1", Cost::Known(Money(500_000)))
        .leaves("work#1", in_session("s1"))
        .begin();
    world.ends("work#1", cut_short(FaultClass::OutOfBudget));
    world.resume_with("2").unwrap();
    assert_eq!(session(&world, "work#2"), Some("s1".into()));
}

#[test]
fn a_review_that_was_cut_short_from_outside_goes_on_in_its_session() {
    let what = || "cut short".to_owned();
    let rulings = [
        Ruling::Fault { class: FaultClass::Killed, what: what() },
        Ruling::Fault { class: FaultClass::OutOfBudget, what: what() },
        Ruling::Blocked { class: BlockerClass::NoAccess, what: what() },
    ];
    for ruling in rulings {
        let mut world = World::small(ONE).leaves("work#1/critic#1", in_session("r1")).begin();
        world.end("work#1");
        world.rules("work#1/critic#1", ruling);
        if world.calls().is_empty() {
            world.say(1, Answer::Retry, "");
        }
        assert_eq!(session(&world, "work#1/critic#2"), Some("r1".into()));
    }
}

#[test]
fn an_attempt_after_any_other_end_begins_anew() {
    for outcome in [fault("no result"), partial("the rest")] {
        assert_eq!(session(&after(outcome), "work#2"), None);
    }
    let class = BlockerClass::ToolingFailure;
    let mut world = after(Outcome::Blocked { class, what: "no tool".to_owned() });
    world.say(1, Answer::Retry, "");
    assert_eq!(session(&world, "work#2"), None);
}

#[test]
fn a_call_without_a_session_leaves_none() {
    let mut world = World::small(ONE).begin();
    world.ends("work#1", Outcome::Lost);
    assert_eq!(session(&world, "work#2"), None);
}

#[test]
fn the_latest_session_is_the_one_that_goes_on() {
    let mut world = after(Outcome::Interrupted).leaves("work#2", in_session("s2"));
    world.ends("work#2", Outcome::Lost);
    assert_eq!(session(&world, "work#3"), Some("s2".into()));
    world.ends("work#3", fault("no result"));
    assert_eq!(session(&world, "work#4"), None, "a session that failed is not used again");
}

#[test]
fn a_call_that_never_came_to_its_session_leaves_it_to_the_next() {
    let mut world = after(Outcome::Interrupted);
    world.ends("work#2", Outcome::Deferred { until: 60_000, what: "r2 works there".to_owned() });
    world.input_at(60_000, &Input::Tick).unwrap();
    assert_eq!(session(&world, "work#3"), Some("s1".into()), "it made way and touched nothing");
    world.ends("work#3", Outcome::Interrupted);
    assert_eq!(session(&world, "work#4"), Some("s1".into()), "it never began");
}

#[test]
fn the_session_of_a_call_is_the_same_until_it_ends() {
    let mut world = after(Outcome::Interrupted);
    world.pause();
    assert_eq!(session(&world, "work#2"), Some("s1".into()));
    world.resume();
    assert_eq!(session(&world, "work#2"), Some("s1".into()));
    world.abandon();
    assert_eq!(
        session(&world, "work#2"),
        Some("s1".into()),
        "it is under way until it is reported"
    );
    world.end("work#2");
    assert_eq!(world.run.session(&"work#2".parse().unwrap()), None);
}

#[test]
fn a_review_that_was_set_back_goes_on_in_its_session() {
    let limit = Ruling::Limited { until: 0, what: String::new() };
    for ruling in [Ruling::Interrupted, Ruling::Lost, limit] {
        let mut world = World::small(ONE).leaves("work#1/critic#1", in_session("r1")).begin();
        world.end("work#1");
        assert_eq!(session(&world, "work#1/critic#1"), None, "not in that of the work");
        world.rules("work#1/critic#1", ruling);
        assert_eq!(session(&world, "work#1/critic#2"), Some("r1".into()));
    }
}

#[test]
fn a_review_without_a_verdict_begins_anew() {
    let mut world = World::small(ONE).leaves("work#1/critic#1", in_session("r1")).begin();
    world.end("work#1");
    world.rules("work#1/critic#1", unread("no verdict"));
    assert_eq!(session(&world, "work#1/critic#2"), None);
}

#[test]
fn a_review_of_another_attempt_and_another_gate_begin_anew() {
    let flow =
        ONE.replace("{ review = \"critic\" }", "{ review = \"critic\" }, { review = \"b\" }");
    let mut world = World::small(&flow)
        .leaves("work#1/critic#1", in_session("r1"))
        .leaves("work#1/critic#2", in_session("r1"))
        .begin();
    world.end("work#1");
    world.rules("work#1/critic#1", Ruling::Lost);
    world.end("work#1/critic#2");
    assert_eq!(session(&world, "work#1/b#1"), None);
    world.rules("work#1/b#1", revises(1));
    assert_eq!(session(&world, "work#2"), None, "nor does the work that was sent back");
    world.end("work#2");
    assert_eq!(session(&world, "work#2/critic#1"), None);
}

#[test]
fn work_after_a_person_had_words_begins_anew() {
    let set_back = |words: &str| {
        let mut world = World::small(ONE);
        for n in 1..=5 {
            world = world.leaves(&format!("work#{n}"), in_session("s1"));
        }
        let mut world = world.begin();
        for n in 1..=5 {
            world.ends(&format!("work#{n}"), Outcome::Lost);
        }
        world.say(1, Answer::Retry, words);
        session(&world, "work#6")
    };
    assert_eq!(set_back(""), Some("s1".into()), "it is the same work");
    assert_eq!(set_back("leave the tests alone"), None, "it is other work");
}

#[test]
fn a_review_that_is_retried_goes_on_unless_there_are_words() {
    let set_back = |words: &str| {
        let mut world = World::small(ONE);
        for n in 1..=5 {
            world = world.leaves(&format!("work#1/critic#{n}"), in_session("r1"));
        }
        let mut world = world.begin();
        world.end("work#1");
        for n in 1..=5 {
            world.rules(&format!("work#1/critic#{n}"), Ruling::Lost);
        }
        world.say(1, Answer::Retry, words);
        session(&world, "work#1/critic#6")
    };
    assert_eq!(set_back(""), Some("r1".into()));
    assert_eq!(set_back("look at the tests"), None);
}

#[test]
fn work_whose_ground_was_changed_begins_anew() {
    let mut world = World::small(ONE).leaves("next#1", in_session("n1")).begin();
    world.end("work#1");
    world.end("work#1/critic#1");
    world.ends("next#1", limited(900_000));
    world.edit("work", "work.md");
    world.end("work#2/critic#1");
    assert_eq!(session(&world, "next#2"), None, "what it read was changed by hand");
}

#[test]
fn work_that_was_changed_by_hand_is_looked_at_anew() {
    let mut world = World::small(ONE).leaves("work#1/critic#1", in_session("r1")).begin();
    world.end("work#1");
    world.rules("work#1/critic#1", Ruling::Limited { until: 900_000, what: String::new() });
    world.edit("work", "work.md");
    assert_eq!(session(&world, "work#2/critic#1"), None);
}

#[test]
fn a_failed_unit_that_is_resumed_begins_anew() {
    let mut world = World::small(ONE).leaves("work#1", in_session("s1"));
    for n in 2..=5 {
        world = world.leaves(&format!("work#{n}"), in_session("s1"));
    }
    let mut world = world.begin();
    for n in 1..=5 {
        world.ends(&format!("work#{n}"), Outcome::Lost);
    }
    world.say(1, Answer::GiveUp, "");
    world.resume();
    assert_eq!(session(&world, "work#6"), None);
}

#[test]
fn a_rewound_run_goes_on_in_no_session_of_the_other() {
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
  agent = "m"
  gates = [{ review = "critic" }]
[[stage]]
name = "slow"
after = []
command = "s"
[[stage]]
name = "end"
after = ["slow"]
agent = "e"
"#;
    let items = vec![writes("A", "a"), writes("B", "b")];
    let mut world = World::small(flow)
        .list("split", items)
        .leaves("build.A/make#1", in_session("s1"))
        .leaves("build.B/make#1", in_session("s2"))
        .begin();
    world.end("split#1");
    world.ends("build.A/make#1", Outcome::Interrupted);
    assert_eq!(session(&world, "build.A/make#2"), Some("s1".into()));
    world.ends("build.B/make#1", limited(60_000));
    world.end("slow#1");
    let mut other = world.rewound("end").unwrap();
    assert_eq!(session(&other, "build.A/make#2"), None, "it is begun anew in the new run");
    other.input_at(60_000, &Input::Tick).unwrap();
    assert_eq!(session(&other, "build.B/make#2"), None, "and so is what only waited");
    assert_eq!(session(&world, "build.A/make#2"), Some("s1".into()), "the other run keeps its own");
}
