//! The user's repository: finding it, and what is checked out there.
//!
//! Start with [`Repository::find`]. Its objects and refs are read elsewhere.

use std::{
    ffi::OsString,
    io,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::{
    git::{
        command::Git,
        error::{GitError, WorkspaceError},
        object_reader, path_names,
    },
    protocol::CheckoutLocation,
};

/// A repository of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Shared by all its worktrees: `.git` of the main checkout, or the bare repository itself.
    pub common_dir: PathBuf,
    /// The checkout that we were called from; none in a bare repository.
    pub top: Option<PathBuf>,
}

/// The reason why no repository was found.
#[derive(Debug, Error)]
pub enum FindRepositoryError {
    /// Git is not installed, or not in `PATH`.
    #[error("git cannot be run: {0}")]
    NoGit(io::Error),
    /// Git refuses a repository that belongs to another user.
    #[error("git refuses the repository of {}, because it belongs to another user", dir.display())]
    OtherOwner { dir: PathBuf },
    /// The folder is not in a repository, or git refuses it.
    #[error("{} is not in a git repository{}", dir.display(), in_parentheses(message))]
    Refused {
        /// The folder.
        dir: PathBuf,
        /// Git's message.
        message: String,
    },
}

impl Repository {
    /// Returns the user's repository of a checkout.
    pub(crate) fn from_location(location: &CheckoutLocation) -> Self {
        Self { common_dir: location.common_dir.clone(), top: location.top.clone() }
    }

    /// Finds the repository that contains a folder.
    pub fn find(dir: &Path) -> Result<Self, FindRepositoryError> {
        let path = |question: &str| {
            let git =
                Git::in_folder(dir).args(["rev-parse", "--path-format=absolute"]).arg(question);
            let mut message = git.run().map_err(|error| no_repository(dir, error))?;
            message.pop_if(|last| *last == b'\n');
            Ok(PathBuf::from(OsString::from_vec(message)))
        };
        let ask = |questions: &[&str]| {
            let git = Git::in_folder(dir).args(["rev-parse", "--path-format=absolute"]);
            let message = git.args(questions).run()?;
            let lines = message.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            Ok(lines.map(|line| PathBuf::from(OsString::from_vec(line.to_vec()))).collect())
        };
        let both: Result<Vec<PathBuf>, GitError> = ask(&["--git-common-dir", "--show-toplevel"]);
        // In a bare repository there is no checkout; that is not an error. A path with a line break is asked for alone.
        let (common_dir, top) = match both.as_deref() {
            Ok([common_dir, top]) => (common_dir.clone(), Some(top.clone())),
            Ok(_) | Err(_) => (path("--git-common-dir")?, path("--show-toplevel").ok()),
        };
        let top = top.filter(|top| !top.as_os_str().is_empty());
        Ok(Self { common_dir, top })
    }

    /// Returns the commit that is checked out, if there is one.
    pub fn head(&self) -> Option<String> {
        let git = Git::in_folder(self.folder());
        git.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).run_line().ok()
    }

    /// Returns the branch that is checked out; none if HEAD is detached.
    pub fn branch(&self) -> Option<String> {
        let git = Git::in_folder(self.folder());
        let name = git.args(["symbolic-ref", "--quiet", "HEAD"]).run_line().ok()?;
        name.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// Returns the branch that the remote `origin` calls its own, as far as it is known here.
    pub fn default_branch(&self) -> Option<String> {
        let git = Git::in_folder(self.folder());
        let name =
            git.args(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).run_line().ok()?;
        name.strip_prefix("refs/remotes/origin/").map(str::to_owned)
    }

    /// Lists the paths that differ from the commit that is checked out: changed, new or deleted.
    /// Ignored files are not listed. A new folder counts as one path.
    pub fn uncommitted_paths(&self) -> Result<Vec<String>, GitError> {
        let Some(top) = self.top.as_deref() else { return Ok(Vec::new()) };
        let args = ["--no-optional-locks", "status", "--porcelain", "-z", "--no-renames"];
        let message = Git::in_folder(top).args(args).arg("--untracked-files=normal").run()?;
        let lines = message.split(|byte| *byte == 0).filter_map(|line| line.get(3..));
        Ok(lines.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Returns true if git knows a file of a checkout. If git cannot say, it counts as known.
    pub fn is_tracked(top: &Path, path: &str) -> bool {
        let git = Git::in_folder(top).args(["ls-files", "--error-unmatch", "--", path]);
        git.run_with(&[0, 1]).map_or(true, |(code, _)| code == 0)
    }

    /// Returns true if git is told to ignore a path of a checkout. If git cannot say, it is not.
    pub fn is_ignored(top: &Path, path: &str) -> bool {
        let git = Git::in_folder(top).args(["check-ignore", "--quiet", "--no-index", "--", path]);
        // This command refuses literal pathspecs, and takes paths for paths anyway.
        let git = git.env("GIT_LITERAL_PATHSPECS", "0");
        git.run_with(&[0, 1]).is_ok_and(|(code, _)| code == 0)
    }

    /// Resolves a name to the full id of a commit, if there is one.
    pub fn resolve_commit(&self, name: &str) -> Option<String> {
        let is_ref = name.strip_prefix("refs/").is_some_and(path_names::is_branch_name);
        let id = if is_ref { self.read_ref(name).ok()?? } else { name.to_owned() };
        let known = object_reader::peel(&self.common_dir, &id, "commit");
        known.or_else(|| self.resolving(name).run_line().ok())
    }

    /// Resolves a commit that must exist to its full id.
    pub(crate) fn require_commit(&self, commit: &str) -> Result<String, WorkspaceError> {
        if let Some(known) = object_reader::peel(&self.common_dir, commit, "commit") {
            return Ok(known);
        }
        let (code, found) = self.resolving(commit).run_with(&[0, 1])?;
        let found = String::from_utf8_lossy(&found).trim_end().to_owned();
        if code == 0 {
            return Ok(found);
        }
        Err(WorkspaceError::new(
            format!("the commit {commit} is not in {}", self.common_dir.display()),
            "see what the repository lacks with `git fsck`, then `forge resume`",
        ))
    }

    fn resolving(&self, name: &str) -> Git {
        let git = Git::in_folder(self.folder());
        let git = git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        git.arg(format!("{name}^{{commit}}"))
    }

    /// Returns the folder in which git finds the repository and the right HEAD.
    fn folder(&self) -> &Path {
        self.top.as_deref().filter(|top| top.is_dir()).unwrap_or(&self.common_dir)
    }

    /// Returns a call of git for objects and refs.
    pub(crate) fn git(&self) -> Git {
        Git::in_git_dir(&self.common_dir)
    }
}

fn no_repository(dir: &Path, error: GitError) -> FindRepositoryError {
    match error {
        GitError::NotRun(error) => FindRepositoryError::NoGit(error),
        GitError::Refused { message, .. } if message.contains("dubious ownership") => {
            // Git names its top folder, which is what a person has to trust.
            let top = message.split('\'').nth(1).map_or(dir, Path::new);
            FindRepositoryError::OtherOwner { dir: top.to_owned() }
        }
        GitError::Refused { message, .. } => {
            FindRepositoryError::Refused { dir: dir.to_owned(), message }
        }
        GitError::TooLarge { .. } | GitError::Unreadable { .. } => {
            FindRepositoryError::Refused { dir: dir.to_owned(), message: error.to_string() }
        }
    }
}

/// Quotes the message of git, if there is one, to be read after a sentence.
/// Returns git's message, unless it says the same as ours.
fn in_parentheses(message: &str) -> String {
    let says_no_more = message.is_empty() || message.contains("not a git repository (or any");
    if says_no_more { String::new() } else { format!(" ({message})") }
}
