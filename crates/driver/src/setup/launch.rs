//! One turn of an agent's program as a step: for a call of a run, and for calls outside of runs (the
//! check of an agent, the triage of a request).
//!
//! Not here: what the agent is told (`brief`), and what came of it (`agent_call`).

use std::{ffi::OsString, path::PathBuf};

use forge_agents::{AgentKind, Earlier, Listen, SCRIPTED_COMMAND};
use forge_keeper::{AttemptFolder, EndingProof, Spec, StepLimits, Stop};
use forge_project::settings::Account;

use crate::{
    Error,
    executor::{Executor as _, StepState},
    local_executor::LocalExecutor,
    seats::environment,
    setup::environment::{passed_on, spec},
    signals::Signals,
};

/// How long one wait is; signals and the end of the step cut it short.
const LONG: std::time::Duration = std::time::Duration::from_secs(3600);

/// One turn of an agent's program.
pub struct AgentLaunch<'a> {
    /// The name of the call, opaque to the keeper.
    pub call: String,
    pub role: &'a str,
    pub kind: AgentKind,
    pub turn: forge_agents::TurnRequest<'a>,
    /// Variables of the environment that the agent gets beside the usual ones. Their values are secret.
    pub pass: &'a [String],
    /// The account that it uses, if it is one of several.
    pub account: Option<&'a Account>,
    /// What the session has reported before, for programs that report totals.
    pub earlier: &'a Earlier,
    /// Our own program, for agents with which it speaks.
    pub own_program: String,
    /// Our own program, the scenario and the log of an agent that plays one.
    pub scenario: Option<[String; 3]>,
    /// The working directory.
    pub dir: PathBuf,
    /// The file that the program reads as its input.
    pub brief: PathBuf,
    pub limits: StepLimits,
    /// The folder of inbox and outbox, if that is not the folder of the step.
    pub boxes: Option<PathBuf>,
}

impl AgentLaunch<'_> {
    /// What a keeper runs, and with which environment.
    pub fn to_spec(self) -> (Spec, Vec<(OsString, OsString)>) {
        let cap_micros = self.turn.cap_micros;
        let start = self.kind.start(&self.turn);
        let mut env = passed_on(&start, self.pass);
        env.push(("FORGE_ROLE".into(), self.role.into()));
        let mut secrets = self.pass.to_vec();
        if let Some(account) = self.account {
            let own = environment(account).unwrap_or_default();
            env.retain(|(name, _)| !own.iter().any(|(own, _)| *name == **own));
            env.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
            secrets.extend(account.secrets().map(str::to_owned));
        }
        let argv = match (self.scenario, self.kind.spoken_to_by()) {
            (Some([program, scenario, log]), _) => {
                vec![program, SCRIPTED_COMMAND.to_owned(), scenario, log]
            }
            (None, Some(command)) => {
                [vec![self.own_program, command.to_owned()], start.argv].concat()
            }
            (None, None) => start.argv,
        };
        let (kind, earlier) = (self.kind, self.earlier);
        let listen = |cap_micros| Listen { kind, cap_micros, earlier: earlier.clone() }.to_json();
        let spec = Spec {
            stdin: Some(self.brief),
            stdout: start.stdout,
            stderr: start.stderr,
            secrets,
            monitor: cap_micros.map(listen),
            boxes: self.boxes,
            ..spec(self.call, argv, self.dir, self.limits)
        };
        (spec, env)
    }
}

/// Carries out a step that belongs to no run, on this machine. Ctrl-C stops it, and again at once.
pub fn run_to_end(
    program: PathBuf,
    folder: &AttemptFolder,
    env: &[(OsString, OsString)],
    signals: &mut Signals,
) -> Result<StepState, Error> {
    let error = |error: std::io::Error| Error::file(&folder.path, &error);
    let executor = LocalExecutor::new(program).map_err(error)?;
    let (call, key) = (folder.spec().map_err(error)?.call, executor.ending_key());
    executor.start(folder, env, &[]).map_err(error)?;
    let mut how = Stop::Gently;
    while !executor.has_ended(folder) {
        executor.wait(&signals.files(), LONG).map_err(error)?;
        if signals.new_signals() > 0 {
            // One that has not begun yet never will.
            executor.stop(folder, how).map_err(error)?;
            how = Stop::AtOnce;
        }
    }
    executor
        .state(folder, &EndingProof::Signed { call: &call, keys: &[key], own: None })
        .map_err(error)
}
