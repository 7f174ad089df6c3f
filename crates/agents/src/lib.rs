//! The agent programs: how a turn of one is started, what its stream says, and what it must leave.
//!
//! What a program has to say about itself is [`agent`], and which ones there are is [`registry`]. What a
//! stream says is [`stream`], in the few words of [`signal`]. A vendor's words are in the vendor's file
//! alone.
//!
//! Not here: running a program (`forge_keeper`), runs, flows, journals, git, prompts.

mod acp;
pub mod agent;
mod claude;
mod codex;
mod gemini;
pub mod line_reader;
pub mod models;
pub mod monitor;
mod opencode;
pub mod prices;
mod program;
pub mod registry;
pub mod result;
pub mod scripted;
pub mod signal;
pub mod stream;
pub mod variables;

pub use acp::converse;
pub use agent::{
    Agent, CodeAccess, Earlier, Launch, Session, TurnRequest, is_common_variable, session_id,
};
pub use monitor::{Listen, open_monitor};
pub use registry::AgentKind;
pub use result::{parse_result, read_result, result_bytes, result_schema};
pub use signal::{
    AgentEnd, ErrorClass, Limit, Price, Signal, TokenCounts, UsageWindow, Use, Watchdog, Word,
};
pub use stream::{Listener, StreamSummary, read_transcript};
pub use variables::{
    ACP_COMMAND, MODEL_VARIABLE, REPAIR_TURN, RESUME_TURN, SCRIPTED_COMMAND, TOOLCHAIN_VARIABLES,
    TURN_VARIABLE,
};
