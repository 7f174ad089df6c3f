//! One call of git.
//!
//! All git of this crate goes through [`Git`]. It does not know what a repository or a checkout is;
//! its callers name the folders.
//!
//! Invariant: nothing of git's own variables around us reaches a call (we may have been called
//! from a hook), except those that name the user's configuration.
//! Invariant: a call never asks, never runs a hook or a daemon, never collects garbage.
//! Invariant: paths are literal: `-x`, `*` and `:(top)` are names like any other.

use crate::git::{error::GitError, job, path_names::object_id};

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, ErrorKind, Read as _, Write as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, PoisonError},
    thread,
};

/// Of what git says about a failure, this much is kept, in bytes.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Limit on the answers about objects that a process remembers.
const ANSWERS_MAX: usize = 1024;
/// A longer answer about an object is not remembered, in bytes.
const ANSWER_BYTES_MAX: usize = 16 << 10;
/// Answers about objects, by folder and arguments ([`Git::run_once`]).
static OBJECT_ANSWERS: Mutex<BTreeMap<Vec<OsString>, ObjectAnswer>> = Mutex::new(BTreeMap::new());
/// An exit code, and what git said.
type ObjectAnswer = (i32, Vec<u8>);

/// Variables that name the user's configuration; git itself never sets them for a hook.
const KEPT_VARIABLES: &[&str] = &["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// Variables that let git find other objects or files than those of its folder.
const ELSEWHERE_VARIABLES: &[&str] = &[
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
];

/// Settings of every call, whatever a configuration says.
const SAFE_SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.sparseCheckout=false",
    "core.hooksPath=/dev/null",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.safecrlf=false",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "index.sparse=false",
    "submodule.recurse=false",
    "commit.gpgSign=false",
    "i18n.commitEncoding=UTF-8",
    "merge.conflictStyle=diff3",
    "log.showSignature=false",
];

/// A commit that a fact names must survive the loss of power: what git leaves to chance by default
/// is synced, all new objects of a call at once. Another git may hold a ref for a moment longer than
/// git waits by default.
const DURABLE_SETTINGS: &[&str] = &[
    "core.fsync=committed,loose-object,reference",
    "core.fsyncMethod=batch",
    "core.filesRefLockTimeout=1000",
];

/// A call of git that is being put together.
#[derive(Debug)]
pub(crate) struct Git {
    command: Command,
    display: String,
    input: Option<Vec<u8>>,
}

/// The number of the signal that a Ctrl-C sends, on every Unix.
const SIGINT: i32 = 2;
/// The number of the signal that the system sends when memory runs out, on every Unix.
const SIGKILL: i32 = 9;
/// How often a call that was killed is run again.
const KILLS_MAX: u32 = 2;

impl Git {
    /// Returns a call in a folder, where git finds the repository itself.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let mut git = Self::bare_call();
        git.command.arg("-C").arg(folder);
        git.with_safe_settings()
    }

    /// Returns a call in the repository with this git folder.
    pub(crate) fn in_git_dir(git_dir: &Path) -> Self {
        let mut git = Self::bare_call();
        git.command.current_dir(git_dir).env("GIT_DIR", git_dir);
        git.with_safe_settings()
    }

    /// Returns a call with the user's own settings for hooks, in a folder. Only for asking about them, and
    /// for running them.
    pub(crate) fn with_hooks(folder: &Path) -> Self {
        let mut git = Self::bare_call();
        git.command.current_dir(folder).args(["-c", "core.fsmonitor=false"]);
        git
    }

    fn bare_call() -> Self {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            let is_gits = name.as_encoded_bytes().starts_with(b"GIT_");
            if is_gits && !KEPT_VARIABLES.iter().any(|kept| name == *kept) {
                command.env_remove(name);
            }
        }
        // A Ctrl-C at the terminal is for Forge, which knows what to do about it.
        command.process_group(0);
        command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null());
        job::mark(&mut command);
        Self { command, display: "git".to_owned(), input: None }
    }

    fn with_safe_settings(mut self) -> Self {
        self.command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C");
        for setting in SAFE_SETTINGS {
            self.command.arg("-c").arg(setting);
        }
        self
    }

    /// Makes everything that this call writes durable before it returns.
    pub(crate) fn durably(mut self) -> Self {
        for setting in DURABLE_SETTINGS {
            self.command.arg("-c").arg(setting);
        }
        self
    }

    /// Returns one setting for this call. Comes before the first argument.
    #[cfg(test)]
    pub(crate) fn set(mut self, setting: &str) -> Self {
        self.command.arg("-c").arg(setting);
        self
    }

    /// Returns one variable for this call.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory.
    pub(crate) fn in_work_dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Returns one argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.display.push(' ');
        self.display.push_str(&arg.as_ref().to_string_lossy());
        self.command.arg(arg);
        self
    }

    /// Some arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Sets the standard input.
    pub(crate) fn input(mut self, input: Vec<u8>) -> Self {
        self.command.stdin(Stdio::piped());
        self.input = Some(input);
        self
    }

    /// Keeps this file open for as long as git runs, and with it the lock on the file: even if
    /// Forge is killed, no other process gets the lock before git has ended.
    pub(crate) fn holding_lock(mut self, lock: &File) -> Result<Self, GitError> {
        let lock = lock.try_clone().map_err(GitError::NotRun)?;
        self.command.stdin(Stdio::from(lock));
        Ok(self)
    }

    /// Runs it; what it says, if it succeeds.
    pub(crate) fn run(self) -> Result<Vec<u8>, GitError> {
        self.run_with(&[0]).map(|(_, message)| message)
    }

    /// Runs a query whose answer follows from objects. If they are named by their full ids, the answer never
    /// changes, and git is asked once per process. Some exit codes are answers.
    pub(crate) fn run_once(
        self,
        objects: &[&str],
        answers: &[i32],
    ) -> Result<(i32, Vec<u8>), GitError> {
        let looks_elsewhere =
            self.command.get_envs().any(|(name, _)| ELSEWHERE_VARIABLES.iter().any(|v| name == *v));
        if looks_elsewhere || objects.iter().any(|object| object_id(object).is_none()) {
            return self.run_with(answers);
        }
        let folder = self.command.get_current_dir().map(Path::as_os_str).unwrap_or_default();
        let query: Vec<OsString> =
            [folder].into_iter().chain(self.command.get_args()).map(OsStr::to_owned).collect();
        let known = || OBJECT_ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known().get(&query) {
            return Ok(answer.clone());
        }
        let answer = self.run_with(answers)?;
        let mut known = known();
        // What is not there may come: a shallow clone can be made whole.
        if answer.0 == 0 && answer.1.len() <= ANSWER_BYTES_MAX && known.len() < ANSWERS_MAX {
            known.insert(query, answer.clone());
        }
        Ok(answer)
    }

    /// Runs it for an answer of one line.
    pub(crate) fn run_line(self) -> Result<String, GitError> {
        let command = self.display.clone();
        let mut message = self.run()?;
        message.pop_if(|last| *last == b'\n');
        String::from_utf8(message).map_err(|_| GitError::Unreadable { command })
    }

    /// Runs it where some exit codes are answers; the code and what it says.
    pub(crate) fn run_with(mut self, answers: &[i32]) -> Result<(i32, Vec<u8>), GitError> {
        let output = self.finish()?;
        match output.status.code() {
            Some(code) if answers.contains(&code) => Ok((code, output.stdout)),
            code => Err(self.refused(code, &output.stderr)),
        }
    }

    /// Returns the first bytes that it says, and whether that is all. It reads its input before it speaks.
    pub(crate) fn run_truncated(mut self, bytes_max: usize) -> Result<(Vec<u8>, Extent), GitError> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn()?;
        if let Some((bytes, mut pipe)) = self.input.as_deref().zip(child.stdin.take()) {
            // If git stops reading, its exit code says why.
            let _ = pipe.write_all(bytes);
        }
        let out = child.stdout.take().expect("stdout is piped");
        let mut message = Vec::new();
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        out.take(limit).read_to_end(&mut message).map_err(GitError::NotRun)?;
        if message.len() > bytes_max {
            message.truncate(bytes_max);
            // It may have ended by itself by now, or by the closed pipe: all of them are fine.
            let _ = child.kill();
            child.wait().map_err(GitError::NotRun)?;
            return Ok((message, Extent::Cut));
        }
        let output = child.wait_with_output().map_err(GitError::NotRun)?;
        if output.status.success() {
            Ok((message, Extent::Whole))
        } else {
            Err(self.refused(output.status.code(), &output.stderr))
        }
    }

    /// Returns the call as the standard library knows it, for those who need its streams.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }

    fn finish(&mut self) -> Result<Output, GitError> {
        let mut kills = 0;
        loop {
            let output = self.once()?;
            match output.status.signal() {
                // A Ctrl-C between the fork and its own process group still reaches it, before it is git.
                Some(SIGINT) if output.stdout.is_empty() && output.stderr.is_empty() => {}
                // Whoever killed it, what it was asked for is still wanted, and can be repeated.
                Some(SIGKILL) if kills < KILLS_MAX && !job::is_cancelled() => kills += 1,
                Some(_) | None => return Ok(output),
            }
        }
    }

    fn once(&mut self) -> Result<Output, GitError> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn()?;
        let input = self.input.as_deref().zip(child.stdin.take());
        thread::scope(|scope| {
            if let Some((bytes, mut pipe)) = input {
                // If git stops reading, its exit code says why.
                scope.spawn(move || drop(pipe.write_all(bytes)));
            }
            child.wait_with_output().map_err(GitError::NotRun)
        })
    }

    fn spawn(&mut self) -> Result<Child, GitError> {
        if job::is_cancelled() {
            let what = "the job was stopped";
            return Err(GitError::NotRun(io::Error::new(ErrorKind::Interrupted, what)));
        }
        self.command.spawn().map_err(|error| {
            let folder = self.command.get_current_dir();
            // The kernel says the same of a program and of a folder that is not there.
            match folder.filter(|folder| error.kind() == ErrorKind::NotFound && !folder.is_dir()) {
                Some(folder) => {
                    let what = format!("the folder {} is gone", folder.display());
                    GitError::NotRun(io::Error::new(ErrorKind::NotADirectory, what))
                }
                None => GitError::NotRun(error),
            }
        })
    }

    fn refused(&self, code: Option<i32>, stderr: &[u8]) -> GitError {
        let kept = &stderr[..stderr.len().min(MESSAGE_BYTES_MAX)];
        let message = String::from_utf8_lossy(kept).trim().to_owned();
        GitError::Refused { command: self.display.clone(), code, message }
    }
}

/// Completeness of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it.
    Whole,
    /// There is more.
    Cut,
}

/// Returns the parts of an answer that ends each part with a zero byte.
pub(crate) fn nul_separated(message: &[u8]) -> impl Iterator<Item = &[u8]> {
    let message = message.strip_suffix(&[0]).unwrap_or(message);
    message.split(|byte| *byte == 0).filter(move |_| !message.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repository(files: usize) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let git = || Git::in_folder(folder.path());
        git().args(["init", "--quiet"]).run().unwrap();
        for number in 0..files {
            fs::write(folder.path().join(format!("{number:0200}")), "").unwrap();
        }
        git().args(["add", "--all"]).run().unwrap();
        let tree = git().arg("write-tree").run_line().unwrap();
        (folder, tree)
    }

    #[test]
    fn an_object_is_asked_for_once() {
        let (folder, tree) = repository(1);
        let list = || Git::in_git_dir(&folder.path().join(".git")).args(["ls-tree", &tree]);
        let answer = list().run_once(&[&tree], &[0]).unwrap();
        assert!(!answer.1.is_empty());
        fs::remove_dir_all(folder.path().join(".git/objects")).unwrap();
        assert!(list().run().is_err());
        assert_eq!(list().run_once(&[&tree], &[0]).unwrap(), answer);
        assert!(list().arg("x").run_once(&[&tree], &[0]).is_err(), "another query");
        assert!(list().run_once(&["HEAD"], &[0]).is_err(), "a name may mean another object now");
    }

    #[test]
    fn a_call_that_is_killed_is_made_again_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let kill = |times: u32| {
            let script = format!(
                "alias.die=!echo x >> {0}; test $(wc -l < {0}) -gt {times} || kill -9 $PPID; echo said",
                count.display()
            );
            let said = Git::in_folder(folder.path()).set(&script).arg("die").run_line();
            fs::remove_file(&count).unwrap();
            said
        };
        assert_eq!(kill(2).unwrap(), "said");
        assert!(kill(3).unwrap_err().to_string().contains("was killed"));
    }

    #[test]
    fn a_long_answer_is_not_remembered() {
        let (folder, tree) = repository(ANSWER_BYTES_MAX / 200);
        let list = || Git::in_git_dir(&folder.path().join(".git")).args(["ls-tree", &tree]);
        assert!(list().run_once(&[&tree], &[0]).unwrap().1.len() > ANSWER_BYTES_MAX);
        fs::remove_dir_all(folder.path().join(".git/objects")).unwrap();
        assert!(list().run_once(&[&tree], &[0]).is_err());
    }
}
