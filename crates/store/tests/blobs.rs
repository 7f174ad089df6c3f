//! What blobs promise.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use forge_store::blobs::{BlobError, BlobId, Blobs};
use tempfile::tempdir;

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
