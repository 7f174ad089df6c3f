//! Bad input of every kind: it is refused with its place and the next command, nothing is made,
//! and nothing is lost.
//!
//! `words`: what is said on the command line. `files`: flows, roles, settings, scenarios.
//! `results`: what agents leave. `places`: where the program is called. `journals`: a database
//! that is not what was written. `disks`: full, and read-only.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]

mod world;

#[path = "bad_input/disks.rs"]
mod disks;
#[path = "bad_input/files.rs"]
mod files;
#[path = "bad_input/journals.rs"]
mod journals;
#[path = "bad_input/places.rs"]
mod places;
#[path = "bad_input/results.rs"]
mod results;
#[path = "bad_input/words.rs"]
mod words;
