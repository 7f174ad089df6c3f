//! Reads and writes files for an agent, below the folders of its call.
//!
//! Invariant: the kernel itself walks to a file and refuses a path or a link that leads out of the folder, whatever the agent
//! changes meanwhile.
//! Invariant: nothing but a regular file is opened, and nothing waits.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, ftruncate, mkdirat, openat2};
use rustix::io::Errno;

use super::policy::{AllowedFolders, real};
use super::wire::{ReadTextFile, WriteTextFile};

/// The most bytes of one file.
const FILE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// For new files, as any program makes them.
const FILE_MODE: u32 = 0o666;
const FOLDER_MODE: u32 = 0o777;

/// Reads a file, or some lines of it.
pub(super) fn read_text(folders: &AllowedFolders, wanted: &ReadTextFile) -> Result<String, String> {
    let fail = |error: io::Error| format!("{}: {error}", wanted.path.display());
    let (folder, rest) = below(&folders.readable(), &wanted.path)?;
    let file = open_file(&folder, &rest, OFlags::RDONLY).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("{}: more than {FILE_BYTES_MAX} bytes", wanted.path.display()));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("{}: it is not text", wanted.path.display()))?;
    let (first, most) = (wanted.line.unwrap_or(1).max(1) - 1, wanted.limit);
    if first == 0 && most.is_none() {
        return Ok(text);
    }
    let lines = text.split_inclusive('\n').skip(first);
    Ok(lines.take(most.unwrap_or(usize::MAX)).collect())
}

/// Writes a whole file, with the folders that are missing.
pub(super) fn write_text(folders: &AllowedFolders, wanted: &WriteTextFile) -> Result<(), String> {
    if wanted.content.len() > FILE_BYTES_MAX {
        return Err(format!("{}: more than {FILE_BYTES_MAX} bytes", wanted.path.display()));
    }
    let (folder, rest) = below(&folders.writable(), &wanted.path)?;
    let write = || {
        make_folders(&folder, &rest)?;
        let mut file = open_file(&folder, &rest, OFlags::WRONLY | OFlags::CREATE)?;
        ftruncate(&file, 0)?;
        file.write_all(wanted.content.as_bytes())
    };
    write().map_err(|error: io::Error| format!("{}: {error}", wanted.path.display()))
}

/// Returns the folder that a path is below, and the rest of the path.
fn below(folders: &[&Path], path: &Path) -> Result<(OwnedFd, PathBuf), String> {
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    let found = folders.iter().find_map(|folder| {
        // It may be called by its own name or by where its links lead.
        let inside = |folder: &Path| path.strip_prefix(folder).ok().map(Path::to_path_buf);
        inside(folder).or_else(|| inside(&real(folder)?)).map(|rest| (*folder, rest))
    });
    match found {
        Some((folder, rest)) if is_plain && path.is_absolute() => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::empty())
                .map(|folder| (folder, rest))
                .map_err(|error| format!("{}: {error}", folder.display()))
        }
        Some(_) | None => Err(format!(
            "{}: it is not below a folder that this agent may use for that: {}",
            path.display(),
            folders.iter().map(|folder| folder.to_string_lossy()).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// How a path below a folder is walked.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

fn open_file(folder: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<File> {
    // Without NONBLOCK a named pipe would keep us waiting.
    let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let mode = if flags.contains(OFlags::CREATE) { Mode::from(FILE_MODE) } else { Mode::empty() };
    let file = openat2(folder, path, flags, mode, BENEATH)?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file.into())
}

/// Makes the folders above a file.
fn make_folders(folder: &OwnedFd, file: &Path) -> io::Result<()> {
    let mut path = PathBuf::new();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |path: &Path| openat2(folder, path, flags, Mode::empty(), BENEATH);
    let mut above = folder.try_clone()?;
    for part in file.parent().into_iter().flat_map(Path::components) {
        path.push(part);
        above = match open(&path) {
            Err(Errno::NOENT) => {
                mkdirat(&above, part.as_os_str(), Mode::from(FOLDER_MODE))?;
                open(&path)?
            }
            opened => opened?,
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;
    use crate::agent::CodeAccess;

    fn world(access: CodeAccess) -> (TempDir, AllowedFolders) {
        let home = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = home.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let folders = AllowedFolders {
            checkout: folder("checkout"),
            inbox: folder("inbox"),
            outbox: folder("outbox"),
            access,
        };
        fs::write(home.path().join("secret"), "secret").unwrap();
        (home, folders)
    }

    fn read(folders: &AllowedFolders, path: &Path) -> Result<String, String> {
        read_text(folders, &ReadTextFile { path: path.to_owned(), line: None, limit: None })
    }

    fn write(folders: &AllowedFolders, path: &Path) -> Result<(), String> {
        write_text(folders, &WriteTextFile { path: path.to_owned(), content: "new".to_owned() })
    }

    #[test]
    fn files_are_read_in_all_three_folders_and_written_in_two() {
        let (_home, folders) = world(CodeAccess::Writes);
        for (folder, may_write) in
            [(&folders.checkout, true), (&folders.inbox, false), (&folders.outbox, true)]
        {
            let path = folder.join("deep/er/file");
            assert_eq!(write(&folders, &path).is_ok(), may_write);
            fs::write(folder.join("old"), "a longer old text").unwrap();
            assert_eq!(read(&folders, &folder.join("old")).unwrap(), "a longer old text");
            assert_eq!(write(&folders, &folder.join("old")).is_ok(), may_write);
            let left = fs::read_to_string(folder.join("old")).unwrap();
            assert_eq!(left, if may_write { "new" } else { "a longer old text" });
        }
        let only_looks = AllowedFolders { access: CodeAccess::Reads, ..folders };
        assert!(write(&only_looks, &only_looks.checkout.join("x")).is_err());
        assert!(write(&only_looks, &only_looks.outbox.join("x")).is_ok());
        assert!(read(&only_looks, &only_looks.checkout.join("old")).is_ok());
    }

    #[test]
    fn no_path_and_no_link_leads_out() {
        let (home, folders) = world(CodeAccess::Writes);
        let checkout = &folders.checkout;
        symlink("..", checkout.join("up")).unwrap();
        symlink(home.path(), checkout.join("home")).unwrap();
        symlink("../secret", checkout.join("link")).unwrap();
        symlink("../made", checkout.join("new")).unwrap();
        fs::write(checkout.join("inside"), "inside").unwrap();
        symlink("inside", checkout.join("alias")).unwrap();
        assert_eq!(read(&folders, &checkout.join("alias")).unwrap(), "inside");
        for out in [
            home.path().join("secret"),
            checkout.join("../secret"),
            checkout.join("up/secret"),
            checkout.join("home/secret"),
            checkout.join("link"),
            checkout.join("new"),
            PathBuf::from("inside"),
            PathBuf::from("/proc/self/environ"),
        ] {
            assert!(read(&folders, &out).is_err(), "{}", out.display());
            assert!(write(&folders, &out).is_err(), "{}", out.display());
        }
        assert!(write(&folders, &checkout.join("up/made/deep")).is_err());
        assert_eq!(fs::read_to_string(home.path().join("secret")).unwrap(), "secret");
        assert!(!home.path().join("made").exists());
    }

    #[test]
    fn what_is_no_text_file_is_refused_and_nothing_waits() {
        let (_home, folders) = world(CodeAccess::Writes);
        let pipe = folders.checkout.join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, Mode::from(0o600)).unwrap();
        assert!(read(&folders, &pipe).is_err());
        assert!(write(&folders, &pipe).is_err());
        assert!(read(&folders, &folders.checkout).is_err());
        let odd = folders.checkout.join("odd");
        fs::write(&odd, b"\xff").unwrap();
        assert!(read(&folders, &odd).unwrap_err().ends_with("it is not text"));
        let large = folders.checkout.join("large");
        File::create(&large).unwrap().set_len(FILE_BYTES_MAX as u64 + 1).unwrap();
        assert!(read(&folders, &large).unwrap_err().ends_with("bytes"));
        let content = "x".repeat(FILE_BYTES_MAX + 1);
        assert!(write_text(&folders, &WriteTextFile { path: odd, content }).is_err());
    }

    #[test]
    fn lines_are_counted_from_one() {
        let (_home, folders) = world(CodeAccess::Reads);
        let path = folders.inbox.join("file");
        fs::write(&path, "one\ntwo\nthree").unwrap();
        let part =
            |line, limit| read_text(&folders, &ReadTextFile { path: path.clone(), line, limit });
        assert_eq!(part(Some(2), Some(1)).unwrap(), "two\n");
        assert_eq!(part(Some(2), None).unwrap(), "two\nthree");
        assert_eq!(part(None, Some(1)).unwrap(), "one\n");
        assert_eq!(part(Some(0), Some(1)).unwrap(), "one\n");
        assert_eq!(part(Some(9), None).unwrap(), "");
    }
}
