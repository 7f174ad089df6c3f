//! Which agents there are, and whether one answers: with made-up programs, and with the real Claude Code.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

use forge_api::agents::{check::Probed, list::AgentRow};
use scripted_model::{ModelKey, Script, ScriptStep, Server, ToolCall, claude::ClaudeCode};
use serde_json::{Value, json};

use crate::{
    reads::fits,
    world::{DONE, INTERRUPTED, Running, Said, WAITS, WRONG, World, finish, has, until},
};

/// A program that does as it is told in its check.
const READY: &str = r#"#!/bin/sh
cat > "$HOME/brief"
echo '{"type":"spent","model":"small","input":10,"output":5,"cost_micros":1200}'
echo "{\"forge\":1,\"attempt\":\"$FORGE_CALL\",\"status\":\"done\",\"summary\":\"ready\"}" > "$FORGE_OUTBOX/result.json"
"#;

impl World {
    /// A program beside the repository.
    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.beside("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A person's own settings.
    fn user_settings(&self, text: &str) {
        let path = self.beside(".config/forge/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// `forge agents …`, with only these programs and the system's, and a temporary folder of its own.
    fn agents(&self, args: &[&str]) -> Command {
        let mut command = self.command_as_it_is(&[&["agents"], args].concat());
        let path = format!("{}:/usr/bin:/bin", self.beside("bin").display());
        fs::create_dir_all(self.beside("tmp")).unwrap();
        command.env("PATH", path).env("TMPDIR", self.beside("tmp"));
        command
    }

    /// What lies in the temporary folder.
    fn left_behind(&self) -> Vec<PathBuf> {
        fs::read_dir(self.beside("tmp")).unwrap().flatten().map(|entry| entry.path()).collect()
    }
}

fn rows(said: &Said) -> Vec<Value> {
    let rows: Value = serde_json::from_str(&said.out).unwrap();
    fits(schemars::schema_for!(Vec<AgentRow>), &rows);
    rows.as_array().unwrap().clone()
}

fn row(said: &Said, name: &str) -> Value {
    rows(said).into_iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn agents_are_listed_with_their_programs_their_roles_and_what_is_wrong() {
    let world = World::new();
    let mine = world.program("mine.sh", READY);
    world.program("claude", "#!/bin/sh\necho '2.1.325 (Claude Code)'\n");
    world.program("codex", "#!/bin/sh\necho 'codex-cli 0.170.0'\n");
    world.program("gemini", "#!/bin/sh\necho 0.61.0\n");
    world.write(
        "forge.local.toml",
        format!(
            "agent = \"claude\"\n[agents.mine]\ncommand = [{mine:?}]\n[agents.gone]\ncommand = [\"no-such-agent\"]\n\
             [roles.reviewer]\nagent = \"mine\"\n"
        ),
    );
    let said = finish(&mut world.agents(&[]));
    assert_eq!(said.code, DONE, "{said}");
    has(
        &said.out,
        &[
            "claude      Claude Code 2.1.325",
            "runs as all roles",
            "resumes its sessions, structured results",
            "mine        a program",
            "runs as reviewer",
            "not usable: program `no-such-agent` not found in PATH",
            "help: install it, or fix agents.gone.command",
            "scripted    part of Forge",
            "codex       Codex 0.170.0, newer than the tried 0.166.0",
            "gemini      Gemini CLI 0.61.0",
        ],
    );
    assert!(said.out.lines().all(|line| line.chars().count() <= 120), "{said}");
    let settings = fs::read_to_string(world.repo.join("forge.local.toml")).unwrap();
    world.write("forge.local.toml", settings.replace("agent = \"mine\"", "agent = \"gone\""));
    let said = finish(&mut world.agents(&[]));
    has(&said.out, &["error: program `no-such-agent` not found in PATH"]);
    world.write("forge.local.toml", settings);
    let said = finish(&mut world.agents(&["--json"]));
    let claude = row(&said, "claude");
    assert_eq!((&claude["version"], &claude["is_default"]), (&json!("2.1.325"), &json!(true)));
    assert_eq!(claude["can"], json!(["resume", "result-form", "reported-cost", "own-cap"]));
    assert_eq!(claude["wrong"], Value::Null);
    assert_eq!(row(&said, "codex")["can"], json!(["resume"]));
    assert_eq!(row(&said, "mine")["roles"], json!(["reviewer"]));
    assert_eq!(row(&said, "gemini")["kind"], "gemini");
    assert!(world.is_untouched());
}

#[test]
fn without_a_repository_there_are_the_agents_of_the_person() {
    let world = World::new();
    world.user_settings("[agents.mine]\ncommand = [\"mine.sh\"]\n");
    world.program("mine.sh", READY);
    let outside = world.beside("outside");
    fs::create_dir(&outside).unwrap();
    let said = finish(world.agents(&[]).current_dir(&outside));
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["mine        a program", "Claude Code, not found", "npm install -g"]);
    let said = finish(world.agents(&["check", "mine"]).current_dir(&outside));
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["mine works (", "<$0.01"]);
    has(&fs::read_to_string(world.beside("brief")).unwrap(), &["check#1", "FORGE_OUTBOX"]);
}

#[test]
fn a_program_that_is_old_silent_or_broken_is_named() {
    let world = World::new();
    for (script, wrong) in [
        ("echo '2.1.9 (Claude Code)'", "version 2.1.9 is too old: Forge needs 2.1.310 or newer"),
        ("exit 3", "it does not print its version"),
        ("echo hello", "it prints no version"),
    ] {
        world.program("claude", &format!("#!/bin/sh\n{script}\n"));
        let said = finish(&mut world.agents(&["--json"]));
        let claude = row(&said, "claude");
        has(claude["wrong"].as_str().unwrap(), &[wrong]);
        assert_eq!(claude["next"], "npm install -g @anthropic-ai/claude-code@2.1.325");
    }
}

#[test]
fn a_program_that_is_too_old_is_refused_by_run_and_check_before_anything_is_paid() {
    let world = World::new();
    let calls =
        "if [ \"$1\" = --version ]; then echo '2.1.9 (Claude Code)'; else touch $HOME/called; fi";
    world.program("claude", &format!("#!/bin/sh\n{calls}\n"));
    world.user_settings("agent = \"claude\"\n");
    let old = "version 2.1.9 is too old: Forge needs 2.1.310 or newer";
    let next = "help: npm install -g @anthropic-ai/claude-code@2.1.325";
    let path = format!("{}:/usr/bin:/bin", world.beside("bin").display());
    for more in [&[][..], &["--budget", "5"]] {
        let words = ["run", "--flow", "feature", "--effort", "S", "Add a greeting, with its test"];
        let mut command = world.command(&[&words[..], more].concat());
        let said = finish(command.env("PATH", &path));
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &["the agent `claude`: ", old, next]);
        assert!(world.is_untouched());
    }
    let said = finish(&mut world.agents(&["check", "claude"]));
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.out, &["claude 2.1.9 is too old", old, next]);
    let said = finish(&mut world.agents(&["check", "claude", "--json"]));
    let probed: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&probed["state"], &probed["version"]), (&json!("too-old"), &json!("2.1.9")));
    assert!(!world.beside("called").exists(), "nobody was called");
}

#[test]
fn what_a_repository_made_of_an_agent_is_started_only_if_a_person_allows_it() {
    let world = World::new();
    let evil = world.program("evil.sh", &format!("{READY}\ntouch $HOME/evil\necho 2.1.325\n"));
    world.write("forge.toml", format!("[agents.claude]\ncommand = [{evil:?}]\n"));
    let said = finish(&mut world.agents(&[]));
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["this repository configures it, and you"]);
    let said = finish(&mut world.agents(&["check", "claude"]));
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["evil.sh", "you have not allowed", "help: forge agents check claude --allow"]);
    assert!(!world.beside("evil").exists(), "nobody was asked, so nothing was started");
    finish(&mut world.agents(&["check", "claude", "--allow"]));
    assert!(world.beside("evil").exists());
}

#[test]
fn a_result_that_cannot_be_used_is_shown_with_its_flaw_and_what_was_printed_is_kept() {
    let world = World::new();
    world.user_settings(
        "[agents.mine]\ncommand = [\"mine.sh\"]\n[agents.none]\ncommand = [\"none.sh\"]\n[agents.bad]\ncommand = [\"bad.sh\"]\n",
    );
    world.program("mine.sh", &READY.replace("\\\"done\\\"", "\\\"finished\\\""));
    world.program("none.sh", "#!/bin/sh\necho I do nothing\n");
    world.program("bad.sh", "#!/bin/sh\necho 'no licence for you' >&2\nexit 7\n");
    let check = |name: &str| {
        let said = finish(&mut world.agents(&["check", name, "--json"]));
        assert_eq!(said.code, WRONG, "{said}");
        let probed: Value = serde_json::from_str(&said.out).unwrap();
        fits(schemars::schema_for!(Probed), &probed);
        probed
    };
    let probed = check("mine");
    assert_eq!(probed["state"], "no-result");
    has(probed["what"].as_str().unwrap(), &["finished"]);
    let probed = check("none");
    assert_eq!(probed["state"], "no-result");
    let transcript = probed["transcript"].as_str().unwrap();
    assert_eq!(fs::read_to_string(transcript).unwrap(), "I do nothing\n");
    assert_eq!(probed["spent"]["cost"], "unknown");
    let probed = check("bad");
    assert_eq!(probed["state"], "broken");
    has(probed["what"].as_str().unwrap(), &["exit code 7", "no licence for you"]);
    assert_eq!(world.left_behind().len(), 3, "what failed is kept");
    let said = finish(&mut world.agents(&["check", "claude"]));
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.out, &["claude is not installed", "help: npm install -g @anthropic-ai/claude-code"]);
    has(&finish(&mut world.agents(&["check", "mime"])).err, &["unknown agent `mime`", "`mine`?"]);
    assert_eq!(world.left_behind().len(), 3, "what was not called leaves nothing");
}

#[test]
fn the_scripted_agent_answers_and_nothing_is_left_behind() {
    let world = World::new();
    let said = finish(&mut world.agents(&["check", "scripted"]));
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["scripted works ("]);
    has(&said.err, &["one tiny call to scripted, which costs nothing"]);
    assert!(world.left_behind().is_empty() && world.is_untouched());
}

#[test]
fn who_presses_ctrl_c_ends_the_call_with_its_children() {
    let world = World::new();
    world.user_settings("[agents.slow]\ncommand = [\"slow.sh\"]\n");
    world.program(
        "slow.sh",
        "#!/bin/sh\nsleep 600 &\necho $! > $HOME/child.tmp\nmv $HOME/child.tmp $HOME/child\nwait\n",
    );
    let running = Running::of(&mut world.agents(&["check", "slow"]));
    let child = until("the child", || fs::read_to_string(world.beside("child")).ok());
    running.signal(rustix::process::Signal::INT);
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    has(&said.out, &["slow was stopped"]);
    assert!(!PathBuf::from(format!("/proc/{}", child.trim())).exists(), "its child is gone");
    assert!(world.left_behind().is_empty());
}

/// `forge agents check claude` with the real program against a script.
fn real(
    what: &str,
    script: Script,
    more: &[&str],
    with: impl FnOnce(&mut Command, &ModelKey),
) -> Option<(World, Said)> {
    let claude = ClaudeCode::find(what)?;
    let world = World::new();
    let program = claude.program().display();
    world.user_settings(&format!("[agents.claude]\ncommand = [\"{program}\"]\n"));
    let server = Server::start().unwrap();
    let key = server.key("check", script);
    let mut command = world.agents(&[&["check", "claude"], more].concat());
    command.env("ANTHROPIC_BASE_URL", key.url()).env("ANTHROPIC_API_KEY", "sk-ant-made-up");
    with(&mut command, &key);
    let said = finish(&mut command);
    key.finish();
    Some((world, said))
}

#[test]
fn the_real_claude_answers() {
    let answer = json!({"forge": 1, "attempt": "check#1", "status": "done", "summary": "ready"});
    let script = Script::new([ScriptStep::call(ToolCall::answer(answer))]);
    let Some((world, said)) =
        real("claude answers a check", script, &["--model", "claude-sonnet-4-5"], |_, _| {})
    else {
        return;
    };
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["claude 2.1.325 works (", "s, <$0.01", "model claude-sonnet-4-5)"]);
    has(&said.err, &["one tiny call to claude, which may cost a little (stopped at $0.05"]);
    assert!(world.left_behind().is_empty(), "{:?}", world.left_behind());
}

#[test]
fn the_real_claude_says_what_keeps_it_out() {
    let no = |code, words: &str| Script::new([ScriptStep::status(code, words)]);
    let cases: [(Script, &[&str], &[&str]); 3] = [
        (
            no(401, "invalid x-api-key"),
            &[],
            &["claude 2.1.325 is not logged in", "/login", "ANTHROPIC_API_KEY"],
        ),
        (
            no(404, "model: claude-none-1"),
            &["--model", "claude-none-1"],
            &[
                "claude 2.1.325 cannot use this model",
                "`claude-none-1`",
                "help: forge agents check claude --model MODEL",
            ],
        ),
        (no(403, "not for you"), &[], &["claude 2.1.325 is not allowed to do this"]),
    ];
    for (script, more, wanted) in cases {
        let Some((world, said)) = real("what keeps claude out", script, more, |_, _| {}) else {
            return;
        };
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.out, wanted);
        has(&said.out, &["what it printed: "]);
        assert_eq!(world.left_behind().len(), 1);
    }
}

#[test]
fn the_real_claude_without_a_key_or_without_a_network_says_so() {
    let never = || Script::new([ScriptStep::say("never asked")]);
    let without_key = |command: &mut Command, _: &ModelKey| {
        command.env_remove("ANTHROPIC_API_KEY");
    };
    let Some((_world, said)) = real("claude without a key", never(), &[], without_key) else {
        return;
    };
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.out, &["claude 2.1.325 is not logged in", "help: run `claude`, then /login"]);
    let to_nobody = |command: &mut Command, _: &ModelKey| {
        // Nobody listens on the port of nothing.
        command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    };
    let Some((_world, said)) = real("claude without a network", never(), &[], to_nobody) else {
        return;
    };
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.out, &["claude 2.1.325 cannot reach its provider", "check your connection"]);
}
