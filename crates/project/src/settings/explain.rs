//! What `forge config list` and `forge config explain` show.
//!
//! Invariant: what is shown as the value is what [`Settings`] uses; both come from one sheet.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Settings,
    keys::Key,
    layers::{Layer, Place, Said, known},
    values::{Value, shown_url},
};
use crate::Error;

/// One line of `forge config list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingRow {
    /// The key.
    pub key: String,
    /// What it is for.
    pub about: &'static str,
    /// What counts. Nothing, if nobody set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The layer that won.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// Where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// `forge config explain --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explained {
    /// The line of the list.
    #[serde(flatten)]
    pub row: SettingRow,
    /// What it may be, in words.
    pub may_be: String,
    /// The variable that sets it.
    pub variable: String,
    /// All that is said, the winner first.
    pub said: Vec<SaidRow>,
    /// What a person should know about the settings.
    pub notes: Vec<String>,
}

/// What one layer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SaidRow {
    /// The layer.
    pub layer: Layer,
    /// Where.
    pub place: String,
    /// The file, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What.
    pub value: Value,
}

impl SaidRow {
    fn of(key: Key, said: &Said) -> Self {
        let (file, line) = match &said.place {
            Place::File { name, line } => (Some(name.clone()), Some(*line)),
            Place::Forge | Place::Variable(_) | Place::CommandLine => (None, None),
        };
        let place = said.place.to_string();
        Self { layer: said.layer, place, file, line, value: shown(key, &said.value) }
    }
}

/// A value as it may be shown: what may hold a secret is cut.
pub(super) fn shown(key: Key, value: &Value) -> Value {
    match value {
        Value::Text(url) if key == Key::NotifyWebhook => Value::Text(shown_url(url)),
        Value::Text(_) | Value::Count(_) | Value::List(_) => value.clone(),
    }
}

impl Settings {
    /// All keys, with what counts and who says so. Of tables that a person names, those that are
    /// set.
    pub fn list(&self) -> Vec<SettingRow> {
        self.sheet.keys().into_iter().map(|key| self.row(key)).collect()
    }

    /// All that is said about one key.
    pub fn explain(&self, key: &str) -> Result<Explained, Error> {
        let key = known(key)?;
        let mut notes = self.notes();
        if self.sheet.is_without_variable(key) {
            notes.push(format!("{} counts as soon as a file names the table", key.variable()));
        }
        Ok(Explained {
            row: self.row(key),
            may_be: key.kind().may_be(),
            variable: key.variable(),
            said: self.sheet.said(key).iter().rev().map(|said| SaidRow::of(key, said)).collect(),
            notes,
        })
    }

    fn row(&self, key: Key) -> SettingRow {
        let winner = self.sheet.winner(key);
        SettingRow {
            key: key.name().into_owned(),
            about: key.about(),
            value: winner.map(|said| shown(key, &said.value)),
            layer: winner.map(|said| said.layer),
            place: winner.map(|said| said.place.to_string()),
        }
    }
}
