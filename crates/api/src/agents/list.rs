//! Which agents a person has here: those of the settings and those that need no setting up, where
//! their programs are, and what is wrong with them.
//!
//! Not here: whether one really answers (`check.rs`), and who plays which role (`settings`).
//!
//! Invariant: no program is started here that a repository chose, unless a person allowed it; and
//! what is started gets a clean environment and little time.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use forge_agents::{AgentKind, registry};
use forge_driver::Error;
use forge_project::{
    executables::in_path,
    personal_dirs::state_dir,
    settings::{AgentTable, Settings, edit::EditedFile},
    suggest::nearest,
    trust::Trust,
};
use forge_workspace::Repository;
use rustix::fs::{Access, access};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::short_program::{NoAnswer, answer_within};

/// The setting that names the agent of all roles.
const AGENT_KEY: &str = "agent";
/// How long a program may take to say its version. On a busy machine some need more than ten seconds.
const VERSION_WAIT: Duration = Duration::from_secs(20);
/// What a program gets of the environment that is only asked for its version.
const VERSION_ENVIRONMENT: &[&str] = &["HOME", "LANG", "LC_ALL", "PATH"];

/// The agents of one place.
pub struct Roster {
    pub(crate) settings: Settings,
    /// The top of the checkout, if we are in one.
    pub(crate) top: Option<PathBuf>,
    /// What a person allowed the repository, if we are in one.
    pub(crate) trust: Option<Trust>,
}

/// An agent and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentRow {
    /// Its name in the settings.
    pub name: String,
    pub kind: ListedKind,
    /// Program and first arguments. Empty for the scripted agent, which is Forge itself.
    pub command: Vec<String>,
    /// Where the program is, if it was found.
    pub path: Option<String>,
    /// The version that the program reports.
    pub version: Option<String>,
    /// The version with which this Forge was tested.
    pub tested_version: Option<String>,
    /// The model that the settings name for it.
    pub model: Option<String>,
    pub can: Vec<Ability>,
    /// Whether it is the default agent, used for every role without an agent of its own.
    pub is_default: bool,
    /// Roles that the settings give to it by name.
    pub roles: Vec<String>,
    /// The problem, in one sentence.
    pub wrong: Option<String>,
    /// The next command.
    pub next: Option<String>,
}

/// The protocol that Forge speaks with a listed agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedKind(pub AgentKind);

/// Something that an agent supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// An interrupted call can continue in its session.
    Resume,
    /// The program itself enforces the schema of the result.
    ResultForm,
    /// The program itself reports its price.
    ReportedCost,
    /// The program itself stops at a price cap.
    OwnCap,
}

impl Serialize for ListedKind {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(self.0.name())
    }
}

impl JsonSchema for ListedKind {
    fn schema_name() -> Cow<'static, str> {
        "AgentKind".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        let kinds = registry::ALL.map(|kind| (kind.description(), kind.name()));
        let one_of: Vec<Schema> = kinds
            .into_iter()
            .map(|(description, name)| {
                json_schema!({ "description": description, "type": "string", "const": name })
            })
            .collect();
        json_schema!({ "description": "What an agent is treated as.", "oneOf": one_of })
    }
}

impl AgentRow {
    /// Returns the version that was tried last, if the one that is here is newer.
    pub fn newer_than(&self) -> Option<&str> {
        let tested = self.tested_version.as_deref()?;
        is_older(tested, self.version.as_deref()?).then_some(tested)
    }
}

impl Ability {
    /// Describes it in a few words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Resume => "resumes its sessions",
            Self::ResultForm => "structured results",
            Self::ReportedCost => "reports its cost",
            Self::OwnCap => "stops at a budget",
        }
    }

    fn for_kind(kind: AgentKind) -> Vec<Self> {
        let all = [
            (kind.can_resume(), Self::Resume),
            (kind.has_native_schema(), Self::ResultForm),
            (kind.reports_cost(), Self::ReportedCost),
            (kind.has_own_cap(), Self::OwnCap),
        ];
        all.into_iter().filter(|(can, _)| *can).map(|(_, ability)| ability).collect()
    }
}

/// The location of an agent's program.
pub(crate) enum Program {
    /// Forge itself.
    Forge,
    /// Here.
    At(PathBuf),
    /// Nowhere: why, and what to do.
    Nowhere { why: String, next: String },
}

impl Roster {
    /// Returns the agents that a person has who stands in this folder. It need not be in a repository.
    pub fn open(here: &Path) -> Result<Self, Error> {
        match Repository::find(here) {
            Ok(repository) => {
                let settings = Settings::read(repository.top.as_deref())?;
                Ok(Self::new(&repository, settings))
            }
            Err(_) => Ok(Self { settings: Settings::read(None)?, top: None, trust: None }),
        }
    }

    /// Returns the agents that a person has in a repository with these settings.
    pub(crate) fn new(repository: &Repository, settings: Settings) -> Self {
        let trust = state_dir().ok().map(|state| Trust::open(&state, &repository.common_dir));
        Self { settings, top: repository.top.clone(), trust }
    }

    /// Returns all agents, by name.
    pub fn rows(&self) -> Vec<AgentRow> {
        self.settings.agents.iter().map(|(name, table)| self.row(name, table)).collect()
    }

    /// Returns the names of all agents that can be used, without looking at their programs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.settings.agents.keys().map(String::as_str)
    }

    /// Returns an agent by its name.
    pub(crate) fn agent(&self, name: &str) -> Result<&AgentTable, Error> {
        if let Some(table) = self.settings.agents.get(name) {
            return Ok(table);
        }
        let near = nearest(name, self.settings.agents.keys().map(String::as_str));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Err(Error::usage(format!("unknown agent `{name}`{near}"), "forge agents"))
    }

    /// Makes an agent the one of all runs of this person, in the person's own settings; or in this checkout, if it is
    /// not known elsewhere. Returns the file that says so, and the place that says otherwise and wins, if there is one.
    pub fn use_for_user(&self, name: &str) -> Result<(PathBuf, Option<String>), Error> {
        self.agent(name)?;
        let file = EditedFile::for_agent(&self.settings, self.top.as_deref(), name)?;
        file.set(AGENT_KEY, name)?;
        let row = Settings::read(self.top.as_deref())?.explain(AGENT_KEY)?.row;
        let is_it = row.value.is_some_and(|value| value.to_string().trim_matches('"') == name);
        Ok((file.path().to_owned(), row.place.filter(|_| !is_it)))
    }

    fn row(&self, name: &str, table: &AgentTable) -> AgentRow {
        let kind = table.like;
        let program = self.program(name, table);
        let mut row = AgentRow {
            name: name.to_owned(),
            kind: ListedKind(kind),
            command: command(table),
            path: None,
            version: None,
            tested_version: kind.tested_version().map(str::to_owned),
            model: table.model.clone(),
            can: Ability::for_kind(kind),
            is_default: self.settings.agent.as_deref() == Some(name),
            roles: self.roles(name),
            wrong: None,
            next: None,
        };
        match program {
            Program::Forge => row.version = Some(env!("CARGO_PKG_VERSION").to_owned()),
            Program::At(path) => {
                row.path = Some(path.to_string_lossy().into_owned());
                self.ask_version(&mut row, kind, &path);
            }
            Program::Nowhere { why, next } => (row.wrong, row.next) = (Some(why), Some(next)),
        }
        row
    }

    /// Roles that the settings give to an agent by name.
    fn roles(&self, name: &str) -> Vec<String> {
        let roles = self.settings.roles.iter();
        let theirs = roles.filter(|(_, role)| role.agent.as_deref() == Some(name));
        theirs.map(|(role, _)| role.to_string()).collect()
    }

    /// Refuses programs that are too old for this Forge, before anything is paid. What does not say its version is let in.
    pub(crate) fn refuse_too_old<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<(), Error> {
        for name in names {
            let Some(table) = self.settings.agents.get(name) else { continue };
            let Program::At(path) = self.program(name, table) else { continue };
            let found = version_of(table, &path).and_then(Result::ok);
            if let Some(why) = found.and_then(|found| too_old(table.like, &found)) {
                let next = table.like.how_to_install().unwrap_or("install a newer one");
                return Err(Error::surroundings(format!("the agent `{name}`: {why}"), next));
            }
        }
        Ok(())
    }

    fn ask_version(&self, row: &mut AgentRow, kind: AgentKind, path: &Path) {
        if kind.version_args().is_none() {
            return;
        }
        if !self.is_allowed(&row.name) {
            row.wrong = Some("this repository configures it, and you have not allowed that".into());
            row.next = Some(format!("forge agents check {}", row.name));
            return;
        }
        let Some(found) = version_of(&self.settings.agents[row.name.as_str()], path) else {
            return;
        };
        match found {
            Err(why) => {
                row.wrong = Some(why);
                row.next = kind.how_to_install().map(str::to_owned);
            }
            Ok(found) => {
                if let Some(why) = too_old(kind, &found) {
                    row.wrong = Some(why);
                    row.next = kind.how_to_install().map(str::to_owned);
                }
                row.version = Some(found);
            }
        }
    }

    /// Returns true if an agent is the person's own, or the person allowed what the repository made of it.
    pub(crate) fn is_allowed(&self, name: &str) -> bool {
        match (self.settings.agent_of_repository(name), &self.trust) {
            (None, _) => true,
            (Some(line), Some(trust)) => trust.is_approved(&[line]).unwrap_or(false),
            (Some(_), None) => false,
        }
    }

    /// Returns where the program of an agent is.
    pub(crate) fn program(&self, name: &str, table: &AgentTable) -> Program {
        let kind = table.like;
        let Some(program) = command(table).into_iter().next() else {
            if kind.plays_scenario() {
                return Program::Forge;
            }
            return Program::Nowhere {
                why: "it has no command".to_owned(),
                next: format!("`[agents.{name}] command = [\"…\"]` in the settings"),
            };
        };
        let found = if program.contains('/') {
            let path = self.top.as_deref().unwrap_or(Path::new("")).join(&program);
            let path: PathBuf = path.components().collect();
            (path.is_file() && access(&path, Access::EXEC_OK).is_ok()).then_some(path)
        } else {
            in_path(&program)
        };
        match found {
            Some(path) => Program::At(path),
            None => Program::Nowhere {
                why: if program.contains('/') {
                    format!("{program} is not an executable program")
                } else {
                    format!("program `{program}` not found in PATH")
                },
                next: kind.how_to_install().map_or_else(
                    || format!("install it, or fix agents.{name}.{}", table.program_key()),
                    str::to_owned,
                ),
            },
        }
    }
}

/// Returns program and first arguments of an agent, also where the settings do not say them.
pub(crate) fn command(table: &AgentTable) -> Vec<String> {
    let default = || table.like.default_command().into_iter().map(str::to_owned).collect();
    table.command.clone().unwrap_or_else(default)
}

/// Returns what is said of a version that is too old for this Forge.
pub(crate) fn too_old(kind: AgentKind, version: &str) -> Option<String> {
    let oldest = kind.oldest_version().filter(|oldest| is_older(version, oldest))?;
    Some(format!("version {version} is too old: Forge needs {oldest} or newer"))
}

/// Asks the program of an agent for its version, if programs of its kind have one.
pub(crate) fn version_of(table: &AgentTable, program: &Path) -> Option<Result<String, String>> {
    let args = table.like.version_args()?;
    // Arguments before those of Forge may be what makes it the program that is meant.
    let words = command(table);
    let args: Vec<&str> =
        words.iter().skip(1).map(String::as_str).chain(args.iter().copied()).collect();
    Some(version_within(program, &args, VERSION_WAIT))
}

fn version_within(program: &Path, args: &[&str], wait: Duration) -> Result<String, String> {
    let passed = std::env::vars_os()
        .filter(|(name, _)| VERSION_ENVIRONMENT.iter().any(|known| name == known));
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(passed).env("TERM", "dumb").stderr(Stdio::null());
    let said = answer_within(command, "", wait).map_err(|why| match why {
        NoAnswer::NotStarted(error) => format!("it cannot be started: {error}"),
        NoAnswer::Lost(error) => format!("it cannot be waited for: {error}"),
        NoAnswer::Late(wait) => format!("it did not print its version within {wait:?}"),
        NoAnswer::Failed(status) => format!("it does not print its version ({status})"),
    })?;
    numbers_in(&said).ok_or_else(|| "it prints no version".to_owned())
}

/// Returns the first word of a text that is made of numbers with points between them.
fn numbers_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|n| n.parse::<u32>().is_ok());
    words.into_iter().find(is_version).map(str::to_owned)
}

/// Compares two versions by their numbers.
pub(crate) fn is_older(version: &str, than: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        text.split('.').map(|number| number.parse().unwrap_or(0)).collect()
    };
    numbers(version) < numbers(than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_first_word_of_numbers() {
        for (text, version) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("claude v10.0\n", Some("10.0")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("a.b", None),
            ("1..2 3", None),
            ("", None),
            ("99999999999.1", None),
        ] {
            assert_eq!(numbers_in(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, than, expected) in [
            ("2.1.324", "2.1.325", true),
            ("2.1.325", "2.1.325", false),
            ("2.1.1000", "2.1.325", false),
            ("2.2", "2.1.325", false),
            ("1.99.999", "2.1.325", true),
            ("2.1", "2.1.325", true),
        ] {
            assert_eq!(is_older(version, than), expected, "{version} {than}");
        }
    }

    #[test]
    fn a_program_that_never_says_its_version_is_ended_with_its_children() {
        let home = tempfile::tempdir().unwrap();
        let long = VERSION_WAIT;
        let said =
            version_within(Path::new("/bin/sh"), &["-c", "echo 3.4.5; exec >&-; sleep 0.01"], long);
        assert_eq!(said, Ok("3.4.5".to_owned()));
        let mark = home.path().join("mark");
        let script = format!("sleep 600 & echo $! > {}; exit 3", mark.display());
        let said = version_within(Path::new("/bin/sh"), &["-c", &script], long);
        assert!(said.unwrap_err().contains("exit status: 3"));
        let child = std::fs::read_to_string(&mark).unwrap();
        let stat = format!("/proc/{}/stat", child.trim());
        let is_gone = || std::fs::read_to_string(&stat).map_or(true, |state| state.contains(" Z "));
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while !is_gone() {
            assert!(std::time::Instant::now() < deadline, "it is still there");
            std::thread::yield_now();
        }
        let little = Duration::from_millis(50);
        let said = version_within(Path::new("/bin/sh"), &["-c", "yes 1.2.3 & sleep 600"], little);
        assert_eq!(said, Err("it did not print its version within 50ms".to_owned()));
    }
}
