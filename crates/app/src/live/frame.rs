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

use forge_api::follow::RunSnapshot;
use forge_core::view::{Course, Standing};

use super::{
    header::{DrivenBy, LOW_HEIGHT, header, is_active, lacks_driver},
    line::{LineStyle, ScreenSize, StyledLine},
    unit_rows::{UnitRow, column_headings, fold_rows, unit_rows},
};

/// All keys of the tree. The footer names only those that do something now.
pub(crate) const KEY_HELP: &str = "\
↑↓ or j k choose   Esc choose nothing   Enter or w what it says   a answer
p pause, go on   r drive on what nobody drives   q leave   Ctrl-C stop
Ctrl-Z to the shell, fg comes back   ? these keys";

/// The key that shows all keys.
const HELP_KEY: (&str, &str) = ("?", "keys");

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
pub(crate) fn frame(snapshot: &RunSnapshot, options: &FrameOptions) -> ScreenFrame {
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
    snapshot: &RunSnapshot,
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
    match standing.course() {
        Course::Driven => OnLeave::Continues,
        Course::Asking => OnLeave::StaysHeld,
        Course::Held if !standing.is_stopped() => OnLeave::StaysHeld,
        Course::Held | Course::Failed | Course::Over => OnLeave::Stops,
    }
}

/// Builds the footer: messages and keys.
fn footer(snapshot: &RunSnapshot, options: &FrameOptions) -> Vec<StyledLine> {
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
