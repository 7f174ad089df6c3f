//! `forge __complete`, which completion scripts call: the runs, tasks, flows, agents and keys that the last word may
//! become.
//!
//! Not here: commands and flags, which the scripts know (`completions.rs`).
//!
//! Invariant: nothing is changed, and what cannot be read completes to nothing.

use clap::Command;
use forge_api::{
    accounts::Accounts, agents::list::Roster, clock::now, forge::Forge, settings::Settings,
};
use forge_core::view::{Course, sanitize};

use super::common::{current_dir, open_forge};
use crate::{format, terminal_output, text::status_text::standing_text};

/// The word that completion scripts call.
pub(crate) const COMPLETE: &str = "__complete";
/// The most runs that are offered.
const RUNS_OFFERED_MAX: usize = 30;
/// The columns of the title of a run.
const TITLE_WIDTH: usize = 50;

/// What a word of the command line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordKind {
    Account,
    Run,
    /// A task, a stage or a file of the run that is named before it, or of the latest.
    Part,
    Flow,
    Agent,
    Setting,
}

/// Prints what the last of `words` may become, a line each: the word, a tab, and what it is.
pub(crate) fn print_candidates(words: &[String], cli: &Command) {
    let Some((kind, before)) = expected(words, cli) else { return };
    let start = words.last().map(String::as_str).unwrap_or_default();
    for (word, about) in candidates(kind, &before).unwrap_or_default() {
        if word.starts_with(start) {
            terminal_output::print(&format!("{word}\t{about}"));
        }
    }
}

/// Returns what the last word names, and the arguments of the command before it.
fn expected(words: &[String], cli: &Command) -> Option<(WordKind, Vec<String>)> {
    let (_, before) = words.split_last()?;
    let mut command = cli;
    let mut arguments = Vec::new();
    let mut value_of = None;
    for word in before {
        if value_of.take().is_some() {
            continue;
        }
        if let Some(flag) = word.strip_prefix('-') {
            let name = flag.trim_start_matches('-');
            let mut flags = command.get_arguments().chain(cli.get_arguments());
            value_of = flags
                .find(|known| {
                    known.get_long() == Some(name)
                        || known.get_short().is_some_and(|short| name == short.to_string())
                })
                .filter(|known| known.get_action().takes_values())
                .map(|known| known.get_id().as_str());
        } else if let Some(found) = command.find_subcommand(word).filter(|_| arguments.is_empty()) {
            command = found;
        } else {
            arguments.push(word.clone());
        }
    }
    let id = match value_of {
        Some(flag) => flag,
        None => command.get_positionals().nth(arguments.len())?.get_id().as_str(),
    };
    let kind = match id {
        "flow" => WordKind::Flow,
        "name" if is_below(cli, "flow", command) => WordKind::Flow,
        "name" if is_below(cli, "accounts", command) => WordKind::Account,
        "agent" | "name" => WordKind::Agent,
        "run" => WordKind::Run,
        "task" | "unit" | "artifact" | "code" | "diff" => WordKind::Part,
        "key" => WordKind::Setting,
        _ => return None,
    };
    Some((kind, arguments))
}

/// Returns true if a command is one of those below another.
fn is_below(cli: &Command, outer: &str, command: &Command) -> bool {
    let outer = cli.find_subcommand(outer);
    outer.is_some_and(|outer| outer.get_subcommands().any(|inner| std::ptr::eq(inner, command)))
}

fn candidates(kind: WordKind, before: &[String]) -> Option<Vec<(String, String)>> {
    match kind {
        WordKind::Run => Some(runs(&open_forge().ok()?)),
        WordKind::Part => {
            let forge = open_forge().ok()?;
            let named = before.first().and_then(|word| forge.resolve(word).ok());
            let is_run = named.is_none() && before.is_empty();
            let run = named.or_else(|| forge.latest().ok())?;
            let mut found = parts(&forge, &run)?;
            // A single word may name a run as well.
            if is_run {
                found.extend(runs(&forge));
            }
            Some(found)
        }
        WordKind::Flow => {
            let names = open_forge().ok()?.catalog().names().ok()?;
            Some(names.into_iter().map(|name| (name, "flow".to_owned())).collect())
        }
        WordKind::Account => {
            let accounts = Accounts::open(&current_dir().ok()?).ok()?;
            Some(accounts.names().map(|name| (name.to_owned(), String::new())).collect())
        }
        WordKind::Agent => {
            let roster = Roster::open(&current_dir().ok()?).ok()?;
            Some(roster.names().map(|name| (name.to_owned(), "agent".to_owned())).collect())
        }
        WordKind::Setting => {
            let settings = match open_forge() {
                Ok(forge) => forge.settings().ok()?,
                Err(_) => Settings::read(None).ok()?,
            };
            let rows = settings.list().into_iter();
            Some(rows.map(|row| (row.key, row.about)).collect())
        }
    }
}

fn runs(forge: &Forge) -> Vec<(String, String)> {
    let now = now();
    let (rows, _) = forge.rows(RUNS_OFFERED_MAX).unwrap_or_default();
    let line = |row: &forge_core::view::RunRow| {
        let title = format::one_line(&sanitize(&row.title), TITLE_WIDTH);
        (format::short_id(&row.run).to_owned(), format!("{}, {title}", standing_text(row, now)))
    };
    let (over, open): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row.standing.course() == Course::Over);
    open.into_iter().chain(over).map(line).collect()
}

fn parts(forge: &Forge, run: &str) -> Option<Vec<(String, String)>> {
    let view = forge.view(run).ok()?;
    let units = view.units.iter().map(|unit| {
        let name = match unit.unit.split_once('/') {
            // `build.T2/implement` is called T2.
            Some((scope, _)) => scope.rsplit('.').next().unwrap_or(scope).to_owned(),
            None => unit.unit.clone(),
        };
        (name, "stage or task".to_owned())
    });
    let mut found: Vec<(String, String)> = units.collect();
    let result = forge.result(run).ok()?;
    found.extend(
        result
            .artifacts
            .iter()
            .map(|one| (format::artifact_argument(&one.name).to_owned(), "file".to_owned())),
    );
    found.sort();
    found.dedup();
    Some(found)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn what_a_word_names_follows_from_the_words_before_it() {
        for (line, named) in [
            ("status ", Some(WordKind::Run)),
            ("status oq", Some(WordKind::Run)),
            ("-C .. diff ", Some(WordKind::Run)),
            ("diff oqmd ", Some(WordKind::Part)),
            ("show oqmd des", Some(WordKind::Part)),
            ("approve --question Q1 ", Some(WordKind::Run)),
            ("run --flow ", Some(WordKind::Flow)),
            ("run --agent cl", Some(WordKind::Agent)),
            ("flow show ", Some(WordKind::Flow)),
            ("agents use ", Some(WordKind::Agent)),
            ("accounts check w", Some(WordKind::Account)),
            ("config get lim", Some(WordKind::Setting)),
            ("run ", None),
            ("config ", None),
            ("resume --budget ", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = expected(&words, &crate::Cli::command()).map(|(named, _)| named);
            assert_eq!(found, named, "{line}");
        }
    }
}
