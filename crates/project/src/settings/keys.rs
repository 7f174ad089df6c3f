//! Every key of the settings: its name, what it is for, what it may be, and what Forge ships.
//!
//! This table and the keys of `table.rs`, which lie in tables that a person names, are the only
//! places that know all keys. Reading, `forge config`, the names of variables and the schema for
//! editors all follow from them. What a value looks like once it is read is in `value.rs`.
//!
//! Invariant: no key is the beginning of another one with a dot behind it, so that every path is
//! either a table or a value.

use std::borrow::Cow;

use super::{
    named_tables::{AgentKey, RoleKey, TableKind, TableName},
    values::{Kind, Value},
};
use crate::suggest::nearest;

/// More calls than this are never under way at the same time.
const AT_ONCE_MAX: u64 = 256;
/// A day. Nobody waits longer for one call.
const MINUTES_MAX: u64 = 24 * 60;
const OUTPUT_MIB_MAX: u64 = 4096;

/// What becomes of two runs that want to write the same paths.
pub(super) const CLAIMS: &[&str] = &["warn", "defer", "block"];
/// Something that is done or not. In a file `true` and `false` say the same.
pub(super) const SWITCH: &[&str] = &["on", "off"];
/// In what kind of checkout the last verification runs.
pub(super) const FINALS: &[&str] = &["pristine", "cached"];
/// What the last commit of a run keeps of it.
pub(super) const RECORDS: &[&str] = &["all", "summary", "none"];

/// A key of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `agent`
    Agent,
    /// `flow`
    Flow,
    /// `coherence`
    Coherence,
    /// `limits.at_once`
    AtOnce,
    /// `limits.budget`
    Budget,
    /// `limits.call_budget`
    CallBudget,
    /// `limits.wall_minutes`
    WallMinutes,
    /// `limits.silence_minutes`
    SilenceMinutes,
    /// `limits.output_mib`
    OutputMib,
    /// `agents.scripted.scenario`
    Scenario,
    /// `agents.NAME.…`
    OfAgent(TableName, AgentKey),
    /// `roles.NAME.…`
    OfRole(TableName, RoleKey),
    /// `secrets.files`
    SecretFiles,
    /// `secrets.allow`
    SecretsAllowed,
    /// `workspace.setup`
    Setup,
    /// `workspace.setup_inputs`
    SetupInputs,
    /// `workspace.copy`
    Copy,
    /// `workspace.cache`
    Cache,
    /// `workspace.claims`
    Claims,
    /// `workspace.root`
    Root,
    /// `verify.commands`
    VerifyCommands,
    /// `verify.timeout_minutes`
    VerifyTimeoutMinutes,
    /// `verify.output_mib`
    VerifyOutputMib,
    /// `verify.final`
    VerifyFinal,
    /// `land.branch`
    Branch,
    /// `land.record`
    Record,
    /// `effort.story_points`
    StoryPoints,
    /// `notify.command`
    NotifyCommand,
    /// `notify.webhook`
    NotifyWebhook,
    /// `notify.bell`
    NotifyBell,
    /// `notify.desktop`
    NotifyDesktop,
}

/// What Forge ships for a key.
enum Shipped {
    Nothing,
    Text(&'static str),
    Count(u64),
    EmptyList,
}

/// One row of the table.
struct Row {
    /// The whole path, or the last word of it in a table that a person named.
    name: &'static str,
    about: &'static str,
    kind: Kind,
    shipped: Shipped,
}

impl Key {
    /// All keys that are not of a table with a name, in the order in which they are shown.
    pub const ALL: [Self; 29] = [
        Self::Agent,
        Self::Flow,
        Self::Coherence,
        Self::AtOnce,
        Self::Budget,
        Self::CallBudget,
        Self::WallMinutes,
        Self::SilenceMinutes,
        Self::OutputMib,
        Self::Scenario,
        Self::SecretFiles,
        Self::SecretsAllowed,
        Self::Setup,
        Self::SetupInputs,
        Self::Copy,
        Self::Cache,
        Self::Claims,
        Self::Root,
        Self::VerifyCommands,
        Self::VerifyTimeoutMinutes,
        Self::VerifyOutputMib,
        Self::VerifyFinal,
        Self::Branch,
        Self::Record,
        Self::StoryPoints,
        Self::NotifyCommand,
        Self::NotifyWebhook,
        Self::NotifyBell,
        Self::NotifyDesktop,
    ];

    /// The table.
    #[expect(clippy::too_many_lines, reason = "one row for each key")]
    fn row(self) -> Row {
        const fn row(name: &'static str, about: &'static str, kind: Kind, shipped: Shipped) -> Row {
            Row { name, about, kind, shipped }
        }
        const MINUTES: Kind = Kind::Count { most: MINUTES_MAX };
        const MIB: Kind = Kind::Count { most: OUTPUT_MIB_MAX };
        match self {
            Self::Agent => row("agent", "who plays the roles", Kind::Agent, Shipped::Nothing),
            Self::Flow => row(
                "flow",
                "the flow of a run that names none",
                Kind::Name,
                Shipped::Text("feature"),
            ),
            Self::Coherence => row(
                "coherence",
                "whether an agent looks at a request before its run begins",
                Kind::Word(SWITCH),
                Shipped::Text("on"),
            ),
            Self::AtOnce => row(
                "limits.at_once",
                "calls under way at the same time",
                Kind::Count { most: AT_ONCE_MAX },
                Shipped::Count(8),
            ),
            Self::Budget => {
                row("limits.budget", "dollars for a whole run", Kind::Amount, Shipped::Nothing)
            }
            Self::CallBudget => {
                row("limits.call_budget", "dollars for one call", Kind::Amount, Shipped::Nothing)
            }
            Self::WallMinutes => row(
                "limits.wall_minutes",
                "how long one call may take",
                MINUTES,
                Shipped::Count(45),
            ),
            Self::SilenceMinutes => row(
                "limits.silence_minutes",
                "how long one call may say nothing",
                MINUTES,
                Shipped::Count(15),
            ),
            Self::OutputMib => {
                row("limits.output_mib", "how much one call may print", MIB, Shipped::Count(64))
            }
            Self::Scenario => row(
                "agents.scripted.scenario",
                "what the scripted agent plays from",
                Kind::File,
                Shipped::Nothing,
            ),
            Self::OfAgent(_, key) => row(key.word(), key.about(), key.kind(), Shipped::Nothing),
            Self::OfRole(_, key) => row(key.word(), key.about(), key.kind(), Shipped::Nothing),
            Self::SecretFiles => row(
                "secrets.files",
                "files whose values are secrets, as lines of NAME=VALUE",
                Kind::Paths,
                Shipped::EmptyList,
            ),
            Self::SecretsAllowed => row(
                "secrets.allow",
                "paths in which a change may hold what looks like a secret",
                Kind::Patterns,
                Shipped::EmptyList,
            ),
            Self::Setup => row(
                "workspace.setup",
                "commands that make a new checkout ready",
                Kind::Commands,
                Shipped::EmptyList,
            ),
            Self::SetupInputs => row(
                "workspace.setup_inputs",
                "files whose change makes setup run again",
                Kind::Paths,
                Shipped::EmptyList,
            ),
            Self::Copy => row(
                "workspace.copy",
                "files outside git that a new checkout gets",
                Kind::Paths,
                Shipped::EmptyList,
            ),
            Self::Cache => row(
                "workspace.cache",
                "folders that checkouts keep between calls",
                Kind::Paths,
                Shipped::EmptyList,
            ),
            Self::Claims => row(
                "workspace.claims",
                "what happens if two runs write the same paths",
                Kind::Word(CLAIMS),
                Shipped::Text("warn"),
            ),
            Self::Root => row(
                "workspace.root",
                "where checkouts lie; only in forge.local.toml or your own settings",
                Kind::File,
                Shipped::Nothing,
            ),
            Self::VerifyCommands => row(
                "verify.commands",
                "the project's checks; [] means that there are none",
                Kind::Commands,
                Shipped::Nothing,
            ),
            Self::VerifyTimeoutMinutes => row(
                "verify.timeout_minutes",
                "how long one check may take",
                MINUTES,
                Shipped::Count(30),
            ),
            Self::VerifyOutputMib => {
                row("verify.output_mib", "how much one check may print", MIB, Shipped::Count(16))
            }
            Self::VerifyFinal => row(
                "verify.final",
                "the last checkout that is verified: new, or with its caches",
                Kind::Word(FINALS),
                Shipped::Text("pristine"),
            ),
            Self::Branch => row(
                "land.branch",
                "the run's branch; {run} is its id",
                Kind::Branch,
                Shipped::Text("forge/{run}"),
            ),
            Self::Record => row(
                "land.record",
                "what the last commit of a run keeps of it in .forge/runs",
                Kind::Word(RECORDS),
                Shipped::Text("all"),
            ),
            Self::StoryPoints => row(
                "effort.story_points",
                "the field of an issue that holds its story points",
                Kind::Name,
                Shipped::Text("customfield_10016"),
            ),
            Self::NotifyCommand => row(
                "notify.command",
                "a program that is told of stops, questions and the end",
                Kind::Program,
                Shipped::Nothing,
            ),
            Self::NotifyWebhook => row(
                "notify.webhook",
                "an address that is told of stops, questions and the end",
                Kind::Url,
                Shipped::Nothing,
            ),
            Self::NotifyBell => row(
                "notify.bell",
                "whether the terminal rings at stops, questions and the end",
                Kind::Word(SWITCH),
                Shipped::Text("on"),
            ),
            Self::NotifyDesktop => row(
                "notify.desktop",
                "whether the desktop shows stops, questions and the end",
                Kind::Word(SWITCH),
                Shipped::Text("off"),
            ),
        }
    }

    /// Its path, with dots.
    pub fn name(self) -> Cow<'static, str> {
        let name = self.row().name;
        match self.table() {
            Some((kind, table)) => format!("{}.{}.{name}", kind.word(), table.as_str()).into(),
            None => name.into(),
        }
    }

    /// What it is for.
    pub fn about(self) -> &'static str {
        self.row().about
    }

    /// What it may be.
    pub(super) fn kind(self) -> Kind {
        self.row().kind
    }

    /// What Forge ships.
    pub(super) fn shipped(self) -> Option<Value> {
        match self.row().shipped {
            Shipped::Nothing => None,
            Shipped::Text(text) => Some(Value::Text(text.to_owned())),
            Shipped::Count(count) => Some(Value::Count(count)),
            Shipped::EmptyList => Some(Value::List(Vec::new())),
        }
    }

    /// The variable that sets it: `FORGE_LIMITS_BUDGET`.
    pub fn variable(self) -> String {
        format!("FORGE_{}", self.name().to_ascii_uppercase().replace(['.', '-'], "_"))
    }

    /// The key of a path.
    pub fn find(name: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|key| key.name() == name);
        known.or_else(|| Self::find_in_table(name))
    }

    fn find_in_table(name: &str) -> Option<Self> {
        let (kind, rest) = name.split_once('.')?;
        let (table, word) = rest.split_once('.')?;
        let kind = TableKind::find(kind)?;
        let table = TableName::of(kind, table)?;
        Self::of_table(kind, table).into_iter().find(|key| key.row().name == word)
    }

    /// The keys of one table.
    pub(super) fn of_table(kind: TableKind, name: TableName) -> Vec<Self> {
        match kind {
            TableKind::Agents => AgentKey::ALL.map(|key| Self::OfAgent(name, key)).to_vec(),
            TableKind::Roles => RoleKey::ALL.map(|key| Self::OfRole(name, key)).to_vec(),
        }
    }

    /// The table that it is in, if a person named that.
    pub(super) fn table(self) -> Option<(TableKind, TableName)> {
        match self {
            Self::OfAgent(name, _) => Some((TableKind::Agents, name)),
            Self::OfRole(name, _) => Some((TableKind::Roles, name)),
            Self::Agent
            | Self::Flow
            | Self::Coherence
            | Self::AtOnce
            | Self::Budget
            | Self::CallBudget
            | Self::WallMinutes
            | Self::SilenceMinutes
            | Self::OutputMib
            | Self::Scenario
            | Self::SecretFiles
            | Self::SecretsAllowed
            | Self::Setup
            | Self::SetupInputs
            | Self::Copy
            | Self::Cache
            | Self::Claims
            | Self::Root
            | Self::VerifyCommands
            | Self::VerifyTimeoutMinutes
            | Self::VerifyOutputMib
            | Self::VerifyFinal
            | Self::Branch
            | Self::Record
            | Self::StoryPoints
            | Self::NotifyCommand
            | Self::NotifyWebhook
            | Self::NotifyBell
            | Self::NotifyDesktop => None,
        }
    }

    /// Whether a path is a table of keys.
    pub(super) fn is_table(name: &str) -> bool {
        let is_named = || {
            let (kind, table) = name.split_once('.')?;
            TableName::of(TableKind::find(kind)?, table)
        };
        let holds = |key: Self| key.row().name.strip_prefix(name)?.strip_prefix('.');
        TableKind::find(name).is_some()
            || is_named().is_some()
            || Self::ALL.into_iter().any(|key| holds(key).is_some())
    }

    /// What somebody may have meant with a path below a table that has no such key: a key or
    /// table beside it, or the whole path of a key that has this name elsewhere.
    pub(super) fn meant(table: &str, word: &str) -> Option<&'static str> {
        if let Some(kind) = table.split_once('.').and_then(|(kind, _)| TableKind::find(kind))
            && Self::is_table(table)
            && let Some(near) = nearest(word, kind.keys().into_iter())
            && table != "agents.scripted"
        {
            return Some(near);
        }
        let inside = |key: Self| {
            let name = key.row().name;
            let rest = if table.is_empty() {
                Some(name)
            } else {
                name.strip_prefix(table).and_then(|rest| rest.strip_prefix('.'))
            };
            rest.and_then(|rest| rest.split('.').next())
        };
        // Whoever names a table means it, if it has such a key.
        let in_table = nearest(word, Self::ALL.into_iter().filter_map(inside));
        if let (false, Some(near)) = (table.is_empty(), in_table) {
            return Some(near);
        }
        let last = |key: &Self| key.row().name.rsplit('.').next() == Some(word);
        if let Some(key) = Self::ALL.into_iter().find(last) {
            return Some(key.row().name);
        }
        let tables = TableKind::ALL.into_iter().map(TableKind::word);
        let tables = tables.filter(|_| table.is_empty());
        nearest(word, Self::ALL.into_iter().filter_map(inside).chain(tables))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_by_its_name_and_no_two_share_a_name_or_a_variable() {
        let mut variables: Vec<String> = Key::ALL.into_iter().map(Key::variable).collect();
        variables.sort();
        variables.dedup();
        assert_eq!(variables.len(), Key::ALL.len());
        for key in Key::ALL {
            assert_eq!(Key::find(&key.name()), Some(key));
            assert!(!Key::is_table(&key.name()), "{key:?} is a value, and cannot be a table, too");
        }
        assert!(Key::is_table("limits") && Key::is_table("agents.scripted"));
        assert!(!Key::is_table("limit") && !Key::is_table(""));
    }

    #[test]
    fn the_table_is_in_the_order_of_the_variants() {
        assert!(Key::ALL.is_sorted());
    }

    #[test]
    fn a_key_in_the_wrong_table_is_found_in_the_right_one() {
        assert_eq!(Key::meant("", "budget"), Some("limits.budget"));
        assert_eq!(Key::meant("limits", "budgt"), Some("budget"));
        assert_eq!(Key::meant("", "limts"), Some("limits"));
        assert_eq!(Key::meant("agents", "scipted"), Some("scripted"));
        assert_eq!(Key::meant("", "zzzzzzzzzzzz"), None);
    }

    #[test]
    fn what_is_shipped_is_what_a_person_could_have_written() {
        for key in Key::ALL {
            if let Some(value) = key.shipped() {
                let read = super::super::values::from_words(key, &value.to_string());
                let text = match &value {
                    Value::Text(text) => super::super::values::from_words(key, text),
                    Value::Count(_) | Value::List(_) => read,
                };
                assert_eq!(text, Ok(value), "{key:?}");
            }
        }
    }
}
