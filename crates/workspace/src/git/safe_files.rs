//! Files in a tree that an agent may have damaged.
//!
//! An agent may have replaced any folder by a link to the user's checkout, taken away its own
//! rights, or created pipes and sockets. Nothing here knows git, except the name `.git`.
//!
//! Invariant: no link is ever followed. A path below a tree is used only after every folder on the
//! way was seen to be a real one ([`RealFolders`]). Agents are dead when we look, so nothing moves meanwhile.

use std::{
    collections::HashMap,
    fs::{self, FileType, Metadata, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{FileTypeExt as _, PermissionsExt as _},
    },
    path::Path,
};

use crate::git::{
    error::{IoContext as _, WorkspaceError},
    path_names::{below, joined, parent},
};

/// The bits that let the owner list and change a folder.
const OWNER_ALL: u32 = 0o700;

/// Findings of a walk through a tree. Paths are relative to the tree.
#[derive(Debug, Default)]
pub(crate) struct TreeSurvey {
    /// Everything that is called `.git`, but for the one at the top.
    pub(crate) nested: Vec<Vec<u8>>,
    /// Pipes, sockets and devices.
    pub(crate) special: Vec<Vec<u8>>,
    /// Everything that is called `.gitattributes`, and no folder.
    pub(crate) attributes: Vec<Vec<u8>>,
}

/// Looks at everything in a tree, and gives the owner back the rights on folders.
pub(crate) fn survey(tree: &Path) -> Result<TreeSurvey, WorkspaceError> {
    let mut found = TreeSurvey::default();
    let mut open: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(folder) = open.pop() {
        let path = below(tree, &folder);
        reclaim(&path)?;
        for (name, kind) in entries(&path)? {
            let inside = joined(&folder, &name);
            if name == b".git" {
                if !folder.is_empty() {
                    found.nested.push(inside);
                }
            } else if kind.is_dir() {
                open.push(inside);
            } else {
                if is_special(kind) {
                    found.special.push(inside.clone());
                }
                if name == b".gitattributes" {
                    found.attributes.push(inside);
                }
            }
        }
    }
    found.nested.sort();
    found.special.sort();
    Ok(found)
}

/// Removes whatever is at a path, and never what a link there points to. Nothing there is fine.
pub fn remove(path: &Path) -> Result<(), WorkspaceError> {
    let Some(kind) = file_kind(path)? else { return Ok(()) };
    if !kind.is_dir() {
        return fs::remove_file(path).context("remove", path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            reclaim_all(path)?;
            fs::remove_dir_all(path).context("remove", path)
        }
        result => result.context("remove", path),
    }
}

/// Returns the real folder at this path. Whatever else is there, is removed. Whether it was there.
pub(crate) fn make_folder(path: &Path) -> Result<FolderOrigin, WorkspaceError> {
    match file_kind(path)? {
        Some(kind) if kind.is_dir() => return Ok(FolderOrigin::There),
        Some(_) => fs::remove_file(path).context("remove", path)?,
        None => {}
    }
    fs::create_dir_all(path).context("make the folder", path)?;
    Ok(FolderOrigin::Made)
}

/// Origin of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderOrigin {
    There,
    Made,
}

/// Writes a file of our own whole or not at all, and only if that changes it.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), WorkspaceError> {
    if file_kind(path)?.is_some_and(|kind| kind.is_file())
        && fs::read(path).is_ok_and(|known| known == content)
    {
        return Ok(());
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    let aside = Path::new(&aside);
    remove(aside)?;
    fs::write(aside, content).context("write", aside)?;
    if file_kind(path)?.is_some_and(|kind| kind.is_dir()) {
        remove(path)?;
    }
    fs::rename(aside, path).context("write", path)
}

/// Returns the content of a regular file; none if there is none, or something else.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, WorkspaceError> {
    match file_kind(path)? {
        Some(kind) if kind.is_file() => fs::read(path).context("read", path).map(Some),
        Some(_) | None => Ok(None),
    }
}

/// Returns the kind of the file at a path, links not followed; none if there is none.
pub(crate) fn file_kind(path: &Path) -> Result<Option<FileType>, WorkspaceError> {
    Ok(metadata(path)?.map(|metadata| metadata.file_type()))
}

/// Returns the metadata of the file at a path, links not followed; none if there is none.
pub(crate) fn metadata(path: &Path) -> Result<Option<Metadata>, WorkspaceError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(WorkspaceError::file("inspect", path, &error)),
    }
}

/// Returns the entries of a folder, in the order of their names.
pub(crate) fn entries(folder: &Path) -> Result<Vec<(Vec<u8>, FileType)>, WorkspaceError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).context("list", folder)? {
        let entry = entry.context("list", folder)?;
        let kind = entry.file_type().context("list", folder)?;
        found.push((entry.file_name().as_bytes().to_vec(), kind));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Returns a pipe, a socket or a device: opening it may hang, and git cannot keep it.
pub(crate) fn is_special(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device()
}

/// Knows which folders below a tree are real ones, all the way down from the tree.
#[derive(Debug)]
pub(crate) struct RealFolders<'a> {
    tree: &'a Path,
    known: HashMap<Vec<u8>, FolderState>,
}

/// State of a path where a folder is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderState {
    /// A real folder, and so are all above it.
    Folder,
    /// Nothing, below a real folder or below nothing.
    Nothing,
    /// A file or a link, here or above.
    Blocked,
}

impl<'a> RealFolders<'a> {
    /// Starts below a tree, which is a real folder itself.
    pub(crate) fn below(tree: &'a Path) -> Self {
        Self { tree, known: HashMap::from([(Vec::new(), FolderState::Folder)]) }
    }

    /// Returns the state of a relative path.
    pub(crate) fn folder(&mut self, path: &[u8]) -> Result<FolderState, WorkspaceError> {
        if let Some(known) = self.known.get(path) {
            return Ok(*known);
        }
        let standing = match self.folder(parent(path))? {
            FolderState::Folder => match file_kind(&below(self.tree, path))? {
                Some(kind) if kind.is_dir() => FolderState::Folder,
                Some(_) => FolderState::Blocked,
                None => FolderState::Nothing,
            },
            above @ (FolderState::Nothing | FolderState::Blocked) => above,
        };
        self.known.insert(path.to_vec(), standing);
        Ok(standing)
    }

    /// Returns the metadata of a file whose folders are all real; none otherwise.
    pub(crate) fn file(&mut self, path: &[u8]) -> Result<Option<Metadata>, WorkspaceError> {
        match self.folder(parent(path))? {
            FolderState::Folder => metadata(&below(self.tree, path)),
            FolderState::Nothing | FolderState::Blocked => Ok(None),
        }
    }

    /// Makes the folders down to this one, if nothing else is in the way.
    pub(crate) fn make(&mut self, path: &[u8]) -> Result<FolderState, WorkspaceError> {
        if self.folder(path)? != FolderState::Nothing {
            return self.folder(path);
        }
        self.make(parent(path))?;
        let folder = below(self.tree, path);
        fs::create_dir(&folder).context("make the folder", &folder)?;
        self.known.insert(path.to_vec(), FolderState::Folder);
        Ok(FolderState::Folder)
    }
}

fn reclaim_all(folder: &Path) -> Result<(), WorkspaceError> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        reclaim(&folder)?;
        for (name, kind) in entries(&folder)? {
            if kind.is_dir() {
                open.push(below(&folder, &name));
            }
        }
    }
    Ok(())
}

/// Gives the owner back the rights on one real folder.
fn reclaim(folder: &Path) -> Result<(), WorkspaceError> {
    let mode = fs::symlink_metadata(folder).context("inspect", folder)?.permissions().mode();
    if mode & OWNER_ALL != OWNER_ALL {
        let permissions = Permissions::from_mode(mode | OWNER_ALL);
        fs::set_permissions(folder, permissions).context("make writable", folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn removing_a_link_leaves_what_it_points_to() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("a"), "a").unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        symlink(&kept, tree.join("link")).unwrap();
        remove(&tree.join("link")).unwrap();
        symlink(&kept, tree.join("link")).unwrap();
        remove(&tree).unwrap();
        assert!(kept.join("a").exists());
        remove(&tree).unwrap();
    }

    #[test]
    fn a_folder_without_rights_is_removed_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("c"), "c").unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(0o500)).unwrap();
        remove(&folder.path().join("a")).unwrap();
        assert!(!folder.path().join("a").exists());
    }

    #[test]
    fn a_survey_gives_the_rights_on_folders_back() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        for path in [inner.as_path(), folder.path()] {
            fs::set_permissions(path, Permissions::from_mode(0o044)).unwrap();
        }
        survey(folder.path()).unwrap();
        for path in [inner.as_path(), folder.path()] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o744);
        }
    }

    #[test]
    fn what_lies_behind_a_link_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join("a"), "a").unwrap();
        symlink(other.path(), folder.path().join("link")).unwrap();
        let mut real = RealFolders::below(folder.path());
        assert!(real.file(b"link/a").unwrap().is_none());
        assert_eq!(real.make(b"link/b").unwrap(), FolderState::Blocked);
        assert_eq!(real.make(b"x/y").unwrap(), FolderState::Folder);
        assert!(!other.path().join("b").exists());
    }
}
