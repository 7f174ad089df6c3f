//! A text box: editing by keys, and its lines.
//!
//! Pure: keys in, lines out. What the text is for is not known here.
//!
//! Invariant: while a box is open, all text keys go into it, whatever happens to the question meanwhile.
//! Invariant: the text is kept as it was typed or pasted, without control characters.

use ratatui::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget as _};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

use super::{
    keys::KeyPress,
    line::{BOLD, Cursor, PLAIN, SanitizedLine as _, ScreenLine, line, width},
};

/// The most lines of the text that are shown.
const INPUT_LINES: u16 = 8;

/// The keys of a box, besides the one that sends.
pub(crate) const INPUT_KEYS: [(&str, &str); 3] =
    [("Esc", "keep and go back"), ("Alt-Enter", "new line"), ("Ctrl-G", "editor")];

/// The effect of a key on a text box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputResult {
    /// The text was edited, or nothing happened.
    Pending,
    Submitted,
    Cancelled,
    /// The text is to be edited in the person's editor.
    Editor,
}

/// A text that is being typed.
#[derive(Clone, Debug)]
pub(crate) struct InputBox {
    area: TextArea<'static>,
}

impl InputBox {
    /// Returns a box with a text, with the cursor at its end.
    pub(crate) fn new(text: &str) -> Self {
        let mut area = TextArea::default();
        area.set_wrap_mode(WrapMode::WordOrGlyph);
        // The cursor is the terminal's own.
        area.set_cursor_style(Style::new());
        area.set_cursor_line_style(Style::new());
        area.insert_str(without_controls(text));
        Self { area }
    }

    /// Returns the text as it was typed.
    pub(crate) fn text(&self) -> String {
        self.area.lines().join("\n").trim_end().to_owned()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    /// Applies a key to the text.
    pub(crate) fn handle_key(&mut self, key: &KeyPress) -> InputResult {
        let area = &mut self.area;
        match key {
            KeyPress::Escape => return InputResult::Cancelled,
            KeyPress::Enter | KeyPress::Ctrl('d') => return InputResult::Submitted,
            KeyPress::Ctrl('g') => return InputResult::Editor,
            KeyPress::Char(c) => area.insert_char(*c),
            KeyPress::Tab => area.insert_char(' '),
            KeyPress::NewLine => area.insert_newline(),
            KeyPress::Pasted(pasted) => {
                area.insert_str(without_controls(pasted));
            }
            KeyPress::Backspace => {
                area.delete_char();
            }
            KeyPress::Delete => {
                area.delete_next_char();
            }
            KeyPress::DeleteWord | KeyPress::Ctrl('w') => {
                area.delete_word();
            }
            KeyPress::Ctrl('u') => {
                area.delete_line_by_head();
            }
            KeyPress::Ctrl('k') => {
                area.delete_line_by_end();
            }
            KeyPress::Left | KeyPress::Ctrl('b') => area.move_cursor(CursorMove::Back),
            KeyPress::Right | KeyPress::Ctrl('f') => area.move_cursor(CursorMove::Forward),
            KeyPress::Up => area.move_cursor(CursorMove::Up),
            KeyPress::Down => area.move_cursor(CursorMove::Down),
            KeyPress::WordLeft => area.move_cursor(CursorMove::WordBack),
            KeyPress::WordRight => area.move_cursor(CursorMove::WordForward),
            KeyPress::Home | KeyPress::Ctrl('a') => area.move_cursor(CursorMove::Head),
            KeyPress::End | KeyPress::Ctrl('e') => area.move_cursor(CursorMove::End),
            KeyPress::PageUp => area.move_cursor(CursorMove::Top),
            KeyPress::PageDown => area.move_cursor(CursorMove::Bottom),
            KeyPress::Ctrl(_) => {}
        }
        InputResult::Pending
    }

    /// Returns the lines around the cursor, and where the cursor is in them.
    pub(crate) fn lines(&self, columns: usize) -> (Vec<ScreenLine>, Cursor) {
        let columns = u16::try_from(columns.saturating_sub(4)).unwrap_or(u16::MAX).max(2);
        let area = Rect::new(0, 0, columns, INPUT_LINES);
        let mut cells = Buffer::empty(area);
        self.area.render(area, &mut cells);
        let at = self.area.screen_cursor();
        let row = at.row.saturating_sub(usize::from(self.area.scroll_offset().0));
        let rows = (0..INPUT_LINES).map(|row| {
            let symbols = (0..columns).map(|column| cells[(column, row)].symbol());
            line(BOLD, " > ").with(PLAIN, &visible(symbols)).cut(usize::from(columns) + 3)
        });
        let mut lines: Vec<ScreenLine> = rows.collect();
        let used = lines.iter().rposition(|line| line.columns() > 2).unwrap_or_default();
        lines.truncate(used.max(row) + 1);
        (lines, Some((3 + at.col, row)))
    }
}

/// Joins the symbols of cells; after a wide one there is an empty cell.
fn visible<'a>(symbols: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut is_covered = false;
    for symbol in symbols {
        if !is_covered {
            text.push_str(symbol);
        }
        is_covered = !is_covered && width(symbol) > 1;
    }
    text
}

/// Removes control characters, except for line breaks and tabs.
fn without_controls(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut InputBox, keys: &[KeyPress]) {
        for key in keys {
            assert_eq!(input.handle_key(key), InputResult::Pending, "{key:?}");
        }
    }

    #[test]
    fn words_can_be_changed_anywhere_in_a_text_of_several_lines() {
        let mut input = InputBox::new("one two");
        press(&mut input, &[KeyPress::WordLeft, KeyPress::Char('工'), KeyPress::Home]);
        press(&mut input, &[KeyPress::Delete, KeyPress::Char('O'), KeyPress::End]);
        press(&mut input, &[KeyPress::NewLine, KeyPress::Pasted("a\tb\u{7}\nc d".to_owned())]);
        assert_eq!(input.text(), "One 工two\na\tb\nc d");
        press(&mut input, &[KeyPress::Ctrl('w'), KeyPress::Left, KeyPress::Backspace]);
        assert_eq!(input.text(), "One 工two\na\tb");
        press(&mut input, &[KeyPress::Up, KeyPress::Ctrl('k')]);
        assert_eq!(input.text(), "One 工two");
        press(&mut input, &[KeyPress::PageUp, KeyPress::Right, KeyPress::Ctrl('u')]);
        assert_eq!(input.text(), "ne 工two");
        assert_eq!(input.handle_key(&KeyPress::Enter), InputResult::Submitted);
        assert_eq!(input.handle_key(&KeyPress::Escape), InputResult::Cancelled);
        assert!(InputBox::new(" \n ").is_blank() && !input.is_blank());
    }

    #[test]
    fn the_cursor_is_where_the_next_letter_goes_also_behind_wide_characters_and_in_broken_lines() {
        let shown = |input: &InputBox, columns| {
            let (lines, cursor) = input.lines(columns);
            (lines.iter().map(ToString::to_string).collect::<Vec<_>>(), cursor)
        };
        let mut input = InputBox::new("工作 ok");
        assert_eq!(shown(&input, 40), (vec![" > 工作 ok".to_owned()], Some((10, 0))));
        press(&mut input, &[KeyPress::WordLeft]);
        assert_eq!(shown(&input, 40).1, Some((8, 0)));
        let (lines, cursor) = shown(&InputBox::new("one two three four five"), 16);
        assert!(lines.len() > 1 && cursor.is_some_and(|(_, row)| row == lines.len() - 1));
        let long: Vec<String> = (0..30).map(|n| format!("line {n}")).collect();
        let (lines, cursor) = shown(&InputBox::new(&long.join("\n")), 40);
        assert_eq!(lines.last().map(String::as_str), Some(" > line 29"));
        assert_eq!(cursor, Some((10, 7)));
    }
}
