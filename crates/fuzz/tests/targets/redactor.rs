//! The redactor: the same comes out however the input is cut, no planted secret comes through, and a line of JSON stays one.

use forge_fuzz::{FuzzTarget, Random};
use forge_keeper::{Redactor, redact};
use serde_json::Value;

/// Values that were told to the redactor.
const KNOWN: &[&str] =
    &["correct horse", "horse-battery-staple", "line\nbreak\"quote", "AKIAsomething"];
/// How many bytes of an input may be cut at every place.
const EVERY_SPLIT_BYTES_MAX: usize = 300;

#[test]
fn the_same_comes_out_at_every_split_and_no_planted_secret() {
    let tokens = &[
        "correct horse",
        "correct ",
        "horse-battery-staple",
        "horse-batter",
        "line\nbreak\"quote",
        "line\\nbreak\\\"quote",
        "AKIA",
        "AKIAsomething",
        "A1B2C3D4E5F6G7H8",
        "sk-",
        "sk-ant-",
        "abcdefghijklmnopqrst",
        "0123456789",
        "eyJ",
        "ghp_",
        "-----BEGIN ",
        "RSA PRIVATE KEY",
        "-----",
        "-----END ",
        "PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----",
        "MIIEowIBAAKCAQEA",
        "Y29ycmVjdCBob3JzZ",
        "\\n",
        "password",
        "_token",
        "\\\"",
        "Bearer ",
        "Basic ",
        "dXNlcjpodW50ZXIy",
        "://",
        "user:",
        "l0velace",
        "@",
        "c2stYW50L",
        "LS0tLS1CRUdJTi",
        "AccountKey=",
        "SK",
        "SG.",
        "{\"a\":\"",
        "\"}\n",
        "Proc-Type: 4,ENCRYPTED",
        "\\u0041",
        "\\/",
        "636f727265637420686f727365",
    ];
    FuzzTarget { name: "redactor", check, tokens, bytes_max: 4 * 1024 }.run();
}

fn check(input: &[u8]) {
    let mut random = Random::from_bytes(input);
    let token = format!(
        "ghp_{:018}Zz{:016}",
        random.next_u64() % 1_000_000_000,
        random.next_u64() % 1_000_000_000
    );
    check_text(&mut random, input);
    // The same text with a token in some place of it.
    let at = random.below(input.len() + 1);
    let planted = [&input[..at], b" ", token.as_bytes(), b" ", &input[at..]].concat();
    let out = check_text(&mut random, &planted);
    assert!(!has(&out, token.as_bytes()), "a token came through");
}

fn check_text(random: &mut Random, text: &[u8]) -> Vec<u8> {
    let known = || KNOWN.iter().map(|value| value.as_bytes().to_vec());
    let mut redactor = Redactor::new(known());
    let whole = redactor.clean(text);
    let mut same = |cuts: &mut dyn FnMut(usize) -> usize| {
        let (mut out, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cuts(rest.len()).clamp(1, rest.len()));
            redactor.push(piece, &mut out);
            rest = after;
        }
        redactor.finish(&mut out);
        assert!(
            out == whole,
            "another text comes out in pieces:\n{}\n{}",
            whole.escape_ascii(),
            out.escape_ascii()
        );
    };
    same(&mut |_| 1);
    if text.len() <= EVERY_SPLIT_BYTES_MAX {
        for cut in 1..text.len() {
            same(&mut |rest| if rest == text.len() { cut } else { rest });
        }
    } else {
        for most in [3, 40, 700] {
            same(&mut |_| 1 + random.below(most));
        }
    }
    for value in KNOWN {
        assert!(!has(&whole, value.as_bytes()), "{value:?} came through");
    }
    let found = redact::find(text, known());
    assert_eq!(found.is_empty(), whole == text, "what is found is what is taken out: {found:?}");
    for (line, clean) in text.split(|byte| *byte == b'\n').zip(whole.split(|byte| *byte == b'\n')) {
        let is_json = |line: &[u8]| {
            serde_json::from_slice::<Value>(line).is_ok_and(|value| value.is_object())
        };
        // A key may go over several lines, and takes their ends with it: then the lines are no longer side by side.
        if text.split(|byte| *byte == b'\n').count() == whole.split(|byte| *byte == b'\n').count()
            && line.starts_with(b"{")
            && is_json(line)
        {
            assert!(
                is_json(clean),
                "a line of JSON broke:\n{}\n{}",
                line.escape_ascii(),
                clean.escape_ascii()
            );
        }
    }
    if serde_json::from_slice::<Value>(text).is_ok() {
        let clean = redactor.clean_json(text);
        assert!(serde_json::from_slice::<Value>(&clean).is_ok(), "JSON is not JSON any more");
    }
    whole
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
