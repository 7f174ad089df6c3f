//! Parses bytes from a terminal into keys.
//!
//! Pure. Invariant: pasted text is one key, so that a line of it is never taken for a command.

/// One key, or pasted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPress {
    Char(char),
    Enter,
    Escape,
    Tab,
    Up,
    Down,
    Left,
    Right,
    /// Left by a word: Alt or Ctrl with the arrow.
    WordLeft,
    WordRight,
    Home,
    End,
    PageUp,
    PageDown,
    Backspace,
    Delete,
    /// Alt-Backspace; Ctrl-W is `Ctrl('w')`.
    DeleteWord,
    /// Alt-Enter, or Shift-Enter where the terminal tells it from Enter.
    NewLine,
    /// Ctrl with this letter.
    Ctrl(char),
    Pasted(String),
}

/// The escape sequences around pasted text.
const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
/// The most bytes of pasted text.
const PASTED_BYTES_MAX: usize = 1024 * 1024;
/// The longest escape sequence of a key, in bytes.
const SEQUENCE_BYTES_MAX: usize = 16;

/// Buffers bytes until they are whole keys.
#[derive(Default)]
pub(crate) struct KeyReader {
    bytes: Vec<u8>,
    /// A key that was parsed already.
    known: Option<KeyPress>,
}

impl KeyReader {
    /// Returns `key` from the next call of `next`.
    pub(crate) fn unread(&mut self, key: KeyPress) {
        self.known = Some(key);
    }

    /// Appends bytes that were read.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns true if the buffer is empty; else it holds the beginning of a key.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes the next whole key.
    pub(crate) fn next(&mut self) -> Option<KeyPress> {
        if self.known.is_some() {
            return self.known.take();
        }
        loop {
            let (n, key) = self.parse()?;
            self.bytes.drain(..n);
            if key.is_some() {
                return key;
            }
        }
    }

    /// Gives up waiting for the rest of a key. A lone escape is the Escape key.
    pub(crate) fn flush_incomplete(&mut self) -> Option<KeyPress> {
        if self.bytes.starts_with(PASTE) && self.bytes.len() < PASTED_BYTES_MAX {
            return None;
        }
        let first = self.bytes.first().copied();
        self.bytes.clear();
        (first == Some(0x1b)).then_some(KeyPress::Escape)
    }

    /// Returns the length of the first key in bytes, and the key if it is a known one. `None` if it is incomplete.
    fn parse(&self) -> Option<(usize, Option<KeyPress>)> {
        let bytes = self.bytes.as_slice();
        match *bytes.first()? {
            0x1b => self.sequence(),
            b'\r' | b'\n' => Some((1, Some(KeyPress::Enter))),
            b'\t' => Some((1, Some(KeyPress::Tab))),
            0x7f | 0x08 => Some((1, Some(KeyPress::Backspace))),
            byte @ 1..=26 => Some((1, Some(KeyPress::Ctrl(char::from(byte - 1 + b'a'))))),
            0..=31 => Some((1, None)),
            _ => letter(bytes),
        }
    }

    fn sequence(&self) -> Option<(usize, Option<KeyPress>)> {
        let bytes = self.bytes.as_slice();
        if bytes.starts_with(PASTE) {
            let end = bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END)?;
            // Terminals paste a line break as `\r`; text that was copied elsewhere may have `\r\n`.
            let text = String::from_utf8_lossy(&bytes[PASTE.len()..end]).replace("\r\n", "\n");
            let text = text.replace('\r', "\n");
            return Some((end + PASTE_END.len(), Some(KeyPress::Pasted(text))));
        }
        match bytes.get(1)? {
            b'[' | b'O' => {
                let ends = |byte: &u8| (0x40..=0x7e).contains(byte);
                let end = bytes.iter().skip(2).position(ends);
                let Some(end) = end.map(|end| end + 2) else {
                    return (bytes.len() > SEQUENCE_BYTES_MAX).then_some((bytes.len(), None));
                };
                Some((end + 1, sequence_key(&bytes[2..=end])))
            }
            b'\r' | b'\n' => Some((2, Some(KeyPress::NewLine))),
            b'b' => Some((2, Some(KeyPress::WordLeft))),
            b'f' => Some((2, Some(KeyPress::WordRight))),
            0x7f | 0x08 => Some((2, Some(KeyPress::DeleteWord))),
            // Escape, followed by another key.
            _ => Some((1, Some(KeyPress::Escape))),
        }
    }
}

/// Returns the key of a sequence, without its beginning.
fn sequence_key(sequence: &[u8]) -> Option<KeyPress> {
    match sequence {
        b"A" => Some(KeyPress::Up),
        b"B" => Some(KeyPress::Down),
        b"C" => Some(KeyPress::Right),
        b"D" => Some(KeyPress::Left),
        b"1;3C" | b"1;5C" | b"1;9C" => Some(KeyPress::WordRight),
        b"1;3D" | b"1;5D" | b"1;9D" => Some(KeyPress::WordLeft),
        b"H" | b"1~" | b"7~" => Some(KeyPress::Home),
        b"F" | b"4~" | b"8~" => Some(KeyPress::End),
        b"3~" => Some(KeyPress::Delete),
        b"5~" => Some(KeyPress::PageUp),
        b"6~" => Some(KeyPress::PageDown),
        b"13;2u" | b"13;3u" | b"27;2;13~" | b"27;3;13~" => Some(KeyPress::NewLine),
        _ => None,
    }
}

/// Parses a UTF-8 character.
fn letter(bytes: &[u8]) -> Option<(usize, Option<KeyPress>)> {
    let n = match bytes[0] {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        0x80..0xc0 | 0xf8..=0xff => return Some((1, None)),
    };
    let found = std::str::from_utf8(bytes.get(..n)?).ok();
    Some((n, found.and_then(|text| text.chars().next()).map(KeyPress::Char)))
}

#[cfg(test)]
mod tests {
    use super::{KeyPress, KeyReader};

    fn all(bytes: &[u8]) -> Vec<KeyPress> {
        let mut keys = KeyReader::default();
        keys.push(bytes);
        std::iter::from_fn(|| keys.next()).collect()
    }

    #[test]
    fn bytes_become_keys_also_when_they_come_one_by_one() {
        let bytes =
            "aé\x1b[A\x1bOB\x1b[5~\x1b[6~\r\x7f\x04\x1b[1;5C\x1b[D\x1b[H\x1bOF\x1b[3~\t\x1b[1;3D\x1b[9;9Z工"
                .as_bytes();
        let expected = [
            KeyPress::Char('a'),
            KeyPress::Char('é'),
            KeyPress::Up,
            KeyPress::Down,
            KeyPress::PageUp,
            KeyPress::PageDown,
            KeyPress::Enter,
            KeyPress::Backspace,
            KeyPress::Ctrl('d'),
            KeyPress::WordRight,
            KeyPress::Left,
            KeyPress::Home,
            KeyPress::End,
            KeyPress::Delete,
            KeyPress::Tab,
            KeyPress::WordLeft,
            KeyPress::Char('工'),
        ];
        assert_eq!(all(bytes), expected);
        let mut keys = KeyReader::default();
        let mut one_by_one = Vec::new();
        for byte in bytes {
            keys.push(&[*byte]);
            one_by_one.extend(std::iter::from_fn(|| keys.next()));
        }
        assert_eq!(one_by_one, expected);
    }

    #[test]
    fn an_escape_is_a_key_once_nothing_follows() {
        let mut keys = KeyReader::default();
        keys.push(b"\x1b");
        assert_eq!(keys.next(), None);
        assert!(!keys.is_empty());
        assert_eq!(keys.flush_incomplete(), Some(KeyPress::Escape));
        assert!(keys.is_empty());
    }

    #[test]
    fn alt_is_an_escape_directly_before_a_key() {
        let expected =
            [KeyPress::NewLine, KeyPress::WordLeft, KeyPress::DeleteWord, KeyPress::Escape];
        assert_eq!(all(b"\x1b\r\x1bb\x1b\x7f\x1ba")[..4], expected);
    }

    #[test]
    fn pasted_text_is_one_key_whatever_is_in_it() {
        assert_eq!(
            all(b"\x1b[200~a\r\r\x04b\x1b[201~c"),
            [KeyPress::Pasted("a\n\n\u{4}b".to_owned()), KeyPress::Char('c')]
        );
        assert_eq!(all(b"\x1b[200~a\r\nb\x1b[201~"), [KeyPress::Pasted("a\nb".to_owned())]);
    }

    #[test]
    fn what_is_no_key_is_passed_over() {
        assert_eq!(all(b"\x00\xff\xfea\x1b[9999999999999999999999"), [KeyPress::Char('a')]);
    }
}
