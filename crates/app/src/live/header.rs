//! The first lines of every screen: the run, its standing, what it spent.
//!
//! Pure: no terminal, no clock, no files.

use forge_api::follow::RunSnapshot;
use forge_core::view::{Course, Standing};

use super::line::{LineStyle, StyledLine, width};
use crate::{format, text_width};

/// Below this height, optional lines are left out.
pub(crate) const LOW_HEIGHT: usize = 14;

/// The process that drives a run, as seen from this screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrivenBy {
    ThisProcess,
    AnotherProcess,
    Nothing,
}

/// Returns true if a run could continue but has no driver.
pub(crate) fn lacks_driver(snapshot: &RunSnapshot, driven_by: DrivenBy) -> bool {
    snapshot.view.row.standing.course() == Course::Driven && driven_by == DrivenBy::Nothing
}

/// Builds the header: run, standing, totals and reason.
pub(crate) fn header(
    snapshot: &RunSnapshot,
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
        format!(" {}", totals(snapshot, driven_by, &row.amount().to_text()).join("  ·  "));
    if width(&summary) > columns {
        summary = format!(
            " {}",
            totals(snapshot, driven_by, &row.amount().to_short_text()).join("  ·  ")
        );
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

fn totals(snapshot: &RunSnapshot, driven_by: DrivenBy, amount: &str) -> Vec<String> {
    let (view, row) = (&snapshot.view, &snapshot.view.row);
    let is_alone = lacks_driver(snapshot, driven_by);
    let is_active = is_active(row.standing) && !is_alone;
    let until = if is_active { snapshot.now } else { row.changed_at };
    let budget = view.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let mut totals =
        vec![format::duration(until.saturating_sub(row.started_at)), format!("{amount}{budget}")];
    totals.extend(format::tokens(view.tokens));
    // Without a driver, due calls may not have been started.
    if row.working > 0 && !is_alone {
        totals.push(format!("{} under way", format::count(row.working, "call")));
    }
    if row.questions > 0 {
        totals.push(format::count(row.questions, "question"));
    }
    totals
}

pub(crate) const fn is_active(standing: Standing) -> bool {
    match standing.course() {
        Course::Driven | Course::Asking => true,
        Course::Held | Course::Failed | Course::Over => false,
    }
}

fn standing_style(standing: Standing) -> LineStyle {
    if standing == Standing::Going {
        LineStyle::Cyan
    } else if standing == Standing::Done {
        LineStyle::Green
    } else if standing.has_gone_wrong() {
        LineStyle::Red
    } else {
        LineStyle::Yellow
    }
}
