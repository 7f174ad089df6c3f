//! The work store: records of features, sprints, tasks and bugs in a database of their own, `work.db`.
//!
//! Read `changes` first (one command is one transaction), then `rows` (what is checked before a row is believed), `tables`
//! and `record_file` (a record as a file, and back).
//!
//! ```text
//!  log(seq, at, id, rev, fact, after, sum)   the facts; each sum covers the one before   ── the only truth
//!  rows(id, kind, rev, at, body, mark)       each record as it is                        ── same transaction
//!  written(place, id, sum, rev)              sums of all files that were ever written, by checkout
//!  totals(seq, head, records, mark)          where the log ends, so that its end cannot vanish
//! ```
//!
//! Not here: which changes are legal (`core::work`), and files in a checkout.
//!
//! Invariant: what is read is exactly what was written, or an error.
//! Invariant: a command says what changes, never the whole record, so that nothing of two writers is lost.

mod changes;
mod error;
mod record_file;
mod rows;
mod tables;
mod unique_keys;

pub use changes::WorkMoment;
pub use error::WorkError;
pub use record_file::{
    FileFlaw, ReadFile, WORK_FILE_BYTES_MAX, field_value, file_bytes, file_sum, read_file,
};
pub use rows::{LoggedFact, WorkCounts, WorkRow};
pub use tables::{WorkStore, work_database};
