//! A text for a question that was answered elsewhere: it stays on the screen until the person closes it.

use forge_api::follow::RunSnapshot;

use super::{
    header::{DrivenBy, header},
    input_box::{InputResult, apply_key, input_lines},
    keys::KeyPress,
    line::{LineStyle, ScreenSize, StyledLine, key_hints},
    painter::Cursor,
};

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
        snapshot: &RunSnapshot,
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
