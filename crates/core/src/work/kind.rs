//! The kinds of records, and the table of their states.
//!
//! Invariant: the table is the only place that knows which state may follow which. The first row of a kind is
//! the state in which its records begin.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of record. In this order records can name those of earlier kinds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    Feature,
    Sprint,
    Task,
    Bug,
}

/// A state of a record. Which kinds have it is in the table.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "&'static str", try_from = "String")]
pub enum WorkState {
    Draft,
    Planned,
    PlanApproved,
    Implementing,
    Implemented,
    ReviewApproved,
    Approved,
    Committed,
    PlanRevisionRequired,
    CodeRevisionRequired,
    Blocked,
    Escalated,
    Abandoned,
    Planning,
    Active,
    Completed,
    PartiallyCompleted,
    RetrospectiveDone,
    Reported,
    Triaged,
    InProgress,
    Fixed,
    Shipped,
    Retired,
}

use WorkKind::{Bug, Feature, Sprint, Task};
use WorkState::{
    Abandoned, Active, Approved, Blocked, CodeRevisionRequired, Committed, Completed, Draft,
    Escalated, Fixed, Implemented, Implementing, InProgress, PartiallyCompleted, PlanApproved,
    PlanRevisionRequired, Planned, Planning, Reported, Retired, RetrospectiveDone, ReviewApproved,
    Shipped, Triaged,
};

/// A state of a kind, and those that may follow it.
type TransitionRow = (WorkKind, WorkState, &'static [WorkState]);

/// Every state of every kind. The way back from `blocked` and `escalated` is not here: it leads to the state before.
const TRANSITIONS: &[TransitionRow] = &[
    (Task, Draft, &[Planned, Blocked, Escalated, Abandoned]),
    (Task, Planned, &[PlanApproved, PlanRevisionRequired, Blocked, Escalated, Abandoned]),
    (Task, PlanApproved, &[Implementing, PlanRevisionRequired, Blocked, Escalated, Abandoned]),
    (
        Task,
        Implementing,
        &[Implemented, PlanRevisionRequired, CodeRevisionRequired, Blocked, Escalated, Abandoned],
    ),
    (
        Task,
        Implemented,
        &[
            ReviewApproved,
            PlanRevisionRequired,
            CodeRevisionRequired,
            Blocked,
            Escalated,
            Abandoned,
        ],
    ),
    (
        Task,
        ReviewApproved,
        &[Approved, PlanRevisionRequired, CodeRevisionRequired, Blocked, Escalated, Abandoned],
    ),
    (
        Task,
        Approved,
        &[Committed, PlanRevisionRequired, CodeRevisionRequired, Blocked, Escalated, Abandoned],
    ),
    (Task, PlanRevisionRequired, &[Planned, Blocked, Escalated, Abandoned]),
    (Task, CodeRevisionRequired, &[Implementing, Blocked, Escalated, Abandoned]),
    (Task, Committed, &[]),
    (Task, Blocked, &[]),
    (Task, Escalated, &[]),
    (Task, Abandoned, &[]),
    (Sprint, Planning, &[Active, Blocked, Abandoned]),
    (Sprint, Active, &[Completed, PartiallyCompleted, Blocked, Abandoned]),
    (Sprint, Completed, &[RetrospectiveDone]),
    (Sprint, PartiallyCompleted, &[RetrospectiveDone]),
    (Sprint, RetrospectiveDone, &[]),
    (Sprint, Blocked, &[Active, Abandoned]),
    (Sprint, Abandoned, &[]),
    (Bug, Reported, &[Triaged, Abandoned]),
    (Bug, Triaged, &[InProgress, Abandoned]),
    (Bug, InProgress, &[Fixed, Abandoned]),
    (Bug, Fixed, &[]),
    (Bug, Abandoned, &[]),
    (Feature, Draft, &[Active, Retired]),
    (Feature, Active, &[Shipped, Retired]),
    (Feature, Shipped, &[]),
    (Feature, Retired, &[]),
];

impl WorkKind {
    /// All of them, in an order in which each can be read after those it names.
    pub const ALL: [Self; 4] = [Feature, Sprint, Task, Bug];

    /// Returns the word for one record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Feature => "feature",
            Sprint => "sprint",
            Task => "task",
            Bug => "bug",
        }
    }

    /// Returns the name of the folder of its files.
    pub const fn folder(self) -> &'static str {
        match self {
            Feature => "features",
            Sprint => "sprints",
            Task => "tasks",
            Bug => "bugs",
        }
    }

    /// Returns the key of the id in a file.
    pub const fn id_key(self) -> &'static str {
        match self {
            Feature => "id",
            Sprint => "sprintId",
            Task => "taskId",
            Bug => "bugId",
        }
    }

    /// Returns its states, beginning with the first.
    pub fn states(self) -> impl Iterator<Item = WorkState> {
        let own = TRANSITIONS.iter().filter(move |(kind, _, _)| *kind == self);
        own.map(|(_, state, _)| *state)
    }

    /// Returns the state in which a record begins.
    pub const fn first_state(self) -> WorkState {
        match self {
            Feature | Task => Draft,
            Sprint => Planning,
            Bug => Reported,
        }
    }

    /// Returns the end of what is no longer wanted.
    pub const fn retired_state(self) -> WorkState {
        match self {
            Feature => Retired,
            Sprint | Task | Bug => Abandoned,
        }
    }

    /// Returns the states that may follow one; none if the kind does not have it.
    pub fn next_states(self, from: WorkState) -> &'static [WorkState] {
        let row = TRANSITIONS.iter().find(|(kind, state, _)| *kind == self && *state == from);
        row.map_or(&[], |(_, _, next)| next)
    }
}

impl WorkState {
    /// Returns true for a state that a record leaves to where it was before.
    pub const fn is_stop(self) -> bool {
        matches!(self, Blocked | Escalated)
    }

    /// Returns the name in files, in commands and on screens.
    pub const fn as_str(self) -> &'static str {
        match self {
            Draft => "draft",
            Planned => "planned",
            PlanApproved => "plan-approved",
            Implementing => "implementing",
            Implemented => "implemented",
            ReviewApproved => "review-approved",
            Approved => "approved",
            Committed => "committed",
            PlanRevisionRequired => "plan-revision-required",
            CodeRevisionRequired => "code-revision-required",
            Blocked => "blocked",
            Escalated => "escalated",
            Abandoned => "abandoned",
            Planning => "planning",
            Active => "active",
            Completed => "completed",
            PartiallyCompleted => "partially-completed",
            RetrospectiveDone => "retrospective-done",
            Reported => "reported",
            Triaged => "triaged",
            InProgress => "in-progress",
            Fixed => "fixed",
            Shipped => "shipped",
            Retired => "retired",
        }
    }
}

impl fmt::Display for WorkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for WorkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<WorkState> for &'static str {
    fn from(state: WorkState) -> Self {
        state.as_str()
    }
}

impl TryFrom<String> for WorkState {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let found = TRANSITIONS.iter().find(|(_, state, _)| state.as_str() == text);
        found.map(|(_, state, _)| *state).ok_or_else(|| format!("`{text}` is not a state"))
    }
}
