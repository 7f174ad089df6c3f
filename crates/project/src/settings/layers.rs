//! What every layer says, with its origin. The last layer that speaks wins.
//!
//! Not here: where the texts come from (`sources.rs`), and what the values mean (`resolve.rs`).
//! Tables of several layers merge, because only values are kept; a list replaces a list.
//!
//! Invariant: the values of a key are in the order of the layers, lowest first.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use schemars::JsonSchema;
use serde::Serialize;
use toml::de::{DeTable, DeValue};

use super::{
    check::{from_toml, from_words},
    keys::{RENAMED, SettingKey, TableKind, is_table, join, nearest_word},
    sources::{FILE_BYTES_MAX, LocalFile, SourceFile, Sources},
    values::Value,
};
use crate::{
    Error,
    suggest::{explain, line_of, nearest},
};

/// The most tables of one kind in one file.
const TABLES_MAX: usize = 256;

/// A layer of the settings, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Defaults that come with Forge.
    Shipped,
    /// One person's, for all repositories.
    User,
    /// The repository's.
    Repo,
    /// One person's, in one checkout.
    Local,
    /// Variables.
    Environment,
    /// Flags of the command line.
    Flags,
}

impl Layer {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::User => "user",
            Self::Repo => "repo",
            Self::Local => "local",
            Self::Environment => "environment",
            Self::Flags => "flags",
        }
    }

    /// Returns true if it came with the repository, and not from the person who works here.
    pub(super) fn is_of_repository(self, local_is: LocalFile) -> bool {
        match self {
            Self::Repo => true,
            Self::Local => local_is == LocalFile::InGit,
            Self::Shipped | Self::User | Self::Environment | Self::Flags => false,
        }
    }
}

/// The place where a layer sets a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueOrigin {
    Forge,
    /// A file and a line, counted from one.
    File {
        name: String,
        line: usize,
    },
    Variable(String),
    CommandLine,
}

impl ValueOrigin {
    /// Begins a sentence about something wrong there.
    pub(super) fn to_beginning(&self) -> String {
        match self {
            Self::File { name, line } => format!("{name}, line {line}"),
            Self::Variable(name) => format!("the variable {name}"),
            Self::Forge | Self::CommandLine => self.to_string(),
        }
    }
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forge => f.write_str("comes with Forge"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Variable(name) => f.write_str(name),
            Self::CommandLine => f.write_str("the command line"),
        }
    }
}

/// One value with its layer and origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LayeredValue {
    pub(super) layer: Layer,
    pub(super) origin: ValueOrigin,
    pub(super) value: Value,
}

/// All values of all layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LayeredSettings(BTreeMap<SettingKey, Vec<LayeredValue>>);

impl LayeredSettings {
    /// Returns what comes with Forge.
    pub(super) fn shipped() -> Self {
        let shipped = |key: SettingKey| {
            let value = key.row().shipped.clone()?;
            let value = LayeredValue { layer: Layer::Shipped, origin: ValueOrigin::Forge, value };
            Some((key, vec![value]))
        };
        Self(SettingKey::all().filter_map(shipped).collect())
    }

    /// Reads all layers, each over the one below it.
    pub(super) fn from_sources(sources: &Sources) -> Result<Self, Error> {
        let mut settings = Self::shipped();
        for (layer, file) in [
            (Layer::User, &sources.user),
            (Layer::Repo, &sources.repo),
            (Layer::Local, &sources.local),
        ] {
            if let Some(file) = file {
                settings = settings.under(Self::from_file(layer, file)?);
            }
        }
        let variables = Self::from_environment(&sources.environment, &settings.variables())?;
        let settings = settings.under(variables);
        Ok(settings.under(Self::from_flags(&sources.flags)?))
    }

    /// Puts higher layers over these.
    pub(super) fn under(mut self, higher: Self) -> Self {
        for (key, values) in higher.0 {
            self.0.entry(key).or_default().extend(values);
        }
        self
    }

    /// Returns all values of a key, lowest layer first.
    pub(super) fn values(&self, key: &SettingKey) -> &[LayeredValue] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// Returns the value of a key that counts.
    pub(super) fn winner(&self, key: &SettingKey) -> Option<&LayeredValue> {
        self.values(key).last()
    }

    /// Returns the value of a path that counts.
    pub(super) fn winner_at(&self, path: &str) -> Option<&LayeredValue> {
        self.winner(&SettingKey::find(path)?)
    }

    /// Returns all values that count.
    pub(super) fn winners(&self) -> impl Iterator<Item = (&SettingKey, &Value)> {
        self.0.iter().filter_map(|(key, values)| Some((key, &values.last()?.value)))
    }

    /// Returns the names of all tables of this kind that have a value.
    pub(super) fn tables(&self, kind: TableKind) -> BTreeSet<&str> {
        let tables = self.0.keys().filter_map(SettingKey::table);
        tables.filter(|(of, _)| *of == kind).map(|(_, name)| name).collect()
    }

    /// Returns all keys: those that every Forge has, and those of named tables that have a value.
    pub(super) fn keys(&self) -> BTreeSet<SettingKey> {
        SettingKey::all().chain(self.0.keys().cloned()).collect()
    }

    /// Returns all variables that may set something: those of a table only if a file names it, or if it
    /// needs no naming.
    fn variables(&self) -> BTreeMap<String, Vec<SettingKey>> {
        let named = TableKind::ALL.into_iter().flat_map(|kind| {
            let mut names = self.tables(kind);
            for name in kind.known() {
                names.insert(name);
            }
            names.into_iter().flat_map(move |name| SettingKey::all_in(kind, name))
        });
        let mut variables: BTreeMap<String, Vec<SettingKey>> = BTreeMap::new();
        for key in SettingKey::all().chain(named) {
            variables.entry(key.variable()).or_default().push(key);
        }
        variables
    }

    /// Returns true if the variable of a key would be refused, because no file names its table.
    pub(super) fn is_without_variable(&self, key: &SettingKey) -> bool {
        !self.variables().contains_key(&key.variable())
    }

    /// Reads one file. Of several flaws the first one in the file is reported.
    pub(super) fn from_file(layer: Layer, file: &SourceFile) -> Result<Self, Error> {
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
        let mut reading = FileReading::default();
        reading.table("", table.get_ref());
        if let Some((at, what)) = reading.first_flaw {
            return Err(wrong(at, &what));
        }
        let mut settings = Self::default();
        for (key, at, value) in reading.values {
            let origin = ValueOrigin::File { name: name.clone(), line: line_of(text, at) };
            settings.0.insert(key, vec![LayeredValue { layer, origin, value }]);
        }
        Ok(settings)
    }

    /// Reads variables. Each must be the name of one key.
    fn from_environment(
        variables: &[(String, String)],
        names: &BTreeMap<String, Vec<SettingKey>>,
    ) -> Result<Self, Error> {
        let mut settings = Self::default();
        for (variable, words) in variables {
            let key = match names.get(variable).map(Vec::as_slice) {
                Some([key]) => key,
                Some(keys) => {
                    let keys: Vec<String> =
                        keys.iter().map(|key| format!("`{}`", key.path())).collect();
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
            let origin = ValueOrigin::Variable(variable.clone());
            let value = LayeredValue { layer: Layer::Environment, origin, value };
            settings.0.entry(key.clone()).or_default().push(value);
        }
        Ok(settings)
    }

    /// Reads what was given on the command line.
    fn from_flags(flags: &[(String, String)]) -> Result<Self, Error> {
        let mut settings = Self::default();
        for (path, words) in flags {
            let key = SettingKey::parse(path)?;
            let value = from_words(&key, words)
                .map_err(|flaw| Error::usage(flaw.what, format!("forge config explain {path}")))?;
            let value =
                LayeredValue { layer: Layer::Flags, origin: ValueOrigin::CommandLine, value };
            settings.0.entry(key).or_default().push(value);
        }
        Ok(settings)
    }
}

/// The state of reading one file.
#[derive(Default)]
struct FileReading {
    /// Each with the byte at which its key begins.
    values: Vec<(SettingKey, usize, Value)>,
    /// The first flaw, and its byte.
    first_flaw: Option<(usize, String)>,
}

impl FileReading {
    fn wrong(&mut self, at: usize, what: impl FnOnce() -> String) {
        if self.first_flaw.as_ref().is_none_or(|(first, _)| at < *first) {
            self.first_flaw = Some((at, what()));
        }
    }

    /// Descends no deeper than the keys do, whatever is in the file.
    fn table(&mut self, path: &str, table: &DeTable<'_>) {
        for (n_before, (word, value)) in table.iter().enumerate() {
            let at = word.span().start;
            let word = word.get_ref().as_ref();
            let name = join(path, word);
            // A quoted word may have a dot in it: "limits.budget" in one piece is no key.
            let is_plain = !word.contains('.');
            if let Some(key) = SettingKey::find(&name).filter(|_| is_plain) {
                match from_toml(&key, value) {
                    Ok(value) => self.values.push((key, at, value)),
                    Err(flaw) => self.wrong(flaw.at.unwrap_or(at), || flaw.what),
                }
            } else if is_plain && is_table(&name) {
                if let Some(kind) = TableKind::find(path)
                    && n_before >= TABLES_MAX
                {
                    let most =
                        format!("there are more than {TABLES_MAX} tables of {}", kind.as_str());
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

/// Describes a word that is no key of this table.
fn unknown(path: &str, word: &str) -> String {
    let shown: String = word.chars().take(80).collect();
    if let Some(kind) = TableKind::find(path) {
        return format!("`{shown}` is no name: {}", kind.name_may_be());
    }
    let whole = join(path, word);
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == whole) {
        return format!("`{whole}` is called {new} now: `forge doctor --fix` rewrites the file");
    }
    let near = nearest_word(path, word).map(|near| format!("; did you mean `{near}`?"));
    format!("unknown key `{shown}`{}", near.unwrap_or_default())
}
