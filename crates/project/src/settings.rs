//! What is set, by whom, and what of it is frozen when a run starts.
//!
//! Layers, lowest first: shipped < user < repo < local < environment < flags. Start with
//! [`Sources`], which gathers their texts, and [`Settings::of`], which reads them. Then:
//!
//! - `settings/key.rs` and `settings/table.rs`: every key. A new setting begins there.
//! - `settings/value.rs` and `settings/pattern.rs`: what a value may be.
//! - `settings/source.rs`: where the layers come from.
//! - `settings/sheet.rs`: who says what, and who wins.
//! - `settings/player.rs`: who plays which role.
//! - `settings/frozen.rs`: what a run keeps.
//! - `settings/moved.rs`: keys that have another name now.
//! - `settings/shown.rs`, `settings/edit.rs`, `settings/schema.rs`: what `forge config` shows,
//!   changes and publishes.
//!
//! Not here: whether the commands of a repository may be run at all; that is `trust.rs`.
//!
//! Invariant: every value here is the one that `forge config explain` says has won.
//! Invariant: an unknown key or a value that cannot be is an error that names its place.

mod agents_and_roles;
pub mod edit;
mod explain;
mod glob;
mod keys;
mod layers;
mod named_tables;
mod renamed_keys;
mod schema;
mod snapshot;
mod sources;
mod values;

use std::{collections::BTreeMap, path::Path};

use forge_core::money::Money;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Error;

pub use agents_and_roles::RESERVED;
use agents_and_roles::Tables;
pub use agents_and_roles::{AgentTable, RoleTable, SecretsTable};
pub use explain::{Explained, SaidRow, SettingRow};
pub use keys::Key;
use layers::Sheet;
pub use layers::{Layer, Place, Said};
pub use named_tables::{AgentKey, RoleKey, TableName};
pub use renamed_keys::{Renewed, renewed};
pub use schema::schema;
pub use snapshot::{Agent, Frozen, FrozenAgent, RoleAgent, Sessions, Verify, VerifyFrom};
pub use sources::{FILE, FILE_BYTES_MAX, LOCAL_FILE, LocalFile, SourceFile, Sources, USER_FILE};
pub use values::Value;
pub use values::shown_url;

/// What is set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who plays the roles about which `roles` says nothing, by name.
    pub agent: Option<String>,
    /// The flow of a run that names none.
    pub flow: String,
    /// Whether an agent looks at a request before its run begins.
    pub coherence: Switch,
    /// How the effort of a request is found.
    pub effort: EffortSettings,
    /// How much a run may do.
    pub limits: LimitSettings,
    /// The scripted agent.
    pub scripted: ScriptedSettings,
    /// All agents, by name: those that are set up, and those that need no setting up.
    pub agents: BTreeMap<String, AgentTable>,
    /// What is said about single roles, by name.
    pub roles: BTreeMap<String, RoleTable>,
    /// What is known about secrets.
    pub secrets: SecretsTable,
    /// How checkouts are made ready.
    pub workspace: WorkspaceSettings,
    /// The project's checks.
    pub verify: VerifySettings,
    /// Where work lands.
    pub land: LandSettings,
    /// Who is told of stops, questions and the end.
    pub notify: NotifySettings,
    sheet: Sheet,
    local_is: LocalFile,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// How the effort of a request is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffortSettings {
    /// The field of an issue that holds its story points.
    pub story_points: String,
}

/// How much a run may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// Calls under way at the same time.
    pub at_once: u32,
    /// What a whole run may cost.
    pub budget: Option<Money>,
    /// What one call may cost.
    pub call_budget: Option<Money>,
    /// How long one call may take.
    pub wall_minutes: u64,
    /// How long one call may say nothing.
    pub silence_minutes: u64,
    /// How much one call may print.
    pub output_mib: u64,
}

/// The scripted agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedSettings {
    /// The file that it plays from, relative to the top of the checkout.
    pub scenario: Option<String>,
}

/// How checkouts are made ready. All paths are relative to the checkout, and stay in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceSettings {
    /// Commands that make a new checkout ready.
    pub setup: Vec<String>,
    /// Files whose change makes the setup run again.
    pub setup_inputs: Vec<String>,
    /// Files outside git that a new checkout gets.
    pub copy: Vec<String>,
    /// Folders that checkouts keep between calls.
    pub cache: Vec<String>,
    /// What happens if two runs write the same paths.
    pub claims: Claims,
    /// Where checkouts lie, if not where they lie by default.
    pub root: Option<String>,
}

/// The project's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifySettings {
    /// Nothing if nobody said; an empty list if somebody said that there are none.
    pub commands: Option<Vec<String>>,
    /// How long one check may take.
    pub timeout_minutes: u64,
    /// How much one check may print.
    pub output_mib: u64,
    /// In what kind of checkout the last verification runs.
    pub r#final: FinalCheckout,
}

/// Where work lands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandSettings {
    /// The name of the run's branch, with `{run}` for its id.
    pub branch: String,
    /// What the last commit of a run keeps of it.
    pub record: Kept,
}

/// Who is told of stops, questions and the end. None of it is frozen: it is about who is here now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifySettings {
    /// A program and its arguments.
    pub command: Option<Vec<String>>,
    /// An address.
    pub webhook: Option<String>,
    /// Whether the terminal rings.
    pub bell: Switch,
    /// Whether the desktop shows it.
    pub desktop: Switch,
}

/// What happens if two runs write the same paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claims {
    /// It is said, and both go on.
    #[default]
    Warn,
    /// The second one waits for the first.
    Defer,
    /// The second one is held until a person decides.
    Block,
}

/// In what kind of checkout the last verification runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalCheckout {
    /// A new one, set up from nothing.
    #[default]
    Pristine,
    /// One that kept its caches.
    Cached,
}

/// What the last commit of a run keeps of it, below `.forge/runs/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// Artifacts, summary, state and events.
    #[default]
    All,
    /// The summary.
    Summary,
    /// There is no such commit.
    Nothing,
}

impl Kept {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::of_sheet(Sheet::shipped(), LocalFile::Personal, None)
    }
}

impl Settings {
    /// Reads all layers.
    pub fn of(sources: &Sources) -> Result<Self, Error> {
        let settings =
            Self::of_sheet(Sheet::of(sources)?, sources.local_is, sources.top.as_deref());
        match settings.sheet.winner(Key::Root) {
            Some(said) if said.layer == Layer::Repo => Err(Error::usage(
                format!(
                    "{}: {} is for one person to say, not for a repository",
                    said.place,
                    Key::Root.name()
                ),
                format!("take it out there, and put it into {LOCAL_FILE}"),
            )),
            Some(_) | None => settings.refuse_nobodies().map(|()| settings),
        }
    }

    /// Reads all layers of a checkout, with `forge.toml` as it lies there.
    pub fn read(top: Option<&Path>) -> Result<Self, Error> {
        let mut sources = Sources::personal(top)?;
        if let Some(top) = top {
            sources.repo = SourceFile::read(&top.join(FILE))?;
        }
        Self::of(&sources)
    }

    fn of_sheet(sheet: Sheet, local_is: LocalFile, top: Option<&Path>) -> Self {
        let all = Winners(&sheet);
        let tables = Tables { sheet: &sheet, local_is, top };
        Self {
            agent: all.text(Key::Agent).map(str::to_owned),
            flow: all.text(Key::Flow).expect("it is shipped").to_owned(),
            coherence: all.switch(Key::Coherence),
            effort: EffortSettings {
                story_points: all.text(Key::StoryPoints).expect("it is shipped").to_owned(),
            },
            limits: LimitSettings {
                at_once: u32::try_from(all.count(Key::AtOnce)).expect("it has a small limit"),
                budget: all.amount(Key::Budget),
                call_budget: all.amount(Key::CallBudget),
                wall_minutes: all.count(Key::WallMinutes),
                silence_minutes: all.count(Key::SilenceMinutes),
                output_mib: all.count(Key::OutputMib),
            },
            scripted: ScriptedSettings { scenario: all.text(Key::Scenario).map(str::to_owned) },
            agents: tables.agents(),
            roles: tables.roles(),
            secrets: SecretsTable {
                files: all.list(Key::SecretFiles).unwrap_or_default(),
                allow: all.list(Key::SecretsAllowed).unwrap_or_default(),
            },
            workspace: WorkspaceSettings {
                setup: all.list(Key::Setup).unwrap_or_default(),
                setup_inputs: all.list(Key::SetupInputs).unwrap_or_default(),
                copy: all.list(Key::Copy).unwrap_or_default(),
                cache: all.list(Key::Cache).unwrap_or_default(),
                claims: match all.text(Key::Claims).expect("it is shipped") {
                    "warn" => Claims::Warn,
                    "defer" => Claims::Defer,
                    "block" => Claims::Block,
                    other => unreachable!("`{other}` was taken for a way to treat claims"),
                },
                root: all.text(Key::Root).map(str::to_owned),
            },
            verify: VerifySettings {
                commands: all.list(Key::VerifyCommands),
                timeout_minutes: all.count(Key::VerifyTimeoutMinutes),
                output_mib: all.count(Key::VerifyOutputMib),
                r#final: match all.text(Key::VerifyFinal).expect("it is shipped") {
                    "pristine" => FinalCheckout::Pristine,
                    "cached" => FinalCheckout::Cached,
                    other => unreachable!("`{other}` was taken for a kind of checkout"),
                },
            },
            land: LandSettings {
                branch: all.text(Key::Branch).expect("it is shipped").to_owned(),
                record: match all.text(Key::Record).expect("it is shipped") {
                    "all" => Kept::All,
                    "summary" => Kept::Summary,
                    "none" => Kept::Nothing,
                    other => unreachable!("`{other}` was taken for a part of a run"),
                },
            },
            notify: NotifySettings {
                command: all.list(Key::NotifyCommand),
                webhook: all.text(Key::NotifyWebhook).map(str::to_owned),
                bell: all.switch(Key::NotifyBell),
                desktop: all.switch(Key::NotifyDesktop),
            },
            sheet,
            local_is,
        }
    }

    /// What a person should know before a run starts, in whole sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.local_in_git().map(|(what, next)| format!("{what}: `{next}`")));
        notes.extend(self.checks_left_out());
        if self.verify.commands.as_ref().is_some_and(Vec::is_empty) {
            let place = self.sheet.winner(Key::VerifyCommands).map(|said| said.place.to_string());
            notes.push(format!(
                "verify.commands is empty ({}): nothing is checked, and what is made is unverified, never passed",
                place.unwrap_or_default()
            ));
        }
        if !self.land.branch.contains(values::RUN_MARK) {
            notes.push(format!(
                "land.branch is \"{}\" for every run; with {} in it, each run has its own",
                self.land.branch,
                values::RUN_MARK
            ));
        }
        notes
    }

    /// That the local file is in git, and the command that takes it out.
    pub fn local_in_git(&self) -> Option<(String, String)> {
        (self.local_is == LocalFile::InGit).then(|| {
            let what = format!(
                "{LOCAL_FILE} is in git, so that it speaks for everybody and is treated like {FILE}"
            );
            (what, format!("git rm --cached {LOCAL_FILE}"))
        })
    }

    /// Checks of the repository that a personal layer takes away.
    fn checks_left_out(&self) -> Option<String> {
        let said = self.sheet.said(Key::VerifyCommands);
        let repo = said.iter().rfind(|said| said.layer == Layer::Repo)?;
        let winner = said.last().filter(|winner| winner.layer > Layer::Repo)?;
        let (Value::List(asked), Value::List(kept)) = (&repo.value, &winner.value) else {
            unreachable!("commands are a list");
        };
        let left_out: Vec<String> = asked
            .iter()
            .filter(|command| !kept.contains(command))
            .map(|command| format!("`{command}`"))
            .collect();
        (!left_out.is_empty()).then(|| {
            format!(
                "{} leaves out {} of verify.commands, which {} asks for",
                winner.place,
                left_out.join(", "),
                repo.place
            )
        })
    }

    /// The command lines that the repository makes us run, and not the person: those of
    /// `forge.toml`, and of a local file that git has. An agent that plays one of these roles is one
    /// line, with what it gets.
    pub fn commands_of_repository(&self, roles: &[&str]) -> Vec<String> {
        let mut commands = Vec::new();
        for key in [Key::Setup, Key::VerifyCommands] {
            if let Some(Said { layer, value: Value::List(list), .. }) = self.sheet.winner(key)
                && layer.is_the_repositorys(self.local_is)
            {
                commands.extend(list.iter().cloned());
            }
        }
        commands.extend(self.agents_of_repository(roles));
        commands.extend(self.notifier_of_repository(Key::NotifyCommand));
        commands.extend(self.notifier_of_repository(Key::NotifyWebhook));
        commands
    }

    /// The line by which a person allows a notifier that the repository names. Nothing, if it names none,
    /// or another layer has the word.
    pub fn notifier_of_repository(&self, key: Key) -> Option<String> {
        let said = self.sheet.winner(key)?;
        if !said.layer.is_the_repositorys(self.local_is) {
            return None;
        }
        match &said.value {
            Value::List(words) => {
                Some(format!("{}  # is told of stops", agents_and_roles::line(words)))
            }
            // What is allowed is this address and no other, and it is not shown.
            Value::Text(url) => {
                let sum = forge_core::hex::hex(&Sha256::digest(url.as_bytes())[..8]);
                Some(format!("POST to {} (sha256 {sum})", shown_url(url)))
            }
            Value::Count(_) => unreachable!("a notifier is no number"),
        }
    }
}

/// The values that count, by the kind that the table of keys promises.
struct Winners<'a>(&'a Sheet);

impl Winners<'_> {
    fn text(&self, key: Key) -> Option<&str> {
        match &self.0.winner(key)?.value {
            Value::Text(text) => Some(text),
            Value::Count(_) | Value::List(_) => unreachable!("{key:?} was read as a text"),
        }
    }

    fn amount(&self, key: Key) -> Option<Money> {
        let text = self.text(key)?;
        Some(Money::parse(text).expect("an amount was read as one"))
    }

    fn count(&self, key: Key) -> u64 {
        match self.0.winner(key).map(|said| &said.value) {
            Some(Value::Count(count)) => *count,
            Some(Value::Text(_) | Value::List(_)) | None => {
                unreachable!("{key:?} is a number, and one is shipped")
            }
        }
    }

    fn switch(&self, key: Key) -> Switch {
        match self.text(key).expect("it is shipped") {
            "on" => Switch::On,
            "off" => Switch::Off,
            other => unreachable!("`{other}` was taken for on or off"),
        }
    }

    fn list(&self, key: Key) -> Option<Vec<String>> {
        match &self.0.winner(key)?.value {
            Value::List(list) => Some(list.clone()),
            Value::Text(_) | Value::Count(_) => unreachable!("{key:?} was read as a list"),
        }
    }
}

#[cfg(test)]
mod tests;
