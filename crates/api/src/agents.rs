//! Agents as users see them: which there are, and whether they answer.

pub mod check;
pub mod list;
pub(crate) mod one_shot;
