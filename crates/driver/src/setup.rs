//! What a step is given before its keeper starts: folder, brief, inbox, program, environment.

pub mod brief;
mod brief_blocks;
pub mod environment;
pub mod launch;
pub mod step;
pub mod turn;
mod work_index;
