//! `forge hook`: what an agent's program may write into the file of a record, and what a person allows it once.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::world::{DONE, Running, Said, WAITS, WRONG, World, has, pty::Person};

/// A repository in a folder `acme` with a sprint and two tasks, the second after the first.
fn planned() -> World {
    let world = World::named("acme");
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Parse the header", "sprintId=ACME-S01"]);
    world.ok(&["task", "new", "Parse the rows", "sprintId=ACME-S01", "dependencies=ACME-S01-T01"]);
    world
}

fn task(world: &World) -> PathBuf {
    world.repo.join(".forge/work/tasks/ACME-S01-T01.json")
}

/// Asks as an agent's program does.
fn ask_with(world: &World, text: &str, inside: &[(&str, &str)]) -> Said {
    let input = world.beside("call.json");
    fs::write(&input, text).unwrap();
    let mut command = world.command(&["hook", "write"]);
    command.stdin(File::open(input).unwrap()).envs(inside.iter().copied());
    Running::of(&mut command).end()
}

fn ask(world: &World, tool: &str, input: &Value) -> Said {
    let call = json!({
        "session_id": "x", "hook_event_name": "PreToolUse", "cwd": world.repo,
        "tool_name": tool, "tool_input": input,
    });
    ask_with(world, &call.to_string(), &[])
}

fn allowed(said: &Said) {
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (DONE, "", ""), "{said}");
}

fn refused(said: &Said, wanted: &[&str]) {
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, wanted);
}

fn edit(path: &Path, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

#[test]
fn a_write_that_would_be_a_valid_record_is_allowed_and_any_other_is_refused_with_its_rule() {
    let world = planned();
    let path = task(&world);
    let before = fs::read(&path).unwrap();
    allowed(&ask(&world, "Edit", &edit(&path, "Parse the header", "Parse the first line")));
    allowed(&ask(&world, "Edit", &edit(&path, "\"draft\"", "\"planned\"")));
    for (old, new, rule) in [
        (
            "\"draft\"",
            "\"committed\"",
            "is draft and cannot become committed; it can become planned",
        ),
        ("\"draft\"", "\"done\"", "a task has no state `done`"),
        ("\"title\"", "\"titel\"", "`titel` is not a field here"),
        ("\"ACME-S01\"", "\"ACME-S09\"", "`sprintId` names `ACME-S09`, which is not a sprint here"),
        (
            "\"sprintId\": \"ACME-S01\"",
            "\"sprintId\": \"ACME-S01\", \"dependencies\": [\"ACME-S01-T02\"]",
            "`dependencies` make a circle",
        ),
        ("\"Parse the header\"", "7", "`title` must be a text, not a number"),
        ("{\n  \"taskId\"", "{{\n  \"taskId\"", "line 1 is not JSON"),
        ("ACME-S01-T01", "ACME-S01-T02", "`taskId` is `ACME-S01-T02`, unlike the name of the file"),
        ("\"rev\": 1", "\"other\": 1", "`forge.other` is not a field here"),
    ] {
        let said = ask(&world, "Edit", &edit(&path, old, new));
        refused(&said, &[".forge/work/tasks/ACME-S01-T01.json: ", rule]);
    }
    let text = String::from_utf8(before.clone()).unwrap();
    let write = |content: &str| json!({ "file_path": path, "content": content });
    allowed(&ask(&world, "Write", &write(&text)));
    allowed(&ask(&world, "Write", &write(&text.replace("header", "title"))));
    refused(&ask(&world, "Write", &write("{}")), &["`taskId` is missing"]);
    let edits = |all: &[(&str, &str)]| {
        let one = |(old, new): &(&str, &str)| json!({ "old_string": old, "new_string": new });
        json!({ "file_path": path, "edits": all.iter().map(one).collect::<Vec<Value>>() })
    };
    allowed(&ask(&world, "MultiEdit", &edits(&[("Parse the header", "A"), ("\"A\"", "\"B\"")])));
    refused(
        &ask(&world, "MultiEdit", &edits(&[("Parse the header", "A"), ("\"draft\"", "\"x\"")])),
        &["a task has no state `x`"],
    );
    assert_eq!(fs::read(&path).unwrap(), before, "nothing is written");
    // A record that is not there yet begins in its first state.
    let new = |state: &str| {
        let content = json!({ "bugId": "B-7", "title": "x", "severity": "minor", "status": state });
        json!({ "file_path": ".forge/work/bugs/B-7.json", "content": content.to_string() })
    };
    allowed(&ask(&world, "Write", &new("reported")));
    refused(&ask(&world, "Write", &new("fixed")), &["a new bug in a file begins as reported"]);
    // It may name what is only in a file so far.
    fs::write(
        world.repo.join(".forge/work/sprints/ACME-S02.json"),
        r#"{"sprintId": "ACME-S02", "title": "Second", "status": "planning"}"#,
    )
    .unwrap();
    allowed(&ask(&world, "Edit", &edit(&path, "\"ACME-S01\"", "\"ACME-S02\"")));
}

#[test]
fn what_cannot_be_read_about_a_record_is_refused_and_other_paths_are_of_no_interest() {
    let world = planned();
    let path = task(&world);
    for (tool, input, rule) in [
        ("Edit", edit(&path, "not there", "x"), "`old_string` is not in the file"),
        ("Edit", edit(&path, "ACME-S01", "x"), "times in the file"),
        ("Edit", edit(&path, "", "x"), "`old_string` is not in the file"),
        ("Edit", json!({ "file_path": path, "old_string": 7 }), "an edit cannot be read"),
        ("Write", json!({ "file_path": path }), "`content` is missing"),
        ("MultiEdit", json!({ "file_path": path, "edits": "x" }), "`edits` is missing"),
        ("Write", json!({ "content": "x" }), "tool_input.file_path: is missing"),
        (
            "NotebookEdit",
            json!({ "notebook_path": path }),
            "the tool NotebookEdit cannot be checked",
        ),
        (
            "Bash",
            json!({ "command": "echo x > .forge/work/tasks/ACME-S01-T01.json" }),
            "the tool Bash cannot be checked",
        ),
        (
            "Write",
            json!({ "file_path": ".forge/work/tasks/a b.json", "content": "{}" }),
            "is not the name of a record",
        ),
        (
            "Write",
            json!({ "file_path": ".forge/work/bugs/ACME-S01-T01.json", "content": "{}" }),
            "`ACME-S01-T01` is a task; its file is .forge/work/tasks/ACME-S01-T01.json",
        ),
    ] {
        refused(&ask(&world, tool, &input), &[rule]);
    }
    for (text, what) in [
        ("", "stdin is not JSON: "),
        ("{", "stdin is not JSON: "),
        ("[]", "stdin has no `tool_name`"),
        ("{\"tool_input\": {}}", "stdin has no `tool_name`"),
    ] {
        refused(&ask_with(&world, text, &[]), &[what, "help: echo '{\"tool_name\": "]);
    }
    // Other ways to the same file.
    fs::create_dir(world.repo.join("docs")).unwrap();
    symlink(world.repo.join(".forge/work/tasks"), world.repo.join("docs/tasks")).unwrap();
    symlink(&path, world.repo.join("docs/one.json")).unwrap();
    symlink(world.repo.join(".forge/work/tasks/NEW.json"), world.repo.join("docs/new.json"))
        .unwrap();
    for path in [
        "docs/tasks/ACME-S01-T01.json",
        "docs/one.json",
        "docs/new.json",
        "docs/../.forge/work/tasks/ACME-S01-T01.json",
        "gone/../.forge/./work//tasks/ACME-S01-T01.json",
        ".forge/work/tasks/../tasks/ACME-S01-T01.json",
    ] {
        refused(
            &ask(&world, "Write", &json!({ "file_path": path, "content": "{}" })),
            &["is missing"],
        );
    }
    for (tool, input) in [
        ("Write", json!({ "file_path": "src/main.rs", "content": "x" })),
        ("Write", json!({ "file_path": world.beside("x.json"), "content": "x" })),
        ("Write", json!({ "file_path": ".forge/work/tasks/notes.txt", "content": "x" })),
        ("Edit", edit(Path::new("README.md"), "not there", "x")),
        ("Read", json!({ "file_path": path })),
        ("Bash", json!({ "command": "git add .forge/work && git status" })),
    ] {
        allowed(&ask(&world, tool, &input));
    }
}

#[test]
fn a_person_allows_one_write_and_the_record_keeps_who_and_why() {
    let world = planned();
    let (path, name) = (task(&world), ".forge/work/tasks/ACME-S01-T01.json");
    let wrong = json!({ "file_path": path, "content": "{}" });
    let allow = ["hook", "allow", name, "--why", "it is renamed by hand"];
    // Without a terminal, and from inside an attempt, nobody can.
    let said = world.forge(&allow);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["only a person at a terminal"]);
    let mut words =
        vec!["/usr/bin/env".into(), "FORGE_ATTEMPT_DIR=/x".into(), "FORGE_CALL=a#1".into()];
    let command = world.command(&allow);
    let own: Vec<std::ffi::OsString> =
        [command.get_program()].into_iter().chain(command.get_args()).map(Into::into).collect();
    words.extend(own);
    let mut agent = Person::with(&world, &words);
    assert_eq!(agent.end(), WRONG, "{}", agent.text());
    has(&agent.text(), &["inside an attempt"]);
    refused(&ask(&world, "Write", &wrong), &["`taskId` is missing"]);

    let mut person = Person::at(&world, &allow);
    assert_eq!(person.end(), DONE, "{}", person.text());
    has(&person.text(), &["The next write of ACME-S01-T01 is not checked."]);
    // Another record is checked as before, and so is this one by what only reads it.
    let other = json!({ "file_path": ".forge/work/tasks/ACME-S01-T02.json", "content": "{}" });
    refused(&ask(&world, "Write", &other), &["`taskId` is missing"]);
    allowed(&ask(&world, "Read", &wrong));
    // Inside of an attempt nothing is used up.
    let call = json!({ "tool_name": "Write", "tool_input": wrong, "cwd": world.repo });
    let inside = [("FORGE_ATTEMPT_DIR", "/x"), ("FORGE_CALL", "a#1")];
    refused(&ask_with(&world, &call.to_string(), &inside), &["`taskId` is missing"]);
    allowed(&ask(&world, "Write", &wrong));
    refused(&ask(&world, "Write", &wrong), &["`taskId` is missing"]);
    has(
        &world.ok(&["task", "show", "ACME-S01-T01"]),
        &[
            "one write allowed without a check: it is renamed by hand",
            ".forge/work/tasks/ACME-S01-T01.json written without a check",
        ],
    );
    // What was written is still looked at by the next command, as every change by hand.
    fs::write(&path, "{}").unwrap();
    has(
        &world.forge(&["work", "check"]).out,
        &["`taskId` is missing", "forge work write ACME-S01-T01"],
    );
    let mut person = Person::at(&world, &["hook", "allow", "README.md", "--why", "x"]);
    assert_eq!(person.end(), WRONG, "{}", person.text());
    has(&person.text(), &["README.md is not the file of a record"]);
}
