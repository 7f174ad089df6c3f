//! Styled lines that know their width on a terminal.
//!
//! Invariant: every text in a line is sanitized.
//! Invariant: a line that was cut is never wider than the given width.

use forge_core::view::sanitize;

use crate::terminal_info::Colours;

pub(crate) use crate::text_width::{cut, width};

/// The style of a piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineStyle {
    Plain,
    Bold,
    Grey,
    Green,
    Yellow,
    Red,
    Cyan,
}

/// The size of a screen in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// A line of a screen, in pieces of one style each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StyledLine {
    pieces: Vec<(LineStyle, String)>,
}

impl LineStyle {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\x1b[1m",
            Self::Grey => "\x1b[90m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Red => "\x1b[31m",
            Self::Cyan => "\x1b[36m",
        }
    }
}

impl StyledLine {
    pub(crate) fn new(style: LineStyle, text: &str) -> Self {
        Self::default().with(style, text)
    }

    /// Appends a piece.
    pub(crate) fn with(mut self, style: LineStyle, text: &str) -> Self {
        self.push(style, text);
        self
    }

    pub(crate) fn push(&mut self, style: LineStyle, text: &str) {
        let text = sanitize_line(text);
        if !text.is_empty() {
            self.pieces.push((style, text));
        }
    }

    /// Appends a text as a column: cut and padded to `columns`.
    pub(crate) fn column(&mut self, style: LineStyle, text: &str, columns: usize) {
        let text = cut(&sanitize_line(text), columns);
        let rest = columns.saturating_sub(width(&text));
        self.pieces.push((style, text + &" ".repeat(rest)));
    }

    /// Appends a right-aligned text as a column.
    pub(crate) fn column_right(&mut self, style: LineStyle, text: &str, columns: usize) {
        let text = cut(&sanitize_line(text), columns);
        let rest = columns.saturating_sub(width(&text));
        self.pieces.push((style, " ".repeat(rest) + &text));
    }

    /// Appends another line.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// Cuts and pads the line to exactly `columns`.
    pub(crate) fn fill_to(self, columns: usize) -> Self {
        let mut line = self.cut(columns);
        let rest = columns.saturating_sub(line.width());
        line.pieces.push((LineStyle::Plain, " ".repeat(rest)));
        line
    }

    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| width(text)).sum()
    }

    /// Cuts the line to at most `columns`, and removes spaces at its end.
    pub(crate) fn cut(mut self, columns: usize) -> Self {
        let mut room = columns;
        let too_wide = self.width() > columns;
        for (_, text) in &mut self.pieces {
            if too_wide && width(text) >= room {
                *text = if room == 0 { String::new() } else { cut(&format!("{text}……"), room) };
            }
            room = room.saturating_sub(width(text));
        }
        while let Some((_, text)) = self.pieces.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.pieces.pop();
        }
        self
    }

    /// Formats the line with its escape sequences.
    pub(crate) fn render(&self, colours: Colours) -> String {
        let mut text = String::new();
        for (style, piece) in &self.pieces {
            match (colours, style.code()) {
                (Colours::No, _) | (Colours::Yes, "") => text.push_str(piece),
                (Colours::Yes, code) => {
                    text.push_str(code);
                    text.push_str(piece);
                    text.push_str("\x1b[0m");
                }
            }
        }
        text
    }
}

/// Builds a line of keys with what they do.
pub(crate) fn key_hints(keys: &[(&str, &str)]) -> StyledLine {
    let mut line = StyledLine::new(LineStyle::Plain, " ");
    for (key, does) in keys {
        line.push(LineStyle::Bold, key);
        line.push(LineStyle::Grey, &format!(" {does}   "));
    }
    line
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
    use super::{Colours, LineStyle, StyledLine, width, wrap};

    #[test]
    fn wide_characters_count_twice_and_are_never_cut_in_half() {
        for columns in 0..20 {
            let line = StyledLine::new(LineStyle::Red, "工作")
                .with(LineStyle::Plain, " a word")
                .with(LineStyle::Grey, "工作");
            assert!(line.cut(columns).width() <= columns, "{columns}");
        }
    }

    #[test]
    fn what_agents_say_cannot_steer_the_terminal() {
        let line = StyledLine::new(LineStyle::Plain, "a\x1b[2J\u{202e}b\nc\td\u{200d}e");
        assert_eq!(line.render(Colours::Yes), "a\u{fffd}[2J\u{fffd}b c de");
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
