//! What a person is told when a run starts: agent, setup, checks, size, budget, branch, and what it is likely to take.
//!
//! Not here: how that looks.

use forge_core::{event::Start, flow::Flow, money::Money, routing::wish};
use forge_project::settings::Frozen;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    forge::Forge,
    start::{cast::Picked, dry_run::ChecksFrom, estimate::Estimate, flow_outline::EFFORT},
};

/// The facts of a start that a person should see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartPlan {
    /// The agents of its roles, by name, with the names of their products.
    pub agents: Vec<PlannedAgent>,
    pub picked: Picked,
    /// The commands that make a new checkout ready, if the flow uses one.
    pub setup: Vec<String>,
    pub checks: Vec<String>,
    /// Where those come from. Nothing, if the flow checks nothing.
    pub checks_from: Option<ChecksFrom>,
    /// The effort, and why it is this one.
    pub effort: Option<(String, String)>,
    pub budget: Option<Money>,
    pub budget_from: BudgetFrom,
    /// The most calls that tell no price, if one of the agents tells none and the budget is the default.
    pub unpriced_calls: Option<u32>,
    pub branch: Option<String>,
    pub estimate: Option<Estimate>,
}

/// The origin of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetFrom {
    /// The command line.
    Flag,
    Settings,
    /// The default of Forge.
    Default,
}

/// An agent of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct PlannedAgent {
    /// Its name in the settings.
    pub name: String,
    /// The name of the product, for those that Forge knows.
    pub title: Option<String>,
    /// The model that it is asked to use, if anybody says.
    pub model: Option<String>,
}

impl Forge {
    /// Returns what a person is told about a run that starts like this.
    pub(super) fn plan(
        &self,
        flow: &Flow,
        start: &Start,
        frozen: &Frozen,
        picked: Picked,
        budget_from: BudgetFrom,
    ) -> StartPlan {
        let players: Vec<_> = flow
            .players()
            .into_iter()
            .filter_map(|(place, model)| {
                let wish = start.routing.as_ref().map(|routing| wish(routing, &place, |_| None));
                Some(frozen.player(place.role, model, wish)?.agent)
            })
            .collect();
        let mut agents: Vec<PlannedAgent> = players
            .iter()
            .map(|agent| PlannedAgent {
                name: agent.name.clone(),
                title: agent.like.title().map(str::to_owned),
                model: agent.model.clone(),
            })
            .collect();
        agents.sort();
        agents.dedup();
        let effort = start
            .params
            .get(EFFORT)
            .map(|effort| (effort.clone(), start.chosen.get(EFFORT).cloned().unwrap_or_default()));
        StartPlan {
            agents,
            picked,
            setup: frozen.setup.clone(),
            checks: frozen.verify.commands.clone(),
            checks_from: ChecksFrom::new(flow, &frozen.verify),
            effort,
            budget: start.limits.budget,
            budget_from,
            unpriced_calls: start.limits.unpriced_calls,
            branch: start.branch.clone(),
            estimate: start.routing.as_ref().and_then(|routing| {
                self.estimate(&start.flow, flow, &start.params, (frozen, routing))
            }),
        }
    }
}
