//! Forge's own view of a tree: a git folder that agents are never told of.
//!
//! It has its own index and settings; objects go straight into the user's store, so that a ref in
//! the user's repository can keep them. The agent's `.git` plays no role here: it may be ruined.
//! Submodules are checkouts of their own, below the one that has them.
//!
//! Invariant: git runs here only after a survey of the tree, so nothing in it can make git hang.

use std::{
    collections::HashSet,
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{
    disk::{self, Real, Standing},
    failure::{Failure, Trying as _},
    git::{Git, GitError, parts},
    name::{self, below},
    order::Access,
    settings::Settings,
    submodules::{self, DEPTH_MAX, Owner, Source},
};

/// Nobody may write.
const WRITE_BITS: u32 = 0o222;
/// The owner may read.
const OWNER_READ: u32 = 0o400;
/// The owner may write.
const OWNER_WRITE: u32 = 0o200;

/// A tree with Forge's own git folder for it.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// Forge's git folder.
    pub(crate) git_dir: PathBuf,
    /// The files.
    pub(crate) tree: PathBuf,
    /// The user's repository that they come from.
    pub(crate) owner: Owner,
    /// The user's settings for it.
    pub(crate) settings: Settings,
}

/// A checkout with the commit it was filled with.
#[derive(Debug)]
pub(crate) struct Filled {
    /// The checkout.
    pub(crate) checkout: Checkout,
    /// The commit.
    pub(crate) at: String,
    /// Where it lies, relative to the outermost tree.
    pub(crate) path: Vec<u8>,
}

impl Checkout {
    /// With the user's settings as they are now. Nothing is written.
    pub(crate) fn of(git_dir: PathBuf, tree: PathBuf, owner: Owner) -> Result<Self, Failure> {
        let settings =
            Settings::of(owner.top.as_deref().filter(|top| top.is_dir()), &owner.git_dir)?;
        Ok(Self { git_dir, tree, owner, settings })
    }

    /// Makes Forge's git folder good, whatever became of it. Paths that are kept out are never
    /// committed.
    pub(crate) fn prepare(&self, kept_out: &[Vec<u8>]) -> Result<(), Failure> {
        disk::make_folder(&self.git_dir)?;
        for folder in ["objects", "refs", "info"] {
            disk::make_folder(&self.git_dir.join(folder))?;
        }
        for lock in ["index.lock", "HEAD.lock", "config.lock"] {
            disk::remove(&self.git_dir.join(lock))?;
        }
        disk::write(&self.git_dir.join("HEAD"), b"ref: refs/heads/none\n")?;
        let tree = self.tree.as_os_str().as_encoded_bytes();
        let config = self.settings.text(&[("core.worktree", tree)]);
        disk::write(&self.git_dir.join("config"), &config)?;
        disk::write(&self.git_dir.join("info/exclude"), &self.exclude(kept_out)?)?;
        for name in ["info/attributes", "shallow"] {
            copy_settings(&self.owner.git_dir.join(name), &self.git_dir.join(name))?;
        }
        Ok(())
    }

    /// The user's own ignores for this repository, and what is kept out.
    pub(crate) fn exclude(&self, kept_out: &[Vec<u8>]) -> Result<Vec<u8>, Failure> {
        let users = self.owner.git_dir.join("info/exclude");
        let mut exclude = fs::read(&users).or_else(missing).trying("read", &users)?;
        if !exclude.is_empty() && !exclude.ends_with(b"\n") {
            exclude.push(b'\n');
        }
        exclude.extend(kept_out.iter().flat_map(|path| name::exclude_line(path)));
        Ok(exclude)
    }

    /// The index of this checkout.
    pub(crate) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// The user's objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.owner.git_dir.join("objects")
    }

    /// A call of git for these files.
    pub(crate) fn git(&self) -> Git {
        Git::of(&self.git_dir)
            .env("GIT_WORK_TREE", &self.tree)
            .env("GIT_INDEX_FILE", self.index())
            .env("GIT_OBJECT_DIRECTORY", self.objects())
            .within(&self.tree)
    }

    /// Makes the tracked files exactly those of a commit or tree.
    pub(crate) fn fill(&self, at: &str, lock: &File) -> Result<(), Failure> {
        let fill = || self.git().holding(lock)?.args(["read-tree", "--reset", "-u"]).arg(at).run();
        if fill().is_err() {
            // An index that cannot be read is worth nothing: without one, all files are written.
            disk::remove(&self.index())?;
            fill()?;
        }
        Ok(())
    }

    /// Makes the index that of a commit or tree, and leaves the files alone.
    pub(crate) fn reset_index(&self, at: &str) -> Result<(), Failure> {
        let reset = || self.git().args(["read-tree", "--reset"]).arg(at).run();
        if reset().is_err() {
            disk::remove(&self.index())?;
            reset()?;
        }
        Ok(())
    }

    /// Removes files that are neither tracked nor ignored, and repositories that are nobody's.
    pub(crate) fn clean(&self, lock: &File) -> Result<(), GitError> {
        self.git().holding(lock)?.args(["clean", "-q", "-ffd"]).run()?;
        Ok(())
    }

    /// Lets the index know the files as they are, so that git need not read them again.
    pub(crate) fn refresh(&self) -> Result<(), GitError> {
        let git = self.git().args(["update-index", "-q", "--ignore-submodules", "--refresh"]);
        git.run_with(&[0, 1])?;
        Ok(())
    }

    /// Tracked files that are not as in the index.
    pub(crate) fn changed(&self) -> Result<Vec<Vec<u8>>, GitError> {
        self.refresh()?;
        let git = self.git().args(["diff-files", "-z", "--name-only", "--ignore-submodules=all"]);
        Ok(parts(&git.run()?).map(<[u8]>::to_vec).collect())
    }

    /// Files that are neither tracked nor ignored. Repositories end with a slash.
    pub(crate) fn untracked(&self) -> Result<Vec<Vec<u8>>, GitError> {
        let git = self.git().args(["ls-files", "-z", "--others", "--exclude-standard"]);
        Ok(parts(&git.run()?).map(<[u8]>::to_vec).collect())
    }

    /// All tracked files.
    pub(crate) fn tracked(&self) -> Result<Vec<Vec<u8>>, GitError> {
        let git = self.git().args(["ls-files", "-z"]);
        Ok(parts(&git.run()?).map(<[u8]>::to_vec).collect())
    }

    /// The checkouts of the submodules of a commit or tree, directly below this one. At most
    /// their folders are written.
    fn submodules(
        &self,
        at: &str,
        folders: Folders,
    ) -> Result<Vec<(Vec<u8>, String, Self)>, Failure> {
        let mut real = Real::below(&self.tree);
        let mut found = Vec::new();
        for submodule in submodules::of(&self.owner, at)? {
            let owner = match submodule.source {
                Source::Here(owner) => owner,
                Source::Unnamed => continue,
                Source::Missing => return Err(missing_submodule(&submodule.path)),
            };
            let tree = below(&self.tree, &submodule.path);
            if real.folder(disk::parent(&submodule.path))? != Standing::Folder {
                continue;
            }
            match folders {
                Folders::Make => drop(disk::make_folder(&tree)?),
                Folders::AsTheyAre if real.folder(&submodule.path)? == Standing::Folder => {}
                Folders::AsTheyAre => continue,
            }
            let name = format!("{:x}", HexOf(&Sha256::digest(&submodule.path)));
            let git_dir = self.git_dir.join("modules").join(name);
            found.push((submodule.path, submodule.commit, Self::of(git_dir, tree, owner)?));
        }
        Ok(found)
    }
}

/// What becomes of the folder of a submodule that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folders {
    /// It is made.
    Make,
    /// Such a submodule is passed over.
    AsTheyAre,
}

/// Fills a checkout and, below it, all its submodules. The outermost comes first.
pub(crate) fn fill_all(outermost: Filled, lock: &File) -> Result<Vec<Filled>, Failure> {
    outermost.checkout.fill(&outermost.at, lock)?;
    all_below(outermost, Folders::Make, |inner| {
        inner.checkout.prepare(&[])?;
        inner.checkout.fill(&inner.at, lock)
    })
}

/// A checkout and all its submodules, each after it was given to `visit`; the outermost is not.
pub(crate) fn all_below(
    outermost: Filled,
    folders: Folders,
    visit: impl Fn(&Filled) -> Result<(), Failure>,
) -> Result<Vec<Filled>, Failure> {
    let mut all = vec![outermost];
    let mut from = 0;
    for _ in 0..DEPTH_MAX {
        let level = from..all.len();
        from = all.len();
        for number in level {
            let outer = &all[number];
            let path = outer.path.clone();
            for (inner, at, checkout) in outer.checkout.submodules(&outer.at, folders)? {
                let filled = Filled { checkout, at, path: disk::joined(&path, &inner) };
                visit(&filled)?;
                all.push(filled);
            }
        }
    }
    Ok(all)
}

/// Removes everything in a tree that is not tracked, but for some folders.
pub(crate) fn remove_all_but(all: &[Filled], tree: &Path, kept: &[Vec<u8>]) -> Result<(), Failure> {
    let mut files = HashSet::new();
    let mut folders = HashSet::new();
    for filled in all {
        files.insert(disk::joined(&filled.path, b".git"));
        files
            .extend(filled.checkout.tracked()?.iter().map(|path| disk::joined(&filled.path, path)));
    }
    for path in files.iter().chain(kept) {
        let mut folder = disk::parent(path);
        while folders.insert(folder.to_vec()) {
            folder = disk::parent(folder);
        }
    }
    let mut open: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(folder) = open.pop() {
        for (name, kind) in disk::entries(&below(tree, &folder))? {
            let path = disk::joined(&folder, &name);
            if folders.contains(&path) && kind.is_dir() {
                open.push(path);
            } else if !(files.contains(&path) || kept.contains(&path) && kind.is_dir()) {
                disk::remove(&below(tree, &path))?;
            }
        }
    }
    Ok(())
}

/// Gives the tracked files their write bits, or takes them away. Nothing else is touched.
pub(crate) fn set_access(checkout: &Checkout, access: Access) -> Result<(), Failure> {
    let mut real = Real::below(&checkout.tree);
    let mut has_changed = false;
    for path in checkout.tracked()? {
        let Some(metadata) = real.file(&path)?.filter(fs::Metadata::is_file) else { continue };
        let mode = metadata.permissions().mode();
        let wanted = match access {
            Access::Read => (mode | OWNER_READ) & !WRITE_BITS,
            Access::Write => mode | OWNER_READ | OWNER_WRITE,
        };
        if mode != wanted {
            let file = below(&checkout.tree, &path);
            fs::set_permissions(&file, Permissions::from_mode(wanted))
                .trying("change the rights of", &file)?;
            has_changed = true;
        }
    }
    if has_changed {
        checkout.refresh()?;
    }
    Ok(())
}

/// A file of settings that may be missing is copied as it is.
pub(crate) fn copy_settings(from: &Path, to: &Path) -> Result<(), Failure> {
    match fs::read(from) {
        Ok(content) => disk::write(to, &content),
        Err(_) => disk::remove(to),
    }
}

/// What to say about a submodule that was never fetched.
pub(crate) fn missing_submodule(path: &[u8]) -> Failure {
    Failure::new(
        format!("the submodule {} is not on this machine", name::shown(path)),
        "run `git submodule update --init --recursive`, then try again",
    )
}

fn missing(error: std::io::Error) -> std::io::Result<Vec<u8>> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(Vec::new()) } else { Err(error) }
}

/// Bytes in hexadecimal digits.
pub(crate) struct HexOf<'a>(pub(crate) &'a [u8]);

impl std::fmt::LowerHex for HexOf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
