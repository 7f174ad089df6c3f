//! The flow format: a table of stages in reading order.
//!
//! [`Flow::parse`] (in `flow/parse.rs`) turns text into a [`Flow`] that cannot be wrong, so
//! nothing after it has to check again. What it refuses beyond the form, such as a read before
//! any write, is in `flow/check.rs`.
//!
//! There is no expression language. A condition is one parameter or one tag with a list of
//! values; if a flow needs more, an earlier stage decides and reports a tag.

mod brief_shape;
mod check;
mod count;
mod directive;
mod gate_text;
mod parse;
mod phases;
mod table;

pub use brief_shape::{BriefBlock, BriefShape, RoleText};
pub use check::{CallsMax, matches_name};
pub use directive::{Directive, FieldTest, RecordField};
pub(crate) use gate_text::{PLACEHOLDERS, STATUS};
pub use gate_text::{only_blocks, without_blocks};
pub use phases::{DEFAULT_PIPELINE, pipeline_key, role_blocks_key};
pub use table::{
    AT_ONCE_DEFAULT, AT_ONCE_MAX, Auto, BuiltIn, CHANGE, Check, CodeLimit, Condition, DEPTH_MAX,
    Delivery, Exhausted, FORMAT, FRICTION, Flow, FlowError, Gate, GateWeight, ITEMS_MAX_DEFAULT,
    ItemOrder, MISSES_DEFAULT, MISSES_MAX, Param, REQUEST, ROUNDS_DEFAULT, ROUNDS_MAX, STATISTICS,
    Stage, StageOrder, StuckItems, TagRule, When, Work, firsts, followers, lands,
};
