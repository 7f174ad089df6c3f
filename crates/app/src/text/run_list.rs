//! The list of runs, of `forge status` and of the pickers: a line for each, in columns.
//!
//! Not here: which runs are listed, and in which order.

use forge_core::{
    Time,
    view::{RunRow, sanitize},
};

use super::state_words::has_result;
use crate::{format, palette::Hue, text_width};

/// The columns of the list whose widths do not depend on the terminal.
const STATE_WIDTH: usize = 16;
const STAGE_WIDTH: usize = 12;
const COST_WIDTH: usize = 9;
const AGE_WIDTH: usize = 6;
/// The column in which states begin, and questions below them.
const STATE_COLUMN: usize = 8;
/// From this width on, the list has columns for stages, and for questions and branches.
const WIDE: usize = 120;
/// Below this width, it has none for cost and age.
const NARROW: usize = 60;

/// The widths of the columns that depend on the terminal; 0 for one that is left out.
struct ListColumns {
    stage: usize,
    title: usize,
    cost: usize,
    age: usize,
    /// Questions and branches.
    last: usize,
}

impl ListColumns {
    const fn new(width: usize) -> Self {
        let (stage, last) = if width >= WIDE { (STAGE_WIDTH, width * 3 / 10) } else { (0, 0) };
        let (cost, age) = if width >= NARROW { (COST_WIDTH, AGE_WIDTH) } else { (0, 0) };
        let title = width.saturating_sub(STATE_COLUMN + STATE_WIDTH + stage + cost + age + last);
        Self { stage, title: if title < 10 { 10 } else { title }, cost, age, last }
    }

    /// Formats the columns for cost and age.
    fn numbers(&self, amount: &str, since: &str) -> String {
        let (cost, age) = (self.cost, self.age);
        if cost == 0 { String::new() } else { format!("{amount:>cost$}{since:>age$}") }
    }
}

/// Formats the names of the columns of the list.
pub(crate) fn list_headings(width: usize) -> String {
    let columns = ListColumns::new(width);
    let ListColumns { stage: stage_width, title: title_width, .. } = columns;
    let (stage, last) = if columns.last > 0 { ("STAGE", "  QUESTION OR BRANCH") } else { ("", "") };
    let line = format!(
        "  {:<6}{:<STATE_WIDTH$}{stage:<stage_width$}{:<title_width$}{}{last}",
        "RUN",
        "STATE",
        "REQUEST",
        columns.numbers("COST", "AGE"),
    );
    format::cut_end(&line, width)
}

/// Formats a run as one line, which is sanitized: its mark, request, cost and age; with room its stage, and what it asks or
/// its branch.
pub(crate) fn list_line(
    row: &RunRow,
    (symbol, _, state): (&str, Hue, &str),
    now: Time,
    width: usize,
) -> String {
    let columns = ListColumns::new(width);
    let ListColumns { stage: stage_width, title: title_width, last: last_width, .. } = columns;
    let id = format::short_id(&row.run);
    let branch = row.branch.as_deref().filter(|_| has_result(row));
    let below = below(row, now);
    let last = below.as_deref().or(branch).unwrap_or_default();
    let shown = row.stage.as_deref().filter(|_| stage_width > 0).unwrap_or_default();
    let line = format!(
        "{symbol} {id:<6}{}{}{}{}{}",
        text_width::pad(state, STATE_WIDTH),
        text_width::pad(&format::one_line(shown, stage_width.saturating_sub(1)), stage_width),
        text_width::pad(&format::one_line(&row.title, title_width), title_width),
        columns.numbers(&row.amount().to_short_text(), &format::age(row.changed_at, now)),
        if last_width > 0 { format!("  {last}") } else { String::new() },
    );
    sanitize(&format::cut_end(&line, width))
}

/// Formats what a run asks, or until when it waits, as the line below its own, where there is no column for it.
pub(crate) fn line_below(row: &RunRow, now: Time, width: usize) -> Option<String> {
    let indent = " ".repeat(STATE_COLUMN);
    let below = below(row, now).filter(|_| ListColumns::new(width).last == 0)?;
    Some(sanitize(&format::hanging_indent(&indent, &below, width)))
}

fn below(row: &RunRow, now: Time) -> Option<String> {
    let until = row.until.map(|until| format!("until {}", format::future_time(until, now)));
    row.asks.clone().or(until)
}
