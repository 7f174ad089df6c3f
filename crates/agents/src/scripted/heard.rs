//! What a scripted agent said, read back from its transcript.
//!
//! Not here: whether to believe it. A transcript also holds whatever the agent's commands printed.
//!
//! Invariant: memory is bounded by `LINE_BYTES_MAX`; a longer line is skipped.
//! Invariant: a line that is not ours is no error.

use std::io::{self, BufRead};

use serde::Deserialize;

/// A longer line is nothing the scripted agent says.
const LINE_BYTES_MAX: usize = 256 * 1024;

/// What was heard from beginning to end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Heard {
    /// The last thing it said.
    pub said_last: Option<String>,
    /// The sum of all it used.
    pub spent: Option<Spent>,
    /// Until when it has to wait, in UTC.
    pub limited_until_ms: Option<u64>,
    /// Whether it said that it was over.
    pub ended: bool,
}

/// Tokens and money.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spent {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Millionths of a dollar, if it said so of every part.
    pub cost_micros: Option<u64>,
}

impl Spent {
    fn plus(self, other: Self) -> Self {
        // An unknown price is unknown, never zero: a sum with an unknown part is unknown.
        let cost =
            self.cost_micros.zip(other.cost_micros).map(|(one, two)| one.saturating_add(two));
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cost_micros: cost,
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Said { text: String },
    Spent(Spent),
    Limited { until_ms: u64 },
    Ended,
}

/// Reads a transcript. It stops where the transcript cannot be read any further.
pub fn signals(mut transcript: impl BufRead) -> Heard {
    let mut heard = Heard::default();
    let mut line = Vec::new();
    while let Ok(Read::Line | Read::Skipped) = next_line(&mut transcript, &mut line) {
        match serde_json::from_str(&String::from_utf8_lossy(&line)) {
            Ok(Line::Said { text }) => heard.said_last = Some(text),
            Ok(Line::Spent(spent)) => {
                heard.spent = Some(heard.spent.map_or(spent, |before| before.plus(spent)));
            }
            Ok(Line::Limited { until_ms }) => heard.limited_until_ms = Some(until_ms),
            Ok(Line::Ended) => heard.ended = true,
            Err(_) => {}
        }
    }
    heard
}

enum Read {
    Line,
    /// It was too long, and `line` is empty.
    Skipped,
    End,
}

fn next_line(transcript: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Read> {
    line.clear();
    let mut read = Read::End;
    loop {
        let bytes = match transcript.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(read);
        }
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        read = match read {
            Read::Line | Read::End if line.len() + part.len() <= LINE_BYTES_MAX => {
                line.extend_from_slice(part);
                Read::Line
            }
            Read::Line | Read::End | Read::Skipped => {
                line.clear();
                Read::Skipped
            }
        };
        let used = end.map_or(bytes.len(), |end| end + 1);
        transcript.consume(used);
        if end.is_some() {
            return Ok(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn what_was_said_is_heard_among_anything_else() {
        let mut transcript =
            b"plain text\n{\"type\":\"said\",\"text\":\"one\"}\n\xff\xfe{\n".to_vec();
        transcript.extend(b"{\"type\":\"spent\",\"input\":1,\"output\":2,\"cost_micros\":5}\n");
        transcript.extend(b"{\"type\":\"thought\",\"text\":\"unknown\"}\n");
        transcript.extend(b"{\"type\":\"spent\",\"input\":10,\"output\":20,\"cache_read\":3}\n");
        transcript.extend(b"{\"type\":\"limited\",\"kind\":\"rate\",\"until_ms\":77}\n");
        transcript.extend(b"{\"type\":\"said\",\"text\":\"half \xc3\"}\n");
        transcript.extend(b"{\"type\":\"ended\",\"ok\":true}\n{\"type\":\"sa");
        for capacity in [1, 7, 8192] {
            let heard = signals(BufReader::with_capacity(capacity, transcript.as_slice()));
            assert_eq!(heard.said_last.as_deref(), Some("half \u{fffd}"));
            let spent = heard.spent.unwrap();
            assert_eq!((spent.input, spent.output, spent.cache_read), (11, 22, 3));
            assert_eq!(spent.cost_micros, None, "one part has no price, so the sum has none");
            assert_eq!((heard.limited_until_ms, heard.ended), (Some(77), true));
        }
        assert_eq!(signals(&b""[..]), Heard::default());
    }

    #[test]
    fn a_cost_is_the_sum_of_known_costs_or_unknown() {
        let cost = |parts: &[&str]| {
            let line = |part| format!("{{\"type\":\"spent\"{part}}}\n");
            let transcript: String = parts.iter().map(line).collect();
            signals(transcript.as_bytes()).spent.unwrap().cost_micros
        };
        let (five, seven) = (",\"cost_micros\":5", ",\"cost_micros\":7");
        assert_eq!(cost(&[five]), Some(5));
        assert_eq!(cost(&[five, seven]), Some(12));
        assert_eq!(cost(&["", seven]), None);
        assert_eq!(cost(&[five, "", seven]), None);
    }

    #[test]
    fn a_huge_line_is_skipped_and_the_next_one_heard() {
        let mut transcript = b"{\"type\":\"said\",\"text\":\"".to_vec();
        transcript.extend(vec![b'x'; LINE_BYTES_MAX + 1]);
        transcript.extend(b"\"}\n{\"type\":\"said\",\"text\":\"small\"}");
        let heard = signals(BufReader::new(transcript.as_slice()));
        assert_eq!(heard.said_last.as_deref(), Some("small"));
    }
}
