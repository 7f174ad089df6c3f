//! What every program is put through: a stage of work, each kind of error, being killed, stopped and left behind, a
//! repair, a reviewer, and `forge agents check`.
//!
//! Each story is run with each program of the list at the end; those that are not the smoke only in full size.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process_group};
use scripted_model::{AnswerEnding, Script, ScriptStep, ToolCall};
use serde_json::{Value, json};

use crate::{
    players::{CODEX, GEMINI, OPENCODE},
    processes::{kept, signal},
    stage::{API_KEY, Player, Stage, answer, note},
    world::{DONE, FORGE, INTERRUPTED, Running, WAITS, finish, has, until},
};

/// What the tool does before it waits.
const WAITS_IN_THE_TOOL: &str =
    "echo first > part.txt; mkfifo $HOME/gate; touch $HOME/began; read word < $HOME/gate";

/// The last answers of a worker: it leaves its result, and says so.
fn done() -> [ScriptStep; 2] {
    [answer(json!({"summary": "wrote a note"})), ScriptStep::say("Done.")]
}

fn script(first: impl IntoIterator<Item = ScriptStep>) -> Script {
    Script::new(first.into_iter().chain(done())).fail_after_last()
}

/// The worker does what it should.
fn good() -> Script {
    script([note()])
}

fn receipts_sessions(ended: &[Value]) -> Vec<&str> {
    ended.iter().map(|one| one["receipt"]["session"].as_str().unwrap_or_default()).collect()
}

/// Everything that the program keeps in the home of the person, but for what it makes of itself there.
fn settings_of_the_person(stage: &Stage) -> Vec<(&'static str, Vec<u8>)> {
    let files = [".codex/config.toml", ".config/opencode/opencode.json", ".gemini/settings.json"];
    files
        .into_iter()
        .filter_map(|name| Some((name, fs::read(stage.world.beside(name)).ok()?)))
        .collect()
}

fn works(player: &'static Player) {
    let Some(stage) = Stage::of_player(good(), player) else { return };
    // Nothing of the tree is read: agents write it.
    stage.world.write("AGENTS.md", "Words of the tree.\n");
    stage.world.write(".codex/config.toml", "model = \"gpt-of-the-tree\"\n");
    stage.world.write("opencode.json", "{\"model\": \"scripted/of-the-tree\"}\n");
    stage.world.write("GEMINI.md", "Words of the tree.\n");
    stage.world.write(".gemini/settings.json", "{\"model\": {\"name\": \"of-the-tree\"}}\n");
    stage.world.git(&["add", "."]);
    stage.world.git(&["commit", "--quiet", "-m", "more"]);
    let mut command = stage.command_at(stage.key.url(), &["run", "--flow", "solo", "do it"]);
    let before = settings_of_the_person(&stage);
    let said = finish(&mut command);
    assert_eq!(said.code, DONE, "{said}");
    let run = stage.world.latest();
    let head = stage.world.view(&run)["head"].as_str().unwrap().to_owned();
    has(&stage.world.git(&["ls-tree", "--name-only", &head]), &["made.txt"]);
    let receipt = &stage.ended(&run)[0]["receipt"];
    assert!(receipt["session"].is_string(), "{receipt:#}");
    assert_eq!(receipt["used"]["asked_for"], player.model, "{receipt:#}");
    let cost = &receipt["spent"]["cost"];
    assert!(cost["estimated"].as_u64().or(cost["known"].as_u64()) > Some(0), "{receipt:#}");
    assert_eq!(receipt["spent"]["tokens"]["output"], 150, "{receipt:#}");
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert_eq!(settings_of_the_person(&stage), before, "the person's settings are as they were");
    assert!(stage.server.strays().is_empty(), "{:?}", stage.server.strays());
    let requests = stage.key.finish();
    for request in requests.iter().filter(|request| !request.tools.is_empty()) {
        assert!(player.model.ends_with(&request.model), "{}", request.model);
        let talk = format!("{}{}", request.system, request.messages);
        has(&talk, &["You are the worker."]);
        // The brief has them, once.
        assert_eq!(talk.matches("Words of the tree.").count(), 1, "{talk}");
    }
}

fn meets_errors(player: &'static Player, errors: &[(ScriptStep, &str, &str)]) {
    for (step, class, words) in errors {
        let Some(stage) = Stage::of_player(Script::new([step.clone()]), player) else { return };
        let args = ["run", "--flow", "solo", "do it"];
        let mut running = Running::of(&mut stage.command_at(stage.key.url(), &args));
        running.until_says("work started");
        running.until_says("work ");
        let run = stage.world.latest();
        let outcome = stage.ended(&run)[0]["outcome"].clone();
        let is_limited = outcome.get("limited").is_some();
        let met = outcome["blocked"]["class"].as_str().unwrap_or(if is_limited {
            "limited"
        } else {
            "?"
        });
        assert_eq!(met, *class, "{words}: {outcome:#}");
        has(&outcome.to_string(), &[words]);
        if is_limited {
            stage.world.ok(&["stop", &run]);
            assert_eq!(running.end().code, INTERRUPTED);
        } else {
            assert_eq!(running.end().code, WAITS);
        }
        assert_eq!(stage.left_over(), [], "nobody is left");
        stage.key.finish();
    }
}

/// A run whose agent is in the middle of its tool.
fn in_the_tool(stage: &Stage) -> (Running, String) {
    let (running, run) = stage.start(&[]);
    until("the tool to begin", || stage.world.beside("began").exists().then_some(()));
    (running, run)
}

fn waiting(player: &'static Player) -> Option<Stage> {
    let begins = ScriptStep::call(ToolCall::bash(WAITS_IN_THE_TOOL)).saying("I begin.");
    let goes_on = ScriptStep::call(ToolCall::bash("cat part.txt && echo second > rest.txt"));
    Stage::of_player(script([begins, goes_on, note()]), player)
}

/// The second attempt went on where the first one was stopped.
fn went_on(stage: Stage, run: &str, player: &Player) {
    let ended = stage.ended(run);
    assert_eq!(ended.len(), 2, "{ended:#?}");
    assert_eq!(ended[1]["outcome"], "done", "{ended:#?}");
    let [first, second] = receipts_sessions(&ended)[..] else { unreachable!("there are two") };
    assert_eq!((first, first.is_empty()), (second, false), "it goes on in the same session");
    let head = stage.world.view(run)["head"].as_str().unwrap().to_owned();
    assert_eq!(stage.world.git(&["show", &format!("{head}:part.txt")]), "first");
    assert_eq!(stage.world.git(&["show", &format!("{head}:rest.txt")]), "second");
    assert_eq!(ended[0]["receipt"]["spent"]["cost"].get("known"), None, "nobody told its price");
    assert_eq!(stage.left_over(), [], "nobody is left");
    let requests = stage.key.finish();
    let history = requests.last().unwrap().messages.to_string();
    has(&history, &["You began this work in this session"]);
    has(&history, player.remembers);
}

fn goes_on_after_a_kill(player: &'static Player) {
    let Some(stage) = waiting(player) else { return };
    let (running, run) = in_the_tool(&stage);
    let kept = kept(&stage.world.repo);
    assert_eq!(kept.len(), 1, "{kept:?}");
    running.signal(Signal::KILL);
    for one in &kept {
        signal(one.keeper, Signal::KILL);
        one.agents.iter().for_each(|pid| {
            signal(*pid, Signal::KILL);
        });
    }
    running.end();
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(stage.ended(&run)[0]["outcome"], "lost");
    went_on(stage, &run, player);
}

fn goes_on_after_ctrl_c(player: &'static Player) {
    let Some(stage) = waiting(player) else { return };
    let (running, run) = in_the_tool(&stage);
    let group = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process_group(group, Signal::INT).unwrap();
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert_eq!(stage.ended(&run)[0]["outcome"], "interrupted");
    let said = stage.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    went_on(stage, &run, player);
}

fn leaves_nobody(player: &'static Player) {
    let leave = "nohup setsid sleep 1000 > /dev/null 2>&1 & echo $! > $HOME/left; \
        (nohup sleep 1000 > /dev/null 2>&1 &); cat $HOME/left";
    let script = script([ScriptStep::call(ToolCall::bash(leave)), note()]);
    let Some(stage) = Stage::of_player(script, player) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, DONE, "{said}");
    let left = fs::read_to_string(stage.world.beside("left")).unwrap();
    assert!(!Path::new("/proc").join(left.trim()).exists(), "{left} is still there");
    assert_eq!(stage.left_over(), [], "nobody is left");
    stage.key.finish();
}

/// The calls of the system by which a process can reach another machine, and what is recorded of each.
const RECORDED: &str = "trace=connect,sendto,sendmsg,sendmmsg,io_uring_setup";

fn reaches_for_nobody(player: &'static Player) {
    let Some(stage) = Stage::of_player(good(), player) else { return };
    drop(stage.world.command(&["run", "--flow", "solo"]));
    let record = stage.world.beside("record");
    let mut command = std::process::Command::new("strace");
    stage.world.surround(&mut command);
    stage.equip(&mut command, stage.key.url());
    command.args(["-f", "-qq", "--seccomp-bpf", "-e", RECORDED, "-o"]).arg(&record);
    command.args([FORGE, "run", "--flow", "solo", "do it"]).current_dir(&stage.world.repo);
    let said = finish(&mut command);
    assert_eq!(said.code, DONE, "{said}");
    let record = fs::read_to_string(record).unwrap();
    let to_machines: Vec<&str> = record.lines().filter(|line| line.contains("AF_INET")).collect();
    let model = format!("htons({})", stage.server.address().port());
    assert!(to_machines.iter().any(|line| line.contains(&model)), "the program is recorded");
    let here = ["inet_addr(\"127.0.0.1\")", "\"::1\"", "\"::ffff:127.0.0.1\""];
    let is_here = |line: &str| here.iter().any(|place| line.contains(place));
    let elsewhere: Vec<&&str> = to_machines.iter().filter(|line| !is_here(line)).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    assert!(stage.server.strays().is_empty(), "{:?}", stage.server.strays());
    stage.key.finish();
}

fn mends_its_result(player: &'static Player) {
    let first = done();
    let mended = [note().when_contains("cannot be used")];
    let script = script(first.into_iter().chain(mended));
    let Some(stage) = Stage::of_player(script, player) else { return };
    let (running, run) = stage.start(&[]);
    // A program may take half a minute to start: each of its two turns is waited for.
    stage.key.wait_for_requests(2);
    stage.key.wait_for_requests(3);
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    let ended = stage.ended(&run);
    assert_eq!(ended.len(), 1, "{ended:#?}");
    // Two answers of the first turn and three of the second, each counted once.
    assert_eq!(ended[0]["receipt"]["spent"]["tokens"]["output"], 5 * 50, "{ended:#?}");
    let requests = stage.key.finish();
    has(&requests.last().unwrap().messages.to_string(), &["Fix exactly that", "wrote a note"]);
}

fn reviews(player: &'static Player) {
    let worker = "You are the worker.";
    let of_worker = [ScriptStep::call(ToolCall::bash("echo work > work.txt")), note()];
    let of_worker = of_worker.into_iter().chain(done());
    let change =
        "echo changed > work.txt; echo mine > written.txt; echo PASS > \"$FORGE_OUTBOX/review.md\"";
    let pass = json!({"summary": "good", "verdict": "pass", "findings": []});
    let of_reviewer =
        [ScriptStep::call(ToolCall::bash(change)), answer(pass), ScriptStep::say("Done.")];
    let steps = of_worker.map(|step| step.when_talk_contains(worker)).chain(
        of_reviewer.into_iter().map(|step| step.when_talk_contains("You are the reviewer.")),
    );
    let Some(stage) = Stage::of_player(Script::new(steps).fail_after_last(), player) else {
        return;
    };
    let args = ["run", "--flow", "looked", "do it"];
    let mut running = Running::of(&mut stage.command_at(stage.key.url(), &args));
    running.until_says("review started");
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
    let run = stage.world.latest();
    let head = stage.world.view(&run)["head"].as_str().unwrap().to_owned();
    assert_eq!(stage.world.git(&["show", &format!("{head}:work.txt")]), "work");
    let files = stage.world.git(&["ls-tree", "--name-only", &head]);
    assert!(!files.contains("written.txt"), "{files}");
    let facts = stage.world.facts(&run);
    let looks = facts.iter().filter_map(|fact| fact.get("judged"));
    let mut looks = looks.filter(|judged| judged["judgement"].to_string().contains("/review#"));
    let look = looks.next();
    has(&look.unwrap()["receipt"]["notes"].to_string(), &["discarded", "work.txt"]);
    assert_eq!(stage.left_over(), [], "nobody is left");
    stage.key.finish();
}

/// Checks the agent, and gives what that said as JSON.
fn check(player: &'static Player, script: Script) -> Option<Value> {
    let stage = Stage::of_player(script, player)?;
    let args = ["agents", "check", player.name, "--allow", "--json"];
    let mut command = stage.command_at(stage.key.url(), &args);
    let tmp = stage.world.beside("tmp");
    fs::create_dir_all(&tmp).unwrap();
    let said = finish(command.env("TMPDIR", &tmp));
    assert_eq!(stage.left_over(), [], "nobody is left");
    stage.key.finish();
    Some(serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said}")))
}

fn answers_a_check(player: &'static Player) {
    let ready = json!({"forge": 1, "attempt": "check#1", "status": "done", "summary": "ready"});
    let steps = [ScriptStep::call(ToolCall::answer(ready)), ScriptStep::say("Done.")];
    let Some(checked) = check(player, Script::new(steps)) else { return };
    assert_eq!(checked["state"], "ready", "{checked:#}");
    assert_eq!(checked["model"], player.model, "{checked:#}");
}

fn is_told_to_log_in(player: &'static Player) {
    let script = Script::new([ScriptStep::status(401, "no such key")]);
    let Some(checked) = check(player, script) else { return };
    assert_eq!(checked["state"], "not-logged-in", "{checked:#}");
    has(&checked["next"].to_string(), &[player.name]);
}

/// The key is in nothing that Forge wrote, whatever the model makes the program print.
fn gives_no_key_away(player: &'static Player) {
    let env = "env; env > \"$FORGE_OUTBOX/env.txt\"";
    let say = format!("The key is {API_KEY}, as you see.");
    let script = script([ScriptStep::call(ToolCall::bash(env)).saying(&say), note()]);
    let Some(stage) = Stage::of_player(script, player) else { return };
    let said = stage.run(&[]);
    assert_eq!(said.code, DONE, "{said}");
    let mut folders = vec![stage.world.place()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if entry.file_type().unwrap().is_file() {
                let bytes = fs::read(&path).unwrap();
                let has_key = bytes.windows(API_KEY.len()).any(|part| part == API_KEY.as_bytes());
                // What the agent wrote into its own outbox is its own.
                let is_own = path.ends_with("env.txt");
                assert!(!has_key || is_own, "{} has the key in it", path.display());
            }
        }
    }
    stage.key.finish();
}

fn status(code: u16, message: &str) -> ScriptStep {
    ScriptStep::status(code, message)
}

/// Runs every story with a program.
macro_rules! plays {
    ($name:ident, $player:expr, $errors:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn it_works_in_a_stage_and_writes_no_setting_of_the_person() {
                works($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn it_answers_a_check() {
                answers_a_check($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn every_error_of_a_provider_is_what_it_is() {
                meets_errors($player, &$errors);
            }
            #[test]
            #[ignore = "in full size only"]
            fn killed_with_its_driver_it_goes_on_in_its_session() {
                goes_on_after_a_kill($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn stopped_by_ctrl_c_it_goes_on_in_its_session() {
                goes_on_after_ctrl_c($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn what_a_tool_left_running_ends_with_the_attempt() {
                leaves_nobody($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn nobody_reaches_for_another_machine_than_127_0_0_1() {
                reaches_for_nobody($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn a_missing_artifact_is_mended_in_one_more_turn_of_the_same_session() {
                mends_its_result($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn what_it_changes_as_a_reviewer_is_discarded() {
                reviews($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn who_is_not_logged_in_is_told_how_to() {
                is_told_to_log_in($player);
            }
            #[test]
            #[ignore = "in full size only"]
            fn a_key_that_the_model_makes_it_print_is_in_nothing_that_forge_wrote() {
                gives_no_key_away($player);
            }
        }
    };
}

plays!(
    codex,
    &CODEX,
    [
        (status(401, "no such key"), "no_access", "401"),
        (status(403, "not here"), "no_access", "403"),
        (
            status(404, "The model `gpt-5.5` does not exist or you do not have access to it."),
            "no_access",
            "does not exist"
        ),
        (status(429, "slow down"), "limited", "429"),
        (
            status(
                429,
                r#"{"error":{"type":"usage_limit_reached","message":"x","resets_in_seconds":7200}}"#
            ),
            "limited",
            "usage limit"
        ),
        (status(500, "boom"), "limited", "high demand"),
        (ScriptStep::overflow(3, 2), "context_overflow", "context window"),
        (ScriptStep::default().ending(AnswerEnding::Refusal), "model_refusal", "declines"),
        (ScriptStep::say("x").ending(AnswerEnding::Cut), "limited", "disconnected"),
        (
            ScriptStep::say("x").ending(AnswerEnding::MaxTokens),
            "context_overflow",
            "max_output_tokens"
        ),
    ]
);

plays!(
    opencode,
    &OPENCODE,
    // What it asks for again for longer than a minute is in its recorded streams alone.
    [
        (status(401, "no such key"), "no_access", "no such key"),
        (status(404, "The model does not exist"), "no_access", "does not exist"),
        (status(429, "slow down").header("retry-after", "1"), "limited", "slow down"),
        (ScriptStep::default().ending(AnswerEnding::Refusal), "model_refusal", "blocked"),
        (
            ScriptStep::say("x").ending(AnswerEnding::MaxTokens),
            "context_overflow",
            "greatest length"
        ),
    ]
);

plays!(
    gemini,
    &GEMINI,
    // What it asks for again for minutes is in its recorded streams alone.
    [
        (status(401, "no such key"), "no_access", "no such key"),
        (status(400, "API key not valid. Please pass a valid API key."), "no_access", "not valid"),
        (status(403, "not here"), "no_access", "not here"),
        (
            status(404, "models/gemini-9 is not found for API version v1beta"),
            "no_access",
            "is not found"
        ),
        (
            status(
                429,
                "You have exhausted your capacity on this model. Your quota will reset after 2h3m4s."
            ),
            "limited",
            "will reset"
        ),
        (ScriptStep::overflow(3, 2), "context_overflow", "maximum number of tokens"),
        (ScriptStep::default().ending(AnswerEnding::Refusal), "model_refusal", "declines"),
        (ScriptStep::say("x").ending(AnswerEnding::Cut), "limited", "terminated"),
    ]
);

#[test]
#[ignore = "in full size only"]
fn a_file_of_variables_in_the_tree_sets_nothing_for_gemini() {
    let tell = ScriptStep::call(ToolCall::bash("echo \"[$GOOGLE_CLOUD_PROJECT]\" > project.txt"));
    let Some(stage) = Stage::of_player(script([tell, note()]), &GEMINI) else { return };
    stage.world.write(".env", "GOOGLE_CLOUD_PROJECT=of-the-tree\n");
    stage.world.git(&["add", "--force", ".env"]);
    stage.world.git(&["commit", "--quiet", "-m", "variables"]);
    let said = stage.run(&[]);
    assert_eq!(said.code, DONE, "{said}");
    let head = stage.world.view(&stage.world.latest())["head"].as_str().unwrap().to_owned();
    assert_eq!(stage.world.git(&["show", &format!("{head}:project.txt")]), "[]");
    stage.key.finish();
}
