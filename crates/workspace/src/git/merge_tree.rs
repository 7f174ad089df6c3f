//! `git merge-tree`: two commits put together into a tree, without any files.
//!
//! The tree has conflict markers where the two contradict each other.

use std::path::Path;

use crate::git::{command::Git, error::GitError, path_names::encode_path};

/// The tree of two merged commits.
#[derive(Debug)]
pub(crate) struct MergedTree {
    /// The merged tree, with markers where there are conflicts.
    pub(crate) tree: String,
    /// Files in conflict; empty if all is well.
    pub(crate) conflicts: Vec<ConflictedFile>,
}

/// One file in conflict.
#[derive(Debug, Default)]
pub(crate) struct ConflictedFile {
    pub(crate) path: Vec<u8>,
    /// Its sides: mode, object and stage, as git prints them.
    pub(crate) sides: Vec<ConflictSide>,
    /// Git's messages about it.
    pub(crate) what: Vec<String>,
}

/// One side of a file in conflict.
#[derive(Debug)]
pub(crate) struct ConflictSide {
    pub(crate) mode: String,
    pub(crate) object: String,
    pub(crate) stage: u8,
}

/// Merges two commits into a tree. Nothing points to it yet.
pub(crate) fn try_merge(git_dir: &Path, head: &str, commit: &str) -> Result<MergedTree, GitError> {
    let command = || "git merge-tree".to_owned();
    let git = Git::in_git_dir(git_dir).durably().env("GIT_ATTR_SOURCE", head);
    let git = git.args(["merge-tree", "--write-tree", "--messages", "-z"]).arg(head).arg(commit);
    let (code, output) = git.run_with(&[0, 1])?;
    let mut fields = output.split(|byte| *byte == 0);
    let tree = fields.next().map(|tree| String::from_utf8_lossy(tree).into_owned());
    let tree = tree.ok_or_else(|| GitError::Unreadable { command: command() })?;
    if code == 0 {
        return Ok(MergedTree { tree, conflicts: Vec::new() });
    }
    let mut conflicts: Vec<ConflictedFile> = Vec::new();
    for field in fields.by_ref().take_while(|field| !field.is_empty()) {
        let (path, side) =
            side(field).ok_or_else(|| GitError::Unreadable { command: command() })?;
        match conflicts.iter_mut().find(|conflict| conflict.path == path) {
            Some(known) => known.sides.push(side),
            None => conflicts.push(ConflictedFile { path, sides: vec![side], what: Vec::new() }),
        }
    }
    while let Some((paths, kind, text)) = message(&mut fields) {
        if !kind.starts_with("CONFLICT") {
            continue;
        }
        for path in &paths {
            let known = conflicts.iter_mut().find(|conflict| conflict.path == *path);
            if let Some(conflict) = known {
                conflict.what.push(text.clone());
            }
        }
        let is_known = paths.iter().any(|path| conflicts.iter().any(|known| known.path == *path));
        if let (false, Some(path)) = (is_known, paths.into_iter().next()) {
            conflicts.push(ConflictedFile { path, sides: Vec::new(), what: vec![text] });
        }
    }
    Ok(MergedTree { tree, conflicts })
}

impl MergedTree {
    /// Lines for `git update-index --index-info`: the sides instead of the merged files.
    pub(crate) fn index_lines(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        for conflict in &self.conflicts {
            let none = "0".repeat(self.tree.len());
            let mut add = |start: String| {
                lines.extend(start.into_bytes());
                lines.extend(&conflict.path);
                lines.push(0);
            };
            if !conflict.sides.is_empty() {
                add(format!("0 {none}\t"));
            }
            for side in &conflict.sides {
                add(format!("{} {} {}\t", side.mode, side.object, side.stage));
            }
        }
        lines
    }

    /// Returns the files in conflict, by name.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.conflicts.iter().map(|conflict| encode_path(&conflict.path)).collect()
    }
}

/// Returns true if a text has the conflict markers of git.
pub(crate) fn has_markers(text: &[u8]) -> bool {
    let has = |start: &[u8]| text.split(|byte| *byte == b'\n').any(|line| line.starts_with(start));
    has(b"<<<<<<< ") && has(b">>>>>>> ")
}

fn side(field: &[u8]) -> Option<(Vec<u8>, ConflictSide)> {
    let end = field.iter().position(|byte| *byte == b'\t')?;
    let mut words = str::from_utf8(&field[..end]).ok()?.split(' ');
    let (mode, object) = (words.next()?.to_owned(), words.next()?.to_owned());
    let stage = words.next()?.parse().ok()?;
    Some((field[end + 1..].to_vec(), ConflictSide { mode, object, stage }))
}

fn message<'a>(
    fields: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<(Vec<Vec<u8>>, String, String)> {
    let count: usize = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let paths: Vec<Vec<u8>> = fields.by_ref().take(count).map(<[u8]>::to_vec).collect();
    let mut text = || fields.next().map(|text| String::from_utf8_lossy(text).trim().to_owned());
    Some((paths, text()?, text()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_begin_with_markers_mark_a_conflict() {
        assert!(has_markers(b"a\n<<<<<<< x\n=======\nt\n>>>>>>> y\n"));
        assert!(!has_markers(b"a <<<<<<< \n"));
    }
}
