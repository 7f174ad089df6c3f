//! What every layer says, with its origin. The last layer that speaks wins.
//!
//! Not here: where the texts come from (`sources.rs`), and what the values mean (`resolve.rs`).
//! Tables of several layers merge, because only values are kept; a list replaces a list.
//!
//! Invariant: the values of a key are in the order of the layers, lowest first.

use std::collections::BTreeMap;

use forge_agents::registry;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};
use toml_edit::Key;

use super::{
    keys::{SettingKey, join},
    read_value::{Flaw, check, from_toml, from_words},
    sources::{FILE_BYTES_MAX, LocalFile, SourceFile, Sources},
    types::SettingValues,
    values::{AgentName, Value},
};
use crate::{
    Error,
    suggest::{line_of, nearest},
};

/// The most keys and tables in one table.
const TABLE_MAX: usize = 256;

/// A layer of the settings, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Defaults that come with Forge.
    Shipped,
    /// The user's settings for all repositories.
    User,
    /// The settings of the repository.
    Repo,
    /// The user's settings for one checkout.
    Local,
    /// Environment variables.
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

/// The value of one layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SaidRow {
    /// The layer.
    pub layer: Layer,
    pub place: String,
    /// The file, if the layer is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub value: Value,
}

impl SaidRow {
    /// Returns a value that is in no file.
    fn new(layer: Layer, place: &str, value: Value) -> Self {
        Self { layer, place: place.to_owned(), file: None, line: None, value }
    }

    fn in_file(layer: Layer, name: &str, line: usize, value: Value) -> Self {
        let (file, line, place) = (Some(name.to_owned()), Some(line), format!("{name}:{line}"));
        Self { layer, place, file, line, value }
    }

    /// Begins a sentence about something wrong there.
    pub(super) fn to_beginning(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}, line {line}"),
            _ if self.layer == Layer::Environment => format!("the variable {}", self.place),
            _ => self.place.clone(),
        }
    }
}

/// All values of all layers, by the paths of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LayeredSettings(BTreeMap<String, Vec<SaidRow>>);

impl LayeredSettings {
    /// Returns what comes with Forge.
    pub(super) fn shipped() -> Self {
        let mut settings = Self::default();
        for key in SettingKey::all(&SettingValues::default()) {
            if let Some(value) = key.row.shipped.clone() {
                settings.add(key, SaidRow::new(Layer::Shipped, "default", value));
            }
        }
        settings
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

    fn add(&mut self, key: SettingKey, said: SaidRow) {
        self.0.entry(key.path).or_default().push(said);
    }

    /// Puts higher layers over these.
    pub(super) fn under(mut self, higher: Self) -> Self {
        for (path, values) in higher.0 {
            self.0.entry(path).or_default().extend(values);
        }
        self
    }

    /// Returns all values of a key, lowest layer first.
    pub(super) fn values(&self, path: &str) -> &[SaidRow] {
        self.0.get(path).map_or(&[], Vec::as_slice)
    }

    /// Returns the keys that have a value.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the value of a key that counts.
    pub(super) fn winner(&self, path: &str) -> Option<&SaidRow> {
        self.values(path).last()
    }

    /// Builds the tree of all values that count. Keys without one have what Forge ships.
    pub(super) fn tree(&self) -> SettingValues {
        let mut tree = Json::Object(serde_json::Map::new());
        for (path, values) in &self.0 {
            let node = path.split('.').fold(&mut tree, |node, word| &mut node[word]);
            let winner = values.last().map(|winner| &winner.value);
            *node = serde_json::to_value(winner).expect("a value is JSON");
        }
        serde_json::from_value(tree).expect("every value was checked")
    }

    /// Returns all variables that may set something: those of a table only if a file names it, or if it
    /// needs no naming.
    fn variables(&self) -> BTreeMap<String, Vec<SettingKey>> {
        let mut tree = self.tree();
        for kind in registry::ready_to_use().filter(|kind| !kind.plays_scenario()) {
            let name = AgentName::try_from(kind.name().to_owned()).expect("it follows the rules");
            tree.agent_tables.named.entry(name).or_default();
        }
        let mut variables: BTreeMap<String, Vec<SettingKey>> = BTreeMap::new();
        for key in SettingKey::all(&tree) {
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
        let wrong = |flaw: Flaw| {
            let line = line_of(text, flaw.at);
            let next = match layer {
                Layer::User => "forge config edit --user",
                Layer::Local => "forge config edit --local",
                Layer::Repo | Layer::Shipped | Layer::Environment | Layer::Flags => {
                    "forge config edit"
                }
            };
            Error::usage(format!("{name}, line {line}: {}", flaw.what), next)
        };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            wrong(Flaw { at, what: error.message().trim().to_owned() })
        })?;
        let mut reading = FileReading { text, ..FileReading::default() };
        reading.table("", table.get_ref());
        if let Some(flaw) = reading.flaws.into_iter().min_by_key(|flaw| flaw.at) {
            return Err(wrong(flaw));
        }
        let mut settings = Self::default();
        for (key, at, value) in reading.values {
            settings.add(key, SaidRow::in_file(layer, name, line_of(text, at), value));
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
                        keys.iter().map(|key| format!("`{}`", key.path)).collect();
                    let what = format!("the variable {variable} could set {}", keys.join(" or "));
                    let next = format!("unset {variable}, and set it in a file");
                    return Err(Error::usage(what, next));
                }
                None => {
                    let near = nearest(variable, names.keys().map(String::as_str));
                    let near =
                        near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    let what = format!("the variable {variable} is not a setting{near}");
                    let next = format!("unset {variable}, or see `forge config list` for all keys");
                    return Err(Error::usage(what, next));
                }
            };
            let value = from_words(key, words).map_err(|flaw| {
                let what = format!("the variable {variable}: {}", flaw.what);
                Error::usage(what, format!("unset {variable}, or correct it"))
            })?;
            settings.add(key.clone(), SaidRow::new(Layer::Environment, variable, value));
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
            settings.add(key, SaidRow::new(Layer::Flags, "the command line", value));
        }
        Ok(settings)
    }
}

/// The state of reading one file.
#[derive(Default)]
struct FileReading<'a> {
    text: &'a str,
    /// Each with the byte at which its key begins.
    values: Vec<(SettingKey, usize, Value)>,
    flaws: Vec<Flaw>,
}

impl FileReading<'_> {
    /// Descends no deeper than the keys do, whatever is in the file.
    fn table(&mut self, path: &str, table: &DeTable<'_>) {
        for (n_before, (word, value)) in table.iter().enumerate() {
            let at = word.span().start;
            if n_before >= TABLE_MAX {
                let what = format!("`{path}` has more than {TABLE_MAX} keys and tables");
                return self.flaws.push(Flaw { at, what });
            }
            // A quoted word may have a dot in it: "limits.budget" in one piece is no key.
            let name = join(path, &Key::new(word.get_ref().as_ref()).to_string());
            let span = value.span();
            match (value.get_ref(), SettingKey::find(&name)) {
                (DeValue::Table(inner), _) => match check(&name, "{}") {
                    Ok(()) => self.table(&name, inner),
                    Err(flaw) => self.flaws.push(Flaw { at, ..flaw }),
                },
                (_, Some(key)) => match from_toml(&key, &self.text[span.clone()]) {
                    Ok(value) => self.values.push((key, at, value)),
                    Err(flaw) => self.flaws.push(Flaw { at: span.start + flaw.at, ..flaw }),
                },
                (_, None) => {
                    let is_table = || format!("`{name}` is a table, and not a value");
                    let what = check(&name, "{}").map_or_else(|flaw| flaw.what, |()| is_table());
                    self.flaws.push(Flaw { at, what });
                }
            }
        }
    }
}
