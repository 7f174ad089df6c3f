//! The contract: what an agent says in `result.json`, and what makes it unacceptable.
//!
//! Start with [`AgentResult`]. The doc comments of its fields are the descriptions in the published
//! schema, so they are written for agents to read. `flaw` has a sentence for everything wrong.
//!
//! Not here: whether item ids, tags and paths make sense in a run, and what a role may say.
//!
//! Invariant: what `parse` accepts is bounded in every part and names no path outside the tree.

mod flaw;
mod texts;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

pub use flaw::ResultFlaw;

use forge_keeper::{ArtifactFlaw, attempt::outbox};

/// `result.json` is at most this large.
pub const RESULT_BYTES_MAX: u64 = 1024 * 1024;
/// The version of the contract.
pub const RESULT_FORMAT: u64 = 1;
/// The name of the file in the outbox.
pub const RESULT_FILE: &str = "result.json";
pub const SUMMARY_CHARACTERS_MAX: usize = 500;
pub const TEXT_CHARACTERS_MAX: usize = 4_000;
pub const FINDINGS_MAX: usize = 200;
/// Lists in a result, items in a list, and texts in any list of texts.
pub const ENTRIES_MAX: usize = 3_000;

/// What an agent leaves in `result.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentResult {
    /// The version of this format: 1.
    pub forge: u64,
    /// The name of this attempt, exactly as it was given.
    pub attempt: String,
    /// Whether the work is done, done in part, or blocked.
    pub status: Status,
    /// What was done, in at most 500 characters.
    pub summary: String,
    /// For reviewers: what is to happen with the work under review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What was found wrong, at most 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Lists of items to work on, by the name of the list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<String, Vec<Item>>,
    /// For each must-have that was asked for: whether it is met, and what proves it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must: Vec<MustHave>,
    /// What a person should see before deciding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// Why the work cannot go on; needed when the status is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<Blocker>,
    /// A proposed commit message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Decisions that were made on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Work that is left for later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<String>,
    /// What later attempts should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<String>,
}

/// How far the work came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Done,
    Partial,
    Blocked,
}

/// What a reviewer says of the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    Revise,
    Block,
}

/// One thing found wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub severity: Severity,
    /// The file, relative to the root of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line in that file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is wrong.
    pub what: String,
    /// Why that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// A command with its output, or a quote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The earlier finding which this one repeats, such as F3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
}

#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Critical,
    Major,
    Minor,
}

/// What shows that a finding is true.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Proof {
    /// A command that anybody can run, and what it printed.
    Command { command: String, output: String },
    /// The words at fault.
    Quote { quote: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProof {
    command: Option<String>,
    output: Option<String>,
    quote: Option<String>,
}

impl<'de> Deserialize<'de> for Proof {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match RawProof::deserialize(input)? {
            RawProof { command: Some(command), output, quote: None } => {
                Ok(Self::Command { command, output: output.unwrap_or_default() })
            }
            RawProof { command: None, output: None, quote: Some(quote) } => {
                Ok(Self::Quote { quote })
            }
            RawProof { .. } => Err(serde::de::Error::custom(
                "a proof is either `command` and `output`, or `quote`",
            )),
        }
    }
}

/// One item of a list: a piece of work with a name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// A short name, such as T1.
    pub id: String,
    /// One line for people.
    #[serde(default)]
    pub title: String,
    /// Ids of items which must be finished first.
    #[serde(default)]
    pub after: Vec<String>,
    /// Paths which this item may write.
    #[serde(default)]
    pub writes: Vec<String>,
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// What must be true when it is done.
    #[serde(default)]
    pub must: Vec<String>,
}

/// Whether a must-have is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MustHave {
    pub id: String,
    pub state: MustState,
    /// What proves it.
    #[serde(default)]
    pub proof: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MustState {
    Met,
    Unmet,
}

/// What a person should see before deciding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    pub approach: String,
    #[serde(default)]
    pub key_changes: Vec<String>,
    pub risk: Risk,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Low,
    Medium,
    High,
}

/// Why the work cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocker {
    pub class: BlockerClass,
    pub what: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockerClass {
    ContextOverflow,
    ScopeExceeded,
    ModelRefusal,
    ToolingFailure,
    ExternalDependency,
    Unknown,
}

/// A key which a role may be obliged to give.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    Verdict,
    Findings,
    Lists,
    Must,
    Shown,
    Commit,
}

impl Key {
    /// As it is written in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Findings => "findings",
            Self::Lists => "lists",
            Self::Must => "must",
            Self::Shown => "shown",
            Self::Commit => "commit",
        }
    }
}

/// What a result of this call must look like, for programs that can hold their answer to a JSON
/// schema: an object, complete in itself. It is only a help; what counts is [`AgentResult::parse`].
pub fn schema(call: &str, must: &[Key]) -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        // A schema that names its language is refused by Claude Code 2.1.325.
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<AgentResult>();
    let mut schema = serde_json::to_value(schema).expect("a schema is JSON");
    schema["properties"]["forge"] = json!({ "const": RESULT_FORMAT });
    schema["properties"]["attempt"] = json!({ "const": call });
    let required = schema["required"].as_array_mut().expect("four keys are always required");
    required.extend(must.iter().map(|key| json!(key.name())));
    required.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
    required.dedup();
    schema
}

impl AgentResult {
    /// Reads a result for this call. Work that is done must have these keys; what is partial or
    /// blocked is taken with what there is.
    pub fn parse(bytes: &[u8], call: &str, must: &[Key]) -> Result<Self, ResultFlaw> {
        if bytes.len() as u64 > RESULT_BYTES_MAX {
            return Err(ResultFlaw::TooLarge);
        }
        let keys = read_head(bytes, call)?;
        let result: Self =
            serde_json::from_slice(bytes).map_err(|error| ResultFlaw::shape(&error))?;
        match result.status {
            Status::Done => {
                if let Some(missing) = must.iter().find(|key| !keys.contains_key(key.name())) {
                    return Err(ResultFlaw::MissingKey { key: missing.name() });
                }
            }
            Status::Blocked if result.blocker.is_none() => return Err(ResultFlaw::NoBlocker),
            Status::Blocked | Status::Partial => {}
        }
        texts::check(&result)?;
        Ok(result)
    }
}

/// Looks at version and attempt before anything else: the rest may be of a version to come.
fn read_head(bytes: &[u8], call: &str) -> Result<serde_json::Map<String, Value>, ResultFlaw> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| ResultFlaw::shape(&error))?;
    let Value::Object(keys) = value else { return Err(ResultFlaw::NotAnObject) };
    match keys.get("forge") {
        None => return Err(ResultFlaw::MissingKey { key: "forge" }),
        Some(forge) if forge.as_u64() == Some(RESULT_FORMAT) => {}
        Some(forge) => {
            return Err(ResultFlaw::WrongVersion { found: flaw::cut(&forge.to_string()) });
        }
    }
    match keys.get("attempt") {
        None => Err(ResultFlaw::MissingKey { key: "attempt" }),
        Some(attempt) if attempt.as_str() == Some(call) => Ok(keys),
        Some(attempt) => Err(ResultFlaw::WrongAttempt {
            found: flaw::cut(attempt.as_str().unwrap_or(&attempt.to_string())),
            expected: call.to_owned(),
        }),
    }
}

/// Reads `result.json` out of the outbox, if it is a regular file there.
pub fn read_result(outbox: &Path, call: &str, must: &[Key]) -> Result<AgentResult, ResultFlaw> {
    match outbox::collect(outbox, RESULT_FILE, RESULT_BYTES_MAX) {
        Ok(bytes) => AgentResult::parse(&bytes, call, must),
        Err(ArtifactFlaw::Missing { .. } | ArtifactFlaw::BadName { .. }) => {
            Err(ResultFlaw::Missing)
        }
        Err(ArtifactFlaw::NotAFile { .. }) => Err(ResultFlaw::NotAFile),
        Err(ArtifactFlaw::TooLarge { .. }) => Err(ResultFlaw::TooLarge),
        Err(ArtifactFlaw::Unreadable { error, .. }) => {
            Err(ResultFlaw::Unreadable { error: error.to_string() })
        }
    }
}

#[cfg(test)]
mod tests;
