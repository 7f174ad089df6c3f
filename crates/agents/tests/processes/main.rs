//! Real processes: agents under keepers, and the scripted agent.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names what it expects, and no more")]

mod acp;
mod budget;
mod scripted;
#[expect(dead_code, reason = "the tests of the keeper use all of it")]
#[path = "../../../keeper/tests/processes/world.rs"]
mod world;

/// The program whose hidden commands are tested.
const EXAMPLE: &str = "agent_program";
