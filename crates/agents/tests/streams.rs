//! Recorded streams of real programs, whole and broken, and what they come to.
//!
//! `transcripts/NAME` was recorded of Claude Code 2.1.325, Codex 0.166.0 and others against a scripted model on 127.0.0.1.
//! Paths and long lists in first lines were shortened; everything else is as it was printed. What is true of every program
//! is here for all of them; what is only true of Codex, opencode or Gemini CLI is in a file beside this one.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names what it expects, and no more")]

#[path = "streams/codex.rs"]
mod codex;
#[path = "streams/gemini.rs"]
mod gemini;
#[path = "streams/opencode.rs"]
mod opencode;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use forge_agents::{
    AgentEnd, AgentKind, CodeAccess, Earlier, ErrorClass, Listener, Price, Session, Signal,
    StreamSummary, TokenCounts, TurnRequest, Use, Watchdog, parse_result, read_transcript,
    registry, session_id,
};
use forge_core::result::ResultKey;
use forge_core::routing::{Effort, Thinking};
use forge_keeper::{ExitReason, Redactor, Stderr};
use serde_json::Value;

fn claude() -> AgentKind {
    AgentKind::find("claude").expect("it is in the registry")
}

const CLAUDE: &[Row] = &[
    ("401", 1, "failed Auth: Invalid API key · Fix external API key"),
    ("403", 1, "failed Permission: Failed to authenticate"),
    ("429-plain", 1, "limited RateLimit, delay: API Error: Request rejected (429)"),
    ("429-retry-after", 1, "limited RateLimit, delay 2000: API Error: Request rejected (429)"),
    ("429-unified", 1, "limited RateLimit: API Error: Request rejected (429)"),
    ("500", 1, "limited Server, delay: API Error: 500"),
    ("529", 1, "limited Server, delay: API Error: "),
    ("bad-request", 1, "failed Unknown: API Error: 400"),
    ("budget-fresh", 1, "over budget: Reached maximum budget ($0.01)"),
    ("connection-refused", 1, "limited Network, delay: API Error: "),
    ("credit-too-low", 1, "failed Auth: Credit balance is too low"),
    ("cut", 1, "limited Network: API Error: Connection lost mid-response"),
    ("kill-mid-tool-killed", -9, "failed Unknown: killed by signal 9"),
    ("kill-mid-tool-resumed", 0, "done"),
    ("kill-mid-tool-resumed-twice", 0, "done"),
    ("max-tokens", 1, "overflowed: API Error: Claude's response exceeded the"),
    ("midstream", 1, "limited Server: API Error: Server error mid-response"),
    ("model-404", 1, "failed NoModel: There's an issue with the selected model"),
    ("no-key", 1, "failed Auth: Not logged in · Please run /login"),
    ("no-such-host", 1, "limited Network, delay: API Error: "),
    ("oauth-401", 1, "failed Auth: Failed to authenticate. API Error: 401"),
    ("oauth-429-plain", 1, "limited RateLimit, delay: API Error: "),
    (
        "oauth-429-unified",
        1,
        "limited UsageWindow, until 1794736124000: You've hit your 5-hour limit",
    ),
    ("oauth-429-unified-seven-day", 1, "limited UsageWindow, until"),
    ("oauth-allowed-warning", 0, "done"),
    ("oauth-trivial", 0, "done"),
    ("overflow", 1, "overflowed: Prompt is too long"),
    ("perm-bash-only", 0, "done"),
    ("refusal", 1, "refused: "),
    ("repair-first", 0, "done"),
    ("repair-second", 0, "done"),
    ("resume-budget-tools", 1, "over budget: Reached maximum budget ($0.01)"),
    ("resume-unknown", 1, "session gone"),
    ("review", 0, "done"),
    ("review-resumed", 0, "done"),
    ("schema-always-invalid", 1, "failed Unknown: "),
    ("schema-defs", 0, "done"),
    ("schema-invalid-then-good", 0, "done"),
    ("schema-never-answered", 0, "done"),
    ("session-new", 0, "done"),
    ("session-resumed", 0, "done"),
    ("sigint-mid-tool", 0, "interrupted"),
    ("sigterm-mid-tool", 143, "failed Unknown: exit code 143"),
    ("trivial", 0, "done"),
    ("write-bash", 0, "done"),
];

/// A recorded stream, how its process ended, and what the call comes to.
type Row = (&'static str, i32, &'static str);

/// The recorded streams of each program.
const RECORDED: &[(&str, &[Row])] = &[
    ("claude", CLAUDE),
    ("codex", codex::STREAMS),
    ("opencode", opencode::STREAMS),
    ("gemini", gemini::STREAMS),
];

/// Every recorded stream of every program.
fn all_recorded() -> impl Iterator<Item = (AgentKind, &'static Row)> {
    RECORDED.iter().flat_map(|(name, rows)| {
        let kind = AgentKind::find(name).expect("it is in the registry");
        rows.iter().map(move |row| (kind, row))
    })
}

fn folder(kind: AgentKind) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(kind.name())
}

fn recorded_of(kind: AgentKind, name: &str) -> Vec<u8> {
    fs::read(folder(kind).join(format!("{name}.jsonl"))).unwrap()
}

fn summary_of(kind: AgentKind, name: &str) -> StreamSummary {
    read_transcript(kind, recorded_of(kind, name).as_slice(), &Earlier::default())
}

fn recorded(name: &str) -> Vec<u8> {
    recorded_of(claude(), name)
}

fn summary(name: &str) -> StreamSummary {
    summary_of(claude(), name)
}

fn how(code: i32) -> ExitReason {
    if code < 0 { ExitReason::Signalled { signal: -code } } else { ExitReason::Exited { code } }
}

fn words(end: &AgentEnd) -> String {
    match end {
        AgentEnd::Done => "done".to_owned(),
        AgentEnd::Limited(limit) => {
            let until = limit.until_ms.map(|ms| format!(", until {ms}")).unwrap_or_default();
            let delay = limit.delay_ms.map(|ms| format!(", delay {ms}")).unwrap_or_default();
            format!("limited {:?}{until}{delay}: {}", limit.class, limit.what)
        }
        AgentEnd::Failed { class, what } => format!("failed {class:?}: {what}"),
        AgentEnd::Refused { what } => format!("refused: {what}"),
        AgentEnd::Overflowed { what } => format!("overflowed: {what}"),
        AgentEnd::OverBudget { what } => format!("over budget: {what}"),
        AgentEnd::SessionGone => "session gone".to_owned(),
        AgentEnd::Stopped(watchdog) => format!("stopped by {watchdog:?}"),
        AgentEnd::NotStarted { why } => format!("not started: {why}"),
        AgentEnd::Interrupted => "interrupted".to_owned(),
        AgentEnd::Lost => "lost".to_owned(),
    }
}

/// Whether words begin as expected; a delay without a figure may be any.
fn fits(words: &str, expected: &str) -> bool {
    match expected.split_once(", delay: ") {
        None => words.starts_with(expected),
        Some((before, after)) => {
            let rest = words.strip_prefix(before).and_then(|rest| rest.strip_prefix(", delay "));
            rest.and_then(|rest| rest.split_once(": "))
                .is_some_and(|(_, rest)| rest.starts_with(after))
        }
    }
}

/// All signals of a stream in pieces of a size, and the fold of them.
fn signals(kind: AgentKind, stream: &[u8], piece: usize) -> (Vec<Signal>, StreamSummary) {
    let mut listener = Listener::new(kind, &Earlier::default());
    let mut all = Vec::new();
    for part in stream.chunks(piece) {
        listener.push(part, |signal| all.push(signal.clone()));
    }
    let summary = listener.finish(|signal| all.push(signal.clone()));
    (all, summary)
}

#[test]
fn every_recorded_stream_comes_to_its_end() {
    for (name, rows) in RECORDED {
        let kind = AgentKind::find(name).unwrap();
        let mut seen = BTreeSet::new();
        for (name, code, expected) in *rows {
            let end = words(&summary_of(kind, name).end(Some(&how(*code)), ""));
            assert!(fits(&end, expected), "{kind:?} {name}:\n{end}\n{expected}");
            seen.insert(format!("{name}.jsonl"));
        }
        let files = fs::read_dir(folder(kind)).unwrap();
        let files: BTreeSet<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(seen, files, "every recorded stream of {kind:?} has its row");
    }
}

#[test]
fn success_needs_a_clear_last_line_and_exit_code_0() {
    for (kind, (name, code, expected)) in all_recorded() {
        let summary = summary_of(kind, name);
        if *expected == "done" {
            for bad in [ExitReason::Exited { code: 1 }, ExitReason::Signalled { signal: 15 }] {
                assert_ne!(summary.end(Some(&bad), ""), AgentEnd::Done, "{kind:?} {name}");
            }
        } else {
            assert_ne!(
                summary.end(Some(&ExitReason::Exited { code: 0 }), ""),
                AgentEnd::Done,
                "{kind:?} {name} {code}"
            );
        }
        assert_eq!(summary.end(Some(&ExitReason::Interrupted), ""), AgentEnd::Interrupted);
        assert_eq!(summary.end(None, ""), AgentEnd::Lost);
        assert!(matches!(
            summary.end(Some(&ExitReason::OverBudget), ""),
            AgentEnd::OverBudget { .. }
        ));
    }
}

#[test]
fn what_is_printed_to_the_error_stream_alone_is_understood_last() {
    let nothing = read_transcript(claude(), &b""[..], &Earlier::default());
    let end = |errors: &str| words(&nothing.end(Some(&ExitReason::Exited { code: 1 }), errors));
    assert!(
        end("Error: Session ID 1 is already in use.\n").starts_with("failed Tooling: exit code 1")
    );
    assert!(end("error: unknown option '--tools'").starts_with("failed Tooling"));
    assert!(
        end("Error: --json-schema is not a valid JSON Schema: x").starts_with("failed Tooling")
    );
    assert_eq!(end("No conversation found with session ID: 1\n"), "session gone");
    assert_eq!(end("something else\n"), "failed Unknown: exit code 1\nsomething else");
    assert_eq!(nothing.uses(), [], "it never came so far as to ask a model");
}

#[test]
fn a_stream_cut_at_every_byte_gives_a_beginning_of_the_same_signals_and_is_never_done() {
    for (kind, (name, _, expected)) in all_recorded() {
        let stream = recorded_of(kind, name);
        let (all, _) = signals(kind, &stream, 4096);
        let last = stream.trim_ascii_end().len();
        // Every byte of some, and some bytes of the others, which are alike.
        let step =
            if ["schema-defs", "oauth-429-unified", "write-bash"].contains(name) { 1 } else { 101 };
        for cut in (0..last).step_by(step) {
            let (some, summary) = signals(kind, &stream[..cut], 4096);
            let whole = some.strip_suffix(&[Signal::Unknown]).unwrap_or(&some);
            assert!(all.starts_with(whole), "{kind:?} {name} cut at {cut}");
            let end = summary.end(Some(&ExitReason::Exited { code: 0 }), "");
            assert_ne!(end, AgentEnd::Done, "{kind:?} {name} cut at {cut}, {expected}");
        }
    }
}

#[test]
fn a_stream_means_the_same_in_pieces_of_any_size() {
    for (kind, (name, _, _)) in all_recorded() {
        let stream = recorded_of(kind, name);
        let whole = signals(kind, &stream, stream.len().max(1));
        for piece in [1, 7, 4096] {
            assert_eq!(
                signals(kind, &stream, piece),
                whole,
                "{kind:?} {name} in pieces of {piece}"
            );
        }
    }
}

#[test]
fn keys_may_come_in_any_order() {
    for (kind, (name, _, _)) in all_recorded() {
        let stream = String::from_utf8(recorded_of(kind, name)).unwrap();
        let turned = stream.lines().map(turned).collect::<Vec<_>>().join("\n");
        assert!(stream.is_empty() || stream != turned);
        let whole = signals(kind, stream.as_bytes(), 4096);
        assert_eq!(signals(kind, turned.as_bytes(), 4096), whole, "{kind:?} {name}");
    }
}

/// The same object with its keys in another order.
fn turned(line: &str) -> String {
    let Value::Object(keys) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
    let mut keys: Vec<String> =
        keys.iter().map(|(key, value)| format!("{:?}:{value}", key.as_str())).collect();
    keys.sort_by_key(|key| key.bytes().rev().collect::<Vec<u8>>());
    format!("{{{}}}", keys.join(","))
}

#[test]
fn stray_broken_and_unknown_lines_change_nothing() {
    let stream = recorded("write-bash");
    let (_, whole) = signals(claude(), &stream, 4096);
    let stray: [&[u8]; 9] = [
        b"plain text\n",
        b"\xff\xfe{\"type\":\n",
        b"{\"type\":\"system\",\"subtype\":\"ui_invalidate\"}\n",
        b"{\"type\":\"a thing to come\",\"message\":7}\n",
        b"{\"type\":[],\"is_error\":false}\n",
        b"[{\"type\":\"result\",\"is_error\":false}]\n",
        b"{\"type\":\"assistant\",\"message\":{\"content\":\"a plain text\"}}\n",
        b"{\"type\":\"assistant\",\"message\":\"half \xc3\"}\n",
        b"\n\r\n   \n",
    ];
    let mut mixed = Vec::new();
    for (number, line) in stream.split_inclusive(|byte| *byte == b'\n').enumerate() {
        mixed.extend(stray[number % stray.len()]);
        mixed.extend(line);
    }
    mixed.extend(stray.concat());
    for piece in [1, 7, 4096] {
        let (_, summary) = signals(claude(), &mixed, piece);
        assert_eq!(summary, whole);
    }
}

#[test]
fn a_stream_that_speaks_of_private_keys_means_the_same_without_them() {
    let header = format!("-----BEGIN {} KEY-----", "RSA PRIVATE");
    let end = header.replace("BEGIN", "END");
    let body = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB";
    for text in [
        header.clone(),
        format!("{header} is how it begins, in \"quotes\" too"),
        format!("{{\"key\":\"{header}\\n{body}\"}}"),
        format!("{header}\n{body}\nand no end"),
        format!("{header}\n{body}\naFDrBz9vFqU4yK==\n{end}\n"),
    ] {
        for (name, code, _) in CLAUDE {
            let stream = String::from_utf8(recorded(name)).unwrap();
            let leaky: Vec<String> = stream.lines().map(|line| telling(line, &text)).collect();
            let leaky = leaky.join("\n");
            let mut clean = Vec::new();
            let mut redactor = Redactor::new([]);
            leaky.as_bytes().chunks(999).for_each(|piece| redactor.push(piece, &mut clean));
            redactor.finish(&mut clean);
            let shown = String::from_utf8_lossy(&clean);
            assert!(!shown.contains(&header) && !shown.contains(body), "{name}:\n{shown}");
            let before = summary(name);
            let after = read_transcript(claude(), clean.as_slice(), &Earlier::default());
            let what = |summary: &StreamSummary| {
                let mut uses = summary.uses();
                // An answer without a last line is estimated by its length.
                for one in uses.iter_mut().filter(|one| matches!(one.cost, Price::Estimated(_))) {
                    (one.tokens.output, one.cost) = (0, Price::Estimated(0));
                }
                (summary.end(Some(&how(*code)), ""), uses, summary.session.clone())
            };
            assert_eq!(what(&after), what(&before), "{name} with {text}");
            assert_eq!(after.answer.is_some(), before.answer.is_some(), "{name} with {text}");
            let lines = signals(claude(), &clean, 4096).0.len();
            assert_eq!(lines, signals(claude(), leaky.as_bytes(), 4096).0.len(), "{name}");
        }
    }
}

/// The same line, with a text behind what was said, given to tools and answered.
fn telling(line: &str, text: &str) -> String {
    fn tell(value: &mut Value, text: &str) {
        match value {
            Value::String(string) => string.push_str(text),
            Value::Array(values) => values.iter_mut().for_each(|value| tell(value, text)),
            Value::Object(keys) => keys.values_mut().for_each(|value| tell(value, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut value: Value = serde_json::from_str(line).unwrap();
    // The words of an error are part of how it ends.
    let is_error = value["is_error"] == true || value.get("error").is_some();
    for place in ["/structured_output", "/tool_use_result", "/result"] {
        if let Some(value) = value.pointer_mut(place).filter(|_| !is_error) {
            tell(value, text);
        }
    }
    if let Some(parts) = value.pointer_mut("/message/content").and_then(Value::as_array_mut) {
        for part in parts.iter_mut().filter(|_| !is_error) {
            for name in ["text", "input", "content"] {
                if let Some(value) = part.get_mut(name) {
                    tell(value, text);
                }
            }
        }
    }
    value.to_string()
}

#[test]
fn a_new_stream_behind_a_finished_one_must_end_well_itself() {
    let (first, second) = (recorded("trivial"), recorded("kill-mid-tool-killed"));
    let glued = [first.clone(), second].concat();
    let summary = read_transcript(claude(), glued.as_slice(), &Earlier::default());
    assert_ne!(summary.end(Some(&ExitReason::Exited { code: 0 }), ""), AgentEnd::Done);
    let [used] = &summary.uses()[..] else { panic!("one model") };
    assert!(matches!(used.cost, Price::Estimated(_)), "the first is known, the second is not");
    // One that came no further than its first line has nothing to say of its end.
    let begun = recorded("no-key").split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec();
    let glued = [first.clone(), begun].concat();
    let summary = read_transcript(claude(), glued.as_slice(), &Earlier::default());
    assert_ne!(summary.end(Some(&ExitReason::Exited { code: 0 }), ""), AgentEnd::Done);
    let twice = [first.clone(), first].concat();
    let summary = read_transcript(claude(), twice.as_slice(), &Earlier::default());
    assert_eq!(summary.end(Some(&ExitReason::Exited { code: 0 }), ""), AgentEnd::Done);
    assert_eq!(summary.uses()[0].cost, Price::Reported(2 * 4185));
}

#[test]
fn a_result_of_the_largest_size_is_understood() {
    let stream = String::from_utf8(recorded("schema-defs")).unwrap();
    let large = "\\n".repeat(1024 * 1024 / 2);
    let last = stream.lines().last().unwrap();
    let Value::Object(mut keys) = serde_json::from_str(last).unwrap() else { panic!("{last}") };
    let answer: Value = serde_json::from_str(&format!("{{\"a\":\"{large}\"}}")).unwrap();
    keys.insert("result".to_owned(), Value::String(answer.to_string()));
    keys.insert("structured_output".to_owned(), answer.clone());
    let line = format!("{}\n", Value::Object(keys));
    let summary = read_transcript(claude(), line.as_bytes(), &Earlier::default());
    assert_eq!((summary.answer, summary.skipped), (Some(answer), 0));
}

#[test]
fn money_is_what_the_last_line_says_and_an_estimate_without_one() {
    let turn = TokenCounts { input: 1000, output: 50, cache_read: 200, cache_write: 100 };
    let one = |tokens, cost| Use {
        provider: "anthropic".to_owned(),
        model: "claude-sonnet-4-5".to_owned(),
        tokens,
        cost,
    };
    assert_eq!(summary("trivial").uses(), [one(turn, Price::Reported(4185))]);
    // Cumulative totals of a resumed session are not counted again.
    assert_eq!(summary("session-resumed").uses(), [one(turn, Price::Reported(4185))]);
    assert_eq!(summary("kill-mid-tool-resumed-twice").uses(), [one(turn, Price::Reported(4185))]);
    // Three turns, although the plain `usage` of that line tells of two.
    let three = turn.plus(turn).plus(turn);
    assert_eq!(summary("budget-fresh").uses(), [one(three, Price::Reported(3 * 4185))]);
    // Killed: two messages of two lines each, and output as long as what was said.
    let [used] = &summary("kill-mid-tool-killed").uses()[..] else { panic!("one model") };
    assert_eq!(
        (used.tokens.input, used.tokens.cache_read, used.tokens.cache_write),
        (2000, 400, 200)
    );
    assert!((20..60).contains(&used.tokens.output), "{used:?}");
    let Price::Estimated(micros) = used.cost else { panic!("{used:?}") };
    assert!((6_800..8_370).contains(&micros), "{micros}");
    // No model was paid for these, and that is known.
    for name in ["429-plain", "no-key", "resume-unknown", "connection-refused"] {
        assert_eq!(summary(name).uses(), [], "{name}");
    }
}

#[test]
fn an_older_claude_without_a_delta_has_its_totals_taken_apart() {
    let stream = String::from_utf8(recorded("kill-mid-tool-resumed-twice")).unwrap();
    let old = stream.replace("model_usage_since_last_result", "something_else");
    let all = read_transcript(claude(), old.as_bytes(), &Earlier::default()).uses();
    assert_eq!(all[0].cost, Price::Reported(8370));
    let earlier = Earlier { uses: summary("kill-mid-tool-resumed").uses(), ..Earlier::default() };
    let since = read_transcript(claude(), old.as_bytes(), &earlier).uses();
    assert_eq!(since, summary("kill-mid-tool-resumed-twice").uses());
}

#[test]
fn the_price_of_a_model_that_the_program_does_not_know_is_not_believed() {
    let stream = String::from_utf8(recorded("trivial")).unwrap();
    let unknown = stream.replace("\"costBasis\":\"list\"", "\"costBasis\":\"unknown\"");
    let unknown = unknown.replace("claude-sonnet-4-5", "house-model");
    let uses = read_transcript(claude(), unknown.as_bytes(), &Earlier::default()).uses();
    assert_eq!((uses[0].tokens.input, uses[0].cost), (1000, Price::Missing));
}

#[test]
fn a_program_that_was_killed_before_its_first_answer_has_an_unknown_price() {
    let stream = String::from_utf8(recorded("trivial")).unwrap();
    let first = stream.lines().next().unwrap();
    let uses = read_transcript(claude(), first.as_bytes(), &Earlier::default()).uses();
    assert_eq!((uses[0].model.as_str(), uses[0].cost), ("claude-sonnet-4-5", Price::Missing));
}

#[test]
fn what_an_agent_says_does_and_asks_is_told() {
    let (all, summary) = signals(claude(), &recorded("write-bash"), 4096);
    let Signal::Began { session, model, version } = &all[0] else { panic!("{:?}", all[0]) };
    assert_eq!(
        (model.as_deref(), version.as_deref()),
        (Some("claude-sonnet-4-5"), Some("2.1.325"))
    );
    assert_eq!(session, &summary.session);
    let tools = all.iter().filter_map(|signal| match signal {
        Signal::UsedTool { name, about } => Some((name.as_str(), about.as_str())),
        _ => None,
    });
    let tools: Vec<_> = tools.collect();
    assert!(
        tools.iter().any(|(name, about)| *name == "Write" && about.contains(".txt")),
        "{tools:?}"
    );
    assert!(tools.iter().any(|(name, about)| *name == "Bash" && !about.is_empty()), "{tools:?}");
    assert!(summary.said_last.is_some());
    let denied = self::summary("perm-bash-only").denied;
    assert!(denied.iter().any(|what| what.starts_with("Write: ")), "{denied:?}");
}

#[test]
fn an_answer_of_the_native_schema_is_validated_as_a_file_is() {
    let call = "build.T2/implement#3";
    let parsed = |name: &str, call: &str| {
        let answer = summary(name).answer.unwrap();
        parse_result(&serde_json::to_vec(&answer).unwrap(), call, &[ResultKey::Verdict])
    };
    for name in ["review", "review-resumed"] {
        assert_eq!(parsed(name, call).unwrap().summary, "did");
        assert!(parsed(name, "build.T2/implement#4").is_err(), "it is of another attempt");
    }
    assert!(parsed("schema-defs", call).is_err(), "it has another form");
    assert_eq!(summary("schema-never-answered").answer, None);
    assert_eq!(summary("trivial").answer, None);
}

#[test]
fn a_limit_that_stands_explains_a_silence_and_one_that_passed_does_not() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":39000,"error_status":429,"error":"rate_limit"}"#;
    let said = r#"{"type":"assistant","message":{"id":"m","model":"claude-sonnet-4-5","content":[{"type":"text","text":"on"}]}}"#;
    let end = |stream: &str, how: ExitReason| {
        read_transcript(claude(), stream.as_bytes(), &Earlier::default()).end(Some(&how), "")
    };
    let AgentEnd::Limited(limit) = end(retry, ExitReason::Silent) else { panic!("a limit") };
    assert_eq!((limit.class, limit.delay_ms), (ErrorClass::RateLimit, Some(39_000)));
    assert!(matches!(end(retry, ExitReason::TimedOut), AgentEnd::Limited(_)));
    assert!(matches!(end(retry, ExitReason::Signalled { signal: 9 }), AgentEnd::Limited(_)));
    let on = format!("{retry}\n{said}");
    assert_eq!(end(&on, ExitReason::Silent), AgentEnd::Stopped(Watchdog::Silence));
    assert_eq!(end(&on, ExitReason::TimedOut), AgentEnd::Stopped(Watchdog::Wall));
    assert_eq!(end(retry, ExitReason::TooMuchOutput), AgentEnd::Stopped(Watchdog::Output));
    // Whoever says that all is well, and has no answer, was cut off; whoever went on or has an answer was not.
    let well = r#"{"type":"result","subtype":"success","is_error":false,"result":""}"#;
    let answered = well.replace("\"result\":\"\"", "\"structured_output\":{\"forge\":1}");
    let ended = |stream: &[&str]| end(&stream.join("\n"), ExitReason::Exited { code: 0 });
    assert!(matches!(ended(&[retry, well]), AgentEnd::Limited(_)), "{:?}", ended(&[retry, well]));
    assert_eq!(ended(&[retry, said, well]), AgentEnd::Done);
    assert_eq!(ended(&[retry, &answered]), AgentEnd::Done);
    assert_eq!(ended(&[well]), AgentEnd::Done);
}

#[test]
fn texts_are_understood_where_no_field_tells() {
    let end = |text: &str| {
        let line = serde_json::json!({ "type": "result", "is_error": true, "subtype": "success", "result": text });
        let summary = read_transcript(claude(), line.to_string().as_bytes(), &Earlier::default());
        words(&summary.end(Some(&ExitReason::Exited { code: 1 }), ""))
    };
    assert!(
        end("Claude AI usage limit reached|1700000000")
            .starts_with("limited UsageWindow, until 1700000000000:")
    );
    assert!(end("Claude AI usage limit reached|99").starts_with("limited UsageWindow: "));
    assert!(end("You've hit your weekly limit · resets 3pm").starts_with("limited UsageWindow: "));
    assert!(end("Not logged in · Please run /login").starts_with("failed Auth: "));
    assert!(end("API Error: Connection refused.").starts_with("limited Network: "));
    assert!(end("API Error: Request timed out.").starts_with("limited Network: "));
    assert!(end("prompt is too long: 210000 tokens > 200000").starts_with("overflowed: "));
    assert!(end("a new kind of trouble").starts_with("failed Unknown: a new kind"));
    assert_eq!(end(""), "failed Unknown: it ended with success");
}

/// One turn of each kind.
fn turn<'a>(command: &'a [String], id: &'a str, access: CodeAccess) -> TurnRequest<'a> {
    TurnRequest {
        command,
        model: Some("claude-sonnet-4-5"),
        effort: None,
        thinking: None,
        session: Session::New(id),
        access,
        dir: Path::new("/a/checkout"),
        inbox: Path::new("/a/0001/inbox"),
        outbox: Path::new("/a/0001/outbox"),
        tmp: Some(Path::new("/tmp/f")),
        schema: None,
        cap_micros: Some(1_500_000),
    }
}

/// The command line of the agent itself: where we stand between, it comes after what is for us.
fn own_words(kind: AgentKind, argv: &[String]) -> &[String] {
    match kind.spoken_to_by() {
        Some(_) => argv.split(|word| word == "--").next_back().unwrap(),
        None => argv,
    }
}

#[test]
fn every_agent_obeys_the_contract() {
    let command = ["my-agent".to_owned(), "--flag".to_owned()];
    for kind in registry::ALL {
        for hand in [CodeAccess::Writes, CodeAccess::Reads] {
            let start = kind.start(&turn(&command, "id", hand));
            // Where we stand between, it comes after what is for us.
            assert!(
                own_words(kind, &start.argv).starts_with(&command),
                "the command is the user's"
            );
            for name in ["PATH", "HOME", "LC_ALL", "RUSTUP_HOME", "JAVA_HOME", "VIRTUAL_ENV"] {
                assert!(start.passes_on(name, |_| false), "{kind:?} does not get {name}");
            }
            for name in ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "FORGE_X", "LD_PRELOAD"] {
                assert!(!start.passes_on(name, |_| false), "{kind:?} gets {name}");
            }
            // The keys of a vendor are for its own program.
            for (name, owner) in [
                ("OPENAI_API_KEY", "codex"),
                ("ANTHROPIC_API_KEY", "claude"),
                ("GEMINI_API_KEY", "gemini"),
            ] {
                let passed = start.passes_on(name, |_| false);
                assert_eq!(passed, kind.name() == owner, "{kind:?} and {name}");
            }
            let secret = |name: &str| start.env.iter().any(|(set, _)| set == name);
            assert!(secret("TMPDIR") && !secret("ANTHROPIC_API_KEY"));
        }
        let nothing = read_transcript(kind, &b""[..], &Earlier::default());
        let end = |how: ExitReason| nothing.end(Some(&how), "");
        assert_eq!(end(ExitReason::Exited { code: 0 }) == AgentEnd::Done, !kind.reports_end());
        assert!(matches!(end(ExitReason::Exited { code: 3 }), AgentEnd::Failed { .. }));
        assert!(matches!(end(ExitReason::Signalled { signal: 11 }), AgentEnd::Failed { .. }));
        assert_eq!(end(ExitReason::Silent), AgentEnd::Stopped(Watchdog::Silence));
        assert_eq!(end(ExitReason::Interrupted), AgentEnd::Interrupted);
        assert!(matches!(
            end(ExitReason::NotStarted { why: "x".to_owned() }),
            AgentEnd::NotStarted { .. }
        ));
        assert_eq!(nothing.end(None, ""), AgentEnd::Lost);
        assert!(
            nothing.uses().iter().all(|one| one.cost == Price::Missing),
            "never free by silence"
        );
        let noise: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let (_, summary) = signals(kind, &noise, 999);
        assert_eq!((summary.said_last, summary.answer, summary.limit), (None, None, None));
        if let Some(default) = kind.default_command() {
            assert!(kind.version_args().is_some());
            let start = kind.start(&turn(&[], "id", CodeAccess::Reads));
            let words = own_words(kind, &start.argv);
            assert_eq!(words[0], default, "settings that name no command mean its own");
        }
    }
}

#[test]
fn claude_is_started_with_a_session_of_ours_and_nothing_of_the_tree() {
    let id = session_id(&["run", "a#1"]);
    let started = |change: &dyn Fn(&mut TurnRequest<'_>)| {
        let mut turn = turn(&[], &id, CodeAccess::Writes);
        change(&mut turn);
        claude().start(&turn)
    };
    let plain = started(&|_| {});
    let line = plain.argv.join(" ");
    for part in [
        "claude -p --output-format stream-json --verbose",
        &format!("--session-id {id}"),
        "--model claude-sonnet-4-5",
        "--setting-sources user --strict-mcp-config",
        "--permission-mode acceptEdits --allowedTools Bash Glob Grep Read Task --add-dir /a/0001/inbox",
        "--add-dir /a/0001/outbox",
        "--max-budget-usd 1.500000",
    ] {
        assert!(line.contains(part), "{part}\n{line}");
    }
    assert!(!line.contains("--json-schema") && !line.contains("--resume"));
    assert_eq!(plain.stderr, Stderr::Apart);
    assert!(plain.env.contains(&("TMPDIR".to_owned(), "/tmp/f".to_owned())));
    for name in
        ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"]
    {
        assert!(plain.passes_on(name, |_| false), "{name}");
    }
    assert!(
        !plain.passes_on("AWS_SECRET_ACCESS_KEY", |_| false),
        "only who uses that cloud has it"
    );
    assert!(plain.passes_on("AWS_SECRET_ACCESS_KEY", |name| name == "CLAUDE_CODE_USE_BEDROCK"));
    let resumed = started(&|turn| turn.session = Session::Resume("old"));
    assert!(resumed.argv.join(" ").contains("--resume old") && !resumed.argv.contains(&id));
    let reader = started(&|turn| {
        (turn.access, turn.outbox) = (CodeAccess::Reads, Path::new("/a (b)/outbox"));
    });
    let line = reader.argv.join(" ");
    assert!(line.contains("--permission-mode dontAsk"), "{line}");
    assert!(reader.argv.contains(&"Edit(//a ?b?/outbox/**)".to_owned()), "{line}");
    assert!(!line.contains("--effort"));
    let harder = started(&|turn| {
        (turn.effort, turn.thinking) = (Some(Effort::Xhigh), Some(Thinking::Disabled));
    });
    assert!(harder.argv.join(" ").contains("--model claude-sonnet-4-5 --effort xhigh "));
    let unthinking = ("MAX_THINKING_TOKENS".to_owned(), "0".to_owned());
    assert!(harder.env.contains(&unthinking) && !plain.env.contains(&unthinking));
    let schema = serde_json::json!({ "type": "object" });
    let asked = claude()
        .start(&TurnRequest { schema: Some(&schema), ..turn(&[], &id, CodeAccess::Writes) });
    assert!(asked.argv.contains(&schema.to_string()));
}

#[test]
fn what_is_said_of_windows_is_kept_whether_all_are_told_or_the_one_that_is_warned_of() {
    let windows = |stream: &str| -> Vec<(String, u32, Option<u64>)> {
        let summary = read_transcript(claude(), stream.as_bytes(), &Earlier::default());
        let windows = summary.windows.into_iter();
        windows.map(|one| (one.name, one.used_percent, one.resets_at_ms)).collect()
    };
    let recorded = String::from_utf8(recorded("oauth-allowed-warning")).unwrap();
    let (five, seven) = ("five_hour".to_owned(), "seven_day".to_owned());
    let all = [(five.clone(), 100, Some(1_794_736_124_000)), (seven, 40, Some(1_794_822_524_000))];
    assert_eq!(windows(&recorded), all);
    let warned = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":4000000000,"rateLimitType":"five_hour","utilization":0.93,"isUsingOverage":false}}"#;
    assert_eq!(windows(warned), [(five, 93, Some(4_000_000_000_000))]);
    let nothing = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","isUsingOverage":false}}"#;
    assert_eq!(windows(&format!("{warned}\n{nothing}\n")).len(), 1, "what was said stays");
    assert_eq!(windows(nothing), []);
    for odd in ["1e300", "-1", "null", "\"x\""] {
        let line = warned.replace("0.93", odd);
        assert!(windows(&line).iter().all(|(_, used, _)| *used <= 100), "{odd}");
    }
}
