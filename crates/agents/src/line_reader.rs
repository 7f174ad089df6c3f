//! Cuts a stream into lines, whatever the pieces in which it comes.
//!
//! Not here: what a line means.
//!
//! Invariant: memory is bounded by the longest line that is let through; a longer one is skipped,
//! and counted.
//! Invariant: the lines do not depend on how the stream was cut into pieces.

/// A line that is longer than this is not understood when a transcript is read. The last line of
/// an agent may hold its whole result twice, as data and as text.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The same for who listens while the agent runs, and has little room.
pub const LIVE_LINE_BYTES_MAX: usize = 1024 * 1024;
/// Room that is kept from one line to the next.
const KEPT_BYTES: usize = 64 * 1024;

/// A stream under way.
#[derive(Debug)]
pub struct Lines {
    max: usize,
    /// The beginning of a line whose end has not come yet.
    held: Vec<u8>,
    state: State,
    skipped: u64,
}

#[derive(PartialEq, Eq, Debug)]
enum State {
    /// Between two lines, or in one that is held.
    Taking,
    /// In a line that is too long.
    Skipping,
}

impl Lines {
    /// Lets lines of at most so many bytes through.
    pub const fn new(max: usize) -> Self {
        Self { max, held: Vec::new(), state: State::Taking, skipped: 0 }
    }

    /// Reads a piece, and passes on every line that is whole by it, without its end.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.held.is_empty() && self.state == State::Taking && line.len() <= self.max {
                each(line);
                continue;
            }
            self.hold(line);
            self.hand_over(&mut each);
        }
        self.hold(bytes);
    }

    /// Ends the stream and passes on its last line.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.held.is_empty() || self.state == State::Skipping {
            self.hand_over(&mut each);
        }
    }

    /// Returns how many lines were too long so far.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    fn hold(&mut self, part: &[u8]) {
        match self.state {
            State::Taking if self.held.len() + part.len() <= self.max => {
                self.held.extend_from_slice(part);
            }
            State::Taking => {
                self.state = State::Skipping;
                self.skipped += 1;
                self.held = Vec::new();
            }
            State::Skipping => {}
        }
    }

    fn hand_over(&mut self, each: &mut impl FnMut(&[u8])) {
        if self.state == State::Taking {
            each(&self.held);
        }
        self.state = State::Taking;
        self.held.clear();
        self.held.shrink_to(KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(max: usize, piece: usize, text: &[u8]) -> (Vec<Vec<u8>>, u64) {
        let mut lines = Lines::new(max);
        let mut found = Vec::new();
        for part in text.chunks(piece) {
            lines.push(part, |line| found.push(line.to_vec()));
        }
        lines.finish(|line| found.push(line.to_vec()));
        (found, lines.skipped())
    }

    #[test]
    fn lines_are_the_same_however_the_stream_is_cut() {
        let text = b"one\n\ntwo two\r\n\xff\xfe\nthe seventh is too long\nhalf";
        let all: [&[u8]; 5] = [b"one", b"", b"two two\r", b"\xff\xfe", b"half"];
        for piece in 1..=text.len() {
            let (found, skipped) = lines(10, piece, text);
            assert_eq!(found, all, "{piece}");
            assert_eq!(skipped, 1, "{piece}");
        }
    }

    #[test]
    fn the_longest_line_is_let_through_and_one_byte_more_is_not() {
        for piece in 1..=12 {
            assert_eq!(lines(5, piece, b"12345\n123456\n1").0, [b"12345".to_vec(), b"1".to_vec()]);
            assert_eq!(lines(5, piece, b"123456"), (Vec::new(), 1));
            assert_eq!(lines(5, piece, b"123456\n"), (Vec::new(), 1));
        }
    }

    #[test]
    fn room_for_a_long_line_is_given_back() {
        let mut stream = Lines::new(LIVE_LINE_BYTES_MAX);
        stream.push(&vec![b'x'; LIVE_LINE_BYTES_MAX], |_| {});
        stream.push(b"\n", |line| assert_eq!(line.len(), LIVE_LINE_BYTES_MAX));
        assert!(stream.held.capacity() <= KEPT_BYTES);
        for _ in 0..100 {
            stream.push(&vec![b'x'; LIVE_LINE_BYTES_MAX], |_| {});
            assert!(stream.held.capacity() <= 2 * LIVE_LINE_BYTES_MAX);
        }
    }
}
