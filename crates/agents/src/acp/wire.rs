//! The messages of ACP version 1 that we know, as the agent writes them.
//!
//! Not here: messages of ours; they are written where they are sent.
//!
//! Invariant: a missing or odd value is a default, never an error, but where nothing can be done without it.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use crate::signal::TokenCounts;

/// The version of the protocol that we speak.
pub(super) const VERSION: u64 = 1;

/// The answer to `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Initialized {
    pub(super) protocol_version: Value,
    #[serde(deserialize_with = "lenient")]
    pub(super) agent_capabilities: AgentAbilities,
    #[serde(deserialize_with = "lenient")]
    pub(super) agent_info: AgentInfo,
    #[serde(deserialize_with = "lenient")]
    pub(super) auth_methods: Vec<AuthMethod>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AgentAbilities {
    #[serde(deserialize_with = "lenient")]
    pub(super) load_session: bool,
    #[serde(deserialize_with = "lenient")]
    pub(super) session_capabilities: SessionAbilities,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SessionAbilities {
    /// Anything but null: it works in more folders than one.
    pub(super) additional_directories: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentInfo {
    #[serde(deserialize_with = "lenient")]
    pub(super) version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AuthMethod {
    #[serde(deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) description: String,
}

/// The answer to `session/new` and `session/load`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OpenedSession {
    #[serde(deserialize_with = "lenient")]
    pub(super) session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) config_options: Vec<ConfigOption>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConfigOption {
    #[serde(deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) category: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) current_value: Option<String>,
    pub(super) options: Value,
}

impl ConfigOption {
    /// Returns true if it says which model is used.
    pub(super) fn is_model(&self) -> bool {
        self.category == "model" || self.category.is_empty() && self.id == "model"
    }

    /// Returns the values that it may have, also those in groups.
    pub(super) fn values(&self) -> Vec<&str> {
        let mut found = Vec::new();
        for one in self.options.as_array().into_iter().flatten() {
            let group = one["options"].as_array();
            let all = group.map_or(std::slice::from_ref(one), Vec::as_slice);
            found.extend(all.iter().filter_map(|value| value["value"].as_str()));
        }
        found
    }
}

/// The answer to `session/prompt`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PromptEnded {
    #[serde(deserialize_with = "lenient")]
    pub(super) stop_reason: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) usage: Option<TurnUsage>,
    /// Fields that are the agent's own, outside of the protocol.
    #[serde(rename = "_meta")]
    pub(super) meta: Value,
}

/// Tokens of a turn. Not yet part of the protocol, but told by many.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TurnUsage {
    #[serde(rename = "inputTokens", deserialize_with = "lenient")]
    input: u64,
    #[serde(rename = "outputTokens", deserialize_with = "lenient")]
    output: u64,
    #[serde(rename = "cachedReadTokens", deserialize_with = "lenient")]
    cached_read: u64,
    #[serde(rename = "cachedWriteTokens", deserialize_with = "lenient")]
    cached_write: u64,
}

impl TurnUsage {
    pub(super) const fn tokens(self) -> TokenCounts {
        TokenCounts {
            input: self.input,
            output: self.output,
            cache_read: self.cached_read,
            cache_write: self.cached_write,
        }
    }
}

/// The news in a `session/update`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Update {
    #[serde(rename = "sessionUpdate", deserialize_with = "lenient")]
    pub(super) kind: String,
    /// Of a chunk: one block. Of a tool: many.
    pub(super) content: Value,
    #[serde(deserialize_with = "lenient")]
    pub(super) cost: Option<SessionCost>,
    #[serde(flatten)]
    pub(super) tool: ToolFields,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionCost {
    #[serde(deserialize_with = "lenient")]
    pub(super) amount: f64,
    #[serde(deserialize_with = "lenient")]
    pub(super) currency: String,
}

/// What is told of a tool, in its first message, in changes, and in a request for permission.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolFields {
    #[serde(deserialize_with = "lenient")]
    pub(super) tool_call_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) title: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) kind: Option<ToolKind>,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) locations: Vec<Location>,
    pub(super) raw_input: Value,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Location {
    pub(super) path: PathBuf,
}

/// A kind of tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    #[default]
    #[serde(other)]
    Other,
}

impl ToolKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::SwitchMode => "switch_mode",
            Self::Other => "tool",
        }
    }
}

/// The parameters of `session/request_permission`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AskedPermission {
    pub(super) tool_call: Value,
    #[serde(deserialize_with = "lenient")]
    pub(super) options: Vec<PermissionOption>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PermissionOption {
    pub(super) option_id: String,
    pub(super) kind: String,
}

/// The parameters of `fs/read_text_file`.
#[derive(PartialEq, Eq, Debug, Deserialize)]
pub(super) struct ReadTextFile {
    pub(super) path: PathBuf,
    /// The first line, from 1.
    #[serde(default)]
    pub(super) line: Option<usize>,
    #[serde(default)]
    pub(super) limit: Option<usize>,
}

/// The parameters of `fs/write_text_file`.
#[derive(PartialEq, Eq, Debug, Deserialize)]
pub(super) struct WriteTextFile {
    pub(super) path: PathBuf,
    pub(super) content: String,
}

/// The parameters of `terminal/create`.
#[derive(PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreateTerminal {
    pub(super) command: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: Vec<EnvVariable>,
    #[serde(default)]
    pub(super) cwd: Option<PathBuf>,
    #[serde(default)]
    pub(super) output_byte_limit: Option<usize>,
}

#[derive(PartialEq, Eq, Debug, Deserialize)]
pub(super) struct EnvVariable {
    pub(super) name: String,
    pub(super) value: String,
}

/// The parameters of everything else about a terminal.
#[derive(PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NamedTerminal {
    pub(super) terminal_id: String,
}

/// Reads a value, or takes the default where it is missing or odd.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    input: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(input)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// Reads what an agent answers or tells; everything may be missing.
pub(super) fn read<T: DeserializeOwned + Default>(value: Value) -> T {
    T::deserialize(value).unwrap_or_default()
}
