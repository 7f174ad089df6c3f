//! The scripted agent: every switch of a scenario does what it says.

use std::fs;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use forge_agents::read_result;
use forge_agents::scripted::NOBODY_PLAYS_EXIT;
use forge_agents::{Earlier, Price, StreamSummary, TokenCounts, read_transcript, registry};
use forge_core::result::ResultKey;
use forge_keeper::{ExitReason, Spec, StepLimits, Stop};

use crate::world::{World, alive, ending, is_alive, program, until, until_transcript_has};

const CALL: &str = "build.T2/implement#3";

/// The scripted agent with one play, and the log it writes.
fn scripted(world: &World, play: &str) -> Spec {
    let scenario = world.home.path().join("scenario.toml");
    fs::write(&scenario, format!("scenario = 1\n[[play]]\n{play}\n")).unwrap();
    let (program, log) = (program(), world.home.path().join("log"));
    let argv = [&program, &scenario, &log].map(|path| path.to_str().unwrap());
    world.spec(&[argv[0], "__scripted", argv[1], argv[2]])
}

/// A stage without a keeper.
struct Theatre {
    world: World,
}

struct Played {
    output: Output,
    stdout: String,
    stderr: String,
}

impl Theatre {
    fn new() -> Self {
        let world = World::new();
        fs::create_dir(world.home.path().join("outbox")).unwrap();
        Self { world }
    }

    fn outbox(&self) -> PathBuf {
        self.world.home.path().join("outbox")
    }

    fn command(&self, scenario: &str) -> Command {
        let file = self.world.home.path().join("scenario.toml");
        fs::write(&file, scenario).unwrap();
        let mut command = Command::new(program());
        command.arg("__scripted").arg(file).arg(self.world.home.path().join("log"));
        command.current_dir(self.world.work()).stdin(Stdio::null());
        command.env("FORGE_ROLE", "writer").env("FORGE_CALL", CALL);
        command.env("FORGE_OUTBOX", self.outbox()).env("FORGE_INBOX", self.outbox());
        command
    }

    fn play(&self, play: &str) -> Played {
        self.perform(&format!("scenario = 1\n[[play]]\n{play}\n"))
    }

    fn perform(&self, scenario: &str) -> Played {
        let output = self.command(scenario).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Played { output, stdout, stderr }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.world.home.path().join(name)).unwrap()
    }
}

impl Played {
    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn summary(&self) -> StreamSummary {
        read_transcript(
            registry::SCRIPTED,
            BufReader::new(self.stdout.as_bytes()),
            &Earlier::default(),
        )
    }
}

#[test]
fn lines_are_said_with_their_delay_and_the_end_is_told() {
    let begun = Instant::now();
    let played = Theatre::new().play("say = [\"one\", \"two\"]\ndelay_ms = 60\nwait_ms = 60");
    assert_eq!(
        played.stdout,
        "{\"text\":\"one\",\"type\":\"said\"}\n{\"text\":\"two\",\"type\":\"said\"}\n{\"ok\":true,\"type\":\"ended\"}\n"
    );
    assert!(begun.elapsed() >= Duration::from_millis(180));
    assert_eq!(played.summary().said_last.as_deref(), Some("two"));
    assert!(played.summary().word.is_some());
}

#[test]
fn files_artifacts_and_progress_are_written_where_they_belong() {
    let theatre = Theatre::new();
    fs::write(theatre.world.work().join("log.txt"), "old\n").unwrap();
    let played = theatre.play(
        "files = { \"deep/notes.txt\" = \"content\" }
        append = { \"log.txt\" = \"new\\n\" }
        artifacts = { \"design.md\" = \"# Design\" }
        progress = [\"half\", \"whole\"]",
    );
    assert_eq!(played.code(), Some(0), "{}", played.stderr);
    assert_eq!(theatre.read("work/deep/notes.txt"), "content");
    assert_eq!(theatre.read("work/log.txt"), "old\nnew\n");
    assert_eq!(theatre.read("outbox/design.md"), "# Design");
    assert_eq!(theatre.read("outbox/progress"), "half\nwhole\n");
}

#[test]
fn a_command_runs_in_the_working_directory_and_must_succeed() {
    let theatre = Theatre::new();
    let played = theatre.play("run = \"echo running; touch made\"");
    assert!(played.stdout.starts_with("running\n"), "{}", played.stdout);
    assert!(theatre.world.work().join("made").exists());
    let theatre = Theatre::new();
    let played = theatre.play("run = \"exit 9\"");
    assert_eq!(played.code(), Some(1));
    assert!(played.stderr.contains("`exit 9` failed"), "{}", played.stderr);
    assert!(!theatre.outbox().join("result.json").exists());
}

#[test]
fn a_result_is_completed_and_passes_the_contract() {
    let theatre = Theatre::new();
    let played = theatre.play(
        "[play.result]
        status = \"done\"
        summary = \"looked\"
        verdict = \"revise\"
        findings = [{ severity = \"major\", path = \"a.rs\", what = \"w\", proof = { quote = \"q\" } }]
        lists = { tasks = [{ id = \"T1\", title = \"t\", tags = { size = \"S\" } }] }",
    );
    assert_eq!(played.code(), Some(0), "{}", played.stderr);
    let must = [ResultKey::Verdict, ResultKey::Findings, ResultKey::Lists];
    let result = read_result(&theatre.outbox(), CALL, &must).unwrap();
    assert_eq!((result.findings.len(), result.lists["tasks"].len()), (1, 1));
}

#[test]
fn without_a_word_on_the_result_a_plain_one_is_left() {
    let theatre = Theatre::new();
    theatre.play("");
    assert_eq!(read_result(&theatre.outbox(), CALL, &[]).unwrap().summary, "played");
}

#[test]
fn wrong_and_missing_results_can_be_played() {
    let theatre = Theatre::new();
    theatre.play("result_text = \"not json\"");
    assert_eq!(theatre.read("outbox/result.json"), "not json");
    let theatre = Theatre::new();
    let played = theatre.play("no_result = true");
    assert_eq!(played.code(), Some(0));
    assert!(!theatre.outbox().join("result.json").exists());
    let theatre = Theatre::new();
    theatre.play("result = { attempt = \"other#1\", status = \"done\", summary = \"\" }");
    let flaw = read_result(&theatre.outbox(), CALL, &[]).unwrap_err().to_string();
    assert!(flaw.contains("`other#1`"), "{flaw}");
}

#[test]
fn an_exit_code_is_played_and_told() {
    let played = Theatre::new().play("exit = 7");
    assert_eq!(played.code(), Some(7));
    assert!(played.stdout.contains("\"ok\":false"));
}

#[test]
fn a_crash_comes_after_the_files_and_before_the_result() {
    for (crash, signal) in [("kill", 9), ("abort", 6), ("segv", 11)] {
        let theatre = Theatre::new();
        let played = theatre.play(&format!("crash = \"{crash}\"\nfiles = {{ \"a\" = \"b\" }}"));
        assert_eq!(played.output.status.signal(), Some(signal), "{crash}");
        assert_eq!(theatre.read("work/a"), "b");
        assert!(!theatre.outbox().join("result.json").exists());
        let log = theatre.read("log");
        assert!(log.contains("\"start\"") && !log.contains("\"end\""), "{log}");
    }
}

#[test]
fn silence_prints_nothing_at_all() {
    let played = Theatre::new().play(
        "silence = true\nsay = [\"a\"]\nrun = \"echo b\"\nhuge_output_bytes = 10\nusage = {}",
    );
    assert_eq!((played.code(), played.stdout.as_str()), (Some(0), ""));
}

#[test]
fn hanging_streams_first_and_never_ends() {
    let world = World::new();
    let mut spec = scripted(&world, "say = [\"here\"]\nhang = true");
    spec.limits = StepLimits { wall_ms: 25_000, silence_ms: 300, output_bytes: 0 };
    let (folder, ending) = world.run(&spec);
    assert_eq!(ending.how, ExitReason::Silent);
    assert!(crate::world::transcript(&folder).contains("here"));
    assert!(!folder.outbox().join("result.json").exists());
}

#[test]
fn silent_hanging_says_nothing_and_never_ends() {
    let world = World::new();
    let mut spec = scripted(&world, "say = [\"here\"]\nhang = true\nsilence = true");
    spec.limits = StepLimits { wall_ms: 25_000, silence_ms: 300, output_bytes: 0 };
    let (_, ending) = world.run(&spec);
    assert_eq!((ending.how, ending.output_bytes), (ExitReason::Silent, 0));
}

#[test]
fn a_gentle_stop_is_ignored_only_if_the_scenario_says_so() {
    let world = World::new();
    let folder = world.folder("attempt", &scripted(&world, "say = [\"ready\"]\nhang = true"));
    let mut keeper = world.start(&folder);
    until_transcript_has(&folder, "ready");
    let asked = Instant::now();
    alive(&folder).stop(Stop::Gently).unwrap();
    assert_eq!(ending(&folder, &mut keeper).how, ExitReason::Interrupted);
    assert!(asked.elapsed() < Duration::from_secs(10), "it waited for the grace of 20 seconds");
}

#[test]
fn huge_output_has_exactly_its_size() {
    let theatre = Theatre::new();
    let played = theatre.play("huge_output_bytes = 100001\nhuge_line_bytes = 200002");
    let end = "{\"ok\":true,\"type\":\"ended\"}\n";
    assert_eq!(played.stdout.len(), 100_001 + 200_002 + end.len());
    assert_eq!(played.stdout.lines().map(str::len).max(), Some(200_001));
}

#[test]
fn every_way_of_detaching_leaves_a_process_behind() {
    for (way, swept) in [("setsid", 1), ("nohup", 1), ("double-fork", 1)] {
        let world = World::new();
        let (_, ending) =
            world.run(&scripted(&world, &format!("detach = [\"{way}\"]\nwait_ms = 200")));
        assert_eq!(ending.how, ExitReason::Exited { code: 0 });
        assert!(ending.swept >= swept, "{way}: {ending:?}");
    }
}

#[test]
fn usage_is_told_in_tokens_and_millionths() {
    let usage = "usage = { input = 1000, output = 200, cache_read = 3, cost = \"0.0125\" }";
    let [used] = &Theatre::new().play(usage).summary().uses()[..] else { panic!("one use") };
    let tokens = TokenCounts { input: 1000, output: 200, cache_read: 3, cache_write: 0 };
    assert_eq!((used.tokens, used.cost), (tokens, Price::Reported(12_500)));
    let [used] = &Theatre::new().play("usage = { input = 1 }").summary().uses()[..] else {
        panic!("one use")
    };
    assert_eq!((used.tokens.input, used.cost), (1, Price::Missing));
}

#[test]
fn a_limit_names_the_time_at_which_it_is_lifted() {
    let theatre = Theatre::new();
    let before =
        u128::from(until_ms(&theatre.play("limit = { kind = \"rate\", reset_in_ms = 0 }")));
    let played = theatre.play("limit = { kind = \"usage\", reset_in_ms = 60000 }");
    assert_eq!(played.code(), Some(1));
    assert!(u128::from(until_ms(&played)) >= before + 60_000);
    assert!(played.stdout.contains("\"kind\":\"usage\""));
    assert!(!theatre.outbox().join("result.json").exists());
}

fn until_ms(played: &Played) -> u64 {
    played.summary().limit.unwrap().until_ms.unwrap()
}

#[test]
fn starts_and_ends_are_logged_one_line_each() {
    let theatre = Theatre::new();
    theatre.play("exit = 3");
    let log = theatre.read("log");
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["what"], &lines[1]["what"]), (&"start".into(), &"end".into()));
    assert_eq!(lines[0]["call"], CALL);
    assert_eq!(lines[0]["pid"], lines[1]["pid"]);
    assert!(lines[0]["at_ms"].as_u64() <= lines[1]["at_ms"].as_u64());
}

#[test]
fn a_call_which_nobody_plays_is_an_error_of_its_own() {
    let played = Theatre::new().play("role = \"somebody else\"");
    assert_eq!(played.code(), Some(i32::from(NOBODY_PLAYS_EXIT)));
    let sentence = format!("no play has the role `writer` (call `{CALL}`)");
    assert!(played.stderr.contains(&sentence), "{}", played.stderr);
}

#[test]
fn a_mistake_in_the_scenario_names_file_line_and_key() {
    let played = Theatre::new().perform("scenario = 1\n[[play]]\nsays = [\"a\"]\n");
    assert_eq!(played.code(), Some(65));
    let sentence = "scenario.toml, line 3, column 1: unknown key `says`; did you mean `say`?";
    assert!(played.stderr.contains(sentence), "{}", played.stderr);
}

#[test]
fn a_hanging_player_outside_of_a_keeper_can_be_terminated() {
    let theatre = Theatre::new();
    let mut child = theatre.command("scenario = 1\n[[play]]\nhang = true\n").spawn().unwrap();
    until("it has started", || theatre.world.home.path().join("log").exists().then_some(()));
    assert!(is_alive(child.id().cast_signed()));
    let pid = child.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}
