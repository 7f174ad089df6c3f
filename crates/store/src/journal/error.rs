//! What can go wrong with a journal, in sentences for people, each with the command to run next.
//!
//! [`StoreError`] is what callers see. [`Fault`] is what the inside passes up before the file is
//! named. Must stay true: whatever `SQLite` says about a file that had been opened and checked ends in
//! exactly one of the kinds here, and everything that smells of damaged bytes ends in `Damaged`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Bytes that are not what was written. From here on the database is only read, and only as a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file that is damaged.
    pub file: PathBuf,
    /// The run in which it was noticed, if it can be said.
    pub run: Option<String>,
    /// The first record that cannot be trusted, if it can be said.
    pub seq: Option<u64>,
    /// What was seen.
    pub what: String,
}

/// Why the journal did not do what it was asked.
#[derive(Debug)]
pub enum StoreError {
    /// There is no journal here, and it was only to be read.
    Missing { dir: PathBuf },
    /// Bytes are not what was written.
    Damaged(Damage),
    /// No space left. Nothing of the refused record was written.
    Full { file: PathBuf, run: Option<String> },
    /// The disk, the folder or this connection cannot be written.
    ReadOnly { file: PathBuf },
    /// Another driver took the run over, so this writer's word no longer counts.
    Overtaken { run: String },
    /// Others kept the database locked for longer than we wait.
    Busy { file: PathBuf },
    /// Another process drives this run.
    Held { run: String, pid: Option<u32> },
    /// A later Forge wrote this journal.
    NewerSchema { file: PathBuf, found: i64, known: i64 },
    /// A record is whole, but this Forge does not know a fact in it.
    NewerRecord { seq: u64, what: String },
    /// File locks cannot be trusted here.
    NetworkFileSystem { dir: PathBuf, kind: String },
    /// No run has this id, or an id that begins so.
    NoSuchRun { run: String, nearest: Option<String> },
    /// Several runs begin so.
    Ambiguous { prefix: String, runs: Vec<String> },
    /// A run of this id was begun before.
    RunExists { run: String },
    /// This command does not exist for this run, or was answered before.
    NoOpenCommand { run: String, id: i64 },
    /// Not an id that Forge would give: it could not be a folder's name.
    BadRunId { run: String },
    /// The operating system refused.
    Io { file: PathBuf, source: io::Error },
    /// What `SQLite` said, and is none of the above.
    Other { file: PathBuf, what: String },
}

impl StoreError {
    /// What the operating system refused to do with a file.
    pub(super) fn refused(file: &Path, source: io::Error) -> StoreError {
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

    /// The command that a user should run next, or the deed to do first.
    pub fn next_step(&self) -> String {
        match self {
            StoreError::Missing { .. } => "forge run \"what you want\"".into(),
            StoreError::Damaged(_) => "forge doctor --salvage FOLDER".into(),
            StoreError::Full { run, .. } => {
                format!("free some space, then forge resume {}", run.as_deref().unwrap_or("RUN"))
            }
            StoreError::ReadOnly { .. } => "make the folder writable, then try again".into(),
            StoreError::Overtaken { run } | StoreError::Held { run, .. } => {
                format!("forge log {run} --follow")
            }
            StoreError::Busy { .. } => "try again; forge doctor shows who holds it".into(),
            StoreError::NewerSchema { .. } | StoreError::NewerRecord { .. } => {
                "update forge".into()
            }
            StoreError::NetworkFileSystem { .. } => {
                "move the repository to a local disk, then try again".into()
            }
            StoreError::NoSuchRun { nearest: Some(nearest), .. } => {
                format!("forge status {nearest}")
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

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged", self.file.display())?;
        if let Some(run) = &self.run {
            write!(f, ", in run {run}")?;
        }
        if let Some(seq) = self.seq {
            write!(f, ", from record {seq} on")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Missing { .. } => f.write_str("there are no runs yet"),
            StoreError::Damaged(damage) => {
                write!(f, "{damage}; it is not written any more, and no record of it is lost yet")
            }
            StoreError::Full { file, .. } => {
                write!(f, "the disk that holds {} is full; nothing was written", file.display())
            }
            StoreError::ReadOnly { file } => write!(f, "{} cannot be written", file.display()),
            StoreError::Overtaken { run } => {
                write!(f, "another driver took over run {run}; nothing was written")
            }
            StoreError::Busy { file } => {
                write!(f, "another process keeps {} locked", file.display())
            }
            StoreError::Held { run, pid: Some(pid) } => {
                write!(f, "run {run} is driven by process {pid}")
            }
            StoreError::Held { run, pid: None } => {
                write!(f, "run {run} is driven by another process")
            }
            StoreError::NewerSchema { file, found, known } => write!(
                f,
                "{} was written by a later forge (journal version {found}, this one knows {known})",
                file.display()
            ),
            StoreError::NewerRecord { seq, what } => {
                write!(f, "record {seq} is whole, but of a Forge that knows more: {what}")
            }
            StoreError::NetworkFileSystem { dir, kind } => write!(
                f,
                "{} is on a network file system ({kind}), where file locks cannot be trusted",
                dir.display()
            ),
            StoreError::NoSuchRun { run, nearest: Some(nearest) } => {
                write!(f, "there is no run `{run}`; the nearest is `{nearest}`")
            }
            StoreError::NoSuchRun { run, nearest: None } => write!(f, "there is no run `{run}`"),
            StoreError::Ambiguous { prefix, runs } => {
                write!(f, "several runs begin with `{prefix}`: {}", runs.join(", "))
            }
            StoreError::RunExists { run } => write!(f, "there is a run `{run}` already"),
            StoreError::NoOpenCommand { run, id } => {
                write!(f, "run {run} has no open command {id}; nothing was written")
            }
            StoreError::BadRunId { run } => write!(f, "`{run}` is not the id of a run"),
            StoreError::Io { file, source } => write!(f, "{}: {source}", file.display()),
            StoreError::Other { file, what } => write!(f, "{}: {what}", file.display()),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let StoreError::Io { source, .. } = self { Some(source) } else { None }
    }
}

/// An error on its way up, before the file has been named.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    Store(StoreError),
    Damage { run: Option<String>, seq: Option<u64>, what: String },
}

impl Fault {
    pub(super) fn damage(run: &str, seq: Option<u64>, what: impl Into<String>) -> Fault {
        Fault::Damage { run: Some(run.to_owned()), seq, what: what.into() }
    }

    /// Whether `SQLite` complains about what it read, and not about what it may do.
    pub(super) fn is_about_bytes(error: &rusqlite::Error) -> bool {
        matches!(from_sqlite(error, PathBuf::new(), None), StoreError::Damaged(_))
    }

    /// Names the file, and the run if the fault did not know it.
    pub(super) fn at(self, file: &Path, run: Option<&str>) -> StoreError {
        let file = file.to_owned();
        match self {
            Fault::Store(error) => error,
            Fault::Damage { run: known, seq, what } => {
                let run = known.or_else(|| run.map(str::to_owned));
                StoreError::Damaged(Damage { file, run, seq, what })
            }
            Fault::Sql(error) => from_sqlite(&error, file, run),
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Store(error)
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
        // The schema was checked at the door and every statement is our own: an unknown table, a
        // constraint, a text too big to be ours can only come from bytes that nobody wrote.
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
