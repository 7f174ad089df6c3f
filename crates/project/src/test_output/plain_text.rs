//! What a terminal would show of a line: no escape codes, no progress that was written over.
//!
//! Invariant: linear in the line, and without a copy where there is nothing to take away.

use std::borrow::Cow;

/// The lines of an output, each as a terminal would leave it.
pub(crate) fn plain_lines(output: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let is_empty = output.is_empty();
    let output = output.strip_suffix('\n').unwrap_or(output);
    output.split('\n').map(plain_line).skip(usize::from(is_empty))
}

/// One line as a terminal would leave it.
pub(crate) fn plain_line(line: &str) -> Cow<'_, str> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if !line.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f || byte == 0xc2) {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let mut before_return = String::new();
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_sequence(&mut rest),
            '\r' => {
                if !plain.trim().is_empty() {
                    before_return = std::mem::take(&mut plain);
                }
                plain.clear();
            }
            '\u{8}' => {
                plain.pop();
            }
            '\t' => plain.push(c),
            _ if c.is_control() => {}
            _ => plain.push(c),
        }
    }
    if plain.trim().is_empty() && !before_return.is_empty() {
        plain = before_return;
    }
    Cow::Owned(plain)
}

/// Skips what belongs to an escape character.
fn skip_escape(rest: &mut std::str::Chars) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // A text for the terminal, up to a bell or the string terminator. Without one it was cut
            // off, and only its first letter is taken for it.
            let mut text = ahead.clone();
            while let Some(c) = text.next() {
                if c == '\u{7}' || (c == '\u{1b}' && text.clone().next() == Some('\\')) {
                    if c == '\u{1b}' {
                        text.next();
                    }
                    ahead = text;
                    break;
                }
                if c == '\u{1b}' {
                    break;
                }
            }
            *rest = ahead;
        }
        Some(' '..='/') => {
            ahead.next();
            *rest = ahead;
        }
        Some('0'..='~') => *rest = ahead,
        Some(_) | None => {}
    }
}

/// Skips numbers up to the letter that ends a control sequence.
fn skip_sequence(rest: &mut std::str::Chars) {
    loop {
        let mut ahead = rest.clone();
        match ahead.next() {
            Some(' '..='?') => *rest = ahead,
            Some('@'..='~') => {
                *rest = ahead;
                return;
            }
            Some(_) | None => return,
        }
    }
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
