//! The files that the driver writes itself, behind a trait, so that a simulated run can have a disk
//! that is full, that fails, or that loses what was not synced.
//!
//! Not here: the journal, which `SQLite` writes, locks, and the folders of agents.
//! Invariant: a crash may undo everything after the last [`Disk::sync`] of the file (its content)
//! and of its folder (its name).

#[cfg(test)]
pub(crate) mod noting;

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Files by path. Errors are those of the operating system: a missing file is `NotFound`.
pub trait Disk: Debug + Send + Sync {
    /// Reads a whole file, if it is a regular one: a pipe would block for good.
    fn read(&self, file: &Path) -> io::Result<Vec<u8>>;

    /// Returns the length of a file in bytes.
    fn length(&self, file: &Path) -> io::Result<u64>;

    /// Lists what is directly in a folder, in any order.
    fn list(&self, folder: &Path) -> io::Result<Vec<DiskEntry>>;

    /// Makes a file with this content, or replaces the content that it has.
    fn write(&self, file: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Adds to the end of a file, and makes the file if it is missing.
    fn append(&self, file: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Cuts a file off after `length` bytes.
    fn truncate(&self, file: &Path, length: u64) -> io::Result<()>;

    /// Protects a file from being written by accident.
    fn make_read_only(&self, file: &Path) -> io::Result<()>;

    /// Gives a file another name, replacing a file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, file: &Path) -> io::Result<()>;

    /// Makes a folder and all folders above it, where they are missing.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Waits until the content of a file, or the names in a folder, survive a loss of power.
    fn sync(&self, path: &Path, point: SyncPoint) -> io::Result<()>;

    /// Returns the bytes that can still be written below a folder. An error, where nothing can be.
    fn room(&self, folder: &Path) -> io::Result<u64>;
}

/// All places where the store and the driver wait for the disk. Simulated runs leave out each of them
/// in turn, and must notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPoint {
    /// The name of the folder of blobs, before the first blob is added.
    BlobFolder,
    /// The bytes of a blob, before it gets its name.
    BlobContent,
    /// The name of a blob, before a fact may name it.
    BlobName,
    /// The name of the folder of a blob that this process did not make itself.
    BlobFound,
    /// One transaction of the journal. `SQLite` does this itself (`synchronous = FULL`); a simulated
    /// journal does it here.
    Record,
    /// The text of a delivery, before it is a fact.
    DeliveryText,
    /// The record of a delivery, before it is a fact.
    DeliveryRecord,
    /// The names that lead to the record of a delivery, before it is a fact.
    DeliveryName,
    /// The result of an operation on a checkout, before its process ends.
    OperationResult,
    /// The mark of a damaged journal and its name, before anything else is done with the journal.
    DamageMark,
    /// A new database and its name, before anything is written to it.
    Database,
    /// Salvaged records, before a person is told of them.
    Salvaged,
}

impl SyncPoint {
    /// All of them.
    pub const ALL: [SyncPoint; 12] = [
        SyncPoint::BlobFolder,
        SyncPoint::BlobContent,
        SyncPoint::BlobName,
        SyncPoint::BlobFound,
        SyncPoint::Record,
        SyncPoint::DeliveryText,
        SyncPoint::DeliveryRecord,
        SyncPoint::DeliveryName,
        SyncPoint::OperationResult,
        SyncPoint::DamageMark,
        SyncPoint::Database,
        SyncPoint::Salvaged,
    ];
}

/// A file or a folder that [`Disk::list`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskEntry {
    /// The folder's path with the name of the entry.
    pub path: PathBuf,
    /// True for a folder itself, not for a link to one.
    pub is_folder: bool,
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn read(&self, file: &Path) -> io::Result<Vec<u8>> {
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut opened = OpenOptions::new().read(true).custom_flags(flags).open(file)?;
        if !opened.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut bytes = Vec::new();
        opened.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn length(&self, file: &Path) -> io::Result<u64> {
        Ok(fs::metadata(file)?.len())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<DiskEntry>> {
        let entry = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok(DiskEntry { path: entry.path(), is_folder: entry.file_type()?.is_dir() })
        };
        fs::read_dir(folder)?.map(entry).collect()
    }

    fn write(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        fs::write(file, bytes)
    }

    fn append(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().append(true).create(true).open(file)?.write_all(bytes)
    }

    fn truncate(&self, file: &Path, length: u64) -> io::Result<()> {
        OpenOptions::new().write(true).open(file)?.set_len(length)
    }

    fn make_read_only(&self, file: &Path) -> io::Result<()> {
        fs::set_permissions(file, Permissions::from_mode(0o444))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        fs::remove_file(file)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    fn sync(&self, path: &Path, _: SyncPoint) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn room(&self, folder: &Path) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(folder)?;
        if disk.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
            return Err(rustix::io::Errno::ROFS.into());
        }
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_refused_and_nobody_waits_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(RealDisk.read(&pipe).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(RealDisk.read(dir.path()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
