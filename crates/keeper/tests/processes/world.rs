//! A place to run real attempts in: a folder, a program with the hidden commands, and ways to wait for things.
//!
//! Nothing here sleeps to make two processes agree; what is not there yet is asked for until a
//! deadline.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::EXAMPLE;
use forge_keeper::{
    AttemptFolder, AttemptStatus, CallVariables, Ending, EndingProof, Keeper, Spec, Stderr, Stdout,
    StepLimits,
};

/// Nothing in these tests takes as long, unless it is broken.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) home: tempfile::TempDir,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        Self { home, env: vec![("PATH".into(), path)] }
    }

    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    pub(crate) fn spec(&self, argv: &[&str]) -> Spec {
        Spec {
            forge: 1,
            call: "build.T2/implement#3".to_owned(),
            argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
            dir: self.work(),
            stdin: None,
            stdout: Stdout::Pipe,
            limits: StepLimits { wall_ms: 25_000, silence_ms: 0, output_bytes: 0 },
            secrets: Vec::new(),
            grace_ms: 20_000,
            stderr: Stderr::Together,
            boxes: None,
            monitor: None,
            variables: CallVariables::Told,
        }
    }

    pub(crate) fn shell(&self, script: &str) -> Spec {
        self.spec(&["sh", "-c", script])
    }

    pub(crate) fn folder(&self, name: &str, spec: &Spec) -> AttemptFolder {
        AttemptFolder::create(&self.home.path().join(name), spec).unwrap()
    }

    pub(crate) fn start(&self, folder: &AttemptFolder) -> Child {
        forge_keeper::start_keeper(&program(), folder, &self.env).unwrap()
    }

    /// Runs an attempt to its end.
    pub(crate) fn run(&self, spec: &Spec) -> (AttemptFolder, Ending) {
        let folder = self.folder("attempt", spec);
        let ending = ending(&folder, &mut self.start(&folder));
        (folder, ending)
    }
}

/// The example that `cargo test` builds, which `main.rs` names.
///
/// `cargo test NAME` does not build it, and would test an old one without a word: then we do.
pub(crate) fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let own = std::env::current_exe().unwrap();
        let program = own.parent().unwrap().parent().unwrap().join("examples").join(EXAMPLE);
        if !is_fresh(&program) {
            build();
        }
        assert!(is_fresh(&program), "run all of `cargo test` to build {}", program.display());
        program
    });
    program.clone()
}

fn build() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--example", EXAMPLE]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    assert!(cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
}

fn is_fresh(program: &Path) -> bool {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let newest = [own.join("src"), own.join("../keeper/src")].iter().filter_map(newest_below).max();
    let built = fs::metadata(program).and_then(|found| found.modified());
    built.is_ok_and(|built| newest.is_none_or(|newest| built >= newest))
}

fn newest_below(folder: &PathBuf) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?;
    let times = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        if entry.file_type().ok()?.is_dir() {
            return newest_below(&entry.path());
        }
        // Unit tests are no part of a program.
        if entry.file_name().to_string_lossy().ends_with("tests.rs") {
            return None;
        }
        entry.metadata().ok()?.modified().ok()
    });
    times.max()
}

pub(crate) fn ending(folder: &AttemptFolder, keeper: &mut Child) -> Ending {
    let status = exited(keeper);
    let log = fs::read_to_string(folder.keeper_log()).unwrap_or_default();
    assert!(status.success(), "{status}: {log}");
    match forge_keeper::look(folder, &EndingProof::NotNeeded).unwrap() {
        AttemptStatus::Ended(ending) => ending,
        other => panic!("not ended but {other:?}: {log}"),
    }
}

pub(crate) fn exited(child: &mut Child) -> ExitStatus {
    let pid = rustix::process::Pid::from_child(child);
    let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
    let mut files = [PollFd::new(&handle, PollFlags::IN)];
    let time = Timespec::try_from(DEADLINE).unwrap();
    assert_eq!(poll(&mut files, Some(&time)), Ok(1), "it does not exit");
    child.wait().unwrap()
}

/// Asks until there is an answer.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn alive(folder: &AttemptFolder) -> Keeper {
    until("there is a keeper", || {
        match forge_keeper::look(folder, &EndingProof::NotNeeded).unwrap() {
            AttemptStatus::Alive(keeper) if keeper.as_fd().is_some() => Some(keeper),
            AttemptStatus::Alive(_) | AttemptStatus::Unclaimed => None,
            other => panic!("not alive but {other:?}"),
        }
    })
}

pub(crate) fn transcript(folder: &AttemptFolder) -> String {
    String::from_utf8_lossy(&fs::read(folder.transcript()).unwrap_or_default()).into_owned()
}

pub(crate) fn until_transcript_has(folder: &AttemptFolder, part: &str) {
    until("the transcript has it", || transcript(folder).contains(part).then_some(()));
}

/// A pid that a child wrote into a file of its own.
pub(crate) fn pid_in(file: &Path) -> i32 {
    until("a pid is written", || {
        let text = fs::read_to_string(file).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    })
}

/// Whether the process is there, and not only waiting to be reaped.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
