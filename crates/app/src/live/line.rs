//! Lines of the screen: ratatui's, with texts that are sanitized when they are added.
//!
//! Invariant: every text in a line is sanitized.
//! Invariant: a line that was cut is never wider than the given width.

use forge_core::view::sanitize;
use ratatui::{
    style::{Color, Modifier, Style},
    text::{Line, Span},
};

use crate::palette::Hue;

pub(crate) use crate::text_width::{cut, width};

/// A line of a screen.
pub(crate) type ScreenLine = Line<'static>;

/// Text that matters less than what is bold.
pub(crate) const PLAIN: Style = Style::new();
/// Text that matters.
pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Returns the style of a symbol or a bar: bold, because symbols are thin.
pub(crate) const fn coloured(hue: Hue) -> Style {
    BOLD.fg(Color::Indexed(hue.index()))
}

/// The size of a screen in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// The position of the visible cursor: column and row, from 0.
pub(crate) type Cursor = Option<(usize, usize)>;

/// Returns a line with one text.
pub(crate) fn line(style: Style, text: &str) -> ScreenLine {
    ScreenLine::default().with(style, text)
}

/// Ways to build a line from texts that others may have written.
pub(crate) trait SanitizedLine: Sized {
    /// Appends a text.
    fn add(&mut self, style: Style, text: &str);
    /// Appends a text as a column: cut and padded to `columns`.
    fn column(&mut self, style: Style, text: &str, columns: usize);
    /// Appends a right-aligned text as a column.
    fn column_right(&mut self, style: Style, text: &str, columns: usize);
    /// Appends a text.
    fn with(self, style: Style, text: &str) -> Self;
    /// Appends another line.
    fn join(self, other: Self) -> Self;
    /// Cuts and pads the line to exactly `columns`.
    fn fill_to(self, columns: usize) -> Self;
    /// Cuts the line to at most `columns`, and removes spaces at its end.
    fn cut(self, columns: usize) -> Self;
    /// Returns the width in columns.
    fn columns(&self) -> usize;
}

impl SanitizedLine for ScreenLine {
    fn add(&mut self, style: Style, text: &str) {
        let text = sanitize_line(text);
        if !text.is_empty() {
            self.push_span(Span::styled(text, style));
        }
    }

    fn column(&mut self, style: Style, text: &str, columns: usize) {
        let text = cut(&sanitize_line(text), columns);
        let rest = columns.saturating_sub(width(&text));
        self.push_span(Span::styled(text + &" ".repeat(rest), style));
    }

    fn column_right(&mut self, style: Style, text: &str, columns: usize) {
        let text = cut(&sanitize_line(text), columns);
        let rest = columns.saturating_sub(width(&text));
        self.push_span(Span::styled(" ".repeat(rest) + &text, style));
    }

    fn with(mut self, style: Style, text: &str) -> Self {
        self.add(style, text);
        self
    }

    fn join(mut self, other: Self) -> Self {
        self.spans.extend(other.spans);
        self
    }

    fn fill_to(self, columns: usize) -> Self {
        let mut line = self.cut(columns);
        let rest = columns.saturating_sub(line.columns());
        line.push_span(Span::styled(" ".repeat(rest), PLAIN));
        line
    }

    fn cut(mut self, columns: usize) -> Self {
        let mut room = columns;
        let too_wide = self.columns() > columns;
        for span in &mut self.spans {
            if too_wide && width(&span.content) >= room {
                let text = if room == 0 {
                    String::new()
                } else {
                    cut(&format!("{}……", span.content), room)
                };
                span.content = text.into();
            }
            room = room.saturating_sub(width(&span.content));
        }
        while let Some(span) = self.spans.last_mut() {
            let text = span.content.trim_end();
            if !text.is_empty() {
                span.content = text.to_owned().into();
                break;
            }
            self.spans.pop();
        }
        self
    }

    fn columns(&self) -> usize {
        self.spans.iter().map(|span| width(&span.content)).sum()
    }
}

/// Builds a line of keys with what they do. Those that do not fit are left out, the last ones first.
pub(crate) fn key_hints(keys: &[(&str, &str)], columns: usize) -> ScreenLine {
    let mut line = line(PLAIN, " ");
    for (at, (key, does)) in keys.iter().enumerate() {
        let gap = if at == 0 { "" } else { "   " };
        let next = ScreenLine::default().with(PLAIN, gap).with(BOLD, key);
        let next = next.with(PLAIN, &format!(" {does}"));
        if at > 0 && line.columns() + next.columns() > columns {
            break;
        }
        line = line.join(next);
    }
    line
}

/// Builds a rule over the whole width with a title in it.
pub(crate) fn titled_rule(title: &str, columns: usize) -> ScreenLine {
    let title = line(PLAIN, "─ ").with(BOLD, title).with(PLAIN, " ");
    let rest = columns.saturating_sub(title.columns());
    title.with(PLAIN, &"─".repeat(rest))
}

/// Sanitizes a text and puts it on one line. Zero-width characters that change others are removed: terminals do not
/// agree about their width.
fn sanitize_line(text: &str) -> String {
    let joins = |c: &char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{2029}' | '\u{2060}'..='\u{2064}')
            || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{00ad}')
            || matches!(c, '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}')
    };
    let text = sanitize(text).replace(['\n', '\t'], " ");
    text.chars().filter(|c| !joins(c)).collect()
}

/// Wraps a text at spaces, or inside of words that are too long. Its own line breaks stay.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = sanitize_line(line);
        let mut current = String::new();
        for word in line.split_inclusive(' ') {
            let bare = word.trim_end();
            if width(&current) + width(bare) > columns && !current.trim().is_empty() {
                lines.push(current.trim_end().to_owned());
                current = String::new();
            }
            for c in word.chars() {
                if width(&current) + width(c.encode_utf8(&mut [0; 4])) > columns {
                    if c == ' ' {
                        continue;
                    }
                    lines.push(std::mem::take(&mut current));
                }
                current.push(c);
            }
        }
        lines.push(current.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice_and_are_never_cut_in_half() {
        for columns in 0..20 {
            let line = line(coloured(Hue::Red), "工作").with(PLAIN, " a word").with(BOLD, "工作");
            assert!(line.cut(columns).columns() <= columns, "{columns}");
        }
    }

    #[test]
    fn what_agents_say_cannot_steer_the_terminal() {
        let line = line(PLAIN, "a\x1b[2J\u{202e}b\nc\td\u{200d}e");
        assert_eq!(line.to_string(), "a\u{fffd}[2J\u{fffd}b c de");
    }

    #[test]
    fn a_text_is_broken_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("工作工作工作", 5), ["工作", "工作", "工作"]);
        assert_eq!(wrap("a\n\n  b", 5), ["a", "", "  b"]);
        for columns in 1..12 {
            for line in wrap("some words, 工作, andaverylongone  with   spaces", columns.max(2)) {
                assert!(width(&line) <= columns.max(2), "{columns}: {line:?}");
            }
        }
    }
}
