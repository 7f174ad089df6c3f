//! The difference between two commits as people and reviewers read it.
//!
//! Who made the commits does not decide what is shown of them: their attributes are not read, no program
//! of a configuration runs, large files are left out first, and what is left out is named.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use crate::{
    git::{
        command::{Extent, nul_separated},
        error::GitError,
        object_reader::{self, Difference, TreeEntry},
        path_names::{self, decode_path, encode_path, object_id},
    },
    repository::locate::Repository,
};

/// Trees without any file, by the length of their ids: attributes are read from there.
const EMPTY_TREES: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];
/// The beginning of the part of one file.
const PART: &[u8] = b"diff --git ";
/// What git says of a file that is no text.
const BINARY: &[u8] = b"Binary files ";

/// The difference between two commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// As git prints it; of files that are no text, size and object. At the
    /// end it names what is not shown.
    pub text: Vec<u8>,
    /// Files whose change is not shown, because there is more than the caller wanted.
    pub unshown: Vec<String>,
}

/// Small differences between commits with full ids, which never change: by repository, commits and paths.
static KNOWN_DIFFS: Mutex<BTreeMap<DiffQuestion, Diff>> = Mutex::new(BTreeMap::new());
type DiffQuestion = (PathBuf, [String; 2], Vec<String>);
const KNOWN_DIFFS_MAX: usize = 64;
/// A longer difference is not remembered, in bytes.
const KNOWN_BYTES_MAX: usize = 64 << 10;

/// A path, its object before and its object now.
type RawChange = (Vec<u8>, String, String);

/// A file that differs, and its larger side.
struct ChangedFile {
    path: Vec<u8>,
    object: String,
    bytes: u64,
}

impl Repository {
    /// Returns the difference between two commits, with whole files up to so many bytes.
    pub fn diff(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        bytes_max: usize,
    ) -> Result<Diff, GitError> {
        let is_fixed = [from, to].iter().all(|commit| object_id(commit).is_some());
        let question = (self.common_dir.clone(), [from, to].map(str::to_owned), paths.to_vec());
        let known = || KNOWN_DIFFS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(diff) = known().get(&question).filter(|diff| diff.text.len() <= bytes_max) {
            return Ok(diff.clone());
        }
        let diff = self.diff_by_git(from, to, paths, bytes_max)?;
        let mut known = known();
        let is_small = diff.unshown.is_empty() && diff.text.len() <= KNOWN_BYTES_MAX;
        if is_fixed && is_small && known.len() < KNOWN_DIFFS_MAX {
            known.insert(question, diff.clone());
        }
        Ok(diff)
    }

    fn diff_by_git(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        bytes_max: usize,
    ) -> Result<Diff, GitError> {
        let decoded: Vec<Vec<u8>> = paths.iter().map(|path| decode_path(path)).collect();
        let paths: Vec<&OsStr> = decoded.iter().map(|path| OsStr::from_bytes(path)).collect();
        let files = if let Some(differences) = self.plain_differences(from, to)? {
            let is_asked = |file: &Difference| {
                decoded.is_empty() || path_names::is_at_or_below(&file.path, &decoded)
            };
            let id = |entry: Option<TreeEntry>| match entry {
                Some(entry) => entry.object,
                None => "0".repeat(to.len()),
            };
            let asked = differences.into_iter().filter(is_asked);
            self.smallest_first(asked.map(|file| (file.path, id(file.old), id(file.new))).collect())
        } else {
            let git = self.git().args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M"]);
            let git = git.args([from, to, "--"]).args(&paths);
            self.smallest_first(raw_changes(&git.run_once(&[from, to], &[0])?.1))
        };
        let order: Vec<u8> = files.iter().flat_map(|file| order_line(&file.path)).collect();
        let length = files.first().map_or(0, |file| file.object.len());
        let empty = EMPTY_TREES.iter().find(|tree| tree.len() == length).unwrap_or(&to);
        let options = ["-p", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv"];
        let git = self.git().env("GIT_ATTR_SOURCE", empty).env("GIT_ATTR_NOSYSTEM", "1");
        let git = git.arg("diff-tree").args(options).arg("-O/dev/stdin").input(order);
        let git = git.args(["--src-prefix=a/", "--dst-prefix=b/", from, to, "--"]).args(&paths);
        let (output, extent) = git.run_truncated(bytes_max)?;
        let mut parts = parts(&output);
        // The last one may have been cut anywhere.
        if extent == Extent::Cut {
            parts.pop();
        }
        // Small files come first where not all fit; those that do are shown in git's own order.
        let mut shown: Vec<(&Vec<u8>, Vec<u8>)> = parts
            .iter()
            .zip(&files)
            .map(|(part, file)| (&file.path, described(part, file)))
            .collect();
        shown.sort_by_key(|(path, _)| *path);
        let mut text: Vec<u8> = shown.into_iter().flat_map(|(_, part)| part).collect();
        let hidden = &files[parts.len().min(files.len())..];
        for file in hidden {
            let line = format!("[not shown, too large: {}]\n", encode_path(&file.path));
            text.extend(line.into_bytes());
        }
        let unshown = hidden.iter().map(|file| encode_path(&file.path)).collect();
        Ok(Diff { text, unshown })
    }

    /// Puts files into the order of their sizes.
    fn smallest_first(&self, found: Vec<RawChange>) -> Vec<ChangedFile> {
        // What is not there, as the commit of a submodule, has no size.
        let size = |id: &str| object_reader::size(&self.common_dir, id).unwrap_or(0);
        let mut files: Vec<ChangedFile> = found
            .into_iter()
            .map(|(path, old, new)| {
                let bytes = size(&old).max(size(&new));
                ChangedFile { path, object: new, bytes }
            })
            .collect();
        // A line of the order cannot name a path with a line break: git puts those last.
        files.sort_by_key(|file| (file.path.contains(&b'\n'), file.bytes, file.path.clone()));
        files
    }
}

/// Reads what `git diff-tree --raw` prints.
fn raw_changes(raw: &[u8]) -> Vec<RawChange> {
    let mut fields = nul_separated(raw);
    let mut found = Vec::new();
    while let (Some(header), Some(path)) = (fields.next(), fields.next()) {
        let header = String::from_utf8_lossy(header).into_owned();
        let words: Vec<&str> = header.split(' ').collect();
        let [_, _, old, new, kind] = words.as_slice() else { continue };
        let path = if kind.starts_with('R') { fields.next().unwrap_or(path) } else { path };
        found.push((path.to_vec(), (*old).to_owned(), (*new).to_owned()));
    }
    found
}

/// Returns the line of an order file that stands for exactly this path.
fn order_line(path: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    for byte in path {
        if b"\\*?[#".contains(byte) {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line.push(b'\n');
    line
}

/// Splits the output at the beginning of each file. A file that changed its kind has two parts of
/// the same name, which stay together.
fn parts(output: &[u8]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for line in output.split_inclusive(|byte| *byte == b'\n') {
        let is_next = line.starts_with(PART)
            && parts.last().is_none_or(|part: &Vec<u8>| !part.starts_with(line));
        match parts.last_mut() {
            Some(part) if !is_next => part.extend(line),
            Some(_) | None => parts.push(line.to_vec()),
        }
    }
    parts
}

/// Returns the part of a file; of one that is no text, its size and object.
fn described(part: &[u8], file: &ChangedFile) -> Vec<u8> {
    let lines = part.split_inclusive(|byte| *byte == b'\n');
    let about = format!("Binary file, {} bytes, object {}\n", file.bytes, file.object);
    lines
        .flat_map(|line| if line.starts_with(BINARY) { about.as_bytes() } else { line }.to_vec())
        .collect()
}
