//! A folder in which a project may be, the files below it, and what one ecosystem found there.

use crate::{
    bounded_text::start_of,
    path_names::{base_name, quoted},
};

/// The most bytes of a file that is looked into.
pub(super) const FILE_BYTES_MAX: usize = 1024 * 1024;
/// The most bytes of what one recipe runs.
pub(super) const TEXT_BYTES_MAX: usize = 64 * 1024;
/// The files of a commit or a folder. Paths have `/` and are relative to the top.
pub trait Files {
    /// Whether there is such a file.
    fn exists(&self, path: &str) -> bool;
    /// The text of a file, if it is there and is text.
    fn read(&self, path: &str) -> Option<String>;
    /// All files.
    fn list(&self) -> Vec<String>;
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

/// What one ecosystem found in one place. Paths and commands are as seen from there.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) checks: Vec<Check>,
    pub(super) setup: Vec<Found>,
    pub(super) setup_inputs: Vec<String>,
    pub(super) cache: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// The words by which others would run a check: the program, then words after it.
pub(super) type Sign = &'static [&'static str];

/// A check, with what is needed to see that one wraps another.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) found: Found,
    /// What it runs, as shell text, where that is known.
    pub(super) does: String,
    pub(super) signs: Vec<Sign>,
}

impl Part {
    /// Adds a check that wraps nothing.
    pub(super) fn check(&mut self, command: &str, why: &str, file: &str, signs: &[Sign]) {
        self.wrapping(command, why, file, signs, String::new());
    }

    /// Adds a check that is known to run this text.
    pub(super) fn wrapping(
        &mut self,
        command: &str,
        why: &str,
        file: &str,
        signs: &[Sign],
        mut does: String,
    ) {
        does.truncate(start_of(&does, TEXT_BYTES_MAX).len());
        self.checks.push(Check {
            found: Found::new(command, why, file),
            does,
            signs: signs.into(),
        });
    }

    pub(super) fn set_up(&mut self, command: &str, why: &str, file: &str) {
        self.setup.push(Found::new(command, why, file));
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds those of the files that are there.
    pub(super) fn inputs(&mut self, place: &Place, paths: &[&str]) {
        let there = paths.iter().filter(|path| place.exists(path));
        self.setup_inputs.extend(there.map(|path| (*path).to_owned()));
    }
}

impl Found {
    pub(super) fn new(command: &str, why: &str, file: &str) -> Self {
        Self { command: command.to_owned(), why: why.to_owned(), file: file.to_owned() }
    }

    /// The same, as seen from the top.
    pub(super) fn below(mut self, folder: &str) -> Self {
        if !folder.is_empty() {
            self.command = format!("cd {} && {}", quoted(folder), self.command);
            self.file = below(folder, &self.file);
        }
        self
    }
}

/// A folder in which a project may lie, and the files below it.
pub(super) struct Place<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) folder: &'a str,
    /// Relative to the folder, sorted.
    pub(super) paths: Vec<&'a str>,
}

impl<'a> Place<'a> {
    pub(super) fn new(files: &'a dyn Files, folder: &'a str, all: &'a [String]) -> Self {
        let inside = |path: &'a String| {
            if folder.is_empty() {
                return Some(path.as_str());
            }
            path.strip_prefix(folder)?.strip_prefix('/')
        };
        Self { files, folder, paths: all.iter().filter_map(inside).collect() }
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.files.exists(&below(self.folder, path))
    }

    /// Whether the listing has this file, for paths that a file's content names.
    pub(super) fn lists(&self, path: &str) -> bool {
        self.paths.binary_search(&path).is_ok()
    }

    /// The first of these that is there.
    pub(super) fn first<'p>(&self, paths: &[&'p str]) -> Option<&'p str> {
        paths.iter().copied().find(|path| self.exists(path))
    }

    /// The text of a file that is not too large to be looked into.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        let text = self.files.read(&below(self.folder, path))?;
        (text.len() <= FILE_BYTES_MAX).then_some(text)
    }

    /// Whether a file is there and has these words in it.
    pub(super) fn has(&self, path: &str, words: &str) -> bool {
        self.exists(path) && self.read(path).is_some_and(|text| text.contains(words))
    }

    /// Files directly in this folder.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.paths.iter().copied().filter(|path| !path.contains('/'))
    }

    /// Files of the project itself, without what it brought along from elsewhere.
    pub(super) fn own(&self) -> impl Iterator<Item = &'a str> {
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
pub(super) fn below(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

pub(super) fn push_new(all: &mut Vec<String>, one: String) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Whether a `.gitignore` at the top or beside it names this folder.
pub(super) fn is_ignored(files: &dyn Files, folder: &str, path: &str) -> bool {
    let last = base_name(path);
    [String::new(), folder.to_owned()].iter().any(|folder| {
        let text = files.read(&below(folder, ".gitignore")).unwrap_or_default();
        text.lines().take(10_000).any(|line| {
            let line = line.trim().trim_matches('/');
            base_name(line) == last || line == path || (line == ".*" && last.starts_with('.'))
        })
    })
}
