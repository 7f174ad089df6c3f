//! What a screen says in its last lines, and for how long.
//!
//! Pure: the clock is that of the frames.

use forge_api::follow::Picture;
use forge_core::Time;

/// How long something is said at least that nobody has to act on, in milliseconds: facts may follow each other at once.
const AT_LEAST_MS: u64 = 1_500;
/// And at most, if nothing follows.
const AT_MOST_MS: u64 = 5_000;

/// Something that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusMessage {
    text: String,
    lasts: MessageLifetime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageLifetime {
    /// Until a key is pressed.
    UntilKey,
    /// Until there is another fact than this, and for a few seconds at most.
    Briefly { seq: u64, since: Time },
}

impl StatusMessage {
    /// Said until the next key.
    pub(crate) fn until_key(text: impl Into<String>) -> Self {
        Self { text: text.into(), lasts: MessageLifetime::UntilKey }
    }

    /// Said until the next key or fact, and for a few seconds at most.
    pub(crate) fn briefly(text: impl Into<String>, snapshot: &Picture) -> Self {
        let (seq, since) = (snapshot.seq, snapshot.now);
        Self { text: text.into(), lasts: MessageLifetime::Briefly { seq, since } }
    }

    /// What is still said in this picture.
    pub(crate) fn text_at(&self, snapshot: &Picture) -> Option<&str> {
        match self.lasts {
            MessageLifetime::UntilKey => Some(&self.text),
            MessageLifetime::Briefly { seq, since } => {
                let most = if snapshot.seq == seq { AT_MOST_MS } else { AT_LEAST_MS };
                (snapshot.now.saturating_sub(since) < most).then_some(self.text.as_str())
            }
        }
    }
}
