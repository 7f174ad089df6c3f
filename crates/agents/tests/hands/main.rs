//! Real processes: keepers, their children, and the scripted agent.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names what it expects, and no more")]

mod keeper;
mod listen;
mod scripted;
mod world;
