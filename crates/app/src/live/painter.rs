//! Writes frames to a terminal: only the cells that changed, in one synchronized update; with the title of the window
//! and the progress bar of the terminal.
//!
//! It uses the alternate screen: on the normal one, terminals rewrap long lines when they get narrower, and the
//! position of the tree would be unknown after every resize. What should stay in the scrollback is printed when the
//! screen is closed.
//!
//! Invariant: after `paint`, the terminal shows exactly the frame, whatever its size was before.

use std::fmt::Write as _;

use ratatui::{
    backend::{Backend as _, CrosstermBackend},
    buffer::Buffer,
    layout::Rect,
};

use super::{
    line::{Cursor, ScreenLine, ScreenSize},
    terminal_features::{NO_PROGRESS, ProgressBar, TerminalFeatures},
    window_state::{ProgressState, WindowState},
};

/// Begin and end of a synchronized update.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// Remembers what a terminal shows.
pub(crate) struct Painter {
    features: TerminalFeatures,
    /// `None` if the content of the terminal is unknown.
    shown: Option<(Buffer, Cursor)>,
    window: WindowState,
}

impl Painter {
    pub(crate) fn new(features: TerminalFeatures) -> Self {
        Self { features, shown: None, window: WindowState::default() }
    }

    /// Marks the content of the terminal as unknown.
    pub(crate) fn invalidate(&mut self) {
        (self.shown, self.window) = (None, WindowState::default());
    }

    /// Returns the bytes that make the terminal show these lines. Empty if it shows them already.
    pub(crate) fn paint(
        &mut self,
        lines: &[ScreenLine],
        cursor: Cursor,
        size: ScreenSize,
        window: &WindowState,
    ) -> Vec<u8> {
        let area = Rect::new(0, 0, cells(size.width), cells(size.height));
        let next = self.buffer(lines, area);
        let before = self.shown.take().filter(|(before, _)| *before.area() == area);
        let is_moved = before.as_ref().is_none_or(|(_, before)| *before != cursor);
        // Rows with unknown content are erased first, all of them in the same update.
        let n_erased = if before.is_none() { area.height } else { 0 };
        let mut erased = String::new();
        for row in 1..=n_erased {
            let _ = write!(erased, "\x1b[{row};1H\x1b[K");
        }
        let before = before.map_or_else(|| Buffer::empty(area), |(before, _)| before);
        let changed = before.diff(&next);
        let window = self.window_sequences(window);
        let mut bytes = Vec::new();
        if !changed.is_empty() || is_moved || !window.is_empty() {
            bytes = format!("{BEGIN}\x1b[?25l{window}{erased}").into_bytes();
            let written = CrosstermBackend::new(&mut bytes).draw(changed.into_iter());
            written.expect("memory can be written");
            let cursor = match cursor {
                Some((column, row)) => format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1),
                None => String::new(),
            };
            bytes.extend(format!("{cursor}{END}").into_bytes());
        }
        self.shown = Some((next, cursor));
        bytes
    }

    fn buffer(&self, lines: &[ScreenLine], area: Rect) -> Buffer {
        let mut buffer = Buffer::empty(area);
        for (row, line) in (0..area.height).zip(lines) {
            let mut line = line.clone();
            for span in &mut line.spans {
                span.style = self.features.colours.reduce(span.style);
                span.content = self.features.character_set.encode(&span.content).into();
            }
            buffer.set_line(0, row, &line, area.width);
        }
        buffer
    }

    fn window_sequences(&mut self, window: &WindowState) -> String {
        let mut text = String::new();
        if window.title != self.window.title {
            text = format!("\x1b]2;{}\x1b\\", self.features.character_set.encode(&window.title));
        }
        if window.progress != self.window.progress {
            match self.features.progress_bar {
                ProgressBar::Supported => text.push_str(&progress_sequence(window.progress)),
                ProgressBar::Unsupported => {}
            }
        }
        window.clone_into(&mut self.window);
        text
    }
}

fn progress_sequence(progress: ProgressState) -> String {
    let (state, percent) = match progress {
        ProgressState::None => return NO_PROGRESS.to_owned(),
        ProgressState::Running(percent) => (1, percent),
        ProgressState::Failed(percent) => (2, percent),
        ProgressState::Waiting(percent) => (4, percent),
    };
    format!("\x1b]9;4;{state};{percent}\x1b\\")
}

fn cells(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}
