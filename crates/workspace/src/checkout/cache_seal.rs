//! Caches between proofs: folders that were kept from one proof are used by the next one only if
//! they were not changed in between.
//!
//! When a proof is over, everything in its caches is summed up: names, sizes, times. The time of the
//! last change of an inode cannot be set by a program that changes a file, so a file that was added,
//! changed or replaced in between is noticed. Contents are not read: caches are large.
//!
//! Invariant: caches that are not sealed, or do not fit to their seal, count as filled by a stranger.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::git::{
    error::{IoContext as _, WorkspaceError},
    hex::Hex,
    path_names::{self, below, decode_path, encode_path},
    safe_files::{self, RealFolders},
};

/// The stored checksum of the caches of a checkout.
#[derive(Debug, Serialize, Deserialize)]
struct CacheSeal {
    /// The folders.
    cache: Vec<String>,
    /// All that is in them; none while a proof is under way.
    sum: Option<String>,
}

/// Returns true if these caches are unchanged since the last proof.
pub(crate) fn is_intact(
    dir: &Path,
    tree: &Path,
    cache: &[Vec<u8>],
) -> Result<bool, WorkspaceError> {
    let Some(seal) = read(dir)? else { return Ok(false) };
    let names: Vec<String> = cache.iter().map(|path| encode_path(path)).collect();
    Ok(seal.cache == names && seal.sum.is_some_and(|sum| Some(sum) == checksum(tree, cache).ok()))
}

/// Invalidates the seal, because a proof begins that may change these caches.
pub(crate) fn invalidate(dir: &Path, cache: &[Vec<u8>]) -> Result<(), WorkspaceError> {
    let cache = cache.iter().map(|path| encode_path(path)).collect();
    write(dir, &CacheSeal { cache, sum: None })
}

/// Seals the caches after a proof.
pub(crate) fn seal(dir: &Path, tree: &Path) -> Result<(), WorkspaceError> {
    let Some(seal) = read(dir)? else { return Ok(()) };
    let cache: Vec<Vec<u8>> = seal.cache.iter().map(|name| decode_path(name)).collect();
    let sum = Some(checksum(tree, &cache)?);
    write(dir, &CacheSeal { sum, ..seal })
}

/// Sums up everything in these folders of a tree.
pub(crate) fn checksum(tree: &Path, cache: &[Vec<u8>]) -> Result<String, WorkspaceError> {
    let mut real = RealFolders::below(tree);
    let mut sum = Sha256::new();
    let mut open: Vec<Vec<u8>> = Vec::new();
    for folder in cache {
        if real.folder(folder)? == safe_files::FolderState::Folder {
            open.push(folder.clone());
        }
    }
    while let Some(folder) = open.pop() {
        let mut entries = safe_files::entries(&below(tree, &folder))?;
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        for (name, kind) in entries {
            let path = path_names::joined(&folder, &name);
            let file = below(tree, &path);
            let metadata = fs::symlink_metadata(&file).context("inspect", &file)?;
            let (size, mode) = (metadata.size(), metadata.mode());
            let changed = (metadata.ctime(), metadata.ctime_nsec(), metadata.ino());
            sum.update(&path);
            // Folders change whenever something in them does, which is seen by itself.
            if kind.is_dir() {
                sum.update(format!("\0folder {mode:o}\n"));
                open.push(path);
            } else {
                sum.update(format!("\0{mode:o} {size} {changed:?}\n"));
            }
        }
    }
    Ok(format!("{:x}", Hex(&sum.finalize())))
}

fn read(dir: &Path) -> Result<Option<CacheSeal>, WorkspaceError> {
    let content = safe_files::read(&file(dir))?;
    Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
}

fn write(dir: &Path, seal: &CacheSeal) -> Result<(), WorkspaceError> {
    safe_files::write(&file(dir), &serde_json::to_vec(seal).expect("a seal is plain data"))
}

fn file(dir: &Path) -> PathBuf {
    dir.join("forge.git").join("caches.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_whole_only_while_nobody_touches_them() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, tree) = (folder.path(), folder.path().join("tree"));
        fs::create_dir_all(dir.join("forge.git")).unwrap();
        fs::create_dir_all(tree.join("target/deep")).unwrap();
        fs::write(tree.join("target/deep/a"), "one").unwrap();
        let cache = [b"target".to_vec(), b"missing".to_vec()];
        let is_intact = |cache: &[Vec<u8>]| is_intact(dir, &tree, cache).unwrap();
        assert!(!is_intact(&cache), "nobody has sealed them");
        invalidate(dir, &cache).unwrap();
        assert!(!is_intact(&cache), "a proof is under way");
        seal(dir, &tree).unwrap();
        assert!(is_intact(&cache));
        assert!(!is_intact(&cache[..1]), "other folders");
        fs::write(tree.join("target/deep/b"), "new").unwrap();
        assert!(!is_intact(&cache));
        fs::remove_file(tree.join("target/deep/b")).unwrap();
        assert!(is_intact(&cache));
        let modified = fs::metadata(tree.join("target/deep/a")).unwrap().modified().unwrap();
        fs::write(tree.join("target/deep/a"), "two").unwrap();
        fs::File::open(tree.join("target/deep/a")).unwrap().set_modified(modified).unwrap();
        assert!(!is_intact(&cache), "the time of a change cannot be set back");
    }
}
