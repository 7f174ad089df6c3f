//! Lines with escape sequences, for the scrollback and for `forge status`.

use std::fmt::Write as _;

use ratatui::style::{Color, Modifier};

use super::{line::ScreenLine, terminal_features::TerminalFeatures};

/// Formats a line as the terminal can show it.
pub(crate) fn to_ansi(line: &ScreenLine, features: TerminalFeatures) -> String {
    let mut text = String::new();
    for span in &line.spans {
        let content = features.character_set.encode(&span.content);
        let style = features.colours.reduce(span.style);
        let bold = if style.has_modifier(Modifier::BOLD) { "\x1b[1m" } else { "" };
        let colour = match style.fg {
            Some(Color::Indexed(index)) => format!("\x1b[38;5;{index}m"),
            Some(_) | None => String::new(),
        };
        let end = if bold.is_empty() && colour.is_empty() { "" } else { "\x1b[0m" };
        let _ = write!(text, "{bold}{colour}{content}{end}");
    }
    text
}
