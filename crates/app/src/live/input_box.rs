//! A box for words: how keys go into it, and how it is shown; and words that can no longer be sent.
//!
//! Pure: keys in, lines out. What the words are for is not known here.
//!
//! Invariant: while a box is open, all keys that are text go into it, whatever happens to the question meanwhile.

use forge_runtime::follow::Picture;

use super::{
    frame::{Seat, head},
    keys::Key,
    line::{Ink, Line, Size, keys, width, wrap},
    painter::Cursor,
};

/// The most lines of one's own words that are seen while one writes.
const WORDS_LINES: usize = 8;

/// What a key did to a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// It went into the box, or did nothing.
    Goes,
    /// The person is at the end.
    Ready,
    /// The person wants no more of it.
    Away,
}

/// Takes a key into a box.
pub(crate) fn take(text: &mut String, key: &Key) -> Typed {
    match key {
        Key::Escape => return Typed::Away,
        Key::Char(c) => text.push(*c),
        Key::Pasted(pasted) => text.push_str(&plain(pasted)),
        Key::Backspace => {
            text.pop();
        }
        Key::Ctrl('u') => {
            let line = text.rfind('\n').map_or(0, |at| at + 1);
            text.truncate(line);
        }
        Key::Enter if !text.is_empty() && !text.ends_with('\n') => text.push('\n'),
        Key::Enter | Key::Ctrl('d') => return Typed::Ready,
        Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Ctrl(_) => {}
    }
    Typed::Goes
}

/// The last lines of a box, and the column of the cursor in the last of them.
pub(crate) fn lines(text: &str, columns: usize) -> (Vec<Line>, usize) {
    let mut written = wrap(text, columns.saturating_sub(4));
    if text.is_empty() || text.ends_with('\n') {
        written.push(String::new());
    }
    let first = written.len().saturating_sub(WORDS_LINES);
    let shown = written[first..].iter().map(|line| Line::of(Ink::Plain, &format!(" > {line}")));
    let last = written.last().map_or(0, |line| width(line));
    let trailing = text.len() - text.trim_end_matches(' ').len();
    (shown.collect(), 3 + last + trailing)
}

/// Words for a question that somebody else has answered meanwhile. The person may still be typing them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsent {
    pub(crate) question: String,
    pub(crate) text: String,
}

impl Unsent {
    /// Takes a key.
    pub(crate) fn key(&mut self, key: &Key) -> Typed {
        take(&mut self.text, key)
    }

    /// What happened to the words.
    pub(crate) fn what(&self) -> String {
        format!("{} was answered elsewhere; your words were not sent", self.question)
    }

    /// The whole screen, and where the cursor is.
    pub(crate) fn frame(&self, picture: &Picture, seat: Seat, size: Size) -> (Vec<Line>, Cursor) {
        let Size { width: columns, height } = size;
        let mut all = vec![head(picture, seat, columns, 0).swap_remove(0), Line::default()];
        all.push(Line::of(Ink::Yellow, &format!(" {}. Esc", self.what())));
        let (words, column) = lines(&self.text, columns);
        all.extend(words);
        let row = all.len().min(height).saturating_sub(1);
        all.push(keys(&[("Esc, Enter twice or Ctrl-D", "close; they are printed at the end")]));
        all.truncate(height);
        let all = all.into_iter().map(|line| line.cut(columns)).collect();
        (all, Some((column.min(columns.saturating_sub(1)), row)))
    }
}

/// Pasted text without what is no text.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
