//! A record of work, the facts that made it, and the fold over them.
//!
//! Invariant: facts are for ever. Add variants and optional fields, never change what an old one means.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    field::{FieldValue, Fields},
    id::WorkId,
    kind::{WorkKind, WorkState},
};

/// A record as it is after some facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkRecord {
    pub id: WorkId,
    pub kind: WorkKind,
    /// Grows with each fact, from 1.
    pub rev: u64,
    pub state: WorkState,
    /// The state that it left when it was blocked or needed a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<WorkState>,
    /// The run that last took it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The reason for which a person allowed one write of its file that is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    pub fields: Fields,
}

/// New values of fields; nothing for one that is removed.
pub type FieldChanges = BTreeMap<String, Option<FieldValue>>;

/// One thing that happened to a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkFact {
    Created {
        kind: WorkKind,
        state: WorkState,
        fields: Fields,
        /// The revision that a file says it shows, where the record came with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rev: Option<u64>,
    },
    FieldsSet {
        fields: FieldChanges,
    },
    Moved {
        from: WorkState,
        to: WorkState,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Times that Forge notes with the move.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: FieldChanges,
    },
    /// A run took it on.
    Taken {
        run: String,
    },
    /// A changed file was taken in.
    FileTaken {
        /// The revision that the file was made from.
        base: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<WorkState>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fields: FieldChanges,
    },
    /// It was read from what another system left, and is as that says.
    Imported {
        /// The file, from the top of the repository.
        source: String,
        /// The sum of what was read, by which it is known again.
        sum: String,
        kind: WorkKind,
        state: WorkState,
        /// The state to which `unblock` leads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<WorkState>,
        fields: Fields,
    },
    /// A person allowed one write of its file by an agent's program that is not checked.
    WriteAllowed {
        why: String,
    },
    /// A program wrote its file, and that was not checked.
    Bypassed {
        path: String,
    },
}

/// The origin of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkAuthor {
    /// A person, by a command.
    Person { who: String },
    /// A person, by changing a file; where the change came with a commit, its author.
    File {
        who: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// A run, by what happened in it.
    Run { run: String },
}

/// A fact with its origin, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkEntry {
    pub by: WorkAuthor,
    pub fact: WorkFact,
}

impl WorkAuthor {
    /// Returns the name of the person, or of the run.
    pub fn who(&self) -> &str {
        match self {
            Self::Person { who } | Self::File { who, .. } => who,
            Self::Run { run } => run,
        }
    }
}

impl WorkRecord {
    /// Folds a fact into a record. The first fact of a record makes it.
    pub fn apply(before: Option<Self>, id: &WorkId, fact: &WorkFact) -> Self {
        let mut record = before.unwrap_or_else(|| Self {
            id: id.clone(),
            kind: WorkKind::Task,
            rev: 0,
            state: WorkState::Draft,
            left: None,
            run: None,
            allowed: None,
            fields: Fields::new(),
        });
        record.rev += 1;
        match fact {
            WorkFact::Created { kind, state, fields, rev } => {
                record.rev = rev.unwrap_or(record.rev);
                record.kind = *kind;
                record.state = *state;
                record.fields.clone_from(fields);
            }
            WorkFact::FieldsSet { fields } => record.change(fields),
            WorkFact::Taken { run } => record.run = Some(run.clone()),
            WorkFact::Moved { from: _, to, why: _, fields } => {
                record.enter(*to);
                record.change(fields);
            }
            WorkFact::FileTaken { base, to, fields } => {
                // A file of another clone keeps its number, so that it stays as it is.
                record.rev = record.rev.max(*base);
                if let Some(to) = to {
                    record.enter(*to);
                }
                record.change(fields);
            }
            WorkFact::Imported { source: _, sum: _, kind, state, left, fields } => {
                record.kind = *kind;
                record.state = *state;
                record.left = *left;
                record.fields.clone_from(fields);
            }
            WorkFact::WriteAllowed { why } => record.allowed = Some(why.clone()),
            WorkFact::Bypassed { path: _ } => record.allowed = None,
        }
        record
    }

    /// Returns the title.
    pub fn title(&self) -> &str {
        self.fields.get("title").and_then(FieldValue::as_text).unwrap_or_default()
    }

    /// Returns the texts of a list, or of one text.
    pub fn texts(&self, field: &str) -> Vec<&str> {
        let Some(value) = self.fields.get(field) else { return Vec::new() };
        value.as_text().into_iter().chain(value.texts()).collect()
    }

    fn enter(&mut self, to: WorkState) {
        self.left = to.is_stop().then_some(self.state);
        self.state = to;
    }

    fn change(&mut self, fields: &FieldChanges) {
        for (name, value) in fields {
            match value {
                Some(value) => self.fields.insert(name.clone(), value.clone()),
                None => self.fields.remove(name),
            };
        }
    }
}

/// Returns the changes that lead from some fields to others.
pub(super) fn difference(before: &Fields, after: &Fields) -> FieldChanges {
    let set = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
    let set = set.map(|(name, value)| (name.clone(), Some(value.clone())));
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    set.chain(removed.map(|name| (name.clone(), None))).collect()
}
