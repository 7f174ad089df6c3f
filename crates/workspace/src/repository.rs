//! The user's repository: finding and reading it, merging commits, and the refs that Forge writes.
//!
//! Nothing here has files, but for a fast-forward, a merge, and files that commands write by name, in the user's own checkout.

pub(crate) mod checkout_files;
pub(crate) mod create;
pub(crate) mod diff;
pub(crate) mod diff_text;
pub(crate) mod fast_forward;
pub(crate) mod locate;
pub(crate) mod merge;
pub(crate) mod objects;
pub(crate) mod preconditions;
pub(crate) mod refs;
pub(crate) mod remote;
pub(crate) mod remove_branch;
pub(crate) mod run_refs;
pub(crate) mod take_over;
