//! Replaces files so that a reader sees the old content or the new one, and never a part of it.
//!
//! Not here: the sync of the folder, after which a new name is there for good.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::disk::{Disk, RealDisk, SyncPoint};

/// Replaces a file of this machine, as [`replace_on`] does.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_on(&RealDisk, path, bytes)
}

/// Writes a file under another name in the same folder and renames it. Makes the folder where it is
/// missing. Not synced. The other name is always the same, so that the next call overwrites what a
/// crash has left there.
pub fn replace_on(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let scratch = written_beside(disk, path, bytes)?;
    disk.rename(&scratch, path)
}

/// Does the same, and waits until the content is on the disk before it gets its name: after a loss of power the file is whole or
/// not there.
pub fn replace_synced_on(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    point: SyncPoint,
) -> io::Result<()> {
    let scratch = written_beside(disk, path, bytes)?;
    disk.sync(&scratch, point)?;
    disk.rename(&scratch, path)
}

fn written_beside(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let folder = path.parent().expect("a file is in a folder");
    disk.create_folder(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let scratch = folder.join(format!(".{name}.new"));
    disk.write(&scratch, bytes)?;
    Ok(scratch)
}
