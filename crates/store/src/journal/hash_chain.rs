//! Records, and the chain of sums that ties each record to the one before.
//!
//! A sum is the SHA-256, in lower-case hex, over netstrings (`5:hello,`), so that no two different
//! lists of fields ever give the same bytes, and so that a person can check one with `sha256sum`:
//! previous sum, run, seq, at, epoch, body. The first record chains from [`GENESIS`].
//!
//! Not here: where records are kept. Invariant: neither framing nor line format ever changes for
//! version 1, because old journals and old projections stay readable.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

use forge_core::hex::{hex, is_hex_of};

/// The sum that the first record of every run follows.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One journaled record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    /// Counts from 1, without gaps.
    pub seq: u64,
    /// UTC milliseconds, never earlier than the record before.
    pub at: u64,
    /// Counts the processes that drove the run, from 1.
    pub epoch: u64,
    /// One line of JSON that the journal does not interpret.
    pub body: String,
    /// Ties this record to all records before it.
    pub sum: String,
}

impl JournalRecord {
    /// Makes the record that follows the one with the sum `previous`.
    pub(super) fn new(
        previous: &str,
        run: &str,
        numbers: RecordNumbers,
        body: &str,
    ) -> JournalRecord {
        let RecordNumbers { seq, at, epoch } = numbers;
        let sum = sum(previous, run, numbers, body);
        JournalRecord { seq, at, epoch, body: body.to_owned(), sum }
    }

    /// Tells whether this record follows the one that has the sum `previous`.
    pub fn follows(&self, previous: &str, run: &str) -> bool {
        let numbers = RecordNumbers { seq: self.seq, at: self.at, epoch: self.epoch };
        let record = RecordText { numbers, body: &self.body, sum: &self.sum };
        record.follows(previous, run, &mut String::new())
    }

    /// Writes the record as one line of `events.jsonl`, without the line end. The body is in it byte
    /// for byte, so that the chain can be checked from the lines alone.
    pub fn to_line(&self) -> String {
        let JournalRecord { seq, at, epoch, body, sum } = self;
        format!(r#"{{"seq":{seq},"at":{at},"epoch":{epoch},"sum":"{sum}","body":{body}}}"#)
    }

    /// Reads what [`JournalRecord::to_line`] wrote. `None` for a torn or foreign line; whether it
    /// belongs to a chain is for [`JournalRecord::follows`] to tell.
    pub fn from_line(line: &str) -> Option<JournalRecord> {
        let rest = line.strip_prefix(r#"{"seq":"#)?;
        let (seq, rest) = rest.split_once(r#","at":"#)?;
        let (at, rest) = rest.split_once(r#","epoch":"#)?;
        let (epoch, rest) = rest.split_once(r#","sum":""#)?;
        let (sum, rest) = rest.split_once(r#"","body":"#)?;
        let body = rest.strip_suffix('}')?;
        let (seq, at, epoch) = (seq.parse().ok()?, at.parse().ok()?, epoch.parse().ok()?);
        Some(JournalRecord { seq, at, epoch, body: body.to_owned(), sum: sum.to_owned() })
    }

    /// Reads the number of the record that a whole line holds, without its line end, and nothing else.
    pub fn seq_of_line(line: &[u8]) -> Option<u64> {
        let rest = line.strip_prefix(br#"{"seq":"#)?.strip_suffix(b"}")?;
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let (seq, rest) = rest.split_at(digits);
        rest.starts_with(br#","at":"#).then(|| std::str::from_utf8(seq).ok()?.parse().ok())?
    }
}

/// The numbers of a record, named so that they cannot be swapped.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordNumbers {
    pub(super) seq: u64,
    pub(super) at: u64,
    pub(super) epoch: u64,
}

/// A record as it lies in the memory of `SQLite`, of which a long run has many.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordText<'a> {
    pub(super) numbers: RecordNumbers,
    pub(super) body: &'a str,
    pub(super) sum: &'a str,
}

impl RecordText<'_> {
    /// Tells whether it follows the record that has the sum `previous`. What is summed is written to `text`.
    pub(super) fn follows(&self, previous: &str, run: &str, text: &mut String) -> bool {
        let RecordNumbers { seq, at, epoch } = self.numbers;
        text.clear();
        write_netstrings(text, &[previous, run]);
        for number in [seq, at, epoch] {
            write_netstrings(text, &[&number.to_string()]);
        }
        write_netstrings(text, &[self.body]);
        is_hex_of(self.sum, digest(&SHA256, text.as_bytes()).as_ref())
    }

    pub(super) fn to_record(self) -> JournalRecord {
        let RecordNumbers { seq, at, epoch } = self.numbers;
        JournalRecord { seq, at, epoch, body: self.body.to_owned(), sum: self.sum.to_owned() }
    }
}

fn sum(previous: &str, run: &str, numbers: RecordNumbers, body: &str) -> String {
    let RecordNumbers { seq, at, epoch } = numbers;
    seal(&[previous, run, &seq.to_string(), &at.to_string(), &epoch.to_string(), body])
}

/// Sums the fields as netstrings: SHA-256 in hex. Also marks the rows of the other tables.
pub(crate) fn seal(fields: &[&str]) -> String {
    let bytes = fields.iter().map(|field| field.len() + 24).sum();
    let mut text = String::with_capacity(bytes);
    write_netstrings(&mut text, fields);
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

fn write_netstrings(text: &mut String, fields: &[&str]) {
    for field in fields {
        let _never_fails = write!(text, "{}:", field.len());
        text.push_str(field);
        text.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_can_be_checked_with_sha256sum() {
        // printf '64:000…000,1:r,1:1,1:5,1:1,2:{},' | sha256sum
        let record =
            JournalRecord::new(GENESIS, "r", RecordNumbers { seq: 1, at: 5, epoch: 1 }, "{}");
        let text = format!("64:{GENESIS},1:r,1:1,1:5,1:1,2:{{}},");
        assert_eq!(record.sum, hex(digest(&SHA256, text.as_bytes()).as_ref()));
    }

    #[test]
    fn moving_a_byte_between_fields_changes_the_seal() {
        assert_ne!(seal(&["ab", "c"]), seal(&["a", "bc"]));
        assert_ne!(seal(&["a,1:b"]), seal(&["a", "b"]));
    }

    #[test]
    fn a_line_keeps_the_body_byte_for_byte() {
        let body = r#"{"b": 1.0, "a":"}\" ,\"body\":","x":[]}"#;
        let record =
            JournalRecord::new(GENESIS, "r", RecordNumbers { seq: 1, at: 5, epoch: 1 }, body);
        let line = record.to_line();
        assert_eq!(JournalRecord::from_line(&line), Some(record));
        for cut in 0..line.len() {
            let torn = JournalRecord::from_line(&line[..cut]);
            assert!(torn.is_none_or(|torn| !torn.follows(GENESIS, "r")));
        }
    }
}
