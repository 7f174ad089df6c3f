//! Finds rows in the raw bytes of a database whose structure can no longer be trusted.
//!
//! In every page, of the file and of its log, it looks for the type of a column of 64 letters, and
//! at every byte before it tries to read a cell as `SQLite` writes one: payload length, column
//! types, columns, and the rest on overflow pages. No page type,
//! cell pointer or tree is believed, so a wrong byte costs at most the row it is in. What is found
//! here may be stale or nonsense: whether it is believed is for the chain and the marks to say.
//! The format: <https://www.sqlite.org/fileformat2.html>, sections 1.6 and 2.1.

use std::collections::BTreeMap;

use super::schema::PAGE_BYTES;
use super::wal::{frames, word};

/// A column as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    Text(String),
    Number(u64),
}

/// What a column of the wanted table looks like.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Text,
    Number,
    /// 64 hex digits.
    Sum,
}

/// Columns of `records`, in their order on the disk.
const RECORD: &[Shape] =
    &[Shape::Text, Shape::Number, Shape::Number, Shape::Number, Shape::Text, Shape::Sum];
/// Columns of `runs`, in their order on the disk.
const ROW: &[Shape] = &[
    Shape::Text,
    Shape::Number,
    Shape::Number,
    Shape::Sum,
    Shape::Number,
    Shape::Text,
    Shape::Sum,
];

const COLUMNS_MAX: usize = 7;

/// Bytes of a payload that stay in the page, at most and at least, for trees of this kind.
const LOCAL_MAX: usize = (PAGE_BYTES - 12) * 64 / 255 - 23;
const LOCAL_MIN: usize = (PAGE_BYTES - 12) * 32 / 255 - 23;

/// How a column of 64 letters is announced, and at most how many bytes after the cell's beginning.
const SUM_TYPE: [u8; 2] = [0x81, 0x0d];
const SUM_TYPE_AT_MAX: usize = 24;

/// Everything like a row of `records` or `runs` in a database file and its log, for `found`.
pub(super) fn scan(file: &[u8], log: &[u8], mut found: impl FnMut(Vec<Column>)) {
    let mut pages: BTreeMap<usize, &[u8]> =
        file.chunks_exact(PAGE_BYTES).enumerate().map(|(index, page)| (index + 1, page)).collect();
    let mut looked_at: Vec<&[u8]> = pages.values().copied().collect();
    for frame in frames(log) {
        pages.insert(frame.page_number() as usize, frame.page);
        looked_at.push(frame.page);
    }
    for page in looked_at {
        let announced = page.windows(2).enumerate().filter(|(_, bytes)| *bytes == SUM_TYPE);
        for (at, _) in announced {
            for start in at.saturating_sub(SUM_TYPE_AT_MAX)..at {
                for shape in [RECORD, ROW] {
                    cell(&page[start..], shape, &pages).into_iter().for_each(&mut found);
                }
            }
        }
    }
}

/// Reads one cell, if one of this shape begins here.
fn cell(bytes: &[u8], shape: &[Shape], pages: &BTreeMap<usize, &[u8]>) -> Option<Vec<Column>> {
    let (length, taken) = varint(bytes)?;
    let local = bytes.get(taken..)?;
    let sizes = sizes(local, shape)?;
    let header = sizes.header;
    if header + sizes.columns.iter().map(|(_, size)| size).sum::<usize>() != length {
        return None;
    }
    let payload = payload(local, length, pages)?;
    let mut rest = payload.get(header..)?;
    let mut columns = Vec::with_capacity(shape.len());
    for (kind, size) in sizes.columns.into_iter().take(shape.len()) {
        let (bytes, behind) = rest.split_at_checked(size)?;
        rest = behind;
        columns.push(column(kind, bytes)?);
    }
    Some(columns)
}

struct Sizes {
    header: usize,
    /// The serial type of each column, and its bytes.
    columns: [(usize, usize); COLUMNS_MAX],
}

/// Reads the header of a payload, if it is that of the wanted shape.
fn sizes(payload: &[u8], shape: &[Shape]) -> Option<Sizes> {
    let (header, mut at) = varint(payload)?;
    if header <= shape.len() || header > 64 {
        return None;
    }
    let mut columns = [(0, 0); COLUMNS_MAX];
    for (wanted, column) in shape.iter().zip(&mut columns) {
        let (kind, taken) = varint(payload.get(at..)?)?;
        at += taken;
        let size = match (wanted, kind) {
            (Shape::Sum, 141) => 64,
            (Shape::Text, 13..) if kind % 2 == 1 => (kind - 13) / 2,
            (Shape::Number, 1..=4) => kind,
            (Shape::Number, 5) => 6,
            (Shape::Number, 6) => 8,
            (Shape::Number, 8 | 9) => 0,
            (Shape::Text | Shape::Number | Shape::Sum, _) => return None,
        };
        *column = (kind, size);
    }
    (at == header).then_some(Sizes { header, columns })
}

/// Puts the parts of a payload together.
fn payload(local: &[u8], length: usize, pages: &BTreeMap<usize, &[u8]>) -> Option<Vec<u8>> {
    if length <= LOCAL_MAX {
        return local.get(..length).map(<[u8]>::to_vec);
    }
    if length > pages.len() * PAGE_BYTES {
        return None;
    }
    let overflow_bytes = PAGE_BYTES - 4;
    let even = LOCAL_MIN + (length - LOCAL_MIN) % overflow_bytes;
    let kept = if even <= LOCAL_MAX { even } else { LOCAL_MIN };
    let mut payload = local.get(..kept)?.to_vec();
    let mut next = word(local.get(kept..kept + 4)?, 0) as usize;
    while payload.len() < length {
        let page = pages.get(&next)?;
        let wanted = (length - payload.len()).min(overflow_bytes);
        payload.extend_from_slice(&page[4..4 + wanted]);
        next = word(page, 0) as usize;
    }
    Some(payload)
}

fn column(kind: usize, bytes: &[u8]) -> Option<Column> {
    match kind {
        8 => Some(Column::Number(0)),
        9 => Some(Column::Number(1)),
        // Ours are never negative, so a set sign bit is nonsense.
        1..=6 if bytes[0] < 0x80 => {
            Some(Column::Number(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))))
        }
        13.. => String::from_utf8(bytes.to_vec()).ok().map(Column::Text),
        _ => None,
    }
}

/// A number of one to nine bytes, and how many they were. Longer than six is none of ours.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(6).enumerate() {
        value = value << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}
