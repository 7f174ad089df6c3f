//! The files that the project's set-up left in a checkout, as it left them.
//!
//! As long as such a file is as the set-up left it, it is no change of the worker's: it is neither
//! committed nor discarded, and no message names it. What a worker changes in it later is its change.
//!
//! Not here: files that are ignored, copied or cached; they are never committed anyway.
//! Invariant: what a worker had changed before the set-up ran belongs to the worker, whatever the
//! set-up did to it. So work that an interrupted attempt left never becomes a part of the baseline.

use std::{
    collections::HashSet,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::Path,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::git::{
    error::{IoContext as _, WorkspaceError},
    path_names::{below, decode_path, encode_path},
    safe_files::RealFolders,
};

/// Size of one read of a file, in bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// The right to run a file.
const OWNER_RUN: u32 = 0o100;

/// One file that differs from the commit because of the set-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetUpFile {
    pub(crate) path: String,
    /// What identifies its content; none if the set-up removed it.
    content: Option<String>,
}

/// Returns what the set-up left: these paths, but for those that a worker had changed before.
pub(crate) fn left_by_setup(
    differing: &[Vec<u8>],
    worked: &[String],
    tree: &Path,
) -> Result<Vec<SetUpFile>, WorkspaceError> {
    let worked: HashSet<&String> = worked.iter().collect();
    let mut real = RealFolders::below(tree);
    let mut files = Vec::new();
    for path in differing {
        let name = encode_path(path);
        if !worked.contains(&name) {
            let content = content(&mut real, tree, path)?;
            files.push(SetUpFile { path: name, content });
        }
    }
    Ok(files)
}

/// Returns the files that are still as the set-up left them.
pub(crate) fn untouched(
    baseline: &[SetUpFile],
    tree: &Path,
) -> Result<Vec<SetUpFile>, WorkspaceError> {
    let mut real = RealFolders::below(tree);
    let mut files = Vec::new();
    for file in baseline {
        if content(&mut real, tree, &decode_path(&file.path))? == file.content {
            files.push(file.clone());
        }
    }
    Ok(files)
}

/// Returns the paths of such files.
pub(crate) fn paths(files: &[SetUpFile]) -> Vec<Vec<u8>> {
    files.iter().map(|file| decode_path(&file.path)).collect()
}

/// Returns the paths that a worker has changed, of those that differ from the commit.
pub(crate) fn worked(
    differing: &[Vec<u8>],
    baseline: &[SetUpFile],
    tree: &Path,
) -> Result<Vec<String>, WorkspaceError> {
    let untouched: HashSet<Vec<u8>> = paths(&untouched(baseline, tree)?).into_iter().collect();
    let worked = differing.iter().filter(|path| !untouched.contains(*path));
    Ok(worked.map(|path| encode_path(path)).collect())
}

/// Identifies what is at a path; none if there is nothing.
fn content(
    real: &mut RealFolders<'_>,
    tree: &Path,
    path: &[u8],
) -> Result<Option<String>, WorkspaceError> {
    let Some(found) = real.file(path.strip_suffix(b"/").unwrap_or(path))? else {
        return Ok(None);
    };
    let place = below(tree, path);
    if found.is_symlink() {
        let target = fs::read_link(&place).context("read", &place)?;
        let sum = Sha256::digest(target.as_os_str().as_bytes());
        return Ok(Some(format!("link {}", hex(&sum))));
    }
    if !found.is_file() {
        return Ok(Some("folder".to_owned()));
    }
    // One that cannot be read cannot be committed either.
    let Ok(file) = File::open(&place) else { return Ok(Some("unreadable".to_owned())) };
    let kind = if found.permissions().mode() & OWNER_RUN == 0 { "file" } else { "program" };
    let sum = sha256(file).context("read", &place)?;
    Ok(Some(format!("{kind} {}", hex(&sum))))
}

fn sha256(mut file: File) -> io::Result<Vec<u8>> {
    let mut sum = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(sum.finalize().to_vec()),
            n => sum.update(&chunk[..n]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
