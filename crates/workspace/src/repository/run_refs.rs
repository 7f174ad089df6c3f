//! Moving the head of a run, and the branch that shows it to the user.
//!
//! Both move in one transaction of git, and only from their last known commits. A branch that is at
//! another commit, or that the user works on, belongs to the user and is not moved.
//!
//! Invariant: the head is never ahead of a branch that is to follow it. Git puts refs in place one after the other, and a driver
//! that finds the head where it should be, after a crash, looks no further. So the branch comes first.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    git::{
        command::nul_separated,
        error::{GitError, WorkspaceError},
        path_names, safe_files,
        user_config::UserConfig,
    },
    protocol::{BranchUpdate, MoveRunHead, RunHeadUpdate},
    repository::{
        locate::Repository,
        refs::{self, RefFile},
    },
};

/// Performs [`MoveRunHead`].
pub(crate) fn move_run_head(operation: &MoveRunHead) -> Result<RunHeadUpdate, WorkspaceError> {
    refs::check_pin(&operation.name)?;
    let user = Repository { common_dir: operation.common_dir.clone(), top: None };
    let to = user.require_commit(&operation.to)?;
    let current = user.read_ref(&operation.name)?;
    if current != operation.from && current.as_ref() != Some(&to) {
        return Ok(RunHeadUpdate::Overtaken { at: current });
    }
    let head_update = RefUpdate { name: operation.name.clone(), from: current, to: to.clone() };
    let branch = match &operation.branch {
        None => BranchPlan::Keeps(BranchUpdate::NotRequested),
        Some(branch) => branch_update(&user, branch, operation.from.as_deref(), &to)?,
    };
    let (branch_update, update) = match branch {
        BranchPlan::Keeps(update) => (None, update),
        BranchPlan::Follows(head_update) => (Some(head_update), BranchUpdate::Moved),
    };
    let Some(branch_update) = branch_update else {
        return Ok(match update_refs(&user, &[&head_update]) {
            Ok(()) => RunHeadUpdate::Updated { branch: update },
            Err(error) => overtaken(&user, &head_update, error)?,
        });
    };
    if update_refs(&user, &[&branch_update, &head_update]).is_ok() {
        return Ok(RunHeadUpdate::Updated { branch: update });
    }
    // One of the two cannot be moved. The head is what counts.
    let branch_moved = update_refs(&user, &[&branch_update]);
    if let Err(error) = update_refs(&user, &[&head_update]) {
        return overtaken(&user, &head_update, error);
    }
    let why = match branch_moved {
        Ok(()) => return Ok(RunHeadUpdate::Updated { branch: BranchUpdate::Moved }),
        Err(error) => error.message().to_owned(),
    };
    let at = user.read_ref(&branch_update.name)?;
    let branch = match at.filter(|at| Some(at) != branch_update.from.as_ref()) {
        Some(at) => BranchUpdate::Changed { at },
        None => BranchUpdate::Blocked { why },
    };
    Ok(RunHeadUpdate::Updated { branch })
}

/// A ref that goes from one place to another.
struct RefUpdate {
    name: String,
    from: Option<String>,
    to: String,
}

/// The planned update of the branch, or the reason for none.
enum BranchPlan {
    Follows(RefUpdate),
    Keeps(BranchUpdate),
}

fn branch_update(
    user: &Repository,
    branch: &str,
    from: Option<&str>,
    to: &str,
) -> Result<BranchPlan, WorkspaceError> {
    let name = format!("refs/heads/{branch}");
    if !path_names::is_branch_name(branch) {
        let why = format!("{branch:?} cannot be the name of a branch");
        return Ok(BranchPlan::Keeps(BranchUpdate::Blocked { why }));
    }
    let current = user.read_ref(&name)?;
    if current.as_deref() == Some(to) {
        return Ok(BranchPlan::Keeps(BranchUpdate::Moved));
    }
    if let Some(place) = checked_out(user, &name)? {
        return Ok(BranchPlan::Keeps(BranchUpdate::CheckedOut { place }));
    }
    if let Some(at) = current.clone().filter(|at| Some(at.as_str()) != from) {
        return Ok(BranchPlan::Keeps(BranchUpdate::Changed { at }));
    }
    let is_symbolic = match user.ref_file(&name) {
        Some(RefFile::Symbolic) => true,
        Some(RefFile::Commit(_) | RefFile::None) => false,
        None => {
            let git = user.git().args(["symbolic-ref", "--quiet", &name]);
            git.run_with(&[0, 1, 128])?.0 == 0
        }
    };
    if is_symbolic {
        let why = format!("{branch} is a symbolic name of another branch");
        return Ok(BranchPlan::Keeps(BranchUpdate::Blocked { why }));
    }
    Ok(BranchPlan::Follows(RefUpdate { name, from: current, to: to.to_owned() }))
}

/// Returns the checkout of the user's that works on a branch, also in the middle of a rebase or bisect.
pub(super) fn checked_out(
    user: &Repository,
    name: &str,
) -> Result<Option<PathBuf>, WorkspaceError> {
    let linked = fs::read_dir(user.common_dir.join("worktrees")).into_iter().flatten().flatten();
    let mut git_dirs: Vec<PathBuf> = linked.map(|entry| entry.path()).collect();
    git_dirs.push(user.common_dir.clone());
    if git_dirs.iter().any(|git_dir| may_be_at(git_dir, name)) {
        let output = user.git().args(["worktree", "list", "--porcelain", "-z"]).run()?;
        let mut place = PathBuf::new();
        for field in nul_separated(&output) {
            if let Some(path) = field.strip_prefix(b"worktree ") {
                place = path_names::below(Path::new("/"), path);
            } else if field.strip_prefix(b"branch ") == Some(name.as_bytes()) {
                return Ok(Some(place));
            }
        }
    }
    let short = name.trim_start_matches("refs/heads/");
    for git_dir in git_dirs {
        for file in ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"] {
            let text = fs::read_to_string(git_dir.join(file)).unwrap_or_default();
            if [name, short].contains(&text.trim()) {
                return Ok(Some(git_dir));
            }
        }
    }
    Ok(None)
}

/// Whether a checkout works on a branch, by its `HEAD`. Only git knows where that is a link, or says nothing.
fn may_be_at(git_dir: &Path, name: &str) -> bool {
    let head = safe_files::read(&git_dir.join("HEAD")).ok().flatten().unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    match head.trim().strip_prefix("ref:") {
        Some(branch) => branch.trim() == name || branch.trim() == "refs/heads/.invalid",
        None => path_names::object_id(&head).is_none(),
    }
}

fn update_refs(user: &Repository, updates: &[&RefUpdate]) -> Result<(), GitError> {
    let mut input = Vec::new();
    for head_update in
        updates.iter().filter(|head_update| head_update.from.as_ref() != Some(&head_update.to))
    {
        let none = "0".repeat(head_update.to.len());
        let from = head_update.from.as_ref().unwrap_or(&none);
        input.extend(
            format!("update {}\0{}\0{from}\0", head_update.name, head_update.to).into_bytes(),
        );
    }
    if input.is_empty() {
        return Ok(());
    }
    // Where a reflog is kept, it wants to know who.
    let identity = UserConfig::read(None, &user.common_dir)?.identity();
    let git = || {
        let git = user.git().durably().env("GIT_COMMITTER_NAME", identity.author().0);
        let git = git.env("GIT_COMMITTER_EMAIL", identity.author().1);
        git.args(["update-ref", "--no-deref", "-z", "--stdin"]).input(input.clone())
    };
    let updates: Vec<(&str, &str)> =
        updates.iter().map(|update| (update.name.as_str(), update.to.as_str())).collect();
    user.write_refs(&updates, git)
}

/// Distinguishes a head that another process has moved from one that git cannot write.
fn overtaken(
    user: &Repository,
    head_update: &RefUpdate,
    error: GitError,
) -> Result<RunHeadUpdate, WorkspaceError> {
    let at = user.read_ref(&head_update.name)?;
    if at == head_update.from { Err(error.into()) } else { Ok(RunHeadUpdate::Overtaken { at }) }
}
