//! `forge __keep DIR`: runs one attempt from claim to ending, whatever happens to the driver.
//!
//! Read [`keep`], then `watch` (the poll loop), then `child`, `output`, `family` and `ending`.
//!
//! Not here: what an agent is, or whether it did well. A keeper knows one child and its limits.
//!
//! Invariant: nothing is done before the claim is ours.
//! Invariant: when an ending is written no descendant is alive (unless the kernel cannot kill it).
//! Invariant: memory is bounded: fixed buffers, no whole files.
//! Invariant: three fsyncs (transcript, ending, folder), and one for each file in the outbox.

mod child;
mod ending;
mod family;
mod output;
mod signals;
mod watch;

use std::fmt::Display;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{getpid, set_child_subreaper, setsid};

use crate::claim::{self, CLAIM_LOST_EXIT, Claiming};
use crate::folder::{AttemptFolder, Ending, FORMAT, How, Spec};
use crate::redact::{Redactor, known_secrets};

/// Something of ours broke; `keeper.log` says what.
const BROKEN_EXIT: u8 = 70;
/// Between two rounds of killing, when there is no poll loop any more.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// Main of `forge __keep DIR`.
pub fn keep(folder: &Path) -> ExitCode {
    leaving_nobody(|| {
        let folder = AttemptFolder::at(std::path::absolute(folder)?);
        // A terminal must not be able to end us. It fails only if we already lead a session.
        let _ = setsid();
        set_child_subreaper(Some(getpid()))?;
        // Before the claim: whoever can see the claim may already signal us.
        let signals = signals::Signals::install()?;
        let Claiming::Won(_held_for_life) = claim::claim(&folder)? else {
            return Ok(ExitCode::from(CLAIM_LOST_EXIT));
        };
        run(&folder, signals)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Does `work`; if that fails or panics, says so and kills everybody below us.
#[doc(hidden)]
pub fn leaving_nobody(work: impl FnOnce() -> io::Result<ExitCode>) -> ExitCode {
    // The panic's own message is already on stderr when it arrives here.
    let trouble = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(code)) => return code,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the keeper panicked".to_owned(),
    };
    complain(&trouble);
    if let Err(error) = family::kill_everybody(|| sleep(KILL_AGAIN_AFTER)) {
        complain(&format!("cannot kill what is left: {error}"));
    }
    ExitCode::from(BROKEN_EXIT)
}

fn run(folder: &AttemptFolder, signals: signals::Signals) -> io::Result<()> {
    let started_at_ms = now_ms();
    let prepared = ending::Prepared::new(folder);
    let (call, outcome) = match (folder.spec(), &prepared) {
        (Ok(spec), Ok(_)) => (spec.call.clone(), attempt(folder, &spec, signals)),
        (Ok(spec), Err(error)) => (spec.call, watch::Outcome::not_started(error)),
        (Err(error), _) => (String::new(), watch::Outcome::not_started(error)),
    };
    ending::sync_outbox(&folder.outbox());
    let ending = Ending {
        forge: FORMAT,
        call,
        how: outcome.how,
        started_at_ms,
        ended_at_ms: now_ms().max(started_at_ms),
        output_bytes: outcome.output_bytes,
        swept: outcome.swept,
        transcript_cut: outcome.transcript_cut,
    };
    ending::write(folder, prepared.ok(), &ending)
}

/// Starts the child and stays with it to the end.
fn attempt(folder: &AttemptFolder, spec: &Spec, signals: signals::Signals) -> watch::Outcome {
    let redactor = Redactor::new(known_secrets(std::env::vars_os(), &spec.secrets));
    let transcript = match output::open_transcript(folder) {
        Ok(transcript) => transcript,
        Err(error) => return watch::Outcome::not_started(error),
    };
    match child::start(folder, spec) {
        Ok(child) => {
            let limit = spec.limits.output_bytes;
            let output = output::Output::new(child.source, redactor, transcript, limit);
            watch::Watch::new(spec, child.pid, output, signals).until_the_end()
        }
        Err(why) => watch::Outcome::not_started(why),
    }
}

impl watch::Outcome {
    fn not_started(why: impl Display) -> Self {
        let why = why.to_string().chars().take(ending::WHY_CHARACTERS_MAX).collect();
        Self { how: How::NotStarted { why }, output_bytes: 0, swept: 0, transcript_cut: None }
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Into `keeper.log`. If that cannot be written there is nobody else to tell.
fn complain(message: &str) {
    let _ = writeln!(io::stderr(), "keeper: {message}");
}
