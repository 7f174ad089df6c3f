//! Takes declared artifacts out of an outbox, which belongs to an agent and may hold anything.
//!
//! Not here: what an artifact means, or whether the agent had to leave one.
//!
//! Invariant: no symlink is followed, in no component, also not the outbox itself.
//! Invariant: nothing but a regular file is read, and never more than was allowed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;
use thiserror::Error;

/// Why an artifact cannot be taken.
#[derive(Debug, Error)]
pub enum ArtifactFlaw {
    /// The declared name itself is wrong.
    #[error("`{name}` is not a plain relative path inside the outbox")]
    BadName { name: String },
    #[error("`{name}` is not in the outbox")]
    Missing { name: String },
    /// A symlink, a folder, a pipe or a device.
    #[error("`{name}` is not a regular file, or is behind a symlink")]
    NotAFile { name: String },
    #[error("`{name}` is larger than {max_bytes} bytes")]
    TooLarge { name: String, max_bytes: u64 },
    #[error("`{name}` cannot be read: {error}")]
    Unreadable { name: String, error: io::Error },
}

/// Reads the artifact `name` out of the outbox.
pub fn collect(outbox: &Path, name: &str, max_bytes: u64) -> Result<Vec<u8>, ArtifactFlaw> {
    let file = open_inside(outbox, name)?;
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| ArtifactFlaw::Unreadable { name: name.to_owned(), error })?;
    if bytes.len() as u64 > max_bytes {
        return Err(ArtifactFlaw::TooLarge { name: name.to_owned(), max_bytes });
    }
    Ok(bytes)
}

/// Walks to the file component by component, so that no symlink can lead away.
fn open_inside(outbox: &Path, name: &str) -> Result<File, ArtifactFlaw> {
    let flaw = |errno: Errno| match errno {
        Errno::NOENT => ArtifactFlaw::Missing { name: name.to_owned() },
        // A symlink, something else in place of a folder, or a socket.
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO => {
            ArtifactFlaw::NotAFile { name: name.to_owned() }
        }
        other => ArtifactFlaw::Unreadable { name: name.to_owned(), error: other.into() },
    };
    let components =
        plain_components(name).ok_or_else(|| ArtifactFlaw::BadName { name: name.to_owned() })?;
    let (last, directories) = components.split_last().expect("a plain path has a component");
    let walk = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = open(outbox, walk | OFlags::DIRECTORY, Mode::empty()).map_err(flaw)?;
    for component in directories {
        let flags = walk | OFlags::DIRECTORY;
        directory = openat(&directory, *component, flags, Mode::empty()).map_err(flaw)?;
    }
    // Without NONBLOCK a named pipe would keep us waiting for a writer.
    let flags = walk | OFlags::NONBLOCK;
    let file = openat(&directory, *last, flags, Mode::empty()).map_err(flaw)?;
    let kind = FileType::from_raw_mode(fstat(&file).map_err(flaw)?.st_mode);
    if kind != FileType::RegularFile {
        return Err(ArtifactFlaw::NotAFile { name: name.to_owned() });
    }
    Ok(file.into())
}

/// The parts of a relative path that goes nowhere but down. `None` if it is not one.
pub fn plain_components(name: &str) -> Option<Vec<&str>> {
    let is_spelled_plainly =
        !name.is_empty() && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let parts = Path::new(name).components().map(|component| match component {
        Component::Normal(part) => part.to_str(),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    });
    if is_spelled_plainly && !name.contains('\0') { parts.collect() } else { None }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_declared_artifact_is_read_also_from_a_folder() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("plans")).unwrap();
        fs::write(home.path().join("plans/T1.md"), "plan").unwrap();
        assert_eq!(collect(home.path(), "plans/T1.md", 4).unwrap(), b"plan");
        let flaw = collect(home.path(), "plans/T1.md", 3).unwrap_err().to_string();
        assert_eq!(flaw, "`plans/T1.md` is larger than 3 bytes");
        let flaw = collect(home.path(), "plans/T2.md", 3).unwrap_err().to_string();
        assert_eq!(flaw, "`plans/T2.md` is not in the outbox");
        let flaw = collect(home.path(), "plans", 3).unwrap_err().to_string();
        assert_eq!(flaw, "`plans` is not a regular file, or is behind a symlink");
    }

    #[test]
    fn names_which_lead_elsewhere_are_refused() {
        let home = tempfile::tempdir().unwrap();
        for name in ["", "/etc/passwd", "../a", "a/../b", "./a", "a//b", "a/", "a\0b"] {
            let flaw = collect(home.path(), name, 10).unwrap_err();
            assert!(matches!(flaw, ArtifactFlaw::BadName { .. }), "{name}: {flaw}");
        }
    }

    #[test]
    fn symlinks_are_followed_nowhere_and_a_pipe_keeps_nobody_waiting() {
        let home = tempfile::tempdir().unwrap();
        let outbox = home.path().join("outbox");
        fs::create_dir_all(outbox.join("real")).unwrap();
        fs::write(outbox.join("real/a"), "a").unwrap();
        symlink("real/a", outbox.join("link")).unwrap();
        symlink("real", outbox.join("folder")).unwrap();
        symlink(&outbox, home.path().join("other")).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, outbox.join("pipe"), FileType::Fifo, mode, 0).unwrap();
        symlink("/etc/passwd", outbox.join("password")).unwrap();
        symlink("/dev/zero", outbox.join("endless")).unwrap();
        symlink("/etc", outbox.join("elsewhere")).unwrap();
        for (place, name) in [
            ("outbox", "link"),
            ("outbox", "folder/a"),
            ("outbox", "pipe"),
            ("outbox", "password"),
            ("outbox", "endless"),
            ("outbox", "elsewhere/passwd"),
            ("other", "real/a"),
        ] {
            let flaw = collect(&home.path().join(place), name, 10).unwrap_err();
            assert!(matches!(flaw, ArtifactFlaw::NotAFile { .. }), "{place} {name}: {flaw:?}");
        }
        assert_eq!(collect(&outbox, "real/a", 10).unwrap(), b"a");
        // Only what is allowed is read of a file that says it has a terabyte.
        File::create(outbox.join("huge")).unwrap().set_len(1 << 40).unwrap();
        let flaw = collect(&outbox, "huge", 10).unwrap_err().to_string();
        assert_eq!(flaw, "`huge` is larger than 10 bytes");
    }
}
