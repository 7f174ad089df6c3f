//! The real agent programs that tests drive, each at a pinned version in a cache folder.
//!
//! A program is installed into a folder beside its place and moved there whole, by one task at a time. It counts as there only when it says its pinned version itself; anything else in its place is replaced.
//! Where it cannot be brought the tests that need it are left out, and that is said twice. In CI it is a failure.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{command::say, proved::Subject};

/// A program that tests drive.
struct Agent {
    /// How we call it.
    name: &'static str,
    /// The one version that we test with. A new one needs a new shape: `crates/scripted-model/README.md`.
    version: &'static str,
    /// The package of npm.
    package: &'static str,
    /// The program in it.
    program: &'static str,
    /// The variable by which tests find it.
    variable: &'static str,
}

/// The one table of programs.
const AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        version: CLAUDE_VERSION,
        package: "@anthropic-ai/claude-code",
        program: "claude",
        variable: "FORGE_TEST_CLAUDE",
    },
    Agent {
        name: "claude-agent-acp",
        version: "0.99.0",
        package: "@agentclientprotocol/claude-agent-acp",
        program: "claude-agent-acp",
        variable: "FORGE_TEST_CLAUDE_AGENT_ACP",
    },
    Agent {
        name: "opencode",
        version: "1.18.33",
        package: "opencode-ai",
        program: "opencode",
        variable: "FORGE_TEST_OPENCODE",
    },
    Agent {
        name: "codex",
        version: "0.166.0",
        package: "@openai/codex",
        program: "codex",
        variable: "FORGE_TEST_CODEX",
    },
    Agent {
        name: "gemini-cli",
        version: "0.61.0",
        package: "@google/gemini-cli",
        program: "gemini",
        variable: "FORGE_TEST_GEMINI",
    },
];

/// The pinned version of Claude Code.
const CLAUDE_VERSION: &str = "2.1.325";

/// What the tests with the real Claude Code depend on: its pinned version, its adapter, and the tests.
pub(crate) const CLAUDE: Subject = Subject {
    name: "claude",
    files: &[
        "crates/agents/src/claude*",
        "crates/app/tests/claude*",
        "crates/scripted-model/tests/claude*",
        "crates/scripted-model/src",
    ],
    more: CLAUDE_VERSION,
};

/// Held by the task that installs, so that another one waits and then finds the program.
const LOCK: &str = ".lock";

/// The programs that were brought, for tests.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    /// Where the programs are.
    variables: Vec<(&'static str, PathBuf)>,
    /// The missing ones, each with the reason.
    left_out: Vec<String>,
}

impl Brought {
    /// Where the programs are, by the variables that tests read.
    pub(crate) fn variables(&self) -> Vec<(String, OsString)> {
        let variables = self.variables.iter();
        variables.map(|(name, place)| ((*name).to_owned(), place.into())).collect()
    }

    /// Returns true if a program was brought.
    pub(crate) fn has(&self, name: &str) -> bool {
        let variable = AGENTS.iter().find(|agent| agent.name == name).map(|agent| agent.variable);
        self.variables.iter().any(|(brought, _)| Some(*brought) == variable)
    }

    /// Says what is left out, so that nobody takes silence for a proof.
    pub(crate) fn warn(&self) {
        for what in &self.left_out {
            say(&format!("== NOT PROVED: {what}"));
        }
    }
}

/// Brings all programs. The error says what is missing where nothing may be.
pub(crate) fn bring() -> Result<Brought, String> {
    let mut brought = Brought::default();
    for agent in AGENTS {
        let there = cache().ok_or_else(|| "there is no home folder for a cache".to_owned());
        match there.and_then(|cache| ensure(agent, &cache, &["npm"])) {
            Ok(program) => brought.variables.push((agent.variable, program)),
            Err(what) => {
                brought.left_out.push(format!("the tests with {}: {what}", agent.name));
            }
        }
    }
    match (env::var_os("CI"), brought.left_out.is_empty()) {
        (Some(_), false) => Err(brought.left_out.join("\n")),
        (Some(_), true) | (None, _) => Ok(brought),
    }
}

/// The folder of all programs.
fn cache() -> Option<PathBuf> {
    let home = || env::home_dir().map(|home| home.join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    cache.map(PathBuf::from).or_else(home).map(|cache| cache.join("forge-agents"))
}

/// Where a program is, after it was installed if it was not there.
fn ensure(agent: &Agent, cache: &Path, npm: &[&str]) -> Result<PathBuf, String> {
    let place = cache.join(format!("{}-{}", agent.name, agent.version));
    let program = program_in(agent, &place);
    if says_its_version(agent, &program).is_ok() {
        return Ok(program);
    }
    let in_cache = |error: io::Error| format!("{}: {error}", cache.display());
    fs::create_dir_all(cache).map_err(in_cache)?;
    let lock = fs::File::create(cache.join(LOCK)).map_err(in_cache)?;
    lock.lock().map_err(in_cache)?;
    if says_its_version(agent, &program).is_ok() {
        return Ok(program);
    }
    say(&format!("installing {} {} into {}", agent.package, agent.version, place.display()));
    let beside = tempfile::Builder::new().prefix(".new-").tempdir_in(cache).map_err(in_cache)?;
    let fresh = beside.path().join("fresh");
    fs::create_dir(&fresh).map_err(in_cache)?;
    install(agent, &fresh, npm)?;
    if place.exists() {
        fs::rename(&place, beside.path().join("broken")).map_err(in_cache)?;
    }
    fs::rename(&fresh, &place).map_err(in_cache)?;
    says_its_version(agent, &program).map(|()| program)
}

/// Installs a program into an empty folder.
fn install(agent: &Agent, folder: &Path, npm: &[&str]) -> Result<(), String> {
    let package = format!("{}@{}", agent.package, agent.version);
    let (npm, first) = npm.split_first().expect("a command has a program");
    let mut command = Command::new(npm);
    command.args(first).args(["install", "--no-audit", "--no-fund", "--prefix"]);
    command.arg(folder).arg(&package).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("npm cannot be run: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("npm could not install {package}: {said}"));
    }
    let program = program_in(agent, folder);
    says_its_version(agent, &program).or_else(|what| {
        // Where npm runs no scripts of packages, the true program is not yet in its place.
        let home = folder.join("node_modules").join(agent.package);
        let mut script = Command::new("node");
        script.arg("install.cjs").current_dir(home);
        script.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match script.status() {
            Ok(status) if status.success() => says_its_version(agent, &program),
            Ok(_) | Err(_) => Err(what),
        }
    })
}

/// Where a program is in the folder of its package.
fn program_in(agent: &Agent, folder: &Path) -> PathBuf {
    folder.join("node_modules/.bin").join(agent.program)
}

/// Whether a program is there, runs, and is the pinned version.
fn says_its_version(agent: &Agent, program: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg("--version").env("DISABLE_AUTOUPDATER", "1").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    // Some say their name before it.
    let says = said.split_whitespace().take(2).any(|word| word == agent.version);
    if output.status.success() && says {
        Ok(())
    } else {
        let (name, said) = (program.display(), said.trim());
        Err(format!("{name} says {said:?} and not version {}", agent.version))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tempfile::TempDir;

    use super::*;

    const TEST: Agent = Agent {
        name: "test",
        version: "1.2.3",
        package: "@x/test",
        program: "test-agent",
        variable: "X",
    };

    /// A cache, and an npm that installs a program of this version and counts how often.
    fn world(version: &str) -> (TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let npm = folder.path().join("npm.sh");
        let script = format!(
            "set -e; for last; do :; done; [ \"$last\" = '@x/test@1.2.3' ]\n\
             bin=\"$5/node_modules/.bin\"; mkdir -p \"$bin\"; echo x >> {}/count\n\
             printf '#!/bin/sh\\necho {version} x\\n' > \"$bin/test-agent\"; chmod +x \"$bin/test-agent\"\n",
            folder.path().display()
        );
        fs::write(&npm, script).unwrap();
        (folder, npm.display().to_string())
    }

    fn count(folder: &TempDir) -> usize {
        fs::read_to_string(folder.path().join("count")).unwrap_or_default().lines().count()
    }

    fn names(cache: &Path) -> Vec<String> {
        let entries = fs::read_dir(cache).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name != LOCK).collect()
    }

    #[test]
    fn a_program_is_installed_once_and_a_broken_one_is_replaced() {
        let (folder, npm) = world("1.2.3");
        let cache = folder.path().join("cache");
        let program = ensure(&TEST, &cache, &["sh", &npm]).unwrap();
        assert_eq!(program, cache.join("test-1.2.3/node_modules/.bin/test-agent"));
        assert_eq!(ensure(&TEST, &cache, &["sh", &npm]), Ok(program.clone()));
        assert_eq!(count(&folder), 1);
        fs::remove_file(&program).unwrap();
        assert_eq!(ensure(&TEST, &cache, &["sh", &npm]), Ok(program));
        assert_eq!(count(&folder), 2);
        assert_eq!(names(&cache), ["test-1.2.3"], "nothing is left beside it");
    }

    #[test]
    fn another_version_than_the_pinned_one_is_refused() {
        let (folder, npm) = world("1.2.4");
        let cache = folder.path().join("cache");
        let refused = ensure(&TEST, &cache, &["sh", &npm]).unwrap_err();
        assert!(refused.ends_with("says \"1.2.4 x\" and not version 1.2.3"), "{refused}");
        assert_eq!(names(&cache), [] as [&str; 0]);
    }

    #[test]
    fn without_npm_and_when_npm_fails_the_reason_is_said() {
        let (folder, _) = world("1.2.3");
        let cache = folder.path().join("cache");
        let missing = ensure(&TEST, &cache, &["/nowhere/npm"]).unwrap_err();
        assert!(missing.starts_with("npm cannot be run: "), "{missing}");
        let failed = ensure(&TEST, &cache, &["sh", "-c", "echo no network >&2; exit 1"]);
        assert_eq!(failed.unwrap_err(), "npm could not install @x/test@1.2.3: no network");
    }

    #[test]
    fn tasks_at_the_same_time_all_get_the_program() {
        let (folder, npm) = world("1.2.3");
        let cache = folder.path().join("cache");
        thread::scope(|scope| {
            let tasks: Vec<_> =
                (0..8).map(|_| scope.spawn(|| ensure(&TEST, &cache, &["sh", &npm]))).collect();
            for task in tasks {
                assert!(task.join().unwrap().is_ok());
            }
        });
        assert_eq!(names(&cache), ["test-1.2.3"]);
        assert_eq!(count(&folder), 1, "the first installs it for all");
    }
}
