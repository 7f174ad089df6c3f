//! Lines as a terminal shows them: without escape codes and without progress that was overwritten.
//!
//! Invariant: linear in the line, and without a copy where there is nothing to take away.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// A control sequence; a text for the terminal up to a bell or the string terminator, of which only
/// the first letter counts if it has no end; a code of two letters.
const ESCAPE_PATTERN: &str = r"(?x)
    (?:\x1b\[|\x{9b})[\ -?]*[@-~]?
    | \x1b[\]PX^_](?:[^\x07\x1b]*(?:\x07|\x1b\\))?
    | \x1b[\ -/](?s:.)?
    | \x1b[0-~]?";

/// Returns the lines of an output, each as a terminal would leave it.
pub(crate) fn plain_lines(output: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let is_empty = output.is_empty();
    let output = output.strip_suffix('\n').unwrap_or(output);
    output.split('\n').map(plain_line).skip(usize::from(is_empty))
}

/// Returns one line as a terminal would leave it.
pub(crate) fn plain_line(line: &str) -> Cow<'_, str> {
    static ESCAPE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(ESCAPE_PATTERN).expect("our own pattern is valid"));
    let line = line.strip_suffix('\r').unwrap_or(line);
    if !line.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f || byte == 0xc2) {
        return Cow::Borrowed(line);
    }
    let line = ESCAPE.replace_all(line, "");
    let last = line.rsplit('\r').find(|text| !text.trim().is_empty());
    let mut plain = String::with_capacity(line.len());
    for c in last.or(line.rsplit('\r').next()).unwrap_or_default().chars() {
        match c {
            '\u{8}' => {
                plain.pop();
            }
            '\t' => plain.push(c),
            _ if c.is_control() => {}
            _ => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_a_terminal_would_leave() {
        for (line, expected) in [
            ("plain ü ✓", "plain ü ✓"),
            ("\u{1b}[31m×\u{1b}[39m bad\u{1b}[0K", "× bad"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bx\u{1b}=y", "xy"),
            ("10%\r50%\r100% done", "100% done"),
            ("done\r", "done"),
            ("text\r   ", "text"),
            ("ab\u{8}c", "ac"),
            ("\u{1b}[", ""),
            ("\u{1b}", ""),
            ("\u{1b}[3é", "é"),
            ("\u{1b}]never ends", "never ends"),
            ("nbsp\u{a0}stays", "nbsp\u{a0}stays"),
            ("a\u{9b}31mb\u{85}", "ab"),
            ("tab\tstays", "tab\tstays"),
        ] {
            assert_eq!(plain_line(line), expected, "{line:?}");
        }
        assert!(matches!(plain_line("nothing to do"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_last_line_end_adds_no_line() {
        let lines = |text| plain_lines(text).map(Cow::into_owned).collect::<Vec<_>>();
        assert_eq!(lines("a\n\nb\r\n"), ["a", "", "b"]);
        assert_eq!(lines("a"), ["a"]);
        assert_eq!(lines(""), [""; 0]);
        assert_eq!(lines("\n"), [""]);
        assert_eq!(lines("\n\n"), ["", ""]);
    }
}
