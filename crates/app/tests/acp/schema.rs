//! What Forge and real agents said to each other, held against the schema that the protocol's own package brings.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

/// Asserts that every message of ours is as the schema wants it.
pub(crate) fn holds_ours(package: &Path, ours: &[Value], theirs: &[Value]) {
    let path = package.join("node_modules/@agentclientprotocol/sdk/schema/v1/schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap();
    let name = |method: &Value, end: &str| {
        let is_it = |(name, row): &(&String, &Value)| {
            row["x-method"] == *method && name.ends_with(end) && name.as_str() != end
        };
        definitions.iter().find(is_it).map(|(name, _)| name.clone())
    };
    let asked: BTreeMap<String, &Value> = theirs
        .iter()
        .filter(|message| message.get("method").is_some() && message.get("id").is_some())
        .map(|message| (message["id"].to_string(), &message["method"]))
        .collect();
    let mut seen = 0;
    for message in ours {
        let (definition, value) = match (message.get("method"), message.get("result")) {
            (Some(method), _) if message.get("id").is_some() => {
                (name(method, "Request"), &message["params"])
            }
            (Some(method), _) => (name(method, "Notification"), &message["params"]),
            (None, Some(result)) => {
                let method = asked.get(&message["id"].to_string());
                (method.and_then(|method| name(method, "Response")), result)
            }
            (None, None) => continue,
        };
        let definition = definition.unwrap_or_else(|| panic!("nobody knows {message:#}"));
        let root = json!({"$ref": format!("#/$defs/{definition}"), "$defs": schema["$defs"]});
        let validator = jsonschema::validator_for(&root).unwrap();
        let flaws: Vec<String> =
            validator.iter_errors(value).map(|flaw| flaw.to_string()).collect();
        assert!(flaws.is_empty(), "{definition}: {flaws:?}\n{message:#}");
        seen += 1;
    }
    assert!(seen > 3, "{seen} messages");
}
