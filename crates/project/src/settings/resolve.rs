//! The settings that count: the winners of all layers as one tree, and the agents that they come to.
//!
//! Not here: what each layer says (`layers.rs`), and what a run keeps (`snapshot.rs`).
//!
//! Invariant: in settings that were read, every agent that is named somewhere is there and can be
//! started: it is of a kind that Forge knows, or it has a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
};

use forge_agents::{AgentKind, models::ModelList, registry};
use forge_core::routing::{Hints, Routing, Tier};

use super::{
    keys::SettingKey,
    layers::{Layer, LayeredSettings, SaidRow},
    sources::{LOCAL_FILE, LocalFile, Sources},
    types::{AgentKeys, AgentTable, FlowModels, Reviewer, SettingValues},
    values::{AgentName, ModelName, to_strings},
};
use crate::{Error, suggest::nearest};

/// The values that count, which can be read as fields, and the layers that they come from.
#[derive(Clone, Debug)]
pub struct Settings {
    values: SettingValues,
    /// All agents, by name: those that are set up, and those that need no setting up.
    pub agents: BTreeMap<String, AgentTable>,
    /// The person's own agents that are here, among which one of another vendor is looked for. The caller fills it in.
    pub usable: Vec<String>,
    /// The agents that are to take over and are not here, which no run is frozen with. The caller fills it in.
    pub absent: Vec<String>,
    pub(super) layers: LayeredSettings,
    pub(super) local_is: LocalFile,
    pub(super) flow_models: FlowModels,
}

impl Deref for Settings {
    type Target = SettingValues;

    fn deref(&self) -> &SettingValues {
        &self.values
    }
}

impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut SettingValues {
        &mut self.values
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::from_layers(LayeredSettings::shipped(), &Sources::default())
    }
}

impl Settings {
    /// Returns true if nobody set this key.
    pub fn is_shipped(&self, key: &str) -> bool {
        self.layers.winner(key).is_none_or(|winner| winner.layer == Layer::Shipped)
    }

    /// Reads all layers.
    pub fn from_sources(sources: &Sources) -> Result<Self, Error> {
        let settings = Self::from_layers(LayeredSettings::from_sources(sources)?, sources);
        settings.check_personal()?;
        settings.check_agents().map(|()| settings)
    }

    /// Refuses what only a person may say and a repository says.
    fn check_personal(&self) -> Result<(), Error> {
        let paths = self.layers.paths().filter(|path| is_personal(path));
        let winners = paths.filter_map(|path| Some((path, self.layers.winner(path)?)));
        for (path, winner) in winners {
            if winner.layer.is_of_repository(self.local_is) {
                return Err(Error::usage(
                    format!(
                        "{}: {path} is a personal setting, not one of a repository",
                        winner.to_beginning()
                    ),
                    format!("remove it there, and put it into {LOCAL_FILE}"),
                ));
            }
        }
        Ok(())
    }

    /// Reads all layers of a checkout, with `forge.toml` as it is there.
    pub fn read(top: Option<&Path>) -> Result<Self, Error> {
        Self::from_sources(&Sources::read(top)?)
    }

    fn from_layers(layers: LayeredSettings, sources: &Sources) -> Self {
        let values = layers.tree();
        let mut settings = Self {
            values,
            agents: BTreeMap::new(),
            usable: Vec::new(),
            absent: Vec::new(),
            layers,
            local_is: sources.local_is,
            flow_models: FlowModels::Used,
        };
        let own = AgentKeys::default();
        let known = registry::ready_to_use().map(|kind| (kind.name(), &own));
        let named = settings.agent_tables.named.iter().map(|(name, keys)| (&**name, keys));
        let agents: BTreeMap<&str, &AgentKeys> = known.chain(named).collect();
        let table = |(name, keys): (&str, &AgentKeys)| {
            (name.to_owned(), settings.agent_table(name, keys, sources))
        };
        settings.agents = agents.into_iter().map(table).collect();
        settings
    }

    fn agent_table(&self, name: &str, keys: &AgentKeys, sources: &Sources) -> AgentTable {
        let top = sources.top.as_deref();
        let own = || AgentKind::find(name).filter(|kind| *kind != registry::ACP);
        let (like, key, words) = if keys.acp.is_some() {
            (registry::ACP, "acp", keys.acp.as_ref())
        } else {
            let like = keys.like.or_else(own).unwrap_or(registry::PROGRAM);
            (like, "command", keys.command.as_ref())
        };
        let value = |name: &str| {
            let mut set = sources.models.iter();
            set.find(|(set, _)| set == name).map(|(_, value)| value.clone())
        };
        let known = ModelList::shipped().of_agent(like.name());
        AgentTable {
            like,
            tier_models: known.map(|known| known.models(value)).unwrap_or_default(),
            command: words.map(|words| self.command(name, key, words.to_vec(), top)),
            model: keys.model.clone().map(String::from),
            pass: to_strings(keys.pass.as_deref().unwrap_or_default()),
        }
    }

    /// Makes a person's relative program absolute: it is meant from where the person works. What the repository
    /// names is looked for in the agent's own checkout.
    fn command(
        &self,
        name: &str,
        key: &str,
        mut words: Vec<String>,
        top: Option<&Path>,
    ) -> Vec<String> {
        if self.command_of_person(name, key).is_some()
            && let Some(program) = words.first_mut()
            && is_relative(program)
            && let Some(top) = top
        {
            let whole: PathBuf = top.join(&*program).components().collect();
            *program = whole.to_string_lossy().into_owned();
        }
        words
    }

    /// Returns the origin of an agent's command, if a person set it and not the repository.
    fn command_of_person(&self, name: &str, key: &str) -> Option<String> {
        let winner = self.layers.winner(&format!("agents.{name}.{key}"))?;
        let is_of_repository = winner.layer.is_of_repository(self.local_is);
        (!is_of_repository).then(|| winner.to_beginning())
    }

    /// Sets the agent that plays the roles about which `roles` says nothing.
    pub fn play(&mut self, agent: &str) -> Result<(), Error> {
        self.check_agent(agent, "--agent")?;
        self.agent = AgentName::try_from(agent.to_owned()).ok();
        Ok(())
    }

    /// Lets all agents use one model, whatever else is set.
    pub fn use_model(&mut self, model: &str) -> Result<(), Error> {
        ModelName::try_from(model.to_owned()).map_err(|why| {
            Error::usage(format!("--model {model}: {why}"), "forge run --model MODEL REQUEST")
        })?;
        self.agents.values_mut().for_each(|agent| agent.model = Some(model.to_owned()));
        self.roles.values_mut().for_each(|role| role.model = None);
        self.tiers.tables_mut().into_iter().for_each(|tier| tier.model = None);
        self.flow_models = FlowModels::Overridden;
        Ok(())
    }

    /// Lets no role and no tier have an agent of its own, and nobody take over.
    pub fn forget_casting(&mut self) {
        (self.review, self.fallback_agents) = (Reviewer::AsSet, Vec::new());
        self.roles.values_mut().for_each(|role| (role.agent, role.model) = (None, None));
        self.tiers.tables_mut().into_iter().for_each(|tier| {
            (tier.agent, tier.model) = (None, None);
        });
    }

    /// Sets the scripted agent as the one that plays the roles about which `roles` says nothing.
    pub fn play_scripted(&mut self) {
        self.agent = AgentName::try_from(registry::SCRIPTED.name().to_owned()).ok();
    }

    /// Returns the file that the scripted agent plays from, relative to the top of the checkout.
    pub fn scenario(&self) -> Option<&str> {
        self.agent_tables.scripted.scenario.as_deref()
    }

    /// Returns the name of the agent that plays a role, if one is set.
    pub fn agent_for(&self, role: &str) -> Option<&str> {
        let own = self.roles.get(role).and_then(|role| role.agent.as_deref());
        own.or(self.agent.as_deref())
    }

    /// Returns the names of all agents that may play one of these roles, whatever its tier, or take over from one that
    /// does, here or on another machine.
    pub fn cast(&self, roles: &[&str]) -> BTreeSet<&str> {
        let mut cast = self.players(roles);
        if !roles.is_empty() {
            cast.extend(self.fallback_agents.iter().map(|name| &**name));
        }
        cast
    }

    /// Returns the names of all agents that may play one of these roles, whatever its tier, while no limit is in the way.
    pub fn players(&self, roles: &[&str]) -> BTreeSet<&str> {
        let of_role = |role: &str| self.roles.get(role).and_then(|role| role.agent.as_deref());
        let mut cast: BTreeSet<&str> =
            roles.iter().filter_map(|role| self.agent_for(role)).collect();
        if roles.iter().any(|role| of_role(role).is_none()) {
            let tiers = Tier::ALL.iter().filter_map(|tier| self.tiers.get(*tier).agent.as_deref());
            cast.extend(tiers);
        }
        cast
    }

    /// Returns what decides on the tiers of a run whose roles say this.
    pub fn routing(&self, run: Option<Tier>, roles: BTreeMap<String, Hints>) -> Routing {
        let set = roles
            .keys()
            .filter_map(|name| Some((name.clone(), self.roles.get(name.as_str())?.hints())));
        let settings = set.filter(|(_, hints)| *hints != Hints::default()).collect();
        let roles = roles.into_iter().filter(|(_, hints)| *hints != Hints::default()).collect();
        Routing { run, settings, roles }
    }

    /// Refuses names of agents that are not there or cannot be started, and tables that say it in two ways.
    fn check_agents(&self) -> Result<(), Error> {
        for (name, keys) in &self.agent_tables.named {
            let other = [("command", keys.command.is_some()), ("like", keys.like.is_some())];
            let other = other.into_iter().find(|(_, is_set)| *is_set && keys.acp.is_some());
            let path = format!("agents.{}.acp", &**name);
            if let (Some((other, _)), Some(winner)) = (other, self.layers.winner(&path)) {
                let place = winner.to_beginning();
                return Err(Error::usage(
                    format!("{place}: `{path}` and `agents.{}.{other}` are both set", &**name),
                    "remove one of them",
                ));
            }
        }
        let roles =
            self.roles.iter().map(|(name, role)| (format!("roles.{}.agent", &**name), &role.agent));
        let tiers = Tier::ALL
            .iter()
            .map(|tier| (format!("tiers.{}.agent", tier.as_str()), &self.tiers.get(*tier).agent));
        let one = [("agent".to_owned(), &self.agent)].into_iter();
        let accounts = self
            .accounts
            .iter()
            .map(|(name, account)| (format!("accounts.{}.agent", &**name), &account.agent));
        for (path, agent) in one.chain(roles).chain(tiers).chain(accounts) {
            if let (Some(agent), Some(winner)) = (agent, self.layers.winner(&path)) {
                self.check_agent(agent, &winner.to_beginning())?;
            }
        }
        if let Some(winner) = self.layers.winner("fallback_agents") {
            let place = winner.to_beginning();
            self.fallback_agents.iter().try_for_each(|agent| self.check_agent(agent, &place))?;
        }
        self.check_accounts()
    }

    /// Refuses accounts of which nothing says whose they are.
    fn check_accounts(&self) -> Result<(), Error> {
        let nobodys = self.accounts.iter().find(|(_, account)| account.agent.is_none());
        let Some((name, account)) = nobodys else { return Ok(()) };
        let key = if account.env.is_empty() { "expires" } else { "env" };
        let winner = self.layers.winner(&format!("accounts.{}.{key}", &**name));
        let place = winner.map(SaidRow::to_beginning).unwrap_or_default();
        Err(Error::usage(
            format!("{place}: the account `{}` has no agent", &**name),
            format!("forge config set accounts.{}.agent AGENT --user", &**name),
        ))
    }

    /// Does the same for one agent that was named at this place.
    pub(super) fn check_agent(&self, name: &str, place: &str) -> Result<(), Error> {
        let Some(table) = self.agents.get(name) else {
            let near = nearest(name, self.agents.keys().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(Error::usage(
                format!("{place}: unknown agent `{name}`{near}"),
                "forge agents",
            ));
        };
        match &table.command {
            Some(command) => self.check_program(name, table.program_key(), command),
            None if table.like.needs_no_command() => Ok(()),
            None => Err(Error::usage(
                format!("{place}: the agent `{name}` has no command"),
                format!("forge config set agents.{name}.command '[\"PROGRAM\"]'"),
            )),
        }
    }

    /// Refuses a key of an agent that nothing starts and whose name is nearly that of another one.
    pub(super) fn refuse_misspelt_agent(&self, key: &SettingKey) -> Result<(), Error> {
        let ["agents", name, word] = key.path.split('.').collect::<Vec<&str>>()[..] else {
            return Ok(());
        };
        let starts = |name: &str| {
            let table = self.agents.get(name);
            table.is_some_and(|table| table.command.is_some() || table.like.needs_no_command())
        };
        let others = self.agents.keys().map(String::as_str).filter(|name| starts(name));
        match nearest(name, others) {
            Some(near) if !starts(name) => Err(Error::usage(
                format!("unknown agent `{name}`; did you mean `{near}`?"),
                format!(
                    "forge config set agents.{near}.{word} VALUE\n   or, for a new one: forge config set \
                     agents.{name}.like {near}"
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses a person's relative program without a checkout from which it was meant: in the agent's
    /// checkout it would be a program of the repository, which nobody approved.
    fn check_program(&self, name: &str, key: &str, command: &[String]) -> Result<(), Error> {
        match self.command_of_person(name, key) {
            Some(place) if command.first().is_some_and(|program| is_relative(program)) => {
                let what = format!(
                    "{place}: agents.{name}.{key} is a relative path, but there is no checkout \
                     that it could be relative to"
                );
                Err(Error::usage(what, "use an absolute path"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns true if only a person may set a key.
pub(super) fn is_personal(path: &str) -> bool {
    let tables = ["accounts.", "hosts.", "push."];
    let keys = ["workspace.root", "pull_request.open", "pull_request.comment"];
    keys.contains(&path) || tables.iter().any(|table| path.starts_with(table))
}

/// Returns true if a program is a path from somewhere, and not a name that is looked for.
fn is_relative(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}
