//! What goes wrong outside of the program: nothing is lost, redone, given away or believed.
//!
//! `bad_input`: of every kind, and bad disks. `crash`: processes are killed at every record and at random moments. `landing`: the same while
//! items with dependencies land. `lies`: bent tests and checks. `forged`: agents that ruin and forge. `secrets`: canaries in everything that is written. `syncs`: what is synced, and in which order. `world`: a world for one
//! test.
//!
//! Not here: what a person does (`commands`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]
#![expect(clippy::print_stderr, reason = "figures must be heard of")]

mod world;

mod bad_input;
mod crash;
mod forged;
mod landing;
mod lies;
mod secrets;
mod syncs;
