//! Chooses the run for a command that names none: the only one that the action applies to.
//!
//! Not here: prefixes of run ids (`Forge::resolve`), and read-only commands, which take the latest run.
//!
//! Invariant: if several runs qualify, the user picks one at the terminal, or has to name it.

use std::env;

use forge_api::{
    Error,
    clock::now,
    forge::{Forge, RUNS_MAX},
    start::quoted,
};
use forge_core::{
    Time,
    event::Choice,
    view::{Course, RunRow, Standing, sanitize},
};

use super::prompt::can_ask;
use crate::{
    format,
    picker::{self, pick},
    terminal_info,
    text::{
        answer_text::{none_of, offers},
        run_list::list_line,
        state_words::{DrivenBy, TakenResults, listed_mark},
        status_text::next_command,
    },
};

/// The most runs that are listed if several qualify.
const LISTED_MAX: usize = 10;
/// The most columns of a title behind a command.
const TITLE_MAX: usize = 40;
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
    /// Give this answer to what a run asks.
    Decide {
        choice: Choice,
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
            Self::Decide { choice } => (choice.command(), "answered"),
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
            // A run that needs an answer can be continued only by one.
            let (asking, alone): (Vec<&RunRow>, Vec<&RunRow>) =
                alone.into_iter().partition(|row| row.standing.course() == Course::Asking);
            let is_open = |row: &&RunRow| row.standing.course() != Course::Failed;
            match alone.iter().copied().filter(is_open).collect::<Vec<_>>() {
                open if open.len() == 1 => [open, Vec::new()],
                open if open.is_empty() && !(asking.is_empty() && attended.is_empty()) => {
                    [asking, attended]
                }
                // A failed run is chosen only if there is no other candidate.
                _ => [alone, Vec::new()],
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
        // An answer is never given to a run only because no other one offers it.
        RunAction::Decide { .. } => {
            [rows.iter().filter(|row| row.questions > 0).collect(), Vec::new()]
        }
        RunAction::Merge | RunAction::PullRequest => {
            let unmerged = forge.unmerged_runs()?;
            let is_one = |row: &&RunRow| unmerged.iter().any(|one| one.run == row.run);
            let unmerged: Vec<&RunRow> = rows.iter().filter(is_one).collect();
            // That the latest result is merged, or changed nothing, is the best answer there is.
            if unmerged.is_empty()
                && rows.iter().any(|row| row.run == latest && row.standing == Standing::Done)
            {
                return Ok(latest);
            }
            [unmerged, Vec::new()]
        }
    };
    match choices.iter().find(|choices| !choices.is_empty()).map(Vec::as_slice) {
        Some([row]) => Ok(row.run.clone()),
        Some([row, ..])
            if action == RunAction::Resume
                && row.standing.course() == Course::Asking
                && !can_ask() =>
        {
            Err(Error::person("the runs need an answer first", "forge attach"))
        }
        Some(rows) => pick_run(forge, rows, action),
        None => {
            let what = match action {
                RunAction::Attach => "no run is running or needs you".to_owned(),
                RunAction::Answer { question } if rows.iter().any(|row| row.questions > 0) => {
                    format!("no run asks {question} now")
                }
                RunAction::Answer { .. } | RunAction::Decide { .. } => {
                    "no run has an open question".to_owned()
                }
                RunAction::Resume | RunAction::Pause | RunAction::Stop | RunAction::Abandon => {
                    format!("no run can be {}", action.words().1)
                }
                RunAction::Merge => "no run has a result to merge".to_owned(),
                RunAction::PullRequest => "no run has a result for a pull request".to_owned(),
            };
            Err(Error::usage(what, "forge status"))
        }
    }
}

/// Fails for a run that has no result yet, and says where it stands.
pub(crate) fn require_done(forge: &Forge, run: &str) -> Result<(), Error> {
    let view = forge.view(run)?;
    if view.row.standing == Standing::Done {
        return Ok(());
    }
    let id = format::short_id(run);
    let driven_by = DrivenBy::from_lock(forge.is_driven(run));
    let (_, _, state) = listed_mark(&view.row, driven_by, &TakenResults::default());
    let next = match (view.row.standing.course(), driven_by) {
        (Course::Driven | Course::Held | Course::Failed, DrivenBy::Nothing) => next_command(&view),
        (Course::Over, _) => Some(format!("forge show {id}")),
        (Course::Driven | Course::Held | Course::Failed | Course::Asking, _) => None,
    };
    let next = next.unwrap_or_else(|| format!("forge attach {id}")).replace(" · ", "\n   or: ");
    Err(Error::usage(format!("{id} is not done ({state})"), next))
}

/// Lets the person at the terminal pick one of several runs; without a terminal they are listed.
fn pick_run(forge: &Forge, rows: &[&RunRow], action: RunAction) -> Result<String, Error> {
    let now = now();
    let mut rows = rows.to_vec();
    rows.sort_by_cached_key(|row| need_order(forge, row));
    let needing = rows.len();
    if let RunAction::Decide { choice } = action {
        rows = offering_runs(forge, rows, choice)?;
    }
    let width = terminal_info::terminal_width().saturating_sub(picker::MARK_WIDTH);
    let line = |row: &&RunRow| run_line(forge, row, &TakenResults::default(), now, width);
    let lines: Vec<String> = rows.iter().map(line).collect();
    let (command, past_participle) = action.words();
    if can_ask() {
        let picked = pick("Which run?", &lines, &[]);
        return match picked {
            Some(picked) => Ok(rows[picked.line].run.clone()),
            None => Err(Error::left()),
        };
    }
    if let RunAction::Decide { choice } = action {
        let typed: Vec<String> =
            env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let commands = rows.iter().take(LISTED_MAX).map(|row| {
            let command = with_run(&typed, choice.command(), format::short_id(&row.run));
            format!("{command}   # {}", format::one_line(&sanitize(&row.title), TITLE_MAX))
        });
        let commands = commands.collect::<Vec<String>>().join("\n   or: ");
        let what = match rows.as_slice() {
            [_] => format!("{needing} runs need you, and one offers {}; name it", choice.command()),
            _ => format!("{needing} runs need you; name one"),
        };
        return Err(Error::usage(what, commands));
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

/// Returns the runs with a question that offers an answer. If there are none, they are named with the command that shows theirs.
fn offering_runs<'r>(
    forge: &Forge,
    rows: Vec<&'r RunRow>,
    choice: Choice,
) -> Result<Vec<&'r RunRow>, Error> {
    let number = rows.len();
    let shown = rows.iter().take(LISTED_MAX);
    let shown = shown.map(|row| format!("forge status {}", format::short_id(&row.run)));
    let next = shown.collect::<Vec<String>>().join("\n   or: ");
    let mut offering = Vec::new();
    for row in rows {
        if forge.view(&row.run)?.asked.iter().any(|asked| offers(asked, choice)) {
            offering.push(row);
        }
    }
    if offering.is_empty() {
        let what =
            format!("{number} runs need you, and {} offers {}", none_of(number), choice.command());
        return Err(Error::usage(what, next));
    }
    Ok(offering)
}

/// Returns a command as it was typed, with a run behind its name.
fn with_run(typed: &[String], name: &str, id: &str) -> String {
    let place = typed.iter().position(|word| word == name).map_or(0, |place| place + 1);
    let (before, after) = typed.split_at(place);
    let words = before.iter().map(|word| quoted(word));
    let words = words.chain([id.to_owned()]).chain(after.iter().map(|word| quoted(word)));
    format!("forge {}", words.collect::<Vec<String>>().join(" "))
}

/// Returns the place of a run in a list: what needs a person first, then what runs, what stands still, and what ended.
pub(crate) fn need_order(forge: &Forge, row: &RunRow) -> u8 {
    match row.standing.course() {
        _ if row.questions > 0 => 0,
        Course::Driven if forge.is_driven(&row.run) => 1,
        Course::Driven | Course::Asking | Course::Held => 2,
        Course::Failed | Course::Over => 3,
    }
}

/// Formats a run as `forge status` does.
pub(crate) fn run_line(
    forge: &Forge,
    row: &RunRow,
    taken: &TakenResults,
    now: Time,
    width: usize,
) -> String {
    let driven_by = match row.standing.course() {
        Course::Driven => DrivenBy::from_lock(forge.is_driven(&row.run)),
        Course::Asking | Course::Held | Course::Failed | Course::Over => DrivenBy::AnotherProcess,
    };
    list_line(row, listed_mark(row, driven_by, taken), now, width)
}

#[cfg(test)]
mod tests {
    use super::with_run;

    #[test]
    fn a_run_is_named_behind_the_command_and_all_words_stay() {
        let named = |line: &str| {
            let typed: Vec<String> = line.split('|').map(str::to_owned).collect();
            with_run(&typed, "revise", "36pk")
        };
        assert_eq!(named("revise|-x|keep it"), "forge revise 36pk -x 'keep it'");
        assert_eq!(named("-C|dir|revise|short"), "forge -C dir revise 36pk short");
    }
}
