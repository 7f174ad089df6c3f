//! Long texts by content: a blob's name is the SHA-256 of its bytes.
//!
//! A fact may name a blob as soon as [`Blobs::add`] has returned: file and folders are then on the
//! disk. A blob is written once, never changed, and checked whenever it is read, so a wrong byte is
//! an error that names the blob and never a wrong text. Not here: what a blob means, and when it may
//! be deleted.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use forge_core::hex::hex;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::disk::{Disk, RealDisk, SyncPoint};

/// The name of a blob: 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId(String);

/// A text that is not the name of a blob.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not the name of a blob (64 hex digits in lower case)")]
pub struct BadBlobId(String);

/// The reason why a blob could not be read.
#[derive(Debug, Error)]
pub enum BlobError {
    #[error("blob {0} is missing")]
    Missing(BlobId),
    /// The bytes are not those that were added.
    #[error("blob {0} is damaged: {path} holds other bytes", path = .1.display())]
    Damaged(BlobId, PathBuf),
    /// The operating system refused.
    #[error("blob {0} cannot be read: {1}")]
    Io(BlobId, #[source] io::Error),
}

/// The folder of all blobs of a repository.
#[derive(Debug)]
pub struct Blobs {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    synced: Mutex<SyncedFolders>,
}

/// What this process has synced of the folders of blobs.
#[derive(Debug, Default)]
struct SyncedFolders {
    /// Folders whose own names are on the disk: they were there when the folder around them was synced.
    named: BTreeSet<PathBuf>,
    /// Folders that were synced themselves.
    synced: BTreeSet<PathBuf>,
}

impl BlobId {
    /// Returns the name that these bytes have, added or not.
    pub fn from_content(bytes: &[u8]) -> BlobId {
        BlobId(hex(digest(&SHA256, bytes).as_ref()))
    }

    /// Returns the 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Blobs {
    /// Opens `<dir>/blobs` on this machine, and makes it if it is missing.
    pub fn open(dir: &Path) -> io::Result<Blobs> {
        Blobs::open_on(Arc::new(RealDisk), dir)
    }

    /// Opens `<dir>/blobs`, and makes it if it is missing.
    pub fn open_on(disk: Arc<dyn Disk>, dir: &Path) -> io::Result<Blobs> {
        let blobs = Blobs::new(disk, dir);
        if blobs.disk.list(&blobs.dir).is_err() {
            blobs.disk.create_folder(&blobs.dir)?;
        }
        Ok(blobs)
    }

    /// Opens `<dir>/blobs` on this machine without making anything. In a folder that does not exist
    /// every blob is missing.
    pub fn open_to_read(dir: &Path) -> Blobs {
        Blobs::new(Arc::new(RealDisk), dir)
    }

    fn new(disk: Arc<dyn Disk>, dir: &Path) -> Blobs {
        Blobs { disk, dir: dir.join("blobs"), synced: Mutex::default() }
    }

    /// Keeps the bytes. When this returns they are on the disk. Content that is kept already costs
    /// a hash and the look at a length.
    pub fn add(&self, bytes: &[u8]) -> io::Result<BlobId> {
        let id = BlobId::from_content(bytes);
        let path = self.path(&id);
        let folder = path.parent().expect("a blob is in a folder");
        // A blob gets its name after its bytes are synced, so the right length means all bytes.
        let is_kept = self.disk.length(&path).is_ok_and(|length| length == bytes.len() as u64);
        if !is_kept {
            self.disk.create_folder(folder)?;
            let scratch = self.write_scratch(folder, bytes)?;
            if let Err(error) = self.disk.rename(&scratch, &path) {
                let _ = self.disk.remove(&scratch);
                return Err(error);
            }
            if self.is_synced(folder) {
                self.disk.sync(folder, SyncPoint::BlobName)?;
            }
        }
        self.sync_once(folder)?;
        Ok(id)
    }

    /// Keeps the content of a file of this machine, if it is at most `max_bytes` long. Longer is an
    /// error of the kind `FileTooLarge`, also if the file grows while it is read.
    pub fn add_file(&self, path: &Path, max_bytes: u64) -> io::Result<BlobId> {
        let mut bytes = Vec::new();
        File::open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            let text = format!("{} is longer than {max_bytes} bytes", path.display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        self.add(&bytes)
    }

    /// Reads a blob, and checks its bytes against its name.
    pub fn get(&self, id: &BlobId) -> Result<Vec<u8>, BlobError> {
        let path = self.path(id);
        let bytes = match self.disk.read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BlobError::Missing(id.clone()));
            }
            Err(error) => return Err(BlobError::Io(id.clone(), error)),
        };
        if BlobId::from_content(&bytes) == *id {
            Ok(bytes)
        } else {
            Err(BlobError::Damaged(id.clone(), path))
        }
    }

    /// Returns the file of a blob, kept or not.
    pub fn path(&self, id: &BlobId) -> PathBuf {
        let (folder, name) = id.0.split_at(2);
        self.dir.join(folder).join(name)
    }

    /// Writes the bytes to a synced, read-only file with a name of its own.
    fn write_scratch(&self, folder: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".new-{}-{number}", std::process::id()));
        // A dead process with the same id may have left one, and it is read-only.
        let _ = self.disk.remove(&path);
        let written = self
            .disk
            .write(&path, bytes)
            .and_then(|()| self.disk.make_read_only(&path))
            .and_then(|()| self.disk.sync(&path, SyncPoint::BlobContent));
        if let Err(error) = written {
            let _ = self.disk.remove(&path);
            return Err(error);
        }
        Ok(path)
    }

    fn is_synced(&self, folder: &Path) -> bool {
        self.synced
            .lock()
            .expect("no thread panics while it holds this lock")
            .synced
            .contains(folder)
    }

    /// Syncs a folder and all names that lead to it, once per process: the process that made them, or
    /// the blob that was found in them, may have died before it synced them.
    fn sync_once(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.synced.lock().expect("no thread panics while it holds this lock");
        if state.synced.contains(folder) {
            return Ok(());
        }
        self.disk.sync(folder, SyncPoint::BlobFound)?;
        if !state.named.contains(folder) {
            let is_first = state.named.is_empty();
            let there = self.disk.list(&self.dir)?;
            self.disk.sync(&self.dir, SyncPoint::BlobFound)?;
            if is_first {
                let above = self.dir.parent().expect("blobs are in a folder");
                self.disk.sync(above, SyncPoint::BlobFolder)?;
            }
            state.named.extend(there.into_iter().map(|entry| entry.path));
        }
        state.synced.insert(folder.to_owned());
        Ok(())
    }
}

impl FromStr for BlobId {
    type Err = BadBlobId;

    fn from_str(text: &str) -> Result<BlobId, BadBlobId> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let fits = text.len() == 64 && text.bytes().all(digit);
        if fits { Ok(BlobId(text.to_owned())) } else { Err(BadBlobId(text.to_owned())) }
    }
}

impl TryFrom<String> for BlobId {
    type Error = BadBlobId;

    fn try_from(text: String) -> Result<BlobId, BadBlobId> {
        text.parse()
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> String {
        id.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::noting::NotingDisk;

    #[test]
    fn a_blob_and_every_name_that_leads_to_it_are_synced_before_add_returns() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        let disk = Arc::new(NotingDisk::default());
        let blobs = Blobs::open_on(disk.clone(), &top).unwrap();
        assert_eq!(disk.taken(), ["make blobs"]);
        let name = "91b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        blobs.add(b"hello\n").unwrap();
        let written = ["make 58", "write scratch", "sync scratch", &format!("rename {name}")];
        let leading = ["sync 58", "sync blobs", "sync top"];
        assert_eq!(disk.taken(), [&written[..], &leading].concat());
        blobs.add(b"hello\n").unwrap();
        assert_eq!(disk.taken(), [] as [String; 0]);
        // Another process does not know whether the one that wrote the blob has synced it.
        let other = Blobs::open_on(disk.clone(), &top).unwrap();
        other.add(b"hello\n").unwrap();
        assert_eq!(disk.taken(), leading);
        fs::remove_file(other.path(&BlobId::from_content(b"hello\n"))).unwrap();
        other.add(b"hello\n").unwrap();
        let again = [&written[..], &["sync 58"]].concat();
        assert_eq!(disk.taken(), again, "a name that is new in a folder that is not");
    }
}
