//! The stream of one agent: its last events, alone on a screen or for a pane below the tree.

use forge_api::{follow::RunSnapshot, watch::events::UnitEvent};

use super::line::{
    BOLD, PLAIN, SanitizedLine as _, ScreenLine, ScreenSize, key_hints, line, titled_rule, wrap,
};
use crate::{
    format,
    text::agent_event::{LABEL, event_text, is_printed},
};

/// Below this width, times are left out.
const TIMES_WIDTH: usize = 60;

/// Builds the frame of a unit's stream below the header, scrolled back by `back` lines.
pub(crate) fn stream_frame<'a>(
    header: Vec<ScreenLine>,
    snapshot: &RunSnapshot,
    unit: &str,
    seen: impl Iterator<Item = &'a UnitEvent>,
    back: usize,
    size: ScreenSize,
) -> Vec<ScreenLine> {
    let ScreenSize { width, height } = size;
    let mut lines = header;
    lines.truncate(2);
    let room = height.saturating_sub(lines.len() + 2);
    let mut stream = stream_lines(seen, width);
    if stream.is_empty() {
        let run = format::short_id(&snapshot.view.row.run);
        let has_begun = snapshot.view.units.iter().any(|one| one.unit == unit && one.attempt > 0);
        let text = if has_begun {
            format!(
                " Nothing yet. Earlier output: forge watch {run} {}",
                format::unit_argument(unit)
            )
        } else {
            format!(" {} has not started.", format::unit_label(unit))
        };
        stream.push(line(PLAIN, &text));
    }
    lines.push(titled_rule(&format::unit_label(unit), width));
    let last = stream.len() - back.min(stream.len().saturating_sub(room));
    lines.extend(stream.drain(..last).skip(last.saturating_sub(room)));
    while lines.len() + 1 < height {
        lines.push(ScreenLine::default());
    }
    lines.push(key_hints(&[("↑↓", "scroll"), ("Tab", "next agent"), ("Esc", "back")], width));
    lines.truncate(height);
    lines.into_iter().map(|line| line.cut(width)).collect()
}

/// Builds the lines of events.
pub(crate) fn stream_lines<'a>(
    seen: impl Iterator<Item = &'a UnitEvent>,
    width: usize,
) -> Vec<ScreenLine> {
    seen.filter(|seen| is_printed(seen)).flat_map(|seen| event_lines(seen, width)).collect()
}

fn event_lines(seen: &UnitEvent, width: usize) -> Vec<ScreenLine> {
    let event = event_text(seen);
    let time = match event.at {
        _ if width < TIMES_WIDTH => " ".to_owned(),
        Some(at) => format!(" {:<8}  ", format::clock_time(at)),
        None => " ".repeat(11),
    };
    let indent = time.len() + LABEL + 1;
    let lines = wrap(&event.text, width.saturating_sub(indent).max(10));
    let build = |(at, text): (usize, String)| {
        if at > 0 {
            return line(PLAIN, &format!("{:indent$}{text}", ""));
        }
        let head = line(PLAIN, &time).with(BOLD, &format!("{:<LABEL$} ", event.label));
        head.with(PLAIN, &text)
    };
    lines.into_iter().enumerate().map(build).collect()
}
