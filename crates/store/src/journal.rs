//! The journal: every fact of every run of a repository, in one `SQLite` database, `forge.db`.
//!
//! Bodies are opaque lines of JSON: what a fact means is the law's business, not ours. Read
//! `store` first (what can be written, and that it is all or nothing), then `read` (what is checked
//! before a record is believed), `chain` (the sums), `open` and `inspect` (what is looked at before
//! `SQLite` may touch a file), `salvage` and `pages` (what to do when bytes have gone wrong).
//!
//! ```text
//!  records(run, seq, …, sum)   the facts; each sum covers the one before       ── the only truth
//!  runs(run, seq, head, …)     the last sum and what `status` shows            ── same transaction
//!  totals(runs, …)             how many runs there are, so that none can vanish
//!  commands(id, …, outcome)    what doors ask for; answered with the facts      ── same transaction
//! ```
//!
//! Must stay true:
//! 1. When `append` returns, the record is on the disk. When it fails, nothing of it is there.
//! 2. Only who holds the run's lock *and* knows its epoch, seq and head can append.
//! 3. What is read is exactly what was written, or an error. A wrong byte is never passed on.
//! 4. After damage was noticed nobody writes the database again, not even a checkpoint.

mod commands;
mod damage;
mod error;
mod filesystem;
mod hash_chain;
mod lock;
mod open;
mod page_scan;
mod precheck;
mod reader;
mod salvage;
mod schema;
mod wal;
mod writer;

pub use commands::{Command, CommandId};
pub use error::{Damage, StoreError};
pub use filesystem::{Ground, ground};
pub use hash_chain::{GENESIS, Record};
pub use lock::{RunLock, is_run_id};
pub use reader::{Checked, RunRow};
pub use salvage::{Completeness, SalvageReport, SalvagedRun, Source, salvage};
pub use writer::{Store, Writer};

use std::path::{Path, PathBuf};

/// The database of a journal folder.
pub fn database(dir: &Path) -> PathBuf {
    dir.join("forge.db")
}

/// The projection of a run's records, one [`Record::to_line`] per line. Written by others after
/// each record; here it is only a second source when the database has lost something.
pub fn projection(dir: &Path, run: &str) -> PathBuf {
    dir.join("runs").join(run).join("events.jsonl")
}

/// A file that `SQLite` keeps beside the database: `forge.db-wal`, `forge.db-shm`.
fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
