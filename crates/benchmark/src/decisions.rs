//! How long one decision takes, and one look at what is wanted: a sprint of 10, 300 and 3,000 items is driven to its end.

use std::time::{Duration, Instant};

use forge_core::{
    Command, Effect, Input, Report, Run, decide,
    event::{Outcome, Receipt, Ruling},
    item::Item,
    money::Spent,
    run::Phase,
    verdict::Verdict,
    wanted,
};

use crate::{
    long_run::start,
    measurement::{Bench, Bound, Measured, Unit},
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

/// Items, and the most microseconds of a decision: in the median, and of the longest one.
const PROMISED: [(usize, f64, Option<f64>); 3] =
    [(10, 50.0, None), (300, 350.0, None), (3_000, 350.0, Some(10_000.0))];

pub(crate) fn measure(bench: &Bench) -> Measured {
    for (n_items, most, longest) in &PROMISED[..bench.sized(1, 3)] {
        let (mut decisions, mut looks) = drive(*n_items);
        if looks.len() < *n_items {
            return Err(format!("{n_items} items were done after {} decisions", decisions.len()));
        }
        decisions.sort();
        looks.sort();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let middle = |times: &[Duration]| micros(times[times.len() / 2]);
        let last = |times: &[Duration]| micros(times[times.len() - 1]);
        let what = |of: &str| format!("a decision at {n_items} items, {of}");
        let compared = format!("{} decisions", decisions.len());
        bench.figure(
            &what("median"),
            middle(&decisions),
            Unit::Micros,
            Bound::AtMost(*most),
            compared,
        );
        let bound = longest.map_or(Bound::None, Bound::AtMost);
        let compared = format!(
            "what is wanted: median {:.1} µs, at most {:.1} µs",
            middle(&looks),
            last(&looks)
        );
        bench.figure(&what("longest"), last(&decisions), Unit::Micros, bound, compared);
    }
    Ok(())
}

fn drive(n_items: usize) -> (Vec<Duration>, Vec<Duration>) {
    let item = |n: usize| Item {
        id: format!("T{n}"),
        after: if n % 10 == 9 { vec![format!("T{}", n - 1)] } else { vec![] },
        writes: vec![format!("src/{n}")],
        ..Item::default()
    };
    let items: Vec<Item> = (0..n_items).map(item).collect();
    let mut start = start("sprint", FLOW);
    start.limits.at_once = 16;
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
            Effect::Ask { .. }
            | Effect::Claim { .. }
            | Effect::Need { .. }
            | Effect::Wake { .. } => {
                unreachable!("nobody asks or waits")
            }
        });
    }
}
