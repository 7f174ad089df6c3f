//! The way that a feature goes, whole: what starts, what looks, what is skipped, what is asked, for
//! every effort, by hand and automatic, with and without a pull request.

use forge_core::{
    Refusal,
    event::End,
    run::Phase,
    view::{Names, sentence},
};

use crate::world::{World, start_of, writes};

fn feature(effort: &str, pr: &str, source: &str) -> World {
    let params = [("effort", effort), ("pr", pr), ("source", source)];
    let start = start_of("feature", &[("feature", crate::world::FEATURE)], &params);
    World::of(start).list("split", vec![writes("T1", "src/a"), writes("T2", "src/b")])
}

/// What starts, looks, is skipped and is asked, in order.
fn way(world: World) -> String {
    let world = world.played();
    world.is(&Phase::Over(End::Done));
    let ends = [" started", " skipped", " done", " is done"];
    let parts = [" asks about ", " approved automatically ", " merged as ", " by the answer to "];
    let steps = world.story().into_iter().filter(|line| {
        ends.iter().any(|end| line.ends_with(end)) || parts.iter().any(|part| line.contains(part))
    });
    steps.collect::<Vec<String>>().join("\n")
}

#[test]
fn every_effort_goes_its_own_way() {
    for effort in ["S", "M", "L"] {
        for pr in ["yes", "no"] {
            let steps = way(feature(effort, pr, "text"));
            insta::assert_snapshot!(format!("way_{effort}_by_hand_pr_{pr}"), steps);
        }
    }
}

#[test]
fn an_automatic_feature_goes_the_same_way_and_asks_nobody() {
    for effort in ["S", "M"] {
        for pr in ["yes", "no"] {
            let steps = way(feature(effort, pr, "text").auto());
            assert!(!steps.contains("asks about"), "{steps}");
            insta::assert_snapshot!(format!("way_{effort}_automatic_pr_{pr}"), steps);
        }
    }
}

#[test]
fn a_full_feature_is_never_automatic() {
    for pr in ["yes", "no"] {
        let refused = feature("L", pr, "text").auto().refused();
        assert_eq!(refused, Refusal::Manual);
        assert_eq!(
            refused.to_string(),
            "every checkpoint of this run needs a person, so it cannot be started with --auto"
        );
    }
}

#[test]
fn whoever_asked_is_told_where_the_request_comes_from_somewhere() {
    for source in ["github", "jira"] {
        let world = feature("M", "yes", source).played();
        world.is(&Phase::Over(End::Done));
        world.before("summary done", "post#1 started");
        world.before("post done", "record#1 started");
    }
}

#[test]
fn without_a_pull_request_the_summary_waits_for_the_verification() {
    for pr in ["yes", "no"] {
        let world = feature("S", pr, "text").played();
        world.before("verify done", "summary#1 started");
    }
    let world = feature("S", "no", "text").played();
    world.never_says("deliver#1 started");
    world.before("deliver skipped", "analyse#1 started");
}

#[test]
fn skips_are_the_first_facts_and_stand_in_the_order_of_the_table() {
    let mut world = feature("S", "no", "text").begin();
    let first = world.records().into_iter().next().unwrap().facts;
    let steps: Vec<String> = first.iter().map(|fact| sentence(fact, Names::Exact)).collect();
    assert_eq!(
        steps,
        [
            "ada started the run, flow `feature`, effort S, pr no, source text",
            "split: review skipped",
            "split: checkpoint-b skipped",
            "review skipped",
            "deliver skipped",
            "post skipped",
            "analyse#1 started",
        ]
    );
    world.go_on();
    world.is(&Phase::Over(End::Done));
}
