//! Where the layers of the settings come from: files, the environment, flags.
//!
//! Here texts are gathered, and nothing is understood; `layers.rs` reads them. The repository's
//! layer is handed in by whoever knows the base commit, because a run never takes settings from
//! below a workspace.
//!
//! Invariant: a text here is UTF-8 and at most [`FILE_BYTES_MAX`] long.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use forge_agents::models::ModelList;
use forge_workspace::Repository;

use crate::{Error, bounded_read::read_text, personal_dirs};

/// The most bytes of a settings file.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The project's settings, at the top of the repository.
pub const FILE: &str = "forge.toml";
/// One person's overrides in one checkout. Never in git.
pub const LOCAL_FILE: &str = "forge.local.toml";
/// One person's settings for all repositories, in Forge's configuration folder.
pub const USER_FILE: &str = "config.toml";

/// Variables that Forge gives to its own processes, to agents and to notifiers, and those for the terminal: a pager,
/// and no motion. They set nothing.
const INNER: &[&str] = &[
    "FORGE_INBOX",
    "FORGE_OUTBOX",
    "FORGE_CALL",
    "FORGE_ROLE",
    "FORGE_MODEL",
    "FORGE_TURN",
    "FORGE_ATTEMPT_DIR",
    "FORGE_NOTIFY_RUN",
    "FORGE_NOTIFY_KIND",
    "FORGE_NOTIFY_MESSAGE",
    "FORGE_NOTIFY_NEXT",
    "FORGE_NOTIFY_REPO",
    "FORGE_NOTIFY_AT",
    "FORGE_PAGER",
    "FORGE_MOTION",
];

/// The texts of all layers, unparsed.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The user's settings for all repositories.
    pub user: Option<SourceFile>,
    /// The repository's, as it is in the base commit.
    pub repo: Option<SourceFile>,
    /// One person's, in this checkout.
    pub local: Option<SourceFile>,
    /// Whose the local file is.
    pub local_is: LocalFile,
    /// The top of the checkout in which the person works. Their relative programs start there.
    pub top: Option<PathBuf>,
    /// Variables that begin with `FORGE_`.
    pub environment: Vec<(String, String)>,
    /// Variables that say which models an agent has.
    pub models: Vec<(String, String)>,
    /// Keys and values that were given on the command line, the last one counts.
    pub flags: Vec<(String, String)>,
}

/// The text of one settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// How it is called when something about it is said.
    pub name: String,
    pub text: String,
}

/// The owner of `forge.local.toml`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalFile {
    /// The person's own.
    #[default]
    Personal,
    /// Git has it: it came with the repository, whatever its name says.
    InGit,
}

impl SourceFile {
    /// Returns a file that was read from git, byte for byte.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Error> {
        let name = name.into();
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let what = format!("{name} is larger than {FILE_BYTES_MAX} bytes");
            return Err(Error::usage(what, "make it smaller"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = before.split(|byte| *byte == b'\n').count();
                let what = format!("{name}, line {line}: it is not UTF-8 text");
                Err(Error::usage(what, "save it as UTF-8, then run the same command again"))
            }
        }
    }

    /// Returns a file on the disk, if there is one.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        let text = read_text(path, FILE_BYTES_MAX)?;
        Ok(text.map(|text| Self { name: path.display().to_string(), text }))
    }
}

impl Sources {
    /// Returns all layers of a checkout, with `forge.toml` as it is there.
    pub(super) fn read(top: Option<&Path>) -> Result<Self, Error> {
        let mut sources = Self::personal(top)?;
        if let Some(top) = top {
            sources.repo = SourceFile::read(&top.join(FILE))?;
        }
        Ok(sources)
    }

    /// Returns the layers that belong to a person: the user's file, the local file of a checkout, and the
    /// environment. Without a home there is no user's file.
    pub fn personal(top: Option<&Path>) -> Result<Self, Error> {
        let user = match personal_dirs::config_dir() {
            Ok(dir) => SourceFile::read(&dir.join(USER_FILE))?,
            Err(_) => None,
        };
        let local = match top {
            Some(top) => SourceFile::read(&top.join(LOCAL_FILE))?,
            None => None,
        };
        let local_is = match (top, &local) {
            (Some(top), Some(_)) => local_file(top),
            (Some(_) | None, Some(_) | None) => LocalFile::Personal,
        };
        let environment = variables(std::env::vars_os())?;
        let top = top.map(Path::to_owned);
        let set = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
        let models = ModelList::shipped().variables().filter_map(set).collect();
        let flags = Vec::new();
        Ok(Self { user, repo: None, local, local_is, top, environment, models, flags })
    }
}

/// Returns the variables that are meant for the settings.
fn variables(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, Error> {
    let mut variables = Vec::new();
    for (name, value) in all {
        let name = name.to_string_lossy();
        if !name.starts_with("FORGE_") || INNER.contains(&name.as_ref()) {
            continue;
        }
        let value = value.into_string().map_err(|_| {
            let what = format!("the variable {name} is not UTF-8 text");
            Error::usage(what, format!("unset {name}, or correct it"))
        })?;
        variables.push((name.into_owned(), value));
    }
    variables.sort();
    Ok(variables)
}

/// Asks git whose the local file is. If git cannot say, it is not taken for the person's own:
/// commands of a file that came with the repository are approved first.
fn local_file(top: &Path) -> LocalFile {
    if Repository::is_tracked(top, LOCAL_FILE) { LocalFile::InGit } else { LocalFile::Personal }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::ffi::OsStringExt as _, process::Command};

    use super::*;

    fn given(name: &str, value: &[u8]) -> Result<Vec<(String, String)>, Error> {
        variables([(name.into(), OsString::from_vec(value.to_vec()))].into_iter())
    }

    #[test]
    fn variables_of_our_own_processes_set_nothing() {
        for name in INNER.iter().copied().chain(["PATH", "forge_agent"]) {
            assert_eq!(given(name, b"x").unwrap(), [], "{name}");
        }
        for name in ["FORGE_AGENT", "FORGE_INBOXES", "FORGE_"] {
            assert_eq!(given(name, b"x").unwrap().len(), 1, "{name}");
        }
    }

    #[test]
    fn a_variable_that_is_no_text_is_refused_by_name() {
        let error = given("FORGE_AGENT", b"caf\xe9").unwrap_err();
        assert!(error.what.contains("FORGE_AGENT is not UTF-8"), "{error}");
        assert_eq!(given("PATH", b"caf\xe9").unwrap(), []);
    }

    #[test]
    fn bytes_from_git_are_text_of_a_size() {
        let file = |bytes: Vec<u8>| SourceFile::from_bytes("forge.toml", bytes);
        assert_eq!(file(b"a = 1".to_vec()).unwrap().text, "a = 1");
        let most = usize::try_from(FILE_BYTES_MAX).unwrap();
        assert!(file(vec![b'#'; most]).is_ok());
        let error = file(vec![b'#'; most + 1]).unwrap_err();
        assert!(error.what.contains("forge.toml is larger than 1048576 bytes"), "{error}");
        let error = file(b"a\nb\xe9\n".to_vec()).unwrap_err();
        assert!(error.what.contains("forge.toml, line 2: it is not UTF-8"), "{error}");
    }

    #[test]
    fn a_local_file_that_git_has_is_not_the_persons_own() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        let git = |args: &[&str]| {
            assert!(Command::new("git").arg("-C").arg(top).args(args).status().unwrap().success());
        };
        git(&["init", "--quiet"]);
        fs::write(top.join(LOCAL_FILE), "").unwrap();
        assert_eq!(local_file(top), LocalFile::Personal);
        git(&["add", LOCAL_FILE]);
        assert_eq!(local_file(top), LocalFile::InGit);
        assert_eq!(local_file(&top.join("nowhere")), LocalFile::InGit, "git cannot say");
    }
}
