//! A text box: editing by keys, and its lines.
//!
//! Pure: keys in, lines out. What the text is for is not known here.
//!
//! Invariant: while a box is open, all text keys go into it, whatever happens to the question meanwhile.

use super::{
    keys::KeyPress,
    line::{LineStyle, StyledLine, width, wrap},
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

/// Removes control characters from pasted text, except for line breaks and tabs.
fn without_controls(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
