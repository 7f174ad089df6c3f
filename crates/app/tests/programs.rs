//! The real agent programs beside Claude Code at work for Forge, each against a model that plays a script.
//!
//! `players`: what each needs to find its model. `stories`: what every one of them is put through. `together`: four of them in one run.
//! The stage is that of Claude Code, and so is what it is put through in more detail.
//!
//! Invariant: every test ends with `finish` of its key.
//! Where a program is not installed every test with it says loudly that it proved nothing. In CI it fails.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]

mod world;

#[path = "programs/players.rs"]
mod players;
#[path = "crash/processes.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "another test program uses all of it")]
mod processes;
#[path = "claude/stage.rs"]
mod stage;
#[path = "programs/stories.rs"]
mod stories;
#[path = "programs/together.rs"]
mod together;
