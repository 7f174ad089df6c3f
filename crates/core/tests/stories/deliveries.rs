//! What leaves a run: once, only what was proved, and the last commit changes no code.

use forge_core::{
    Refusal,
    event::{Answer, Choice, Colour, End, Event, Evidence, ProofStart, Receipt, Ruling},
    flow::Delivery,
    money::Spent,
    run::Phase,
    view::Standing,
};

use crate::world::{World, revise, revises, start_of};

/// Code that is verified if `checks` says so, lands, and is offered.
const OFFERED: &str = r#"
name = "f"
[params]
checks = { values = ["yes", "no"], default = "yes" }
[[stage]]
name = "make"
agent = "maker"
exhausted = "pass-with-notes"
rounds = 0
gates = [
  { review = "critic" },
  { verify = true, when = { param = "checks", is = ["yes"] } },
  { land = true },
]
[[stage]]
name = "offer"
deliver = "pull-request"
[[stage]]
name = "record"
deliver = "commit"
"#;

fn offered(checks: &str) -> World {
    World::of(start_of("f", &[("f", OFFERED)], &[("checks", checks)]))
}

fn proof(tree: &str, colour: Colour) -> Receipt {
    let command = "make test".to_owned();
    let evidence = vec![Evidence {
        command,
        tree: tree.to_owned(),
        colour,
        took_ms: None,
        start: ProofStart::Cached,
        failure: None,
    }];
    Receipt { evidence, ..Receipt::from_spent(Spent::NOTHING) }
}

fn landed(tree: &str) -> Receipt {
    Receipt {
        commit: Some("c1".to_owned()),
        tree: Some(tree.to_owned()),
        head: Some("h1".to_owned()),
        ..Receipt::from_spent(Spent::NOTHING)
    }
}

fn last_commit(tree: &str) -> Receipt {
    Receipt {
        commit: Some("c2".to_owned()),
        tree: Some(tree.to_owned()),
        head: Some("c2".to_owned()),
        ..Receipt::from_spent(Spent::NOTHING)
    }
}

#[test]
fn what_was_verified_is_delivered() {
    let world = offered("yes")
        .leaves("make#1/verify#1", proof("t1", Colour::Green))
        .leaves("make#1/land#1", landed("t1"))
        .played();
    world.is(&Phase::Over(End::Done));
    world.before("make done", "offer#1 started");
}

#[test]
fn where_nothing_was_verified_nothing_is_delivered_and_a_person_is_asked() {
    let mut world = offered("no").begin();
    for call in ["make#1", "make#1/critic#1", "make#1/land#1"] {
        world.end(call);
    }
    assert_eq!(world.calls(), [] as [String; 0]);
    world.says(
        "Q1 asks about offer: Nothing verifies this change: nothing was verified in this run. What now?",
    );
    assert_eq!(world.options(1), [Choice::Retry, Choice::GiveUp]);
    let waive = Answer::Waive { gate: "offer".to_owned() };
    assert!(matches!(world.try_say(1, waive, "why not"), Err(Refusal::NotAnOption { .. })));
    world.say(1, Answer::Retry, "");
    world.says(
        "Q2 asks about offer: Nothing verifies this change: nothing was verified in this run. What now?",
    );
    world.say(2, Answer::GiveUp, "");
    world.is(&Phase::Over(End::Failed));
    world.never_says("offer#1 started");
}

#[test]
fn a_review_that_was_waived_proves_nothing() {
    let mut world = offered("no").begin();
    world.end("make#1");
    world.rules("make#1/critic#1", revises(1));
    world.says("make: critic has no revisions left; its findings are noted");
    world.end("make#1/land#1");
    assert_eq!(Standing::from_run(&world.run), Standing::Waiting);
}

#[test]
fn code_on_which_a_check_is_red_is_not_delivered() {
    let mut world = offered("yes").begin();
    for call in ["make#1", "make#1/critic#1", "make#1/verify#1"] {
        world.end(call);
    }
    let mut receipt = landed("t1");
    receipt.evidence = proof("t1", Colour::Red).evidence;
    let mut world = world.leaves("make#1/land#1", receipt);
    world.end("make#1/land#1");
    world.says(
        "Q1 asks about offer: Nothing verifies this change: `make test` fails on exactly this code. What now?",
    );
}

#[test]
fn a_proof_that_was_waived_by_name_lets_it_leave() {
    let mut world = offered("yes").begin();
    world.end("make#1");
    world.end("make#1/critic#1");
    world.rules(
        "make#1/verify#1",
        Ruling::Unverified { what: "no checks".to_owned(), found: Vec::new() },
    );
    assert_eq!(world.options(1), [Choice::Revise, Choice::Waive, Choice::GiveUp]);
    world.say(1, Answer::Waive { gate: "verify".to_owned() }, "a prototype");
    world.end("make#1/land#1");
    assert_eq!(world.calls(), ["offer#1"]);
}

#[test]
fn the_last_commit_becomes_the_result_if_its_code_is_the_same() {
    let world = offered("yes")
        .leaves("make#1/land#1", landed("t1"))
        .leaves("record#1", last_commit("t1"))
        .played();
    world.is(&Phase::Over(End::Done));
    world.says("record merged as c2");
    assert_eq!(world.run.head(), Some("c2"));
    assert_eq!(world.run.tree(), Some("t1"));
}

#[test]
fn a_last_commit_that_changes_the_code_is_a_fault() {
    let world = offered("yes")
        .leaves("make#1/land#1", landed("t1"))
        .leaves("record#1", last_commit("t2"))
        .leaves("record#2", last_commit("t1"))
        .played();
    world.says(
        "record#1 left no usable result: the last commit has the code tree `t2`, and the run's result has `t1`",
    );
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.run.head(), Some("c2"));
    assert_eq!(world.run.history().landed.len(), 2);
}

#[test]
fn a_last_commit_that_was_not_needed_moves_nothing() {
    let world = offered("yes").leaves("make#1/land#1", landed("t1")).played();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.run.head(), Some("h1"));
}

#[test]
fn a_delivery_starts_only_after_everything_before_it_is_closed_well() {
    let world = World::feature("M").verdict("verify#1/verify#1", revise(1)).played();
    world.is(&Phase::Over(End::Done));
    world.before("verify#2/verify#1 passed", "deliver#1 started");
    world.before("verify done", "deliver#1 started");
    let mut world = World::feature("M").answer(1, Answer::GiveUp, "").begin();
    world.go_to_the_end();
    world.is(&Phase::Over(End::Failed));
    let delivers = |fact: &Event| match fact {
        Event::AttemptStarted { attempt, .. } => {
            ["deliver", "summary", "record"].contains(&attempt.unit.stage.as_str())
        }
        _ => false,
    };
    assert!(!world.facts().iter().any(delivers));
}

#[test]
fn every_delivery_has_a_word() {
    for delivery in Delivery::ALL {
        assert_eq!(Delivery::parse(delivery.as_str()), Some(delivery));
    }
    assert_eq!(Delivery::parse("pr"), None);
}

/// The same with pages, which are a commit.
fn with_pages(gates: &str) -> String {
    let pages = format!(
        "[[stage]]\nname = \"write-back\"\ndeliver = \"pages\"\nrounds = 0\n{gates}\n[[stage]]\nname = \"offer\""
    );
    OFFERED.replace("[[stage]]\nname = \"offer\"", &pages)
}

const PROVED: &str = "gates = [{ verify = true }, { land = true }]";

#[test]
fn pages_are_code_that_is_verified_and_lands() {
    let pages = Receipt {
        commit: Some("p1".to_owned()),
        tree: Some("t2".to_owned()),
        ..Receipt::from_spent(Spent::NOTHING)
    };
    let text = with_pages(PROVED);
    let start = || World::of(start_of("f", &[("f", &text)], &[("checks", "yes")]));
    let made = |world: World| {
        world
            .leaves("make#1/verify#1", proof("t1", Colour::Green))
            .leaves("make#1/land#1", landed("t1"))
            .leaves("write-back#1", pages.clone())
    };
    let world = made(start())
        .leaves("write-back#1/verify#1", proof("t2", Colour::Green))
        .leaves("write-back#1/land#1", landed("t2"))
        .leaves("record#1", last_commit("t2"))
        .played();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.run.tree(), Some("t2"));
    world.before("write-back done", "offer#1 started");
    let red =
        made(start()).verdict("write-back#1/verify#1", crate::world::red("a page is bad")).played();
    red.never_says("offer#1 started");
    assert!(red.run.questions().next().is_some(), "nobody can change a page: a person is asked");
}

#[test]
fn pages_without_a_merge_of_their_own_are_refused() {
    let text = with_pages("gates = [{ verify = true }]");
    let texts = [("f".to_owned(), text)].into();
    let refused = forge_core::flow::Flow::parse("f", &texts).unwrap_err();
    assert!(refused.problem.contains("delivers `pages`, which is a commit"), "{}", refused.problem);
}
