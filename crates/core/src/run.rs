//! Where a run stands: a fold over its records. [`Run::take`] decides nothing and cannot fail.
//!
//! The tables, units and items of a run are a tree (`run/tree.rs`) whose nodes are shared
//! between copies, so that copying a run is cheap and a decision touches only its own path.
//!
//! Invariant: a run is never serialised, and nothing but [`Run::take`] and [`Run::apply`]
//! changes it.

mod call_kind;
mod calls;
mod code;
mod fold;
mod history;
mod lookup;
mod tree;

pub use call_kind::CallKind;
pub(crate) use fold::command_failure;
pub use fold::{Law, Mark, Phase, Run};
pub use history::{
    Asked, ByHand, Done, EndedCall, Ending, Failed, Landing, Log, Passed, Return, Said, Story,
    Waived,
};
pub use tree::{
    Code, Confidence, Due, Files, Hand, Inner, Look, Opened, Opinion, Standing, State, Table, Unit,
};
