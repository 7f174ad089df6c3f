//! A small project, and a good play of every role of the flow `feature` in it.
//!
//! Not here: what is asserted. A test that wants somebody to act otherwise puts its plays first: the
//! first one that matches a call wins.

use std::fs;

use serde_json::Value;

use super::world::{Said, WAITS, World};

/// What a person asks for.
pub(crate) const REQUEST: &str = "Add a greeting and a farewell to the program, with their tests";

/// What Forge verifies with.
pub(crate) const CHECKS: &str = "[verify]\ncommands = [\"sh check.sh\"]\n";

/// Green, as long as nobody put a file `red` into the home of the world.
const CHECK_SH: &str = "if [ -e ~/red ]; then echo 'not ok 1 - it is red'; exit 1; fi\n";

/// Every role does its work well.
pub(crate) const GOOD: &str = include_str!("good.toml");

/// A repository with the project in it, and its scenario.
pub(crate) struct Project {
    pub(crate) world: World,
}

impl Project {
    /// The project, whose check is what Forge verifies with. Some plays come before the good ones.
    pub(crate) fn new(first: &str) -> Self {
        Self::with(first, CHECKS)
    }

    /// The project with other settings.
    pub(crate) fn with(first: &str, settings: &str) -> Self {
        let world = World::new();
        world.write("check.sh", CHECK_SH);
        world.write("src/main", "a program\n");
        world.write("play.toml", format!("scenario = 1\n{first}\n{GOOD}"));
        let agents = "[agents.scripted]\nscenario = \"play.toml\"\n";
        world.write("forge.toml", format!("{settings}{agents}"));
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "-m", "the project"]);
        Self { world }
    }

    /// Runs the flow.
    pub(crate) fn run(&self, effort: &str, more: &[&str]) -> Said {
        let effort = format!("effort={effort}");
        let args = ["run", "--flow", "feature", "--param", &effort, REQUEST];
        self.world.forge(&[&args, more].concat())
    }

    /// Runs the flow with an effort below L, without questions where all is well, until it is done.
    pub(crate) fn done(&self, effort: &str, more: &[&str]) -> String {
        let said = self.run(effort, &[&["--auto"], more].concat());
        assert_eq!(said.code, 0, "{said}");
        self.world.latest()
    }

    /// Runs the flow, and approves whatever is asked, until it is done.
    pub(crate) fn approved(&self, effort: &str) -> String {
        let mut said = self.run(effort, &[]);
        let run = self.world.latest();
        for question in 1..=9 {
            if said.code != WAITS {
                break;
            }
            self.world.ok(&["answer", &run, &format!("Q{question}"), "approve"]);
            said = self.world.forge(&["resume", &run]);
        }
        assert_eq!(said.code, 0, "{said}");
        run
    }

    /// The name of the run's branch.
    pub(crate) fn branch(run: &str) -> String {
        format!("forge/{run}")
    }

    /// A file of the last commit of the run's branch.
    pub(crate) fn committed(&self, run: &str, path: &str) -> String {
        let branch = Self::branch(run);
        self.world.git(&["show", &format!("{branch}:.forge/runs/{run}/{path}")])
    }

    /// All files that the last commit keeps of the run.
    pub(crate) fn kept(&self, run: &str) -> Vec<String> {
        let (branch, folder) = (Self::branch(run), format!(".forge/runs/{run}/"));
        let listed = self.world.git(&["ls-tree", "-r", "--name-only", &branch, &folder]);
        listed.lines().map(|path| path[folder.len()..].to_owned()).collect()
    }

    /// The records of what was delivered.
    pub(crate) fn deliveries(&self, run: &str) -> Vec<Value> {
        let folder = self.world.place().join("runs").join(run).join("delivery");
        let mut found: Vec<_> = fs::read_dir(&folder)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        found.sort();
        found
            .iter()
            .map(|path| {
                serde_json::from_slice(&fs::read(path.join("delivery.json")).unwrap()).unwrap()
            })
            .collect()
    }
}
