//! A world in which a real program plays: first in `PATH`, its home in the world, its model a key of the scripted server.
//! Mostly that is Claude Code; any [`Player`] is put on the same stage.
//!
//! Most stories use the flow `solo`: one stage, in which a worker may change code and leaves `note.md`. In the flow
//! `looked` a reviewer looks at it.
//!
//! Invariant: nothing of the real user's is passed on, neither credentials nor settings.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test program uses its own part of the stage, and some use all of it"
)]

use std::{
    ffi::OsString,
    fs,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use scripted_model::{
    ModelKey, ModelRequest, Script, ScriptStep, Server, TextBetween, ToolCall,
    claude::{ClaudeCode, Credential},
    programs,
};
use serde_json::{Value, json};

use crate::{
    processes::left_over,
    world::{Running, Said, World, finish},
};

/// The model that every role is played with.
pub(crate) const MODEL: &str = "claude-sonnet-4-5";
/// What one answer of the scripted model costs with it, in millionths of a dollar.
pub(crate) const ANSWER_MICROS: u64 = 4_185;
/// Made up, and of the form of a real one.
pub(crate) const API_KEY: &str = "sk-ant-api03-Zq7made9up4for3tests1only-WwX2yY8zZ0";
pub(crate) const TOKEN: &str = "sk-ant-oat01-Qr5made2up8for6tests4only-MmN1nN3pP7";

/// The settings of the project, but for the agent.
const VERIFY: &str = "[verify]\ncommands = [\"sh test.sh\"]\n";
const SOLO: &str = "[[stage]]\nname = \"work\"\nagent = \"worker\"\nwrites = [\"note.md\"]\n\
    gates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n";
/// The same with a reviewer, who leaves `review.md`.
const LOOKED: &str = "[[stage]]\nname = \"work\"\nagent = \"worker\"\nwrites = [\"note.md\"]\n\
    gates = [{ check = \"changes\" }, { verify = true }, { name = \"review\", review = \"reviewer\", \
    writes = [\"review.md\"] }, { land = true }]\n";
const WORKER: &str = "+++\ncode = \"writes\"\n+++\nYou are the worker.\n";
const REVIEWER: &str = "+++\nmust = [\"verdict\", \"findings\"]\n+++\nYou are the reviewer.\n";

/// A world, Claude Code, and its model.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) server: Server,
    pub(crate) key: ModelKey,
    who: Who,
}

/// A program that plays, and what its playing needs besides.
pub(crate) struct Player {
    /// As settings call it.
    pub(crate) name: &'static str,
    /// The variable and the folder by which it is found.
    pub(crate) found_by: (&'static str, &'static str),
    pub(crate) model: &'static str,
    /// What it remembers of a turn that was ended in the middle of a tool, beside its brief.
    pub(crate) remembers: &'static [&'static str],
    /// Tells it, in the world's home, where its model is. Returns the variables that do the rest.
    pub(crate) equip: fn(&World, &str) -> Vec<(&'static str, String)>,
}

/// Who plays.
enum Who {
    Claude(Credential),
    Other(&'static Player),
}

impl Stage {
    /// The flow `solo` and an API key, if Claude Code is here.
    pub(crate) fn solo(script: Script) -> Option<Self> {
        Self::of(script, Credential::ApiKey)
    }

    /// The same with another credential.
    pub(crate) fn of(script: Script, who: Credential) -> Option<Self> {
        let claude = ClaudeCode::find(thread::current().name().unwrap_or("Claude Code"))?;
        Some(Self::with(script, Who::Claude(who), claude.program()))
    }

    /// The same with another program.
    pub(crate) fn of_player(script: Script, player: &'static Player) -> Option<Self> {
        let what = thread::current().name().unwrap_or(player.name).to_owned();
        let (variable, folder) = player.found_by;
        let program = programs::find(variable, folder, player.name, &what)?;
        Some(Self::with(script, Who::Other(player), &program))
    }

    fn with(script: Script, who: Who, program: &Path) -> Self {
        let world = World::new();
        let programs = world.beside("programs");
        fs::create_dir(&programs).unwrap();
        symlink(program, programs.join(who.name())).unwrap();
        world.write("forge.toml", who.settings());
        world.write("test.sh", "test -e README.md\n");
        world.git(&["add", "test.sh"]);
        world.git(&["commit", "--quiet", "-m", "tests"]);
        world.flow("solo", SOLO);
        world.flow("looked", LOOKED);
        world.write(".forge/roles/worker.md", WORKER);
        world.write(".forge/roles/reviewer.md", REVIEWER);
        let server = Server::start().unwrap();
        let key = who.key(&server, "first", script);
        Self { world, server, key, who }
    }

    /// One more key: the same model, behaving otherwise.
    pub(crate) fn key(&self, name: &str, script: Script) -> ModelKey {
        self.who.key(&self.server, name, script)
    }

    /// Adds to the settings of the project.
    pub(crate) fn set(&self, more: &str) {
        self.world.write("forge.toml", format!("{}{more}", self.who.settings()));
    }

    /// Forge, with Claude Code at hand, and its model at this URL.
    pub(crate) fn command_at(&self, url: &str, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        self.equip(&mut command, url);
        command
    }

    pub(crate) fn equip(&self, command: &mut Command, url: &str) {
        let programs: PathBuf = self.world.beside("programs");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(programs).chain(std::env::split_paths(&path));
        let path: OsString = std::env::join_paths(paths).unwrap();
        command.env("PATH", path).envs(self.who.variables(&self.world, url));
        // As a terminal starts it: Ctrl-C is for it and its group.
        command.process_group(0);
    }

    /// Calls Forge and waits until it has ended.
    pub(crate) fn forge(&self, args: &[&str]) -> Said {
        finish(&mut self.command_at(self.key.url(), args))
    }

    /// Runs the flow `solo` to its end.
    pub(crate) fn run(&self, more: &[&str]) -> Said {
        self.forge(&[&["run", "--flow", "solo", "do it"], more].concat())
    }

    /// Starts the flow `solo`, and gives the run as soon as there is one.
    pub(crate) fn start(&self, more: &[&str]) -> (Running, String) {
        let args = [&["run", "--flow", "solo", "do it"], more].concat();
        let mut running = Running::of(&mut self.command_at(self.key.url(), &args));
        running.until_says("work started");
        let run = self.world.latest();
        (running, run)
    }

    /// The attempts that ended, each with its outcome and its receipt.
    pub(crate) fn ended(&self, run: &str) -> Vec<Value> {
        let facts = self.world.facts(run);
        facts.iter().filter_map(|fact| fact.get("attempt_ended")).cloned().collect()
    }

    /// Everybody who still has to do with this world.
    pub(crate) fn left_over(&self) -> Vec<(i32, String)> {
        left_over(&self.world.beside(""))
    }

    /// The receipts of all calls of a run.
    pub(crate) fn receipts(&self, run: &str) -> Vec<Value> {
        let of = |fact: &Value| {
            let ended = fact.get("attempt_ended").or_else(|| fact.get("judged"))?;
            ended.get("receipt").cloned()
        };
        self.world.facts(run).iter().filter_map(of).collect()
    }
}

impl Who {
    fn name(&self) -> &'static str {
        match self {
            Self::Claude(_) => "claude",
            Self::Other(player) => player.name,
        }
    }

    fn settings(&self) -> String {
        let (name, model) = match self {
            Self::Claude(_) => ("claude", MODEL),
            Self::Other(player) => (player.name, player.model),
        };
        format!("agent = \"{name}\"\n[agents.{name}]\nmodel = \"{model}\"\n{VERIFY}")
    }

    fn key(&self, server: &Server, name: &str, script: Script) -> ModelKey {
        match self {
            Self::Claude(_) => server.key(name, with_boxes(script)),
            Self::Other(_) => server.key_without_shape(name, with_boxes(script)),
        }
    }

    fn variables(&self, world: &World, url: &str) -> Vec<(&'static str, String)> {
        let mut variables = match self {
            Self::Claude(_) => vec![("ANTHROPIC_BASE_URL", url.to_owned())],
            Self::Other(player) => (player.equip)(world, url),
        };
        variables.extend(match self {
            Self::Claude(Credential::ApiKey) => Some(("ANTHROPIC_API_KEY", API_KEY.to_owned())),
            Self::Claude(Credential::Subscription) => {
                Some(("CLAUDE_CODE_OAUTH_TOKEN", TOKEN.to_owned()))
            }
            Self::Claude(Credential::Missing) | Self::Other(_) => None,
        });
        variables
    }
}

/// The boxes are where the newest brief says. What Claude Code says of folders is as old as its session.
pub(crate) fn with_boxes(script: Script) -> Script {
    let named = |end| TextBetween::ending_with("In the folder `", "`", end);
    script.capture("outbox", named("/outbox")).capture("inbox", named("/inbox"))
}

/// The structured answer of an agent, with what this one adds.
pub(crate) fn answer(more: Value) -> ScriptStep {
    let mut value = json!({"forge": 1, "attempt": "${attempt}", "status": "done"});
    let Value::Object(more) = more else { panic!("an answer is an object") };
    value.as_object_mut().unwrap().extend(more);
    ScriptStep::call(ToolCall::answer(value))
}

/// The worker changes something, and leaves its note.
pub(crate) fn note() -> ScriptStep {
    ScriptStep::call(ToolCall::bash("date > made.txt; echo '# A note' > \"$FORGE_OUTBOX/note.md\""))
}

/// The worker says that it is done.
pub(crate) fn done() -> ScriptStep {
    answer(json!({"summary": "wrote a note"}))
}

/// The worker does what it should.
pub(crate) fn good() -> Script {
    Script::new([note(), done()]).fail_after_last()
}

/// What all these answers cost, in millionths of a dollar: as many as were played to the end.
pub(crate) fn paid(requests: &[ModelRequest]) -> u64 {
    ANSWER_MICROS * requests.len() as u64
}
