//! `forge config`: shows and edits settings with their provenance, and approves the commands of a repository.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use forge_api::{
    Error,
    catalog::Catalog,
    forge::Forge,
    settings::{
        self, Explained, SettingRow,
        edit::{EditedFile, SettingChange},
    },
    trust,
};
use forge_core::view::Standing;

use super::{
    common::{open_forge, print_json},
    prompt::{Confirmation, confirm_commands},
};
use crate::{format, terminal_info, terminal_output, text_width};

/// Show and change what is set, and allow what a repository runs
#[derive(Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    subcommand: ConfigSubcommand,
}

#[derive(Subcommand)]
enum ConfigSubcommand {
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
        target: TargetFlags,
    },
    /// Take a key out of forge.toml, or out of a file of your own
    Unset {
        /// The key, such as limits.budget
        key: String,
        #[command(flatten)]
        target: TargetFlags,
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
struct TargetFlags {
    /// In forge.local.toml: for you, in this checkout
    #[arg(long, conflicts_with = "user")]
    local: bool,
    /// In your own configuration: for you, everywhere
    #[arg(long)]
    user: bool,
}

/// The width of the longest layer name.
const LAYER_WIDTH: usize = "environment".len();

/// The settings file that is changed.
#[derive(Clone, Copy)]
enum SettingsTarget {
    Repo,
    Local,
    User,
}

impl TargetFlags {
    fn target(&self) -> SettingsTarget {
        match (self.local, self.user) {
            (true, _) => SettingsTarget::Local,
            (false, true) => SettingsTarget::User,
            (false, false) => SettingsTarget::Repo,
        }
    }
}

impl SettingsTarget {
    fn file(self) -> Result<EditedFile, Error> {
        match self {
            // The user's file can be changed outside of a repository, too.
            Self::User => {
                let checkout = open_forge().ok().and_then(|forge| checkout_dir(&forge).ok());
                Ok(EditedFile::user(checkout.as_deref())?)
            }
            Self::Repo => Ok(EditedFile::repo(&checkout_dir(&open_forge()?)?)),
            Self::Local => Ok(EditedFile::local(&checkout_dir(&open_forge()?)?)),
        }
    }
}

impl ConfigArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        match self.subcommand {
            ConfigSubcommand::List { json } => list(json)?,
            ConfigSubcommand::Explain { key, json } => explain(&key, json)?,
            ConfigSubcommand::Set { key, value, target } => {
                let target = target.target();
                let file = target.file()?;
                let change = file.set(&key, &value)?;
                print_change(target, &file, &change)?;
            }
            ConfigSubcommand::Unset { key, target } => {
                let target = target.target();
                let file = target.file()?;
                let change = file.unset(&key)?;
                print_change(target, &file, &change)?;
            }
            ConfigSubcommand::Schema => print_json(&settings::schema()),
            ConfigSubcommand::Approve { flow } => return approve(flow.as_deref()),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(json: bool) -> Result<(), Error> {
    let settings = open_forge()?.settings()?;
    let rows = settings.list();
    if json {
        print_json(&rows);
        return Ok(());
    }
    let widest = rows.iter().map(|row| row.key.len()).max().unwrap_or_default();
    for row in &rows {
        let (value, who) = (value_text(row), row.layer.map_or("", settings::Layer::as_str));
        let room = terminal_info::terminal_width().saturating_sub(widest + 2 + 2 + LAYER_WIDTH);
        let value = text_width::pad(&format::one_line(&value, room), room);
        let line = format!("{:<widest$}  {value}  {who}", row.key);
        terminal_output::print(line.trim_end());
    }
    print_notes(&settings.notes());
    Ok(())
}

fn explain(key: &str, json: bool) -> Result<(), Error> {
    let explained = open_forge()?.settings()?.explain(key)?;
    if json {
        print_json(&explained);
        return Ok(());
    }
    let Explained { row, may_be, variable, said, notes: all } = &explained;
    terminal_output::print(&format!("{} = {}", row.key, value_text(row)));
    terminal_output::print(&format!("  {}; {may_be}", row.about));
    let widest = said.iter().map(|said| text_width::width(&said.place)).max().unwrap_or_default();
    for (position, said) in said.iter().enumerate() {
        let mark = if position == 0 { ">" } else { " " };
        let layer = said.layer.as_str();
        let place = text_width::pad(&said.place, widest);
        terminal_output::print(&format!("{mark} {layer:<11}  {place}  {}", said.value));
    }
    if said.is_empty() {
        terminal_output::print("  nobody says anything about it");
    }
    terminal_output::print(&format!("  forge config set {} VALUE, or {variable}=VALUE", row.key));
    print_notes(all);
    Ok(())
}

fn value_text(row: &SettingRow) -> String {
    row.value.as_ref().map_or_else(|| "not set".to_owned(), ToString::to_string)
}

fn print_notes(notes: &[String]) {
    for note in notes {
        terminal_output::print(&format::wrap(
            &format!("note: {note}"),
            6,
            terminal_info::terminal_width(),
        ));
    }
}

fn print_change(
    target: SettingsTarget,
    file: &EditedFile,
    change: &SettingChange,
) -> Result<(), Error> {
    let (path, key) = (file.path().display(), &change.key);
    terminal_output::print(&match &change.value {
        Some(value) => format!("{path}: {key} = {value}"),
        None => format!("{path}: {key} is taken out"),
    });
    match (target, change.file_existed) {
        (SettingsTarget::Local, false) => {
            terminal_output::print(&format!(
                "keep it out of git: add {} to .gitignore",
                settings::LOCAL_FILE
            ));
        }
        (SettingsTarget::Repo, true | false) => {
            terminal_output::print("commit it: a run reads it from the commit that it starts from");
        }
        (SettingsTarget::Local, true) | (SettingsTarget::User, true | false) => {}
    }
    // A value that another layer overrides is reported right away.
    if let Ok(forge) = open_forge()
        && let Ok(settings) = forge.settings()
    {
        let row = settings.explain(key)?.row;
        match (&change.value, &row.place) {
            (Some(_), Some(place)) if row.value != change.value => {
                terminal_output::print(&format!("note: {place} says otherwise, and wins"));
            }
            (None, Some(place)) => {
                terminal_output::print(&format!("now {} counts ({place})", value_text(&row)));
            }
            (Some(_) | None, Some(_) | None) => {}
        }
        print_notes(&settings.notes());
    }
    Ok(())
}

fn checkout_dir(forge: &Forge) -> Result<PathBuf, Error> {
    forge.home.repository.top.clone().ok_or_else(|| {
        let what = "a bare repository has no checkout to write settings in";
        Error::usage(what, "forge config set KEY VALUE --user")
    })
}

fn approve(flow: Option<&str>) -> Result<ExitCode, Error> {
    // A run reads its settings and flows from a commit, so the committed ones are approved.
    let forge = open_forge()?;
    let base = forge.home.repository.head();
    let settings = forge.settings_at(base.as_deref())?;
    let flow = flow.unwrap_or(&settings.flow);
    let found = Catalog::from_commit(&forge.home.repository, base.as_deref()).flow(flow)?;
    let unapproved = forge.unapproved(&settings, &found)?;
    if unapproved.is_empty() {
        terminal_output::print(if trust::commands(&settings, &found).is_empty() {
            "this repository makes Forge run no commands; there is nothing to allow"
        } else {
            "all commands of this repository are allowed already"
        });
        return Ok(ExitCode::SUCCESS);
    }
    match confirm_commands(&unapproved) {
        // Without a terminal, calling `approve` counts as consent.
        Confirmation::Given | Confirmation::NoTerminal => {
            let path = forge.approve(&settings, &unapproved)?;
            terminal_output::print(&format!("allowed; to take it back, remove {}", path.display()));
            Ok(ExitCode::SUCCESS)
        }
        Confirmation::Refused => {
            terminal_output::print("nothing is allowed");
            Ok(ExitCode::from(Standing::Waiting.exit_code()))
        }
    }
}
