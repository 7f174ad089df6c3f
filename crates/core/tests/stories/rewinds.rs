//! Runs that share the facts of another one up to a unit, and go another way from there.

use std::collections::BTreeSet;

use forge_core::{
    Run,
    event::{Answer, End, Event, Record},
    rewind::rewind,
    run::{Phase, State},
    view::RunRow,
    wanted,
};

use crate::world::{World, partial, person, revise, revises, writes};

/// All families, with some trouble on the way, and every unit that was ever begun in them.
fn families() -> Vec<(World, BTreeSet<String>)> {
    let troubled = [
        World::feature("L").verdict("design#1/review#1", revise(2)),
        World::sprint()
            .verdict("tasks.T1/implement#1/architect#1", revise(1))
            .outcome("tasks.T3/plan#1", partial("the rest")),
        World::milestone().verdict("slices.S1/tasks.A/execute#1/repair-scout#1", revise(1)),
        World::nested(),
    ];
    let begun = |world: &World| -> BTreeSet<String> {
        let attempts = world.facts().into_iter().filter_map(|fact| match fact {
            Event::AttemptStarted { attempt, .. } => Some(attempt.unit.to_string()),
            _ => None,
        });
        attempts.collect()
    };
    let play = |world: World| {
        let world = world.played();
        world.is(&Phase::Over(End::Done));
        let begun = begun(&world);
        (world, begun)
    };
    troubled.map(play).into()
}

#[test]
fn a_run_can_be_rewound_to_every_unit_and_goes_on_to_the_end() {
    let (mut n_rewound, mut in_a_record, mut under_way) = (0, 0, 0);
    for (world, units) in families() {
        let facts = world.facts();
        for unit in units {
            let mut again = world.rewound(&unit).unwrap();
            n_rewound += 1;
            let row = RunRow::new("r", &again.run);
            assert_eq!((row.started_at, row.waited_ms), (row.changed_at, 0), "{unit}: its clock");
            let shared = again.facts();
            let cut = shared.iter().position(|fact| matches!(fact, Event::RunRewound { .. }));
            let cut = cut.unwrap();
            assert_eq!(shared[..cut], facts[..cut], "{unit}: the facts before the cut are shared");
            let begins = |fact: &Event| matches!(fact, Event::AttemptStarted { attempt, .. } if attempt.unit.to_string() == unit);
            assert!(!shared[..cut].iter().any(begins) && begins(&facts[cut]), "{unit}");
            let both = world.journal.iter().zip(&again.journal);
            let n_whole = both.take_while(|(old, new)| old == new).count();
            in_a_record += usize::from(n_whole + 2 == again.journal.len());
            under_way += usize::from(again.calls().len() > 1);
            for call in again.run.calls().keys() {
                assert!(again.wanted().contains(&call.to_string()), "{call} is wanted again");
            }
            // What was under way before the cut keeps its number, and no number comes twice.
            let ordinals: Vec<u32> = again.run.calls().values().map(|call| call.ordinal).collect();
            assert!(ordinals.iter().all(|ordinal| *ordinal <= again.run.n_calls()));
            assert_eq!(ordinals.iter().collect::<BTreeSet<_>>().len(), ordinals.len());
            again.says(&format!(
                "eve rewound to {unit} of 20261115-queue-aaaa; the entries above are shared"
            ));
            again.go_to_the_end();
            again.is(&Phase::Over(End::Done));
            assert!(again.story().iter().any(|line| *line == format!("{unit}#1 started")));
        }
    }
    assert!(n_rewound >= 60, "{n_rewound}");
    assert!(in_a_record > 20, "only {in_a_record} cuts lie in the middle of a decision");
    assert!(under_way > 5, "only {under_way} cuts have something beside them under way");
}

#[test]
fn a_rewound_run_folds_to_the_same_and_wants_the_same() {
    for (world, units) in families() {
        for unit in units {
            let again = world.rewound(&unit).unwrap();
            let mut folded = Run::new();
            again.records().iter().for_each(|record| folded.apply_record(record));
            assert_eq!(wanted(&folded), wanted(&again.run), "{unit}");
            let tick = forge_core::decide(&folded, again.now(), &forge_core::Input::Tick).unwrap();
            assert_eq!(tick.facts, [], "{unit}: a rewound run is settled");
        }
    }
}

#[test]
fn what_was_never_begun_is_nothing_to_rewind_to() {
    let mut world = World::feature("M").begin();
    world.end("analyse#1");
    assert!(world.rewound("design").is_none());
    assert!(world.rewound("build.T1/implement").is_none());
    assert!(world.rewound("nothing").is_none());
    assert!(world.rewound("analyse").is_some());
    assert!(rewind(&[], "r", &"analyse".parse().unwrap(), 1, &person("eve")).is_none());
}

#[test]
fn a_run_is_rewound_to_the_first_attempt_whatever_became_of_it_later() {
    let mut world = World::feature("M").begin();
    for call in ["analyse#1", "analyse#1/form#1", "investigate#1", "investigate#1/form#1"] {
        world.end(call);
    }
    world.end("design#1");
    world.end("design#1/form#1");
    world.rules("design#1/review#1", revises(1));
    let again = world.rewound("design").unwrap();
    assert_eq!(again.calls(), ["design#1"]);
    assert_eq!(again.unit("design").round, 0);
    assert_eq!(again.unit("design").findings, []);
    assert_eq!(again.unit("investigate").state, State::Accepted);
}

#[test]
fn a_rewound_run_keeps_what_it_cost_and_what_was_listed() {
    let world = World::sprint().budget("100").played();
    let again = world.rewound("tasks.T2/plan").unwrap();
    assert!(again.run.ledger().known.0 > 0);
    assert!(again.run.ledger().known < world.run.ledger().known);
    assert!(again.run.has(&"tasks.T3/plan".parse().unwrap()));
    assert_eq!(again.run.n_questions(), 0);
}

#[test]
fn a_run_can_be_rewound_to_before_what_landed() {
    let world = World::sprint().played();
    assert!(world.run.has_landed());
    let again = world.rewound("plan-sprint").unwrap();
    assert!(!again.run.has_landed());
    // T3 is beside T1 and lands first.
    let again = world.rewound("tasks.T2/implement").unwrap();
    assert!(again.unit("tasks.T3/commit").landed.is_some());
    assert_eq!(again.unit("tasks.T2/commit").landed, None);
}

#[test]
fn a_rewound_run_can_be_rewound_and_a_failed_one_goes_on() {
    let mut world = World::feature("M").begin();
    for call in ["analyse#1", "analyse#1/form#1", "investigate#1", "investigate#1/form#1"] {
        world.end(call);
    }
    for call in ["design#1", "design#1/form#1", "design#1/review#1"] {
        world.end(call);
    }
    world.say(1, Answer::GiveUp, "");
    world.is(&Phase::Over(End::Failed));
    let mut again = world.rewound("design").unwrap().rewound("investigate").unwrap();
    again.is(&Phase::Going);
    assert_eq!(again.about("eve rewound").len(), 1, "what came after the cut is not shared");
    again.go_on();
    again.is(&Phase::Over(End::Done));
}

#[test]
fn time_does_not_go_back_with_a_run() {
    let world = World::feature("M").played();
    let records: Vec<Record> = world.records();
    let unit = "split".parse().unwrap();
    let again = rewind(&records, "r", &unit, 5, &person("eve")).unwrap();
    assert!(again.is_sorted_by_key(|record| record.at), "whatever the clock says");
    let later = rewind(&records, "r", &unit, 9_000_000, &person("eve")).unwrap();
    assert_eq!(later.last().unwrap().at, 9_000_000);
}

#[test]
fn items_listed_anew_are_forgotten_by_who_goes_back_before_that() {
    let flow = r#"
[[stage]]
name = "split"
agent = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
  [[stage.stage]]
  name = "make"
  agent = "m"
  gates = [{ review = "critic", redo = "split" }]
"#;
    let world = World::small(flow)
        .list("split#1", vec![writes("A", "a")])
        .list("split#2", vec![writes("B", "b")])
        .verdict("build.A/make#1/critic#1", revise(1))
        .played();
    world.is(&Phase::Over(End::Done));
    let again = world.rewound("build.A/make").unwrap();
    assert!(again.run.has(&"build.A/make".parse().unwrap()));
    assert_eq!(again.calls(), ["build.A/make#1"]);
    assert!(world.rewound("build.B/make").is_some());
}
