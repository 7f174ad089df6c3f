//! What `forge config list` and `forge config explain` show.
//!
//! Invariant: what is shown as the value is what [`Settings`] uses; both come from the same layers.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    keys::SettingKey,
    layers::{Layer, SaidRow},
    resolve::{Settings, is_personal},
    values::Value,
};
use crate::Error;

/// One line of `forge config list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingRow {
    pub key: String,
    /// The description of the key.
    pub about: String,
    /// The effective value; `None` if no layer sets the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The layer that won.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// The file and line, variable or flag that sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// `forge config explain --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explained {
    /// The line of the list.
    #[serde(flatten)]
    pub row: SettingRow,
    /// The allowed values, as a phrase.
    pub may_be: String,
    /// The variable that sets it.
    pub variable: String,
    /// The command that sets it.
    pub command: String,
    /// The value of every layer that sets the key, the effective one first.
    pub said: Vec<SaidRow>,
    /// Warnings about the settings.
    pub notes: Vec<String>,
}

impl Settings {
    /// Returns all keys, with the values and layers that count. Of tables that a person names, and of tiers, those that are set.
    pub fn list(&self) -> Vec<SettingRow> {
        let keys = SettingKey::all(self).into_iter();
        let is_always_listed = |key: &SettingKey| key.is_fixed() && !key.path.starts_with("tiers.");
        let is_set = |key: &SettingKey| self.layers.winner(&key.path).is_some();
        let listed = keys.filter(|key| is_always_listed(key) || is_set(key));
        listed.map(|key| self.row(&key)).collect()
    }

    /// Returns what every layer says about one key.
    pub fn explain(&self, path: &str) -> Result<Explained, Error> {
        let key = &SettingKey::parse(path)?;
        let mut notes = self.notes();
        if self.layers.is_without_variable(key) {
            notes
                .push(format!("{} takes effect only if a file defines this table", key.variable()));
        }
        let said = self.layers.values(&key.path).iter().rev();
        let shown =
            |said: &SaidRow| SaidRow { value: key.without_secret(&said.value), ..said.clone() };
        Ok(Explained {
            row: self.row(key),
            may_be: key.row.meaning().may_be,
            variable: key.variable(),
            command: format!(
                "forge config set {}{} VALUE",
                if is_personal(&key.path) { "--user " } else { "" },
                key.path
            ),
            said: said.map(shown).collect(),
            notes,
        })
    }

    fn row(&self, key: &SettingKey) -> SettingRow {
        let winner = self.layers.winner(&key.path);
        SettingRow {
            key: key.path.clone(),
            about: key.row.meaning().about,
            value: winner.map(|winner| key.without_secret(&winner.value)),
            layer: winner.map(|winner| winner.layer),
            place: winner.map(|winner| winner.place.clone()),
        }
    }
}
