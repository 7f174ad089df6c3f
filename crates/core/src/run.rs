//! Where a run stands: a fold over its records. [`Run::apply_record`] decides nothing and cannot fail.
//!
//! The tables, units and items of a run are a tree (`run/tree.rs`) whose nodes are shared
//! between copies, so that copying a run is cheap and a decision touches only its own path.
//!
//! Invariant: a run is never serialised, and nothing but [`Run::apply_record`] and [`Run::apply`]
//! changes it.

mod before_start;
mod call_kind;
mod calls;
mod code;
mod ending_keys;
mod fold;
mod history;
mod lookup;
mod retry;
mod said;
mod tree;

pub use before_start::{NeedsState, PathsState};
pub use call_kind::CallKind;
pub(crate) use fold::command_failure;
pub use fold::{EffectMark, Phase, Run, RunDefinition};
pub use history::{
    AskedQuestion, CallEnding, DoneEffect, EndedCall, FailedUnit, GivenAnswer, History, LandedUnit,
    ManualEdit, PassedGate, ReopenedUnit, RunNote, SharedLog, WaivedGate,
};
pub(crate) use history::{COHERENCE, items_left};
pub use retry::ReviewPosition;
pub use said::{Occasion, Said};
pub use tree::{
    AllReviewsClean, Authorship, CommittedCode, Due, FilesState, Inner, LookState, ReviewTally,
    State, Table, TableOpened, TableStatus, Unit,
};
