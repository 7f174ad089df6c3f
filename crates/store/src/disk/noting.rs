//! A disk that notes what is done to it, for tests of what is synced and in which order.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use super::{Disk, DiskEntry, RealDisk, SyncPoint};

/// Notes what changes names or waits for the disk, by the last part of each path.
#[derive(Debug, Default)]
pub(crate) struct NotingDisk(Mutex<Vec<String>>);

impl NotingDisk {
    fn note(&self, what: &str, path: &Path) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = if name.contains(".new-") { "scratch" } else { name };
        self.0.lock().unwrap().push(format!("{what} {name}"));
    }

    /// Returns the notes since the last call.
    pub(crate) fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Disk for NotingDisk {
    fn read(&self, file: &Path) -> io::Result<Vec<u8>> {
        RealDisk.read(file)
    }
    fn length(&self, file: &Path) -> io::Result<u64> {
        RealDisk.length(file)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<DiskEntry>> {
        RealDisk.list(folder)
    }
    fn write(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.note("write", file);
        RealDisk.write(file, bytes)
    }
    fn append(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.note("append", file);
        RealDisk.append(file, bytes)
    }
    fn truncate(&self, file: &Path, length: u64) -> io::Result<()> {
        RealDisk.truncate(file, length)
    }
    fn make_read_only(&self, file: &Path) -> io::Result<()> {
        RealDisk.make_read_only(file)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.note("rename", to);
        RealDisk.rename(from, to)
    }
    fn remove(&self, file: &Path) -> io::Result<()> {
        RealDisk.remove(file)
    }
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.note("make", folder);
        RealDisk.create_folder(folder)
    }
    fn sync(&self, path: &Path, point: SyncPoint) -> io::Result<()> {
        self.note("sync", path);
        RealDisk.sync(path, point)
    }
    fn room(&self, folder: &Path) -> io::Result<u64> {
        RealDisk.room(folder)
    }
}
