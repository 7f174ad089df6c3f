//! `forge __keep DIR`: runs one attempt from claim to ending, whatever happens to the driver.
//!
//! Read [`keep`], then `event_loop`, then `child`, `output`, `monitor`, `descendants` and `ending`.
//!
//! Not here: what an agent is, or whether it did well. A keeper knows one child and its limits; a
//! monitor that it is given can say that the child costs too much.
//!
//! Invariant: nothing is done before the claim is won, and nothing at all if the driver ends before it has said what to do.
//! Invariant: when an ending is written no descendant is alive, or `left_over` counts it.
//! Invariant: memory is bounded: fixed buffers, no whole files.
//! Invariant: one fsync, of the ending; where the step left too much for that, one more for each file that it left.

mod child;
mod descendants;
pub mod ending;
mod event_loop;
mod log;
pub mod monitor;
mod output;
pub mod own_step;
mod signals;

use std::cell::OnceCell;
use std::env;
use std::fmt::Display;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{getpid, set_child_subreaper, setsid};

use crate::attempt::claim::{self, CLAIM_LOST_EXIT, Claiming, Identity};
use crate::attempt::dir::{AttemptFolder, Ending, ExitReason, FORMAT, Spec, Stderr};
use crate::attempt::ending_signature::EndingSigner;
use crate::redact::unpacked;
use crate::variables::SECRETS_VARIABLE;
use log::Log;
use monitor::OpenMonitor;
use output::{ChildOutput, ChildOutputs};

/// The keeper itself broke; `keeper.log` says what.
const BROKEN_EXIT: u8 = 70;
/// Between two rounds of killing, when there is no poll loop any more.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// What the driver passes through the pipe: the seed of the key for the ending, then secret values.
struct FromDriver {
    /// Nothing for a keeper that was started by hand.
    key: SigningKey,
    secrets: Vec<Vec<u8>>,
}

/// The key for the ending. It is made of its seed while the child runs.
struct SigningKey {
    seed: Vec<u8>,
    signer: OnceCell<Option<EndingSigner>>,
}

impl FromDriver {
    /// Waits for what the driver says; none, if it ended before it said anything.
    fn read() -> Option<Self> {
        let is_told = env::var_os(SECRETS_VARIABLE).is_some();
        let mut values = if is_told { unpacked(io::stdin().lock()) } else { vec![Vec::new()] };
        if values.is_empty() {
            return None;
        }
        let secrets = values.split_off(1);
        let key = SigningKey { seed: values.remove(0), signer: OnceCell::new() };
        Some(Self { key, secrets })
    }
}

impl SigningKey {
    fn signer(&self) -> Option<&EndingSigner> {
        self.signer.get_or_init(|| EndingSigner::from_seed(&self.seed)).as_ref()
    }
}

/// What a keeper makes ready before it knows its step: a driver starts some before it needs them.
struct ReadyKeeper {
    own: Identity,
    signals: signals::SignalPipes,
}

impl ReadyKeeper {
    fn new() -> io::Result<Self> {
        // A terminal must not be able to end us. It fails only if we already lead a session.
        let _ = setsid();
        set_child_subreaper(Some(getpid()))?;
        // Before the claim: whoever can see the claim may already signal us.
        Ok(Self { signals: signals::SignalPipes::install()?, own: Identity::own()? })
    }
}

/// Main of `forge __keep DIR`.
pub fn keep(folder: &Path, open_monitor: OpenMonitor) -> ExitCode {
    let ready = ReadyKeeper::new();
    let Some(FromDriver { key, secrets }) = FromDriver::read() else { return ExitCode::SUCCESS };
    let log_file = AttemptFolder::at(folder).keeper_log();
    leaving_nobody(secrets, Some(log_file), |log| {
        let ReadyKeeper { own, signals } = ready?;
        let folder = AttemptFolder::at(std::path::absolute(folder)?);
        let Claiming::Won(claim) = claim::claim_as(&folder, &own)? else {
            return Ok(ExitCode::from(CLAIM_LOST_EXIT));
        };
        // The kernel unlocks it after we can no longer be found: until then a sweep spares us.
        std::mem::forget(claim);
        run(&folder, open_monitor, signals, &key, log)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Does `work`; if that fails or panics, says so and kills everybody below us.
#[doc(hidden)]
pub fn leaving_nobody(
    secrets: Vec<Vec<u8>>,
    log_file: Option<PathBuf>,
    work: impl FnOnce(&mut Log) -> io::Result<ExitCode>,
) -> ExitCode {
    let mut log = Log::begin(secrets, log_file);
    // The panic's own message is already in the log when it arrives here.
    let trouble = match catch_unwind(AssertUnwindSafe(|| work(&mut log))) {
        Ok(Ok(code)) => return code,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the keeper panicked".to_owned(),
    };
    log.complain(&trouble);
    descendants::kill_everybody(&log, || sleep(KILL_AGAIN_AFTER));
    ExitCode::from(BROKEN_EXIT)
}

fn run(
    folder: &AttemptFolder,
    open_monitor: OpenMonitor,
    signals: signals::SignalPipes,
    key: &SigningKey,
    log: &mut Log,
) -> io::Result<()> {
    let started_at_ms = ending::now_ms();
    let prepared = ending::Prepared::new(folder);
    let spec = folder.spec();
    if let Ok(spec) = &spec {
        log.learn(&spec.secrets);
    }
    let (outbox, tree) = match &spec {
        Ok(spec) => (child::boxes(folder, spec).outbox(), spec.dir.clone()),
        Err(_) => (folder.outbox(), folder.path.clone()),
    };
    let (call, outcome) = match (spec, &prepared) {
        (Ok(spec), Ok(_)) => {
            (spec.call.clone(), attempt(folder, &spec, open_monitor, signals, key, log))
        }
        (Ok(spec), Err(error)) => (spec.call, event_loop::ChildOutcome::not_started(error)),
        (Err(error), _) => (String::new(), event_loop::ChildOutcome::not_started(error)),
    };
    let left = ending::clean_outbox(&outbox, log);
    let printed: Vec<PathBuf> =
        [folder.transcript(), folder.stderr()].into_iter().filter(|path| path.is_file()).collect();
    let mut ending = Ending {
        forge: FORMAT,
        call,
        how: sayable(outcome.how, log),
        started_at_ms,
        ended_at_ms: ending::now_ms().max(started_at_ms),
        output_bytes: outcome.output_bytes,
        swept: outcome.swept,
        transcript_cut: outcome.transcript_cut.map(|why| log.redact(&why)),
        left_over: outcome.left_over,
        disk_full: [&folder.path, &tree].into_iter().any(|dir| ending::is_full(dir)),
        kept: None,
        result: None,
        signature: None,
    };
    ending::keep_files(&left, &printed, &mut ending, log);
    if let Some(signer) = key.signer() {
        signer.sign(folder, &mut ending);
    }
    ending::write(folder, prepared.ok(), &ending, log)
}

/// A reason is redacted first and cut second: half a secret would not be known any more.
fn sayable(how: ExitReason, log: &Log) -> ExitReason {
    match how {
        ExitReason::NotStarted { why } => {
            let why = log.redact(&why).chars().take(ending::WHY_CHARACTERS_MAX).collect();
            ExitReason::NotStarted { why }
        }
        ExitReason::Exited { .. }
        | ExitReason::Signalled { .. }
        | ExitReason::TimedOut
        | ExitReason::Silent
        | ExitReason::TooMuchOutput
        | ExitReason::OverBudget
        | ExitReason::Interrupted => how,
    }
}

/// Starts the child and stays with it to the end.
fn attempt(
    folder: &AttemptFolder,
    spec: &Spec,
    open_monitor: OpenMonitor,
    signals: signals::SignalPipes,
    key: &SigningKey,
    log: &Log,
) -> event_loop::ChildOutcome {
    let monitor = match spec.monitor.as_ref().map(open_monitor).transpose() {
        Ok(monitor) => monitor,
        Err(why) => return event_loop::ChildOutcome::not_started(why),
    };
    let files = output::open(&folder.transcript()).and_then(|transcript| {
        Ok((transcript, apart(folder, spec).map(|path| output::open(&path)).transpose()?))
    });
    let (transcript, errors_file) = match files {
        Ok(files) => files,
        Err(error) => return event_loop::ChildOutcome::not_started(error),
    };
    match child::start(folder, spec) {
        Ok(child) => {
            // There is time for it now.
            key.signer();
            let main = ChildOutput::new(child.source, log.redactor(), transcript);
            let errors = child.errors.zip(errors_file);
            let errors =
                errors.map(|(source, file)| ChildOutput::new(source, log.redactor(), file));
            let outputs =
                ChildOutputs::new(main.with_monitor(monitor), errors, spec.limits.output_bytes);
            event_loop::EventLoop::new(spec, child.pid, outputs, signals, log).until_the_end()
        }
        Err(why) => event_loop::ChildOutcome::not_started(why),
    }
}

/// The file for errors, if they are kept apart.
fn apart(folder: &AttemptFolder, spec: &Spec) -> Option<PathBuf> {
    match spec.stderr {
        Stderr::Together => None,
        Stderr::Apart => Some(folder.stderr()),
    }
}

impl event_loop::ChildOutcome {
    fn not_started(why: impl Display) -> Self {
        let how = ExitReason::NotStarted { why: why.to_string() };
        Self { how, output_bytes: 0, swept: 0, left_over: 0, transcript_cut: None }
    }
}
