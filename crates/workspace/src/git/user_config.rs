//! The user's git settings, as far as they shape content: identity, line ends, filters, ignores.
//!
//! They are read from the user's repository, where conditions on its folder hold, and written into
//! our own git folders. Settings that run things (hooks, monitors, signing) and those with
//! passwords (remotes, credentials) are never taken over.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::git::{
    command::{Git, nul_separated},
    error::GitError,
    path_names::below,
};

/// Sections that are taken over whole.
const SECTIONS: &[&str] = &["user", "author", "committer", "filter", "merge"];

/// Single settings that are taken over.
const KEYS: &[&str] = &[
    "core.attributesfile",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkroundtripencoding",
    "core.compression",
    "core.eol",
    "core.excludesfile",
    "core.loosecompression",
    "core.sharedrepository",
    "core.whitespace",
    "lfs.fetchexclude",
    "lfs.fetchinclude",
];

/// The name that commits carry when the user has set none.
const NAME: &str = "Forge";
/// The address that commits carry when the user has set none.
const EMAIL: &str = "forge@localhost";

/// One setting: its whole key, and its value, if it has one.
type ConfigEntry = (Vec<u8>, Option<Vec<u8>>);

/// The user's settings.
#[derive(Debug)]
pub(crate) struct UserConfig {
    all: Vec<ConfigEntry>,
    lfs_storage: Option<Vec<u8>>,
}

/// Author and committer of a commit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommitIdentity {
    author: (String, String),
    committer: (String, String),
}

impl UserConfig {
    /// Returns those that hold in the user's checkout, or in the repository if it is bare.
    pub(crate) fn read(top: Option<&Path>, git_dir: &Path) -> Result<Self, GitError> {
        // The user may have removed the checkout meanwhile.
        let top = top.filter(|top| top.is_dir());
        let all = listed(top, git_dir)?;
        let store = git_dir.join("lfs");
        let lfs_storage = store.is_dir().then(|| store.as_os_str().as_bytes().to_vec());
        let mut settings = Self { all, lfs_storage };
        if let Some(path) = settings.get("lfs.storage") {
            // Git LFS takes a relative path as relative to the git folder.
            let path = below(git_dir, path.as_bytes());
            settings.lfs_storage = Some(path.as_os_str().as_bytes().to_vec());
        }
        Ok(settings)
    }

    /// Returns the value that holds, if it is text.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let last = self.all.iter().rev().find(|(known, _)| known == key.as_bytes());
        last.and_then(|(_, value)| str::from_utf8(value.as_ref()?).ok())
    }

    /// Returns the files of a person for all repositories that say what is ignored, and how files are written.
    pub(crate) fn shared_files(&self) -> Vec<PathBuf> {
        let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.unwrap_or_else(|| home.join(".config")).join("git");
        let file = |key: &str, usual: &str| match self.get(key) {
            Some(path) => match path.strip_prefix("~/") {
                Some(inside) => home.join(inside),
                None => PathBuf::from(path),
            },
            None => config.join(usual),
        };
        vec![file("core.excludesfile", "ignore"), file("core.attributesfile", "attributes")]
    }

    /// Returns true if files may be written or read by programs of the person's (git-lfs).
    pub(crate) fn has_filters(&self) -> bool {
        self.all.iter().any(|(key, _)| key.starts_with(b"filter."))
    }

    /// Returns true if commit hooks are not where git looks by itself.
    pub(crate) fn has_hooks_path(&self) -> bool {
        // Git is asked about settings with one of ours.
        let is_theirs = |value: &Option<Vec<u8>>| value.as_deref() != Some(b"/dev/null");
        self.all.iter().any(|(key, value)| key == b"core.hookspath" && is_theirs(value))
    }

    /// Returns the length of the ids of objects, in bytes.
    pub(crate) fn object_bytes(&self) -> usize {
        if self.get("extensions.objectformat") == Some("sha256") { 32 } else { 20 }
    }

    /// Returns true if some objects of the repository may be elsewhere.
    pub(crate) fn is_partial_clone(&self) -> bool {
        self.all.iter().any(|(key, _)| {
            key == b"extensions.partialclone"
                || (key.starts_with(b"remote.") && key.ends_with(b".promisor"))
        })
    }

    /// Returns author and committer of Forge's commits.
    pub(crate) fn identity(&self) -> CommitIdentity {
        let person = |role: &str| {
            let value = |key: &str, fallback: &str| {
                let own =
                    self.get(&format!("{role}.{key}")).filter(|value| !value.trim().is_empty());
                let common =
                    || self.get(&format!("user.{key}")).filter(|value| !value.trim().is_empty());
                own.or_else(common).unwrap_or(fallback).to_owned()
            };
            (value("name", NAME), value("email", EMAIL))
        };
        CommitIdentity { author: person("author"), committer: person("committer") }
    }

    /// Returns the text of a configuration file for one of our own git folders.
    pub(crate) fn text(&self, overrides: &[(&str, &[u8])]) -> Vec<u8> {
        let mut text = Vec::new();
        let mut add = |key: &[u8], value: Option<&[u8]>| {
            let mut line = |bytes: &[u8]| text.extend_from_slice(bytes);
            let Some(first) = key.iter().position(|byte| *byte == b'.') else { return };
            let last = key.iter().rposition(|byte| *byte == b'.').unwrap_or(first);
            line(b"[");
            line(&key[..first]);
            if last > first {
                line(b" ");
                line(&in_quotes(&key[first + 1..last]));
            }
            line(b"]\n\t");
            line(&key[last + 1..]);
            if let Some(value) = value {
                line(b" = ");
                line(&in_quotes(value));
            }
            line(b"\n");
        };
        let version: &[u8] =
            if self.get("extensions.objectformat").is_some() { b"1" } else { b"0" };
        add(b"core.repositoryformatversion", Some(version));
        if let Some(format) = self.get("extensions.objectformat") {
            add(b"extensions.objectformat", Some(format.as_bytes()));
        }
        for (key, value) in self.all.iter().filter(|(key, _)| is_taken_over(key)) {
            add(key, value.as_deref());
        }
        if let Some(storage) = &self.lfs_storage {
            add(b"lfs.storage", Some(storage));
        }
        for (key, value) in [("core.bare", "false"), ("core.filemode", "true")] {
            add(key.as_bytes(), Some(value.as_bytes()));
        }
        if cfg!(target_os = "macos") {
            add(b"core.ignorecase", Some(b"true"));
            add(b"core.precomposeunicode", Some(b"true"));
        }
        for (key, value) in overrides {
            add(key.as_bytes(), Some(value));
        }
        text
    }
}

/// A listing of this process, and the files that it follows from.
struct KnownListing {
    files: Vec<(PathBuf, Option<FileStamp>)>,
    all: Vec<ConfigEntry>,
}

/// What tells a version of a file from another one: device, inode, length, and when its content and its metadata changed.
type FileStamp = (u64, u64, u64, i64, i64, i64, i64);

static LISTINGS: Mutex<BTreeMap<PathBuf, KnownListing>> = Mutex::new(BTreeMap::new());

/// Lists all settings; git is asked again once a file has changed that it found some in, or one where it looks.
fn listed(top: Option<&Path>, git_dir: &Path) -> Result<Vec<ConfigEntry>, GitError> {
    let place = top.unwrap_or(git_dir);
    let listings = || LISTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = listings().get(place)
        && known.files.iter().all(|(file, before)| stamp(file) == *before)
    {
        return Ok(known.all.clone());
    }
    let usual = usual_files(git_dir).into_iter().map(stamped).collect::<Vec<_>>();
    let git = top.map_or_else(|| Git::in_git_dir(git_dir), Git::in_folder);
    let output = git.args(["config", "--list", "-z", "--show-origin"]).run()?;
    let (mut all, mut origins) = (Vec::new(), BTreeSet::new());
    let mut parts = nul_separated(&output);
    while let (Some(origin), Some(part)) = (parts.next(), parts.next()) {
        // The others are what this call of git was given.
        origins.extend(origin.strip_prefix(b"file:").map(<[u8]>::to_vec));
        all.push(match part.iter().position(|byte| *byte == b'\n') {
            Some(end) => (part[..end].to_vec(), Some(part[end + 1..].to_vec())),
            None => (part.to_vec(), None),
        });
    }
    // What is included may not be there yet, or depend on more than files; a worktree has settings elsewhere.
    let is_elsewhere =
        |key: &[u8]| key.starts_with(b"include") || key == b"extensions.worktreeconfig";
    if !all.iter().any(|(key, _)| is_elsewhere(key)) {
        let origins = origins.iter().map(|name| stamped(below(place, name)));
        let files = usual.into_iter().chain(origins).collect();
        listings().insert(place.to_owned(), KnownListing { files, all: all.clone() });
    }
    Ok(all)
}

/// The files where git looks for settings, whether they are there or not.
fn usual_files(git_dir: &Path) -> Vec<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let home = |name: &str| variable("HOME").map(|home| home.join(name));
    let files = [
        Some(git_dir.join("config")),
        Some(git_dir.join("config.worktree")),
        variable("GIT_CONFIG_GLOBAL").or_else(|| home(".gitconfig")),
        variable("XDG_CONFIG_HOME").map(|folder| folder.join("git/config")),
        home(".config/git/config"),
        variable("GIT_CONFIG_SYSTEM").or_else(|| Some(PathBuf::from("/etc/gitconfig"))),
    ];
    files.into_iter().flatten().collect()
}

fn stamped(file: PathBuf) -> (PathBuf, Option<FileStamp>) {
    let stamp = stamp(&file);
    (file, stamp)
}

fn stamp(file: &Path) -> Option<FileStamp> {
    let found = fs::metadata(file).ok()?;
    let (content, metadata) =
        ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    Some((found.dev(), found.ino(), found.len(), content.0, content.1, metadata.0, metadata.1))
}

impl CommitIdentity {
    /// Lets a call of git commit as this person, at this time.
    pub(crate) fn sign(&self, git: Git, when_ms: u64) -> Git {
        self.variables(when_ms).into_iter().fold(git, |git, (name, value)| git.env(name, value))
    }

    /// Returns the variables that say who commits, and when.
    pub(crate) fn variables(&self, when_ms: u64) -> [(&'static str, String); 6] {
        let date = format!("@{} +0000", when_ms / 1000);
        [
            ("GIT_AUTHOR_NAME", self.author.0.clone()),
            ("GIT_AUTHOR_EMAIL", self.author.1.clone()),
            ("GIT_AUTHOR_DATE", date.clone()),
            ("GIT_COMMITTER_NAME", self.committer.0.clone()),
            ("GIT_COMMITTER_EMAIL", self.committer.1.clone()),
            ("GIT_COMMITTER_DATE", date),
        ]
    }

    /// Returns the one of commits that are nobody's.
    pub(crate) fn forge() -> Self {
        let forge = || (NAME.to_owned(), EMAIL.to_owned());
        Self { author: forge(), committer: forge() }
    }

    /// Returns name and address of the author.
    pub(crate) fn author(&self) -> (&str, &str) {
        (&self.author.0, &self.author.1)
    }

    /// Returns name and address of the committer.
    pub(crate) fn committer(&self) -> (&str, &str) {
        (&self.committer.0, &self.committer.1)
    }
}

fn is_taken_over(key: &[u8]) -> bool {
    let section = key.split(|byte| *byte == b'.').next().unwrap_or_default();
    SECTIONS.iter().any(|known| known.as_bytes() == section)
        || KEYS.iter().any(|known| known.as_bytes() == key)
}

fn in_quotes(value: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in value {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(b"\\n"),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> UserConfig {
        let pair = |(key, value): &(&str, &str)| (key.as_bytes().to_vec(), Some((*value).into()));
        UserConfig { all: pairs.iter().map(pair).collect(), lfs_storage: None }
    }

    #[test]
    fn git_reads_what_we_write() {
        let odd = "a \"b\" \\ # ; \n c ";
        let user = settings(&[("filter.A \"b\\.c.clean", odd), ("remote.origin.url", "secret")]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        fs::write(&file, user.text(&[("core.worktree", b"/x")])).unwrap();
        let git = Git::in_folder(folder.path()).args(["config", "--list", "-z", "--file"]);
        let output = String::from_utf8(git.arg(&file).run().unwrap()).unwrap();
        assert!(output.contains(&format!("filter.A \"b\\.c.clean\n{odd}\0")), "{output}");
        assert!(output.contains("core.worktree\n/x\0"), "{output}");
        assert!(!output.contains("secret"), "{output}");
    }

    #[test]
    fn a_change_of_any_file_with_settings_is_seen_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| Git::in_folder(folder.path()).args(args).run().unwrap();
        git(&["init", "--quiet"]);
        let git_dir = folder.path().join(".git");
        let name = || {
            let settings = UserConfig::read(Some(folder.path()), &git_dir).unwrap();
            settings.get("user.name").map(str::to_owned)
        };
        git(&["config", "user.name", "One"]);
        assert_eq!(name().as_deref(), Some("One"));
        assert_eq!(name().as_deref(), Some("One"), "it is remembered");
        let other = folder.path().join("other");
        fs::write(&other, "[user]\nname = Two\n").unwrap();
        git(&["config", "include.path", other.to_str().unwrap()]);
        assert_eq!(name().as_deref(), Some("Two"));
        fs::write(&other, "[user]\nname = Six\n").unwrap();
        assert_eq!(
            name().as_deref(),
            Some("Six"),
            "of the same length, in a file that is included"
        );
    }

    #[test]
    fn an_author_of_its_own_goes_before_the_user() {
        let user = settings(&[("user.name", "U"), ("user.email", "u@x"), ("author.name", "A")]);
        assert_eq!(user.identity().author, ("A".to_owned(), "u@x".to_owned()));
        assert_eq!(user.identity().committer, ("U".to_owned(), "u@x".to_owned()));
        let nobody = settings(&[("user.name", " ")]).identity();
        assert_eq!(nobody.author, ("Forge".to_owned(), "forge@localhost".to_owned()));
    }
}
