//! What happened in the phases of a run, as records: one for each call of an agent, and what stopped the work. That they add up to
//! the ledger is looked at in every story, by `invariants.rs`.

use std::collections::BTreeMap;

use forge_core::{
    event::{Answer, PlannedTaskIds, Receipt, RunSubject, Start},
    friction::FrictionReport,
    item::Item,
    money::Spent,
    verdict::PhaseVerdict,
    view::{
        PhaseAction, PhaseEvent, TokenSource, friction, friction_markdown, phase_events,
        phase_total, statistics_markdown,
    },
    work::WorkKind,
};

use crate::world::{World, after, block, fault, revise, start_of, unread, writes};

const SPRINT: &str = include_str!("../../../../flows/sprint/flow.toml");
const TASK: &str = include_str!("../../../../flows/task/flow.toml");

fn about(kind: WorkKind, id: &str, text: &str) -> Start {
    let name = kind.as_str();
    let mut start = start_of(name, &[(name, text)], &[]);
    let item = Item { id: id.to_owned(), ..Item::default() };
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

fn task() -> World {
    World::of(about(WorkKind::Task, "ACME-S01-T01", TASK))
}

fn events_as(run: &str, world: &World) -> Vec<PhaseEvent> {
    let records = world.records();
    let facts = records.iter().flat_map(|record| record.facts.iter().map(|f| (record.at, f)));
    phase_events(run, facts)
}

fn events(world: &World) -> Vec<PhaseEvent> {
    events_as("r1", world)
}

/// Phase, iteration, action and verdict of each, a line for each.
fn lines(world: &World) -> Vec<String> {
    let line = |event: &PhaseEvent| {
        let verdict = event.verdict.map(|verdict| format!(" {}", verdict.as_str()));
        let (phase, iteration) = (&event.phase, event.iteration);
        format!("{phase} {iteration} {}{}", event.action.as_str(), verdict.unwrap_or_default())
    };
    events(world).iter().map(line).collect()
}

#[test]
fn each_phase_has_one_record_with_all_that_is_known_of_it() {
    let world = task().played();
    assert_eq!(
        lines(&world),
        [
            "plan 1 complete n/a",
            "review-plan 1 complete approved",
            "implement 1 complete n/a",
            "review-code 1 complete approved",
            "validate 1 complete approved",
            "approve 1 complete approved",
        ]
    );
    let events = events(&world);
    let plan = &events[0];
    assert_eq!(
        (plan.record.as_deref(), plan.task.as_deref()),
        (Some("ACME-S01-T01"), Some("ACME-S01-T01"))
    );
    assert_eq!((&*plan.role, &*plan.summary), ("engineer-plan", "did plan#1"));
    assert_eq!(plan.tokens.unwrap().total(), 11);
    assert_eq!(plan.token_source, TokenSource::Reported);
    assert!(plan.started_at.unwrap() < plan.ended_at.unwrap());
    assert_eq!(phase_total(&events).calls, 6);
}

#[test]
fn a_phase_that_is_under_way_has_begun_and_no_end() {
    let world = task().begin();
    assert_eq!(lines(&world), ["plan 1 start"]);
    let begun = &events(&world)[0];
    assert_eq!(
        (begun.tokens, begun.cost, begun.took_ms),
        (None, None, None),
        "unknown is not zero"
    );
    assert_eq!(phase_total(&events(&world)).calls, 0);
}

#[test]
fn no_iteration_takes_the_place_of_another() {
    let world = task()
        .verdict("plan#1/review-plan#1", revise(1))
        .verdict("implement#1/validate#1", revise(1))
        .played();
    let lines = lines(&world);
    for line in [
        "plan 1 complete n/a",
        "review-plan 1 complete revision",
        "plan 2 complete n/a",
        "review-plan 2 complete approved",
        "implement 2 complete n/a",
        "validate 2 complete approved",
        // It looked at both attempts; approval at one only.
        "review-code 2 complete approved",
        "approve 1 complete approved",
    ] {
        assert_eq!(lines.iter().filter(|known| *known == line).count(), 1, "{line}: {lines:?}");
    }
}

#[test]
fn an_agent_without_a_result_is_called_again_and_then_a_person_is() {
    let world =
        task().outcome("plan#1", fault("it crashed")).outcome("plan#2", fault("again")).played();
    assert_eq!(
        lines(&world),
        ["plan 1 subagent_retry unknown", "plan 2 subagent_escalated unknown", "plan 2 escalated"]
    );
    assert_eq!(events(&world)[0].notes, ["it crashed"]);
}

#[test]
fn a_verdict_that_cannot_be_read_is_no_verdict() {
    let world = task().ruling("plan#1/review-plan#1", unread("no JSON")).played();
    let lines = lines(&world);
    assert_eq!(
        lines[1..3],
        ["review-plan 1 verdict_malformed unknown", "review-plan 1 complete approved"]
    );
}

#[test]
fn a_review_that_left_no_result_is_called_again_as_work_is() {
    let missing = "no `result.json` in the outbox";
    let world = task().ruling("plan#1/review-plan#1", unread(missing)).played();
    assert_eq!(lines(&world)[1], "review-plan 1 subagent_retry unknown");
}

#[test]
fn a_note_of_a_crash_has_no_protocol_and_says_how_it_ended() {
    let what = "{\"type\":\"spent\",\"input\":1}\nno memory\nkilled by signal 9";
    let world = task().outcome("plan#1", fault(what)).played();
    assert_eq!(events(&world)[0].notes, ["no memory\nkilled by signal 9"]);
}

#[test]
fn planned_tasks_have_ids_of_two_digits_where_their_run_began_so() {
    for (ids, id) in
        [(PlannedTaskIds::AsPlanned, "ACME-S01-T1"), (PlannedTaskIds::TwoDigits, "ACME-S01-T01")]
    {
        let mut start = about(WorkKind::Sprint, "ACME-S01", SPRINT);
        start.about.as_mut().unwrap().task_ids = ids;
        let world = World::of(start).auto().list("plan", vec![writes("T1", "a")]).played();
        let tasks: Vec<Option<String>> =
            events(&world).into_iter().map(|event| event.task).collect();
        assert!(tasks.contains(&Some(id.to_owned())), "{tasks:?}");
    }
}

#[test]
fn a_check_of_forges_own_is_told_only_where_it_fails() {
    let world = task().verdict("implement#1/verify#1", revise(1)).played();
    let lines = lines(&world);
    assert!(lines.contains(&"verify 1 gate_failed revision".to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("form")), "{lines:?}");
}

fn sprint() -> World {
    let tasks = vec![writes("T1", "a"), after(writes("T2", "b"), "T1"), writes("T3", "c")];
    World::of(about(WorkKind::Sprint, "ACME-S01", SPRINT)).auto().list("plan", tasks)
}

#[test]
fn tasks_of_a_sprint_are_named_by_their_records_and_what_is_left_is_skipped() {
    let world = sprint()
        .verdict("tasks.T1/implement#1/approve#1", block("no licence"))
        .answer(1, Answer::GiveUp, "")
        .played();
    let events = events(&world);
    let has = |task: &str, action: PhaseAction| {
        events.iter().any(|event| event.task.as_deref() == Some(task) && event.action == action)
    };
    assert!(has("ACME-S01-T1", PhaseAction::Escalated));
    assert!(has("ACME-S01-T1", PhaseAction::TaskSkipped));
    assert!(has("ACME-S01-T2", PhaseAction::TaskSkipped));
    assert!(has("ACME-S01-T3", PhaseAction::Complete));
    assert!(events.iter().all(|event| event.sprint.as_deref() == Some("ACME-S01")));
    let text = statistics_markdown(&events);
    assert!(text.contains("| ACME-S01-T3 | approve | 1 | 0 | 0 | 0 |"), "{text}");
    assert!(text.contains("- ACME-S01-T2 tasks: `T2` was not finished"), "{text}");
    assert_eq!(text, statistics_markdown(&events), "the same facts, the same bytes");
}

#[test]
fn what_a_rewound_run_shares_with_another_is_that_ones() {
    let world = task().verdict("plan#1/review-plan#1", revise(1)).played();
    let rewound = world.rewound("implement").unwrap();
    let own = events_as("r2", &rewound);
    assert!(own.iter().any(|event| event.run != "r2"), "{own:?}");
    let both: Vec<PhaseEvent> =
        events(&world).into_iter().chain(events_as("r2", &rewound)).collect();
    let shared = own.iter().filter(|event| event.run != "r2").count();
    assert!(shared > 0 && usize::try_from(phase_total(&both).calls).unwrap() <= both.len());
}

#[test]
fn friction_is_added_up_by_role_and_skill() {
    let report: FrictionReport = serde_json::from_str(
        r#"[{"kind":"skill_missing","skill":"migrations","issue":"none says how"},{"kind":"x_slow","issue":"the tests are slow","evidence":"9m"}]"#,
    )
    .unwrap();
    let left =
        || Receipt { friction: report.entries.clone(), ..Receipt::from_spent(Spent::NOTHING) };
    let world = sprint()
        .leaves("tasks.T1/implement#1", left())
        .leaves("tasks.T3/implement#1", left())
        .played();
    let view = friction(&events(&world));
    let rows: Vec<(&str, &str, &str, u32, u32)> = view
        .rows
        .iter()
        .map(|row| (&*row.role, &*row.skill, row.kind.as_str(), row.count, row.places))
        .collect();
    assert_eq!(
        rows,
        [("engineer", "", "x_slow", 2, 2), ("engineer", "migrations", "skill_missing", 2, 2)]
    );
    assert_eq!(view.entries.len(), 4);
    let tasks: Vec<Option<&str>> = view.entries.iter().map(|entry| entry.task.as_deref()).collect();
    assert!(
        tasks.contains(&Some("ACME-S01-T1")) && tasks.contains(&Some("ACME-S01-T3")),
        "{tasks:?}"
    );
    let text = friction_markdown(&view);
    assert!(text.contains("| engineer | migrations | skill_missing | 2 | 2 |"), "{text}");
    assert!(text.contains("  > 9m"), "{text}");
    assert!(friction_markdown(&friction(&[])).contains("Nothing was reported."));
    let once: Vec<PhaseEvent> = [events(&world), events(&world)].concat();
    assert_eq!(friction(&once), view, "what two runs share counts once");
}

#[test]
fn a_blocked_review_asks_for_revision_and_says_why() {
    let world = task().verdict("implement#1/review-code#1", block("no licence")).played();
    let events = events(&world);
    let review =
        events.iter().find(|event| event.phase == "review-code" && event.is_call()).unwrap();
    assert_eq!(review.verdict, Some(PhaseVerdict::Revision));
    assert_eq!(review.notes, ["no licence"]);
}
