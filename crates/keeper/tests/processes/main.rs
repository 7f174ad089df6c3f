//! Real processes: keepers and their children.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names what it expects, and no more")]

mod keeper;
mod output;
mod world;

/// The program whose hidden commands are tested.
const EXAMPLE: &str = "keeper_program";
