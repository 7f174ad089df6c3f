//! Runs that were never driven: their facts are decided and written here.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use forge_core::{
    Effect, Input, Report, Run, decide,
    event::{Approvals, Detail, Limits, Outcome, Person, Receipt, Ruling, Start},
    item::Item,
    money::Spent,
    verdict::Verdict,
    wanted,
};
use forge_store::{
    journal::{RunLock, Store},
    records::row,
};

/// The id of the long run.
pub(crate) const ID: &str = "20260101-long-aaaa";
/// One stage of an item makes so many facts.
const FACTS_PER_STAGE: usize = 5;
/// More facts are more items first, and then more stages of each.
const FACTS_PER_ITEM: usize = 200;
const ITEMS_MAX: usize = 3_000;

/// Returns the start of a run of this flow.
pub(crate) fn start(flow: &str, text: &str) -> Start {
    Start {
        request: "measure".to_owned(),
        flow: flow.to_owned(),
        texts: BTreeMap::from([(flow.to_owned(), text.to_owned())]),
        format: 1,
        params: BTreeMap::new(),
        approvals: Approvals::ByPeople,
        limits: Limits { budget: None, call_budget: None, at_once: 8, unpriced_calls: None },
        settings: None,
        roles: BTreeMap::new(),
        skills: BTreeMap::new(),
        architecture: None,
        instructions: None,
        base: None,
        base_branch: None,
        branch: None,
        onto: None,
        chosen: BTreeMap::new(),
        source: None,
        detail: Detail::Plain,
        coherence: None,
        on_overlap: None,
        routing: None,
        about: None,
        lists: BTreeMap::new(),
        ending_key: None,
        version: "bench".to_owned(),
        by: Person { who: "bench".to_owned(), channel: "cli".to_owned() },
    }
}

/// One of so many runs waits for a person; the others are over.
const ONE_WAITS_OF: usize = 500;

/// Makes this many runs, most of which are over.
pub(crate) fn many_runs(dir: &Path, runs: usize) {
    let mut store = Store::open(dir).expect("a journal can be made");
    let flow = "name = 'm'\n[[stage]]\nname = 'a'\ngates = [{ human = 'Good?' }]\n";
    let by = Person { who: "bench".to_owned(), channel: "cli".to_owned() };
    for n in 0..runs {
        let id = format!("20260101-measure-{n:06}-aaaa");
        let mut run = Run::new();
        let mut decided = |input: forge_core::Command| {
            let record = decide(&run, 1_000 + n as u64, &Input::Command(input));
            let record = record.expect("nothing is refused");
            run.apply_record(&record);
            let body = serde_json::to_string(&record.facts).expect("facts can be written");
            (record.at, body, row(&id, &run))
        };
        let (at, body, line) = decided(forge_core::Command::Start(Box::new(start("m", flow))));
        let lock = RunLock::acquire(dir, &id).expect("nobody holds it");
        let mut writer = store.begin_run(lock, at, &body, &line).expect("a run can be begun");
        if n % ONE_WAITS_OF != 0 {
            let (at, body, line) = decided(forge_core::Command::Abandon { by: by.clone() });
            store.append(&mut writer, at, &body, &line, &[]).expect("the disk takes it");
        }
    }
}

/// Makes a run that goes over many items, up to its last question. Returns its number of facts.
pub(crate) fn long_run(dir: &Path, facts: usize) -> u64 {
    let mut store = Store::open(dir).expect("a journal can be made");
    let mut flow = "name = 'long'\n[[stage]]\nname = 'plan'\nagent = 'planner'\nlist = 'tasks'\n\
        [[stage]]\nname = 'tasks'\neach = 'tasks'\nat_once = 8\nitems_max = 3000\n"
        .to_owned();
    let n_items = facts.div_ceil(FACTS_PER_ITEM).min(ITEMS_MAX);
    for n in 0..facts / FACTS_PER_STAGE / n_items {
        let _never_fails = write!(
            flow,
            "[[stage.stage]]\nname = 's{n}'\ncommand = 'true'\ngates = [{{ command = 'true' }}]\n"
        );
    }
    flow += "[[stage]]\nname = 'end'\ngates = [{ human = 'Good?' }]\n";
    let mut start = start("long", &flow);
    start.roles.insert("planner".to_owned(), forge_core::event::Blob("0".repeat(64)));
    let mut run = Run::new();
    let decided = |run: &mut Run, input: &Input| {
        let record = decide(run, run.now() + 1, input).expect("the flow is right");
        run.apply_record(&record);
        (record.at, serde_json::to_string(&record.facts).expect("facts can be written"))
    };
    let began = Input::Command(forge_core::Command::Start(Box::new(start)));
    let mut records = vec![decided(&mut run, &began)];
    loop {
        let answers = wanted(&run).into_iter().filter_map(|effect| answer(effect, n_items));
        let answers: Vec<Input> = answers.collect();
        if answers.is_empty() {
            break;
        }
        records.extend(answers.iter().map(|input| decided(&mut run, input)));
    }
    // As one transaction: a million of them take minutes.
    let lock = RunLock::acquire(dir, ID).expect("nobody holds it");
    store.begin_run_with(lock, &records, &row(ID, &run)).expect("it begins");
    run.n_facts()
}

fn answer(effect: Effect, n_items: usize) -> Option<Input> {
    let receipt = Receipt::from_spent(Spent::NOTHING);
    match effect {
        Effect::Work { attempt, .. } => {
            let lists = if attempt.unit.stage == "plan" {
                let item = |n| Item {
                    id: format!("T{n}"),
                    writes: vec![format!("p{n}")],
                    ..Item::default()
                };
                vec![("tasks".to_owned(), (0..n_items).map(item).collect())]
            } else {
                Vec::new()
            };
            let outcome = Outcome::Done;
            Some(Input::Report(Report::Worked { attempt, outcome, lists, receipt }))
        }
        Effect::Judge { judgement, .. } => {
            let ruling = Ruling::Verdict(Verdict::Pass { findings: Vec::new() });
            Some(Input::Report(Report::Judged { judgement, ruling, receipt }))
        }
        Effect::Ask { .. } | Effect::Claim { .. } | Effect::Need { .. } | Effect::Wake { .. } => {
            None
        }
    }
}
