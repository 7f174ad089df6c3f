//! One tiny real call to an agent, by the same way as in a run: does it answer, and if not, why?
//!
//! The call has a folder and a keeper, as every call has. It works in a temporary folder of its own and
//! not in the repository, and may take little time and money.
//!
//! Not here: which agents there are (`list.rs`), and how it is shown.
//!
//! Invariant: after it nothing of the call is alive, and its folder is gone, unless it failed: then
//! what the program printed is kept.
//! Invariant: no program is started that a repository chose, unless a person allowed it.

use std::{io, path::Path};

use forge_agents::{AgentEnd, AgentKind, ErrorClass, Limit, StreamSummary, Watchdog};
use forge_core::{
    money::{Cost, Money, Spent},
    view::moment,
};
use forge_driver::{
    Error, agent_call::usage::spent, local_executor::LocalExecutor, outcome::last_words,
    person::person, setup::turn::BRIEF, signals::Signals,
};
use forge_keeper::AttemptFolder;
use forge_project::{
    refuse_agents,
    settings::{Account, AgentTable},
};
use forge_store::atomic_file::replace;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    agents::{
        list::{ListedKind, Program, Roster, command, too_old, version_of},
        one_shot::{CallFolder, OneShot, WALL_MS, read_ended_call, run_to_its_end},
    },
    start::{Allowed, AskCommands},
};

/// The name of the call.
const CALL: &str = "check#1";
/// The most that a check may cost.
const CAP: Money = Money(50_000);
/// The scenario of the scripted agent.
const SCENARIO: &str =
    "scenario = 1\n[[play]]\nresult = { status = \"done\", summary = \"ready\" }\n";

/// A check that is about to run, for a person to agree to.
#[derive(Clone, Debug)]
pub struct CheckPlan {
    pub agent: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The most that it may cost; `None` if it is free.
    pub cap: Option<Money>,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Probed {
    pub agent: String,
    pub kind: ListedKind,
    /// The version of its program.
    pub version: Option<String>,
    /// The model that it used, or that it was asked to use.
    pub model: Option<String>,
    pub state: ProbeState,
    /// Why the agent is not ready.
    pub what: Option<String>,
    /// The next command, if the agent is not ready.
    pub next: Option<String>,
    /// How long the call took, in milliseconds.
    pub took_ms: u64,
    pub spent: Spent,
    /// Path of the file with the program's output, if the check failed.
    pub transcript: Option<String>,
}

/// The state that a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeState {
    /// The agent answers.
    Ready,
    /// The program was not found.
    NotFound,
    /// The program is older than the oldest version that Forge supports.
    TooOld,
    /// The user is not logged in at the provider.
    NotLoggedIn,
    /// The provider denies permission.
    NotAllowed,
    /// The provider does not have this model.
    NoModel,
    /// The provider cannot be reached.
    NoNetwork,
    /// A rate or usage limit of the provider was reached.
    Limited,
    /// The provider reported an error of its own.
    ProviderTrouble,
    /// The model refused the request.
    Refused,
    /// The call ended without an error, but its result is missing or invalid.
    NoResult,
    /// The call took too long.
    TooSlow,
    /// The call reached its price cap.
    TooDear,
    /// Another failure.
    Broken,
    /// A person stopped the check.
    Interrupted,
}

impl ProbeState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "works",
            Self::NotFound => "is not installed",
            Self::TooOld => "is too old",
            Self::NotLoggedIn => "is not logged in",
            Self::NotAllowed => "is not allowed to do this",
            Self::NoModel => "cannot use this model",
            Self::NoNetwork => "cannot reach its provider",
            Self::Limited => "has reached a limit",
            Self::ProviderTrouble => "failed: its provider returns errors",
            Self::Refused => "refuses the task",
            Self::NoResult => "answers, but leaves no usable result",
            Self::TooSlow => "does not answer in time",
            Self::TooDear => "costs more than a check may",
            Self::Broken => "fails",
            Self::Interrupted => "was stopped",
        }
    }
}

impl Roster {
    /// Makes one tiny call to an agent, after telling what will be run.
    pub fn check(
        &self,
        name: &str,
        model: Option<&str>,
        ask: AskCommands<'_>,
        tell: &mut dyn FnMut(&CheckPlan),
    ) -> Result<Probed, Error> {
        self.check_with(name, None, model, ask, tell)
    }

    /// Does the same with one of the person's accounts.
    pub(crate) fn check_with(
        &self,
        name: &str,
        account: Option<&Account>,
        model: Option<&str>,
        ask: AskCommands<'_>,
        tell: &mut dyn FnMut(&CheckPlan),
    ) -> Result<Probed, Error> {
        refuse_agents()?;
        let table = self.agent(name)?;
        let probe = Probe { name, table, account, model: model.or(table.model.as_deref()) };
        let path = match self.program(name, table) {
            Program::Nowhere { why, next } => {
                return Ok(probe.without_a_call(ProbeState::NotFound, why, next));
            }
            Program::Forge => None,
            Program::At(path) => Some(path),
        };
        self.ask_about(name, ask)?;
        let version = path.as_deref().and_then(|path| version_of(table, path)?.ok());
        if let Some(why) = version.as_deref().and_then(|version| too_old(table.like, version)) {
            let next = table.like.how_to_install().unwrap_or("install a newer one").to_owned();
            return Ok(Probed { version, ..probe.without_a_call(ProbeState::TooOld, why, next) });
        }
        let place = CallFolder::make()?;
        let probed = probe.call(&place, path.as_deref(), version, tell);
        match &probed {
            Ok(Probed { transcript: Some(_), .. }) => {}
            Ok(_) | Err(_) => place.remove(),
        }
        probed
    }

    /// Asks before an agent of the repository is started, unless a person has approved it.
    fn ask_about(&self, name: &str, ask: AskCommands<'_>) -> Result<(), Error> {
        let Some(line) = self.settings.agent_of_repository(name) else { return Ok(()) };
        if self.is_allowed(name) {
            return Ok(());
        }
        let line = [line];
        match (ask(&line), &self.trust) {
            (Allowed::Once, _) | (Allowed::FromNowOn, None) => Ok(()),
            (Allowed::FromNowOn, Some(trust)) => {
                trust.approve(&line, &person())?;
                Ok(())
            }
            (Allowed::No, _) => Err(Error::person(
                format!(
                    "you have not allowed the agent `{name}`, which this repository configures"
                ),
                format!("forge agents check {name} --allow"),
            )),
        }
    }
}

/// A check of one agent.
struct Probe<'a> {
    name: &'a str,
    table: &'a AgentTable,
    account: Option<&'a Account>,
    model: Option<&'a str>,
}

impl Probe<'_> {
    fn kind(&self) -> AgentKind {
        self.table.like
    }

    fn without_a_call(&self, state: ProbeState, what: String, next: String) -> Probed {
        Probed {
            agent: self.name.to_owned(),
            kind: ListedKind(self.kind()),
            version: None,
            model: self.model.map(str::to_owned),
            state,
            what: Some(what),
            next: Some(next),
            took_ms: 0,
            spent: Spent::NOTHING,
            transcript: None,
        }
    }

    /// Makes the call, and says what came of it.
    fn call(
        &self,
        place: &CallFolder,
        path: Option<&Path>,
        version: Option<String>,
        tell: &mut dyn FnMut(&CheckPlan),
    ) -> Result<Probed, Error> {
        let error = |error: io::Error| Error::file(&place.path, &error);
        let (spec, env) = self.one_shot(path).prepare(place)?;
        let cap = (!self.kind().plays_scenario()).then_some(CAP);
        tell(&CheckPlan { agent: self.name.to_owned(), argv: spec.argv.clone(), cap });
        let folder = AttemptFolder::create(&place.folder().path, &spec).map_err(error)?;
        replace(&folder.path.join(BRIEF), brief(self.kind()).as_bytes()).map_err(error)?;
        let mut signals = Signals::listen()?;
        let ending = run_to_its_end(&folder, &env, &mut signals)?;
        let (summary, end) = read_ended_call(self.kind(), self.model, &folder, ending.as_ref());
        let version = summary.version.clone().or(version);
        let (state, what, next) = self.judge(&end, &summary, &folder);
        let is_kept = !matches!(state, ProbeState::Ready | ProbeState::Interrupted);
        Ok(Probed {
            agent: self.name.to_owned(),
            kind: ListedKind(self.kind()),
            version,
            model: summary.model.clone().or(self.model.map(str::to_owned)),
            state,
            what,
            next,
            took_ms: ending
                .map(|ending| ending.ended_at_ms.saturating_sub(ending.started_at_ms))
                .unwrap_or_default(),
            spent: if self.kind().plays_scenario() {
                Spent::NOTHING
            } else {
                spent(&summary.uses())
            },
            transcript: is_kept.then(|| folder.transcript().to_string_lossy().into_owned()),
        })
    }

    /// Returns the call: as little as shows that it answers.
    fn one_shot(&self, path: Option<&Path>) -> OneShot<'_> {
        let mut words = command(self.table);
        // A path of the repository leads nowhere from where this works.
        if let (Some(program), Some(path)) = (words.first_mut(), path)
            && program.contains('/')
        {
            *program = path.to_string_lossy().into_owned();
        }
        OneShot {
            call: CALL,
            role: "check",
            table: self.table,
            command: words,
            model: self.model,
            account: self.account,
            wish: None,
            must: &[],
            cap: CAP,
            scenario: SCENARIO,
        }
    }

    /// Returns what came of it, why, and what to do next.
    fn judge(
        &self,
        end: &AgentEnd,
        summary: &StreamSummary,
        folder: &AttemptFolder,
    ) -> (ProbeState, Option<String>, Option<String>) {
        let again = match self.account {
            Some(account) => format!("forge accounts check {}", account.name),
            None => format!("forge agents check {}", self.name),
        };
        let bad = |state: ProbeState, what: &str, next: String| {
            (state, Some(what.trim().to_owned()), Some(next))
        };
        match end {
            AgentEnd::Done => match self.one_shot(None).result(summary, folder) {
                Ok(_) => (ProbeState::Ready, None, None),
                Err(flaw) => {
                    let next = format!("cat {}", folder.transcript().display());
                    bad(ProbeState::NoResult, &flaw, next)
                }
            },
            AgentEnd::Limited(limit) => limited(limit, &again),
            AgentEnd::Failed { class, what } => self.failed(*class, what, folder),
            AgentEnd::Refused { what } => bad(ProbeState::Refused, what, self.another_model()),
            AgentEnd::Overflowed { what } => bad(ProbeState::Broken, what, self.another_model()),
            AgentEnd::OverBudget { what } => {
                let what = format!("{what}; a check may cost {CAP}");
                bad(ProbeState::TooDear, &what, self.another_model())
            }
            AgentEnd::SessionGone => bad(ProbeState::Broken, "its session is gone", again),
            AgentEnd::Stopped(Watchdog::Wall | Watchdog::Silence) => {
                let what = format!("it took longer than {} minutes", WALL_MS / 60_000);
                bad(ProbeState::TooSlow, &what, again)
            }
            AgentEnd::Stopped(Watchdog::Output) => {
                let next = format!("cat {}", folder.transcript().display());
                bad(ProbeState::Broken, "it printed more than allowed", next)
            }
            AgentEnd::NotStarted { why } => bad(
                ProbeState::Broken,
                why,
                format!("fix agents.{}.{}", self.name, self.table.program_key()),
            ),
            AgentEnd::Interrupted => bad(ProbeState::Interrupted, "you stopped it", again),
            AgentEnd::Lost => bad(ProbeState::Broken, "the process that ran it was killed", again),
        }
    }

    fn failed(
        &self,
        class: ErrorClass,
        what: &str,
        folder: &AttemptFolder,
    ) -> (ProbeState, Option<String>, Option<String>) {
        let kind = self.kind();
        let log_in = || {
            kind.how_to_log_in().map_or_else(
                || format!("log in to {} as its message says", self.name),
                str::to_owned,
            )
        };
        let (state, what, next) = match class {
            ErrorClass::Auth => (ProbeState::NotLoggedIn, what.to_owned(), log_in()),
            ErrorClass::Permission => (
                ProbeState::NotAllowed,
                what.to_owned(),
                format!("check what your account may do; or, with another one: {}", log_in()),
            ),
            ErrorClass::NoModel => {
                let model = self.model.map(|model| format!("`{model}`: ")).unwrap_or_default();
                (ProbeState::NoModel, format!("{model}{what}"), self.another_model())
            }
            ErrorClass::Unusable => {
                let key = self.table.program_key();
                (ProbeState::Broken, what.to_owned(), format!("fix agents.{}.{key}", self.name))
            }
            ErrorClass::RateLimit
            | ErrorClass::UsageWindow
            | ErrorClass::Network
            | ErrorClass::Server
            | ErrorClass::Overflow
            | ErrorClass::Refusal
            | ErrorClass::Tooling
            | ErrorClass::NoSession
            | ErrorClass::OutOfBudget
            | ErrorClass::Stopped
            | ErrorClass::Unknown => {
                let words = if kind.has_readable_output() {
                    last_words(&LocalExecutor::default(), folder)
                } else {
                    String::new()
                };
                let next = format!("cat {}", folder.transcript().display());
                (ProbeState::Broken, format!("{what}\n{words}"), next)
            }
        };
        (state, Some(what.trim().to_owned()), Some(next))
    }

    fn another_model(&self) -> String {
        let name = self.name;
        format!("forge agents check {name} --model MODEL, then set agents.{name}.model")
    }
}

/// Returns what a limit means to who only wants to know.
fn limited(limit: &Limit, again: &str) -> (ProbeState, Option<String>, Option<String>) {
    let state = if limit.class == ErrorClass::Network {
        ProbeState::NoNetwork
    } else if limit.class == ErrorClass::Server {
        ProbeState::ProviderTrouble
    } else {
        ProbeState::Limited
    };
    let until = limit.until_ms.map(|until| format!(" until {}", moment(until)));
    let what = format!("{}{}", limit.what.trim(), until.as_deref().unwrap_or_default());
    let next = match (state, until) {
        (ProbeState::NoNetwork, _) => {
            format!(
                "check your connection, and any proxy or provider address in your environment; \
                 then: {again}"
            )
        }
        (_, Some(until)) => format!("wait{until}; a run waits automatically"),
        (_, None) => format!("wait a little; then: {again}"),
    };
    (state, Some(what), Some(next))
}

/// Writes the brief of the check.
fn brief(kind: AgentKind) -> String {
    let how = if kind.has_native_schema() {
        "Give it as the structured output that you are asked for."
    } else {
        "Write it as the file `result.json` into the folder that the variable FORGE_OUTBOX names."
    };
    format!(
        "This checks whether you can be reached. There is nothing to do: read nothing, change \
         nothing.\n\nLeave exactly this result, and stop:\n\n{{\"forge\": 1, \"attempt\": \
         \"{CALL}\", \"status\": \"done\", \"summary\": \"ready\"}}\n\n{how}\n"
    )
}

impl Probed {
    /// Returns the cost, if it is known, in words for a person.
    pub fn cost(&self) -> String {
        match self.spent.cost {
            Cost::Known(money) => money.to_short_text(),
            Cost::Estimated(money) => format!("about {money}"),
            Cost::Unknown => "at an unknown cost".to_owned(),
        }
    }
}
