//! Who used how much: one spending for each call of an agent, and tables of them.
//!
//! Prices and bars are not here. A spending is made from facts alone, so that it can be made from
//! any journal, also from one that does not say who used something: that is `unknown`.
//!
//! Invariant: the spendings of a run add up to its ledger, by each kind of cost and of token.

mod types;

use std::collections::{BTreeMap, BTreeSet};

use super::format::day;

use crate::{
    Time,
    event::{Coherence, Event, Outcome, Start},
    flow::Flow,
    money::{Cost, ModelUse, Money, Spent, Tokens, Used},
    run::{CallEnding, CallKind, EndedCall, Run},
};

pub use types::{Axis, CallEnd, Spending, StatsRow, StatsView};

/// The stage under which the look at the request is counted.
pub(super) const COHERENCE: &str = "coherence";

/// What stands for the run where a request was refused.
const REFUSED: &str = "(refused)";

/// The name of an agent, provider or model that is not known.
const UNKNOWN: &str = "unknown";

/// Returns what the calls of a run used up, from its facts with their times, in their order.
pub fn spendings<'a>(
    run: &str,
    facts: impl IntoIterator<Item = (Time, &'a Event)>,
) -> Vec<Spending> {
    let mut flow = None;
    let mut spendings: Vec<Spending> = Vec::new();
    for (at, fact) in facts {
        if let Event::RunStarted(start) = fact {
            flow = Flow::read_frozen(&start.flow, &start.texts).ok();
            spendings.extend(before_the_run(run, at, start, flow.as_ref()));
        } else if let Event::RunRewound { from, .. } = fact {
            // The other run has paid for what both share.
            let own = spendings.iter_mut().filter(|spending| spending.run == run);
            own.for_each(|spending| spending.run.clone_from(from));
        } else if let Some(ended) = EndedCall::from_event(fact, at, 0) {
            spendings.extend(spendings_of_call(run, &ended, flow.as_ref()));
        }
    }
    spendings
}

/// Splits the use of a call by model. Nothing, if no agent was at work and nothing was used up.
fn spendings_of_call(run: &str, ended: &EndedCall, flow: Option<&Flow>) -> Vec<Spending> {
    let unit = ended.call.unit();
    let kind = flow.and_then(|flow| CallKind::from_flow(flow, &ended.call));
    let role = kind.as_ref().and_then(CallKind::role);
    match worker(role, ended) {
        Worker::Forge => return Vec::new(),
        Worker::Agent => {}
    }
    let whole = Spending {
        run: run.to_owned(),
        call: ended.call.to_string(),
        part: 0,
        day: day(ended.at),
        unit: unit.place(),
        stage: unit.stage.clone(),
        role: named(role.unwrap_or_default()),
        agent: String::new(),
        provider: String::new(),
        model: String::new(),
        tokens: ended.spent.tokens,
        cost: ended.spent.cost,
        took_ms: ended.took_ms,
        end: CallEnd::from_ending(&ended.ending),
    };
    whole.by_model(ended.spent, ended.used.clone())
}

impl Spending {
    /// Returns one for each model that took part.
    fn by_model(self, spent: Spent, used: Option<Used>) -> Vec<Self> {
        let used = used.unwrap_or_default();
        let agent = named(&used.agent);
        let part = |(part, model): (u32, ModelUse)| Self {
            part,
            agent: agent.clone(),
            provider: named(&model.provider),
            model: named(&model.model),
            tokens: model.tokens,
            cost: model.cost,
            took_ms: if part == 0 { self.took_ms } else { 0 },
            ..self.clone()
        };
        (0..).zip(parts(spent, used)).map(part).collect()
    }
}

/// Returns what the look at the request cost, which was over when the run began.
fn before_the_run(run: &str, at: Time, start: &Start, flow: Option<&Flow>) -> Vec<Spending> {
    let Some(coherence) = &start.coherence else { return Vec::new() };
    let role = flow.and_then(|flow| flow.coherence.as_deref()).unwrap_or_default();
    spendings_of_triage(run, 1, at, role, coherence)
}

/// Returns what a look at a request cost after which no run began. Their numbers distinguish them.
pub fn refused(number: u32, at: Time, role: &str, coherence: &Coherence) -> Vec<Spending> {
    spendings_of_triage(REFUSED, number, at, role, coherence)
}

fn spendings_of_triage(
    run: &str,
    number: u32,
    at: Time,
    role: &str,
    coherence: &Coherence,
) -> Vec<Spending> {
    let whole = Spending {
        run: run.to_owned(),
        call: format!("{COHERENCE}#{number}"),
        part: 0,
        day: day(at),
        unit: COHERENCE.to_owned(),
        stage: COHERENCE.to_owned(),
        role: named(role),
        agent: String::new(),
        provider: String::new(),
        model: String::new(),
        tokens: coherence.spent.tokens,
        cost: coherence.spent.cost,
        took_ms: coherence.took_ms,
        end: CallEnd::from_triage(coherence.came_to),
    };
    whole.by_model(coherence.spent, coherence.used.clone())
}

/// The worker of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    /// An agent. Only this is counted as a call, wherever calls are counted.
    Agent,
    /// Forge itself, or no worker at all.
    Forge,
}

/// Finds the worker of a call.
pub(super) fn worker_of(run: &Run, ended: &EndedCall) -> Worker {
    let kind = CallKind::from_flow(&run.definition().flow, &ended.call);
    worker(kind.as_ref().and_then(CallKind::role), ended)
}

/// Returns what used something up was an agent, whatever the flow says.
fn worker(role: Option<&str>, ended: &EndedCall) -> Worker {
    let is_free = ended.spent == Spent::NOTHING && ended.used.is_none();
    // Work that made way was never begun.
    let made_way = matches!(ended.ending, CallEnding::Work(Outcome::Deferred { .. }));
    if is_free && (role.is_none() || made_way) { Worker::Forge } else { Worker::Agent }
}

fn named(name: &str) -> String {
    if name.is_empty() { UNKNOWN.to_owned() } else { name.to_owned() }
}

/// Returns what each model used up. However the program divided it, the parts add up to the whole.
fn parts(spent: Spent, used: Used) -> Vec<ModelUse> {
    let mut models = used.models;
    if models.is_empty() {
        let (provider, model) = (String::new(), String::new());
        models.push(ModelUse { provider, model, tokens: spent.tokens, cost: spent.cost });
        return models;
    }
    let fair = |whole: u64, rest_to: usize, part: &dyn Fn(&ModelUse) -> u64| {
        divide(whole, models.iter().map(part), rest_to)
    };
    let input = fair(spent.tokens.input, 0, &|model| model.tokens.input);
    let output = fair(spent.tokens.output, 0, &|model| model.tokens.output);
    let cache_read = fair(spent.tokens.cache_read, 0, &|model| model.tokens.cache_read);
    let cache_write = fair(spent.tokens.cache_write, 0, &|model| model.tokens.cache_write);
    // A model of unknown cost has cost what the others leave of the whole.
    let unknown = models.iter().position(|model| model.cost == Cost::Unknown);
    let amount = |model: &ModelUse| match model.cost {
        Cost::Known(money) | Cost::Estimated(money) => money.0,
        Cost::Unknown => 0,
    };
    let costs: Vec<Cost> = match spent.cost {
        Cost::Known(whole) => {
            let costs = fair(whole.0, unknown.unwrap_or_default(), &amount);
            costs.into_iter().map(|micros| Cost::Known(Money(micros))).collect()
        }
        Cost::Estimated(whole) => {
            let costs = fair(whole.0, unknown.unwrap_or_default(), &amount);
            costs.into_iter().map(|micros| Cost::Estimated(Money(micros))).collect()
        }
        Cost::Unknown => vec![Cost::Unknown; models.len()],
    };
    for (n, model) in models.iter_mut().enumerate() {
        model.tokens = Tokens {
            input: input[n],
            output: output[n],
            cache_read: cache_read[n],
            cache_write: cache_write[n],
        };
        model.cost = costs[n];
    }
    models
}

/// Parts of a whole: none larger than what is left, and what no part takes goes to one of them.
fn divide(whole: u64, parts: impl Iterator<Item = u64>, rest_to: usize) -> Vec<u64> {
    let mut left = whole;
    let take = |part: u64| {
        let taken = part.min(left);
        left -= taken;
        taken
    };
    let mut parts: Vec<u64> = parts.map(take).collect();
    parts[rest_to] += left;
    parts
}

/// Adds spendings up. What two runs share counts once.
pub fn stats(spendings: &[Spending], by: Axis) -> StatsView {
    let mut seen = BTreeSet::new();
    let mut rows: BTreeMap<&str, StatsRow> = BTreeMap::new();
    let mut total = StatsRow { key: "total".to_owned(), ..StatsRow::default() };
    for spending in spendings {
        if !seen.insert((&spending.run, &spending.call, spending.part)) {
            continue;
        }
        let key = by.key(spending);
        let row = rows.entry(key).or_default();
        row.add(spending);
        total.add(spending);
        if spending.part > 0 && spending.cost == Cost::Unknown {
            total.unknown_calls -= 1; // Its first model has counted the call.
        }
    }
    let named = |(key, row): (&str, StatsRow)| StatsRow { key: key.to_owned(), ..row };
    let mut rows: Vec<StatsRow> = rows.into_iter().map(named).collect();
    match by {
        Axis::Day => {}
        Axis::Run | Axis::Stage | Axis::Role | Axis::Model | Axis::Agent => {
            rows.sort_by_key(|row| std::cmp::Reverse((row.money(), row.tokens.total())));
        }
    }
    StatsView { by, rows, total }
}
