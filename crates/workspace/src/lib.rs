//! The bench: finds the user's repository.
//!
//! Start with [`Repository::find`]. Opening private clones, comparing and landing work come next
//! to it; a run that needs none of them works in its own folder below [`Repository::common_dir`].
//!
//! Git is driven through its command line, because agents and users see the same git.
//!
//! Invariant: this crate does not know what a run is.
//! Invariant: the user's own checkout is never written. There is no function here that could.
//! Invariant: every path is absolute, so that no current directory can leak in.

use std::{
    ffi::OsString,
    fmt, io,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
    process::Command,
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
        let path = |args: &[&str]| git(dir, args).map(PathBuf::from);
        let common_dir = path(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        // In a bare repository there is no checkout; that is no error.
        let top = path(&["rev-parse", "--path-format=absolute", "--show-toplevel"]).ok();
        let top = top.filter(|top| !top.as_os_str().is_empty());
        Ok(Self { common_dir, top })
    }

    /// The commit that is checked out, if there is one.
    pub fn head(&self) -> Option<String> {
        let dir = self.top.as_deref().unwrap_or(&self.common_dir);
        let commit = git(dir, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).ok()?;
        commit.into_string().ok()
    }
}

/// Runs git in a folder without taking locks or asking for passwords, and gives what it says,
/// byte for byte, without the line end.
fn git(dir: &Path, args: &[&str]) -> Result<OsString, NoRepository> {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .output()
        .map_err(NoRepository::NoGit)?;
    if output.status.success() {
        let mut said = output.stdout;
        said.pop_if(|last| *last == b'\n');
        Ok(OsString::from_vec(said))
    } else {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(NoRepository::Refused { dir: dir.to_owned(), said })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn in_repository(check: impl Fn(&Path, &Repository)) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let init = Command::new("git").arg("init").arg("--quiet").arg(&root).status().unwrap();
        assert!(init.success());
        check(&root, &Repository::find(&root).unwrap());
    }

    #[test]
    fn a_folder_inside_a_checkout_finds_its_repository() {
        in_repository(|root, found| {
            let inside = root.join("a/b");
            std::fs::create_dir_all(&inside).unwrap();
            assert_eq!(Repository::find(&inside).unwrap(), *found);
            assert_eq!(found.common_dir, root.join(".git"));
            assert_eq!(found.top.as_deref(), Some(root));
        });
    }

    #[test]
    fn a_path_is_found_as_it_is_whatever_is_in_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let name = OsString::from_vec(b"a \xff\nb".to_vec());
        let root = folder.path().canonicalize().unwrap().join(name);
        let init = Command::new("git").args(["init", "--quiet"]).arg(&root).status().unwrap();
        assert!(init.success());
        assert_eq!(Repository::find(&root).unwrap().common_dir, root.join(".git"));
    }

    #[test]
    fn a_repository_without_a_commit_has_no_head() {
        in_repository(|_, found| assert_eq!(found.head(), None));
    }

    #[test]
    fn a_folder_outside_any_repository_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let error = Repository::find(folder.path()).unwrap_err();
        assert!(error.to_string().contains("is not in a git repository"), "{error}");
    }
}
