//! How a test runs the real Claude Code against a key: where it is, and its clean environment.
//!
//! It gets a made-up credential, a home of its own and no way to any server but this one. The arguments that the product
//! passes to Claude Code are not here.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{key::ModelKey, programs, shape::RequestShape};

/// The variable that says where Claude Code is.
const VARIABLE: &str = "FORGE_TEST_CLAUDE";

/// The real Claude Code.
#[derive(Clone, Debug)]
pub struct ClaudeCode {
    program: PathBuf,
}

/// A credential of Claude Code, which behaves differently with each.
#[derive(Clone, Copy, Debug)]
pub enum Credential {
    /// An API key: paid by use.
    ApiKey,
    /// A token of a subscription: usage windows.
    Subscription,
    /// None: not logged in.
    Missing,
}

impl ClaudeCode {
    /// Returns the one that `FORGE_TEST_CLAUDE` names, or else the one that `cargo xtask test` has installed. Without
    /// either it says loudly that `what` is not proved. In CI that is a failure.
    pub fn find(what: &str) -> Option<Self> {
        let folder = RequestShape::from_claude_code().program;
        programs::find(VARIABLE, &folder, "claude", what).map(Self::new)
    }

    /// Returns the one in this place.
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// Returns where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns a turn that reads its prompt from stdin and prints its stream. `place` is a folder of the test's own, in
    /// which `home`, `tmp` and `work` are made; it works in the last one.
    pub fn turn(&self, key: &ModelKey, place: &Path, credential: Credential) -> Command {
        for folder in ["home", "tmp", "work"] {
            fs::create_dir_all(place.join(folder)).expect("the test can make a folder");
        }
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()))
            .env("HOME", place.join("home"))
            .env("TMPDIR", place.join("tmp"))
            .envs([("TERM", "dumb"), ("LANG", "C.UTF-8"), ("ANTHROPIC_BASE_URL", key.url())])
            .envs([("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_TELEMETRY", "1")])
            .envs([("DISABLE_ERROR_REPORTING", "1"), ("DISABLE_AUTOUPDATER", "1")])
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .current_dir(place.join("work"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .args(["-p", "--output-format", "stream-json", "--verbose"])
            .args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read,Glob,Grep"])
            .args(["--strict-mcp-config", "--setting-sources", ""]);
        match credential {
            Credential::ApiKey => command.env("ANTHROPIC_API_KEY", "sk-ant-made-up"),
            Credential::Subscription => {
                command.env("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-made-up")
            }
            Credential::Missing => &mut command,
        };
        command
    }
}
