//! Who used how much: one spending for each call of an agent, and tables of them.
//!
//! Prices and bars are not here. A spending is made from facts alone, so that it can be made from
//! any journal, also from one that does not say who used something: that is `unknown`.
//!
//! Invariant: the spendings of a run add up to its ledger, by each kind of cost and of token.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::{Amount, day};
use crate::{
    Time,
    event::{CameTo, Coherence, Event, Outcome, Receipt, Ruling, Start},
    flow::{Check, Flow, Stage, Work},
    id::CallId,
    money::{Cost, ModelUse, Money, Spent, Tokens, Used},
    run::{EndedCall, Ending, Run},
    verdict::Verdict,
};

/// What one model used up in one call of an agent.
///
/// A call that used more than one model has one spending for each, and together they are what the
/// call used up. The first of them carries the call: only it counts as one, and has its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spending {
    /// The run that paid for it. For what a rewound run shares with another, that other one.
    pub run: String,
    /// The call.
    pub call: String,
    /// The number of the model in the call, from 0. The one that is 0 carries the call.
    pub part: u32,
    /// The day on which the call ended, in UTC: `2026-11-15`.
    pub day: String,
    /// The unit, without its items.
    pub unit: String,
    /// The stage.
    pub stage: String,
    /// Whom the agent played.
    pub role: String,
    /// The agent, by the name that the settings give it.
    pub agent: String,
    /// Who serves the model.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Tokens.
    pub tokens: Tokens,
    /// Money. Where nobody knows what the call cost, nobody knows it of its models.
    pub cost: Cost,
    /// How long the call took, in milliseconds.
    pub took_ms: u64,
    /// How it ended.
    pub end: CallEnd,
}

/// How a call ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallEnd {
    /// The work is done.
    Done,
    /// A part of it is.
    Partial,
    /// A gate let the work pass.
    Passed,
    /// A gate sent the work back.
    SentBack,
    /// It could not go on, or says that nobody could.
    Blocked,
    /// It ended without a result.
    Fault,
    /// It could prove nothing.
    Unverified,
    /// A limit.
    Limited,
    /// It made way for other work.
    Deferred,
    /// Nobody can say.
    Lost,
    /// It was stopped.
    Interrupted,
    /// It no longer mattered when it ended.
    Overtaken,
}

/// By what spendings are added up.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// By run.
    Run,
    /// By stage.
    Stage,
    /// By role.
    Role,
    /// By model.
    Model,
    /// By agent.
    Agent,
    /// By day.
    Day,
}

/// Spendings, added up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsView {
    /// By what.
    pub by: Axis,
    /// Days in their order; anything else with what cost most first.
    pub rows: Vec<StatsRow>,
    /// All of it.
    pub total: StatsRow,
}

/// One line of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsRow {
    /// The run, stage, role, model, agent or day.
    pub key: String,
    /// Calls of agents. One that used more than one model counts for its first.
    pub calls: u32,
    /// Tokens.
    pub tokens: Tokens,
    /// What programs reported, in micro-dollars.
    pub known: Money,
    /// What is estimated, in micro-dollars.
    pub estimated: Money,
    /// Calls whose price nobody knows. One that used more than one model counts for each of them
    /// in its row, and once in the total.
    pub unknown_calls: u32,
    /// How long the calls took together, in milliseconds.
    pub took_ms: u64,
}

/// The stage under which the look at the request is counted.
pub(super) const COHERENCE: &str = "coherence";

/// What stands for the run where a request was refused.
const REFUSED: &str = "(refused)";

/// The name of whom or what nobody told us.
const UNKNOWN: &str = "unknown";

impl CallEnd {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Passed => "passed",
            Self::SentBack => "sent back",
            Self::Blocked => "blocked",
            Self::Fault => "fault",
            Self::Unverified => "unverified",
            Self::Limited => "limited",
            Self::Deferred => "deferred",
            Self::Lost => "lost",
            Self::Interrupted => "interrupted",
            Self::Overtaken => "overtaken",
        }
    }

    /// How a call of a run ended.
    pub(super) fn of(ending: &Ending) -> Self {
        match ending {
            Ending::Work(outcome) => Self::of_work(outcome),
            Ending::Look(ruling) => Self::of_look(ruling),
            Ending::Overtaken => Self::Overtaken,
        }
    }

    fn of_work(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::Partial { .. } => Self::Partial,
            Outcome::Blocked { .. } => Self::Blocked,
            Outcome::Fault { .. } => Self::Fault,
            Outcome::Limited { .. } => Self::Limited,
            Outcome::Deferred { .. } => Self::Deferred,
            Outcome::Lost => Self::Lost,
            Outcome::Interrupted => Self::Interrupted,
        }
    }

    pub(super) fn of_request(came_to: CameTo) -> Self {
        match came_to {
            CameTo::Pass => Self::Passed,
            CameTo::Block => Self::Blocked,
            CameTo::Nothing => Self::Fault,
        }
    }

    fn of_look(ruling: &Ruling) -> Self {
        match ruling {
            Ruling::Verdict(Verdict::Pass { .. }) => Self::Passed,
            Ruling::Verdict(Verdict::Revise { .. }) => Self::SentBack,
            Ruling::Verdict(Verdict::Block { .. }) | Ruling::Blocked { .. } => Self::Blocked,
            Ruling::Fault { .. } => Self::Fault,
            Ruling::Unverified { .. } => Self::Unverified,
            Ruling::Limited { .. } => Self::Limited,
            Ruling::Lost => Self::Lost,
            Ruling::Interrupted => Self::Interrupted,
        }
    }
}

/// What the calls of a run used up, from its facts with their times, in their order.
pub fn spendings<'a>(
    run: &str,
    facts: impl IntoIterator<Item = (Time, &'a Event)>,
) -> Vec<Spending> {
    let mut flow = None;
    let mut spendings: Vec<Spending> = Vec::new();
    for (at, fact) in facts {
        match fact {
            Event::RunStarted(start) => {
                flow = Flow::read_frozen(&start.flow, &start.texts).ok();
                spendings.extend(before_the_run(run, at, start, flow.as_ref()));
            }
            Event::RunRewound { from, .. } => {
                // The other run has paid for what both share.
                let own = spendings.iter_mut().filter(|spending| spending.run == run);
                own.for_each(|spending| spending.run.clone_from(from));
            }
            Event::AttemptEnded { attempt, outcome, receipt: Some(receipt) } => {
                let call = CallId::Attempt(attempt.clone());
                let ended = Ended { run, at, call, end: CallEnd::of_work(outcome) };
                spendings.extend(ended.spendings(flow.as_ref(), receipt));
            }
            Event::Judged { judgement, ruling, receipt } => {
                let call = CallId::Judgement(judgement.clone());
                let ended = Ended { run, at, call, end: CallEnd::of_look(ruling) };
                spendings.extend(ended.spendings(flow.as_ref(), receipt));
            }
            Event::CallSettled { call, spent, used, took_ms } => {
                let (used, took_ms) = (used.clone(), *took_ms);
                let receipt = Receipt { used, took_ms, ..Receipt::of(*spent) };
                let ended = Ended { run, at, call: call.clone(), end: CallEnd::Overtaken };
                spendings.extend(ended.spendings(flow.as_ref(), &receipt));
            }
            Event::AttemptEnded { receipt: None, .. }
            | Event::RunHeld { .. }
            | Event::RunResumed { .. }
            | Event::BudgetRaised { .. }
            | Event::ItemsListed { .. }
            | Event::UnitSkipped { .. }
            | Event::GateSkipped { .. }
            | Event::AttemptStarted { .. }
            | Event::JudgementStarted { .. }
            | Event::GatePassed { .. }
            | Event::GateWaived { .. }
            | Event::QuestionAsked(_)
            | Event::Answered { .. }
            | Event::UnitReopened { .. }
            | Event::UnitAccepted { .. }
            | Event::UnitFailed { .. }
            | Event::Landed { .. }
            | Event::Noticed { .. }
            | Event::Edited { .. }
            | Event::EffectIntended { .. }
            | Event::EffectDone { .. }
            | Event::RunEnded { .. } => {}
        }
    }
    spendings
}

/// A call that has ended.
struct Ended<'a> {
    run: &'a str,
    at: Time,
    call: CallId,
    end: CallEnd,
}

impl Ended<'_> {
    /// Nothing, if no agent was at work and nothing was used up.
    fn spendings(&self, flow: Option<&Flow>, receipt: &Receipt) -> Vec<Spending> {
        let unit = self.call.unit();
        let stage = flow.and_then(|flow| {
            let mut stages = flow.table(&unit.scope).iter();
            stages.find(|stage| stage.name == unit.stage)
        });
        let role = stage.and_then(|stage| role(stage, &self.call));
        match hand(role, self.end, &receipt.spent, receipt.used.as_ref()) {
            Hand::Forge => return Vec::new(),
            Hand::Agent => {}
        }
        let whole = Spending {
            run: self.run.to_owned(),
            call: self.call.to_string(),
            part: 0,
            day: day(self.at),
            unit: unit.place(),
            stage: unit.stage.clone(),
            role: named(role.unwrap_or_default()),
            agent: String::new(),
            provider: String::new(),
            model: String::new(),
            tokens: receipt.spent.tokens,
            cost: receipt.spent.cost,
            took_ms: receipt.took_ms,
            end: self.end,
        };
        whole.by_model(receipt.spent, receipt.used.clone())
    }
}

impl Spending {
    /// One for each model that took part.
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

/// What the look at the request cost, which was over when the run began.
fn before_the_run(run: &str, at: Time, start: &Start, flow: Option<&Flow>) -> Vec<Spending> {
    let Some(coherence) = &start.coherence else { return Vec::new() };
    let role = flow.and_then(|flow| flow.coherence.as_deref()).unwrap_or_default();
    of_look(run, 1, at, role, coherence)
}

/// What a look at a request cost after which no run began. They are told apart by their numbers.
pub fn refused(number: u32, at: Time, role: &str, coherence: &Coherence) -> Vec<Spending> {
    of_look(REFUSED, number, at, role, coherence)
}

fn of_look(run: &str, number: u32, at: Time, role: &str, coherence: &Coherence) -> Vec<Spending> {
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
        end: CallEnd::of_request(coherence.came_to),
    };
    whole.by_model(coherence.spent, coherence.used.clone())
}

/// Who was at work in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hand {
    /// An agent. Only this is counted as a call, wherever calls are counted.
    Agent,
    /// Forge itself, or nobody.
    Forge,
}

/// Who was at work in a call of a run.
pub(super) fn hand_of(run: &Run, ended: &EndedCall) -> Hand {
    let unit = ended.call.unit();
    let mut stages = run.law().flow.table(&unit.scope).iter();
    let stage = stages.find(|stage| stage.name == unit.stage);
    let role = stage.and_then(|stage| role(stage, &ended.call));
    hand(role, CallEnd::of(&ended.ending), &ended.spent, ended.used.as_ref())
}

/// What used something up was an agent, whatever the flow says.
fn hand(role: Option<&str>, end: CallEnd, spent: &Spent, used: Option<&Used>) -> Hand {
    let is_free = *spent == Spent::NOTHING && used.is_none();
    // Work that made way was never begun.
    if is_free && (role.is_none() || end == CallEnd::Deferred) { Hand::Forge } else { Hand::Agent }
}

/// Whom the agent of a call plays, if it is an agent's.
fn role<'a>(stage: &'a Stage, call: &CallId) -> Option<&'a str> {
    match call {
        CallId::Attempt(_) => match &stage.work {
            Work::Agent { role } => Some(role),
            Work::Command { .. }
            | Work::Each { .. }
            | Work::Flow { .. }
            | Work::Deliver { .. }
            | Work::Nothing => None,
        },
        CallId::Judgement(judgement) => match &stage.gates[stage.gate(&judgement.gate)?].check {
            Check::Review { role } => Some(role),
            Check::Artifact { .. }
            | Check::Command { .. }
            | Check::Human { .. }
            | Check::Verify
            | Check::Land
            | Check::BuiltIn { .. } => None,
        },
    }
}

fn named(name: &str) -> String {
    if name.is_empty() { UNKNOWN.to_owned() } else { name.to_owned() }
}

/// What each model used up. However the program divided it, the parts add up to the whole.
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

impl Axis {
    fn key(self, spending: &Spending) -> &str {
        match self {
            Self::Run => &spending.run,
            Self::Stage => &spending.stage,
            Self::Role => &spending.role,
            Self::Model => &spending.model,
            Self::Agent => &spending.agent,
            Self::Day => &spending.day,
        }
    }
}

impl StatsRow {
    fn add(&mut self, spending: &Spending) {
        self.calls += u32::from(spending.part == 0);
        self.tokens += spending.tokens;
        self.took_ms = self.took_ms.saturating_add(spending.took_ms);
        match spending.cost {
            Cost::Known(cost) => self.known += cost,
            Cost::Estimated(cost) => self.estimated += cost,
            Cost::Unknown => self.unknown_calls += 1,
        }
    }

    /// What was spent, as far as somebody can say.
    fn money(&self) -> Money {
        let mut sum = self.known;
        sum += self.estimated;
        sum
    }

    /// What was spent.
    pub fn amount(&self) -> Amount {
        let (known, estimated) = (self.known, self.estimated);
        Amount { known, estimated, unknown_calls: self.unknown_calls }
    }
}
