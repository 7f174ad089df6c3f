//! Lays out a run as lines that fit a screen size.
//!
//! Pure: no terminal, no clock, no files. If there are more rows than lines, units that are closed or not started are
//! shown as counts; those that work, ask or failed are kept as long as there is room at all.
//!
//! Not here: rows of units (`unit_rows.rs`), questions (`question.rs`), streams (`agent_stream.rs`), and writing to a
//! terminal (`painter.rs`).
//!
//! Invariant: never more lines than the height, and no line wider than the width.
//! Invariant: the states that are shown are those of `forge status`.

use forge_api::follow::Picture;
use forge_core::view::{Course, Standing};

use super::{
    line::{LineStyle, ScreenSize, StyledLine, width},
    unit_rows::{UnitRow, column_headings, fold_rows, unit_rows},
};
use crate::{format, text_width};

/// Below this height, optional lines are left out.
const LOW_HEIGHT: usize = 14;

/// All keys of the tree. The footer names only those that do something now.
pub(crate) const KEY_HELP: &str = "\
↑↓ or j k choose   Esc choose nothing   Enter or w what it says   a answer
p pause, go on   r drive on what nobody drives   q leave   Ctrl-C stop
Ctrl-Z to the shell, fg comes back   ? these keys";

/// The key that shows all keys.
const HELP_KEY: (&str, &str) = ("?", "keys");

/// The process that drives a run, as seen from this screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrivenBy {
    ThisProcess,
    OtherProcess,
    NoProcess,
}

/// What a frame depends on besides the run.
#[derive(Clone, Debug)]
pub(crate) struct FrameOptions {
    pub(crate) size: ScreenSize,
    pub(crate) driven_by: DrivenBy,
    /// The selected unit.
    pub(crate) chosen: Option<String>,
    /// A message above the keys.
    pub(crate) message: Option<String>,
}

/// The lines of a screen, and the units that can be selected on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScreenFrame {
    pub(crate) lines: Vec<StyledLine>,
    /// The selectable units, from the top.
    pub(crate) units: Vec<String>,
}

/// Builds the tree with its header and footer.
pub(crate) fn frame(snapshot: &Picture, options: &FrameOptions) -> ScreenFrame {
    let ScreenSize { width, height } = options.size;
    let mut lines = header(snapshot, options.driven_by, width, height);
    let footer = footer(snapshot, options);
    // The column headings, and an empty line above the keys.
    let gaps = if height < LOW_HEIGHT { 0 } else { 2 };
    let room = height.saturating_sub(lines.len() + footer.len() + gaps);
    let rows = fold_rows(unit_rows(snapshot, width), room);
    if gaps > 0 {
        lines.push(column_headings(width));
    }
    let units = rows.iter().filter_map(UnitRow::selectable_unit).map(str::to_owned).collect();
    lines.extend(rows.iter().map(|row| row.line(snapshot, width, options.chosen.as_deref())));
    lines.truncate(height.saturating_sub(footer.len()));
    while gaps > 0 && lines.len() + footer.len() < height {
        lines.push(StyledLine::default());
    }
    lines.extend(footer);
    lines.truncate(height);
    ScreenFrame { lines: lines.into_iter().map(|line| line.cut(width)).collect(), units }
}

/// Builds the final tree for the scrollback: no keys, and at most `most` lines.
pub(crate) fn final_lines(
    snapshot: &Picture,
    driven_by: DrivenBy,
    width: usize,
    most: usize,
) -> Vec<StyledLine> {
    let mut lines = header(snapshot, driven_by, width, most);
    lines.push(column_headings(width));
    let rows = fold_rows(unit_rows(snapshot, width), most.saturating_sub(lines.len()));
    lines.extend(rows.iter().map(|row| row.line(snapshot, width, None)));
    lines.into_iter().map(|line| line.cut(width)).collect()
}

/// Whether a run could continue but has no driver.
pub(crate) fn lacks_driver(snapshot: &Picture, driven_by: DrivenBy) -> bool {
    snapshot.view.row.standing.course() == Course::Driven && driven_by == DrivenBy::NoProcess
}

/// What happens to a run that this process drives when the screen is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLeave {
    /// A detached process drives it.
    Continues,
    /// It stays as it is: nothing new was to start.
    StaysHeld,
    /// Its calls are being stopped, and the screen waits for that.
    Stops,
}

pub(crate) const fn on_leave(standing: Standing) -> OnLeave {
    match standing {
        Standing::Going | Standing::Limited => OnLeave::Continues,
        Standing::Waiting | Standing::Paused | Standing::Parked | Standing::Escalated => {
            OnLeave::StaysHeld
        }
        Standing::Interrupted
        | Standing::Stopped
        | Standing::Done
        | Standing::Failed
        | Standing::Blocked
        | Standing::Abandoned => OnLeave::Stops,
    }
}

/// Builds the header: run, standing, totals and reason.
pub(crate) fn header(
    snapshot: &Picture,
    driven_by: DrivenBy,
    columns: usize,
    height: usize,
) -> Vec<StyledLine> {
    let row = &snapshot.view.row;
    let is_alone = lacks_driver(snapshot, driven_by);
    let standing = match row.until {
        Some(_) | None if is_alone => "no driver".to_owned(),
        Some(until) => {
            format!("{} until {}", row.standing.as_str(), format::future_time(until, snapshot.now))
        }
        None => row.standing.as_str().to_owned(),
    };
    let style = if is_alone { LineStyle::Yellow } else { standing_style(row.standing) };
    let run = text_width::cut_middle(&row.run, columns.saturating_sub(standing.len() + 9).max(8));
    let mut first = StyledLine::new(LineStyle::Grey, " forge ").with(LineStyle::Bold, &run);
    let gap = columns.saturating_sub(first.width() + width(&standing) + 1).max(1);
    first.push(LineStyle::Plain, &" ".repeat(gap));
    first.push(style, &standing);
    let mut lines = vec![first];
    if height >= LOW_HEIGHT {
        // Titles are short; a wide screen has room for more of the request.
        let first = snapshot.view.request.lines().find(|line| !line.trim().is_empty());
        lines.push(StyledLine::new(LineStyle::Plain, &format!(" {}", first.unwrap_or(&row.title))));
    }
    let mut summary =
        format!(" {}", totals(snapshot, driven_by, &row.amount().in_words()).join("  ·  "));
    if width(&summary) > columns {
        summary =
            format!(" {}", totals(snapshot, driven_by, &row.amount().in_short()).join("  ·  "));
    }
    lines.push(StyledLine::new(LineStyle::Grey, &summary));
    if !row.why.is_empty() {
        lines.push(StyledLine::new(standing_style(row.standing), &format!(" {}", row.why)));
    }
    if height >= LOW_HEIGHT {
        lines.push(StyledLine::default());
    }
    lines
}

fn totals(snapshot: &Picture, driven_by: DrivenBy, amount: &str) -> Vec<String> {
    let (view, row) = (&snapshot.view, &snapshot.view.row);
    let is_alone = lacks_driver(snapshot, driven_by);
    let is_active = is_active(row.standing) && !is_alone;
    let until = if is_active { snapshot.now } else { row.changed_at };
    let budget = view.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let mut totals = vec![
        format::duration(until.saturating_sub(row.started_at)),
        format!("{amount}{budget}"),
        format!("{} tokens", format::short_number(view.tokens)),
    ];
    // Without a driver, due calls may not have been started.
    if row.working > 0 && !is_alone {
        totals.push(format!("{} under way", format::count(row.working, "call")));
    }
    if row.questions > 0 {
        totals.push(format::count(row.questions, "question"));
    }
    totals
}

const fn is_active(standing: Standing) -> bool {
    match standing.course() {
        Course::Driven | Course::Asking => true,
        Course::Held | Course::Failed | Course::Over => false,
    }
}

const fn standing_style(standing: Standing) -> LineStyle {
    match standing {
        Standing::Going => LineStyle::Cyan,
        Standing::Done => LineStyle::Green,
        Standing::Waiting
        | Standing::Limited
        | Standing::Paused
        | Standing::Interrupted
        | Standing::Stopped
        | Standing::Parked => LineStyle::Yellow,
        Standing::Escalated | Standing::Failed | Standing::Blocked | Standing::Abandoned => {
            LineStyle::Red
        }
    }
}

/// Builds the footer: messages and keys.
fn footer(snapshot: &Picture, options: &FrameOptions) -> Vec<StyledLine> {
    let row = &snapshot.view.row;
    let mut footer = Vec::new();
    if let Some(said) = &options.message {
        footer.extend(
            said.lines().map(|said| StyledLine::new(LineStyle::Yellow, &format!(" {said}"))),
        );
    }
    let is_alone = lacks_driver(snapshot, options.driven_by);
    if is_alone {
        // The end of a run id is unique, and a command that is cut cannot be copied.
        let end = row.run.rsplit('-').next().unwrap_or(&row.run);
        let text = format!(" nobody drives this run, so nothing goes on: forge resume {end}");
        footer.push(StyledLine::new(LineStyle::Yellow, &text));
    }
    let mut keys = StyledLine::new(LineStyle::Plain, " ");
    let mut key = |name: &str, does: &str| {
        keys.push(LineStyle::Bold, name);
        keys.push(LineStyle::Grey, &format!(" {does}  "));
    };
    key("↑↓", "choose");
    key("Enter", "stream");
    if !snapshot.view.asked.is_empty() {
        key("a", "answer");
    }
    if row.standing == Standing::Paused {
        key("p", "go on");
    } else if is_active(row.standing) && !is_alone {
        key("p", "pause");
    }
    if is_alone {
        key("r", "drive it on here");
    }
    let leave = match on_leave(row.standing) {
        OnLeave::Continues if !is_alone => "leave, it goes on",
        OnLeave::StaysHeld if row.standing == Standing::Paused => "leave, it stays paused",
        OnLeave::Continues | OnLeave::StaysHeld | OnLeave::Stops => "leave",
    };
    key("q", leave);
    if options.driven_by == DrivenBy::ThisProcess {
        key("Ctrl-C", "stop");
    }
    // Left out where there is no room for it.
    if keys.width() + HELP_KEY.0.len() + HELP_KEY.1.len() < options.size.width {
        keys.push(LineStyle::Bold, HELP_KEY.0);
        keys.push(LineStyle::Grey, &format!(" {}", HELP_KEY.1));
    }
    footer.push(keys);
    footer
}
