//! Objects and refs of a repository, written without a git process: files, trees, commits, and what points to them.
//!
//! Objects are loose ones, written as git does it: a temporary file with a name that git's own cleaning knows, then the
//! right name. They are not compressed; git does that when it packs them. Where a repository is shared between
//! users by its settings, or keeps refs otherwise, git itself writes.
//!
//! Invariant: what is to outlast a loss of power is on the disk before its name or id is given to anybody.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::git::{
    command::Git,
    error::GitError,
    hex::Hex,
    object_reader::TreeEntry,
    user_config::{CommitIdentity, UserConfig},
};

/// Limit on one part of a compressed stream that is not compressed, in bytes.
const STORED_BYTES_MAX: usize = 0xffff;
/// The modulus of the checksum of a compressed stream.
const ADLER_MODULUS: u32 = 65_521;
/// How long another process may hold a ref. A lock that lasts longer is of a dead one.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What something that is written outlasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlasts {
    /// A loss of power: a fact will name it.
    PowerLoss,
    /// The end of this process: whoever needs it after a loss of power makes it again.
    Process,
}

/// How a repository keeps objects. It stays as it is while Forge works there.
#[derive(Clone, Copy)]
struct ObjectFormat {
    id_bytes: usize,
    /// Several users write into it, so that modes of files matter.
    is_shared: bool,
}

static FORMATS: Mutex<BTreeMap<PathBuf, ObjectFormat>> = Mutex::new(BTreeMap::new());

fn format_of(common_dir: &Path) -> Result<ObjectFormat, GitError> {
    let formats = || FORMATS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = formats().get(common_dir).copied() {
        return Ok(known);
    }
    let config = UserConfig::read(None, common_dir)?;
    let is_shared = config.get("core.sharedrepository").is_some();
    let format = ObjectFormat { id_bytes: config.object_bytes(), is_shared };
    formats().insert(common_dir.to_owned(), format);
    Ok(format)
}

/// Numbers the temporary files of this process.
static N_TEMPORARY: AtomicU32 = AtomicU32::new(0);

/// Writes a file, tree or commit, and returns its id.
pub(crate) fn write(
    common_dir: &Path,
    kind: &str,
    content: &[u8],
    outlasts: Outlasts,
) -> Result<String, GitError> {
    let format = format_of(common_dir)?;
    if format.is_shared {
        let git = with(Git::in_git_dir(common_dir), outlasts);
        let git = git.args(["hash-object", "-w", "--no-filters", "-t", kind, "--stdin"]);
        return git.input(content.to_vec()).run_line();
    }
    let header = format!("{kind} {}\0", content.len());
    let bytes = [header.as_bytes(), content].concat();
    let id = match format.id_bytes {
        32 => format!("{:x}", Hex(&Sha256::digest(&bytes))),
        _ => format!("{:x}", Hex(&Sha1::digest(&bytes))),
    };
    let path = common_dir.join("objects").join(&id[..2]).join(&id[2..]);
    write_loose(&path, &stored(&bytes), outlasts)
        .map_err(|error| refused("hash-object", &error))?;
    Ok(id)
}

fn with(git: Git, outlasts: Outlasts) -> Git {
    match outlasts {
        Outlasts::PowerLoss => git.durably(),
        Outlasts::Process => git,
    }
}

fn refused(command: &str, error: &io::Error) -> GitError {
    let command = format!("git {command}");
    GitError::Refused { command, code: None, message: error.to_string() }
}

fn write_loose(path: &Path, bytes: &[u8], outlasts: Outlasts) -> io::Result<()> {
    if let Ok(there) = File::open(path) {
        // Whoever wrote it may not have waited for the disk.
        return sync(&there, outlasts);
    }
    let folder = path.parent().expect("an object is in a folder");
    fs::create_dir_all(folder)?;
    let number = N_TEMPORARY.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!("tmp_obj_forge_{}_{number}", std::process::id()));
    let written = || {
        let mut file =
            File::options().write(true).create(true).truncate(true).mode(0o444).open(&temporary)?;
        file.write_all(bytes)?;
        sync(&file, outlasts)?;
        fs::rename(&temporary, path)
    };
    written().inspect_err(|_| {
        // What is left of it is cleaned by git.
        let _ = fs::remove_file(&temporary);
    })
}

fn sync(file: &File, outlasts: Outlasts) -> io::Result<()> {
    match outlasts {
        Outlasts::PowerLoss => file.sync_all(),
        Outlasts::Process => Ok(()),
    }
}

/// Returns a compressed stream in which nothing is compressed.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut parts = bytes.chunks(STORED_BYTES_MAX).peekable();
    while let Some(part) = parts.next() {
        stream.push(u8::from(parts.peek().is_none()));
        let length = u16::try_from(part.len()).expect("a part has a limit");
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(part);
    }
    let (mut low, mut high) = (1, 0);
    for byte in bytes {
        low = (low + u32::from(*byte)) % ADLER_MODULUS;
        high = (high + low) % ADLER_MODULUS;
    }
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

/// Returns a tree of these. The same entries give the same tree.
pub(crate) fn write_tree(
    common_dir: &Path,
    entries: &[&TreeEntry],
    outlasts: Outlasts,
) -> Result<String, GitError> {
    let mut sorted = entries.to_vec();
    // Git sorts folders as if their names ended with a slash.
    let key = |entry: &TreeEntry| {
        let end: &[u8] = if entry.kind == "tree" { b"/" } else { b"" };
        [&entry.name, end].concat()
    };
    sorted.sort_by_key(|entry| key(entry));
    let mut content = Vec::new();
    for entry in sorted {
        content.extend(entry.mode.trim_start_matches('0').as_bytes());
        content.push(b' ');
        content.extend(&entry.name);
        content.push(0);
        content.extend(id_bytes(&entry.object).ok_or_else(|| GitError::Unreadable {
            command: format!("git cat-file -t {}", entry.object),
        })?);
    }
    write(common_dir, "tree", &content, outlasts)
}

fn id_bytes(id: &str) -> Option<Vec<u8>> {
    let digit =
        |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    id.as_bytes()
        .chunks(2)
        .map(|pair| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?))
        .collect()
}

/// The content of a commit.
pub(crate) struct NewCommit<'a> {
    pub(crate) tree: &'a str,
    pub(crate) parents: &'a [String],
    pub(crate) identity: &'a CommitIdentity,
    /// When it is made, in milliseconds since 1970.
    pub(crate) when_ms: u64,
    /// Ends with a line end.
    pub(crate) message: &'a str,
}

/// Writes a commit. Nothing points to it yet.
pub(crate) fn write_commit(
    common_dir: &Path,
    commit: &NewCommit<'_>,
    outlasts: Outlasts,
) -> Result<String, GitError> {
    let [author, committer] = [commit.identity.author(), commit.identity.committer()].map(person);
    let (Some(author), Some(committer)) = (author, committer) else {
        let git = commit.identity.sign(with(Git::in_git_dir(common_dir), outlasts), commit.when_ms);
        let git = git.args(["commit-tree", "--no-gpg-sign", commit.tree]);
        let git = commit.parents.iter().fold(git, |git, parent| git.arg("-p").arg(parent));
        return git.args(["-F", "-"]).input(commit.message.as_bytes().to_vec()).run_line();
    };
    let parents: Vec<String> =
        commit.parents.iter().map(|parent| format!("parent {parent}\n")).collect();
    let when = commit.when_ms / 1_000;
    let content = format!(
        "tree {}\n{}author {author} {when} +0000\ncommitter {committer} {when} +0000\n\n{}",
        commit.tree,
        parents.concat(),
        commit.message
    );
    write(common_dir, "commit", content.as_bytes(), outlasts)
}

/// Returns a person as git writes one. What it would leave out differs between its versions, so a name with any of it is git's.
fn person((name, email): (&str, &str)) -> Option<String> {
    let is_crud = |c: char| c <= ' ' || ".,:;<>\"\\'".contains(c);
    let is_plain = |text: &str| {
        !text.contains(['\n', '<', '>']) && !text.starts_with(is_crud) && !text.ends_with(is_crud)
    };
    (!name.is_empty() && is_plain(name) && is_plain(email)).then(|| format!("{name} <{email}>"))
}

/// Writes a ref, whatever it was. False if git has to do that.
pub(crate) fn write_ref(
    common_dir: &Path,
    name: &str,
    id: &str,
    outlasts: Outlasts,
) -> Result<bool, GitError> {
    if common_dir.join("reftable").exists() || format_of(common_dir)?.is_shared {
        return Ok(false);
    }
    let path = common_dir.join(name);
    let mut lock = path.clone().into_os_string();
    lock.push(".lock");
    let written = with_lock(&path, &PathBuf::from(lock), |file, lock| {
        file.write_all(format!("{id}\n").as_bytes())?;
        sync(file, outlasts)?;
        fs::rename(lock, &path)
    });
    written.map(|()| true).map_err(|error| refused(&format!("update-ref {name}"), &error))
}

/// Does something with the lock of a ref. Below `refs/forge/` only we write, so a lock that outlasts our patience is of a process
/// that was killed.
fn with_lock(
    path: &Path,
    lock: &Path,
    write: impl FnOnce(&mut File, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().expect("a ref is in a folder");
    let until = Instant::now() + LOCK_PATIENCE;
    let mut file = loop {
        fs::create_dir_all(folder)?;
        match File::options().write(true).create_new(true).open(lock) {
            Ok(file) => break file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if Instant::now() > until {
                    // Somebody else may have seen that, too.
                    let _ = fs::remove_file(lock);
                }
                thread::sleep(LOOK_EVERY);
            }
            // Git has packed the refs, and removed the folder that was empty then.
            Err(error) if error.kind() == ErrorKind::NotFound && Instant::now() < until => {}
            Err(error) => return Err(error),
        }
    };
    write(&mut file, lock).inspect_err(|_| {
        let _ = fs::remove_file(lock);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object_reader;

    fn repository(format: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::in_folder(folder.path());
        git.args(["init", "--quiet", &format!("--object-format={format}")]).run().unwrap();
        let git_dir = folder.path().join(".git");
        (folder, git_dir)
    }

    fn git(git_dir: &Path, args: &[&str], input: &[u8]) -> String {
        Git::in_git_dir(git_dir).args(args).input(input.to_vec()).run_line().unwrap()
    }

    #[test]
    fn what_is_written_is_what_git_would_have_written() {
        for format in ["sha1", "sha256"] {
            let (_folder, git_dir) = repository(format);
            let large = vec![b'x'; 200_000];
            for content in [&b""[..], b"a\n", &large] {
                let id = write(&git_dir, "blob", content, Outlasts::Process).unwrap();
                assert_eq!(id, git(&git_dir, &["hash-object", "--stdin"], content));
                assert_eq!(object_reader::blob(&git_dir, &id, u64::MAX).unwrap().unwrap(), content);
            }
            let blob = write(&git_dir, "blob", b"a\n", Outlasts::PowerLoss).unwrap();
            let entry = |mode: &str, kind: &str, object: &str, name: &str| TreeEntry {
                mode: mode.into(),
                kind: kind.into(),
                object: object.into(),
                name: name.into(),
            };
            let inner = entry("100755", "blob", &blob, "x");
            let inner = write_tree(&git_dir, &[&inner], Outlasts::PowerLoss).unwrap();
            // `a.b` comes before the folder `a`, and `a0` behind it.
            let entries = [
                entry("040000", "tree", &inner, "a"),
                entry("100644", "blob", &blob, "a0"),
                entry("120000", "blob", &blob, "a.b"),
            ];
            let tree = write_tree(&git_dir, &entries.each_ref(), Outlasts::PowerLoss).unwrap();
            let listed: Vec<u8> = entries.iter().flat_map(TreeEntry::line).collect();
            assert_eq!(tree, git(&git_dir, &["mktree", "-z"], &listed));
            git(&git_dir, &["fsck", "--strict"], b"");
        }
    }

    #[test]
    fn commits_are_those_of_git_whoever_makes_them() {
        let (folder, git_dir) = repository("sha1");
        let tree = write_tree(&git_dir, &[], Outlasts::Process).unwrap();
        for name in ["Ada", "Ada <the first>.", "  \"Ada\" L. ", "Ädä\nLovelace", "A, B & C;"] {
            for email in ["a@b", "<a@b>", " x ", ""] {
                let config = format!("[user]\nname = {name:?}\nemail = {email:?}\n");
                fs::write(git_dir.join("config"), config).unwrap();
                let identity = UserConfig::read(Some(folder.path()), &git_dir).unwrap().identity();
                let (when_ms, message) = (1_700_000_000_999, "Words\n\nand more: ü\n");
                let parents: &[String] = &[];
                let new = NewCommit { tree: &tree, parents, identity: &identity, when_ms, message };
                let id = write_commit(&git_dir, &new, Outlasts::PowerLoss).unwrap();
                let theirs = identity.sign(Git::in_git_dir(&git_dir), when_ms);
                let theirs = theirs.args(["commit-tree", &tree, "-F", "-"]);
                let theirs = theirs.input(message.as_bytes().to_vec()).run_line().unwrap();
                assert_eq!(id, theirs, "{name:?} {email:?}");
                let parents = std::slice::from_ref(&id);
                let next = write_commit(&git_dir, &NewCommit { parents, ..new }, Outlasts::Process);
                let read = object_reader::commit(&git_dir, &next.unwrap()).unwrap();
                assert_eq!(read.parents, [id]);
            }
        }
    }

    #[test]
    fn a_ref_is_written_whatever_was_there_and_also_where_somebody_was_killed_while_writing_it() {
        let (_folder, git_dir) = repository("sha1");
        let tree = write_tree(&git_dir, &[], Outlasts::Process).unwrap();
        let read = |name: &str| git(&git_dir, &["rev-parse", name], b"");
        let other = write(&git_dir, "blob", b"x", Outlasts::Process).unwrap();
        for (name, id) in [("refs/forge/r/1", &tree), ("refs/forge/r/1", &other)] {
            assert!(write_ref(&git_dir, name, id, Outlasts::PowerLoss).unwrap());
            assert_eq!(read(name), *id);
        }
        fs::write(git_dir.join("refs/forge/r/1.lock"), "half").unwrap();
        assert!(write_ref(&git_dir, "refs/forge/r/1", &tree, Outlasts::Process).unwrap());
        assert_eq!(read("refs/forge/r/1"), tree);
        assert!(!git_dir.join("refs/forge/r/1.lock").exists());
        git(&git_dir, &["pack-refs", "--all"], b"");
        assert!(write_ref(&git_dir, "refs/forge/r/1", &other, Outlasts::Process).unwrap());
        assert_eq!(read("refs/forge/r/1"), other);
        // A name that cannot be, because another one is in its way.
        assert!(write_ref(&git_dir, "refs/forge/r/1/2", &tree, Outlasts::Process).is_err());
    }

    #[test]
    fn in_a_repository_that_users_share_git_itself_writes() {
        let (_folder, git_dir) = repository("sha1");
        fs::write(git_dir.join("config"), "[core]\nsharedRepository = group\n").unwrap();
        let id = write(&git_dir, "blob", b"shared\n", Outlasts::PowerLoss).unwrap();
        assert_eq!(git(&git_dir, &["cat-file", "-p", &id], b""), "shared");
        let path = git_dir.join("objects").join(&id[..2]).join(&id[2..]);
        assert!(fs::read(path).unwrap().len() != stored(b"blob 7\0shared\n").len());
        assert!(!write_ref(&git_dir, "refs/forge/x", &id, Outlasts::Process).unwrap());
    }
}
