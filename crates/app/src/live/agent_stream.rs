//! The stream of one agent on the screen: its last events.

use forge_api::{follow::RunSnapshot, watch::events::UnitEvent};

use super::{
    header::{DrivenBy, header},
    line::{LineStyle, ScreenSize, StyledLine, wrap},
};
use crate::{
    format,
    text::agent_event::{Emphasis, INDENT, event_text},
};

/// Builds the frame of a unit's stream, scrolled back by `back` lines.
pub(crate) fn stream_frame<'a>(
    snapshot: &RunSnapshot,
    driven_by: DrivenBy,
    unit: &str,
    seen: impl Iterator<Item = &'a UnitEvent>,
    back: usize,
    size: ScreenSize,
) -> Vec<StyledLine> {
    let ScreenSize { width, height } = size;
    let mut lines = vec![header(snapshot, driven_by, width, 0).swap_remove(0)];
    lines.push(StyledLine::new(LineStyle::Bold, &format!(" {unit}")));
    let room = height.saturating_sub(lines.len() + 1);
    let mut stream_lines: Vec<StyledLine> =
        seen.flat_map(|seen| event_lines(seen, width)).collect();
    if stream_lines.is_empty() {
        let run = &snapshot.view.row.run;
        let text =
            format!("   nothing was said while you looked; all of it: forge watch {run} {unit}");
        stream_lines.push(StyledLine::new(LineStyle::Grey, &text));
    }
    let last = stream_lines.len() - back.min(stream_lines.len().saturating_sub(room));
    lines.extend(stream_lines.drain(..last).skip(last.saturating_sub(room)));
    while lines.len() + 1 < height {
        lines.push(StyledLine::default());
    }
    let keys = StyledLine::new(LineStyle::Bold, " ↑↓").with(LineStyle::Grey, " scroll   ");
    lines.push(keys.with(LineStyle::Bold, "Esc").with(LineStyle::Grey, " back to the tree"));
    lines.truncate(height);
    lines.into_iter().map(|line| line.cut(width)).collect()
}

fn event_lines(seen: &UnitEvent, width: usize) -> Vec<StyledLine> {
    let (at, mark, text, emphasis) = event_text(seen);
    let style = match emphasis {
        Emphasis::Normal => LineStyle::Plain,
        Emphasis::Dimmed => LineStyle::Grey,
    };
    let time = at.map(format::clock_time).unwrap_or_default();
    let head = format!("{time:<8}  {mark} ");
    let lines = wrap(&text, width.saturating_sub(INDENT).max(10));
    let line = |(at, line): (usize, String)| {
        let head = if at == 0 { head.clone() } else { " ".repeat(INDENT) };
        StyledLine::new(LineStyle::Grey, &head).with(style, &line)
    };
    lines.into_iter().enumerate().map(line).collect()
}
