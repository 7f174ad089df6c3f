//! Which files guard the project: tests, CI, lint and build files, and what its checks name.

use forge_project::{
    protected_files::{ProtectedKind, protected_kind},
    settings::Frozen,
};

/// What a file guards: by what it is, or because a check or the set-up of the run names it.
pub(super) fn guard_of(path: &str, frozen: &Frozen) -> Option<ProtectedKind> {
    let mut commands = frozen.verify.commands.iter().chain(&frozen.setup);
    protected_kind(path)
        .or_else(|| commands.any(|command| names(command, path)).then_some(ProtectedKind::Build))
}

/// Whether a command line names a file, from the top or from a folder that it goes into.
pub(super) fn names(command: &str, path: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "\"'`;&|()<>=".contains(c);
    command.split(is_end).any(|word| {
        // `./checks` is a file, whatever its name.
        let is_file = word.contains(['.', '/']);
        let word = word.trim_start_matches("./");
        word == path
            || (is_file
                && !word.is_empty()
                && path.strip_suffix(word).is_some_and(|rest| rest.ends_with('/')))
    })
}
