//! Writes to stdout and stderr: data, text for people, progress, notes and errors.
//!
//! Not here: formats (`format.rs`), rendering of documents (`document.rs`), paging (`pager.rs`), the live screen.
//!
//! Invariant: text that others wrote is sanitized before it gets to a terminal.

use std::io::{self, IsTerminal as _, Write as _};

use forge_api::{Error, error::Kind};
use forge_core::view::sanitize;

use crate::{
    character_set::CharacterSet,
    format,
    palette::Hue,
    terminal_info::{Colours, has_colours, stdout_colours, terminal_width},
    verbosity::Verbosity,
};

/// Prints text for people, sanitized, and wrapped on a terminal. A closed pipe ends the program quietly; other errors do
/// not.
pub(crate) fn print(text: &str) {
    print_formatted(&fitted(&sanitize(text), &io::stdout()));
}

/// Prints text for people that is sanitized and fitted already.
pub(crate) fn print_formatted(text: &str) {
    print_raw(&CharacterSet::detect().encode_symbols(text));
}

/// Prints data for programs, unchanged.
pub(crate) fn print_raw(text: &str) {
    exit_on_error(write(text));
}

/// Prints bytes, unchanged and without a line break at the end.
pub(crate) fn print_bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    exit_on_error(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Prints a piece of a stream: unchanged for programs, sanitized on a terminal.
pub(crate) fn print_chunk(bytes: &[u8]) {
    if io::stdout().is_terminal() {
        print_bytes(sanitize(&String::from_utf8_lossy(bytes)).as_bytes());
    } else {
        print_bytes(bytes);
    }
}

/// Prints a fact of a run that is driven, sanitized before, unless `-q` was given. Errors are ignored.
pub(crate) fn print_fact(line: &str) {
    if Verbosity::chosen() > Verbosity::Quiet {
        print_progress_raw(&CharacterSet::detect().encode_symbols(line));
    }
}

/// Prints text while a run is driven. Errors are ignored: a run does not depend on its readers.
pub(crate) fn print_progress(text: &str) {
    let text = fitted(&sanitize(text), &io::stdout());
    print_progress_raw(&CharacterSet::detect().encode_symbols(&text));
}

/// Prints data while a run is driven. Errors are ignored.
pub(crate) fn print_progress_raw(text: &str) {
    let _ignored = write(text);
}

/// Prints lines that are not data to stderr, unless `-q` was given.
pub(crate) fn print_hint(text: &str) {
    if Verbosity::chosen() > Verbosity::Quiet {
        print_stderr(&sanitize(text));
    }
}

/// Prints lines that are not data to stderr, wrapped on a terminal.
pub(crate) fn print_stderr(text: &str) {
    print_stderr_raw(&fitted(text, &io::stderr()));
}

fn print_stderr_raw(text: &str) {
    let text = CharacterSet::detect().encode_symbols(text);
    let _ignored = writeln!(io::stderr().lock(), "{text}");
}

/// Prints a question to stderr; the answer is typed behind it.
pub(crate) fn print_prompt(text: &str) {
    let text = fitted(&sanitize(text), &io::stderr());
    let text = CharacterSet::detect().encode_symbols(&text);
    let mut err = io::stderr().lock();
    let _ignored = write!(err, "{text} ").and_then(|()| err.flush());
}

/// Prints a note to stderr, unless `-q` was given: one line for programs, wrapped on a terminal.
pub(crate) fn print_note(text: &str) {
    if Verbosity::chosen() == Verbosity::Quiet {
        return;
    }
    let text = sanitize(&format!("note: {text}"));
    let fits = io::stderr().is_terminal() && io::stdout().is_terminal();
    print_stderr_raw(&if fits { format::wrap(&text, 6, terminal_width()) } else { text });
}

/// Prints what failed and the command that helps.
pub(crate) fn print_error(error: &Error) {
    if error.kind == Kind::Left {
        return;
    }
    let next = error.next.as_ref().map(|next| format!("\n help: {next}")).unwrap_or_default();
    let text = sanitize(&format!("error: {}{next}", error.what));
    let text = fitted(&text, &io::stderr());
    let red = format!("{}error:\x1b[0m", Hue::Red.code());
    let is_coloured = has_colours(&io::stderr());
    print_stderr_raw(&if is_coloured { text.replacen("error:", &red, 1) } else { text });
}

/// Wraps the lines that are wider than a terminal. For a pipe they stay whole.
fn fitted(text: &str, out: &impl io::IsTerminal) -> String {
    if out.is_terminal() { format::fit_lines(text, terminal_width()) } else { text.to_owned() }
}

/// Colours the first `symbol` of a line, which is sanitized.
pub(crate) fn coloured_symbol(line: &str, symbol: &str, hue: Option<Hue>) -> String {
    match (stdout_colours(), hue) {
        (Colours::Yes, Some(hue)) => {
            line.replacen(symbol, &format!("\x1b[1m{}{symbol}\x1b[0m", hue.code()), 1)
        }
        (Colours::Yes | Colours::No, _) => line.to_owned(),
    }
}

/// Rings the bell, if stderr is a terminal.
pub(crate) fn ring_bell() {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let _ignored = err.write_all(b"\x07").and_then(|()| err.flush());
    }
}

/// Formats a fact after a prefix: one line for programs, wrapped on a terminal.
pub(crate) fn fact_line(prefix: &str, sentence: &str) -> String {
    if io::stdout().is_terminal() {
        format::hanging_indent(prefix, sentence, terminal_width())
    } else {
        format!("{prefix}{sentence}")
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush())
}

fn exit_on_error(written: io::Result<()>) {
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            print_stderr(&format!("error: the output cannot be written: {error}"));
            std::process::exit(2);
        }
    }
}
