//! The hands of Forge: runs one session of one agent program under a keeper, and tells how it ended.
//!
//! Start with [`folder`] (what lies in an attempt folder), then [`standing`] (what the folder says
//! about its attempt), then [`keeper`] (the process which writes most of it). Which programs there
//! are and how a turn of one is started is [`kind`]; what its stream says is [`heard`], in the few
//! words of [`signal`]. A vendor's words are in the vendor's file alone.
//!
//! ```text
//! driver ── start_keeper ──▶ forge __keep DIR ── spawn ──▶ forge __launch ── exec ──▶ the agent
//!    │                          │ claim (locked for life), transcript, ending.json
//!    └──── look / give_up ──────┘ the folder is all the two share
//! ```
//!
//! Not here: runs, flows, journals, git, prompts. This crate gets an absolute path and a [`Spec`].
//!
//! Invariant: one thread and a poll loop in each of the processes; no runtime.
//! Invariant: the environment of an agent is never written to disk.
//! Invariant: every byte an agent prints goes through a [`Redactor`] before it gets a name on disk.
//! Invariant: exactly one keeper runs an attempt, and after its ending no descendant is alive
//! that the ending does not count as `left_over`.

pub mod claim;
mod claude;
pub mod folder;
pub mod follow;
pub mod heard;
pub mod keeper;
pub mod kind;
pub mod launch;
pub mod lines;
pub mod outbox;
pub mod prices;
mod processes;
mod program;
pub mod redact;
pub mod result;
pub mod scripted;
pub mod signal;
pub mod standing;
pub mod sweep;

pub use claim::{CLAIM_LOST_EXIT, Identity};
pub use folder::{AttemptFolder, Ending, How, Limits, Listen, Spec, Stderr, Stdout, open_regular};
pub use follow::{Keeper, Stop, start_keeper, start_knowing_keeper};
pub use heard::{Earlier, Heard, Listener, hear};
pub use keeper::keep;
pub use kind::{Hand, Kind, Session, Start, Turn, session_id, start};
pub use launch::launch;
pub use outbox::{ArtifactFlaw, collect};
pub use redact::{Redactor, known_secrets, secrets_in_file};
pub use result::{AgentResult, Key, ResultFlaw, read_result};
pub use signal::{End, ErrorClass, Limit, Price, Signal, Tokens, Use, Watchdog};
pub use standing::{Standing, give_up, look};
pub use sweep::{Swept, inside_attempt, sweep};

/// Argument 1 of the keeper's own command line.
pub const KEEP: &str = "__keep";
/// Says to a keeper where it reads which values are secret. Nobody below it has it.
pub(crate) const SECRETS_VARIABLE: &str = "FORGE_SECRETS";
/// Argument 1 of the launcher's own command line.
pub const LAUNCH: &str = "__launch";
/// Argument 1 of the scripted agent's own command line.
pub const SCRIPTED: &str = "__scripted";

/// Marks every process of an attempt in its environment; the value is the absolute folder.
pub const ATTEMPT_DIR_VARIABLE: &str = "FORGE_ATTEMPT_DIR";
/// Which turn of its call this is: nothing for the first one, or [`REPAIR_TURN`] or [`RESUME_TURN`].
pub const TURN_VARIABLE: &str = "FORGE_TURN";
/// The turn in which an agent mends its result.
pub const REPAIR_TURN: &str = "repair";
/// The turn in which an agent goes on after it was interrupted.
pub const RESUME_TURN: &str = "resume";
/// The model that a program is asked to use, if the settings name one.
pub const MODEL_VARIABLE: &str = "FORGE_MODEL";
/// Where an agent finds what it may read.
pub const INBOX_VARIABLE: &str = "FORGE_INBOX";
/// Where an agent leaves its artifacts and `result.json`.
pub const OUTBOX_VARIABLE: &str = "FORGE_OUTBOX";
/// The name of the call, which `result.json` repeats as `attempt`.
pub const CALL_VARIABLE: &str = "FORGE_CALL";
