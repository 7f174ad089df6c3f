//! What a record of another system means: a new record, an update of one that was imported before, or nothing.
//!
//! Not here: how files of other systems are read, and which of their words mean which field.
//!
//! Invariant: a record that was changed here since it was imported, or that came by another way, is never overwritten.

use super::{
    check::{WorkRefusal, WorkRows, parse_state},
    field::Fields,
    id::WorkId,
    kind::{WorkKind, WorkState},
    record::{WorkFact, WorkRecord},
};

/// A record as another system left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedRecord {
    /// The file, from the top of the repository.
    pub source: String,
    /// The sum of what was read.
    pub sum: String,
    pub state: String,
    pub fields: Fields,
}

/// The last import of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastImport {
    pub source: String,
    pub sum: String,
    /// The revision that it led to.
    pub rev: u64,
}

/// Decides what is taken over. Nothing, if it is known already.
pub(super) fn take(
    rows: &WorkRows,
    (kind, id): (WorkKind, &WorkId),
    imported: &ImportedRecord,
    last: Option<&LastImport>,
) -> Result<Option<WorkFact>, WorkRefusal> {
    let state = parse_state(kind, &imported.state)?;
    let mut fields = imported.fields.clone();
    let known = match rows.records.get(id) {
        Some(_) => Some(rows.find(kind, id)?),
        None => None,
    };
    rows.check(kind, known.map_or(id, |known| &known.id), &mut fields)?;
    if let Some(known) = known {
        if known.state == state && known.fields == fields {
            return Ok(None);
        }
        let path = imported.source.clone();
        match last {
            Some(last) if last.source == imported.source => {
                if last.sum == imported.sum {
                    return Ok(None);
                }
                if last.rev != known.rev {
                    return Err(WorkRefusal::ChangedHere { id: known.id.clone(), path });
                }
            }
            Some(_) | None => return Err(WorkRefusal::NotImported { id: known.id.clone(), path }),
        }
    }
    let (source, sum) = (imported.source.clone(), imported.sum.clone());
    let left = left(kind, known, state);
    Ok(Some(WorkFact::Imported { source, sum, kind, state, left, fields }))
}

/// Returns the state to which a stopped record can go back. No other system says it, so it is where we last saw it,
/// or else the beginning.
fn left(kind: WorkKind, known: Option<&WorkRecord>, state: WorkState) -> Option<WorkState> {
    let before = known.map_or(kind.first_state(), |known| known.left.unwrap_or(known.state));
    state.is_stop().then_some(before)
}
