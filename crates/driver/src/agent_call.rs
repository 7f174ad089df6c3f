//! An agent at work: its turns, and what becomes of what it left.

pub mod finding_evidence;
pub mod output;
pub mod turns;
pub mod usage;
