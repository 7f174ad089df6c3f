//! The bench: private checkouts of the user's repository, commits of what was made in them,
//! comparing, and landing.
//!
//! Start with [`Repository::find`] for reading the user's repository, and with [`perform`] for
//! everything that has files. An [`Order`] is plain data, so a process of its own can perform it.
//!
//! A bench is a folder with `tree/`, the files, which has the agent's private `.git`
//! ([`private`]), and `forge.git/`, Forge's own view of the same files ([`checkout`]), which knows
//! nothing of the agent's. Git is driven through its command line ([`git`]), because agents and
//! users see the same git.
//!
//! Invariant: this crate does not know what a run is.
//! Invariant: the user's checkout, index, stash, configuration and hooks are never written, but by
//! [`Repository::follow`], which is for who was asked and said yes; the
//! user's repository only gains objects, refs below `refs/forge/`, and the one branch of a [`Move`].
//! Invariant: every path is absolute, so that no current directory can leak in.

mod aside;
mod attach;
mod checkout;
mod commit;
mod copy;
mod create;
mod disk;
mod failure;
mod filled;
mod forward;
mod git;
mod guard;
mod history;
mod hooks;
mod land;
mod listing;
mod merge;
mod name;
mod open;
mod order;
mod private;
mod repository;
mod seal;
mod settings;
mod state;
mod submodules;
mod unsuited;

pub use failure::Failure;
pub use forward::Follow;
pub use git::GitError;
pub use guard::{Added, Guard, Part};
pub use name::{path_bytes, shown};
pub use order::{
    Access, Attach, Attached, Attachment, Bench, BranchMoved, Change, ChangeKind, Commit,
    Committed, Conflict, Files, HasMoved, Hooked, Hooks, Made, Merge, Merged, Move, Moved, Open,
    Opened, Order, Refusal, Refused, Restore, Restored,
};
pub use repository::{NoRepository, Repository};

/// Performs an order. It can be killed at any moment, and repeated.
pub fn perform(order: &Order) -> Result<Made, Failure> {
    perform_guarded(order, &mut |_| Vec::new())
}

/// The same, with a guard who looks at whatever a commit would add, before any of it is written
/// into the object store. If it objects, the answer is [`Made::Refused`].
pub fn perform_guarded(order: &Order, guard: &mut Guard<'_>) -> Result<Made, Failure> {
    match order {
        Order::Open(open) => open::open(open).map(Made::Opened),
        Order::Commit(commit) => commit::commit(commit, guard),
        Order::Hooks(hooks) => hooks::hooks(hooks).map(Made::Hooked),
        Order::Restore(restore) => open::restore(restore).map(Made::Restored),
        Order::Merge(merge) => merge::merge(merge).map(Made::Merged),
        Order::Move(land) => land::land(land).map(Made::Moved),
        Order::Attach(attach) => attach::attach(attach, guard),
    }
}
