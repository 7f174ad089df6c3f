//! `forge config`: what is set, who set it, and what the repository may run here.
//!
//! Also here: how a person is asked about the commands of a repository. What is set, and what was
//! allowed, is known to the runtime.

use std::{path::PathBuf, process::ExitCode};

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
    common::{doors, say_json},
    prompt::{Consent, consent_to_commands},
};
use crate::{format, terminal_output, text_width};

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
                let top = doors().ok().and_then(|doors| top(&doors).ok());
                Ok(EditedFile::user(top.as_deref())?)
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
        let room = terminal_output::terminal_width().saturating_sub(widest + 2 + 2 + WHO_WIDTH);
        let value = text_width::fill(&format::cut(&value, room), room);
        let line = format!("{:<widest$}  {value}  {who}", row.key);
        let line = line.trim_end();
        if row.layer.is_none_or(|layer| layer == settings::Layer::Shipped) {
            terminal_output::print_dimmed(line);
        } else {
            terminal_output::print(line);
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
    terminal_output::print(&format!("{} = {}", row.key, value(row)));
    terminal_output::print(&format!("  {}; {may_be}", row.about));
    let widest = said.iter().map(|said| text_width::width(&said.place)).max().unwrap_or_default();
    for (position, said) in said.iter().enumerate() {
        let mark = if position == 0 { ">" } else { " " };
        let word = said.layer.word();
        let place = text_width::fill(&said.place, widest);
        let line = format!("{mark} {word:<11}  {place}  {}", said.value);
        if position == 0 {
            terminal_output::print(&line);
        } else {
            terminal_output::print_dimmed(&line);
        }
    }
    if said.is_empty() {
        terminal_output::print("  nobody says anything about it");
    }
    terminal_output::print_dimmed(&format!(
        "  forge config set {} VALUE, or {variable}=VALUE",
        row.key
    ));
    notes(all);
    Ok(())
}

fn value(row: &SettingRow) -> String {
    row.value.as_ref().map_or_else(|| "not set".to_owned(), ToString::to_string)
}

fn notes(notes: &[String]) {
    for note in notes {
        terminal_output::print(&format::wrap(
            &format!("note: {note}"),
            6,
            terminal_output::terminal_width(),
        ));
    }
}

fn tell_change(target: Target, file: &EditedFile, change: &Change) -> Result<(), Trouble> {
    let (path, key) = (file.path().display(), change.key.name());
    terminal_output::print(&match &change.value {
        Some(value) => format!("{path}: {key} = {value}"),
        None => format!("{path}: {key} is taken out"),
    });
    match (target, change.file) {
        (Target::Local, FileWas::Missing) => {
            terminal_output::print(&format!(
                "keep it out of git: add {} to .gitignore",
                settings::LOCAL_FILE
            ));
        }
        (Target::Repo, FileWas::There | FileWas::Missing) => {
            terminal_output::print("commit it: a run reads it from the commit that it starts from");
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
                terminal_output::print(&format!("note: {place} says otherwise, and wins"));
            }
            (None, Some(place)) => {
                terminal_output::print(&format!("now {} counts ({place})", value(&row)))
            }
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
        terminal_output::print(if trust::commands(&settings, &found).is_empty() {
            "this repository makes Forge run no commands; there is nothing to allow"
        } else {
            "all commands of this repository are allowed already"
        });
        return Ok(ExitCode::SUCCESS);
    }
    match consent_to_commands(&unapproved) {
        // Whoever calls this without a terminal has said it by name.
        Consent::Given | Consent::NobodyToAsk => {
            let path = doors.approve(&settings, &unapproved)?;
            terminal_output::print(&format!("allowed; to take it back, remove {}", path.display()));
            Ok(ExitCode::SUCCESS)
        }
        Consent::Refused => {
            terminal_output::print("nothing is allowed");
            Ok(ExitCode::from(Standing::Waiting.exit_code()))
        }
    }
}
