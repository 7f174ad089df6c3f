//! Errors about records, each with a command that helps, and the name that was probably meant.

use forge_core::work::{
    FieldFlaw, FieldShape, WorkId, WorkKind, WorkRefusal, WorkState, rule, settable,
};
use forge_driver::{Error, run_id::short_id};
use forge_project::{error::Kind, suggest::nearest};
use forge_store::work::WorkError;

use crate::start::quoted;

/// Parses the id of a record.
pub(super) fn parse_id(kind: WorkKind, text: &str) -> Result<WorkId, Error> {
    text.parse().map_err(|error: forge_core::id::NotAName| {
        Error::usage(error.to_string(), format!("forge {kind} list"))
    })
}

/// Converts an error of the database.
pub(super) fn store(error: &WorkError) -> Error {
    let next = error.next_step().unwrap_or_else(|| "forge work check".to_owned());
    Error { kind: Kind::Surroundings, what: error.to_string(), next: Some(next) }
}

/// Converts what went wrong with a record.
pub(crate) fn about(kind: WorkKind, id: &WorkId, error: &WorkError) -> Error {
    match error {
        WorkError::Refused(refusal) => refused(kind, Some(id), refusal, None),
        WorkError::Store(_) => store(error),
    }
}

/// Converts a refusal. `value` is what was to be set.
pub(super) fn refused(
    kind: WorkKind,
    id: Option<&WorkId>,
    refusal: &WorkRefusal,
    value: Option<&str>,
) -> Error {
    let name = id.map_or("ID", WorkId::as_str);
    let (what, next) = (refusal.to_string(), format!("forge {kind} show {name}"));
    match refusal {
        WorkRefusal::NoSuchRecord { .. } => Error::usage(what, format!("forge {kind} list")),
        WorkRefusal::OtherKind { id, found, .. } => {
            Error::usage(what, format!("forge {found} show {id}"))
        }
        WorkRefusal::IdTaken { id }
        | WorkRefusal::NotImported { id, .. }
        | WorkRefusal::ChangedHere { id, .. } => {
            Error::usage(what, format!("forge {kind} show {id}"))
        }
        WorkRefusal::NoIdLeft(_) => Error::usage(what, format!("forge {kind} new TITLE --id ID")),
        WorkRefusal::UnknownState { state, .. } => {
            let states = kind.states().map(WorkState::as_str);
            match nearest(state, states) {
                Some(near) => Error::usage(
                    format!("a {kind} has no state `{state}`; did you mean `{near}`?"),
                    format!("forge {kind} move {name} {near}"),
                ),
                None => Error::usage(what, next),
            }
        }
        WorkRefusal::IllegalMove { from, legal, .. } => match legal.first() {
            Some(first) => Error::usage(what, format!("forge {kind} move {name} {first}")),
            None if from.is_stop() => {
                Error::usage(what, format!("forge {kind} unblock {name} \"WHY\""))
            }
            None => Error::usage(what, next),
        },
        WorkRefusal::NeedsReason { to, .. } => {
            Error::usage(what, format!("forge {kind} move {name} {to} --why \"WHY\""))
        }
        WorkRefusal::TakenBy { run, .. } => {
            Error::usage(what, format!("forge status {}", short_id(run)))
        }
        WorkRefusal::NotBlocked { .. } | WorkRefusal::NotAtItsBeginning { .. } => {
            Error::usage(what, next)
        }
        WorkRefusal::UnknownField { field, .. } => unknown_field(kind, id, field, value, what),
        WorkRefusal::Field(flaw) => Error::usage(what, help_with_field(kind, id, flaw)),
    }
}

fn unknown_field(
    kind: WorkKind,
    id: Option<&WorkId>,
    field: &str,
    value: Option<&str>,
    what: String,
) -> Error {
    let known = settable(kind);
    let begins = known.iter().copied().find(|known| known.starts_with(field) && field.len() > 2);
    let Some(near) = begins.or_else(|| nearest(field, known.iter().copied())) else {
        return Error::usage(what, format!("forge help {kind} set"));
    };
    let value = quoted(value.unwrap_or("VALUE"));
    let command = match id {
        Some(id) => format!("forge {kind} set {id}"),
        None => format!("forge {kind} new TITLE"),
    };
    let what = format!("a {kind} has no field `{field}`; did you mean `{near}`?");
    Error::usage(what, format!("{command} {near}={value}"))
}

/// Returns the command that shows what a field may name, or sets it to something that it may be.
fn help_with_field(kind: WorkKind, id: Option<&WorkId>, flaw: &FieldFlaw) -> String {
    let name = flaw.field.split(['.', '[']).next().unwrap_or_default();
    let command = match id {
        Some(id) => format!("forge {kind} set {id}"),
        None => format!("forge {kind} new TITLE"),
    };
    match rule(kind, name).map(|rule| rule.shape) {
        Some(FieldShape::Record(named) | FieldShape::Records(named)) => {
            format!("forge {named} list")
        }
        Some(FieldShape::Choice([first, ..])) => format!("{command} {name}={first}"),
        Some(_) | None => format!("forge help {kind} set"),
    }
}
