//! Writes files so that a reader sees the old one or the new one, and never half of it.
//!
//! Not here: files that must survive a loss of power; whoever writes those says so themselves.

use std::{fs, io, path::Path};

/// Writes a file beside its place and moves it there, making its folder where it is missing. Not
/// fsynced. The name beside is always the same, so that the next one takes up what a crash left
/// there.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.new"));
    fs::write(&beside, bytes)?;
    fs::rename(&beside, path)
}
