//! A small fuzzer for stable Rust: replays a saved corpus, mutates it for a while, and shrinks what fails.
//!
//! A [`FuzzTarget`] is a function over bytes that panics if a promise is broken. [`FuzzTarget::run`] gives it every file of
//! `corpus/<name>/` and then mutations of them. The targets are in `tests/targets/`, and that of the screen is in `forge` itself.
//!
//! ```text
//! FORGE_FUZZ_SEED   where chance begins; a failure prints it
//! FORGE_FUZZ_MS     how long each target mutates, in milliseconds
//! ```
//!
//! Not here: coverage. Why no library does this: `decisions/012-fuzzing.md`.
//!
//! Invariant: the same seed gives the same inputs in the same order; only how many there are depends on the time.

mod harness;
mod mutation;
mod random;
mod shrink;

pub use harness::FuzzTarget;
pub use random::Random;
