//! Who used how much, counted from the facts alone. That it adds up to the ledger is looked at in
//! every story and in chance, by `invariants.rs`.

use forge_core::{
    event::{Event, Outcome, Receipt, Ruling},
    money::{Cost, ModelUse, Money, Spent, Tokens, Used},
    view::{Axis, CallEnd, Spending, StatsRow, spendings, stats},
};

use crate::world::{World, partial, revises};

const TWO: &str = r#"
[[stage]]
name = "plan"
agent = "planner"
gates = [{ command = "check" }, { review = "critic" }]
[[stage]]
name = "build"
agent = "builder"
"#;

const DAY: u64 = 86_400_000;

fn model(name: &str, cents: u64, input: u64) -> ModelUse {
    ModelUse {
        provider: "somebody".to_owned(),
        model: name.to_owned(),
        tokens: Tokens { input, ..Tokens::default() },
        cost: Cost::Known(Money(cents * 10_000)),
    }
}

fn by(agent: &str, models: Vec<ModelUse>) -> Receipt {
    let used = Some(Used { agent: agent.to_owned(), account: None, asked_for: None, models });
    Receipt { used, took_ms: 1_000, ..Receipt::from_spent(Spent::NOTHING) }
}

fn cents(n: u64) -> Cost {
    Cost::Known(Money(n * 10_000))
}

fn spendings_of(world: &World) -> Vec<Spending> {
    spendings_as("r1", world)
}

fn spendings_as(run: &str, world: &World) -> Vec<Spending> {
    let records = world.records();
    let facts = records.iter().flat_map(|record| record.facts.iter().map(|f| (record.at, f)));
    spendings(run, facts)
}

/// What is left of a row when its tokens are left out.
fn row(row: &StatsRow) -> (&str, u32, u64, u64, u32, u64) {
    let cents = |money: Money| money.0 / 10_000;
    let (known, estimated) = (cents(row.known), cents(row.estimated));
    (&row.key, row.calls, known, estimated, row.unknown_calls, row.took_ms)
}

fn rows(spendings: &[Spending], by: Axis) -> Vec<(String, u32, u64)> {
    let view = stats(spendings, by);
    let row = |row: &StatsRow| (row.key.clone(), row.calls, row.known.0 / 10_000);
    view.rows.iter().map(row).collect()
}

#[test]
fn every_call_of_an_agent_is_told_with_all_that_is_known_of_it() {
    let mut world = World::small(TWO)
        .budget("10")
        .leaves("plan#1", by("claude", vec![model("large", 30, 10)]))
        .cost("plan#1", cents(30))
        .begin();
    world.end("plan#1");
    let all = spendings_of(&world);
    let tokens = Tokens { input: 10, output: 1, ..Tokens::default() };
    let expected = Spending {
        run: "r1".into(),
        call: "plan#1".into(),
        part: 0,
        day: "1970-01-01".into(),
        unit: "plan".into(),
        stage: "plan".into(),
        role: "planner".into(),
        agent: "claude".into(),
        provider: "somebody".into(),
        model: "large".into(),
        tokens,
        cost: cents(30),
        took_ms: 1_000,
        end: CallEnd::Done,
    };
    assert_eq!(all, [expected]);
}

#[test]
fn a_command_that_used_nothing_is_not_told() {
    let mut free = World::small(TWO).played().records();
    for fact in free.iter_mut().flat_map(|record| &mut record.facts) {
        if let Event::Judged { receipt, .. } | Event::AttemptEnded { receipt: Some(receipt), .. } =
            fact
        {
            receipt.spent = Spent::NOTHING;
        }
    }
    let facts = free.iter().flat_map(|record| record.facts.iter().map(|f| (record.at, f)));
    let all = spendings("r1", facts);
    let calls: Vec<&str> = all.iter().map(|spending| spending.call.as_str()).collect();
    assert_eq!(calls, ["plan#1", "plan#1/critic#1", "build#1"]);
}

#[test]
fn work_that_made_way_is_no_call() {
    let mut world = World::small(TWO).begin();
    let what = "r2 works there".to_owned();
    let mut deferred = world.response(&"plan#1".parse().unwrap());
    if let forge_core::Report::Worked { outcome, receipt, .. } = &mut deferred {
        *outcome = Outcome::Deferred { until: 60_000, what };
        *receipt = Receipt::from_spent(Spent::NOTHING);
    }
    world.report(deferred);
    assert_eq!(spendings_of(&world), []);
}

#[test]
fn a_call_with_two_models_counts_once_and_adds_up() {
    let models = vec![model("large", 20, 6), model("small", 5, 3)];
    let mut world = World::small(TWO)
        .budget("10")
        .leaves("plan#1", by("claude", models))
        .cost("plan#1", cents(30))
        .begin();
    world.end("plan#1");
    let all = spendings_of(&world);
    let of = |spending: &Spending| (spending.part, spending.cost, spending.tokens.input);
    let parts: Vec<_> = all.iter().map(of).collect();
    assert_eq!(parts, [(0, cents(25), 7), (1, cents(5), 3)], "the first carries what is left");
    let view = stats(&all, Axis::Model);
    assert_eq!(row(&view.rows[0]), ("large", 1, 25, 0, 0, 1_000));
    assert_eq!(row(&view.rows[1]), ("small", 0, 5, 0, 0, 0));
    assert_eq!(row(&view.total), ("total", 1, 30, 0, 0, 1_000));
}

#[test]
fn models_that_claim_more_than_the_call_get_no_more_than_there_is() {
    let models = vec![model("large", 20, 60), model("small", 20, 60)];
    let mut world = World::small(TWO)
        .budget("10")
        .leaves("plan#1", by("claude", models))
        .cost("plan#1", Cost::Estimated(Money(300_000)))
        .begin();
    world.end("plan#1");
    let all = spendings_of(&world);
    let of = |spending: &Spending| (spending.cost, spending.tokens.input);
    let parts: Vec<_> = all.iter().map(of).collect();
    let about = |cents: u64| Cost::Estimated(Money(cents * 10_000));
    assert_eq!(parts, [(about(20), 10), (about(10), 0)]);
}

#[test]
fn a_model_of_unknown_cost_has_cost_what_the_others_leave() {
    let small = ModelUse { cost: Cost::Unknown, ..model("small", 0, 3) };
    let mut world = World::small(TWO)
        .budget("10")
        .leaves("plan#1", by("claude", vec![model("large", 20, 6), small]))
        .cost("plan#1", cents(30))
        .begin();
    world.end("plan#1");
    assert_eq!(
        spendings_of(&world).iter().map(|s| s.cost).collect::<Vec<_>>(),
        [cents(20), cents(10)]
    );
}

#[test]
fn a_call_of_unknown_cost_is_unknown_for_each_of_its_models_and_counts_once() {
    let models = vec![model("large", 20, 6), model("small", 5, 3)];
    let mut world = World::small(TWO)
        .budget("10")
        .leaves("plan#1", by("claude", models))
        .cost("plan#1", Cost::Unknown)
        .begin();
    world.end("plan#1");
    let view = stats(&spendings_of(&world), Axis::Model);
    assert_eq!(row(&view.rows[0]), ("large", 1, 0, 0, 1, 1_000));
    assert_eq!(row(&view.rows[1]), ("small", 0, 0, 0, 1, 0), "unknown is never nothing");
    assert_eq!(row(&view.total), ("total", 1, 0, 0, 1, 1_000));
    assert_eq!(view.total.amount().to_text(), "unknown");
}

#[test]
fn tables_are_made_by_every_axis() {
    let world = World::small(TWO)
        .budget("10")
        .leaves("plan#1", by("claude", vec![model("large", 30, 10)]))
        .cost("plan#1", cents(30))
        .leaves("plan#1/critic#1", by("codex", vec![model("other", 50, 10)]))
        .cost("plan#1/critic#1", cents(50))
        .leaves("build#1", by("claude", vec![model("large", 10, 10)]))
        .cost("build#1", cents(10))
        .cost("plan#1/command#1", cents(1))
        .played();
    let all = spendings_of(&world);
    let named = |rows: &[(&str, u32, u64)]| -> Vec<(String, u32, u64)> {
        rows.iter().map(|(key, calls, cents)| ((*key).to_owned(), *calls, *cents)).collect()
    };
    // The command of the gate used money in this world, and is nobody's.
    assert_eq!(rows(&all, Axis::Run), named(&[("r1", 4, 91)]));
    assert_eq!(rows(&all, Axis::Stage), named(&[("plan", 3, 81), ("build", 1, 10)]));
    let roles = [("critic", 1, 50), ("planner", 1, 30), ("builder", 1, 10), ("unknown", 1, 1)];
    assert_eq!(rows(&all, Axis::Role), named(&roles));
    let models = [("other", 1, 50), ("large", 2, 40), ("unknown", 1, 1)];
    assert_eq!(rows(&all, Axis::Model), named(&models));
    let agents = [("codex", 1, 50), ("claude", 2, 40), ("unknown", 1, 1)];
    assert_eq!(rows(&all, Axis::Agent), named(&agents));
    assert_eq!(rows(&all, Axis::Day), named(&[("1970-01-01", 4, 91)]));
    let view = stats(&all, Axis::Agent);
    let json = serde_json::to_string(&view).unwrap();
    assert_eq!(serde_json::from_str::<forge_core::view::StatsView>(&json).unwrap(), view);
}

#[test]
fn days_come_in_their_order_whatever_they_cost() {
    let world = World::small(TWO).budget("10").cost("build#1", cents(10)).played();
    let records = world.records();
    let mut facts: Vec<(u64, &Event)> =
        records.iter().flat_map(|record| &record.facts).map(|fact| (DAY, fact)).collect();
    facts.last_mut().unwrap().0 = 2 * DAY;
    for (at, fact) in &mut facts {
        if matches!(fact, Event::AttemptEnded { attempt, .. } if attempt.unit.stage == "build") {
            *at = 2 * DAY;
        }
    }
    let days = rows(&spendings("r1", facts), Axis::Day);
    assert_eq!(
        days.iter().map(|(day, ..)| day.as_str()).collect::<Vec<_>>(),
        ["1970-01-02", "1970-01-03"]
    );
}

#[test]
fn what_costs_the_same_is_told_by_its_tokens() {
    let receipt = |agent: &str| by(agent, vec![]);
    let world = World::small(TWO)
        .leaves("plan#1", receipt("a"))
        .leaves("plan#1/critic#1", receipt("b"))
        .leaves("build#1", receipt("b"))
        .played();
    let agents = rows(&spendings_of(&world), Axis::Agent);
    assert_eq!(agents.iter().map(|(agent, ..)| agent.as_str()).collect::<Vec<_>>(), ["b", "a"]);
}

#[test]
fn every_end_of_a_call_has_its_word() {
    let mut world = World::small(TWO).cost("plan#3/command#1", cents(1)).begin();
    world.ends("plan#1", partial("the rest"));
    world.ends("plan#2", Outcome::Limited { until: 0, what: String::new() });
    world.end("plan#3");
    world.end("plan#3/command#1");
    world.rules("plan#3/critic#1", Ruling::Lost);
    world.rules("plan#3/critic#2", revises(1));
    world.abandon();
    world.end("plan#4");
    let all = spendings_of(&world);
    let words: Vec<String> =
        all.iter().map(|one| format!("{} {}", one.call, one.end.as_str())).collect();
    assert_eq!(
        words,
        [
            "plan#1 partial",
            "plan#2 limited",
            "plan#3 done",
            "plan#3/command#1 passed",
            "plan#3/critic#1 lost",
            "plan#3/critic#2 sent back",
            "plan#4 overtaken",
        ]
    );
}

#[test]
fn a_call_that_no_longer_mattered_is_told_with_who_used_it() {
    let mut world =
        World::small(TWO).leaves("plan#1", by("claude", vec![model("large", 0, 10)])).begin();
    world.abandon();
    world.end("plan#1");
    let all = spendings_of(&world);
    assert_eq!(
        (all[0].agent.as_str(), all[0].model.as_str(), all[0].took_ms),
        ("claude", "large", 1_000)
    );
}

#[test]
fn what_a_rewound_run_shares_is_paid_for_once() {
    let world = World::small(TWO)
        .budget("10")
        .cost("plan#1", cents(30))
        .cost("plan#1/critic#1", cents(0))
        .cost("build#1", cents(10))
        .played();
    let mut other = world.rewound("build").unwrap();
    other.go_on();
    let first = spendings_as("20261115-queue-aaaa", &world);
    let second = spendings_as("20261115-queue-bbbb", &other);
    assert_eq!(stats(&second, Axis::Run).total.known, other.run.ledger().known);
    let both: Vec<Spending> = first.into_iter().chain(second).collect();
    assert_eq!(
        rows(&both, Axis::Run),
        [("20261115-queue-aaaa".to_owned(), 3, 40), ("20261115-queue-bbbb".to_owned(), 1, 10)]
    );
    assert_eq!(stats(&both, Axis::Run).total.known, Money(500_000));
}
