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
    ("agents", &[]),
    ("workspace", &[]),
    ("runtime", &["core", "agents", "workspace"]),
    ("app", &["core", "runtime"]),
];

/// What the core may use of others.
const CORE_MAY_USE: &[&str] = &["schemars", "serde", "toml"];

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
    let mut problems = Vec::new();
    for (name, _) in ALLOWED {
        let path = root().join("crates").join(name).join("Cargo.toml");
        match fs::read_to_string(&path) {
            Ok(text) => problems.extend(wrong_arrows(name, &text)),
            Err(error) => problems.push(format!("{}: {error}", path.display())),
        }
    }
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

/// Arrows of one crate that point the wrong way.
fn wrong_arrows(name: &str, manifest: &str) -> Vec<String> {
    let Ok(manifest) = manifest.parse::<toml::Table>() else {
        return vec![format!("{name}: its manifest cannot be read")];
    };
    let allowed = ALLOWED.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, may)| *may);
    let used = manifest.get("dependencies").and_then(toml::Value::as_table);
    let mut wrong = Vec::new();
    for used in used.into_iter().flat_map(toml::Table::keys) {
        match used.strip_prefix("forge-") {
            Some(other) if !allowed.contains(&other) => wrong.push(format!("{name} -> {other}")),
            None if name == "core" && !CORE_MAY_USE.contains(&used.as_str()) => {
                wrong.push(format!("core -> {used} (the law takes nothing that does IO)"));
            }
            Some(_) | None => {}
        }
    }
    wrong
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
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if let Some(word) = IMPURE.iter().find(|word| code.contains(**word)) {
                add(format!("line {}: the core says `{word}`", number + 1));
            }
        }
    }
    problems
}

/// All Rust files of ours.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.join("crates"), root.join("xtask")];
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
    fn an_untidy_file_is_seen() {
        let path = Path::new("crates/core/src/x.rs");
        let planted = "fn f() -> u64 {\n    std::time::Instant::now()\n}\n";
        assert_eq!(
            untidy(path, planted),
            [
                "crates/core/src/x.rs: has no module comment",
                "crates/core/src/x.rs: line 2: the core says `Instant`"
            ]
        );
        let long = format!("//! Long.\n{}", "\n".repeat(LINES_MAX));
        assert_eq!(untidy(Path::new("crates/app/src/x.rs"), &long).len(), 1);
        assert!(untidy(path, "//! Tidy.\n").is_empty());
    }
}
