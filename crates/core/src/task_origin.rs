//! The record that an item of a sprint's run is: where the item comes from says what it is called.

use crate::event::{PlannedTaskIds, Start};

/// The origin of the tasks of a sprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskOrigin {
    /// They were there when the run began.
    Given,
    /// The run planned them.
    Planned(PlannedTaskIds),
}

impl TaskOrigin {
    /// Returns the origin of the items of a list.
    pub(crate) fn new(start: &Start, list: &str) -> Self {
        let ids = start.about.as_ref().map(|about| about.task_ids).unwrap_or_default();
        if start.lists.contains_key(list) { Self::Given } else { Self::Planned(ids) }
    }

    /// Returns the id of the record of an item: one that was planned is called by its place in the sprint.
    pub(crate) fn record_id(self, sprint: &str, item: &str) -> String {
        match self {
            Self::Given => item.to_owned(),
            Self::Planned(PlannedTaskIds::AsPlanned) => format!("{sprint}-{item}"),
            Self::Planned(PlannedTaskIds::TwoDigits) => {
                let number = item.strip_prefix('T').filter(|rest| rest.len() == 1);
                match number.and_then(|digit| digit.parse::<u8>().ok()) {
                    Some(number) => format!("{sprint}-T{number:02}"),
                    None => format!("{sprint}-{item}"),
                }
            }
        }
    }
}
