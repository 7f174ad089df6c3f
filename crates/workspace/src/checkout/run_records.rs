//! The records of runs, `.forge/runs/`, which are in no checkout.
//!
//! Evidence is bound to the code tree, which has no records; so nothing that is built or tested may
//! read them. A commit keeps the records of its parent, whatever is in the files.

use std::path::Path;

use crate::git::{
    command::Git,
    error::{GitError, WorkspaceError},
    object_reader::{self, TreeEntry},
    path_names::{below, encode_path, joined},
    safe_files::{self, FolderState, RealFolders},
};

/// The folder of the records.
pub(crate) const RUN_RECORDS: &[u8] = b".forge/runs";

/// Limit on the files there that are named.
const NAMED_MAX: usize = 20;

/// Removes the folder from a tree.
pub(crate) fn remove(tree: &Path) -> Result<(), WorkspaceError> {
    if RealFolders::below(tree).folder(b".forge")? == FolderState::Folder {
        safe_files::remove(&below(tree, RUN_RECORDS))?;
    }
    Ok(())
}

/// Names the files that are there, as notes for a person. Nothing of them is ever committed.
pub(crate) fn notes(tree: &Path) -> Result<Vec<String>, WorkspaceError> {
    let mut real = RealFolders::below(tree);
    let mut found = Vec::new();
    let mut open = vec![RUN_RECORDS.to_vec()];
    while let Some(path) = open.pop() {
        if found.len() == NAMED_MAX {
            break;
        }
        if real.folder(&path)? == FolderState::Folder {
            let entries = safe_files::entries(&below(tree, &path))?;
            open.extend(entries.iter().rev().map(|(name, _)| joined(&path, name)));
        } else if real.file(&path)?.is_some() {
            found.push(format!(
                "{} is among the records of runs, which only Forge writes: left out",
                encode_path(&path)
            ));
        }
    }
    Ok(found)
}

/// Adds the records of a commit to an index without them, as files that git does not miss. The commit is in the
/// repository with this git folder.
pub(crate) fn hide_in_index(
    git: impl Fn() -> Git,
    git_dir: &Path,
    commit: &str,
) -> Result<(), GitError> {
    let records = object_reader::files(git_dir, commit, RUN_RECORDS)?;
    if records.is_empty() {
        return Ok(());
    }
    let entries = records.iter().flat_map(TreeEntry::line).collect();
    let paths: Vec<Vec<u8>> = records.into_iter().map(|entry| entry.name).collect();
    git().args(["update-index", "-z", "--replace", "--index-info"]).input(entries).run()?;
    let git = git().args(["update-index", "-z", "--skip-worktree", "--stdin"]);
    git.input(paths.join(&0)).run()?;
    Ok(())
}
