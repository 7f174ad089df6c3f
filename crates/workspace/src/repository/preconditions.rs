//! Preconditions that a commit does not meet on this machine, as sentences with the next step.
//!
//! Asked once, before a run begins. An opening that meets the same later fails in the same words.

use std::{ffi::OsStr, path::Path};

use crate::{
    checkout::{
        git_dir::missing_submodule,
        submodules::{self, DEPTH_MAX, SourceRepository, SubmoduleSource},
    },
    git::{
        error::GitError, object_reader::TreeListing, path_names::encode_path,
        user_config::UserConfig,
    },
    repository::locate::Repository,
};

/// The oldest git that can merge without files.
const GIT_MIN: (u32, u32) = (2, 38);
/// A `.gitattributes` that is longer than this is not looked at, in bytes.
const ATTRIBUTES_BYTES_MAX: u64 = 1 << 20;

impl Repository {
    /// Lists the preconditions that a commit does not meet, as sentences with the next step.
    pub fn unmet_preconditions(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let version = self.git().arg("version").run_line()?;
        let mut problems = Vec::new();
        if parse_version(&version).is_some_and(|version| version < GIT_MIN) {
            let (major, minor) = GIT_MIN;
            problems.push(format!("{version} is too old; install git {major}.{minor} or newer"));
            return Ok(problems);
        }
        if let Some(missing) = self.missing_objects(commit)? {
            problems.push(missing);
            return Ok(problems);
        }
        if self.read_ref("refs/forge")?.is_some() {
            problems.push(
                "the ref `refs/forge` is in the way of the refs that Forge keeps below it; give it \
                 another name with `git update-ref refs/other refs/forge && git update-ref -d refs/forge`"
                    .to_owned(),
            );
        }
        problems.extend(self.missing_submodules(commit)?);
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !has_program(&path, "git-lfs") && self.uses_lfs(commit)? {
            problems.push(
                "files are kept by Git LFS, and the program git-lfs is not installed; install it, \
                 then run `git lfs install` and `git lfs pull`"
                    .to_owned(),
            );
        }
        Ok(problems)
    }

    /// Finds files of the commit that a partial clone lacks.
    fn missing_objects(&self, commit: &str) -> Result<Option<String>, GitError> {
        if !UserConfig::read(None, &self.common_dir)?.is_partial_clone() {
            return Ok(None);
        }
        let git = self.git().args(["rev-list", "--objects", "--no-walk", "--missing=print"]);
        let output = git.arg(commit).arg("--").run()?;
        let n = output.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"?")).count();
        Ok((n > 0).then(|| {
            format!(
                "this is a partial clone, and {n} objects of the commit are not here; fetch them \
                 with `git archive {commit} > /dev/null`"
            )
        }))
    }

    fn missing_submodules(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let mut problems = Vec::new();
        let outermost =
            SourceRepository { git_dir: self.common_dir.clone(), top: self.top.clone() };
        let mut level = vec![(outermost, commit.to_owned())];
        for _ in 0..DEPTH_MAX {
            let mut next = Vec::new();
            for (owner, commit) in level {
                let listing = TreeListing::read(&owner.git_dir, &commit)?;
                for submodule in submodules::list(&owner, &commit, &listing)? {
                    match submodule.source {
                        SubmoduleSource::Here(inner) => next.push((inner, submodule.commit)),
                        SubmoduleSource::Missing => {
                            problems.push(missing_submodule(&submodule.path).to_string());
                        }
                        SubmoduleSource::Unnamed => {}
                    }
                }
            }
            level = next;
        }
        Ok(problems)
    }

    fn uses_lfs(&self, commit: &str) -> Result<bool, GitError> {
        for entry in TreeListing::read(&self.common_dir, commit)?.attributes() {
            let text = self.file_at(commit, &encode_path(&entry.name), ATTRIBUTES_BYTES_MAX);
            let text = text.unwrap_or_default().unwrap_or_default();
            let is_lfs = |line: &str| line.split_whitespace().any(|word| word == "filter=lfs");
            if String::from_utf8_lossy(&text).lines().any(is_lfs) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Reads `git version 2.47.3`.
fn parse_version(output: &str) -> Option<(u32, u32)> {
    let mut numbers = output.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn has_program(path: &OsStr, name: &str) -> bool {
    std::env::split_paths(path)
        .any(|folder: std::path::PathBuf| Path::new(&folder).join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_git_is_told_from_a_new_one() {
        assert_eq!(parse_version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(parse_version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert!(parse_version("git version 2.37.1").unwrap() < GIT_MIN);
        assert!(parse_version("git version 3.0.0").unwrap() > GIT_MIN);
        assert_eq!(parse_version("hello"), None);
    }

    #[test]
    fn a_program_is_found_in_any_folder_of_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::join_paths([Path::new("/nowhere"), folder.path()]).unwrap();
        assert!(!has_program(&path, "git-lfs"));
        std::fs::write(folder.path().join("git-lfs"), "").unwrap();
        assert!(has_program(&path, "git-lfs"));
    }
}
