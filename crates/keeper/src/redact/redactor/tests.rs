//! Redaction, by example and by chance.

use super::super::private_key::{GAP_BYTES_MAX, KEY_BYTES_MAX};
use super::super::token_patterns::{Covers, HOLD_BYTES_MAX, SHAPES, Shape};
use super::super::{base64, json_line::REDACTED};
use super::*;

pub(super) fn redacted(known: &[&str], input: &str) -> String {
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
        "Basic [redacted] ok"
    );
    // The url-safe alphabet: '>>>???>>>???'
    assert_eq!(redacted(&[">>>???>>>???"], "a Pj4-Pz8_Pj4-Pz8_ b"), "a [redacted] b");
    assert_eq!(redacted(&[">>>???>>>???"], "a Pj4+Pz8/Pj4+Pz8/ b"), "a [redacted] b");
    assert_eq!(redacted(&["a b/c d/e"], "x=a%20b%2Fc%20d%2Fe&y"), "x=[redacted]&y");
    assert_eq!(redacted(&["a b/c d/e"], "x=a%20b%2fc%20d%2fe&y"), "x=[redacted]&y");
    assert_eq!(redacted(&["correct horse"], "636f727265637420686f727365 3"), "[redacted] 3");
    assert_eq!(redacted(&["correct horse"], "636F727265637420686F727365 3"), "[redacted] 3");
}

/// One value of every shape.
pub(super) fn examples() -> Vec<(&'static str, String)> {
    let example = |prefix: &str| match prefix {
        "eyJ" => "hbGciOi.eyJzdWIiOiIx.c2lnbmF0dXJl".to_owned(),
        "SK" | "dapi" => "0a1b2c3d4e5f60718293a4b5c6d7e8f9".to_owned(),
        _ => "A1B2C3D4E5".repeat(11),
    };
    let prefix = |shape: &Shape| str::from_utf8(shape.prefix).unwrap();
    SHAPES.iter().map(|shape| (prefix(shape), example(prefix(shape)))).collect()
}

#[test]
fn every_shape_of_token_goes() {
    for ((prefix, body), shape) in examples().into_iter().zip(SHAPES) {
        let kept = match shape.covers {
            Covers::All => "",
            Covers::Run => prefix,
        };
        for (before, after) in [("", ""), ("x=\"", "\","), ("\\n", "\\n"), ("\x1b[32m", "\x1b[0m")]
        {
            let line = format!("{before}{prefix}{body}{after}");
            assert_eq!(redacted(&[], &line), format!("{before}{kept}[redacted]{after}"));
            let found = find(format!("\n{line}").as_bytes(), []);
            assert!(found.iter().any(|found| found.family == shape.family), "{line}: {found:?}");
            assert!(found.iter().all(|found| (found.line, found.last_line) == (2, 2)));
        }
        let short = format!("the {prefix}x y");
        assert_eq!(redacted(&[], &short), short);
    }
}

#[test]
fn every_shape_of_token_goes_in_base64_at_every_alignment() {
    for (prefix, body) in examples().into_iter().filter(|(prefix, _)| prefix.len() > 2) {
        for before in ["", "x", "xy"] {
            for alphabet in [base64::STANDARD, base64::URL_SAFE] {
                let plain = format!("{before}{prefix}{body}");
                let mut text = base64::encoded(plain.as_bytes(), 0, alphabet);
                text.inside.extend(text.last);
                let line = format!("a {} b", String::from_utf8(text.inside).unwrap());
                let out = redacted(&[], &line);
                assert!(out.ends_with("[redacted] b"), "{plain}: {line} became {out}");
                assert!(out.len() < 20, "{plain}: {line} became {out}");
            }
        }
    }
    // base64 of a private key, as in the settings of a cluster.
    let key = "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb3dJQkFBS0NBUUVB";
    assert_eq!(redacted(&[], &format!("key-data: {key}\n")), "key-data: [redacted]\n");
    let public = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM5ekNDQWQrZ0F3SUJBZ0lK";
    assert_eq!(redacted(&[], public), public);
}

#[test]
fn values_with_a_telling_name_go_if_chance_made_them() {
    let value = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE0KEY";
    for (before, after) in [
        ("aws_secret_access_key = ", "\n"),
        ("AWS_SECRET_ACCESS_KEY=", " next"),
        ("{\"SecretAccessKey\": \"", "\"}"),
        ("{\\\"SecretAccessKey\\\": \\\"", "\\\"}"),
        ("{\\\\\\\"password\\\\\\\":\\\\\\\"", "\\\\\\\"}"),
        ("config['api_key'] = '", "'"),
        ("https://x.org/?access_token=", "&a=b"),
        ("<password>", "</password>"),
        ("X-Api-Key: ", "\r\n"),
        ("clientSecret := `", "`"),
        ("HEROKU_API_KEY=", ""),
        ("CLOUDFLARE_API_TOKEN=\"", "\""),
        ("Authorization: ", ""),
    ] {
        let out = redacted(&[], &format!("{before}{value}{after}"));
        assert_eq!(out, format!("{before}[redacted]{after}"));
    }
    let uuid = "HEROKU_API_KEY=01234567-89ab-cdef-0123-456789abcdef";
    assert_eq!(redacted(&[], uuid), "HEROKU_API_KEY=[redacted]");
    for text in [
        "let token = next_token_of_the_stream();",
        "let token = parse2(a1b2)",
        "password: String, secret: Vec<u8>, token: Option<Token>,",
        "token == other_token_1_and_2",
        "password = ${DB_PASSWORD_1A2B3C4D5E6F}",
        "secret_file = /run/secrets/a1b2c3d4e5f6g7",
        "token_url=https://a1b2c3.example.org/x/y",
        "the token: a word that is longer than others",
        "tokens: 1234567890123456, total",
        "Password: ",
        "token_expires_at = 2026-01-01T00:00:00Z",
        "tokens::count::of_1a_and_2b_and_3c",
    ] {
        assert_eq!(redacted(&[], text), text);
    }
}

#[test]
fn headers_and_addresses_lose_their_passwords() {
    for (text, clean) in [
        ("Authorization: Bearer abcdefghij0123456789\n", "Authorization: Bearer [redacted]\n"),
        ("authorization: bearer abc.def-ghi_jkl0=\"", "authorization: bearer [redacted]\""),
        (
            "curl -H 'Authorization: Basic YWRhOmxvdmVsYWNl'",
            "curl -H 'Authorization: Basic [redacted]'",
        ),
        ("postgres://ada:l0velace-1815@db:5432/x", "postgres://ada:[redacted]@db:5432/x"),
        ("redis://:correcthorse@cache", "redis://:[redacted]@cache"),
        (
            "{\"u\":\"https:\\/\\/ada:lovelace%21@x.org\"}",
            "{\"u\":\"https:\\/\\/ada:[redacted]@x.org\"}",
        ),
    ] {
        assert_eq!(redacted(&[], text), clean);
    }
    for text in [
        "Bearer of good news, which are longer",
        "Basic understanding of the matter",
        "http://localhost:3000/a@b",
        "ssh://git@github.com:22/a/b",
        "postgres://postgres:postgres@localhost/test",
        "postgres://user:password@localhost/test",
        "https://user:$PASSWORD@host",
        "https://user:xxxxxx@host",
        "http://[::1]:80/@",
    ] {
        assert_eq!(redacted(&[], text), text);
    }
}

#[test]
fn a_name_may_be_secret_itself_and_its_value_too() {
    // The known value begins inside the name, and the value begins later.
    let text = "my_password_is=a1b2c3d4e5f6g7h8i9";
    assert_eq!(redacted(&["word_is="], text), "my_pass[redacted]");
    assert_eq!(redacted(&["my_password"], text), "[redacted]_is=[redacted]");
    assert_eq!(
        redacted(&[], "token_ghp_0123456789abcdef0123456789abcdef012345=1"),
        "token_[redacted]=1"
    );
}

#[test]
fn it_is_told_what_was_found_in_which_lines() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n+/=\n-----END RSA PRIVATE KEY-----";
    let text = format!("a\n{key}\nb correct horse\n\nAKIAA1B2C3D4E5F6G7H8\n");
    let found = find(text.as_bytes(), [b"correct horse".to_vec()]);
    let found: Vec<(&str, usize, usize)> =
        found.iter().map(|found| (found.family, found.line, found.last_line)).collect();
    let expected = [("a private key", 2, 5), ("a known secret", 6, 6), ("an AWS access key", 8, 8)];
    assert_eq!(found, expected);
    assert_eq!(find(b"nothing\nat all\n", []), []);
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
    let glued = format!("-----BEGIN PRIVATE KEY-----{}aFDr<br>", "Mz09".repeat(11));
    assert_eq!(redacted(&[], &glued), "[redacted]<br>", "base64 is followed to its end");
    let gap = "\n".repeat(GAP_BYTES_MAX);
    let far = |gap: &str| redacted(&[], &format!("-----BEGIN PRIVATE KEY-----{gap}MIIE\n"));
    assert_eq!(far(&gap), "[redacted]\n");
    assert_eq!(far(&format!("\n{gap}")), format!("[redacted]\n{gap}[redacted]\n"));
    let line = format!("{}\n", "Mz09".repeat(16));
    let endless = format!("-----BEGIN PRIVATE KEY-----\n{}", line.repeat(KEY_BYTES_MAX / 32));
    let out = redacted(&[], &endless);
    let rest = REDACTED.len() + endless.len() - KEY_BYTES_MAX;
    assert!(out.len() <= rest && rest < out.len() + line.len(), "{} of {rest}", out.len());
}

#[test]
fn a_key_without_an_end_takes_no_other_line_of_json_with_it() {
    let text = "{\"a\":\"-----BEGIN PRIVATE KEY-----\\nMIIE\"}\n{\"type\":\"result\"}\n";
    assert_eq!(redacted(&[], text), "{\"a\":\"[redacted]\"}\n{\"type\":\"result\"}\n");
    let body = "MIIEow0z".repeat(8);
    let lines = format!("-----BEGIN PRIVATE KEY-----\n\" +\n\"{body}\n-----END PRIVATE KEY-----\n");
    assert_eq!(redacted(&[], &lines), "[redacted]\n\" +\n\"[redacted]\n");
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
    // What may be a secret is held back until its line is over.
    redactor.push(b"orse, the token: a", &mut out);
    assert!(out.ends_with(b"it is [redacted], the "));
    redactor.push(b"b\n", &mut out);
    assert!(out.ends_with(b", the token: ab\n"));
    for _ in 0..100 {
        redactor.push(&b"eyJ".repeat(10_000), &mut out);
        assert!(redactor.pending.len() < HOLD_BYTES_MAX * 2);
    }
}

#[test]
fn the_longest_that_is_looked_at_fits_into_the_window() {
    let (quote, blanks) = (format!("{}\"", "\\".repeat(8)), " ".repeat(8));
    let (rest, value) = ("n".repeat(40), "a1b2".repeat(128));
    let named = format!("Authorization{rest}{quote}]{blanks}:={blanks}{quote}");
    let address = format!(":\\\\/\\\\/{}:", "u".repeat(128));
    for (before, after) in
        [(named.as_str(), " "), (&address, "@"), ("hooks.slack.com/services/", "")]
    {
        let text = format!("{before}{value}{after}");
        assert!(text.len() < WINDOW_BYTES, "{} bytes", text.len());
        let mut redactor = Redactor::new([]);
        let mut out = Vec::new();
        text.bytes().for_each(|byte| redactor.push(&[byte], &mut out));
        redactor.finish(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("{before}[redacted]{after}"));
    }
}

/// Files of this repository in which something is meant to look like a secret.
const LOOKS_LIKE_ONE: &[&str] = &[
    "crates/app/tests/acp/stage.rs",
    "crates/app/tests/agents/troubles.rs",
    "crates/app/tests/claude/stage.rs",
    "crates/app/tests/commands/issues.rs",
    "crates/app/tests/commands/takes.rs",
    "crates/app/tests/secrets/canaries.rs",
    "crates/fuzz/tests/targets/redactor.rs",
    "crates/hosts/tests/hosts/trackers.rs",
    "crates/hosts/tests/hosts/trouble.rs",
    "crates/keeper/src/redact/files.rs",
    "crates/keeper/src/redact/known_values.rs",
    "crates/keeper/src/redact/redactor/json_tests.rs",
    "crates/keeper/src/redact/redactor/tests.rs",
];

#[test]
fn the_text_of_this_repository_stays_but_for_what_is_meant_to_look_like_a_secret() {
    let root =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut finder = Finder::new([]);
    let mut n_files = 0;
    let mut seen: Vec<(String, Vec<SecretMatch>)> = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            let is_ours = !name.starts_with('.') || name == ".github" || name == ".forge";
            // The corpus of the fuzzer is made of such things.
            let is_source = is_ours && name != "target" && name != "corpus";
            if entry.file_type().unwrap().is_dir() && is_source {
                open.push(path);
            } else if entry.file_type().unwrap().is_file() {
                n_files += 1;
                let found = finder.find(&std::fs::read(&path).unwrap());
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                if !found.is_empty() {
                    seen.push((name, found));
                }
            }
        }
    }
    assert!(n_files > 300, "only {n_files} files were looked at");
    seen.sort_by(|one, other| one.0.cmp(&other.0));
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, LOOKS_LIKE_ONE, "{seen:#?}");
}

#[test]
fn hashes_and_ids_stay() {
    for text in [
        "checksum = \"1f1a5e3d6a2b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f\"",
        "commit 6bf934112e3d4c5b6a798897a6b5c4d3e2f10a0b",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "\"integrity\": \"sha512-9Y4Kb1bGqD7r0mPzHk5Ks2a3b4C5d6E7f8G9h0==\"",
    ] {
        assert_eq!(redacted(&[], text), text);
    }
}

/// A small generator; the same seed gives the same story.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, bound: usize) -> usize {
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
    "password",
    "_token",
    "=",
    ": ",
    "\\\"",
    "\"",
    "Bearer ",
    "Basic ",
    "dXNlcjpodW50ZXIy",
    "://",
    "user:",
    "l0velace",
    "@",
    "a1b2c3d4e5",
    "(",
    "Z2hwXzAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm",
    "c2stYW50L",
    "LS0tLS1CRUdJTi",
    "AccountKey=",
    "dapi",
    "SK",
    "SG.",
    "\n{",
    "{",
    "{\"a\":\"",
    "\"}\n",
    "\\u003e",
    "\\\\n",
    "\\",
    "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7",
    "\nProc-Type: 4,ENCRYPTED",
    "    12\u{2192}",
    "12",
    "-----END RSA PRIVATE KEY-----",
];

fn story(chance: &mut Chance) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..chance.below(80) {
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
    for seed in 1..1_500 {
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
