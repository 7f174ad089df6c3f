//! Chooses the run for a command that names none: the only one that the action applies to.
//!
//! Not here: prefixes of run ids (`Forge::resolve`), and read-only commands, which take the latest run.
//!
//! Invariant: if several runs qualify, the user picks one at the terminal, or has to name it.

use forge_api::{
    Error,
    clock::now,
    forge::{Forge, RUNS_MAX},
};
use forge_core::{
    Time,
    view::{Course, RunRow, sanitize},
};

use super::prompt::can_ask;
use crate::{format, picker::pick, text::status_text::standing_text, text_width};

/// The most runs that are listed if several qualify.
const LISTED_MAX: usize = 10;
/// The columns of the state of a run in a list.
const STATE_WIDTH: usize = 15;
/// The columns of the title of a run in a list.
const TITLE_WIDTH: usize = 46;

/// An action that needs a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAction {
    Resume,
    Attach,
    Pause,
    Stop,
    Abandon,
    Answer {
        question: forge_core::id::QuestionId,
    },
    /// Answer whatever is asked; the command is named by its verb.
    Decide {
        verb: &'static str,
    },
    Merge,
    PullRequest,
}

impl RunAction {
    /// Returns the command, and the action as in "3 runs could be …".
    fn words(self) -> (String, String) {
        let (command, past_participle) = match self {
            Self::Resume => ("resume", "resumed"),
            Self::Attach => ("attach", "shown"),
            Self::Pause => ("pause", "paused"),
            Self::Stop => ("stop", "stopped"),
            Self::Abandon => ("abandon", "abandoned"),
            Self::Answer { question } => {
                let command = format!("forge answer RUN {question} …");
                return (command, format!("answered about {question}"));
            }
            Self::Decide { verb } => (verb, "answered"),
            Self::Merge => ("merge", "merged"),
            Self::PullRequest => ("pr", "offered as a pull request"),
        };
        (format!("forge {command} RUN"), past_participle.to_owned())
    }
}

/// Resolves the named run, or finds the only one that `action` applies to.
pub(crate) fn choose_run(
    forge: &Forge,
    named: Option<&str>,
    action: RunAction,
) -> Result<String, Error> {
    if let Some(named) = named {
        return forge.resolve(named);
    }
    // Fails with a hint if there are no runs at all.
    let latest = forge.latest()?;
    let (rows, _) = forge.rows(RUNS_MAX)?;
    // Runs with a driver or an open live screen, and the others.
    let (attended, alone): (Vec<&RunRow>, Vec<&RunRow>) = rows
        .iter()
        .filter(|row| row.standing.course() != Course::Over)
        .partition(|row| forge.is_driven(&row.run) || forge.is_attended(&row.run));
    let choices: [Vec<&RunRow>; 2] = match action {
        RunAction::Resume => {
            let (failed, open) =
                alone.into_iter().partition(|row| row.standing.course() == Course::Failed);
            // A failed run is chosen only if there is no other candidate.
            let open: Vec<&RunRow> = open;
            if open.is_empty() && attended.is_empty() {
                [failed, Vec::new()]
            } else {
                [open, attended]
            }
        }
        RunAction::Attach => [
            attended,
            alone.into_iter().filter(|row| row.standing.course() != Course::Failed).collect(),
        ],
        RunAction::Pause => {
            let alone = alone.into_iter().filter(|row| match row.standing.course() {
                Course::Driven | Course::Asking => true,
                Course::Held | Course::Failed | Course::Over => false,
            });
            [attended, alone.collect()]
        }
        // A run without a driver is stopped only if it is named.
        RunAction::Stop => [attended, Vec::new()],
        // Abandoning is final, so all unfinished runs are candidates and none is preferred.
        RunAction::Abandon => {
            [rows.iter().filter(|row| row.standing.course() != Course::Over).collect(), Vec::new()]
        }
        RunAction::Answer { question } => {
            let mut asking = Vec::new();
            for row in attended.into_iter().chain(alone).filter(|row| row.questions > 0) {
                let asked = forge.view(&row.run)?.asked;
                if asked.iter().any(|asked| asked.question == question.to_string()) {
                    asking.push(row);
                }
            }
            [asking, Vec::new()]
        }
        RunAction::Decide { .. } => {
            let asking = rows.iter().filter(|row| row.standing.course() != Course::Over);
            [asking.filter(|row| row.questions > 0).collect(), Vec::new()]
        }
        RunAction::Merge | RunAction::PullRequest => {
            let unmerged = forge.unmerged_runs()?;
            let is_one = |row: &&RunRow| unmerged.iter().any(|one| one.run == row.run);
            let unmerged: Vec<&RunRow> = rows.iter().filter(is_one).collect();
            // What cannot be done with the latest run is the best answer there is.
            if unmerged.is_empty() {
                return Ok(latest);
            }
            [unmerged, Vec::new()]
        }
    };
    match choices.iter().find(|choices| !choices.is_empty()).map(Vec::as_slice) {
        Some([row]) => Ok(row.run.clone()),
        Some(rows) => pick_run(rows, action),
        None => {
            let what = match action {
                RunAction::Attach => "no run is running or needs you".to_owned(),
                RunAction::Answer { question } if rows.iter().any(|row| row.questions > 0) => {
                    format!("no run asks {question} now")
                }
                RunAction::Answer { .. } | RunAction::Decide { .. } => {
                    "no run has an open question".to_owned()
                }
                RunAction::Resume
                | RunAction::Pause
                | RunAction::Stop
                | RunAction::Abandon
                | RunAction::Merge
                | RunAction::PullRequest => format!("no run can be {}", action.words().1),
            };
            Err(Error::usage(what, "forge status"))
        }
    }
}

/// Lets the person at the terminal pick one of several runs; without a terminal they are listed.
fn pick_run(rows: &[&RunRow], action: RunAction) -> Result<String, Error> {
    let now = now();
    let lines: Vec<String> = rows.iter().map(|row| run_line(row, now)).collect();
    let (command, past_participle) = action.words();
    if can_ask() {
        let picked = pick("Which run?", &lines, &[]);
        return match picked {
            Some(picked) => Ok(rows[picked.line].run.clone()),
            None => Err(Error::person("no run was picked", command)),
        };
    }
    let mut listed: Vec<String> =
        lines.iter().take(LISTED_MAX).map(|line| format!("  {line}")).collect();
    if rows.len() > LISTED_MAX {
        listed.push(format!("  and {} more: forge status", rows.len() - LISTED_MAX));
    }
    Err(Error::usage(
        format!("{} runs can be {past_participle}; name one", rows.len()),
        format!("{command}, where RUN is one of\n{}", listed.join("\n")),
    ))
}

/// Formats a run for a list: short id, state, title, age.
pub(crate) fn run_line(row: &RunRow, now: Time) -> String {
    let title = format::one_line(&sanitize(&row.title), TITLE_WIDTH);
    format!(
        "{}  {:<STATE_WIDTH$}  {}  {:>4} ago",
        format::short_id(&row.run),
        standing_text(row, now),
        text_width::pad(&title, TITLE_WIDTH),
        format::age(row.changed_at, now),
    )
}
