//! The user's commit hooks, run for one commit as `git commit` would have run them.
//!
//! They see a git folder of their own: HEAD is the first parent, the index is the commit. What they
//! stage becomes part of a new commit; what they only leave in the files does not. They have an object
//! store of their own, and a guard sees what they add before it comes into the user's.
//!
//! Invariant: the user's HEAD, index and refs, and the agent's `.git`, are out of their reach by the
//! variables that git sets.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Access, OFlags, access, fcntl_getfl, fcntl_setfl},
};

use crate::{
    checkout::{
        agent_repository,
        files::{self, FilledCheckout},
        git_dir::{self, Checkout},
        nested_git, run_records, setup_baseline,
        state::LockedCheckout,
    },
    commit::added_content::{self, ContentGuard},
    git::{
        command::Git,
        error::{GitError, IoContext as _, WorkspaceError},
        object_writer::NewCommit,
        path_names::{self, encode_path},
        safe_files,
        user_config::UserConfig,
    },
    protocol::{HookRefusal, HooksResult, OperationResult, RefusedCommit, RunHooks},
    repository::{locate::Repository, objects, refs},
};

/// Interval between checks whether a silent hook has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Size of one read of the output, in bytes.
const CHUNK_BYTES: usize = 8192;

const PRE_COMMIT: &str = "pre-commit";
const COMMIT_MSG: &str = "commit-msg";

/// Performs [`RunHooks`], if the guard lets it.
pub(crate) fn run_hooks(
    operation: &RunHooks,
    guard: &mut ContentGuard<'_>,
) -> Result<OperationResult, WorkspaceError> {
    refs::check_pin(&operation.pin)?;
    let message = objects::checked_message(&operation.message)?;
    let user = Repository::from_location(&operation.location);
    let commit = user.require_commit(&operation.commit)?;
    let locked = LockedCheckout::acquire(&operation.location)?;
    let state = locked.opened()?;
    safe_files::survey(&locked.tree)?;
    let checkout = locked.checkout(&operation.location)?;
    let untouched = setup_baseline::untouched(&state.baseline, &locked.tree)?;
    checkout.prepare(&[&state.excluded()[..], &setup_baseline::paths(&untouched)].concat())?;
    let exactly = |at: &str| -> Result<Checkout, WorkspaceError> {
        let survey = safe_files::survey(&locked.tree)?;
        for path in &survey.special {
            safe_files::remove(&path_names::below(&locked.tree, path))?;
        }
        let checkout = locked.checkout(&operation.location)?;
        run_records::remove(&locked.tree)?;
        let filled = FilledCheckout::outermost(checkout, user.code_tree(at)?)?;
        let mut all = files::fill_all(filled, &survey, &locked.lock)?;
        for filled in &all {
            filled.checkout.clean(&locked.lock)?;
        }
        agent_repository::create_in_submodules(
            files::submodules(&all),
            &locked.dir.join("git.new"),
        )?;
        Ok(all.swap_remove(0).checkout)
    };
    let HooksFolder { folder, notes } = hooks_folder(operation, &user, &commit, &locked.tree)?;
    let as_it_is = |refusal: Option<HookRefusal>| -> Result<OperationResult, WorkspaceError> {
        user.pin(&operation.pin, &commit)?;
        let tree = user.code_tree(&commit)?;
        let (commit, changed, notes) = (commit.clone(), Vec::new(), notes.clone());
        Ok(OperationResult::Hooked(HooksResult { commit, tree, refusal, changed, notes }))
    };

    if !has_hooks(&folder) {
        return as_it_is(None);
    }
    let checkout = exactly(&commit)?;
    let hook_repository =
        HookRepository::create(&locked, &checkout, &user, &commit, &state.branch, &folder)?;
    let outcome = hook_repository.run(operation, &message);
    nested_git::restore(&locked.dir)?;
    let outcome = outcome.and_then(|outcome| match outcome {
        HooksOutcome::Refused(refusal) => Ok(Err(refusal)),
        HooksOutcome::Passed { tree, message: new_message } => {
            let git = || hook_repository.git();
            let mut flaws = added_content::scan_trees(git, &user.tree(&commit)?, &tree, guard)?;
            if new_message != message {
                flaws.extend(added_content::scan_message(&new_message, guard));
            }
            if flaws.is_empty() {
                hook_repository.import_objects(&user, &tree)?;
            }
            Ok(Ok((tree, new_message, flaws)))
        }
    });
    safe_files::remove(&hook_repository.git_dir)?;
    let (tree, new_message) = match outcome {
        Ok(Ok((tree, new_message, flaws))) if flaws.is_empty() => (tree, new_message),
        Ok(Ok((_, _, flaws))) => {
            exactly(&commit)?;
            return Ok(OperationResult::Refused(RefusedCommit { flaws }));
        }
        Ok(Err(refusal)) => {
            exactly(&commit)?;
            return as_it_is(Some(refusal));
        }
        Err(failure) => {
            exactly(&commit)?;
            return Err(failure);
        }
    };
    if tree == user.tree(&commit)? && new_message == message {
        exactly(&commit)?;
        return as_it_is(None);
    }
    let (identity, when_ms) = (&checkout.settings.identity(), operation.when_ms);
    let (parents, message) = (&hook_repository.parents, &new_message);
    let new = user.make_commit(&NewCommit { tree: &tree, parents, identity, when_ms, message })?;
    user.pin(&operation.pin, &new)?;
    exactly(&new)?;
    let changed = user.changes(&commit, &new)?.into_iter().map(|change| change.path).collect();
    let tree = user.code_tree(&new)?;
    let refusal = None;
    Ok(OperationResult::Hooked(HooksResult { commit: new, tree, refusal, changed, notes }))
}

/// The git folder that the hooks see, set up and in place.
struct HookRepository {
    git_dir: PathBuf,
    tree: PathBuf,
    parents: Vec<String>,
    lock: File,
    settings: UserConfig,
}

/// The decision of the hooks.
enum HooksOutcome {
    Passed { tree: String, message: String },
    Refused(HookRefusal),
}

impl HookRepository {
    fn create(
        locked: &LockedCheckout,
        checkout: &Checkout,
        user: &Repository,
        commit: &str,
        branch: &str,
        folder: &Path,
    ) -> Result<Self, WorkspaceError> {
        let listed = user.git().args(["rev-list", "--parents", "-n1", commit]).run_line()?;
        let parents: Vec<String> = listed.split(' ').skip(1).map(str::to_owned).collect();
        let git_dir = locked.dir.join("hooks.git");
        safe_files::remove(&git_dir)?;
        for folder in ["objects/info", "refs/heads", "info"] {
            let folder = git_dir.join(folder);
            fs::create_dir_all(&folder).context("make the folder", &folder)?;
        }
        let config = checkout.settings.text(&[
            ("core.worktree", locked.tree.as_os_str().as_bytes()),
            ("core.hookspath", folder.as_os_str().as_bytes()),
            ("core.fsmonitor", b"false"),
            ("gc.auto", b"0"),
            ("maintenance.auto", b"false"),
        ]);
        let put = |name: &str, content: &[u8]| safe_files::write(&git_dir.join(name), content);
        put("config", &config)?;
        put("HEAD", format!("ref: refs/heads/{branch}\n").as_bytes())?;
        if let Some(parent) = parents.first() {
            put("packed-refs", format!("{parent} refs/heads/{branch}\n").as_bytes())?;
        }
        let objects = checkout.objects();
        let borrowed = format!("{}\n", path_names::quoted(objects.as_os_str().as_bytes()));
        put("objects/info/alternates", borrowed.as_bytes())?;
        for name in ["info/attributes", "info/exclude", "shallow"] {
            git_dir::copy_settings(&checkout.git_dir.join(name), &git_dir.join(name))?;
        }
        let index = git_dir.join("index");
        fs::copy(checkout.index(), &index).context("write", &index)?;
        let git = || checkout.git().env("GIT_INDEX_FILE", &index);
        run_records::hide_in_index(git, &checkout.owner.git_dir, commit)?;
        // Programs that look for `.git` themselves must find the same, and never the agent's.
        nested_git::set_aside(&locked.dir, &[b".git".to_vec()])?;
        let link = [b"gitdir: ", git_dir.as_os_str().as_bytes(), b"\n"].concat();
        safe_files::write(&locked.tree.join(".git"), &link)?;
        let lock = locked.lock.try_clone().context("keep open", &locked.dir)?;
        let tree = locked.tree.clone();
        let settings = UserConfig::read(checkout.owner.top.as_deref(), &checkout.owner.git_dir)?;
        Ok(Self { git_dir, tree, parents, lock, settings })
    }

    fn run(&self, operation: &RunHooks, message: &str) -> Result<HooksOutcome, WorkspaceError> {
        let refused = |hook: &str, output: String| {
            Ok(HooksOutcome::Refused(HookRefusal { hook: hook.to_owned(), output }))
        };
        if let Some(output) = self.run_one(PRE_COMMIT, &[], operation)? {
            return refused(PRE_COMMIT, output);
        }
        let file = self.git_dir.join("COMMIT_EDITMSG");
        safe_files::write(&file, message.as_bytes())?;
        if let Some(output) = self.run_one(COMMIT_MSG, &[&file], operation)? {
            return refused(COMMIT_MSG, output);
        }
        let tree = match self.git().durably().arg("write-tree").run_line() {
            Ok(tree) => tree,
            // The index has conflicts, or cannot be read.
            Err(error) => return refused(PRE_COMMIT, error.to_string()),
        };
        let written = fs::read(&file).unwrap_or_default();
        if written == message.as_bytes() {
            return Ok(HooksOutcome::Passed { tree, message: message.to_owned() });
        }
        let cleaned = self.git().arg("stripspace").input(written).run()?;
        match objects::checked_message(&String::from_utf8_lossy(&cleaned)) {
            Ok(message) => Ok(HooksOutcome::Passed { tree, message }),
            Err(failure) => refused(COMMIT_MSG, failure.what),
        }
    }

    /// Runs one hook; the end of what it said, if it said no.
    fn run_one(
        &self,
        name: &str,
        args: &[&Path],
        operation: &RunHooks,
    ) -> Result<Option<String>, WorkspaceError> {
        let variables = self.settings.identity().variables(operation.when_ms);
        let git = Git::with_hooks(&self.tree)
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_INDEX_FILE", self.git_dir.join("index"))
            .env("GIT_EDITOR", ":")
            .env("GIT_PREFIX", "");
        let author = variables.into_iter().filter(|(name, _)| name.starts_with("GIT_AUTHOR"));
        let git = author.fold(git, |git, (name, value)| git.env(name, value));
        let git =
            git.holding_lock(&self.lock)?.args(["hook", "run", "--ignore-missing", name, "--"]);
        let (is_passed, output) = run_captured(git.args(args), operation.output_max)?;
        Ok((!is_passed).then_some(output))
    }

    /// Brings new objects into the user's store: the hooks had one of their own.
    fn import_objects(&self, user: &Repository, tree: &str) -> Result<(), WorkspaceError> {
        let mut wanted = format!("{tree}\n");
        wanted.extend(self.parents.iter().map(|parent| format!("^{parent}\n")));
        let pack = self.git().args(["pack-objects", "--revs", "--stdout", "-q"]);
        let pack = pack.input(wanted.into_bytes()).run()?;
        let unpack = user.git().durably().args(["unpack-objects", "-q"]).input(pack);
        unpack.run()?;
        Ok(())
    }

    /// Returns git as the hooks see it, without hooks.
    fn git(&self) -> Git {
        Git::in_git_dir(&self.git_dir)
            .env("GIT_INDEX_FILE", self.git_dir.join("index"))
            .in_work_dir(&self.tree)
    }
}

/// The folder of the hooks, and what a person should know about it.
struct HooksFolder {
    folder: PathBuf,
    notes: Vec<String>,
}

/// Returns the folder of the user's hooks. A relative path means the files of the commit, if its hooks
/// are those that the user has accepted; otherwise the user's own checkout.
fn hooks_folder(
    operation: &RunHooks,
    user: &Repository,
    commit: &str,
    tree: &Path,
) -> Result<HooksFolder, WorkspaceError> {
    let location = &operation.location;
    let top = location.top.as_deref().unwrap_or(&location.common_dir);
    let asked =
        Git::with_hooks(top).args(["config", "--type=path", "-z", "--get", "core.hooksPath"]);
    let (code, said) = asked.run_with(&[0, 1])?;
    if code == 1 {
        let folder = location.common_dir.join("hooks");
        return Ok(HooksFolder { folder, notes: Vec::new() });
    }
    let path = said.strip_suffix(b"\0").unwrap_or(&said);
    let (inside, own) = (path_names::below(tree, path), path_names::below(top, path));
    let name = encode_path(path.strip_suffix(b"/").unwrap_or(path));
    if path_names::relative_inside(&name).is_none() || !inside.is_dir() {
        return Ok(HooksFolder { folder: own, notes: Vec::new() });
    }
    let Some(accepted) = &operation.accepted else {
        return Ok(HooksFolder { folder: inside, notes: Vec::new() });
    };
    let at = |commit: &str| user.entry_at(commit, &name);
    match (at(accepted)?, at(commit)?) {
        (Some(accepted), Some(now)) if accepted == now => {
            Ok(HooksFolder { folder: inside, notes: Vec::new() })
        }
        (accepted, now) => {
            let note = format!(
                "the commit hooks in `{name}` were changed in this run, so those of your checkout ran instead"
            );
            let notes = if accepted == now { Vec::new() } else { vec![note] };
            Ok(HooksFolder { folder: own, notes })
        }
    }
}

/// Whether a folder has hooks that git runs for a commit.
pub(crate) fn has_hooks(folder: &Path) -> bool {
    [PRE_COMMIT, COMMIT_MSG].iter().any(|name| is_program(&folder.join(name)))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// Runs a program to its end; whether it succeeded, and the last bytes that it said. Whatever it
/// leaves behind in the background may keep the pipe open: we do not wait for that.
fn run_captured(git: Git, output_max: usize) -> Result<(bool, String), WorkspaceError> {
    let not_run = |error: io::Error| WorkspaceError::from(GitError::NotRun(error));
    let (mut from, to) = io::pipe().map_err(not_run)?;
    let flags = fcntl_getfl(&from).map_err(|error| not_run(error.into()))?;
    fcntl_setfl(&from, flags | OFlags::NONBLOCK).map_err(|error| not_run(error.into()))?;
    let mut command = git.into_command();
    command.stdout(Stdio::from(to.try_clone().map_err(not_run)?)).stderr(Stdio::from(to));
    let mut child = command.spawn().map_err(not_run)?;
    // The command holds our ends of the pipe.
    drop(command);
    let mut output = Vec::new();
    let wait = Timespec::try_from(LOOK_AGAIN).expect("a short time is a time");
    let status = loop {
        let ended = child.try_wait().map_err(not_run)?;
        let end = drain(&mut from, &mut output, output_max).map_err(not_run)?;
        match (ended, end) {
            (Some(status), _) => break status,
            (None, PipeState::Closed) => break child.wait().map_err(not_run)?,
            (None, PipeState::NothingNow) => {
                let mut watched = [PollFd::new(&from, PollFlags::IN)];
                // Interrupted or not: the next look tells.
                let _ = poll(&mut watched, Some(&wait));
            }
        }
    };
    let kept = &output[output.len().saturating_sub(output_max)..];
    Ok((status.success(), String::from_utf8_lossy(kept).trim().to_owned()))
}

/// The reason why there is nothing more to read.
enum PipeState {
    Closed,
    NothingNow,
}

/// Reads what is there, and keeps about as much as is wanted of its end.
fn drain(
    from: &mut io::PipeReader,
    output: &mut Vec<u8>,
    output_max: usize,
) -> io::Result<PipeState> {
    let mut chunk = [0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(PipeState::Closed),
            Ok(n) => output.extend(&chunk[..n]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(PipeState::NothingNow);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        let surplus = output.len().saturating_sub(output_max);
        if surplus > output_max.max(CHUNK_BYTES) {
            output.drain(..surplus);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::in_folder(folder.path()).set("alias.speak=!seq 1 100000; exit 3");
        let (is_passed, output) = run_captured(git.arg("speak"), 13).unwrap();
        assert!(!is_passed);
        assert_eq!(output, "99999\n100000");
    }

    #[test]
    fn what_a_hook_leaves_in_the_background_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let begin = format!("alias.speak=!mkfifo {0}; (cat {0} &) ; echo said", pipe.display());
        let (is_passed, output) =
            run_captured(Git::in_folder(folder.path()).set(&begin).arg("speak"), 100).unwrap();
        assert!(is_passed);
        assert_eq!(output, "said");
        fs::write(&pipe, "end").unwrap();
    }
}
