//! Writes the ending so that neither a crash nor a full disk can lose it.
//!
//! The room for it is taken before the child starts. At the end it is written, synced and renamed;
//! if even that fails, again every second, because an ending that nobody can read is a lost attempt.
//! Its name is not waited for: an ending that is whole and signed counts without.
//!
//! What the step left is synced before it; if that is little, it is in the ending instead, so that one sync is enough.
//!
//! The agent could reach the folder. What lies there under our names need not be ours: it is
//! taken away, and everybody who could put it there again is dead by now.
//!
//! Invariant: `ending.json` is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FallocateFlags, OFlags, fallocate};

use super::log::Log;
use crate::attempt::dir::{AttemptFolder, Ending, KeptFile, KeptFiles, ROOM_BYTES_MIN, boot};
use crate::redact::{Redactor, clean_file};

/// The room that is taken beforehand.
const ENDING_BYTES_MAX: u64 = 64 * 1024;
/// Files that have together at most so many bytes are kept in the ending.
const KEPT_BYTES_MAX: usize = 24 * 1024;
/// An ending with files in it is at most so long; otherwise they are synced.
const ENDING_WITH_FILES_MAX: usize = 48 * 1024;
/// A reason for not starting is cut here, so that the ending fits into its room.
pub(super) const WHY_CHARACTERS_MAX: usize = 2_000;
const _: () = assert!(WHY_CHARACTERS_MAX as u64 * 6 <= ENDING_BYTES_MAX * 3 / 4);
/// How often writing is tried, one second apart: ten minutes.
const TRIES_MAX: u32 = 600;
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// More files than this in an outbox are not made durable.
const OUTBOX_FILES_MAX: usize = 10_000;
/// Deeper folders than this in an outbox are not looked into.
const OUTBOX_DEPTH_MAX: u32 = 32;

/// The most folders that are made again: those up to all of Forge's in a repository, and not the
/// repository.
const MADE_AGAIN_MAX: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndingOutlasts {
    /// A loss of power: what it speaks of must not be done again.
    PowerLoss,
    /// The end of its process. After a loss of power the step may be done again.
    Process,
}

/// An `ending.tmp` whose room is already taken.
pub(super) struct Prepared(File);

impl Prepared {
    pub(super) fn new(folder: &AttemptFolder) -> io::Result<Self> {
        let file = open(&folder.unnamed_ending())?;
        match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, ENDING_BYTES_MAX) {
            // A file system without this can still have the room at the end.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(Self(file)),
            Err(error) => Err(error.into()),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Writes the ending, and does not give up soon.
pub(super) fn write(
    folder: &AttemptFolder,
    prepared: Option<Prepared>,
    ending: &Ending,
    log: &Log,
) -> io::Result<()> {
    let text = serde_json::to_vec(ending)?;
    let mut file = prepared.map(|Prepared(file)| file);
    let mut tries = 0;
    loop {
        tries += 1;
        match write_once(folder, &mut file, &text, EndingOutlasts::PowerLoss) {
            Ok(()) => return Ok(()),
            Err(error) if tries == TRIES_MAX => return Err(error),
            // The agent could reach the folder, and took it away. It is ours, and comes back.
            Err(error) if error.kind() == io::ErrorKind::NotFound && was_taken(&folder.path) => {
                log.complain("its folder was removed, and is made again");
                fs::create_dir_all(&folder.path)?;
                continue;
            }
            Err(error) => log.complain(&format!("cannot write the ending yet: {error}")),
        }
        sleep(TRY_AGAIN_AFTER);
    }
}

/// Whether a folder is gone and not all around it: then somebody moved that, and wants to move it back.
fn was_taken(folder: &Path) -> bool {
    !folder.is_dir() && folder.ancestors().take(MADE_AGAIN_MAX + 1).any(Path::is_dir)
}

/// Writes it once: synced if it is to outlast a loss of power, and under its name.
pub(super) fn write_once(
    folder: &AttemptFolder,
    file: &mut Option<File>,
    text: &[u8],
    outlasts: EndingOutlasts,
) -> io::Result<()> {
    let (temporary, ending) = (folder.unnamed_ending(), folder.ending());
    let ours = file.take().filter(|file| is_at(file, &temporary) || is_at(file, &ending));
    let file = if let Some(ours) = ours {
        file.insert(ours)
    } else {
        make_way(folder, &temporary)?;
        file.insert(open(&temporary)?)
    };
    file.write_all_at(text, 0)?;
    file.set_len(text.len() as u64)?;
    match outlasts {
        EndingOutlasts::PowerLoss => file.sync_all()?,
        EndingOutlasts::Process => {}
    }
    // Otherwise an earlier try came this far and failed at the last step.
    if !is_at(file, &ending) {
        make_way(folder, &ending)?;
        fs::rename(temporary, ending)?;
    }
    Ok(())
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// Makes sure that the name can be taken: a file goes, and a folder, which may hold more, is kept.
fn make_way(folder: &AttemptFolder, path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => folder.put_aside(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether the disk of a folder has no room for a step.
pub(super) fn is_full(dir: &Path) -> bool {
    rustix::fs::statvfs(dir)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM_BYTES_MIN)
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Takes the secrets out of every regular file in the outbox. What cannot be is told, and left as it is. All of them.
pub(super) fn clean_outbox(outbox: &Path, log: &Log) -> Vec<PathBuf> {
    let mut redactor = log.redactor();
    let mut files = Vec::new();
    match fs::symlink_metadata(outbox) {
        Ok(found) if !found.is_dir() => {
            log.complain("the outbox is no longer a folder");
            return files;
        }
        // Not everybody has one.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return files,
        Ok(_) | Err(_) => {}
    }
    clean_below(outbox, OUTBOX_DEPTH_MAX, &mut files, &mut redactor, log);
    files
}

fn clean_below(
    directory: &Path,
    depth: u32,
    files: &mut Vec<PathBuf>,
    redactor: &mut Redactor,
    log: &Log,
) {
    let complain = |path: &Path, error: &io::Error| {
        log.complain(&format!("cannot keep {} of the outbox: {error}", path.display()));
    };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return complain(directory, &error),
    };
    // One that cannot be is no reason to leave out the others.
    for entry in entries.flatten().collect::<Vec<_>>() {
        let path = entry.path();
        // Says what the entry itself is: a symlink is neither of the two.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => {
                clean_below(&path, depth - 1, files, redactor, log);
            }
            Ok(kind) if kind.is_file() && files.len() < OUTBOX_FILES_MAX => {
                match clean_file(&path, redactor) {
                    Ok(()) => files.push(path),
                    Err(error) => complain(&path, &error),
                }
            }
            Ok(_) => {}
            Err(error) => complain(&path, &error),
        }
    }
}

/// Puts what a step left and printed into its ending, or makes it durable where that is too much.
pub(super) fn keep_files(left: &[PathBuf], printed: &[PathBuf], ending: &mut Ending, log: &Log) {
    let files = [left, printed].concat();
    let is_room = !ending.disk_full;
    if let Some(kept) = is_room.then(|| read_small(&files)).flatten() {
        ending.kept = Some(Box::new(kept));
        if serde_json::to_vec(ending).is_ok_and(|text| text.len() <= ENDING_WITH_FILES_MAX) {
            return;
        }
        ending.kept = None;
    }
    for path in &files {
        if let Err(error) = sync_file(path) {
            log.complain(&format!("cannot sync {}: {error}", path.display()));
            if printed.contains(path) {
                let cut = || format!("the transcript cannot be synced: {error}");
                ending.transcript_cut.get_or_insert_with(cut);
            }
        }
    }
}

/// Reads files that are texts, and small together.
fn read_small(files: &[PathBuf]) -> Option<KeptFiles> {
    let boot = boot()?;
    let mut left = KEPT_BYTES_MAX;
    let mut kept = Vec::new();
    for path in files {
        path.to_str()?;
        let mut bytes = Vec::new();
        open_to_read(path).ok()?.take(left as u64 + 1).read_to_end(&mut bytes).ok()?;
        left = left.checked_sub(bytes.len())?;
        kept.push(KeptFile { path: path.clone(), text: String::from_utf8(bytes).ok()? });
    }
    Some(KeptFiles { boot, files: kept })
}

fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn sync_file(path: &Path) -> io::Result<()> {
    open_to_read(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_taken_away_comes_back_but_not_a_repository_that_was_moved() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("repo/.git/forge/attempts/run/0042");
        fs::create_dir_all(home.path().join("repo/.git/forge")).unwrap();
        assert!(was_taken(&folder));
        fs::rename(home.path().join("repo"), home.path().join("moved")).unwrap();
        assert!(!was_taken(&folder));
    }
}
