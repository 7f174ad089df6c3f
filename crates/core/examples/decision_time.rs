//! How long one decision takes, and one look at what is wanted: `cargo run --release -p
//! forge-core --example decision_time`. A sprint of 10, 300 and 3,000 items is driven to its end.

#![expect(clippy::print_stdout, reason = "a measurement speaks")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "it measures time")]

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use forge_core::{
    Command, Effect, Input, Report, Run, decide,
    event::{Approvals, Detail, Limits, Outcome, Person, Receipt, Ruling, Start},
    item::Item,
    money::Spent,
    run::Phase,
    verdict::Verdict,
    wanted,
};

const FLOW: &str = r#"
name = "sprint"
[[stage]]
name = "plan"
agent = "architect"
list = "tasks"
[[stage]]
name = "tasks"
each = "tasks"
at_once = 8
items_max = 3000
  [[stage.stage]]
  name = "plan"
  agent = "engineer"
  gates = [{ review = "supervisor" }]
  [[stage.stage]]
  name = "implement"
  agent = "engineer"
  gates = [{ verify = true }, { review = "qa-engineer" }, { land = true }]
[[stage]]
name = "retrospective"
agent = "architect"
"#;

/// What the product promises: items, and microseconds for the median.
const PROMISED: [(usize, u64); 3] = [(10, 50), (300, 1_000), (3_000, 10_000)];

fn main() {
    for (n_items, promised) in PROMISED {
        let (mut decisions, mut looks) = measure(n_items);
        decisions.sort();
        looks.sort();
        let median = decisions[decisions.len() / 2];
        println!(
            "{n_items:>5} items: {:>6} decisions, median {:>9.1?} (at most {:?}), max {:>9.1?}; wanted: median {:>9.1?}, max {:>9.1?}",
            decisions.len(),
            median,
            Duration::from_micros(promised),
            decisions[decisions.len() - 1],
            looks[looks.len() / 2],
            looks[looks.len() - 1],
        );
        assert!(median <= Duration::from_micros(promised), "the promise is not held");
    }
}

fn measure(n_items: usize) -> (Vec<Duration>, Vec<Duration>) {
    let item = |n: usize| Item {
        id: format!("T{n}"),
        after: if n % 10 == 9 { vec![format!("T{}", n - 1)] } else { vec![] },
        writes: vec![format!("src/{n}")],
        ..Item::default()
    };
    let items: Vec<Item> = (0..n_items).map(item).collect();
    let start = Start {
        request: "measure".to_owned(),
        flow: "sprint".to_owned(),
        texts: [("sprint".to_owned(), FLOW.to_owned())].into(),
        format: 1,
        params: BTreeMap::new(),
        approvals: Approvals::ByPeople,
        limits: Limits { budget: None, call_budget: None, at_once: 16, unpriced_calls: None },
        settings: None,
        roles: BTreeMap::new(),
        instructions: None,
        base: None,
        base_branch: None,
        branch: None,
        onto: None,
        chosen: BTreeMap::new(),
        source: None,
        detail: Detail::Plain,
        coherence: None,
        ending_key: None,
        version: "0".to_owned(),
        by: Person { who: "ada".to_owned(), channel: "cli".to_owned() },
    };
    let mut run = Run::new();
    let mut input = Input::Command(Command::Start(Box::new(start)));
    let (mut decisions, mut looks) = (Vec::new(), Vec::new());
    loop {
        let began = Instant::now();
        let record = decide(&run, 0, &input).expect("nothing is refused");
        decisions.push(began.elapsed());
        run.apply_record(&record);
        if matches!(run.phase(), Phase::Over(_)) {
            return (decisions, looks);
        }
        let began = Instant::now();
        let effects = wanted(&run);
        looks.push(began.elapsed());
        let receipt = Receipt::from_spent(Spent::NOTHING);
        input = Input::Report(match effects.first().expect("something is under way") {
            Effect::Work { attempt, .. } => Report::Worked {
                attempt: attempt.clone(),
                outcome: Outcome::Done,
                lists: vec![("tasks".to_owned(), items.clone())],
                receipt,
            },
            Effect::Judge { judgement, .. } => Report::Judged {
                judgement: judgement.clone(),
                ruling: Ruling::Verdict(Verdict::Pass { findings: vec![] }),
                receipt,
            },
            Effect::Ask { .. } | Effect::Wake { .. } => unreachable!("nobody asks or waits"),
        });
    }
}
