//! Something that reads the child's output while it runs, and can find it too expensive.
//!
//! Not here: any monitor. The attempt's settings for one are opaque to the keeper.

use serde_json::Value;

/// Reads the output of one child.
pub trait Monitor {
    /// Takes in a piece of the output, redacted.
    fn push(&mut self, bytes: &[u8]);

    /// How many turns the child has reported a use of so far.
    fn turns(&self) -> u64;

    /// Whether the child has spent more than it may, and is not at its end.
    fn is_over_budget(&self) -> bool;
}

/// Makes the monitor that a [`crate::Spec`] asks for, or says why it cannot.
pub type OpenMonitor = fn(&Value) -> Result<Box<dyn Monitor>, String>;
