//! Mutates an input a little: bytes, words, lines, numbers, and pieces of other inputs.
//!
//! Words and lines are what JSON, TOML, streams and Markdown are made of, so most results are still read far before they are refused.

use std::ops::Range;

use crate::random::Random;

/// The most mutations of one input.
const MUTATIONS_MAX: usize = 6;
/// The most copies of a piece that is repeated.
const REPEATS_MAX: usize = 40;

/// Bytes and texts that are read in a special way somewhere.
const TOKENS: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b"\x1b[31m",
    b"\x1b]0;x\x07",
    b"\x07",
    b"\x7f",
    b"\xc2\x9b",
    b"\xe2\x80\xae",
    b"\xe2\x80\x8b",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b"\xf0\x9f\xa6\x80",
    b"\xe5\xb7\xa5\xe4\xbd\x9c",
    b"e\xcc\x81",
    b"\"",
    b"\\\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\\n",
    b"'",
    b"`",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"=",
    b"#",
    b"|",
    b"<",
    b">",
    b"{}",
    b"[]",
    b"null",
    b"true",
    b"false",
    b"\"\"",
    b"..",
    b"../",
    b"/",
    b"//",
    b"*",
    b"**",
    b"_",
    b"-",
    b"--",
    b" ",
    b"    ",
];
/// Numbers at which something may turn over.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-1",
    "1",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "1e-400",
    "0.1",
    "1.0",
    "0x10",
    "1_000",
    "nan",
];

/// Makes a new input from `seeds` and the target's own `tokens`.
pub(crate) fn mutated(
    random: &mut Random,
    seeds: &[Vec<u8>],
    tokens: &[&str],
    bytes_max: usize,
) -> Vec<u8> {
    let mut input = random.pick(seeds).clone();
    for _ in 0..=random.below(MUTATIONS_MAX) {
        mutate(random, &mut input, seeds, tokens);
        input.truncate(bytes_max);
    }
    input
}

fn mutate(random: &mut Random, input: &mut Vec<u8>, seeds: &[Vec<u8>], tokens: &[&str]) {
    let len = input.len();
    match random.below(16) {
        0 if len > 0 => {
            let at = random.below(len);
            input[at] ^= 1 << random.below(8);
        }
        1 => input.truncate(random.below(len + 1)),
        2 => drop(input.drain(range(random, len))),
        3 => {
            let piece = input[range(random, len)].to_vec().repeat(1 + random.below(REPEATS_MAX));
            insert(random, input, &piece);
        }
        4 => {
            let token = random.pick(TOKENS).repeat(1 + random.below(3));
            insert(random, input, &token);
        }
        5 | 6 if !tokens.is_empty() => {
            let token = random.pick(tokens).as_bytes();
            insert(random, input, token);
        }
        7 if !tokens.is_empty() => {
            let token = random.pick(tokens).as_bytes();
            replace_word(random, input, token);
        }
        8 => {
            let other = random.pick(seeds);
            let words = pieces(other, |byte| byte.is_ascii_alphanumeric());
            if let Some(word) = words.get(random.below(words.len())) {
                replace_word(random, input, &other[word.clone()]);
            }
        }
        9 => {
            let number = random.pick(NUMBERS).as_bytes();
            let numbers = pieces(input, |byte| byte.is_ascii_digit());
            if let Some(old) = numbers.get(random.below(numbers.len())) {
                drop(input.splice(old.clone(), number.iter().copied()));
            }
        }
        10 => {
            let other = random.pick(seeds);
            let (keep, from) = (random.below(len + 1), random.below(other.len() + 1));
            input.truncate(keep);
            input.extend(&other[from..]);
        }
        11 => {
            let piece = random.pick(seeds);
            let piece = piece[range(random, piece.len())].to_vec();
            insert(random, input, &piece);
        }
        12 => on_lines(random, input, |random, lines| {
            let (one, other) = (random.below(lines.len()), random.below(lines.len()));
            lines.swap(one, other);
        }),
        13 => {
            on_lines(random, input, |random, lines| drop(lines.remove(random.below(lines.len()))));
        }
        14 => on_lines(random, input, |random, lines| {
            let line = random.pick(lines).clone();
            lines.insert(random.below(lines.len()), line);
        }),
        _ => {
            let byte = u8::try_from(random.below(256)).unwrap_or_default();
            insert(random, input, &[byte]);
        }
    }
}

/// A short range, most of the time.
fn range(random: &mut Random, len: usize) -> Range<usize> {
    let from = random.below(len + 1);
    let most = if random.below(4) == 0 { len - from } else { (len - from).min(16) };
    from..from + random.below(most + 1)
}

fn insert(random: &mut Random, input: &mut Vec<u8>, piece: &[u8]) {
    let at = random.below(input.len() + 1);
    drop(input.splice(at..at, piece.iter().copied()));
}

fn replace_word(random: &mut Random, input: &mut Vec<u8>, with: &[u8]) {
    let words = pieces(input, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match words.get(random.below(words.len())) {
        Some(word) => drop(input.splice(word.clone(), with.iter().copied())),
        None => insert(random, input, with),
    }
}

/// The runs of bytes that belong together.
fn pieces(input: &[u8], belongs: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in input.iter().enumerate().filter(|(_, byte)| belongs(**byte)) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            Some(_) | None => found.push(at..at + 1),
        }
    }
    found
}

fn on_lines(
    random: &mut Random,
    input: &mut Vec<u8>,
    change: impl Fn(&mut Random, &mut Vec<Vec<u8>>),
) {
    let mut lines: Vec<Vec<u8>> =
        input.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if !lines.is_empty() {
        change(random, &mut lines);
        *input = lines.concat();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs_within_their_bound() {
        let seeds = [b"{\"a\": 12}\nline two\n".to_vec(), Vec::new()];
        let all = |seed| {
            let mut random = Random::from_seed(seed);
            (0..2_000).map(|_| mutated(&mut random, &seeds, &["tok"], 64)).collect::<Vec<_>>()
        };
        let one = all(7);
        assert_eq!(one, all(7));
        assert_ne!(one, all(8));
        assert!(one.iter().all(|input| input.len() <= 64));
        assert!(one.iter().any(|input| input.windows(3).any(|bytes| bytes == b"tok")));
    }
}
