//! What would run: stages with who would play them, gates, skips, caps and checks.
//!
//! Invariant: it has no effect. Nothing is written, asked or called.

use std::collections::BTreeMap;

use forge_core::{
    event::Approvals,
    flow::{Check, CodeLimit, Delivery, Exhausted, Flow, Gate, Stage, StageOrder, Work},
    money::Money,
    routing::{CallPlace, Route, wish},
};
use forge_driver::Error;
use forge_project::settings::{
    DeliveryTime, Frozen, Player, PullRequestSettings, Verify, VerifyFrom,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    forge::Forge,
    start::{
        choices::would_ask,
        estimate::Estimate,
        flow_outline::{Runs, all_params, both, pruned, runs},
        prompts::Nobody,
        ready::{Ready, find},
        request::{Discussion, OnMissing, Request},
    },
};

/// The plan of a run that was not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DryRun {
    pub request: String,
    /// The issue that the request comes from.
    pub source: Option<String>,
    pub flow: String,
    /// A value for each of its parameters.
    pub params: BTreeMap<String, String>,
    /// How each value that the user did not give was chosen.
    pub chosen: BTreeMap<String, String>,
    /// Questions that would be asked at a terminal before the start.
    pub asked: Vec<String>,
    /// Whether checkpoints may pass automatically.
    pub approvals: Approvals,
    /// The commit that the run would start from.
    pub base: Option<String>,
    /// The branch of the result, with `{run}` for the id.
    pub branch: Option<String>,
    /// The user's branch that could be moved to the result.
    pub onto: Option<String>,
    /// The agent that would check the request first.
    pub looked_at_by: Option<DryPlayer>,
    /// All stages; those of an `each` follow it.
    pub stages: Vec<DryStage>,
    /// The largest number of agent calls without a person's answer.
    pub calls_max: u64,
    /// The number of agent calls if nothing is sent back.
    pub calls_usual: DryCalls,
    /// Likely calls, minutes and dollars.
    pub estimate: Option<Estimate>,
    /// The limits of the run.
    pub caps: DryCaps,
    /// The project's checks.
    pub checks: Vec<String>,
    /// The origin of the checks.
    pub checks_from: ChecksFrom,
    /// Commands that make a new checkout ready.
    pub setup: Vec<String>,
    /// Commands of the repository that a person has yet to allow.
    pub to_allow: Vec<String>,
    /// Notes for the person.
    pub notes: Vec<String>,
}

/// The number of agent calls of a run in which nothing is sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DryCalls {
    /// The number for the whole run.
    pub once: u64,
    /// The number for each item.
    pub for_each: u64,
}

impl DryCalls {
    /// Returns the number for a flow with the defaults of its parameters.
    pub fn for_flow(flow: &Flow) -> Self {
        usual(&pruned(flow, &all_params(flow, &BTreeMap::new())).stages)
    }
}

/// The limits of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DryCaps {
    /// The budget of the whole run.
    pub budget: Option<Money>,
    /// The most that one call may cost.
    pub call_budget: Option<Money>,
    /// The number of calls at the same time.
    pub at_once: u32,
    /// How long one call may take.
    pub wall_minutes: u64,
    /// How long one call may print nothing.
    pub silence_minutes: u64,
}

/// The origin of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChecksFrom {
    /// The settings name them.
    Settings,
    /// They were found in the project.
    Found,
    /// The project has no checks.
    Nothing,
}

impl ChecksFrom {
    /// Returns where the checks of a run come from. Nothing, if its flow needs none.
    pub(super) fn new(flow: &Flow, verify: &Verify) -> Option<Self> {
        let checks =
            |_: &Stage, check: Option<&Check>| matches!(check, Some(Check::Verify | Check::Land));
        find(&flow.stages, &checks)?;
        Some(verify.from.into())
    }
}

impl From<VerifyFrom> for ChecksFrom {
    fn from(from: VerifyFrom) -> Self {
        match from {
            VerifyFrom::Settings => Self::Settings,
            VerifyFrom::Found => Self::Found,
            VerifyFrom::Nothing => Self::Nothing,
        }
    }
}

/// The agent and model of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DryPlayer {
    pub role: String,
    /// The agent, by name.
    pub agent: String,
    /// The model, if the settings name one.
    pub model: Option<String>,
    /// The tier, effort and thinking that it would be asked for, and why. Items may say otherwise.
    pub route: Option<Route>,
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DryStage {
    /// Its name, after those of the stages that it is in.
    pub stage: String,
    /// The id of the phase, such as `phase-3b`.
    pub phase: Option<String>,
    pub runs: Runs,
    /// The work of the stage, as a phrase.
    pub does: String,
    pub player: Option<DryPlayer>,
    /// How often it may be sent back.
    pub rounds: u32,
    /// What follows when no revisions are left, as a phrase.
    pub then: String,
    /// The budget of all calls of one unit.
    pub budget: Option<Money>,
    /// Its gates, in order.
    pub gates: Vec<DryGate>,
}

/// A gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DryGate {
    pub gate: String,
    /// The id of the phase, such as `phase-3b`.
    pub phase: Option<String>,
    pub runs: Runs,
    /// The condition of the gate, as a phrase.
    pub wants: String,
    pub player: Option<DryPlayer>,
    /// How often it may send back; `null` if it draws on the rounds of the stage that it sends back.
    pub rounds: Option<u32>,
}

impl Forge {
    /// Says what would run. Nothing is written, and nobody is asked or called.
    pub fn dry_run(&self, request: &Request) -> Result<DryRun, Error> {
        let request = &self.with_record(request)?;
        let ready = self.ready(request, &mut Nobody)?;
        let estimate = |params: &BTreeMap<String, String>, frozen: &Frozen| {
            self.estimate(&ready.name, &ready.found.flow, params, (frozen, &ready.routing))
        };
        let mut asked = would_ask(request);
        let taken = Request {
            on_missing: OnMissing::UseDetected,
            discussion: Discussion::No,
            ..request.clone()
        };
        let chosen = ready.choose(&taken, &mut Nobody)?;
        let flow = &ready.found.flow;
        let params = all_params(flow, &chosen.params);
        let flow = &Flow::read_frozen(&ready.name, &ready.found.texts, &params)
            .expect("the flow was read with other parameters before");
        let roles: Vec<&str> = flow.roles().into_iter().collect();
        let settings = &ready.settings;
        let mut frozen = settings.freeze_cast(&roles, None);
        if let Some(base) = &ready.base {
            self.fill_in(&mut frozen, settings, base)?;
        }
        let looker = ready.looker();
        let mut stages = Vec::new();
        ready.collect(&flow.stages, &params, "", Runs::Yes, &mut stages);
        let lists = request.about.iter().flat_map(|about| about.lists.keys());
        for row in lists.filter_map(|list| flow.rows_for_list(list)).flatten() {
            let known = |stage: &&mut DryStage| stage.stage == flow.stages[row].name;
            for stage in stages.iter_mut().filter(known) {
                stage.runs = Runs::Skipped;
            }
        }
        let mut notes = settings.notes();
        notes.extend(ready.left_out.clone());
        notes.extend(request.about.iter().flat_map(|about| about.notes.clone()));
        notes.extend(super::ready::about_variables(settings));
        // What is only proposed is asked about, and not said.
        if asked.is_empty() {
            notes.extend(chosen.notes.clone());
        }
        match ready.would_ask_about_auto(request, &chosen) {
            Some(about_auto) => asked.push(about_auto),
            None => notes.extend(chosen.without_auto.clone()),
        }
        Ok(DryRun {
            looked_at_by: looker.and_then(|role| ready.dry_player(CallPlace::of_role(role), None)),
            calls_max: pruned(flow, &params).calls_max().0 + u64::from(looker.is_some()),
            calls_usual: {
                let mut calls = usual(&pruned(flow, &params).stages);
                calls.once += u64::from(looker.is_some());
                calls
            },
            estimate: estimate(&chosen.params, &frozen),
            caps: DryCaps {
                budget: request.budget.or(settings.limits.budget()),
                call_budget: settings.limits.call_budget(),
                at_once: settings.limits.at_once.into(),
                wall_minutes: settings.limits.wall_minutes.into(),
                silence_minutes: settings.limits.silence_minutes.into(),
            },
            checks_from: frozen.verify.from.into(),
            checks: frozen.verify.commands,
            setup: frozen.setup,
            to_allow: self.unapproved(settings, &ready.found)?,
            branch: ready.lands.then(|| String::from(settings.land.branch.clone())),
            onto: chosen.onto,
            request: chosen.text,
            flow: ready.name.clone(),
            chosen: chosen.why,
            approvals: chosen.approvals,
            source: ready.issue.as_ref().map(|issue| issue.source.clone()),
            base: ready.base.clone(),
            params,
            asked,
            stages,
            notes,
        })
    }
}

impl Ready {
    /// Returns who plays at a place of the flow, which may name a model, in a call that is about no item.
    pub(super) fn player(&self, place: CallPlace<'_>, in_flow: Option<&str>) -> Option<Player> {
        let wish = wish(&self.routing, &place, |_| None);
        self.settings.freeze_cast(&[place.role], None).player(place.role, in_flow, Some(wish))
    }

    fn dry_player(&self, place: CallPlace<'_>, in_flow: Option<&str>) -> Option<DryPlayer> {
        let Player { agent, route } = self.player(place, in_flow)?;
        let role = place.role.to_owned();
        Some(DryPlayer { role, agent: agent.name, model: agent.model, route })
    }

    fn collect(
        &self,
        stages: &[Stage],
        params: &BTreeMap<String, String>,
        above: &str,
        outer: Runs,
        rows: &mut Vec<DryStage>,
    ) {
        for stage in stages {
            let name = format!("{above}{}", stage.name);
            let own = both(outer, runs(&stage.when, params));
            rows.push(DryStage {
                stage: name.clone(),
                phase: stage.phase.clone(),
                runs: own,
                does: does(stage, &self.settings.pull_request),
                player: stage
                    .place()
                    .and_then(|place| self.dry_player(place, stage.model.as_deref())),
                rounds: stage.rounds,
                then: match stage.exhausted {
                    Exhausted::Ask => "you are asked",
                    Exhausted::PassWithNotes => "it passes with notes",
                    Exhausted::Fail => "it fails",
                }
                .to_owned(),
                budget: stage.budget,
                gates: stage
                    .gates
                    .iter()
                    .map(|gate| DryGate {
                        gate: gate.name.clone(),
                        phase: gate.phase.clone(),
                        runs: both(own, runs(&gate.when, params)),
                        wants: wants(gate),
                        player: gate
                            .place()
                            .and_then(|place| self.dry_player(place, gate.model.as_deref())),
                        rounds: gate.rounds,
                    })
                    .collect(),
            });
            self.collect(stage.inner(), params, &format!("{name}/"), own, rows);
        }
    }
}

/// Returns the calls of agents in a table of which nothing is sent back.
fn usual(stages: &[Stage]) -> DryCalls {
    let mut calls = DryCalls::default();
    for stage in stages {
        let reviews = stage.gates.iter().filter(|gate| matches!(gate.check, Check::Review { .. }));
        calls.once += reviews.count() as u64;
        match (&stage.work, stage.order) {
            (Work::Agent { .. }, StageOrder::WorkFirst) => calls.once += 1,
            (Work::Each { stages, .. }, _) => {
                let inner = usual(stages);
                calls.for_each += inner.once + inner.for_each;
            }
            (Work::Flow { stages, .. }, _) => {
                let inner = usual(stages);
                calls.once += inner.once;
                calls.for_each += inner.for_each;
            }
            // Where its gates look first, there is nothing to do.
            (Work::Agent { .. }, StageOrder::GatesFirst)
            | (Work::Command { .. } | Work::Deliver { .. } | Work::Nothing, _) => {}
        }
    }
    calls
}

fn does(stage: &Stage, set: &PullRequestSettings) -> String {
    let does = match &stage.work {
        Work::Agent { role } => match stage.code {
            CodeLimit::AsRole => format!("an agent as {role}"),
            CodeLimit::Reads => format!("an agent as {role}, without changing code"),
        },
        Work::Command { run } => format!("`{run}`"),
        Work::Each { list, at_once, items_max, .. } => {
            format!("for each of {list}, {at_once} in parallel, at most {items_max}")
        }
        Work::Flow { name, .. } => format!("the flow {name}"),
        Work::Deliver { what } => match what {
            Delivery::PullRequest => match set.open {
                DeliveryTime::OnRequest => "writes the text of a pull request, but opens none",
                DeliveryTime::AtEnd => "pushes the branch and opens its pull request",
            },
            Delivery::Summary => "writes summary.md",
            Delivery::Comment => match set.comment {
                DeliveryTime::OnRequest => "nothing: pull_request.comment is \"on-request\"",
                DeliveryTime::AtEnd => "comments at the issue",
            },
            Delivery::Commit => "commits the documents of the run (land.record)",
            Delivery::Pages => "writes pages about all records (work.pages)",
        }
        .to_owned(),
        Work::Nothing => "checks only".to_owned(),
    };
    match stage.order {
        StageOrder::WorkFirst => does,
        StageOrder::GatesFirst => format!("{does}, only if its checks find something"),
    }
}

fn wants(gate: &Gate) -> String {
    match &gate.check {
        Check::Artifact { name } => format!("{name} exists"),
        Check::Outputs { .. } => "the files are there, and long enough".to_owned(),
        Check::Command { run } => format!("`{run}` succeeds"),
        Check::Review { role } => format!("by an agent as {role}"),
        Check::Human { question, .. } => format!("you are asked: {question}"),
        Check::Verify => "the project's checks pass".to_owned(),
        Check::Land => "the change is merged".to_owned(),
        Check::BuiltIn { check } => check.description().to_owned(),
    }
}
