//! What the compiler does not check: arrows between crates and modules, names, comments, sizes, links between documents, and that the core
//! cannot even name the outside world. Each guard has a test in which it says no.

mod arrows;
mod comments;
mod files;
mod links;
mod modules;
mod size;
mod source;
mod syncs;
mod types;
mod words;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use source::Crate;

use crate::{
    command::say,
    pictures,
    repository::{files_below, root},
};

/// Past this, one must climb too far to understand a file.
const FLOORS_MAX: usize = 8;
/// Doc comments that users read as they are, in `--help` and in the schema of the settings.
const HELP_TEXTS: [(&str, &str); 2] = [("app", "cli/"), ("project", "settings/types.rs")];

/// Looks at everything.
pub(crate) fn run() -> ExitCode {
    let (crates, mut problems) = crates(&root());
    problems.extend(arrows::manifests(&root()));
    problems.extend(crates.iter().flat_map(arrows::past_the_allowed_module));
    for path in sources(&root()) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let shown = path.strip_prefix(root()).unwrap_or(&path).to_owned();
        problems.extend(files::untidy(&shown, &text));
        problems.extend(syncs::unknown(&shown, &text));
    }
    problems.extend(in_the_house(&crates));
    problems.extend(crates.iter().flat_map(words::foreign));
    for path in documents(&root()) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let found = words::in_document(&text).into_iter();
        problems.extend(found.map(|(line, what)| format!("{shown}:{line}: {what}")));
    }
    problems.extend(links::dead(&root()));
    problems.extend(pictures::stale(&root()));
    for problem in &problems {
        say(problem);
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says how many lines each crate has.
pub(crate) fn sizes() -> ExitCode {
    let (crates, problems) = crates(&root());
    for problem in &problems {
        say(problem);
    }
    say(&size::table(&crates));
    ExitCode::SUCCESS
}

/// Circles and floors of modules, types with the same name, and comments that say nothing.
fn in_the_house(crates: &[Crate]) -> Vec<String> {
    let mut problems = Vec::new();
    for all in crates {
        let uses = modules::Uses::of_crate(all);
        for circle in uses.circles() {
            problems.push(format!("{}: a circle of {}", all.name, circle.join(", ")));
        }
        let chain = uses.longest_chain();
        if chain.len() > FLOORS_MAX {
            let (floors, chain) = (chain.len(), chain.join(" > "));
            problems.push(format!("{}: {floors} floors, at most {FLOORS_MAX}: {chain}", all.name));
        }
        for file in &all.files {
            let path = file.path.display().to_string();
            if HELP_TEXTS.iter().any(|(name, begin)| all.name == *name && path.starts_with(begin)) {
                continue;
            }
            for (line, text) in comments::empty(file) {
                problems.push(format!("{}: src/{path}:{line}: `{text}` says nothing", all.name));
            }
        }
    }
    problems.extend(types::repeated(crates));
    problems
}

/// All crates that can be read, and what is wrong with the others.
fn crates(root: &Path) -> (Vec<Crate>, Vec<String>) {
    let entries = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join("Cargo.toml").exists());
    folders.sort();
    folders.push(root.join("xtask"));
    let (mut crates, mut problems) = (Vec::new(), Vec::new());
    for folder in folders {
        match Crate::read(&folder) {
            Ok(found) => crates.push(found),
            Err(problem) => problems.push(problem),
        }
    }
    (crates, problems)
}

/// The documents that users and agents read.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = files_below(&root.join("docs"), "md");
    found.extend(files_below(&root.join("flows"), "md"));
    found.push(root.join("README.md"));
    found
}

/// All Rust files of ours.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut found = files_below(&root.join("crates"), "rs");
    found.extend(files_below(&root.join("xtask"), "rs"));
    found
}
