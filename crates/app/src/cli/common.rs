//! Helpers that several commands share: opening the repository, resolving a run, parsing a budget, printing JSON.

use std::{env, path::PathBuf};

use forge_api::{Error, forge::Forge};
use forge_core::money::Money;

use crate::terminal_output;

/// The exit code after Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;

/// The request in example commands, quoted for a shell.
pub(crate) const EXAMPLE_REQUEST: &str = "'show the total at the end of the list'";

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

/// Returns a record or a view as one line of JSON.
pub(super) fn json_line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("a record or a view can be written")
}

pub(super) fn print_json(value: &impl serde::Serialize) {
    terminal_output::print_raw(
        &serde_json::to_string_pretty(value).expect("a view can be written"),
    );
}

/// Parses a budget in dollars. The error shows `command` with a valid amount in place of `AMOUNT`.
pub(crate) fn parse_budget(text: &str, command: &str) -> Result<Money, Error> {
    let amount = Money::parse(text.strip_prefix('$').unwrap_or(text));
    amount.filter(|amount| amount.0 > 0).ok_or_else(|| {
        let what = format!("`--budget {text}` is no amount in dollars that is more than nothing");
        Error::usage(what, command.replacen("AMOUNT", "2.50", 1))
    })
}
