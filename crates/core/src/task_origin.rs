//! The record that an item of a sprint's run is: where the item comes from says what it is called.

use crate::event::Start;

/// The origin of the tasks of a sprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskOrigin {
    /// They were there when the run began.
    Given,
    /// The run planned them.
    Planned,
}

impl TaskOrigin {
    /// Returns the origin of the items of a list.
    pub(crate) fn new(start: &Start, list: &str) -> Self {
        if start.lists.contains_key(list) { Self::Given } else { Self::Planned }
    }

    /// Returns the id of the record of an item: one that was planned is called by its place in the sprint.
    pub(crate) fn record_id(self, sprint: &str, item: &str) -> String {
        match self {
            Self::Given => item.to_owned(),
            Self::Planned => format!("{sprint}-{item}"),
        }
    }
}
