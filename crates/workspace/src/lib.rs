//! The bench: private checkouts of the user's repository, commits of what was made in them,
//! comparing, and landing.
//!
//! Start with [`Repository::find`] for reading the user's repository, and with [`perform`] for
//! everything that has files. An [`Order`] is plain data, so a process of its own can perform it.
//!
//! A bench is a folder with `tree/`, the files, which has the agent's private `.git`
//! (`checkout::agent_repository`), and `forge.git/`, Forge's own view of the same files (`checkout::git_dir`), which knows
//! nothing of the agent's. Git is driven through its command line (`git::command`), because agents and
//! users see the same git.
//!
//! Invariant: this crate does not know what a run is.
//! Invariant: the user's checkout, index, stash, configuration and hooks are never written, but by
//! [`Repository::follow`], which is for who was asked and said yes; the
//! user's repository only gains objects, refs below `refs/forge/`, and the one branch of a [`Move`].
//! Invariant: every path is absolute, so that no current directory can leak in.

mod checkout;
mod commit;
mod git;
mod open;
mod protocol;
mod repository;

pub use commit::added_content::{Added, Guard, Part};
pub use git::error::Failure;
pub use git::error::GitError;
pub use git::path_names::{path_bytes, shown};
pub use protocol::{
    Access, Attach, Attached, Attachment, Bench, BranchMoved, Change, ChangeKind, Commit,
    Committed, Conflict, Files, HasMoved, Hooked, Hooks, Made, Merge, Merged, Move, Moved, Open,
    Opened, Order, Refusal, Refused, Restore, Restored,
};
pub use repository::fast_forward::Follow;
pub use repository::locate::{NoRepository, Repository};

/// Performs an order. It can be killed at any moment, and repeated.
pub fn perform(order: &Order) -> Result<Made, Failure> {
    perform_guarded(order, &mut |_| Vec::new())
}

/// The same, with a guard who looks at whatever a commit would add, before any of it is written
/// into the object store. If it objects, the answer is [`Made::Refused`].
pub fn perform_guarded(order: &Order, guard: &mut Guard<'_>) -> Result<Made, Failure> {
    match order {
        Order::Open(open) => open::open(open).map(Made::Opened),
        Order::Commit(commit) => commit::commit_files::commit(commit, guard),
        Order::Hooks(hooks) => commit::hooks::hooks(hooks).map(Made::Hooked),
        Order::Restore(restore) => open::restore(restore).map(Made::Restored),
        Order::Merge(merge) => repository::merge::merge(merge).map(Made::Merged),
        Order::Move(land) => repository::run_refs::land(land).map(Made::Moved),
        Order::Attach(attach) => commit::run_record::attach(attach, guard),
    }
}
