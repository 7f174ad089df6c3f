//! What must hold for each file by itself: a module comment, a size, nothing unfinished, and that the core cannot even name the
//! outside world.

use std::path::Path;

/// Past this, a file has a second idea.
const LINES_MAX: usize = 800;

/// Words that the core cannot say: the disk, the clock, chance, threads, hashers, floats.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::io",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "std::os",
    "std::*",
    "use std as",
    "Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
    "async ",
    ".await",
    "f32",
    "f64",
    "rand::",
];

/// The same words in a group: `use std::{collections::BTreeMap, fs}`.
const IMPURE_IN_STD: &[&str] =
    &["fs", "io", "env", "net", "process", "thread", "time", "os", "self", "*"];

/// Marks of unfinished work, put together so that this file does not have them.
const UNFINISHED: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimplemen", "ted!("),
    concat!("db", "g!("),
    concat!("FIX", "ME"),
    // With a reason it is one; `--full` runs those.
    concat!("#[ig", "nore]"),
];

/// Finds all that is wrong with one file.
pub(super) fn untidy(path: &Path, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut add = |what: String| problems.push(format!("{}: {what}", path.display()));
    let is_source = path.components().any(|part| part.as_os_str() == "src");
    if is_source && !text.starts_with("//!") {
        add("has no module comment".to_owned());
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        add(format!("has {lines} lines: look for the second idea"));
    }
    for (number, line) in text.lines().enumerate() {
        if let Some(mark) = UNFINISHED.iter().find(|mark| line.contains(**mark)) {
            add(format!("line {}: `{mark}`", number + 1));
        }
        if line.contains(concat!("TO", "DO")) && !line.contains('#') {
            add(format!("line {}: something to do without an issue", number + 1));
        }
    }
    if path.starts_with("crates/core/src") {
        let code: Vec<&str> =
            text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        for (number, code) in code.iter().enumerate() {
            if let Some(word) = IMPURE.iter().find(|word| code.contains(**word)) {
                add(format!("line {}: the core says `{word}`", number + 1));
            }
        }
        for (number, word) in impure_in_groups(&code.join("\n")) {
            add(format!("line {number}: the core says `std::{{{word}}}`"));
        }
    }
    problems
}

/// Impure names directly inside `std::{…}`, over any number of lines, each with its line.
fn impure_in_groups(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (at, opening) in code.match_indices("std::{") {
        let start = at + opening.len();
        let mut depth = 1;
        let mut is_first = true;
        for (offset, character) in code[start..].char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => is_first = true,
                _ if character.is_whitespace() => {}
                _ if is_first => {
                    is_first = false;
                    let rest = &code[start + offset..];
                    let end = rest.find(|c: char| !c.is_alphanumeric() && !"_*".contains(c));
                    let name = &rest[..end.unwrap_or(rest.len())];
                    let line = code[..start + offset].matches('\n').count() + 1;
                    found.extend(
                        IMPURE_IN_STD
                            .iter()
                            .filter(|word| **word == name)
                            .map(|word| (line, *word)),
                    );
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_cannot_name_the_outside_world_in_any_form_of_import() {
        let path = Path::new("crates/core/src/x.rs");
        let said = |code: &str| {
            let problems = untidy(path, &format!("//! X.\n{code}\n"));
            let words = problems.iter().filter_map(|problem| problem.split_once(".rs: "));
            words.map(|(_, words)| words.to_owned()).collect::<Vec<_>>()
        };
        for word in ["fs", "io", "env", "net", "process", "thread", "time", "os"] {
            let plain = said(&format!("use std::{word}::x;"));
            assert_eq!(plain, [format!("line 2: the core says `std::{word}`")]);
            let grouped = format!("line 2: the core says `std::{{{word}}}`");
            assert_eq!(said(&format!("use std::{{collections::BTreeMap, {word}}};")), [&*grouped]);
            assert_eq!(said(&format!("use std::{{{word}::x, fmt}};")), [&*grouped]);
        }
        assert_eq!(
            said(
                "use std::{\n    collections::{BTreeMap, BTreeSet}, // fs\n    fmt,\n    io::{self, Read},\n};"
            ),
            ["line 5: the core says `std::{io}`"]
        );
        assert_eq!(said("use std::{self as s};"), ["line 2: the core says `std::{self}`"]);
        let fine = "use std::{\n    collections::{BTreeMap, btree_map::{self, Entry}},\n    fmt::{self, Write},\n    sync::Arc,\n};\nuse crate::{time, process};";
        assert_eq!(said(fine), [] as [&str; 0]);
    }

    #[test]
    fn an_untidy_file_is_seen() {
        let path = Path::new("crates/core/src/x.rs");
        let planted = "fn f() -> u64 {\n    std::time::Instant::now()\n}\n";
        assert_eq!(
            untidy(path, planted),
            [
                "crates/core/src/x.rs: has no module comment",
                "crates/core/src/x.rs: line 2: the core says `std::time`"
            ]
        );
        let long = format!("//! Long.\n{}", "\n".repeat(LINES_MAX));
        assert_eq!(untidy(Path::new("crates/app/src/x.rs"), &long).len(), 1);
        assert!(untidy(path, "//! Tidy.\n").is_empty());
    }
}
