//! Renders Markdown for a terminal: headings, lists, tables, code, quotes, bold and links.
//!
//! `pulldown-cmark` reads it; how it looks is decided here. Programs get the bytes unchanged; see `document.rs`.
//!
//! Invariant: no line of prose or list is wider than the width, unless one word is; no line of a table is, unless its
//! numbers alone are: numbers and code are never broken.
//! Invariant: the result is sanitized, also where the source names a control character by its number.

use std::fmt::Write as _;

use forge_core::view::sanitize;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::{terminal_info::Colours, text_width};

/// The narrowest column of text in a table: preferably, and at all.
const COLUMN_MIN: usize = 6;
const COLUMN_FLOOR: usize = 3;
/// The longest unit of a number, in characters.
const UNIT: usize = 3;
const CODE_INDENT: &str = "    ";
/// The narrowest text inside of lists and quotes.
const WIDTH_MIN: usize = 10;
/// Lists and quotes inside of so many others are shown like their content.
const DEPTH_MAX: usize = 16;

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkdownStyle {
    Normal,
    Bold,
    Slanted,
}

impl MarkdownStyle {
    const fn code(self) -> &'static str {
        match self {
            Self::Normal => "",
            Self::Bold => "\x1b[1m",
            Self::Slanted => "\x1b[3m",
        }
    }
}

/// A word in pieces of one style each. An empty one is a line break.
type StyledWord = Vec<(String, MarkdownStyle)>;

pub(crate) fn render(text: &str, width: usize, colours: Colours) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = BlockReader { events: Parser::new_ext(text, options), colours };
    reader.blocks(width.max(20), 0).join("\n\n")
}

/// Reads blocks and what is inside of them.
struct BlockReader<'a> {
    events: Parser<'a>,
    colours: Colours,
}

impl BlockReader<'_> {
    /// Renders blocks up to the end of what they are in.
    fn blocks(&mut self, width: usize, depth: usize) -> Vec<String> {
        let width = width.max(WIDTH_MIN);
        let page = Renderer { width, colours: self.colours };
        let (mut blocks, mut text) = (Vec::new(), InlineText::default());
        // Lists and quotes that are too deep are shown like their content.
        let mut n_transparent = 0_usize;
        while let Some(event) = self.events.next() {
            if text.take(&event) {
                continue;
            }
            text.finish(&page, &mut blocks);
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let words = self.inline();
                    blocks.push(page.heading(level, words));
                }
                Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => {
                    let indent =
                        if let Event::Start(Tag::CodeBlock(_)) = event { CODE_INDENT } else { "" };
                    blocks.push(self.verbatim(indent));
                }
                Event::Start(Tag::BlockQuote(_)) if depth < DEPTH_MAX => {
                    let inner = self.blocks(width.saturating_sub(2), depth + 1).join("\n\n");
                    let lines = inner.lines().map(|line| format!("│ {line}").trim_end().to_owned());
                    blocks.push(lines.collect::<Vec<_>>().join("\n"));
                }
                Event::Start(Tag::List(first)) if depth < DEPTH_MAX => {
                    blocks.push(self.list(first, width, depth));
                }
                Event::Start(Tag::Table(_)) => {
                    let rows = self.table_rows();
                    blocks.push(page.table(&rows));
                }
                Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item) => n_transparent += 1,
                Event::Rule => blocks.push("─".repeat(width)),
                Event::Html(html) => blocks.push(sanitize(html.trim_end())),
                Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {
                    match n_transparent.checked_sub(1) {
                        Some(rest) => n_transparent = rest,
                        None => return blocks,
                    }
                }
                // Paragraphs end their text; nothing else is enabled.
                Event::Start(_)
                | Event::End(_)
                | Event::Text(_)
                | Event::Code(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_)
                | Event::SoftBreak
                | Event::HardBreak
                | Event::TaskListMarker(_) => {}
            }
        }
        text.finish(&page, &mut blocks);
        blocks
    }

    /// Renders a list with all its items, nested ones included.
    fn list(&mut self, first: Option<u64>, width: usize, depth: usize) -> String {
        let indent = if depth == 0 { "  " } else { "" };
        let (mut items, mut number) = (Vec::new(), first);
        while let Some(Event::Start(Tag::Item)) = self.events.next() {
            let mark = number.map_or_else(|| "•".to_owned(), |number| format!("{number}."));
            number = number.map(|number| number.saturating_add(1));
            let room = width.saturating_sub(indent.len() + text_width::width(&mark) + 1);
            let inner = self.blocks(room, depth + 1).join("\n");
            // A box to check takes the place of the mark.
            let (mark, inner) = match inner.chars().next() {
                Some(mark @ ('☐' | '☑')) => {
                    (mark.to_string(), inner[mark.len_utf8()..].trim_start())
                }
                Some(_) | None => (mark, inner.as_str()),
            };
            let first = format!("{indent}{mark} ");
            let rest = " ".repeat(text_width::width(&first));
            // An item without text still has its number.
            let mut lines = inner.lines();
            let mut item = format!("{first}{}", lines.next().unwrap_or_default());
            for line in lines {
                let _ = write!(item, "\n{rest}{line}");
            }
            items.push(item.trim_end().to_owned());
        }
        items.join("\n")
    }

    /// Renders lines as they are, up to the end of their block.
    fn verbatim(&mut self, indent: &str) -> String {
        let mut text = String::new();
        for event in self.events.by_ref() {
            if let Event::Text(part) | Event::Html(part) = event {
                text.push_str(&part);
            } else if let Event::End(_) = event {
                break;
            }
        }
        let text = sanitize(&text).replace('\t', "    ");
        let lines =
            text.trim_end().lines().map(|line| format!("{indent}{line}").trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Reads text up to the end of its block.
    fn inline(&mut self) -> Vec<StyledWord> {
        let mut text = InlineText::default();
        for event in self.events.by_ref() {
            if let Event::End(TagEnd::Heading(_) | TagEnd::TableCell) = event {
                break;
            }
            text.take(&event);
        }
        text.into_words()
    }

    /// Reads the rows of a table, with the heading as the first.
    fn table_rows(&mut self) -> Vec<Vec<Vec<StyledWord>>> {
        let mut rows = Vec::new();
        while let Some(event) = self.events.next() {
            if let Event::Start(Tag::TableHead | Tag::TableRow) = event {
                rows.push(Vec::new());
            } else if let Event::Start(Tag::TableCell) = event {
                let cell = self.inline();
                if let Some(row) = rows.last_mut() {
                    row.push(cell);
                }
            } else if let Event::End(TagEnd::Table) = event {
                break;
            }
        }
        rows
    }
}

/// Text of a paragraph, a heading or a cell, while it is read.
#[derive(Default)]
struct InlineText {
    words: Vec<StyledWord>,
    /// Whether the next text belongs to the last word.
    is_inside_word: bool,
    styles: Vec<MarkdownStyle>,
    /// The targets of links that are open, with where their text begins.
    links: Vec<(String, usize)>,
}

impl InlineText {
    /// Takes an event that belongs to the text. Returns false for all others.
    fn take(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Text(text) | Event::InlineHtml(text) => self.push(&sanitize(text)),
            Event::Code(code) => self.push(&format!("`{}`", sanitize(code))),
            Event::SoftBreak => self.is_inside_word = false,
            Event::HardBreak => {
                self.words.push(Vec::new());
                self.is_inside_word = false;
            }
            Event::TaskListMarker(is_done) => self.push(if *is_done { "☑ " } else { "☐ " }),
            Event::Start(Tag::Emphasis) => self.styles.push(MarkdownStyle::Slanted),
            Event::Start(Tag::Strong) => self.styles.push(MarkdownStyle::Bold),
            Event::Start(Tag::Strikethrough) | Event::End(TagEnd::Strikethrough) => self.push("~~"),
            Event::End(TagEnd::Emphasis | TagEnd::Strong) => drop(self.styles.pop()),
            Event::Start(
                Tag::Link { dest_url, title, .. } | Tag::Image { dest_url, title, .. },
            ) => {
                self.links.push((link_target(dest_url, title), self.words.len()));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => self.end_link(),
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::FootnoteReference(_)
            | Event::Rule => return false,
        }
        true
    }

    fn push(&mut self, text: &str) {
        let style = self.styles.last().copied().unwrap_or(MarkdownStyle::Normal);
        for (n, part) in text.split(char::is_whitespace).enumerate() {
            if n > 0 {
                self.is_inside_word = false;
            }
            if part.is_empty() {
                continue;
            }
            match self.words.last_mut().filter(|_| self.is_inside_word) {
                Some(word) => word.push((part.to_owned(), style)),
                None => self.words.push(vec![(part.to_owned(), style)]),
            }
            self.is_inside_word = true;
        }
    }

    /// Appends the target of a link, unless it is its text.
    fn end_link(&mut self) {
        let Some((target, first)) = self.links.pop() else { return };
        let words = self.words.get(first..).unwrap_or_default().iter();
        let shown: Vec<String> =
            words.map(|word| word.iter().map(|(part, _)| part.as_str()).collect()).collect();
        let target = sanitize(&target);
        if !target.is_empty() && shown.join(" ") != target {
            self.is_inside_word = false;
            self.push(&format!("({target})"));
        }
    }

    fn into_words(self) -> Vec<StyledWord> {
        self.words
    }

    /// Renders what was read as a paragraph.
    fn finish(&mut self, page: &Renderer, blocks: &mut Vec<String>) {
        let words = std::mem::take(self).words;
        if !words.is_empty() {
            blocks.push(page.lines(&words));
        }
    }
}

fn link_target(url: &CowStr<'_>, title: &CowStr<'_>) -> String {
    if title.is_empty() { url.to_string() } else { format!("{url}, {title}") }
}

struct Renderer {
    width: usize,
    colours: Colours,
}

impl Renderer {
    fn heading(&self, level: HeadingLevel, words: Vec<StyledWord>) -> String {
        let to_bold = |word: StyledWord| {
            word.into_iter().map(|(text, _)| (text, MarkdownStyle::Bold)).collect::<StyledWord>()
        };
        let mut words: Vec<StyledWord> = words.into_iter().map(to_bold).collect();
        match self.colours {
            Colours::Yes => {}
            Colours::No => {
                let mark = "#".repeat(level as usize);
                words.insert(0, vec![(mark, MarkdownStyle::Bold)]);
            }
        }
        self.lines(&words)
    }

    fn table(&self, rows: &[Vec<Vec<StyledWord>>]) -> String {
        let n_columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths = self.widths(rows, n_columns);
        let mut text = String::new();
        for (position, row) in rows.iter().enumerate() {
            let cell = |column: usize| {
                let words = row.get(column).map(Vec::as_slice).unwrap_or_default();
                self.cell(words, widths[column], position)
            };
            let cells: Vec<Vec<String>> = (0..n_columns).map(cell).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            for line in 0..height {
                let parts = cells.iter().zip(&widths).map(|(cell, width)| {
                    let part = cell.get(line).map_or("", String::as_str);
                    let pad = width.saturating_sub(visible(part));
                    format!("{part}{}", " ".repeat(pad))
                });
                let _ = writeln!(text, "{}", parts.collect::<Vec<_>>().join(" │ ").trim_end());
            }
            if position == 0 {
                let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>();
                let _ = writeln!(text, "{}", rule.join("─┼─"));
            }
        }
        text.trim_end().to_owned()
    }

    /// Returns the widths of a table's columns. Text columns shrink until all fit or none can; a column of numbers is
    /// as wide as the widest of them, though its heading may be broken.
    fn widths(&self, rows: &[Vec<Vec<StyledWord>>], n_columns: usize) -> Vec<usize> {
        let widest = |rows: &[Vec<Vec<StyledWord>>], column: usize| {
            let widths =
                rows.iter().filter_map(|row| row.get(column)).map(|cell| words_width(cell));
            widths.max().unwrap_or_default().max(1)
        };
        let body = rows.get(1..).unwrap_or_default();
        let mut widths: Vec<usize> = (0..n_columns).map(|column| widest(rows, column)).collect();
        let room = self.width.saturating_sub(3 * n_columns.saturating_sub(1));
        for least in [COLUMN_MIN, COLUMN_FLOOR] {
            let least = |column: usize| {
                let mut cells = body.iter().filter_map(|row| row.get(column));
                if cells.all(|cell| is_number(cell)) { widest(body, column) } else { least }
            };
            let least: Vec<usize> = (0..n_columns).map(least).collect();
            while widths.iter().sum::<usize>() > room {
                let gives =
                    widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
                let Some((most, _)) = gives.max_by_key(|(width, _)| **width) else { break };
                *most -= 1;
            }
        }
        widths
    }

    /// Renders the lines of a cell. Row 0 is the heading.
    fn cell(&self, words: &[StyledWord], width: usize, row: usize) -> Vec<String> {
        let mut words = words.to_vec();
        if row == 0 {
            words.iter_mut().flatten().for_each(|(_, style)| *style = MarkdownStyle::Bold);
        }
        let words: Vec<StyledWord> =
            words.into_iter().flat_map(|word| break_word(word, width)).collect();
        let narrow = Self { width, colours: self.colours };
        narrow.lines(&words).lines().map(str::to_owned).collect()
    }

    /// Wraps words at the width.
    fn lines(&self, words: &[StyledWord]) -> String {
        let (mut text, mut column, mut is_first) = (String::new(), 0, true);
        for word in words {
            let length = length(word);
            if word.is_empty() || !is_first && column + 1 + length > self.width {
                text.push('\n');
                column = 0;
            } else if !is_first {
                text.push(' ');
                column += 1;
            }
            for (part, style) in word {
                text.push_str(&self.styled(part, *style));
            }
            column += length;
            is_first = word.is_empty();
        }
        text.trim_end().to_owned()
    }

    fn styled(&self, text: &str, style: MarkdownStyle) -> String {
        match (self.colours, style) {
            (Colours::No, _) | (Colours::Yes, MarkdownStyle::Normal) => text.to_owned(),
            (Colours::Yes, style) => format!("{}{text}\x1b[0m", style.code()),
        }
    }
}

/// Returns the width of a text that may have escape sequences for colours.
fn visible(text: &str) -> usize {
    let mut shown = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\x1b' {
            rest.by_ref().find(|c| *c == 'm');
        } else {
            shown.push(c);
        }
    }
    text_width::width(&shown)
}

fn length(word: &StyledWord) -> usize {
    word.iter().map(|(part, _)| text_width::width(part)).sum()
}

fn words_width(words: &[StyledWord]) -> usize {
    words.iter().map(|word| length(word) + 1).sum::<usize>().saturating_sub(1)
}

/// Returns true if a cell is empty or holds a number, perhaps with its unit (`1 h 12 min`).
fn is_number(cell: &[StyledWord]) -> bool {
    let words: Vec<String> =
        cell.iter().map(|word| word.iter().map(|(part, _)| part.as_str()).collect()).collect();
    let text = words.join(" ");
    let text = text.trim_matches(|c| "`$~≥<>+-–— ".contains(c));
    let is_part = |word: &str| word.contains(|c: char| c.is_ascii_digit()) || word.len() <= UNIT;
    text.chars().next().is_none_or(|first| first.is_ascii_digit())
        && text.split_whitespace().all(is_part)
}

/// Breaks a word into pieces of at most `columns`, after a punctuation mark if there is one.
fn break_word(word: StyledWord, columns: usize) -> Vec<StyledWord> {
    if length(&word) <= columns {
        return vec![word];
    }
    let all: Vec<(char, MarkdownStyle)> = word
        .iter()
        .flat_map(|(part, style)| part.chars().map(move |letter| (letter, *style)))
        .collect();
    let mut pieces = Vec::new();
    let mut rest = all.as_slice();
    while !rest.is_empty() {
        let mut width = 0;
        let fits = |(letter, _): &&(char, MarkdownStyle)| {
            width += text_width::width(&letter.to_string());
            width <= columns
        };
        let most = rest.iter().take_while(fits).count().max(1);
        let mark = rest[..most].iter().rposition(|(letter, _)| "-/_.:,#".contains(*letter));
        let end = match mark {
            Some(mark) if most < rest.len() => mark + 1,
            Some(_) | None => most,
        };
        let mut piece: StyledWord = Vec::new();
        for (letter, style) in &rest[..end] {
            match piece.last_mut() {
                Some((text, last)) if last == style => text.push(*letter),
                Some(_) | None => piece.push((letter.to_string(), *style)),
            }
        }
        pieces.push(piece);
        rest = &rest[end..];
    }
    pieces
}

#[cfg(test)]
mod tests;
