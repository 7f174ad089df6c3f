//! Who says what: every value of every layer, with its place. The last layer that speaks wins.
//!
//! Not here: where the texts come from (`source.rs`), and what the values mean (`settings.rs`).
//! Tables of several layers merge, because only values are kept; a list replaces a list.
//!
//! Invariant: what is said about a key lies in the order of the layers, lowest first.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use schemars::JsonSchema;
use serde::Serialize;
use toml::de::{DeTable, DeValue};

use super::{
    keys::Key,
    named_tables::{TABLES_MAX, TableKind, TableName},
    renamed_keys::moved,
    sources::{FILE_BYTES_MAX, LocalFile, SourceFile, Sources},
    values::{Value, from_toml, from_words},
};
use crate::Error;
use crate::suggest::{explain, line_of, nearest};

/// A layer of the settings, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// What comes with Forge.
    Shipped,
    /// One person's, for all repositories.
    User,
    /// The repository's.
    Repo,
    /// One person's, in one checkout.
    Local,
    /// Variables.
    Environment,
    /// What was given on the command line.
    Flags,
}

impl Layer {
    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::User => "user",
            Self::Repo => "repo",
            Self::Local => "local",
            Self::Environment => "environment",
            Self::Flags => "flags",
        }
    }

    /// Whether it came with the repository, and not from the person who works here.
    pub(super) fn is_the_repositorys(self, local_is: LocalFile) -> bool {
        match self {
            Self::Repo => true,
            Self::Local => local_is == LocalFile::InGit,
            Self::Shipped | Self::User | Self::Environment | Self::Flags => false,
        }
    }
}

/// Where something is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In Forge itself.
    Forge,
    /// In a file.
    File {
        /// The file.
        name: String,
        /// The line, counted from one.
        line: usize,
    },
    /// In a variable.
    Variable(String),
    /// On the command line.
    CommandLine,
}

impl Place {
    /// How a sentence about something wrong there begins.
    pub(super) fn beginning(&self) -> String {
        match self {
            Self::File { name, line } => format!("{name}, line {line}"),
            Self::Variable(name) => format!("the variable {name}"),
            Self::Forge | Self::CommandLine => self.to_string(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forge => f.write_str("comes with Forge"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Variable(name) => f.write_str(name),
            Self::CommandLine => f.write_str("the command line"),
        }
    }
}

/// One value, and who says it where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Which layer.
    pub layer: Layer,
    /// Where.
    pub place: Place,
    /// What.
    pub value: Value,
}

/// All that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sheet(BTreeMap<Key, Vec<Said>>);

impl Sheet {
    /// What comes with Forge.
    pub(super) fn shipped() -> Self {
        let said = |key: Key| {
            let value = key.shipped()?;
            Some((key, vec![Said { layer: Layer::Shipped, place: Place::Forge, value }]))
        };
        Self(Key::ALL.into_iter().filter_map(said).collect())
    }

    /// All layers, each over the one below it.
    pub(super) fn of(sources: &Sources) -> Result<Self, Error> {
        let mut sheet = Self::shipped();
        for (layer, file) in [
            (Layer::User, &sources.user),
            (Layer::Repo, &sources.repo),
            (Layer::Local, &sources.local),
        ] {
            if let Some(file) = file {
                sheet = sheet.under(Self::of_file(layer, file)?);
            }
        }
        let variables = Self::of_environment(&sources.environment, &sheet.variables())?;
        let sheet = sheet.under(variables);
        Ok(sheet.under(Self::of_flags(&sources.flags)?))
    }

    /// This, with higher layers over it.
    pub(super) fn under(mut self, higher: Self) -> Self {
        for (key, said) in higher.0 {
            self.0.entry(key).or_default().extend(said);
        }
        self
    }

    /// All that is said about a key, lowest layer first.
    pub(super) fn said(&self, key: Key) -> &[Said] {
        self.0.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The names of all tables of this kind about which something is said.
    pub(super) fn tables(&self, kind: TableKind) -> BTreeSet<TableName> {
        let tables = self.0.keys().filter_map(|key| key.table());
        tables.filter(|(of, _)| *of == kind).map(|(_, name)| name).collect()
    }

    /// All keys: those that every Forge has, and those of tables about which something is said.
    pub(super) fn keys(&self) -> BTreeSet<Key> {
        Key::ALL.into_iter().chain(self.0.keys().copied()).collect()
    }

    /// All variables that may set something: those of a table only if a file names it, or if it
    /// needs no naming.
    fn variables(&self) -> BTreeMap<String, Vec<Key>> {
        let named = TableKind::ALL.into_iter().flat_map(|kind| {
            let mut names = self.tables(kind);
            if kind == TableKind::Agents {
                names.extend(TableName::of_known_agents());
            }
            names.into_iter().flat_map(move |name| Key::of_table(kind, name))
        });
        let mut variables: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        for key in Key::ALL.into_iter().chain(named) {
            variables.entry(key.variable()).or_default().push(key);
        }
        variables
    }

    /// Whether the variable of a key would be refused, because nobody named its table.
    pub(super) fn is_without_variable(&self, key: Key) -> bool {
        !self.variables().contains_key(&key.variable())
    }

    /// What counts for a key.
    pub(super) fn winner(&self, key: Key) -> Option<&Said> {
        self.said(key).last()
    }

    /// What one file says. What is wrong first in the file is what is told.
    pub(super) fn of_file(layer: Layer, file: &SourceFile) -> Result<Self, Error> {
        let SourceFile { name, text } = file;
        if text.len() as u64 > FILE_BYTES_MAX {
            let what = format!("{name} is larger than {FILE_BYTES_MAX} bytes");
            return Err(Error::usage(what, "make it smaller"));
        }
        let wrong = |at: usize, what: &str| {
            let line = line_of(text, at);
            let next = format!("mend line {line} of {name}, then run the same command again");
            Error::usage(format!("{name}, line {line}: {what}"), next)
        };
        let table = DeTable::parse(text).map_err(|error| {
            wrong(error.span().map_or(0, |span| span.start), &explain(error.message()))
        })?;
        let mut reading = Reading::default();
        reading.table("", table.get_ref());
        if let Some((at, what)) = reading.first_flaw {
            return Err(wrong(at, &what));
        }
        let mut sheet = Self::default();
        for (key, at, value) in reading.values {
            let place = Place::File { name: name.clone(), line: line_of(text, at) };
            sheet.0.insert(key, vec![Said { layer, place, value }]);
        }
        Ok(sheet)
    }

    /// What the variables say. Each must be the name of one key.
    fn of_environment(
        variables: &[(String, String)],
        names: &BTreeMap<String, Vec<Key>>,
    ) -> Result<Self, Error> {
        let mut sheet = Self::default();
        for (variable, words) in variables {
            let key = match names.get(variable).map(Vec::as_slice) {
                Some([key]) => *key,
                Some(keys) => {
                    let keys: Vec<String> =
                        keys.iter().map(|key| format!("`{}`", key.name())).collect();
                    let what = format!("the variable {variable} could set {}", keys.join(" or "));
                    return Err(Error::usage(
                        what,
                        format!("unset {variable}, and set it in a file"),
                    ));
                }
                None => {
                    let near = nearest(variable, names.keys().map(String::as_str));
                    let near =
                        near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    let what = format!("the variable {variable} sets nothing{near}");
                    let next = format!("unset {variable}, or see `forge config list` for all keys");
                    return Err(Error::usage(what, next));
                }
            };
            let value = from_words(key, words).map_err(|flaw| {
                let what = format!("the variable {variable}: {}", flaw.what);
                Error::usage(what, format!("unset {variable}, or set it right"))
            })?;
            let place = Place::Variable(variable.clone());
            sheet.0.entry(key).or_default().push(Said { layer: Layer::Environment, place, value });
        }
        Ok(sheet)
    }

    /// What was given on the command line.
    pub(super) fn of_flags(flags: &[(String, String)]) -> Result<Self, Error> {
        let mut sheet = Self::default();
        for (name, words) in flags {
            let key = known(name)?;
            let value = from_words(key, words).map_err(|flaw| {
                Error::usage(flaw.what, format!("forge config explain {}", key.name()))
            })?;
            let said = Said { layer: Layer::Flags, place: Place::CommandLine, value };
            sheet.0.entry(key).or_default().push(said);
        }
        Ok(sheet)
    }
}

/// The key of this name, or the nearest one in an error.
pub(super) fn known(name: &str) -> Result<Key, Error> {
    Key::find(name).ok_or_else(|| {
        let hint = match wrong_table(name) {
            Some(kind) => format!("; {}", kind.name_may_be()),
            None => {
                near_key(name).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
            }
        };
        let shown: String = name.chars().take(80).collect();
        let shown =
            if name.is_empty() { "the empty word".to_owned() } else { format!("`{shown}`") };
        Error::usage(format!("{shown} is no key{hint}"), "forge config list")
    })
}

/// The kind of a table with a name that it may not have.
fn wrong_table(name: &str) -> Option<TableKind> {
    let (word, rest) = name.split_once('.')?;
    let kind = TableKind::find(word)?;
    let (table, key) = rest.rsplit_once('.')?;
    let is_wrong = !Key::is_table(&format!("{word}.{table}"));
    (is_wrong && kind.keys().contains(&key)).then_some(kind)
}

/// The key that was meant with a name that is none.
fn near_key(name: &str) -> Option<String> {
    let (table, word) = name.rsplit_once('.').unwrap_or(("", name));
    if let Some((kind, named)) = table.split_once('.')
        && let Some(kind) = TableKind::find(kind)
        && TableName::of(kind, named).is_some()
        && let Some(near) = nearest(word, kind.keys().into_iter())
    {
        return Some(format!("{table}.{near}"));
    }
    let all: Vec<_> = Key::ALL.into_iter().map(Key::name).collect();
    let elsewhere = all.iter().find(|key| !word.is_empty() && key.rsplit('.').next() == Some(word));
    let near = elsewhere.map(AsRef::as_ref);
    near.or_else(|| nearest(name, all.iter().map(AsRef::as_ref))).map(str::to_owned)
}

/// What was read of a file so far.
#[derive(Default)]
struct Reading {
    /// Each with the byte at which its key begins.
    values: Vec<(Key, usize, Value)>,
    /// What is wrong first, and the byte at which it is.
    first_flaw: Option<(usize, String)>,
}

impl Reading {
    fn wrong(&mut self, at: usize, what: impl FnOnce() -> String) {
        if self.first_flaw.as_ref().is_none_or(|(first, _)| at < *first) {
            self.first_flaw = Some((at, what()));
        }
    }

    /// Goes no deeper than the keys do, whatever is in the file.
    fn table(&mut self, path: &str, table: &DeTable<'_>) {
        for (n_before, (word, value)) in table.iter().enumerate() {
            let at = word.span().start;
            let word = word.get_ref().as_ref();
            let name = if path.is_empty() { word.to_owned() } else { format!("{path}.{word}") };
            // A quoted word may have a dot in it: "limits.budget" in one piece is no key.
            let is_plain = !word.contains('.');
            if let Some(key) = Key::find(&name).filter(|_| is_plain) {
                match from_toml(key, value) {
                    Ok(value) => self.values.push((key, at, value)),
                    Err(flaw) => self.wrong(flaw.at.unwrap_or(at), || flaw.what),
                }
            } else if is_plain && Key::is_table(&name) {
                if let Some(kind) = TableKind::find(path)
                    && n_before >= TABLES_MAX
                {
                    let most =
                        format!("there are more than {TABLES_MAX} tables of {}", kind.word());
                    self.wrong(at, || most);
                    return;
                }
                match value.get_ref() {
                    DeValue::Table(inner) => self.table(&name, inner),
                    DeValue::String(_)
                    | DeValue::Integer(_)
                    | DeValue::Float(_)
                    | DeValue::Boolean(_)
                    | DeValue::Datetime(_)
                    | DeValue::Array(_) => {
                        self.wrong(at, || format!("`{name}` is a table, and not a value"));
                    }
                }
            } else {
                self.wrong(at, || unknown(path, word));
            }
        }
    }
}

/// What is to be said about a word that is no key of this table.
fn unknown(path: &str, word: &str) -> String {
    let shown: String = word.chars().take(80).collect();
    if let Some(kind) = TableKind::find(path) {
        return format!("`{shown}` is no name: {}", kind.name_may_be());
    }
    let whole = if path.is_empty() { word.to_owned() } else { format!("{path}.{word}") };
    if let Some(new) = moved(&whole) {
        return format!("`{whole}` is called {new} now: `forge doctor --fix` rewrites the file");
    }
    let near = Key::meant(path, word).map(|near| format!("; did you mean `{near}`?"));
    format!("unknown key `{shown}`{}", near.unwrap_or_default())
}
