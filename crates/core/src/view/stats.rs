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
    event::{Coherence, Event, Outcome, Ruling, TriageOutcome},
    flow::Flow,
    money::{Cost, ModelUse, Money, Spent, Tokens},
    run::{COHERENCE, CallEnding, CallKind, EndedCall},
    verdict::Verdict,
};

pub use types::{Axis, CallEnd, Spending, StatsRow, StatsView};

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
            flow = Flow::read_frozen(&start.flow, &start.texts, &start.params).ok();
        } else if let Event::RunRewound { from, .. } = fact {
            // The other run has paid for what both share.
            let own = spendings.iter_mut().filter(|spending| spending.run == run);
            own.for_each(|spending| spending.run.clone_from(from));
        }
        let ended = EndedCall::from_event(fact, at, 0);
        if let Some(ended) = ended.filter(|ended| is_by_agent(flow.as_ref(), ended)) {
            let role = flow.as_ref().and_then(|flow| role(flow, &ended)).unwrap_or_default();
            spendings.extend(by_model(run, &role, &ended));
        }
    }
    spendings
}

/// Returns what the triage of a request cost after which no run began. Their numbers distinguish them.
pub fn refused(number: u32, at: Time, role: &str, coherence: &Coherence) -> Vec<Spending> {
    by_model(REFUSED, role, &EndedCall::from_triage(coherence, number, at)).collect()
}

/// Returns the name of a stage for people: `build/implement: review` is `build: review`.
pub fn stage_label(stage: &str) -> String {
    match stage {
        COHERENCE => "request check".to_owned(),
        stage => stage.replace("/implement", ""),
    }
}

/// Returns one spending for each model that took part in a call.
fn by_model(run: &str, role: &str, ended: &EndedCall) -> impl Iterator<Item = Spending> {
    let used = ended.used.clone().unwrap_or_default();
    let unit = ended.call.unit();
    let agent = named(&used.agent);
    // What the program does not tell was asked for, if anything was.
    let asked_for = used.asked_for.unwrap_or_default();
    (0..).zip(parts(ended.spent, used.models)).map(move |(part, model)| Spending {
        run: run.to_owned(),
        call: ended.call.to_string(),
        part,
        day: day(ended.at),
        unit: unit.place(),
        stage: unit.stage.clone(),
        role: named(role),
        agent: agent.clone(),
        provider: named(&model.provider),
        model: named(if model.model.is_empty() { &asked_for } else { &model.model }),
        tokens: model.tokens,
        cost: model.cost,
        took_ms: if part == 0 { ended.took_ms } else { 0 },
        end: CallEnd::from_ending(&ended.ending),
    })
}

/// Returns the role that an agent played in a call.
fn role(flow: &Flow, ended: &EndedCall) -> Option<String> {
    if let CallEnding::Triage(_) = ended.ending {
        return flow.coherence.clone();
    }
    CallKind::from_flow(flow, &ended.call)?.role().map(str::to_owned)
}

/// Returns true if the worker was an agent. Only this is counted as a call, wherever calls are counted.
///
/// What used something up was an agent, whatever the flow says.
pub(super) fn is_by_agent(flow: Option<&Flow>, ended: &EndedCall) -> bool {
    let is_paid = ended.spent != Spent::NOTHING || ended.used.is_some();
    // Work that made way was never begun.
    let made_way = matches!(ended.ending, CallEnding::Work(Outcome::Deferred { .. }));
    let has_role = flow.is_some_and(|flow| role(flow, ended).is_some());
    is_paid || matches!(ended.ending, CallEnding::Triage(_)) || (has_role && !made_way)
}

fn named(name: &str) -> String {
    if name.is_empty() { UNKNOWN.to_owned() } else { name.to_owned() }
}

/// Returns what each model used up. However the program divided it, the parts add up to the whole.
fn parts(spent: Spent, mut models: Vec<ModelUse>) -> Vec<ModelUse> {
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
    let amount = |cost: Cost| match cost {
        Cost::Known(money) | Cost::Estimated(money) => money.0,
        Cost::Unknown => 0,
    };
    let micros = fair(amount(spent.cost), unknown.unwrap_or_default(), &|model| amount(model.cost));
    for (n, model) in models.iter_mut().enumerate() {
        model.tokens = Tokens {
            input: input[n],
            output: output[n],
            cache_read: cache_read[n],
            cache_write: cache_write[n],
        };
        model.cost = match spent.cost {
            Cost::Known(_) => Cost::Known(Money(micros[n])),
            Cost::Estimated(_) => Cost::Estimated(Money(micros[n])),
            Cost::Unknown => Cost::Unknown,
        };
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
        let Spending { part, tokens, cost, took_ms, .. } = *spending;
        row.add(part == 0, tokens, cost, took_ms);
        total.add(part == 0, tokens, cost, took_ms);
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

impl CallEnd {
    /// Returns how a call of a run ended.
    pub(crate) fn from_ending(ending: &CallEnding) -> Self {
        match ending {
            CallEnding::Work(outcome) => match outcome {
                Outcome::Done => Self::Done,
                Outcome::Partial { .. } => Self::Partial,
                Outcome::Blocked { .. } => Self::Blocked,
                Outcome::Fault { .. } => Self::Fault,
                Outcome::Limited { .. } => Self::Limited,
                Outcome::Deferred { .. } => Self::Deferred,
                Outcome::Lost => Self::Lost,
                Outcome::Interrupted => Self::Interrupted,
            },
            CallEnding::Look(ruling) => match ruling {
                Ruling::Verdict(Verdict::Pass { .. }) => Self::Passed,
                Ruling::Verdict(Verdict::Revise { .. }) => Self::SentBack,
                Ruling::Verdict(Verdict::Block { .. }) | Ruling::Blocked { .. } => Self::Blocked,
                Ruling::Fault { .. } => Self::Fault,
                Ruling::Unverified { .. } => Self::Unverified,
                Ruling::Limited { .. } => Self::Limited,
                Ruling::Lost => Self::Lost,
                Ruling::Interrupted => Self::Interrupted,
            },
            CallEnding::Triage(TriageOutcome::Pass) => Self::Passed,
            CallEnding::Triage(TriageOutcome::Block) => Self::Blocked,
            CallEnding::Triage(TriageOutcome::Nothing) => Self::Fault,
            CallEnding::Overtaken => Self::Overtaken,
        }
    }
}
