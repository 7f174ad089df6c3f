//! A record as a file, and back: JSON that a person can read and git can carry.
//!
//! Invariant: the same record always gives the same bytes. Keys have the order of the table of fields; objects inside of
//! fields are in the order of the alphabet.

use ring::digest::{SHA256, digest};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

use forge_core::{
    hex::hex,
    work::{
        FieldFlaw, FieldValue, Fields, FileOrigin, WorkFile, WorkId, WorkKind, WorkRecord, rules,
    },
};

use super::unique_keys::UniqueKeys;
use crate::journal::hash_chain::seal;

/// A larger file is not read.
pub const WORK_FILE_BYTES_MAX: usize = 1 << 20;

/// A file cannot say a higher revision.
const REV_MAX: u64 = u32::MAX as u64;

/// The key with the revision and the sum.
const FORGE: &str = "forge";
const STATUS: &str = "status";

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    pub id: WorkId,
    pub file: WorkFile,
}

/// The reason why a file cannot be read as a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileFlaw {
    #[error(
        "line {line} begins a merge conflict that is not settled; keep one side, with the block `forge` of either"
    )]
    Conflict { line: usize },
    #[error("line {line} is not JSON: {what}")]
    NotJson { line: usize, what: String },
    #[error("line {line}: {what}")]
    NotARecord { line: usize, what: String },
    #[error("it has {0} bytes, and at most {WORK_FILE_BYTES_MAX} are allowed")]
    TooLarge(usize),
    #[error(transparent)]
    Field(#[from] FieldFlaw),
}

/// Returns the bytes of the file of a record.
pub fn file_bytes(record: &WorkRecord) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(&FileView(record)).expect("a record can be written");
    bytes.push(b'\n');
    bytes
}

/// Returns the sum by which a file that was written is known again.
pub fn file_sum(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// Reads a file of a kind.
pub fn read_file(kind: WorkKind, bytes: &[u8]) -> Result<ReadFile, FileFlaw> {
    if bytes.len() > WORK_FILE_BYTES_MAX {
        return Err(FileFlaw::TooLarge(bytes.len()));
    }
    let begins = |line: &[u8]| line.starts_with(b"<<<<<<< ");
    if let Some(at) = bytes.split(|byte| *byte == b'\n').position(begins) {
        return Err(FileFlaw::Conflict { line: at + 1 });
    }
    let not_json = |error: serde_json::Error| {
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default().to_owned();
        let line = error.line();
        if error.is_data() {
            FileFlaw::NotARecord { line, what }
        } else {
            FileFlaw::NotJson { line, what }
        }
    };
    let UniqueKeys(top) = serde_json::from_slice(bytes).map_err(not_json)?;
    let Value::Object(mut top) = top else {
        return Err(FileFlaw::NotARecord { line: 1, what: "must be an object".to_owned() });
    };
    let text = |top: &mut Map<String, Value>, key: &str| match top.remove(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(flaw(key, "must be a text")),
        None => Err(flaw(key, "is missing")),
    };
    let id_key = kind.id_key();
    let id = text(&mut top, id_key)?;
    let id: WorkId = id.parse().map_err(|error| flaw(id_key, format!("is wrong: {error}")))?;
    let state = text(&mut top, STATUS)?;
    let (rev, sum) = match top.remove(FORGE) {
        None => (None, None),
        Some(Value::Object(mut forge)) => {
            let rev = match forge.remove("rev") {
                Some(rev) => {
                    let rev = rev.as_u64().filter(|rev| (1..REV_MAX).contains(rev));
                    Some(rev.ok_or_else(|| flaw("forge.rev", "must be a number above 0"))?)
                }
                None => None,
            };
            let sum = match forge.remove("sum") {
                Some(Value::String(sum)) => Some(sum),
                Some(_) => return Err(flaw("forge.sum", "must be a text")),
                None => None,
            };
            if let Some(other) = forge.keys().next() {
                return Err(flaw(&format!("forge.{other}"), "is not a field here"));
            }
            (rev, sum)
        }
        Some(_) => return Err(flaw(FORGE, "must be an object")),
    };
    let mut fields = Fields::new();
    for (name, value) in top {
        if let Some(value) = field_value(&name, value)? {
            fields.insert(name, value);
        }
    }
    let is_sealed = sum.is_some_and(|sum| {
        rev.is_some_and(|rev| sum == content_sum(id.as_str(), rev, &state, &fields))
    });
    let origin = if is_sealed { FileOrigin::OtherClone } else { FileOrigin::Edit };
    Ok(ReadFile { id, file: WorkFile { rev, origin, state, fields } })
}

/// Converts JSON to the value of a field. Nothing for null.
pub fn field_value(path: &str, value: Value) -> Result<Option<FieldValue>, FieldFlaw> {
    let wrong = |rule: &str| FieldFlaw { field: path.to_owned(), rule: rule.to_owned() };
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(flag) => FieldValue::Flag(flag),
        Value::Number(number) => {
            let number = number.as_u64();
            FieldValue::Count(number.ok_or_else(|| wrong("must be a whole number, 0 or more"))?)
        }
        Value::String(text) => FieldValue::Text(text),
        Value::Array(entries) => {
            let mut all = Vec::new();
            for (at, entry) in entries.into_iter().enumerate() {
                let entry = field_value(&format!("{path}[{at}]"), entry)?;
                all.push(entry.ok_or_else(|| wrong("has an empty entry"))?);
            }
            FieldValue::List(all)
        }
        Value::Object(table) => {
            let mut all = Fields::new();
            for (name, value) in table {
                if let Some(value) = field_value(&format!("{path}.{name}"), value)? {
                    all.insert(name, value);
                }
            }
            FieldValue::Table(all)
        }
    }))
}

fn flaw(field: &str, rule: impl Into<String>) -> FileFlaw {
    FileFlaw::Field(FieldFlaw { field: field.to_owned(), rule: rule.into() })
}

/// Returns the sum by which a clone knows that Forge wrote the content of a file.
fn content_sum(id: &str, rev: u64, state: &str, fields: &Fields) -> String {
    let fields = serde_json::to_string(fields).expect("fields can be written");
    seal(&[id, &rev.to_string(), state, &fields])
}

/// A record in the order of its file.
struct FileView<'a>(&'a WorkRecord);

impl Serialize for FileView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let WorkRecord { id, kind, rev, state, left: _, run: _, allowed: _, fields } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(kind.id_key(), id)?;
        map.serialize_entry(STATUS, state)?;
        for rule in rules(*kind) {
            if let Some(value) = fields.get(rule.name) {
                map.serialize_entry(rule.name, value)?;
            }
        }
        let sum = content_sum(id.as_str(), *rev, state.as_str(), fields);
        map.serialize_entry(FORGE, &serde_json::json!({ "rev": rev, "sum": sum }))?;
        map.end()
    }
}
