//! Big texts, by content: a blob's name is the SHA-256 of its bytes.
//!
//! A fact may name a blob as soon as [`Blobs::put`] has returned: file and folders are then on the
//! disk. A blob is written once, never changed, and checked whenever it is read, so a wrong byte is
//! an error that names the blob and never a wrong text. Not here: what a blob means, and who may
//! throw it away.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use forge_core::hex::hex;

/// The name of a blob: 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId(String);

/// A text that is no blob's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadBlobId(String);

/// Why a blob could not be read.
#[derive(Debug)]
pub enum BlobError {
    /// No such blob is here.
    Missing(BlobId),
    /// The bytes are not those that were put.
    Damaged(BlobId, PathBuf),
    /// The operating system refused.
    Io(BlobId, io::Error),
}

/// The folder of all blobs of a repository.
#[derive(Debug)]
pub struct Blobs {
    dir: PathBuf,
    /// Folders whose own entry is known to be on the disk.
    settled: Mutex<BTreeSet<PathBuf>>,
}

impl BlobId {
    /// The name that these bytes have, put or not.
    pub fn of(bytes: &[u8]) -> BlobId {
        BlobId(hex(&Sha256::digest(bytes)))
    }

    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Blobs {
    /// Opens `<dir>/blobs`, and makes it if it is missing.
    pub fn open(dir: &Path) -> io::Result<Blobs> {
        let blobs = dir.join("blobs");
        if !blobs.is_dir() {
            fs::create_dir_all(&blobs)?;
            sync(dir)?;
        }
        Ok(Blobs { dir: blobs, settled: Mutex::default() })
    }

    /// Opens `<dir>/blobs` without making anything. Reading from a folder that is not there says
    /// that the blob is missing.
    pub fn open_to_read(dir: &Path) -> Blobs {
        Blobs { dir: dir.join("blobs"), settled: Mutex::default() }
    }

    /// Keeps the bytes. When this returns they are on the disk. Content that is already here costs
    /// a hash and a look.
    pub fn put(&self, bytes: &[u8]) -> io::Result<BlobId> {
        let id = BlobId::of(bytes);
        let path = self.path(&id);
        // The size is compared because a rename that outlived its bytes would show here. Blobs get
        // their name only after their bytes are on the disk, so the folder is all that is left.
        let here = fs::metadata(&path).is_ok_and(|found| found.len() == bytes.len() as u64);
        let folder = path.parent().expect("a blob lies in a folder").to_owned();
        if here {
            return self.settle(&folder).map(|()| id);
        }
        fs::create_dir_all(&folder)?;
        let scratch = write_aside(&folder, bytes)?;
        if let Err(error) = fs::rename(&scratch, &path) {
            let _ = fs::remove_file(&scratch);
            return Err(error);
        }
        sync(&folder)?;
        self.settle(&folder)?;
        Ok(id)
    }

    /// Keeps a file's content, if it is at most `max_bytes` long. Longer is an error of the kind
    /// `FileTooLarge`, also if the file grows while it is read.
    pub fn put_file(&self, path: &Path, max_bytes: u64) -> io::Result<BlobId> {
        let mut bytes = Vec::new();
        File::open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            let text = format!("{} is longer than {max_bytes} bytes", path.display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        self.put(&bytes)
    }

    /// The bytes of a blob, checked against its name.
    pub fn get(&self, id: &BlobId) -> Result<Vec<u8>, BlobError> {
        let path = self.path(id);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BlobError::Missing(id.clone()));
            }
            Err(error) => return Err(BlobError::Io(id.clone(), error)),
        };
        if BlobId::of(&bytes) == *id {
            Ok(bytes)
        } else {
            Err(BlobError::Damaged(id.clone(), path))
        }
    }

    /// Where a blob lies, or would lie.
    pub fn path(&self, id: &BlobId) -> PathBuf {
        let (folder, name) = id.0.split_at(2);
        self.dir.join(folder).join(name)
    }

    /// Makes sure, once per folder and process, that a folder and the name we found in it are on
    /// the disk: whoever made them may have died before saying so to the disk.
    fn settle(&self, folder: &Path) -> io::Result<()> {
        let mut settled = self.settled.lock().expect("nobody panics while holding this lock");
        if !settled.contains(folder) {
            sync(folder)?;
            sync(&self.dir)?;
            settled.insert(folder.to_owned());
        }
        Ok(())
    }
}

/// Writes the bytes to a file of its own, read-only and on the disk.
fn write_aside(folder: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".new-{}-{number}", std::process::id()));
    // A left-over of a dead process of the same pid is nobody's.
    let _ = fs::remove_file(&path);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.set_permissions(Permissions::from_mode(0o444)))
        .and_then(|()| file.sync_all());
    if let Err(error) = written {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
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

impl fmt::Display for BadBlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not the name of a blob (64 hex digits in lower case)", self.0)
    }
}

impl fmt::Display for BlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlobError::Missing(id) => write!(f, "blob {id} is missing"),
            BlobError::Damaged(id, path) => {
                write!(f, "blob {id} is damaged: {} holds other bytes", path.display())
            }
            BlobError::Io(id, error) => write!(f, "blob {id} cannot be read: {error}"),
        }
    }
}

impl std::error::Error for BadBlobId {}

impl std::error::Error for BlobError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BlobError::Io(_, error) => Some(error),
            BlobError::Missing(_) | BlobError::Damaged(..) => None,
        }
    }
}
