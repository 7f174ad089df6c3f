//! What several commands need: the repository, the run that is meant, budgets, JSON.

use std::env;

use forge_api::{Trouble, forge::Doors, start::examples};
use forge_core::money::Money;

use crate::terminal_output;

/// What a person might want, in examples.
pub(crate) const EXAMPLE_REQUEST: &str = "'show the total at the end of the list'";

/// The doors of the repository that we were called in.
pub(super) fn open_forge() -> Result<Doors, Trouble> {
    let here = env::current_dir().map_err(|error| {
        Trouble::surroundings(
            format!("the current folder is gone: {error}"),
            "go into your project",
        )
    })?;
    Doors::open(&here)
}

/// The run that a person named, or the one that changed last.
pub(super) fn named_or_latest(forge: &Doors, named: Option<&str>) -> Result<String, Trouble> {
    match named {
        Some(prefix) => forge.resolve(prefix),
        None => forge.latest(),
    }
}

/// Prints something as JSON.
pub(super) fn print_json(value: &impl serde::Serialize) {
    terminal_output::print_raw(
        &serde_json::to_string_pretty(value).expect("a view can be written"),
    );
}

/// A cap in dollars, or why it is none, with two of this command that are.
pub(crate) fn parse_budget(text: &str, command: &str) -> Result<Money, Trouble> {
    let amount = Money::parse(text.strip_prefix('$').unwrap_or(text));
    amount.filter(|amount| amount.0 > 0).ok_or_else(|| {
        let what = format!("`--budget {text}` is no amount in dollars that is more than nothing");
        let said = ["2.50", "10"].map(|amount| command.replacen("AMOUNT", amount, 1));
        Trouble::usage(what, examples(&[&said[0], &said[1]]))
    })
}
