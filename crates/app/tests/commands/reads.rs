//! What can be looked at, by people and by programs.

use std::{collections::BTreeMap, fs, os::fd::OwnedFd, path::Path, process::Stdio};

use forge_core::view::{RunRow, RunView};
use serde_json::{Value, json};

use crate::{
    goes::UNTIL_GO,
    unnamed::short,
    world::{CONTENT, DONE, INTERRUPTED, WAITS, World, finish, has},
};

fn waiting() -> (World, String) {
    let world = World::new();
    world.scenario(CONTENT);
    assert_eq!(world.run("draft", &[]).code, WAITS);
    let run = world.latest();
    (world, run)
}

#[track_caller]
pub(crate) fn fits(schema: schemars::Schema, value: &Value) {
    let schema = serde_json::to_value(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> =
        validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?} in {value:#}");
}

#[test]
fn what_is_printed_as_json_fits_its_published_schema() {
    let (world, run) = waiting();
    let rows: Value = serde_json::from_str(&world.ok(&["status", "--json"])).unwrap();
    fits(schemars::schema_for!(Vec<RunRow>), &rows);
    let view = world.view(&run);
    fits(schemars::schema_for!(RunView), &view);
    let state = fs::read(world.place().join(format!("runs/{run}/state.json"))).unwrap();
    let state: Value = serde_json::from_slice(&state).unwrap();
    fits(schemars::schema_for!(forge_api::projection::StateFile), &state);
    let findings: Value = serde_json::from_str(&world.ok(&["doctor", "--json"])).unwrap();
    fits(schemars::schema_for!(Vec<forge_api::doctor::HealthFinding>), &findings);
    for line in world.ok(&["log", &run, "--json"]).lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let facts =
            serde_json::from_value::<Vec<forge_core::event::Event>>(record["facts"].clone());
        assert_eq!(serde_json::to_value(facts.unwrap()).unwrap(), record["facts"]);
    }
    let flows: Value = serde_json::from_str(&world.ok(&["flow", "list", "--json"])).unwrap();
    assert_eq!((&flows[0]["name"], &flows[1]["name"]), (&json!("bug"), &json!("change")));
    let checked: Value = serde_json::from_str(&world.ok(&["flow", "check", "--json"])).unwrap();
    assert_eq!(checked[0]["calls_max"], flows[0]["calls_max"]);
}

#[test]
fn a_run_as_json_is_one_object_for_each_record_and_one_for_the_end() {
    let world = World::new();
    world.scenario(CONTENT);
    let said = world.run("draft", &["--json"]);
    assert_eq!(said.code, WAITS, "{said}");
    assert_eq!(said.err, "", "a program that reads errors finds none");
    let lines: Vec<Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, records) = lines.split_last().unwrap();
    assert_eq!(end["standing"], "waiting");
    assert_eq!(end["asked"][0]["question"], "Q1");
    let run = end["run"].as_str().unwrap();
    assert_eq!(records.len(), world.records(run));
    assert!(records.iter().all(|record| record["facts"].is_array() && record["at"].is_u64()));
    let resumed = world.forge(&["resume", run, "--json"]);
    assert_eq!((resumed.code, resumed.out.lines().count()), (WAITS, 1), "{resumed}");
}

#[test]
fn a_run_is_named_by_any_beginning_that_is_its_own() {
    let world = World::new();
    world.flow("good", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    for request in ["queue", "quiet", "other"] {
        assert_eq!(world.forge(&["run", "--flow", "good", request]).code, DONE);
    }
    let ids = world.ids();
    let find = |word: &str| ids.iter().find(|id| id.contains(word)).unwrap();
    let cut = |word: &str, n: usize| find(word)[..9 + n].to_owned();
    for prefix in [cut("queue", 3), cut("queue", 5), find("queue").clone()] {
        has(&world.ok(&["status", &prefix]), &[short(find("queue"))]);
        has(&world.ok(&["log", &prefix]), &["the run is done"]);
    }
    let said = world.refused(&["status", &cut("queue", 2)]);
    let named = |word: &str| format!("{} ({word})", short(find(word)));
    has(
        &said,
        &["several runs begin with", &named("queue"), &named("quiet"), "help: forge status"],
    );
    assert!(!said.contains("other"), "{said}");
    let (most, last) = find("other").split_at(find("other").len() - 1);
    let near = format!("{most}{}", if last == "x" { "y" } else { "x" });
    has(&world.refused(&["status", &near]), &["no run `", short(find("other"))]);
    for (command, wrong) in [
        ("status", "nothing-like-it"),
        ("log", "nope"),
        ("resume", "nope"),
        ("pause", "nope"),
        ("stop", "nope"),
        ("abandon", "nope"),
    ] {
        has(&world.refused(&[command, wrong]), &["no run `", wrong, "help: forge status"]);
    }
}

#[test]
fn without_runs_everything_says_how_to_start_one_and_makes_nothing() {
    let world = World::new();
    has(&world.ok(&["status"]), &["No runs yet", "forge \"what you want\""]);
    assert_eq!(world.ok(&["status", "--json"]).trim(), "[]");
    has(&world.ok(&["doctor"]), &["no runs yet"]);
    for args in [
        vec!["log"],
        vec!["resume"],
        vec!["pause"],
        vec!["stop"],
        vec!["status", "x"],
        vec!["abandon", "x"],
        vec!["answer", "x", "Q1", "approve"],
    ] {
        let said = world.refused(&args);
        has(&said, &["error: no runs yet", "help: forge run"]);
    }
    assert!(world.is_untouched(), "looking makes nothing");
}

#[test]
fn a_log_that_is_followed_shows_what_comes_and_ends_with_the_run() {
    let world = World::new();
    world.flow("slow", &format!("[[stage]]\nname = \"a\"\ncommand = \"{UNTIL_GO}\"\n"));
    let mut running = world.start(&["run", "--flow", "slow", "do it"]);
    running.until_says("a started");
    let run = world.latest();
    let mut follower = world.start(&["log", &run, "--follow", "-v"]);
    let mut follower_json = world.start(&["log", &run, "-f", "--json"]);
    follower.until_says("a started");
    follower_json.until_says("attempt_started");
    assert!(!follower.has_ended());
    world.go();
    assert_eq!(running.end().code, DONE);
    let said = follower.end();
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(said.out, world.ok(&["log", &run, "-v"]), "it missed and repeated nothing");
    assert_eq!(follower_json.end().out, world.ok(&["log", &run, "--json"]));
}

#[test]
fn an_abandoned_run_ends_a_log_that_is_followed() {
    let (world, run) = waiting();
    let mut follower = world.start(&["log", "--follow"]);
    follower.until_says("Q1 asks");
    world.ok(&["abandon", "--yes", &run]);
    let said = follower.end();
    assert_eq!(said.code, DONE);
    has(&said.out, &["the run was abandoned"]);
}

fn long_words() -> (World, String) {
    let world = World::new();
    let long = "a very long sentence about very many things that goes on and on ".repeat(6);
    let long = long.trim();
    world.roles(&["planner", "worker"]);
    world.flow(
        "long",
        &format!(
            r#"
[[stage]]
name = "a-stage-with-a-rather-long-name-of-forty"
agent = "planner"
list = "tasks"
[[stage]]
name = "tasks"
each = "tasks"
  [[stage.stage]]
  name = "a-stage-inside-it-with-a-long-name-of-40"
  agent = "worker"
[[stage]]
name = "ask"
gates = [{{ human = "{long}?" }}]
"#
        ),
    );
    world.scenario(&format!(
        "[[play]]\nrole = \"planner\"\nusage = {{ cost = \"1234.567891\" }}\nresult = {{ summary = \"{long}\", lists = {{ tasks = [{{ id = \"an-item-with-a-rather-long-id-of-forty-c\", title = \"{long}\" }}] }} }}\n\
         [[play]]\nresult = {{ summary = \"{long}\" }}\n"
    ));
    let said = world.forge(&["run", "--flow", "long", "do it"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    (world, run)
}

/// Paths and commands are for copying, and are never broken.
fn is_for_copying(line: &str) -> bool {
    line.contains(" forge ") || line.trim_start().starts_with("folder ")
}

#[test]
fn no_line_of_status_is_wider_than_a_screen_of_eighty_columns() {
    let (world, run) = long_words();
    world.forge(&["run", "--flow", "long", &"words ".repeat(50)]);
    for args in [vec!["status"], vec!["status", &run], vec!["status", &world.latest()]] {
        let text = world.ok(&args);
        for line in text.lines().filter(|line| !is_for_copying(line)) {
            assert!(line.chars().count() <= 80, "{} columns: {line}\n{text}", line.chars().count());
        }
    }
    world.ok(&["answer", &run, "Q1", "give-up", "no"]);
    let text = world.ok(&["status", &run]);
    assert!(
        text.lines().filter(|line| !is_for_copying(line)).all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn nothing_but_a_terminal_gets_colours() {
    let (world, run) = waiting();
    for args in [
        vec!["--help"],
        vec!["status"],
        vec!["status", &run],
        vec!["log"],
        vec!["doctor"],
        vec!["status", "nope"],
        vec!["nope"],
    ] {
        let said = world.forge(&args);
        assert!(!said.all().contains('\x1b'), "{said}");
    }
}

#[test]
fn on_a_terminal_errors_are_red_unless_no_colour_is_wanted() {
    let world = World::new();
    let on_a_terminal = |no_color: Option<&str>| {
        // `script` gives the program a terminal of its own.
        let mut command = world.command(&["status"]);
        let mut script = std::process::Command::new("script");
        script
            .args(["-qec", &format!("{} status nope", crate::world::FORGE), "/dev/null"])
            .current_dir(&world.repo)
            .env("TERM", "xterm");
        script.env_remove("NO_COLOR");
        if let Some(value) = no_color {
            script.env("NO_COLOR", value);
        }
        command.env("TERM", "xterm");
        finish(&mut script).all()
    };
    assert!(on_a_terminal(None).contains("\x1b[38;5;196merror:\x1b[0m"), "{}", on_a_terminal(None));
    assert!(!on_a_terminal(Some("1")).contains('\x1b'));
}

#[test]
fn a_reader_who_goes_away_ends_the_program_quietly() {
    let (world, run) = waiting();
    for args in [
        vec!["status"],
        vec!["log", &run],
        vec!["status", &run, "--json"],
        vec!["flow", "show", "draft"],
        vec!["doctor"],
        vec!["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.command(&args);
        let output = command
            .stdout(Stdio::from(OwnedFd::from(writer)))
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), err.as_ref()), (Some(DONE), ""), "{args:?}");
    }
}

#[test]
fn a_run_goes_on_when_nobody_reads_what_it_says() {
    let world = World::new();
    world.flow("good", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n[[stage]]\nname = \"b\"\ncommand = \"exit 0\"\n");
    world.flow("ask", "[[stage]]\nname = \"a\"\ncommand = \"true\"\n[[stage]]\nname = \"b\"\ngates = [{ human = \"Go on?\" }]\n");
    for (flow, code, standing) in [("good", DONE, "done"), ("ask", WAITS, "waiting")] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.command(&["run", "--flow", flow, "do it"]);
        let status = command
            .stdout(Stdio::from(OwnedFd::from(writer)))
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "the exit code says how the run was left");
        assert_eq!(world.view(&world.latest())["standing"], standing);
    }
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    let (world, _) = waiting();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = world.command(&["status"]);
    let output = command
        .stdout(full)
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    has(
        &String::from_utf8_lossy(&output.stderr),
        &["error: the output cannot be written", "No space left"],
    );
}

#[test]
fn without_any_stdin_stdout_and_stderr_a_run_still_ends_well() {
    let world = World::new();
    world.scenario(CONTENT);
    let mut shell = std::process::Command::new("/bin/sh");
    let line = format!("exec {} run --flow draft --auto 'do it' <&- >&- 2>&-", crate::world::FORGE);
    world.surround(&mut shell);
    world.commit();
    shell.args(["-c", &line]).current_dir(&world.repo);
    let said = finish(&mut shell);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(world.view(&world.latest())["standing"], "done");
    assert_eq!(fs::read_to_string(world.repo.join("README.md")).unwrap(), "a project\n");
}

/// Every file below a folder with its bytes, but locks, which show nothing.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().unwrap() != "lock" {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn files_that_show_runs_are_the_same_bytes_when_made_anew() {
    let (world, run) = long_words();
    assert_eq!(world.forge(&["run", "--flow", "long", "another"]).code, WAITS);
    world.ok(&["answer", &run, "Q1", "approve", "good"]);
    let before = files(&world.place().join("runs"));
    let rows = world.ok(&["status", "--json"]);
    has(&world.ok(&["doctor", "--rebuild"]), &["2 runs"]);
    assert_eq!(files(&world.place().join("runs")), before);
    // Also if they were gone, torn or forged.
    for id in world.ids() {
        let folder = world.place().join("runs").join(&id);
        fs::remove_file(folder.join("state.json")).unwrap();
        let mut events = fs::read(folder.join("events.jsonl")).unwrap();
        events.truncate(events.len() / 2);
        fs::write(folder.join("events.jsonl"), events).unwrap();
        fs::create_dir_all(folder.join("artifacts")).unwrap();
        fs::write(folder.join("artifacts/forged.md"), "not mine").unwrap();
    }
    world.ok(&["doctor", "--rebuild"]);
    assert_eq!(files(&world.place().join("runs")), before);
    assert_eq!(world.ok(&["status", "--json"]), rows);
}

#[test]
fn a_command_that_finds_files_behind_brings_them_up_to_date() {
    let (world, run) = waiting();
    let folder = world.place().join("runs").join(&run);
    let before = files(&folder);
    fs::remove_file(folder.join("state.json")).unwrap();
    fs::remove_dir_all(folder.join("artifacts")).unwrap();
    fs::write(folder.join("events.jsonl"), "{\"torn").unwrap();
    world.ok(&["status", &run]);
    assert_eq!(files(&folder), before);
}

#[test]
fn a_doctor_who_finds_nothing_wrong_says_what_was_looked_at() {
    let (world, _) = waiting();
    let said = world.ok(&["doctor"]);
    has(&said, &["git version", "the journal is intact: 1 run, 4 entries", ".git/forge"]);
    world.write("forge.toml", "agnt = 3\n");
    world.write(".forge/flows/bad.toml", "name = \"bad\"\n");
    let said = world.forge(&["doctor"]);
    assert_eq!(said.code, 2, "{said}");
    has(&said.out, &["✗ wrong", "did you mean `agent`?", "flow `bad`", "help: "]);
}

#[test]
fn flows_are_listed_shown_and_checked_with_what_is_wrong_with_them() {
    let world = World::new();
    world.roles(&["worker"]);
    world.flow("mine", "description = \"Mine\"\n[[stage]]\nname = \"a\"\nagent = \"worker\"\n");
    world.flow("broken", "[[stage]]\nname = \"a\"\nagent = \"nobody\"\n");
    let list = world.ok(&["flow", "list"]);
    has(&list, &["draft", "mine", "Mine", "broken", "forge flow check broken"]);
    has(&world.ok(&["flow", "show", "mine"]), &["agent as worker"]);
    has(&world.ok(&["flow", "show", "mine", "--text"]), &["agent = \"worker\""]);
    has(
        &world.ok(&["flow", "check", "mine"]),
        &["`mine` is valid", "usually 1 agent call, at most 6 if"],
    );
    has(
        &world.refused(&["flow", "check", "broken"]),
        &["role `nobody`", "help: create .forge/roles/nobody.md"],
    );
    let all = world.forge(&["flow", "check"]);
    assert_eq!(all.code, 2, "{all}");
    has(&all.out, &["draft: valid", "mine: valid", "broken: ", "nobody"]);
    has(
        &world.refused(&["flow", "show", "drft"]),
        &["did you mean `draft`?", "help: forge flow list"],
    );
    assert!(world.is_untouched());
}

#[test]
fn pipelines_that_cannot_be_read_are_named_where_flows_are_listed_and_checked() {
    let world = World::new();
    world.write("forge.toml", "[pipelines.short]\nphases = [\"plan\", \"implment\"]\n");
    has(&world.ok(&["flow", "list"]), &["is wrong: forge flow check short (settings)"]);
    world.write("forge.toml", "[pipelines.short]\nphases = 3\n");
    let list = world.forge(&["flow", "list"]);
    assert_eq!(list.code, DONE, "{list}");
    has(&list.err, &["note: pipelines are left out: ", "forge.toml"]);
    has(&world.refused(&["flow", "check"]), &["forge.toml"]);
}

#[test]
fn a_project_can_shadow_a_shipped_flow() {
    let world = World::new();
    world.flow("draft", "description = \"Ours\"\n[[stage]]\nname = \"a\"\ncommand = \"true\"\n");
    has(&world.ok(&["flow", "list"]), &["Ours"]);
    assert_eq!(world.forge(&["run", "do it"]).code, DONE);
}

#[test]
fn a_terminal_that_is_closed_takes_no_agent_along() {
    let world = World::new();
    world.flow("slow", &format!("[[stage]]\nname = \"a\"\ncommand = \"{UNTIL_GO}\"\n"));
    let mut running = world.start(&["run", "--flow", "slow", "do it"]);
    running.until_says("a started");
    let run = world.latest();
    running.signal(rustix::process::Signal::HUP);
    assert_eq!(running.end().code, INTERRUPTED);
    world.go();
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(!said.out.contains("a (attempt 2)"), "{said}");
}
