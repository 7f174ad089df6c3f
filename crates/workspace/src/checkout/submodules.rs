//! The submodules of a commit, and where the user keeps theirs.
//!
//! Only what the user has on this machine is used: nothing is fetched.

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

use crate::git::{
    command::{Git, nul_separated},
    error::GitError,
    object_reader::TreeListing,
    path_names::below,
};

/// Limit on the depth of nested submodules.
pub(crate) const DEPTH_MAX: usize = 16;

/// A repository of the user's that has submodules: the main one, or a submodule itself.
#[derive(Clone, Debug)]
pub(crate) struct SourceRepository {
    /// Its git folder, with the objects.
    pub(crate) git_dir: PathBuf,
    /// The user's checkout of it, if there is one.
    pub(crate) top: Option<PathBuf>,
}

/// One submodule.
#[derive(Debug)]
pub(crate) struct Submodule {
    /// Its path, relative to its owner.
    pub(crate) path: Vec<u8>,
    pub(crate) commit: String,
    pub(crate) source: SubmoduleSource,
}

/// Location of the objects of a submodule.
#[derive(Debug)]
pub(crate) enum SubmoduleSource {
    /// The user has them.
    Here(SourceRepository),
    /// The user has never fetched them.
    Missing,
    /// `.gitmodules` does not know it. Git leaves such a folder empty, and so do we.
    Unnamed,
}

/// Returns the submodules of a commit or tree, of which this is everything.
pub(crate) fn list(
    owner: &SourceRepository,
    tree: &str,
    listing: &TreeListing,
) -> Result<Vec<Submodule>, GitError> {
    let mut known = None;
    let mut found = Vec::new();
    for entry in listing.entries.iter().filter(|entry| entry.is_submodule()) {
        let known = known.get_or_insert_with(|| {
            names(Git::in_git_dir(&owner.git_dir), &format!("{tree}:.gitmodules"))
        });
        let source = match known.iter().find(|(path, _)| *path == entry.name) {
            Some((path, name)) => source(owner, path, name, &entry.object)?,
            None => SubmoduleSource::Unnamed,
        };
        found.push(Submodule { path: entry.name.clone(), commit: entry.object.clone(), source });
    }
    Ok(found)
}

/// Paths that a `.gitmodules` names, each with its name. A file that git cannot read names none.
pub(crate) fn names(git: Git, blob: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let git = git.args(["config", "--blob", blob, "--list", "-z"]);
    let Ok(output) = git.run() else { return Vec::new() };
    let entry = |part: &[u8]| {
        let end = part.iter().position(|byte| *byte == b'\n')?;
        let name = part[..end].strip_prefix(b"submodule.")?.strip_suffix(b".path")?;
        Some((part[end + 1..].to_vec(), name.to_vec()))
    };
    nul_separated(&output).filter_map(entry).collect()
}

fn source(
    owner: &SourceRepository,
    path: &[u8],
    name: &[u8],
    commit: &str,
) -> Result<SubmoduleSource, GitError> {
    let top = owner.top.as_ref().map(|top| below(top, path));
    let mut places = Vec::new();
    let name = Path::new(std::ffi::OsStr::from_bytes(name));
    let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain && name.components().next().is_some() {
        // A linked worktree has modules of its own.
        let own = owner.top.as_deref().and_then(linked_git_dir);
        places.extend(own.map(|dir| dir.join("modules").join(name)));
        places.push(owner.git_dir.join("modules").join(name));
    }
    // An old submodule has its git folder in its checkout.
    places.extend(top.as_ref().map(|top| top.join(".git")));
    for git_dir in places {
        if !git_dir.join("objects").is_dir() {
            continue;
        }
        let object = format!("{commit}^{{commit}}");
        let (code, _) = Git::in_git_dir(&git_dir)
            .args(["cat-file", "-e"])
            .arg(object)
            .run_with(&[0, 1, 128])?;
        if code == 0 {
            return Ok(SubmoduleSource::Here(SourceRepository { git_dir, top }));
        }
    }
    Ok(SubmoduleSource::Missing)
}

/// Returns the git folder that the `.git` file of a linked worktree names.
fn linked_git_dir(top: &Path) -> Option<PathBuf> {
    let link = top.join(".git");
    let text = fs::read(&link).ok()?;
    let path = text.strip_prefix(b"gitdir: ")?;
    Some(below(top, path.strip_suffix(b"\n").unwrap_or(path)))
}
