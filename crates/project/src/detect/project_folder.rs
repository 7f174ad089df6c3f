//! A folder that may be a project, the files below it, and the findings of one ecosystem there.

use crate::{
    bounded_text::start_of,
    path_names::{base_name, quoted},
};

/// The most bytes of a file that is read.
pub(super) const FILE_BYTES_MAX: usize = 1024 * 1024;
/// The most bytes of what one recipe runs.
pub(super) const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Files of a commit or a folder. Paths have `/` and are relative to the top.
pub trait ProjectFiles {
    /// Tells whether there is such a file.
    fn exists(&self, path: &str) -> bool;
    /// Reads a file; nothing if it is missing or is not text.
    fn read(&self, path: &str) -> Option<String>;
    /// Returns the paths of all files.
    fn list(&self) -> Vec<String>;
}

/// A command that files of the project suggest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedCommand {
    /// The command, for a shell at the top.
    pub command: String,
    /// The reason for it, in one line.
    pub why: String,
    /// The file that defines what the command does.
    pub file: String,
}

/// The findings of one ecosystem in one folder. Paths and commands are relative to it.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) checks: Vec<DetectedCheck>,
    /// Linters that no check runs.
    pub(super) offers: Vec<DetectedCommand>,
    pub(super) setup: Vec<DetectedCommand>,
    pub(super) setup_inputs: Vec<String>,
    pub(super) cache: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// The words by which other commands run a check: the program, then words after it.
pub(super) type CommandWords = &'static [&'static str];

/// A check, with what is needed to see that one wraps another.
#[derive(Debug)]
pub(super) struct DetectedCheck {
    pub(super) found: DetectedCommand,
    /// The shell text that it runs, where that is known.
    pub(super) does: String,
    pub(super) signs: Vec<CommandWords>,
}

impl Findings {
    /// Adds a check that wraps nothing.
    pub(super) fn add_check(
        &mut self,
        command: &str,
        why: &str,
        file: &str,
        signs: &[CommandWords],
    ) {
        self.add_wrapping_check(command, why, file, signs, String::new());
    }

    /// Adds a check that is known to run this text.
    pub(super) fn add_wrapping_check(
        &mut self,
        command: &str,
        why: &str,
        file: &str,
        signs: &[CommandWords],
        mut does: String,
    ) {
        does.truncate(start_of(&does, TEXT_BYTES_MAX).len());
        self.checks.push(DetectedCheck {
            found: DetectedCommand::new(command, why, file),
            does,
            signs: signs.into(),
        });
    }

    pub(super) fn add_setup(&mut self, command: &str, why: &str, file: &str) {
        self.setup.push(DetectedCommand::new(command, why, file));
    }

    pub(super) fn add_note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds those of the files that exist.
    pub(super) fn add_setup_inputs(&mut self, place: &ProjectFolder, paths: &[&str]) {
        let there = paths.iter().filter(|path| place.exists(path));
        self.setup_inputs.extend(there.map(|path| (*path).to_owned()));
    }
}

impl DetectedCommand {
    pub(super) fn new(command: &str, why: &str, file: &str) -> Self {
        Self { command: command.to_owned(), why: why.to_owned(), file: file.to_owned() }
    }

    /// Returns the same command relative to the top.
    pub(super) fn below(mut self, folder: &str) -> Self {
        if !folder.is_empty() {
            self.command = format!("cd {} && {}", quoted(folder), self.command);
            self.file = below(folder, &self.file);
        }
        self
    }
}

/// A folder that may be a project, and the files below it.
pub(super) struct ProjectFolder<'a> {
    pub(super) files: &'a dyn ProjectFiles,
    pub(super) folder: &'a str,
    /// Relative to the folder, sorted.
    pub(super) paths: Vec<&'a str>,
}

impl<'a> ProjectFolder<'a> {
    pub(super) fn new(files: &'a dyn ProjectFiles, folder: &'a str, all: &'a [String]) -> Self {
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

    /// Tells whether the listing has this file, for paths that a file's content names.
    pub(super) fn is_listed(&self, path: &str) -> bool {
        self.paths.binary_search(&path).is_ok()
    }

    /// Returns the first of these files that exists.
    pub(super) fn first_existing<'p>(&self, paths: &[&'p str]) -> Option<&'p str> {
        paths.iter().copied().find(|path| self.exists(path))
    }

    /// Reads a file that is not too large.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        let text = self.files.read(&below(self.folder, path))?;
        (text.len() <= FILE_BYTES_MAX).then_some(text)
    }

    /// Tells whether a file exists and has these words in it.
    pub(super) fn file_contains(&self, path: &str, words: &str) -> bool {
        self.exists(path) && self.read(path).is_some_and(|text| text.contains(words))
    }

    /// Returns the files directly in this folder.
    pub(super) fn file_names(&self) -> impl Iterator<Item = &'a str> {
        self.paths.iter().copied().filter(|path| !path.contains('/'))
    }

    /// Returns the files of the project itself, without vendored and hidden folders.
    pub(super) fn own_paths(&self) -> impl Iterator<Item = &'a str> {
        self.paths.iter().copied().filter(|path| {
            let mut folders = path.split('/').rev().skip(1);
            !folders.any(|folder| {
                matches!(folder, "node_modules" | "vendor" | "third_party" | "target" | "dist")
                    || (folder.starts_with('.') && folder.len() > 1)
            })
        })
    }
}

/// Returns a path below a folder.
pub(super) fn below(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

pub(super) fn push_new(all: &mut Vec<String>, one: String) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Tells whether a `.gitignore` at the top or beside it names this folder.
pub(super) fn is_ignored(files: &dyn ProjectFiles, folder: &str, path: &str) -> bool {
    let last = base_name(path);
    [String::new(), folder.to_owned()].iter().any(|folder| {
        let text = files.read(&below(folder, ".gitignore")).unwrap_or_default();
        text.lines().take(10_000).any(|line| {
            let line = line.trim().trim_matches('/');
            base_name(line) == last || line == path || (line == ".*" && last.starts_with('.'))
        })
    })
}
