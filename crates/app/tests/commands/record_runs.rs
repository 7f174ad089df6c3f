//! `forge run ID`: tasks, sprints and bugs as the subject of runs, and how their records follow.

use std::{fmt::Write as _, fs};

use crate::world::{DONE, FAILED, Said, WAITS, WRONG, World, finish, has};

/// What makes a document long enough to be one.
const LONG: &str = "It says what is to be done, where, and how anybody can see that it is done. It says what is to be done, where, and how anybody can see that it is done. It says what is to be done, and no more.";
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
             artifacts = {{ \"PROGRESS.md\" = \"## Done\\n{LONG}\" }}\nresult = {{ summary = \"a word\", commit = \"Say a word\" }}\n"
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
        &world.ok(&["task", "show", "ACME-S01-T01", "-v"]),
        &[
            "state                  committed",
            "work began in",
            "moved from draft to planned",
            "moved from approved to committed",
        ],
    );
    let brief = world.brief(&world.latest(), "implement#1");
    has(&brief, &["Greet (task ACME-S01-T01)", "say hello", "it greets", "`src/greet`"]);
    let said = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["`ACME-S01-T01` is committed, so no run can work on it"]);
}

#[test]
fn the_unique_end_of_an_id_is_enough_for_a_run_and_in_values() {
    let world = project("", &[("implement", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprint=s01", "writes=src/greet"]);
    world.ok(&["task", "new", "Part", "sprint=S01", "dependencies=T01"]);
    let shown = world.ok(&["task", "show", "T02"]);
    has(&shown, &["ACME-S01-T01", "ACME-S01\n"]);
    let said = run(&world, "t01", &[]);
    assert_eq!(said.code, DONE, "{said}");
    world.ok(&["sprint", "new", "Second"]);
    world.ok(&["task", "new", "Other", "sprint=S02"]);
    let each = ["forge run ACME-S01-T01", "or: forge run ACME-S02-T01"];
    has(&run(&world, "T01", &[]).err, &["several tasks end with `T01`", each[0], each[1]]);
    let said = world.refused(&["task", "show", "T01"]);
    has(&said, &["forge task show ACME-S01-T01", "or: forge task show ACME-S02-T01"]);
    assert!(!said.contains("note:"), "{said}");
    let said = world.refused(&["task", "set", "S02-T01", "dependencies=T01"]);
    has(&said, &["forge task set ACME-S02-T01 dependencies=ACME-S01-T01"]);
    has(&world.refused(&["task", "list", "--state", "dratf"]), &["did you mean `draft`?"]);
    let own = world.ok(&["task", "list", "--sprint", "s02"]);
    assert_eq!(own, "ACME-S02-T01  draft  Other\n");
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
    has(&again.err, &["works on `ACME-S01-T01` already", "help: forge attach"]);
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
    has(&dry, &["order     waves", "`ACME-S01-T03` is skipped: it is blocked"]);
    assert!(!dry.contains("Is this the sprint?"), "{dry}");
    let said = run(&world, "ACME-S01", &[]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(
        world.ok(&["task", "list"]),
        "ACME-S01-T01  committed  Greet\nACME-S01-T02  committed  Part\nACME-S01-T03  blocked    Wave\n"
    );
    has(&world.ok(&["sprint", "list"]), &["ACME-S01  retrospective-done  First"]);
    let history = world.ok(&["sprint", "show", "ACME-S01", "-v"]);
    has(&history, &["moved from active to partially-completed"]);
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
        "ACME-S01-T01  escalated  Greet\nACME-S01-T02  draft      Part\nACME-S01-T03  committed  Wave\n"
    );
    for (id, phase, verdict, code) in [
        ("ACME-S01-T03", "review-code", "approved", DONE),
        ("ACME-S01-T01", "review-code", "revision", FAILED),
        ("ACME-S01-T01", "approve", "unknown", FAILED),
        ("ACME-S01-T03", "plan", "n/a", FAILED),
        ("ACME-S01-T02", "review-code", "unknown", FAILED),
        ("ACME-S01", "scope", "approved", DONE),
    ] {
        let said = world.forge(&["verdict", id, phase]);
        assert_eq!((said.out.trim(), said.code), (verdict, code), "{id} {phase}: {said}");
    }
    has(
        &world.refused(&["verdict", "ACME-S01-T01", "review-cod"]),
        &["has no phase `review-cod`", "forge verdict ACME-S01-T01 review-code"],
    );
    has(
        &world.refused(&["verdict", "ACME-S01", "review-code"]),
        &[
            "several phases `review-code`: T1/review-code, T3/review-code",
            "forge verdict ACME-S01 T1/review-code",
        ],
    );
    // The run, a task of it in each form, and the words in the other order.
    let run = world.latest();
    for (one, other) in [
        (&*run, "T3/review-code"),
        (&*run, "ACME-S01-T03/review-code"),
        (&*run, "tasks.T3/implement/review-code"),
        (&*run, "T03/review-code"),
        (&*run, "s01-t03/review-code"),
        ("T3/review-code", "acme-s01"),
        ("t03", "review-code"),
    ] {
        let said = world.forge(&["verdict", one, other]);
        assert_eq!((said.out.trim(), said.code), ("approved", DONE), "{one} {other}: {said}");
    }
    let diff = world.ok(&["diff", &run, "T03"]);
    assert_eq!(diff, world.ok(&["diff", &run, "T3"]));
    has(&world.refused(&["verdict", &run, "T01/review-cod"]), &["did you mean `T1/review-code`?"]);
    let several = world.refused(&["verdict", "T03", "file check"]);
    has(&several, &["forge verdict T03 'plan/file check'"]);
    let gates = world.forge(&["gate", "check", "T02", "review-code"]);
    assert_eq!(gates.code, FAILED, "a task that the sprint has not begun: {gates}");
    has(&gates.err, &["review-code has not begun: "]);
    let unknown = world.forge(&["verdict", "ACME-S01-T01", "approve"]);
    has(&unknown.err, &["note: ", "Q"]);
    let refused = world.refused(&["verdict", &run, "nothing-like-it"]);
    has(&refused, &["phases: intake, ", "forge status"]);
    assert!(!refused.contains("land") && !refused.contains("form"), "{refused}");
    let done = world.forge(&["reject"]);
    assert_eq!(done.code, DONE, "{done}");
    has(&done.all(), &["Done, 2 tasks not finished", "not in the result: T1, T2"]);
    has(&world.ok(&["status"]), &["tasks left"]);
    has(
        &world.ok(&["sprint", "show", "ACME-S01", "-v"]),
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
    has(&world.brief(&world.latest(), "triage#1"), &["(bug ACME-BUG-001)", "Severity: minor"]);
}

/// Settings with a short pipeline.
const HOTFIX: &str =
    "[pipelines.hotfix]\nphases = [\"implement\", \"review-code max_iterations=2\", \"commit\"]\n";

fn with_hotfix(writes: &[(&str, &str)]) -> World {
    let world = project("", writes);
    world.write(
        "forge.toml",
        format!("{}{HOTFIX}", fs::read_to_string(world.repo.join("forge.toml")).unwrap()),
    );
    world.git(&["commit", "--quiet", "-am", "a pipeline"]);
    world.ok(&["sprint", "new", "First"]);
    world
}

#[test]
fn a_task_goes_through_the_pipeline_that_it_names() {
    let world = with_hotfix(&[("implement", "src/greet")]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "pipeline=hotfix"]);
    let said = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let log = world.ok(&["log", "-vv"]);
    has(&log, &["implement#1", "review-code"]);
    assert!(!log.contains("plan#1") && !log.contains("validate"), "{log}");
    has(&world.ok(&["task", "list"]), &["ACME-S01-T01  committed  Greet"]);
    has(&world.ok(&["flow", "show", "hotfix"]), &["implement", "review-code", "commit"]);
    has(&world.ok(&["config", "allow", "--flow", "hotfix"]), &["allowed already"]);
}

#[test]
fn tasks_of_a_sprint_go_through_different_pipelines() {
    let tasks =
        [("tasks.ACME-S01-T01/*", "src/greet"), ("tasks.ACME-S01-T02/hotfix.hotfix/*", "src/part")];
    let world = with_hotfix(&tasks);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    world.ok(&["task", "new", "Part", "sprintId=ACME-S01", "writes=src/part", "pipeline=hotfix"]);
    let said = run(&world, "ACME-S01", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let all = "ACME-S01-T01  committed  Greet\nACME-S01-T02  committed  Part\n";
    assert_eq!(world.ok(&["task", "list"]), all);
    let verdict = |id: &str, phase: &str| world.forge(&["verdict", id, phase]).out;
    assert_eq!(verdict("ACME-S01-T02", "review-code"), "approved\n");
    assert_eq!(verdict("ACME-S01-T01", "validate"), "approved\n");
}

#[test]
fn a_pipeline_that_does_not_exist_is_refused_with_those_that_do() {
    let world = with_hotfix(&[]);
    let said = world.refused(&["task", "new", "Greet", "sprintId=ACME-S01", "pipeline=hotfx"]);
    has(&said, &["unknown pipeline `hotfx`; did you mean `hotfix`? (pipelines: default, hotfix)"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "pipeline=hotfix"]);
    world.write(
        "forge.toml",
        fs::read_to_string(world.repo.join("forge.toml")).unwrap().replace("hotfix", "other"),
    );
    world.git(&["commit", "--quiet", "-am", "another name"]);
    for id in ["ACME-S01-T01", "ACME-S01"] {
        let said = run(&world, id, &[]);
        assert_eq!(said.code, WRONG, "{said}");
        has(
            &said.err,
            &["`ACME-S01-T01` has the unknown pipeline `hotfix`", "(pipelines: default, other)"],
        );
    }
}

#[test]
fn a_pipeline_with_a_flaw_is_refused_by_name() {
    let world = with_hotfix(&[]);
    let plain = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    for (phases, says) in [
        ("\"implment\", \"commit\"", "unknown phase `implment`; did you mean `implement`?"),
        ("\"review-code\", \"implement\", \"commit\"", "`review-code` has no phase above it"),
        ("\"implement\", \"approve on_revision=plan\", \"commit\"", "sends back to `plan`"),
        ("\"implement\"", "does not end with `commit`"),
        ("\"plan\", \"commit\"", "has no phase `implement`"),
        ("\"implement\", \"commit\", \"approve\"", "`approve` comes after `commit`"),
        ("\"implement\", \"implement\", \"commit\"", "`implement` is there twice"),
        ("\"implement role=nobody\", \"commit\"", "uses the role `nobody`, but no file defines it"),
        ("\"implement x=1\", \"commit\"", "has the unknown key `x`"),
        ("\"implement max_iterations=0\", \"commit\"", "needs max_iterations between 1 and 20"),
    ] {
        let broken =
            plain.replace("\"implement\", \"review-code max_iterations=2\", \"commit\"", phases);
        world.write("forge.toml", broken);
        world.git(&["commit", "--quiet", "-am", "a flaw"]);
        let said = run(&world, "make it so that it greets", &["--flow", "hotfix"]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &[says]);
    }
}

#[test]
fn a_task_waits_for_what_it_depends_on_also_in_another_sprint() {
    let world = project("", &[("implement", "src/greet"), ("tasks.ACME-S02-T01/*", "src/part")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["sprint", "new", "Second"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    let needs = "dependencies=ACME-S01-T01";
    world.ok(&["task", "new", "Part", "sprintId=ACME-S02", "writes=src/part", needs]);
    let early = run(&world, "ACME-S02-T01", &[]);
    assert_eq!(early.code, WRONG, "{early}");
    has(
        &early.err,
        &["depends on `ACME-S01-T01`, which is not committed", "forge run ACME-S01-T01"],
    );
    let empty = run(&world, "ACME-S02", &[]);
    assert_eq!(empty.code, WRONG, "{empty}");
    has(&empty.err, &["waits for `ACME-S01-T01` of another sprint"]);
    assert!(!world.ok(&["sprint", "show", "ACME-S02", "-v"]).contains("taken on"));
    let first = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(first.code, DONE, "{first}");
    world.git(&["merge", "--quiet", "--ff-only", "--", &branch(&world, &world.latest())]);
    let second = run(&world, "ACME-S02", &[]);
    assert_eq!(second.code, DONE, "{second}");
    has(&world.ok(&["task", "list"]), &["ACME-S02-T01  committed  Part"]);
}

/// The branch of a run.
pub(crate) fn branch(world: &World, run: &str) -> String {
    world.view(run)["branch"].as_str().unwrap().to_owned()
}

#[test]
fn a_task_of_a_sprint_that_is_not_over_is_for_no_other_run() {
    let never: String = (1..=3).map(|n| revises("tasks.ACME-S01-T01/implement", n)).collect();
    let world = project(&never, &[("tasks.ACME-S01-T01/*", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    let said = run(&world, "ACME-S01", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    world.ok(&["task", "unblock", "ACME-S01-T01", "I look at it"]);
    let again = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(again.code, WRONG, "{again}");
    has(&again.err, &["works on `ACME-S01-T01` already"]);
}

#[test]
fn what_a_person_has_moved_is_not_moved_back_for_a_reason_of_before() {
    let never: String = (1..=3).map(|n| revises("implement", n)).collect();
    let world = project(&never, &[("implement", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    assert_eq!(run(&world, "ACME-S01-T01", &[]).code, WAITS);
    let is = |state: &str| {
        let listed = world.ok(&["task", "list"]);
        assert_eq!(listed, format!("ACME-S01-T01  {state}  Greet\n"));
    };
    is("escalated");
    let id = world.latest();
    let refused = world.refused(&["rewind", &id, "implement"]);
    has(&refused, &["is escalated, so no run can work on it", "forge task unblock ACME-S01-T01"]);
    world.ok(&["task", "unblock", "ACME-S01-T01", "mine"]);
    world.ok(&["abandon", "--yes"]);
    is("implemented");
    let rewound = world.forge(&["rewind", &id, "implement"]);
    assert_eq!(rewound.code, WAITS, "it is sent back again: {rewound}");
    let history = world.ok(&["task", "show", "ACME-S01-T01", "-v"]);
    assert_eq!(history.matches("work began in").count(), 2, "{history}");
}

#[test]
fn what_can_only_be_an_id_is_never_a_request() {
    let world = project("", &[]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    let refused = run(&world, "ACME-S01-T10", &[]);
    assert_eq!(refused.code, WRONG, "{refused}");
    has(&refused.err, &["there is no record `ACME-S01-T10`; did you mean `ACME-S01-T01`?"]);
}

#[test]
fn a_pipeline_with_the_name_of_a_flow_is_refused() {
    let world = project("", &[]);
    let settings = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write(
        "forge.toml",
        format!("{settings}[pipelines.task]\nphases = [\"implement\", \"commit\"]\n"),
    );
    world.git(&["commit", "--quiet", "-am", "a pipeline"]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "pipeline=task"]);
    let refused = run(&world, "ACME-S01-T01", &["--dry-run"]);
    has(&refused.err, &["`task` is both a flow and a pipeline of the settings"]);
}

#[test]
fn the_files_of_records_are_not_in_the_way_of_a_merge() {
    let world = project("", &[("implement", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "the records"]);
    assert_eq!(run(&world, "ACME-S01-T01", &[]).code, DONE);
    world.ok(&["task", "show", "ACME-S01-T01", "-v"]);
    assert!(!world.git(&["status", "--porcelain"]).is_empty(), "its file is written");
    world.ok(&["merge", "--yes"]);
    assert_eq!(fs::read_to_string(world.repo.join("src/greet")).unwrap(), "a word\n");
}

#[test]
fn a_task_whose_first_phase_failed_goes_on_once_that_is_answered() {
    let crash = |attempt: u32| {
        format!("[[play]]\nrole = \"engineer-plan\"\nattempt = {attempt}\nexit = 3\n")
    };
    let world = project(&format!("{}{}", crash(1), crash(2)), &[("implement", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    let said = run(&world, "ACME-S01-T01", &[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&world.ok(&["task", "list"]), &["ACME-S01-T01  escalated  Greet"]);
    let said = finish(&mut world.command_as_it_is(&["retry"]));
    assert_eq!(said.code, DONE, "{said}");
    has(&world.ok(&["task", "list"]), &["ACME-S01-T01  committed  Greet"]);
    let history = world.ok(&["task", "show", "ACME-S01-T01", "-v"]);
    has(&history, &["moved from draft to escalated", "moved from escalated to draft"]);
}

#[test]
fn a_record_whose_file_breaks_a_rule_is_neither_run_nor_checked_until_it_is_fixed() {
    let world = project("", &[("tasks.ACME-S01-T01/*", "src/greet")]);
    world.ok(&["sprint", "new", "First"]);
    world.ok(&["task", "new", "Greet", "sprintId=ACME-S01", "writes=src/greet"]);
    let file = ".forge/work/tasks/ACME-S01-T01.json";
    let read = |file: &str| fs::read_to_string(world.repo.join(file)).unwrap();
    let right = read(file);
    world.write(file, right.replace("\"title\"", "\"titel\""));
    for said in [
        run(&world, "ACME-S01-T01", &[]),
        run(&world, "ACME-S01", &[]),
        world.forge(&["gate", "check", "plan", "ACME-S01-T01"]),
    ] {
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &[file, "titel", "forge work write ACME-S01-T01"]);
    }
    world.write(file, &right);
    let sprint = ".forge/work/sprints/ACME-S01.json";
    world.write(sprint, read(sprint).replace("First", "Second"));
    world.ok(&["gate", "check", "plan", "ACME-S01-T01"]);
    has(&world.ok(&["sprint", "show", "ACME-S01"]), &["Second", "changed in the file: title"]);
}
