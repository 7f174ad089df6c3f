//! Pages of records of work: what is in them, and which files they may replace.

use std::collections::BTreeMap;

use forge_core::{
    event::{PlannedTaskIds, Receipt, RunSubject},
    item::Item,
    money::{Cost, Money, Spent},
    view::{
        pages::{INDEX, MARK, PageFacts, page_changes, pages, plans},
        phase_events,
    },
    work::{FieldValue, Fields, WorkId, WorkKind, WorkRecord, WorkState},
};

use crate::world::{World, revise, start_of, writes};

const SPRINT: &str = include_str!("../../../../flows/sprint/flow.toml");
const TASK: &str = include_str!("../../../../flows/task/flow.toml");
const BUG: &str = include_str!("../../../../flows/bug/flow.toml");

fn id(text: &str) -> WorkId {
    text.parse().unwrap()
}

fn record(kind: WorkKind, name: &str, state: WorkState, fields: &[(&str, &str)]) -> WorkRecord {
    let fields = fields.iter().map(|(name, value)| {
        let text = FieldValue::Text((*value).to_owned());
        let is_list = ["must", "dependencies", "writes"].contains(name);
        let value = if is_list { FieldValue::List(vec![text]) } else { text };
        ((*name).to_owned(), value)
    });
    let fields: Fields = fields.collect();
    WorkRecord { id: id(name), kind, rev: 1, state, left: None, run: None, allowed: None, fields }
}

fn about(kind: WorkKind, text: &str, name: &str) -> World {
    let flow = kind.as_str();
    let mut start = start_of(flow, &[(flow, text)], &[]);
    let item = Item { id: name.to_owned(), ..Item::default() };
    start.about = Some(Box::new(RunSubject {
        kind,
        item,
        left_out: Vec::new(),
        reasons: BTreeMap::new(),
        sprint: None,
        task_ids: PlannedTaskIds::default(),
    }));
    World::of(start)
}

/// A sprint of two tasks, of which one was worked on, and bugs.
fn facts() -> PageFacts {
    let world = about(WorkKind::Task, TASK, "ACME-S01-T01")
        .cost("plan#1", Cost::Known(Money(20_000)))
        .leaves("plan#1", Receipt { took_ms: 61_000, ..Receipt::from_spent(Spent::NOTHING) })
        .verdict("implement#1/review-code#1", revise(1))
        .played();
    let records = world.records();
    let all = records.iter().flat_map(|record| record.facts.iter().map(|f| (record.at, f)));
    let task = |name: &str, state, fields: &[(&str, &str)]| {
        let sprint = [("sprintId", "ACME-S01")];
        record(WorkKind::Task, name, state, &[&sprint, fields].concat())
    };
    PageFacts {
        records: vec![
            task(
                "ACME-S01-T02",
                WorkState::Draft,
                &[("title", "Say | <b>"), ("dependencies", "ACME-S01-T01")],
            ),
            task(
                "ACME-S01-T01",
                WorkState::Committed,
                &[
                    ("title", "Greet"),
                    ("must", "it greets"),
                    ("writes", "src/greet"),
                    ("description", "say hello"),
                ],
            ),
            record(
                WorkKind::Sprint,
                "ACME-S01",
                WorkState::Active,
                &[("title", "First"), ("feature_id", "FEAT-001")],
            ),
            record(WorkKind::Feature, "FEAT-001", WorkState::Active, &[("title", "Words")]),
            record(
                WorkKind::Bug,
                "ACME-BUG-001",
                WorkState::Fixed,
                &[("title", "Old"), ("severity", "minor")],
            ),
            record(
                WorkKind::Bug,
                "ACME-BUG-002",
                WorkState::Reported,
                &[("title", "New"), ("severity", "major")],
            ),
        ],
        events: phase_events("r1", all),
        plans: BTreeMap::from([(
            id("ACME-S01-T01"),
            "# Objective\n\n<!-- hidden\n\n```sh\n# not a heading".to_owned(),
        )]),
    }
}

#[test]
fn pages_show_state_plan_phases_and_cost() {
    let pages = pages(&facts());
    let names: Vec<&str> = pages.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "README.md",
            "bugs/ACME-BUG-001.md",
            "bugs/ACME-BUG-002.md",
            "features/FEAT-001.md",
            "sprints/ACME-S01.md",
            "tasks/ACME-S01-T01.md",
            "tasks/ACME-S01-T02.md"
        ]
    );
    assert!(pages.values().all(|page| page.starts_with(MARK) && page.ends_with('\n')));
    insta::assert_snapshot!("page_index", pages[INDEX]);
    insta::assert_snapshot!("page_sprint", pages["sprints/ACME-S01.md"]);
    insta::assert_snapshot!("page_task", pages["tasks/ACME-S01-T01.md"]);
}

#[test]
fn the_same_facts_give_the_same_bytes_in_whatever_order_they_come() {
    let facts = facts();
    let mut turned = facts.clone();
    turned.records.reverse();
    turned.events.reverse();
    // A rewound run brings what it shares once more.
    turned.events.extend(facts.events.clone());
    assert_eq!(pages(&facts), pages(&turned));
}

#[test]
fn only_what_forge_wrote_is_replaced_or_removed() {
    let wanted = BTreeMap::from([
        ("README.md".to_owned(), format!("{MARK}\nnew\n")),
        ("tasks/A.md".to_owned(), format!("{MARK}\na\n")),
        ("tasks/B.md".to_owned(), format!("{MARK}\nb\n")),
        ("tasks/C.md".to_owned(), format!("{MARK}\nc\n")),
    ]);
    let there = BTreeMap::from([
        ("README.md".to_owned(), b"# Mine\n".to_vec()),
        ("tasks/A.md".to_owned(), format!("{MARK}\na\n").into_bytes()),
        ("tasks/B.md".to_owned(), format!("{MARK}\nold\n").into_bytes()),
        ("tasks/GONE.md".to_owned(), format!("{MARK}\ngone\n").into_bytes()),
        ("tasks/notes.md".to_owned(), b"# My notes\n".to_vec()),
    ]);
    let changes = page_changes(&there, &wanted);
    assert_eq!(changes.write.keys().collect::<Vec<_>>(), ["tasks/B.md", "tasks/C.md"]);
    assert_eq!(changes.remove, ["tasks/GONE.md"]);
    assert_eq!(changes.foreign, ["README.md"]);
}

#[test]
fn the_plan_of_a_record_is_what_was_left_before_its_code_was_changed() {
    let of = |world: &World| {
        let names = plans(&world.run).into_iter();
        names.map(|(id, blob)| format!("{id}: {}", blob.0)).collect::<Vec<_>>()
    };
    let task = about(WorkKind::Task, TASK, "ACME-S01-T01").played();
    assert_eq!(of(&task), ["ACME-S01-T01: PLAN.md by plan#1"]);
    let sprint = about(WorkKind::Sprint, SPRINT, "ACME-S01");
    let sprint = sprint.auto().list("plan", vec![writes("T1", "a")]).played();
    assert_eq!(
        of(&sprint),
        ["ACME-S01: SPRINT_PLAN.md by plan#1", "ACME-S01-T1: PLAN.md by tasks.T1/plan#1"]
    );
    let route = |route: &str| crate::world::tag(writes("B1", "a"), "route", route);
    let bug =
        |kind: &str| about(WorkKind::Bug, BUG, "B-1").list("triage", vec![route(kind)]).played();
    assert_eq!(of(&bug("A")), ["B-1: TRIAGE.md by triage#1"]);
    assert_eq!(of(&bug("B")), ["B-1: BUG_FIX_PLAN.md by fix.B1/plan-fix#1"]);
}
