//! Who says what: every value of every layer, with its place. The last layer that speaks wins.
//!
//! Not here: where the texts come from (`source.rs`), and what the values mean (`settings.rs`).
//! Tables of several layers merge, because only values are kept; a list replaces a list.
//!
//! Invariant: what is said about a key lies in the order of the layers, lowest first.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::Serialize;
use toml::de::{DeTable, DeValue};

use super::{
    key::Key,
    source::{FILE_BYTES_MAX, SourceFile, Sources},
    value::{Value, from_toml, from_words},
};
use crate::Trouble;
use crate::near::{explain, line_of, nearest};

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
    pub(super) fn of(sources: &Sources) -> Result<Self, Trouble> {
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
        let sheet = sheet.under(Self::of_environment(&sources.environment)?);
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

    /// What counts for a key.
    pub(super) fn winner(&self, key: Key) -> Option<&Said> {
        self.said(key).last()
    }

    /// What one file says. What is wrong first in the file is what is told.
    pub(super) fn of_file(layer: Layer, file: &SourceFile) -> Result<Self, Trouble> {
        let SourceFile { name, text } = file;
        if text.len() as u64 > FILE_BYTES_MAX {
            let what = format!("{name} is larger than {FILE_BYTES_MAX} bytes");
            return Err(Trouble::usage(what, "make it smaller"));
        }
        let wrong = |at: usize, what: &str| {
            let line = line_of(text, at);
            let next = format!("mend line {line} of {name}, then run the same command again");
            Trouble::usage(format!("{name}, line {line}: {what}"), next)
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

    /// What the variables say. Each must be the name of a key.
    pub(super) fn of_environment(variables: &[(String, String)]) -> Result<Self, Trouble> {
        let names: Vec<(String, Key)> =
            Key::ALL.into_iter().map(|key| (key.variable(), key)).collect();
        let mut sheet = Self::default();
        for (variable, words) in variables {
            let Some((_, key)) = names.iter().find(|(name, _)| name == variable) else {
                let near = nearest(variable, names.iter().map(|(name, _)| name.as_str()));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let what = format!("the variable {variable} sets nothing{near}");
                let next = format!("unset {variable}, or see `forge config list` for all keys");
                return Err(Trouble::usage(what, next));
            };
            let value = from_words(*key, words).map_err(|flaw| {
                let what = format!("the variable {variable}: {}", flaw.what);
                Trouble::usage(what, format!("unset {variable}, or set it right"))
            })?;
            let place = Place::Variable(variable.clone());
            sheet.0.entry(*key).or_default().push(Said { layer: Layer::Environment, place, value });
        }
        Ok(sheet)
    }

    /// What was given on the command line.
    pub(super) fn of_flags(flags: &[(String, String)]) -> Result<Self, Trouble> {
        let mut sheet = Self::default();
        for (name, words) in flags {
            let key = known(name)?;
            let value = from_words(key, words).map_err(|flaw| {
                Trouble::usage(flaw.what, format!("forge config explain {}", key.name()))
            })?;
            let said = Said { layer: Layer::Flags, place: Place::CommandLine, value };
            sheet.0.entry(key).or_default().push(said);
        }
        Ok(sheet)
    }
}

/// The key of this name, or the nearest one in an error.
pub(super) fn known(name: &str) -> Result<Key, Trouble> {
    Key::find(name).ok_or_else(|| {
        let word = name.rsplit('.').next().unwrap_or(name);
        let elsewhere = Key::ALL
            .into_iter()
            .find(|key| !word.is_empty() && key.name().rsplit('.').next() == Some(word));
        let near = elsewhere.map(Key::name);
        let near = near.or_else(|| nearest(name, Key::ALL.into_iter().map(Key::name)));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let name = if name.is_empty() { "the empty word".to_owned() } else { format!("`{name}`") };
        Trouble::usage(format!("{name} is no key{near}"), "forge config list")
    })
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
        for (word, value) in table {
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
                self.wrong(at, || {
                    let near =
                        Key::meant(path, word).map(|near| format!("; did you mean `{near}`?"));
                    let shown: String = word.chars().take(80).collect();
                    format!("unknown key `{shown}`{}", near.unwrap_or_default())
                });
            }
        }
    }
}
