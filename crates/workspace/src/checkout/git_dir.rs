//! Forge's own view of a tree: a git folder that is hidden from agents.
//!
//! It has its own index and settings; objects go straight into the user's store, so that a ref in
//! the user's repository can keep them. The agent's `.git` is not used here: it may be damaged.
//! The wanted content of the files is defined in `files`.
//!
//! Invariant: git runs here only after a survey of the tree, so nothing in it can make git hang.

use std::{
    collections::HashMap,
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use sha2::{Digest as _, Sha256};

use crate::{
    checkout::submodules::{self, SourceRepository, SubmoduleSource},
    git::{
        command::{Git, nul_separated},
        error::{GitError, IoContext as _, WorkspaceError},
        hex::Hex,
        index_marks::{IndexEntry, unmarked_entries},
        object_reader::TreeListing,
        path_names::{self, below},
        safe_files::{self, FolderState, RealFolders},
        user_config::UserConfig,
    },
};

/// Which commit or tree the index is that of; see [`Checkout::note_index`].
const INDEX_NOTE: &str = "index-at";
/// A time before all files, after 1970 began. To git, an index of the very first second has none.
const LONG_AGO: Duration = Duration::from_secs(1);

/// A tree with Forge's own git folder for it.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// Forge's git folder.
    pub(crate) git_dir: PathBuf,
    /// The files.
    pub(crate) tree: PathBuf,
    /// The user's repository that they come from.
    pub(crate) owner: SourceRepository,
    /// The user's settings for it.
    pub(crate) settings: UserConfig,
}

impl Checkout {
    /// Builds a checkout with the user's current settings. Nothing is written.
    pub(crate) fn new(
        git_dir: PathBuf,
        tree: PathBuf,
        owner: SourceRepository,
    ) -> Result<Self, WorkspaceError> {
        let settings = UserConfig::read(owner.top.as_deref(), &owner.git_dir)?;
        Ok(Self { git_dir, tree, owner, settings })
    }

    /// Makes Forge's git folder good, whatever became of it. Paths that are kept out are never
    /// committed.
    pub(crate) fn prepare(&self, excluded: &[Vec<u8>]) -> Result<(), WorkspaceError> {
        safe_files::make_folder(&self.git_dir)?;
        for folder in ["objects", "refs", "info"] {
            safe_files::make_folder(&self.git_dir.join(folder))?;
        }
        for lock in ["index.lock", "HEAD.lock", "config.lock"] {
            safe_files::remove(&self.git_dir.join(lock))?;
        }
        safe_files::write(&self.git_dir.join("HEAD"), b"ref: refs/heads/none\n")?;
        let tree = self.tree.as_os_str().as_encoded_bytes();
        let config = self.settings.text(&[("core.worktree", tree)]);
        safe_files::write(&self.git_dir.join("config"), &config)?;
        safe_files::write(&self.git_dir.join("info/exclude"), &self.exclude(excluded)?)?;
        for name in ["info/attributes", "shallow"] {
            copy_settings(&self.owner.git_dir.join(name), &self.git_dir.join(name))?;
        }
        let Some(index) = safe_files::read(&self.index())? else { return Ok(()) };
        match unmarked_entries(&index, self.settings.object_bytes()) {
            Some(entries) => self.doubt_changes_of_one_second(&entries),
            // Forge never sets a mark that makes git skip a file.
            None => safe_files::remove(&self.index()),
        }
    }

    /// Lets git read all files where one was changed after the index was written, but in the same second. Git
    /// compares whole seconds, and itself has doubts only about files that were written in that second: one whose
    /// rights were changed in it could be written once more, and its size and time put back.
    fn doubt_changes_of_one_second(
        &self,
        entries: &[IndexEntry<'_>],
    ) -> Result<(), WorkspaceError> {
        let Some(found) = safe_files::metadata(&self.index())? else { return Ok(()) };
        let second = found.mtime();
        let mut real = RealFolders::below(&self.tree);
        let mut is_doubtful = |entry: &IndexEntry<'_>| -> Result<bool, WorkspaceError> {
            if i64::from(entry.changed_s) != second || i64::from(entry.written_s) >= second {
                return Ok(false);
            }
            let Some(name) = entry.name else { return Ok(true) };
            let file = real.file(name)?;
            let moment = (second, found.mtime_nsec());
            Ok(file.is_some_and(|file| {
                file.ctime() == second && (file.ctime(), file.ctime_nsec()) >= moment
            }))
        };
        for entry in entries {
            if is_doubtful(entry)? {
                // Files that were written after the index are read.
                let known = self.index_at()?;
                let index = File::open(self.index()).context("open", &self.index())?;
                index
                    .set_modified(UNIX_EPOCH + LONG_AGO)
                    .context("change the time of", &self.index())?;
                return known.map_or(Ok(()), |at| self.note_index(&at));
            }
        }
        Ok(())
    }

    /// Returns the user's own ignores for this repository, and what is kept out.
    pub(crate) fn exclude(&self, excluded: &[Vec<u8>]) -> Result<Vec<u8>, WorkspaceError> {
        let users = self.owner.git_dir.join("info/exclude");
        let mut exclude = fs::read(&users).or_else(missing).context("read", &users)?;
        if !exclude.is_empty() && !exclude.ends_with(b"\n") {
            exclude.push(b'\n');
        }
        exclude.extend(excluded.iter().flat_map(|path| path_names::exclude_line(path)));
        Ok(exclude)
    }

    /// Returns the index of this checkout.
    pub(crate) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Returns the user's objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.owner.git_dir.join("objects")
    }

    /// Returns a call of git for these files.
    pub(crate) fn git(&self) -> Git {
        Git::in_git_dir(&self.git_dir)
            .env("GIT_WORK_TREE", &self.tree)
            .env("GIT_INDEX_FILE", self.index())
            .env("GIT_OBJECT_DIRECTORY", self.objects())
            .in_work_dir(&self.tree)
    }

    /// Makes the index that of a commit or tree, and leaves the files alone. One that is so already stays.
    pub(crate) fn reset_index(&self, at: &str) -> Result<(), WorkspaceError> {
        if self.index_at()?.as_deref() == Some(at) {
            return Ok(());
        }
        let reset = || self.git().args(["read-tree", "--reset"]).arg(at).run();
        if reset().is_err() {
            safe_files::remove(&self.index())?;
            reset()?;
        }
        self.note_index(at)
    }

    /// Notes that the index is that of a commit or tree. The note holds for as long as nobody writes the index.
    pub(crate) fn note_index(&self, at: &str) -> Result<(), WorkspaceError> {
        let note = self.index_stamp()?.map(|stamp| format!("{at} {stamp}")).unwrap_or_default();
        safe_files::write(&self.git_dir.join(INDEX_NOTE), note.as_bytes())
    }

    /// Returns the commit or tree that the index is known to be that of.
    fn index_at(&self) -> Result<Option<String>, WorkspaceError> {
        let note = safe_files::read(&self.git_dir.join(INDEX_NOTE))?.unwrap_or_default();
        let note = String::from_utf8_lossy(&note).into_owned();
        let stamp = self.index_stamp()?;
        let known = note.split_once(' ').filter(|(_, then)| Some(*then) == stamp.as_deref());
        Ok(known.map(|(at, _)| at.to_owned()))
    }

    /// Tells two states of the index apart: git writes a new file each time.
    fn index_stamp(&self) -> Result<Option<String>, WorkspaceError> {
        let found = safe_files::metadata(&self.index())?.filter(Metadata::is_file);
        Ok(found.map(|index| {
            let changed = (index.ctime(), index.ctime_nsec());
            format!("{} {} {changed:?}", index.ino(), index.len())
        }))
    }

    /// Lets git take these tracked files for unchanged, whatever they are.
    pub(crate) fn assume_unchanged(&self, paths: &[Vec<u8>]) -> Result<(), GitError> {
        self.mark(paths, "--assume-unchanged")
    }

    /// Lets git look at these tracked files again.
    pub(crate) fn look_again(&self, paths: &[Vec<u8>]) -> Result<(), GitError> {
        self.mark(paths, "--no-assume-unchanged")
    }

    fn mark(&self, paths: &[Vec<u8>], mark: &str) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let git = self.git().args(["update-index", "-z", mark, "--stdin"]);
        git.input(paths.join(&0)).run()?;
        Ok(())
    }

    /// Removes files that are neither tracked nor ignored, and repositories that are not submodules.
    pub(crate) fn clean(&self, lock: &File) -> Result<(), GitError> {
        self.git().holding_lock(lock)?.args(["clean", "-q", "-ffd"]).run()?;
        Ok(())
    }

    /// Lets the index know the files as they are, so that git need not read them again.
    pub(crate) fn refresh(&self) -> Result<(), WorkspaceError> {
        let known = self.index_at()?;
        self.refresh_index()?;
        known.map_or(Ok(()), |at| self.note_index(&at))
    }

    fn refresh_index(&self) -> Result<(), GitError> {
        let git = self.git().args(["update-index", "-q", "--ignore-submodules", "--refresh"]);
        git.run_with(&[0, 1]).map(|_| ())
    }

    /// Returns tracked files that differ from the index.
    pub(crate) fn changed(&self) -> Result<Vec<Vec<u8>>, GitError> {
        Ok(self.list_differing(&["--modified"])?.changed)
    }

    /// Files that are neither tracked nor ignored. Repositories end with a slash.
    pub(crate) fn untracked(&self) -> Result<Vec<Vec<u8>>, GitError> {
        Ok(self.list_differing(&["--others", "--exclude-standard"])?.untracked)
    }

    /// Returns the files that differ from the index, and those that it does not have and git does not ignore.
    pub(crate) fn differing(&self) -> Result<DifferingFiles, GitError> {
        self.list_differing(&["--modified", "--others", "--exclude-standard"])
    }

    fn list_differing(&self, which: &[&str]) -> Result<DifferingFiles, GitError> {
        let output = self.git().args(["ls-files", "-z", "-t"]).args(which).run()?;
        let mut files = DifferingFiles::default();
        for line in nul_separated(&output) {
            match line.split_first_chunk::<2>() {
                Some((b"? ", path)) => files.untracked.push(path.to_vec()),
                Some((_, path)) => files.changed.push(path.to_vec()),
                None => {}
            }
        }
        // Submodules are looked at by themselves. Whether a folder is one, or in the place of a file, is asked of git.
        if files.changed.iter().any(|path| below(&self.tree, path).is_dir()) {
            self.refresh_index()?;
            let git = self.git().args(["diff-files", "-z", "--name-only"]);
            let output = git.arg("--ignore-submodules=all").run()?;
            files.changed = nul_separated(&output).map(<[u8]>::to_vec).collect();
        }
        Ok(files)
    }

    /// Files and whole folders that are not tracked, also those that git ignores.
    pub(crate) fn others(&self) -> Result<Vec<Vec<u8>>, GitError> {
        let git = self.git().args(["ls-files", "-z", "--others", "--directory"]);
        let name = |path: &[u8]| path.strip_suffix(b"/").unwrap_or(path).to_vec();
        Ok(nul_separated(&git.run()?).map(name).collect())
    }

    /// Returns all tracked files, each with its mode, its object and its stage in the index.
    pub(crate) fn tracked_entries(&self) -> Result<HashMap<Vec<u8>, String>, GitError> {
        let listed = self.git().args(["ls-files", "-z", "--stage"]).run()?;
        let entry = |line: &[u8]| {
            let end = line.iter().position(|byte| *byte == b'\t')?;
            let stage = str::from_utf8(&line[..end]).ok()?;
            Some((line[end + 1..].to_vec(), stage.to_owned()))
        };
        Ok(nul_separated(&listed).filter_map(entry).collect())
    }

    /// Returns all tracked files.
    pub(crate) fn tracked(&self) -> Result<Vec<Vec<u8>>, GitError> {
        let git = self.git().args(["ls-files", "-z"]);
        Ok(nul_separated(&git.run()?).map(<[u8]>::to_vec).collect())
    }

    /// Returns the checkouts of the submodules of a commit or tree, directly below this one. At most
    /// their folders are written.
    pub(crate) fn submodules(
        &self,
        at: &str,
        listing: &TreeListing,
        folders: MissingFolders,
    ) -> Result<Vec<(Vec<u8>, String, Self)>, WorkspaceError> {
        let mut real = RealFolders::below(&self.tree);
        let mut found = Vec::new();
        for submodule in submodules::list(&self.owner, at, listing)? {
            let owner = match submodule.source {
                SubmoduleSource::Here(owner) => owner,
                SubmoduleSource::Unnamed => continue,
                SubmoduleSource::Missing => return Err(missing_submodule(&submodule.path)),
            };
            let tree = below(&self.tree, &submodule.path);
            if real.folder(path_names::parent(&submodule.path))? != FolderState::Folder {
                continue;
            }
            match folders {
                MissingFolders::Make => drop(safe_files::make_folder(&tree)?),
                MissingFolders::AsTheyAre
                    if real.folder(&submodule.path)? == FolderState::Folder => {}
                MissingFolders::AsTheyAre => continue,
            }
            let name = format!("{:x}", Hex(&Sha256::digest(&submodule.path)));
            let git_dir = self.git_dir.join("modules").join(name);
            // Its folder in the user's checkout may be empty; then git would find the outer one.
            let settings = UserConfig::read(None, &owner.git_dir)?;
            let checkout = Self { git_dir, tree, owner, settings };
            found.push((submodule.path, submodule.commit, checkout));
        }
        Ok(found)
    }
}

/// Files that differ from an index.
#[derive(Debug, Default)]
pub(crate) struct DifferingFiles {
    /// Tracked ones, also those that are gone.
    pub(crate) changed: Vec<Vec<u8>>,
    /// Those that are neither tracked nor ignored. Repositories end with a slash.
    pub(crate) untracked: Vec<Vec<u8>>,
}

impl DifferingFiles {
    /// Returns all of them.
    pub(crate) fn into_paths(self) -> Vec<Vec<u8>> {
        [self.changed, self.untracked].concat()
    }
}

/// Treatment of the missing folder of a submodule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingFolders {
    /// It is made.
    Make,
    /// Such a submodule is passed over.
    AsTheyAre,
}

/// Copies a file of settings, which may be missing.
pub(crate) fn copy_settings(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    match fs::read(from) {
        Ok(content) => safe_files::write(to, &content),
        Err(_) => safe_files::remove(to),
    }
}

/// Returns the error for a submodule that was never fetched.
pub(crate) fn missing_submodule(path: &[u8]) -> WorkspaceError {
    WorkspaceError::new(
        format!("the submodule {} is not on this machine", path_names::encode_path(path)),
        "run `git submodule update --init --recursive`, then try again",
    )
}

fn missing(error: io::Error) -> io::Result<Vec<u8>> {
    if error.kind() == io::ErrorKind::NotFound { Ok(Vec::new()) } else { Err(error) }
}
