//! Facts about the terminal: its width, and whether output is coloured.

use std::io::{self, IsTerminal as _};

/// The width of a terminal that does not report one.
const WIDTH_DEFAULT: usize = 80;

/// The choice between coloured and plain output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    Yes,
    No,
}

pub(crate) fn stdout_colours() -> Colours {
    if has_colours(&io::stdout()) { Colours::Yes } else { Colours::No }
}

/// Returns true if output to a stream is coloured: a terminal that is not dumb, and no `NO_COLOR`.
pub(crate) fn has_colours(stream: &impl io::IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns the width of the terminal, or a default.
pub(crate) fn terminal_width() -> usize {
    if !io::stdout().is_terminal() {
        return WIDTH_DEFAULT;
    }
    let size = rustix::termios::tcgetwinsize(io::stdout());
    size.ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|width| *width >= 20)
        .unwrap_or(WIDTH_DEFAULT)
}
