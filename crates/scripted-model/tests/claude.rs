//! The real Claude Code against the scripted model: it works, limits reach it, it is killed and resumed, and all that it asks
//! has the recorded shape. Where it is not installed this says loudly that nothing was proved.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    fs,
    io::Write,
    path::Path,
    process::Output,
    time::{Duration, Instant},
};

use scripted_model::{
    ModelKey, ModelRequest, Script, ScriptStep, Server, ToolCall,
    claude::{ClaudeCode, Credential},
};
use serde_json::Value;
use tempfile::TempDir;

/// What a turn came to.
struct Turn {
    lines: Vec<Value>,
    code: Option<i32>,
    requests: Vec<ModelRequest>,
    place: TempDir,
}

impl Turn {
    fn result(&self) -> &Value {
        let result = self.lines.iter().rfind(|line| line["type"] == "result");
        result.expect("the stream has a result")
    }

    fn lines_of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind || line["subtype"] == kind).collect()
    }

    /// The turn failed, and its result says so.
    fn failed(&self, status: impl Into<Value>, reason: &str) {
        let result = self.result();
        assert_eq!(self.code, Some(1), "{result}");
        assert_eq!(result["is_error"], true, "{result}");
        assert_eq!(result["api_error_status"], status.into(), "{result}");
        assert_eq!(result["terminal_reason"], reason, "{result}");
    }
}

/// Plays the steps to one turn of Claude Code, all of whose requests must have the recorded shape.
fn turn(
    steps: impl IntoIterator<Item = ScriptStep>,
    arguments: &[&str],
    who: Credential,
) -> Option<Turn> {
    let claude = ClaudeCode::find(std::thread::current().name().unwrap_or("Claude Code"))?;
    let server = Server::start().unwrap();
    let key = server.key("claude", Script::new(steps));
    let place = tempfile::tempdir().unwrap();
    let output = run(&claude, &key, place.path(), arguments, who);
    assert!(server.strays().is_empty(), "{:?}", server.strays());
    let requests = key.finish();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Some(Turn { lines, code: output.status.code(), requests, place })
}

fn run(
    claude: &ClaudeCode,
    key: &ModelKey,
    place: &Path,
    arguments: &[&str],
    who: Credential,
) -> Output {
    let mut command = claude.turn(key, place, who);
    let mut child = command.args(["--model", "claude-sonnet-4-5"]).args(arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Do what you are told.").unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn turn_with_key(steps: impl IntoIterator<Item = ScriptStep>) -> Option<Turn> {
    turn(steps, &[], Credential::ApiKey)
}

#[test]
fn it_really_writes_edits_and_runs() {
    let steps = [
        ScriptStep::call(ToolCall::write("${cwd}/hello.txt", "hello\n"))
            .saying("I write.")
            .thinking("How?"),
        ScriptStep::call(ToolCall::edit("${cwd}/hello.txt", "hello", "goodbye")),
        ScriptStep::call(ToolCall::bash("wc -c < hello.txt > size.txt"))
            .and_call(ToolCall::read("${cwd}/hello.txt")),
        ScriptStep::say("Done."),
    ];
    let Some(turn) = turn_with_key(steps) else { return };
    assert_eq!(turn.code, Some(0));
    let read = |name: &str| fs::read_to_string(turn.place.path().join("work").join(name)).unwrap();
    assert_eq!((read("hello.txt").as_str(), read("size.txt").trim()), ("goodbye\n", "8"));
    assert_eq!(turn.requests.len(), 4);
    assert!(turn.requests[3].last.contains("goodbye"), "the model sees what the tools gave");
}

#[test]
fn the_script_finds_the_boxes_and_the_attempt_that_the_agent_was_told_of() {
    let boxes = tempfile::tempdir().unwrap();
    let (inbox, outbox) = (boxes.path().join("inbox"), boxes.path().join("outbox"));
    for folder in [&inbox, &outbox] {
        fs::create_dir(folder).unwrap();
    }
    let (inbox, outbox) = (inbox.display().to_string(), outbox.display().to_string());
    let steps = [
        ScriptStep::call(ToolCall::write("${outbox}/plan.md", "for ${attempt}, from ${inbox}\n")),
        ScriptStep::say("Done."),
    ];
    let prompt = "forge    1\nattempt  \"build.T2/implement#3\"\n";
    let arguments = ["--add-dir", &inbox, "--add-dir", &outbox, "--append-system-prompt", prompt];
    let Some(turn) = turn(steps, &arguments, Credential::ApiKey) else { return };
    assert_eq!(turn.code, Some(0));
    let plan = fs::read_to_string(boxes.path().join("outbox/plan.md")).unwrap();
    assert_eq!(plan, format!("for build.T2/implement#3, from {inbox}\n"));
}

#[test]
fn a_usage_window_says_until_when_to_a_subscription_only() {
    let reset = 4_102_444_800_u64;
    let steps = || [ScriptStep::usage_window("five_hour", reset)];
    let Some(subscribed) = turn(steps(), &[], Credential::Subscription) else { return };
    subscribed.failed(429, "api_error");
    assert_eq!(subscribed.result()["api_error"], "usage_limit_reached");
    let events = subscribed.lines_of("rate_limit_event");
    let info = &events[0]["rate_limit_info"];
    assert_eq!(info["status"], "rejected");
    assert_eq!(info["resetsAt"], reset);
    assert_eq!(info["rateLimitType"], "five_hour");
    let Some(keyed) = turn_with_key(steps()) else { return };
    keyed.failed(429, "api_error");
    assert!(keyed.lines_of("rate_limit_event").is_empty());
}

#[test]
fn it_is_killed_at_a_barrier_and_resumed_in_its_session() {
    let Some(claude) = ClaudeCode::find("killed at a barrier and resumed") else { return };
    let server = Server::start().unwrap();
    let steps = [
        ScriptStep::call(ToolCall::bash("echo first > first.txt")),
        ScriptStep::say("never heard").wait_for("killed"),
        ScriptStep::say("Carried on."),
    ];
    let key = server.key("claude", Script::new(steps));
    let place = tempfile::tempdir().unwrap();
    let session = "7f0e4c1a-0000-4000-8000-000000000001";
    let mut command = claude.turn(&key, place.path(), Credential::ApiKey);
    let mut child = command.args(["--session-id", session]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Go.").unwrap();
    drop(stdin);
    key.wait_until_reached("killed");
    // It writes its memory down a little later than it asks.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !remembers(place.path(), session, "echo first") {
        assert!(Instant::now() < deadline, "it never wrote its session");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = run(&claude, &key, place.path(), &["--resume", session], Credential::ApiKey);
    assert_eq!(resumed.status.code(), Some(0));
    assert!(String::from_utf8(resumed.stdout).unwrap().contains("Carried on."));
    let requests = key.finish();
    assert_eq!(requests.len(), 3);
    assert!(requests[2].messages.to_string().contains("echo first"), "it remembers");
    assert!(requests.iter().all(|request| request.session.as_deref() == Some(session)));
}

/// Whether the file of a session, somewhere below a folder, has this text in it.
fn remembers(folder: &Path, session: &str, text: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return remembers(&path, session, text);
        }
        path.file_stem().is_some_and(|stem| stem == session)
            && fs::read_to_string(&path).is_ok_and(|found| found.contains(text))
    })
}
