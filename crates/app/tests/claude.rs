//! The real Claude Code at work for Forge, as a person would use both, against a model that plays a script.
//!
//! `stage`: a world with Claude Code in its `PATH` and a key of the scripted model. `roles`: it plays all roles of a
//! flow. `errors`: what becomes of everything that a provider can answer. `accounts`: with two of them, one used up. `killed`: it is killed, stopped or left
//! alone in the middle of a tool. `repairs`: its result cannot be used, or its session is gone. `money`: it is stopped
//! at its cap. `reviews`: the same for who only
//! looks. `work`: it plays the flows of records, a bug by both routes and a sprint. `checks`: `forge agents check`. `alone`: what it leaves behind, whom it talks to, and what it could give away.
//!
//! Invariant: every request that it makes has the recorded shape; every test ends with `finish` of its key.
//! Where Claude Code is not installed every test says loudly that it proved nothing. In CI it fails.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]

mod world;

#[path = "claude/accounts.rs"]
mod accounts;
#[path = "claude/alone.rs"]
mod alone;
#[path = "claude/checks.rs"]
mod checks;
#[path = "claude/errors.rs"]
mod errors;
#[path = "claude/feature.rs"]
mod feature;
#[path = "claude/killed.rs"]
mod killed;
#[path = "claude/money.rs"]
mod money;
#[path = "crash/processes.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "another test program uses all of it")]
mod processes;
#[path = "claude/repairs.rs"]
mod repairs;
#[path = "claude/reviews.rs"]
mod reviews;
#[path = "claude/roles.rs"]
mod roles;
#[path = "claude/stage.rs"]
mod stage;
#[path = "claude/work.rs"]
mod work;
