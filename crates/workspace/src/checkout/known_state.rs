//! What this process knows of a checkout as it left it: whoever opens it again, or puts its files back, and finds
//! nothing changed, has nothing to do.
//!
//! Everything in the folder of the checkout is summed up, with the time of the last change of each inode, which no
//! program can set. A file that changed in the moment before it was summed up could change once more without a
//! trace, so its content counts, too. What an agent's own git writes into its `.git` is summed up apart: that is
//! made again without looking at the files.
//!
//! Invariant: whoever takes the lock of a checkout takes away what is known of it, and leaves it only if it holds.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ring::digest::{Context, SHA256, digest};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    git::{
        path_names::{below, joined},
        safe_files,
        user_config::UserConfig,
    },
    protocol::{FilesPolicy, OpenCheckout, OpenedCheckout, RestoreFiles},
};

/// Two changes closer than this may have the same time.
const TICK: Duration = Duration::from_millis(40);
/// More bytes than this that changed just now are not read; then nothing is remembered.
const RECENT_BYTES_MAX: u64 = 16 << 20;
/// Larger checkouts are not remembered.
const ENTRIES_MAX: usize = 500_000;
/// To look at so many takes no longer than to start a program.
const SMALL_ENTRIES_MAX: usize = 500;

static KNOWN: Mutex<BTreeMap<PathBuf, KnownCheckout>> = Mutex::new(BTreeMap::new());

/// A checkout as this process left it.
#[derive(Clone, Debug)]
pub(crate) struct KnownCheckout {
    /// SHA-256 over all that decided what the opening made.
    key: Vec<u8>,
    operation: OpenCheckout,
    opened: OpenedCheckout,
    files: FilesSum,
    agent_git: FilesSum,
}

/// A checkout that nobody has touched since, and whether the agent's git is as it was made.
#[derive(Debug)]
pub(crate) struct UntouchedCheckout {
    pub(crate) known: KnownCheckout,
    pub(crate) agent_git: AgentGit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentGit {
    Untouched,
    Changed,
}

/// A sum over files: of their names and metadata, and of the content of those that changed just now.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FilesSum {
    n_entries: usize,
    metadata: Vec<u8>,
    recent: BTreeMap<PathBuf, Vec<u8>>,
}

/// Takes away what is known of a checkout.
pub(crate) fn take(dir: &Path) -> Option<KnownCheckout> {
    known().remove(dir)
}

/// Returns true if it takes next to no time to look whether somebody touched a checkout.
pub(crate) fn is_known_and_small(dir: &Path) -> bool {
    let known = known();
    let entries = |known: &KnownCheckout| known.files.n_entries + known.agent_git.n_entries;
    known.get(dir).is_some_and(|known| entries(known) <= SMALL_ENTRIES_MAX)
}

/// Says which openings make the same of the same commit. None if that depends on more than is looked at here.
pub(crate) fn key(
    operation: &OpenCheckout,
    git_dir: &Path,
    settings: &UserConfig,
) -> Option<Vec<u8>> {
    let is_plain = operation.worker.is_none()
        && operation.merge.is_none()
        && operation.copy.is_empty()
        && operation.files != FilesPolicy::KeepWork;
    if !is_plain {
        return None;
    }
    let mut sum = Context::new(&SHA256);
    let mut add = |bytes: &[u8]| sum.update(digest(&SHA256, bytes).as_ref());
    add(&serde_json::to_vec(operation).expect("an operation is plain data"));
    add(&settings.text(&[]));
    let own = ["info/exclude", "info/attributes", "shallow"].map(|name| git_dir.join(name));
    for file in own.into_iter().chain(settings.shared_files()) {
        add(&fs::read(file).unwrap_or_default());
    }
    Some(sum.finish().as_ref().to_vec())
}

/// Remembers a checkout as it is now.
pub(crate) fn remember(
    dir: &Path,
    key: Vec<u8>,
    operation: &OpenCheckout,
    opened: &OpenedCheckout,
) {
    let (operation, opened) = (operation.clone(), opened.clone());
    keep(dir, |files, agent_git| KnownCheckout {
        key,
        operation,
        opened: OpenedCheckout { is_new: false, ..opened },
        files,
        agent_git,
    });
}

fn keep(dir: &Path, known_as: impl FnOnce(FilesSum, FilesSum) -> KnownCheckout) {
    if let (Some(files), Some(agent_git)) = sums(dir, None) {
        known().insert(dir.to_owned(), known_as(files, agent_git));
    }
}

impl KnownCheckout {
    /// Whether an opening at a commit would make the same again, if nothing has changed.
    pub(crate) fn serves_open(&self, key: &[u8], at: &str) -> bool {
        self.key == key && self.opened.head == at && self.has_no_caches_to_judge()
    }

    /// Whether putting the files back would change nothing, if nothing has changed.
    pub(crate) fn serves_restore(&self, operation: &RestoreFiles, at: &str) -> bool {
        self.opened.head == at
            && self.operation.location == operation.location
            && self.operation.access == operation.access
            && self.has_no_caches_to_judge()
    }

    /// Caches are judged by their seals when a proof begins.
    fn has_no_caches_to_judge(&self) -> bool {
        self.operation.cache.is_empty() || self.operation.files != FilesPolicy::Pristine
    }

    /// Returns it if nobody has touched the files since.
    pub(crate) fn if_untouched(self, dir: &Path) -> Option<UntouchedCheckout> {
        let (files, agent_git) = sums(dir, Some(&self));
        if files.as_ref() != Some(&self.files) {
            return None;
        }
        let is_same = agent_git.as_ref() == Some(&self.agent_git);
        let agent_git = if is_same { AgentGit::Untouched } else { AgentGit::Changed };
        Some(UntouchedCheckout { known: self, agent_git })
    }
}

impl UntouchedCheckout {
    /// Returns the answer of the opening.
    pub(crate) fn opened(&self) -> OpenedCheckout {
        self.known.opened.clone()
    }

    /// Knows it again as it was known, whatever became of the agent's git.
    pub(crate) fn put_back(self, dir: &Path) {
        known().insert(dir.to_owned(), self.known);
    }

    /// Remembers it as it is.
    pub(crate) fn remember(self, dir: &Path) {
        match self.agent_git {
            AgentGit::Untouched => self.put_back(dir),
            AgentGit::Changed => {
                keep(dir, |files, agent_git| KnownCheckout { files, agent_git, ..self.known });
            }
        }
    }
}

fn known() -> MutexGuard<'static, BTreeMap<PathBuf, KnownCheckout>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sums up a checkout: the files with Forge's git folder, and the agent's git. None if that cannot be known. The
/// content of what changed just now counts, or of what had when it was summed up before.
fn sums(dir: &Path, before: Option<&KnownCheckout>) -> (Option<FilesSum>, Option<FilesSum>) {
    let of_files = before.map(|known| &known.files.recent);
    let of_git = before.map(|known| &known.agent_git.recent);
    let agent_git = dir.join("tree").join(".git");
    let is_folder = fs::symlink_metadata(&agent_git).is_ok_and(|found| found.is_dir());
    let git = if is_folder { sum(&agent_git, None, of_git) } else { None };
    (sum(dir, Some(&agent_git), of_files), git)
}

/// Returns the time that a file system would give to a change now, in nanoseconds. The kernel takes it from a clock that stands
/// between two ticks, and on a machine whose processors are lent to others it stands for long.
fn coarse_now() -> Option<i64> {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec.checked_mul(1_000_000_000)?.checked_add(now.tv_nsec)
}

/// Sums up a folder without another one in it.
fn sum(
    folder: &Path,
    without: Option<&Path>,
    known: Option<&BTreeMap<PathBuf, Vec<u8>>>,
) -> Option<FilesSum> {
    let recent_since = coarse_now()?.checked_sub(i64::try_from(TICK.as_nanos()).ok()?)?;
    let (mut metadata, mut recent) = (Context::new(&SHA256), BTreeMap::new());
    let (mut n_entries, mut n_bytes) = (0, 0);
    let mut open: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(inside) = open.pop() {
        for (name, kind) in safe_files::entries(&below(folder, &inside)).ok()? {
            let path = joined(&inside, &name);
            let place = below(folder, &path);
            // Locking changes nothing.
            if without == Some(&place) || path == b"lock" {
                continue;
            }
            n_entries += 1;
            let found = fs::symlink_metadata(&place).ok().filter(|_| n_entries <= ENTRIES_MAX)?;
            metadata.update(&path);
            if kind.is_dir() {
                metadata.update(format!("\0folder {:o}\n", found.mode()).as_bytes());
                open.push(path);
                continue;
            }
            let changed_at = found.ctime().checked_mul(1_000_000_000)? + found.ctime_nsec();
            let line = format!(
                "\0{:o} {} {changed_at} {} {}\n",
                found.mode(),
                found.size(),
                found.dev(),
                found.ino()
            );
            metadata.update(line.as_bytes());
            let is_recent = match known {
                // Some file systems know whole seconds only.
                None => changed_at >= recent_since || found.ctime_nsec() == 0,
                Some(known) => known.contains_key(&place),
            };
            if is_recent {
                n_bytes += found.size();
                let content = if kind.is_symlink() {
                    fs::read_link(&place).ok()?.as_os_str().as_bytes().to_vec()
                } else if found.is_file() && n_bytes <= RECENT_BYTES_MAX {
                    fs::read(&place).ok()?
                } else {
                    return None;
                };
                recent.insert(place, digest(&SHA256, &content).as_ref().to_vec());
            }
        }
    }
    Some(FilesSum { n_entries, metadata: metadata.finish().as_ref().to_vec(), recent })
}
