//! Listens to what the child costs while it runs.
//!
//! Not here: what it cost in the end; that is read from the transcript.
//!
//! Invariant: who has said its last word is not stopped any more, whatever it cost.
//! Invariant: memory is bounded by one line.

use crate::folder::Listen;
use crate::heard::Listener;
use crate::signal::Signal;

/// Somebody who counts.
pub(super) struct Meter {
    listener: Listener,
    cap_micros: u64,
    /// How often the child told of something that it used.
    turns: u64,
}

impl Meter {
    pub(super) fn new(listen: &Listen) -> Self {
        let listener = Listener::live(listen.kind, &listen.earlier);
        Self { listener, cap_micros: listen.cap_micros, turns: 0 }
    }

    /// Takes in a piece of the output.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let turns = &mut self.turns;
        self.listener.push(bytes, |signal| match signal {
            Signal::Spent(_) => *turns += 1,
            Signal::Began { .. }
            | Signal::Said { .. }
            | Signal::UsedTool { .. }
            | Signal::Asked { .. }
            | Signal::Limit(_)
            | Signal::Ended(_)
            | Signal::Unknown => {}
        });
    }

    /// The turns that it told of so far.
    pub(super) const fn turns(&self) -> u64 {
        self.turns
    }

    /// Whether the child has spent more than it may, and goes on.
    pub(super) fn is_over(&self) -> bool {
        let heard = self.listener.heard();
        heard.word.is_none() && heard.spent_micros() > self.cap_micros
    }
}
