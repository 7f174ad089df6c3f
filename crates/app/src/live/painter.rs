//! Puts frames on a terminal: over the last one, only the lines that changed, in one synchronized piece.
//!
//! The alternate screen is used. On the ordinary one, terminals break long lines anew when they get narrower, and nobody can
//! know where the lines of a tree are then: it would be torn at every resize. What should stay in the scrollback is printed
//! when the screen is left.
//!
//! Invariant: after `paint`, the terminal shows exactly the frame, whatever size it had before.

use std::fmt::Write as _;

use super::line::{ScreenSize, StyledLine};
use crate::terminal_output::Colours;

/// The terminal shows all or nothing of what stands between these two.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// The other screen, no cursor, no breaking of lines, and pasted text is marked as such.
pub(crate) const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
/// All of that undone.
pub(crate) const LEAVE: &str = "\x1b[?2004l\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l";

/// What a terminal shows.
pub(crate) struct Painter {
    colours: Colours,
    shown: Vec<String>,
    size: Option<ScreenSize>,
}

/// Where the cursor is to be seen: column and row, from 0.
pub(crate) type Cursor = Option<(usize, usize)>;

impl Painter {
    pub(crate) const fn new(colours: Colours) -> Self {
        Self { colours, shown: Vec::new(), size: None }
    }

    /// Nobody knows what the terminal shows by now.
    pub(crate) fn invalidate(&mut self) {
        self.size = None;
    }

    /// What has to be written so that the terminal shows these lines. Nothing, if it does already.
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
                // At the right edge there is nothing left to erase, and some would erase the last letter.
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
