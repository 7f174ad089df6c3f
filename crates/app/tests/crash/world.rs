//! A repository of its own for each case, the flow that is played in it, and the real program.
//!
//! Nothing here sleeps to let something happen: [`until`] looks until it has happened, or fails.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Signal,
};
use serde_json::Value;
use tempfile::TempDir;

use super::processes::{left_over, signal};
use crate::world::SETTINGS;

/// The program under test.
const FORGE: &str = env!("CARGO_BIN_EXE_forge");
/// Anything that has not happened by then will not happen. Generous: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at something that cannot wake us.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What every run is asked for.
const REQUEST: &str = "Make a world of small parts, with their tests";

/// What is played in a world.
pub(crate) struct Script {
    /// How cases are called that play it.
    pub(crate) name: &'static str,
    /// The flow that is run.
    pub(crate) flow: &'static str,
    /// The files of the repository. The scripted agent plays from `scenario.toml`.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// More arguments of `forge run`.
    pub(crate) args: &'static [&'static str],
    /// The checkpoints that ask, as unit and gate. A person approves each of them.
    pub(crate) checkpoints: &'static [(&'static str, &'static str)],
    /// The units with a fact of their landing, sorted.
    pub(crate) landings: &'static [&'static str],
    /// A file that is on the branch in the end.
    pub(crate) proof: &'static str,
    /// About what an undisturbed run takes. Not measured, so that a case is the same everywhere.
    pub(crate) time: Duration,
    /// How often agents may be killed alone: that is a miss, and too many of them need a person.
    pub(crate) agent_blows_max: usize,
    /// What else must be as in an undisturbed run. Looks at promises of its own on the way.
    pub(crate) course: fn(&World, &str) -> BTreeMap<String, Value>,
}

/// One repository.
pub(crate) struct World {
    dir: TempDir,
    /// The repository's top.
    pub(crate) top: PathBuf,
    /// What is played in it.
    pub(crate) script: &'static Script,
}

/// A driver that we started: `forge run` or `forge resume`.
pub(crate) struct Driver {
    child: Child,
    /// The records as they are told. Closed when nobody can tell any more.
    lines: Receiver<String>,
}

/// What came of waiting for a driver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The time is over, and it goes on.
    GoesOn,
    /// It has nothing more to say.
    Fell,
}

/// Files below a folder, by path.
pub(crate) type Tree = BTreeMap<PathBuf, Vec<u8>>;

impl World {
    /// A repository in which nothing was run yet.
    pub(crate) fn new(script: &'static Script) -> Self {
        Self::with(script, &[])
    }

    /// The same with some more files.
    pub(crate) fn with(script: &'static Script, more: &[(&str, &str)]) -> Self {
        let dir = TempDir::with_prefix("forge-crash-").unwrap();
        let top = dir.path().canonicalize().unwrap().join("repository");
        for (path, content) in script.files.iter().chain(more) {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let world = Self { dir, top, script };
        let settings = world.beside(".config/forge/config.toml");
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(settings, SETTINGS).unwrap();
        world.git(&["init", "-q", "--initial-branch=main"]);
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "-m", "first"]);
        let approved = world.forge(&["config", "approve", "--flow", script.flow]);
        assert!(approved.status.success(), "{approved:?}");
        world
    }

    /// Calls git in the repository, which must succeed, and gives what it said.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        self.surround(&mut command);
        let output = command.args(args).current_dir(&self.top).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Everything that belongs to this world lies here.
    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// The user is somebody of this world, so that nothing is left in the home of another.
    fn surround(&self, command: &mut Command) {
        command.env("HOME", self.dir.path()).env("TMPDIR", self.dir.path()).stdin(Stdio::null());
        for name in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{name}_NAME"), "Ada");
            command.env(format!("GIT_{name}_EMAIL"), "ada@example.org");
        }
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "GIT_DIR", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        // A test that runs inside of an attempt is still not part of it, and the sizes of families of tests
        // set nothing.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FORGE_") {
                command.env_remove(name);
            }
        }
    }

    /// A place outside of the repository, for what a test and its agent share.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What all drivers complained about.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(self.beside("stderr")).unwrap_or_default()
    }

    /// Keeps the repository for a person to look at, and says where.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        self.top.clone()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(FORGE);
        command.args(args).current_dir(&self.top);
        self.surround(&mut command);
        if args.contains(&"doctor") {
            // No agent is installed here, which it would call wrong.
            command.env("FORGE_AGENT", "scripted");
        }
        command
    }

    /// A command that reads or mends.
    pub(crate) fn forge(&self, args: &[&str]) -> Output {
        let mut command = self.command(args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id().cast_signed();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        let output = output.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            signal(pid, Signal::KILL);
            panic!("forge {args:?} does not end");
        });
        output.unwrap()
    }

    /// A command that is killed so long after it was begun, if it has not ended by then.
    pub(crate) fn forge_killed(&self, args: &[&str], after: Duration) {
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
        let handle = handle.unwrap();
        let mut files = [PollFd::new(&handle, PollFlags::IN)];
        poll(&mut files, Some(&Timespec::try_from(after).unwrap())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A command that reads, for its JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.forge(args);
        assert!(output.status.success(), "forge {args:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Starts a run.
    pub(crate) fn run(&self) -> Driver {
        let args =
            ["run", REQUEST, "--flow", self.script.flow, "--scenario", "scenario.toml", "--json"];
        self.drive(&[&args[..], self.script.args].concat())
    }

    /// Takes the run up again.
    pub(crate) fn resume(&self, run: &str) -> Driver {
        self.drive(&["resume", run, "--json"])
    }

    /// Starts a command that drives a run.
    pub(crate) fn drive(&self, args: &[&str]) -> Driver {
        let mut options = File::options();
        let stderr = options.append(true).create(true).open(self.beside("stderr")).unwrap();
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, printed) = mpsc::channel();
        thread::spawn(move || {
            // A line that a kill tore is not told.
            for line in lines.map_while(Result::ok) {
                let _the_case_is_over = sender.send(line);
            }
        });
        Driver { child, lines: printed }
    }

    /// The run and how it stands; nothing if none has begun.
    pub(crate) fn standing(&self) -> Option<(String, String)> {
        let rows = self.json(&["status", "--json"]);
        let rows = rows.as_array().unwrap();
        assert!(rows.len() <= 1, "one run was asked for: {rows:?}");
        let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.first().map(|row| (word(row, "run"), word(row, "standing")))
    }

    /// `.git/forge`.
    pub(crate) fn home(&self) -> PathBuf {
        self.top.join(".git/forge")
    }

    /// The folders of all calls of the run.
    pub(crate) fn attempts(&self, run: &str) -> PathBuf {
        self.home().join("attempts").join(run)
    }

    /// The live folder of the run.
    pub(crate) fn live(&self, run: &str) -> PathBuf {
        self.home().join("runs").join(run)
    }

    /// The facts of the run, in order.
    pub(crate) fn facts(&self, run: &str) -> Vec<Value> {
        let output = self.forge(&["log", run, "--json"]);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.flat_map(|record| record["facts"].as_array().unwrap().clone()).collect()
    }

    /// How many steps of all calls have such a file, the calls themselves among them.
    pub(crate) fn count(&self, file: &str) -> usize {
        let below = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let calls = below(&self.home().join("attempts")).into_iter().flat_map(|run| below(&run));
        let folders =
            calls.flat_map(|call| [vec![call.clone()], below(&call.join("steps"))].concat());
        folders.filter(|folder| folder.join(file).exists()).count()
    }

    /// The calls whose agent or command has said that it began.
    pub(crate) fn starts(&self) -> Vec<String> {
        let attempts = fs::read_dir(self.home().join("attempts")).into_iter().flatten();
        let logs = attempts.map(|entry| entry.unwrap().path().join("scripted.log"));
        let text: String = logs.filter_map(|log| fs::read_to_string(log).ok()).collect();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let starts = lines.filter(|line| line["what"] == "start");
        starts.map(|line| line["call"].as_str().unwrap().to_owned()).collect()
    }
}

/// Nobody outlives the world, also if a test failed because somebody would have.
impl Drop for World {
    fn drop(&mut self) {
        for (pid, _) in left_over(&self.folder()) {
            signal(pid, Signal::KILL);
        }
    }
}

impl Driver {
    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits for one more record, and gives its facts. Nothing when it has no more to tell.
    pub(crate) fn hear(&self) -> Option<Vec<Value>> {
        loop {
            let line = match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("the driver tells nothing any more"),
            };
            // The last line says how the run was left, and is no record.
            let line: Value = serde_json::from_str(&line).unwrap();
            if let Some(facts) = line["facts"].as_array() {
                return Some(facts.clone());
            }
        }
    }

    /// Waits for a line with these words in it.
    pub(crate) fn hear_of(&self, words: &str) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            if line.unwrap_or_else(|_| panic!("nothing was printed of {words}")).contains(words) {
                return;
            }
        }
    }

    /// Lets it work for so long, or until it ends.
    pub(crate) fn work(&self, time: Duration) -> Waited {
        let until = Instant::now() + time;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Waited::GoesOn,
                Err(RecvTimeoutError::Disconnected) => return Waited::Fell,
            }
        }
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        if self.work(PATIENCE) == Waited::GoesOn {
            let _it_ended_just_now = self.child.kill();
            panic!("the driver does not end");
        }
        self.child.wait().unwrap()
    }
}

/// A driver does not outlive its case.
impl Drop for Driver {
    fn drop(&mut self) {
        let _it_has_ended = self.child.kill();
        let _it_is_gone = self.child.wait();
    }
}

/// Looks until something has happened.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// All files below a folder, hidden ones too.
pub(crate) fn tree(folder: &Path) -> Tree {
    let mut files = Tree::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder_left) = left.pop() {
        for entry in fs::read_dir(&folder_left).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}
