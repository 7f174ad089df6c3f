//! Puts every `.git` in a tree aside for a while, and back.
//!
//! While Forge adds files, no `.git` that an agent made may be near: git would take it for a
//! submodule, and run with its settings. A list on the disk says where each came from, so that they
//! come back even if we are killed in between.

use std::{fs, path::Path};

use crate::git::{
    command::nul_separated,
    error::{IoContext as _, WorkspaceError},
    path_names::{self, below},
    safe_files::{self, FolderState, RealFolders},
};

const FOLDER: &str = "aside";
const LIST: &str = "list";

/// Moves these paths out of the tree of a checkout.
pub(crate) fn set_aside(dir: &Path, paths: &[Vec<u8>]) -> Result<(), WorkspaceError> {
    if paths.is_empty() {
        return Ok(());
    }
    let folder = dir.join(FOLDER);
    safe_files::make_folder(&folder)?;
    let list: Vec<u8> = paths.iter().flat_map(|path| [path.as_slice(), b"\0"].concat()).collect();
    safe_files::write(&folder.join(LIST), &list)?;
    for (number, path) in paths.iter().enumerate() {
        let from = below(&dir.join("tree"), path);
        if safe_files::file_kind(&from)?.is_some() {
            fs::rename(&from, folder.join(number.to_string())).context("put aside", &from)?;
        }
    }
    Ok(())
}

/// Moves them back. A file that took such a path since then comes from Forge or a hook, and is removed.
/// A path whose folder is gone is dropped.
pub(crate) fn restore(dir: &Path) -> Result<(), WorkspaceError> {
    let folder = dir.join(FOLDER);
    let Some(list) = safe_files::read(&folder.join(LIST))? else {
        return safe_files::remove(&folder);
    };
    let tree = dir.join("tree");
    let is_tree = safe_files::file_kind(&tree)?.is_some_and(|kind| kind.is_dir());
    let mut real = RealFolders::below(&tree);
    for (number, path) in nul_separated(&list).enumerate() {
        let from = folder.join(number.to_string());
        let has_folder = is_tree && real.folder(path_names::parent(path))? == FolderState::Folder;
        if has_folder && safe_files::file_kind(&from)?.is_some() {
            let to = below(&tree, path);
            safe_files::remove(&to)?;
            fs::rename(&from, &to).context("put back", &to)?;
        }
    }
    safe_files::remove(&folder)
}
