//! What was found so far: records to be, notes of knowledge, lines of settings, and everything that could not be taken over.

use std::collections::BTreeMap;

use forge_core::work::{Fields, ImportedRecord, WorkId, WorkKind};
use forge_store::work::file_sum;
use schemars::JsonSchema;
use serde::Serialize;

/// A record that could be imported.
#[derive(Clone, Debug)]
pub(super) struct ImportCandidate {
    pub(super) kind: WorkKind,
    pub(super) id: WorkId,
    pub(super) record: ImportedRecord,
}

/// Something that breaks a rule, and was not imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportFinding {
    /// The file of the other system.
    pub path: String,
    /// The field and the rule that it breaks.
    pub what: String,
}

/// A note of knowledge, as a file of its own.
#[derive(Clone, Debug)]
pub(super) struct KnowledgeNote {
    pub(super) source: String,
    /// The beginning of the file's name.
    pub(super) kind: &'static str,
    pub(super) text: String,
}

/// All that the readers of other systems find.
#[derive(Default)]
pub(super) struct ImportDraft {
    pub(super) candidates: Vec<ImportCandidate>,
    pub(super) knowledge: Vec<KnowledgeNote>,
    /// Lines for `forge.toml`, which people add themselves.
    pub(super) settings: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) findings: Vec<ImportFinding>,
    /// Fields that have no place here, and in how many records they are.
    left_out: BTreeMap<String, usize>,
}

impl ImportDraft {
    pub(super) fn finding(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.findings.push(ImportFinding { path: path.into(), what: what.into() });
    }

    /// Notes a result that is missing because of a rule.
    pub(super) fn keep<T>(&mut self, path: String, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(what) => {
                self.finding(path, what);
                None
            }
        }
    }

    pub(super) fn leave_out(&mut self, field: impl Into<String>) {
        *self.left_out.entry(field.into()).or_default() += 1;
    }

    /// Adds a record, unless another one has its id.
    pub(super) fn candidate(
        &mut self,
        (kind, id): (WorkKind, WorkId),
        source: String,
        state: String,
        fields: Fields,
    ) {
        if let Some(first) = self.candidates.iter().find(|first| first.id == id) {
            let what = format!("`{id}` is the id of {}, too", first.record.source);
            self.finding(source, what);
            return;
        }
        let record = imported(source, state, fields);
        self.candidates.push(ImportCandidate { kind, id, record });
    }

    /// Says what was left out, by field.
    pub(super) fn note_left_out(&mut self) {
        if self.left_out.is_empty() {
            return;
        }
        let fields = self.left_out.iter().map(|(field, n)| format!("`{field}` ({n})"));
        let fields: Vec<String> = fields.collect();
        self.notes.push(format!("fields without a place here, left out: {}", fields.join(", ")));
    }
}

/// Builds the content of a record, with the sum by which it is known again.
pub(super) fn imported(source: String, state: String, fields: Fields) -> ImportedRecord {
    let content = serde_json::to_vec(&(&state, &fields)).expect("fields can be written");
    ImportedRecord { source, sum: file_sum(&content), state, fields }
}
