//! Operations on checkouts and their results: plain data, so that a process of its own
//! can perform it.
//!
//! Nothing here acts. Paths in answers are strings as [`crate::shown`] makes them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::git::path_names;

/// The folders of a private checkout of the user's repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckoutLocation {
    /// The user's git folder, shared by all the user's checkouts.
    #[serde(with = "path_names::path")]
    pub common_dir: PathBuf,
    /// The user's checkout that files are copied from; none in a bare repository.
    #[serde(with = "path_names::optional_path")]
    pub top: Option<PathBuf>,
    /// The folder of the checkout. Only Forge creates and removes it.
    #[serde(with = "path_names::path")]
    pub dir: PathBuf,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Make the checkout ready to be worked in.
    Open(OpenCheckout),
    /// Take what the set-up left for a part of the checkout.
    Baseline(RecordBaseline),
    /// Copy what the set-up left in another checkout.
    Reuse(ReuseSetUp),
    /// Make one commit of the files as they are.
    Commit(CommitFiles),
    /// Run the user's commit hooks for a commit.
    Hooks(RunHooks),
    /// Put the files back.
    Restore(RestoreFiles),
    /// Merge two commits, without any files.
    Merge(MergeCommits),
    /// Move the head of a run.
    Move(MoveRunHead),
    /// Make a commit with more files below `.forge/runs/`.
    Attach(AttachRecord),
    /// Make a commit with other files of one folder.
    Write(WriteFiles),
}

/// The result of an [`Operation`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationResult {
    /// To [`Operation::Open`].
    Opened(OpenedCheckout),
    /// To [`Operation::Baseline`].
    Baseline(RecordedBaseline),
    /// To [`Operation::Reuse`].
    Reused(ReusedSetUp),
    /// To [`Operation::Commit`].
    Committed(CommittedFiles),
    /// To [`Operation::Hooks`].
    Hooked(HooksResult),
    /// To [`Operation::Restore`].
    Restored(RestoredFiles),
    /// To [`Operation::Merge`].
    Merged(MergeResult),
    /// To [`Operation::Move`].
    Moved(RunHeadUpdate),
    /// To [`Operation::Commit`], [`Operation::Hooks`], [`Operation::Attach`] and [`Operation::Write`], if the guard objected.
    Refused(RefusedCommit),
    /// To [`Operation::Attach`] and [`Operation::Write`].
    Attached(AttachedRecord),
}

/// Make the checkout ready to be worked in. Can be killed at any moment, and repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCheckout {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    /// The commit to begin with.
    pub at: String,
    pub files: FilesPolicy,
    /// The worker that owns the files from now on, if it may change them. Files of another worker are
    /// never taken for its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// A commit to merge into the files.
    pub merge: Option<String>,
    pub access: FileAccess,
    /// The branch that the agent's git shows as checked out.
    pub branch: String,
    /// The branch that the work came from, and its commit: the agent's git has it, too.
    pub base: Option<(String, String)>,
    /// Files and folders to copy from the user's checkout. They are never committed.
    pub copy: Vec<String>,
    /// Folders that outlive everything, and are never committed.
    pub cache: Vec<String>,
    /// Files whose contents say whether the setup must be run again.
    pub setup_inputs: Vec<String>,
}

/// Treatment of files that exist already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilesPolicy {
    /// Tracked files are exactly those of the commit, ignored ones stay, others go.
    #[serde(rename = "exactly")]
    ResetTracked,
    /// Files of an interrupted attempt of the same worker stay, at the commit that it started with.
    /// They are created again only if they are missing or belong to another worker.
    #[serde(rename = "as_left")]
    KeepWork,
    /// Exactly the commit; everything else goes, but for cache folders that are unchanged since they
    /// were last restored ([`RestoreFiles`]).
    Pristine,
}

/// Permission to write the tracked files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAccess {
    Write,
    /// The tracked files lose their write bits. Ignored and untracked files keep theirs.
    Read,
}

/// A checkout that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedCheckout {
    /// The folder of the files.
    #[serde(with = "path_names::path")]
    pub tree: PathBuf,
    /// The commit that the agent's git stands on.
    pub head: String,
    /// The commit that is merged into the files, which the commit of the work has as a parent. Older versions of Forge did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// Files with conflict markers of the merge.
    pub conflicts: Vec<String>,
    /// SHA-256 over the setup inputs.
    pub setup: String,
    /// True if there was no complete checkout before, or its caches had to be removed, so that the setup
    /// has never run in it.
    pub is_new: bool,
}

/// Take every file that differs from the commit now for one that the set-up left. From now on it is
/// no change of the worker's, until the worker changes it. What a worker had changed before stays
/// its change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordBaseline {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    /// Where all that the set-up left is kept for other checkouts. Only for a checkout in which no agent has worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<SaveSetUp>,
}

/// Keep what the set-up left for other checkouts. What cannot be kept is no failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveSetUp {
    /// The folder, named by all that the set-up depends on.
    #[serde(with = "path_names::path")]
    pub folder: PathBuf,
    /// Files and folders that every opening copies from the user's checkout.
    pub copy: Vec<String>,
}

/// Copy what the set-up left in another checkout into one that was just opened, in place of running it. What cannot be copied
/// is no failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReuseSetUp {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    /// The folder of a [`SaveSetUp`].
    #[serde(with = "path_names::path")]
    pub folder: PathBuf,
    /// Files and folders that every opening copies from the user's checkout.
    pub copy: Vec<String>,
    /// Folders that may be there.
    pub cache: Vec<String>,
    pub before: CachesBefore,
}

/// The set-up that caches in a checkout come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachesBefore {
    /// The same as the one that is wanted: they stay.
    SameSetUp,
    /// Another one: what the wanted one made replaces them.
    OtherSetUp,
}

/// The result of copying a set-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReusedSetUp {
    /// The files are as the set-up would have left them.
    Copied,
    /// Nothing is kept yet, and in this checkout is nothing but the commit: its set-up can be kept.
    Missing,
    /// The set-up is to be run, and not to be kept.
    Unusable { why: String },
}

/// The files that a set-up left in a checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedBaseline {
    /// The files that it made, changed or removed, and that git does not ignore.
    pub paths: Vec<String>,
}

/// Make one commit of the files as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitFiles {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    /// The parents: the commit that was opened, and the one that was merged into it, if any.
    pub onto: Vec<String>,
    pub message: String,
    /// The commit of the same work before. Where nothing has changed since, it is made again with this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewords: Option<String>,
    /// The date of author and committer, so that repeating gives the same commit.
    pub when_ms: u64,
    /// The ref below `refs/forge/` that keeps it.
    pub pin: String,
}

/// A commit that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommittedFiles {
    /// The commit. If nothing had changed: the parent itself, or the parent with another message.
    pub commit: String,
    /// Its code tree, see [`crate::Repository::code_tree`].
    pub tree: String,
    /// Changes since the first parent.
    pub changes: Vec<FileChange>,
    /// Number of commits that the agent had made itself. Their files are in, their history is not.
    pub own_commits: u32,
    /// Notes for a person, as sentences.
    #[serde(rename = "odd")]
    pub notes: Vec<String>,
}

/// A commit that was not made. The files are as they were, and nothing of them was written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCommit {
    /// Objections of the guard.
    pub flaws: Vec<String>,
}

/// Run the user's commit hooks for a commit, as `git commit` would have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHooks {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    pub commit: String,
    /// The message that the hooks see.
    pub message: String,
    /// The date of a new commit.
    pub when_ms: u64,
    /// The ref below `refs/forge/` that keeps a new commit.
    pub pin: String,
    /// Limit on the output of a hook that is kept, in bytes; its end is kept.
    pub output_max: usize,
    /// A commit of the user's, whose hooks may run. Hooks in the files that differ from it do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

/// The commit after the hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HooksResult {
    /// The commit with what hooks changed; without changes, or refused, the same commit.
    pub commit: String,
    pub tree: String,
    /// Set if a hook said no.
    pub refusal: Option<HookRefusal>,
    /// Files that hooks changed in the commit.
    pub changed: Vec<String>,
    /// Notes for a person, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A hook said no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRefusal {
    pub hook: String,
    /// The end of what it said.
    pub output: String,
}

/// Put the files back to exactly a commit. Ignored files stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreFiles {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    pub at: String,
    pub access: FileAccess,
    #[serde(default, skip_serializing_if = "CachesAfter::are_sealed")]
    pub caches: CachesAfter,
}

/// What becomes of the caches of a proof that is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachesAfter {
    /// The next proof may use them.
    #[default]
    Sealed,
    /// They count as filled by a stranger: code whose checks are red has run there, and may have left something
    /// that makes the next checks green.
    Unsealed,
}

impl CachesAfter {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn are_sealed(&self) -> bool {
        *self == Self::Sealed
    }
}

/// The files are back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredFiles {
    /// Paths that differed, tracked or not.
    pub discarded: Vec<String>,
}

/// Merge two commits. No files are touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeCommits {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    /// Merged into this one,
    pub head: String,
    /// this one.
    pub commit: String,
    /// The message of the merge.
    pub message: String,
    /// Its date.
    pub when_ms: u64,
    /// The ref below `refs/forge/` that keeps the result.
    pub pin: String,
}

/// The result of merging two commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeResult {
    /// The commit is in the head already.
    #[serde(rename = "nothing")]
    AlreadyMerged {
        /// The head.
        head: String,
    },
    /// The head is an ancestor: the commit itself is the result.
    #[serde(rename = "forward")]
    FastForward { commit: String, tree: String },
    /// A new commit of both.
    Merge {
        /// The new commit.
        commit: String,
        tree: String,
    },
    /// They contradict each other.
    Conflict { conflicts: Vec<MergeConflict> },
}

/// One place where two commits contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeConflict {
    pub path: String,
    /// Git's message about it.
    pub what: String,
    /// The head's side, cut.
    pub ours: String,
    /// The commit's side, cut.
    pub theirs: String,
}

/// Move the head of a run from one commit to another, unless another process has moved it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveRunHead {
    /// The user's git folder.
    #[serde(with = "path_names::path")]
    pub common_dir: PathBuf,
    /// The ref below `refs/forge/`.
    pub name: String,
    /// Its current commit; none if it does not exist yet.
    pub from: Option<String>,
    /// Its new commit.
    pub to: String,
    /// The run's branch, which follows.
    pub branch: Option<String>,
}

/// The result of moving the head of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunHeadUpdate {
    /// It is at its new commit.
    #[serde(rename = "yes")]
    Updated { branch: BranchUpdate },
    /// Another process moved it first.
    Overtaken {
        /// Its current commit.
        at: Option<String>,
    },
}

/// The result of moving the run's branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchUpdate {
    /// No branch was named.
    #[serde(rename = "not_asked")]
    NotRequested,
    /// It is at the commit of the head.
    Moved,
    /// Not moved: the user has it checked out.
    #[serde(rename = "left_checked_out")]
    CheckedOut {
        /// In this checkout.
        #[serde(rename = "where", with = "path_names::path")]
        place: PathBuf,
    },
    /// Not moved: it is not where Forge put it.
    #[serde(rename = "left_changed")]
    Changed {
        /// To this commit.
        at: String,
    },
    /// Not moved: git cannot write it.
    #[serde(rename = "left_blocked")]
    Blocked {
        /// The reason, as a sentence.
        why: String,
    },
}

/// One file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file, by its new name.
    pub path: String,
    pub kind: FileChangeKind,
}

impl FileChange {
    /// Returns the old name of a renamed file.
    pub fn renamed_from(&self) -> Option<&String> {
        if let FileChangeKind::Renamed { from } = &self.kind { Some(from) } else { None }
    }
}

/// The kind of a change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// It is new.
    Added,
    /// It has other content.
    Modified,
    /// It is gone.
    Deleted,
    /// It had another name, and may have other content.
    Renamed {
        /// Its old name.
        from: String,
    },
    /// A file became a link, a submodule, or the other way round.
    TypeChanged,
    /// Only whether it can be run.
    ModeChanged,
}

/// Make one commit that differs from another only in one folder below `.forge/runs/`, which has exactly
/// these files afterwards. No hooks run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachRecord {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    /// The parent.
    pub onto: String,
    /// The name of the folder.
    pub folder: String,
    /// The files in it.
    pub files: Vec<RecordFile>,
    pub message: String,
    /// The date of author and committer, so that repeating gives the same commit.
    pub when_ms: u64,
    /// The ref below `refs/forge/` that keeps it.
    pub pin: String,
}

/// Make one commit that differs from another only in these files of one folder. No hooks run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteFiles {
    #[serde(rename = "bench")]
    pub location: CheckoutLocation,
    /// The parent. If nothing differs, it is the result.
    pub onto: String,
    /// The path of the folder.
    pub folder: String,
    /// Files that are new, or have other content.
    pub files: Vec<RecordFile>,
    /// Paths of files in the folder that are gone.
    pub removed: Vec<String>,
    pub message: String,
    /// The date of author and committer, so that repeating gives the same commit.
    pub when_ms: u64,
    /// The ref below `refs/forge/` that keeps it.
    pub pin: String,
}

/// One file that is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFile {
    /// Its path in the folder.
    pub path: String,
    /// The file with its content.
    #[serde(with = "path_names::path")]
    pub from: PathBuf,
}

/// A commit with more files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedRecord {
    pub commit: String,
    /// Its code tree. That of a record is the one of its parent.
    pub tree: String,
}

/// New commits of the branch that a run started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchAdvance {
    /// Its current commit.
    pub tip: String,
    /// Number of its commits that are not in the base.
    pub n_commits: u64,
    /// Files that a merge with the run's head would leave in conflict.
    pub conflicts: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    /// Step folders of earlier versions hold these forms, and are read after an upgrade.
    const ORDERS: &[&str] = &[
        r#"{"open":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"},"at":"a","files":"exactly","worker":"w","merge":"m","access":"write","branch":"b","base":["main","c"],"copy":[".env"],"cache":["target"],"setup_inputs":["Cargo.lock"]}}"#,
        r#"{"open":{"bench":{"common_dir":"/r/.git","top":null,"dir":"/c"},"at":"a","files":"as_left","merge":null,"access":"read","branch":"b","base":null,"copy":[],"cache":[],"setup_inputs":[]}}"#,
        r#"{"open":{"bench":{"common_dir":"/r/.git","top":null,"dir":"/c"},"at":"a","files":"pristine","merge":null,"access":"read","branch":"b","base":null,"copy":[],"cache":[],"setup_inputs":[]}}"#,
        r#"{"baseline":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"}}}"#,
        r#"{"baseline":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"},"save":{"folder":"/s","copy":[".env"]}}}"#,
        r#"{"reuse":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"},"folder":"/s","copy":[".env"],"cache":["target"],"before":"same_set_up"}}"#,
        r#"{"commit":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"},"onto":["a","b"],"message":"m","when_ms":1,"pin":"refs/forge/x"}}"#,
        r#"{"hooks":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"},"commit":"a","message":"m","when_ms":1,"pin":"refs/forge/x","output_max":9}}"#,
        r#"{"restore":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"},"at":"a","access":"read"}}"#,
        r#"{"merge":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"},"head":"a","commit":"b","message":"m","when_ms":1,"pin":"refs/forge/x"}}"#,
        r#"{"move":{"common_dir":"/r/.git","name":"refs/forge/x","from":null,"to":"a","branch":"b"}}"#,
        r#"{"attach":{"bench":{"common_dir":"/r/.git","top":"/r","dir":"/c"},"onto":"a","folder":"f","files":[{"path":"p","from":"/f"}],"message":"m","when_ms":1,"pin":"refs/forge/x"}}"#,
    ];

    const MADE: &[&str] = &[
        r#"{"opened":{"tree":"/c/tree","head":"a","conflicts":["x"],"setup":"s","is_new":true}}"#,
        r#"{"baseline":{"paths":["package-lock.json"]}}"#,
        r#"{"reused":"copied"}"#,
        r#"{"reused":"missing"}"#,
        r#"{"reused":{"unusable":{"why":"w"}}}"#,
        r#"{"committed":{"commit":"a","tree":"t","changes":[{"path":"p","kind":"added"},{"path":"p","kind":"modified"},{"path":"p","kind":"deleted"},{"path":"p","kind":{"renamed":{"from":"o"}}},{"path":"p","kind":"type_changed"},{"path":"p","kind":"mode_changed"}],"own_commits":1,"odd":["n"]}}"#,
        r#"{"hooked":{"commit":"a","tree":"t","refusal":{"hook":"pre-commit","output":"no"},"changed":["p"]}}"#,
        r#"{"restored":{"discarded":["p"]}}"#,
        r#"{"merged":{"nothing":{"head":"a"}}}"#,
        r#"{"merged":{"forward":{"commit":"a","tree":"t"}}}"#,
        r#"{"merged":{"merge":{"commit":"a","tree":"t"}}}"#,
        r#"{"merged":{"conflict":{"conflicts":[{"path":"p","what":"w","ours":"o","theirs":"t"}]}}}"#,
        r#"{"moved":{"yes":{"branch":"not_asked"}}}"#,
        r#"{"moved":{"yes":{"branch":"moved"}}}"#,
        r#"{"moved":{"yes":{"branch":{"left_checked_out":{"where":"/w"}}}}}"#,
        r#"{"moved":{"yes":{"branch":{"left_changed":{"at":"a"}}}}}"#,
        r#"{"moved":{"yes":{"branch":{"left_blocked":{"why":"w"}}}}}"#,
        r#"{"moved":{"overtaken":{"at":null}}}"#,
        r#"{"refused":{"flaws":["f"]}}"#,
        r#"{"attached":{"commit":"a","tree":"t"}}"#,
    ];

    fn comes_back<T: Serialize + DeserializeOwned>(text: &str) {
        let value: T = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), text);
    }

    #[test]
    fn what_earlier_versions_wrote_is_read_and_written_in_the_same_form() {
        for text in ORDERS {
            comes_back::<Operation>(text);
        }
        for text in MADE {
            comes_back::<OperationResult>(text);
        }
    }
}
