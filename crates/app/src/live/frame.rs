//! Lays out a run as lines that fit a screen size: header, tree, the stream of one agent where there is room, keys.
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
use forge_core::view::{Course, Standing, capitalized};

use super::{
    ansi::to_ansi,
    header::{LOW_HEIGHT, ScreenContext, WhenLeft, header, is_active},
    line::{
        PLAIN, SanitizedLine as _, ScreenLine, ScreenSize, coloured, key_hints, line, titled_rule,
        wrap,
    },
    terminal_features::{Motion, TerminalFeatures},
    unit_rows::{Columns, UnitRow, fold_rows, unit_rows},
};
use crate::{
    format,
    palette::Hue,
    text::state_words::{DrivenBy, is_ending_calls},
};

/// Returns all keys of the tree. The footer names only those that do something now.
pub(crate) fn key_help(context: ScreenContext) -> String {
    let leave = match context.when_left {
        WhenLeft::KeepsRunning => "leave",
        WhenLeft::Ends => "end the demo",
    };
    let interrupt = match context.driven_by {
        DrivenBy::ThisProcess => "stop the run",
        DrivenBy::AnotherProcess | DrivenBy::Nothing => "leave",
    };
    format!(
        "\
↑↓ select   Enter open the agent's output or the question   Esc deselect
Tab next agent   a answer   p pause or continue   r resume if it is not running
q {leave}   Ctrl-C {interrupt}   Ctrl-Z suspend, fg returns   ? these keys"
    )
}

/// From this height on there is a pane with the stream of an agent; below, where the tree leaves room for it.
const PANE_SCREEN_HEIGHT: usize = 30;
/// The fewest lines of the pane.
const PANE_HEIGHT_MIN: usize = 8;

/// What a frame depends on besides the run.
#[derive(Clone, Debug)]
pub(crate) struct FrameOptions<'a> {
    pub(crate) size: ScreenSize,
    pub(crate) context: ScreenContext,
    /// The selected unit.
    pub(crate) chosen: Option<&'a str>,
    /// A message above the keys.
    pub(crate) message: Option<&'a str>,
    /// The stream for the pane.
    pub(crate) stream: Option<UnitStream<'a>>,
}

/// A unit with the lines of its agents, the oldest first.
#[derive(Clone, Debug)]
pub(crate) struct UnitStream<'a> {
    pub(crate) unit: &'a str,
    pub(crate) lines: Vec<ScreenLine>,
}

/// The lines of a screen, and the units that can be selected on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScreenFrame {
    pub(crate) lines: Vec<ScreenLine>,
    /// The selectable units, from the top.
    pub(crate) units: Vec<String>,
}

/// Builds the tree with its header and footer.
pub(crate) fn frame(snapshot: &RunSnapshot, options: &FrameOptions<'_>) -> ScreenFrame {
    let ScreenSize { width, height } = options.size;
    let context = options.context;
    let mut lines = header(snapshot, context, width, height);
    let footer = footer(snapshot, options);
    // The column headings, and an empty line above the keys.
    let gaps = if height < LOW_HEIGHT { 0 } else { 2 };
    let room = height.saturating_sub(lines.len() + footer.len() + gaps);
    let rows = unit_rows(snapshot, context.driven_by, width);
    let has_room = gaps > 0 && rows.len() + PANE_HEIGHT_MIN < room;
    let stream = options.stream.as_ref().filter(|_| has_room || height >= PANE_SCREEN_HEIGHT);
    let for_pane = stream.map_or(0, |_| PANE_HEIGHT_MIN + 1);
    let columns = Columns::new(width, snapshot, &rows);
    let rows = fold_rows(rows, room.saturating_sub(for_pane));
    if gaps > 0 {
        lines.push(columns.headings());
    }
    let units = rows.iter().filter_map(UnitRow::selectable_unit).map(str::to_owned).collect();
    lines.extend(
        rows.iter().map(|row| row.line(snapshot, context.driven_by, columns, options.chosen)),
    );
    if let Some(stream) = stream {
        lines.push(ScreenLine::default());
        lines.push(titled_rule(&format::unit_label(stream.unit), width));
        let first = stream.lines.len().saturating_sub(room.saturating_sub(rows.len() + 2));
        lines.extend(stream.lines.iter().skip(first).cloned());
    }
    lines.truncate(height.saturating_sub(footer.len()));
    while gaps > 0 && lines.len() + footer.len() < height {
        lines.push(ScreenLine::default());
    }
    lines.extend(footer);
    lines.truncate(height);
    ScreenFrame { lines: lines.into_iter().map(|line| line.cut(width)).collect(), units }
}

/// Builds the final tree for the scrollback: no keys, and at most `most` lines.
pub(crate) fn final_lines(
    snapshot: &RunSnapshot,
    context: ScreenContext,
    width: usize,
    most: usize,
) -> Vec<ScreenLine> {
    let mut lines = header(snapshot, context, width, most);
    let rows = unit_rows(snapshot, context.driven_by, width);
    let columns = Columns::new(width, snapshot, &rows);
    lines.push(columns.headings());
    let rows = fold_rows(rows, most.saturating_sub(lines.len()));
    lines.extend(rows.iter().map(|row| row.line(snapshot, context.driven_by, columns, None)));
    lines.into_iter().map(|line| line.cut(width)).collect()
}

/// Formats the whole tree, for `forge status`.
pub(crate) fn tree_text(
    snapshot: &RunSnapshot,
    driven_by: DrivenBy,
    width: usize,
    features: TerminalFeatures,
) -> String {
    let context =
        ScreenContext { driven_by, motion: Motion::Off, when_left: WhenLeft::KeepsRunning };
    let lines = final_lines(snapshot, context, width, usize::MAX);
    lines.iter().map(|line| to_ansi(line, features)).collect::<Vec<_>>().join("\n")
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
fn footer(snapshot: &RunSnapshot, options: &FrameOptions<'_>) -> Vec<ScreenLine> {
    let row = &snapshot.view.row;
    let mut footer = Vec::new();
    if let Some(message) = options.message {
        let message = wrap(message, options.size.width.saturating_sub(1));
        footer.extend(message.iter().map(|message| line(PLAIN, &format!(" {message}"))));
    }
    let is_alone = options.context.driven_by.is_missing(snapshot);
    let is_stopped = row.standing.is_stopped() && options.context.driven_by == DrivenBy::Nothing;
    if is_alone {
        footer.push(notice("■", "Not running. Press r to resume."));
    } else if is_stopped {
        let state = capitalized(row.standing.label());
        footer.push(notice("■", &format!("{state}. Press r to resume.")));
    } else if row.standing != Standing::Paused && !snapshot.view.asked.is_empty() {
        footer.push(notice("?", "Needs you. Press a to answer."));
    }
    let mut keys = Vec::new();
    if !snapshot.view.asked.is_empty() {
        keys.push(("a", "answer"));
    }
    if is_alone || is_stopped {
        keys.push(("r", "resume"));
    } else if row.standing == Standing::Paused {
        keys.push(("p", "continue"));
    } else if is_active(row.standing) {
        keys.push(("p", "pause"));
    }
    let leave = match (options.context.when_left, on_leave(row.standing)) {
        (WhenLeft::Ends, _) => "end the demo",
        (WhenLeft::KeepsRunning, OnLeave::Continues) if !is_alone => "leave, it keeps running",
        (WhenLeft::KeepsRunning, OnLeave::Continues | OnLeave::StaysHeld | OnLeave::Stops) => {
            "leave"
        }
    };
    // A run that is being stopped keeps its screen until its agents have ended.
    let is_stopping = row.standing.is_stopped() && is_ending_calls(row, options.context.driven_by);
    if !is_stopping {
        keys.push(("q", leave));
    }
    if options.context.driven_by == DrivenBy::ThisProcess {
        keys.push(("Ctrl-C", if is_stopping { "kill now" } else { "stop" }));
    }
    keys.extend([("?", "keys"), ("↑↓", "select"), ("Enter", "open")]);
    footer.push(key_hints(&keys, options.size.width));
    footer
}

fn notice(symbol: &str, text: &str) -> ScreenLine {
    line(PLAIN, " ").with(coloured(Hue::Yellow), symbol).with(PLAIN, &format!(" {text}"))
}
