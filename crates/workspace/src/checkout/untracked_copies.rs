//! Files that are not in git, and yet needed: copied from the user's checkout.
//!
//! Also the fingerprint of the files that say whether the setup must run again.
//!
//! Invariant: no link is followed on either side, and no tracked file is written.

use std::{collections::HashSet, fs, os::unix::ffi::OsStrExt as _, path::Path};

use sha2::{Digest as _, Sha256};

use crate::git::{
    error::{IoContext as _, WorkspaceError},
    hex::Hex,
    path_names::{self, below},
    safe_files::{self, FolderState, RealFolders},
};

/// Treatment of a copy that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExistingCopy {
    /// It is copied again.
    Replace,
    /// It stays.
    Keep,
}

/// Copies files and folders from the user's checkout into a tree. Missing ones are skipped, and so
/// is what a link, a tracked file or a strange file is in the way of.
pub(crate) fn copy(
    top: &Path,
    tree: &Path,
    paths: &[Vec<u8>],
    tracked: &HashSet<Vec<u8>>,
    old: ExistingCopy,
) -> Result<(), WorkspaceError> {
    let mut from = RealFolders::below(top);
    let mut to = RealFolders::below(tree);
    for root in paths {
        let mut open = vec![root.clone()];
        while let Some(path) = open.pop() {
            let Some(metadata) = from.file(&path)? else { continue };
            if path.ends_with(b"/.git") || tracked.contains(&path) {
                continue;
            }
            let source = below(top, &path);
            if metadata.is_dir() {
                let inner = safe_files::entries(&source)?;
                open.extend(inner.into_iter().map(|(name, _)| path_names::joined(&path, &name)));
                continue;
            }
            let is_link = metadata.is_symlink();
            if !(metadata.is_file() || is_link && stays_inside(&source, &path)?) {
                continue;
            }
            if to.make(path_names::parent(&path))? != FolderState::Folder {
                continue;
            }
            let target = below(tree, &path);
            match (safe_files::file_kind(&target)?, old) {
                (Some(kind), _) if kind.is_dir() => continue,
                (Some(_), ExistingCopy::Keep) => continue,
                (Some(_), ExistingCopy::Replace) => safe_files::remove(&target)?,
                (None, ExistingCopy::Keep | ExistingCopy::Replace) => {}
            }
            if is_link {
                let link_target = fs::read_link(&source).context("read", &source)?;
                std::os::unix::fs::symlink(link_target, &target).context("write", &target)?;
            } else {
                fs::copy(&source, &target).context("copy to", &target)?;
            }
        }
    }
    Ok(())
}

/// SHA-256 over the contents of files and folders of a tree, each with its name. A missing one
/// counts as missing.
pub(crate) fn fingerprint(tree: &Path, paths: &[Vec<u8>]) -> Result<String, WorkspaceError> {
    let mut real = RealFolders::below(tree);
    let mut sum = Sha256::new();
    for root in paths {
        let mut open = vec![root.clone()];
        while let Some(path) = open.pop() {
            let metadata = real.file(&path)?;
            let file = below(tree, &path);
            sum.update(u64::try_from(path.len()).unwrap_or(u64::MAX).to_be_bytes());
            sum.update(&path);
            match metadata {
                Some(metadata) if metadata.is_file() => {
                    let content = Sha256::digest(fs::read(&file).context("read", &file)?);
                    sum.update(b"file");
                    sum.update(content);
                }
                Some(metadata) if metadata.is_dir() => {
                    sum.update(b"folder");
                    let inner = safe_files::entries(&file)?;
                    open.extend(
                        inner.iter().rev().map(|(name, _)| path_names::joined(&path, name)),
                    );
                }
                Some(metadata) if metadata.is_symlink() => {
                    let link_target = fs::read_link(&file).context("read", &file)?;
                    sum.update(b"link");
                    sum.update(Sha256::digest(link_target.as_os_str().as_bytes()));
                }
                Some(_) | None => sum.update(b"missing"),
            }
        }
    }
    Ok(format!("{:x}", Hex(&sum.finalize())))
}

fn stays_inside(link: &Path, path: &[u8]) -> Result<bool, WorkspaceError> {
    let link_target = fs::read_link(link).context("read", link)?;
    Ok(path_names::stays_inside(path, link_target.as_os_str().as_bytes()))
}
