//! Gates as text: `forge gate check`, and what a run does where one does not hold.

use serde_json::{Value, json};

use crate::{
    record_runs::{project, run},
    world::{DONE, FAILED, WAITS, WRONG, World, has},
};

/// A repository with a task, whose engineer needs more than the shipped one does.
fn needing(lines: &str) -> World {
    let world = project("", &[("implement", "src/greet")]);
    let role = "+++\ncode = \"writes\"\nmust = [\"commit\"]\n+++\nBuild it.\n";
    let text = format!("{role}\n```gates phase=implement\n{lines}\n```\n");
    world.write(".forge/flows/task/roles/engineer.md", text);
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "a role"]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01"]);
    world
}

#[test]
fn a_gate_that_does_not_hold_starts_no_agent_and_names_all_that_is_missing() {
    let world =
        needing("require task.estimate == S\nartifact docs/SPEC.md\nafter approve = approved");
    let said = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    let missing = [
        "docs/SPEC.md is missing",
        "the estimate of the task must be S, and is not set",
        "approve has no verdict yet; approved is needed",
    ];
    has(&said.all(), &missing);
    let starts = world.ok(&["log", "-vv"]);
    assert!(!starts.contains("implement#1"), "{starts}");
    has(&world.ok(&["task", "list"]), &["ACME-S01-T01  escalated  Greet"]);
    let checked = world.forge(&["gate", "check", "ACME-S01-T01", "implement"]);
    assert_eq!(checked.code, FAILED, "{checked}");
    has(&checked.out, &missing);
    has(&checked.out, &["Then continue with: forge retry"]);
    let other_order = world.forge(&["gate", "check", "implement", "ACME-S01-T01"]);
    assert_eq!((other_order.code, other_order.out), (FAILED, checked.out));
}

#[test]
fn what_a_person_has_fixed_is_looked_at_again_and_the_run_continues() {
    let world = needing("require task.estimate == S");
    assert_eq!(run(&world, "ACME-S01-T01", &[]).code, WAITS);
    let again = world.forge(&["retry"]);
    assert_eq!(again.code, WAITS, "{again}");
    world.ok(&["task", "set", "ACME-S01-T01", "estimate=S"]);
    let said = world.forge(&["retry"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&world.ok(&["task", "list"]), &["ACME-S01-T01  committed  Greet"]);
}

#[test]
fn a_document_that_is_too_short_goes_back_to_its_author() {
    let short = "[[play]]\nrole = \"engineer-plan\"\nattempt = 1\nartifacts = { \"PLAN.md\" = \"short\" }\n\
         result = { summary = \"short\", shown = { approach = \"so\", key_changes = [], risk = \"low\" } }\n";
    let world = project(short, &[("implement", "src/greet")]);
    let said = run(&world, "a word of greeting", &["--flow", "task"]);
    assert_eq!(said.code, DONE, "{said}");
    let log = world.ok(&["log", "-v"]);
    has(&log, &["PLAN.md has 5 bytes; at least 200 are needed"]);
}

#[test]
fn a_check_of_gates_says_by_its_exit_code_what_holds() {
    let world = needing("require task.estimate == S");
    let check = |phase: &str, id: &str| {
        let said = world.forge(&["gate", "check", id, phase, "--json"]);
        (said.code, serde_json::from_str::<Value>(&said.out).unwrap_or_default())
    };
    let missing = json!([{ "kind": "require-failed", "subject": "task.estimate", "want": "S", "got": "not set" }]);
    let next = "forge run ACME-S01-T01";
    let fails = json!({ "phase": "implement", "ok": false, "checked": 1, "missing": missing, "next": next });
    assert_eq!(check("implement", "acme-s01-t01"), (FAILED, fails));
    world.ok(&["task", "set", "ACME-S01-T01", "estimate=S"]);
    let holds = json!({ "phase": "implement", "ok": true, "checked": 1 });
    assert_eq!(check("implement", "ACME-S01-T01"), (DONE, holds));
    let none = json!({ "phase": "record", "ok": true, "checked": 0 });
    assert_eq!(check("record", "ACME-S01-T01"), (DONE, none), "a phase without gates");
    let said = world.ok(&["gate", "check", "ACME-S01-T01", "record"]);
    has(&said, &["The flow sets no gates for record, so nothing was checked."]);
    has(
        &world.ok(&["gate", "check", "ACME-S01-T01", "implement"]),
        &["The gate of implement holds."],
    );
    let (code, verdict) = check("commit", "ACME-S01-T01");
    assert_eq!((code, &verdict["missing"][0]["kind"]), (FAILED, &json!("verdict-missing")));
    world.ok(&["task", "block", "ACME-S01-T01", "no time"]);
    let (code, blocked) = check("plan", "ACME-S01-T01");
    assert_eq!((code, &blocked["missing"][0]["got"]), (FAILED, &json!("blocked")));
    for (phase, id, says) in [
        ("implemnt", "ACME-S01-T01", "forge gate check ACME-S01-T01 implement"),
        ("implement", "ACME-S01-T77", "ACME-S01-T77"),
    ] {
        let said = world.refused(&["gate", "check", phase, id]);
        has(&said, &[says]);
    }
}

#[test]
fn a_gate_that_names_what_does_not_exist_is_refused_before_anything_begins() {
    for (lines, says) in [
        ("after reviw = approved", "there is no phase `reviw`"),
        ("require task.colour == red", "a task has no field `colour`"),
        ("require task.status == bananas", "`task.status` cannot be `bananas`"),
        ("artifact {who}/x", "unknown placeholder"),
        ("need it", "line 2: unknown directive `need`"),
    ] {
        let world = needing(lines);
        let said = run(&world, "ACME-S01-T01", &[]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &[says]);
        has(&world.refused(&["flow", "check", "task"]), &[says]);
        has(&world.refused(&["gate", "check", "implement", "ACME-S01-T01"]), &[says]);
        has(&world.ok(&["task", "list"]), &["ACME-S01-T01  draft  Greet"]);
    }
}
