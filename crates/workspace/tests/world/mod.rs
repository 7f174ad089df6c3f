//! A world for one test: a real repository of a user's in a folder of its own, and checkouts beside
//! it, used as Forge uses them.
//!
//! Start with [`World`]. [`fingerprint`] is everything of the user's that must never change.

#![expect(dead_code, reason = "each test program uses its own part of the world")]

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::Write as _,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use forge_workspace::{
    AddedContent, CheckoutLocation, CommitFiles, CommittedFiles, ContentPart, FileAccess,
    FilesPolicy, HooksResult, MergeCommits, MergeResult, MoveRunHead, OpenCheckout, OpenedCheckout,
    Operation, OperationResult, RefusedCommit, Repository, RestoreFiles, RestoredFiles,
    RunHeadUpdate, RunHooks, WorkspaceError, encode_path, perform, perform_with_guard,
};
use tempfile::TempDir;

/// The time of all commits.
pub(crate) const WHEN_MS: u64 = 1_790_000_000_000;

/// A user with a repository.
pub(crate) struct World {
    folder: TempDir,
    /// The user's checkout, or the bare repository.
    pub(crate) root: PathBuf,
    /// What was found there, so that it is looked for once.
    found: RefCell<Option<(PathBuf, Repository)>>,
}

impl World {
    /// A repository with a few files on the branch `main`.
    pub(crate) fn new() -> Self {
        Self::with(&["init", "--quiet", "--initial-branch=main"])
    }

    /// The same, made by another command.
    pub(crate) fn with(init: &[&str]) -> Self {
        let world = Self::empty(init);
        world.write("a.txt", "one\ntwo\nthree\n");
        world.write("src/b.txt", "b\n");
        world.write(".gitignore", "*.log\n/target/\n");
        world.commit("first");
        world
    }

    /// A repository without a commit.
    pub(crate) fn empty(init: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("user");
        fs::create_dir(&root).unwrap();
        let world = Self { folder, root, found: RefCell::new(None) };
        world.git(init);
        world.git(&["config", "user.name", "User"]);
        world.git(&["config", "user.email", "user@example.org"]);
        world
    }

    /// Git as the user calls it.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.root, args)
    }

    /// A path beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.parent().unwrap().join(name)
    }

    /// Writes a file of the user's.
    pub(crate) fn write(&self, path: &str, content: &str) {
        write(&self.root, path, content);
    }

    /// Commits everything of the user's.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "--quiet", "--no-verify", "--allow-empty", "-m", message]);
        self.head()
    }

    /// The user's HEAD.
    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// The user's repository as Forge knows it.
    pub(crate) fn repository(&self) -> Repository {
        let mut found = self.found.borrow_mut();
        if found.as_ref().is_none_or(|(root, _)| *root != self.root) {
            *found = Some((self.root.clone(), Repository::find(&self.root).unwrap()));
        }
        found.as_ref().unwrap().1.clone()
    }

    /// A private checkout beside the repository.
    pub(crate) fn location(&self, name: &str) -> CheckoutLocation {
        let Repository { common_dir, top } = self.repository();
        CheckoutLocation { common_dir, top, dir: self.beside("checkouts").join(name) }
    }

    /// Returns the operation that opens a checkout at the user's HEAD.
    pub(crate) fn opening(&self, name: &str) -> OpenCheckout {
        OpenCheckout {
            location: self.location(name),
            at: self.head(),
            files: FilesPolicy::ResetTracked,
            worker: Some("work".to_owned()),
            merge: None,
            access: FileAccess::Write,
            branch: "forge/work".to_owned(),
            base: Some(("main".to_owned(), self.head())),
            copy: Vec::new(),
            cache: Vec::new(),
            setup_inputs: Vec::new(),
        }
    }

    /// Returns the operation that commits the files of a checkout.
    pub(crate) fn committing(&self, name: &str, onto: &[&str]) -> CommitFiles {
        CommitFiles {
            location: self.location(name),
            onto: onto.iter().map(|parent| (*parent).to_owned()).collect(),
            message: "work".to_owned(),
            rewords: None,
            when_ms: WHEN_MS,
            pin: format!("refs/forge/test/{name}"),
        }
    }

    /// The content of a file in a commit.
    pub(crate) fn content(&self, commit: &str, path: &str) -> Option<String> {
        let content = self.repository().file_at(commit, path, 1 << 20).unwrap()?;
        Some(String::from_utf8_lossy(&content).into_owned())
    }

    /// Everything of the user's that must never change.
    pub(crate) fn fingerprint(&self) -> BTreeMap<String, String> {
        fingerprint(&self.root)
    }
}

pub(crate) fn opened(operation: &OpenCheckout) -> OpenedCheckout {
    match perform(&Operation::Open(operation.clone())) {
        Ok(OperationResult::Opened(opened)) => opened,
        other => panic!("not opened: {other:?}"),
    }
}

pub(crate) fn committed(operation: &CommitFiles) -> CommittedFiles {
    match perform(&Operation::Commit(operation.clone())) {
        Ok(OperationResult::Committed(committed)) => committed,
        other => panic!("not committed: {other:?}"),
    }
}

/// What must never come into a commit.
pub(crate) const SECRET: &str = "hunter2-hunter2";

/// A guard who objects to the secret wherever it is new.
pub(crate) fn watchful(added: &AddedContent<'_>) -> Vec<String> {
    let path = encode_path(added.path);
    let has_secret = |text: &[u8]| String::from_utf8_lossy(text).contains(SECRET);
    let said = |line| match added.part {
        ContentPart::Name => "a name".to_owned(),
        ContentPart::LinkTarget => format!("the aim of {path}"),
        ContentPart::Lines | ContentPart::Piece => format!("{path}:{line}"),
    };
    let lines = added.text.split(|byte| *byte == b'\n');
    let lines = (1..).zip(lines).filter(|(_, line)| has_secret(line));
    lines.filter_map(|(line, _)| added.first_new(line..=line)).map(said).collect()
}

/// What the guard said to a commit.
pub(crate) fn refused(operation: &CommitFiles) -> Vec<String> {
    match perform_with_guard(&Operation::Commit(operation.clone()), &mut watchful) {
        Ok(OperationResult::Refused(RefusedCommit { flaws })) => flaws,
        other => panic!("not refused: {other:?}"),
    }
}

/// A commit that the guard let pass.
pub(crate) fn let_through(operation: &CommitFiles) -> CommittedFiles {
    match perform_with_guard(&Operation::Commit(operation.clone()), &mut watchful) {
        Ok(OperationResult::Committed(committed)) => committed,
        other => panic!("not committed: {other:?}"),
    }
}

pub(crate) fn hooked(operation: &RunHooks) -> HooksResult {
    match perform(&Operation::Hooks(operation.clone())) {
        Ok(OperationResult::Hooked(hooked)) => hooked,
        other => panic!("not hooked: {other:?}"),
    }
}

pub(crate) fn restored(operation: &RestoreFiles) -> RestoredFiles {
    match perform(&Operation::Restore(operation.clone())) {
        Ok(OperationResult::Restored(restored)) => restored,
        other => panic!("not restored: {other:?}"),
    }
}

pub(crate) fn merged(operation: &MergeCommits) -> MergeResult {
    match perform(&Operation::Merge(operation.clone())) {
        Ok(OperationResult::Merged(merged)) => merged,
        other => panic!("not merged: {other:?}"),
    }
}

pub(crate) fn moved(operation: &MoveRunHead) -> RunHeadUpdate {
    match perform(&Operation::Move(operation.clone())) {
        Ok(OperationResult::Moved(moved)) => moved,
        other => panic!("not moved: {other:?}"),
    }
}

pub(crate) fn failure(operation: &Operation) -> WorkspaceError {
    perform(operation).expect_err("the operation was performed")
}

/// Git with the settings of this world only; it must succeed.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = try_git(dir, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?} in {}: {said}", dir.display());
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}

/// Git with the settings of this world only.
pub(crate) fn try_git(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(dir)
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_DATE", "@1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "@1700000000 +0000")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", ":")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The contents of objects, by one call of git.
pub(crate) fn contents(git_dir: &Path, objects: &[&str]) -> Vec<Vec<u8>> {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(git_dir).args(["cat-file", "--batch"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all((objects.join("\n") + "\n").as_bytes()).unwrap();
    drop(input);
    let said = child.wait_with_output().unwrap().stdout;
    let mut rest = said.as_slice();
    let mut found = Vec::new();
    while found.len() < objects.len() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let header = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size: usize = header.rsplit(' ').next().unwrap().parse().unwrap();
        found.push(rest[end + 1..=end + size].to_vec());
        rest = &rest[end + size + 2..];
    }
    found
}

/// A shell in a folder, as agents use it. Whether it succeeds does not matter.
pub(crate) fn shell(dir: &Path, script: &str) {
    let output = Command::new("sh")
        .current_dir(dir)
        .args(["-c", script])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .output();
    drop(output.unwrap());
}

pub(crate) fn write(dir: &Path, path: &str, content: &str) {
    let file = dir.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

pub(crate) fn read(dir: &Path, path: &str) -> String {
    String::from_utf8_lossy(&fs::read(dir.join(path)).unwrap()).into_owned()
}

/// Makes a file that can be run.
pub(crate) fn write_program(file: &Path, script: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// All files below a folder with kind, mode and content, but for objects and for what Forge may
/// write: refs below `refs/forge/`.
pub(crate) fn fingerprint(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = encode_path(path.strip_prefix(root).unwrap().as_os_str().as_bytes());
            let metadata = fs::symlink_metadata(&path).unwrap();
            let is_forges = name.ends_with("refs/forge") || name.ends_with("/objects");
            if metadata.is_dir() && is_forges || name == "objects" {
                continue;
            }
            let value = if metadata.is_dir() {
                open.push(path);
                continue;
            } else if metadata.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if path.file_name() == Some(OsStr::new("packed-refs")) {
                let text = fs::read_to_string(&path).unwrap();
                text.lines().filter(|line| !line.contains("refs/forge/")).collect()
            } else {
                let content = fs::read(&path).unwrap();
                format!("{:o} {}", metadata.permissions().mode(), encode_path(&content))
            };
            found.insert(name, value);
        }
    }
    found
}

/// All files of a tree with their contents, but for `.git`, by name.
pub(crate) fn files(tree: &Path) -> BTreeMap<String, String> {
    let mut all = fingerprint(tree);
    all.retain(|name, _| !name.split('/').any(|part| part == ".git"));
    all
}
