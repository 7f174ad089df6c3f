//! The JSON Schema of a settings file, for editors, derived from the tree of `types.rs`.
//!
//! Not here: what JSON Schema cannot say, such as which branches git accepts; `values.rs` does.
//!
//! Invariant: what the schema says about types, words and bounds is what the types of the tree accept.

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Value as Json, json};

use super::types::SettingValues;

/// The most entries of a list.
pub(super) const LIST_MAX: usize = 256;

/// Derives the schema of `forge.toml`, `forge.local.toml` and the user's `config.toml`.
pub fn schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(as_toml));
    let mut schema = settings.into_generator().into_root_schema_for::<SettingValues>();
    schema.insert("title".to_owned(), json!("Settings of Forge"));
    let about = "forge.toml, forge.local.toml and the user's config.toml";
    schema.insert("description".to_owned(), json!(about));
    schema
}

/// Says what TOML says: it has no null, a key that is missing is a table of defaults, and every list has an end.
fn as_toml(schema: &mut Schema) {
    if schema.get("default").is_some_and(|default| default.is_null() || default.is_object()) {
        schema.remove("default");
    }
    schema.remove("format");
    if let Some(Json::Array(kinds)) = schema.remove("anyOf") {
        let inner = kinds.into_iter().find(|kind| kind["type"] != "null");
        if let Some(Json::Object(inner)) = inner {
            schema.ensure_object().extend(inner);
        }
    }
    if let Some(Json::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    if schema.get("type").is_some_and(|kind| kind == "array") {
        schema.insert("maxItems".to_owned(), json!(LIST_MAX));
    }
}
