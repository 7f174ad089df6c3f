//! The user's repository: finding it, reading it, and the few refs that we write.
//!
//! Start with [`Repository::find`]. Checkouts are made elsewhere; nothing here has files.
//!
//! Invariant: the only refs that are written here lie below `refs/forge/`.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs, io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use crate::{
    checkout::state::State,
    git::command::{Extent, Git, GitError, parts},
    git::error::Failure,
    git::ls_tree::Entry,
    git::path_names::{path_bytes, shown},
    protocol::{Bench, Change, ChangeKind, Moved},
    repository::merge,
};

/// A repository of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Shared by all its worktrees: `.git` of the main checkout, or the bare repository itself.
    pub common_dir: PathBuf,
    /// The checkout that we were called from; none in a bare repository.
    pub top: Option<PathBuf>,
}

/// Why there is no repository.
#[derive(Debug)]
pub enum NoRepository {
    /// Git is not installed, or not in `PATH`.
    NoGit(io::Error),
    /// The folder lies in no repository, or git refuses it.
    Refused {
        /// The folder.
        dir: PathBuf,
        /// What git said.
        said: String,
    },
}

impl Repository {
    /// The repository that a folder lies in.
    pub fn find(dir: &Path) -> Result<Self, NoRepository> {
        let path = |question: &str| {
            let git =
                Git::in_folder(dir).args(["rev-parse", "--path-format=absolute"]).arg(question);
            let mut said = git.run().map_err(|error| no_repository(dir, error))?;
            said.pop_if(|last| *last == b'\n');
            Ok(PathBuf::from(OsString::from_vec(said)))
        };
        let common_dir = path("--git-common-dir")?;
        // In a bare repository there is no checkout; that is no error.
        let top = path("--show-toplevel").ok();
        let top = top.filter(|top| !top.as_os_str().is_empty());
        Ok(Self { common_dir, top })
    }

    /// The commit that is checked out, if there is one.
    pub fn head(&self) -> Option<String> {
        let git = Git::in_folder(self.folder());
        git.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).line().ok()
    }

    /// The branch that is checked out; none if HEAD is detached.
    pub fn branch(&self) -> Option<String> {
        let git = Git::in_folder(self.folder());
        let name = git.args(["symbolic-ref", "--quiet", "HEAD"]).line().ok()?;
        name.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// The branch that the remote `origin` calls its own, as far as it is known here.
    pub fn default_branch(&self) -> Option<String> {
        let git = Git::in_folder(self.folder());
        let name = git.args(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).line().ok()?;
        name.strip_prefix("refs/remotes/origin/").map(str::to_owned)
    }

    /// What lies in the checkout otherwise than in the commit that is checked out, by path: changed, new or gone.
    /// What git ignores is not looked at. A new folder counts as one.
    pub fn uncommitted(&self) -> Result<Vec<String>, GitError> {
        let Some(top) = self.top.as_deref() else { return Ok(Vec::new()) };
        let args = ["--no-optional-locks", "status", "--porcelain", "-z", "--no-renames"];
        let said = Git::in_folder(top).args(args).arg("--untracked-files=normal").run()?;
        let lines = said.split(|byte| *byte == 0).filter_map(|line| line.get(3..));
        Ok(lines.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// The commit that a name means, if there is one.
    pub fn commit_of(&self, name: &str) -> Option<String> {
        let git = Git::in_folder(self.folder());
        let git = git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        git.arg(format!("{name}^{{commit}}")).line().ok()
    }

    /// The content of a regular file of a commit; none if there is none, or something else.
    pub fn file_at(
        &self,
        commit: &str,
        path: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let Some(object) = self.blob_at(commit, path)? else { return Ok(None) };
        let size = self.git().args(["cat-file", "-s", &object]).line()?;
        if let Some(bytes) = size.parse().ok().filter(|bytes: &u64| *bytes > bytes_max) {
            return Err(GitError::TooLarge { path: path.to_owned(), bytes, bytes_max });
        }
        self.git().args(["cat-file", "blob", &object]).run().map(Some)
    }

    /// All files of a commit below a folder; `""` is the whole commit.
    pub fn files_at(&self, commit: &str, under: &str) -> Result<Vec<String>, GitError> {
        let git =
            self.git().args(["ls-tree", "-r", "-z", "--name-only", "--full-tree"]).arg(commit);
        let under = path_bytes(under);
        let git = if under.is_empty() { git } else { git.arg("--").arg(OsStr::from_bytes(&under)) };
        let said = git.run()?;
        Ok(parts(&said).map(shown).collect())
    }

    /// Keeps a commit, by a ref below `refs/forge/`.
    pub fn pin(&self, name: &str, commit: &str) -> Result<(), GitError> {
        if let Err(failure) = check_pin(name) {
            let command = format!("git update-ref {name}");
            return Err(GitError::Refused { command, code: None, said: failure.what });
        }
        let git = || self.git().durably().args(["update-ref", "--no-deref", name, commit]);
        self.write_refs(&[name], git)
    }

    /// Writes refs, also where a git that was killed has left its lock. Below `refs/forge/` only we
    /// write, and git holds such a lock for a moment: one that outlasts git's patience is of a dead
    /// process, and goes. Locks on the user's refs stay.
    pub(crate) fn write_refs(&self, names: &[&str], git: impl Fn() -> Git) -> Result<(), GitError> {
        let Err(error) = git().run() else { return Ok(()) };
        if !error.said().contains(".lock': File exists") {
            return Err(error);
        }
        for name in names.iter().filter(|name| name.starts_with("refs/forge/")) {
            let lock = self.common_dir.join(format!("{name}.lock"));
            match fs::remove_file(&lock) {
                Ok(()) => {}
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return Err(error),
            }
        }
        git().run().map(|_| ())
    }

    /// Whether `a` is in the history of `b`, or `b` itself.
    pub fn is_ancestor(&self, a: &str, b: &str) -> Result<bool, GitError> {
        self.git().args(["merge-base", "--is-ancestor", a, b]).yes()
    }

    /// The commit that the files of a bench began with, if it was opened.
    pub fn began_with(bench: &Bench) -> Option<String> {
        State::read(&bench.dir).ok()?.and_then(|state| state.at)
    }

    /// The tree of a commit without `.forge/runs/`: what is built and tested.
    pub fn code_tree(&self, commit: &str) -> Result<String, GitError> {
        let whole = self.git().args(["rev-parse", "--verify", "--end-of-options"]);
        self.code_of(whole.arg(format!("{commit}^{{tree}}")).line()?)
    }

    /// A tree without `.forge/runs/`.
    pub(crate) fn code_of(&self, whole: String) -> Result<String, GitError> {
        let root = self.entries(&whole)?;
        let Some(forge) = folder(&root, b".forge") else { return Ok(whole) };
        let inner = self.entries(&forge.object)?;
        let Some(runs) = folder(&inner, b"runs") else { return Ok(whole) };
        let rest: Vec<&Entry> = inner.iter().filter(|entry| entry.name != runs.name).collect();
        let others = root.iter().filter(|entry| entry.name != forge.name);
        if rest.is_empty() {
            return Self::make_tree(self.git(), &others.collect::<Vec<_>>());
        }
        let changed = Entry { object: Self::make_tree(self.git(), &rest)?, ..forge.clone() };
        Self::make_tree(self.git(), &others.chain([&changed]).collect::<Vec<_>>())
    }

    /// What differs between two commits.
    pub fn changes(&self, from: &str, to: &str) -> Result<Vec<Change>, GitError> {
        let git = self.git().args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M"]);
        let said = git.arg(from).arg(to).arg("--").run()?;
        let mut fields = parts(&said);
        let mut changes = Vec::new();
        while let Some(header) = fields.next() {
            let change = change(header, &mut fields);
            let command = || "git diff-tree --raw".to_owned();
            changes.push(change.ok_or_else(|| GitError::Unreadable { command: command() })?);
        }
        Ok(changes)
    }

    /// The difference between two commits as people read it, cut after so many bytes. It says so
    /// where it was cut.
    pub fn diff(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        bytes_max: usize,
    ) -> Result<Vec<u8>, GitError> {
        let options = ["-p", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv"];
        let git = self.git().env("GIT_ATTR_SOURCE", to).arg("diff-tree").args(options);
        let git = git.args(["--src-prefix=a/", "--dst-prefix=b/"]).arg(from).arg(to).arg("--");
        let git = paths.iter().fold(git, |git, path| git.arg(OsStr::from_bytes(&path_bytes(path))));
        let (mut text, extent) = git.beginning(bytes_max)?;
        match extent {
            Extent::Whole => {}
            Extent::Cut => {
                let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                text.truncate(end);
                let note = format!("[cut here: the difference has more than {bytes_max} bytes]\n");
                text.extend(note.into_bytes());
            }
        }
        Ok(text)
    }

    /// Whether a branch has moved on since a run came from it at `base`, and what a merge with the
    /// run's head would meet. None if it stands still, or is gone.
    pub fn moved(&self, branch: &str, base: &str, head: &str) -> Result<Option<Moved>, GitError> {
        let Some(tip) = self.commit_of(&format!("refs/heads/{branch}")) else { return Ok(None) };
        if self.commit_of(base).as_ref() == Some(&tip) {
            return Ok(None);
        }
        let git = self.git().args(["rev-list", "--count", "--end-of-options"]);
        let counted = git.arg(format!("{base}..{tip}")).line()?;
        let command = || "git rev-list --count".to_owned();
        let n_commits = counted.parse().map_err(|_| GitError::Unreadable { command: command() })?;
        let conflicts = merge::try_merge(&self.common_dir, head, &tip)?.paths();
        Ok(Some(Moved { tip, n_commits, conflicts }))
    }

    /// The object of a regular file of a commit or tree.
    pub(crate) fn blob_at(&self, tree: &str, path: &str) -> Result<Option<String>, GitError> {
        let listed = self.git().args(["ls-tree", "-z", "--full-tree"]).arg(tree).arg("--");
        let path = path_bytes(path);
        let listed = listed.arg(OsStr::from_bytes(&path)).run()?;
        let entry = parts(&listed).next().and_then(Entry::read);
        let entry = entry.filter(|entry| entry.mode.starts_with("100") && entry.name == path);
        Ok(entry.map(|entry| entry.object))
    }

    /// Where git finds the repository, and the HEAD that is meant.
    fn folder(&self) -> &Path {
        self.top.as_deref().filter(|top| top.is_dir()).unwrap_or(&self.common_dir)
    }

    /// A call of git for objects and refs.
    pub(crate) fn git(&self) -> Git {
        Git::of(&self.common_dir)
    }

    /// The full id of a commit that must be there.
    pub(crate) fn sure(&self, commit: &str) -> Result<String, Failure> {
        self.commit_of(commit).ok_or_else(|| {
            Failure::new(
                format!("the commit {commit} is not in {}", self.common_dir.display()),
                "see with `git fsck` what the repository lacks, then resume",
            )
        })
    }

    /// Where a ref stands, if it exists.
    pub(crate) fn ref_at(&self, name: &str) -> Result<Option<String>, GitError> {
        let git = self.git().args(["for-each-ref", "--format=%(objectname) %(refname)"]).arg(name);
        let said = git.run()?;
        let text = String::from_utf8_lossy(&said).into_owned();
        let found = text.lines().filter_map(|line| line.split_once(' '));
        Ok(found.into_iter().find(|(_, known)| *known == name).map(|(id, _)| id.to_owned()))
    }

    /// What lies directly in a tree.
    pub(crate) fn entries(&self, tree: &str) -> Result<Vec<Entry>, GitError> {
        let said = self.git().args(["ls-tree", "-z", "--full-tree", tree]).run()?;
        Ok(parts(&said).filter_map(Entry::read).collect())
    }

    /// A tree of these. The same entries give the same tree.
    pub(crate) fn make_tree(git: Git, entries: &[&Entry]) -> Result<String, GitError> {
        let mut input = Vec::new();
        for entry in entries {
            let start = format!("{} {} {}\t", entry.mode, entry.kind, entry.object);
            input.extend(start.into_bytes());
            input.extend(&entry.name);
            input.push(0);
        }
        git.args(["mktree", "-z", "--missing"]).input(input).line()
    }
}

/// Makes a commit object. Nothing points to it yet.
pub(crate) fn commit_tree(
    git: Git,
    tree: &str,
    parents: &[String],
    message: &str,
) -> Result<String, GitError> {
    let git = git.args(["commit-tree", "--no-gpg-sign", tree]);
    let git = parents.iter().fold(git, |git, parent| git.arg("-p").arg(parent));
    git.args(["-F", "-"]).input(message.as_bytes().to_vec()).line()
}

/// A message as git keeps it: without zero bytes, with one line end. An empty one is refused.
pub(crate) fn checked_message(message: &str) -> Result<String, Failure> {
    let message = message.replace('\0', "");
    let message = message.trim();
    if message.is_empty() {
        return Err(Failure::new("the commit has no message", "give it one"));
    }
    Ok(format!("{message}\n"))
}

/// Refuses every ref that is not ours.
pub(crate) fn check_pin(name: &str) -> Result<(), Failure> {
    let inside = name.strip_prefix("refs/forge/");
    if inside.is_some_and(crate::git::path_names::is_branch_name) {
        return Ok(());
    }
    Err(Failure::new(format!("{name} is no ref below refs/forge/"), "this is a defect of Forge"))
}

fn folder<'a>(entries: &'a [Entry], name: &[u8]) -> Option<&'a Entry> {
    entries.iter().find(|entry| entry.name == name && entry.kind == "tree")
}

/// Reads `:MODE MODE OBJECT OBJECT KIND` and the paths that follow.
fn change<'a>(header: &[u8], fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<Change> {
    let header = str::from_utf8(header.strip_prefix(b":")?).ok()?;
    let words: Vec<&str> = header.split(' ').collect();
    let [old_mode, new_mode, old, new, kind] = words.as_slice() else { return None };
    let path = shown(fields.next()?);
    let (path, kind) = match kind.as_bytes().first()? {
        b'A' => (path, ChangeKind::Added),
        b'D' => (path, ChangeKind::Deleted),
        b'T' => (path, ChangeKind::TypeChanged),
        b'M' if old == new && old_mode != new_mode => (path, ChangeKind::ModeChanged),
        b'M' => (path, ChangeKind::Modified),
        b'R' => (shown(fields.next()?), ChangeKind::Renamed { from: path }),
        _ => return None,
    };
    Some(Change { path, kind })
}

fn no_repository(dir: &Path, error: GitError) -> NoRepository {
    match error {
        GitError::NotRun(error) => NoRepository::NoGit(error),
        GitError::Refused { said, .. } => NoRepository::Refused { dir: dir.to_owned(), said },
        GitError::TooLarge { .. } | GitError::Unreadable { .. } => {
            NoRepository::Refused { dir: dir.to_owned(), said: error.to_string() }
        }
    }
}

impl fmt::Display for NoRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGit(error) => write!(f, "git cannot be run: {error}"),
            Self::Refused { dir, said } if said.is_empty() => {
                write!(f, "{} is not in a git repository", dir.display())
            }
            Self::Refused { dir, said } => {
                write!(f, "{} is not in a git repository ({said})", dir.display())
            }
        }
    }
}

impl std::error::Error for NoRepository {}
