//! The story that is played: a repository with its person's unfinished things in it, a flow with
//! eight items, and the driver of its run, which can be killed.
//!
//! Invariant: what the agents do follows from the files that they find, so that the landed tree is
//! the same however often they are killed.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::world::World;

/// Anything that has not happened by then will not happen. Generous: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// All items, by the unit that lands each.
pub(crate) const UNITS: [&str; 8] = [
    "build.code/implement",
    "build.lower/implement",
    "build.refused/implement",
    "build.shared/implement",
    "build.stray/implement",
    "build.upper/implement",
    "build.wide/implement",
    "chores.other/implement",
];

/// One repository with the story in it.
pub(crate) struct Story {
    pub(crate) world: World,
    /// What is the person's, before anything was run.
    before: BTreeMap<PathBuf, Vec<u8>>,
}

/// A driver that we started: `forge run` or `forge resume`.
pub(crate) struct Driver {
    child: Child,
    /// The lines as they are told. Closed when nobody can tell any more.
    lines: Receiver<String>,
}

/// What came of waiting for a driver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// It goes on.
    GoesOn,
    /// It has nothing more to say.
    Fell,
}

impl Story {
    /// The repository, with all that a person left lying in it.
    pub(crate) fn new() -> Self {
        let world = World::new();
        world.write("test.sh", include_str!("test.sh"));
        world.write("shared.txt", "of nobody\n");
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "-m", "the project"]);
        let settings = "[verify]\ncommands = [\"sh test.sh\"]\n\n[agents.scripted]\nscenario = \"play.toml\"\n";
        world.write("forge.toml", settings);
        world.write(".forge/flows/landing.toml", include_str!("flow.toml"));
        world.roles(&["planner", "reviewer"]);
        world.write(".forge/roles/implementer.md", "+++\ncode = \"writes\"\n+++\nYou build it.\n");
        let agent = world.beside("agent.sh");
        fs::write(&agent, include_str!("agent.sh")).unwrap();
        let scenario = include_str!("scenario.toml").replace("AGENT", agent.to_str().unwrap());
        world.scenario(&scenario);
        world.commit();
        world.approve("landing");
        // What a person has under way: in the stash, in the index, in the checkout, not yet in git.
        world.write("shared.txt", "put aside\n");
        world.git(&["stash", "--quiet"]);
        world.write("staged.txt", "soon\n");
        world.git(&["add", "staged.txt"]);
        world.write("README.md", "a project, half described\n");
        world.write("notes.txt", "mine\n");
        let hook = world.write(".git/hooks/pre-commit", include_str!("pre-commit.sh"));
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let before = persons(&world);
        Self { world, before }
    }

    /// Starts the run.
    pub(crate) fn run(&self) -> Driver {
        self.drive(&["run", "--flow", "landing", "--json", "make it"])
    }

    /// Takes the run up again.
    pub(crate) fn resume(&self, run: &str) -> Driver {
        self.drive(&["resume", run, "--json"])
    }

    fn drive(&self, args: &[&str]) -> Driver {
        let mut options = File::options();
        let complaints = options.append(true).create(true).open(self.world.beside("stderr"));
        let mut command = self.world.command_as_it_is(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(complaints.unwrap());
        let mut child = command.spawn().unwrap();
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

    /// What all drivers complained about.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(self.world.beside("stderr")).unwrap_or_default()
    }

    /// The run and how it stands; nothing if none has begun.
    pub(crate) fn standing(&self) -> Option<(String, String)> {
        let rows: Value = serde_json::from_str(&self.world.ok(&["status", "--json"])).unwrap();
        let rows = rows.as_array().unwrap();
        assert!(rows.len() <= 1, "one run was asked for: {rows:?}");
        let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.first().map(|row| (word(row, "run"), word(row, "standing")))
    }

    /// The tree that landed, on the run's branch as on its own ref.
    pub(crate) fn landed_tree(&self, run: &str) -> String {
        let tree_of = |name: String| self.world.git(&["rev-parse", &format!("{name}^{{tree}}")]);
        let tree = tree_of(format!("refs/heads/forge/{run}"));
        assert_eq!(tree, tree_of(format!("refs/forge/{run}/head")), "the branch is the result");
        tree
    }

    /// What each agent was told, by call.
    pub(crate) fn briefs(&self, run: &str) -> BTreeMap<String, String> {
        let attempts = self.world.place().join("attempts").join(run);
        let folders = fs::read_dir(attempts).unwrap().map(|entry| entry.unwrap().path());
        let calls = folders.filter_map(|folder| {
            let brief = fs::read_to_string(folder.join("brief.md")).ok()?;
            let spec = fs::read(folder.join("attempt.json")).unwrap();
            let spec: Value = serde_json::from_slice(&spec).unwrap();
            Some((spec["call"].as_str().unwrap().to_owned(), brief))
        });
        calls.collect()
    }

    /// Fails if anything of the person's is not as it was.
    pub(crate) fn person_has_lost_nothing(&self) {
        let now = persons(&self.world);
        let names = |of: &BTreeMap<PathBuf, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&now), names(&self.before), "files came or went");
        for (path, bytes) in &self.before {
            assert!(now[path] == *bytes, "{} was changed", path.display());
        }
    }
}

impl Driver {
    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits for so many more lines.
    pub(crate) fn hear(&self, lines: usize) -> Waited {
        for _ in 0..lines {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Waited::Fell,
                Err(RecvTimeoutError::Timeout) => panic!("the driver tells nothing any more"),
            }
        }
        Waited::GoesOn
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        while self.hear(1) == Waited::GoesOn {}
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

/// All files of the person's: checkout, index, stash, config, hooks, refs. Not the objects, and not
/// what Forge may add: its own folder, `refs/forge/` and branches of runs.
fn persons(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    const FORGES: [&str; 5] = [
        ".git/objects",
        ".git/forge",
        ".git/refs/forge",
        ".git/refs/heads/forge",
        ".git/logs/refs/heads/forge",
    ];
    let mut files = BTreeMap::new();
    let mut left = vec![world.repo.clone()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&world.repo).unwrap().to_owned();
            if FORGES.iter().any(|forges| name == Path::new(forges)) {
                continue;
            }
            if path.is_dir() {
                left.push(path);
            } else {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Nobody outlives a story, also if a test failed because somebody would have.
impl Drop for Story {
    fn drop(&mut self) {
        super::processes::kill_everybody(self.world.repo.parent().unwrap());
    }
}
