//! What one agent says and does, on the screen: the last lines of its stream.

use forge_runtime::{follow::Picture, watch::Seen};

use super::{
    frame::{Frame, Seat, head},
    line::{Ink, Line, Size, wrap},
};
use crate::{
    format,
    text::agent_event::{INDENT, Weight, line as in_words},
};

/// The stream of a unit. `back` lines of its end are scrolled past.
pub(crate) fn frame<'a>(
    picture: &Picture,
    seat: Seat,
    unit: &str,
    seen: impl Iterator<Item = &'a Seen>,
    back: usize,
    size: Size,
) -> Frame {
    let Size { width, height } = size;
    let mut lines = vec![head(picture, seat, width, 0).swap_remove(0)];
    lines.push(Line::of(Ink::Bold, &format!(" {unit}")));
    let room = height.saturating_sub(lines.len() + 1);
    let mut told: Vec<Line> = seen.flat_map(|seen| paragraph(seen, width)).collect();
    if told.is_empty() {
        let run = &picture.view.row.run;
        let text =
            format!("   nothing was said while you looked; all of it: forge watch {run} {unit}");
        told.push(Line::of(Ink::Grey, &text));
    }
    let last = told.len() - back.min(told.len().saturating_sub(room));
    lines.extend(told.drain(..last).skip(last.saturating_sub(room)));
    while lines.len() + 1 < height {
        lines.push(Line::default());
    }
    let keys = Line::of(Ink::Bold, " ↑↓").and(Ink::Grey, " scroll   ");
    lines.push(keys.and(Ink::Bold, "Esc").and(Ink::Grey, " back to the tree"));
    lines.truncate(height);
    Frame { lines: lines.into_iter().map(|line| line.cut(width)).collect(), units: Vec::new() }
}

fn paragraph(seen: &Seen, width: usize) -> Vec<Line> {
    let (at, mark, text, weight) = in_words(seen);
    let ink = match weight {
        Weight::Full => Ink::Plain,
        Weight::Less => Ink::Grey,
    };
    let time = at.map(format::clock).unwrap_or_default();
    let head = format!("{time:<8}  {mark} ");
    let lines = wrap(&text, width.saturating_sub(INDENT).max(10));
    let line = |(at, line): (usize, String)| {
        let head = if at == 0 { head.clone() } else { " ".repeat(INDENT) };
        Line::of(Ink::Grey, &head).and(ink, &line)
    };
    lines.into_iter().enumerate().map(line).collect()
}
