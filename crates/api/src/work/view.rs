//! Records as they are shown: in a list, whole, and as a command left them.

use forge_core::{
    Time,
    work::{FieldValue, Fields, WorkAuthor, WorkFact, WorkId, WorkKind, WorkState},
};
use forge_store::work::{LoggedFact, WorkRow};
use schemars::JsonSchema;
use serde::Serialize;

/// A record in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkLine {
    pub kind: WorkKind,
    pub id: WorkId,
    pub status: WorkState,
    pub title: String,
    pub rev: u64,
    /// The time of the last change, in milliseconds since 1970.
    pub changed_at: Time,
    /// The run that works on it, or that worked on it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The size of a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<String>,
    /// The tasks that come before a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// The sprint of a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprint: Option<String>,
}

/// A record as a command left it.
#[derive(Clone, Debug)]
pub struct WorkChange {
    pub view: WorkView,
    /// What the command did; nothing where all was so already.
    pub events: Vec<WorkEvent>,
}

/// All of a record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkView {
    #[serde(flatten)]
    pub line: WorkLine,
    /// The states that may follow.
    pub next: Vec<WorkState>,
    /// The state to which `unblock` leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<WorkState>,
    /// The fields, and those that follow from other records.
    pub fields: Fields,
    pub history: Vec<WorkEvent>,
}

/// One thing that happened to a record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkEvent {
    pub rev: u64,
    pub at: Time,
    pub by: WorkAuthor,
    pub fact: WorkFact,
}

impl WorkLine {
    pub(super) fn new(row: &WorkRow) -> Self {
        let WorkRow { record, at } = row;
        let text =
            |field: &str| record.fields.get(field).and_then(FieldValue::as_text).map(str::to_owned);
        Self {
            kind: record.kind,
            id: record.id.clone(),
            status: record.state,
            title: record.title().to_owned(),
            rev: record.rev,
            changed_at: *at,
            run: record.run.clone(),
            estimate: text("estimate"),
            dependencies: match record.kind {
                WorkKind::Task => {
                    let first = record.texts("dependencies").into_iter().map(str::to_owned);
                    Some(first.collect()).filter(|all: &Vec<String>| !all.is_empty())
                }
                WorkKind::Feature | WorkKind::Sprint | WorkKind::Bug => None,
            },
            severity: text("severity"),
            sprint: text("sprintId").filter(|_| record.kind == WorkKind::Task),
        }
    }
}

impl WorkEvent {
    pub(super) fn new(logged: LoggedFact) -> Self {
        let LoggedFact { rev, at, entry, .. } = logged;
        Self { rev, at, by: entry.by, fact: entry.fact }
    }
}
