//! The errors of a journal, each with the command to run next.
//!
//! [`StoreError`] is what callers see. [`JournalFault`] is what modules of the journal return before the file
//! is named. Invariant: whatever `SQLite` reports about a file that was opened and checked becomes
//! exactly one of the variants here, and everything that points to wrong bytes becomes `Damaged`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Bytes that are not what was written. From here on the database is only read, and only as a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file that is damaged.
    pub file: PathBuf,
    /// The run in which it was noticed, if known.
    pub run: Option<String>,
    /// The first record that cannot be trusted, if known.
    pub seq: Option<u64>,
    /// What was noticed, as a part of a sentence.
    pub what: String,
}

/// The reason why the journal refused.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no journal here, and it was opened to read.
    #[error("no runs yet")]
    Missing { dir: PathBuf },
    /// Bytes are not what was written.
    #[error("{0}; Forge no longer writes to it")]
    Damaged(Damage),
    /// A damaged journal cannot be made whole again.
    #[error(
        "record {seq} of run {run} is damaged in every copy, so the journal was not restored; \
         nothing was changed"
    )]
    RecordLost { run: String, seq: u64 },
    /// No space left. Nothing of the refused record was written.
    #[error("the disk that holds {} is full; nothing was written", file.display())]
    Full { file: PathBuf, run: Option<String> },
    /// The disk, the folder or this connection cannot be written.
    #[error("{} cannot be written", file.display())]
    ReadOnly { file: PathBuf },
    /// Another driver took the run over, so this writer is refused.
    #[error("another process took over run {run}; nothing was written")]
    Overtaken { run: String },
    /// Other processes kept the database locked for longer than the timeout.
    #[error("another process holds the lock on {}", file.display())]
    Busy { file: PathBuf },
    /// Another process drives this run.
    #[error("run {run} is already running in {}", pid.map_or("another process".to_owned(), |pid| format!("process {pid}")))]
    Held { run: String, pid: Option<u32> },
    /// A later Forge wrote this journal.
    #[error(
        "{} was written by a newer forge (journal version {found}, this one knows {known})",
        file.display()
    )]
    NewerSchema { file: PathBuf, found: i64, known: i64 },
    /// A record is whole, but holds a fact that this Forge does not know.
    #[error("entry {seq} was written by a newer forge: {what}")]
    NewerRecord { seq: u64, what: String },
    /// File locks cannot be trusted here.
    #[error(
        "{} is on a network file system ({kind}), where file locks cannot be trusted",
        dir.display()
    )]
    NetworkFileSystem { dir: PathBuf, kind: String },
    /// No run has this id, or an id that begins with it.
    #[error("no run `{run}`{}", nearest.as_ref().map_or(String::new(), |nearest| format!("; did you mean `{}`?", short(nearest))))]
    NoSuchRun { run: String, nearest: Option<String> },
    /// Several ids begin with the prefix.
    #[error("several runs begin with `{prefix}`: {}", short_names(runs))]
    Ambiguous { prefix: String, runs: Vec<String> },
    /// A run of this id was begun before.
    #[error("run `{run}` already exists")]
    RunExists { run: String },
    /// This command does not exist for this run, or was answered before.
    #[error("run {run} has no open command {id}; nothing was written")]
    NoOpenCommand { run: String, id: i64 },
    /// Not an id that Forge would give: it could not be the name of a folder.
    #[error("`{run}` is not the id of a run")]
    BadRunId { run: String },
    /// The operating system refused.
    #[error("{}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    /// An error of `SQLite` that is none of the above.
    #[error("{}: {what}", file.display())]
    Other { file: PathBuf, what: String },
}

impl StoreError {
    /// Sorts an error of the operating system about a file.
    pub(crate) fn refused(file: &Path, source: io::Error) -> StoreError {
        use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let (kind, file) = (source.kind(), file.to_owned());
        if [StorageFull, QuotaExceeded].contains(&kind) {
            StoreError::Full { file, run: None }
        } else if [ReadOnlyFilesystem, PermissionDenied].contains(&kind) {
            StoreError::ReadOnly { file }
        } else {
            StoreError::Io { file, source }
        }
    }

    /// Returns the command that a user should run next, or what to do first.
    pub fn next_step(&self) -> String {
        match self {
            StoreError::Missing { .. } => "forge run \"what you want\"".into(),
            StoreError::Damaged(_) => "forge doctor --restore".into(),
            StoreError::RecordLost { .. } => "forge doctor --salvage FOLDER".into(),
            StoreError::Full { run, .. } => {
                format!("free some space, then forge resume {}", run.as_deref().unwrap_or("RUN"))
            }
            StoreError::ReadOnly { .. } => "make the folder writable, then try again".into(),
            StoreError::Overtaken { run } | StoreError::Held { run, .. } => {
                format!("forge log {run} --follow")
            }
            StoreError::Busy { .. } => {
                "try again; forge doctor shows which process holds it".into()
            }
            StoreError::NewerSchema { .. } | StoreError::NewerRecord { .. } => {
                "update forge".into()
            }
            StoreError::NetworkFileSystem { .. } => {
                "move the repository to a local disk, then try again".into()
            }
            StoreError::NoSuchRun { nearest: Some(nearest), .. } => {
                format!("forge status {}", short(nearest))
            }
            StoreError::NoSuchRun { nearest: None, .. }
            | StoreError::Ambiguous { .. }
            | StoreError::BadRunId { .. } => "forge status".into(),
            StoreError::RunExists { run } => format!("forge resume {run}"),
            StoreError::NoOpenCommand { run, .. } => format!("forge log {run}"),
            StoreError::Io { .. } | StoreError::Other { .. } => "forge doctor".into(),
        }
    }
}

/// Lists runs by their last letters, by which they can be named, and their words.
/// Returns the name of a run on screens.
fn short(run: &str) -> &str {
    run.rsplit('-').next().unwrap_or(run)
}

fn short_names(runs: &[String]) -> String {
    let name = |run: &String| match run.rsplit_once('-') {
        Some((rest, letters)) => {
            let words = rest.split_once('-').map_or(rest, |(_, words)| words);
            format!("{letters} ({words})")
        }
        None => run.clone(),
    };
    runs.iter().map(name).collect::<Vec<String>>().join(", ")
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged", self.file.display())?;
        if let Some(run) = &self.run {
            write!(f, ", in run {run}")?;
        }
        if let Some(seq) = self.seq {
            write!(f, ", from entry {seq} on")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// An error before the file is named.
#[derive(Debug)]
pub(crate) enum JournalFault {
    Sql(rusqlite::Error),
    Store(StoreError),
    Damage { run: Option<String>, seq: Option<u64>, what: String },
}

impl JournalFault {
    pub(super) fn damage(run: &str, seq: Option<u64>, what: impl Into<String>) -> JournalFault {
        JournalFault::Damage { run: Some(run.to_owned()), seq, what: what.into() }
    }

    /// Tells whether an error of `SQLite` is about bytes that it read.
    pub(super) fn is_about_bytes(error: &rusqlite::Error) -> bool {
        matches!(from_sqlite(error, PathBuf::new(), None), StoreError::Damaged(_))
    }

    /// Names the file, and the run if the fault does not.
    pub(crate) fn at(self, file: &Path, run: Option<&str>) -> StoreError {
        let file = file.to_owned();
        match self {
            JournalFault::Store(error) => error,
            JournalFault::Damage { run: known, seq, what } => {
                let run = known.or_else(|| run.map(str::to_owned));
                StoreError::Damaged(Damage { file, run, seq, what })
            }
            JournalFault::Sql(error) => from_sqlite(&error, file, run),
        }
    }
}

impl From<rusqlite::Error> for JournalFault {
    fn from(error: rusqlite::Error) -> JournalFault {
        JournalFault::Sql(error)
    }
}

impl From<StoreError> for JournalFault {
    fn from(error: StoreError) -> JournalFault {
        JournalFault::Store(error)
    }
}

/// Input/output errors of `SQLite` that mean wrong bytes, not a refused call:
/// short read, corrupt file system, bad data.
const BAD_BYTES: [i32; 3] = [522, 8458, 8202];
/// Input/output errors that mean that the shared-memory file could not grow.
const NO_SPACE: [i32; 2] = [4874, 5386];

#[expect(clippy::wildcard_enum_match_arm, reason = "a foreign enum that grows with SQLite")]
fn from_sqlite(error: &rusqlite::Error, file: PathBuf, run: Option<&str>) -> StoreError {
    let what = error.to_string();
    let run = run.map(str::to_owned);
    let Some(failure) = error.sqlite_error() else {
        // A column of another type, a text that is not UTF-8, a row that must be there and is not:
        // STRICT tables hold none of these.
        return StoreError::Damaged(Damage { file, run, seq: None, what });
    };
    let extended = failure.extended_code;
    match failure.code {
        ErrorCode::DiskFull => StoreError::Full { file, run },
        ErrorCode::SystemIoFailure if NO_SPACE.contains(&extended) => {
            StoreError::Full { file, run }
        }
        ErrorCode::SystemIoFailure if BAD_BYTES.contains(&extended) => {
            StoreError::Damaged(Damage { file, run, seq: None, what })
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly { file },
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => StoreError::Busy { file },
        // The schema was checked when the file was opened, and every statement is our own: an unknown
        // table, a constraint or a text that is too big can only come from wrong bytes.
        ErrorCode::DatabaseCorrupt
        | ErrorCode::NotADatabase
        | ErrorCode::ConstraintViolation
        | ErrorCode::TypeMismatch
        | ErrorCode::TooBig
        | ErrorCode::Unknown
        | ErrorCode::NotFound => StoreError::Damaged(Damage { file, run, seq: None, what }),
        _ => StoreError::Other { file, what },
    }
}
