//! Listens to what the child costs while it runs.
//!
//! Not here: what it cost in the end; that is read from the transcript.
//!
//! Invariant: who has said its last word is not stopped any more, whatever it cost.
//! Invariant: memory is bounded by one line.

use crate::folder::Listen;
use crate::heard::Listener;

/// Somebody who counts.
pub(super) struct Meter {
    listener: Listener,
    cap_micros: u64,
}

impl Meter {
    pub(super) fn new(listen: &Listen) -> Self {
        let listener = Listener::live(listen.kind, &listen.earlier);
        Self { listener, cap_micros: listen.cap_micros }
    }

    /// Takes in a piece of the output.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.listener.push(bytes, |_| {});
    }

    /// Whether the child has spent more than it may, and goes on.
    pub(super) fn is_over(&self) -> bool {
        let heard = self.listener.heard();
        heard.word.is_none() && heard.spent_micros() > self.cap_micros
    }
}
