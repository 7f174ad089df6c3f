//! What a run means for the records of work that it is about.

use std::collections::BTreeMap;

use forge_core::{
    Report,
    event::{Answer, Outcome, PlannedTaskIds, Receipt, RunSubject, Start, UnmetNeed},
    followed::{FollowedRecord, followed, record_for},
    id::Scope,
    item::Item,
    money::Spent,
    view::{PhaseAction, RunRow, phase_events},
    work::{FollowedState, WorkKind, WorkState},
};

use crate::world::{World, after, block, fault, item, revise, start_of, writes};

const TASK: &str = include_str!("../../../../flows/task/flow.toml");
const SPRINT: &str = include_str!("../../../../flows/sprint/flow.toml");
/// Where a record stands that needs a person.
const ESCALATED: Option<FollowedState> = Some(FollowedState::At(WorkState::Escalated));
const BUG: &str = include_str!("../../../../flows/bug/flow.toml");

fn about(kind: WorkKind, text: &str) -> Start {
    let name = kind.as_str();
    let mut start = start_of(name, &[(name, text)], &[]);
    let item = Item { id: "ACME-S01".to_owned(), ..Item::default() };
    start.about = Some(Box::new(RunSubject {
        kind,
        item,
        left_out: Vec::new(),
        reasons: BTreeMap::new(),
        sprint: None,
        task_ids: PlannedTaskIds::default(),
    }));
    start
}

/// All states that a record was meant to be in, one after the other.
fn states(world: &World, id: &str) -> Vec<&'static str> {
    let mut states: Vec<&'static str> = Vec::new();
    for kept in 1..=world.journal.len() {
        let run = world.cut(kept).run;
        let of = |record: &FollowedRecord| record.id == id;
        let state = followed(&run).into_iter().find(of).and_then(|record| record.to);
        if let Some(FollowedState::At(state)) = state
            && let state = state.as_str()
            && states.last() != Some(&state)
        {
            states.push(state);
        }
    }
    states
}

#[test]
fn a_task_goes_through_its_states_as_its_run_goes_on() {
    let world = World::of(about(WorkKind::Task, TASK)).played();
    assert_eq!(
        states(&world, "ACME-S01"),
        ["planned", "implementing", "implemented", "review-approved", "approved", "committed"]
    );
}

#[test]
fn what_is_sent_back_must_be_revised() {
    let world = World::of(about(WorkKind::Task, TASK))
        .verdict("plan#1/review-plan#1", revise(1))
        .verdict("implement#1/validate#1", revise(1))
        .played();
    let states = states(&world, "ACME-S01");
    assert_eq!(states[..3], ["planned", "plan-revision-required", "planned"]);
    let validated = states.iter().position(|state| *state == "review-approved").unwrap();
    assert_eq!(
        states[validated..validated + 3],
        ["review-approved", "implementing", "implemented"]
    );
}

#[test]
fn a_task_that_asks_is_escalated_until_it_is_answered() {
    let mut world = World::of(about(WorkKind::Task, TASK))
        .verdict("implement#1/review-code#1", block("no licence"))
        .played();
    let of = |world: &World| followed(&world.run).remove(0);
    assert_eq!(of(&world).to, ESCALATED);
    let asks = "`review-code` says that no change can fix this: no licence. What now?";
    let why = format!("question Q1 of its run is open: {asks}");
    assert_eq!(of(&world).why, Some(why), "the reason can be read at the record");
    world.say(1, Answer::Revise, "use another one");
    assert_eq!(of(&world).to, Some(FollowedState::At(WorkState::Implementing)));
}

#[test]
fn a_task_that_asked_before_anything_was_done_is_where_it_was_once_it_is_answered() {
    let mut world = World::of(about(WorkKind::Task, TASK)).begin();
    let of = |world: &World| followed(&world.run).remove(0).to;
    assert_eq!(of(&world), Some(FollowedState::Unstopped));
    world.ends("plan#1", fault("it crashed"));
    world.ends("plan#2", fault("it crashed again"));
    assert_eq!(of(&world), ESCALATED);
    world.say(1, Answer::Retry, "");
    assert_eq!(of(&world), Some(FollowedState::Unstopped));
}

#[test]
fn work_that_is_to_be_tried_again_does_not_send_the_plan_back() {
    let until = 60_000;
    let limited = || Outcome::Limited { until, what: "too many requests".to_owned() };
    let mut world = World::of(about(WorkKind::Task, TASK)).begin();
    for call in ["plan#1", "plan#1/form#1", "plan#1/review-plan#1"] {
        world.end(call);
    }
    world.ends("implement#1", limited());
    let of = |world: &World| followed(&world.run).remove(0).to;
    assert_eq!(of(&world), Some(FollowedState::At(WorkState::Implementing)));
}

#[test]
fn a_sprint_and_its_tasks_follow_their_run() {
    let tasks = vec![writes("T1", "a"), after(writes("T2", "b"), "T1"), writes("T3", "c")];
    let world = World::of(about(WorkKind::Sprint, SPRINT))
        .auto()
        .list("plan", tasks)
        .verdict("tasks.T1/implement#1/approve#1", block("no licence"))
        .answer(1, Answer::GiveUp, "")
        .played();
    assert_eq!(states(&world, "ACME-S01"), ["active", "partially-completed", "retrospective-done"]);
    assert_eq!(states(&world, "ACME-S01-T3").last(), Some(&"committed"));
    assert_eq!(states(&world, "ACME-S01-T1").last(), Some(&"escalated"));
    assert_eq!(states(&world, "ACME-S01-T2"), [""; 0]);
    let planned = followed(&world.run).into_iter().filter_map(|record| record.planned);
    assert_eq!(planned.count(), 3, "tasks that the run has planned get records");
}

#[test]
fn tasks_that_were_known_keep_their_records() {
    let mut start = about(WorkKind::Sprint, SPRINT);
    start.lists.insert("tasks".to_owned(), vec![writes("ACME-S01-T07", "a")]);
    let world = World::of(start).played();
    assert_eq!(states(&world, "ACME-S01"), ["active", "completed", "retrospective-done"]);
    assert_eq!(states(&world, "ACME-S01-T07").last(), Some(&"committed"));
    assert!(followed(&world.run).iter().all(|record| record.planned.is_none()));
}

#[test]
fn a_bug_is_in_progress_once_it_was_triaged_and_fixed_when_the_run_is_done() {
    let world = World::of(about(WorkKind::Bug, BUG)).list("triage", vec![item("B1")]).played();
    assert_eq!(states(&world, "ACME-S01"), ["in-progress", "fixed"]);
}

#[test]
fn the_paths_of_a_task_bind_its_run_although_it_has_no_list() {
    let mut start = about(WorkKind::Task, TASK);
    let writes = vec!["src/a".to_owned()];
    let item = Item { id: "ACME-S01-T01".to_owned(), writes: writes.clone(), ..Item::default() };
    start.about = Some(Box::new(RunSubject {
        kind: WorkKind::Task,
        item,
        left_out: Vec::new(),
        reasons: BTreeMap::new(),
        sprint: None,
        task_ids: PlannedTaskIds::default(),
    }));
    let mut world = World::of(start).begin();
    world.end("plan#1");
    let claims = forge_core::path_claims::claims(&world.run);
    assert_eq!(claims.iter().map(|claim| &claim.writes).collect::<Vec<_>>(), [&writes]);
}

#[test]
fn work_is_for_the_task_that_it_is_in_or_for_what_the_run_is_about() {
    let tasks = vec![writes("T1", "a")];
    let mut world = World::of(about(WorkKind::Sprint, SPRINT)).auto().list("plan", tasks);
    let record = |world: &World, unit: &str| {
        let unit: forge_core::id::UnitId = unit.parse().unwrap();
        record_for(&world.run, &unit.scope)
    };
    world = world.played();
    assert_eq!(record(&world, "tasks.T1/implement").as_deref(), Some("ACME-S01-T1"));
    assert_eq!(record(&world, "review").as_deref(), Some("ACME-S01"));
    let mut start = about(WorkKind::Sprint, SPRINT);
    start.lists.insert("tasks".to_owned(), vec![writes("ACME-S01-T07", "a")]);
    let world = World::of(start).auto().played();
    let given = record(&world, "tasks.ACME-S01-T07/plan");
    assert_eq!(given.as_deref(), Some("ACME-S01-T07"), "a record that was there keeps its name");
    let world = World::of(about(WorkKind::Task, TASK)).played();
    assert_eq!(record(&world, "plan").as_deref(), Some("ACME-S01"));
    let bug =
        World::of(about(WorkKind::Bug, BUG)).list("triage", vec![writes("BUG", "a")]).played();
    assert_eq!(record(&bug, "fix.BUG/implement").as_deref(), Some("ACME-S01"));
    assert_eq!(record(&World::feature("S").begin(), "design"), None);
}

#[test]
fn a_run_that_was_abandoned_says_nothing_about_its_records() {
    let mut world = World::of(about(WorkKind::Task, TASK))
        .verdict("implement#1/review-code#1", block("no licence"))
        .played();
    assert_eq!(followed(&world.run)[0].to, ESCALATED);
    world.abandon();
    assert_eq!(followed(&world.run), []);
}

#[test]
fn a_record_in_the_wrong_state_is_not_moved_because_a_gate_says_so() {
    let text = "name = \"task\"\nblocks = '''\n```gates phase=make\nforbid task.status == escalated\n```\n'''\n\
                [[stage]]\nname = \"make\"\nagent = \"m\"\n";
    let of = |subject: &str| {
        let mut world = World::of(about(WorkKind::Task, text)).begin();
        let unmet = vec![UnmetNeed::misconfigured(subject.to_owned(), "wrong".to_owned())];
        let unit = Scope::root().unit("make");
        world.report(Report::NeedsUnmet { unit, gate: None, unmet });
        followed(&world.run).remove(0).to
    };
    assert_eq!(of("task.status"), None);
    assert_eq!(of("PLAN.md"), ESCALATED);
}

#[test]
fn a_task_that_is_taken_without_a_change_is_committed() {
    let nothing = Receipt {
        commit: Some("base".to_owned()),
        tree: Some("tree".to_owned()),
        head: Some("base".to_owned()),
        ..Receipt::from_spent(Spent::NOTHING)
    };
    let mut start = about(WorkKind::Sprint, SPRINT);
    start.base = Some("base".to_owned());
    let world = World::of(start)
        .auto()
        .list("plan", vec![writes("T1", "a")])
        .leaves("tasks.T1/implement#1/commit#1", nothing)
        .answer(1, Answer::Approve, "")
        .played();
    world.says(
        "Q1 asks about tasks.T1/implement: The work is done, and nothing changed. Is that right?",
    );
    assert_eq!(states(&world, "ACME-S01-T1").last(), Some(&"committed"));
}

#[test]
fn tasks_that_were_left_out_at_the_start_are_named_as_not_finished() {
    let mut start = about(WorkKind::Sprint, SPRINT);
    start.lists.insert("tasks".to_owned(), vec![writes("ACME-S01-T07", "a")]);
    start.about.as_mut().unwrap().left_out = vec!["ACME-S01-T08".to_owned()];
    let world = World::of(start).played();
    world.says("tasks: not finished, and not in the result: ACME-S01-T08");
    assert_eq!(
        RunRow::new("r", &world.run).unfinished,
        1,
        "it is told also where all others are done"
    );
    let records = world.records();
    let facts = records.iter().flat_map(|record| record.facts.iter().map(|f| (record.at, f)));
    let events = phase_events("r", facts);
    let skipped = events.iter().find(|event| event.action == PhaseAction::TaskSkipped).unwrap();
    assert_eq!(skipped.notes, ["`ACME-S01-T08` was left out when the sprint began"]);
}

#[test]
fn a_task_that_was_left_out_says_why_and_a_task_of_a_sprint_names_it() {
    let mut start = about(WorkKind::Sprint, SPRINT);
    start.lists.insert("tasks".to_owned(), vec![writes("ACME-S01-T07", "a")]);
    let subject = start.about.as_mut().unwrap();
    subject.left_out = vec!["ACME-S01-T08".to_owned()];
    subject.reasons = [("ACME-S01-T08".to_owned(), "is abandoned".to_owned())].into();
    let events = |world: World| {
        let records = world.played().records();
        let facts = records.iter().flat_map(|record| record.facts.iter().map(|f| (record.at, f)));
        phase_events("r", facts)
    };
    let of_sprint = events(World::of(start));
    let skipped = of_sprint.iter().find(|event| event.action == PhaseAction::TaskSkipped).unwrap();
    assert_eq!(
        skipped.notes,
        ["`ACME-S01-T08` was left out when the sprint began: it is abandoned"]
    );

    let mut start = about(WorkKind::Task, TASK);
    start.about.as_mut().unwrap().sprint = Some("ACME-S01".to_owned());
    let of_task = events(World::of(start));
    assert!(!of_task.is_empty());
    assert!(of_task.iter().all(|event| event.sprint.as_deref() == Some("ACME-S01")));
}
