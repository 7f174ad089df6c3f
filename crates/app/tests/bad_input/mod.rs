//! Bad input of every kind: it is refused with its place and the next command, nothing is made,
//! and nothing is lost.
//!
//! `words`: what is said on the command line. `files`: flows, roles, settings, scenarios.
//! `results`: what agents leave. `places`: where the program is called. `journals`: a database
//! that is not what was written. `disks`: full, and read-only.

use crate::world;

mod disks;
mod files;
mod journals;
mod places;
mod results;
mod words;
