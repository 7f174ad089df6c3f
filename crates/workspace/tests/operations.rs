//! Operations on checkouts with real git: what each one does, what it never touches, and which damage
//! it survives.
//!
//! `opens`, `commits`, `hooks`, `restores`, `setups`, `merges`, `moves`, `attaches`, `folder_files`, `reads`: one operation or query
//! each.
//! `guard`: what stops before a commit. `odd`: repositories unlike others. `rampage`: agents that
//! ruin everything within their reach. `kills`: a process that is killed in the middle.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue stops")]

mod world;

#[path = "operations/attaches.rs"]
mod attaches;
#[path = "operations/baselines.rs"]
mod baselines;
#[path = "operations/commits.rs"]
mod commits;
#[path = "operations/folder_files.rs"]
mod folder_files;
#[path = "operations/forward.rs"]
mod forward;
#[path = "operations/guard.rs"]
mod guard;
#[path = "operations/hooks.rs"]
mod hooks;
#[path = "operations/kills.rs"]
mod kills;
#[path = "operations/merges.rs"]
mod merges;
#[path = "operations/moves.rs"]
mod moves;
#[path = "operations/odd.rs"]
mod odd;
#[path = "operations/opens.rs"]
mod opens;
#[path = "operations/rampage.rs"]
mod rampage;
#[path = "operations/reads.rs"]
mod reads;
#[path = "operations/records.rs"]
mod records;
#[path = "operations/restores.rs"]
mod restores;
#[path = "operations/setups.rs"]
mod setups;
#[path = "operations/untouched.rs"]
mod untouched;
