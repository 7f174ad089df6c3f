//! What a run is likely to take: calls, minutes, dollars.
//!
//! By earlier runs of the same repository, flow, effort and kinds of agents; where there are none, by the tokens and prices of data
//! files, and then it says that it is rough. Not here: what a run may take at most (`Limits`).
//!
//! Invariant: an estimate decides nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use forge_agents::{
    TokenCounts,
    prices::{ModelPrice, Prices},
};
use forge_core::{
    Run,
    event::Record,
    flow::{Flow, Stage, StageOrder, Work},
    money::Money,
    routing::{CallPlace, Routing, wish},
    view::{Axis, RunRow, Standing, stats},
};
use forge_driver::Error;
use forge_project::settings::{Frozen, FrozenAgent};
use forge_store::{journal::JournalRecord, records::facts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    forge::Forge,
    spending::run_spending,
    start::flow_outline::{EFFORT, all_params, pruned},
};

/// The file with the figures that are used where no earlier run says more.
const FIGURES: &str = include_str!("estimate.toml");
/// So many earlier runs say what is usual.
const RUNS_MAX: usize = 5;
/// Among so many of the latest runs they are looked for.
const ROWS_MAX: usize = 50;
/// A run with more records than this is not read for an estimate.
const RECORDS_MAX: usize = 5_000;
const MINUTE_MS: u64 = 60_000;

/// Likely calls, minutes and dollars of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Estimate {
    /// Calls of agents, the fewest and the most.
    pub calls: (u64, u64),
    pub minutes: (u64, u64),
    /// Dollars; `null` if the price of the agents is not known.
    pub cost: Option<(Money, Money)>,
    /// The number of earlier runs it is based on; 0 if it is a rough estimate from general figures.
    pub earlier_runs: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    #[expect(dead_code, reason = "for those who read the file")]
    source: String,
    tokens_per_minute: u64,
    tasks: u64,
    work: u64,
    review: u64,
    low_percent: u64,
    high_percent: u64,
    phases: BTreeMap<String, u64>,
    split: Split,
    models: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Split {
    cache_read: u64,
    cache_write: u64,
    input: u64,
    output: u64,
}

static SHIPPED: LazyLock<Figures> =
    LazyLock::new(|| toml::from_str(FIGURES).expect("our own figures can be read"));

/// Calls, minutes and dollars of an earlier run.
struct EarlierRun {
    calls: u64,
    minutes: u64,
    cost: Option<Money>,
}

impl Forge {
    /// Estimates a run of this flow with these parameters. Nothing, if it calls no agent.
    pub(super) fn estimate(
        &self,
        name: &str,
        flow: &Flow,
        params: &BTreeMap<String, String>,
        (frozen, routing): (&Frozen, &Routing),
    ) -> Option<Estimate> {
        let params = all_params(flow, params);
        let earlier =
            self.earlier_runs(name, params.get(EFFORT), &kinds(flow, frozen)).unwrap_or_default();
        if earlier.is_empty() {
            return rough(&pruned(flow, &params), frozen, routing);
        }
        let range = |of: &dyn Fn(&EarlierRun) -> u64| {
            let values = || earlier.iter().map(of);
            (values().min().unwrap_or_default(), values().max().unwrap_or_default())
        };
        let costs: Option<Vec<Money>> = earlier.iter().map(|run| run.cost).collect();
        let cost = costs.and_then(|costs| Some((*costs.iter().min()?, *costs.iter().max()?)));
        Some(Estimate {
            calls: range(&|run| run.calls),
            minutes: range(&|run| run.minutes),
            cost: cost.filter(|(_, most)| most.0 > 0),
            earlier_runs: earlier.len(),
        })
    }

    /// Reads the latest runs of a flow that were done with the same effort and kinds of agents.
    fn earlier_runs(
        &self,
        flow: &str,
        effort: Option<&String>,
        agents: &BTreeSet<String>,
    ) -> Result<Vec<EarlierRun>, Error> {
        let Some(store) = self.find_store()? else { return Ok(Vec::new()) };
        let (rows, _) = self.rows(ROWS_MAX)?;
        let is_like = |row: &&RunRow| row.flow == flow && row.standing == Standing::Done;
        let mut found = Vec::new();
        for row in rows.iter().filter(is_like) {
            let records = store.read(&row.run, 1)?;
            if records.len() > RECORDS_MAX {
                continue;
            }
            let (mut run, mut busy, mut last) = (Run::new(), 0, None);
            for record in &records {
                let JournalRecord { epoch, at, .. } = record;
                let is_driven = last.is_some_and(|(before, _)| before == *epoch);
                if let (true, false, Some((_, since))) = (is_driven, run.calls().is_empty(), last) {
                    busy += at.saturating_sub(since);
                }
                last = Some((*epoch, *at));
                run.apply_record(&Record { at: *at, facts: facts(record)? });
            }
            let definition = run.definition();
            if definition.start.params.get(EFFORT) == effort
                && kinds(&definition.flow, &self.frozen(&run)?) == *agents
            {
                let calls = run_spending(&store, &row.run)?;
                found.push(EarlierRun {
                    calls: stats(&calls, Axis::Day).total.calls.into(),
                    minutes: u64::div_ceil(busy, MINUTE_MS),
                    cost: (row.unknown_costs == 0).then_some(Money(row.spent.0 + row.estimated.0)),
                });
            }
            if found.len() == RUNS_MAX {
                break;
            }
        }
        Ok(found)
    }
}

/// Returns the kinds of agents that run as the roles of a flow.
fn kinds(flow: &Flow, frozen: &Frozen) -> BTreeSet<String> {
    let roles = flow.roles();
    let agents = roles.iter().filter_map(|role| frozen.who_plays(role));
    agents.map(|agent| agent.like.name().to_owned()).collect()
}

/// Estimates a run by the figures of the data files.
fn rough(flow: &Flow, frozen: &Frozen, routing: &Routing) -> Option<Estimate> {
    let mut calls = Vec::new();
    let player = |place: CallPlace<'_>, model: Option<&str>| {
        let wish = wish(routing, &place, |_| None);
        Some(frozen.player(place.role, model, Some(wish))?.agent)
    };
    collect(&flow.stages, 1, &player, &mut calls);
    let n: u64 = calls.iter().map(|call| call.times).sum();
    let tokens: u64 = calls.iter().map(|call| call.tokens * call.times).sum();
    let cost: Option<u64> = calls.iter().map(|call| call.micros(&frozen.prices)).sum();
    let part = |of: u64, percent: u64| of.saturating_mul(percent).div_ceil(100);
    let range = |of: u64| (part(of, SHIPPED.low_percent), part(of, SHIPPED.high_percent));
    let cost = cost.map(range).map(|(least, most)| (Money(least), Money(most)));
    (n > 0).then(|| Estimate {
        calls: (n, n),
        minutes: range(tokens.div_ceil(SHIPPED.tokens_per_minute)),
        cost,
        earlier_runs: 0,
    })
}

/// Calls of one kind.
struct RoughCall {
    tokens: u64,
    times: u64,
    /// The model whose price is taken, if it is known.
    model: Option<String>,
}

impl RoughCall {
    fn new(phase: Option<&str>, otherwise: u64, times: u64, agent: Option<&FrozenAgent>) -> Self {
        let tokens = phase.and_then(|phase| SHIPPED.phases.get(phase)).copied();
        let own = agent.and_then(|agent| agent.model.clone());
        let of_kind = || SHIPPED.models.get(agent?.like.name()).cloned();
        Self { tokens: tokens.unwrap_or(otherwise), times, model: own.or_else(of_kind) }
    }

    /// Returns what these calls cost, in millionths of a dollar, if the model has a price.
    fn micros(&self, own: &[ModelPrice]) -> Option<u64> {
        let model = self.model.as_deref()?;
        let price = ModelPrice::find(own, model).or_else(|| Prices::shipped().find(model))?;
        let part = |percent: u64| self.tokens * self.times * percent / 100;
        let Split { cache_read, cache_write, input, output } = SHIPPED.split;
        Some(price.micros(TokenCounts {
            input: part(input),
            output: part(output),
            cache_read: part(cache_read),
            cache_write: part(cache_write),
        }))
    }
}

/// Collects the calls of a table in which nothing is sent back.
fn collect(
    stages: &[Stage],
    times: u64,
    player: &dyn Fn(CallPlace<'_>, Option<&str>) -> Option<FrozenAgent>,
    calls: &mut Vec<RoughCall>,
) {
    for stage in stages {
        let mut add = |phase: Option<&String>, otherwise: u64, place, model: Option<&str>| {
            let agent = player(place, model);
            let phase = phase.map(String::as_str);
            calls.push(RoughCall::new(phase, otherwise, times, agent.as_ref()));
        };
        if let (Some(place), StageOrder::WorkFirst) = (stage.place(), stage.order) {
            add(stage.phase.as_ref(), SHIPPED.work, place, stage.model.as_deref());
        }
        for gate in &stage.gates {
            if let Some(place) = gate.place() {
                add(gate.phase.as_ref(), SHIPPED.review, place, gate.model.as_deref());
            }
        }
        let times = match &stage.work {
            Work::Each { .. } => times * SHIPPED.tasks,
            Work::Agent { .. }
            | Work::Command { .. }
            | Work::Flow { .. }
            | Work::Deliver { .. }
            | Work::Nothing => times,
        };
        collect(stage.inner(), times, player, calls);
    }
}
