//! Names that the processes of an attempt share: commands of the own program, and environment variables.
//!
//! Not here: variables that only some agent programs understand.

/// Argument 1 of the keeper's command line.
pub const KEEP: &str = "__keep";

/// Marks every process of an attempt in its environment. The value tells nothing but which attempt, to those who
/// know its folder.
pub const MARK_VARIABLE: &str = "KEEPER_MARK";
/// The absolute folder of the attempt, for agents and commands. Code that is judged is not told.
pub const ATTEMPT_DIR_VARIABLE: &str = "FORGE_ATTEMPT_DIR";
/// The folder that an agent may read.
pub const INBOX_VARIABLE: &str = "FORGE_INBOX";
/// The folder for an agent's artifacts and `result.json`.
pub const OUTBOX_VARIABLE: &str = "FORGE_OUTBOX";
/// The name of the call, which `result.json` repeats as `attempt`.
pub const CALL_VARIABLE: &str = "FORGE_CALL";
/// Tells a keeper that its key and secret values come on its standard input. No process below it has it.
pub(crate) const SECRETS_VARIABLE: &str = "FORGE_SECRETS";
