//! Documents that people read: Markdown, diffs and plain text, rendered for a terminal.

use forge_core::view::sanitize;

use crate::{
    markdown,
    palette::Hue,
    terminal_info::{Colours, stdout_colours, terminal_width},
};

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    Markdown,
    Diff,
    Text,
}

/// A text to show, with the format that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) bytes: Vec<u8>,
    pub(crate) format: DocumentFormat,
}

/// Renders documents for a terminal; the result is sanitized.
pub(crate) fn render(documents: &[Document]) -> String {
    let colours = stdout_colours();
    let readable = |document: &Document| {
        let text = sanitize(String::from_utf8_lossy(&document.bytes).trim_end());
        match (document.format, colours) {
            (DocumentFormat::Markdown, colours) => {
                markdown::render(&text, terminal_width(), colours)
            }
            (DocumentFormat::Diff, Colours::Yes) => coloured_diff(&text),
            (DocumentFormat::Diff, Colours::No) | (DocumentFormat::Text, _) => text,
        }
    };
    documents.iter().map(readable).collect::<Vec<String>>().join("\n\n")
}

/// Colours a diff like git does; the signs of the lines say the same.
fn coloured_diff(text: &str) -> String {
    let mut is_head = true;
    let lines = text.lines().map(|line| {
        is_head = line.starts_with("diff ") || is_head && !line.starts_with("@@");
        let colour = match line.as_bytes().first() {
            _ if is_head => "\x1b[1m",
            Some(b'@') => Hue::Blue.code(),
            Some(b'+') => Hue::Green.code(),
            Some(b'-') => Hue::Red.code(),
            Some(_) | None => return line.to_owned(),
        };
        format!("{colour}{line}\x1b[0m")
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests;
