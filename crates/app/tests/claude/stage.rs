//! A world in which the real Claude Code plays: its program first in `PATH`, its home in the world, its model a
//! key of the scripted server.
//!
//! Most stories use the flow `solo`: one stage, in which a worker may change code and leaves `note.md`. In the flow
//! `looked` a reviewer looks at it.
//!
//! Invariant: nothing of the real user's is passed on, neither credentials nor settings.

use std::{
    ffi::OsString,
    fs,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::PathBuf,
    process::Command,
    thread,
};

use scripted_model::{
    ModelKey, ModelRequest, Script, ScriptStep, Server, TextBetween, ToolCall,
    claude::{ClaudeCode, Credential},
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

const SETTINGS: &str = "agent = \"claude\"\n[agents.claude]\nmodel = \"claude-sonnet-4-5\"\n\
    [verify]\ncommands = [\"sh test.sh\"]\n";
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
    who: Credential,
}

impl Stage {
    /// The flow `solo` and an API key, if Claude Code is here.
    pub(crate) fn solo(script: Script) -> Option<Self> {
        Self::of(script, Credential::ApiKey)
    }

    /// The same with another credential.
    pub(crate) fn of(script: Script, who: Credential) -> Option<Self> {
        let claude = ClaudeCode::find(thread::current().name().unwrap_or("Claude Code"))?;
        let world = World::new();
        let programs = world.beside("programs");
        fs::create_dir(&programs).unwrap();
        symlink(claude.program(), programs.join("claude")).unwrap();
        world.write("forge.toml", SETTINGS);
        world.write("test.sh", "test -e README.md\n");
        world.git(&["add", "test.sh"]);
        world.git(&["commit", "--quiet", "-m", "tests"]);
        world.flow("solo", SOLO);
        world.flow("looked", LOOKED);
        world.write(".forge/roles/worker.md", WORKER);
        world.write(".forge/roles/reviewer.md", REVIEWER);
        let server = Server::start().unwrap();
        let key = server.key("first", with_boxes(script));
        Some(Self { world, server, key, who })
    }

    /// One more key: the same model, behaving otherwise.
    pub(crate) fn key(&self, name: &str, script: Script) -> ModelKey {
        self.server.key(name, with_boxes(script))
    }

    /// Adds to the settings of the project.
    pub(crate) fn set(&self, more: &str) {
        self.world.write("forge.toml", format!("{SETTINGS}{more}"));
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
        command.env("PATH", path).env("ANTHROPIC_BASE_URL", url);
        match self.who {
            Credential::ApiKey => command.env("ANTHROPIC_API_KEY", API_KEY),
            Credential::Subscription => command.env("CLAUDE_CODE_OAUTH_TOKEN", TOKEN),
            Credential::Missing => command,
        };
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

/// The boxes are where the newest brief says. What Claude Code says of folders is as old as its session.
fn with_boxes(script: Script) -> Script {
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
