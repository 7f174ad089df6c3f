//! How steps are carried out, as a trait: by keepers and processes of this machine in the product
//! (`local_executor`), in memory in simulated runs, elsewhere later.
//!
//! A step has a folder, by which everybody knows it. What is asked for is written there before it is
//! started, and what it left is read from there.
//!
//! Not here: which step is next (`call_plan`), and what is wanted (`calls`).
//!
//! Invariant: a step that has an ending is never started again, whoever asks for it.
//! Invariant: a step outlives the driver that started it, but for work on a checkout, which can be repeated.

use std::{
    ffi::OsString,
    fmt::Debug,
    io::{self, Read, Seek},
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_core::Time;
use forge_keeper::{ArtifactFlaw, AttemptFolder, Ending, EndingProof, LostCall, Spec, Stop};
use forge_project::settings::SecretsTable;
use forge_workspace::Operation;

/// Carries out the steps of calls, and tells the time.
pub trait Executor: Debug {
    /// The time, in milliseconds since 1970, UTC.
    fn now(&self) -> Time;

    /// Waits until a step that was started or found running has ended, one of the files is readable,
    /// or the time is over.
    fn wait(&self, files: &[BorrowedFd<'_>], longest: Duration) -> io::Result<()>;

    /// Makes the folder of a step, with what is to be run. Making it again is fine.
    fn prepare(&self, folder: &Path, spec: &Spec) -> io::Result<()>;

    /// Starts a step whose folder is ready.
    fn start(
        &self,
        folder: &AttemptFolder,
        env: &[(OsString, OsString)],
        secrets: &[Vec<u8>],
    ) -> io::Result<()>;

    /// Starts work on a checkout, in a step whose folder is made with it. It ends with the driver, and is done again.
    fn start_job(&self, folder: &AttemptFolder, job: CheckoutJob) -> io::Result<()>;

    /// The public key by which the endings of the steps that are started here are known.
    fn ending_key(&self) -> String;

    /// Reads how a step stands. One that is running is waited for from now on. An ending counts only with its
    /// proof.
    fn state(&self, folder: &AttemptFolder, proof: &EndingProof<'_>) -> io::Result<StepState>;

    /// Whether a step that was started or found running need not be waited for any more.
    fn has_ended(&self, folder: &AttemptFolder) -> bool;

    /// Asks a running step to stop. It still has an ending.
    fn stop(&self, folder: &AttemptFolder, how: Stop) -> io::Result<StopRequest>;

    /// Makes sure that a step never starts from now on. If somebody was faster, says how it stands.
    fn give_up(&self, folder: &AttemptFolder, proof: &EndingProof<'_>) -> io::Result<StepState>;

    /// Ends whatever is left of a step whose keeper died.
    fn sweep(&self, folder: &AttemptFolder) -> io::Result<()>;

    /// Looks at the process that gives a command: why it may not, if it may not.
    fn check_caller(&self, pid: i32, lost: &[LostCall]) -> Result<(), String>;

    /// Opens a file that a step left, if it is a regular one.
    fn open_output(&self, file: &Path) -> io::Result<Box<dyn Output>>;

    /// Reads a file of an outbox, which its agent filled.
    fn collect(&self, outbox: &Path, name: &str, bytes_max: u64) -> Result<Vec<u8>, ArtifactFlaw>;

    /// What is directly in the folder of a call or of its steps; nothing if it is not a folder.
    fn entries(&self, folder: &Path) -> Vec<PathBuf>;

    /// Moves something that does not belong there into another folder, under a new name.
    /// Where it is now, if it was there.
    fn quarantine(&self, planted: &Path, aside: &Path) -> io::Result<Option<PathBuf>>;

    /// Makes an empty inbox and an empty outbox, whatever was there before.
    fn make_boxes(&self, boxes: &AttemptFolder) -> io::Result<()>;
}

/// Work on a checkout.
#[derive(Clone, Debug)]
pub struct CheckoutJob {
    /// The call that it is a step of.
    pub call: String,
    /// How long it may take. Zero is no limit.
    pub wall_ms: u64,
    pub order: Operation,
    /// Words that no commit may have, and where they are allowed.
    pub secrets: SecretsTable,
}

/// A file that a step left.
pub trait Output: Read + Seek {}

impl<T: Read + Seek> Output for T {}

/// How a step stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepState {
    /// Nobody has started on it.
    Unclaimed,
    Running,
    Ended(Ending),
    /// Given up before anybody started.
    Void,
    /// Its keeper died without an ending. Processes of it may be left.
    Dead,
}

/// The fate of a request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRequest {
    Sent,
    /// It has ended, or is just beginning: the next look knows more.
    NotNow,
}
