//! How much a command says besides its result: `-q` and `-v`, as they were given on the command line.
//!
//! Not here: what belongs to which level. Each command knows that of its own.

use std::sync::OnceLock;

/// The amount of output that the user asked for. More comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Results and errors only.
    Quiet,
    Normal,
    Verbose,
    /// All that there is.
    Everything,
}

static CHOSEN: OnceLock<Verbosity> = OnceLock::new();

impl Verbosity {
    /// Converts the flags `-q` and `-v`, which may be repeated.
    pub(crate) const fn from_flags(quiet: bool, verbose: u8) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (false, 0) => Self::Normal,
            (false, 1) => Self::Verbose,
            (false, _) => Self::Everything,
        }
    }

    /// Makes this the choice of the whole process, once.
    pub(crate) fn choose(self) {
        CHOSEN.set(self).expect("the command line is parsed once");
    }

    /// Returns the choice of this process.
    pub(crate) fn chosen() -> Self {
        CHOSEN.get().copied().unwrap_or(Self::Normal)
    }
}
