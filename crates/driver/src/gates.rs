//! The gates that Forge looks through itself, one file each. What they run, they run under keepers.
//!
//! - `verify`: the project's own checks on the exact commit, in a checkout that no agent is given (`proof`).
//! - `land`: the change becomes part of the run's result.
//! - `declared_changes`: what was changed is what was declared, and the commit hooks take it.
//! - `protected_files`: whether files that guard the project (`guards`) were changed.
//! - `new_tests`: new tests fail without the change and pass with it.
//! - `trials`: whether the checks themselves can still go red, for the gates above.
//!
//! Not here: artifacts, commands and reviews (`call_plan`), and what follows from a verdict (`core`).
//!
//! Invariant: what cannot be read, run or proved is never a pass.

pub mod declared_changes;
pub mod guards;
pub mod land;
pub mod new_tests;
mod proof;
pub mod protected_files;
pub mod reports;
pub mod ruling;
mod trials;
pub mod verify;
