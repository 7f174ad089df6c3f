//! Money: held back at the start, settled at the end, never more than the cap.

use forge_core::{
    Command, Refusal,
    event::{Answer, Choice, End, Hold, Outcome, Receipt, Ruling},
    failure::FaultClass,
    money::{Cost, Money, Spent},
    run::{FilesState, Phase},
    view::{RunRow, RunView},
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
    let world = World::small(ONE).cost("work#1", Cost::Known(cents(50))).played();
    world.is(&Phase::Over(End::Done));
    assert_eq!(world.run.ledger().known, cents(50));
    world.says("work#1 finished ($0.50): did work#1");
}

#[test]
fn a_price_that_nobody_knows_counts_as_what_was_held_back() {
    let mut world =
        World::small(ONE).budget("10").call_budget("2").cost("work#1", Cost::Unknown).begin();
    world.end("work#1");
    let ledger = world.run.ledger();
    assert_eq!((ledger.known, ledger.unknown_at_most, ledger.n_unknown), (Money(0), cents(200), 1));
    assert_eq!(world.unit("work").spent, cents(200));
    world.says("work#1 finished (cost unknown): did work#1");
}

#[test]
fn what_is_known_of_an_unknown_price_counts_where_it_is_more_than_was_held_back() {
    let mut world = World::small(ONE)
        .budget("10")
        .call_budget("2")
        .cost("work#1", Cost::Unknown)
        .at_least("work#1", cents(350))
        .begin();
    world.end("work#1");
    let ledger = world.run.ledger();
    assert_eq!((ledger.known, ledger.unknown_at_most, ledger.n_unknown), (Money(0), cents(350), 1));
    assert_eq!(world.unit("work").spent, cents(350));
    world.says("work#1 finished (at least $3.50): did work#1");
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
        Err(Refusal::BudgetNeeded { budget: cents(50), committed: cents(50) })
    );
    assert_eq!(world.resume_with("0.50"), Err(Refusal::BudgetTooLow { committed: cents(50) }));
    world.resume_with("2").unwrap();
    world.says("ada set the budget to $2");
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
    let world = World::small(flow).budget("0").played();
    world.is(&Phase::Over(End::Done));
}

#[test]
fn a_stage_that_used_up_its_own_cap_is_asked_about() {
    let flow = ONE.replace("agent = \"worker\"", "agent = \"worker\"\nbudget = \"0.30\"");
    let mut world = World::small(&flow).cost("work#1", Cost::Known(cents(30))).begin();
    assert_eq!(reserved(&world, "work#1"), Some(cents(30)));
    world.end("work#1");
    world.says(
        "Q1 asks about work: `critic` cannot run: the stage's budget of $0.30 is used up. What now?",
    );
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    world.say(1, Answer::Retry, "");
    assert_eq!(world.calls(), ["work#1/critic#1"], "the person granted it once more");
    assert_eq!(reserved(&world, "work#1/critic#1"), Some(cents(30)));
}

#[test]
fn an_estimated_price_counts_like_a_known_one_and_is_called_an_estimate() {
    let mut world = World::small(ONE)
        .budget("10")
        .call_budget("2")
        .cost("work#1", Cost::Estimated(cents(50)))
        .begin();
    world.end("work#1");
    let ledger = world.run.ledger();
    assert_eq!((ledger.known, ledger.estimated, ledger.n_unknown), (Money(0), cents(50), 0));
    assert_eq!(ledger.committed(), cents(250), "the review holds the rest");
    assert_eq!(world.unit("work").spent, cents(50));
    world.says("work#1 finished (about $0.50): did work#1");
    assert_eq!(RunRow::new("r", &world.run).amount().to_text(), "about $0.50");
    let unit = &RunView::new("r", &world.run).units[0];
    assert_eq!((unit.estimated, unit.amount().to_text().as_str()), (cents(50), "about $0.50"));
}

#[test]
fn what_is_known_estimated_and_unknown_is_told_apart_for_run_and_unit() {
    let world = World::small(ONE)
        .budget("10")
        .call_budget("2")
        .cost("work#1", Cost::Known(cents(40)))
        .cost("work#1/critic#1", Cost::Unknown)
        .cost("next#1", Cost::Estimated(cents(10)))
        .played();
    let view = RunView::new("r", &world.run);
    let words = "at least about $0.50 (1 call of unknown cost)";
    assert_eq!(view.row.amount().to_text(), words);
    let of = |unit: usize| view.units[unit].amount().to_text();
    assert_eq!(of(0), "at least $0.40 (1 call of unknown cost)");
    assert_eq!((view.units[0].spent, view.units[0].unknown_at_most), (cents(240), cents(200)));
    assert_eq!(of(1), "about $0.10");
}

#[test]
fn a_run_parked_for_money_says_what_of_it_is_estimated() {
    let mut world =
        World::small(ONE).budget("0.50").cost("work#1", Cost::Estimated(cents(50))).begin();
    world.end("work#1");
    let what = "the run's budget of $0.50 is used up ($0.00 known, about $0.50 estimated)";
    world.is(&Phase::Held(Hold::OutOfBudget { what: what.to_owned() }));
}

fn spent_out() -> Outcome {
    let what = "it reached its budget".to_owned();
    Outcome::Fault { class: FaultClass::OutOfBudget, what }
}

#[test]
fn an_attempt_that_reached_the_cap_of_a_call_is_asked_about_at_once_and_is_no_miss() {
    // Tiny turns come to the cap and not beyond.
    let mut world = World::small(ONE)
        .budget("10")
        .call_budget("0.50")
        .cost("work#1", Cost::Known(cents(50)))
        .begin();
    world.ends("work#1", spent_out());
    assert_eq!(world.unit("work").misses, 0);
    assert_eq!(world.run.ledger().known, cents(50), "what it spent is spent");
    assert_eq!(world.calls(), [] as [String; 0], "it would spend the same again");
    world.says(
        "Q1 asks about work: The budget of $0.50 was used up before there was a result. What now?",
    );
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    let retry = &RunView::new("r", &world.run).asked[0].options[0];
    assert_eq!(retry.does, "work is tried again, with the same budget");
    world.say(1, Answer::Retry, "");
    assert_eq!(reserved(&world, "work#2"), Some(cents(50)));
    world.ends("work#2", spent_out());
    assert_eq!(world.options(2), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
}

#[test]
fn whoever_stops_at_a_cap_that_we_did_not_set_is_asked_about_without_an_amount() {
    let mut world = World::small(ONE).begin();
    world.ends("work#1", spent_out());
    world.says("Q1 asks about work: The budget was used up before there was a result. What now?");
}

#[test]
fn an_attempt_that_used_up_the_run_is_nobodys_fault_and_goes_on_with_more_money() {
    let flow = ONE.replace("agent = \"worker\"", "agent = \"worker\"\nmisses = 1");
    let mut world = World::small(&flow).budget("0.50").call_budget("0.50");
    for n in 1..=4 {
        world = world.cost(&format!("work#{n}"), Cost::Known(cents(50)));
    }
    let mut world = world.begin();
    for n in 1..=4 {
        world.ends(&format!("work#{n}"), spent_out());
        assert!(matches!(world.run.phase(), Phase::Held(Hold::OutOfBudget { .. })), "{n}");
        assert_eq!(world.unit("work").misses, 0);
        let more = Money(cents(50).0 * (n + 1)).to_string();
        world.resume_with(more.trim_start_matches('$')).unwrap();
        assert_eq!(world.calls(), [format!("work#{}", n + 1)]);
    }
    world.never_says("asks about");
}

#[test]
fn where_run_and_stage_are_used_up_the_run_parks_and_the_stage_is_asked_about_afterwards() {
    let flow = ONE.replace("agent = \"worker\"", "agent = \"worker\"\nbudget = \"0.30\"");
    let mut world = World::small(&flow).budget("0.30").cost("work#1", Cost::Known(cents(30)));
    world = world.begin();
    world.ends("work#1", spent_out());
    assert!(matches!(world.run.phase(), Phase::Held(Hold::OutOfBudget { .. })));
    world.never_says("asks about");
    world.resume_with("1").unwrap();
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
    world.say(1, Answer::Retry, "");
    assert_eq!(reserved(&world, "work#2"), Some(cents(30)));
}

#[test]
fn a_call_that_may_cost_less_than_a_cent_does_not_reach_its_cap_for_ever() {
    let mut world = World::small(ONE)
        .budget("0.006")
        .call_budget("0.005")
        .cost("work#1", Cost::Known(Money(0)))
        .begin();
    assert_eq!(reserved(&world, "work#1"), Some(Money(5_000)));
    world.ends("work#1", spent_out());
    assert_eq!(world.calls(), [] as [String; 0]);
    assert_eq!(world.options(1), [Choice::Retry, Choice::Revise, Choice::GiveUp]);
}

#[test]
fn the_work_of_an_attempt_that_reached_its_cap_is_kept() {
    let kept = Receipt {
        commit: Some("half".into()),
        tree: Some("tree".into()),
        ..Receipt::from_spent(Spent::NOTHING)
    };
    let mut world = World::small(ONE).call_budget("0.50").leaves("work#2", kept).begin();
    world.ends("work#1", spent_out());
    assert_eq!(world.unit("work").files, FilesState::Left, "as the attempt left them");
    world.say(1, Answer::Retry, "");
    world.ends("work#2", spent_out());
    assert_eq!(world.unit("work").files, FilesState::Committed);
    let root = forge_core::id::Scope::root();
    assert_eq!(world.run.code(&root).map(|code| code.commit.as_str()), Some("half"));
}

#[test]
fn a_budget_that_does_not_hold_another_call_is_not_said_to_be_used_up() {
    let mut world =
        World::small(ONE).budget("0.03").cost("work#1", Cost::Known(Money(24_000))).begin();
    world.end("work#1");
    let what =
        "$0.02 of the run's $0.03 spent; the next call could cost more than is left".to_owned();
    world.is(&Phase::Held(Hold::OutOfBudget { what }));
}

#[test]
fn a_big_turn_may_go_over_the_cap_of_the_run_and_then_nothing_more_starts() {
    let mut world = World::small(ONE).budget("0.50").cost("work#1", Cost::Known(cents(90))).begin();
    world.ends("work#1", spent_out());
    let what = "the run's budget of $0.50 is used up".to_owned();
    world.is(&Phase::Held(Hold::OutOfBudget { what }));
    assert_eq!(world.run.ledger().committed(), cents(90), "the overspend is not hidden");
    assert_eq!(
        world.command(Command::Resume { by: person("ada"), budget: None }),
        Err(Refusal::BudgetNeeded { budget: cents(50), committed: cents(90) })
    );
    assert_eq!(world.resume_with("0.80"), Err(Refusal::BudgetTooLow { committed: cents(90) }));
    world.resume_with("1").unwrap();
    assert_eq!(reserved(&world, "work#2"), Some(cents(10)));
}

#[test]
fn a_call_that_was_interrupted_in_its_first_turn_leaves_the_rest_of_the_budget_to_the_next() {
    for outcome in [Outcome::Interrupted, Outcome::Lost] {
        let mut world = World::small(ONE)
            .budget("5")
            .cost("work#1", Cost::Unknown)
            .at_least("work#1", cents(1))
            .begin();
        assert_eq!(reserved(&world, "work#1"), Some(cents(500)), "alone, it may have all of it");
        world.stop();
        world.ends("work#1", outcome);
        assert_eq!(world.run.ledger().unknown_at_most, cents(51), "what was told, and a tenth");
        assert_eq!(world.unit("work").spent, cents(51));
        world.resume();
        assert_eq!(reserved(&world, "work#2"), Some(cents(449)), "within the same budget");
    }
}

#[test]
fn what_an_unknown_cost_counts_as_is_never_more_than_was_held_back() {
    let mut world = World::small(ONE)
        .budget("5")
        .cost("work#1", Cost::Known(cents(490)))
        .cost("work#1/critic#1", Cost::Unknown)
        .at_least("work#1/critic#1", cents(4))
        .begin();
    world.end("work#1");
    world.end("work#1/critic#1");
    assert_eq!(world.run.ledger().committed(), cents(500));
}

#[test]
fn a_run_that_calls_of_unknown_cost_have_used_up_says_what_they_count_as() {
    let mut world =
        World::small(ONE).budget("0.50").call_budget("0.50").cost("work#1", Cost::Unknown).begin();
    world.end("work#1");
    let what = "the run's budget of $0.50 is used up ($0.00 known; 1 call of unknown cost counts \
                as $0.50)";
    world.is(&Phase::Held(Hold::OutOfBudget { what: what.to_owned() }));
}

#[test]
fn under_a_budget_that_nobody_set_calls_that_tell_no_price_are_counted_and_hold_nothing_back() {
    let mut world = World::small(ONE)
        .budget("10")
        .unpriced_calls(2)
        .cost("work#1", Cost::Unknown)
        .at_least("work#1", cents(3))
        .cost("work#1/critic#1", Cost::Unknown)
        .begin();
    world.end("work#1");
    assert_eq!(world.run.ledger().committed(), cents(3 + 997), "what was told, and the next call");
    world.end("work#1/critic#1");
    world.end("work#1/command#1");
    let what = "2 calls reported no price, which is the limit for a run with the default budget (limits.unpriced_calls)";
    world.is(&Phase::Held(Hold::OutOfBudget { what: what.to_owned() }));
    assert_eq!(
        world.command(Command::Resume { by: person("ada"), budget: None }),
        Err(Refusal::UnpricedCalls(2))
    );
    world.resume_with("5").unwrap();
    assert_eq!(reserved(&world, "next#1"), Some(cents(497)), "a person's budget counts as before");
}

#[test]
fn calls_that_tell_their_price_are_not_counted() {
    let mut world = World::small(ONE)
        .budget("10")
        .unpriced_calls(1)
        .cost("work#1", Cost::Known(cents(5)))
        .cost("work#1/critic#1", Cost::Estimated(cents(5)))
        .begin();
    world.end("work#1");
    world.end("work#1/critic#1");
    world.end("work#1/command#1");
    assert_eq!(reserved(&world, "next#1"), Some(cents(990)));
}

#[test]
fn an_attempt_that_used_up_the_cap_of_its_stage_is_followed_by_a_question() {
    let flow = ONE.replace("agent = \"worker\"", "agent = \"worker\"\nbudget = \"0.30\"");
    for cost in [Cost::Known(cents(30)), Cost::Estimated(cents(45)), Cost::Unknown] {
        let mut world = World::small(&flow).cost("work#1", cost).begin();
        world.ends("work#1", spent_out());
        assert_eq!(world.calls(), [] as [String; 0], "there is nothing left to hold back");
        world.says(
            "Q1 asks about work: The budget of $0.30 was used up before there was a result. What now?",
        );
        world.say(1, Answer::Retry, "");
        assert_eq!(reserved(&world, "work#2"), Some(cents(30)), "granted once more");
    }
}

#[test]
fn an_attempt_of_unknown_cost_that_used_up_the_budget_of_the_run_parks_it() {
    let mut world = World::small(ONE)
        .budget("0.50")
        .cost("work#1", Cost::Unknown)
        .at_least("work#1", cents(50))
        .begin();
    assert_eq!(reserved(&world, "work#1"), Some(cents(50)), "alone, it may have all of it");
    world.ends("work#1", spent_out());
    assert_eq!(world.run.ledger().committed(), cents(50), "not more than was held back");
    assert!(matches!(world.run.phase(), Phase::Held(Hold::OutOfBudget { .. })));
}

#[test]
fn attempts_that_miss_go_on_until_the_stage_has_nothing_left() {
    let flow =
        ONE.replace("agent = \"worker\"", "agent = \"worker\"\nmisses = 9\nbudget = \"0.30\"");
    let mut world = World::small(&flow).call_budget("0.10");
    for n in 1..=3 {
        world = world.cost(&format!("work#{n}"), Cost::Known(Money(99_000)));
    }
    let mut world = world.begin();
    let ends = ["too dear", "so much", "no more"];
    for (n, what) in (1..).zip(ends) {
        let what = what.to_owned();
        let outcome = Outcome::Fault { class: FaultClass::Crashed, what };
        world.ends(&format!("work#{n}"), outcome);
    }
    world.says(
        "Q1 asks about work: No usable result: the stage's budget of $0.30 is used up. What now?",
    );
    assert_eq!(
        world.options(1),
        [Choice::Retry, Choice::Revise, Choice::GiveUp],
        "$0.003 is too little to begin"
    );
}

fn no_verdict_for_the_money() -> Ruling {
    let what = "it reached its budget".to_owned();
    Ruling::Fault { class: FaultClass::OutOfBudget, what }
}

#[test]
fn a_review_that_reached_its_cap_is_asked_about_at_once() {
    let mut world = World::small(ONE)
        .budget("0.90")
        .call_budget("0.20")
        .cost("work#1", Cost::Known(cents(10)))
        .cost("work#1/critic#1", Cost::Known(cents(20)))
        .begin();
    world.end("work#1");
    world.rules("work#1/critic#1", no_verdict_for_the_money());
    assert_eq!((world.unit("work").misses, world.unit("work").faults), (0, 0));
    world.says(
        "Q1 asks about work: `critic` reached its budget of $0.20 before it had a verdict. What now?",
    );
    let options = [Choice::Retry, Choice::Approve, Choice::Revise, Choice::GiveUp];
    assert_eq!(world.options(1), options);
    let retry = &RunView::new("r", &world.run).asked[0].options[0];
    assert_eq!(retry.does, "`critic` runs again, with the same budget");
    world.say(1, Answer::Retry, "");
    assert_eq!(reserved(&world, "work#1/critic#2"), Some(cents(20)));
    world.rules("work#1/critic#2", no_verdict_for_the_money());
    world.say(2, Answer::Approve, "");
    world.says("work: critic overridden by the answer to Q2");
}

#[test]
fn a_review_that_used_up_the_run_looks_again_with_more_money() {
    let mut world = World::small(ONE)
        .budget("0.30")
        .cost("work#1", Cost::Known(cents(10)))
        .cost("work#1/critic#1", Cost::Known(cents(20)))
        .begin();
    world.end("work#1");
    world.rules("work#1/critic#1", no_verdict_for_the_money());
    let what = "the run's budget of $0.30 is used up".to_owned();
    world.is(&Phase::Held(Hold::OutOfBudget { what }));
    world.never_says("asks about");
    world.resume_with("1").unwrap();
    assert_eq!(world.calls(), ["work#1/critic#2"]);
}

#[test]
fn a_review_that_only_advises_is_left_out_when_it_reached_its_cap() {
    let flow = ONE.replace("review = \"critic\"", "review = \"critic\", advisory = true");
    let mut world = World::small(&flow).call_budget("0.20").begin();
    world.end("work#1");
    world.rules("work#1/critic#1", no_verdict_for_the_money());
    world.says("work: critic is advisory; its findings are noted");
    assert_eq!(world.calls(), ["work#1/command#1"]);
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
fn whoever_reached_a_share_of_the_run_waits_for_what_the_others_leave() {
    let mut world = sharing(SHARED, "4");
    for item in ["A", "B", "C"] {
        world = world.cost(&format!("build.{item}/make#1"), Cost::Known(cents(100)));
    }
    let mut world = world.cost("build.D/make#1", Cost::Known(cents(30))).begin();
    world.end("split#1");
    world.ends("build.A/make#1", spent_out());
    assert_eq!(world.calls().len(), 3, "the others hold all that is left");
    world.ends("build.B/make#1", spent_out());
    world.end("build.C/make#1");
    world.is(&Phase::Going);
    world.never_says("asks about");
    world.end("build.D/make#1");
    assert_eq!(world.calls(), ["build.A/make#2", "build.B/make#2"]);
    assert!(world.run.ledger().committed() <= cents(400), "they share what D left");
}

#[test]
fn when_all_reached_their_shares_of_the_run_it_parks_once_and_all_go_on_with_more_money() {
    let mut world = sharing(SHARED, "4");
    for item in ["A", "B", "C", "D"] {
        world = world.cost(&format!("build.{item}/make#1"), Cost::Known(cents(100)));
    }
    let mut world = world.begin();
    world.end("split#1");
    for item in ["A", "B", "C", "D"] {
        world.ends(&format!("build.{item}/make#1"), spent_out());
    }
    world.never_says("asks about");
    assert_eq!(world.about("out of budget"), ["out of budget: the run's budget of $4 is used up"]);
    world.resume_with("8").unwrap();
    assert_eq!(world.calls().len(), 4);
    assert_eq!(reserved(&world, "build.A/make#2"), Some(cents(100)));
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
    assert_eq!(shown(1_234), "<$0.01");
    assert_eq!(shown(2_500_000), "$2.50");
}
