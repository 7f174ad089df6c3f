//! The bench with real git: what each order does, what it never touches, and what ruins it
//! survives.
//!
//! `opens`, `commits`, `hooks`, `restores`, `merges`, `moves`, `attaches`, `reads`: one order or question
//! each.
//! `guard`: what stops before a commit. `odd`: repositories unlike others. `rampage`: agents that
//! ruin everything within their reach. `kills`: a process that is killed in the middle.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod world;

#[path = "bench/attaches.rs"]
mod attaches;
#[path = "bench/commits.rs"]
mod commits;
#[path = "bench/forward.rs"]
mod forward;
#[path = "bench/guard.rs"]
mod guard;
#[path = "bench/hooks.rs"]
mod hooks;
#[path = "bench/kills.rs"]
mod kills;
#[path = "bench/merges.rs"]
mod merges;
#[path = "bench/moves.rs"]
mod moves;
#[path = "bench/odd.rs"]
mod odd;
#[path = "bench/opens.rs"]
mod opens;
#[path = "bench/rampage.rs"]
mod rampage;
#[path = "bench/reads.rs"]
mod reads;
#[path = "bench/restores.rs"]
mod restores;
