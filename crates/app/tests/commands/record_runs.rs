//! `forge run ID`: tasks, sprints and bugs as the subject of runs, and how their records follow.

use std::fmt::Write as _;

use crate::world::{DONE, FAILED, Said, WAITS, WRONG, World, finish, has};

/// Every role does its work well.
const GOOD: &str = include_str!("pipeline.toml");

/// A repository in a folder `acme` with a check, in which the engineer writes these paths for these units. Some plays come first.
pub(crate) fn project(first: &str, writes: &[(&str, &str)]) -> World {
    let world = World::named("acme");
    world.write("check.sh", "echo 'ok 1 - it is green'\n");
    world.write("src/main", "a program\n");
    let mut plays = format!("scenario = 1\n{first}\n");
    for (unit, path) in writes {
        let _ = write!(
            plays,
            "[[play]]\nrole = \"engineer\"\nunit = \"{unit}\"\nappend = {{ \"{path}\" = \"a word\\n\" }}\n\
             artifacts = {{ \"PROGRESS.md\" = \"## Done\\n\" }}\nresult = {{ summary = \"a word\", commit = \"Say a word\" }}\n"
        );
    }
    world.write("play.toml", format!("{plays}{GOOD}"));
    let settings =
        "[verify]\ncommands = [\"sh check.sh\"]\n[agents.scripted]\nscenario = \"play.toml\"\n";
    world.write("forge.toml", settings);
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "the project"]);
    world
}

/// Runs a record, without naming a flow.
pub(crate) fn run(world: &World, id: &str, more: &[&str]) -> Said {
    world.approve("task");
    finish(&mut world.command_as_it_is(&[&["run", "-v", id, "--auto", "--yes"], more].concat()))
}

fn revises(unit: &str, attempt: u32) -> String {
    format!(
        "[[play]]\nrole = \"supervisor\"\nunit = \"{unit}\"\nattempt = {attempt}\n\
         artifacts = {{ \"CODE_REVIEW.md\" = \"revise\\n\" }}\n\
         result = {{ summary = \"no\", verdict = \"revise\", findings = [{{ severity = \"major\", what = \"no\", path = \"src/main\", line = 1 }}] }}\n"
    )
}

#[test]
fn a_task_is_run_by_its_id_and_its_record_follows() {
    let world = project("", &[("implement", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    let fields = ["sprintId=ACME-S01", "writes=src/greet", "must+=it greets"];
    world.ok(&[&["task", "new", "Greet", "description=say hello"], &fields[..]].concat());
    let said = run(&world, "acme-s01-t01", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(
        &world.ok(&["task", "show", "ACME-S01-T01"]),
        &[
            "status                 committed",
            "taken on by",
            "moved from draft to planned",
            "moved from approved to committed",
        ],
    );
    let brief = world.brief(&world.latest(), "implement#1");
    has(&brief, &["Task ACME-S01-T01: Greet", "say hello", "it greets", "`src/greet`"]);
    let said = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["`ACME-S01-T01` is committed, so no run can work on it"]);
}

#[test]
fn a_task_may_change_only_the_paths_of_its_record() {
    let world = project("", &[("implement", "src/other")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    let said = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.all(), &["`src/other` is outside what ACME-S01-T01 may change (src/greet)"]);
    has(&world.ok(&["task", "list"]), &["ACME-S01-T01  escalated  Greet"]);
    let again = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(again.code, WRONG, "{again}");
    has(&again.err, &["`ACME-S01-T01` is worked on by the run", "help: forge status"]);
    world.ok(&["abandon", "--yes"]);
    let blocked = run(&world, "ACME-S01-T01", &[]);
    has(
        &blocked.err,
        &["is escalated, so no run can work on it", "forge task unblock ACME-S01-T01"],
    );
}

#[test]
fn a_sprint_that_has_tasks_begins_with_them_and_leaves_out_what_is_blocked() {
    let world =
        project("", &[("tasks.ACME-S01-T01/*", "src/greet"), ("tasks.ACME-S01-T02/*", "src/part")]);
    world.ok(&["sprint", "new", "First", "executionMode=wave-parallel"]);
    for (title, path) in [("Greet", "src/greet"), ("Part", "src/part"), ("Wave", "src/wave")] {
        let writes = format!("writes={path}");
        world.ok(&["task", "new", title, "sprintId=ACME-S01", &writes]);
    }
    world.ok(&["task", "set", "ACME-S01-T02", "dependencies=ACME-S01-T01"]);
    world.ok(&["task", "block", "ACME-S01-T03", "nobody waves"]);
    let dry = run(&world, "ACME-S01", &["--dry-run"]).out;
    has(&dry, &["order     waves", "`ACME-S01-T03` is blocked and is skipped"]);
    assert!(!dry.contains("Is this the sprint?"), "{dry}");
    let said = run(&world, "ACME-S01", &[]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(
        world.ok(&["task", "list"]),
        "ACME-S01-T01  committed  Greet\nACME-S01-T02  committed  Part\nACME-S01-T03  blocked    Wave\n"
    );
    has(&world.ok(&["sprint", "list"]), &["ACME-S01  retrospective-done  First"]);
    world.ok(&["work", "check"]);
}

#[test]
fn a_sprint_plans_its_tasks_and_is_done_without_one_that_was_given_up() {
    let never: String = (1..=3).map(|n| revises("tasks.T1/implement", n)).collect();
    let world = project(
        &never,
        &[("tasks.T1/*", "src/greet"), ("tasks.T2/*", "src/part"), ("tasks.T3/*", "src/wave")],
    );
    world.ok(&["sprint", "new", "First", "goal=more words"]);
    let said = run(&world, "ACME-S01", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    assert_eq!(
        world.ok(&["task", "list"]),
        "ACME-S01-T1  escalated  Greet\nACME-S01-T2  draft      Part\nACME-S01-T3  committed  Wave\n"
    );
    for (id, phase, verdict, code) in [
        ("ACME-S01-T3", "review-code", "approved", DONE),
        ("ACME-S01-T1", "review-code", "revision", FAILED),
        ("ACME-S01-T1", "approve", "unknown", FAILED),
        ("ACME-S01-T3", "plan", "n/a", FAILED),
        ("ACME-S01", "scope", "approved", DONE),
    ] {
        let said = world.forge(&["verdict", id, phase]);
        assert_eq!((said.out.trim(), said.code), (verdict, code), "{id} {phase}: {said}");
    }
    has(
        &world.refused(&["verdict", "ACME-S01-T1", "review-cod"]),
        &["has no phase `review-cod`", "forge verdict ACME-S01-T1 review-code"],
    );
    has(&world.refused(&["verdict", "ACME-S01", "review-code"]), &["several tasks"]);
    let done = world.forge(&["reject", "--yes"]);
    assert_eq!(done.code, DONE, "{done}");
    has(&done.all(), &["Done, 2 tasks not finished", "not in the result: T1, T2"]);
    has(&world.ok(&["status"]), &["tasks left"]);
    has(
        &world.ok(&["sprint", "show", "ACME-S01"]),
        &["moved from active to partially-completed", "retrospective-done"],
    );
}

#[test]
fn a_bug_is_fixed_by_its_id() {
    let world = project("", &[]);
    world.ok(&["bug", "new", "A word is missing", "severity=minor"]);
    let said = run(&world, "ACME-BUG-001", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&world.ok(&["bug", "list"]), &["ACME-BUG-001  fixed  A word is missing"]);
    has(&world.brief(&world.latest(), "triage#1"), &["Bug ACME-BUG-001", "Severity: minor"]);
}
