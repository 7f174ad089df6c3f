//! One secret of every family, as it stands in a text, and what of it must never be found again.
//!
//! They are put together here, so that nothing but the marks of private keys looks like one in this file.

/// A secret that nobody uses.
pub(crate) struct Canary {
    /// The line in which it stands.
    pub(crate) line: String,
    /// The secret alone.
    pub(crate) bare: String,
    /// The part of it that chance made.
    pub(crate) core: String,
    /// Whether it is known in base64, too: by its shape, or because it was places.
    pub(crate) disguise: Disguise,
}

/// In which forms a canary is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disguise {
    /// Also in base64.
    Base64,
    /// Only as it is, and escaped.
    None,
}

/// The variable of the driver that has a secret in it.
pub(crate) const KNOWN_VARIABLE: &str = "CANARY_API_TOKEN";

/// A secret that looks like nothing, and is known only because a variable has it.
pub(crate) fn known() -> Canary {
    let core = "plum \"tart\" \\ and rhubarb/cr\u{fc}mble".to_owned();
    let line = format!("they said {core} twice");
    Canary { line, bare: core.clone(), core, disguise: Disguise::Base64 }
}

/// Letters and digits as chance makes them, the same ones each time.
fn chance(seed: usize, len: usize, letters: &[u8]) -> String {
    let mut state = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % letters.len() as u64).unwrap()
    };
    let mut text: Vec<u8> = (0..len).map(|_| letters[next()]).collect();
    // Whoever looks for chance wants to see both.
    text[3..7].copy_from_slice(b"4A5B");
    String::from_utf8(text).unwrap()
}

const ALL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &[u8] = b"0123456789abcdef";

/// One of each family.
pub(crate) fn canaries() -> Vec<Canary> {
    let shapes: &[(&[&str], usize, &[u8])] = &[
        (&["sk", "-ant-api03-"], 80, ALL),
        (&["sk", "-"], 48, ALL),
        (&["sk", "-proj-"], 60, ALL),
        (&["sk", "-svcacct-"], 60, ALL),
        (&["gh", "p_"], 36, ALL),
        (&["gh", "o_"], 36, ALL),
        (&["gh", "u_"], 36, ALL),
        (&["gh", "s_"], 36, ALL),
        (&["gh", "r_"], 36, ALL),
        (&["github", "_pat_"], 60, ALL),
        (&["glp", "at-"], 20, ALL),
        (&["AK", "IA"], 16, UPPER),
        (&["AI", "za"], 35, ALL),
        (&["GOC", "SPX-"], 28, ALL),
        (&["xo", "xb-"], 40, ALL),
        (&["xo", "xp-"], 40, ALL),
        (&["xa", "pp-1-"], 40, ALL),
        (&["sk", "_live_"], 24, ALL),
        (&["rk", "_live_"], 24, ALL),
        (&["wh", "sec_"], 32, ALL),
        (&["np", "m_"], 36, ALL),
        (&["py", "pi-AgEIcHlwaS5vcmc"], 100, ALL),
        (&["h", "f_"], 34, ALL),
        (&["S", "G."], 66, ALL),
        (&["do", "p_v1_"], 64, HEX),
        (&["HR", "KU-AA"], 58, ALL),
        (&["ey", "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0."], 43, ALL),
    ];
    let mut all: Vec<Canary> = Vec::new();
    for (prefix, len, letters) in shapes {
        let core = chance(all.len(), *len, letters);
        let bare = format!("{}{core}", prefix.concat());
        let line = format!("see {bare} there");
        all.push(Canary { line, bare, core, disguise: Disguise::Base64 });
    }
    // Exactly so many hexadecimal digits, lower case.
    for prefix in [["S", "K"], ["da", "pi"]] {
        let core = chance(all.len(), 32, HEX).to_lowercase();
        let bare = format!("{}{core}", prefix.concat());
        let line = format!("see {bare} there");
        all.push(Canary { line, bare, core, disguise: Disguise::None });
    }
    let places: &[(&str, usize, &str)] = &[
        ("aws_secret_access_key = ", 40, ""),
        ("{\"AccessKey\": \"", 40, "\"}"),
        ("https://hooks.slack.com/services/T0/B0/", 24, " posts"),
        ("CLOUDFLARE_API_TOKEN=", 40, ""),
        ("export HEROKU_API_KEY=", 36, ""),
        ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=", 86, "==;End=x"),
        ("Authorization: Bearer ", 40, ""),
        ("https://ada:", 20, "@example.org/x.git"),
        ("db_password: '", 20, "'"),
        ("client_secret=\"", 32, "\""),
        ("?access_token=", 32, "&page=2"),
        ("X-Api-Key: ", 32, ""),
        ("-----BEGIN RSA PRIVATE KEY-----\n", 64, "\n-----END RSA PRIVATE KEY-----"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\n", 70, "\n-----END OPENSSH PRIVATE KEY-----"),
        (
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n",
            64,
            "\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        ),
        (
            "{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMIIE",
            64,
            "\\n-----END PRIVATE KEY-----\\n\"}",
        ),
    ];
    for (before, len, after) in places {
        let core = chance(all.len(), *len, ALL);
        let line = format!("{before}{core}{after}");
        all.push(Canary { line, bare: core.clone(), core, disguise: Disguise::None });
    }
    // A name and a password.
    let core = base64(format!("ada:{}", chance(all.len(), 18, ALL)).as_bytes());
    let line = format!("Authorization: Basic {core}");
    let (bare, core) = (core.clone(), core[8..].to_owned());
    all.push(Canary { line, bare, core, disguise: Disguise::None });
    all
}

/// All lines in which the canaries are printed: plain, as JSON once and twice, and in base64.
pub(crate) fn song() -> String {
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let mut song = Vec::new();
    for canary in canaries().iter().chain([&known()]) {
        song.push(format!("plain {}\n", canary.line));
        song.push(format!("{{\"once\":{}}}\n", json(&canary.line)));
        song.push(format!("{{\"twice\":{}}}\n", json(&json(&canary.line))));
        if canary.disguise == Disguise::Base64 {
            song.push(format!("base64 {}\n", base64(canary.line.as_bytes())));
            song.push(format!("bare {}\n", base64(canary.bare.as_bytes())));
        }
    }
    song.concat()
}

/// Only the plain lines, for where a person or an agent says something.
pub(crate) fn sentence() -> String {
    canaries().iter().chain([&known()]).map(|canary| canary.line.clone() + "\n").collect()
}

/// All that must not be found: parts of each canary that are long enough to be places from chance.
pub(crate) fn traces() -> Vec<(String, Vec<u8>)> {
    let mut traces = Vec::new();
    for canary in canaries().iter().chain([&known()]) {
        let core = canary.core.as_bytes();
        let mut add = |form: Vec<u8>| {
            let len = form.len().min(TRACE_BYTES);
            let ends = [form[..len].to_vec(), form[form.len() - len..].to_vec()];
            traces.extend(ends.map(|end| (canary.line.clone(), end)));
        };
        add(core.to_vec());
        for before in ["", "x", "xy"] {
            let text = base64(&[before.as_bytes(), core].concat());
            // Without the characters at the ends, in which the neighbours have a part.
            add(text.trim_end_matches('=').as_bytes()[4..text.len() - 4].to_vec());
        }
        let once = serde_json::to_string(&canary.core).unwrap();
        let twice = serde_json::to_string(&once[1..once.len() - 1]).unwrap();
        for escaped in [once, twice] {
            add(escaped.trim_matches('"').as_bytes().to_vec());
        }
    }
    traces
}

/// A trace is as long as this, in bytes: a database may break a longer one between two pages.
pub(crate) const TRACE_BYTES: usize = 10;

pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for (number, down) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = ALPHABET[(bits >> down & 63) as usize];
            text.push(if number > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}
