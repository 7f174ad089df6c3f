//! Documents that people read: Markdown, diffs and plain text, rendered for a terminal or written as they are.

use std::io::{self, IsTerminal as _};

use crate::{
    markdown,
    pager::{Paging, print_paged},
    terminal_output::{self, Colours},
};

/// What something that is shown is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    Markdown,
    Diff,
    Text,
}

/// A piece of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: DocumentFormat,
}

/// Shows the content of something: as it is for programs; rendered, harmless and in pages on a terminal.
pub(crate) fn show(documents: &[Document], paging: Paging) {
    if io::stdout().is_terminal() {
        return print_paged(&render(documents), paging);
    }
    for document in documents {
        terminal_output::print_bytes(&document.bytes);
    }
}

/// The content of something as a person reads it on a terminal. It cannot steer it.
pub(crate) fn render(documents: &[Document]) -> String {
    let colours = terminal_output::stdout_colours();
    let readable = |document: &Document| {
        let text = terminal_output::sanitize(String::from_utf8_lossy(&document.bytes).trim_end());
        match (document.format, colours) {
            (DocumentFormat::Markdown, colours) => {
                markdown::render(&text, terminal_output::terminal_width(), colours)
            }
            (DocumentFormat::Diff, Colours::Yes) => coloured_diff(&text),
            (DocumentFormat::Diff, Colours::No) | (DocumentFormat::Text, _) => text,
        }
    };
    documents.iter().map(readable).collect::<Vec<String>>().join("\n\n")
}

/// Writes a text in Markdown that goes by while a run is driven: rendered on a terminal.
pub(crate) fn print_progress_markdown(text: &str) {
    let out = io::stdout();
    if !out.is_terminal() {
        return terminal_output::print_progress(text);
    }
    let colours = terminal_output::stdout_colours();
    terminal_output::print_progress_raw(&markdown::render(
        &terminal_output::sanitize(text.trim_end()),
        terminal_output::terminal_width(),
        colours,
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
