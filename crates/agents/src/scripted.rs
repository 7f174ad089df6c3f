//! The scripted agent: a real child process which plays roles from a TOML scenario.
//!
//! People teach and test their own flows with it, without a model and without cost. The format is
//! in `scenario` and, for people, in `SCENARIO.md`; `play` is the process. What it printed is read
//! back as that of any program, see `program`.
//!
//! ```toml
//! scenario = 1
//!
//! [[play]]                       # the first play that matches wins
//! role = "writer"
//! say = ["I write a file."]
//! files = { "notes.txt" = "content" }
//! result = { status = "done", summary = "wrote notes.txt" }
//!
//! [[play]]
//! role = "reviewer"
//! attempt = 1
//! result = { status = "done", summary = "not yet", verdict = "revise" }
//! ```
//!
//! Not here: anything a real agent would decide. What is not in the scenario does not happen.
//!
//! Invariant: a scenario with a mistake plays nothing; the message names line, column and key.

mod agent;
mod error;
mod play;
mod scenario;

pub(crate) use agent::ScriptedAgent;
pub use error::ScenarioFlaw;
pub use play::{NOBODY_PLAYS_EXIT, play};
pub use scenario::{
    Crash, Detach, LaterTurn, LimitKind, Play, PlayedCall, PlayedCost, PlayedLimit, PlayedResult,
    PlayedUsage, RelativePath, Scenario,
};
