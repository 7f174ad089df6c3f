//! Pages of records: by a command in the checkout, and by a run on its branch. Records of phases, and friction.

use std::{fs, os::unix::fs::symlink};

use forge_api::{phases::FrictionSummary, work::PagesView};
use forge_core::view::PhaseEvent;
use rustix::process::Signal;
use serde_json::Value;

use crate::{
    reads::fits,
    record_runs::{branch, project, run},
    world::{DONE, FAILED, World, has, until},
};

/// The same project, whose pages are in `docs/work`.
fn with_pages(writes: &[(&str, &str)]) -> World {
    let world = project("", writes);
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{settings}[work]\npages = \"docs/work\"\n"));
    world.git(&["commit", "--quiet", "-am", "pages"]);
    world
}

fn with_task() -> World {
    let world = with_pages(&[("implement", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "must+=it greets"]);
    world
}

fn page(world: &World, path: &str) -> String {
    fs::read_to_string(world.repo.join("docs/work").join(path)).unwrap()
}

#[test]
fn pages_are_written_where_a_setting_says_and_checked() {
    let world = project("", &[]);
    has(
        &world.refused(&["work", "pages"]),
        &["no folder is set for pages", "forge config set work.pages docs/work"],
    );
    let world = with_task();
    assert_eq!(
        world.ok(&["work", "pages"]),
        "Wrote docs/work/README.md\nWrote docs/work/sprints/ACME-S01.md\nWrote docs/work/tasks/ACME-S01-T01.md\n"
    );
    has(&page(&world, "README.md"), &["[ACME-S01-T01](tasks/ACME-S01-T01.md) Greet | draft |"]);
    has(&page(&world, "tasks/ACME-S01-T01.md"), &["# ACME-S01-T01: Greet", "- it greets"]);
    has(
        &world.ok(&["work", "pages", "--check"]),
        &["All pages in docs/work are as they should be."],
    );
    world.ok(&["bug", "new", "A word is missing", "severity=minor"]);
    let differs = world.forge(&["work", "pages", "--check"]);
    assert_eq!(differs.code, FAILED, "{differs}");
    has(&differs.out, &["Differs: docs/work/README.md", "Differs: docs/work/bugs/ACME-BUG-001.md"]);
    assert!(!world.repo.join("docs/work/bugs").exists(), "a check writes nothing");
    assert!(!differs.out.contains("tasks/"), "only what differs is named: {differs}");
}

#[test]
fn files_that_forge_did_not_write_are_left_alone() {
    let world = with_task();
    world.write("docs/work/README.md", "# Mine\n");
    world.write("docs/work/tasks/notes.md", "# My notes\n");
    let said = world.forge(&["work", "pages"]);
    assert_eq!(said.code, FAILED, "{said}");
    has(&said.out, &["docs/work/README.md was not written by Forge, so it is left alone"]);
    assert_eq!(page(&world, "README.md"), "# Mine\n");
    fs::remove_file(world.repo.join("docs/work/README.md")).unwrap();
    let text = page(&world, "tasks/ACME-S01-T01.md");
    world.write("docs/work/tasks/OLD-T01.md", &text);
    let view: Value = serde_json::from_str(&world.ok(&["work", "pages", "--json"])).unwrap();
    fits(schemars::schema_for!(PagesView), &view);
    assert_eq!(view["removed"], serde_json::json!(["docs/work/tasks/OLD-T01.md"]));
    assert!(!world.repo.join("docs/work/tasks/OLD-T01.md").exists());
    assert_eq!(page(&world, "tasks/notes.md"), "# My notes\n");
    fs::remove_dir_all(world.repo.join("docs/work")).unwrap();
    symlink(world.place(), world.repo.join("docs/work")).unwrap();
    has(&world.refused(&["work", "pages"]), &["a link or something else is in its place"]);
}

#[test]
fn a_run_brings_the_pages_on_its_branch_and_they_are_those_of_the_command() {
    let world = with_task();
    let said = run(&world, "ACME-S01-T01", &["--param", "pr=no"]);
    assert_eq!(said.code, DONE, "{said}");
    let id = world.latest();
    let branch = branch(&world, &id);
    let log = world.git(&["log", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(log.matches("Write the pages of the records").count(), 1, "{log}");
    let find = ["log", "--format=%H", "--grep=^Write the pages", &branch];
    let commit = world.git(&find);
    let changed =
        world.git(&["diff", "--name-only", &format!("{}^", commit.trim()), commit.trim()]);
    assert!(changed.lines().all(|path| path.starts_with("docs/work/")), "{changed}");
    let task = world.git(&["show", &format!("{branch}:docs/work/tasks/ACME-S01-T01.md")]);
    has(
        &task,
        &[
            "- Status: committed",
            "| review-code | 1 | supervisor | approved |",
            "| good |",
            "### Objective",
        ],
    );
    let place = world.repo.to_str().unwrap();
    assert!(!task.contains(place) && !task.contains("/tmp/"), "nothing of the machine: {task}");
    assert!(!world.repo.join("docs/work").exists(), "the checkout is the person's");
    // The gates of the stage looked at it: what leaves the run was proved.
    let facts = world.facts(&id);
    for gate in ["verify", "land"] {
        let name = format!("write-back#1/{gate}#1");
        assert!(facts.iter().any(|fact| fact["judged"]["judgement"] == *name), "{name}");
    }
    world.git(&["merge", "--quiet", "--ff-only", &branch]);
    has(&world.ok(&["work", "pages", "--check"]), &["as they should be"]);
}

#[test]
fn without_a_folder_no_pages_are_made_and_nothing_waits_for_them() {
    let world = project("", &[("implement", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01"]);
    assert_eq!(run(&world, "ACME-S01-T01", &[]).code, DONE);
    let facts = world.facts(&world.latest());
    let skipped = facts.iter().any(|fact| fact["unit_skipped"]["unit"] == "write-back");
    assert!(skipped, "{facts:#?}");
}

#[test]
fn a_run_killed_while_it_writes_pages_comes_to_the_same_bytes() {
    for moment in ["write-back#1", "write-back#1/verify#1", "write-back#1/land#1"] {
        let world = with_task();
        world.approve("task");
        let mut started = crate::world::Running::of(&mut world.command_as_it_is(&[
            "run",
            "ACME-S01-T01",
            "--auto",
            "--yes",
            "--param",
            "pr=no",
        ]));
        let begun = |fact: &Value| {
            fact["attempt_started"]["attempt"] == moment
                || fact["judgement_started"]["judgement"] == moment
        };
        until("the moment", || {
            let ids = world.ids();
            let has_come = ids.first().is_some_and(|id| world.facts(id).iter().any(begun));
            (has_come || started.has_ended()).then_some(())
        });
        started.signal(Signal::KILL);
        started.end();
        let id = world.latest();
        let resumed = world.forge(&["resume", &id]);
        assert!(
            resumed.code == DONE || world.view(&id)["standing"] == "done",
            "{moment}: {resumed}"
        );
        let branch = branch(&world, &id);
        let log = world.git(&["log", "--format=%s", &format!("main..{branch}")]);
        assert_eq!(log.matches("Write the pages of the records").count(), 1, "{moment}: {log}");
        world.git(&["merge", "--quiet", "--ff-only", &branch]);
        has(&world.ok(&["work", "pages", "--check"]), &["as they should be"]);
    }
}

const FRICTION: &str = r###"
[[play]]
role = "engineer"
unit = "tasks.T1/implement"
append = { "src/greet" = "a word\n" }
artifacts = { "PROGRESS.md" = "## Done\n\nIt says what is to be done, where, and how anybody can see that it is done. It says what is to be done, where, and how anybody can see that it is done. It says what is to be done, and where, and no more than that.\n" }
[play.result]
summary = "a word"
commit = "Say a word"
friction = [
  { kind = "skill_missing", skill = "greetings", issue = "no skill says how to greet", evidence = "grep found none" },
  { kind = "it was hard", issue = "not a kind" },
]
"###;

#[test]
fn friction_is_kept_shown_and_given_to_the_retrospective_and_a_flaw_of_it_fails_nothing() {
    let world = project(FRICTION, &[("tasks.T2/*", "src/part"), ("tasks.T3/*", "src/wave")]);
    has(&world.ok(&["stats", "friction"]), &["No agent has reported friction."]);
    world.ok(&["sprint", "new", "First"]);
    let said = run(&world, "ACME-S01", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let id = world.latest();
    let inbox = world.boxes(&id, "retrospective#1").join("inbox");
    let text = |name: &str| fs::read_to_string(inbox.join(name)).unwrap();
    has(
        &text("friction.md"),
        &[
            "| engineer | greetings | skill_missing | 1 | 1 |",
            "ACME-S01-T01 implement (engineer): skill_missing",
            "> grep found none",
        ],
    );
    has(&text("statistics.md"), &["| ACME-S01-T02 | implement | 1 | 0 | 0 | 0 |"]);
    let brief = world.brief(&id, "retrospective#1");
    has(
        &brief,
        &["- `friction.md`", "- `statistics.md`", "friction [{kind, skill?, issue, evidence?}]"],
    );
    let table = world.ok(&["stats", "friction"]);
    has(
        &table,
        &[
            "ROLE      SKILL      KIND           COUNT  LAST",
            "engineer  greetings  skill_missing      1  no skill says how to greet",
        ],
    );
    let view: Value =
        serde_json::from_str(&world.ok(&["stats", "friction", &id, "--json"])).unwrap();
    fits(schemars::schema_for!(FrictionSummary), &view);
    assert_eq!(view["entries"][0]["task"], "ACME-S01-T01");
    let facts = world.facts(&id);
    let notes = facts.iter().map(|fact| &fact["attempt_ended"]["receipt"]["notes"][0]);
    let is_told = notes
        .filter_map(Value::as_str)
        .any(|note| note.starts_with("friction that is not kept: entry 2: `kind` is not one of"));
    assert!(is_told, "{facts:#?}");
    let lines = world.ok(&["log", &id, "--phases", "--json"]);
    let events: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        fits(schemars::schema_for!(PhaseEvent), event);
    }
    let of = |task: &str| events.iter().filter(|event| event["task"] == task).count();
    assert_eq!((of("ACME-S01-T01"), of("ACME-S01-T02")), (6, 6));
    has(
        &world.ok(&["log", &id, "--phases"]),
        &["PHASE ", "TOKENS", " AGENT", "  T1 implement  ", "  T1 review-code  approved "],
    );
}
