//! Which agent programs there are. A new one is a file beside this one, and a line in [`ALL`].
//!
//! Invariant: no agent program looks back at this list.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::acp::AcpAgent;
use crate::agent::Agent;
use crate::claude::ClaudeCode;
use crate::codex::Codex;
use crate::gemini::GeminiCli;
use crate::opencode::OpenCode;
use crate::program::AnyProgram;
use crate::scripted::ScriptedAgent;

/// Every agent program, in the order in which they are listed.
pub const ALL: [AgentKind; 7] = [
    SCRIPTED,
    AgentKind(&ClaudeCode),
    AgentKind(&Codex),
    AgentKind(&OpenCode),
    AgentKind(&GeminiCli),
    ACP,
    PROGRAM,
];

/// The player of scenarios that is part of Forge.
pub const SCRIPTED: AgentKind = AgentKind(&ScriptedAgent);
/// Any agent that speaks the Agent Client Protocol.
pub const ACP: AgentKind = AgentKind(&AcpAgent);
/// Any program that takes a brief on its standard input.
pub const PROGRAM: AgentKind = AgentKind(&AnyProgram);

/// Returns the kinds that work without a command in the settings.
pub fn ready_to_use() -> impl Iterator<Item = AgentKind> {
    ALL.into_iter().filter(|kind| kind.needs_no_command())
}

/// An agent program of the registry. It is written as its name.
#[derive(Clone, Copy)]
pub struct AgentKind(&'static dyn Agent);

impl AgentKind {
    /// Looks up a name as it is written in settings and journals.
    pub fn find(name: &str) -> Option<Self> {
        ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns true if it can be used without a command in the settings.
    pub fn needs_no_command(self) -> bool {
        self.plays_scenario() || self.default_command().is_some()
    }
}

impl Deref for AgentKind {
    type Target = dyn Agent;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl PartialEq for AgentKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for AgentKind {}

impl fmt::Debug for AgentKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl Serialize for AgentKind {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for AgentKind {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let name = String::deserialize(input)?;
        Self::find(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown agent program `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_program_is_written_as_its_name_and_found_by_it() {
        for kind in ALL {
            assert_eq!(AgentKind::find(kind.name()), Some(kind));
            let written = serde_json::to_string(&kind).unwrap();
            assert_eq!(written, format!("{:?}", kind.name()));
            assert_eq!(serde_json::from_str::<AgentKind>(&written).unwrap(), kind);
        }
        assert_eq!(AgentKind::find("claudius"), None);
        assert_eq!(
            ALL.map(|kind| kind.name()),
            ["scripted", "claude", "codex", "opencode", "gemini", "acp", "program"]
        );
    }
}
