//! The refs of a run in the user's repository follow its facts.
//!
//! `refs/forge/<run>/base` and `refs/forge/<run>/calls/*` keep commits from being collected,
//! `refs/forge/<run>/head` is the run's result, and the run's branch follows it wherever the user
//! has not put it to a use of their own.
//!
//! Invariant: a ref is moved only from where Forge itself had put it.

use std::path::Path;

use forge_core::Run;
use forge_workspace::{BranchUpdate, CodeHistory, MoveRunHead, RunHeadUpdate};

use crate::Error;

/// Keeps the commit that a run starts from.
pub fn pin_base(code: &dyn CodeHistory, id: &str, run: &Run) -> Result<(), Error> {
    match &run.definition().start.base {
        Some(base) => Ok(code.pin(&format!("refs/forge/{id}/base"), base)?),
        None => Ok(()),
    }
}

/// Moves the result and the branch of a run to where its facts say. What a person should know
/// about it, if anything.
pub fn follow(
    code: &dyn CodeHistory,
    common_dir: &Path,
    id: &str,
    run: &Run,
) -> Result<Option<String>, Error> {
    let (true, Some(head)) = (run.has_landed(), run.head()) else { return Ok(None) };
    let name = format!("refs/forge/{id}/head");
    let from = code.resolve_commit(&name);
    if from.as_deref() == Some(head) {
        return Ok(None);
    }
    if let Some(from) = &from
        && !code.is_ancestor(from, head)?
    {
        return Ok(Some(format!(
            "`{name}` was moved by another program; the result is the commit {head}"
        )));
    }
    let order = MoveRunHead {
        common_dir: common_dir.to_owned(),
        name: name.clone(),
        from,
        to: head.to_owned(),
        branch: run.branch().map(str::to_owned),
    };
    let branch = run.branch().unwrap_or_default();
    match code.move_run_head(&order)? {
        RunHeadUpdate::Updated { branch: moved } => Ok(match moved {
            BranchUpdate::NotRequested | BranchUpdate::Moved => None,
            BranchUpdate::CheckedOut { place } => Some(format!(
                "`{branch}` is checked out in {}, so it is left alone; get the result there with \
                 `git merge {name}`",
                place.display()
            )),
            BranchUpdate::Changed { at } => Some(format!(
                "`{branch}` was moved to {at} by another program, so it is left alone; the result \
                 is `{name}`"
            )),
            BranchUpdate::Blocked { why } => {
                Some(format!("`{branch}` cannot be made ({why}); the result is `{name}`"))
            }
        }),
        RunHeadUpdate::Overtaken { .. } => {
            Ok(Some(format!("`{name}` was just moved by another program")))
        }
    }
}
