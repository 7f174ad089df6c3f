//! How things look: times, amounts, columns, and where they go.

use std::io::{self, IsTerminal as _, Write as _};

use forge_core::Time;
use forge_runtime::Trouble;

use crate::{
    markdown::{self, Ink},
    pager::{Paging, page},
    text_width::{self, LongWords},
};

/// The width of a screen that does not say how wide it is.
const WIDTH_DEFAULT: usize = 80;

/// Writes text for people. A reader that has gone away ends the program quietly; a full disk does
/// not.
pub(crate) fn say(text: &str) {
    say_as_it_is(&harmless(text));
}

/// Writes text that matters less than what is beside it.
pub(crate) fn say_in_grey(text: &str) {
    let grey = if colours(&io::stdout()) { ("\x1b[90m", "\x1b[0m") } else { ("", "") };
    say_as_it_is(&format!("{}{}{}", grey.0, harmless(text), grey.1));
}

/// Writes data for programs, which is not changed for anybody.
pub(crate) fn say_as_it_is(text: &str) {
    match write(text) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            warn(&format!("error: the output cannot be written: {error}"));
            std::process::exit(2);
        }
    }
}

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
        return page(&readable(pieces), paging);
    }
    for piece in pieces {
        say_exactly(&piece.bytes);
    }
}

/// The content of something as a person reads it on a terminal. It cannot steer it.
pub(crate) fn readable(pieces: &[Piece]) -> String {
    let ink = if colours(&io::stdout()) { Ink::Coloured } else { Ink::Plain };
    let readable = |piece: &Piece| {
        let text = harmless(String::from_utf8_lossy(&piece.bytes).trim_end());
        match (piece.form, ink) {
            (Form::Markdown, ink) => markdown::render(&text, width(), ink),
            (Form::Diff, Ink::Coloured) => coloured_diff(&text),
            (Form::Diff, Ink::Plain) | (Form::Text, _) => text,
        }
    };
    pieces.iter().map(readable).collect::<Vec<String>>().join("\n\n")
}

/// Writes a text in Markdown that goes by while a run is driven: rendered on a terminal.
pub(crate) fn tell_markdown(text: &str) {
    let out = io::stdout();
    if !out.is_terminal() {
        return tell(text);
    }
    let ink = if colours(&out) { Ink::Coloured } else { Ink::Plain };
    tell_as_it_is(&markdown::render(&harmless(text.trim_end()), width(), ink));
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

/// Writes bytes as they are.
pub(crate) fn say_exactly(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            warn(&format!("error: the output cannot be written: {error}"));
            std::process::exit(2);
        }
    }
}

/// Writes a piece of something that goes on, as it is for programs and harmless on a terminal.
pub(crate) fn say_piece(bytes: &[u8]) {
    let harmless_text;
    let bytes = if io::stdout().is_terminal() {
        harmless_text = harmless(&String::from_utf8_lossy(bytes));
        harmless_text.as_bytes()
    } else {
        bytes
    };
    say_exactly(bytes);
}

/// Writes text that goes by while a run is driven. A run does not depend on who listens.
pub(crate) fn tell(text: &str) {
    tell_as_it_is(&harmless(text));
}

/// Writes data that goes by while a run is driven.
pub(crate) fn tell_as_it_is(text: &str) {
    let _nobody_listens = write(text);
}

/// A text that cannot steer the terminal, whoever wrote it: agents say much of what is shown.
pub(crate) fn harmless(text: &str) -> String {
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(steers, "\u{fffd}")
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush())
}

/// Writes what is not data.
pub(crate) fn warn(text: &str) {
    let _nobody_reads = writeln!(io::stderr().lock(), "{text}");
}

/// Says what a person should know beside what they asked for: one line for programs, as many as it takes on a terminal.
pub(crate) fn note(text: &str) {
    let text = harmless(&format!("note: {text}"));
    let fits = io::stderr().is_terminal() && io::stdout().is_terminal();
    warn(&if fits { wrap(&text, 6, width()) } else { text });
}

/// Rings, if somebody sits at a terminal.
pub(crate) fn ring() {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let _nobody_hears = err.write_all(b"\x07").and_then(|()| err.flush());
    }
}

/// Says what happened, why, and the next command.
pub(crate) fn trouble(trouble: &Trouble) {
    let red = if colours(&io::stderr()) { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    warn(&format!("{}error:{} {}", red.0, red.1, harmless(&trouble.what)));
    if let Some(next) = &trouble.next {
        warn(&format!(" next: {}", harmless(next)));
    }
}

/// Whether a stream is shown in colours.
pub(crate) fn colours(stream: &impl io::IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A bar of at most this width for a part of a whole: blocks in one colour, or plain signs where there
/// are no colours. Whatever is more than nothing has a bar.
pub(crate) fn bar(part: u64, whole: u64, width: usize) -> String {
    let cells = u128::from(part) * width as u128;
    let cells = usize::try_from(cells.div_ceil(u128::from(whole.max(1)))).unwrap_or(width);
    let cells = cells.min(width);
    if cells == 0 {
        return String::new();
    }
    if colours(&io::stdout()) {
        format!("\x1b[36m{}\x1b[0m", "█".repeat(cells))
    } else {
        "#".repeat(cells)
    }
}

/// A large number in a few letters: `950`, `1.2k`, `34M`.
pub(crate) fn short_number(number: u64) -> String {
    let mut unit = 1_000;
    for letter in ["k", "M", "G"] {
        if number < unit {
            break;
        }
        let tenths = number / (unit / 10);
        if tenths < 100 {
            return format!("{}.{}{letter}", tenths / 10, tenths % 10);
        }
        if tenths < 10_000 || letter == "G" {
            return format!("{}{letter}", tenths / 10);
        }
        unit *= 1_000;
    }
    number.to_string()
}

/// How wide the screen is.
pub(crate) fn width() -> usize {
    if !io::stdout().is_terminal() {
        return WIDTH_DEFAULT;
    }
    let size = rustix::termios::tcgetwinsize(io::stdout());
    size.ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|width| *width >= 20)
        .unwrap_or(WIDTH_DEFAULT)
}

/// A moment, as the clock on the wall shows it.
pub(crate) fn clock(at: Time) -> String {
    zoned(at).map(|at| at.strftime("%H:%M:%S").to_string()).unwrap_or_default()
}

/// A moment with its day.
pub(crate) fn day_and_clock(at: Time) -> String {
    zoned(at).map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}

/// A moment that is still to come, with its day if that is another one.
pub(crate) fn then(at: Time, now: Time) -> String {
    let day = |at| zoned(at).map(|at| at.date());
    if day(at) == day(now) { clock(at) } else { day_and_clock(at) }
}

fn zoned(at: Time) -> Option<jiff::Zoned> {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::system()))
}

/// How long ago something was, in one unit.
pub(crate) fn ago(at: Time, now: Time) -> String {
    let seconds = now.saturating_sub(at) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A text on one line, cut to a width.
pub(crate) fn cut(text: &str, width: usize) -> String {
    text_width::cut(&text.split_whitespace().collect::<Vec<&str>>().join(" "), width)
}

/// A name cut in its middle, because its end tells it from others.
pub(crate) fn cut_middle(name: &str, width: usize) -> String {
    text_width::cut_middle(name, width)
}

/// A number of things: `1 call`, `2 calls`.
pub(crate) fn count(n: u32, what: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {what}{ending}")
}

/// A text broken at its spaces into lines of a width, each after the first indented. The first begins at the
/// left; a word that is wider than a line is left whole.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> String {
    text_width::broken(text, 0, indent, width, LongWords::Whole)
}

/// What follows the beginning of a line, broken at spaces; all other lines begin where it began.
pub(crate) fn block(beginning: &str, text: &str, width: usize) -> String {
    let column = text_width::width(beginning);
    format!("{beginning}{}", text_width::broken(text, column, column, width, LongWords::Whole))
}

/// A fact with what stands before it: one line for programs, as many as it takes on a terminal.
pub(crate) fn fact(beginning: &str, sentence: &str) -> String {
    if io::stdout().is_terminal() {
        block(beginning, sentence, width())
    } else {
        format!("{beginning}{sentence}")
    }
}

/// A line that keeps its spaces, cut to a width.
pub(crate) fn cut_end(line: &str, width: usize) -> String {
    text_width::cut(line.trim_end(), width)
}
