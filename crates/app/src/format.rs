//! How values look: times, durations, numbers, and texts that are cut or wrapped.

use std::io::{self, IsTerminal as _};

use forge_core::Time;

use crate::{
    terminal_output,
    text_width::{self, LongWords},
};

/// A bar of at most this width for a part of a whole: blocks in one colour, or plain signs where there
/// are no colours. Whatever is more than nothing has a bar.
pub(crate) fn bar(part: u64, whole: u64, width: usize) -> String {
    let cells = u128::from(part) * width as u128;
    let cells = usize::try_from(cells.div_ceil(u128::from(whole.max(1)))).unwrap_or(width);
    let cells = cells.min(width);
    if cells == 0 {
        return String::new();
    }
    if terminal_output::has_colours(&io::stdout()) {
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
        block(beginning, sentence, terminal_output::terminal_width())
    } else {
        format!("{beginning}{sentence}")
    }
}

/// A line that keeps its spaces, cut to a width.
pub(crate) fn cut_end(line: &str, width: usize) -> String {
    text_width::cut(line.trim_end(), width)
}

/// How long something took: `42 s`, `12:07`, `1:02:33`.
pub(crate) fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}
