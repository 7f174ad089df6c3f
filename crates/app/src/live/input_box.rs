//! A text box: editing by keys and its lines; and a text that can no longer be sent.
//!
//! Pure: keys in, lines out. What the text is for is not known here.
//!
//! Invariant: while a box is open, all text keys go into it, whatever happens to the question meanwhile.

use forge_api::follow::Picture;

use super::{
    frame::{DrivenBy, header},
    keys::KeyPress,
    line::{LineStyle, ScreenSize, StyledLine, key_hints, width, wrap},
    painter::Cursor,
};

/// The most lines of the text that are shown.
const INPUT_LINES: usize = 8;

/// The effect of a key on a text box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputResult {
    /// The text was edited, or nothing happened.
    Pending,
    Submitted,
    Cancelled,
}

/// Applies a key to the text.
pub(crate) fn apply_key(text: &mut String, key: &KeyPress) -> InputResult {
    match key {
        KeyPress::Escape => return InputResult::Cancelled,
        KeyPress::Char(c) => text.push(*c),
        KeyPress::Pasted(pasted) => text.push_str(&without_controls(pasted)),
        KeyPress::Backspace => {
            text.pop();
        }
        KeyPress::Ctrl('u') => {
            let line = text.rfind('\n').map_or(0, |at| at + 1);
            text.truncate(line);
        }
        KeyPress::Enter if !text.is_empty() && !text.ends_with('\n') => text.push('\n'),
        KeyPress::Enter | KeyPress::Ctrl('d') => return InputResult::Submitted,
        KeyPress::Up
        | KeyPress::Down
        | KeyPress::PageUp
        | KeyPress::PageDown
        | KeyPress::Ctrl(_) => {}
    }
    InputResult::Pending
}

/// Returns the last lines of the text, and the cursor's column in the last of them.
pub(crate) fn input_lines(text: &str, columns: usize) -> (Vec<StyledLine>, usize) {
    let mut written = wrap(text, columns.saturating_sub(4));
    if text.is_empty() || text.ends_with('\n') {
        written.push(String::new());
    }
    let first = written.len().saturating_sub(INPUT_LINES);
    let shown = written[first..]
        .iter()
        .map(|line| StyledLine::new(LineStyle::Plain, &format!(" > {line}")));
    let last = written.last().map_or(0, |line| width(line));
    let trailing = text.len() - text.trim_end_matches(' ').len();
    (shown.collect(), 3 + last + trailing)
}

/// A text for a question that was answered elsewhere. The person may still be typing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnsentText {
    pub(crate) question: String,
    pub(crate) text: String,
}

impl UnsentText {
    /// Applies a key to the text.
    pub(crate) fn handle_key(&mut self, key: &KeyPress) -> InputResult {
        apply_key(&mut self.text, key)
    }

    /// Explains what happened to the text.
    pub(crate) fn explanation(&self) -> String {
        format!("{} was answered elsewhere; your words were not sent", self.question)
    }

    /// Builds the whole screen, with the position of the cursor.
    pub(crate) fn frame(
        &self,
        snapshot: &Picture,
        driven_by: DrivenBy,
        size: ScreenSize,
    ) -> (Vec<StyledLine>, Cursor) {
        let ScreenSize { width: columns, height } = size;
        let mut all =
            vec![header(snapshot, driven_by, columns, 0).swap_remove(0), StyledLine::default()];
        all.push(StyledLine::new(LineStyle::Yellow, &format!(" {}. Esc", self.explanation())));
        let (words, column) = input_lines(&self.text, columns);
        all.extend(words);
        let row = all.len().min(height).saturating_sub(1);
        all.push(key_hints(&[(
            "Esc, Enter twice or Ctrl-D",
            "close; they are printed at the end",
        )]));
        all.truncate(height);
        let all = all.into_iter().map(|line| line.cut(columns)).collect();
        (all, Some((column.min(columns.saturating_sub(1)), row)))
    }
}

/// Removes control characters from pasted text, except for line breaks and tabs.
fn without_controls(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
