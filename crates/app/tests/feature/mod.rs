//! The flow `feature` as a person runs it, from a request in plain words to a delivered branch, played
//! by the scripted agent in real repositories.
//!
//! Read `project.rs` (the small project and who plays what), then the modules, one idea each.

use crate::world;

mod delivers;
mod given;
mod golden;
mod keeps;
mod killed;
mod project;
mod sums_up;
mod verifies;
