//! Claude Code plays the flows of records: a bug by the short and by the full route, and a sprint of two tasks in
//! which it is killed once.
//!
//! Not here: what the flows do when reviews send work back (`commands/record_runs.rs`, with the scripted agent).
//! Every document that a gate as text asks for has at least 200 bytes, and the first one in route A has not.

use rustix::process::Signal;
use scripted_model::{ModelRequest, Script, ScriptStep, ToolCall};
use serde_json::{Value, json};

use crate::{
    feature::{call, leaves},
    processes::{kept, signal},
    stage::{Stage, answer, paid},
    world::{DONE, FAILED, Running, World, has},
};

/// Only the full route has this call.
const PLAN_FIX: &str = "fix.BUG/plan-fix#1";
const WRONG_SUM: &str = "echo $(( $1 - $2 ))\n";
const RIGHT_SUM: &str = "echo $(( $1 + $2 ))\n";

/// A document that is long enough for the gates.
fn document(heading: &str) -> String {
    let line = "It says what is to be done, where, and how anybody can see that it is done.\n";
    format!("## {heading}\n\n{}", line.repeat(4))
}

/// A call that leaves a long document.
fn writes(name: &str, artifact: &str, result: Value) -> Vec<ScriptStep> {
    leaves(name, artifact, &document(artifact), result)
}

fn passes(name: &str, artifact: &str) -> Vec<ScriptStep> {
    writes(name, artifact, json!({"summary": "it is good", "verdict": "pass", "findings": []}))
}

fn shown() -> Value {
    json!({"title": "Say it", "approach": "one line", "key_changes": ["a line"], "risk": "low"})
}

fn plans(name: &str, artifact: &str) -> Vec<ScriptStep> {
    writes(name, artifact, json!({"summary": "a plan", "shown": shown()}))
}

/// A call that writes a file of the project and its report.
fn builds(name: &str, file: &str, text: &str) -> Vec<ScriptStep> {
    let report = ToolCall::write("${outbox}/PROGRESS.md", &document("Done"));
    let built = json!({"summary": "built it", "commit": format!("Build {file}")});
    call(
        name,
        [
            ScriptStep::call(ToolCall::bash(&format!("printf '%s' '{text}' > {file}")))
                .and_call(report),
            answer(built),
        ],
    )
}

/// The briefs of these calls reached the model word for word.
fn briefs_reached_the_model(stage: &Stage, run: &str, requests: &[ModelRequest], calls: &[&str]) {
    for call in calls {
        let brief = json!(stage.world.brief(run, call).trim()).to_string();
        let brief = brief.trim_matches('"');
        let reached = |one: &ModelRequest| one.messages.to_string().contains(brief);
        assert!(requests.iter().any(reached), "the brief of {call} reached no model:\n{brief}");
    }
}

/// Starts the run of a record, as a person does who has approved its flow.
fn run_record(stage: &Stage, flow: &str, id: &str) -> Running {
    stage.world.commit();
    stage.world.approve(flow);
    let args = ["run", "-v", id, "--auto", "--yes", "--budget", "9"];
    let mut command = stage.world.command_as_it_is(&args);
    stage.equip(&mut command, stage.key.url());
    Running::of(&mut command)
}

/// Waits for the end of a run that takes longer than one step of it may.
fn ends(mut running: Running) {
    running.until_says("Done");
    let said = running.end();
    assert_eq!(said.code, DONE, "{said}");
}

fn verdicts(stage: &Stage, expected: &[(&str, &str, &str)]) {
    for (id, phase, verdict) in expected {
        let said = stage.world.forge(&["verdict", id, phase]);
        let code = if *verdict == "approved" { DONE } else { FAILED };
        assert_eq!((said.out.trim(), said.code), (*verdict, code), "{id} {phase}: {said}");
    }
}

/// Each of these documents is on the branch of the run as long as its gate wants it, as often as it was left.
fn are_long_enough(world: &World, branch: &str, documents: &[(&str, usize)]) {
    let files = world.git(&["ls-tree", "-r", "--long", branch]);
    for (name, count) in documents {
        let of_name = files.lines().filter(|line| line.ends_with(&format!("/{name}")));
        let bytes = of_name.map(|line| line.split_whitespace().nth(3).unwrap().parse().unwrap());
        let bytes: Vec<u64> = bytes.collect();
        assert_eq!(bytes.len(), *count, "{name} in\n{files}");
        assert!(bytes.iter().all(|bytes| *bytes >= 200), "{name} in\n{files}");
    }
}

/// No process is left, and all these briefs reached the model. Returns what its answers cost.
fn ended_well(stage: Stage, run: &str, calls: &[&str]) -> u64 {
    assert_eq!(stage.left_over(), [], "nobody is left");
    assert!(stage.server.strays().is_empty(), "{:?}", stage.server.strays());
    briefs_reached_the_model(&stage, run, &stage.key.requests(), calls);
    paid(&stage.key.finish())
}

fn triages(name: &str, text: &str, route: &str) -> Vec<ScriptStep> {
    let bug = json!([{"id": "BUG", "title": "It subtracts", "after": [], "writes": [],
        "tags": {"route": route, "tests": "none"}, "must": ["`sh sum.sh 2 3` says 5"]}]);
    let result = json!({"summary": "it subtracts", "shown": shown(), "lists": {"bug": bug}});
    leaves(name, "TRIAGE.md", text, result)
}

/// A bug that is reported, fixed and merged by these calls.
fn fixes_a_bug(
    calls: &[&str],
    plays: &[Vec<ScriptStep>],
    expected: &[(&str, &str)],
    documents: &[(&str, usize)],
) {
    let script = Script::new(plays.concat()).for_each_session().fail_after_last();
    let Some(stage) = Stage::solo(script) else { return };
    let world = &stage.world;
    world.write("sum.sh", WRONG_SUM);
    world.git(&["add", "sum.sh"]);
    world.git(&["commit", "--quiet", "-m", "a sum"]);
    world.ok(&["bug", "new", "The sum is wrong", "severity=minor", "--id", "ACME-BUG-001"]);
    ends(run_record(&stage, "bug", "ACME-BUG-001"));
    let run = world.latest();
    assert_eq!(world.ok(&["bug", "list"]), "ACME-BUG-001  fixed  The sum is wrong\n");
    let expected: Vec<(&str, &str, &str)> =
        expected.iter().map(|(phase, verdict)| ("ACME-BUG-001", *phase, *verdict)).collect();
    verdicts(&stage, &expected);
    let branch = world.view(&run)["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["show", &format!("{branch}:sum.sh")]), RIGHT_SUM.trim());
    are_long_enough(world, &branch, documents);
    let is_planned = calls.contains(&PLAN_FIX);
    assert_eq!(world.find_attempt(&run, PLAN_FIX).is_some(), is_planned);
    has(&world.brief(&run, "triage#1"), &["(bug ACME-BUG-001)", "Severity: minor"]);
    let spent = world.view(&run)["spent"].as_u64();
    assert_eq!(spent, Some(ended_well(stage, &run, calls)), "every answer is paid for");
}

#[test]
fn claude_fixes_a_bug_by_the_short_route_after_a_report_that_was_too_short() {
    let calls = [
        "triage#1",
        "triage#2",
        "fix.BUG/implement#1",
        "fix.BUG/implement#1/review-code#1",
        "fix.BUG/implement#1/approve#1",
    ];
    let plays = [
        triages(calls[0], "short\n", "A"),
        triages(calls[1], &document("Cause"), "A"),
        builds(calls[2], "sum.sh", RIGHT_SUM),
        passes(calls[3], "CODE_REVIEW.md"),
        passes(calls[4], "ARCHITECT_APPROVAL.md"),
    ];
    let expected = [("triage", "n/a"), ("review-code", "approved"), ("approve", "approved")];
    fixes_a_bug(&calls, &plays, &expected, &[("TRIAGE.md", 1), ("PROGRESS.md", 1)]);
}

#[test]
fn claude_fixes_a_bug_by_the_full_route_with_a_plan() {
    let calls = [
        "triage#1",
        PLAN_FIX,
        "fix.BUG/plan-fix#1/review-plan#1",
        "fix.BUG/implement#1",
        "fix.BUG/implement#1/review-code#1",
        "fix.BUG/implement#1/approve#1",
    ];
    let plays = [
        triages(calls[0], &document("Cause"), "B"),
        plans(calls[1], "BUG_FIX_PLAN.md"),
        passes(calls[2], "PLAN_REVIEW.md"),
        builds(calls[3], "sum.sh", RIGHT_SUM),
        passes(calls[4], "CODE_REVIEW.md"),
        passes(calls[5], "ARCHITECT_APPROVAL.md"),
    ];
    let expected =
        [("review-plan", "approved"), ("review-code", "approved"), ("approve", "approved")];
    let documents = [("TRIAGE.md", 1), ("BUG_FIX_PLAN.md", 1), ("PROGRESS.md", 1)];
    fixes_a_bug(&calls, &plays, &expected, &documents);
}

/// One task of the sprint, by all its roles. Its builder has this number.
fn task(id: &str, builder: u32, file: &str, text: &str) -> (Vec<String>, Vec<ScriptStep>) {
    let calls: Vec<String> = [
        "plan#1".to_owned(),
        "plan#1/review-plan#1".to_owned(),
        format!("implement#{builder}"),
        format!("implement#{builder}/review-code#1"),
        format!("implement#{builder}/validate#1"),
        format!("implement#{builder}/approve#1"),
    ]
    .map(|call| format!("tasks.{id}/{call}"))
    .into();
    let steps = [
        plans(&calls[0], "PLAN.md"),
        passes(&calls[1], "PLAN_REVIEW.md"),
        builds(&calls[2], file, text),
        passes(&calls[3], "CODE_REVIEW.md"),
        passes(&calls[4], "VALIDATION_REPORT.md"),
        passes(&calls[5], "ARCHITECT_APPROVAL.md"),
    ]
    .concat();
    (calls, steps)
}

#[test]
fn claude_plays_all_roles_of_a_sprint_and_one_that_is_killed_is_tried_again() {
    let half = call(
        "tasks.ACME-S01-T01/implement#1",
        [
            ScriptStep::call(ToolCall::bash("echo half > sum.sh")),
            ScriptStep::say("I go on.").wait_for("half"),
        ],
    );
    let (mut calls, first) = task("ACME-S01-T01", 2, "sum.sh", RIGHT_SUM);
    let (more, second) = task("ACME-S01-T02", 1, "product.sh", "echo $(( $1 * $2 ))\n");
    calls.extend(more);
    calls.extend(["review#1".to_owned(), "retrospective#1".to_owned()]);
    let complete = json!({"summary": "complete", "findings": []});
    let steps = [
        half,
        first,
        second,
        writes("review#1", "SPRINT_COMPLETION_REVIEW.md", complete),
        writes("retrospective#1", "SPRINT_RETROSPECTIVE.md", json!({"summary": "went well"})),
    ];
    let script = Script::new(steps.concat()).for_each_session().fail_after_last();
    let Some(stage) = Stage::solo(script) else { return };
    let world = &stage.world;
    world.ok(&["sprint", "new", "First", "--id", "ACME-S01"]);
    world.ok(&["task", "new", "Sum", "sprintId=ACME-S01", "writes=sum.sh"]);
    let after = "dependencies=ACME-S01-T01";
    world.ok(&["task", "new", "Product", "sprintId=ACME-S01", "writes=product.sh", after]);

    let running = run_record(&stage, "sprint", "ACME-S01");
    stage.key.wait_until_reached("half");
    let kept = kept(&world.repo);
    assert_eq!(kept.len(), 1, "the second task waits for the first: {kept:?}");
    kept[0].agents.iter().for_each(|pid| {
        signal(*pid, Signal::KILL);
    });
    ends(running);
    let run = world.latest();

    assert_eq!(
        world.ok(&["task", "list"]),
        "ACME-S01-T01  committed  Sum\nACME-S01-T02  committed  Product\n"
    );
    has(&world.ok(&["sprint", "list"]), &["ACME-S01  retrospective-done  First"]);
    world.ok(&["work", "check"]);
    let phases = ["review-plan", "review-code", "validate", "approve"];
    for id in ["ACME-S01-T01", "ACME-S01-T02"] {
        verdicts(&stage, &phases.map(|phase| (id, phase, "approved")));
    }
    let branch = world.view(&run)["branch"].as_str().unwrap().to_owned();
    for (file, text) in [("sum.sh", RIGHT_SUM), ("product.sh", "echo $(( $1 * $2 ))\n")] {
        assert_eq!(world.git(&["show", &format!("{branch}:{file}")]), text.trim());
    }
    are_long_enough(world, &branch, &[("PLAN.md", 2), ("PROGRESS.md", 2)]);
    let ended = stage.ended(&run);
    let faults: Vec<&Value> =
        ended.iter().filter(|one| one["outcome"]["fault"].is_object()).collect();
    assert_eq!(faults.len(), 1, "one of all agents was killed: {ended:#?}");
    let again = world.brief(&run, "tasks.ACME-S01-T01/implement#2");
    has(&again, &["This was tried before", "killed by signal 9"]);
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    ended_well(stage, &run, &calls);
}
