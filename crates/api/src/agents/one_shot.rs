//! One call of an agent that belongs to no run: the check of an agent, the triage of a request.
//!
//! It has a folder and a keeper, as every call has, in a temporary place outside the repository, and may
//! take little time.
//!
//! Not here: what it is asked, and what its answer means (`check.rs`, `start/triage.rs`).
//!
//! Invariant: after it nothing of the call is alive.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
};

use forge_agents::{
    AgentEnd, AgentKind, CodeAccess, Earlier, Session, StreamSummary, TurnRequest, parse_result,
    read_result, result_schema, session_id,
};
use forge_core::{
    money::Money,
    result::{AgentResult, ResultKey},
    routing::Wish,
};
use forge_driver::{
    Error,
    agent_call::usage::{errors, listen},
    executor::StepState,
    local_executor::{LocalExecutor, own_program},
    setup::{
        launch::{AgentLaunch, run_to_end},
        turn::BRIEF,
    },
    signals::Signals,
};
use forge_keeper::{AttemptFolder, Ending, Spec, StepLimits};
use forge_project::settings::{Account, AgentTable};

/// How long such a call may take.
pub(crate) const WALL_MS: u64 = 2 * 60_000;
/// How much it may print.
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// One call of an agent.
pub(crate) struct OneShot<'a> {
    /// Its name, which its result repeats.
    pub(crate) call: &'static str,
    pub(crate) role: &'a str,
    pub(crate) table: &'a AgentTable,
    /// Program and first arguments.
    pub(crate) command: Vec<String>,
    pub(crate) model: Option<&'a str>,
    /// The account that it uses, if it is one of several.
    pub(crate) account: Option<&'a Account>,
    /// How hard it is to think.
    pub(crate) wish: Option<Wish>,
    /// Keys that its result must have.
    pub(crate) must: &'a [ResultKey],
    pub(crate) cap: Money,
    /// The play of the scripted agent.
    pub(crate) scenario: &'a str,
}

impl OneShot<'_> {
    /// Returns how it is run, and with which environment.
    pub(crate) fn prepare(
        &self,
        place: &CallFolder,
    ) -> Result<(Spec, Vec<(OsString, OsString)>), Error> {
        let (folder, kind) = (place.folder(), self.table.like);
        let schema = kind.has_native_schema().then(|| result_schema(self.call, self.must, &[]));
        let session = session_id(&[&place.path.to_string_lossy()]);
        let scenario =
            if kind.plays_scenario() { Some(place.scenario(self.scenario)?) } else { None };
        let (inbox, outbox, tmp) = (folder.inbox(), folder.outbox(), place.tmp());
        let dir = place.work();
        let launch = AgentLaunch {
            call: self.call.to_owned(),
            role: self.role,
            kind,
            turn: TurnRequest {
                command: &self.command,
                model: self.model,
                effort: self.wish.and_then(|wish| wish.effort).map(|effort| effort.is),
                thinking: self.wish.and_then(|wish| wish.thinking).map(|thinking| thinking.is),
                session: Session::New(&session),
                access: CodeAccess::Reads,
                dir: &dir,
                inbox: &inbox,
                outbox: &outbox,
                tmp: Some(&tmp),
                schema: schema.as_ref(),
                cap_micros: Some(self.cap.0),
            },
            pass: &self.table.pass,
            account: self.account,
            earlier: &Earlier::default(),
            own_program: own_program()?.to_string_lossy().into_owned(),
            scenario,
            dir: dir.clone(),
            brief: folder.path.join(BRIEF),
            limits: StepLimits { wall_ms: WALL_MS, silence_ms: 0, output_bytes: OUTPUT_BYTES_MAX },
            boxes: None,
        };
        Ok(launch.to_spec())
    }

    /// Reads what it left: the answer that its program vouches for, or the file in its outbox.
    pub(crate) fn result(
        &self,
        summary: &StreamSummary,
        folder: &AttemptFolder,
    ) -> Result<AgentResult, String> {
        let result = match &summary.answer {
            Some(answer) => parse_result(answer.to_string().as_bytes(), self.call, self.must),
            None => read_result(&folder.outbox(), self.call, self.must),
        };
        result.map_err(|flaw| flaw.to_string())
    }
}

/// A folder for one call, and for all that it makes.
pub(crate) struct CallFolder {
    pub(crate) path: PathBuf,
}

impl CallFolder {
    pub(crate) fn make() -> Result<Self, Error> {
        let mut bytes = [0_u8; 4];
        let _as_good_as_any =
            rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let number = u32::from_le_bytes(bytes) ^ std::process::id();
        let dir = std::env::temp_dir();
        let dir = dir.canonicalize().unwrap_or(dir);
        let place = Self { path: dir.join(format!("forge-check-{number:08x}")) };
        for path in [place.path.clone(), place.work(), place.tmp()] {
            DirBuilder::new()
                .mode(0o700)
                .create(&path)
                .map_err(|error| Error::file(&path, &error))?;
        }
        Ok(place)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// Sockets lie here, so its path is short.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.path.join("t")
    }

    /// Writes a scenario, and says with what it is played.
    pub(crate) fn scenario(&self, text: &str) -> Result<[String; 3], Error> {
        let scenario = self.path.join("scenario.toml");
        fs::write(&scenario, text).map_err(|error| Error::file(&scenario, &error))?;
        let paths = [own_program()?, scenario, self.path.join("scripted.log")];
        Ok(paths.map(|path| path.to_string_lossy().into_owned()))
    }

    pub(crate) fn folder(&self) -> AttemptFolder {
        AttemptFolder::at(self.path.join("call"))
    }

    pub(crate) fn remove(&self) {
        let _nobody_misses_it = fs::remove_dir_all(&self.path);
    }
}

/// Carries out a prepared call. Ctrl-C ends it, and again at once.
pub(crate) fn run_to_its_end(
    folder: &AttemptFolder,
    env: &[(OsString, OsString)],
    signals: &mut Signals,
) -> Result<Option<Ending>, Error> {
    match run_to_end(own_program()?, folder, env, signals)? {
        StepState::Ended(ending) => Ok(Some(ending)),
        StepState::Void => Err(Error {
            kind: forge_project::error::Kind::Interrupted,
            what: "you stopped it before it began".to_owned(),
            next: None,
        }),
        StepState::Running | StepState::Dead | StepState::Unclaimed => Ok(None),
    }
}

/// Reads what an ended call printed, and says how it ended.
pub(crate) fn read_ended_call(
    kind: AgentKind,
    asked_for: Option<&str>,
    folder: &AttemptFolder,
    ending: Option<&Ending>,
) -> (StreamSummary, AgentEnd) {
    let executor = LocalExecutor::default();
    let summary = listen(&executor, kind, asked_for, folder, &Earlier::default());
    let end = summary.end(ending.map(|ending| &ending.how), &errors(&executor, folder));
    (summary, end)
}
