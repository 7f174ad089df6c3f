//! A tree with the files of a commit, its submodules included.
//!
//! Submodules are checkouts of their own, below the one that has them; the outermost comes first.
//!
//! Invariant: files are written by the attributes of the commit, whatever is in the tree.

use std::{
    collections::HashSet,
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use sha2::{Digest as _, Sha256};

use crate::{
    checkout::{
        git_dir::{Checkout, MissingFolders},
        submodules::DEPTH_MAX,
    },
    git::{
        error::{GitError, IoContext as _, WorkspaceError},
        hex::Hex,
        object_reader::{TreeEntry, TreeListing},
        path_names::{self, below},
        safe_files::{self, RealFolders, TreeSurvey},
    },
    protocol::FileAccess,
};

/// The write bits of all users.
const WRITE_BITS: u32 = 0o222;
/// The owner may read.
const OWNER_READ: u32 = 0o400;
/// The owner may write.
const OWNER_WRITE: u32 = 0o200;

/// A checkout with the commit or tree it is meant to have.
#[derive(Debug)]
pub(crate) struct FilledCheckout {
    /// The checkout.
    pub(crate) checkout: Checkout,
    /// The commit or tree.
    pub(crate) at: String,
    /// Everything in it.
    pub(crate) listing: TreeListing,
    /// Its path, relative to the outermost tree.
    pub(crate) path: Vec<u8>,
}

impl FilledCheckout {
    /// Returns the outermost checkout.
    pub(crate) fn outermost(checkout: Checkout, at: String) -> Result<Self, GitError> {
        let listing = TreeListing::read(&checkout.owner.git_dir, &at)?;
        Ok(Self { checkout, at, listing, path: Vec::new() })
    }

    /// Makes the tracked files exactly those of the commit or tree.
    fn fill(&self, survey: &TreeSurvey, lock: &File) -> Result<(), WorkspaceError> {
        let checkout = &self.checkout;
        // Git would write files by attributes in the tree that are not the commit's.
        for path in &survey.attributes {
            let Some(inside) = inside(path, &self.path) else { continue };
            if self.listing.has_below(path_names::parent(inside)) {
                safe_files::remove(&below(&checkout.tree, inside))?;
            }
        }
        // Git does not write a file again when only its attributes or the settings changed.
        let note = checkout.git_dir.join("written-by");
        let how = self.how_files_are_written()?;
        if safe_files::read(&note)?.as_ref() != Some(&how) {
            safe_files::remove(&note)?;
            safe_files::remove(&checkout.index())?;
        }
        let fill = || {
            let git = checkout.git().holding_lock(lock)?.args(["read-tree", "--reset", "-u"]);
            git.arg(&self.at).run()
        };
        if fill().is_err() {
            // An index that cannot be read is worth nothing: without one, all files are written.
            safe_files::remove(&checkout.index())?;
            fill()?;
        }
        checkout.note_index(&self.at)?;
        safe_files::write(&note, &how)
    }

    /// Fingerprints the settings that decide how files are written: equal fingerprints write equal bytes.
    fn how_files_are_written(&self) -> Result<Vec<u8>, WorkspaceError> {
        let mut sum = Sha256::new();
        for entry in self.listing.attributes() {
            sum.update([entry.object.as_bytes(), b" ", &entry.name, b"\0"].concat());
        }
        for name in ["config", "info/attributes"] {
            let content = safe_files::read(&self.checkout.git_dir.join(name))?;
            sum.update(Sha256::digest(content.unwrap_or_default()));
        }
        Ok(format!("{:x}\n", Hex(&sum.finalize())).into_bytes())
    }

    /// Gives the tracked files their write bits, or takes them away. Nothing else is touched.
    pub(crate) fn set_access(&self, access: FileAccess) -> Result<(), WorkspaceError> {
        let tree = &self.checkout.tree;
        let mut real = RealFolders::below(tree);
        let mut has_changed = false;
        for TreeEntry { name: path, .. } in &self.listing.entries {
            let Some(metadata) = real.file(path)?.filter(fs::Metadata::is_file) else { continue };
            let mode = metadata.permissions().mode();
            let wanted = match access {
                FileAccess::Read => (mode | OWNER_READ) & !WRITE_BITS,
                FileAccess::Write => mode | OWNER_READ | OWNER_WRITE,
            };
            if mode != wanted {
                let file = below(tree, path);
                fs::set_permissions(&file, Permissions::from_mode(wanted))
                    .context("change the rights of", &file)?;
                has_changed = true;
            }
        }
        if has_changed {
            self.checkout.refresh()?;
        }
        Ok(())
    }
}

/// Fills a checkout and, below it, all its submodules.
pub(crate) fn fill_all(
    outermost: FilledCheckout,
    survey: &TreeSurvey,
    lock: &File,
) -> Result<Vec<FilledCheckout>, WorkspaceError> {
    outermost.fill(survey, lock)?;
    all_below(outermost, MissingFolders::Make, |inner| {
        inner.checkout.prepare(&[])?;
        inner.fill(survey, lock)
    })
}

/// Visits the submodules of a checkout at any depth, and returns all; the outermost is not visited.
pub(crate) fn all_below(
    outermost: FilledCheckout,
    folders: MissingFolders,
    visit: impl Fn(&FilledCheckout) -> Result<(), WorkspaceError>,
) -> Result<Vec<FilledCheckout>, WorkspaceError> {
    let mut all = vec![outermost];
    let mut from = 0;
    for _ in 0..DEPTH_MAX {
        let level = from..all.len();
        from = all.len();
        for number in level {
            let outer = &all[number];
            let path = outer.path.clone();
            let inner = outer.checkout.submodules(&outer.at, &outer.listing, folders)?;
            for (inside, at, checkout) in inner {
                let listing = TreeListing::read(&checkout.owner.git_dir, &at)?;
                let filled = FilledCheckout {
                    checkout,
                    at,
                    listing,
                    path: path_names::joined(&path, &inside),
                };
                visit(&filled)?;
                all.push(filled);
            }
        }
    }
    Ok(all)
}

/// Returns the submodules of these checkouts, each with its commit.
pub(crate) fn submodules(all: &[FilledCheckout]) -> impl Iterator<Item = (&Checkout, &str)> {
    let inner = all.iter().filter(|filled| !filled.path.is_empty());
    inner.map(|filled| (&filled.checkout, filled.at.as_str()))
}

/// Removes everything in a tree that is not tracked, but for some folders.
pub(crate) fn remove_all_but(
    all: &[FilledCheckout],
    tree: &Path,
    kept: &[Vec<u8>],
) -> Result<(), WorkspaceError> {
    let mut files = HashSet::new();
    let mut folders = HashSet::new();
    for filled in all {
        files.insert(path_names::joined(&filled.path, b".git"));
        let tracked = filled.listing.entries.iter();
        files.extend(tracked.map(|entry| path_names::joined(&filled.path, &entry.name)));
    }
    for path in files.iter().chain(kept) {
        let mut folder = path_names::parent(path);
        while folders.insert(folder.to_vec()) {
            folder = path_names::parent(folder);
        }
    }
    let mut open: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(folder) = open.pop() {
        for (name, kind) in safe_files::entries(&below(tree, &folder))? {
            let path = path_names::joined(&folder, &name);
            if folders.contains(&path) && kind.is_dir() {
                open.push(path);
            } else if !(files.contains(&path) || kept.contains(&path) && kind.is_dir()) {
                safe_files::remove(&below(tree, &path))?;
            }
        }
    }
    Ok(())
}

/// Whether a tree has anything that its commit does not have. Submodules count as such: git looks at them.
pub(crate) fn has_others(all: &[FilledCheckout], tree: &Path) -> Result<bool, WorkspaceError> {
    let [filled] = all else { return Ok(true) };
    let entries = filled.listing.entries.iter();
    let files: HashSet<&[u8]> = entries.map(|entry| entry.name.as_slice()).collect();
    let mut open: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(folder) = open.pop() {
        for (name, kind) in safe_files::entries(&below(tree, &folder))? {
            let path = path_names::joined(&folder, &name);
            if path == b".git" || files.contains(path.as_slice()) {
                continue;
            }
            if !kind.is_dir() || !filled.listing.has_below(&path) {
                return Ok(true);
            }
            open.push(path);
        }
    }
    Ok(false)
}

/// Returns a path as one below a folder sees it.
fn inside<'a>(path: &'a [u8], folder: &[u8]) -> Option<&'a [u8]> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix(b"/") }
}
