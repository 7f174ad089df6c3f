//! What kind of project this is, what its checks are, and how a checkout is made ready for them.
//!
//! Each ecosystem has its own small file and looks at one [`Place`]: the top, or a folder one level
//! below it. Not here: running anything, git, the disk. The input is a listing and the texts of files.
//!
//! Invariant: any content gives an answer; nothing panics, and no file is read past a limit.
//! Invariant: `Found::file` is a file of the listing, and every name in a command is quoted.
//! Invariant: what was seen and left out is in the notes, never silent.

use std::collections::{BTreeMap, BTreeSet};

mod cargo;
pub mod cut;
mod deno;
mod dotnet;
mod go;
pub mod guard;
mod java;
mod just;
mod make;
mod mix;
mod node;
mod plain;
mod python;
mod recipes;
mod ruby;
mod runners;
mod runners_text;
mod shell;
pub mod tests_said;
mod weakened;

/// The most bytes of a file that is looked into.
const FILE_BYTES_MAX: usize = 1024 * 1024;
/// The most folders that are looked at as projects of their own.
const FOLDERS_MAX: usize = 8;
/// The most notes, so that a strange repository fills no screen.
const NOTES_MAX: usize = 40;

/// The files of a commit or a folder. Paths have `/` and are relative to the top.
pub trait Files {
    /// Whether there is such a file.
    fn exists(&self, path: &str) -> bool;
    /// The text of a file, if it is there and is text.
    fn read(&self, path: &str) -> Option<String>;
    /// All files.
    fn list(&self) -> Vec<String>;
}

/// What was found out about a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// The checks, in the order in which they are run.
    pub verify: Vec<Found>,
    /// What makes a fresh checkout ready.
    pub setup: Vec<Found>,
    /// Files after whose change the setup is done again.
    pub setup_inputs: Vec<String>,
    /// Folders that may be kept from one checkout to the next.
    pub cache: Vec<String>,
    /// What was left out or looks odd, one sentence each.
    pub notes: Vec<String>,
}

/// One command that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The command, for a shell at the top.
    pub command: String,
    /// Why it is believed to be right, in one line.
    pub why: String,
    /// The file that defines what the command does.
    pub file: String,
}

/// Looks at the top and one level below it.
pub fn detect(files: &dyn Files) -> Project {
    let mut paths = files.list();
    let listed = paths.len();
    paths.retain(|path| is_plain(path));
    paths.sort_unstable();
    paths.dedup();
    let mut project = Project::default();
    if paths.len() < listed {
        let left_out = listed - paths.len();
        project.notes.push(format!("{left_out} files have names that no command can hold"));
    }
    let top = Place::new(files, "", &paths);
    let mut places = vec![(look(&top, ECOSYSTEMS.iter()), "")];
    if places.iter().all(|(part, _)| part.checks.is_empty()) {
        places.push((shell::each_script(&top), ""));
    }
    let folders = folders(&top, &mut project.notes);
    for (folder, _) in &folders {
        let place = Place::new(files, folder, &paths);
        let own = ECOSYSTEMS.iter().filter(|ecosystem| !(ecosystem.covers)(&top, folder));
        let own = own.filter(|ecosystem| ecosystem.name != shell::NAME);
        places.push((look(&place, own), folder));
    }
    let checks = leave_out_wrapped(&mut places);
    for (mut part, folder) in places {
        project.setup.extend(part.setup.into_iter().map(|found| found.below(folder)));
        for path in part.setup_inputs {
            push_new(&mut project.setup_inputs, below(folder, &path));
        }
        for path in part.cache {
            if !is_ignored(files, folder, &path) {
                part.notes.push(format!("`{path}` will appear, and no .gitignore names it"));
            }
            push_new(&mut project.cache, below(folder, &path));
        }
        let place = if folder.is_empty() { String::new() } else { format!("{folder}/: ") };
        project.notes.extend(part.notes.into_iter().map(|note| format!("{place}{note}")));
    }
    project.verify = checks;
    if project.notes.len() > NOTES_MAX {
        let more = project.notes.len() - NOTES_MAX;
        project.notes.truncate(NOTES_MAX);
        project.notes.push(format!("{more} more notes were left out"));
    }
    project
}

/// A family of projects that Forge knows.
struct Ecosystem {
    name: &'static str,
    detect: fn(&Place) -> Part,
    /// Whether the top already takes care of this folder.
    covers: fn(&Place, &str) -> bool,
}

/// All that are known. What wraps others comes first, because it wins over what comes later.
const ECOSYSTEMS: &[Ecosystem] = &[
    Ecosystem { name: "just", detect: just::detect, covers: never },
    Ecosystem { name: "make", detect: make::detect, covers: never },
    Ecosystem { name: shell::NAME, detect: shell::detect, covers: never },
    Ecosystem { name: "cargo", detect: cargo::detect, covers: cargo::covers },
    Ecosystem { name: "node", detect: node::detect, covers: node::covers },
    Ecosystem { name: "deno", detect: deno::detect, covers: deno::covers },
    Ecosystem { name: "python", detect: python::detect, covers: never },
    Ecosystem { name: "go", detect: go::detect, covers: never },
    Ecosystem { name: "java", detect: java::detect, covers: java::covers },
    Ecosystem { name: "dotnet", detect: dotnet::detect, covers: dotnet::covers },
    Ecosystem { name: "ruby", detect: ruby::detect, covers: never },
    Ecosystem { name: "mix", detect: mix::detect, covers: never },
];

/// Files that make a folder a project of its own.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "package.json",
    "deno.json",
    "deno.jsonc",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "pytest.ini",
    "requirements.txt",
    "Pipfile",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "GNUmakefile",
    "makefile",
    "Makefile",
    "justfile",
    "Justfile",
    ".justfile",
    "Gemfile",
    "Rakefile",
    "mix.exs",
];

/// Folders that hold examples, foreign code or data, whatever lies in them.
const NO_PROJECTS: &[&str] = &[
    "bench",
    "benches",
    "build",
    "dist",
    "doc",
    "docs",
    "e2e",
    "example",
    "examples",
    "external",
    "extern",
    "fixtures",
    "fuzz",
    "node_modules",
    "out",
    "sample",
    "samples",
    "spec",
    "target",
    "template",
    "templates",
    "test",
    "testdata",
    "tests",
    "third-party",
    "third_party",
    "vendor",
];

fn never(_top: &Place, _folder: &str) -> bool {
    false
}

/// What the ecosystems found in one place.
fn look<'a>(place: &Place, ecosystems: impl Iterator<Item = &'a Ecosystem>) -> Part {
    let mut all = Part::default();
    for ecosystem in ecosystems {
        let part = (ecosystem.detect)(place);
        all.checks.extend(part.checks);
        all.setup.extend(part.setup);
        all.setup_inputs.extend(part.setup_inputs);
        all.cache.extend(part.cache);
        all.notes.extend(part.notes);
    }
    all
}

/// Folders one level down that have a manifest, each with its first one.
fn folders(top: &Place, notes: &mut Vec<String>) -> Vec<(String, String)> {
    let mut found: BTreeMap<&str, &str> = BTreeMap::new();
    for path in &top.paths {
        let Some((folder, rest)) = path.split_once('/') else { continue };
        if MANIFESTS.contains(&rest) || (!rest.contains('/') && dotnet::is_manifest(rest)) {
            found.entry(folder).or_insert(rest);
        }
    }
    let is_hidden = |folder: &str| folder.starts_with('.');
    let mut folders = Vec::new();
    let mut too_many = Vec::new();
    for (folder, manifest) in found {
        if is_hidden(folder) || NO_PROJECTS.contains(&folder.to_ascii_lowercase().as_str()) {
            notes.push(format!("{folder}/ has a {manifest} and was not looked at"));
        } else if folders.len() == FOLDERS_MAX {
            too_many.push(folder);
        } else {
            folders.push((folder.to_owned(), manifest.to_owned()));
        }
    }
    if !too_many.is_empty() {
        let names = too_many.join("/, ");
        notes.push(format!("only {FOLDERS_MAX} folders are looked at; not {names}/"));
    }
    folders
}

/// All checks, without those that another check runs anyway.
fn leave_out_wrapped(places: &mut [(Part, &str)]) -> Vec<Found> {
    let mut all: Vec<(usize, Check, String)> = Vec::new();
    for (index, (part, folder)) in places.iter_mut().enumerate() {
        let checks = std::mem::take(&mut part.checks);
        all.extend(checks.into_iter().map(|check| (index, check, (*folder).to_owned())));
    }
    let mut gone = BTreeSet::new();
    for at in (0..all.len()).rev() {
        let (index, check, folder) = &all[at];
        let by = all.iter().enumerate().find(|(other, (_, wrapper, around))| {
            *other != at
                && !gone.contains(other)
                && (around == folder || around.is_empty())
                && recipes::runs(&wrapper.does, &check.signs, seen_from(around, folder))
        });
        if let Some((_, (_, wrapper, around))) = by {
            let wrapper = wrapper.found.clone().below(around).command;
            let note = format!("`{}` was left out: `{wrapper}` runs it", check.found.command);
            places[*index].0.notes.push(note);
            gone.insert(at);
        }
    }
    let kept = all.into_iter().enumerate().filter(|(at, _)| !gone.contains(at));
    kept.map(|(_, (_, check, folder))| check.found.below(&folder)).collect()
}

/// The folder in which a command of another place has to be started to mean the same.
fn seen_from<'a>(around: &str, folder: &'a str) -> &'a str {
    if around == folder { "" } else { folder }
}

/// What one ecosystem found in one place. Paths and commands are as seen from there.
#[derive(Debug, Default)]
struct Part {
    checks: Vec<Check>,
    setup: Vec<Found>,
    setup_inputs: Vec<String>,
    cache: Vec<String>,
    notes: Vec<String>,
}

/// The words by which others would run a check: the program, then words after it.
type Sign = &'static [&'static str];

/// A check, with what is needed to see that one wraps another.
#[derive(Debug)]
struct Check {
    found: Found,
    /// What it runs, as shell text, where that is known.
    does: String,
    signs: Vec<Sign>,
}

impl Part {
    /// Adds a check that wraps nothing.
    fn check(&mut self, command: &str, why: &str, file: &str, signs: &[Sign]) {
        self.wrapping(command, why, file, signs, String::new());
    }

    /// Adds a check that is known to run this text.
    fn wrapping(&mut self, command: &str, why: &str, file: &str, signs: &[Sign], mut does: String) {
        does.truncate(plain::start_of(&does, recipes::TEXT_BYTES_MAX).len());
        self.checks.push(Check {
            found: Found::new(command, why, file),
            does,
            signs: signs.into(),
        });
    }

    fn set_up(&mut self, command: &str, why: &str, file: &str) {
        self.setup.push(Found::new(command, why, file));
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds those of the files that are there.
    fn inputs(&mut self, place: &Place, paths: &[&str]) {
        let there = paths.iter().filter(|path| place.exists(path));
        self.setup_inputs.extend(there.map(|path| (*path).to_owned()));
    }
}

impl Found {
    fn new(command: &str, why: &str, file: &str) -> Self {
        Self { command: command.to_owned(), why: why.to_owned(), file: file.to_owned() }
    }

    /// The same, as seen from the top.
    fn below(mut self, folder: &str) -> Self {
        if !folder.is_empty() {
            self.command = format!("cd {} && {}", quoted(folder), self.command);
            self.file = below(folder, &self.file);
        }
        self
    }
}

/// A folder in which a project may lie, and the files below it.
struct Place<'a> {
    files: &'a dyn Files,
    folder: &'a str,
    /// Relative to the folder, sorted.
    paths: Vec<&'a str>,
}

impl<'a> Place<'a> {
    fn new(files: &'a dyn Files, folder: &'a str, all: &'a [String]) -> Self {
        let inside = |path: &'a String| {
            if folder.is_empty() {
                return Some(path.as_str());
            }
            path.strip_prefix(folder)?.strip_prefix('/')
        };
        Self { files, folder, paths: all.iter().filter_map(inside).collect() }
    }

    fn exists(&self, path: &str) -> bool {
        self.files.exists(&below(self.folder, path))
    }

    /// Whether the listing has this file, for paths that a file's content names.
    fn lists(&self, path: &str) -> bool {
        self.paths.binary_search(&path).is_ok()
    }

    /// The first of these that is there.
    fn first<'p>(&self, paths: &[&'p str]) -> Option<&'p str> {
        paths.iter().copied().find(|path| self.exists(path))
    }

    /// The text of a file that is not too large to be looked into.
    fn read(&self, path: &str) -> Option<String> {
        let text = self.files.read(&below(self.folder, path))?;
        (text.len() <= FILE_BYTES_MAX).then_some(text)
    }

    /// Whether a file is there and has these words in it.
    fn has(&self, path: &str, words: &str) -> bool {
        self.exists(path) && self.read(path).is_some_and(|text| text.contains(words))
    }

    /// Files directly in this folder.
    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.paths.iter().copied().filter(|path| !path.contains('/'))
    }

    /// Files of the project itself, without what it brought along from elsewhere.
    fn own(&self) -> impl Iterator<Item = &'a str> {
        self.paths.iter().copied().filter(|path| {
            let mut folders = path.split('/').rev().skip(1);
            !folders.any(|folder| {
                matches!(folder, "node_modules" | "vendor" | "third_party" | "target" | "dist")
                    || (folder.starts_with('.') && folder.len() > 1)
            })
        })
    }
}

/// A path below a folder.
fn below(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

/// The part of a path after the last slash.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a path is relative, stays inside, and fits into one line of a command.
fn is_plain(path: &str) -> bool {
    !path.is_empty()
        && !path.chars().any(char::is_control)
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// A name as a shell reads it back.
fn quoted(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_./+:@%=,-".contains(c);
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    if !name.is_empty() && name.chars().all(is_safe) {
        return name;
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

fn push_new(all: &mut Vec<String>, one: String) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Whether a `.gitignore` at the top or beside it names this folder.
fn is_ignored(files: &dyn Files, folder: &str, path: &str) -> bool {
    let last = base_name(path);
    [String::new(), folder.to_owned()].iter().any(|folder| {
        let text = files.read(&below(folder, ".gitignore")).unwrap_or_default();
        text.lines().take(10_000).any(|line| {
            let line = line.trim().trim_matches('/');
            base_name(line) == last || line == path || (line == ".*" && last.starts_with('.'))
        })
    })
}

#[cfg(test)]
mod tests;
