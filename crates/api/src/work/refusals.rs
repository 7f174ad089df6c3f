//! Errors about records, each with a command that helps, and the name that was probably meant.
//!
//! Invariant: a suggested command keeps what was typed, and names fields as people do.

use forge_core::work::{
    FieldFlaw, FieldOwner, FieldRule, FieldShape, WorkId, WorkKind, WorkRefusal, WorkState, rule,
    rule_by_label, rules,
};
use forge_driver::{Error, run_id::short_id};
use forge_project::{error::Kind, suggest::nearest};
use forge_store::work::WorkError;

use crate::start::quoted;

/// What was typed to create or change a record.
#[derive(Clone, Debug)]
pub(super) struct TypedChange {
    pub kind: WorkKind,
    pub subject: TypedSubject,
    /// Each `FIELD=VALUE`.
    pub assigned: Vec<String>,
}

/// The record that a command is about.
#[derive(Clone, Debug)]
pub(super) enum TypedSubject {
    New { title: String },
    Known(WorkId),
}

impl TypedChange {
    /// Returns a command about a record that is there, without fields.
    pub(super) fn known(kind: WorkKind, id: &WorkId) -> Self {
        Self { kind, subject: TypedSubject::Known(id.clone()), assigned: Vec::new() }
    }

    /// Returns the same command with other words in the place of a field.
    pub(super) fn with(&self, wrong: &str, right: &str) -> String {
        let kind = self.kind;
        let command = match &self.subject {
            TypedSubject::New { title } => format!("forge {kind} new {}", quoted(title)),
            TypedSubject::Known(id) => format!("forge {kind} set {id}"),
        };
        let is_wrong = |typed: &str| is_about(kind, typed, wrong);
        let is_typed = self.assigned.iter().any(|typed| is_wrong(typed));
        let kept = self
            .assigned
            .iter()
            .map(|typed| if is_wrong(typed) { right.to_owned() } else { quoted(typed) });
        let added = (!is_typed).then(|| right.to_owned());
        let words: Vec<String> = [command].into_iter().chain(kept).chain(added).collect();
        words.join(" ")
    }

    /// Returns the values that were typed for a field.
    pub(super) fn values<'t>(&'t self, field: &'t str) -> impl Iterator<Item = &'t str> {
        let own = self.assigned.iter().filter(move |typed| is_about(self.kind, typed, field));
        own.filter_map(|typed| typed.split_once('='))
            .flat_map(|(_, value)| value.split(','))
            .map(str::trim)
    }

    /// Names the record; `ID` for a new one.
    fn name(&self) -> String {
        match &self.subject {
            TypedSubject::New { .. } => "ID".to_owned(),
            TypedSubject::Known(id) => id.to_string(),
        }
    }
}

/// Returns true if `FIELD=VALUE` is about a field, by its label or its key.
fn is_about(kind: WorkKind, typed: &str, field: &str) -> bool {
    let Some((name, _)) = typed.split_once('=') else { return typed == field };
    let name = name.strip_suffix(['+', '-']).unwrap_or(name);
    let key = |name: &str| rule_by_label(kind, name).map(|rule| rule.name);
    name == field || (key(name).is_some() && key(name) == key(field))
}

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
        WorkError::Refused(refusal) => refused(&TypedChange::known(kind, id), refusal, None),
        WorkError::Store(_) => store(error),
    }
}

/// Converts a refusal. `value` is what was to be set.
pub(super) fn refused(typed: &TypedChange, refusal: &WorkRefusal, value: Option<&str>) -> Error {
    let (kind, name) = (typed.kind, typed.name());
    let (what, next) = (refusal.to_string(), format!("forge {kind} show {name}"));
    match refusal {
        WorkRefusal::NoSuchRecord { kind, .. } => Error::usage(what, format!("forge {kind} list")),
        WorkRefusal::OtherKind { id, found, .. } => {
            Error::usage(what, format!("forge {found} show {id}"))
        }
        WorkRefusal::IdTaken { id }
        | WorkRefusal::NotImported { id, .. }
        | WorkRefusal::ChangedHere { id, .. } => {
            Error::usage(what, format!("forge {kind} show {id}"))
        }
        WorkRefusal::NoIdLeft(_) => Error::usage(what, typed.with("--id", "--id ID")),
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
            Some(first) => {
                let state = if legal.len() == 1 { first.as_str() } else { "STATE" };
                Error::usage(what, format!("forge {kind} move {name} {state}"))
            }
            None if from.is_stop() => {
                Error::usage(what, format!("forge {kind} unblock {name} \"WHY\""))
            }
            None => Error::usage(what, next),
        },
        WorkRefusal::NeedsReason { to, .. } => {
            Error::usage(what, format!("forge {kind} move {name} {to} --why \"WHY\""))
        }
        WorkRefusal::TakenBy { id, run } => {
            let run = short_id(run);
            let what = format!("the run {run} works on `{id}` already");
            Error::usage(what, format!("forge attach {run}"))
        }
        WorkRefusal::NotBlocked { .. } | WorkRefusal::NotAtItsBeginning { .. } => {
            Error::usage(what, next)
        }
        WorkRefusal::UnknownField { field, .. } => unknown_field(typed, field, value),
        WorkRefusal::Field(flaw) => {
            let field = root(flaw);
            let label = rule(kind, field).map_or(field, |rule| rule.label());
            let what = what.replacen(&format!("`{field}"), &format!("`{label}"), 1);
            Error::usage(what, help_with_field(typed, field, label))
        }
    }
}

/// Returns the name of the field that a flaw is in.
pub(super) fn root(flaw: &FieldFlaw) -> &str {
    flaw.field.split(['.', '[']).next().unwrap_or_default()
}

fn unknown_field(typed: &TypedChange, field: &str, value: Option<&str>) -> Error {
    let kind = typed.kind;
    let known: Vec<&str> =
        rules(kind).iter().filter(|rule| rule.is_settable()).map(FieldRule::label).collect();
    if field == "id" {
        let what = format!("the id of a {kind} is not a field");
        return match (&typed.subject, value) {
            (TypedSubject::New { .. }, Some(value)) => {
                Error::usage(what, typed.with(field, &format!("--id {}", quoted(value))))
            }
            (_, _) => Error::usage(what, format!("forge {kind} new TITLE --id ID")),
        };
    }
    let keys = rules(kind).iter().filter(|rule| rule.is_settable()).map(|rule| rule.name);
    let names: Vec<&str> = known.iter().copied().chain(keys).collect();
    let begins = names.iter().copied().find(|known| known.starts_with(field) && field.len() > 2);
    let Some(near) = begins.or_else(|| nearest(field, names.into_iter())) else {
        let what = format!("a {kind} has no field `{field}`; fields: {}", known.join(", "));
        return Error::usage(what, format!("forge help {kind} set"));
    };
    let value = quoted(value.unwrap_or("VALUE"));
    let what = format!("a {kind} has no field `{field}`; did you mean `{near}`?");
    Error::usage(what, typed.with(field, &format!("{near}={value}")))
}

/// Returns the command that shows what a field may name, or sets it to something that it may be.
fn help_with_field(typed: &TypedChange, field: &str, label: &str) -> String {
    let kind = typed.kind;
    match rule(kind, field).map(|rule| (rule.shape, rule.owner)) {
        Some((FieldShape::Record(named) | FieldShape::Records(named), _)) => {
            let list = format!("forge {named} list");
            match (typed.values(field).next(), &typed.subject) {
                (None, TypedSubject::New { .. }) => {
                    format!("{}\n   or: {list}", typed.with(label, &format!("{label}=ID")))
                }
                (_, TypedSubject::New { .. } | TypedSubject::Known(_)) => list,
            }
        }
        Some((FieldShape::Choice(known @ [first, ..]), _)) => {
            let value = typed.values(field).next().unwrap_or_default().to_lowercase();
            let near = nearest(&value, known.iter().copied()).unwrap_or(first);
            typed.with(label, &format!("{label}={near}"))
        }
        Some((_, FieldOwner::Required | FieldOwner::Optional)) if label == "title" => {
            match &typed.subject {
                TypedSubject::New { .. } => format!("forge {kind} new TITLE"),
                TypedSubject::Known(id) => format!("forge {kind} set {id} title=TITLE"),
            }
        }
        Some(_) | None => format!("forge help {kind} set"),
    }
}
