//! The rules of the engine: which facts follow from an input. All rules are here, and nothing else is.
//!
//! - `decide/input.rs`, `decide/refusal.rs`: what can come in, and why it is refused.
//! - `decide/draft.rs`: what is believed.
//! - `decide/judge.rs`: what follows from a verdict: pass, go back, ask, fail.
//! - `decide/answer.rs`: questions to people, and what their answers do.
//! - `decide/edit.rs`: manual changes by a person.
//! - `decide/settle.rs`: what starts and closes by itself, until nothing more follows.
//! - `decide/budget.rs`: what a call may cost.
//!
//! Invariant: after a decision no unit is past its last gate.
//! Invariant: a report counts only for the current attempt. Of any other, only its price counts.

mod answer;
mod budget;
mod draft;
mod edit;
mod input;
mod judge;
mod refusal;
mod settle;

pub use draft::{DEFERRED_MS_MIN, SETBACKS_MAX, decide};
pub use input::{Command, Input, Report};
pub use refusal::Refusal;
