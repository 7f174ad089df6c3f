//! A disk in memory that fails, is full, and loses what was not synced.
//!
//! Files are known by names in folders. A sync of a file makes its content last, a sync of a folder the
//! names in it, and both the folders above. A loss of power takes everything else back, or, by chance,
//! only some of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{self, ErrorKind},
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use forge_store::disk::{Disk, DiskEntry, SyncPoint};

use super::chance::Chance;

/// What ends a driver in the middle of something. It is unwound with this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crash;

/// What a write does instead of succeeding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskFault {
    /// The driver dies before it.
    CrashBefore,
    /// The driver dies after it.
    CrashAfter,
    /// No space is left.
    Full,
    /// The device fails.
    Broken,
    /// The sync fails that follows.
    SyncFails,
    /// The rename fails that follows.
    RenameFails,
}

#[derive(Default)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
    since: Since,
}

/// What happened to a file since it was last synced.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Since {
    #[default]
    Nothing,
    /// It was cut off or appended to behind this many bytes.
    Appended {
        from: usize,
    },
    Rewritten,
}

impl Content {
    fn sync(&mut self) {
        match self.since {
            Since::Nothing => {}
            Since::Appended { from } => {
                self.synced.truncate(from);
                self.synced.extend_from_slice(&self.now[from..]);
            }
            Since::Rewritten => self.synced.clone_from(&self.now),
        }
        self.since = Since::Nothing;
    }
}

/// A path as it is kept: its bytes, which compare quickly. What is below a folder follows it.
type Name = Vec<u8>;

fn name(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn to_path(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8(name.to_vec()).expect("simulated paths are text"))
}

/// The folder that a name is in.
fn folder_of(name: &[u8]) -> Option<&[u8]> {
    let slash = name.iter().rposition(|byte| *byte == b'/')?;
    (name.len() > 1).then(|| if slash == 0 { &name[..1] } else { &name[..slash] })
}

/// The folders that lead to a name, the nearest one first.
fn folders_above(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(folder_of(name), |folder| folder_of(folder))
}

/// Everything below a folder begins with this.
fn prefix(folder: &[u8]) -> Name {
    [folder, if folder == b"/" { b"" } else { b"/" }].concat()
}

#[derive(Default)]
struct State {
    files: Vec<Content>,
    names: BTreeMap<Name, usize>,
    folders: BTreeSet<Name>,
    synced_names: BTreeMap<Name, usize>,
    synced_folders: BTreeSet<Name>,
    /// Counts all that changes the disk.
    n_writes: u64,
    faults: BTreeMap<u64, DiskFault>,
    pending: Option<DiskFault>,
    fired: Vec<DiskFault>,
    /// Whether nothing counts and nothing goes wrong, because we look ourselves.
    is_looked_at: bool,
    /// Whether a sync keeps only what it names, and not the folders that lead there.
    is_strict: bool,
    ignored: Option<SyncPoint>,
    /// Nobody can write any more.
    is_full: bool,
}

/// The disk.
#[derive(Default)]
pub(crate) struct SimulatedDisk(Mutex<State>);

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedDisk")
    }
}

impl SimulatedDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this sync does nothing, as if it had been left out.
    pub(crate) fn ignore(&self, point: SyncPoint) {
        self.state().ignored = Some(point);
    }

    /// What went wrong so far.
    pub(crate) fn fired(&self) -> Vec<DiskFault> {
        self.state().fired.clone()
    }

    pub(crate) fn n_writes(&self) -> u64 {
        self.state().n_writes
    }

    /// Lets the write with this number go wrong, counted from the beginning of the disk.
    pub(crate) fn fail_at(&self, write: u64, fault: DiskFault) {
        self.state().faults.insert(write, fault);
    }

    /// Lets a look at the disk change nothing about what goes wrong.
    pub(crate) fn look<T>(&self, look: impl FnOnce() -> T) -> T {
        self.state().is_looked_at = true;
        let seen = look();
        self.state().is_looked_at = false;
        seen
    }

    /// From now on there is no room, until a person frees some.
    pub(crate) fn fill(&self) {
        self.state().is_full = true;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.state().is_full
    }

    pub(crate) fn free(&self) {
        self.state().is_full = false;
    }

    /// No write that comes goes wrong.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.is_full = false;
        state.faults.clear();
        state.pending = None;
    }

    /// From now on a sync keeps only what it names.
    pub(crate) fn be_strict(&self) {
        self.state().is_strict = true;
    }

    /// Writes a file that another process has synced, with all names that lead to it.
    pub(crate) fn write_synced(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        for folder in folders_above(name(path)) {
            if !state.synced_folders.contains(folder) {
                state.folders.insert(folder.to_vec());
                state.synced_folders.insert(folder.to_vec());
            }
        }
        let file = state.files.len();
        state.files.push(Content {
            now: bytes.to_vec(),
            synced: bytes.to_vec(),
            since: Since::Nothing,
        });
        state.names.insert(name(path).to_vec(), file);
        state.synced_names.insert(name(path).to_vec(), file);
    }

    /// Whether a file would survive a loss of power as it is.
    pub(crate) fn is_synced(&self, path: &Path) -> bool {
        let state = self.state();
        let file = state.synced_names.get(name(path)).copied();
        file.is_some_and(|file| state.files[file].since == Since::Nothing)
    }

    /// Makes the names in a folder last, as another process does.
    pub(crate) fn sync_names(&self, folder: &Path) {
        let _ = self.look(|| self.sync(folder, SyncPoint::Database));
    }

    /// Removes a folder with all that is in it, durably.
    pub(crate) fn remove_folder(&self, folder: &Path) {
        self.state().take_below(name(folder));
    }

    /// Moves a folder, durably. Whether it was there.
    pub(crate) fn move_folder(&self, from: &Path, to: &Path) -> bool {
        let mut state = self.state();
        let moved = |path: &[u8]| [name(to), &path[name(from).len()..]].concat();
        let (names, folders) = state.take_below(name(from));
        let is_there = !names.is_empty() || !folders.is_empty();
        for (name, file) in names {
            state.names.insert(moved(&name), file);
            state.synced_names.insert(moved(&name), file);
        }
        for folder in folders {
            state.folders.insert(moved(&folder));
            state.synced_folders.insert(moved(&folder));
        }
        is_there
    }

    /// The power goes. What was not synced is lost, or, for some seeds, a part of it.
    pub(crate) fn lose_power(&self, chance: &mut Chance) {
        let mut state = self.state();
        let mixed = chance.percent(50);
        let mut names = state.synced_names.clone();
        let mut folders = state.synced_folders.clone();
        if mixed {
            for folder in &state.folders {
                if chance.percent(50) {
                    folders.insert(folder.clone());
                }
            }
            for (name, file) in &state.names {
                if chance.percent(50) {
                    names.insert(name.clone(), *file);
                }
            }
            for name in state.synced_names.keys() {
                if !state.names.contains_key(name) && chance.percent(50) {
                    names.remove(name);
                }
            }
        }
        for content in &mut state.files {
            if content.since != Since::Nothing {
                if mixed && chance.percent(50) {
                    // What was only appended to is torn after what was synced.
                    let kept = match content.since {
                        Since::Appended { from } => from,
                        Since::Nothing | Since::Rewritten => 0,
                    };
                    let length = chance.below((content.now.len() - kept) as u64 + 1);
                    content.now.truncate(kept + usize::try_from(length).expect("a length"));
                } else {
                    content.now = content.synced.clone();
                }
                content.synced = content.now.clone();
                content.since = Since::Nothing;
            }
        }
        // A name in a folder that is lost is lost with it.
        let whole: BTreeSet<Name> = folders
            .iter()
            .filter(|folder| folders_above(folder).all(|above| folders.contains(above)))
            .cloned()
            .collect();
        names.retain(|name, _| folder_of(name).is_some_and(|folder| whole.contains(folder)));
        state.names = names.clone();
        state.synced_names = names;
        state.folders = whole.clone();
        state.synced_folders = whole;
    }

    /// Counts a write, and lets it go wrong if it is to.
    fn write_begins(state: &mut State) -> io::Result<Option<DiskFault>> {
        if state.is_looked_at {
            return Ok(None);
        }
        state.n_writes += 1;
        let fault = state.faults.remove(&state.n_writes);
        state.fired.extend(fault);
        match fault {
            None => Ok(None),
            Some(DiskFault::CrashBefore) => resume_unwind(Box::new(Crash)),
            Some(DiskFault::CrashAfter) => Ok(Some(DiskFault::CrashAfter)),
            Some(DiskFault::Full) => Err(ErrorKind::StorageFull.into()),
            Some(DiskFault::Broken) => Err(io::Error::other("input/output error")),
            Some(fault @ (DiskFault::SyncFails | DiskFault::RenameFails)) => {
                state.pending = Some(fault);
                Ok(None)
            }
        }
    }

    fn changed(&self, change: impl FnOnce(&mut State) -> io::Result<()>) -> io::Result<()> {
        let mut state = self.state();
        let fault = Self::write_begins(&mut state)?;
        change(&mut state)?;
        if fault == Some(DiskFault::CrashAfter) {
            drop(state);
            resume_unwind(Box::new(Crash));
        }
        Ok(())
    }
}

impl State {
    fn names_below(&self, folder: &[u8]) -> Vec<(Name, usize)> {
        let prefix = prefix(folder);
        let names = self.names.range(prefix.clone()..);
        let names = names.take_while(|(name, _)| name.starts_with(&prefix));
        names.map(|(name, file)| (name.clone(), *file)).collect()
    }

    fn folders_below(&self, folder: &[u8]) -> Vec<Name> {
        let prefix = prefix(folder);
        let folders = self.folders.range(prefix.clone()..);
        folders.take_while(|name| name.starts_with(&prefix)).cloned().collect()
    }

    /// Takes out everything in a folder, and the folder.
    fn take_below(&mut self, folder: &[u8]) -> (Vec<(Name, usize)>, Vec<Name>) {
        let names = self.names_below(folder);
        let mut folders = self.folders_below(folder);
        if self.folders.contains(folder) {
            folders.push(folder.to_vec());
        }
        for (name, _) in &names {
            self.names.remove(name);
        }
        for folder in &folders {
            self.folders.remove(folder);
        }
        let prefix = prefix(folder);
        if !names.is_empty() || !folders.is_empty() {
            self.synced_names.retain(|name, _| !name.starts_with(&prefix));
            self.synced_folders.retain(|name| !name.starts_with(&prefix) && name != folder);
        }
        (names, folders)
    }

    fn file(&self, path: &Path) -> io::Result<usize> {
        self.names.get(name(path)).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn make(&mut self, path: &Path) -> io::Result<usize> {
        if let Some(file) = self.names.get(name(path)) {
            return Ok(*file);
        }
        if !folder_of(name(path)).is_some_and(|folder| self.folders.contains(folder)) {
            return Err(ErrorKind::NotFound.into());
        }
        self.files.push(Content::default());
        self.names.insert(name(path).to_vec(), self.files.len() - 1);
        Ok(self.files.len() - 1)
    }
}

impl Disk for SimulatedDisk {
    fn read(&self, file: &Path) -> io::Result<Vec<u8>> {
        let state = self.state();
        Ok(state.files[state.file(file)?].now.clone())
    }

    fn length(&self, file: &Path) -> io::Result<u64> {
        let state = self.state();
        Ok(state.files[state.file(file)?].now.len() as u64)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<DiskEntry>> {
        let state = self.state();
        let folder = name(folder);
        if !state.folders.contains(folder) {
            return Err(ErrorKind::NotFound.into());
        }
        let entry = |name: &[u8], is_folder| {
            (folder_of(name) == Some(folder)).then(|| DiskEntry { path: to_path(name), is_folder })
        };
        let folders = state.folders_below(folder);
        let mut found: Vec<DiskEntry> =
            folders.iter().filter_map(|name| entry(name, true)).collect();
        let names = state.names_below(folder);
        found.extend(names.iter().filter_map(|(name, _)| entry(name, false)));
        Ok(found)
    }

    fn write(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.changed(|state| {
            let number = state.make(file)?;
            state.files[number].now = bytes.to_vec();
            state.files[number].since = Since::Rewritten;
            Ok(())
        })
    }

    fn append(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.changed(|state| {
            let number = state.make(file)?;
            let file = &mut state.files[number];
            file.now.extend_from_slice(bytes);
            if file.since == Since::Nothing {
                file.since = Since::Appended { from: file.synced.len() };
            }
            Ok(())
        })
    }

    fn truncate(&self, file: &Path, length: u64) -> io::Result<()> {
        self.changed(|state| {
            let number = state.file(file)?;
            let length = usize::try_from(length).expect("a length");
            let file = &mut state.files[number];
            file.now.truncate(length);
            file.since = match file.since {
                Since::Appended { from } if from == length && from == file.synced.len() => {
                    Since::Nothing
                }
                Since::Appended { from } => Since::Appended { from: from.min(length) },
                Since::Nothing => Since::Appended { from: length.min(file.synced.len()) },
                Since::Rewritten => Since::Rewritten,
            };
            Ok(())
        })
    }

    fn make_read_only(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.changed(|state| {
            if state.pending == Some(DiskFault::RenameFails) {
                state.pending = None;
                return Err(io::Error::other("input/output error"));
            }
            let number = state.file(from)?;
            state.names.remove(name(from));
            state.names.insert(name(to).to_vec(), number);
            Ok(())
        })
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        self.changed(|state| {
            state.file(file)?;
            state.names.remove(name(file));
            Ok(())
        })
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        if self.state().folders.contains(name(folder)) {
            return Ok(());
        }
        self.changed(|state| {
            state.folders.insert(name(folder).to_vec());
            state.folders.extend(folders_above(name(folder)).map(<[u8]>::to_vec));
            Ok(())
        })
    }

    fn sync(&self, path: &Path, point: SyncPoint) -> io::Result<()> {
        self.changed(|state| {
            if state.pending == Some(DiskFault::SyncFails) {
                state.pending = None;
                return Err(io::Error::other("input/output error"));
            }
            if state.ignored == Some(point) {
                return Ok(());
            }
            let path = name(path);
            // File systems with a journal keep the folders that lead to what is synced.
            if !state.is_strict {
                let here = state.folders.contains(path).then_some(path);
                let leading = here.into_iter().chain(folders_above(path));
                state.synced_folders.extend(leading.map(<[u8]>::to_vec));
            }
            if let Some(number) = state.names.get(path).copied() {
                state.files[number].sync();
                return Ok(());
            }
            if !state.folders.contains(path) {
                return Err(ErrorKind::NotFound.into());
            }
            let inside = |name: &[u8]| folder_of(name) == Some(path);
            let prefix = prefix(path);
            let synced = state.synced_names.range(prefix.clone()..);
            let synced = synced.take_while(|(name, _)| name.starts_with(&prefix));
            let gone: Vec<Name> = synced
                .filter(|(name, _)| inside(name) && !state.names.contains_key(*name))
                .map(|(name, _)| name.clone())
                .collect();
            for name in gone {
                state.synced_names.remove(&name);
            }
            let names = state.names_below(path);
            state.synced_names.extend(names.into_iter().filter(|(name, _)| inside(name)));
            let folders = state.folders_below(path);
            state.synced_folders.extend(folders.into_iter().filter(|name| inside(name)));
            Ok(())
        })
    }

    fn room(&self, _: &Path) -> io::Result<u64> {
        Ok(if self.state().is_full { 0 } else { u64::MAX })
    }
}
