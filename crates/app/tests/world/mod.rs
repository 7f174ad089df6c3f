//! A world for one test: a folder of its own with a real git repository, in which the real
//! program is called as a person would call it.
//!
//! Start with [`World`]. Nothing here looks inside the program: what is known is what it prints,
//! what it leaves on the disk, and what its processes do.
//!
//! Invariant: every wait is for something that happens, and has a deadline.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test program uses its own part of the world, and some use all of it"
)]

pub(crate) mod pty;

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

/// The program under test.
pub(crate) const FORGE: &str = env!("CARGO_BIN_EXE_forge");
/// Nothing that a test waits for takes longer than this.
const DEADLINE: Duration = Duration::from_secs(60);
/// How often a wait looks again.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The exit codes, by what they mean.
pub(crate) const DONE: i32 = 0;
pub(crate) const FAILED: i32 = 1;
pub(crate) const WRONG: i32 = 2;
pub(crate) const WAITS: i32 = 3;
pub(crate) const ESCALATED: i32 = 4;
pub(crate) const PARKED: i32 = 5;
pub(crate) const INTERRUPTED: i32 = 130;

/// Writer and reviewer of the shipped flow `draft`, both content at once.
pub(crate) const CONTENT: &str = r##"scenario = 1
[[play]]
role = "writer"
artifacts = { "draft.md" = "# A draft\n" }
usage = { input = 1000, output = 200, cost = "0.01" }
result = { summary = "wrote a draft", shown = { approach = "short", key_changes = ["one page"], risk = "low" } }
[[play]]
role = "reviewer"
artifacts = { "review.md" = "PASS\n" }
usage = { input = 500, output = 50, cost = "0.005" }
result = { summary = "it is good", verdict = "pass", findings = [] }
"##;

/// What most tests are not about: branches are named by the whole id, all of a run is on its branch, and a run may
/// cost what it likes. Tests of the defaults overwrite it.
pub(crate) const SETTINGS: &str = r#"
land = { branch = "forge/{run}", record = "all" }
limits.budget = "none"
"#;

/// One folder with one repository.
pub(crate) struct World {
    folder: tempfile::TempDir,
    /// The checkout. Its path has no symlink in it.
    pub(crate) repo: PathBuf,
}

/// What a call of the program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A call of the program that is under way.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    /// All that it printed so far.
    pub(crate) seen: Vec<String>,
    err: Option<thread::JoinHandle<String>>,
}

/// The commands that print a run while it is driven.
const SHOWS: [&str; 9] =
    ["run", "resume", "attach", "rewind", "approve", "revise", "retry", "override", "reject"];

impl World {
    /// A repository with one commit.
    pub(crate) fn new() -> Self {
        Self::named("repo")
    }

    /// A repository whose folder has this name.
    pub(crate) fn named(name: impl AsRef<OsStr>) -> Self {
        let folder = tempfile::Builder::new().prefix("forge-").tempdir().unwrap();
        let repo = folder.path().canonicalize().unwrap().join(name.as_ref());
        fs::create_dir(&repo).unwrap();
        let world = Self { folder, repo };
        fs::create_dir_all(world.user_file().parent().unwrap()).unwrap();
        fs::write(world.user_file(), SETTINGS).unwrap();
        world.make_repository();
        world
    }

    /// Makes a repository of the checkout's folder.
    pub(crate) fn make_repository(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.write("README.md", "a project\n");
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", "first"]);
    }

    /// The folder that holds the repository, for what belongs beside it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Forge's own place.
    pub(crate) fn place(&self) -> PathBuf {
        self.repo.join(".git/forge")
    }

    /// The journal.
    pub(crate) fn database(&self) -> PathBuf {
        self.place().join("forge.db")
    }

    fn git_in(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        self.surround(&mut command);
        command.arg("-C").arg(&self.repo).args(args);
        command
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.git_in(args).output().unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Writes a file in the checkout.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Commits settings, flows and roles as they lie in the checkout, and nothing else: a run reads
    /// them from the commit that it starts from.
    pub(crate) fn commit(&self) {
        // What is no file cannot be committed, and a test that puts it there wants it there.
        let settings = self.repo.join("forge.toml");
        let paths = if settings.is_file() || !settings.exists() {
            &["forge.toml", ".forge"][..]
        } else {
            &[".forge"]
        };
        let mut listed =
            self.git_in(&["ls-files", "-z", "--deleted", "--modified", "--others", "--"]);
        let listed = listed.args(paths).output().unwrap();
        if !listed.status.success() || listed.stdout.is_empty() {
            return;
        }
        let files: Vec<String> = listed
            .stdout
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        self.git(&[&["add", "--all", "--force", "--"], files.as_slice()].concat());
        let message = ["commit", "--quiet", "--no-verify", "-m", "settings", "--"];
        self.git(&[&message, files.as_slice()].concat());
    }

    /// Allows all commands that the repository makes a flow run.
    pub(crate) fn approve(&self, flow: &str) {
        // A flow that is wrong is refused here as it will be there.
        let _ = finish(&mut self.command_as_it_is(&["config", "approve", "--flow", flow]));
    }

    /// Writes a flow of the project, with a role for each that it names.
    pub(crate) fn flow(&self, name: &str, text: &str) {
        self.write(&format!(".forge/flows/{name}.toml"), format!("name = \"{name}\"\n{text}"));
    }

    /// Writes roles of the project, which say nothing of interest.
    pub(crate) fn roles(&self, roles: &[&str]) {
        for role in roles {
            self.write(&format!(".forge/roles/{role}.md"), format!("You are the {role}.\n"));
        }
    }

    /// Writes what the scripted agent plays from, and names it in the settings.
    pub(crate) fn scenario(&self, text: &str) {
        let head = if text.starts_with("scenario") { "" } else { "scenario = 1\n" };
        self.write("play.toml", format!("{head}{text}"));
        if !self.repo.join("forge.toml").exists() {
            self.write("forge.toml", "[agents.scripted]\nscenario = \"play.toml\"\n");
        }
    }

    /// The program, in the checkout, with surroundings that are the same everywhere. Before a run,
    /// a person has committed what it reads, and allowed what it runs.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut words: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        // Whoever names no flow here means the smallest one.
        let is_run = words.first().is_some_and(|word| *word == "run");
        if is_run && !words.iter().any(|word| *word == "--flow") {
            words.splice(1..1, ["--flow", "draft"].map(OsStr::new));
        }
        let of_the_project =
            ["forge.toml", ".forge"].iter().any(|path| self.repo.join(path).exists());
        if is_run && of_the_project {
            self.commit();
            let flow = words.iter().position(|word| *word == "--flow");
            let flow = flow.and_then(|at| words.get(at + 1)?.to_str());
            self.approve(flow.unwrap_or("draft"));
        }
        // Tests look at every check. With `-q` or `--json` it is as a person gets it.
        let shows = words.first().is_some_and(|word| SHOWS.iter().any(|one| *one == *word));
        if shows && !words.iter().any(|word| *word == "-q" || *word == "-v" || *word == "--json") {
            words.insert(1, OsStr::new("-v"));
        }
        let mut command = self.command_as_it_is(&words);
        if words.iter().any(|word| *word == "doctor") {
            // No agent is installed here, which it would call wrong.
            command.env("FORGE_AGENT", "scripted");
        }
        command
    }

    /// The program, while nobody has committed or allowed anything.
    pub(crate) fn command_as_it_is<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(FORGE);
        self.surround(&mut command);
        command.args(args).current_dir(&self.repo);
        command
    }

    /// The settings of the person.
    pub(crate) fn user_file(&self) -> PathBuf {
        self.beside(".config/forge/config.toml")
    }

    /// The same surroundings for every call, on every machine.
    pub(crate) fn surround(&self, command: &mut Command) {
        surround(command, self.folder.path());
    }

    /// Calls the program and waits until it has ended.
    pub(crate) fn forge<S: AsRef<OsStr>>(&self, args: &[S]) -> Said {
        let mut said = finish(&mut self.command(args));
        // Nobody typed what the world added.
        let is_run = args.first().is_some_and(|word| word.as_ref() == "run");
        if is_run && !args.iter().any(|word| word.as_ref() == "-v" || word.as_ref() == "--help") {
            said.out = said.out.replace(" -v ", " ");
            said.err = said.err.replace(" -v ", " ");
        }
        said
    }

    /// Calls the program, which must succeed, and gives what it printed.
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let said = self.forge(args);
        assert_eq!(said.code, 0, "{said}");
        said.out
    }

    /// Calls the program, which must refuse with exit code 2, and gives what it said about it.
    pub(crate) fn refused<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let said = self.forge(args);
        assert_eq!(said.code, WRONG, "{said}");
        said.err
    }

    /// Calls the program and lets it go on.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Running {
        Running::of(&mut self.command(args))
    }

    /// Runs a flow with what the scripted agent plays, and gives how it went.
    pub(crate) fn run(&self, flow: &str, more: &[&str]) -> Said {
        self.forge(&[&["run", "--flow", flow, "do it"], more].concat())
    }

    /// The id of the run that changed last.
    pub(crate) fn latest(&self) -> String {
        let rows: Value = serde_json::from_str(&self.ok(&["status", "--json"])).unwrap();
        rows[0]["run"].as_str().expect("there is a run").to_owned()
    }

    /// All ids, newest first.
    pub(crate) fn ids(&self) -> Vec<String> {
        let rows: Value = serde_json::from_str(&self.ok(&["status", "--json"])).unwrap();
        rows.as_array().unwrap().iter().map(|row| row["run"].as_str().unwrap().to_owned()).collect()
    }

    /// All of a run, as `status RUN --json` tells it.
    pub(crate) fn view(&self, run: &str) -> Value {
        serde_json::from_str(&self.ok(&["status", run, "--json"])).unwrap()
    }

    /// All facts of a run, one after the other.
    pub(crate) fn facts(&self, run: &str) -> Vec<Value> {
        let text = self.ok(&["log", run, "--json"]);
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.flat_map(|record| record["facts"].as_array().unwrap().clone()).collect()
    }

    /// The sentences of a run, without numbers and times.
    pub(crate) fn story(&self, run: &str) -> Vec<String> {
        let text = self.ok(&["log", run, "-vv"]);
        let sentence = |line: &str| {
            let fact = line.trim_start().splitn(3, "  ").last().unwrap();
            fact.split_once(' ').expect("a symbol is in front").1.to_owned()
        };
        text.lines().map(sentence).collect()
    }

    /// The number of records.
    pub(crate) fn records(&self, run: &str) -> usize {
        self.ok(&["log", run, "--json"]).lines().count()
    }

    /// What the scripted agent noted of its own starts.
    pub(crate) fn agents_started(&self, run: &str) -> usize {
        let log = self.place().join("attempts").join(run).join("scripted.log");
        let text = fs::read_to_string(log).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"what\":\"start\"")).count()
    }

    /// Waits until so many agents have started.
    pub(crate) fn until_agents_started(&self, run: &str, n: usize) {
        until("agents to start", || (self.agents_started(run) >= n).then_some(()));
    }

    /// The folder of a call, in which its agent or command works.
    pub(crate) fn attempt(&self, run: &str, call: &str) -> PathBuf {
        self.find_attempt(run, call).unwrap_or_else(|| panic!("no folder is for {call}"))
    }

    /// The inbox and the outbox of an agent's call.
    pub(crate) fn boxes(&self, run: &str, call: &str) -> PathBuf {
        let folder = self.attempt(run, call);
        self.checkouts(run).join("boxes").join(folder.file_name().unwrap())
    }

    /// The folder of a call, once its agent or command is about to begin.
    pub(crate) fn find_attempt(&self, run: &str, call: &str) -> Option<PathBuf> {
        let folders = fs::read_dir(self.place().join("attempts").join(run)).ok()?.flatten();
        let is_it = |folder: &PathBuf| {
            let spec = fs::read(folder.join("attempt.json")).unwrap_or_default();
            serde_json::from_slice::<Value>(&spec).is_ok_and(|spec| spec["call"] == call)
        };
        folders.map(|entry| entry.path()).find(is_it)
    }

    /// All checkouts of a run: `_/tree` is its own, `build.T1/_/tree` that of an item.
    pub(crate) fn checkouts(&self, run: &str) -> PathBuf {
        let state = self.beside(".local/state/forge");
        let of_repositories = fs::read_dir(&state).unwrap().flatten().map(|entry| entry.path());
        let found = of_repositories.map(|of_one| of_one.join(run)).find(|path| path.is_dir());
        found.unwrap_or_else(|| panic!("{run} has no checkout in {}", state.display()))
    }

    /// Lets go on whatever waits for the file `go` in the home of this world. A file in a checkout
    /// would not do: it is made when the first call opens it, and cleaned before each one.
    pub(crate) fn go(&self) {
        fs::write(self.beside("go"), "").unwrap();
    }

    /// Where the stages of a run work that have no item.
    pub(crate) fn work(&self, run: &str) -> PathBuf {
        self.checkouts(run).join("_/tree")
    }

    /// The brief of a call.
    pub(crate) fn brief(&self, run: &str, call: &str) -> String {
        let path = self.attempt(run, call).join("brief.md");
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether anything of Forge's was made.
    pub(crate) fn is_untouched(&self) -> bool {
        !self.place().exists()
    }

    /// What a person would compare: no ids, no times, no paths of this world.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if !self.is_untouched() && self.database().exists() {
            for (n, run) in self.ids().iter().enumerate() {
                let name = if n == 0 { "<run>".to_owned() } else { format!("<run {n}>") };
                text = text.replace(run.as_str(), &name);
                // Without its day it is what the predecessor called the name of a spec.
                text = text.replace(&run["20260131-".len()..], &name.replace("run", "spec"));
                let short = run.rsplit('-').next().unwrap();
                text = replace_word(&text, short, &name.replace("run", "id"));
            }
        }
        let of_repositories = fs::read_dir(self.beside(".local/state/forge")).into_iter().flatten();
        for of_one in of_repositories.flatten() {
            text = text.replace(of_one.path().to_str().unwrap(), "<state>");
        }
        text = text.replace(self.repo.to_str().unwrap(), "<repo>");
        without_times(&without_commits(&text))
    }
}

/// Replaces a word where no letter is beside it.
fn replace_word(text: &str, word: &str, name: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let is_letter = |c: char| c.is_ascii_alphanumeric();
        clean.push_str(before);
        let is_alone = !clean.ends_with(is_letter) && !after.starts_with(is_letter);
        clean.push_str(if is_alone { name } else { word });
        rest = after;
    }
    clean + rest
}

/// The names of commits and trees become what they are.
fn without_commits(text: &str) -> String {
    const LETTERS: usize = 40;
    let mut clean = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hex = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if hex == LETTERS {
            clean.push_str("<commit>");
            rest = &rest[LETTERS..];
        } else {
            let length = hex.max(first.len_utf8());
            clean.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    clean
}

/// `12:34:56`, `2026-01-31`, `3s` and numbers of milliseconds become what they are.
fn without_times(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let starts = !clean.ends_with(|c: char| c.is_ascii_alphanumeric());
        if let Some((name, length)) = starts.then(|| time_at(rest)).flatten() {
            clean.push_str(name);
            rest = &rest[length..];
        } else {
            clean.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    clean
}

fn time_at(text: &str) -> Option<(&'static str, usize)> {
    const UTC: &str = "00-00-00T00:00:00Z";
    const SHAPES: [(&str, &str); 3] =
        [("00-00-00 00:00:00", "<moment>"), ("00:00:00", "<time>"), ("0000000000000", "<ms>")];
    // The century is of no interest to anybody.
    if let Some(after) = text.strip_prefix("20") {
        if fits(after, SHAPES[0].0) {
            return Some((SHAPES[0].1, 2 + SHAPES[0].0.len()));
        }
        if fits(after, UTC) {
            return Some((SHAPES[0].1, 2 + UTC.len()));
        }
    }
    let shape = SHAPES[1..].iter().find(|(shape, _)| fits(text, shape));
    if let Some((shape, name)) = shape {
        return Some((name, shape.len()));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_seconds =
        digits == 1 && text[1..].starts_with('s') && !text[2..].starts_with(char::is_alphanumeric);
    is_seconds.then_some(("Ns", 2))
}

fn fits(text: &str, shape: &str) -> bool {
    text.len() >= shape.len()
        && shape.bytes().zip(text.bytes()).all(|(wanted, found)| {
            if wanted == b'0' { found.is_ascii_digit() } else { wanted == found }
        })
}

fn surround(command: &mut Command, home: &Path) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("TZ", "UTC")
        .env("USER", "ada")
        .env("LC_ALL", "C.UTF-8")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org");
}

/// The path of this process, with the cargo that runs it in front: the one that is found by name may
/// only be a proxy, which looks for its toolchains in a home that a test does not have.
pub(crate) fn path_with_cargo() -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    let cargo = cargo.as_deref().and_then(Path::parent).map(Path::to_owned);
    let all = cargo.into_iter().chain(std::env::split_paths(&own));
    std::env::join_paths(all).unwrap()
}

/// Waits until something is so.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_or(what, look, String::new)
}

/// Whether a child ends in that time. The system tells when it does.
fn ends_within(child: &mut Child, time: Duration) -> bool {
    // Whoever has been waited for already has no handle any more.
    if child.try_wait().unwrap().is_some() {
        return true;
    }
    let pid = rustix::process::Pid::from_child(child);
    let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
    let until = Instant::now() + time;
    loop {
        let mut files = [PollFd::new(&handle, PollFlags::IN)];
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).unwrap();
        match poll(&mut files, Some(&left)) {
            Ok(n) => return n > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("cannot wait for a child: {error}"),
        }
    }
}

/// Waits until something is so, and says more if it never is.
pub(crate) fn until_or<T>(
    what: &str,
    mut look: impl FnMut() -> Option<T>,
    more: impl Fn() -> String,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < DEADLINE, "waited in vain for {what}. {}", more());
        thread::sleep(LOOK_EVERY);
    }
}

/// Calls a program and waits until it has ended.
pub(crate) fn finish(command: &mut Command) -> Said {
    command.stdin(Stdio::null());
    Running::of(command).end()
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| -status.signal().unwrap_or_default())
}

impl Running {
    /// Starts a program whose output is read as it comes.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let (sender, lines) = channel();
        let out = child.stdout.take().expect("its output is piped");
        thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut line = Vec::new();
            while out.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let text = String::from_utf8_lossy(&line);
                if sender.send(text.strip_suffix('\n').unwrap_or(&text).to_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let mut err = child.stderr.take().expect("its errors are piped");
        let err = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = err.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { child, lines, seen: Vec::new(), err: Some(err) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that has this text in it.
    pub(crate) fn until_says(&mut self, wanted: &str) -> String {
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(wanted) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("waited in vain for `{wanted}`; it said {:#?}", self.seen)
                }
            }
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it has ended by itself.
    pub(crate) fn end(mut self) -> Said {
        if !ends_within(&mut self.child, DEADLINE) {
            let _ = self.child.kill();
            panic!("it did not end in time; it said {:#?}", self.lines.iter().collect::<Vec<_>>());
        }
        let status = self.child.wait().unwrap();
        // Nobody below it keeps these open: agents and keepers have their own.
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            self.seen.push(line);
        }
        let err = self.err.take().expect("it ends once").join().unwrap();
        let out = self.seen.iter().fold(String::new(), |out, line| out + line + "\n");
        Said { code: code(status), out, err }
    }
}

impl Said {
    /// The commands that it tells a person to use, each as it is written.
    pub(crate) fn commands(&self) -> Vec<String> {
        let lines = self.out.lines().chain(self.err.lines());
        // On a card they stand beside each other, behind a heading.
        let parts =
            lines.flat_map(|line| line.strip_prefix("  Answer  ").unwrap_or(line).split(" · "));
        let command = |part: &str| {
            let part = part.trim();
            let part = part.strip_prefix("help: ").or(part.strip_prefix("or: ")).unwrap_or(part);
            part.strip_prefix("forge ").map(str::to_owned)
        };
        parts.filter_map(command).collect()
    }

    /// All it said.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}\n--- out\n{}--- err\n{}", self.code, self.out, self.err)
    }
}

/// Asserts that a text has all of these in it.
#[track_caller]
pub(crate) fn has(text: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(text.contains(wanted), "no `{wanted}` in:\n{text}");
    }
}

/// Kills what a failed test left under way in its world, so that nothing outlives it.
impl Drop for World {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        for id in fs::read_dir(self.place().join("runs")).into_iter().flatten().flatten() {
            let id = id.file_name();
            let _ = self.command(&[OsStr::new("stop"), &id]).stdin(Stdio::null()).output();
        }
    }
}
