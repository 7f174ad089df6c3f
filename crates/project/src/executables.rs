//! Where programs are on this machine.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Returns the file that a program without a slash in its name is, as a shell would find it.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file() && is_executable(file))
}

/// Returns true if this user may run the file.
pub fn is_executable(file: &Path) -> bool {
    access(file, Access::EXEC_OK).is_ok()
}
