//! A world in which a real ACP agent plays: its home in the world, its model a key of the scripted server.
//!
//! Each agent has a wrapper in the world that keeps what both sides said, line by line, in `said.jsonl` and `heard.jsonl`.

use std::{
    env, fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use scripted_model::{ModelKey, Script, ScriptStep, Server, TextBetween, ToolCall};
use serde_json::{Value, json};

use crate::{
    processes::left_over,
    world::{Said, World, finish},
};

/// A real agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RealAgent {
    Claude,
    OpenCode,
}

const SOLO: &str = "[[stage]]\nname = \"work\"\nagent = \"worker\"\nwrites = [\"note.md\"]\n\
    gates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n";
/// The same with a reviewer, who leaves `review.md`.
const LOOKED: &str = "[[stage]]\nname = \"work\"\nagent = \"worker\"\nwrites = [\"note.md\"]\n\
    gates = [{ check = \"changes\" }, { verify = true }, { name = \"review\", review = \"reviewer\", \
    writes = [\"review.md\"] }, { land = true }]\n";
const WORKER: &str = "+++\ncode = \"writes\"\n+++\nYou are the worker.\n";
const REVIEWER: &str = "+++\nmust = [\"verdict\", \"findings\"]\n+++\nYou are the reviewer.\n";
/// The model that each agent is told to use.
pub(crate) const MODEL: &str = "claude-sonnet-4-5";

impl RealAgent {
    /// Returns the folder of the cache, the program in it, its arguments, and the variable that names it instead.
    const fn place(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Claude => {
                ("claude-agent-acp-0.99.0", "claude-agent-acp", "", "FORGE_TEST_CLAUDE_AGENT_ACP")
            }
            Self::OpenCode => ("opencode-1.18.33", "opencode", " acp", "FORGE_TEST_OPENCODE"),
        }
    }

    fn find(self) -> Option<PathBuf> {
        let (folder, program, _, variable) = self.place();
        let installed = || {
            let home = || env::home_dir().map(|home| home.join(".cache"));
            let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
            let bin = cache.join("forge-agents").join(folder).join("node_modules/.bin");
            Some(bin.join(program)).filter(|program| program.exists())
        };
        let found = env::var_os(variable).map(PathBuf::from).or_else(installed);
        if found.is_none() {
            let test = thread::current().name().unwrap_or(folder).to_owned();
            let missing =
                format!("{folder} is not installed; `cargo xtask test` does that where node is");
            assert!(env::var_os("CI").is_none(), "{test}: {missing}");
            // Not `eprintln`: the test harness hides what a passing test prints with it.
            let _ = writeln!(io::stderr(), "NOT PROVED: {test}: {missing}");
        }
        found
    }

    /// Writes a file, by its own tool.
    pub(crate) fn write(self, path: &str, content: &str) -> ToolCall {
        match self {
            Self::Claude => ToolCall::write(path, content),
            Self::OpenCode => ToolCall::raw("write", json!({"filePath": path, "content": content})),
        }
    }

    /// Runs a command, by its own tool.
    pub(crate) fn shell(self, command: &str) -> ToolCall {
        match self {
            Self::Claude => ToolCall::bash(command),
            Self::OpenCode => {
                ToolCall::raw("bash", json!({"command": command, "description": "Works"}))
            }
        }
    }
}

/// A world, an agent, and its model.
pub(crate) struct Stage {
    pub(crate) world: World,
    _server: Server,
    pub(crate) key: ModelKey,
    agent: RealAgent,
}

/// The package whose schema is held against what is said: the one of the first agent, which is always run.
pub(crate) fn protocol_package() -> Option<PathBuf> {
    let program = RealAgent::Claude.find()?;
    program.ancestors().nth(3).map(Path::to_path_buf)
}

impl Stage {
    /// A world for an agent, if it is here.
    pub(crate) fn new(agent: RealAgent, script: Script) -> Option<Self> {
        let program = agent.find()?;
        let world = World::new();
        let wrapper = world.beside("agent.sh");
        let (_, _, args, _) = agent.place();
        let script_text = format!(
            "#!/bin/sh\ntee -a {home}/said.jsonl | {program}{args} | tee -a {home}/heard.jsonl\n",
            home = world.beside("").display(),
            program = program.display(),
        );
        fs::write(&wrapper, script_text).unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        world.write("test.sh", "test -e README.md\n");
        world.git(&["add", "test.sh"]);
        world.git(&["commit", "--quiet", "-m", "tests"]);
        world.flow("solo", SOLO);
        world.flow("looked", LOOKED);
        world.write(".forge/roles/worker.md", WORKER);
        world.write(".forge/roles/reviewer.md", REVIEWER);
        let server = Server::start().unwrap();
        // Both agents bring versions of their own, whose requests nobody has recorded.
        let key = server.key_without_shape("first", with_places(script));
        let stage = Self { world, _server: server, key, agent };
        stage.set("");
        stage.configure();
        Some(stage)
    }

    /// Adds to the settings of the agent.
    pub(crate) fn set(&self, more: &str) {
        let wrapper = self.world.beside("agent.sh");
        let text = format!(
            "agent = \"real\"\n[verify]\ncommands = [\"sh test.sh\"]\n[agents.real]\nacp = [{:?}]\n\
             pass = [\"ANTHROPIC_API_KEY\", \"ANTHROPIC_BASE_URL\", \"ANTHROPIC_MODEL\", \
             \"npm_config_offline\", \"CLAUDE_CODE_MAX_RETRIES\"]\n{more}",
            wrapper.display().to_string()
        );
        self.world.write("forge.toml", text);
    }

    /// Tells the agent of its model, where it reads that from a file.
    fn configure(&self) {
        if self.agent == RealAgent::Claude {
            return;
        }
        let options = json!({"baseURL": format!("{}/v1", self.key.url()), "apiKey": "made-up"});
        let cost = json!({"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75});
        let limit = json!({"context": 200_000, "output": 8192});
        let model = json!({"tool_call": true, "limit": limit, "cost": cost});
        let provider = json!({"npm": "@ai-sdk/anthropic", "options": options,
            "models": {MODEL: model.clone(), "claude-opus-4-1": model}});
        let config = json!({"autoupdate": false, "share": "disabled", "model": format!("fake/{MODEL}"),
            "small_model": format!("fake/{MODEL}"), "provider": {"fake": provider},
            "permission": {"edit": "ask", "bash": "ask", "webfetch": "ask", "external_directory": "ask"}});
        let folder = self.world.beside(".config/opencode");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("opencode.json"), config.to_string()).unwrap();
    }

    /// Forge, with all that the agent needs.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        command.env("ANTHROPIC_BASE_URL", self.key.url());
        command.env("ANTHROPIC_API_KEY", "sk-ant-api03-made-up-for-tests");
        command.env("ANTHROPIC_MODEL", MODEL).env("npm_config_offline", "true");
        command.env("CLAUDE_CODE_MAX_RETRIES", "1");
        command
    }

    /// Calls Forge and waits until it has ended.
    pub(crate) fn forge(&self, args: &[&str]) -> Said {
        finish(&mut self.command(args))
    }

    /// The receipts of all calls of agents in a run.
    pub(crate) fn receipts(&self, run: &str) -> Vec<Value> {
        let of = |fact: &Value| {
            let ended = fact.get("attempt_ended").or_else(|| fact.get("judged"))?;
            ended.get("receipt").filter(|receipt| receipt.get("used").is_some()).cloned()
        };
        self.world.facts(run).iter().filter_map(of).collect()
    }

    /// Everybody who still has to do with this world.
    pub(crate) fn left_over(&self) -> Vec<(i32, String)> {
        left_over(&self.world.beside(""))
    }

    /// All messages that Forge sent, and all that the agent did.
    pub(crate) fn messages(&self) -> [Vec<Value>; 2] {
        ["said.jsonl", "heard.jsonl"].map(|name| {
            let text = fs::read_to_string(self.world.beside(name)).unwrap_or_default();
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
        })
    }
}

/// Where the places of the newest call are: its brief names the outbox, and both agents their working directory.
fn with_places(script: Script) -> Script {
    let outbox = TextBetween::ending_with("In the folder `", "`", "/outbox");
    script.capture("outbox", outbox).capture("here", TextBetween::new("orking directory: ", "\n"))
}

/// Leaves the result of the call, by a command.
pub(crate) fn result(agent: RealAgent, more: &str) -> ScriptStep {
    let text = format!(
        "printf '{{\"forge\":1,\"attempt\":\"%s\",\"status\":\"done\",\"summary\":\"did it\"{more}}}' \
         \"$FORGE_CALL\" > \"$FORGE_OUTBOX/result.json\""
    );
    ScriptStep::call(agent.shell(&text))
}

/// Has nothing more to do.
pub(crate) fn rest() -> ScriptStep {
    ScriptStep::say("That is all.")
}
