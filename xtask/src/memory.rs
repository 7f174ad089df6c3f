//! A folder in memory for temporary files of tests: they start many short programs that all wait for a disk.
//!
//! A test that kills processes proves nothing about a disk, so nothing is lost. One case of each family runs on the disk.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::fs::StatVfsMountFlags;

/// Where Linux has a file system in memory.
const PLACE: &str = "/dev/shm";
/// The least that must be free, in bytes.
const FREE_MIN: u64 = 4 << 30;
const PREFIX: &str = "forge-test-";

/// A folder in memory, until it is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes one, where memory is large enough and programs may be started from it. Removes those whose makers are gone.
    pub(crate) fn make() -> Option<Self> {
        let place = Path::new(PLACE);
        let space = rustix::fs::statvfs(place).ok()?;
        if space.f_bavail.saturating_mul(space.f_frsize) < FREE_MIN
            || space.f_flag.contains(StatVfsMountFlags::NOEXEC)
        {
            return None;
        }
        remove_abandoned(place);
        // As wide on every machine: what cuts long lines sees the same.
        let folder = Self(place.join(format!("{PREFIX}{:010}", std::process::id())));
        fs::create_dir(&folder.0).ok()?;
        Some(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes folders that a killed task left, which would take memory until the next start of the machine.
fn remove_abandoned(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if id.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_tasks_that_are_gone_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let own = format!("{PREFIX}{:010}", std::process::id());
        for name in [own.as_str(), "forge-test-4294967295", "forge-test-x", "another"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        remove_abandoned(place.path());
        let left = |name: &str| place.path().join(name).exists();
        assert!(left(&own) && left("forge-test-x") && left("another"));
        assert!(!left("forge-test-4294967295"));
    }
}
