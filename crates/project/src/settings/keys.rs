//! Every key of the settings: its path, what it is for, what it may be, and what Forge ships.
//!
//! The rows follow from the tree of `types.rs`: their order and the shipped values from its default, their meaning
//! from its schema. A key of a table that a person names (`[agents.NAME]`, `[roles.NAME]`) has a row with `*` in the
//! place of the name. Not here: how a value is read (`read_value.rs`).

use std::sync::LazyLock;

use forge_agents::registry;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    schema::schema,
    types::{AccountTable, AgentKeys, PipelineTable, RoleTable, SettingValues},
    values::{AgentName, PipelineName, RoleName, Value, cut, shown_url},
};
use crate::{Error, suggest::nearest};

/// The place of a table's name in the path of a row.
const ANY: &str = "*";
/// Keys that were renamed: the old path, and the one that counts. A key that gets a new name gets a row here.
pub(super) const RENAMED: &[(&str, &str)] =
    &[("verify.timeout", "verify.timeout_minutes"), ("verify.output_max", "verify.output_mib")];

/// A key of the settings.
#[derive(Clone, Debug)]
pub(super) struct SettingKey {
    /// Its path, with dots.
    pub(super) path: String,
    pub(super) row: &'static KeyRow,
}

/// The properties that a key has in every table.
#[derive(Debug)]
pub(super) struct KeyRow {
    path: String,
    pub(super) shipped: Option<Value>,
}

/// What the schema says of a key. Most commands never ask.
#[derive(Debug)]
pub(super) struct KeyMeaning {
    pub(super) about: String,
    pub(super) may_be: String,
    pub(super) form: ValueForm,
    /// Whether a value may hold a secret and is never shown as it is.
    is_secret: bool,
}

/// The form of a value, which says how plain words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    Text,
    /// The words "on" and "off", or a truth.
    Switch,
    Count,
    List,
    /// A program and its arguments.
    Program,
}

/// A tree with its fields in their order.
#[derive(Deserialize)]
#[serde(untagged)]
enum Node {
    Table(IndexMap<String, Node>),
    Leaf(Option<Value>),
}

static ROWS: LazyLock<Vec<KeyRow>> = LazyLock::new(|| {
    let mut tree = Node::new(&SettingValues::default());
    let named = [
        ("agents", Node::new(&AgentKeys::default())),
        ("roles", Node::new(&RoleTable::default())),
        ("pipelines", Node::new(&PipelineTable::default())),
        ("accounts", Node::new(&AccountTable::default())),
    ];
    for (table, keys) in named {
        if let Node::Table(tables) = &mut tree
            && let Some(Node::Table(table)) = tables.get_mut(table)
        {
            table.insert(ANY.to_owned(), keys);
        }
    }
    tree.into_rows("")
});

static SCHEMA: LazyLock<Json> = LazyLock::new(|| schema().to_value());

impl Node {
    fn new(tree: &impl Serialize) -> Self {
        let json = serde_json::to_string(tree).expect("the tree can be written");
        serde_json::from_str(&json).expect("it was written")
    }

    /// Returns a row for each value.
    fn into_rows(self, path: &str) -> Vec<KeyRow> {
        match self {
            Self::Table(nodes) => {
                let rows = nodes.into_iter().map(|(word, node)| node.into_rows(&join(path, &word)));
                rows.flatten().collect()
            }
            Self::Leaf(shipped) => vec![KeyRow { path: path.to_owned(), shipped }],
        }
    }
}

impl KeyRow {
    /// Returns what the schema says of it. Types with a name of their own are in its root.
    pub(super) fn meaning(&self) -> KeyMeaning {
        let root = &*SCHEMA;
        let schema = self.path.split('.').fold(root, |schema, word| {
            let value = definition(schema, root);
            if word == ANY { &value["additionalProperties"] } else { &value["properties"][word] }
        });
        let value = definition(schema, root);
        KeyMeaning {
            about: sentence(&schema["description"]),
            may_be: may_be(value, root),
            form: ValueForm::new(value),
            is_secret: value["writeOnly"] == true,
        }
    }

    fn is_of_named_table(&self) -> bool {
        self.path.contains(ANY)
    }

    /// Returns the path of its table, and its last word.
    fn split(&self) -> (&str, &str) {
        self.path.rsplit_once('.').unwrap_or(("", &self.path))
    }
}

impl ValueForm {
    fn new(schema: &Json) -> Self {
        match schema["type"].as_str() {
            Some("integer") => Self::Count,
            Some("array") if schema["minItems"] == 1 => Self::Program,
            Some("array") => Self::List,
            Some(_) | None if schema["type"].is_array() => Self::Switch,
            Some(_) | None => Self::Text,
        }
    }
}

fn definition<'a>(schema: &'a Json, root: &'a Json) -> &'a Json {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.map_or(schema, |name| &root["$defs"][name])
}

/// Says what a value may be.
fn may_be(schema: &Json, root: &Json) -> String {
    let words = [&schema["enum"], &schema["oneOf"]].into_iter().find_map(Json::as_array);
    match (ValueForm::new(schema), words) {
        (_, Some(words)) => {
            let word = |entry: &Json| entry.as_str().or(entry["const"].as_str()).map(str::to_owned);
            let words = words.iter().filter_map(word).map(|word| format!("\"{word}\""));
            words.collect::<Vec<_>>().join(" or ")
        }
        (ValueForm::Count, None) => {
            format!("a whole number between {} and {}", schema["minimum"], schema["maximum"])
        }
        (ValueForm::List, None) => {
            format!("a list of {}", sentence(&definition(&schema["items"], root)["description"]))
        }
        (ValueForm::Text | ValueForm::Program | ValueForm::Switch, None) => {
            sentence(&schema["description"])
        }
    }
}

/// Turns a doc comment into a part of a sentence.
fn sentence(description: &Json) -> String {
    let text = description.as_str().unwrap_or_default().replace('\n', " ");
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Joins the path of a table and a word in it.
pub(super) fn join(table: &str, word: &str) -> String {
    if table.is_empty() { word.to_owned() } else { format!("{table}.{word}") }
}

impl SettingKey {
    /// Returns all keys in the order in which they are listed, with those of the named tables of a tree.
    pub(super) fn all(tree: &SettingValues) -> Vec<Self> {
        let agents: Vec<&str> = tree.agent_tables.named.keys().map(|name| &**name).collect();
        let roles: Vec<&str> = tree.roles.keys().map(|name| &**name).collect();
        let pipelines: Vec<&str> = tree.pipelines.keys().map(|name| &**name).collect();
        let accounts: Vec<&str> = tree.accounts.keys().map(|name| &**name).collect();
        let fixed = vec![ANY];
        let mut keys = Vec::new();
        for rows in ROWS.chunk_by(|one, other| one.split().0 == other.split().0) {
            let names = match rows[0].path.split_once(ANY) {
                Some(("agents.", _)) => &agents,
                Some(("pipelines.", _)) => &pipelines,
                Some(("accounts.", _)) => &accounts,
                Some(_) => &roles,
                None => &fixed,
            };
            for name in names {
                keys.extend(rows.iter().map(|row| Self { path: row.path.replace(ANY, name), row }));
            }
        }
        keys
    }

    /// Finds the key of a path.
    pub(super) fn find(path: &str) -> Option<Self> {
        Self::find_or_hint(path).ok()
    }

    /// Finds the key of a path that a person wrote.
    pub(super) fn parse(path: &str) -> Result<Self, Error> {
        let inside: Vec<&str> =
            ROWS.iter().filter_map(|row| row.path.strip_prefix(path)?.strip_prefix('.')).collect();
        if let ([first, ..], false) = (inside.as_slice(), path.is_empty()) {
            let what = format!("`{path}` is a table; name one of its keys: {}", inside.join(", "));
            return Err(Error::usage(what, format!("forge config explain {path}.{first}")));
        }
        Self::find_or_hint(path).map_err(|hint| {
            Error::usage(format!("unknown key `{}`{hint}", cut(path)), "forge config list")
        })
    }

    fn find_or_hint(path: &str) -> Result<Self, String> {
        let find = |template: &str| {
            let row = ROWS.iter().find(|row| row.path == template)?;
            Some(Self { path: path.to_owned(), row })
        };
        if let Some((table, rest)) = path.split_once('.')
            && let Some((name, word)) = rest.rsplit_once('.')
            && name != registry::SCRIPTED.name()
            && let Some(key) = find(&format!("{table}.{ANY}.{word}"))
        {
            let name = name.to_owned();
            let named = match table {
                "agents" | "accounts" => AgentName::try_from(name).map(String::from),
                "pipelines" => PipelineName::try_from(name).map(String::from),
                _ => RoleName::try_from(name).map(String::from),
            };
            return named.map(|_| key).map_err(|why| format!("; {why}"));
        }
        find(path).filter(|key| !key.row.is_of_named_table()).ok_or_else(|| hint(path))
    }

    /// Returns the variable that sets it: `FORGE_LIMITS_BUDGET`.
    pub(super) fn variable(&self) -> String {
        format!("FORGE_{}", self.path.to_ascii_uppercase().replace(['.', '-'], "_"))
    }

    /// Returns true if every Forge has it, whatever tables are named.
    pub(super) fn is_fixed(&self) -> bool {
        !self.row.is_of_named_table()
    }

    /// Returns a value as it may be shown: what may hold a secret is cut.
    pub(super) fn without_secret(&self, value: &Value) -> Value {
        match value {
            Value::Text(url) if self.row.meaning().is_secret => Value::Text(shown_url(url)),
            Value::Text(_) | Value::Count(_) | Value::List(_) => value.clone(),
        }
    }
}

/// Returns what a person probably meant with a path that is no key, as the end of a sentence: a key beside it, the key
/// that has this name elsewhere, or the nearest path of all.
pub(super) fn hint(path: &str) -> String {
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == path) {
        return format!("; it is now called {new}: `forge doctor --fix` rewrites the file");
    }
    let (table, word) = path.rsplit_once('.').unwrap_or(("", path));
    let name = table.split_once('.').map(|(_, name)| name);
    let name = name.filter(|name| *name != registry::SCRIPTED.name());
    let rows = || ROWS.iter().filter(|row| name.is_some() || !row.is_of_named_table());
    let filled = |path: &str| path.replace(ANY, name.unwrap_or(ANY));
    let beside = rows().filter(|row| !table.is_empty() && filled(row.split().0) == table);
    let tables = ROWS.iter().filter_map(|row| row.path.split('.').next()).map(str::to_owned);
    let paths: Vec<String> = rows().map(|row| filled(&row.path)).chain(tables).collect();
    let others = paths.iter().map(String::as_str).filter(|other| *other != path);
    let near = nearest(word, beside.map(|row| row.split().1))
        .map(|near| join(table, near))
        .or_else(|| Some(rows().find(|row| row.split().1 == word)?.path.clone()))
        .or_else(|| nearest(path, others).map(str::to_owned));
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
