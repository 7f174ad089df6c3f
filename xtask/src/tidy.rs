//! What the compiler does not check: arrows between crates, module comments, sizes, and that the
//! core cannot even name the outside world. Each guard has a test in which it says no.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{root, say};

/// Which crate may use which.
const ALLOWED: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("keeper", &[]),
    ("agents", &["core", "keeper"]),
    ("workspace", &[]),
    ("store", &["core"]),
    ("project", &["core", "keeper", "agents", "workspace"]),
    ("runtime", &["core", "keeper", "agents", "workspace", "store", "project"]),
    ("app", &["core", "runtime"]),
    ("scripted-model", &[]),
    ("benchmark", &["core", "runtime", "store"]),
];

/// Crates that the tests of any crate but the core may use.
const FOR_TESTS: &[&str] = &["scripted-model", "store"];

/// What the core may use of others.
const CORE_MAY_USE: &[&str] = &["schemars", "serde", "toml"];

/// What the tests of the core may use besides.
const CORE_TESTS_MAY_USE: &[&str] = &["serde_json", "insta"];

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
    concat!("#[ig", "nore"),
];

/// Looks at everything.
pub(crate) fn run() -> ExitCode {
    let mut problems = manifests(&root());
    for path in sources(&root()) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let shown = path.strip_prefix(root()).unwrap_or(&path).to_owned();
        problems.extend(untidy(&shown, &text));
    }
    for problem in &problems {
        say(problem);
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is wrong with the manifests of all crates.
fn manifests(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    let entries = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    if folders.is_empty() {
        problems.push("there are no crates".to_owned());
    }
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if !ALLOWED.iter().any(|(known, _)| *known == name) {
            problems.push(format!("{name}: say in `tidy` which crates it may use"));
        }
        let path = folder.join("Cargo.toml");
        match fs::read_to_string(&path) {
            Ok(text) => problems.extend(wrong_arrows(&name, &text)),
            Err(error) => problems.push(format!("{}: {error}", path.display())),
        }
    }
    problems
}

/// Arrows of one crate that point the wrong way.
fn wrong_arrows(name: &str, manifest: &str) -> Vec<String> {
    let Ok(manifest) = manifest.parse::<toml::Table>() else {
        return vec![format!("{name}: its manifest cannot be read")];
    };
    let allowed = ALLOWED.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, may)| *may);
    let mut wrong = Vec::new();
    for (kind, used) in used(&manifest) {
        let by_core = match kind {
            Kind::Code => CORE_MAY_USE.contains(&used.as_str()),
            Kind::Tests => CORE_TESTS_MAY_USE.contains(&used.as_str()),
        };
        let for_tests = |other: &str| matches!(kind, Kind::Tests) && FOR_TESTS.contains(&other);
        match used.strip_prefix("forge-") {
            Some(other) if name != "core" && for_tests(other) => {}
            Some(other) if !allowed.contains(&other) => wrong.push(format!("{name} -> {other}")),
            None if name == "core" && !by_core => {
                wrong.push(format!("core -> {used} (the law takes nothing that does IO)"));
            }
            Some(_) | None => {}
        }
    }
    wrong
}

/// What a dependency is for.
#[derive(Clone, Copy)]
enum Kind {
    /// The crate itself, or the program that builds it.
    Code,
    /// Its tests and examples.
    Tests,
}

/// All that a manifest uses, for any platform, by the true name of the package.
fn used(manifest: &toml::Table) -> Vec<(Kind, String)> {
    let platforms = manifest.get("target").and_then(toml::Value::as_table);
    let platforms = platforms.into_iter().flat_map(toml::Table::values);
    let tables = [manifest].into_iter().chain(platforms.filter_map(toml::Value::as_table));
    let mut used = Vec::new();
    for table in tables {
        for (key, kind) in [
            ("dependencies", Kind::Code),
            ("build-dependencies", Kind::Code),
            ("dev-dependencies", Kind::Tests),
        ] {
            let names = table.get(key).and_then(toml::Value::as_table);
            for (name, how) in names.into_iter().flatten() {
                let package = how.get("package").and_then(toml::Value::as_str);
                used.push((kind, package.unwrap_or(name).to_owned()));
            }
        }
    }
    used
}

/// What is wrong with one file.
fn untidy(path: &Path, text: &str) -> Vec<String> {
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

/// All Rust files of ours.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut found = rust_files(&root.join("crates"));
    found.extend(rust_files(&root.join("xtask")));
    found
}

/// All Rust files below a folder, sorted.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_point_the_right_way_and_a_wrong_one_is_seen() {
        let wrong =
            "[dependencies]\nserde = \"1\"\nforge-runtime = { path = \"x\" }\nrusqlite = \"1\"";
        assert_eq!(
            wrong_arrows("core", wrong),
            ["core -> runtime", "core -> rusqlite (the law takes nothing that does IO)"]
        );
        assert_eq!(wrong_arrows("app", "[dependencies]\nforge-agents = \"1\""), ["app -> agents"]);
        assert_eq!(wrong_arrows("runtime", "[dependencies]\nforge-core = \"1\""), [] as [&str; 0]);
    }

    #[test]
    fn only_tests_may_use_the_scripted_model() {
        let used_in = |table: &str| format!("[{table}]\nforge-scripted-model = \"1\"");
        assert_eq!(wrong_arrows("app", &used_in("dev-dependencies")), [] as [&str; 0]);
        for table in ["dependencies", "build-dependencies"] {
            assert_eq!(wrong_arrows("app", &used_in(table)), ["app -> scripted-model"]);
        }
        assert_eq!(
            wrong_arrows("core", &used_in("dev-dependencies")),
            ["core -> scripted-model"],
            "the law has no models"
        );
    }

    #[test]
    fn no_table_of_a_manifest_is_overlooked() {
        let io = |name: &str| format!("core -> {name} (the law takes nothing that does IO)");
        for table in ["build-dependencies", "target.'cfg(unix)'.dependencies", "dev-dependencies"] {
            let planted = format!("[{table}]\ntempfile = \"3\"\nforge-app = \"1\"");
            let mut wrong = wrong_arrows("core", &planted);
            wrong.sort();
            assert_eq!(wrong, ["core -> app".to_owned(), io("tempfile")], "{table}");
        }
        let tests = "[dev-dependencies]\nserde_json = \"1\"\ninsta = \"1\"\nserde = \"1\"";
        assert_eq!(wrong_arrows("core", tests), [io("serde")]);
        assert_eq!(wrong_arrows("core", "[dependencies]\nserde_json = \"1\""), [io("serde_json")]);
        let renamed = "[dependencies]\nserde = { package = \"rusqlite\", version = \"1\" }";
        assert_eq!(wrong_arrows("core", renamed), [io("rusqlite")]);
    }

    #[test]
    fn the_manifests_of_this_repository_are_in_order() {
        assert_eq!(manifests(&root()), [] as [&str; 0]);
        assert_eq!(manifests(Path::new("/nowhere")), ["there are no crates"]);
    }

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
