//! Renders Markdown for a terminal: headings, lists, tables, code, quotes, bold and links.
//!
//! Not a complete Markdown processor: unknown syntax stays as it was written, and no text is lost. Programs get the
//! bytes unchanged; see `document.rs`.
//!
//! Invariant: no line of prose or list is wider than the width, unless one word is; no line of a table is, unless its
//! numbers alone are: numbers and code are never broken. The input is sanitized already.

use std::fmt::Write as _;

use crate::{terminal_info::Colours, text_width};

/// The narrowest column of text in a table: preferably, and at all.
const COLUMN_MIN: usize = 6;
const COLUMN_FLOOR: usize = 3;
/// The longest unit of a number, in characters.
const UNIT: usize = 3;
const CODE_INDENT: &str = "    ";

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkdownStyle {
    Normal,
    Bold,
    Slanted,
    Code,
    Heading,
}

impl MarkdownStyle {
    const fn code(self) -> &'static str {
        match self {
            Self::Normal => "",
            Self::Bold => "\x1b[1m",
            Self::Slanted => "\x1b[3m",
            Self::Code => "\x1b[36m",
            Self::Heading => "\x1b[1;35m",
        }
    }
}

/// A word in pieces of one style each.
type StyledWord = Vec<(String, MarkdownStyle)>;

pub(crate) fn render(text: &str, width: usize, colours: Colours) -> String {
    let page = Renderer { width: width.max(20), colours };
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if line.trim().is_empty() {
            at += 1;
            continue;
        }
        let (block, next) = page.block(&lines, at);
        blocks.push(block);
        at = next;
    }
    blocks.join("\n\n")
}

struct Renderer {
    width: usize,
    colours: Colours,
}

impl Renderer {
    /// Renders the block that begins at line `at`, and returns the line after it.
    fn block(&self, lines: &[&str], at: usize) -> (String, usize) {
        let line = lines[at];
        if let Some(fence) = fence(line) {
            let inside = lines[at + 1..].iter();
            let n = inside.take_while(|line| !closes(line, fence)).count();
            let code = self.code(&lines[at + 1..at + 1 + n]);
            return (code, (at + n + 2).min(lines.len()));
        }
        if let Some((level, title)) = heading(line) {
            return (self.heading(level, title), at + 1);
        }
        if is_rule(line) {
            return ("─".repeat(self.width), at + 1);
        }
        if line.contains('|') && lines.get(at + 1).is_some_and(|next| is_table_rule(next)) {
            let n = lines[at..].iter().take_while(|line| line.contains('|')).count();
            return (self.table(&lines[at..at + n]), at + n);
        }
        if line.trim_start().starts_with('>') {
            let quoted = |line: &&&str| line.trim_start().starts_with('>');
            let n = lines[at..].iter().take_while(quoted).count();
            return (self.quote(&lines[at..at + n]), at + n);
        }
        if bullet(line).is_some() {
            return self.list(lines, at);
        }
        if line.starts_with("    ") || line.starts_with('\t') {
            let is_code = |line: &&&str| line.starts_with("    ") || line.starts_with('\t');
            let n = lines[at..].iter().take_while(is_code).count();
            return (lines[at..at + n].join("\n"), at + n);
        }
        let n = lines[at..].iter().skip(1).take_while(|line| continues_paragraph(line)).count() + 1;
        let text = lines[at..at + n].join("\n");
        (self.flow(&text, "", ""), at + n)
    }

    fn heading(&self, level: usize, title: &str) -> String {
        let style = if level <= 2 { MarkdownStyle::Heading } else { MarkdownStyle::Bold };
        let words = words(title)
            .into_iter()
            .map(|word| word.into_iter().map(|(text, _)| (text, style)).collect::<StyledWord>());
        let mark = match self.colours {
            Colours::Yes => String::new(),
            Colours::No => format!("{} ", "#".repeat(level)),
        };
        self.lines(&words.collect::<Vec<_>>(), &mark, "")
    }

    fn code(&self, lines: &[&str]) -> String {
        let lines = lines.iter().map(|line| {
            format!(
                "{CODE_INDENT}{}",
                self.styled(&line.replace('\t', "    "), MarkdownStyle::Code)
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn quote(&self, lines: &[&str]) -> String {
        let strip = |line: &&str| {
            let line = line.trim_start().trim_start_matches('>');
            line.strip_prefix(' ').unwrap_or(line).to_owned()
        };
        let text: Vec<String> = lines.iter().map(strip).collect();
        let paragraphs = text.split(|line| line.trim().is_empty()).filter(|part| !part.is_empty());
        let paragraphs = paragraphs.map(|part| self.flow(&part.join("\n"), "│ ", "│ "));
        paragraphs.collect::<Vec<_>>().join("\n│\n")
    }

    /// Renders a list with all its items, nested ones included.
    fn list(&self, lines: &[&str], from: usize) -> (String, usize) {
        let mut items = Vec::new();
        let mut at = from;
        while let Some((indent, mark, text)) = lines.get(at).and_then(|line| bullet(line)) {
            let mut text = text.to_owned();
            at += 1;
            while let Some(line) = lines.get(at).filter(|line| continues_paragraph(line)) {
                text.push('\n');
                text.push_str(line.trim());
                at += 1;
            }
            let (shown, text) = match text.get(..4) {
                Some("[ ] ") => ("☐".to_owned(), text[4..].to_owned()),
                Some("[x] " | "[X] ") => ("☑".to_owned(), text[4..].to_owned()),
                Some(_) | None => (mark, text),
            };
            let first = format!("{}{shown} ", " ".repeat(indent + 2));
            let rest = " ".repeat(text_width::width(&first));
            items.push(self.flow(&text, &first, &rest));
            // One empty line between two items is dropped.
            let is_next = |line: &&str| bullet(line).is_some();
            if lines.get(at).is_some_and(|line| line.trim().is_empty())
                && lines.get(at + 1).is_some_and(is_next)
            {
                at += 1;
            }
        }
        (items.join("\n"), at)
    }

    fn table(&self, lines: &[&str]) -> String {
        let rows: Vec<Vec<&str>> = lines
            .iter()
            .enumerate()
            .filter(|(position, _)| *position != 1)
            .map(|(_, line)| cells(line))
            .collect();
        let n_columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths = self.widths(&rows, n_columns);
        let mut text = String::new();
        for (position, row) in rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = (0..n_columns)
                .map(|column| {
                    self.cell(
                        row.get(column).copied().unwrap_or_default(),
                        widths[column],
                        position,
                    )
                })
                .collect();
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
    fn widths(&self, rows: &[Vec<&str>], n_columns: usize) -> Vec<usize> {
        let widest = |rows: &[Vec<&str>], column: usize| {
            let cell_width =
                |row: &Vec<&str>| row.get(column).map_or(0, |cell| words_width(&words(cell)));
            rows.iter().map(cell_width).max().unwrap_or_default().max(1)
        };
        let body = rows.get(1..).unwrap_or_default();
        let mut widths: Vec<usize> = (0..n_columns).map(|column| widest(rows, column)).collect();
        let room = self.width.saturating_sub(3 * n_columns.saturating_sub(1));
        for least in [COLUMN_MIN, COLUMN_FLOOR] {
            let least = |column: usize| {
                let has_numbers =
                    body.iter().filter_map(|row| row.get(column)).all(|cell| is_number(cell));
                if has_numbers { widest(body, column) } else { least }
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
    fn cell(&self, text: &str, width: usize, row: usize) -> Vec<String> {
        let mut words = words(text);
        if row == 0 {
            words.iter_mut().flatten().for_each(|(_, style)| *style = MarkdownStyle::Bold);
        }
        let words: Vec<StyledWord> =
            words.into_iter().flat_map(|word| break_word(word, width)).collect();
        let narrow = Self { width, colours: self.colours };
        narrow.lines(&words, "", "").lines().map(str::to_owned).collect()
    }

    fn flow(&self, text: &str, first: &str, rest: &str) -> String {
        // Two spaces or a backslash at the end of a line are a line break.
        let mut parts: Vec<String> = vec![String::new()];
        for line in text.lines() {
            let part = parts.last_mut().expect("there is always one");
            let is_end = line.ends_with("  ") || line.ends_with('\\');
            part.push_str(line.trim().trim_end_matches('\\'));
            part.push('\n');
            if is_end {
                parts.push(String::new());
            }
        }
        let parts = parts.iter().filter(|part| !part.trim().is_empty()).enumerate();
        let lines: Vec<String> = parts
            .map(|(n, part)| self.lines(&words(part), if n == 0 { first } else { rest }, rest))
            .collect();
        // An item without text still has its number.
        if lines.is_empty() { first.trim_end().to_owned() } else { lines.join("\n") }
    }

    /// Wraps words at the width.
    fn lines(&self, words: &[StyledWord], first: &str, rest: &str) -> String {
        let mut text = first.to_owned();
        let (mut column, mut is_first) = (text_width::width(first), true);
        for word in words {
            let length = length(word);
            if !is_first && column + 1 + length > self.width {
                text.push('\n');
                text.push_str(rest);
                column = text_width::width(rest);
            } else if !is_first {
                text.push(' ');
                column += 1;
            }
            for (part, style) in word {
                text.push_str(&self.styled(part, *style));
            }
            column += length;
            is_first = false;
        }
        text
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
fn is_number(cell: &str) -> bool {
    let cell = cell.trim_matches(|c| "*_`$~≥<>+-–— ".contains(c));
    let is_part = |word: &str| word.contains(|c: char| c.is_ascii_digit()) || word.len() <= UNIT;
    cell.chars().next().is_none_or(|first| first.is_ascii_digit())
        && cell.split_whitespace().all(is_part)
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

fn fence(line: &str) -> Option<char> {
    let line = line.trim_start();
    ['`', '~'].into_iter().find(|mark| line.starts_with(&mark.to_string().repeat(3)))
}

fn closes(line: &str, fence: char) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| c == fence)
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[level..].strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

fn is_rule(line: &str) -> bool {
    let marks: String = line.split_whitespace().collect();
    marks.len() >= 3 && ['-', '*', '_'].iter().any(|mark| marks.chars().all(|c| c == *mark))
}

fn is_table_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| "|-: ".contains(c))
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(str::trim).collect()
}

/// Returns the indent, the mark and the text of a list item.
fn bullet(line: &str) -> Option<(usize, String, &str)> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    if let Some(rest) = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)) {
        return Some((indent, "•".to_owned(), rest));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text[digits..].strip_prefix(". ").or_else(|| text[digits..].strip_prefix(") "))?;
    (1..=9).contains(&digits).then(|| (indent, format!("{}.", &text[..digits]), rest))
}

/// Returns true if a line continues the paragraph before it.
fn continues_paragraph(line: &str) -> bool {
    !line.trim().is_empty()
        && fence(line).is_none()
        && heading(line).is_none()
        && bullet(line).is_none()
        && !line.trim_start().starts_with('>')
        && !is_rule(line)
}

/// Splits a text into styled words. Marks without a meaning stay.
fn words(text: &str) -> Vec<StyledWord> {
    let mut words: Vec<StyledWord> = vec![Vec::new()];
    let mut style = MarkdownStyle::Normal;
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let (taken, shown, next) = piece(rest, style, before);
        match next {
            Some(next) => style = next,
            None => {
                for (n, part) in shown.split(char::is_whitespace).enumerate() {
                    if n > 0 && words.last().is_some_and(|word| !word.is_empty()) {
                        words.push(Vec::new());
                    }
                    let word = words.last_mut().expect("there is always one");
                    let code = if taken > shown.len() && rest.starts_with('`') {
                        MarkdownStyle::Code
                    } else {
                        style
                    };
                    match word.last_mut() {
                        Some((text, last)) if *last == code => text.push_str(part),
                        Some(_) | None if !part.is_empty() => word.push((part.to_owned(), code)),
                        Some(_) | None => {}
                    }
                }
            }
        }
        before = rest[..taken].chars().next_back().unwrap_or(c);
        rest = &rest[taken..];
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Parses the next piece: its bytes, the text to show, and the new style if it is a mark.
fn piece(rest: &str, style: MarkdownStyle, before: char) -> (usize, String, Option<MarkdownStyle>) {
    let c = rest.chars().next().unwrap_or_default();
    let plain = |n: usize| (n, rest[..n].to_owned(), None);
    let mark = |mark: &str, wanted: MarkdownStyle| {
        let is_open = style == wanted;
        let after = &rest[mark.len()..];
        let starts = after.starts_with(|c: char| !c.is_whitespace())
            && after.contains(mark)
            && (mark != "_" || !before.is_alphanumeric());
        let ends =
            !before.is_whitespace() && (mark != "_" || !after.starts_with(char::is_alphanumeric));
        match (style, is_open) {
            (_, true) if ends => Some((mark.len(), String::new(), Some(MarkdownStyle::Normal))),
            (MarkdownStyle::Normal, false) if starts => {
                Some((mark.len(), String::new(), Some(wanted)))
            }
            (_, _) => None,
        }
    };
    match c {
        '\\' if rest[1..].starts_with(|c: char| c.is_ascii_punctuation()) => {
            (2, rest[1..2].to_owned(), None)
        }
        // What others wrote is kept from being a tag so.
        '&' if rest.starts_with("&lt;") => ("&lt;".len(), "<".to_owned(), None),
        '`' => {
            let n = rest.bytes().take_while(|byte| *byte == b'`').count();
            match rest[n..].find(&rest[..n]) {
                Some(end) => (2 * n + end, rest[n..n + end].trim().to_owned(), None),
                None => plain(n),
            }
        }
        '*' if rest.starts_with("**") => {
            mark("**", MarkdownStyle::Bold).unwrap_or_else(|| plain(2))
        }
        '_' if rest.starts_with("__") => {
            mark("__", MarkdownStyle::Bold).unwrap_or_else(|| plain(2))
        }
        '*' => mark("*", MarkdownStyle::Slanted).unwrap_or_else(|| plain(1)),
        '_' => mark("_", MarkdownStyle::Slanted).unwrap_or_else(|| plain(1)),
        '[' => link(rest).map_or_else(|| plain(1), |(taken, shown)| (taken, shown, None)),
        _ => {
            let ordinary = |c: char| !"\\`*_[&".contains(c);
            let n = rest.find(|c| !ordinary(c)).unwrap_or(rest.len());
            plain(n.max(c.len_utf8()))
        }
    }
}

/// Parses a link, shown as its text and target.
fn link(rest: &str) -> Option<(usize, String)> {
    let end = rest.find("](")?;
    let text = &rest[1..end];
    let close = rest[end..].find(')')? + end;
    let target = &rest[end + 2..close];
    if text.is_empty() || text.contains(['[', '\n']) || target.contains(char::is_whitespace) {
        return None;
    }
    let shown = if text == target { text.to_owned() } else { format!("{text} ({target})") };
    Some((close + 1, shown))
}

#[cfg(test)]
mod tests;
