//! Moving the head of a run, and the branch that shows it to the user.
//!
//! Both move in one transaction of git, and only from where we last left them. A branch that is not
//! where we left it, or that the user works on, is the user's, and is left alone.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    git::{
        command::parts,
        error::{Failure, GitError},
        path_names,
        user_config::Settings,
    },
    protocol::{BranchMoved, HasMoved, Move},
    repository::{locate::Repository, refs},
};

/// Performs [`Move`].
pub(crate) fn land(order: &Move) -> Result<HasMoved, Failure> {
    refs::check_pin(&order.name)?;
    let user = Repository { common_dir: order.common_dir.clone(), top: None };
    let to = user.sure(&order.to)?;
    let stands = user.ref_at(&order.name)?;
    if stands != order.from && stands.as_ref() != Some(&to) {
        return Ok(HasMoved::Overtaken { at: stands });
    }
    let step = Step { name: order.name.clone(), from: stands, to: to.clone() };
    let branch = match &order.branch {
        None => Branch::Left(BranchMoved::NotAsked),
        Some(branch) => branch_step(&user, branch, order.from.as_deref(), &to)?,
    };
    let (branch_step, left) = match branch {
        Branch::Left(left) => (None, left),
        Branch::Follows(step) => (Some(step), BranchMoved::Moved),
    };
    let Some(branch_step) = branch_step else {
        return Ok(match transact(&user, &[&step]) {
            Ok(()) => HasMoved::Yes { branch: left },
            Err(error) => overtaken(&user, &step, error)?,
        });
    };
    if transact(&user, &[&step, &branch_step]).is_ok() {
        return Ok(HasMoved::Yes { branch: left });
    }
    // One of the two is in the way. The head is what counts.
    if let Err(error) = transact(&user, &[&step]) {
        return overtaken(&user, &step, error);
    }
    let why = match transact(&user, &[&branch_step]) {
        Ok(()) => return Ok(HasMoved::Yes { branch: BranchMoved::Moved }),
        Err(error) => error.said().to_owned(),
    };
    let at = user.ref_at(&branch_step.name)?;
    let branch = match at.filter(|at| Some(at) != branch_step.from.as_ref()) {
        Some(at) => BranchMoved::LeftChanged { at },
        None => BranchMoved::LeftBlocked { why },
    };
    Ok(HasMoved::Yes { branch })
}

/// A ref that goes from one place to another.
struct Step {
    name: String,
    from: Option<String>,
    to: String,
}

/// What the branch may do.
enum Branch {
    Follows(Step),
    Left(BranchMoved),
}

fn branch_step(
    user: &Repository,
    branch: &str,
    from: Option<&str>,
    to: &str,
) -> Result<Branch, Failure> {
    let name = format!("refs/heads/{branch}");
    if !path_names::is_branch_name(branch) {
        let why = format!("{branch:?} cannot be the name of a branch");
        return Ok(Branch::Left(BranchMoved::LeftBlocked { why }));
    }
    let stands = user.ref_at(&name)?;
    if stands.as_deref() == Some(to) {
        return Ok(Branch::Left(BranchMoved::Moved));
    }
    if let Some(place) = checked_out(user, &name)? {
        return Ok(Branch::Left(BranchMoved::LeftCheckedOut { place }));
    }
    if let Some(at) = stands.clone().filter(|at| Some(at.as_str()) != from) {
        return Ok(Branch::Left(BranchMoved::LeftChanged { at }));
    }
    let (code, _) = user.git().args(["symbolic-ref", "--quiet", &name]).run_with(&[0, 1, 128])?;
    if code == 0 {
        let why = format!("{branch} is only another name of a branch");
        return Ok(Branch::Left(BranchMoved::LeftBlocked { why }));
    }
    Ok(Branch::Follows(Step { name, from: stands, to: to.to_owned() }))
}

/// The checkout of the user's that works on a branch, also in the middle of a rebase or bisect.
fn checked_out(user: &Repository, name: &str) -> Result<Option<PathBuf>, Failure> {
    let said = user.git().args(["worktree", "list", "--porcelain", "-z"]).run()?;
    let mut place = PathBuf::new();
    for field in parts(&said) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            place = path_names::below(Path::new("/"), path);
        } else if field.strip_prefix(b"branch ") == Some(name.as_bytes()) {
            return Ok(Some(place));
        }
    }
    let linked = fs::read_dir(user.common_dir.join("worktrees")).into_iter().flatten().flatten();
    let mut git_dirs: Vec<PathBuf> = linked.map(|entry| entry.path()).collect();
    git_dirs.push(user.common_dir.clone());
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

fn transact(user: &Repository, steps: &[&Step]) -> Result<(), GitError> {
    let mut input = Vec::new();
    for step in steps.iter().filter(|step| step.from.as_ref() != Some(&step.to)) {
        let none = "0".repeat(step.to.len());
        let from = step.from.as_ref().unwrap_or(&none);
        input.extend(format!("update {}\0{}\0{from}\0", step.name, step.to).into_bytes());
    }
    if input.is_empty() {
        return Ok(());
    }
    // Where a reflog is kept, it wants to know who.
    let identity = Settings::of(None, &user.common_dir)?.identity();
    let git = || {
        let git = user.git().durably().env("GIT_COMMITTER_NAME", identity.author().0);
        let git = git.env("GIT_COMMITTER_EMAIL", identity.author().1);
        git.args(["update-ref", "--no-deref", "-z", "--stdin"]).input(input.clone())
    };
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    user.write_refs(&names, git)
}

/// Somebody was faster, or git cannot write the head at all.
fn overtaken(user: &Repository, step: &Step, error: GitError) -> Result<HasMoved, Failure> {
    let at = user.ref_at(&step.name)?;
    if at == step.from { Err(error.into()) } else { Ok(HasMoved::Overtaken { at }) }
}
