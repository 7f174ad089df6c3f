//! Lines of JSON stay lines of JSON, whatever is taken out of them; and a header alone is no key.

use serde_json::{Value, json};

use super::super::{
    base64,
    json_line::REDACTED,
    private_key::{KEY_BYTES_MAX, LOOK_BYTES_MAX},
    token_patterns::HOLD_BYTES_MAX,
};
use super::{
    tests::{Chance, examples, redacted},
    *,
};

const HEADER: &str = "-----BEGIN RSA PRIVATE KEY-----";
const END: &str = "-----END RSA PRIVATE KEY-----";
/// Two lines as keys have them, the second one short.
const BODY: &str = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB";
const LAST: &str = "aFDrBz9vFqU4yK==";

/// Values that were told to us: with quotes and backslashes at their ends, with the letters of
/// escapes, and numbers.
const KNOWN: &[&str] = &[
    "correct horse",
    "quote-at-end1\"",
    "\"quote-at-start1",
    "backslash-at-end1\\",
    "\\backslash-at-start1",
    "nothing-to-see1",
    "u00e9-is-a-letter1",
    "00e9-is-half-of-one1",
    "over\",\"several-strings1",
    "two\nlines-of-it1",
    "1234567890",
    "text\":\"see",
];

/// Something secret as it stands in a text, and what of it must be gone.
struct Secret {
    text: String,
    gone: Vec<String>,
}

fn secrets() -> Vec<Secret> {
    let one = |text: String, gone: &str| Secret { text, gone: vec![gone.to_owned()] };
    let mut all = Vec::new();
    for (prefix, body) in examples() {
        let text = format!("{prefix}{body}");
        if prefix.len() > 2 {
            let mut encoded = base64::encoded(text.as_bytes(), 0, base64::STANDARD);
            encoded.inside.extend(encoded.last);
            let encoded = String::from_utf8(encoded.inside).unwrap();
            all.push(one(encoded.clone(), &encoded));
        }
        all.push(one(text, &body));
    }
    let value = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE0KEY";
    for before in ["password=", "{\"api_key\": \"", "Bearer ", "'token': '", "SECRET="] {
        all.push(one(format!("{before}{value}"), value));
    }
    all.push(one("Basic YWRhOmxvdmVsYWNl".to_owned(), "YWRhOmxvdmVsYWNl"));
    all.push(one("postgres://ada:l0velace-1815@db".to_owned(), "l0velace-1815"));
    let both = || vec![BODY.to_owned(), LAST.to_owned()];
    for text in [
        format!("{HEADER}\n{BODY}\n{LAST}\n{END}"),
        format!("{HEADER}\r\n{BODY}\r\n{LAST}\r\n{END}\r\n"),
        format!("{HEADER}\n{BODY}\n{LAST}"),
        format!("{HEADER}{BODY}{LAST}{END}"),
        format!("{HEADER} {BODY} {LAST} {END}"),
        format!("    1→{HEADER}\n    2→{BODY}\n    3→{LAST}\n    4→{END}"),
        format!("+{HEADER}\n+{BODY}\n+{LAST}\n+{END}"),
        format!("-{HEADER}\n-{BODY}\n-{LAST}\n-{END}"),
        format!("12:{HEADER}\n13:{BODY}\n14:{LAST}\n15:{END}"),
        format!("{HEADER}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{BODY}\n{LAST}\n"),
        format!("\"{HEADER}\\n\" +\n    \"{BODY}\\n\" +\n  \"x"),
    ] {
        let gone = if text.ends_with('x') { vec![BODY.to_owned()] } else { both() };
        all.push(Secret { text, gone });
    }
    // A line end, and then something that is none.
    let text = format!("a\npm_{}", "A1B2C3D4E5".repeat(4));
    all.push(Secret { text, gone: Vec::new() });
    for value in KNOWN {
        all.push(one((*value).to_owned(), value));
    }
    all
}

/// What may stand before a secret, and behind it.
const BEFORE: &[&str] = &[
    "", " ", "\n", "\"", "\\", "\u{e9}", "x ", "\\n", "{", "\\\"", "\t", "'", ": ", "\r\n", "\u{1}",
];
const AFTER: &[&str] =
    &["", " ", "\n", "\"", "\\", "\u{e9}", " y", "\\n", "}", "\\\"", "\t", "'", ": ", "\u{1}x"];

/// A line with a text in it, in one of many places, as it is or put into JSON before.
fn line(chance: &mut Chance, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..chance.below(3) {
        text = match chance.below(3) {
            0 => json!({ "inner": text }).to_string(),
            1 => json!([text, "beside", { "more": null }]).to_string(),
            _ => json!({ "stdout": "a", text: true }).to_string(),
        };
    }
    let line = match chance.below(5) {
        0 => json!({ "type": "assistant", "message": { "content": [{ "text": text }] }, "n": 7 }),
        1 => json!({ "type": "user", "list": [text, text], "z": { "id": "msg_1" } }),
        2 => json!({ text: "a value", "z": 0.5 }),
        3 => json!({ "result": text, "structured_output": { "a": text }, "n": 1_234_567_890_u64 }),
        _ => json!({ "password": text, "n": [-1_234_567_890_123_i64, 12.345_678_901_2] }),
    };
    format!("{line}\n")
}

fn halves(redactor: &mut Redactor, text: &str, cut: usize) -> Vec<u8> {
    let mut out = Vec::new();
    redactor.push(&text.as_bytes()[..cut], &mut out);
    redactor.push(&text.as_bytes()[cut..], &mut out);
    redactor.finish(&mut out);
    out
}

#[test]
fn lines_of_json_stay_lines_of_json_without_their_secrets_wherever_they_are_cut() {
    let mut redactor = Redactor::new(KNOWN.iter().map(|value| value.as_bytes().to_vec()));
    for (number, secret) in secrets().iter().enumerate() {
        for round in 0..8_u64 {
            let seed = (number as u64 * 8 + round + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut chance = Chance(seed | 1);
            let before = BEFORE[chance.below(BEFORE.len())];
            let after = AFTER[chance.below(AFTER.len())];
            let text = format!("{before}{}{after}", secret.text);
            let line = line(&mut chance, &text);
            let clean = redactor.clean(line.as_bytes());
            let shown = String::from_utf8_lossy(&clean).into_owned();
            let parsed = serde_json::from_slice::<Value>(&clean);
            assert!(parsed.is_ok(), "{parsed:?}\n{line}{shown}");
            for gone in &secret.gone {
                assert!(!shown.contains(gone.as_str()), "{gone}\n{line}{shown}");
            }
            // Two lines, so that the first one has no say in the second.
            let next = format!("{line}{{\"type\":\"result\"}}\n");
            let step = if round == 0 { 1 } else { 29 };
            for cut in (0..next.len()).step_by(step) {
                let out = halves(&mut redactor, &next, cut);
                let expected = format!("{shown}{{\"type\":\"result\"}}\n");
                assert_eq!(String::from_utf8_lossy(&out), expected, "cut at {cut}:\n{line}");
            }
        }
    }
}

#[test]
fn json_in_the_strings_of_json_stays_json_too() {
    let mut redactor = Redactor::new([]);
    let n_known = KNOWN.len();
    let mut secrets = secrets();
    secrets.truncate(secrets.len() - n_known);
    for (number, secret) in secrets.iter().enumerate() {
        for round in 0..12_u64 {
            let seed = (number as u64 * 12 + round + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut chance = Chance(seed | 1);
            let before = BEFORE[chance.below(BEFORE.len())];
            let after = AFTER[chance.below(AFTER.len())];
            let text = format!("{before}{}{after}", secret.text);
            let once = json!({ "inner": text, "n": 1 }).to_string();
            let twice = json!({ "inner": once, "n": 2 }).to_string();
            let line = json!({ "text": twice }).to_string();
            let clean = redactor.clean(line.as_bytes());
            let mut value: Value = serde_json::from_slice(&clean).unwrap();
            for name in ["text", "inner"] {
                let text = value[name].as_str().unwrap_or_else(|| panic!("{line}\n{value}"));
                value = serde_json::from_str(text)
                    .unwrap_or_else(|error| panic!("{error}\n{line}\n{text}"));
            }
            assert_eq!(value["n"], 1, "{line}");
        }
    }
}

#[test]
fn a_header_in_prose_is_not_the_beginning_of_a_key() {
    for (text, clean) in [
        (" is how a key begins, and then", " is how a key begins, and then"),
        ("\n\nis how a key begins.\nNo key.", "\n\nis how a key begins.\nNo key."),
        ("`: a header.", "`: a header."),
        ("\"}", "\"}"),
        ("\\\"}\",\"id\":\"msg_01\"}", "\\\"}\",\"id\":\"msg_01\"}"),
        ("\\nis how it begins\"}", "\\nis how it begins\"}"),
        (" and \\n in prose", " and \\n in prose"),
        (
            " in 6bf934112e3d4c5b6a798897a6b5c4d3e2f10a0b6bf934112e3d4c5b6a798897a",
            " in 6bf934112e3d4c5b6a798897a6b5c4d3e2f10a0b6bf934112e3d4c5b6a798897a",
        ),
        ("\\nMIIE\\n\\nThat was it.", "\\n\\nThat was it."),
        ("\nProc-Type: 4,ENCRYPTED\n\nMIIE\nThat was it.", "\nThat was it."),
    ] {
        assert_eq!(redacted(&[], &format!("a {HEADER}{text}")), format!("a [redacted]{clean}"));
    }
    let prose = format!("{HEADER} is what {}", "it is about ".repeat(KEY_BYTES_MAX / 8));
    assert_eq!(redacted(&[], &prose).len(), prose.len() - HEADER.len() + REDACTED.len());
}

#[test]
fn a_key_of_one_string_has_no_say_in_the_next_one() {
    let long = "A1b2C3d4".repeat(8);
    let line = format!("{{\"a\":\"{HEADER}\",\"signature\":\"{long}\"}}");
    assert_eq!(redacted(&[], &line), format!("{{\"a\":\"[redacted]\",\"signature\":\"{long}\"}}"));
    let inner = format!("{{\"a\":\"{HEADER}\\n\\\" + \\\"{long}\"}}");
    assert_eq!(redacted(&[], &inner), "{\"a\":\"[redacted]\\n\\\" + \\\"[redacted]\"}");
}

#[test]
fn a_known_number_becomes_a_text_and_signs_stay() {
    let known = ["1234567890", "b\":\"c\",\"d"];
    assert_eq!(redacted(&known, "{\"a\":1234567890}"), "{\"a\":\"[redacted]\"}");
    assert_eq!(redacted(&known, "{\"a\":91234567890.5}"), "{\"a\":90}");
    assert_eq!(
        redacted(&known, "{\"ab\":\"c\",\"de\":1}"),
        "{\"a[redacted]\":\"[redacted]\",\"[redacted]e\":1}"
    );
    assert_eq!(redacted(&known, "no JSON: 1234567890"), "no JSON: [redacted]");
}

#[test]
fn little_of_a_key_is_held_back() {
    let mut redactor = Redactor::new([]);
    let mut out = Vec::new();
    let text = format!("{HEADER}\n{}", "a b\n\n\\\\\\\\\n    12→ab Proc-Type: x\n>>".repeat(1_000));
    for piece in text.as_bytes().chunks(7) {
        redactor.push(piece, &mut out);
        assert!(redactor.pending.len() < LOOK_BYTES_MAX + HOLD_BYTES_MAX);
    }
}
