//! How values look: times, durations, numbers, and texts that are cut or wrapped.

use forge_core::{Time, id::UnitId, view::RunRow};

pub(crate) use forge_api::run_id::short_id;
pub(crate) use forge_core::view::{short_number, span as duration};

use crate::{
    palette::Hue,
    terminal_info::Colours,
    text_width::{self, LongWords},
};

/// Words at the beginning of a line, behind which its other lines begin.
const LINE_LABELS: [&str; 5] = ["error: ", "help: ", "or: ", "Next: ", "Warning: "];

/// So far the columns of a line are looked for.
const COLUMNS_MAX: usize = 24;

/// Formats a bar of at most `width` cells: coloured blocks, or `#` without colours. A part above zero has at least
/// one cell.
pub(crate) fn bar(part: u64, whole: u64, width: usize, colours: Colours) -> String {
    let cells = u128::from(part) * width as u128;
    let cells = usize::try_from(cells.div_ceil(u128::from(whole.max(1)))).unwrap_or(width);
    let cells = cells.min(width);
    if cells == 0 {
        return String::new();
    }
    match colours {
        Colours::Yes => format!("{}{}\x1b[0m", Hue::Blue.code(), "█".repeat(cells)),
        Colours::No => "#".repeat(cells),
    }
}

/// Formats how many tokens were used. Nothing for none: then nobody told of any.
pub(crate) fn tokens(number: u64) -> Option<String> {
    (number > 0).then(|| format!("{} tokens", short_number(number)))
}

/// Formats the local time of day.
pub(crate) fn clock_time(at: Time) -> String {
    zoned(at).map(|at| at.strftime("%H:%M:%S").to_string()).unwrap_or_default()
}

/// Formats the local date.
pub(crate) fn date(at: Time) -> String {
    zoned(at).map(|at| at.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
}

/// Formats the local date and time.
pub(crate) fn date_and_time(at: Time) -> String {
    zoned(at).map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}

/// Formats a future time, with its date unless that is today.
pub(crate) fn future_time(at: Time, now: Time) -> String {
    let day = |at| zoned(at).map(|at| at.date());
    if day(at) == day(now) { clock_time(at) } else { date_and_time(at) }
}

fn zoned(at: Time) -> Option<jiff::Zoned> {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::system()))
}

/// Formats the time since `at` in one unit.
pub(crate) fn age(at: Time, now: Time) -> String {
    let seconds = now.saturating_sub(at) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Puts a text on one line and cuts it to a width.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    text_width::cut(&text.split_whitespace().collect::<Vec<&str>>().join(" "), width)
}

/// Formats a number of things: `1 call`, `2 calls`.
pub(crate) fn count(n: u32, what: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {what}{ending}")
}

/// Wraps a text at its spaces, indenting each line after the first. A word wider than a line stays whole.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> String {
    text_width::wrap(text, 0, indent, width, LongWords::Whole)
}

/// Wraps each line that is wider than a terminal. What continues one is indented as it is, and behind its label.
pub(crate) fn fit_lines(text: &str, width: usize) -> String {
    let fit = |line: &str| {
        if text_width::width(line) <= width {
            return line.to_owned();
        }
        let words = line.trim_start();
        let label = LINE_LABELS.iter().find(|label| words.starts_with(**label));
        let mut prefix = line.len() - words.len() + label.map_or(0, |label| label.len());
        // Columns have at least two spaces between them.
        while let Some(at) = line[prefix..].find("  ")
            && prefix + at <= COLUMNS_MAX
        {
            let rest = &line[prefix + at..];
            prefix += at + rest.len() - rest.trim_start().len();
        }
        hanging_indent(&line[..prefix], &line[prefix..], width)
    };
    text.split('\n').map(fit).collect::<Vec<String>>().join("\n")
}

/// Wraps a text after a prefix; all other lines are indented by the width of the prefix.
pub(crate) fn hanging_indent(prefix: &str, text: &str, width: usize) -> String {
    let column = text_width::width(prefix);
    format!("{prefix}{}", text_width::wrap(text, column, column, width, LongWords::Whole))
}

/// Wraps parts that are joined by ` · ` after a prefix. Parts are whole, as commands have to be.
pub(crate) fn hanging_parts(prefix: &str, text: &str, width: usize) -> String {
    let indent = text_width::width(prefix);
    let (mut lines, mut line) = (Vec::new(), prefix.to_owned());
    for (at, part) in text.split(" · ").enumerate() {
        if at > 0 && text_width::width(&line) + 3 + text_width::width(part) > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if at > 0 {
            line.push_str(" · ");
        }
        line.push_str(part);
    }
    lines.push(line);
    lines.join("\n")
}

/// Cuts a line to a width without joining its spaces.
pub(crate) fn cut_end(line: &str, width: usize) -> String {
    text_width::cut(line.trim_end(), width)
}

/// Formats how long a run was at work until a time, and how long nothing was done before its last record: it waited for
/// an answer, or stood still.
pub(crate) fn time_at_work(row: &RunRow, until: Time) -> String {
    let worked = bare_time_at_work(row, until);
    let asked = row.waited_ms.saturating_sub(row.held_ms);
    let idle = [(asked, "waited ", " for you"), (row.held_ms, "not running for ", "")];
    let idle = idle.iter().filter(|(ms, _, _)| *ms >= 1_000);
    let idle: Vec<String> =
        idle.map(|(ms, before, after)| format!("{before}{}{after}", duration(*ms))).collect();
    match idle.as_slice() {
        [] => worked,
        idle => format!("{worked} ({})", idle.join(", ")),
    }
}

/// Formats only how long a run was at work, where there is no room for more.
pub(crate) fn bare_time_at_work(row: &RunRow, until: Time) -> String {
    duration(until.saturating_sub(row.started_at).saturating_sub(row.waited_ms))
}

/// Returns the name of a unit in sentences: `design`, `T2`, `T2 plan`.
pub(crate) fn unit_label(unit: &str) -> String {
    unit.parse::<UnitId>().map_or_else(|_| unit.to_owned(), |unit| unit.label())
}

/// Returns the name of an artifact in commands: `T2/impl-T2.md` for `build.T2/impl-T2.md`.
pub(crate) fn artifact_argument(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((scope, _)) => scope.rfind('.').map_or(path, |dot| &path[dot + 1..]),
        None => path,
    }
}

/// Returns the name of a unit in commands: `design`, `T2`, `T2/plan`.
pub(crate) fn unit_argument(unit: &str) -> String {
    unit_label(unit).replace(' ', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_wide_are_wrapped_between_words_behind_their_label() {
        let text = "error: the run is not done\n help: forge approve 2tyb [-m \"WORDS\"]\n  a b";
        assert_eq!(
            fit_lines(text, 20),
            "\
error: the run is
       not done
 help: forge approve
       2tyb [-m
       \"WORDS\"]
  a b"
        );
        assert_eq!(
            fit_lines("✓ fixed  rewrote the file", 20),
            "✓ fixed  rewrote the\n         file"
        );
        assert_eq!(fit_lines(text, 80), text);
    }
}
