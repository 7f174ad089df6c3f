//! One attempt: its folder, and what any process can read from it.
//!
//! Not here: running it (`keeper`).

pub mod claim;
pub mod dir;
pub mod ending_signature;
pub mod keeper_handle;
pub mod outbox;
pub mod status;
pub mod sweep;
