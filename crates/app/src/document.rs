//! Documents that people read: Markdown, diffs and plain text, rendered for a terminal or written as they are.

use std::io::{self, IsTerminal as _};

use crate::{
    markdown::{self, Ink},
    pager::{Paging, page},
    terminal_output,
};

/// What something that is shown is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Markdown,
    Diff,
    Text,
}

/// A piece of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    pub(crate) form: Form,
}

/// Shows the content of something: as it is for programs; rendered, harmless and in pages on a terminal.
pub(crate) fn show(pieces: &[Piece], paging: Paging) {
    if io::stdout().is_terminal() {
        return page(&render(pieces), paging);
    }
    for piece in pieces {
        terminal_output::print_bytes(&piece.bytes);
    }
}

/// The content of something as a person reads it on a terminal. It cannot steer it.
pub(crate) fn render(pieces: &[Piece]) -> String {
    let ink = if terminal_output::has_colours(&io::stdout()) { Ink::Coloured } else { Ink::Plain };
    let readable = |piece: &Piece| {
        let text = terminal_output::sanitize(String::from_utf8_lossy(&piece.bytes).trim_end());
        match (piece.form, ink) {
            (Form::Markdown, ink) => {
                markdown::render(&text, terminal_output::terminal_width(), ink)
            }
            (Form::Diff, Ink::Coloured) => coloured_diff(&text),
            (Form::Diff, Ink::Plain) | (Form::Text, _) => text,
        }
    };
    pieces.iter().map(readable).collect::<Vec<String>>().join("\n\n")
}

/// Writes a text in Markdown that goes by while a run is driven: rendered on a terminal.
pub(crate) fn print_progress_markdown(text: &str) {
    let out = io::stdout();
    if !out.is_terminal() {
        return terminal_output::print_progress(text);
    }
    let ink = if terminal_output::has_colours(&out) { Ink::Coloured } else { Ink::Plain };
    terminal_output::print_progress_raw(&markdown::render(
        &terminal_output::sanitize(text.trim_end()),
        terminal_output::terminal_width(),
        ink,
    ));
}

/// A change in the colours that everybody knows.
fn coloured_diff(text: &str) -> String {
    let mut is_head = true;
    let lines = text.lines().map(|line| {
        is_head = line.starts_with("diff ") || is_head && !line.starts_with("@@");
        let colour = match line.as_bytes().first() {
            _ if is_head => "\x1b[1m",
            Some(b'@') => "\x1b[36m",
            Some(b'+') => "\x1b[32m",
            Some(b'-') => "\x1b[31m",
            Some(_) | None => return line.to_owned(),
        };
        format!("{colour}{line}\x1b[0m")
    });
    lines.collect::<Vec<String>>().join("\n")
}
