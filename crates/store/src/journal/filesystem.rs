//! The kind of file system that a folder is on.
//!
//! `SQLite` needs file locks and shared memory that work. Network file systems do not provide them
//! reliably, so they are refused. File systems that a virtual machine shares with its host do inside
//! one machine: for those there is only a warning.

use std::path::Path;

use super::error::StoreError;

/// The kind of file system that a folder is on.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileSystemKind {
    /// A disk of this machine.
    Local,
    /// Shared between a virtual machine and its host: works from one side at a time.
    Shared { kind: String },
    /// On another machine.
    Network { kind: String },
}

const FUSE: u64 = 0x6573_5546;
const NETWORK: [(u64, &str); 10] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFE53_4D42, "SMB2"),
    (0xFF53_4D42, "CIFS"),
    (0x564C, "NCP"),
    (0x7375_7245, "Coda"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
];
const SHARED: [(u64, &str); 2] = [(0x0102_1997, "9p"), (0x786F_4256, "vboxsf")];
/// FUSE file systems whose files are on another machine, as the mount table names them.
const NETWORK_FUSE: [&str; 7] =
    ["sshfs", "s3fs", "rclone", "gcsfuse", "davfs2", "glusterfs", "curlftpfs"];

/// Finds out the kind of file system that an existing folder is on.
#[cfg(target_os = "linux")]
fn file_system_kind(dir: &Path) -> FileSystemKind {
    let Ok(found) = rustix::fs::statfs(dir) else { return FileSystemKind::Local };
    let Ok(magic) = u64::try_from(found.f_type) else { return FileSystemKind::Local };
    let mounted = if magic == FUSE { mount_type(dir) } else { None };
    classify(magic, mounted.as_deref())
}

/// Outside of Linux every file system counts as local.
#[cfg(not(target_os = "linux"))]
fn file_system_kind(_dir: &Path) -> FileSystemKind {
    FileSystemKind::Local
}

/// Refuses a folder on a network file system, and warns of one that is shared.
pub(crate) fn check_file_system(dir: &Path) -> Result<Option<String>, StoreError> {
    match file_system_kind(dir) {
        FileSystemKind::Local => Ok(None),
        FileSystemKind::Shared { kind } => {
            let place = dir.display();
            Ok(Some(format!("{place} is on {kind}: use it from one machine at a time")))
        }
        FileSystemKind::Network { kind } => {
            Err(StoreError::NetworkFileSystem { dir: dir.to_owned(), kind })
        }
    }
}

fn classify(magic: u64, mounted: Option<&str>) -> FileSystemKind {
    let named = |list: &[(u64, &str)]| {
        list.iter().find(|(known, _)| *known == magic).map(|(_, name)| (*name).to_owned())
    };
    if let Some(kind) = named(&NETWORK) {
        return FileSystemKind::Network { kind };
    }
    if let Some(kind) = named(&SHARED) {
        return FileSystemKind::Shared { kind };
    }
    let Some(mounted) = mounted.filter(|_| magic == FUSE) else { return FileSystemKind::Local };
    let kind = mounted.strip_prefix("fuse.").unwrap_or(mounted);
    if NETWORK_FUSE.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
        FileSystemKind::Network { kind: kind.to_owned() }
    } else if kind == "virtiofs" {
        FileSystemKind::Shared { kind: kind.to_owned() }
    } else {
        FileSystemKind::Local
    }
}

/// Returns the type of the innermost mount that holds the folder, as `/proc/self/mountinfo` names it.
#[cfg(target_os = "linux")]
fn mount_type(dir: &Path) -> Option<String> {
    let dir = dir.canonicalize().ok()?;
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    table
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let point = left.split(' ').nth(4)?.replace("\\040", " ");
            dir.starts_with(&point).then(|| (point.len(), right.split(' ').next()))
        })
        .max_by_key(|(length, _)| *length)
        .and_then(|(_, kind)| kind.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_differ_from_shared_and_local_ones() {
        assert_eq!(classify(0x6969, None), FileSystemKind::Network { kind: "NFS".into() });
        assert_eq!(classify(0xFF53_4D42, None), FileSystemKind::Network { kind: "CIFS".into() });
        assert_eq!(
            classify(FUSE, Some("fuse.sshfs")),
            FileSystemKind::Network { kind: "sshfs".into() }
        );
        assert_eq!(
            classify(FUSE, Some("virtiofs")),
            FileSystemKind::Shared { kind: "virtiofs".into() }
        );
        assert_eq!(classify(0x0102_1997, None), FileSystemKind::Shared { kind: "9p".into() });
        assert_eq!(classify(FUSE, Some("fuseblk")), FileSystemKind::Local);
        assert_eq!(classify(0xEF53, None), FileSystemKind::Local);
    }

    #[test]
    fn the_temporary_folder_is_no_network() {
        assert!(!matches!(file_system_kind(&std::env::temp_dir()), FileSystemKind::Network { .. }));
    }
}
