//! Chooses the run for a command that names none: the only one that the action applies to.
//!
//! Not here: prefixes of run ids (`Forge::resolve`), and read-only commands, which take the latest run.
//!
//! Invariant: if several runs qualify, the user has to name one.

use forge_api::{
    Error,
    clock::now,
    forge::{Forge, RUNS_MAX},
};
use forge_core::view::{Course, RunRow};

use crate::format;

/// The most runs that are listed if several qualify.
const LISTED_MAX: usize = 10;

/// An action that needs a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAction {
    Resume,
    Attach,
    Pause,
    Stop,
    Abandon,
    Answer { question: forge_core::id::QuestionId },
}

impl RunAction {
    /// Returns the command, and the action as in "3 runs could be …".
    fn words(self) -> (String, String) {
        let (command, past_participle) = match self {
            Self::Resume => ("resume", "resumed"),
            Self::Attach => ("attach", "looked at"),
            Self::Pause => ("pause", "paused"),
            Self::Stop => ("stop", "stopped"),
            Self::Abandon => ("abandon", "abandoned"),
            Self::Answer { question } => {
                let command = format!("forge answer RUN {question} …");
                return (command, format!("answered about {question}"));
            }
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
    forge.latest()?;
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
    };
    match choices.iter().find(|choices| !choices.is_empty()).map(Vec::as_slice) {
        Some([row]) => Ok(row.run.clone()),
        Some(rows) => Err(several_runs(rows, action)),
        None => Err(Error::usage(
            format!("there is no run that could be {}", action.words().1),
            "forge status",
        )),
    }
}

fn several_runs(rows: &[&RunRow], action: RunAction) -> Error {
    let now = now();
    let mut lines: Vec<String> = rows
        .iter()
        .take(LISTED_MAX)
        .map(|row| {
            let ago = format::age(row.changed_at, now);
            format!("  {:<11} {ago:>7} ago  {}", row.standing.as_str(), row.run)
        })
        .collect();
    if rows.len() > LISTED_MAX {
        lines.push(format!("  and {} more: forge status", rows.len() - LISTED_MAX));
    }
    let (command, past_participle) = action.words();
    Error::usage(
        format!("{} runs could be {past_participle}; say which", rows.len()),
        format!("{command}, one of\n{}", lines.join("\n")),
    )
}
