//! What a file means that differs from what Forge wrote: which of its fields and which state are taken in.
//!
//! A file is compared with the record at the revision that it names (its base), not with the newest one: what the base
//! has, too, was not changed in the file.
//!
//! Invariant: a value that was changed on both sides is never decided here; it is refused.

use super::{
    check::{WorkRefusal, WorkRows, parse_state},
    field::{FieldOwner, Fields, rule},
    kind::{WorkKind, WorkState},
    record::{FieldChanges, WorkFact, WorkRecord, difference},
};

/// A file as it was read, without its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkFile {
    /// The revision that it says it shows.
    pub rev: Option<u64>,
    pub origin: FileOrigin,
    pub state: String,
    pub fields: Fields,
}

/// The origin of a changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOrigin {
    /// A person changed it.
    Edit,
    /// Forge wrote it, in another clone.
    OtherClone,
}

/// Returns the state of a record that only a file has yet.
pub(super) fn first_state(kind: WorkKind, file: &WorkFile) -> Result<WorkState, WorkRefusal> {
    let state = parse_state(kind, &file.state)?;
    if file.origin == FileOrigin::Edit && state != kind.first_state() {
        return Err(WorkRefusal::NotAtItsBeginning { kind, state });
    }
    Ok(state)
}

/// Decides what is taken in from the file of a record. Nothing, if it says nothing new.
pub(super) fn take(
    rows: &WorkRows,
    record: &WorkRecord,
    file: &WorkFile,
    base: Option<&WorkRecord>,
) -> Result<Option<WorkFact>, WorkRefusal> {
    let Some(rev) = file.rev else {
        return Err(WorkRefusal::field("forge.rev", "is missing; it says what was edited"));
    };
    // What is newer than all we know was made elsewhere from what we have.
    let base = base.filter(|base| base.rev <= record.rev).unwrap_or(record);
    let changes = taken_fields(record, file, base)?;
    let to = taken_state(record, file, base)?;
    // What another clone numbered higher keeps its number, so that its file stays as it is.
    let is_newer = file.origin == FileOrigin::OtherClone && rev > record.rev;
    if changes.is_empty() && to.is_none() && !is_newer {
        return Ok(None);
    }
    let mut fields = WorkRecord::apply(
        Some(record.clone()),
        &record.id,
        &WorkFact::FieldsSet { fields: changes },
    )
    .fields;
    rows.check(record.kind, &record.id, &mut fields)?;
    let fields = difference(&record.fields, &fields);
    Ok(Some(WorkFact::FileTaken { base: rev, to, fields }))
}

/// Returns the fields that the file changes, and that were not changed here.
fn taken_fields(
    record: &WorkRecord,
    file: &WorkFile,
    base: &WorkRecord,
) -> Result<FieldChanges, WorkRefusal> {
    let mut changes = difference(&base.fields, &file.fields);
    let here = difference(&base.fields, &record.fields);
    for (name, value) in std::mem::take(&mut changes) {
        let is_changed_here = here.get(&name).is_some_and(|ours| *ours != value);
        if rule(record.kind, &name).is_some_and(|rule| rule.owner == FieldOwner::Forge) {
            if file.origin == FileOrigin::Edit {
                return Err(WorkRefusal::field(&name, "is set by Forge"));
            }
            // A time that both sides noted: ours stays.
            if is_changed_here {
                continue;
            }
        }
        if is_changed_here {
            return Err(WorkRefusal::field(&name, "was changed in the file and by a command"));
        }
        if here.get(&name) != Some(&value) {
            changes.insert(name, value);
        }
    }
    Ok(changes)
}

/// Returns the state that the file moves the record to.
fn taken_state(
    record: &WorkRecord,
    file: &WorkFile,
    base: &WorkRecord,
) -> Result<Option<WorkState>, WorkRefusal> {
    let to = parse_state(record.kind, &file.state)?;
    if to == base.state || to == record.state {
        return Ok(None);
    }
    if record.state != base.state {
        return Err(WorkRefusal::field("status", "was changed in the file and by a command"));
    }
    let is_legal = match file.origin {
        FileOrigin::Edit => record.kind.next_states(record.state).contains(&to),
        FileOrigin::OtherClone => is_reachable(record, to),
    };
    if is_legal { Ok(Some(to)) } else { Err(WorkRefusal::illegal(record, to)) }
}

/// Returns true if legal moves lead from where a record is to a state.
fn is_reachable(record: &WorkRecord, to: WorkState) -> bool {
    let (mut seen, mut open) = (Vec::new(), vec![record.state]);
    open.extend(record.left);
    while let Some(state) = open.pop() {
        if state == to {
            return true;
        }
        if !seen.contains(&state) {
            seen.push(state);
            open.extend(record.kind.next_states(state));
        }
    }
    false
}
