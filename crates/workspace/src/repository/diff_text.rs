//! The difference between two commits as people and reviewers read it.
//!
//! Who made the commits does not decide what is shown of them: their attributes are not read, no program
//! of a configuration runs, small files come first, and what is left out is named.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use crate::{
    git::{
        command::{Extent, nul_separated},
        error::GitError,
        object_reader,
        path_names::{decode_path, encode_path},
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
    /// As git prints it, the smallest files first; of files that are no text, size and object. At the
    /// end it names what is not shown.
    pub text: Vec<u8>,
    /// Files whose change is not shown, because there is more than the caller wanted.
    pub unshown: Vec<String>,
}

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
        let decoded: Vec<Vec<u8>> = paths.iter().map(|path| decode_path(path)).collect();
        let paths: Vec<&OsStr> = decoded.iter().map(|path| OsStr::from_bytes(path)).collect();
        let git = self.git().args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M"]);
        let (_, raw) = git.args([from, to, "--"]).args(&paths).run_once(&[from, to], &[0])?;
        let files = self.smallest_first(&raw);
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
        let mut text = Vec::new();
        for (part, file) in parts.iter().zip(&files) {
            text.extend(described(part, file));
        }
        let hidden = &files[parts.len().min(files.len())..];
        for file in hidden {
            let line = format!("[not shown, too large: {}]\n", encode_path(&file.path));
            text.extend(line.into_bytes());
        }
        let unshown = hidden.iter().map(|file| encode_path(&file.path)).collect();
        Ok(Diff { text, unshown })
    }

    /// Reads what `git diff-tree --raw` prints, and puts the files into the order of their sizes.
    fn smallest_first(&self, raw: &[u8]) -> Vec<ChangedFile> {
        let mut fields = nul_separated(raw);
        let mut found = Vec::new();
        while let (Some(header), Some(path)) = (fields.next(), fields.next()) {
            let header = String::from_utf8_lossy(header).into_owned();
            let words: Vec<&str> = header.split(' ').collect();
            let [_, _, old, new, kind] = words.as_slice() else { continue };
            let path = if kind.starts_with('R') { fields.next().unwrap_or(path) } else { path };
            found.push((path.to_vec(), (*old).to_owned(), (*new).to_owned()));
        }
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
