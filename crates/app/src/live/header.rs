//! The first lines of every screen: the run, its state, what it spent and what is still to come.
//!
//! Pure: no terminal, no clock, no files.

use forge_api::follow::RunSnapshot;
use forge_core::{
    money::Money,
    view::{Course, Standing},
};

use super::{
    line::{BOLD, PLAIN, SanitizedLine as _, ScreenLine, coloured, line, width, wrap},
    terminal_features::Motion,
    totals::{amount_so_far, stages, time_left},
};
use crate::{
    format,
    palette::Hue,
    text::state_words::{DrivenBy, is_ending_calls, is_halted, row_mark},
};

/// Below this height, optional lines are left out.
pub(crate) const LOW_HEIGHT: usize = 14;
/// The frames of the spinner, and how long each is shown.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_FRAME_MS: u64 = 100;

/// What all screens of a run depend on besides the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenContext {
    pub(crate) driven_by: DrivenBy,
    pub(crate) motion: Motion,
    pub(crate) when_left: WhenLeft,
}

const SEPARATOR: &str = " · ";

/// What a run does when the person leaves its screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenLeft {
    KeepsRunning,
    /// It ends, because its project is removed; for the demo.
    Ends,
}

/// Builds the header: run and state, totals, and the reason of the state in two lines at most.
pub(crate) fn header(
    snapshot: &RunSnapshot,
    context: ScreenContext,
    columns: usize,
    height: usize,
) -> Vec<ScreenLine> {
    let row = &snapshot.view.row;
    let mut lines =
        vec![first_line(snapshot, context, columns), totals(snapshot, context, columns)];
    // Of a run that a person halted, or that is done, the reason only says the state again.
    if !row.why.is_empty() && !is_halted(row.standing) && row.standing != Standing::Done {
        let why = wrap(&row.why, columns.saturating_sub(1));
        let (first, rest) = why.split_first().expect("it is not empty");
        lines.push(line(PLAIN, &format!(" {first}")));
        if !rest.is_empty() {
            lines.push(line(PLAIN, &format!(" {}", rest.join(" "))));
        }
    }
    if height >= LOW_HEIGHT {
        lines.push(ScreenLine::default());
    }
    lines
}

/// Builds the line with the short id, the title and the state.
fn first_line(snapshot: &RunSnapshot, context: ScreenContext, columns: usize) -> ScreenLine {
    let row = &snapshot.view.row;
    let is_alone = context.driven_by.is_missing(snapshot);
    let (symbol, hue, label) = if is_alone {
        ("■", Hue::Yellow, "not running")
    } else {
        row_mark(row, context.driven_by)
    };
    let word = match row.until {
        Some(until) if !is_alone => {
            format!("{label} until {}", format::future_time(until, snapshot.now))
        }
        Some(_) | None => label.to_owned(),
    };
    let state = line(coloured(hue), symbol).with(BOLD, &format!(" {word}"));
    let mut first = line(BOLD, &format!(" {}", format::short_id(&row.run)));
    // Titles are short; a wide screen has room for more of the request.
    let title = snapshot.view.request.lines().find(|line| !line.trim().is_empty());
    first.add(PLAIN, &format!("  {}", title.unwrap_or(&row.title)));
    let room = columns.saturating_sub(state.columns() + 3);
    first.fill_to(room).with(PLAIN, "  ").join(state)
}

/// Builds the line with time, cost and progress. Where there is little room, the last ones are left out.
fn totals(snapshot: &RunSnapshot, context: ScreenContext, columns: usize) -> ScreenLine {
    let (view, row) = (&snapshot.view, &snapshot.view.row);
    let is_alone = context.driven_by.is_missing(snapshot);
    let is_active = is_active(row.standing) && !is_alone;
    // While a person is asked, nothing works on it.
    let is_at_work =
        (is_active && row.standing != Standing::Waiting) || is_ending_calls(row, context.driven_by);
    let until = if is_at_work { snapshot.now } else { row.changed_at };
    let mut parts = vec![format::time_at_work(row, until)];
    if is_active && is_at_work {
        parts.extend(time_left(snapshot).map(|ms| format!("~{} left", format::duration(ms))));
    }
    let budget = view.budget.map(Money::to_short_text);
    let amount = amount_so_far(snapshot).to_figure();
    parts.push(match (amount.as_str(), budget) {
        ("unknown", None) => "cost unknown".to_owned(),
        ("unknown", Some(budget)) => format!("cost unknown, limit {budget}"),
        (amount, Some(budget)) => format!("{amount} of {budget}"),
        (amount, None) => amount.to_owned(),
    });
    let (closed, all) = stages(snapshot);
    parts.push(format!("{closed}/{all} stages"));
    let calls = snapshot.working.values().flatten();
    let n_agents = calls.filter(|call| call.agent.is_some()).count();
    // Without a driver, due calls may not have been started.
    if n_agents > 0 && context.driven_by != DrivenBy::Nothing {
        parts.push(format::count(u32::try_from(n_agents).unwrap_or(u32::MAX), "agent"));
    }
    if row.questions > 0 {
        parts.push(format::count(row.questions, "question"));
    }
    // What a run waited for is less than what it costs.
    let needed: usize = parts.iter().map(|part| width(part) + SEPARATOR.len()).sum();
    if needed > columns {
        parts[0] = format::bare_time_at_work(row, until);
    }
    let mut text = String::new();
    if is_active && !snapshot.working.is_empty() && context.motion == Motion::On {
        let frames = u64::try_from(SPINNER.len()).unwrap_or(1);
        let frame = usize::try_from(snapshot.now / SPINNER_FRAME_MS % frames).unwrap_or_default();
        text.push_str(SPINNER[frame]);
        text.push(' ');
    }
    for (at, part) in parts.iter().enumerate() {
        let next = if at == 0 { part.clone() } else { format!("{SEPARATOR}{part}") };
        if at > 0 && 1 + width(&text) + width(&next) > columns {
            break;
        }
        text.push_str(&next);
    }
    line(PLAIN, &format!(" {text}"))
}

pub(crate) const fn is_active(standing: Standing) -> bool {
    match standing.course() {
        Course::Driven | Course::Asking => true,
        Course::Held | Course::Failed | Course::Over => false,
    }
}
