//! Two commits put together, without any files: by git's own merge, in the user's object store.
//!
//! The result is a tree, with conflict markers where the two contradict each other. Whoever wants
//! it as files fills a checkout with it.

use std::path::Path;

use crate::{
    git::command::{Extent, Git, GitError},
    git::error::Failure,
    git::path_names::shown,
    git::user_config::Settings,
    protocol::{Conflict, Merge, Merged},
    repository::objects::{self, Repository},
};

/// How much of each side of a conflict is shown, in bytes.
const SIDE_BYTES_MAX: usize = 2048;
/// How much of a file with conflict markers is looked through, in bytes.
const MARKED_BYTES_MAX: usize = 4 << 20;

/// What git makes of two commits.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The merged tree, with markers where there are conflicts.
    pub(crate) tree: String,
    /// Files in conflict; empty if all is well.
    pub(crate) conflicts: Vec<Contradiction>,
}

/// One file in conflict.
#[derive(Debug, Default)]
pub(crate) struct Contradiction {
    /// The file.
    pub(crate) path: Vec<u8>,
    /// Its sides: mode, object and stage, as git prints them.
    sides: Vec<Side>,
    /// What git says about it.
    what: Vec<String>,
}

/// One side of a file in conflict.
#[derive(Debug)]
struct Side {
    mode: String,
    object: String,
    stage: u8,
}

/// Performs [`Merge`].
pub(crate) fn merge(order: &Merge) -> Result<Merged, Failure> {
    objects::check_pin(&order.pin)?;
    let message = objects::checked_message(&order.message)?;
    let repository =
        Repository { common_dir: order.bench.common_dir.clone(), top: order.bench.top.clone() };
    let (head, commit) = (repository.sure(&order.head)?, repository.sure(&order.commit)?);
    if repository.is_ancestor(&commit, &head)? {
        return Ok(Merged::Nothing { head });
    }
    if repository.is_ancestor(&head, &commit)? {
        repository.pin(&order.pin, &commit)?;
        let tree = repository.code_tree(&commit)?;
        return Ok(Merged::Forward { commit, tree });
    }
    let outcome = try_merge(&repository.common_dir, &head, &commit)?;
    if !outcome.conflicts.is_empty() {
        let conflicts = outcome.conflicts.iter();
        let conflicts = conflicts
            .map(|conflict| both_sides(&repository.common_dir, &outcome.tree, conflict))
            .collect::<Result<_, GitError>>()?;
        return Ok(Merged::Conflict { conflicts });
    }
    let identity = Settings::of(repository.top.as_deref(), &repository.common_dir)?.identity();
    let git = identity.sign(Git::of(&repository.common_dir).durably(), order.when_ms);
    let parents = [head, commit];
    let commit = objects::commit_tree(git, &outcome.tree, &parents, &message)?;
    repository.pin(&order.pin, &commit)?;
    let tree = repository.code_tree(&commit)?;
    Ok(Merged::Merge { commit, tree })
}

/// Merges two commits into a tree. Nothing points to it yet.
pub(crate) fn try_merge(git_dir: &Path, head: &str, commit: &str) -> Result<Outcome, GitError> {
    let command = || "git merge-tree".to_owned();
    let git = Git::of(git_dir).durably().env("GIT_ATTR_SOURCE", head);
    let git = git.args(["merge-tree", "--write-tree", "--messages", "-z"]).arg(head).arg(commit);
    let (code, said) = git.run_with(&[0, 1])?;
    let mut fields = said.split(|byte| *byte == 0);
    let tree = fields.next().map(|tree| String::from_utf8_lossy(tree).into_owned());
    let tree = tree.ok_or_else(|| GitError::Unreadable { command: command() })?;
    if code == 0 {
        return Ok(Outcome { tree, conflicts: Vec::new() });
    }
    let mut conflicts: Vec<Contradiction> = Vec::new();
    for field in fields.by_ref().take_while(|field| !field.is_empty()) {
        let (path, side) =
            side(field).ok_or_else(|| GitError::Unreadable { command: command() })?;
        match conflicts.iter_mut().find(|conflict| conflict.path == path) {
            Some(known) => known.sides.push(side),
            None => conflicts.push(Contradiction { path, sides: vec![side], what: Vec::new() }),
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
            conflicts.push(Contradiction { path, sides: Vec::new(), what: vec![text] });
        }
    }
    Ok(Outcome { tree, conflicts })
}

impl Outcome {
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

    /// The files in conflict, by name.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.conflicts.iter().map(|conflict| shown(&conflict.path)).collect()
    }
}

/// Whether a text has lines as git marks a conflict.
pub(crate) fn has_markers(text: &[u8]) -> bool {
    let has = |start: &[u8]| text.split(|byte| *byte == b'\n').any(|line| line.starts_with(start));
    has(b"<<<<<<< ") && has(b">>>>>>> ")
}

fn side(field: &[u8]) -> Option<(Vec<u8>, Side)> {
    let end = field.iter().position(|byte| *byte == b'\t')?;
    let mut words = str::from_utf8(&field[..end]).ok()?.split(' ');
    let (mode, object) = (words.next()?.to_owned(), words.next()?.to_owned());
    let stage = words.next()?.parse().ok()?;
    Some((field[end + 1..].to_vec(), Side { mode, object, stage }))
}

fn message<'a>(
    fields: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<(Vec<Vec<u8>>, String, String)> {
    let count: usize = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let paths: Vec<Vec<u8>> = fields.by_ref().take(count).map(<[u8]>::to_vec).collect();
    let mut text = || fields.next().map(|text| String::from_utf8_lossy(text).trim().to_owned());
    Some((paths, text()?, text()?))
}

/// Shows a conflict from both sides: the lines that contradict each other where git marked them,
/// otherwise the beginning of each file.
fn both_sides(git_dir: &Path, tree: &str, conflict: &Contradiction) -> Result<Conflict, GitError> {
    let path = shown(&conflict.path);
    let what = match conflict.what.as_slice() {
        [] => "the two sides contradict each other".to_owned(),
        messages => messages.join("; "),
    };
    let repository = Repository { common_dir: git_dir.to_owned(), top: None };
    let merged = repository.blob_at(tree, &path)?;
    if let Some(object) = merged {
        let git = Git::of(git_dir).args(["cat-file", "blob", &object]);
        let (text, _) = git.beginning(MARKED_BYTES_MAX)?;
        if has_markers(&text) {
            let (ours, theirs) = marked(&text);
            return Ok(Conflict { path, what, ours: cut(&ours), theirs: cut(&theirs) });
        }
    }
    let side = |stage: u8| -> Result<String, GitError> {
        let Some(side) = conflict.sides.iter().find(|side| side.stage == stage) else {
            return Ok(String::new());
        };
        if side.mode == "160000" {
            return Ok(format!("submodule at {}", side.object));
        }
        let git = Git::of(git_dir).args(["cat-file", "blob", &side.object]);
        Ok(match git.beginning(SIDE_BYTES_MAX + 1)? {
            (text, Extent::Whole | Extent::Cut) => cut(&text),
        })
    };
    Ok(Conflict { path, what, ours: side(2)?, theirs: side(3)? })
}

/// Where a line of a marked file lies.
#[derive(Clone, Copy)]
enum Region {
    Agreed,
    Ours,
    Base,
    Theirs,
}

fn marked(text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut region = Region::Agreed;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let is = |start: &[u8]| line.starts_with(start);
        match region {
            Region::Agreed if is(b"<<<<<<< ") => {
                for side in [&mut ours, &mut theirs] {
                    if !side.is_empty() {
                        side.extend("…\n".as_bytes());
                    }
                }
                region = Region::Ours;
            }
            Region::Ours if is(b"||||||| ") => region = Region::Base,
            Region::Ours | Region::Base if is(b"=======") => region = Region::Theirs,
            Region::Ours => ours.extend(line),
            Region::Agreed | Region::Base => {}
            Region::Theirs if is(b">>>>>>> ") => region = Region::Agreed,
            Region::Theirs => theirs.extend(line),
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
        assert!(has_markers(text));
        assert!(!has_markers(b"a <<<<<<< \n"));
    }

    #[test]
    fn a_long_side_is_cut() {
        assert_eq!(cut(b"abc"), "abc");
        let long = cut(&vec![b'a'; SIDE_BYTES_MAX + 1]);
        assert!(long.ends_with("(cut)"), "{long}");
        assert!(long.len() < SIDE_BYTES_MAX + 20);
    }
}
