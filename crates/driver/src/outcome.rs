//! How a call ended without a usable result, and how a command ended.

use std::{
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};

use forge_core::{
    Report, Run,
    event::{Outcome, Receipt, Ruling},
    failure::FaultClass,
    id::CallId,
    money::Spent,
    run::CallKind,
};
use forge_keeper::{AttemptFolder, Ending, ExitReason};

use crate::executor::Executor;

/// The last bytes of a transcript that a failure shows.
const LAST_WORDS_BYTES: u64 = 4 * 1024;

/// The last lines of a transcript that a failure shows.
const LAST_WORDS_LINES: usize = 20;

/// A shell adds the number of a signal to this.
const SHELL_SIGNAL: i32 = 128;

/// How a call ended without an ending of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndedWithoutResult {
    /// Its keeper died.
    Lost,
    /// It never began, and we no longer want it.
    NeverBegan,
    /// Its keeper could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
}

/// Reports a call without an ending.
pub fn report_without(run: &Run, call: &CallId, without: EndedWithoutResult) -> Report {
    let is_agent = matches!(run.call_kind(call), CallKind::Agent { .. });
    let is_lost = without == EndedWithoutResult::Lost;
    let spent = if is_lost && is_agent { Spent::UNKNOWN } else { Spent::NOTHING };
    without_result(call, without.outcome(), Receipt::from_spent(spent))
}

impl EndedWithoutResult {
    /// The outcome for the run.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Lost => Outcome::Lost,
            Self::NeverBegan => Outcome::Interrupted,
            Self::NotStarted { why } => Outcome::Fault { class: FaultClass::NotStarted, what: why },
        }
    }
}

/// A call that left no result ended like this: an attempt at the work, or a gate's look at it.
pub fn without_result(call: &CallId, outcome: Outcome, receipt: Receipt) -> Report {
    match call {
        CallId::Attempt(attempt) => {
            Report::Worked { attempt: attempt.clone(), outcome, lists: Vec::new(), receipt }
        }
        CallId::Judgement(judgement) => {
            let ruling = match outcome {
                Outcome::Fault { class, what } => Ruling::Fault { class, what },
                Outcome::Limited { until, what } | Outcome::Deferred { until, what } => {
                    Ruling::Limited { until, what }
                }
                Outcome::Blocked { class, what } => Ruling::Blocked { class, what },
                Outcome::Interrupted => Ruling::Interrupted,
                Outcome::Lost => Ruling::Lost,
                Outcome::Done | Outcome::Partial { .. } => {
                    unreachable!("only failed endings come without a result")
                }
            };
            Report::Judged { judgement: judgement.clone(), ruling, receipt }
        }
    }
}

/// How a command ended.
pub enum CommandEnd {
    Success,
    /// It says no.
    Failure {
        code: i32,
        what: String,
    },
    /// It says nothing that could be used.
    Fault {
        class: FaultClass,
        what: String,
    },
    Interrupted,
}

/// Whether others end processes with this signal. Then the work that was looked at is not to blame.
fn is_stop(signal: i32) -> bool {
    use rustix::process::Signal;
    [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP].map(Signal::as_raw).contains(&signal)
}

fn killed(executor: &dyn Executor, folder: &AttemptFolder, signal: i32) -> CommandEnd {
    let what = ended(&last_words(executor, folder), &format!("killed by signal {signal}"));
    CommandEnd::Fault { class: FaultClass::Crashed, what }
}

pub fn command_end(executor: &dyn Executor, folder: &AttemptFolder, ending: &Ending) -> CommandEnd {
    match &ending.how {
        ExitReason::Exited { code: 0 } => CommandEnd::Success,
        // A shell tells like this that what it ran was killed.
        ExitReason::Exited { code } if is_stop(code - SHELL_SIGNAL) => {
            killed(executor, folder, code - SHELL_SIGNAL)
        }
        ExitReason::Exited { code } => {
            let what = ended(&last_words(executor, folder), &format!("exit code {code}"));
            CommandEnd::Failure { code: *code, what }
        }
        ExitReason::Signalled { signal } if is_stop(*signal) => killed(executor, folder, *signal),
        // The program itself did something that it may not.
        ExitReason::Signalled { signal } => CommandEnd::Failure {
            code: SHELL_SIGNAL + signal,
            what: ended(&last_words(executor, folder), &format!("crashed with signal {signal}")),
        },
        ExitReason::TimedOut => CommandEnd::Fault {
            class: FaultClass::TimedOut,
            what: format!("{}\nit took too long", last_words(executor, folder)),
        },
        ExitReason::Silent => CommandEnd::Fault {
            class: FaultClass::TimedOut,
            what: format!("{}\nit printed nothing for too long", last_words(executor, folder)),
        },
        ExitReason::TooMuchOutput => CommandEnd::Fault {
            class: FaultClass::TooMuchOutput,
            what: "it printed more than allowed".to_owned(),
        },
        // Commands cost nothing, so nobody stops them for it.
        ExitReason::OverBudget | ExitReason::Interrupted => CommandEnd::Interrupted,
        ExitReason::NotStarted { why } => {
            CommandEnd::Fault { class: FaultClass::NotStarted, what: why.clone() }
        }
    }
}

/// The last words of a program, and how it ended. A last line for people is told together with the
/// ending, because it mostly says why; a line for programs says nothing to them.
pub fn ended(words: &str, how: &str) -> String {
    let words = words.trim_end();
    match words.lines().last().map(str::trim) {
        Some(line) if !line.is_empty() && !line.starts_with('{') => format!("{words} ({how})"),
        Some(_) | None => format!("{words}\n{how}"),
    }
}

/// The last bytes of a file that a step left.
pub fn tail_of(executor: &dyn Executor, path: &Path, most: u64) -> std::io::Result<String> {
    let mut file = executor.open_output(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A small file that a step left; nothing if it cannot be read.
pub fn read_all(executor: &dyn Executor, path: &Path) -> String {
    tail_of(executor, path, LAST_WORDS_BYTES).unwrap_or_default()
}

/// The last lines of a transcript.
pub fn last_words(executor: &dyn Executor, folder: &AttemptFolder) -> String {
    let text = read_all(executor, &folder.transcript());
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_WORDS_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_executor::LocalExecutor;

    fn end(how: ExitReason) -> CommandEnd {
        let ending = Ending {
            forge: 1,
            call: "build#1/verify#1".to_owned(),
            how,
            started_at_ms: 0,
            ended_at_ms: 0,
            output_bytes: 0,
            swept: 0,
            transcript_cut: None,
            left_over: 0,
            disk_full: false,
            result: None,
            kept: None,
            signature: None,
        };
        command_end(&LocalExecutor::default(), &AttemptFolder::at("/nowhere"), &ending)
    }

    #[test]
    fn a_command_that_was_killed_says_nothing_about_the_work() {
        for signal in [1, 2, 9, 15] {
            for how in [ExitReason::Signalled { signal }, ExitReason::Exited { code: 128 + signal }]
            {
                let CommandEnd::Fault { class: FaultClass::Crashed, what } = end(how) else {
                    panic!("{signal} is no verdict")
                };
                assert!(what.contains(&format!("killed by signal {signal}")), "{what}");
            }
        }
    }

    #[test]
    fn a_program_that_crashes_is_red() {
        // ILL, ABRT, BUS, FPE, SEGV, PIPE.
        for signal in [4, 6, 7, 8, 11, 13] {
            for how in [ExitReason::Signalled { signal }, ExitReason::Exited { code: 128 + signal }]
            {
                let CommandEnd::Failure { code, .. } = end(how) else { panic!("{signal} is red") };
                assert_eq!(code, 128 + signal);
            }
        }
        for code in [1, 2, 9, 124, 126, 127, 128, 255] {
            assert!(
                matches!(end(ExitReason::Exited { code }), CommandEnd::Failure { .. }),
                "{code}"
            );
        }
    }
}
