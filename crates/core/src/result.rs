//! The contract with agents: the content of `result.json`, and what makes it unacceptable.
//!
//! Not here: reading the file (`forge_agents::result`), whether item ids, tags and paths make sense in a
//! run, and what a role may say.
//!
//! Invariant: what [`AgentResult::validate`] accepts is bounded in every part and names no path outside
//! the tree.

mod contract;
mod error;
mod limits;
mod validate;

pub use crate::item::Item;
pub use contract::{
    AgentResult, Blocker, MustHave, MustState, ReportedFinding, ReportedShown, ReportedVerdict,
    ResultKey, StatedBlocker, Status,
};
pub use error::ResultError;
pub use limits::{
    ENTRIES_MAX, FINDINGS_MAX, RESULT_BYTES_MAX, RESULT_FILE, RESULT_FORMAT,
    SUMMARY_CHARACTERS_MAX, TEXT_CHARACTERS_MAX,
};
