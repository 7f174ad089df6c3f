//! The JSON Schema of a settings file, for editors. It follows from the tables of keys.
//!
//! Not here: what JSON Schema cannot say, such as which branches git takes.

use forge_agents::registry;
use schemars::Schema;
use serde_json::{Map, Value as Json, json};

use super::{
    keys::{Key, SWITCH},
    named_tables::{TableKind, TableName},
    values::{Kind, LIST_MAX, NAME_BYTES_MAX, TEXT_BYTES_MAX, Value},
};

/// The schema of `forge.toml`, `forge.local.toml` and the user's `config.toml`.
pub fn schema() -> Schema {
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of Forge",
        "description": "forge.toml, forge.local.toml and the user's config.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": {}
    });
    for key in Key::ALL {
        let mut table = &mut root;
        let name = key.name();
        let mut words = name.split('.').peekable();
        while let Some(word) = words.next() {
            let is_last = words.peek().is_none();
            let properties = table["properties"].as_object_mut().expect("a table has properties");
            table = properties.entry(word.to_owned()).or_insert_with(|| {
                if is_last {
                    of(key)
                } else {
                    json!({"type": "object", "additionalProperties": false, "properties": {}})
                }
            });
        }
    }
    for kind in TableKind::ALL {
        let table = &mut root["properties"][kind.word()];
        table["type"] = json!("object");
        table["propertyNames"] = json!({"pattern": kind.pattern()});
        table["additionalProperties"] = of_table(kind);
    }
    Schema::try_from(root).expect("an object is a schema")
}

/// The schema of a table that a person named.
fn of_table(kind: TableKind) -> Json {
    let any = TableName::of(kind, "any").expect("it is a plain name");
    let properties: Map<String, Json> = kind
        .keys()
        .into_iter()
        .zip(Key::of_table(kind, any))
        .map(|(word, key)| (word.to_owned(), of(key)))
        .collect();
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

fn of(key: Key) -> Json {
    let text = |more: Json| {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("string"));
        schema.extend(more.as_object().cloned().unwrap_or_default());
        Json::Object(schema)
    };
    let entry = text(json!({"minLength": 1, "maxLength": TEXT_BYTES_MAX}));
    let mut schema = match key.kind() {
        Kind::Word(SWITCH) => json!({"enum": ["on", "off", true, false]}),
        Kind::Url => text(json!({"pattern": "^https?://[!-~]+$", "maxLength": TEXT_BYTES_MAX})),
        Kind::Word(words) => text(json!({"enum": words})),
        Kind::Amount => text(json!({"pattern": r"^[0-9]+(\.[0-9]+)?$"})),
        Kind::Count { most } => json!({"type": "integer", "minimum": 1, "maximum": most}),
        Kind::File | Kind::Branch => entry,
        Kind::Name => text(json!({"pattern": "^[A-Za-z0-9_-]+$", "maxLength": NAME_BYTES_MAX})),
        Kind::Agent => text(
            json!({"pattern": TableKind::Agents.pattern(), "examples": registry::ready_to_use().map(|kind| kind.name()).collect::<Vec<&str>>()}),
        ),
        Kind::Model => text(json!({"pattern": "^[!-,.-~][!-~]*$", "maxLength": NAME_BYTES_MAX})),
        Kind::Program => {
            json!({"type": "array", "minItems": 1, "maxItems": LIST_MAX, "items": entry})
        }
        Kind::Variables => {
            let name =
                text(json!({"pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength": NAME_BYTES_MAX}));
            json!({"type": "array", "maxItems": LIST_MAX, "items": name})
        }
        Kind::Commands | Kind::Paths | Kind::Patterns => {
            json!({"type": "array", "maxItems": LIST_MAX, "items": entry})
        }
    };
    schema["description"] = json!(key.about());
    match key.shipped() {
        None => {}
        Some(Value::Text(text)) => schema["default"] = json!(text),
        Some(Value::Count(count)) => schema["default"] = json!(count),
        Some(Value::List(list)) => schema["default"] = json!(list),
    }
    schema
}
