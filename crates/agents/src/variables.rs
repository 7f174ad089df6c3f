//! Names that Forge and the agent programs share: commands of the own program, and environment variables.
//!
//! Not here: variables that every attempt has (`forge_keeper::variables`).

/// Argument 1 of the scripted agent's command line.
pub const SCRIPTED_COMMAND: &str = "__scripted";
/// Which turn of its call this is: unset for the first one, or [`REPAIR_TURN`] or [`RESUME_TURN`].
pub const TURN_VARIABLE: &str = "FORGE_TURN";
/// The turn in which an agent fixes its result.
pub const REPAIR_TURN: &str = "repair";
/// The turn in which an agent continues after it was interrupted.
pub const RESUME_TURN: &str = "resume";
/// The model that a program is asked to use, if the settings name one.
pub const MODEL_VARIABLE: &str = "FORGE_MODEL";
