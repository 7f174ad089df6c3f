//! The JSON Schema of a settings file, for editors. It follows from the table of keys.
//!
//! Not here: what JSON Schema cannot say, such as which branches git takes.

use schemars::Schema;
use serde_json::{Map, Value as Json, json};

use super::{
    key::Key,
    value::{Kind, LIST_MAX, TEXT_BYTES_MAX, Value},
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
        let mut words = key.name().split('.').peekable();
        while let Some(word) = words.next() {
            let is_last = words.peek().is_none();
            let properties = table["properties"].as_object_mut().expect("a table has properties");
            table = properties.entry(word).or_insert_with(|| {
                if is_last {
                    of(key)
                } else {
                    json!({"type": "object", "additionalProperties": false, "properties": {}})
                }
            });
        }
    }
    Schema::try_from(root).expect("an object is a schema")
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
        Kind::Word(words) => text(json!({"enum": words})),
        Kind::Amount => text(json!({"pattern": r"^[0-9]+(\.[0-9]+)?$"})),
        Kind::Count { most } => json!({"type": "integer", "minimum": 1, "maximum": most}),
        Kind::File | Kind::Branch => entry,
        Kind::Commands | Kind::Paths => {
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
