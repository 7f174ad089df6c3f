//! Every key of the settings: its path, what it is for, what it may be, and what Forge ships.
//!
//! The rows follow from the tree of `types.rs`: their order and the shipped values from its default, everything else
//! from its schema. A key of a table that a person names (`[agents.NAME]`, `[roles.NAME]`) has a row with `*` in the
//! place of the name. Not here: how a value is read (`check.rs`).
//!
//! Invariant: no key is the beginning of another one with a dot behind it, so that every path is
//! either a table or a value.

use std::{fmt, sync::LazyLock};

use forge_agents::registry;
use forge_core::id::is_plain_name;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::{
    schema::schema,
    types::{AgentKeys, RoleTable, SettingValues},
    values::{AGENT_NAME_MAY_BE, Value, is_agent_name, shown_url},
};
use crate::{Error, suggest::nearest};

/// The place of a table's name in the path of a row.
const ANY: &str = "*";
/// Keys that were renamed: the old path, and the one that counts. A key that gets a new name gets a row here.
pub(super) const RENAMED: &[(&str, &str)] =
    &[("verify.timeout", "verify.timeout_minutes"), ("verify.output_max", "verify.output_mib")];

/// A key of the settings. Its order is the one in which keys are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SettingKey {
    /// The first row of its table, if a person names that, and otherwise its own row.
    group: usize,
    /// The name of the table, or nothing.
    table: String,
    row: usize,
}

/// The properties that all keys of one row share.
pub(super) struct KeyRow {
    path: String,
    pub(super) about: String,
    pub(super) may_be: String,
    pub(super) form: ValueForm,
    pub(super) shipped: Option<Value>,
    /// Whether a value may hold a secret and is never shown as it is.
    pub(super) is_secret: bool,
}

/// The form of a value, as its schema describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    /// One of these words.
    Word(Vec<String>),
    /// The words "on" and "off", or a truth.
    Switch,
    /// A text that its type checks.
    Text,
    /// A whole number between these.
    Count { least: u64, most: u64 },
    /// Texts, which their type checks.
    List { least: u64 },
}

/// A kind of table that a person names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TableKind {
    /// `[agents.NAME]`
    Agents,
    /// `[roles.NAME]`
    Roles,
}

static ROWS: LazyLock<Vec<KeyRow>> = LazyLock::new(|| {
    let mut tree = SettingValues::default();
    tree.agent_tables.named.insert(ANY.to_owned(), AgentKeys::default());
    tree.roles.insert(ANY.to_owned(), RoleTable::default());
    let text = serde_json::to_string(&tree).expect("the tree can be written");
    let mut leaves = Vec::new();
    let collect = DefaultLeaves { path: String::new(), leaves: &mut leaves };
    collect.deserialize(&mut serde_json::Deserializer::from_str(&text)).expect("it was written");
    let schema = schema().to_value();
    leaves.into_iter().map(|(path, shipped)| KeyRow::new(&schema, path, shipped)).collect()
});

impl KeyRow {
    fn new(root: &Json, path: String, shipped: Option<Value>) -> Self {
        // Types with a name of their own are definitions.
        let definition = |node: &Json| -> Json {
            let name = node["$ref"].as_str().and_then(|path| path.rsplit('/').next());
            name.map_or_else(|| node.clone(), |name| root["$defs"][name].clone())
        };
        let mut node = root.clone();
        for word in path.split('.') {
            let table = definition(&node);
            let inner = if word == ANY {
                &table["additionalProperties"]
            } else {
                &table["properties"][word]
            };
            node = inner.clone();
        }
        let about = sentence(&node["description"]);
        let value = definition(&node);
        let form = ValueForm::new(&value);
        let may_be = match &form {
            ValueForm::Word(words) => or(words),
            ValueForm::Switch => "\"on\" or \"off\"".to_owned(),
            ValueForm::Count { least, most } => {
                format!("a whole number between {least} and {most}")
            }
            ValueForm::List { least: 0 } => {
                format!("a list of {}", sentence(&definition(&value["items"])["description"]))
            }
            ValueForm::Text | ValueForm::List { .. } => sentence(&value["description"]),
        };
        let is_secret = value["writeOnly"] == true;
        Self { path, about, may_be, form, shipped, is_secret }
    }

    fn is_of_named_table(&self) -> bool {
        self.path.contains(ANY)
    }

    /// Returns the path of its table.
    fn table(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Returns the last word of its path.
    fn last_word(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }
}

impl ValueForm {
    fn new(schema: &Json) -> Self {
        let bound = |name: &str| schema[name].as_u64();
        let words = |list: &Json, word: fn(&Json) -> &Json| -> Option<Vec<String>> {
            let words = list.as_array()?.iter();
            Some(words.filter_map(|entry| word(entry).as_str().map(str::to_owned)).collect())
        };
        match schema["type"].as_str() {
            Some("integer") => Self::Count {
                least: bound("minimum").expect("a number has a least value"),
                most: bound("maximum").expect("a number has a greatest value"),
            },
            Some("array") => Self::List { least: bound("minItems").unwrap_or_default() },
            Some(_) | None if schema["type"].is_array() => Self::Switch,
            Some(_) | None => {
                let plain = words(&schema["enum"], |word| word);
                plain
                    .or_else(|| words(&schema["oneOf"], |entry| &entry["const"]))
                    .map_or(Self::Text, Self::Word)
            }
        }
    }
}

/// Turns a doc comment into a part of a sentence.
fn sentence(description: &Json) -> String {
    let text = description.as_str().unwrap_or_default().replace('\n', " ");
    let text = text.trim_end_matches('.');
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

fn or(words: &[String]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
}

/// Collects the values of a tree with their paths, in the order of the fields, which a JSON map does not keep.
struct DefaultLeaves<'a> {
    path: String,
    leaves: &'a mut Vec<(String, Option<Value>)>,
}

impl DefaultLeaves<'_> {
    fn push(self, value: Option<Value>) {
        self.leaves.push((self.path, value));
    }
}

impl<'de> DeserializeSeed<'de> for DefaultLeaves<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DefaultLeaves<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tree of settings")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.push(None);
        Ok(())
    }

    fn visit_u64<E>(self, count: u64) -> Result<(), E> {
        self.push(Some(Value::Count(count)));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.push(Some(Value::Text(text.to_owned())));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_element::<IgnoredAny>()?.is_some() {}
        self.push(Some(Value::List(Vec::new())));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<(), A::Error> {
        while let Some(word) = table.next_key::<String>()? {
            let path = join(&self.path, &word);
            table.next_value_seed(DefaultLeaves { path, leaves: self.leaves })?;
        }
        Ok(())
    }
}

/// Joins the path of a table and a word in it.
pub(super) fn join(table: &str, word: &str) -> String {
    if table.is_empty() { word.to_owned() } else { format!("{table}.{word}") }
}

impl SettingKey {
    fn new(row: usize, table: &str) -> Self {
        let is_beside = |other: &KeyRow| !table.is_empty() && other.table() == ROWS[row].table();
        let group = ROWS.iter().position(is_beside).unwrap_or(row);
        Self { group, table: table.to_owned(), row }
    }

    /// Returns all keys outside tables that a person names, in the order in which they are listed.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let rows = ROWS.iter().enumerate().filter(|(_, row)| !row.is_of_named_table());
        rows.map(|(position, _)| Self::new(position, ""))
    }

    /// Returns the keys of one table that a person named.
    pub(super) fn all_in(kind: TableKind, table: &str) -> Vec<Self> {
        let start = format!("{}.{ANY}.", kind.as_str());
        let rows = ROWS.iter().enumerate().filter(|(_, row)| row.path.starts_with(&start));
        rows.map(|(position, _)| Self::new(position, table)).collect()
    }

    /// Finds the key of a path.
    pub(super) fn find(path: &str) -> Option<Self> {
        let (template, table) = template(path)?;
        let position = ROWS.iter().position(|row| row.path == template)?;
        Some(Self::new(position, table))
    }

    pub(super) fn row(&self) -> &'static KeyRow {
        &ROWS[self.row]
    }

    /// Returns its path, with dots.
    pub(super) fn path(&self) -> String {
        self.row().path.replace(ANY, &self.table)
    }

    /// Returns the variable that sets it: `FORGE_LIMITS_BUDGET`.
    pub(super) fn variable(&self) -> String {
        format!("FORGE_{}", self.path().to_ascii_uppercase().replace(['.', '-'], "_"))
    }

    /// Returns the table that it is in, if a person named that.
    pub(super) fn table(&self) -> Option<(TableKind, &str)> {
        let kind = self.row().path.split('.').next().and_then(TableKind::find)?;
        (!self.table.is_empty()).then_some((kind, self.table.as_str()))
    }

    /// Finds the key of a path that a person wrote, or fails with the nearest one.
    pub(super) fn parse(path: &str) -> Result<Self, Error> {
        Self::find(path).ok_or_else(|| {
            let hint = match table_with_wrong_name(path) {
                Some(kind) => format!("; {}", kind.name_may_be()),
                None => nearest_path(path)
                    .map(|near| format!("; did you mean `{near}`?"))
                    .unwrap_or_default(),
            };
            let shown: String = path.chars().take(80).collect();
            let shown =
                if path.is_empty() { "the empty word".to_owned() } else { format!("`{shown}`") };
            Error::usage(format!("{shown} is no key{hint}"), "forge config list")
        })
    }

    /// Returns a value as it may be shown: what may hold a secret is cut.
    pub(super) fn without_secret(&self, value: &Value) -> Value {
        match value {
            Value::Text(url) if self.row().is_secret => Value::Text(shown_url(url)),
            Value::Text(_) | Value::Count(_) | Value::List(_) => value.clone(),
        }
    }
}

impl TableKind {
    pub(super) const ALL: [Self; 2] = [Self::Agents, Self::Roles];

    /// Returns the word before the first dot.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Roles => "roles",
        }
    }

    pub(super) fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns true if a person may name a table of this kind so.
    fn can_name(self, name: &str) -> bool {
        match self {
            Self::Agents => is_agent_name(name) && name != registry::SCRIPTED.name(),
            // Whatever a flow may call a role.
            Self::Roles => is_plain_name(name),
        }
    }

    /// Returns the tables that count without a file that names them.
    pub(super) fn known(self) -> impl Iterator<Item = &'static str> {
        let agents = registry::ready_to_use().map(|kind| kind.name());
        agents.filter(move |name| self == Self::Agents && self.can_name(name))
    }

    /// Returns the words of its keys.
    fn words(self) -> impl Iterator<Item = &'static str> {
        let start = format!("{}.{ANY}.", self.as_str());
        ROWS.iter().filter_map(move |row| row.path.strip_prefix(&start))
    }

    /// Says what such a table may be called.
    pub(super) const fn name_may_be(self) -> &'static str {
        match self {
            Self::Agents => AGENT_NAME_MAY_BE,
            Self::Roles => {
                "the name of a role has at most 40 letters, digits, `-` and `_`, and begins with a letter or digit"
            }
        }
    }
}

/// Returns a path with `*` for the name of a table, and that name. Nothing, if no table may be called so.
fn template(path: &str) -> Option<(String, &str)> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let (name, more) = rest.split_once('.').map_or((rest, None), |(name, more)| (name, Some(more)));
    match TableKind::find(first) {
        Some(kind) if !rest.is_empty() && name != registry::SCRIPTED.name() => {
            kind.can_name(name).then(|| {
                let table = join(first, ANY);
                (more.map_or_else(|| table.clone(), |more| join(&table, more)), name)
            })
        }
        Some(_) | None => Some((path.to_owned(), "")),
    }
}

/// Returns true if a path is a table of keys.
pub(super) fn is_table(path: &str) -> bool {
    template(path).is_some_and(|(template, _)| {
        !template.is_empty()
            && ROWS.iter().any(|row| {
                row.path.strip_prefix(&template).is_some_and(|rest| rest.starts_with('.'))
            })
    })
}

/// Returns the word of a table that was probably meant with one that it does not have: a key or table beside it, or
/// the whole path of a key that has this name elsewhere.
pub(super) fn nearest_word(table: &str, word: &str) -> Option<&'static str> {
    if let Some(kind) = table.split_once('.').and_then(|(kind, _)| TableKind::find(kind))
        && is_table(table)
        && table != join(TableKind::Agents.as_str(), registry::SCRIPTED.name())
        && let Some(near) = nearest(word, kind.words())
    {
        return Some(near);
    }
    let rows = || ROWS.iter().filter(|row| !row.is_of_named_table());
    let inside = |row: &'static KeyRow| {
        let rest = if table.is_empty() {
            Some(row.path.as_str())
        } else {
            row.path.strip_prefix(table).and_then(|rest| rest.strip_prefix('.'))
        };
        rest.and_then(|rest| rest.split('.').next())
    };
    // In a table that has such a key, that key is meant.
    let in_table = nearest(word, rows().filter_map(inside));
    if let (false, Some(near)) = (table.is_empty(), in_table) {
        return Some(near);
    }
    if let Some(row) = rows().find(|row| row.last_word() == word) {
        return Some(&row.path);
    }
    let tables = TableKind::ALL.into_iter().map(TableKind::as_str);
    nearest(word, rows().filter_map(inside).chain(tables.filter(|_| table.is_empty())))
}

/// Returns the kind of a table with a name that it may not have.
fn table_with_wrong_name(path: &str) -> Option<TableKind> {
    let (first, rest) = path.split_once('.')?;
    let kind = TableKind::find(first)?;
    let (table, word) = rest.rsplit_once('.')?;
    let is_wrong = !is_table(&join(first, table));
    (is_wrong && kind.words().any(|known| known == word)).then_some(kind)
}

/// Returns the path of the key that was probably meant.
fn nearest_path(path: &str) -> Option<String> {
    let (table, word) = path.rsplit_once('.').unwrap_or(("", path));
    if let Some((kind, name)) = table.split_once('.')
        && let Some(kind) = TableKind::find(kind)
        && kind.can_name(name)
        && let Some(near) = nearest(word, kind.words())
    {
        return Some(join(table, near));
    }
    let rows = || ROWS.iter().filter(|row| !row.is_of_named_table());
    let elsewhere = rows().find(|row| !word.is_empty() && row.last_word() == word);
    let near = elsewhere.map(|row| row.path.as_str());
    near.or_else(|| nearest(path, rows().map(|row| row.path.as_str()))).map(str::to_owned)
}

/// Builds the tree of these values. Keys without one have what Forge ships.
pub(super) fn tree<'a>(
    values: impl Iterator<Item = (&'a SettingKey, &'a Value)>,
) -> Result<SettingValues, String> {
    let mut tree = Json::Object(serde_json::Map::new());
    for (key, value) in values {
        let node = key.path().split('.').fold(&mut tree, |node, word| &mut node[word]);
        *node = serde_json::to_value(value).expect("a value is JSON");
    }
    serde_json::from_value(tree).map_err(|error| error.to_string())
}
