//! Writes frames to a terminal: only the lines that changed, in one synchronized update.
//!
//! It uses the alternate screen: on the normal one, terminals rewrap long lines when they get narrower, and the
//! position of the tree would be unknown after every resize. What should stay in the scrollback is printed when the
//! screen is closed.
//!
//! Invariant: after `paint`, the terminal shows exactly the frame, whatever its size was before.

use std::fmt::Write as _;

use super::line::{ScreenSize, StyledLine};
use crate::terminal_info::Colours;

/// Begin and end of a synchronized update.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// Enters the alternate screen: no cursor, no line wrapping, bracketed paste.
pub(crate) const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
/// Undoes `ENTER`.
pub(crate) const LEAVE: &str = "\x1b[?2004l\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l";

/// Remembers what a terminal shows.
pub(crate) struct Painter {
    colours: Colours,
    shown: Vec<String>,
    size: Option<ScreenSize>,
}

/// The position of the visible cursor: column and row, from 0.
pub(crate) type Cursor = Option<(usize, usize)>;

impl Painter {
    pub(crate) const fn new(colours: Colours) -> Self {
        Self { colours, shown: Vec::new(), size: None }
    }

    /// Marks the content of the terminal as unknown.
    pub(crate) fn invalidate(&mut self) {
        self.size = None;
    }

    /// Returns the bytes that make the terminal show these lines. Empty if it shows them already.
    pub(crate) fn paint(
        &mut self,
        lines: &[StyledLine],
        cursor: Cursor,
        size: ScreenSize,
    ) -> String {
        let mut text = String::new();
        let is_new = self.size != Some(size);
        if is_new {
            self.shown = Vec::new();
            self.size = Some(size);
        }
        let mut shown = Vec::with_capacity(size.height);
        for row in 0..size.height {
            let line = lines.get(row);
            let now = line.map(|line| line.render(self.colours)).unwrap_or_default();
            if is_new || self.shown.get(row) != Some(&now) {
                let _ = write!(text, "\x1b[{};1H{now}", row + 1);
                // At the right edge there is nothing to erase, and some terminals would erase the last character.
                if line.map_or(0, StyledLine::width) < size.width {
                    text.push_str("\x1b[K");
                }
            }
            shown.push(now);
        }
        self.shown = shown;
        let cursor = match cursor {
            Some((column, row)) => format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1),
            None => String::new(),
        };
        if text.is_empty() && cursor.is_empty() {
            return text;
        }
        format!("{BEGIN}\x1b[?25l{text}{cursor}{END}")
    }
}
