//! Writes to stdout and stderr: data, text for people, progress, notes and errors.
//!
//! Not here: how values look (`format.rs`), rendering of documents (`document.rs`), paging (`pager.rs`), the live screen.
//!
//! Invariant: text that others wrote is sanitized before it gets to a terminal.

use std::io::{self, IsTerminal as _, Write as _};

use forge_api::Trouble;

use crate::text_width::{self, LongWords};

/// The width of a screen that does not say how wide it is.
const WIDTH_DEFAULT: usize = 80;

/// Whether output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    Yes,
    No,
}

/// Writes text for people. A reader that has gone away ends the program quietly; a full disk does
/// not.
pub(crate) fn print(text: &str) {
    print_raw(&sanitize(text));
}

/// Writes text that matters less than what is beside it.
pub(crate) fn print_dimmed(text: &str) {
    let grey = if has_colours(&io::stdout()) { ("\x1b[90m", "\x1b[0m") } else { ("", "") };
    print_raw(&format!("{}{}{}", grey.0, sanitize(text), grey.1));
}

/// Writes data for programs, which is not changed for anybody.
pub(crate) fn print_raw(text: &str) {
    match write(text) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            print_stderr(&format!("error: the output cannot be written: {error}"));
            std::process::exit(2);
        }
    }
}

/// Writes bytes as they are.
pub(crate) fn print_bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            print_stderr(&format!("error: the output cannot be written: {error}"));
            std::process::exit(2);
        }
    }
}

/// Writes a piece of something that goes on, as it is for programs and harmless on a terminal.
pub(crate) fn print_chunk(bytes: &[u8]) {
    let harmless_text;
    let bytes = if io::stdout().is_terminal() {
        harmless_text = sanitize(&String::from_utf8_lossy(bytes));
        harmless_text.as_bytes()
    } else {
        bytes
    };
    print_bytes(bytes);
}

/// Writes text that goes by while a run is driven. A run does not depend on who listens.
pub(crate) fn print_progress(text: &str) {
    print_progress_raw(&sanitize(text));
}

/// Writes data that goes by while a run is driven.
pub(crate) fn print_progress_raw(text: &str) {
    let _nobody_listens = write(text);
}

/// Writes what is not data.
pub(crate) fn print_stderr(text: &str) {
    let _nobody_reads = writeln!(io::stderr().lock(), "{text}");
}

/// Says what a person should know beside what they asked for: one line for programs, as many as it takes on a terminal.
pub(crate) fn print_note(text: &str) {
    let text = sanitize(&format!("note: {text}"));
    let fits = io::stderr().is_terminal() && io::stdout().is_terminal();
    print_stderr(&if fits {
        text_width::broken(&text, 0, 6, terminal_width(), LongWords::Whole)
    } else {
        text
    });
}

/// Says what happened, why, and the next command.
pub(crate) fn print_error(trouble: &Trouble) {
    let red = if has_colours(&io::stderr()) { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    print_stderr(&format!("{}error:{} {}", red.0, red.1, sanitize(&trouble.what)));
    if let Some(next) = &trouble.next {
        print_stderr(&format!(" next: {}", sanitize(next)));
    }
}

/// Rings, if somebody sits at a terminal.
pub(crate) fn ring_bell() {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let _nobody_hears = err.write_all(b"\x07").and_then(|()| err.flush());
    }
}

/// A text that cannot steer the terminal, whoever wrote it: agents say much of what is shown.
pub(crate) fn sanitize(text: &str) -> String {
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(steers, "\u{fffd}")
}

/// Whether a stream is shown in colours.
pub(crate) fn has_colours(stream: &impl io::IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether stdout is shown in colours.
pub(crate) fn stdout_colours() -> Colours {
    if has_colours(&io::stdout()) { Colours::Yes } else { Colours::No }
}

/// How wide the screen is.
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

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush())
}
