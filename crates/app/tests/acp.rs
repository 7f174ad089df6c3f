//! Real agents at work for Forge by the Agent Client Protocol, against a model that plays a script.
//!
//! `stage`: a world with one of them, and how each is told of its model. `turns`: it plays roles, mends its result, goes on after
//! it was stopped, and is held to what its role may do. `schema`: what was said, held against the published schema.
//!
//! Invariant: nothing of the real user's is passed on. Where an agent is not installed every test says loudly that it proved
//! nothing. In CI it fails.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]

mod world;

#[path = "crash/processes.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "another test program uses all of it")]
mod processes;
#[path = "acp/schema.rs"]
mod schema;
#[path = "acp/stage.rs"]
mod stage;
#[path = "acp/turns.rs"]
mod turns;
