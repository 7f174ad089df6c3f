//! A person may change settings of a run at a stop. Everything else stays as it was frozen.

use std::collections::BTreeMap;

use forge_core::{
    Command, Refusal,
    event::{Before, Blob, Colour, Evidence, Limits, Outcome, ProofStart, Receipt, SettingsChange},
    money::{Money, Spent},
    view::summary,
};

use crate::world::{World, person, reserved};

const ONE: &str = r#"
[[stage]]
name = "work"
agent = "worker"
"#;

fn change(evidence: Before, sessions: Before) -> SettingsChange {
    SettingsChange {
        set: BTreeMap::from([("limits.call_budget".to_owned(), "0.20".to_owned())]),
        settings: Blob("new".to_owned()),
        limits: Limits {
            budget: None,
            call_budget: Money::parse("0.20"),
            at_once: 1,
            unpriced_calls: None,
        },
        routing: None,
        evidence,
        sessions,
    }
}

fn changes(world: &mut World, change: SettingsChange) -> Result<(), Refusal> {
    let change = Box::new(change);
    world.command(Command::ChangeSettings { change, by: person("ada") }).map(|_| ())
}

fn in_session() -> Receipt {
    Receipt { session: Some("s1".to_owned()), ..Receipt::from_spent(Spent::NOTHING) }
}

#[test]
fn settings_are_changed_at_a_stop_and_hold_from_there_on() {
    let mut world = World::small(ONE).budget("5").leaves("work#1", in_session()).begin();
    let refused = changes(&mut world, change(Before::Kept, Before::Kept));
    assert_eq!(refused, Err(Refusal::UnderWay("work".parse().unwrap())), "it is being worked on");
    world.stop();
    world.ends("work#1", Outcome::Interrupted);
    changes(&mut world, change(Before::Kept, Before::Kept)).unwrap();
    world.says("ada changed settings: limits.call_budget = 0.20");
    let start = &world.run.definition().start;
    assert_eq!(start.settings, Some(Blob("new".to_owned())));
    assert_eq!(start.limits.budget, Money::parse("5"), "the cap of the run is not among them");
    world.resume();
    assert_eq!(reserved(&world, "work#2"), Money::parse("0.20"));
    assert_eq!(world.run.session(&"work#2".parse().unwrap()), Some("s1"));
    assert_eq!(
        summary::summarize("r", &world.run, 0).settings,
        ["ada changed settings: limits.call_budget = 0.20"]
    );
}

#[test]
fn another_agent_goes_on_in_no_session_of_the_one_before() {
    let mut world = World::small(ONE).leaves("work#1", in_session()).begin();
    world.stop();
    world.ends("work#1", Outcome::Interrupted);
    changes(&mut world, change(Before::Kept, Before::Void)).unwrap();
    world.resume();
    assert_eq!(world.run.session(&"work#2".parse().unwrap()), None);
}

#[test]
fn evidence_that_was_made_under_other_settings_counts_no_more() {
    let evidence = Evidence {
        command: "make".to_owned(),
        tree: "tree".to_owned(),
        colour: Colour::Green,
        took_ms: None,
        start: ProofStart::Cached,
        failure: None,
    };
    let proved = || Receipt { evidence: vec![evidence], ..Receipt::from_spent(Spent::NOTHING) };
    let two = format!("{ONE}[[stage]]\nname = \"next\"\nagent = \"worker\"\n");
    let mut world = World::small(&two).leaves("work#1", proved()).begin();
    world.end("work#1");
    assert!(world.run.evidence("tree", "make").is_some());
    world.stop();
    world.ends("next#1", Outcome::Interrupted);
    changes(&mut world, change(Before::Void, Before::Kept)).unwrap();
    assert_eq!(world.run.evidence("tree", "make"), None);
    world
        .says("ada changed settings: limits.call_budget = 0.20; earlier evidence no longer counts");
}

#[test]
fn settings_of_a_run_that_is_over_for_good_are_not_changed() {
    let mut world = World::small(ONE).begin();
    world.abandon();
    world.end("work#1");
    let refused = changes(&mut world, change(Before::Kept, Before::Kept));
    assert!(matches!(refused, Err(Refusal::Over(_))), "{refused:?}");
}
