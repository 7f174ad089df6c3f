//! Money: held back at the start, settled at the end, never more than the cap.

use forge_core::{
    Command, Refusal,
    event::{Answer, Choice, End, Hold},
    money::{Cost, Money},
    run::Phase,
};

use crate::world::{World, person, reserved, writes};

const ONE: &str = r#"
[[stage]]
name = "work"
agent = "worker"
gates = [{ review = "critic" }, { command = "check" }]
[[stage]]
name = "next"
agent = "other"
"#;

fn cents(n: u64) -> Money {
    Money(n * 10_000)
}

#[test]
fn agents_and_reviews_hold_money_back_and_commands_do_not() {
    let mut world = World::small(ONE).budget("10").call_budget("2").begin();
    assert_eq!(reserved(&world, "work#1"), Some(cents(200)));
    assert_eq!(world.run.ledger().committed(), cents(200));
    world = world.cost("work#1", Cost::Known(cents(50)));
    world.end("work#1");
    assert_eq!(reserved(&world, "work#1/critic#1"), Some(cents(200)));
    assert_eq!(world.run.ledger().committed(), cents(250));
    world.end("work#1/critic#1");
    assert_eq!(reserved(&world, "work#1/command#1"), None);
}

#[test]
fn without_any_cap_nothing_is_held_back_and_costs_are_counted_all_the_same() {
    let world = World::small(ONE).cost("work#1", Cost::Known(cents(50))).told();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.run.ledger().known, cents(50));
    world.says("work#1 ended ($0.50): did work#1");
}

#[test]
fn a_price_that_nobody_knows_counts_as_what_was_held_back() {
    let mut world =
        World::small(ONE).budget("10").call_budget("2").cost("work#1", Cost::Unknown).begin();
    world.end("work#1");
    let ledger = world.run.ledger();
    assert_eq!((ledger.known, ledger.unknown_at_most, ledger.n_unknown), (Money(0), cents(200), 1));
    assert_eq!(world.unit("work").spent, cents(200));
    world.says("work#1 ended (cost unknown): did work#1");
}

#[test]
fn a_run_that_may_not_spend_more_is_parked_until_somebody_raises_its_budget() {
    let mut world = World::small(ONE).budget("0.50").cost("work#1", Cost::Known(cents(50))).begin();
    assert_eq!(reserved(&world, "work#1"), Some(cents(50)), "alone, a call may have all of it");
    world.end("work#1");
    let what = "the run's budget of $0.50 is used up".to_owned();
    world.is(&Phase::Held(Hold::OutOfBudget { what }));
    assert_eq!(
        world.command(Command::Resume { by: person("ada"), budget: None }),
        Err(Refusal::BudgetNeeded { budget: cents(50) })
    );
    assert_eq!(world.resume_with("0.50"), Err(Refusal::BudgetTooLow { committed: cents(50) }));
    world.resume_with("2").unwrap();
    world.says("ada set the budget to $2.00");
    assert_eq!(world.calls(), ["work#1/critic#1"]);
    world.go_on();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_budget_can_be_raised_while_the_run_goes_on() {
    let mut world = World::small(ONE).budget("1").begin();
    let record = world.resume_with("3").unwrap();
    assert_eq!(record.facts.len(), 1);
    assert_eq!(world.run.budget(), Some(cents(300)));
}

#[test]
fn a_run_that_was_stopped_without_money_is_parked_again_when_it_goes_on() {
    let mut world = World::small(ONE).budget("0.50").cost("work#1", Cost::Known(cents(50))).begin();
    world.end("work#1");
    world.stop();
    world.resume();
    assert!(matches!(world.run.phase(), Phase::Held(Hold::OutOfBudget { .. })));
}

#[test]
fn commands_go_on_without_money() {
    let flow = "[[stage]]\nname = \"a\"\ncommand = \"true\"\ngates = [{ verify = true }]\n";
    let world = World::small(flow).budget("0").told();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_stage_that_used_up_its_own_cap_is_asked_about() {
    let flow = ONE.replace("agent = \"worker\"", "agent = \"worker\"\nbudget = \"0.30\"");
    let mut world = World::small(&flow).cost("work#1", Cost::Known(cents(30))).begin();
    assert_eq!(reserved(&world, "work#1"), Some(cents(30)));
    world.end("work#1");
    world.says("Q1 is asked about work: It keeps ending without a result (last: the stage's budget of $0.30 is used up). What now?");
    assert_eq!(world.options(1), [Choice::Retry, Choice::GiveUp]);
    world.say(1, Answer::Retry, "");
    assert_eq!(world.calls(), ["work#1/critic#1"], "the person granted it once more");
    assert_eq!(reserved(&world, "work#1/critic#1"), Some(cents(30)));
}

const SHARED: &str = r#"
[[stage]]
name = "split"
command = "s"
list = "tasks"
[[stage]]
name = "build"
each = "tasks"
at_once = 4
  [[stage.stage]]
  name = "make"
  agent = "m"
"#;

fn sharing(flow: &str, budget: &str) -> World {
    let items = ["a", "b", "c", "d"].map(|id| writes(&id.to_uppercase(), id));
    World::small(flow).budget(budget).list("split", items.to_vec())
}

#[test]
fn calls_beside_each_other_share_what_is_free() {
    let mut world = sharing(SHARED, "4").begin();
    world.end("split#1");
    for item in ["A", "B", "C", "D"] {
        assert_eq!(reserved(&world, &format!("build.{item}/make#1")), Some(cents(100)));
    }
    assert_eq!(world.run.ledger().committed(), cents(400));
}

#[test]
fn when_a_share_is_too_small_calls_go_one_after_the_other() {
    let mut world = sharing(SHARED, "0.03").begin();
    world.end("split#1");
    assert_eq!(world.calls(), ["build.A/make#1"]);
    assert_eq!(reserved(&world, "build.A/make#1"), Some(cents(3)));
}

#[test]
fn going_one_after_the_other_keeps_the_caps_of_stage_and_call() {
    let flow = SHARED.replace("agent = \"m\"", "agent = \"m\"\n  budget = \"0.02\"");
    let mut world = sharing(&flow, "0.03").begin();
    world.end("split#1");
    assert_eq!(reserved(&world, "build.A/make#1"), Some(cents(2)));
    let mut world = sharing(SHARED, "0.03").call_budget("0.02").begin();
    world.end("split#1");
    assert_eq!(reserved(&world, "build.A/make#1"), Some(cents(2)));
}

#[test]
fn what_an_overtaken_call_holds_is_held_until_it_is_reported() {
    let mut world = World::small(ONE).budget("10").call_budget("2").begin();
    world.abandon();
    assert_eq!(world.run.ledger().committed(), cents(200));
    world.end("work#1");
    assert_eq!(world.run.ledger().committed(), Money(20_000));
}

#[test]
fn money_is_read_and_shown_exactly() {
    let parse = |text: &str| Money::parse(text).map(|money| money.0);
    assert_eq!(parse("2"), Some(2_000_000));
    assert_eq!(parse("0.25"), Some(250_000));
    assert_eq!(parse("0.000001"), Some(1));
    for wrong in ["", ".5", "5.", "-1", "1.0000001", "1e3", "18446744073709551615"] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
    let shown = |micros: u64| Money(micros).to_string();
    assert_eq!(shown(0), "$0.00");
    assert_eq!(shown(1_234), "$0.0012");
    assert_eq!(shown(2_500_000), "$2.50");
}
