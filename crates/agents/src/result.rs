//! Reads a result that an agent left, and says what one must look like.
//!
//! Not here: the contract itself, and its limits (`forge_core::result`).

use std::path::Path;

use forge_core::result::{
    AgentResult, RESULT_BYTES_MAX, RESULT_FILE, RESULT_FORMAT, ResultError, ResultKey,
};
use forge_keeper::{ArtifactFlaw, collect};
use serde_json::{Value, json};

/// Returns what a result of this call must look like, for programs that can hold their answer to a JSON
/// schema: an object, complete in itself. It is only a help; what counts is [`parse_result`].
pub fn result_schema(call: &str, required: &[ResultKey], refused: &[ResultKey]) -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        // A schema that names its language is refused by Claude Code 2.1.325.
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<AgentResult>();
    let mut schema = serde_json::to_value(schema).expect("a schema is JSON");
    schema["properties"]["forge"] = json!({ "const": RESULT_FORMAT });
    schema["properties"]["attempt"] = json!({ "const": call });
    let properties = schema["properties"].as_object_mut().expect("a result is an object");
    properties.retain(|name, _| !refused.iter().any(|key| key.as_str() == name));
    let keys = schema["required"].as_array_mut().expect("four keys are always required");
    keys.extend(required.iter().map(|key| json!(key.as_str())));
    keys.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
    keys.dedup();
    schema
}

/// Reads a result for this call. Work that is done must have the required keys.
pub fn parse_result(
    bytes: &[u8],
    call: &str,
    required: &[ResultKey],
) -> Result<AgentResult, ResultError> {
    if bytes.len() as u64 > RESULT_BYTES_MAX {
        return Err(ResultError::TooLarge);
    }
    let keys = read_head(bytes, call)?;
    let mut result: AgentResult = serde_json::from_slice(bytes).map_err(|error| shape(&error))?;
    result.cut_summary();
    result.validate(required, |key| keys.contains_key(key))?;
    Ok(result)
}

/// Looks at version and attempt before anything else: the rest may be of a version to come.
fn read_head(bytes: &[u8], call: &str) -> Result<serde_json::Map<String, Value>, ResultError> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| shape(&error))?;
    let Value::Object(keys) = value else { return Err(ResultError::NotAnObject) };
    match keys.get("forge") {
        None => return Err(ResultError::MissingKey { key: "forge" }),
        Some(forge) if forge.as_u64() == Some(RESULT_FORMAT) => {}
        Some(forge) => return Err(ResultError::wrong_version(&forge.to_string())),
    }
    match keys.get("attempt") {
        None => Err(ResultError::MissingKey { key: "attempt" }),
        Some(attempt) if attempt.as_str() == Some(call) => Ok(keys),
        Some(attempt) => {
            let found = attempt.as_str().map_or_else(|| attempt.to_string(), str::to_owned);
            Err(ResultError::wrong_attempt(&found, call))
        }
    }
}

fn shape(error: &serde_json::Error) -> ResultError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    // Our own message says the place.
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    // A role may not have all keys; its brief names those that it may.
    let what = what.split_once(", expected one of `forge`").map_or(what, |(what, _)| what);
    if error.is_data() {
        ResultError::wrong_shape(line, column, what)
    } else {
        ResultError::NotJson { line, column, what: what.to_owned() }
    }
}

/// Reads `result.json` out of the outbox, if it is a regular file there.
pub fn read_result(
    outbox: &Path,
    call: &str,
    required: &[ResultKey],
) -> Result<AgentResult, ResultError> {
    let bytes = result_bytes(collect(outbox, RESULT_FILE, RESULT_BYTES_MAX))?;
    parse_result(&bytes, call, required)
}

/// Says what is wrong with a result that could not be collected.
pub fn result_bytes(collected: Result<Vec<u8>, ArtifactFlaw>) -> Result<Vec<u8>, ResultError> {
    match collected {
        Ok(bytes) => Ok(bytes),
        Err(ArtifactFlaw::Missing { .. } | ArtifactFlaw::BadName { .. }) => {
            Err(ResultError::Missing)
        }
        Err(ArtifactFlaw::NotAFile { .. }) => Err(ResultError::NotAFile),
        Err(ArtifactFlaw::TooLarge { .. }) => Err(ResultError::TooLarge),
        Err(ArtifactFlaw::Unreadable { error, .. }) => {
            Err(ResultError::Unreadable { error: error.to_string() })
        }
    }
}

#[cfg(test)]
mod tests;
