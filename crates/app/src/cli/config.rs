//! `forge config`: shows and edits settings with their provenance, and approves the commands of a repository.

use std::{
    fs,
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Subcommand};
use forge_api::{
    Error,
    catalog::Catalog,
    forge::Forge,
    refuse_agents,
    settings::{
        self, Explained, SettingRow, Settings,
        edit::{EditedFile, SettingChange},
    },
    trust,
};
use forge_core::view::Standing;

use super::{
    common::{open_forge, print_json},
    prompt::{Confirmation, can_ask, confirm_commands},
};
use crate::{
    editor::{edit_file, text_editor},
    format, terminal_info, terminal_output, text_width,
};

/// Show and change settings, and allow the commands of a repository
#[derive(Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    subcommand: ConfigSubcommand,
}

#[derive(Subcommand)]
enum ConfigSubcommand {
    /// Print the value of a key
    Get {
        /// Name the key, such as limits.budget
        key: String,
    },
    /// List all keys, each with its value and where it is set
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain a key: what it means, where it is set, and which value wins
    Explain {
        /// Name the key, such as limits.budget
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Set a key in forge.toml, or in a file of your own
    Set {
        /// Name the key, such as limits.budget
        key: String,
        /// Give the value; write a list as in TOML
        value: String,
        #[command(flatten)]
        target: TargetFlags,
    },
    /// Remove a key from forge.toml, or from a file of your own
    Unset {
        /// Name the key, such as limits.budget
        key: String,
        #[command(flatten)]
        target: TargetFlags,
    },
    /// Open forge.toml, or a file of your own, in your editor
    Edit {
        #[command(flatten)]
        target: TargetFlags,
    },
    /// Print the path of forge.toml, or of a file of your own
    Path {
        #[command(flatten)]
        target: TargetFlags,
    },
    /// Print the JSON Schema of forge.toml, for editors
    Schema,
    /// Allow the commands that this repository makes Forge run
    #[command(alias = "approve")]
    Allow {
        /// Allow the commands of this flow, too [default: as set]
        #[arg(long, value_name = "NAME")]
        flow: Option<String>,
        /// Take back what was allowed to this repository
        #[arg(long, conflicts_with = "flow")]
        undo: bool,
    },
}

/// The file that is meant: at most one of these.
#[derive(Args)]
struct TargetFlags {
    /// Use forge.local.toml: for you, in this checkout
    #[arg(long, conflicts_with = "user")]
    local: bool,
    /// Use your own configuration: for you, everywhere
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
            ConfigSubcommand::Get { key } => get(&key)?,
            ConfigSubcommand::Edit { target } => edit(target.target())?,
            ConfigSubcommand::Path { target } => {
                let file = target.target().file()?;
                terminal_output::print(&file.path().display().to_string());
            }
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
            ConfigSubcommand::Allow { undo: true, .. } => withdraw()?,
            ConfigSubcommand::Allow { flow, undo: false } => return approve(flow.as_deref()),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the settings that count in this folder; outside of a repository, those of the person.
fn settings_here() -> Result<Settings, Error> {
    match open_forge() {
        Ok(forge) => forge.settings(),
        Err(_) => Ok(Settings::read(None)?),
    }
}

/// Prints a value as a program needs it: a text without quotes, all else as in TOML.
fn get(key: &str) -> Result<(), Error> {
    let row = settings_here()?.explain(key)?.row;
    let Some(value) = &row.value else {
        let what = format!("`{}` is not set", row.key);
        return Err(Error::usage(what, format!("forge config set {} VALUE", row.key)));
    };
    let value = value.to_string();
    let text = value.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    terminal_output::print(text.unwrap_or(&value));
    Ok(())
}

/// Opens a settings file in the user's editor, and checks what was saved.
fn edit(target: SettingsTarget) -> Result<(), Error> {
    refuse_agents()?;
    let path = target.file()?.path().to_owned();
    let editor = if can_ask() { text_editor() } else { None };
    let Some(editor) = editor else {
        let what = format!("no editor can be opened without a terminal for {}", path.display());
        return Err(Error::usage(what, "forge config set KEY VALUE"));
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Error::file(folder, &error))?;
    }
    let before = fs::read(&path).ok();
    edit_file(&editor, &path)?;
    if fs::read(&path).ok() == before {
        terminal_output::print("Nothing changed.");
        return Ok(());
    }
    if let Ok(forge) = open_forge() {
        print_notes(&forge.settings()?.notes());
    }
    terminal_output::print(&format!("Saved {}.", path.display()));
    Ok(())
}

fn list(json: bool) -> Result<(), Error> {
    let settings = settings_here()?;
    let rows = settings.list();
    if json {
        print_json(&rows);
        return Ok(());
    }
    let widest = rows.iter().map(|row| row.key.len()).max().unwrap_or_default();
    let room = terminal_info::terminal_width().saturating_sub(widest + 2 + 2 + LAYER_WIDTH);
    let print_row = |key: &str, value: &str, from: &str| {
        let value = text_width::pad(&format::one_line(value, room), room);
        terminal_output::print(format!("{key:<widest$}  {value}  {from}").trim_end());
    };
    if io::stdout().is_terminal() {
        print_row("KEY", "VALUE", "FROM");
    }
    for row in &rows {
        print_row(&row.key, &value_text(row), row.layer.map_or("", layer_word));
    }
    print_notes(&settings.notes());
    Ok(())
}

fn explain(key: &str, json: bool) -> Result<(), Error> {
    let explained = settings_here()?.explain(key)?;
    if json {
        print_json(&explained);
        return Ok(());
    }
    let Explained { row, may_be, variable, command, said, notes: all } = &explained;
    terminal_output::print(&format!("{} = {}", row.key, value_text(row)));
    terminal_output::print(&format!("  {}; {may_be}", row.about));
    let widest = said.iter().map(|said| text_width::width(&said.place)).max().unwrap_or_default();
    for (position, said) in said.iter().enumerate() {
        let mark = if position == 0 { ">" } else { " " };
        let layer = layer_word(said.layer);
        // The defaults are in no file.
        let place = if said.place == layer { "" } else { &said.place };
        let place = text_width::pad(place, widest);
        terminal_output::print(&format!("{mark} {layer:<11}  {place}  {}", said.value));
    }
    if said.is_empty() {
        terminal_output::print("  it is not set anywhere");
    }
    terminal_output::print(&format!("  {command}, or {variable}=VALUE"));
    print_notes(all);
    Ok(())
}

/// Returns the name of a layer on screens.
const fn layer_word(layer: settings::Layer) -> &'static str {
    match layer {
        settings::Layer::Shipped => "default",
        settings::Layer::Repo => "project",
        settings::Layer::User
        | settings::Layer::Local
        | settings::Layer::Environment
        | settings::Layer::Flags => layer.as_str(),
    }
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
        None => format!("{path}: {key} removed"),
    });
    match (target, change.file_existed) {
        (SettingsTarget::Local, false) => {
            terminal_output::print(&format!(
                "keep it out of git: add {} to .gitignore",
                settings::LOCAL_FILE
            ));
        }
        (SettingsTarget::Repo, _) if !file.path().exists() => {}
        (SettingsTarget::Repo, true | false) => {
            let file = settings::FILE;
            let did = if change.value.is_some() { "Set" } else { "Unset" };
            terminal_output::print(&format!(
                "Next: git add {file} && git commit -m \"{did} {key}\" {file} (a run reads it from the \
                 commit it starts from)"
            ));
            if let ("agent", Some(value)) = (key.as_str(), &change.value) {
                terminal_output::print_note(&format!(
                    "this is for all who work here; for you alone: forge config set --user {key} {value}"
                ));
            }
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
                terminal_output::print(&format!("note: {place} sets another value, and wins"));
            }
            (None, Some(place)) => {
                terminal_output::print(&format!("now {} is used ({place})", value_text(&row)));
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
    let catalog = Catalog::from_commit(&forge.home.repository, base.as_deref());
    let found = catalog.with_pipelines(&settings.pipelines).flow(flow)?;
    let unapproved = forge.unapproved(&settings, &found)?;
    if unapproved.is_empty() {
        terminal_output::print(if trust::commands(&settings, &found).is_empty() {
            "This repository runs no commands; there is nothing to allow."
        } else {
            "All commands of this repository are allowed already."
        });
        return Ok(ExitCode::SUCCESS);
    }
    match confirm_commands(&unapproved) {
        // Without a terminal, calling `approve` counts as consent.
        Confirmation::Given | Confirmation::NoTerminal => {
            forge.approve(&settings, &unapproved)?;
            terminal_output::print("Allowed. To take it back: forge config allow --undo");
            Ok(ExitCode::SUCCESS)
        }
        Confirmation::Refused => {
            terminal_output::print("Nothing is allowed.");
            Ok(ExitCode::from(Standing::Waiting.exit_code()))
        }
    }
}

/// Takes back what was allowed to this repository.
fn withdraw() -> Result<(), Error> {
    terminal_output::print(match open_forge()?.trust()?.withdraw()? {
        0 => "Nothing was allowed.",
        _ => "Nothing is allowed any more. The next run asks again.",
    });
    Ok(())
}
