//! Runs one process under a keeper, and records how it ended.
//!
//! Start with [`attempt::dir`] (the files of an attempt folder), then [`attempt::status`] (what they say
//! about the attempt), then [`keeper`] (the process that writes most of them).
//!
//! ```text
//! driver ── start_keeper ──▶ forge __keep DIR ── spawn ──▶ the program
//!    │                          │ claim (locked for life), transcript, ending.json
//!    └──── look / give_up ──────┘ the folder is all the two share
//! ```
//!
//! Not here: agent programs, runs, flows, journals, git. This crate gets an absolute path and a [`Spec`].
//!
//! Invariant: one thread and a poll loop in each of the processes; no runtime.
//! Invariant: the environment of a child is never written to disk.
//! Invariant: every byte a child prints goes through a [`Redactor`] before it gets a name on disk.
//! Invariant: exactly one keeper runs an attempt, and after its ending no descendant is alive
//! that the ending does not count as `left_over`.

pub mod attempt;
pub mod caller;
mod hex;
pub mod keeper;
mod launch;
mod processes;
pub mod redact;
pub mod variables;

pub use attempt::claim::{CLAIM_LOST_EXIT, Identity};
pub use attempt::dir::{
    AttemptFolder, CallVariables, Ending, ExitReason, ROOM_BYTES_MIN, Spec, Stderr, Stdout,
    StepLimits, open_regular,
};
pub use attempt::ending_signature::{EndingProof, EndingSigner};
pub use attempt::keeper_handle::{
    Keeper, Stop, WaitingKeeper, kill, start_keeper, start_knowing_keeper, wake,
};
pub use attempt::outbox::{ArtifactFlaw, collect};
pub use attempt::status::{AttemptStatus, give_up, is_kept_elsewhere, look};
pub use attempt::sweep::{Swept, inside_attempt, kill_marked, sweep, sweep_adopted};
pub use caller::{CallerFlaw, LostCall, check_beside, check_caller, check_own_process};
pub use keeper::ending::EndingOutlasts;
pub use keeper::keep;
pub use keeper::monitor::{Monitor, OpenMonitor};
pub use keeper::own_step::OwnStep;
pub use redact::{Redactor, known_secrets, secrets_in_file};
pub use variables::{
    ATTEMPT_DIR_VARIABLE, CALL_VARIABLE, INBOX_VARIABLE, KEEP, MARK_VARIABLE, OUTBOX_VARIABLE,
};
