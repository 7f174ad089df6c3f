//! Reads the write-ahead log by itself, to tell a torn end from a hole in the middle.
//!
//! `SQLite` reads the log up to the first frame whose checksum fails and drops the rest without a
//! word. After a power cut that is right: the last transaction had not been acknowledged. But with
//! one wrong byte in the middle it would drop acknowledged records. The difference can be seen: each
//! commit is on the disk before the next one begins, so behind a torn transaction there is never
//! another whole one of the same age. A frame's checksum goes on from the one stored before it, so
//! the frames behind a bad one can still be checked.
//!
//! What cannot be seen here: a wrong byte in the very last transaction looks like a torn end.
//! `Store::take_over` compares with the projection for that.

use std::fs;
use std::io;
use std::path::Path;

use super::schema::PAGE_BYTES;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
pub(super) const FRAME_BYTES: usize = FRAME_HEADER_BYTES + PAGE_BYTES;

/// One page in the log.
pub(super) struct Frame<'a> {
    header: &'a [u8],
    pub(super) page: &'a [u8],
}

impl Frame<'_> {
    pub(super) fn page_number(&self) -> u32 {
        word(self.header, 0)
    }

    fn ends_transaction(&self) -> bool {
        word(self.header, 4) != 0
    }

    fn salt(&self) -> &[u8] {
        &self.header[8..16]
    }

    fn stored(&self) -> (u32, u32) {
        (word(self.header, 16), word(self.header, 20))
    }
}

/// All frames of a log, of whatever age, torn end left out.
pub(super) fn frames(log: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    log.get(HEADER_BYTES..).unwrap_or_default().chunks_exact(FRAME_BYTES).map(|bytes| {
        let (header, page) = bytes.split_at(FRAME_HEADER_BYTES);
        Frame { header, page }
    })
}

/// Looks for a hole in a log. Says what it found. A writer may be at work while we read, so a hole
/// counts only if a second look sees the very same.
pub(super) fn hole(path: &Path) -> io::Result<Option<String>> {
    let look = || match fs::read(path) {
        Ok(log) => Ok(hole_in(&log)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    match look()? {
        None => Ok(None),
        Some(first) => Ok(look()?.filter(|second| *second == first)),
    }
}

fn hole_in(log: &[u8]) -> Option<String> {
    if log.len() < HEADER_BYTES + FRAME_BYTES {
        return None;
    }
    let header = &log[..HEADER_BYTES];
    let order = if header[3] & 1 == 1 { Order::Big } else { Order::Little };
    let sum = checksum(order, (0, 0), &header[..24]);
    let known = word(header, 0) & !1 == 0x377f_0682
        && word(header, 4) == 3_007_000
        && sum == (word(header, 24), word(header, 28));
    if !known {
        return lost_header(log).then(|| "the head of its log is not what was written".into());
    }
    let mut sum = sum;
    let mut torn: Option<(usize, bool)> = None;
    for (number, frame) in frames(log).enumerate() {
        let good =
            frame.salt() == &header[16..24] && frame_sum(order, sum, &frame) == frame.stored();
        sum = frame.stored();
        torn = match torn {
            None if good => None,
            None => Some((number, frame.ends_transaction())),
            Some((first, true)) if good => {
                return Some(format!("frame {} of its log is not what was written", first + 1));
            }
            Some((first, ended)) => {
                let ends = frame.salt() == &header[16..24] && frame.ends_transaction();
                Some((first, ended || ends))
            }
        };
    }
    None
}

/// Whether frames follow a head that cannot be read: then the head was good once.
fn lost_header(log: &[u8]) -> bool {
    [Order::Little, Order::Big].into_iter().any(|order| {
        let mut before: Option<Frame<'_>> = None;
        frames(log).any(|frame| {
            let follows = before.as_ref().is_some_and(|before| {
                before.salt() == frame.salt()
                    && frame_sum(order, before.stored(), &frame) == frame.stored()
            });
            before = Some(frame);
            follows
        })
    })
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

fn frame_sum(order: Order, from: (u32, u32), frame: &Frame<'_>) -> (u32, u32) {
    checksum(order, checksum(order, from, &frame.header[..8]), frame.page)
}

fn checksum(order: Order, from: (u32, u32), bytes: &[u8]) -> (u32, u32) {
    let (mut first, mut second) = from;
    let read = |four: &[u8]| {
        let four: [u8; 4] = four.try_into().expect("four bytes were asked for");
        match order {
            Order::Little => u32::from_le_bytes(four),
            Order::Big => u32::from_be_bytes(four),
        }
    };
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(read(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(read(&pair[4..])).wrapping_add(first);
    }
    (first, second)
}

/// A big-endian word.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes were asked for"))
}
