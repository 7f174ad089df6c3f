//! What is frozen of the settings when a run starts. It lies in the journal as a blob.
//!
//! Invariant: a blob of any older Forge can be read. New fields have a default that means what
//! that Forge did.

use std::collections::{BTreeMap, BTreeSet};

use forge_agents::{AgentKind, models::ModelList, prices::ModelPrice, registry};
use forge_core::{
    event::Blob,
    routing::{AgentOrigin, Because, Effort, ModelOrigin, Route, Thinking, Tier, Wish, WishReason},
};
use serde::{Deserialize, Serialize};

use super::{
    glob::PathGlobs,
    resolve::Settings,
    types::{
        AgentTable, Claims, DeliveryTime, FinalCheckout, FlowModels, Reviewer, RunRecord,
        SecretSettings, TierTable,
    },
    values::{PriceLine, fill_branch, to_strings},
};

/// The settings that are frozen for one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// Who plays the roles about which `roles` says nothing. See [`Frozen::who_plays`].
    pub agent: AgentChoice,
    /// The agents that play in the run, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, FrozenAgent>,
    /// Roles that somebody else plays, or with another model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, RoleAgent>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tiers: BTreeMap<Tier, TierAgent>,
    #[serde(default, skip_serializing_if = "SecretsTable::is_empty")]
    pub secrets: SecretsTable,
    /// How long one call may take.
    pub wall_ms: u64,
    /// How long one call may print nothing.
    pub silence_ms: u64,
    /// How much one call may print.
    pub output_bytes: u64,
    /// Commands that make a new checkout ready.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Files whose change makes the setup run again.
    #[serde(default)]
    pub setup_inputs: Vec<String>,
    /// Files outside git that a new checkout gets.
    #[serde(default)]
    pub copy: Vec<String>,
    /// Folders that checkouts keep between calls.
    #[serde(default)]
    pub cache: Vec<String>,
    /// What happens if two runs write the same paths.
    #[serde(default)]
    pub claims: Claims,
    /// Where the checkouts of its runs lie, if not where they lie by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The project's checks.
    #[serde(default)]
    pub verify: Verify,
    /// The name of the run's branch, a template. See [`Frozen::branch_of`].
    #[serde(default = "first_branch")]
    pub branch: String,
    /// What the last commit of the run keeps of it.
    #[serde(default, with = "RecordInSnapshot", skip_serializing_if = "is_all")]
    pub kept: RunRecord,
    /// Whether the models that the flow names count.
    #[serde(default, skip_serializing_if = "FlowModels::is_used")]
    pub flow_models: FlowModels,
    /// The folder of the pages about records of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    /// The folder that `{engineering}` stands for in gates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engineering: Option<String>,
    /// The names of the agents that take over, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// Which agent reviews.
    #[serde(default)]
    pub review: Reviewer,
    /// The names of the agents among which one of another vendor is looked for, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
    /// Prices of the user's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<ModelPrice>,
    /// How many percent of an account's limit are used before the next account takes over.
    #[serde(default = "handoff_threshold")]
    pub handoff_threshold: u32,
    /// Whether the run opens its pull request itself.
    #[serde(default, skip_serializing_if = "DeliveryTime::is_on_request")]
    pub opens: DeliveryTime,
    /// Whether the run writes its summary at the issue that it came from.
    #[serde(default, skip_serializing_if = "DeliveryTime::is_on_request")]
    pub comments: DeliveryTime,
}

/// Settings about secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretsTable {
    /// Files whose values are secrets, relative to the top of the checkout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Paths in which a change may hold what looks like a secret.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
}

impl From<&SecretSettings> for SecretsTable {
    fn from(settings: &SecretSettings) -> Self {
        Self { files: to_strings(&settings.files), allow: to_strings(&settings.allow) }
    }
}

impl SecretsTable {
    /// Returns the paths, relative to the top of the checkout, that may hold what looks like a secret.
    pub fn allowed_paths(&self) -> PathGlobs {
        PathGlobs::new(&self.allow)
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.allow.is_empty()
    }
}

/// The words of [`RunRecord`] in a snapshot: one of them is not that of the settings.
#[derive(Serialize, Deserialize)]
#[serde(remote = "RunRecord", rename_all = "snake_case")]
enum RecordInSnapshot {
    All,
    Summary,
    Nothing,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_all(record: &RunRecord) -> bool {
    *record == RunRecord::All
}

/// The choice of the agent for a run's roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentChoice {
    /// Nobody: the flow has only commands and people.
    Nobody,
    /// The scripted agent, from this scenario.
    Scripted {
        /// The scenario, as a blob.
        scenario: Blob,
    },
    /// One of the run's `agents`.
    Named { name: String },
}

/// An agent, with all that is to be known to start it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenAgent {
    /// How it is called.
    pub name: String,
    /// The protocol that Forge speaks with it.
    pub like: AgentKind,
    /// The program and its arguments. None at all are those of its kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The model that it is asked to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// More variables of the environment that it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass: Vec<String>,
    /// The models that it is asked for by tier, where the settings name none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tier_models: BTreeMap<Tier, String>,
    /// What the scripted agent plays from, as a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Blob>,
    /// Whether it keeps sessions, where its kind does not say.
    #[serde(default, skip_serializing_if = "Sessions::is_unknown")]
    pub sessions: Sessions,
}

impl FrozenAgent {
    /// An agent as the settings have it, with nothing to play from.
    pub fn new(name: &str, table: &AgentTable) -> Self {
        Self {
            name: name.to_owned(),
            like: table.like,
            command: table.command.clone().unwrap_or_default(),
            model: table.model.clone(),
            pass: table.pass.clone(),
            tier_models: table.tier_models.clone(),
            scenario: None,
            sessions: Sessions::default(),
        }
    }
}

/// The agent's handling of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sessions {
    /// Its kind says.
    #[default]
    Unknown,
    /// It can be asked to go on.
    Kept,
}

impl Sessions {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

/// The settings of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleAgent {
    /// Who plays it, if not the agent of all roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model, if not that of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The settings of one tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierAgent {
    /// Who plays, where the role has no agent of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
}

impl From<&TierTable> for TierAgent {
    fn from(table: &TierTable) -> Self {
        Self {
            agent: table.agent.clone().map(String::from),
            model: table.model.clone().map(String::from),
            effort: table.effort,
            thinking: table.thinking,
        }
    }
}

/// The agent of a call, and what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// With the model that it is asked to use.
    pub agent: FrozenAgent,
    /// Nothing in runs of an older Forge, which have no tiers.
    pub route: Option<Route>,
}

/// The project's checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verify {
    /// One after the other, each in a shell. None at all is unverified, and never passed.
    pub commands: Vec<String>,
    pub from: VerifyFrom,
    /// How long one may take.
    pub timeout_ms: u64,
    /// How much one may print.
    pub output_bytes: u64,
    /// What they, the set-up and the commands of the flow get of the person's environment.
    #[serde(default)]
    pub pass: PassedVariables,
    /// In what kind of checkout the last verification runs.
    pub r#final: FinalCheckout,
}

/// The variables of the person's environment that the project's commands get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassedVariables {
    /// All of them, as in the runs that an older Forge began.
    #[default]
    Everything,
    /// Those that every agent gets, and these.
    Listed(Vec<String>),
}

/// The origin of the checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyFrom {
    /// The settings. If they have none, the project has none.
    Settings,
    /// Nobody said, and Forge found them in the project.
    Found,
    /// Nobody said, and nothing was found.
    #[default]
    Nothing,
}

impl Default for Verify {
    fn default() -> Self {
        Settings::default().verify()
    }
}

impl Settings {
    /// Returns what is frozen for one run in which these roles are played by whom the settings name. The
    /// scenario is for the scripted agent, if it plays.
    pub fn freeze_cast(&self, roles: &[&str], scenario: Option<&(Blob, Sessions)>) -> Frozen {
        let agent = self.agent.as_deref().filter(|_| !roles.is_empty()).map(str::to_owned);
        let mut frozen =
            self.freeze(agent.map_or(AgentChoice::Nobody, |name| AgentChoice::Named { name }));
        for role in roles {
            if let Some(table) = self.roles.get(*role) {
                let agent = table.agent.clone().map(String::from);
                let model = table.model.clone().map(String::from);
                frozen.roles.insert((*role).to_owned(), RoleAgent { agent, model });
            }
        }
        if !roles.is_empty() {
            let tiers = Tier::ALL.iter().map(|tier| (*tier, self.tiers.get(*tier).into()));
            frozen.tiers = tiers.filter(|(_, tier)| *tier != TierAgent::default()).collect();
        }
        let mut cast: BTreeSet<String> =
            self.players(roles).into_iter().map(str::to_owned).collect();
        if !roles.is_empty() {
            frozen.fallback = to_strings(&self.fallback_agents);
            frozen.fallback.retain(|name| !self.absent.contains(name));
            cast.extend(frozen.fallback.iter().cloned());
        }
        if !roles.is_empty() && self.review == Reviewer::OtherVendor {
            // Whom the settings name is asked first.
            frozen.reviewers.clone_from(&frozen.fallback);
            let known = frozen.reviewers.clone();
            let more =
                cast.iter().chain(&self.usable).filter(|name| !known.contains(name)).cloned();
            frozen.reviewers.extend(more.collect::<BTreeSet<String>>());
            cast.extend(frozen.reviewers.iter().cloned());
        }
        for name in &cast {
            let name = name.as_str();
            let table = self.agents.get(name).expect("an agent that is named is there");
            let script = scenario.filter(|_| table.like.plays_scenario());
            let agent = FrozenAgent {
                scenario: script.map(|(scenario, _)| scenario.clone()),
                sessions: script.map(|(_, sessions)| *sessions).unwrap_or_default(),
                ..FrozenAgent::new(name, table)
            };
            frozen.agents.insert(name.to_owned(), agent);
        }
        frozen
    }

    /// Returns what is frozen for one run in which this agent plays all roles. Where nobody said what the
    /// checks are, the caller may fill in what it found.
    pub fn freeze(&self, agent: AgentChoice) -> Frozen {
        let workspace = &self.workspace;
        Frozen {
            agent,
            agents: BTreeMap::new(),
            roles: BTreeMap::new(),
            tiers: BTreeMap::new(),
            secrets: SecretsTable::from(&self.secrets),
            wall_ms: minutes(self.limits.wall_minutes),
            silence_ms: minutes(self.limits.silence_minutes),
            output_bytes: mebibytes(self.limits.output_mib),
            setup: to_strings(&workspace.setup),
            setup_inputs: to_strings(&workspace.setup_inputs),
            copy: to_strings(&workspace.copy),
            cache: to_strings(&workspace.cache),
            claims: workspace.claims,
            root: workspace.root.clone().map(String::from),
            verify: self.verify(),
            branch: self.land.branch.clone().into(),
            kept: self.land.record,
            flow_models: self.flow_models,
            pages: self.work.pages.clone().map(String::from),
            engineering: self.work.engineering.clone().map(String::from),
            fallback: Vec::new(),
            review: self.review,
            reviewers: Vec::new(),
            prices: self.prices.iter().map(PriceLine::price).collect(),
            handoff_threshold: self.limits.handoff_threshold.into(),
            opens: self.pull_request.open,
            comments: self.pull_request.comment,
        }
    }

    fn verify(&self) -> Verify {
        let (commands, from) = match &self.verify.commands {
            Some(commands) => (to_strings(commands), VerifyFrom::Settings),
            None => (Vec::new(), VerifyFrom::Nothing),
        };
        Verify {
            commands,
            from,
            timeout_ms: minutes(self.verify.timeout_minutes),
            output_bytes: mebibytes(self.verify.output_mib),
            pass: PassedVariables::Listed(to_strings(&self.verify.pass)),
            r#final: self.verify.r#final,
        }
    }
}

impl Frozen {
    /// Returns who plays a role, with the model for that role. Nobody in a run that has no agents.
    pub fn who_plays(&self, role: &str) -> Option<FrozenAgent> {
        Some(self.player(role, None, None)?.agent)
    }

    /// Returns who plays a role in a stage or review, where the flow may name a model, and what the agent is asked for. What is more
    /// particular wins: the flow, the role, the tier, the agent, and last what is known of the agent's models.
    pub fn player(&self, role: &str, in_flow: Option<&str>, wish: Option<Wish>) -> Option<Player> {
        let said = self.roles.get(role);
        let own = said.and_then(|said| said.agent.as_ref());
        let tier = self.tier(wish);
        let of_tier = tier.and_then(|tier| tier.agent.as_ref());
        let mut agent = match (own.or(of_tier), &self.agent) {
            (Some(name), _) | (None, AgentChoice::Named { name }) => self.agents.get(name)?.clone(),
            (None, AgentChoice::Scripted { scenario }) => FrozenAgent::scripted(scenario.clone()),
            (None, AgentChoice::Nobody) => return None,
        };
        // The model of a tier is one of its agent's.
        let is_tiers = own.is_none() || own == of_tier;
        let own_model = match self.flow_models {
            FlowModels::Used => ModelOrigin::Agent,
            FlowModels::Overridden => ModelOrigin::Run,
        };
        let in_flow = in_flow.filter(|_| self.flow_models == FlowModels::Used);
        let of_tier = tier.filter(|_| is_tiers).and_then(|tier| tier.model.clone());
        let known = wish.and_then(|wish| agent.tier_models.get(&wish.tier.is).cloned());
        let models = [
            (ModelOrigin::Flow, in_flow.map(str::to_owned)),
            (ModelOrigin::Role, said.and_then(|said| said.model.clone())),
            (ModelOrigin::Tier, of_tier),
            (own_model, agent.model.clone()),
            (ModelOrigin::Known, known),
        ];
        let model_from = take_model(&mut agent, models);
        let route = wish.map(|wish| {
            let wish = asked_for(wish, tier, &agent);
            Route { wish, model_from, agent_from: AgentOrigin::Settings }
        });
        Some(Player { agent, route })
    }

    /// Returns an agent that plays in the place of the one that the settings name for a role, and what it is asked for. The models of
    /// the flow and the role are those of the other one.
    pub fn player_instead(
        &self,
        name: &str,
        agent_from: AgentOrigin,
        wish: Option<Wish>,
    ) -> Option<Player> {
        let mut agent = self.agents.get(name)?.clone();
        let tier = self.tier(wish).filter(|tier| tier.agent.as_deref() == Some(name));
        let of_tier = tier.and_then(|tier| tier.model.clone());
        let known = wish.and_then(|wish| agent.tier_models.get(&wish.tier.is).cloned());
        let models = [
            (ModelOrigin::Tier, of_tier),
            (ModelOrigin::Agent, agent.model.clone()),
            (ModelOrigin::Known, known),
        ];
        let model_from = take_model(&mut agent, models);
        let route = wish.map(|wish| {
            let wish = asked_for(wish, tier, &agent);
            Route { wish, model_from, agent_from }
        });
        Some(Player { agent, route })
    }

    fn tier(&self, wish: Option<Wish>) -> Option<&TierAgent> {
        self.tiers.get(&wish?.tier.is)
    }

    /// Returns the name of a run's branch.
    pub fn branch_of(&self, run: &str) -> String {
        fill_branch(&self.branch, run)
    }
}

/// Gives an agent the first model that is named, and says where that is from.
fn take_model<const N: usize>(
    agent: &mut FrozenAgent,
    models: [(ModelOrigin, Option<String>); N],
) -> ModelOrigin {
    let named = models.into_iter().find_map(|(origin, model)| Some((origin, model?)));
    let (model_from, model) = named.map_or((ModelOrigin::Own, None), |(o, m)| (o, Some(m)));
    agent.model = model;
    model_from
}

impl FrozenAgent {
    /// Returns whose model answers: programs for several vendors name them before the model.
    pub fn vendor(&self) -> &str {
        let named = self.model.as_deref().and_then(|model| model.split_once('/'));
        let is_known = registry::ready_to_use().any(|kind| kind == self.like);
        match named {
            Some((vendor, _)) => vendor,
            None if is_known => self.like.provider(),
            None => &self.name,
        }
    }

    /// Returns true if a session of it can go on after its process has ended.
    pub fn can_resume(&self) -> bool {
        self.like.can_resume() || self.sessions == Sessions::Kept
    }

    /// Returns the scripted agent, as the first Forge froze it.
    fn scripted(scenario: Blob) -> Self {
        Self {
            name: registry::SCRIPTED.name().to_owned(),
            like: registry::SCRIPTED,
            command: Vec::new(),
            model: None,
            pass: Vec::new(),
            tier_models: BTreeMap::new(),
            scenario: Some(scenario),
            sessions: Sessions::Unknown,
        }
    }
}

/// Returns what an agent is asked for: what nobody wished and the tier says, and no more than its model can do.
fn asked_for(wish: Wish, tier: Option<&TierAgent>, agent: &FrozenAgent) -> Wish {
    if !agent.like.takes_effort() {
        return Wish { effort: None, thinking: None, ..wish };
    }
    let (effort, thinking) = tier.map_or((None, None), |tier| (tier.effort, tier.thinking));
    let effort = wish.effort.or(effort.map(|is| Because::new(is, WishReason::Tier)));
    let thinking = wish.thinking.or(thinking.map(|is| Because::new(is, WishReason::Tier)));
    let ability = agent.model.as_deref().and_then(|model| ModelList::shipped().ability(model));
    let Some(ability) = ability else { return Wish { effort, thinking, ..wish } };
    let effort = effort.map(|effort| clamped(effort, ability.effort(effort.is)));
    let level = effort.map(|effort| effort.is);
    let thinking = thinking.map(|mode| clamped(mode, ability.thinking(mode.is, level)));
    Wish { effort, thinking, ..wish }
}

fn clamped<T: Copy + PartialEq>(wished: Because<T>, is: T) -> Because<T> {
    let instead_of = (wished.is != is).then_some(wished.is);
    Because { is, instead_of, ..wished }
}

/// Returns the branch of those who froze none.
fn first_branch() -> String {
    "forge/{run}".to_owned()
}

/// Returns what holds for those who froze nothing of it.
fn handoff_threshold() -> u32 {
    Settings::default().limits.handoff_threshold.into()
}

fn minutes(minutes: impl Into<u64>) -> u64 {
    minutes.into() * 60_000
}

fn mebibytes(mebibytes: impl Into<u64>) -> u64 {
    mebibytes.into() * 1024 * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_forge_froze_can_still_be_read() {
        let old = r#"{"agent":"nobody","wall_ms":1,"silence_ms":2,"output_bytes":3}"#;
        let frozen: Frozen = serde_json::from_str(old).unwrap();
        assert_eq!((frozen.wall_ms, frozen.silence_ms, frozen.output_bytes), (1, 2, 3));
        assert_eq!(frozen.verify.from, VerifyFrom::Nothing);
        assert_eq!(frozen.verify.timeout_ms, 30 * 60_000);
        assert_eq!(frozen.claims, Claims::Warn);
        assert_eq!(frozen.branch_of("r1"), "forge/r1");
        assert!(frozen.setup.is_empty() && frozen.copy.is_empty() && frozen.cache.is_empty());
        // A later Forge may know more of the checks than this one.
        let later = old.replacen('{', r#"{"verify":{"commands":["x"],"new":1},"newer":2,"#, 1);
        let frozen: Frozen = serde_json::from_str(&later).unwrap();
        assert_eq!(frozen.verify.commands, ["x"]);
        // It gave its checks the whole environment.
        assert_eq!(frozen.verify.pass, PassedVariables::Everything);
    }

    #[test]
    fn what_is_frozen_is_read_back_as_it_was() {
        let frozen =
            Settings::default().freeze(AgentChoice::Scripted { scenario: Blob("b".to_owned()) });
        let text = serde_json::to_string(&frozen).unwrap();
        assert_eq!(serde_json::from_str::<Frozen>(&text).unwrap(), frozen);
        assert!(text.contains(r#""claims":"warn""#) && text.contains(r#""final":"pristine""#));
    }
}
