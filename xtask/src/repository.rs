//! Where things are in this repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is in the repository").to_owned()
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// All files below a folder with an extension, sorted.
pub(crate) fn files_below(folder: &Path, wanted: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == wanted) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
