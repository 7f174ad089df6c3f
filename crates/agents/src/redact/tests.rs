//! Redaction, by example and by chance.

use super::*;

fn redacted(known: &[&str], input: &str) -> String {
    let mut redactor = Redactor::new(known.iter().map(|value| value.as_bytes().to_vec()));
    let mut out = Vec::new();
    redactor.push(input.as_bytes(), &mut out);
    redactor.finish(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn known_values_go_wherever_they_are() {
    let known = ["correct horse", "battery-staple"];
    assert_eq!(redacted(&known, "a correct horse!"), "a [redacted]!");
    assert_eq!(redacted(&known, "xcorrect horsebattery-stapley"), "x[redacted]y");
    assert_eq!(redacted(&["short"], "a short one"), "a short one");
    // One begins inside the other: neither leaves a rest.
    assert_eq!(redacted(&["abcdefghij", "ghijklmnop"], "-abcdefghijklmnop-"), "-[redacted]-");
    assert_eq!(
        redacted(&["abcdefgh", "abcdefghijkl"], "abcdefghijk abcdefghijkl"),
        "[redacted]ijk [redacted]"
    );
}

#[test]
fn known_values_go_in_their_escaped_and_encoded_forms() {
    let known = ["say \"friend\"\nand enter"];
    let escaped = r#"{"text":"say \"friend\"\nand enter"}"#;
    assert_eq!(redacted(&known, escaped), r#"{"text":"[redacted]"}"#);
    let twice = r#"{"text":"say \\\"friend\\\"\\nand enter"}"#;
    assert_eq!(redacted(&known, twice), r#"{"text":"[redacted]"}"#);
    // printf 'user:hunter2-hunter2' | base64
    assert_eq!(
        redacted(&["hunter2-hunter2"], "Basic dXNlcjpodW50ZXIyLWh1bnRlcjI= ok"),
        "Basic dXNlcjp[redacted]= ok"
    );
    // The url-safe alphabet: '>>>???>>>???'
    assert_eq!(redacted(&[">>>???>>>???"], "a Pj4-Pz8_Pj4-Pz8_ b"), "a [redacted] b");
    assert_eq!(redacted(&[">>>???>>>???"], "a Pj4+Pz8/Pj4+Pz8/ b"), "a [redacted] b");
}

#[test]
fn every_shape_of_token_goes() {
    for shape in SHAPES {
        let prefix = std::str::from_utf8(shape.prefix).unwrap();
        let body = if prefix == "eyJ" { "hbGciOi.eyJzdWIiOiIx.c2lnbmF0dXJl" } else { "" };
        let body = if body.is_empty() { "A1B2C3D4E5".repeat(6) } else { body.to_owned() };
        for (before, after) in [("", ""), ("x=\"", "\","), ("\\n", "\\n"), ("\x1b[32m", "\x1b[0m")]
        {
            let line = format!("{before}{prefix}{body}{after}");
            assert_eq!(redacted(&[], &line), format!("{before}[redacted]{after}"), "{prefix}");
        }
        let short = format!("the {prefix}x y");
        assert_eq!(redacted(&[], &short), short);
    }
}

#[test]
fn ordinary_words_with_the_letters_of_a_prefix_stay() {
    for text in [
        "risk-adjusted-returns-of-a-portfolio-2024",
        "npm_config_registry_and_more_of_this_long_name",
        "class=\"sk-fading-circle-of-something-long\"",
        "eyJ is base64 for an opening brace, eyJhbGciOiJIUzI1NiJ9 alone is no token",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "-----BEGIN a sentence",
    ] {
        assert_eq!(redacted(&[], text), text);
    }
}

#[test]
fn a_private_key_goes_from_begin_to_end_and_not_for_ever() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n+/=\n-----END RSA PRIVATE KEY-----";
    assert_eq!(redacted(&[], &format!("a\n{key}\nb")), "a\n[redacted]\nb");
    let escaped = key.replace('\n', "\\n");
    assert_eq!(redacted(&[], &format!("\"{escaped}\\n\"")), "\"[redacted]\\n\"");
    let endless = format!("-----BEGIN PRIVATE KEY-----{}", "m ".repeat(KEY_BLOCK_BYTES_MAX));
    let out = redacted(&[], &endless);
    assert_eq!(out.len(), REDACTED.len() + endless.len() - KEY_BLOCK_BYTES_MAX);
}

#[test]
fn a_token_longer_than_what_may_be_held_goes_as_a_whole() {
    let long = format!("a sk-ant-{} b", "x".repeat(100_000));
    assert_eq!(redacted(&[], &long), "a [redacted] b");
    let undecided = format!("a eyJ{} b", "x".repeat(100_000));
    assert_eq!(redacted(&[], &undecided), "a [redacted] b");
    let known = "pass phrase ".repeat(500);
    assert_eq!(redacted(&[&known], &format!("a {known} b")), "a [redacted] b");
}

#[test]
fn little_is_held_back_and_a_line_of_text_goes_out_at_once() {
    let mut redactor = Redactor::new([b"correct horse".to_vec()]);
    let mut out = Vec::new();
    redactor.push(b"a line of text\n", &mut out);
    assert_eq!(out, b"a line of text\n");
    redactor.push(b"it is correct h", &mut out);
    assert_eq!(out, b"a line of text\nit is ");
    for _ in 0..100 {
        redactor.push(&b"eyJ".repeat(10_000), &mut out);
        assert!(redactor.pending.len() < HOLD_BYTES_MAX * 2);
    }
}

/// A small generator; the same seed gives the same story.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

const KNOWN: &[&str] =
    &["correct horse", "horse-battery", "AKIAsomething", "-----BEGIN it", "line\nbreak\"quote"];
const PARTS: &[&str] = &[
    "correct horse",
    "correct ",
    "horse",
    "-battery",
    "horse-batter",
    "AKIA",
    "AKIAsomething",
    "A1B2C3D4E5F6G7H8",
    "sk-",
    "sk-ant-",
    "sk-proj-",
    "abcdefghijklmnopqrst",
    "0123456789",
    "eyJ",
    ".",
    "ghp_",
    "-----BEGIN ",
    "RSA PRIVATE KEY",
    "-----",
    "-----END ",
    "PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----",
    "line\nbreak\"quote",
    "line\\nbreak\\\"quote",
    "Y29ycmVjdCBob3JzZ",
    "\n",
    " ",
    "\\n",
    "m",
    "x",
    "Jycm93",
    "-",
    "_",
    "\x1b[0m",
];

fn story(chance: &mut Chance) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..chance.below(60) {
        let part = PARTS[chance.below(PARTS.len())];
        let times = if chance.below(40) == 0 { 300 } else { 1 };
        text.extend(part.repeat(times).bytes());
    }
    text
}

#[test]
fn how_the_stream_is_cut_makes_no_difference() {
    let known = || KNOWN.iter().map(|value| value.as_bytes().to_vec());
    let mut whole = Redactor::new(known());
    let mut pieces = Redactor::new(known());
    for seed in 1..3_000 {
        let mut chance = Chance(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed) | 1);
        let text = story(&mut chance);
        let (mut expected, mut out) = (Vec::new(), Vec::new());
        whole.push(&text, &mut expected);
        whole.finish(&mut expected);
        let mut rest = text.as_slice();
        while !rest.is_empty() {
            let most = [1, 5, 40, 1_000][chance.below(4)];
            let (piece, after) = rest.split_at(1 + chance.below(most.min(rest.len())));
            pieces.push(piece, &mut out);
            rest = after;
        }
        pieces.finish(&mut out);
        assert!(
            out == expected,
            "seed {seed}:\n{}\nwhole: {}\ncut:   {}",
            String::from_utf8_lossy(&text),
            String::from_utf8_lossy(&expected),
            String::from_utf8_lossy(&out)
        );
        for value in KNOWN {
            let is_there = expected.windows(value.len()).any(|window| window == value.as_bytes());
            assert!(!is_there, "seed {seed}: {value} is still there");
        }
    }
}

#[test]
fn bytes_without_secrets_come_out_as_they_went_in() {
    let mut redactor = Redactor::new([b"correct horse".to_vec()]);
    for seed in 1..300 {
        let mut chance = Chance(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed) | 1);
        // Lower-case words, all bytes above ASCII, and no prefix of any shape.
        let alphabet = b"abcdefgilmnoqrtuvwz .,;:!?\n\t{}\"\\0123456789\xc3\xa4\xff\x80";
        let text: Vec<u8> = (0..5_000).map(|_| alphabet[chance.below(alphabet.len())]).collect();
        let mut out = Vec::new();
        for piece in text.chunks(1 + chance.below(900)) {
            redactor.push(piece, &mut out);
        }
        redactor.finish(&mut out);
        assert!(out == text, "seed {seed}");
    }
}
