//! Asks which of several lines is meant: arrows and Enter, or the number of the line.
//!
//! Not here: what the lines are about. Nothing is picked unless stdin and stderr are terminals; callers ask `can_ask`
//! first.
//!
//! Invariant: the terminal is as it was when the question is over, also after Ctrl-C.

use std::io::{self, Read as _, Write as _};

use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use crate::{character_set::CharacterSet, format, terminal_info};

/// The columns before each line: its mark and its number.
pub(crate) const MARK_WIDTH: usize = 4;
/// Rows of the screen that are not for the question, lines or keys: how many lines are left out, and the prompt of the
/// shell.
const OTHER_ROWS: usize = 2;
/// The most bytes that one press of a key sends.
const KEY_BYTES_MAX: usize = 16;

/// A key beside the arrows, Enter and digits, and what it does.
pub(crate) type PickerKey = (char, &'static str);

/// The line that was picked, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PickedLine {
    pub(crate) line: usize,
    /// The key that was pressed there; none for Enter and for a number.
    pub(crate) key: Option<char>,
}

/// Asks which of `lines` is meant. Returns `None` if the person leaves, or if the terminal cannot be used.
pub(crate) fn pick(question: &str, lines: &[String], keys: &[PickerKey]) -> Option<PickedLine> {
    pick_from(question, lines, keys, 0)
}

/// Does the same, with a line that is marked at first. The question is gone when this returns.
pub(crate) fn pick_from(
    question: &str,
    lines: &[String],
    keys: &[PickerKey],
    marked: usize,
) -> Option<PickedLine> {
    let _raw = RawInput::enter()?;
    let mut choice = MarkedLine { line: marked, lines: lines.len() };
    let (mut drawn, mut unread) = (0, Vec::new());
    let mut asked = question.to_owned();
    loop {
        let text = CharacterSet::detect().encode(&frame(&asked, lines, keys, choice));
        let mut err = io::stderr().lock();
        let up = if drawn == 0 { String::new() } else { format!("\x1b[{drawn}A\r") };
        let _gone = write!(err, "{up}\x1b[J{}", text.replace('\n', "\r\n"));
        let _gone = err.flush();
        drawn = text.matches('\n').count();
        let mut bytes = [0; KEY_BYTES_MAX];
        let read = io::stdin().lock().read(&mut bytes).unwrap_or_default();
        unread.extend_from_slice(&bytes[..read]);
        // Several keys may arrive together. Of more than fit, the last one may be cut in two.
        let rest =
            if read == KEY_BYTES_MAX { unread.split_off(whole_keys(&unread)) } else { Vec::new() };
        let arrived = std::mem::replace(&mut unread, rest);
        if arrived.is_empty() && read > 0 {
            continue;
        }
        for key in split_keys(&arrived) {
            match choice.press(key, keys) {
                Press::Moved(next) => {
                    choice = next;
                    question.clone_into(&mut asked);
                }
                Press::Unknown(key) => asked = with_note(question, &key),
                Press::Picked(picked) => {
                    erase(drawn);
                    return Some(picked);
                }
                Press::Left => {
                    erase(drawn);
                    return None;
                }
            }
        }
    }
}

/// Says at the end of the first line that a key does nothing.
fn with_note(question: &str, key: &str) -> String {
    let (first, rest) = question.split_once('\n').unwrap_or((question, ""));
    let rest = if rest.is_empty() { String::new() } else { format!("\n{rest}") };
    format!("{first} ({key} does nothing here; the keys are below){rest}")
}

/// Removes what was drawn, so that it does not stay above what comes next.
fn erase(drawn: usize) {
    let mut err = io::stderr().lock();
    let _gone = write!(err, "\x1b[{drawn}A\r\x1b[J").and_then(|()| err.flush());
}

/// Returns how many bytes are whole keys. What follows them is the beginning of an escape sequence.
fn whole_keys(bytes: &[u8]) -> usize {
    let start = bytes.iter().rposition(|byte| *byte == b'\x1b').unwrap_or(bytes.len());
    let is_cut = match &bytes[start..] {
        [_] | [_, b'O'] => true,
        [_, b'[', rest @ ..] => !rest.iter().any(|byte| (0x40..=0x7e).contains(byte)),
        _ => false,
    };
    if is_cut { start } else { bytes.len() }
}

/// Splits what was read into keys; nothing, the end of the input, is one too.
fn split_keys(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut keys = Vec::new();
    loop {
        let length = match bytes {
            [b'\x1b', b'[', rest @ ..] => {
                let last = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
                last.map_or(bytes.len(), |last| last + 3)
            }
            [b'\x1b', b'O', _, ..] => 3,
            [first, ..] if *first >= 0x80 => {
                let rest = bytes[1..].iter().position(|byte| byte & 0xc0 != 0x80);
                rest.map_or(bytes.len(), |rest| rest + 1)
            }
            [_, ..] => 1,
            [] => 0,
        };
        let (key, rest) = bytes.split_at(length);
        keys.push(key);
        if rest.is_empty() {
            return keys;
        }
        bytes = rest;
    }
}

/// The line that is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MarkedLine {
    line: usize,
    lines: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Press {
    Moved(MarkedLine),
    Picked(PickedLine),
    /// A key without a meaning here, by its name.
    Unknown(String),
    Left,
}

impl MarkedLine {
    fn press(self, bytes: &[u8], keys: &[PickerKey]) -> Press {
        let to = |line: usize| Press::Moved(Self { line, ..self });
        let last = self.lines.saturating_sub(1);
        match bytes {
            b"\x1b[A" | b"\x1bOA" | b"k" => to(self.line.checked_sub(1).unwrap_or(last)),
            b"\x1b[B" | b"\x1bOB" | b"j" | b"\t" => {
                to(if self.line == last { 0 } else { self.line + 1 })
            }
            b"\x1b[H" | b"\x1b[5~" => to(0),
            b"\x1b[F" | b"\x1b[6~" => to(last),
            b"\r" | b"\n" => Press::Picked(PickedLine { line: self.line, key: None }),
            // The end of the input, Ctrl-C, Ctrl-D and Escape.
            b"" | b"\x03" | b"\x04" | b"\x1b" | b"q" => Press::Left,
            [digit @ b'1'..=b'9'] if usize::from(digit - b'1') < self.lines => {
                Press::Picked(PickedLine { line: usize::from(digit - b'1'), key: None })
            }
            [byte] if keys.iter().any(|(key, _)| *key == char::from(*byte)) => {
                Press::Picked(PickedLine { line: self.line, key: Some(char::from(*byte)) })
            }
            [byte @ b'!'..=b'~'] => Press::Unknown(char::from(*byte).to_string()),
            _ => Press::Unknown("this key".to_owned()),
        }
    }
}

/// Formats the question, the lines around the marked one, and the keys.
fn frame(question: &str, lines: &[String], keys: &[PickerKey], choice: MarkedLine) -> String {
    let size = termios::tcgetwinsize(io::stderr());
    let width = terminal_info::terminal_width();
    let keys = keys.iter().map(|(key, does)| format!("{key} {does}"));
    let keys = ["↑↓ Enter choose".to_owned()].into_iter().chain(keys);
    let keys: Vec<String> = keys.chain(["q leave".to_owned()]).collect();
    let keys = format::hanging_parts("  ", &keys.join(" · "), width);
    let others = OTHER_ROWS + question.lines().count() + keys.lines().count();
    let rows = size.map_or(24, |size| usize::from(size.ws_row)).max(others + 1) - others;
    let from = choice.line.saturating_sub(rows - 1).min(lines.len().saturating_sub(rows));
    let mut shown: Vec<String> =
        question.lines().map(|line| format::cut_end(line, width)).collect();
    for (position, line) in lines.iter().enumerate().skip(from).take(rows) {
        let mark = if position == choice.line { '❯' } else { ' ' };
        let number = if position < 9 { (position + 1).to_string() } else { " ".to_owned() };
        shown.push(format::cut_end(&format!("{mark} {number} {line}"), width));
    }
    let below = lines.len().saturating_sub(from + rows);
    match (from, below) {
        (0, 0) => {}
        (0, below) => shown.push(format!("    ↓ {below} more")),
        (above, 0) => shown.push(format!("    ↑ {above} more")),
        (above, below) => shown.push(format!("    ↑ {above} ↓ {below} more")),
    }
    shown.extend([keys, String::new()]);
    shown.join("\n")
}

/// A guard: keys arrive one by one as long as this lives.
struct RawInput {
    before: Termios,
}

impl RawInput {
    fn enter() -> Option<Self> {
        let before = termios::tcgetattr(io::stdin()).ok()?;
        let mut raw = before.clone();
        raw.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self { before })
    }
}

impl Drop for RawInput {
    fn drop(&mut self) {
        let _gone = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_go_around_and_enter_numbers_and_keys_pick() {
        let keys = [('d', "diff")];
        let at = |line| MarkedLine { line, lines: 3 };
        let press = |line, bytes: &[u8]| at(line).press(bytes, &keys);
        assert_eq!(press(0, b"\x1b[B"), Press::Moved(at(1)));
        assert_eq!(press(2, b"\x1bOB"), Press::Moved(at(0)));
        assert_eq!(press(0, b"\x1b[A"), Press::Moved(at(2)));
        assert_eq!(press(1, b"\r"), Press::Picked(PickedLine { line: 1, key: None }));
        assert_eq!(press(1, b"3"), Press::Picked(PickedLine { line: 2, key: None }));
        assert_eq!(press(1, b"d"), Press::Picked(PickedLine { line: 1, key: Some('d') }));
        for (nothing, named) in [
            (&b"4"[..], "4"),
            (b"?", "?"),
            (b"x", "x"),
            (b"\x1b[C", "this key"),
            ("é".as_bytes(), "this key"),
        ] {
            assert_eq!(press(1, nothing), Press::Unknown(named.to_owned()), "{nothing:?}");
        }
        assert_eq!(
            with_note("Your runs\n  RUN", "x"),
            "Your runs (x does nothing here; the keys are below)\n  RUN"
        );
        for leaves in [&b""[..], b"\x03", b"\x04", b"\x1b", b"q"] {
            assert_eq!(press(1, leaves), Press::Left, "{leaves:?}");
        }
    }

    #[test]
    fn keys_that_arrive_together_are_read_one_by_one() {
        let all = split_keys("\x1b[B\x1bOAé\r\x1b[5~q".as_bytes());
        let expected: [&[u8]; 6] = [b"\x1b[B", b"\x1bOA", "é".as_bytes(), b"\r", b"\x1b[5~", b"q"];
        assert_eq!(all, expected);
        assert_eq!(split_keys(b""), [b""], "the end of the input");
        assert_eq!(split_keys(b"\x1b"), [b"\x1b"]);
    }

    #[test]
    fn a_key_that_is_cut_in_two_waits_for_its_rest() {
        let held = b"\x1b[B".repeat(6);
        assert_eq!(whole_keys(&held[..KEY_BYTES_MAX]), 15);
        assert_eq!(whole_keys(&held[..17]), 15);
        assert_eq!(whole_keys(&held), 18);
        assert_eq!(whole_keys(b"jj\x1bO"), 2);
        assert_eq!(whole_keys(b"jj\x1bOAq"), 6);
    }

    #[test]
    fn the_marked_line_is_always_shown() {
        let lines: Vec<String> = (0..100).map(|n| format!("line {n}.")).collect();
        for line in [0, 20, 21, 50, 99] {
            let text = frame("Which?", &lines, &[], MarkedLine { line, lines: lines.len() });
            assert!(text.contains(&format!("line {line}.")), "{text}");
            assert!(text.lines().count() <= 24, "{text}");
        }
        let first = frame("Which?", &lines, &[], MarkedLine { line: 0, lines: lines.len() });
        assert!(first.contains("↓ 80 more"), "{first}");
        let last = frame("Which?", &lines, &[], MarkedLine { line: 99, lines: lines.len() });
        assert!(last.contains("↑ 80 more"), "{last}");
    }
}
