//! What a screen says in its last lines, and for how long.
//!
//! Pure: the clock is that of the frames.

use forge_core::Time;
use forge_runtime::follow::Picture;

/// How long something is said that nobody has to act on, in milliseconds.
const BRIEFLY_MS: u64 = 5_000;

/// Something that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    text: String,
    lasts: Lasts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasts {
    /// Until a key is pressed.
    UntilKey,
    /// Until there is another fact, or this moment.
    Until { seq: u64, at: Time },
}

impl Said {
    /// Said until the next key.
    pub(crate) fn until_key(text: impl Into<String>) -> Self {
        Self { text: text.into(), lasts: Lasts::UntilKey }
    }

    /// Said until the next key or fact, and for a few seconds at most.
    pub(crate) fn briefly(text: impl Into<String>, picture: &Picture) -> Self {
        let (seq, at) = (picture.seq, picture.now + BRIEFLY_MS);
        Self { text: text.into(), lasts: Lasts::Until { seq, at } }
    }

    /// What is still said in this picture.
    pub(crate) fn in_picture(&self, picture: &Picture) -> Option<&str> {
        match self.lasts {
            Lasts::UntilKey => Some(&self.text),
            Lasts::Until { seq, at } => {
                (picture.seq == seq && picture.now < at).then_some(self.text.as_str())
            }
        }
    }
}
