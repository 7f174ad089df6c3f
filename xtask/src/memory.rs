//! A folder in memory for temporary files of tests: they start many short programs that all wait for a disk.
//!
//! A test that kills processes proves nothing about a disk, so nothing is lost. One case of each family runs on the disk.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

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
        if space.f_bavail.saturating_mul(space.f_frsize) < FREE_MIN {
            return None;
        }
        remove_abandoned(place);
        // As wide on every machine: what cuts long lines sees the same.
        let folder = Self(place.join(format!("{PREFIX}{:010}", std::process::id())));
        fs::create_dir(&folder.0).ok()?;
        can_start_programs(&folder.0).then_some(folder)
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

/// Whether a script can be started from this folder: some machines mount memory without that right.
fn can_start_programs(folder: &Path) -> bool {
    let script = folder.join("try.sh");
    let made = fs::write(&script, "#!/bin/sh\nexit 0\n")
        .and_then(|()| fs::set_permissions(&script, fs::Permissions::from_mode(0o755)));
    let started =
        made.is_ok() && Command::new(&script).status().is_ok_and(|status| status.success());
    let _ = fs::remove_file(script);
    started
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

    #[test]
    fn a_script_starts_from_an_ordinary_folder_and_not_from_one_that_is_not_there() {
        assert!(can_start_programs(tempfile::tempdir().unwrap().path()));
        assert!(!can_start_programs(Path::new("/nowhere")));
    }
}
