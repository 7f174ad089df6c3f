//! Commits, refs and private checkouts in memory. They last: git syncs what it writes itself.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use forge_workspace::{
    AttachedRecord, BranchAdvance, BranchUpdate, CodeHistory, CommittedFiles, Diff, FileChange,
    FileChangeKind, FilesPolicy, GitError, HooksResult, MergeConflict, MergeResult, MoveRunHead,
    OpenCheckout, OpenedCheckout, Operation, OperationResult, OverlayFile, RecordedBaseline,
    RestoredFiles, ReusedSetUp, RunHeadUpdate, WorkspaceError,
};
use sha2::{Digest as _, Sha256};

/// Files by path.
pub(crate) type Files = BTreeMap<String, String>;

#[derive(Debug, Clone)]
struct Commit {
    parents: Vec<String>,
    files: Files,
    message: String,
    when_ms: u64,
}

/// A checkout: its files, and whose they are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checkout {
    pub(crate) files: Files,
    at: String,
    /// What was merged into the files.
    merged: Option<String>,
    worker: Option<String>,
    /// What the set-up made.
    by_setup: Files,
}

impl Checkout {
    /// The files without those that are as the set-up made them.
    fn worked(&self) -> Files {
        let is_worked = |(path, text): &(&String, &String)| self.by_setup.get(*path) != Some(*text);
        let worked = self.files.iter().filter(is_worked);
        worked.map(|(path, text)| (path.clone(), text.clone())).collect()
    }
}

#[derive(Debug, Default)]
struct State {
    commits: BTreeMap<String, Commit>,
    refs: BTreeMap<String, String>,
    checkouts: BTreeMap<PathBuf, Checkout>,
    /// What a set-up made, kept for other checkouts.
    prepared: BTreeMap<PathBuf, Files>,
}

/// A repository in memory.
#[derive(Debug, Default)]
pub(crate) struct SimulatedHistory(RefCell<State>);

fn id(of: &impl std::fmt::Debug) -> String {
    let sum = Sha256::digest(format!("{of:?}").as_bytes());
    sum.iter().take(20).map(|byte| format!("{byte:02x}")).collect()
}

/// The name of the code in these files: all but the records of runs.
pub(crate) fn code_tree(files: &Files) -> String {
    let code: Vec<(&String, &String)> =
        files.iter().filter(|(path, _)| !path.starts_with(".forge/runs/")).collect();
    id(&code)
}

fn missing(what: &str) -> GitError {
    GitError::Unreadable { command: format!("simulated git: {what}") }
}

impl State {
    fn commit(&self, commit: &str) -> Result<&Commit, GitError> {
        self.commits.get(commit).ok_or_else(|| missing(commit))
    }

    fn add(&mut self, commit: Commit) -> String {
        let name = id(&commit);
        self.commits.insert(name.clone(), commit);
        name
    }

    fn ancestors(&self, commit: &str) -> Vec<String> {
        let (mut found, mut left) = (Vec::new(), vec![commit.to_owned()]);
        while let Some(commit) = left.pop() {
            if found.contains(&commit) {
                continue;
            }
            if let Some(known) = self.commits.get(&commit) {
                left.extend(known.parents.iter().cloned());
            }
            found.push(commit);
        }
        found
    }

    fn merge_base(&self, one: &str, other: &str) -> String {
        let others: BTreeSet<String> = self.ancestors(other).into_iter().collect();
        let shared: Vec<String> =
            self.ancestors(one).into_iter().filter(|commit| others.contains(commit)).collect();
        let is_best = |commit: &&String| {
            shared.iter().all(|other| other == *commit || !self.ancestors(other).contains(commit))
        };
        shared.iter().find(is_best).or(shared.first()).cloned().unwrap_or_default()
    }

    /// The files of a merge, and the paths in conflict.
    fn merged(&self, ours: &str, theirs: &str) -> (Files, Vec<String>) {
        let base = self.merge_base(ours, theirs);
        let none = Files::new();
        let files = |commit: &str| self.commits.get(commit).map_or(&none, |commit| &commit.files);
        let (base, ours, theirs) = (files(&base), files(ours), files(theirs));
        let paths: BTreeSet<&String> =
            base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
        let (mut merged, mut conflicts) = (Files::new(), Vec::new());
        for path in paths {
            let (b, o, t) = (base.get(path), ours.get(path), theirs.get(path));
            let kept = if o == t || t == b {
                o
            } else if o == b {
                t
            } else {
                conflicts.push(path.clone());
                o
            };
            if let Some(kept) = kept {
                merged.insert(path.clone(), kept.clone());
            }
        }
        (merged, conflicts)
    }
}

fn changes(from: &Files, to: &Files) -> Vec<FileChange> {
    let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let change = |path: &String| {
        let kind = match (from.get(path), to.get(path)) {
            (None, Some(_)) => FileChangeKind::Added,
            (Some(_), None) => FileChangeKind::Deleted,
            (Some(one), Some(other)) if one != other => FileChangeKind::Modified,
            (_, _) => return None,
        };
        Some(FileChange { path: path.clone(), kind })
    };
    paths.into_iter().filter_map(change).collect()
}

impl SimulatedHistory {
    /// A repository with one commit, whose name is returned.
    pub(crate) fn with_base(files: Files) -> (Self, String) {
        let history = Self::default();
        let commit = Commit { parents: vec![], files, message: "base".into(), when_ms: 1 };
        let base = history.0.borrow_mut().add(commit);
        history.0.borrow_mut().refs.insert("refs/heads/main".into(), base.clone());
        (history, base)
    }

    /// A commit of the user's on their own branch.
    pub(crate) fn commit_on(&self, branch: &str, path: &str, text: &str) {
        let mut state = self.0.borrow_mut();
        let name = format!("refs/heads/{branch}");
        let Some(parent) = state.refs.get(&name).cloned() else { return };
        let mut files = state.commits[&parent].files.clone();
        files.insert(path.to_owned(), text.to_owned());
        let commit = Commit { parents: vec![parent], files, message: "user".into(), when_ms: 2 };
        let commit = state.add(commit);
        state.refs.insert(name, commit);
    }

    pub(crate) fn reference(&self, name: &str) -> Option<String> {
        self.0.borrow().refs.get(name).cloned()
    }

    /// Lets an agent change the files of a checkout, by the path of its tree.
    pub(crate) fn edit<T>(&self, tree: &Path, edit: impl FnOnce(&mut Files) -> T) -> T {
        let mut state = self.0.borrow_mut();
        edit(&mut state.checkouts.entry(tree.to_owned()).or_default().files)
    }

    /// The files of a checkout without what the set-up made.
    pub(crate) fn worked(&self, tree: &Path) -> Files {
        self.0.borrow().checkouts.get(tree).map(Checkout::worked).unwrap_or_default()
    }

    /// The files of a commit that the one before it has and it has not.
    pub(crate) fn removed(&self, before: &str, commit: &str) -> Vec<String> {
        let state = self.0.borrow();
        let files = |commit: &str| &state.commits[commit].files;
        let is_gone = |path: &&String| !files(commit).contains_key(*path);
        files(before).keys().filter(is_gone).cloned().collect()
    }

    pub(crate) fn is_merged(&self, commit: &str, into: &str) -> bool {
        self.0.borrow().ancestors(into).iter().any(|ancestor| ancestor == commit)
    }

    /// Performs an operation, as the process that works on checkouts would.
    pub(crate) fn operate(&self, operation: &Operation) -> Result<OperationResult, WorkspaceError> {
        let state = &mut *self.0.borrow_mut();
        let failed = |error: GitError| WorkspaceError::new(error.to_string(), "retry");
        Ok(match operation {
            Operation::Open(open) => {
                let tree = open.location.dir.join("tree");
                let is_new = !state.checkouts.contains_key(&tree);
                let mut files = state.commit(&open.at).map_err(failed)?.files.clone();
                let mut conflicts = Vec::new();
                let ancestors = state.ancestors(&open.at);
                let merge = open.merge.clone().filter(|merge| !ancestors.contains(merge));
                if let Some(merge) = &merge {
                    let (merged, contradicting) = state.merged(&open.at, merge);
                    files = merged;
                    for path in contradicting {
                        let text = files.entry(path.clone()).or_default();
                        text.push_str("\n<<<<<<< conflict");
                        conflicts.push(path);
                    }
                }
                let checkout = state.checkouts.entry(tree.clone()).or_default();
                let keeps = match open.files {
                    FilesPolicy::KeepWork => !is_new && checkout.worker == open.worker,
                    FilesPolicy::ResetTracked | FilesPolicy::Pristine => false,
                };
                if keeps {
                    conflicts.clear();
                } else {
                    let (at, merged) = (open.at.clone(), merge);
                    let worker = open.worker.clone();
                    *checkout = Checkout { files, at, merged, worker, ..Checkout::default() };
                }
                let (head, merge) = (checkout.at.clone(), checkout.merged.clone());
                let setup = String::from("inputs");
                let opened = OpenedCheckout { tree, head, merge, conflicts, setup, is_new };
                OperationResult::Opened(opened)
            }
            Operation::Baseline(baseline) => {
                let tree = baseline.location.dir.join("tree");
                let at = state.checkouts.get(&tree).map(|found| found.at.clone());
                let at = at.ok_or_else(|| failed(missing("no checkout")))?;
                let base = state.commit(&at).map_err(failed)?.files.clone();
                let checkout = state.checkouts.entry(tree).or_default();
                let is_made = |(path, text): &(&String, &String)| base.get(*path) != Some(*text);
                let made = checkout.files.iter().filter(is_made);
                checkout.by_setup = made.map(|(path, text)| (path.clone(), text.clone())).collect();
                let paths = checkout.by_setup.keys().cloned().collect();
                let made = checkout.by_setup.clone();
                if let Some(save) = &baseline.save {
                    state.prepared.insert(save.folder.clone(), made);
                }
                OperationResult::Baseline(RecordedBaseline { paths })
            }
            Operation::Reuse(reuse) => {
                let tree = reuse.location.dir.join("tree");
                let checkout = state.checkouts.get_mut(&tree);
                let checkout = checkout.ok_or_else(|| failed(missing("no checkout")))?;
                OperationResult::Reused(match state.prepared.get(&reuse.folder) {
                    Some(made) => {
                        checkout.files.extend(made.clone());
                        ReusedSetUp::Copied
                    }
                    None => ReusedSetUp::Missing,
                })
            }
            Operation::Commit(commit) => {
                let tree = commit.location.dir.join("tree");
                let files = state.checkouts.get(&tree).map(Checkout::worked);
                let files = files.ok_or_else(|| failed(missing("no checkout")))?;
                let parent = state.commit(&commit.onto[0]).map_err(failed)?;
                let changes = changes(&parent.files, &files);
                let name = if changes.is_empty() && commit.onto.len() == 1 {
                    commit.onto[0].clone()
                } else {
                    let made = Commit {
                        parents: commit.onto.clone(),
                        files: files.clone(),
                        message: commit.message.clone(),
                        when_ms: commit.when_ms,
                    };
                    state.add(made)
                };
                state.refs.insert(commit.pin.clone(), name.clone());
                OperationResult::Committed(CommittedFiles {
                    commit: name,
                    tree: code_tree(&files),
                    changes,
                    own_commits: 0,
                    notes: Vec::new(),
                })
            }
            Operation::Hooks(hooks) => {
                let tree = code_tree(&state.commit(&hooks.commit).map_err(failed)?.files);
                let (commit, changed) = (hooks.commit.clone(), Vec::new());
                let (refusal, notes) = (None, Vec::new());
                OperationResult::Hooked(HooksResult { commit, tree, refusal, changed, notes })
            }
            Operation::Restore(restore) => {
                let files = state.commit(&restore.at).map_err(failed)?.files.clone();
                let tree = restore.location.dir.join("tree");
                let checkout = state.checkouts.entry(tree).or_default();
                let discarded = changes(&files, &checkout.worked());
                checkout.files = files;
                let discarded = discarded.into_iter().map(|change| change.path).collect();
                OperationResult::Restored(RestoredFiles { discarded })
            }
            Operation::Merge(merge) => {
                let (head, commit) = (merge.head.clone(), merge.commit.clone());
                let tree = code_tree(&state.commit(&commit).map_err(failed)?.files);
                OperationResult::Merged(if state.ancestors(&head).contains(&commit) {
                    MergeResult::AlreadyMerged { head }
                } else if state.ancestors(&commit).contains(&head) {
                    MergeResult::FastForward { commit, tree }
                } else {
                    let (files, conflicts) = state.merged(&head, &commit);
                    if conflicts.is_empty() {
                        let tree = code_tree(&files);
                        let commit = state.add(Commit {
                            parents: vec![head, commit],
                            files,
                            message: merge.message.clone(),
                            when_ms: merge.when_ms,
                        });
                        state.refs.insert(merge.pin.clone(), commit.clone());
                        MergeResult::Merge { commit, tree }
                    } else {
                        let conflict = |path: String| MergeConflict {
                            path,
                            what: "both changed it".into(),
                            ours: "ours".into(),
                            theirs: "theirs".into(),
                        };
                        let conflicts = conflicts.into_iter().map(conflict).collect();
                        MergeResult::Conflict { conflicts }
                    }
                })
            }
            Operation::Move(order) => {
                let at = state.refs.get(&order.name).cloned();
                if at != order.from {
                    return Ok(OperationResult::Moved(RunHeadUpdate::Overtaken { at }));
                }
                state.refs.insert(order.name.clone(), order.to.clone());
                let branch = match &order.branch {
                    None => BranchUpdate::NotRequested,
                    Some(branch) => {
                        state.refs.insert(format!("refs/heads/{branch}"), order.to.clone());
                        BranchUpdate::Moved
                    }
                };
                OperationResult::Moved(RunHeadUpdate::Updated { branch })
            }
            Operation::Attach(attach) => {
                let mut files = state.commit(&attach.onto).map_err(failed)?.files.clone();
                for file in &attach.files {
                    let path = format!(".forge/runs/{}/{}", attach.folder, file.path);
                    files.insert(path, file.from.display().to_string());
                }
                let tree = code_tree(&files);
                let commit = state.add(Commit {
                    parents: vec![attach.onto.clone()],
                    files,
                    message: attach.message.clone(),
                    when_ms: attach.when_ms,
                });
                state.refs.insert(attach.pin.clone(), commit.clone());
                OperationResult::Attached(AttachedRecord { commit, tree })
            }
            Operation::Write(write) => {
                let mut files = state.commit(&write.onto).map_err(failed)?.files.clone();
                for file in &write.files {
                    let path = format!("{}/{}", write.folder, file.path);
                    files.insert(path, file.from.display().to_string());
                }
                for path in &write.removed {
                    files.remove(&format!("{}/{path}", write.folder));
                }
                let tree = code_tree(&files);
                let commit = state.add(Commit {
                    parents: vec![write.onto.clone()],
                    files,
                    message: write.message.clone(),
                    when_ms: write.when_ms,
                });
                state.refs.insert(write.pin.clone(), commit.clone());
                OperationResult::Attached(AttachedRecord { commit, tree })
            }
        })
    }
}

impl CodeHistory for SimulatedHistory {
    fn has_filters(&self) -> Result<bool, GitError> {
        Ok(false)
    }

    fn is_open(&self, open: &OpenCheckout) -> bool {
        let state = self.0.borrow();
        let is_plain =
            open.worker.is_none() && open.merge.is_none() && open.files != FilesPolicy::KeepWork;
        let found = state.checkouts.get(&open.location.dir.join("tree"));
        let commit = state.commits.get(&open.at);
        let is_same = |(found, commit): (&Checkout, &Commit)| {
            found.worker.is_none() && found.at == open.at && found.files == commit.files
        };
        is_plain && found.zip(commit).is_some_and(is_same)
    }

    fn has_commit_hooks(&self) -> Result<bool, GitError> {
        Ok(true)
    }

    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, GitError> {
        let state = self.0.borrow();
        Ok(changes(&state.commit(from)?.files, &state.commit(to)?.files))
    }

    fn diff(&self, from: &str, to: &str, _: &[String], _: usize) -> Result<Diff, GitError> {
        let text = format!("{:?}", self.changes(from, to)?).into_bytes();
        Ok(Diff { text, unshown: Vec::new() })
    }

    fn branch_advance(
        &self,
        branch: &str,
        base: &str,
        head: &str,
    ) -> Result<Option<BranchAdvance>, GitError> {
        let state = self.0.borrow();
        let Some(tip) = state.refs.get(&format!("refs/heads/{branch}")) else { return Ok(None) };
        if tip == base {
            return Ok(None);
        }
        let conflicts = state.merged(tip, head).1;
        Ok(Some(BranchAdvance { tip: tip.clone(), n_commits: 1, conflicts }))
    }

    fn merge_base(&self, one: &str, other: &str) -> Result<String, GitError> {
        Ok(self.0.borrow().merge_base(one, other))
    }

    fn links_at(&self, _: &str) -> Result<BTreeMap<String, String>, GitError> {
        Ok(BTreeMap::new())
    }

    fn commit_time_ms(&self, commit: &str) -> Result<u64, GitError> {
        Ok(self.0.borrow().commit(commit)?.when_ms)
    }

    fn message(&self, commit: &str) -> Result<String, GitError> {
        Ok(self.0.borrow().commit(commit)?.message.clone())
    }

    fn squash(&self, onto: &str, commit: &str, pin: &str) -> Result<String, GitError> {
        let mut state = self.0.borrow_mut();
        let found = state.commit(commit)?.clone();
        let squashed = state.add(Commit { parents: vec![onto.to_owned()], ..found });
        state.refs.insert(pin.to_owned(), squashed.clone());
        Ok(squashed)
    }

    fn overlay(&self, onto: &str, files: &[OverlayFile], pin: &str) -> Result<String, GitError> {
        let mut state = self.0.borrow_mut();
        let mut made = state.commit(onto)?.clone();
        for file in files {
            let (path, text) = match file {
                OverlayFile::From { commit, path } => {
                    (path, state.commit(commit)?.files.get(path).cloned())
                }
                OverlayFile::Text { path, text } => (path, Some(text.clone())),
            };
            match text {
                Some(text) => made.files.insert(path.clone(), text),
                None => made.files.remove(path),
            };
        }
        made.parents = vec![onto.to_owned()];
        let made = state.add(made);
        state.refs.insert(pin.to_owned(), made.clone());
        Ok(made)
    }

    fn resolve_commit(&self, name: &str) -> Option<String> {
        let state = self.0.borrow();
        state
            .refs
            .get(name)
            .cloned()
            .or_else(|| state.commits.contains_key(name).then(|| name.to_owned()))
    }

    fn file_at(&self, commit: &str, path: &str, _: u64) -> Result<Option<Vec<u8>>, GitError> {
        let state = self.0.borrow();
        Ok(state.commit(commit)?.files.get(path).map(|text| text.clone().into_bytes()))
    }

    fn files_at(&self, commit: &str, under: &str) -> Result<Vec<String>, GitError> {
        let state = self.0.borrow();
        let files = state.commit(commit)?.files.keys();
        Ok(files.filter(|path| path.starts_with(under)).cloned().collect())
    }

    fn is_ancestor(&self, a: &str, b: &str) -> Result<bool, GitError> {
        Ok(self.is_merged(a, b))
    }

    fn code_tree(&self, commit: &str) -> Result<String, GitError> {
        Ok(code_tree(&self.0.borrow().commit(commit)?.files))
    }

    fn pin(&self, name: &str, commit: &str) -> Result<(), GitError> {
        self.0.borrow_mut().refs.insert(name.to_owned(), commit.to_owned());
        Ok(())
    }

    fn unpin(&self, name: &str) -> Result<(), GitError> {
        self.0.borrow_mut().refs.remove(name);
        Ok(())
    }

    fn move_run_head(&self, order: &MoveRunHead) -> Result<RunHeadUpdate, WorkspaceError> {
        match self.operate(&Operation::Move(order.clone()))? {
            OperationResult::Moved(update) => Ok(update),
            other => unreachable!("{other:?} is no answer to a move"),
        }
    }
}
