//! What every write is checked against: the rows it touches, and the reasons to refuse it.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{
    field::{FieldFlaw, FieldShape, FieldValue, Fields, check_table, rules},
    id::WorkId,
    kind::{WorkKind, WorkState},
    record::WorkRecord,
};
use crate::id::NotAName;

/// The field with the tasks that a task waits for.
const DEPENDENCIES: &str = "dependencies";

/// The records that a command touches: the one it changes, those that are named, and what those wait for.
#[derive(Clone, Debug, Default)]
pub struct WorkRows {
    pub records: BTreeMap<WorkId, WorkRecord>,
    /// All ids that were ever given, where a new one is to be found.
    pub ids: Vec<WorkId>,
}

/// The reason why a command is refused. No record is changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkRefusal {
    #[error("there is no {kind} `{id}`")]
    NoSuchRecord { kind: WorkKind, id: WorkId },
    #[error("`{id}` is a {found}, not a {kind}")]
    OtherKind { kind: WorkKind, id: WorkId, found: WorkKind },
    #[error("`{id}` already exists")]
    IdTaken { id: WorkId },
    #[error("no id is left: {0}")]
    NoIdLeft(NotAName),
    #[error("a {kind} has no state `{state}`; states: {}", list(&kind.states().collect::<Vec<WorkState>>()))]
    UnknownState { kind: WorkKind, state: String },
    #[error("`{id}` is {from} and cannot become {to}; {}", next(*from, legal))]
    IllegalMove { id: WorkId, from: WorkState, to: WorkState, legal: &'static [WorkState] },
    #[error("a new {kind} in a file begins as {}, not {state}", kind.first_state())]
    NotAtItsBeginning { kind: WorkKind, state: WorkState },
    #[error("`{id}` becomes {to} only with a reason")]
    NeedsReason { id: WorkId, to: WorkState },
    #[error("`{id}` is {state}, not blocked")]
    NotBlocked { id: WorkId, state: WorkState },
    #[error("`{id}` is worked on by the run {run}")]
    TakenBy { id: WorkId, run: String },
    #[error("`{id}` exists already, and was not imported from {path}")]
    NotImported { id: WorkId, path: String },
    #[error("`{id}` was changed here since it was imported, and {path} has changed, too")]
    ChangedHere { id: WorkId, path: String },
    #[error("a {kind} has no field `{field}`; fields: {}", settable(*kind).join(", "))]
    UnknownField { kind: WorkKind, field: String },
    #[error(transparent)]
    Field(#[from] FieldFlaw),
}

impl WorkRefusal {
    pub(super) fn illegal(record: &WorkRecord, to: WorkState) -> Self {
        let legal = record.kind.next_states(record.state);
        Self::IllegalMove { id: record.id.clone(), from: record.state, to, legal }
    }

    pub(super) fn field(field: &str, rule: impl Into<String>) -> Self {
        Self::Field(FieldFlaw { field: field.to_owned(), rule: rule.into() })
    }
}

impl WorkRows {
    /// Returns a record of a kind.
    pub(super) fn find(&self, kind: WorkKind, id: &WorkId) -> Result<&WorkRecord, WorkRefusal> {
        match self.records.get(id) {
            Some(record) if record.kind == kind => Ok(record),
            Some(record) => {
                Err(WorkRefusal::OtherKind { kind, id: record.id.clone(), found: record.kind })
            }
            None => Err(WorkRefusal::NoSuchRecord { kind, id: id.clone() }),
        }
    }

    /// Checks all fields of a record as it would be, and spells the records that it names as they are.
    pub(super) fn check(
        &self,
        kind: WorkKind,
        id: &WorkId,
        fields: &mut Fields,
    ) -> Result<(), WorkRefusal> {
        let find = |kind: WorkKind, text: &str| {
            let named: WorkId = text.parse().map_err(|error: NotAName| format!("names {error}"))?;
            if named == *id {
                return Err("names the record itself".to_owned());
            }
            let found = self.find(kind, &named).map(|record| record.id.as_str().to_owned());
            found.map_err(|_| format!("names `{text}`, which is not a {kind} here"))
        };
        check_table(rules(kind), "", fields, &find)?;
        if let (WorkKind::Task, Some(first)) = (kind, self.circle(id, fields)) {
            let rule = format!("make a circle: `{first}` waits for `{id}`");
            return Err(WorkRefusal::field(DEPENDENCIES, rule));
        }
        Ok(())
    }

    /// Returns the dependency by which a task would wait for itself.
    fn circle(&self, id: &WorkId, fields: &Fields) -> Option<WorkId> {
        let named = |fields: &Fields| waits_for(fields);
        named(fields).into_iter().find(|first| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![first.clone()]);
            while let Some(next) = open.pop() {
                if next == *id {
                    return true;
                }
                let record = self.records.get(&next);
                if seen.insert(next) {
                    open.extend(record.map(|record| named(&record.fields)).unwrap_or_default());
                }
            }
            false
        })
    }
}

/// Returns the state of a kind that has a name.
pub(super) fn parse_state(kind: WorkKind, text: &str) -> Result<WorkState, WorkRefusal> {
    let found = kind.states().find(|state| state.as_str() == text);
    found.ok_or_else(|| WorkRefusal::UnknownState { kind, state: text.to_owned() })
}

/// Returns the records that a task waits for, by its fields.
pub fn waits_for(fields: &Fields) -> Vec<WorkId> {
    let named = fields.get(DEPENDENCIES).into_iter().flat_map(FieldValue::texts);
    named.filter_map(|text| text.parse().ok()).collect()
}

/// Returns the records that fields name, as far as they are ids.
pub fn references(kind: WorkKind, fields: &Fields) -> Vec<WorkId> {
    let mut found = Vec::new();
    for rule in rules(kind) {
        let Some(value) = fields.get(rule.name) else { continue };
        match rule.shape {
            FieldShape::Record(_) | FieldShape::Records(_) => {
                found.extend(value.as_text().into_iter().chain(value.texts()));
            }
            FieldShape::TextByRecord(_) => found.extend(value.keys()),
            FieldShape::Text { .. }
            | FieldShape::Line { .. }
            | FieldShape::Choice(_)
            | FieldShape::Count
            | FieldShape::Flag
            | FieldShape::Time
            | FieldShape::Address
            | FieldShape::Texts { .. }
            | FieldShape::Path
            | FieldShape::Paths
            | FieldShape::Table(_) => {}
        }
    }
    found.into_iter().filter_map(|text| text.parse().ok()).collect()
}

/// Returns the names of the fields that people set.
pub fn settable(kind: WorkKind) -> Vec<&'static str> {
    rules(kind).iter().filter(|rule| rule.is_settable()).map(|rule| rule.name).collect()
}

fn list(states: &[WorkState]) -> String {
    states.iter().map(|state| state.as_str()).collect::<Vec<&str>>().join(", ")
}

fn next(from: WorkState, legal: &[WorkState]) -> String {
    if legal.is_empty() && from.is_stop() {
        "unblock it first".to_owned()
    } else if legal.is_empty() {
        "no state can follow".to_owned()
    } else {
        format!("it can become {}", list(legal))
    }
}
