//! `forge config`: what is set, who set it, and what the repository may run here.
//!
//! Also here: how a person is asked about the commands of a repository. What is set, and what was
//! allowed, is known to the runtime.

use std::{
    io::{self, BufRead, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Subcommand};
use forge_core::view::Standing;
use forge_runtime::{
    Trouble,
    catalog::Catalog,
    doors::Doors,
    settings::{
        self, Explained, SettingRow,
        edit::{Change, EditedFile, FileWas},
    },
    trust,
};

use super::{
    doors, say_json,
    start_prompts::{ASKED_MAX, none_of_the_answers},
};
use crate::{format, text_width};

/// Show and change what is set, and allow what a repository runs
#[derive(Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List all keys, with what counts and who says so
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain one key: what it is, who says what, and who wins
    Explain {
        /// The key, such as limits.budget
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Set a key in forge.toml, or in a file of your own
    Set {
        /// The key, such as limits.budget
        key: String,
        /// The value; a list is written as in TOML
        value: String,
        #[command(flatten)]
        target: Switches,
    },
    /// Take a key out of forge.toml, or out of a file of your own
    Unset {
        /// The key, such as limits.budget
        key: String,
        #[command(flatten)]
        target: Switches,
    },
    /// Print the JSON Schema of forge.toml, for editors
    Schema,
    /// Allow the commands that this repository makes Forge run
    Approve {
        /// The flow whose commands are allowed, too [default: as set]
        #[arg(long, value_name = "NAME")]
        flow: Option<String>,
    },
}

/// Which file is meant: at most one of these.
#[derive(Args)]
struct Switches {
    /// In forge.local.toml: for you, in this checkout
    #[arg(long, conflicts_with = "user")]
    local: bool,
    /// In your own configuration: for you, everywhere
    #[arg(long)]
    user: bool,
}

/// The width of the longest name of a layer.
const WHO_WIDTH: usize = "environment".len();

/// Which file is changed.
#[derive(Clone, Copy)]
enum Target {
    Repo,
    Local,
    User,
}

/// What a person says about the commands of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// They may be run.
    Given,
    /// They may not.
    Refused,
    /// There is no terminal to ask at.
    NobodyToAsk,
}

impl Switches {
    fn target(&self) -> Target {
        match (self.local, self.user) {
            (true, _) => Target::Local,
            (false, true) => Target::User,
            (false, false) => Target::Repo,
        }
    }
}

impl Target {
    fn file(self) -> Result<EditedFile, Trouble> {
        match self {
            // It can be changed from everywhere.
            Self::User => {
                EditedFile::user(doors().ok().and_then(|doors| top(&doors).ok()).as_deref())
            }
            Self::Repo => Ok(EditedFile::repo(&top(&doors()?)?)),
            Self::Local => Ok(EditedFile::local(&top(&doors()?)?)),
        }
    }
}

impl Config {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        match self.what {
            What::List { json } => list(json)?,
            What::Explain { key, json } => explain(&key, json)?,
            What::Set { key, value, target } => {
                let target = target.target();
                let file = target.file()?;
                let change = file.set(&key, &value)?;
                tell_change(target, &file, &change)?;
            }
            What::Unset { key, target } => {
                let target = target.target();
                let file = target.file()?;
                let change = file.unset(&key)?;
                tell_change(target, &file, &change)?;
            }
            What::Schema => say_json(&settings::schema()),
            What::Approve { flow } => return approve(flow.as_deref()),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(json: bool) -> Result<(), Trouble> {
    let settings = doors()?.settings()?;
    let rows = settings.list();
    if json {
        say_json(&rows);
        return Ok(());
    }
    let widest = rows.iter().map(|row| row.key.len()).max().unwrap_or_default();
    for row in &rows {
        let (value, who) = (value(row), row.layer.map_or("", settings::Layer::word));
        let room = format::width().saturating_sub(widest + 2 + 2 + WHO_WIDTH);
        let value = text_width::fill(&format::cut(&value, room), room);
        let line = format!("{:<widest$}  {value}  {who}", row.key);
        let line = line.trim_end();
        if row.layer.is_none_or(|layer| layer == settings::Layer::Shipped) {
            format::say_in_grey(line);
        } else {
            format::say(line);
        }
    }
    notes(&settings.notes());
    Ok(())
}

fn explain(key: &str, json: bool) -> Result<(), Trouble> {
    let explained = doors()?.settings()?.explain(key)?;
    if json {
        say_json(&explained);
        return Ok(());
    }
    let Explained { row, may_be, variable, said, notes: all } = &explained;
    format::say(&format!("{} = {}", row.key, value(row)));
    format::say(&format!("  {}; {may_be}", row.about));
    let widest = said.iter().map(|said| text_width::width(&said.place)).max().unwrap_or_default();
    for (position, said) in said.iter().enumerate() {
        let mark = if position == 0 { ">" } else { " " };
        let word = said.layer.word();
        let place = text_width::fill(&said.place, widest);
        let line = format!("{mark} {word:<11}  {place}  {}", said.value);
        if position == 0 {
            format::say(&line);
        } else {
            format::say_in_grey(&line);
        }
    }
    if said.is_empty() {
        format::say("  nobody says anything about it");
    }
    format::say_in_grey(&format!("  forge config set {} VALUE, or {variable}=VALUE", row.key));
    notes(all);
    Ok(())
}

fn value(row: &SettingRow) -> String {
    row.value.as_ref().map_or_else(|| "not set".to_owned(), ToString::to_string)
}

fn notes(notes: &[String]) {
    for note in notes {
        format::say(&format::wrap(&format!("note: {note}"), 6, format::width()));
    }
}

fn tell_change(target: Target, file: &EditedFile, change: &Change) -> Result<(), Trouble> {
    let (path, key) = (file.path().display(), change.key.name());
    format::say(&match &change.value {
        Some(value) => format!("{path}: {key} = {value}"),
        None => format!("{path}: {key} is taken out"),
    });
    match (target, change.file) {
        (Target::Local, FileWas::Missing) => {
            format::say(&format!("keep it out of git: add {} to .gitignore", settings::LOCAL_FILE));
        }
        (Target::Repo, FileWas::There | FileWas::Missing) => {
            format::say("commit it: a run reads it from the commit that it starts from");
        }
        (Target::Local, FileWas::There) | (Target::User, FileWas::There | FileWas::Missing) => {}
    }
    // Who is overruled wants to know it now, and not when nothing has changed.
    if let Ok(doors) = doors()
        && let Ok(settings) = doors.settings()
    {
        let row = settings.explain(&key)?.row;
        match (&change.value, &row.place) {
            (Some(_), Some(place)) if row.value != change.value => {
                format::say(&format!("note: {place} says otherwise, and wins"));
            }
            (None, Some(place)) => format::say(&format!("now {} counts ({place})", value(&row))),
            (Some(_) | None, Some(_) | None) => {}
        }
        notes(&settings.notes());
    }
    Ok(())
}

fn top(doors: &Doors) -> Result<PathBuf, Trouble> {
    doors.home.repository.top.clone().ok_or_else(|| {
        let what = "a bare repository has no checkout to write settings in";
        Trouble::usage(what, "forge config set KEY VALUE --user")
    })
}

fn approve(flow: Option<&str>) -> Result<ExitCode, Trouble> {
    // What is allowed is what a run would use, and that is what is committed.
    let doors = doors()?;
    let base = doors.home.repository.head();
    let settings = doors.settings_at(base.as_deref())?;
    let flow = flow.unwrap_or(&settings.flow);
    let found = Catalog::at(&doors.home.repository, base.as_deref()).flow(flow)?;
    let unapproved = doors.unapproved(&settings, &found)?;
    if unapproved.is_empty() {
        format::say(if trust::commands(&settings, &found).is_empty() {
            "this repository makes Forge run no commands; there is nothing to allow"
        } else {
            "all commands of this repository are allowed already"
        });
        return Ok(ExitCode::SUCCESS);
    }
    match ask(&unapproved) {
        // Whoever calls this without a terminal has said it by name.
        Consent::Given | Consent::NobodyToAsk => {
            let path = doors.approve(&settings, &unapproved)?;
            format::say(&format!("allowed; to take it back, remove {}", path.display()));
            Ok(ExitCode::SUCCESS)
        }
        Consent::Refused => {
            format::say("nothing is allowed");
            Ok(ExitCode::from(Standing::Waiting.exit_code()))
        }
    }
}

/// Shows the commands of a repository and asks about them, if there is somebody to ask. Nothing of
/// this is data.
pub(crate) fn ask(commands: &[String]) -> Consent {
    format::warn("this repository makes Forge run, on this machine and as you:");
    for command in commands {
        for (position, line) in format::harmless(command).lines().enumerate() {
            format::warn(&format!("  {} {line}", if position == 0 { "$" } else { ">" }));
        }
    }
    yes_or_no("allow these commands? [y/N]")
}

/// Asks the person at the terminal, if there is one.
pub(crate) fn yes_or_no(question: &str) -> Consent {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Consent::NobodyToAsk;
    }
    answer(&mut io::stdin().lock(), question)
}

/// Asks until there is a yes or a no. Only a clear yes is one; Enter, the end of the input, and whoever is not
/// understood again and again say no.
fn answer(input: &mut impl BufRead, question: &str) -> Consent {
    for _ in 0..ASKED_MAX {
        format::warn(question);
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return Consent::Refused,
            Ok(_) => {}
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Consent::Given,
            "" | "n" | "no" => return Consent::Refused,
            neither => none_of_the_answers(neither),
        }
    }
    Consent::Refused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(input: &[u8]) -> Consent {
        answer(&mut &*input, "?")
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        for yes in ["y\n", "Y\n", "yes\n", " YES \n", "y"] {
            assert_eq!(said(yes.as_bytes()), Consent::Given, "{yes:?}");
        }
        for no in ["", "\n", "n\n", "No\n", "yep\n", "no yes\n", "\u{1b}y\n"] {
            assert_eq!(said(no.as_bytes()), Consent::Refused, "{no:?}");
        }
        assert_eq!(said(b"y\xff\n"), Consent::Refused);
    }

    #[test]
    fn what_is_neither_yes_nor_no_is_asked_again_up_to_a_limit() {
        assert_eq!(said(b"S\nyep\ny\n"), Consent::Given);
        assert_eq!(said(b"S\n\ny\n"), Consent::Refused);
        assert_eq!(said(b"S\nn\ny\n"), Consent::Refused);
        assert_eq!(said(b"1\n2\n3\n4\ny\n"), Consent::Given);
        assert_eq!(said(b"1\n2\n3\n4\n5\ny\n"), Consent::Refused);
    }
}
