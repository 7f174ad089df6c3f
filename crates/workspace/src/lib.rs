//! Private checkouts of the user's repository, commits of what was made in them,
//! comparing, and landing.
//!
//! Start with [`Repository::find`] for reading the user's repository, and with [`perform`] for
//! everything that has files. An [`Operation`] is plain data, so a process of its own can perform it.
//!
//! A checkout is a folder with `tree/`, the files, which has the agent's private `.git`
//! (`checkout::agent_repository`), and `forge.git/`, Forge's own view of the same files (`checkout::git_dir`), which knows
//! nothing of the agent's. Git is driven through its command line (`git::command`), because agents and
//! users see the same git.
//!
//! Invariant: this crate does not know what a run is.
//! Invariant: the user's checkout, index, stash, configuration and hooks are never written, but by
//! [`Repository::fast_forward`] and [`Repository::merge_into_checkout`], after a person said yes, and by
//! [`Repository::replace_checkout_file`], for a file that the person's command is about; the
//! user's repository only gains objects, refs below `refs/forge/`, and the one branch of a [`MoveRunHead`].
//! Invariant: every path is absolute, so that no current directory can leak in.

mod checkout;
mod code_history;
mod commit;
mod git;
mod open;
mod protocol;
mod repository;

pub use code_history::{CodeHistory, OverlayFile};
pub use commit::added_content::{AddedContent, ContentGuard, ContentPart};
pub use git::error::{FailureCause, GitError, WorkspaceError};
pub use git::job::{Job, as_job};
pub use git::object_reader::end_readers;
pub use git::path_names::{decode_path, encode_path};
pub use git::safe_files::remove as remove_all;
pub use protocol::{
    AttachRecord, AttachedRecord, BranchAdvance, BranchUpdate, CachesAfter, CachesBefore,
    CheckoutLocation, CommitFiles, CommittedFiles, FileAccess, FileChange, FileChangeKind,
    FilesPolicy, HookRefusal, HooksResult, MergeCommits, MergeConflict, MergeResult, MoveRunHead,
    OpenCheckout, OpenedCheckout, Operation, OperationResult, RecordBaseline, RecordFile,
    RecordedBaseline, RefusedCommit, RestoreFiles, RestoredFiles, ReuseSetUp, ReusedSetUp,
    RunHeadUpdate, RunHooks, SaveSetUp, WriteFiles,
};
pub use repository::checkout_files::{CheckoutFile, FileCommit};
pub use repository::diff_text::Diff;
pub use repository::fast_forward::FastForward;
pub use repository::locate::{FindRepositoryError, Repository};
pub use repository::remote::{Remote, RemoteAddresses, RemoteHost};
pub use repository::take_over::{FileStat, MergeWay};

/// Performs an operation. It can be killed at any moment, and repeated.
pub fn perform(operation: &Operation) -> Result<OperationResult, WorkspaceError> {
    perform_with_guard(operation, &mut |_| Vec::new())
}

/// Performs an operation with a guard that inspects the content a commit would add, before any of it
/// is written into the object store. If it objects, the answer is [`OperationResult::Refused`].
pub fn perform_with_guard(
    operation: &Operation,
    guard: &mut ContentGuard<'_>,
) -> Result<OperationResult, WorkspaceError> {
    match operation {
        Operation::Open(open) => open::open_checkout(open).map(OperationResult::Opened),
        Operation::Baseline(baseline) => {
            open::record_baseline(baseline).map(OperationResult::Baseline)
        }
        Operation::Reuse(reuse) => open::reuse_setup(reuse).map(OperationResult::Reused),
        Operation::Commit(commit) => commit::commit_files::commit_files(commit, guard),
        Operation::Hooks(hooks) => commit::hooks::run_hooks(hooks, guard),
        Operation::Restore(restore) => open::restore_files(restore).map(OperationResult::Restored),
        Operation::Merge(merge) => {
            repository::merge::merge_commits(merge).map(OperationResult::Merged)
        }
        Operation::Move(land) => {
            repository::run_refs::move_run_head(land).map(OperationResult::Moved)
        }
        Operation::Attach(attach) => commit::run_record::attach_record(attach, guard),
        Operation::Write(write) => commit::folder_files::write_files(write, guard),
    }
}
