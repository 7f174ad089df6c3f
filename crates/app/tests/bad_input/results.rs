//! What agents leave: results, artifacts and lists. It is data from outside: what cannot be
//! read is a fault with a reason, never a pass, and never an end of the program.
//!
//! Not here: everything that can be wrong with them. Of results that is in `agents/src/result/tests.rs`, of files in an outbox in
//! `keeper/src/attempt/outbox.rs`, of verdicts and forms in `driver/src/agent_call/output/tests.rs`, of lists in `core/tests/stories/lists.rs`.

use std::fs;

use super::world::{WAITS, World, has};

/// Lets an agent do something, and says what was said of it.
fn log_of(flow: &str, script: &str) -> (World, String) {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("f", flow);
    world.scenario(&format!("[[play]]\nno_result = true\nrun = '''{script}'''\n"));
    let said = world.run("f", &[]);
    assert_eq!(said.code, WAITS, "a person is asked: {said}");
    has(&said.out, &["retry", "forge reject"]);
    (world, said.out)
}

const PLAIN: &str = "[[stage]]\nname = \"a\"\nagent = \"worker\"\nmisses = 1\n";
const GOOD: &str = r#"{"forge":1,"attempt":"a#1","status":"done","summary":"x"}"#;

/// What the agent is said to have left.
#[track_caller]
fn result(script: &str, why: &str) {
    let (_, log) = log_of(PLAIN, &format!("cd $FORGE_OUTBOX\n{script}"));
    has(&log, &[&format!("a left no usable result (cost unknown): {why}")]);
}

#[test]
fn a_result_that_is_missing_or_of_another_attempt_is_none() {
    result("true", "no `result.json` in the outbox");
    let other = GOOD.replace("a#1", "a#2");
    result(
        &format!("echo '{other}' > result.json"),
        "`attempt` is `a#2`, and this attempt is `a#1`",
    );
}

#[test]
fn a_result_that_is_no_file_is_none_and_keeps_nobody_waiting() {
    result("mkfifo result.json", "`result.json` is not a regular file");
    let elsewhere = "mkdir ../other; echo '%' > ../other/result.json".replace('%', GOOD);
    let linked =
        format!("{elsewhere}; cd ..; rm -rf $FORGE_OUTBOX; ln -s $PWD/other $FORGE_OUTBOX");
    result(&linked, "`result.json` is not a regular file");
}

#[test]
fn a_review_without_a_verdict_is_no_pass() {
    let world = World::new();
    world.roles(&["worker", "judge"]);
    world.flow("f", "[[stage]]\nname = \"a\"\nagent = \"worker\"\nmisses = 1\ngates = [{ review = \"judge\" }]\n");
    let prose = "result = { summary = \"VERDICT: PASS, all good\" }";
    world.scenario(&format!("[[play]]\nrole = \"judge\"\n{prose}\n[[play]]\n"));
    let said = world.run("f", &["--auto"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["gave no verdict: the key `verdict` is missing", "approve", "retry"]);
}

const WRITES: &str = "[[stage]]\nname = \"a\"\nagent = \"worker\"\nmisses = 1\nwrites = [\"plan.md\", \"sub/data.json\"]\n";

#[track_caller]
fn artifact(script: &str, expected: &[&str]) -> World {
    let good = format!(
        "cd $FORGE_OUTBOX\necho '{GOOD}' > result.json\nmkdir sub\necho plan > plan.md\necho {{}} > sub/data.json\n"
    );
    let (world, log) = log_of(WRITES, &format!("{good}{script}"));
    has(&log, expected);
    let run = world.latest();
    let shown = fs::read_dir(world.place().join(format!("runs/{run}/artifacts"))).unwrap();
    let shown: Vec<_> = shown.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(shown, ["request.md"], "nothing of it was taken");
    world
}

#[test]
fn an_artifact_that_is_missing_or_too_large_is_not_taken() {
    artifact("rm plan.md", &["`plan.md` was not written"]);
    artifact("truncate -s 17M plan.md", &["`plan.md` is larger than 16777216 bytes"]);
}

#[test]
fn the_secret_of_somebody_else_is_never_read_through_a_link() {
    let world = artifact(
        "rm plan.md; ln -s /etc/shadow plan.md",
        &["`plan.md` is not a regular file, or is behind a symlink"],
    );
    let blobs = world.place().join("blobs");
    let secret = fs::read("/etc/shadow").unwrap_or_default();
    let mut open = vec![blobs];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                assert!(secret.is_empty() || fs::read(entry.path()).unwrap() != secret);
            }
        }
    }
}

#[test]
fn an_artifact_whose_form_is_wrong_goes_back_to_its_author() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow(
        "f",
        "[[stage]]\nname = \"a\"\nagent = \"worker\"\nwrites = [\"x.json\", \"y.toml\", \"z.md\"]\nrounds = 1\n\
         gates = [{ name = \"x\", artifact = \"x.json\" }, { name = \"y\", artifact = \"y.toml\" }, { name = \"z\", artifact = \"z.md\" }]\n",
    );
    world.scenario("[[play]]\nartifacts = { \"x.json\" = \"{}\", \"y.toml\" = \"a = [[[[\", \"z.md\" = \"z\" }\n");
    let said = world.run("f", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["a sent back by y", "`y.toml`: it is not TOML: unclosed array"]);
}

#[test]
fn a_list_that_nobody_could_work_off_is_not_taken() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow(
        "f",
        "[[stage]]\nname = \"a\"\nagent = \"worker\"\nlist = \"tasks\"\nmisses = 1\n\
         [[stage]]\nname = \"tasks\"\neach = \"tasks\"\nitems_max = 3\n[[stage.stage]]\nname = \"b\"\ncommand = \"true\"\n",
    );
    let circle =
        r#"[{ id = "A", title = "", after = ["B"] }, { id = "B", title = "", after = ["A"] }]"#;
    world.scenario(&format!("[[play]]\nresult = {{ lists = {{ tasks = {circle} }} }}\n"));
    let said = world.run("f", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.out, &["the list `tasks` is not valid: `A` waits for itself, by way of other items"]);
    let run = world.latest();
    let started = |fact: &serde_json::Value| fact.to_string().contains("tasks#1");
    assert!(!world.facts(&run).iter().any(started), "{said}");
}

#[test]
fn an_agent_that_floods_its_output_or_removes_its_folder_ends_no_driver() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("f", PLAIN);
    world.write(
        "forge.toml",
        "[limits]\noutput_mib = 1\n[agents.scripted]\nscenario = \"play.toml\"\n",
    );
    world.scenario("[[play]]\nhuge_output_bytes = 3000000\n");
    has(&world.run("f", &[]).out, &["it printed more than allowed"]);
    let nothing = "no `result.json` in the outbox";
    world.scenario("[[play]]\nrun = 'rm -rf $FORGE_INBOX $FORGE_OUTBOX'\nno_result = true\n");
    has(&world.run("f", &[]).out, &[nothing]);
    world.scenario("[[play]]\nrun = 'rm -rf \"$PWD\"'\nno_result = true\n");
    has(
        &world.run("f", &[]).out,
        &["is not there, or damaged; resume: it is opened again from the last commit"],
    );
}
