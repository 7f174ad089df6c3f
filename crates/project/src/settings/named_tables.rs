//! The tables of the settings that a person names: `[agents.NAME]` and `[roles.NAME]`.
//!
//! Here is what such a table may be called and which keys it has. Not here: the keys that every
//! Forge has (`key.rs`), and what the tables come to together (`player.rs`).
//!
//! Invariant: a [`TableName`] is a name that its kind of table may have.

use std::fmt;

use std::sync::LazyLock;

use forge_agents::registry;
use forge_core::id::is_plain_name;

use super::values::Kind;

/// The most bytes of a table's name.
const NAME_BYTES_MAX: usize = 40;
/// The most tables of one kind in one file.
pub(super) const TABLES_MAX: usize = 256;
/// What a table of an agent may be like: any program but the player of scenarios, which has a key of its own.
pub(super) static LIKES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let kinds = registry::ALL.iter().filter(|kind| !kind.plays_scenario());
    kinds.map(|kind| kind.name()).collect()
});

/// The name of a table. It is short, and copied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableName {
    /// Filled up with zeros, so that it is ordered as its text is.
    bytes: [u8; NAME_BYTES_MAX],
}

/// A kind of table of which there may be many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TableKind {
    /// `[agents.NAME]`
    Agents,
    /// `[roles.NAME]`
    Roles,
}

/// A key of `[agents.NAME]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentKey {
    /// `like`
    Like,
    /// `command`
    Command,
    /// `model`
    Model,
    /// `pass`
    Pass,
}

/// A key of `[roles.NAME]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleKey {
    /// `agent`
    Agent,
    /// `model`
    Model,
}

impl TableName {
    /// A name, if a table of this kind may have it.
    pub(super) fn of(kind: TableKind, text: &str) -> Option<Self> {
        let is_right = match kind {
            TableKind::Agents => is_agent_name(text) && text != registry::SCRIPTED.name(),
            // Whatever a flow may call a role.
            TableKind::Roles => is_plain_name(text),
        };
        let mut bytes = [0; NAME_BYTES_MAX];
        let room = bytes.get_mut(..text.len()).filter(|_| is_right)?;
        room.copy_from_slice(text.as_bytes());
        Some(Self { bytes })
    }

    /// The agents that need no table, and may have one.
    pub(super) fn of_known_agents() -> impl Iterator<Item = Self> {
        registry::ready_to_use().filter_map(|kind| Self::of(TableKind::Agents, kind.name()))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        let end = self.bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES_MAX);
        std::str::from_utf8(&self.bytes[..end]).expect("a name is ASCII")
    }
}

impl fmt::Debug for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Whether an agent may be called so.
pub(super) fn is_agent_name(text: &str) -> bool {
    is_plain_name(text) && !text.contains(|c: char| c.is_ascii_uppercase())
}

impl TableKind {
    pub(super) const ALL: [Self; 2] = [Self::Agents, Self::Roles];

    /// The word before the first dot.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Roles => "roles",
        }
    }

    /// The kind of this word.
    pub(super) fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The words of its keys.
    pub(super) fn keys(self) -> Vec<&'static str> {
        match self {
            Self::Agents => AgentKey::ALL.map(AgentKey::word).to_vec(),
            Self::Roles => RoleKey::ALL.map(RoleKey::word).to_vec(),
        }
    }

    /// What such a table may be called, in words.
    pub(super) const fn name_may_be(self) -> &'static str {
        match self {
            Self::Agents => {
                "the name of an agent has at most 40 small letters, digits, `-` and `_`, and begins with a letter or digit"
            }
            Self::Roles => {
                "the name of a role has at most 40 letters, digits, `-` and `_`, and begins with a letter or digit"
            }
        }
    }

    /// The pattern of such names, for editors.
    pub(super) const fn pattern(self) -> &'static str {
        match self {
            Self::Agents => "^[a-z0-9][a-z0-9_-]{0,39}$",
            Self::Roles => "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$",
        }
    }
}

impl AgentKey {
    pub(super) const ALL: [Self; 4] = [Self::Like, Self::Command, Self::Model, Self::Pass];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Like => "like",
            Self::Command => "command",
            Self::Model => "model",
            Self::Pass => "pass",
        }
    }

    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Like => "what it is treated as; without it what its name says, or a program",
            Self::Command => "what is started, without a shell",
            Self::Model => "the model that it is asked to use",
            Self::Pass => "more variables of your environment that it gets",
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Like => Kind::Word(&LIKES),
            Self::Command => Kind::Program,
            Self::Model => Kind::Model,
            Self::Pass => Kind::Variables,
        }
    }
}

impl RoleKey {
    pub(super) const ALL: [Self; 2] = [Self::Agent, Self::Model];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Model => "model",
        }
    }

    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Agent => "who plays this role",
            Self::Model => "the model that whoever plays this role is asked to use",
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Agent => Kind::Agent,
            Self::Model => Kind::Model,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_short_plain_name_that_is_read_back_as_it_was() {
        let longest = "a".repeat(40);
        for name in ["a", "0", "mine", "my-agent_2", "codex", &longest] {
            let read = TableName::of(TableKind::Agents, name).expect(name);
            assert_eq!((read.as_str(), format!("{read:?}")), (name, format!("{name:?}")));
        }
        let too_long = "a".repeat(41);
        for name in ["", "Mine", "-a", "_a", "a b", "a.b", "é", "a\0", "scripted", &too_long] {
            assert_eq!(TableName::of(TableKind::Agents, name), None, "{name}");
        }
        assert!(TableName::of(TableKind::Roles, "Writer").is_some(), "a flow may call it so");
        assert_eq!(TableName::of(TableKind::Roles, "a b"), None);
    }

    #[test]
    fn names_are_ordered_as_their_texts_are() {
        let mut names = ["b", "a-b", "ab", "a", "a_b"];
        let mut tables = names.map(|name| TableName::of(TableKind::Agents, name).unwrap());
        names.sort_unstable();
        tables.sort_unstable();
        assert_eq!(tables.each_ref().map(TableName::as_str), names);
    }

    #[test]
    fn the_keys_of_a_table_are_in_the_order_of_the_variants() {
        assert!(AgentKey::ALL.is_sorted() && RoleKey::ALL.is_sorted());
    }
}
