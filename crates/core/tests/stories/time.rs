//! Limits are timers, and time only goes forward.

use forge_core::{
    Command, Input, Refusal,
    event::{Choice, End, Outcome, Ruling},
    run::Phase,
    view::{RunRow, RunView, Standing},
};

use crate::world::{World, person};

const ONE: &str = r#"
[[stage]]
name = "work"
agent = "worker"
gates = [{ review = "critic" }]
"#;

#[test]
fn a_limit_parks_the_work_until_its_reset_and_costs_nothing() {
    let mut world = World::small(ONE).begin();
    world.ends("work#1", Outcome::Limited { until: 900_000, what: String::new() });
    assert_eq!(world.wanted(), ["wake at 900000"]);
    assert_eq!(Standing::from_run(&world.run), Standing::Limited);
    world.input_at(899_999, &Input::Tick).unwrap();
    assert_eq!(world.calls(), [] as [String; 0]);
    world.input_at(900_000, &Input::Tick).unwrap();
    assert_eq!(world.calls(), ["work#2"]);
    assert_eq!(world.unit("work").misses, 0);
    assert_eq!(world.unit("work").round, 0);
}

#[test]
fn a_limit_says_how_long_and_why() {
    let mut world = World::small(ONE).begin();
    let what = "the provider's rate limit".to_owned();
    world.ends("work#1", Outcome::Limited { until: 1_794_751_500_000, what });
    world.says("work#1 waits until 2026-11-15 14:05:00 UTC: the provider's rate limit");
    let view = RunView::new("r", &world.run);
    let (until, why) = (Some(1_794_751_500_000), "the provider's rate limit");
    assert_eq!((view.row.until, view.row.why.as_str()), (until, why));
    assert_eq!((view.units[0].until, view.units[0].why.as_str()), (until, why));
    world.input_at(1_794_751_500_000, &Input::Tick).unwrap();
    let view = RunView::new("r", &world.run);
    assert_eq!((view.row.until, view.row.why.as_str()), (None, ""), "it goes on");
    assert_eq!((view.units[0].until, view.units[0].why.as_str()), (None, ""));
    world.end("work#2");
    let what = "the provider's usage limit".to_owned();
    world.rules("work#2/critic#1", Ruling::Limited { until: 1_794_837_900_000, what });
    world.says("work#2/critic#1 waits until 2026-11-16 14:05:00 UTC: the provider's usage limit");
    assert_eq!(RunRow::new("r", &world.run).why, "the provider's usage limit");
}

#[test]
fn a_limit_of_an_old_journal_says_how_long() {
    let mut world = World::small(ONE).begin();
    world.ends("work#1", Outcome::Limited { until: 900_000, what: String::new() });
    world.says("work#1 rate-limited until 1970-01-01 00:15:00 UTC");
}

#[test]
fn a_limited_review_waits_and_looks_again() {
    let mut world = World::small(ONE).begin();
    world.end("work#1");
    world.rules("work#1/critic#1", Ruling::Limited { until: 900_000, what: String::new() });
    assert_eq!(world.wanted(), ["wake at 900000"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
    world.says("work#1/critic#2 passed");
}

#[test]
fn limits_in_a_row_are_asked_about_in_the_end() {
    let mut world = World::small(ONE).begin();
    for n in 1..=5 {
        world.ends(&format!("work#{n}"), Outcome::Limited { until: 0, what: String::new() });
    }
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
}

#[test]
fn the_earliest_limit_wakes_the_run() {
    let flow = r#"
[[stage]]
name = "a"
agent = "x"
[[stage]]
name = "b"
after = []
agent = "y"
"#;
    let mut world = World::small(flow).begin();
    world.ends("a#1", Outcome::Limited { until: 900_000, what: String::new() });
    world.ends("b#1", Outcome::Limited { until: 700_000, what: "the limit of b".to_owned() });
    assert_eq!(world.wanted(), ["wake at 700000"]);
    let row = RunRow::new("r", &world.run);
    assert_eq!((row.until, row.why.as_str()), (Some(700_000), "the limit of b"));
    world.input_at(700_000, &Input::Tick).unwrap();
    assert_eq!(world.wanted(), ["b#2", "wake at 900000"]);
}

#[test]
fn a_held_run_needs_no_waking() {
    let mut world = World::small(ONE).begin();
    world.ends("work#1", Outcome::Limited { until: 900_000, what: String::new() });
    world.pause();
    assert_eq!(world.wanted(), [] as [String; 0]);
    world.resume();
    assert_eq!(world.calls(), ["work#2"], "who resumes wants it tried");
}

#[test]
fn records_never_go_back_in_time() {
    let mut world = World::small(ONE).begin();
    world.input_at(500_000, &Input::Tick).unwrap();
    world.ends("work#1", Outcome::Done);
    let input = Input::Command(Command::Pause { by: person("ada") });
    world.input_at(600_000, &input).unwrap();
    let resume = Command::Resume { by: person("ada"), budget: None };
    let record = world.input_at(5, &Input::Command(resume)).unwrap();
    assert_eq!(record.at, 600_000);
}

#[test]
fn a_tick_that_changes_nothing_is_no_record() {
    let mut world = World::small(ONE).begin();
    assert_eq!(world.input(&Input::Tick).unwrap().facts, []);
    assert_eq!(world.journal.len(), 1);
}

#[test]
fn a_person_who_resumes_cuts_a_wait_short() {
    let mut world = World::small(ONE).begin();
    world.ends("work#1", Outcome::Limited { until: 900_000, what: "a limit".to_owned() });
    assert_eq!(world.calls(), [] as [String; 0]);
    world.resume();
    world.says("ada resumed the run");
    assert_eq!(world.calls(), ["work#2"], "it is tried now");
    assert_eq!(
        world.command(Command::Resume { by: person("ada"), budget: None }),
        Err(Refusal::AlreadyGoing)
    );
    let mut world = World::small(ONE).begin();
    world.ends("work#1", Outcome::Limited { until: 900_000, what: "a limit".to_owned() });
    world.stop();
    world.resume();
    assert_eq!(world.calls(), ["work#2"], "also after a stop");
}
