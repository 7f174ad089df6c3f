//! What must stay of a covered stretch so that a line of JSON stays one: quotes, brackets and
//! whatever else stands outside of strings, and no half of an escape.
//!
//! A line counts as JSON if it begins with `{`. If it is none after all, nothing but its signs
//! (`{}[]:,"`) comes through a cover. Nested JSON is not followed: to the line it is a string.
//!
//! Invariant: of a covered stretch, no letter and no digit stays but those of an escape that has
//! begun before it.

/// The mark in the place of a secret.
pub const REDACTED: &[u8] = b"[redacted]";

/// The place in its line at which the stream is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct JsonLine {
    place: JsonPlace,
    before: ByteFate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JsonPlace {
    /// Nothing of the line has been seen.
    Start,
    /// In a line that is no JSON.
    Plain,
    /// Between values, or at a sign.
    Outside,
    Number,
    /// In something else outside of strings: `true`.
    Word,
    Inside,
    /// In a string, behind the backslash of an escape.
    Escape,
    /// In a string and an escape that has so many more digits.
    Digits(u8),
}

/// The way of a byte: out, or away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ByteFate {
    Kept,
    Dropped,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ByteAction {
    /// It is no part of the secret and goes out.
    Byte,
    /// It goes, and these bytes say so unless that has been said.
    Mark(&'static [u8]),
    /// It goes, and nothing needs to be said.
    Nothing,
}

/// A number becomes a text.
const REDACTED_NUMBER: &[u8] = b"\"[redacted]\"";
/// Ends a number of which a part has gone out.
const LAST_DIGIT: &[u8] = b"0";

impl JsonLine {
    /// The beginning of a stream.
    pub(super) const fn start() -> Self {
        Self { place: JsonPlace::Start, before: ByteFate::Kept }
    }

    /// Whether the line is one of JSON, as far as can be seen.
    pub(super) fn is_json(self) -> bool {
        !matches!(self.place, JsonPlace::Start | JsonPlace::Plain)
    }

    /// Goes over text that is not covered and of which nothing is to be dropped.
    pub(super) fn pass(&mut self, text: &[u8]) {
        let line = text.iter().rposition(|&byte| byte == b'\n');
        let text = line.map_or(text, |line| {
            self.place = JsonPlace::Start;
            &text[line + 1..]
        });
        if text.is_empty() {
            return;
        }
        self.before = ByteFate::Kept;
        for &byte in text {
            self.place = self.place.next(byte);
            if self.place == JsonPlace::Plain {
                return;
            }
        }
    }

    /// Goes over the beginning of a text that is not covered, as far as it belongs to an escape or
    /// a number of which the cover before has taken a part; how long that is.
    pub(super) fn drop_rest(&mut self, text: &[u8]) -> usize {
        let mut len = 0;
        while let Some(&byte) = text.get(len)
            && self.before == ByteFate::Dropped
        {
            let is_rest = match self.place {
                JsonPlace::Escape | JsonPlace::Digits(_) => true,
                JsonPlace::Number => self.place.next(byte) == JsonPlace::Number,
                JsonPlace::Start
                | JsonPlace::Plain
                | JsonPlace::Outside
                | JsonPlace::Word
                | JsonPlace::Inside => false,
            };
            if !is_rest {
                break;
            }
            self.place = self.place.next(byte);
            len += 1;
        }
        len
    }

    /// Goes over a covered byte.
    pub(super) fn drop(&mut self, byte: u8) -> ByteAction {
        let (place, before) = (self.place, self.before);
        self.place = place.next(byte);
        let is_begun = before == ByteFate::Kept;
        let left = match (place, self.place) {
            (JsonPlace::Start | JsonPlace::Plain, JsonPlace::Start | JsonPlace::Plain) => {
                ByteAction::Mark(REDACTED)
            }
            // The bracket that begins a line of JSON, and its end.
            (JsonPlace::Start, _) | (_, JsonPlace::Start) => ByteAction::Byte,
            (JsonPlace::Escape | JsonPlace::Digits(_), _) if is_begun => ByteAction::Byte,
            (JsonPlace::Escape | JsonPlace::Digits(_), _) => ByteAction::Mark(REDACTED),
            (JsonPlace::Inside, JsonPlace::Outside) | (_, JsonPlace::Inside) if byte == b'"' => {
                ByteAction::Byte
            }
            (_, JsonPlace::Outside) if byte.is_ascii_whitespace() => ByteAction::Nothing,
            (_, JsonPlace::Outside) => ByteAction::Byte,
            (JsonPlace::Number, JsonPlace::Number) if is_begun => ByteAction::Mark(LAST_DIGIT),
            (JsonPlace::Number, JsonPlace::Number) => ByteAction::Nothing,
            (_, JsonPlace::Number) => ByteAction::Mark(REDACTED_NUMBER),
            (
                _,
                JsonPlace::Plain
                | JsonPlace::Word
                | JsonPlace::Inside
                | JsonPlace::Escape
                | JsonPlace::Digits(_),
            ) => ByteAction::Mark(REDACTED),
        };
        self.before = if left == ByteAction::Byte { ByteFate::Kept } else { ByteFate::Dropped };
        left
    }
}

impl JsonPlace {
    fn next(self, byte: u8) -> Self {
        if byte == b'\n' {
            return Self::Start;
        }
        match self {
            Self::Start if byte == b'{' => Self::Outside,
            Self::Start | Self::Plain => Self::Plain,
            Self::Inside => match byte {
                b'"' => Self::Outside,
                b'\\' => Self::Escape,
                _ => Self::Inside,
            },
            Self::Escape if byte == b'u' => Self::Digits(4),
            Self::Digits(left) if left > 1 && byte.is_ascii_hexdigit() => Self::Digits(left - 1),
            Self::Escape | Self::Digits(_) => Self::Inside,
            Self::Outside | Self::Number | Self::Word => match byte {
                b'"' => Self::Inside,
                b'{' | b'}' | b'[' | b']' | b',' | b':' => Self::Outside,
                _ if byte.is_ascii_whitespace() => Self::Outside,
                b'-' | b'0'..=b'9' if self == Self::Outside => Self::Number,
                b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9' if self == Self::Number => self,
                _ => Self::Word,
            },
        }
    }
}
