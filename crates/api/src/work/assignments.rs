//! What people type to change fields: `FIELD=VALUE`, `FIELD+=ENTRY`, `FIELD-=ENTRY`, and `FIELD=` to remove one.
//!
//! A field has the name of screens here, or its key in files.

use forge_core::work::{
    FieldChange, FieldFlaw, FieldOwner, FieldValue, WorkRefusal, rule_by_label,
};
use forge_driver::Error;
use forge_store::work::field_value;

use super::refusals::{self, TypedChange, TypedSubject};

/// Parses one change. Ids and paths are divided by commas; lists and objects can also be written as JSON.
pub(super) fn parse(typed: &TypedChange, text: &str) -> Result<(String, FieldChange), Error> {
    let kind = typed.kind;
    let Some((name, value)) = text.split_once('=') else {
        let what = format!("`{text}` is not of the form FIELD=VALUE");
        return Err(Error::usage(what, format!("forge help {kind} set")));
    };
    let (name, sign) = match name.strip_suffix(['+', '-']) {
        Some(rest) => (rest, name.chars().next_back()),
        None => (name, None),
    };
    let refuse = |refusal: WorkRefusal| refusals::refused(typed, &refusal, Some(value));
    let Some(known) = rule_by_label(kind, name) else {
        if let ("status" | "state", TypedSubject::Known(id)) = (name, &typed.subject) {
            let what = format!("`{name}` is not a field; `move` changes the state");
            let known = kind.states().any(|state| state.as_str() == value);
            let state = if known { value } else { "STATE" };
            return Err(Error::usage(what, format!("forge {kind} move {id} {state}")));
        }
        return Err(refuse(WorkRefusal::UnknownField { kind, field: name.to_owned() }));
    };
    let name = known.name;
    let flaw =
        |rule: String| refuse(WorkRefusal::Field(FieldFlaw { field: name.to_owned(), rule }));
    if value.trim().is_empty() {
        return match sign {
            None if known.owner == FieldOwner::Required => {
                Err(flaw("is needed and cannot be removed".to_owned()))
            }
            None => Ok((name.to_owned(), FieldChange::Clear)),
            Some(_) => Err(flaw("needs an entry".to_owned())),
        };
    }
    let value = parse_value(name, value, &|text| known.shape.parse(text)).map_err(flaw)?;
    let entries = || value.texts().map(str::to_owned).collect::<Vec<String>>();
    let change = match sign {
        None => FieldChange::Set(value),
        Some(_) if !known.shape.is_list() => {
            return Err(flaw(format!("must be {}; it is not a list", known.shape.noun())));
        }
        Some('+') => FieldChange::Add(entries()),
        Some(_) => FieldChange::Remove(entries()),
    };
    Ok((name.to_owned(), change))
}

fn parse_value(
    name: &str,
    text: &str,
    plain: &dyn Fn(&str) -> Result<FieldValue, String>,
) -> Result<FieldValue, String> {
    if !text.starts_with(['[', '{']) {
        return plain(text);
    }
    // A title may begin with a bracket.
    match serde_json::from_str(text) {
        Ok(json) => field_value(name, json)
            .map_err(|flaw| flaw.rule)
            .map(|value| value.unwrap_or_else(|| FieldValue::Text(text.to_owned()))),
        Err(_) => plain(text),
    }
}

/// Returns the error for entries that are removed from a record which is not there yet.
pub(super) fn nothing_to_remove(typed: &TypedChange, name: &str) -> Error {
    let what = format!("`{name}` of a new {} has no entry to remove", typed.kind);
    Error::usage(what, typed.with(name, &format!("{name}+=ENTRY")))
}
