//! A text for a question that was answered elsewhere: it stays on the screen until the person closes it.

use forge_api::follow::RunSnapshot;

use super::{
    header::{ScreenContext, header},
    input_box::{InputBox, InputResult},
    keys::KeyPress,
    line::{BOLD, Cursor, SanitizedLine as _, ScreenLine, ScreenSize, key_hints, line},
};

/// A text for a question that was answered elsewhere. The person may still be typing it.
#[derive(Clone, Debug)]
pub(crate) struct UnsentText {
    pub(crate) question: String,
    pub(crate) text: InputBox,
}

impl UnsentText {
    /// Applies a key to the text.
    pub(crate) fn handle_key(&mut self, key: &KeyPress) -> InputResult {
        self.text.handle_key(key)
    }

    /// Builds the whole screen, with the position of the cursor.
    pub(crate) fn frame(
        &self,
        snapshot: &RunSnapshot,
        context: ScreenContext,
        size: ScreenSize,
    ) -> (Vec<ScreenLine>, Cursor) {
        let ScreenSize { width: columns, height } = size;
        let mut lines = header(snapshot, context, columns, 0);
        lines.truncate(1);
        lines.push(ScreenLine::default());
        let text = format!(" {} was answered elsewhere. Your words were not sent.", self.question);
        lines.push(line(BOLD, &text));
        let (written, cursor) = self.text.lines(columns);
        let top = lines.len();
        lines.extend(written);
        lines.push(key_hints(&[("Esc", "close; your words are printed at the end")], columns));
        lines.truncate(height);
        let cursor = cursor.map(|(column, row)| {
            (column.min(columns.saturating_sub(1)), (top + row).min(height.saturating_sub(1)))
        });
        (lines.into_iter().map(|line| line.cut(columns)).collect(), cursor)
    }
}
