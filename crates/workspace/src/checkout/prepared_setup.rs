//! What the set-up left in one checkout, kept in a folder of its own, and copied into others.
//!
//! Kept is everything but the files of the commit as they are in it: ignored and untracked files and folders, and
//! what the set-up changed or removed of the commit. The folder has `files/` and `prepared.json`, which has a
//! checksum as caches have (`cache_seal`); any later change of a file makes it unusable.
//!
//! Not here: when the set-ups of two checkouts are the same, and whose commit may be set up for others (the driver).
//!
//! Invariant: it is made from a checkout in which nothing but the set-up has worked.
//! Invariant: nothing that is copied leads into the checkout that it comes from. Its path is replaced in text and links; with
//! its path in anything else nothing is copied.
//! Invariant: what is copied is older than every file of the commit, so that build tools make again what depends on both.
//! Invariant: a file or folder appears in a tree whole, by a rename.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    fs::{self, File, FileTimes, Metadata, Permissions},
    io::Read as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    time::SystemTime,
};

use memchr::memmem::Finder;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::{
    checkout::{cache_seal, git_dir::Checkout, run_records::RUN_RECORDS},
    git::{
        error::{IoContext as _, WorkspaceError},
        folder_lock::acquire_lock,
        path_names::{self, below, decode_path, encode_path, is_at_or_below},
        safe_files::{self, FolderState, RealFolders},
    },
    protocol::{CachesBefore, ReuseSetUp, ReusedSetUp, SaveSetUp},
};

/// The folder with everything that is kept.
const FILES: &str = "files";
/// Limit on what is kept, in bytes. Copying more is no faster than most set-ups.
const KEPT_BYTES_MAX: u64 = 8 << 30;
/// Limit on the number of files that are kept.
const KEPT_FILES_MAX: usize = 500_000;
/// Limit on a text in which paths are replaced, in bytes.
const TEXT_BYTES_MAX: u64 = 32 << 20;
/// Limit on the first line of a script that every system starts, in bytes.
const SCRIPT_LINE_BYTES_MAX: usize = 127;
/// Size of one read of a file, in bytes.
const CHUNK_BYTES: usize = 256 << 10;
/// The mode of a submodule in an index.
const SUBMODULE: &str = "160000 ";
/// The write bits of all users.
const WRITE_BITS: u32 = 0o222;

/// The content of `prepared.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PreparedSetUp {
    Usable(PreparedFiles),
    /// This set-up cannot be copied, and is not tried again.
    Unusable {
        why: String,
    },
}

/// The files and folders that a set-up left.
#[derive(Debug, Serialize, Deserialize)]
struct PreparedFiles {
    /// The tree that they come from.
    origin: String,
    /// Files, links and folders that the commit does not have.
    roots: Vec<String>,
    /// Files of the commit that were changed or removed, each with its object in the commit.
    changed: Vec<(String, String)>,
    /// Files with the path of the tree in them.
    mentions: HashSet<String>,
    /// The time of the last change of any file.
    newest: SystemTime,
    /// The checksum over all files.
    sum: String,
}

/// Keeps what the set-up left in a checkout, if nothing is kept yet. A failure is noted and does no harm: the set-up runs
/// again in other checkouts.
pub(crate) fn save(order: &SaveSetUp, checkout: &Checkout) -> Result<(), WorkspaceError> {
    let SaveSetUp { folder, copy } = order;
    let beside = folder.parent().expect("a prepared set-up is in a folder");
    safe_files::make_folder(beside)?;
    let _lock = acquire_lock(beside, FlockOperation::NonBlockingLockExclusive)?;
    if read(folder)?.is_some() {
        return Ok(());
    }
    let new = folder.with_extension("new");
    safe_files::remove(&new)?;
    safe_files::make_folder(&new.join(FILES))?;
    let prepared = match keep(&new, copy, checkout) {
        Ok(Some(files)) => PreparedSetUp::Usable(files),
        // Its work is elsewhere, perhaps under the path of the checkout.
        Ok(None) => return safe_files::remove(&new),
        Err(error) => {
            safe_files::remove(&new.join(FILES))?;
            PreparedSetUp::Unusable { why: error.what }
        }
    };
    let content = serde_json::to_vec(&prepared).expect("a prepared set-up is plain data");
    safe_files::write(&description(&new), &content)?;
    safe_files::remove(folder)?;
    fs::rename(&new, folder).context("keep the set-up in", folder)
}

/// Copies a set-up that was kept into a tree.
pub(crate) fn reuse(
    order: &ReuseSetUp,
    checkout: &Checkout,
) -> Result<ReusedSetUp, WorkspaceError> {
    let beside = order.folder.parent().expect("a prepared set-up is in a folder");
    safe_files::make_folder(beside)?;
    let _lock = acquire_lock(beside, FlockOperation::NonBlockingLockShared)?;
    let others = others(checkout, &order.copy)?;
    let changed = checkout.changed()?;
    let prepared = match read(&order.folder)? {
        Some(PreparedSetUp::Usable(prepared)) => prepared,
        Some(PreparedSetUp::Unusable { why }) => return Ok(ReusedSetUp::Unusable { why }),
        None if others.is_empty() && changed.is_empty() => return Ok(ReusedSetUp::Missing),
        None => return Err(unusable("files that the commit does not have were there before")),
    };
    let caches: Vec<Vec<u8>> = order.cache.iter().map(|name| decode_path(name)).collect();
    let roots: Vec<Vec<u8>> = prepared.roots.iter().map(|name| decode_path(name)).collect();
    let is_foreign = |path: &Vec<u8>| !is_at_or_below(path, &caches) && !roots.contains(path);
    let is_changed =
        |path: &Vec<u8>| prepared.changed.iter().any(|(name, _)| *name == encode_path(path));
    if others.iter().any(is_foreign) || !changed.iter().all(is_changed) {
        return Err(unusable("files that are not of the set-up were there before"));
    }
    let tracked = tracked(checkout)?;
    let mut real = RealFolders::below(&checkout.tree);
    let mut wanted = Vec::new();
    for root in roots {
        if real.folder(path_names::parent(&root))? == FolderState::Blocked {
            return Err(unusable("a file of the commit is in the way"));
        }
        let is_there = real.file(&root)?.is_some();
        let itself = [root];
        if is_there && tracked.keys().any(|path| is_at_or_below(path, &itself)) {
            return Err(unusable("a file of the commit is in the way"));
        }
        let [root] = itself;
        let is_kept = order.before == CachesBefore::SameSetUp && is_at_or_below(&root, &caches);
        if !(is_there && is_kept) {
            wanted.push(root);
        }
    }
    let differs =
        |(path, object): &(String, String)| tracked.get(&decode_path(path)) != Some(object);
    if prepared.changed.iter().any(differs) {
        return Err(unusable("the commit has another version of a file that the set-up changes"));
    }
    let aside = checkout.git_dir.with_file_name("setup.new");
    safe_files::remove(&aside)?;
    safe_files::make_folder(&aside)?;
    prepared.renew_older(&tracked, &checkout.tree)?;
    let taken = prepared.take(&order.folder, &aside, &wanted, checkout);
    safe_files::remove(&aside)?;
    taken.map(|()| ReusedSetUp::Copied)
}

/// Copies everything that a set-up left into a folder; none if it left nothing.
fn keep(
    new: &Path,
    copy: &[String],
    checkout: &Checkout,
) -> Result<Option<PreparedFiles>, WorkspaceError> {
    let tree = &checkout.tree;
    let origin = tree.as_os_str().as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(byte);
    let is_real = fs::canonicalize(tree).is_ok_and(|real| real == *tree);
    if !is_real || !origin.iter().all(is_plain) {
        return Err(unusable("the path of the checkout has more than one spelling"));
    }
    let tracked = tracked(checkout)?;
    let roots = others(checkout, copy)?;
    let changed = checkout.changed()?;
    if roots.is_empty() && changed.is_empty() {
        return Ok(None);
    }
    let finder = Finder::new(origin);
    let mut mentions = HashSet::new();
    let (mut newest, mut n_files, mut bytes) = (SystemTime::UNIX_EPOCH, 0, 0);
    let mut file = |path: &[u8], from: &Path, to: &Path, metadata: &Metadata| {
        // Python makes it again. It has the path of its source, and its time only in whole seconds.
        if path.ends_with(b".pyc") && path_names::parent(path).ends_with(b"__pycache__") {
            return Ok(());
        }
        n_files += 1;
        bytes += metadata.len();
        if n_files > KEPT_FILES_MAX || bytes > KEPT_BYTES_MAX {
            return Err(unusable("the set-up left too much to be copied"));
        }
        newest = newest.max(metadata.modified().context("inspect", from)?);
        copy_file(from, to, metadata)?;
        if has_bytes(from, &finder)? {
            check_replaceable(path, from, metadata)?;
            mentions.insert(encode_path(path));
        }
        Ok(())
    };
    for root in roots.iter().chain(&changed) {
        copy_all(tree, &new.join(FILES), root, &mut file, &|target| target)?;
    }
    let object = |path: &Vec<u8>| Some((encode_path(path), tracked.get(path)?.clone()));
    Ok(Some(PreparedFiles {
        origin: encode_path(origin),
        roots: roots.iter().map(|path| encode_path(path)).collect(),
        changed: changed.iter().filter_map(object).collect(),
        mentions,
        newest,
        sum: checksum(new)?,
    }))
}

impl PreparedFiles {
    /// Brings these roots, and what was changed of the commit, into a tree.
    fn take(
        &self,
        folder: &Path,
        aside: &Path,
        roots: &[Vec<u8>],
        checkout: &Checkout,
    ) -> Result<(), WorkspaceError> {
        let tree = &checkout.tree;
        let origin = decode_path(&self.origin);
        let finder = Finder::new(&origin);
        let mut file = |path: &[u8], from: &Path, to: &Path, metadata: &Metadata| {
            if !self.mentions.contains(&encode_path(path)) {
                return copy_file(from, to, metadata);
            }
            let text = fs::read(from).context("read", from)?;
            let text = replaced(&text, &finder, tree.as_os_str().as_bytes());
            let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            if first.starts_with(b"#!") && first.len() > SCRIPT_LINE_BYTES_MAX {
                return Err(unusable("the path of the checkout is too long for its scripts"));
            }
            fs::write(to, text).context("write", to)?;
            keep_metadata(to, metadata)
        };
        let link = |target: PathBuf| match target.strip_prefix(OsStr::from_bytes(&origin)) {
            Ok(rest) => tree.join(rest),
            Err(_) => target,
        };
        let changed: Vec<Vec<u8>> =
            self.changed.iter().map(|(name, _)| decode_path(name)).collect();
        for path in roots.iter().chain(&changed) {
            copy_all(&folder.join(FILES), aside, path, &mut file, &link)?;
        }
        let mut real = RealFolders::below(tree);
        for path in roots.iter().chain(&changed) {
            let (from, to) = (below(aside, path), below(tree, path));
            real.make(path_names::parent(path))?;
            let new = safe_files::metadata(&from)?;
            // Whether a file of the commit may be written is a matter of its checkout.
            let old = real.file(path)?.filter(Metadata::is_file);
            if let (Some(new), Some(old)) = (new.as_ref().filter(|new| new.is_file()), old) {
                let mode = new.mode() | old.mode() & WRITE_BITS;
                fs::set_permissions(&from, Permissions::from_mode(mode))
                    .context("change the rights of", &from)?;
            }
            safe_files::remove(&to)?;
            if new.is_some() {
                fs::rename(&from, &to).context("write", &to)?;
            }
        }
        Ok(())
    }

    /// Makes every file of the commit newer than what is copied.
    fn renew_older(
        &self,
        tracked: &HashMap<Vec<u8>, String>,
        tree: &Path,
    ) -> Result<(), WorkspaceError> {
        let mut real = RealFolders::below(tree);
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
        for path in tracked.keys() {
            let Some(found) = real.file(path)?.filter(Metadata::is_file) else { continue };
            let file = below(tree, path);
            let is_set_up = self.changed.iter().any(|(name, _)| decode_path(name) == *path);
            if !is_set_up && found.modified().context("inspect", &file)? <= self.newest {
                rustix::fs::utimensat(
                    rustix::fs::CWD,
                    &file,
                    &times,
                    rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
                )
                .map_err(std::io::Error::from)
                .context("change the time of", &file)?;
            }
        }
        Ok(())
    }
}

/// Returns what is kept in a folder, if it was not changed since.
fn read(folder: &Path) -> Result<Option<PreparedSetUp>, WorkspaceError> {
    if !safe_files::file_kind(folder)?.is_some_and(|kind| kind.is_dir()) {
        return Ok(None);
    }
    let content = safe_files::read(&description(folder))?;
    let prepared = content.and_then(|content| serde_json::from_slice(&content).ok());
    Ok(match prepared {
        Some(PreparedSetUp::Usable(files))
            if checksum(folder).ok().as_ref() != Some(&files.sum) =>
        {
            None
        }
        prepared => prepared,
    })
}

fn description(folder: &Path) -> PathBuf {
    folder.join("prepared.json")
}

fn checksum(folder: &Path) -> Result<String, WorkspaceError> {
    cache_seal::checksum(folder, &[FILES.as_bytes().to_vec()])
}

/// Returns the files of the commit, each with what identifies its content.
fn tracked(checkout: &Checkout) -> Result<HashMap<Vec<u8>, String>, WorkspaceError> {
    let tracked = checkout.tracked_entries()?;
    if tracked.values().any(|entry| entry.starts_with(SUBMODULE)) {
        return Err(unusable("files of a set-up in submodules are not known"));
    }
    Ok(tracked)
}

/// Returns everything in a tree that the commit does not have, but for what was copied from the user's checkout.
fn others(checkout: &Checkout, copy: &[String]) -> Result<Vec<Vec<u8>>, WorkspaceError> {
    let mut left_out: Vec<Vec<u8>> = copy.iter().map(|name| decode_path(name)).collect();
    left_out.push(RUN_RECORDS.to_vec());
    let mut found = Vec::new();
    let mut open = checkout.others()?;
    while let Some(path) = open.pop() {
        if is_at_or_below(&path, &left_out) {
            continue;
        }
        let itself = [path];
        let is_around = left_out.iter().any(|inner| is_at_or_below(inner, &itself));
        let [path] = itself;
        if is_around {
            let inner = safe_files::entries(&below(&checkout.tree, &path))?;
            open.extend(inner.iter().map(|(name, _)| path_names::joined(&path, name)));
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Copies a file, a link, or a folder with everything in it, from below one folder to below another. Pipes and the like
/// are left out.
fn copy_all(
    from: &Path,
    to: &Path,
    root: &[u8],
    file: &mut impl FnMut(&[u8], &Path, &Path, &Metadata) -> Result<(), WorkspaceError>,
    link: &impl Fn(PathBuf) -> PathBuf,
) -> Result<(), WorkspaceError> {
    let mut sources = RealFolders::below(from);
    let mut targets = RealFolders::below(to);
    let mut open = vec![root.to_vec()];
    while let Some(path) = open.pop() {
        let Some(metadata) = sources.file(&path)? else { continue };
        let (source, target) = (below(from, &path), below(to, &path));
        targets.make(path_names::parent(&path))?;
        if metadata.is_dir() {
            targets.make(&path)?;
            fs::set_permissions(&target, metadata.permissions())
                .context("change the rights of", &target)?;
            let inner = safe_files::entries(&source)?;
            open.extend(inner.into_iter().map(|(name, _)| path_names::joined(&path, &name)));
        } else if metadata.is_symlink() {
            let points_to = fs::read_link(&source).context("read", &source)?;
            symlink(link(points_to), &target).context("write", &target)?;
        } else if metadata.is_file() {
            file(&path, &source, &target, &metadata)?;
        }
    }
    Ok(())
}

/// Copies a regular file: its blocks are shared where the file system can.
fn copy_file(from: &Path, to: &Path, metadata: &Metadata) -> Result<(), WorkspaceError> {
    fs::copy(from, to).context("copy to", to)?;
    keep_metadata(to, metadata)
}

fn keep_metadata(file: &Path, metadata: &Metadata) -> Result<(), WorkspaceError> {
    let keep = || {
        let times = FileTimes::new().set_modified(metadata.modified()?);
        File::open(file)?.set_times(times)?;
        fs::set_permissions(file, metadata.permissions())
    };
    keep().context("change the time of", file)
}

/// Returns true if a file has the bytes that are looked for.
fn has_bytes(path: &Path, finder: &Finder<'_>) -> Result<bool, WorkspaceError> {
    let mut file = File::open(path).context("read", path)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut n_kept = 0;
    loop {
        let n = file.read(&mut chunk[n_kept..]).context("read", path)?;
        let known = n_kept + n;
        if finder.find(&chunk[..known]).is_some() {
            return Ok(true);
        }
        if n == 0 {
            return Ok(false);
        }
        // They may begin at the end of this chunk.
        let kept = known.saturating_sub(finder.needle().len() - 1)..known;
        n_kept = kept.len();
        chunk.copy_within(kept, 0);
    }
}

/// Refuses a file in which a path cannot be replaced, or that tells of code that was copied from the tree.
fn check_replaceable(path: &[u8], file: &Path, metadata: &Metadata) -> Result<(), WorkspaceError> {
    let what = |why: &str| unusable(format!("{} {why}", encode_path(path)));
    if metadata.len() > TEXT_BYTES_MAX {
        return Err(what("contains the path of its checkout, and is large"));
    }
    let content = fs::read(file).context("read", file)?;
    let text = str::from_utf8(&content).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| what("contains the path of its checkout, and is not text"))?;
    // How pip notes what it installed from a folder.
    let is_copied_code = path.ends_with(b"/direct_url.json")
        && !text
            .chars()
            .filter(|char| !char.is_whitespace())
            .collect::<String>()
            .contains("\"editable\":true");
    if is_copied_code {
        return Err(what("says that code of the checkout was copied"));
    }
    Ok(())
}

fn replaced(text: &[u8], finder: &Finder<'_>, by: &[u8]) -> Vec<u8> {
    let mut new = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in finder.find_iter(text) {
        new.extend([&text[from..at], by].concat());
        from = at + finder.needle().len();
    }
    new.extend(&text[from..]);
    new
}

fn unusable(what: impl Into<String>) -> WorkspaceError {
    WorkspaceError::new(what, "the set-up is run instead")
}
