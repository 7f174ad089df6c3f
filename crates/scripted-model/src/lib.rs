//! A model server on 127.0.0.1 that plays a script.
//!
//! Real agent programs are pointed at it by their base URL. A test makes a [`Server`], asks it for a
//! [`ModelKey`] with a [`Script`], gives the key's URL to the program, and afterwards looks at what the
//! program asked for. Nothing that we ship depends on this crate.
//!
//! - `script`, `captures`: what the model says and does, as data.
//! - `player`, `key`, `log`: a script that is played, and one test's view of it: requests, barriers, flaws.
//! - `server`, `connections`, `http`, `play`: the connections, written by hand because they must misbehave.
//! - `wire`: one file for each format that a model server speaks.
//! - `claude`: how a test runs the real Claude Code against a key. `programs`: where the others are.
//! - `shape`: what the requests of a real program look like. The binary records it (`record.rs`).
//!
//! Invariants: it binds to 127.0.0.1 only; keys share nothing; a credential is never kept;
//! when a [`Server`] is dropped, all its threads and its port are gone.

mod captures;
pub mod claude;
mod connections;
mod http;
mod key;
mod log;
mod play;
mod player;
pub mod programs;
mod script;
mod server;
mod shape;
mod wire;

pub use captures::TextBetween;
pub use key::ModelKey;
pub use log::{ModelRequest, PlayedAnswer};
pub use script::{
    AfterLastStep, AnswerEnding, Script, ScriptScope, ScriptStep, TokenUsage, ToolCall,
    ToolOperation,
};
pub use server::Server;
pub use shape::RequestShape;
