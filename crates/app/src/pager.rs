//! Pages texts that are longer than the screen; prints all others.
//!
//! The pager replaces this process (`exec`) and reads from an unnamed file. So Ctrl-C goes to the pager, quitting it
//! early breaks no pipe, and its exit code is Forge's.
//!
//! Invariant: nothing is paged unless the output is a terminal.

use std::{
    env,
    fs::{self, File},
    io::{self, IsTerminal as _, Seek as _, Write as _},
    os::unix::{fs::OpenOptionsExt as _, process::CommandExt as _},
    process::{Command, Stdio},
};

use crate::{
    document::{self, Document},
    terminal_info::{Colours, stdout_colours},
    terminal_output,
};

/// The use of a pager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    IfLong,
    Never,
}

impl Paging {
    /// Converts the flag `--no-pager`.
    pub(crate) fn from_no_pager(no_pager: bool) -> Self {
        if no_pager { Self::Never } else { Self::IfLong }
    }
}

/// The default pager. Without less, everything is printed.
const LESS: &str = "if command -v less >/dev/null; then exec less -FRX; else exec cat; fi";

/// Prints a sanitized text, which may have Forge's own colours.
pub(crate) fn print_paged(text: &str, paging: Paging) {
    let pager = match paging {
        Paging::IfLong if is_long(text) => pager_command(|name| env::var(name).ok()),
        Paging::IfLong | Paging::Never => None,
    };
    if let Some(pager) = pager
        && let Ok(file) = unnamed_file(format!("{text}\n").as_bytes())
    {
        let mut command = Command::new("sh");
        command.arg("-c").arg(pager).stdin(Stdio::from(file));
        // `less` needs these options to show colours, and to keep on the screen what fits.
        if env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        // `exec` returns only if there is no shell.
        let _no_shell = command.exec();
    }
    terminal_output::print_raw(text);
}

/// Writes documents: the bytes for programs; rendered, sanitized and paged on a terminal or where colours are wanted.
pub(crate) fn show_documents(documents: &[Document], paging: Paging) {
    if io::stdout().is_terminal() || stdout_colours() == Colours::Yes {
        return print_paged(&document::render(documents), paging);
    }
    for document in documents {
        terminal_output::print_bytes(&document.bytes);
    }
}

/// Returns the pager: `FORGE_PAGER`, then `PAGER`, then less. `None` if it is disabled.
fn pager_command(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let named = variable("FORGE_PAGER").or_else(|| variable("PAGER"));
    let pager = named.unwrap_or_else(|| LESS.to_owned());
    let is_none = pager.trim().is_empty() || pager.trim() == "cat";
    (!is_none).then_some(pager)
}

/// Returns true if a text does not fit on the terminal, with one line for the prompt.
fn is_long(text: &str) -> bool {
    let out = io::stdout();
    if !out.is_terminal() {
        return false;
    }
    let rows = rustix::termios::tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_row));
    rows > 0 && text.lines().count() >= rows
}

/// Creates an unnamed file with this content, positioned at its beginning.
pub(crate) fn unnamed_file(bytes: &[u8]) -> io::Result<File> {
    let path = env::temp_dir().join(format!("forge-page-{}", std::process::id()));
    let mut options = File::options();
    let mut file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pager_is_the_one_that_was_named_for_forge_then_for_all_then_less() {
        let with = |forge: Option<&str>, all: Option<&str>| {
            pager_command(|name| match name {
                "FORGE_PAGER" => forge.map(str::to_owned),
                "PAGER" => all.map(str::to_owned),
                other => panic!("nobody needs {other}"),
            })
        };
        assert_eq!(with(Some("a -x"), Some("b")).as_deref(), Some("a -x"));
        assert_eq!(with(None, Some("b")).as_deref(), Some("b"));
        assert_eq!(with(None, None).as_deref(), Some(LESS));
        for none in ["", " ", "cat"] {
            assert_eq!(with(Some(none), Some("b")), None);
        }
    }
}
