//! Objects of a repository, read through one git process that stays (`git cat-file --batch-command`).
//!
//! What an object with a full id says never changes, so trees are remembered. What the process cannot answer (a name,
//! a missing object, a huge one) is asked of a git of its own, which also says why not.
//!
//! Chosen over a library that reads the object store itself: git knows packs, alternates, promisors and formats
//! of objects; a library adds minutes to a build, and a second opinion on them.
//!
//! Invariant: the process has the mark of no job, so that no sweep of one ends it; it ends with us.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use crate::git::{
    command::Git,
    error::GitError,
    hex::Hex,
    job,
    path_names::{self, object_id, parent},
};

/// Larger objects are left to a git of their own, in bytes.
const OBJECT_BYTES_MAX: u64 = 64 << 20;
/// Longer histories are left to git, in commits.
const HISTORY_MAX: usize = 64;
/// Limit on the entries of all trees that are remembered; then all are forgotten.
const ENTRIES_MAX: usize = 400_000;

/// The bits of a mode that say what an entry is, and those of folders and submodules.
const TYPE_BITS: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const SUBMODULE: u32 = 0o160_000;
const LINK: u32 = 0o120_000;
const OWNER_RUN: u32 = 0o100;
const MODE_MAX: u32 = 0o177_777;

/// The readers of this process, by git folder.
static READERS: Mutex<BTreeMap<PathBuf, Arc<Mutex<Reader>>>> = Mutex::new(BTreeMap::new());

/// One file, link, submodule or folder.
#[derive(Clone, Debug)]
pub(crate) struct TreeEntry {
    /// `100644` and the like.
    pub(crate) mode: String,
    /// `blob`, `tree` or `commit`.
    pub(crate) kind: String,
    /// The object.
    pub(crate) object: String,
    /// The path, or in one folder the name.
    pub(crate) name: Vec<u8>,
}

impl TreeEntry {
    /// Returns true for the commit of another repository.
    pub(crate) fn is_submodule(&self) -> bool {
        self.kind == "commit"
    }

    /// Returns the entry as `git ls-tree -z` prints it, and `git update-index --index-info` reads it.
    pub(crate) fn line(&self) -> Vec<u8> {
        let start = format!("{} {} {}\t", self.mode, self.kind, self.object);
        [start.as_bytes(), &self.name, b"\0"].concat()
    }
}

/// Everything in a commit or tree, at any depth.
#[derive(Debug)]
pub(crate) struct TreeListing {
    /// Files, links and submodules.
    pub(crate) entries: Vec<TreeEntry>,
    folders: HashSet<Vec<u8>>,
}

impl TreeListing {
    /// Returns everything in a commit or tree.
    pub(crate) fn read(git_dir: &Path, at: &str) -> Result<Self, GitError> {
        let entries = files(git_dir, at, b"")?;
        let mut folders = HashSet::new();
        for entry in &entries {
            let mut folder = parent(&entry.name);
            while folders.insert(folder.to_vec()) {
                folder = parent(folder);
            }
        }
        Ok(Self { entries, folders })
    }

    /// Returns true if it has an entry below this folder; `""` is the top.
    pub(crate) fn has_below(&self, folder: &[u8]) -> bool {
        folder.is_empty() || self.folders.contains(folder)
    }

    /// Returns true if it has this file, link or submodule.
    pub(crate) fn has_file(&self, path: &[u8]) -> bool {
        self.entries.iter().any(|entry| entry.name == path)
    }

    /// Returns the files that say how other files are written.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = &TreeEntry> {
        self.entries.iter().filter(|entry| is_attributes(&entry.name))
    }
}

/// Returns true for a file that defines how other files are written.
pub(crate) fn is_attributes(path: &[u8]) -> bool {
    path == b".gitattributes" || path.ends_with(b"/.gitattributes")
}

/// The fields of a commit, and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitObject {
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    /// When it was made, in seconds since 1970.
    pub(crate) committed_at: u64,
    /// None if it is not in UTF-8.
    pub(crate) message: Option<String>,
    bytes: Vec<u8>,
}

impl CommitObject {
    /// Returns the bytes of the same commit with another parent: tree, words, author and dates stay, signatures go.
    pub(crate) fn with_parent(&self, parent: &str) -> Vec<u8> {
        let end = header_end(&self.bytes);
        let (header, rest) = self.bytes.split_at(end);
        let mut bytes = format!("tree {}\nparent {parent}\n", self.tree).into_bytes();
        for line in header.split(|byte| *byte == b'\n') {
            if [&b"author "[..], b"committer ", b"encoding "]
                .iter()
                .any(|key| line.starts_with(key))
            {
                bytes.extend([line, b"\n"].concat());
            }
        }
        bytes.extend(rest.strip_prefix(b"\n").unwrap_or(rest));
        bytes
    }
}

/// Returns where the header of a commit ends: before the empty line.
fn header_end(bytes: &[u8]) -> usize {
    bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len())
}

/// Ends the processes that read for this one, before it ends itself: nobody is left when a command returns.
pub fn end_readers() {
    let readers = std::mem::take(&mut *READERS.lock().unwrap_or_else(PoisonError::into_inner));
    for reader in readers.values() {
        // One that is in use ends by itself, when its input is closed.
        if let Ok(mut reader) = reader.try_lock() {
            reader.end();
        }
    }
}

/// Reads a commit.
pub(crate) fn commit(git_dir: &Path, name: &str) -> Result<CommitObject, GitError> {
    let bytes = read(git_dir, name, "commit")?;
    parse_commit(&bytes)
        .ok_or_else(|| GitError::Unreadable { command: format!("git cat-file commit {name}") })
}

/// Whether a commit is in the history of another one, or that itself; none if that takes longer to find out.
pub(crate) fn is_ancestor(git_dir: &Path, of: &str, commit_id: &str) -> Option<bool> {
    let (of, first) = (peel(git_dir, of, "commit")?, object_id(commit_id)?);
    let (mut seen, mut open) = (HashSet::new(), VecDeque::from([first]));
    while let Some(id) = open.pop_front() {
        if id == of {
            return Some(true);
        }
        if seen.len() == HISTORY_MAX {
            return None;
        }
        // Where a shallow clone ends, git knows more.
        let parents = lock(&reader(git_dir)).object(git_dir, &id, "commit")?;
        open.extend(
            parse_commit(&parents)?.parents.into_iter().filter(|id| seen.insert(id.clone())),
        );
    }
    Some(false)
}

/// Returns the full id of the commit or tree that a full id leads to; none if there is none.
pub(crate) fn peel(git_dir: &Path, id: &str, kind: &str) -> Option<String> {
    let id = object_id(id)?;
    let reader = reader(git_dir);
    let answer = lock(&reader).answer(git_dir, &format!("info {id}^{{{kind}}}"), kind);
    answer.map(|(id, _)| id)
}

/// Reads the direct entries of a commit or tree.
pub(crate) fn tree(git_dir: &Path, name: &str) -> Result<Arc<Vec<TreeEntry>>, GitError> {
    let id = peel(git_dir, name, "tree");
    let reader = reader(git_dir);
    if let Some(entries) = id.as_ref().and_then(|id| lock(&reader).trees.get(id).cloned()) {
        return Ok(entries);
    }
    let bytes = read(git_dir, id.as_deref().unwrap_or(name), "tree")?;
    let entries = parse_tree(&bytes)
        .map(Arc::new)
        .ok_or_else(|| GitError::Unreadable { command: format!("git cat-file tree {name}") })?;
    if let Some(id) = id {
        lock(&reader).remember(id, &entries);
    }
    Ok(entries)
}

/// Reads all files, links and submodules of a commit or tree below a folder, in git's order; `""` is all of it.
pub(crate) fn files(git_dir: &Path, name: &str, under: &[u8]) -> Result<Vec<TreeEntry>, GitError> {
    let mut found = Vec::new();
    let mut open: Vec<TreeEntry> = Vec::new();
    if normalized(under).is_empty() {
        open.extend(tree(git_dir, name)?.iter().rev().cloned());
    } else {
        open.extend(entry_at(git_dir, name, under)?);
    }
    while let Some(entry) = open.pop() {
        if entry.kind == "tree" {
            let inside = tree(git_dir, &entry.object)?;
            open.extend(inside.iter().rev().map(|inner| TreeEntry {
                name: path_names::joined(&entry.name, &inner.name),
                ..inner.clone()
            }));
        } else {
            found.push(entry);
        }
    }
    Ok(found)
}

/// One file, link or submodule that differs between two trees.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) path: Vec<u8>,
    /// None where there was none.
    pub(crate) old: Option<TreeEntry>,
    /// None where it is gone.
    pub(crate) new: Option<TreeEntry>,
}

/// Returns what differs between two commits or trees, by path. Folders that are the same are not read.
pub(crate) fn differences(
    git_dir: &Path,
    from: &str,
    to: &str,
) -> Result<Vec<Difference>, GitError> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), Some(from.to_owned()), Some(to.to_owned()))];
    while let Some((folder, old, new)) = open.pop() {
        let inside = |at: &Option<String>| match at {
            Some(at) => tree(git_dir, at),
            None => Ok(Arc::default()),
        };
        let mut names: BTreeMap<Vec<u8>, [Option<TreeEntry>; 2]> = BTreeMap::new();
        for (side, entries) in [inside(&old)?, inside(&new)?].iter().enumerate() {
            for entry in entries.iter() {
                names.entry(entry.name.clone()).or_default()[side] = Some(entry.clone());
            }
        }
        for (name, [old, new]) in names {
            let is_same =
                |old: &TreeEntry, new: &TreeEntry| old.object == new.object && old.mode == new.mode;
            if old.as_ref().zip(new.as_ref()).is_some_and(|(old, new)| is_same(old, new)) {
                continue;
            }
            let path = path_names::joined(&folder, &name);
            let folder = |entry: &Option<TreeEntry>| {
                let entry = entry.as_ref().filter(|entry| entry.kind == "tree");
                entry.map(|entry| entry.object.clone())
            };
            let folders = (folder(&old), folder(&new));
            if folders != (None, None) {
                open.push((path.clone(), folders.0, folders.1));
            }
            let [old, new] = [old, new].map(|entry| entry.filter(|entry| entry.kind != "tree"));
            if old.is_some() || new.is_some() {
                found.push(Difference { path, old, new });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// Finds what a commit or tree has at a path.
pub(crate) fn entry_at(
    git_dir: &Path,
    name: &str,
    path: &[u8],
) -> Result<Option<TreeEntry>, GitError> {
    let mut at = name.to_owned();
    let path = normalized(path);
    let mut names = path.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        let entries = tree(git_dir, &at)?;
        let Some(entry) = entries.iter().find(|entry| entry.name == name) else { break };
        if names.peek().is_none() {
            return Ok(Some(TreeEntry { name: path, ..entry.clone() }));
        }
        if entry.kind != "tree" {
            break;
        }
        at.clone_from(&entry.object);
    }
    Ok(None)
}

/// Returns a path without `.`, and without slashes that say nothing, as git takes it.
fn normalized(path: &[u8]) -> Vec<u8> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    names.collect::<Vec<_>>().join(&b'/')
}

/// Returns the size of a file by its full id, in bytes.
pub(crate) fn size(git_dir: &Path, id: &str) -> Option<u64> {
    let id = object_id(id)?;
    let reader = reader(git_dir);
    let answer = lock(&reader).answer(git_dir, &format!("info {id}"), "blob");
    answer.map(|(_, bytes)| bytes)
}

/// Reads a file, unless it is larger than that: then its size.
pub(crate) fn blob(
    git_dir: &Path,
    id: &str,
    bytes_max: u64,
) -> Result<Result<Vec<u8>, u64>, GitError> {
    let bytes = if let Some(bytes) = size(git_dir, id) {
        bytes
    } else {
        let size = Git::in_git_dir(git_dir).args(["cat-file", "-s", id]).run_line()?;
        let command = || format!("git cat-file -s {id}");
        size.parse().map_err(|_| GitError::Unreadable { command: command() })?
    };
    if bytes > bytes_max {
        return Ok(Err(bytes));
    }
    read(git_dir, id, "blob").map(Ok)
}

/// Reads an object that is of a kind or leads to one.
fn read(git_dir: &Path, name: &str, kind: &str) -> Result<Vec<u8>, GitError> {
    let known = object_id(name).and_then(|id| {
        let reader = reader(git_dir);
        lock(&reader).object(git_dir, &id, kind)
    });
    match known {
        Some(bytes) => Ok(bytes),
        None => Git::in_git_dir(git_dir).args(["cat-file", kind, name]).run(),
    }
}

/// One process, and the trees that it has read.
#[derive(Default)]
struct Reader {
    process: Option<ReaderProcess>,
    trees: BTreeMap<String, Arc<Vec<TreeEntry>>>,
    n_entries: usize,
}

struct ReaderProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

fn reader(git_dir: &Path) -> Arc<Mutex<Reader>> {
    let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(readers.entry(git_dir.to_owned()).or_default())
}

fn lock(reader: &Mutex<Reader>) -> std::sync::MutexGuard<'_, Reader> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reader {
    fn remember(&mut self, id: String, entries: &Arc<Vec<TreeEntry>>) {
        self.n_entries += entries.len() + 1;
        if self.n_entries > ENTRIES_MAX {
            self.trees.clear();
            self.n_entries = entries.len() + 1;
        }
        self.trees.insert(id, Arc::clone(entries));
    }

    fn object(&mut self, git_dir: &Path, id: &str, kind: &str) -> Option<Vec<u8>> {
        let (id, bytes) = self.answer(git_dir, &format!("info {id}^{{{kind}}}"), kind)?;
        if bytes > OBJECT_BYTES_MAX {
            return None;
        }
        let (_, n_bytes) = self.answer(git_dir, &format!("contents {id}"), kind)?;
        let content = self.content(n_bytes);
        if content.is_err() {
            self.end();
        }
        content.ok()
    }

    /// Asks for one object: its id and its size. A process that has ended is started again, once.
    fn answer(&mut self, git_dir: &Path, question: &str, kind: &str) -> Option<(String, u64)> {
        let is_new = self.process.is_none();
        let line = match self.ask(git_dir, question) {
            Ok(line) => Ok(line),
            Err(_) if !is_new => {
                self.end();
                self.ask(git_dir, question)
            }
            Err(error) => Err(error),
        };
        let Ok(line) = line else {
            self.end();
            return None;
        };
        let mut words = line.split(' ');
        let (id, found, bytes) = (words.next()?, words.next()?, words.next()?);
        if found != kind {
            // What follows is of no use, and would be taken for the next answer.
            if question.starts_with("contents") {
                self.end();
            }
            return None;
        }
        Some((id.to_owned(), bytes.parse().ok()?))
    }

    fn ask(&mut self, git_dir: &Path, question: &str) -> io::Result<String> {
        let process = match &mut self.process {
            Some(process) => process,
            empty @ None => empty.insert(ReaderProcess::start(git_dir)?),
        };
        process.input.write_all(format!("{question}\n").as_bytes())?;
        let mut line = String::new();
        if process.output.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    fn content(&mut self, n_bytes: u64) -> io::Result<Vec<u8>> {
        let process = self.process.as_mut().ok_or(io::ErrorKind::UnexpectedEof)?;
        let n_bytes = usize::try_from(n_bytes).map_err(io::Error::other)?;
        let mut bytes = vec![0; n_bytes + 1];
        process.output.read_exact(&mut bytes)?;
        bytes.pop();
        Ok(bytes)
    }

    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended already.
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

impl ReaderProcess {
    fn start(git_dir: &Path) -> io::Result<Self> {
        let git = Git::in_git_dir(git_dir).args(["cat-file", "--batch-command"]);
        let mut command = git.into_command();
        job::unmark(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Ok(Self { child, input, output })
    }
}

fn parse_commit(bytes: &[u8]) -> Option<CommitObject> {
    let end = header_end(bytes);
    let header = String::from_utf8_lossy(&bytes[..end]);
    let field = |name: &str| -> Vec<&str> {
        header.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).collect()
    };
    let when = field("committer").first()?.rsplit_once('>')?.1;
    let is_utf8 = field("encoding").iter().all(|name| name.eq_ignore_ascii_case("utf-8"));
    let message = String::from_utf8(bytes.get(end + 2..).unwrap_or_default().to_vec());
    let to_owned = |ids: Vec<&str>| ids.into_iter().map(str::to_owned).collect::<Vec<String>>();
    Some(CommitObject {
        tree: to_owned(field("tree")).pop()?,
        parents: to_owned(field("parent")),
        committed_at: when.split_whitespace().next()?.parse().ok()?,
        message: message.ok().filter(|_| is_utf8),
        bytes: bytes.to_vec(),
    })
}

/// Reads `MODE NAME\0ID` for each entry. The length of the ids is not told, and follows from the whole.
fn parse_tree(bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    [20, 32].iter().find_map(|id_bytes| parse_entries(bytes, *id_bytes))
}

fn parse_entries(mut bytes: &[u8], id_bytes: usize) -> Option<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let mode = str::from_utf8(&bytes[..space]).ok()?;
        let mode = u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= MODE_MAX)?;
        // Old repositories have other modes, which git shows as these.
        let (kind, mode) = match mode & TYPE_BITS {
            FOLDER => ("tree", FOLDER),
            SUBMODULE => ("commit", SUBMODULE),
            LINK => ("blob", LINK),
            _ if mode & OWNER_RUN == 0 => ("blob", 0o100_644),
            _ => ("blob", 0o100_755),
        };
        let zero = bytes.iter().position(|byte| *byte == 0)?;
        let name = bytes.get(space + 1..zero)?.to_vec();
        let id = bytes.get(zero + 1..zero + 1 + id_bytes)?;
        let (mode, kind) = (format!("{mode:06o}"), kind.to_owned());
        entries.push(TreeEntry { mode, kind, object: format!("{:x}", Hex(id)), name });
        bytes = &bytes[zero + 1 + id_bytes..];
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repository() -> (tempfile::TempDir, PathBuf, String) {
        let folder = tempfile::tempdir().unwrap();
        let git = || Git::in_folder(folder.path());
        git().args(["init", "--quiet"]).run().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/c d.txt"), "deep").unwrap();
        fs::write(folder.path().join("a-"), "sorted before the folder").unwrap();
        fs::write(folder.path().join("top"), "").unwrap();
        git().args(["add", "--all"]).run().unwrap();
        let tree = git().arg("write-tree").run_line().unwrap();
        let commit = git()
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@x")
            .env("GIT_COMMITTER_NAME", "C")
            .env("GIT_COMMITTER_EMAIL", "c@x")
            .env("GIT_COMMITTER_DATE", "@1700000000 +0200")
            .args(["commit-tree", &tree, "-m", "One\n\nwords"])
            .run_line()
            .unwrap();
        let git_dir = folder.path().join(".git");
        (folder, git_dir, commit)
    }

    #[test]
    fn what_is_read_is_what_git_lists() {
        let (_folder, git_dir, id) = repository();
        let made = commit(&git_dir, &id).unwrap();
        assert_eq!((made.parents.len(), made.committed_at), (0, 1_700_000_000));
        assert_eq!(made.message.as_deref(), Some("One\n\nwords\n"));
        let listed = Git::in_git_dir(&git_dir).args(["ls-tree", "-r", "-z", &id]).run().unwrap();
        let lines = |name: &str| -> Vec<u8> {
            files(&git_dir, name, b"").unwrap().iter().flat_map(TreeEntry::line).collect()
        };
        assert_eq!(lines(&id), listed);
        assert_eq!(lines(&made.tree), listed, "by the tree");
        let names = |under: &[u8]| -> Vec<Vec<u8>> {
            files(&git_dir, &id, under).unwrap().into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(b"a"), [b"a/b/c d.txt".to_vec()]);
        assert_eq!(names(b"top"), [b"top".to_vec()]);
        assert_eq!(names(b"./a//b/"), [b"a/b/c d.txt".to_vec()]);
        assert_eq!(names(b"no"), Vec::<Vec<u8>>::new());
        let at = |path: &[u8]| entry_at(&git_dir, &id, path).unwrap().map(|entry| entry.kind);
        assert_eq!(at(b"a/b").as_deref(), Some("tree"));
        assert_eq!((at(b"nothing"), at(b"top/x"), at(b"a/x/y")), (None, None, None));
        let entry = entry_at(&git_dir, &id, b"a/b/c d.txt").unwrap().unwrap();
        assert_eq!(blob(&git_dir, &entry.object, 4).unwrap(), Ok(b"deep".to_vec()));
        assert_eq!(blob(&git_dir, &entry.object, 3).unwrap(), Err(4), "larger than was wanted");
    }

    #[test]
    fn what_is_not_there_or_something_else_is_an_error_and_the_next_question_is_answered() {
        let (_folder, git_dir, id) = repository();
        assert!(commit(&git_dir, &"0".repeat(40)).is_err());
        let made = commit(&git_dir, &id).unwrap();
        assert!(commit(&git_dir, &made.tree).is_err(), "a tree is no commit");
        assert!(blob(&git_dir, &made.tree, 9).is_err() || peel(&git_dir, &id, "blob").is_none());
        assert_eq!(commit(&git_dir, &id).unwrap(), made);
    }

    #[test]
    fn an_ancestor_is_found_and_what_is_far_or_cut_off_is_left_to_git() {
        let (folder, git_dir, first) = repository();
        let tree = commit(&git_dir, &first).unwrap().tree;
        let child_with = |message: &str, parents: &[&str]| {
            let git = Git::in_folder(folder.path()).env("GIT_AUTHOR_NAME", "A");
            let git = git.env("GIT_AUTHOR_EMAIL", "a@x").env("GIT_COMMITTER_NAME", "A");
            let git =
                git.env("GIT_COMMITTER_EMAIL", "a@x").args(["commit-tree", &tree, "-m", message]);
            let git = parents.iter().fold(git, |git, parent| git.args(["-p", parent]));
            git.run_line().unwrap()
        };
        let child = |parents: &[&str]| child_with("x", parents);
        let (left, right) = (child(&[&first]), child_with("right", &[&first]));
        let merge = child(&[&left, &right]);
        let is_ancestor = |of: &str, id: &str| is_ancestor(&git_dir, of, id);
        assert_eq!(is_ancestor(&first, &merge), Some(true));
        assert_eq!(is_ancestor(&right, &merge), Some(true));
        assert_eq!(is_ancestor(&merge, &merge), Some(true));
        assert_eq!(is_ancestor(&merge, &left), Some(false));
        let orphan = commit(&git_dir, &first).unwrap().with_parent(&"1".repeat(40));
        let git = Git::in_git_dir(&git_dir).args(["hash-object", "-t", "commit", "-w", "--stdin"]);
        assert_eq!(is_ancestor(&left, &git.input(orphan).run_line().unwrap()), None, "cut off");
        let far = (0..=HISTORY_MAX).fold(left.clone(), |last, _| child(&[&last]));
        assert_eq!(is_ancestor(&merge, &far), None, "far");
    }

    #[test]
    fn another_parent_changes_nothing_else_of_a_commit_but_its_signature() {
        let signed = "tree 1\nparent 2\nparent 3\nauthor A <a@x> 5 +0100\ncommitter C <c@x> 6 +0000\n\
            gpgsig -----BEGIN\n author no\n -----END\nencoding ISO-8859-1\n\nwords\n\nauthor me\n";
        let commit = parse_commit(signed.as_bytes()).unwrap();
        assert_eq!((commit.parents.len(), commit.committed_at, &commit.message), (2, 6, &None));
        let made = String::from_utf8(commit.with_parent("9")).unwrap();
        assert_eq!(
            made,
            "tree 1\nparent 9\nauthor A <a@x> 5 +0100\ncommitter C <c@x> 6 +0000\n\
             encoding ISO-8859-1\n\nwords\n\nauthor me\n"
        );
    }

    #[test]
    fn a_name_is_asked_anew_each_time() {
        let (folder, git_dir, id) = repository();
        Git::in_folder(folder.path()).args(["update-ref", "refs/x", &id]).run().unwrap();
        assert_eq!(tree(&git_dir, "refs/x").unwrap().len(), 3);
        let empty = Git::in_folder(folder.path()).arg("mktree").input(Vec::new()).run_line();
        Git::in_folder(folder.path())
            .args(["update-ref", "refs/x", &empty.unwrap()])
            .run()
            .unwrap();
        assert_eq!(tree(&git_dir, "refs/x").unwrap().len(), 0);
    }

    #[test]
    fn a_process_that_was_killed_is_started_again() {
        let (_folder, git_dir, id) = repository();
        commit(&git_dir, &id).unwrap();
        let reader = reader(&git_dir);
        lock(&reader).process.as_mut().unwrap().child.kill().unwrap();
        assert!(commit(&git_dir, &id).is_ok());
    }
}
