//! Records of work: features, sprints, tasks and bugs, with their states, fields and references.
//!
//! Read in this order: `kind` (the four kinds, and which state may follow which), `field` (what a record may
//! say), `record` (facts, and the fold over them), `check` (what every write is checked against), `decide` (what a command
//! means), `file` (what a changed file means), `import` (what another system left).
//!
//! Not here: the database, files, JSON, people, and runs.
//!
//! Invariant: the same rows and command always give the same facts, or the same refusal.
//! Invariant: [`WorkRecord::apply`] cannot fail and decides nothing.

mod check;
mod decide;
mod field;
mod file;
mod id;
mod import;
mod kind;
mod record;

pub use check::{WorkRefusal, WorkRows, references, settable, waits_for};
pub use decide::{Decided, FieldChange, FollowedState, REASON_CHARS_MAX, WorkCommand, decide};
pub use field::{
    ENTRIES_MAX, FieldFlaw, FieldOwner, FieldRule, FieldShape, FieldValue, Fields, LINE_CHARS_MAX,
    TITLE_CHARS_MAX, rule, rule_by_label, rules,
};
pub use file::{FileOrigin, WorkFile};
pub use id::WorkId;
pub use import::{ImportedRecord, LastImport};
pub use kind::{WorkKind, WorkState};
pub use record::{FieldChanges, WorkAuthor, WorkEntry, WorkFact, WorkRecord};
