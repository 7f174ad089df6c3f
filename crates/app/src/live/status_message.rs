//! A message in the last lines of a screen that disappears by itself.
//!
//! Pure: the clock is that of the frames.

use forge_api::follow::RunSnapshot;
use forge_core::Time;

/// How long a brief message is shown at least, in milliseconds: facts may follow each other quickly.
const AT_LEAST_MS: u64 = 1_500;
/// How long it is shown at most, if no fact follows.
const AT_MOST_MS: u64 = 5_000;

/// How long the lines are shown that say how a run begins.
const OPENING_MS: u64 = 12_000;

/// A message with its lifetime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusMessage {
    text: String,
    lasts: MessageLifetime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageLifetime {
    /// Until a key is pressed.
    UntilKey,
    /// Until a key is pressed or something else fills the screen.
    OnThisScreen,
    /// As `OnThisScreen`, for as long as it takes to read.
    Opening { since: Time },
    /// Until there is a newer record than `seq`, and for a few seconds at most.
    Briefly { seq: u64, since: Time },
}

impl StatusMessage {
    /// Returns a message until the next key.
    pub(crate) fn until_key(text: impl Into<String>) -> Self {
        Self { text: text.into(), lasts: MessageLifetime::UntilKey }
    }

    /// Returns the keys of what fills the screen now.
    pub(crate) fn of_keys(text: impl Into<String>) -> Self {
        Self { text: text.into(), lasts: MessageLifetime::OnThisScreen }
    }

    /// Returns the lines that say how a run begins.
    pub(crate) fn opening(text: impl Into<String>, since: Time) -> Self {
        Self { text: text.into(), lasts: MessageLifetime::Opening { since } }
    }

    /// Returns true if it says nothing about what fills the screen next.
    pub(crate) fn is_of_this_screen(&self) -> bool {
        match self.lasts {
            MessageLifetime::OnThisScreen | MessageLifetime::Opening { .. } => true,
            MessageLifetime::UntilKey | MessageLifetime::Briefly { .. } => false,
        }
    }

    /// Returns a message until the next key or record, and for a few seconds at most.
    pub(crate) fn briefly(text: impl Into<String>, snapshot: &RunSnapshot) -> Self {
        let (seq, since) = (snapshot.seq, snapshot.now);
        Self { text: text.into(), lasts: MessageLifetime::Briefly { seq, since } }
    }

    /// Returns the text if it is still shown at the time of the snapshot.
    pub(crate) fn text_at(&self, snapshot: &RunSnapshot) -> Option<&str> {
        match self.lasts {
            MessageLifetime::UntilKey | MessageLifetime::OnThisScreen => Some(&self.text),
            MessageLifetime::Opening { since } => {
                (snapshot.now.saturating_sub(since) < OPENING_MS).then_some(self.text.as_str())
            }
            MessageLifetime::Briefly { seq, since } => {
                let most = if snapshot.seq == seq { AT_MOST_MS } else { AT_LEAST_MS };
                (snapshot.now.saturating_sub(since) < most).then_some(self.text.as_str())
            }
        }
    }
}
