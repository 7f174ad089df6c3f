//! The agent programs: how a turn of one is started, what its stream says, and what it must leave.
//!
//! Which programs there are is [`kind`]; what a stream says is [`heard`], in the few words of [`signal`].
//! A vendor's words are in the vendor's file alone.
//!
//! Not here: running a program (`forge_keeper`), runs, flows, journals, git, prompts.

mod claude;
pub mod heard;
pub mod kind;
pub mod lines;
pub mod monitor;
pub mod prices;
mod program;
pub mod result;
pub mod scripted;
pub mod signal;
pub mod variables;

pub use heard::{Earlier, Heard, Listener, hear};
pub use kind::{Hand, Kind, Session, Start, Turn, session_id, start};
pub use monitor::{Listen, open_monitor};
pub use result::{parse_result, read_result, result_schema};
pub use signal::{End, ErrorClass, Limit, Price, Signal, Tokens, Use, Watchdog};
pub use variables::{MODEL_VARIABLE, REPAIR_TURN, RESUME_TURN, SCRIPTED, TURN_VARIABLE};
