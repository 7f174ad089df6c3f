//! Two commits put together, without any files: by git's own merge, in the user's object store.
//!
//! The result is a tree, with conflict markers where the two contradict each other. To get
//! its files, a checkout is filled with it.

use std::path::Path;

use crate::{
    git::{
        command::{Extent, Git},
        error::{GitError, WorkspaceError},
        merge_tree::{self, ConflictedFile},
        object_writer::NewCommit,
        path_names::encode_path,
        user_config::UserConfig,
    },
    protocol::{MergeCommits, MergeConflict, MergeResult},
    repository::{locate::Repository, objects, refs},
};

/// Limit on each side of a conflict that is shown, in bytes.
const SIDE_BYTES_MAX: usize = 2048;
/// Limit on the part of a file that is searched for conflict markers, in bytes.
const MARKED_BYTES_MAX: usize = 4 << 20;

/// Performs [`MergeCommits`].
pub(crate) fn merge_commits(operation: &MergeCommits) -> Result<MergeResult, WorkspaceError> {
    refs::check_pin(&operation.pin)?;
    let message = objects::checked_message(&operation.message)?;
    let repository = Repository::from_location(&operation.location);
    let (head, commit) = (
        repository.require_commit(&operation.head)?,
        repository.require_commit(&operation.commit)?,
    );
    if repository.is_ancestor(&commit, &head)? {
        return Ok(MergeResult::AlreadyMerged { head });
    }
    if repository.is_ancestor(&head, &commit)? {
        repository.pin(&operation.pin, &commit)?;
        let tree = repository.code_tree(&commit)?;
        return Ok(MergeResult::FastForward { commit, tree });
    }
    let outcome = merge_tree::try_merge(&repository.common_dir, &head, &commit)?;
    if !outcome.conflicts.is_empty() {
        let conflicts = outcome.conflicts.iter();
        let conflicts = conflicts
            .map(|conflict| both_sides(&repository.common_dir, &outcome.tree, conflict))
            .collect::<Result<_, GitError>>()?;
        return Ok(MergeResult::Conflict { conflicts });
    }
    let identity = UserConfig::read(repository.top.as_deref(), &repository.common_dir)?.identity();
    let (parents, when_ms) = (&[head, commit], operation.when_ms);
    let (tree, identity, message) = (&outcome.tree, &identity, &message);
    let commit =
        repository.make_commit(&NewCommit { tree, parents, identity, when_ms, message })?;
    repository.pin(&operation.pin, &commit)?;
    let tree = repository.code_tree(&commit)?;
    Ok(MergeResult::Merge { commit, tree })
}

/// Shows a conflict from both sides: the lines that contradict each other where git marked them,
/// otherwise the beginning of each file.
fn both_sides(
    git_dir: &Path,
    tree: &str,
    conflict: &ConflictedFile,
) -> Result<MergeConflict, GitError> {
    let path = encode_path(&conflict.path);
    let what = match conflict.what.as_slice() {
        [] => "the two sides conflict".to_owned(),
        messages => messages.join("; "),
    };
    let repository = Repository { common_dir: git_dir.to_owned(), top: None };
    let merged = repository.blob_at(tree, &path)?;
    if let Some(object) = merged {
        let git = Git::in_git_dir(git_dir).args(["cat-file", "blob", &object]);
        let (text, _) = git.run_truncated(MARKED_BYTES_MAX)?;
        if merge_tree::has_markers(&text) {
            let (ours, theirs) = marked(&text);
            return Ok(MergeConflict { path, what, ours: cut(&ours), theirs: cut(&theirs) });
        }
    }
    let side = |stage: u8| -> Result<String, GitError> {
        let Some(side) = conflict.sides.iter().find(|side| side.stage == stage) else {
            return Ok(String::new());
        };
        if side.mode == "160000" {
            return Ok(format!("submodule at {}", side.object));
        }
        let git = Git::in_git_dir(git_dir).args(["cat-file", "blob", &side.object]);
        Ok(match git.run_truncated(SIDE_BYTES_MAX + 1)? {
            (text, Extent::Whole | Extent::Cut) => cut(&text),
        })
    };
    Ok(MergeConflict { path, what, ours: side(2)?, theirs: side(3)? })
}

/// The region of a file with conflict markers that a line belongs to.
#[derive(Clone, Copy)]
enum ConflictRegion {
    Agreed,
    Ours,
    Base,
    Theirs,
}

fn marked(text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut region = ConflictRegion::Agreed;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let is = |start: &[u8]| line.starts_with(start);
        match region {
            ConflictRegion::Agreed if is(b"<<<<<<< ") => {
                for side in [&mut ours, &mut theirs] {
                    if !side.is_empty() {
                        side.extend("…\n".as_bytes());
                    }
                }
                region = ConflictRegion::Ours;
            }
            ConflictRegion::Ours if is(b"||||||| ") => region = ConflictRegion::Base,
            ConflictRegion::Ours | ConflictRegion::Base if is(b"=======") => {
                region = ConflictRegion::Theirs;
            }
            ConflictRegion::Ours => ours.extend(line),
            ConflictRegion::Agreed | ConflictRegion::Base => {}
            ConflictRegion::Theirs if is(b">>>>>>> ") => region = ConflictRegion::Agreed,
            ConflictRegion::Theirs => theirs.extend(line),
        }
    }
    (ours, theirs)
}

fn cut(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&text[..text.len().min(SIDE_BYTES_MAX)]).into_owned();
    if text.len() > SIDE_BYTES_MAX { format!("{shown}\n… (cut)") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_all_marked_places_are_shown() {
        let text = b"a\n<<<<<<< x\no1\n||||||| b\nb\n=======\nt1\n>>>>>>> y\nz\n<<<<<<< x\n=======\nt2\n>>>>>>> y\n";
        let (ours, theirs) = marked(text);
        assert_eq!(String::from_utf8(ours).unwrap(), "o1\n…\n");
        assert_eq!(String::from_utf8(theirs).unwrap(), "t1\n…\nt2\n");
    }

    #[test]
    fn a_long_side_is_cut() {
        assert_eq!(cut(b"abc"), "abc");
        let long = cut(&vec![b'a'; SIDE_BYTES_MAX + 1]);
        assert!(long.ends_with("(cut)"), "{long}");
        assert!(long.len() < SIDE_BYTES_MAX + 20);
    }
}
