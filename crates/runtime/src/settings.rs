//! What a project says in `forge.toml`, and what is frozen of it when a run starts.
//!
//! An unknown key is an error that names the line and the nearest right key.

use std::path::Path;

use forge_core::{event::Blob, money::Money};
use serde::{Deserialize, Serialize};

use crate::{Trouble, text::read_text};

/// Calls under way at the same time, unless the settings say otherwise.
const AT_ONCE_DEFAULT: u32 = 8;
/// More calls than this are never under way at the same time.
const AT_ONCE_MAX: u32 = 256;
const WALL_MINUTES_DEFAULT: u64 = 45;
const SILENCE_MINUTES_DEFAULT: u64 = 15;
const OUTPUT_MIB_DEFAULT: u64 = 64;
/// A day. Nobody waits longer for one call.
const MINUTES_MAX: u64 = 24 * 60;
const OUTPUT_MIB_MAX: u64 = 4096;

/// The most bytes of a settings file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The name of the settings file.
pub const FILE: &str = "forge.toml";

/// What a project says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Who plays the roles.
    pub agent: Option<String>,
    /// How much a run may do.
    #[serde(default)]
    pub limits: LimitSettings,
    /// How agents are set up.
    #[serde(default)]
    pub agents: AgentSettings,
}

/// How much a run may do.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSettings {
    /// Calls under way at the same time.
    pub at_once: Option<u32>,
    /// Dollars for a whole run, such as "20".
    pub budget: Option<String>,
    /// Dollars for one call, such as "2.50".
    pub call_budget: Option<String>,
    /// How long one call may take.
    pub wall_minutes: Option<u64>,
    /// How long one call may say nothing.
    pub silence_minutes: Option<u64>,
    /// How much one call may print.
    pub output_mib: Option<u64>,
}

/// How agents are set up.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    /// The scripted agent.
    #[serde(default)]
    pub scripted: ScriptedSettings,
}

/// The scripted agent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedSettings {
    /// The file that it plays from, relative to the settings file.
    pub scenario: Option<String>,
}

/// What is frozen for one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// Who plays the roles.
    pub agent: Agent,
    /// How long one call may take.
    pub wall_ms: u64,
    /// How long one call may say nothing.
    pub silence_ms: u64,
    /// How much one call may print.
    pub output_bytes: u64,
}

/// Who plays the roles of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Nobody: the flow has only commands and people.
    Nobody,
    /// The scripted agent, from this scenario.
    Scripted {
        /// The scenario, as a blob.
        scenario: Blob,
    },
}

impl Settings {
    /// Reads the settings of a project; none is as good as an empty file.
    pub fn read(top: Option<&Path>) -> Result<Self, Trouble> {
        let Some(path) = top.map(|top| top.join(FILE)) else { return Ok(Self::default()) };
        let Some(text) = read_text(&path, FILE_BYTES_MAX)? else { return Ok(Self::default()) };
        let settings: Self = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(&text, span.start));
            let what = format!("{}, line {line}: {}", path.display(), explain(error.message()));
            Trouble::usage(
                what,
                format!("mend line {line} of {FILE}, then run the same command again"),
            )
        })?;
        settings.check(&path)?;
        Ok(settings)
    }

    fn check(&self, path: &Path) -> Result<(), Trouble> {
        let wrong = |what: String| {
            let what = format!("{}: {what}", path.display());
            Trouble::usage(what, format!("mend {FILE}, then run the same command again"))
        };
        let bounded = |name: &str, value: Option<u64>, most: u64| match value {
            Some(value) if value == 0 || value > most => {
                Err(wrong(format!("limits.{name} is {value}, which is not between 1 and {most}")))
            }
            Some(_) | None => Ok(()),
        };
        bounded("at_once", self.limits.at_once.map(u64::from), u64::from(AT_ONCE_MAX))?;
        bounded("wall_minutes", self.limits.wall_minutes, MINUTES_MAX)?;
        bounded("silence_minutes", self.limits.silence_minutes, MINUTES_MAX)?;
        bounded("output_mib", self.limits.output_mib, OUTPUT_MIB_MAX)?;
        for (name, value) in
            [("budget", &self.limits.budget), ("call_budget", &self.limits.call_budget)]
        {
            if let Some(value) = value
                && Money::parse(value).is_none()
            {
                return Err(wrong(format!(
                    "limits.{name} is \"{value}\", which is no amount such as \"2.50\""
                )));
            }
        }
        match self.agent.as_deref() {
            None | Some("scripted") => Ok(()),
            Some(other) => {
                Err(wrong(format!("there is no agent `{other}`; this version has `scripted`")))
            }
        }
    }

    /// Calls under way at the same time.
    pub fn at_once(&self) -> u32 {
        self.limits.at_once.unwrap_or(AT_ONCE_DEFAULT)
    }

    /// What is frozen for one run in which this agent plays.
    pub fn freeze(&self, agent: Agent) -> Frozen {
        let minutes = |value: Option<u64>, default: u64| value.unwrap_or(default) * 60_000;
        Frozen {
            agent,
            wall_ms: minutes(self.limits.wall_minutes, WALL_MINUTES_DEFAULT),
            silence_ms: minutes(self.limits.silence_minutes, SILENCE_MINUTES_DEFAULT),
            output_bytes: self.limits.output_mib.unwrap_or(OUTPUT_MIB_DEFAULT) * 1024 * 1024,
        }
    }
}

/// The line that a byte lies in, counted from one.
pub(crate) fn line_of(text: &str, byte: usize) -> usize {
    text.get(..byte).unwrap_or(text).matches('\n').count() + 1
}

/// A message of the TOML reader, with the nearest right key where a key is unknown.
pub(crate) fn explain(message: &str) -> String {
    let message = message.trim();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(unknown), true) = (quoted.next(), message.starts_with("unknown field")) else {
        return message.to_owned();
    };
    match nearest(unknown, quoted) {
        Some(near) => format!("unknown key `{unknown}`; did you mean `{near}`?"),
        None => message.replacen("unknown field", "unknown key", 1),
    }
}

/// The word that is least different, if it is not too different.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = word.chars().count() / 2 + 1;
    known
        .map(|near| (distance(word, near), near))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, near)| near)
}

/// How many letters to add, take away or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = before + usize::from(from != *to);
            before = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Settings, Trouble> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        Settings::read(Some(folder.path()))
    }

    #[test]
    fn an_unknown_key_names_its_line_and_the_nearest_right_one() {
        let error = read("agent = \"scripted\"\n[limits]\nbudgt = \"2\"\n").unwrap_err();
        assert!(error.what.contains("line 3"), "{error}");
        assert!(error.what.contains("did you mean `budget`?"), "{error}");
    }

    #[test]
    fn no_file_is_as_good_as_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Settings::read(Some(folder.path())).unwrap().at_once(), AT_ONCE_DEFAULT);
        assert_eq!(read("").unwrap().at_once(), AT_ONCE_DEFAULT);
    }

    #[test]
    fn values_that_cannot_be_are_refused_by_name() {
        for (text, expected) in [
            ("[limits]\nat_once = 0", "limits.at_once is 0"),
            ("[limits]\nbudget = \"much\"", "limits.budget is \"much\""),
            ("agent = \"claudius\"", "there is no agent `claudius`"),
            ("agent = 3", "line 1"),
            ("agent = \"scripted", "line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.what.contains(expected), "{error}");
        }
    }
}
