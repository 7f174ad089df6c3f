//! What blobs promise.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use forge_store::blobs::{BlobError, BlobId, Blobs};
use forge_store::disk::{Disk, DiskEntry, RealDisk};
use tempfile::tempdir;

/// Notes what changes names or waits for the disk, by the last part of each path.
#[derive(Debug, Default)]
struct NotingDisk(Mutex<Vec<String>>);

impl NotingDisk {
    fn note(&self, what: &str, path: &Path) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = if name.starts_with(".new-") { "scratch" } else { name };
        self.0.lock().unwrap().push(format!("{what} {name}"));
    }

    fn taken(&self) -> Vec<String> {
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
    fn sync(&self, path: &Path) -> io::Result<()> {
        self.note("sync", path);
        RealDisk.sync(path)
    }
}

#[test]
fn a_blob_and_every_name_that_leads_to_it_are_synced_before_add_returns() {
    let dir = tempdir().unwrap();
    let top = dir.path().join("top");
    fs::create_dir(&top).unwrap();
    let disk = Arc::new(NotingDisk::default());
    let blobs = Blobs::open_on(disk.clone(), &top).unwrap();
    assert_eq!(disk.taken(), ["make blobs", "sync top"]);
    let name = "91b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    blobs.add(b"hello\n").unwrap();
    let written =
        ["make 58", "write scratch", "sync scratch", &format!("rename {name}"), "sync 58"];
    assert_eq!(disk.taken(), [&written[..], &["sync 58", "sync blobs"]].concat());
    blobs.add(b"hello\n").unwrap();
    assert_eq!(disk.taken(), [] as [String; 0]);
    // Another process does not know whether the one that wrote the blob has synced it.
    let other = Blobs::open_on(disk.clone(), &top).unwrap();
    other.add(b"hello\n").unwrap();
    assert_eq!(disk.taken(), ["sync 58", "sync blobs"]);
    fs::remove_file(other.path(&BlobId::from_content(b"hello\n"))).unwrap();
    other.add(b"hello\n").unwrap();
    assert_eq!(disk.taken(), written, "a name that is new in a folder that is not");
}

#[test]
fn what_was_put_is_got_under_the_name_that_sha256sum_gives() {
    let dir = tempdir().unwrap();
    let blobs = Blobs::open(dir.path()).unwrap();
    let id = blobs.add(b"hello\n").unwrap();
    assert_eq!(id.as_str(), "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    assert_eq!(blobs.get(&id).unwrap(), b"hello\n");
    assert_eq!(blobs.get(&blobs.add(b"").unwrap()).unwrap(), b"");
    let path = dir.path().join("blobs/58").join(&id.as_str()[2..]);
    assert_eq!(path, blobs.path(&id));
    assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o444);
}

#[test]
fn putting_the_same_content_again_writes_nothing() {
    let dir = tempdir().unwrap();
    let blobs = Blobs::open(dir.path()).unwrap();
    let id = blobs.add(b"once").unwrap();
    let before = fs::metadata(blobs.path(&id)).unwrap();
    for _ in 0..3 {
        assert_eq!(blobs.add(b"once").unwrap(), id);
    }
    let after = fs::metadata(blobs.path(&id)).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    let folder = blobs.path(&id).parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn every_wrong_byte_is_an_error_that_names_the_blob() {
    let dir = tempdir().unwrap();
    let blobs = Blobs::open(dir.path()).unwrap();
    let bytes = b"every byte of this matters";
    let id = blobs.add(bytes).unwrap();
    let path = blobs.path(&id);
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    for at in 0..bytes.len() {
        let mut wrong = bytes.to_vec();
        wrong[at] ^= 4;
        fs::write(&path, wrong).unwrap();
        let error = blobs.get(&id).unwrap_err();
        assert!(matches!(&error, BlobError::Damaged(named, _) if *named == id));
        assert!(error.to_string().contains(id.as_str()));
    }
    fs::write(&path, &bytes[1..]).unwrap();
    assert!(matches!(blobs.get(&id), Err(BlobError::Damaged(..))));
    assert_eq!(blobs.add(bytes).unwrap(), id, "a blob of another length is written anew");
    assert_eq!(blobs.get(&id).unwrap(), bytes);
}

#[test]
fn a_missing_blob_is_missing_and_reading_makes_no_folder() {
    let dir = tempdir().unwrap();
    let blobs = Blobs::open_to_read(dir.path());
    let error = blobs.get(&BlobId::from_content(b"never put")).unwrap_err();
    assert!(matches!(error, BlobError::Missing(_)));
    assert!(!dir.path().join("blobs").exists());
}

#[test]
fn a_file_is_put_up_to_its_limit_and_not_a_byte_more() {
    let dir = tempdir().unwrap();
    let blobs = Blobs::open(dir.path()).unwrap();
    let file = dir.path().join("artifact.md");
    fs::write(&file, "12345").unwrap();
    assert_eq!(blobs.add_file(&file, 5).unwrap(), BlobId::from_content(b"12345"));
    assert_eq!(blobs.add_file(&file, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(blobs.add_file(&dir.path().join("no"), 4).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_name_is_64_hex_digits_in_lower_case_and_nothing_else() {
    let id = BlobId::from_content(b"x");
    assert_eq!(id.as_str().parse::<BlobId>().unwrap(), id);
    let json = serde_json::to_string(&id).unwrap();
    assert_eq!(json, format!("\"{id}\""));
    assert_eq!(serde_json::from_str::<BlobId>(&json).unwrap(), id);
    let upper = id.as_str().to_uppercase();
    for wrong in ["", "../../../etc/passwd", &id.as_str()[1..], &upper, &format!("{id}0")] {
        assert!(wrong.parse::<BlobId>().is_err(), "{wrong}");
        assert!(serde_json::from_str::<BlobId>(&format!("{wrong:?}")).is_err());
    }
}

#[test]
fn many_threads_may_put_the_same_and_different_things_at_once() {
    let dir = tempdir().unwrap();
    let blobs = Blobs::open(dir.path()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let blobs = &blobs;
            scope.spawn(move || {
                for number in 0..10_u8 {
                    let same = blobs.add(&[number]).unwrap();
                    assert_eq!(blobs.get(&same).unwrap(), [number]);
                    let own = blobs.add(&[thread, number]).unwrap();
                    assert_eq!(blobs.get(&own).unwrap(), [thread, number]);
                }
            });
        }
    });
}
