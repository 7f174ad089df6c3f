//! Helpers that several commands share: opening the repository, resolving a run, parsing a budget, printing JSON.

use std::{env, path::PathBuf};

use forge_api::{Error, error::Kind, forge::Forge, start::quoted};
use forge_core::money::Money;

use crate::{format, terminal_output};

/// The exit code after Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;

/// The request in example commands, quoted for a shell.
pub(crate) const EXAMPLE_REQUEST: &str = "\"what you want\"";

/// Opens Forge for the repository of the current directory.
pub(super) fn open_forge() -> Result<Forge, Error> {
    Forge::open(&current_dir()?)
}

/// Returns the current directory, or says that it was deleted.
pub(super) fn current_dir() -> Result<PathBuf, Error> {
    env::current_dir().map_err(|error| {
        Error::surroundings(format!("the current folder is gone: {error}"), "go into your project")
    })
}

/// Resolves a prefix of a run id, or takes the run that changed last.
pub(super) fn named_or_latest(forge: &Forge, named: Option<&str>) -> Result<String, Error> {
    match named {
        Some(prefix) => forge.resolve(prefix),
        None => forge.latest(),
    }
}

/// Resolves `[RUN] [NAME]`: a single word that names no run is a name in the latest one.
pub(super) fn run_and_name(
    forge: &Forge,
    run: Option<&str>,
    name: Option<&str>,
) -> Result<(String, Option<String>), Error> {
    match (run, name) {
        (Some(run), Some(name)) => Ok((forge.resolve(run)?, Some(name.to_owned()))),
        (None, name) => Ok((forge.latest()?, name.map(str::to_owned))),
        (Some(word), None) => match forge.resolve(word) {
            Ok(run) => Ok((run, None)),
            Err(error) if error.kind == Kind::Usage && !word.is_empty() => {
                let latest = forge.latest().map_err(|_| error)?;
                if !forge.knows_name(&latest, word) {
                    let id = format::short_id(&latest);
                    let what = format!(
                        "`{word}` is not a run, nor a task or file of the latest one ({id})"
                    );
                    let next = format!("forge status\n   or: forge show {id}");
                    return Err(Error::usage(what, next));
                }
                Ok((latest, Some(word.to_owned())))
            }
            Err(error) => Err(error),
        },
    }
}

/// Returns a record or a view as one line of JSON.
pub(super) fn json_line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("a record or a view can be written")
}

/// Prints what a person should know about records.
pub(super) fn print_notes(notes: &[String]) {
    for note in notes {
        terminal_output::print_note(note);
    }
}

pub(super) fn print_json(value: &impl serde::Serialize) {
    terminal_output::print_raw(
        &serde_json::to_string_pretty(value).expect("a view can be written"),
    );
}

/// Parses a budget in dollars. The error shows the command as it was typed, with a valid amount.
pub(crate) fn parse_budget(text: &str) -> Result<Money, Error> {
    let amount = Money::parse(text.strip_prefix('$').unwrap_or(text));
    amount.filter(|amount| amount.0 > 0).ok_or_else(|| {
        let what = format!("`{text}` is not a valid --budget; use dollars above 0, such as 2.50");
        let typed = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        Error::usage(what, with_value(typed, "--budget", "2.50"))
    })
}

/// Returns a command as it was typed, with another value of a flag.
fn with_value(typed: impl Iterator<Item = String>, flag: &str, value: &str) -> String {
    let mut words = vec!["forge".to_owned()];
    let mut typed = typed;
    while let Some(word) = typed.next() {
        if word == flag {
            typed.next();
            words.extend([word, value.to_owned()]);
        } else if word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')) {
            words.push(format!("{flag}={value}"));
        } else {
            words.push(quoted(&word));
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::with_value;

    #[test]
    fn a_flag_gets_another_value_and_all_other_words_stay() {
        let fixed = |line: &str| with_value(line.split('|').map(str::to_owned), "--budget", "2.50");
        assert_eq!(fixed("run|--budget|abc|count it"), "forge run --budget 2.50 'count it'");
        assert_eq!(fixed("run|count it|--budget=x"), "forge run 'count it' --budget=2.50");
        assert_eq!(fixed("resume|--budget"), "forge resume --budget 2.50");
    }
}
