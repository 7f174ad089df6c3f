//! Gates as text: what must hold before a phase begins, and what its work must have left.

use std::collections::BTreeMap;

use forge_core::{
    Report, Run,
    event::{Answer, Blob, Choice, End, Event, PlannedTaskIds, RunSubject, UnmetKind, UnmetNeed},
    flow::{Check, Flow},
    id::UnitId,
    item::Item,
    needs::{NeedsSubject, NeedsWorld, record_of_unit, unmet},
    run::Phase,
    work::{FieldValue, WorkId, WorkKind, WorkRecord, WorkState},
};

use crate::world::{World, fault, item, partial, revises, start_of};

const FLOW: &str = r#"
name = "task"
blocks = '''
```gates phase=make
artifact {engineering}/sprints/{sprint}/{task}/PLAN.md min=200
after review-plan = approved
forbid task.status in [blocked, escalated]
```
```gates phase=commit
after approve = approved
```
```gates phase=approve
after plan = n/a
```
'''
[[stage]]
name = "plan"
agent = "p"
writes = ["PLAN.md"]
gates = [{ name = "review-plan", review = "s" }]
[[stage]]
name = "make"
agent = "m"
gates = [{ name = "approve", review = "a" }]
[[stage]]
name = "commit"
gates = [{ human = "Well?" }]
"#;

fn unmet_plan() -> Vec<UnmetNeed> {
    let (subject, want) = ("PLAN.md".to_owned(), "200 bytes".to_owned());
    vec![UnmetNeed { kind: UnmetKind::ArtifactMissing, subject, want, got: String::new() }]
}

fn world() -> World {
    World::of(start_of("task", &[("task", FLOW)], &[]))
}

fn planned() -> World {
    let mut world = world().begin();
    world.end("plan#1");
    world.end("plan#1/review-plan#1");
    world
}

fn unit(name: &str) -> UnitId {
    name.parse().unwrap()
}

fn met(world: &mut World, name: &str, gate: Option<&str>) {
    world.report(Report::NeedsMet { unit: unit(name), gate: gate.map(str::to_owned) });
}

fn not_met(world: &mut World, name: &str, gate: Option<&str>) {
    let gate = gate.map(str::to_owned);
    world.report(Report::NeedsUnmet { unit: unit(name), gate, unmet: unmet_plan() });
}

#[test]
fn nothing_begins_before_what_it_needs_was_seen() {
    let mut world = planned();
    assert_eq!(world.wanted(), ["needs of make"], "no agent has been started");
    met(&mut world, "make", None);
    assert_eq!(world.wanted(), ["make#1"]);
    world.end("make#1");
    assert_eq!(world.wanted(), ["needs of make/approve"], "a review is looked at before, too");
    met(&mut world, "make", Some("approve"));
    world.end("make#1/approve#1");
    assert_eq!(world.wanted(), ["needs of commit"], "and a row that is only its gates");
    met(&mut world, "commit", None);
    world.say(1, Answer::Approve, "");
    world.is(&Phase::Over(End::Done));
}

#[test]
fn what_is_missing_is_asked_about_at_once_and_costs_no_attempt() {
    let mut world = planned();
    not_met(&mut world, "make", None);
    world.says("Q1 asks about make: This stage cannot begin: PLAN.md is missing. What now?");
    assert_eq!(world.options(1), [Choice::Retry, Choice::GiveUp]);
    assert_eq!((world.unit("make").attempt, world.unit("make").misses), (0, 0));
    world.say(1, Answer::Retry, "");
    assert_eq!(world.wanted(), ["needs of make"], "it is looked at again, not passed");
    not_met(&mut world, "make", None);
    world.say(2, Answer::GiveUp, "");
    world.is(&Phase::Over(End::Failed));
}

#[test]
fn a_review_that_lacks_something_asks_and_is_looked_at_again() {
    let mut world = planned();
    met(&mut world, "make", None);
    world.end("make#1");
    not_met(&mut world, "make", Some("approve"));
    assert_eq!(world.options(1), [Choice::Retry, Choice::GiveUp]);
    world.say(1, Answer::Retry, "");
    met(&mut world, "make", Some("approve"));
    assert_eq!(world.wanted(), ["make#1/approve#1"]);
}

#[test]
fn each_attempt_is_looked_at_for_itself() {
    let mut world = planned();
    met(&mut world, "make", None);
    world.ends("make#1", partial("half"));
    assert_eq!(world.wanted(), ["needs of make"]);
    met(&mut world, "make", None);
    world.end("make#2");
    met(&mut world, "make", Some("approve"));
    world.rules("make#2/approve#1", revises(1));
    assert_eq!(world.wanted(), ["needs of make"], "sent back");
    met(&mut world, "make", None);
    world.ends("make#3", fault("it crashed"));
    assert_eq!(world.wanted(), ["needs of make"], "tried again");
}

#[test]
fn a_look_that_comes_too_late_or_for_something_else_means_nothing() {
    let mut world = planned();
    let none = world.report(Report::NeedsMet { unit: unit("make"), gate: Some("approve".into()) });
    assert_eq!(none.facts, []);
    assert_eq!(world.report(Report::NeedsMet { unit: unit("commit"), gate: None }).facts, []);
    world.pause();
    assert_eq!(world.wanted(), [] as [&str; 0], "nothing is looked at in a run that is held");
    assert_eq!(world.report(Report::NeedsMet { unit: unit("make"), gate: None }).facts, []);
    world.resume();
    assert_eq!(world.wanted(), ["needs of make"]);
    met(&mut world, "make", None);
    let late = Report::NeedsUnmet { unit: unit("make"), gate: None, unmet: unmet_plan() };
    assert_eq!(world.report(late).facts, []);
}

#[test]
fn a_rewound_unit_is_looked_at_again() {
    let mut world = planned();
    met(&mut world, "make", None);
    world.end("make#1");
    let again = world.rewound("make").unwrap();
    assert_eq!(again.wanted(), ["needs of make"]);
}

#[test]
fn what_was_seen_survives_every_crash() {
    world().survives_every_crash();
}

#[test]
fn blocks_of_a_role_are_for_the_phases_that_it_plays() {
    let role = "```gates phase=make\nafter plan = n/a\n```\n```outputs phase=make\nartifact {engineering}/bugs/{bug}/DONE.md\n```\n";
    let plain = FLOW.replace("phase=make", "phase=approve").replacen(
        "```gates phase=approve\nafter plan = n/a\n```\n",
        "",
        1,
    );
    let texts = |key: &str| {
        BTreeMap::from([("task".to_owned(), plain.clone()), (key.to_owned(), role.to_owned())])
    };
    let flow = Flow::parse("task", &texts("roles/m")).unwrap();
    assert_eq!(flow.stages[1].needs.len(), 1);
    let first = &flow.stages[1].gates[0];
    assert!(first.name == "outputs" && matches!(first.check, Check::Outputs { .. }));
    let error = Flow::parse("task", &texts("roles/p")).unwrap_err().to_string();
    assert!(error.contains("the role does not play in a phase `make`"), "{error}");
}

#[test]
fn a_name_that_does_not_exist_is_refused_and_never_passed() {
    let with = |block: &str| {
        let text = FLOW.replacen("blocks = '''\n", &format!("blocks = '''\n{block}\n"), 1);
        let texts = BTreeMap::from([("task".to_owned(), text)]);
        Flow::parse("task", &texts).unwrap_err().to_string()
    };
    for (block, says) in [
        ("```gates phase=nowhere\n```", "there is no phase `nowhere`"),
        ("```gates phase=plan\nafter nothing = approved\n```", "there is no phase `nothing`"),
        ("```gates phase=plan\nsomething else\n```", "line 2: unknown directive `something`"),
        ("```gates phase=make\n```", "a second `gates` block for the phase `make`"),
        ("```outputs phase=approve\n```", "which is a check and not a stage"),
    ] {
        let said = with(block);
        assert!(said.contains(says), "{block}: {said}");
    }
}

/// What is outside, by hand.
#[derive(Default)]
struct Outside {
    records: BTreeMap<String, WorkRecord>,
    files: BTreeMap<String, u64>,
    artifact: u64,
    is_unreadable: bool,
}

impl NeedsWorld for Outside {
    fn record(&self, id: &WorkId) -> Result<Option<WorkRecord>, String> {
        if self.is_unreadable {
            return Err("the records cannot be read".to_owned());
        }
        Ok(self.records.get(id.as_str()).cloned())
    }

    fn artifact_bytes(&self, _: &Blob) -> Result<u64, String> {
        Ok(self.artifact)
    }

    fn file_bytes(&self, path: &str) -> Result<Option<u64>, String> {
        Ok(self.files.get(path).copied())
    }
}

fn record(kind: WorkKind, id: &str, state: WorkState, fields: &[(&str, &str)]) -> WorkRecord {
    let text = |(name, value): &(&str, &str)| {
        let value = match value.split_once(',') {
            Some((a, b)) => FieldValue::List([a, b].map(|one| FieldValue::Text(one.into())).into()),
            None => FieldValue::Text((*value).to_owned()),
        };
        ((*name).to_owned(), value)
    };
    let id: WorkId = id.parse().unwrap();
    let fields = fields.iter().map(text).collect();
    WorkRecord { kind, id, rev: 1, state, left: None, run: None, allowed: None, fields }
}

fn outside() -> Outside {
    let task = record(
        WorkKind::Task,
        "A-S01-T01",
        WorkState::Blocked,
        &[("sprintId", "A-S01"), ("writes", "src,tests")],
    );
    let sprint = record(WorkKind::Sprint, "A-S01", WorkState::Active, &[]);
    let records = [task, sprint].map(|record| (record.id.to_string(), record));
    Outside { records: records.into(), artifact: 10, ..Outside::default() }
}

/// What does not hold of some directives before `make`, in words.
fn looked(world: &World, about: Option<&str>, outside: &Outside, lines: &str) -> Vec<String> {
    let block = format!("```gates phase=make\n{lines}\n```");
    let start = FLOW.find("```gates phase=make").unwrap();
    let end = start + FLOW[start..].find("```\n").unwrap() + 4;
    let text = format!("{}{block}\n{}", &FLOW[..start], &FLOW[end..]);
    let flow = Flow::parse("task", &BTreeMap::from([("task".to_owned(), text)])).expect(lines);
    let subject = NeedsSubject {
        unit: Some((&world.run, unit("make"))),
        record: about.map(|id| id.parse().unwrap()),
        engineering: Some("engineering".to_owned()),
    };
    unmet(&subject, &flow.stages[1].needs, outside).iter().map(ToString::to_string).collect()
}

#[test]
fn every_directive_holds_or_says_what_there_is() {
    let (world, outside) = (planned(), outside());
    let look = |lines: &str| looked(&world, Some("A-S01-T01"), &outside, lines);
    let plan = "artifact {engineering}/sprints/{sprint}/{task}/PLAN.md";
    for (lines, says) in [
        (format!("{plan} min=10"), ""),
        (format!("{plan} min=11"), "PLAN.md has 10 bytes; at least 11 are needed"),
        (plan.replace("PLAN", "NO"), "NO.md is missing"),
        (
            "artifact docs/{sprint}/x.md".into(),
            "docs/A-S01/x.md is missing; a run has its own copy of the code, to which `forge open` and `forge edit --code` bring it",
        ),
        (
            "artifact {engineering}/x.md".into(),
            "engineering/x.md is missing; a run has its own copy of the code, to which `forge open` and `forge edit --code` bring it",
        ),
        ("artifact docs/{bug}.md".into(), "docs/{bug}.md: `A-S01-T01` is a task, which has no bug"),
        (
            "artifact {engineering}/bugs/{bug}/PLAN.md".into(),
            "{engineering}/bugs/{bug}/PLAN.md: `A-S01-T01` is a task, which has no bug",
        ),
        ("require task.status == blocked".into(), ""),
        ("require task.status in [draft, blocked]".into(), ""),
        (
            "require task.status == draft".into(),
            "the status of the task must be draft, and is blocked",
        ),
        ("require sprint.status == active".into(), ""),
        ("require task.writes == tests".into(), ""),
        ("require task.pipeline == x".into(), "the pipeline of the task must be x, and is not set"),
        ("require task.estimate != S".into(), ""),
        ("forbid task.estimate == S".into(), ""),
        ("forbid task.status in [blocked]".into(), "the status of the task is blocked"),
        (
            "forbid bug.status == fixed".into(),
            "bug.status: `A-S01-T01` is a task, which has no bug",
        ),
        ("forbid feature.status == draft".into(), ""),
        ("after review-plan = approved".into(), ""),
        ("after plan = n/a".into(), ""),
        (
            "after review-plan = revision".into(),
            "review-plan has the verdict approved; revision is needed",
        ),
        ("after approve = approved".into(), "approve has no verdict yet; approved is needed"),
    ] {
        assert_eq!(look(&lines).join("; "), says, "{lines}");
    }
}

#[test]
fn all_that_is_missing_is_named_files_first() {
    let (world, outside) = (planned(), outside());
    let lines = "after approve = approved\nforbid task.status == blocked\nrequire task.status == draft\nartifact no.md";
    assert_eq!(
        looked(&world, Some("A-S01-T01"), &outside, lines),
        [
            "no.md is missing; a run has its own copy of the code, to which `forge open` and `forge edit --code` bring it",
            "the status of the task must be draft, and is blocked",
            "the status of the task is blocked",
            "approve has no verdict yet; approved is needed",
        ]
    );
}

#[test]
fn what_cannot_be_read_does_not_hold_and_work_without_a_record_has_no_fields() {
    let (world, mut outside) = (planned(), outside());
    let lines = "forbid task.status == blocked";
    assert_eq!(looked(&world, None, &outside, lines), [] as [&str; 0]);
    assert_eq!(
        looked(&world, Some("A-S01-T09"), &outside, lines),
        ["task.status: there is no record `A-S01-T09`"]
    );
    outside.is_unreadable = true;
    assert_eq!(
        looked(&world, Some("A-S01-T01"), &outside, lines),
        ["task.status: the records cannot be read"]
    );
}

#[test]
fn a_task_of_a_sprint_is_looked_up_as_the_record_that_it_is() {
    let flow = "name = \"sprint\"\nlists = [\"tasks\"]\n[[stage]]\nname = \"plan\"\nagent = \"p\"\nlist = \"tasks\"\n[[stage]]\nname = \"tasks\"\neach = \"tasks\"\n  [[stage.stage]]\n  name = \"make\"\n  agent = \"m\"\n";
    let about = || {
        let item = Item { id: "A-S01".into(), ..Item::default() };
        Some(Box::new(RunSubject {
            kind: WorkKind::Sprint,
            item,
            left_out: Vec::new(),
            reasons: BTreeMap::new(),
            sprint: None,
            task_ids: PlannedTaskIds::default(),
        }))
    };
    let id = |run: &Run, name: &str| record_of_unit(run, &unit(name).scope).unwrap().to_string();
    let mut start = start_of("sprint", &[("sprint", flow)], &[]);
    start.about = about();
    let mut planned = World::of(start.clone()).list("plan", vec![item("T1")]).begin();
    planned.end("plan#1");
    assert_eq!(id(&planned.run, "tasks.T1/make"), "A-S01-T1");
    assert_eq!(id(&planned.run, "plan"), "A-S01");
    start.lists = BTreeMap::from([("tasks".to_owned(), vec![item("A-S01-T07")])]);
    let given = World::of(start).begin();
    assert_eq!(id(&given.run, "tasks.A-S01-T07/make"), "A-S01-T07");
}

#[test]
fn what_was_seen_is_a_fact() {
    let mut world = planned();
    let record = world.report(Report::NeedsMet { unit: unit("make"), gate: None });
    assert!(matches!(record.facts[0], Event::NeedsMet { .. }));
    assert!(matches!(record.facts[1], Event::AttemptStarted { .. }), "in the same record");
}
