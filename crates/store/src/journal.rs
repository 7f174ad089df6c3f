//! The journal: every fact of every run of a repository, in one `SQLite` database, `forge.db`.
//!
//! Bodies are opaque lines of JSON. Read `writer` first (what can be written, and that it is all or
//! nothing), then `reader` (what is checked before a record is believed), `hash_chain` (the sums),
//! `connection` (transactions, and what happens on damage), `open`, `newest` (how a lost log is noticed),
//! `salvage` and `restore` (what to do when bytes are wrong), and `interface` (what a driver sees, and `simulated` can be instead).
//!
//! ```text
//!  records(run, seq, …, sum)   the facts; each sum covers the one before       ── the only truth
//!  runs(run, seq, head, …)     the last sum and what `status` shows            ── same transaction
//!  totals(runs, …)             how many runs there are, so that none can vanish
//!  commands(id, …, outcome)    what other processes ask for; answered with the facts
//! ```
//!
//! Invariants:
//! 1. When `append` returns, the record is on the disk. When it fails, nothing of it is there.
//! 2. Only the process that holds the run's lock *and* knows its epoch, seq and head can append.
//! 3. What is read is exactly what was written, or an error. A wrong byte is never passed on.
//! 4. After damage was noticed no process writes the database again, not even a checkpoint.

mod command_lock;
mod commands;
pub(crate) mod connection;
mod damage;
pub(crate) mod error;
pub(crate) mod filesystem;
pub(crate) mod hash_chain;
mod interface;
mod lock;
mod newest;
mod open;
mod paths;
mod projection;
mod reader;
mod restore;
mod salvage;
pub(crate) mod schema;
#[cfg(any(test, feature = "simulation"))]
mod simulated;
mod writer;

pub use command_lock::CommandSender;
pub use commands::{CommandId, CommandRow, PendingCommand};
pub use connection::Store;
pub use error::{Damage, StoreError};
pub use hash_chain::{GENESIS, JournalRecord};
pub use interface::Journal;
pub use lock::{ClaimsLock, RunLock, is_run_id, named_drivers};
pub use paths::{database, projection};
pub use reader::{CheckReport, JournalRow, RecordBody};
pub use restore::restore;
pub use salvage::{Completeness, RecoveredRun, SalvageReport, SalvageSource, salvage};
#[cfg(any(test, feature = "simulation"))]
pub use simulated::SimulatedJournal;
pub use writer::Writer;
