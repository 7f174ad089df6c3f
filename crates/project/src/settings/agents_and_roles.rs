//! Who plays which role: the tables of agents and roles, put together from all layers.
//!
//! Not here: how such a table is read (`sheet.rs`), what a run keeps of it (`frozen.rs`), and how
//! an agent is started.
//!
//! Invariant: in settings that were read, every agent that is named somewhere is there and can be
//! started: it is of a kind that Forge knows, or it has a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use forge_agents::{AgentKind, registry};
use serde::{Deserialize, Serialize};

use super::{
    Settings,
    glob::fits,
    keys::Key,
    layers::{Said, Sheet},
    named_tables::{AgentKey, RoleKey, TableKind, TableName},
    sources::LocalFile,
    values::Value,
};
use crate::{Error, suggest::nearest};

/// Agents that a later Forge will know.
pub const RESERVED: &[&str] = &["codex", "gemini", "opencode"];

/// An agent that is set up, or that needs no setting up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTable {
    /// What it is treated as.
    pub like: AgentKind,
    /// The program and its arguments, if they are not those of its kind. A program with a slash in
    /// it is absolute if a person set it, and relative to the agent's checkout if the repository
    /// did.
    pub command: Option<Vec<String>>,
    /// The model that it is asked to use.
    pub model: Option<String>,
    /// More variables of the environment that it gets.
    pub pass: Vec<String>,
}

/// What is said about one role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleTable {
    /// Who plays it, if not the agent of all roles.
    pub agent: Option<String>,
    /// The model, if not that of the agent.
    pub model: Option<String>,
}

/// What is known about secrets.
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

impl SecretsTable {
    /// Whether a change of this path, relative to the top of the checkout, may hold what looks
    /// like a secret.
    pub fn allows(&self, path: &str) -> bool {
        self.allow.iter().any(|pattern| fits(pattern, path))
    }

    /// Whether nobody said anything.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.allow.is_empty()
    }
}

/// What a table is like that does not say it.
fn kind_by_name(name: &str) -> AgentKind {
    AgentKind::find(name).unwrap_or(registry::PROGRAM)
}

/// Who says what about tables: all layers, and what is to be known about them.
#[derive(Clone, Copy)]
pub(super) struct Tables<'a> {
    pub(super) sheet: &'a Sheet,
    pub(super) local_is: LocalFile,
    pub(super) top: Option<&'a Path>,
}

impl Tables<'_> {
    /// All agents: those that are set up, and those that need no setting up.
    pub(super) fn agents(&self) -> BTreeMap<String, AgentTable> {
        let nothing = |name: &str| {
            let like = kind_by_name(name);
            AgentTable { like, command: None, model: None, pass: Vec::new() }
        };
        let mut agents: BTreeMap<String, AgentTable> = registry::ready_to_use()
            .map(|kind| (kind.name().to_owned(), nothing(kind.name())))
            .collect();
        for name in self.sheet.tables(TableKind::Agents) {
            let winner = |key: AgentKey| self.sheet.winner(Key::OfAgent(name, key));
            let like = match winner(AgentKey::Like).map(text) {
                None => kind_by_name(name.as_str()),
                Some(like) => AgentKind::find(like).expect("the word is one of `LIKES`"),
            };
            let table = AgentTable {
                like,
                command: winner(AgentKey::Command).map(|said| self.command(said)),
                model: winner(AgentKey::Model).map(|said| text(said).to_owned()),
                pass: winner(AgentKey::Pass).map(|said| list(said).to_vec()).unwrap_or_default(),
            };
            agents.insert(name.as_str().to_owned(), table);
        }
        agents
    }

    /// What is said about roles.
    pub(super) fn roles(&self) -> BTreeMap<String, RoleTable> {
        let role = |name: TableName| {
            let winner = |key: RoleKey| self.sheet.winner(Key::OfRole(name, key));
            let word = |key: RoleKey| winner(key).map(|said| text(said).to_owned());
            RoleTable { agent: word(RoleKey::Agent), model: word(RoleKey::Model) }
        };
        let names = self.sheet.tables(TableKind::Roles);
        names.into_iter().map(|name| (name.as_str().to_owned(), role(name))).collect()
    }

    /// A person's relative path is meant from where the person works. What the repository says is
    /// looked for in the agent's own checkout.
    fn command(&self, said: &Said) -> Vec<String> {
        let mut words = list(said).to_vec();
        if !said.layer.is_the_repositorys(self.local_is)
            && let Some(program) = words.first_mut()
            && is_relative(program)
            && let Some(top) = self.top
        {
            let whole: PathBuf = top.join(&*program).components().collect();
            *program = whole.to_string_lossy().into_owned();
        }
        words
    }
}

/// Whether a program is a path from somewhere, and not a name that is looked for.
fn is_relative(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

impl Settings {
    /// From now on this agent plays the roles about which `roles` says nothing.
    pub fn play(&mut self, agent: &str) -> Result<(), Error> {
        self.refuse_nobody(agent, "--agent")?;
        self.agent = Some(agent.to_owned());
        Ok(())
    }

    /// Who plays a role, by name. Nobody, if nobody is set.
    pub fn agent_for(&self, role: &str) -> Option<&str> {
        let own = self.roles.get(role).and_then(|role| role.agent.as_deref());
        own.or(self.agent.as_deref())
    }

    /// What a person should know about tables of roles that a flow does not have, in whole
    /// sentences.
    pub fn notes_on_roles(&self, of_the_flow: &[&str]) -> Vec<String> {
        let mut notes = Vec::new();
        for name in self.sheet.tables(TableKind::Roles) {
            if of_the_flow.contains(&name.as_str()) {
                continue;
            }
            let keys = Key::of_table(TableKind::Roles, name);
            let place =
                keys.into_iter().find_map(|key| self.sheet.winner(key)).map(|said| &said.place);
            // Another flow may have it.
            let Some(near) = nearest(name.as_str(), of_the_flow.iter().copied()) else { continue };
            let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
            notes.push(format!(
                "roles.{}{place} is set, and no stage of this flow has that role; did you mean `{near}`?",
                name.as_str()
            ));
        }
        notes
    }

    /// What names an agent: the agent of all roles, and those of single roles.
    fn casting(&self) -> impl Iterator<Item = &Said> {
        let of_role = |name| Key::OfRole(name, RoleKey::Agent);
        let roles = self.sheet.tables(TableKind::Roles).into_iter().map(of_role);
        [Key::Agent].into_iter().chain(roles).filter_map(|key| self.sheet.winner(key))
    }

    /// Whoever is named must be there, and it must be known how to start them.
    pub(super) fn refuse_nobodies(&self) -> Result<(), Error> {
        self.casting().try_for_each(|said| self.refuse_nobody(text(said), &said.place.beginning()))
    }

    /// The same for one, who was named at this place.
    fn refuse_nobody(&self, name: &str, place: &str) -> Result<(), Error> {
        let Some(table) = self.agents.get(name) else {
            if RESERVED.contains(&name) {
                return Err(Error::usage(
                    format!("{place}: this Forge does not know the agent `{name}` yet"),
                    format!("`[agents.{name}] command = [\"…\"]` makes it any program"),
                ));
            }
            let near = nearest(name, self.agents.keys().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(Error::usage(
                format!("{place}: there is no agent `{name}`{near}"),
                format!(
                    "name one that is there, or set it up: `[agents.{name}] command = [\"…\"]`"
                ),
            ));
        };
        match &table.command {
            Some(command) => self.refuse_nowhere(name, command),
            None if table.like.needs_no_command() => Ok(()),
            None => Err(Error::usage(
                format!("{place}: the agent `{name}` has no command"),
                format!("set it up: `[agents.{name}] command = [\"…\"]`"),
            )),
        }
    }

    /// A person's relative path without a place from which it was meant is refused: in the agent's
    /// checkout it would be a program of the repository, about which nobody was asked.
    fn refuse_nowhere(&self, name: &str, command: &[String]) -> Result<(), Error> {
        let said = TableName::of(TableKind::Agents, name)
            .and_then(|name| self.sheet.winner(Key::OfAgent(name, AgentKey::Command)))
            .filter(|said| !said.layer.is_the_repositorys(self.local_is));
        match said {
            Some(said) if command.first().is_some_and(|program| is_relative(program)) => {
                let place = said.place.beginning();
                let what = format!(
                    "{place}: agents.{name}.command is a relative path, and there is no checkout from which it leads anywhere"
                );
                Err(Error::usage(what, "write the whole path"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The agents of these roles that the repository starts on this machine, or to which it hands
    /// something of the person's environment: each as one line that a person can read.
    pub(super) fn agents_of_repository(&self, roles: &[&str]) -> Vec<String> {
        let named: BTreeSet<&str> = roles.iter().filter_map(|role| self.agent_for(role)).collect();
        named.into_iter().filter_map(|name| self.agent_of_repository(name)).collect()
    }

    /// The same for one agent, whether or not it plays. Nothing, if it is the person's own.
    pub fn agent_of_repository(&self, name: &str) -> Option<String> {
        let table = TableName::of(TableKind::Agents, name)?;
        let is_theirs =
            [AgentKey::Like, AgentKey::Command, AgentKey::Pass].into_iter().any(|key| {
                let winner = self.sheet.winner(Key::OfAgent(table, key));
                winner.is_some_and(|said| said.layer.is_the_repositorys(self.local_is))
            });
        is_theirs.then(|| shown(name, &self.agents[name]))
    }
}

/// An agent as one line: what is started, and what it gets of the person's.
fn shown(name: &str, table: &AgentTable) -> String {
    let default: Vec<String> =
        table.like.default_command().map(str::to_owned).into_iter().collect();
    let words = line(table.command.as_ref().unwrap_or(&default));
    let keys = table.like.passed_keys().map(str::to_owned);
    let gets: Vec<String> =
        keys.into_iter().chain(table.pass.iter().map(|name| format!("${name}"))).collect();
    let gets =
        if gets.is_empty() { String::new() } else { format!(", which gets {}", gets.join(", ")) };
    format!("{words}  # the agent {name}{gets}")
}

/// A program and its arguments as one line.
pub(super) fn line(words: &[String]) -> String {
    words.iter().map(|word| for_shell(word)).collect::<Vec<String>>().join(" ")
}

/// A word as one would write it in a shell, so that no two commands look the same.
fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn text(said: &Said) -> &str {
    match &said.value {
        Value::Text(text) => text,
        Value::Count(_) | Value::List(_) => unreachable!("{said:?} was read as a text"),
    }
}

fn list(said: &Said) -> &[String] {
    match &said.value {
        Value::List(list) => list,
        Value::Text(_) | Value::Count(_) => unreachable!("{said:?} was read as a list"),
    }
}

#[cfg(test)]
mod tests;
