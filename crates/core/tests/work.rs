//! Records of work: which moves are legal, what a record may say, and what a changed file means.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]

use std::collections::BTreeMap;

use forge_core::work::{
    FieldChange, FieldValue, Fields, FileOrigin, FollowedState, ImportedRecord, LastImport,
    WorkCommand, WorkFact, WorkFile, WorkId, WorkKind, WorkRecord, WorkRefusal, WorkRows,
    WorkState, decide, rules,
};

const NOW: &str = "2026-01-31T12:00:00Z";

/// The tables of the design, as they are written there. Every other pair is refused.
const TASK: &str = "
draft: planned
planned: plan-approved, plan-revision-required
plan-approved: implementing, plan-revision-required
implementing: implemented, plan-revision-required, code-revision-required
implemented: review-approved, plan-revision-required, code-revision-required
review-approved: approved, plan-revision-required, code-revision-required
approved: committed, plan-revision-required, code-revision-required
plan-revision-required: planned
code-revision-required: implementing
committed:
abandoned:
blocked:
escalated:";
const SPRINT: &str = "
planning: active, blocked, abandoned
active: completed, partially-completed, blocked, abandoned
completed: retrospective-done
partially-completed: retrospective-done
blocked: active, abandoned
retrospective-done:
abandoned:";
const BUG: &str = "
reported: triaged, abandoned
triaged: in-progress, abandoned
in-progress: fixed, abandoned
fixed:
abandoned:";
const FEATURE: &str = "
draft: active, retired
active: shipped, retired
shipped:
retired:";

fn table(kind: WorkKind) -> BTreeMap<String, Vec<String>> {
    let text = match kind {
        WorkKind::Task => TASK,
        WorkKind::Sprint => SPRINT,
        WorkKind::Bug => BUG,
        WorkKind::Feature => FEATURE,
    };
    let row = |line: &str| {
        let (from, to) = line.split_once(':').unwrap();
        let to = to.split(',').map(str::trim).filter(|state| !state.is_empty());
        let mut to: Vec<String> = to.map(str::to_owned).collect();
        if kind == WorkKind::Task && !to.is_empty() {
            to.extend(["blocked", "escalated", "abandoned"].map(str::to_owned));
        }
        (from.to_owned(), to)
    };
    text.trim().lines().map(row).collect()
}

fn id(text: &str) -> WorkId {
    text.parse().unwrap()
}

fn text(value: &str) -> FieldValue {
    FieldValue::Text(value.to_owned())
}

fn texts(values: &[&str]) -> FieldValue {
    FieldValue::List(values.iter().map(|value| text(value)).collect())
}

fn fields(values: &[(&str, FieldValue)]) -> Fields {
    values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// Rows that are changed by commands, as a store does it.
#[derive(Default)]
struct Rows(WorkRows);

impl Rows {
    fn new() -> Self {
        let mut rows = Self::default();
        rows.create(WorkKind::Feature, &[]).unwrap();
        rows.create(WorkKind::Sprint, &[]).unwrap();
        for _ in 0..3 {
            rows.create(WorkKind::Task, &[("sprintId", text("A-S01"))]).unwrap();
        }
        rows.create(WorkKind::Bug, &[("severity", text("minor"))]).unwrap();
        rows
    }

    fn run(&mut self, command: &WorkCommand) -> Result<Vec<WorkFact>, WorkRefusal> {
        let (id, facts) = decide(&self.0, command, NOW)?;
        for fact in &facts {
            let record = WorkRecord::apply(self.0.records.remove(&id), &id, fact);
            self.0.records.insert(id.clone(), record);
        }
        self.0.ids = self.0.records.keys().cloned().collect();
        Ok(facts)
    }

    fn create(
        &mut self,
        kind: WorkKind,
        more: &[(&str, FieldValue)],
    ) -> Result<Vec<WorkFact>, WorkRefusal> {
        let mut all = fields(&[("title", text("a title"))]);
        all.extend(fields(more));
        self.run(&WorkCommand::Create { kind, id: None, prefix: "A".to_owned(), fields: all })
    }

    fn set(&mut self, name: &str, field: &str, value: FieldValue) -> Result<(), WorkRefusal> {
        self.change(name, field, FieldChange::Set(value))
    }

    fn change(&mut self, name: &str, field: &str, by: FieldChange) -> Result<(), WorkRefusal> {
        let kind = self.get(name).kind;
        let changes = vec![(field.to_owned(), by)];
        self.run(&WorkCommand::Set { kind, id: id(name), changes }).map(|_| ())
    }

    fn go(&mut self, name: &str, to: &str) -> Result<Vec<WorkFact>, WorkRefusal> {
        let (kind, id) = (self.get(name).kind, id(name));
        let why = Some("because".to_owned());
        self.run(&WorkCommand::Move { kind, id, to: to.to_owned(), why })
    }

    fn get(&self, name: &str) -> &WorkRecord {
        &self.0.records[&id(name)]
    }

    /// Takes in the file of a record, as `edit` leaves it.
    fn take(
        &mut self,
        base: &WorkRecord,
        origin: FileOrigin,
        edit: impl FnOnce(&mut WorkFile),
    ) -> Result<Vec<WorkFact>, WorkRefusal> {
        let mut file = WorkFile {
            rev: Some(base.rev),
            origin,
            state: base.state.as_str().to_owned(),
            fields: base.fields.clone(),
        };
        edit(&mut file);
        let (kind, id, base) = (base.kind, base.id.clone(), Some(base.clone()));
        self.run(&WorkCommand::TakeFile { kind, id, file, base })
    }
}

#[test]
fn every_pair_of_states_of_every_kind_is_legal_or_refused_as_the_table_says() {
    for (kind, name) in
        WorkKind::ALL.into_iter().zip(["FEAT-001", "A-S01", "A-S01-T01", "A-BUG-001"])
    {
        let table = table(kind);
        let mut states: Vec<&str> = kind.states().map(WorkState::as_str).collect();
        assert_eq!(states.first(), Some(&kind.first_state().as_str()));
        states.sort_unstable();
        assert_eq!(states, table.keys().map(String::as_str).collect::<Vec<&str>>());
        for from in kind.states() {
            for to in kind.states() {
                let mut rows = Rows::new();
                rows.0.records.get_mut(&id(name)).unwrap().state = from;
                let legal = &table[from.as_str()];
                match rows.go(name, to.as_str()) {
                    Ok(facts) if from == to => assert!(facts.is_empty(), "{from} {to}"),
                    Ok(_) => {
                        assert!(legal.contains(&to.as_str().to_owned()), "{kind}: {from} → {to}");
                        assert_eq!(rows.get(name).state, to);
                    }
                    Err(refusal) => {
                        assert!(!legal.contains(&to.as_str().to_owned()), "{kind}: {from} → {to}");
                        let said = refusal.to_string();
                        assert!(legal.iter().all(|next| said.contains(next)), "{said}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_state_of_another_kind_is_unknown_and_the_known_ones_are_named() {
    let refusal = Rows::new().go("A-BUG-001", "committed").unwrap_err();
    let known =
        "a bug has no state `committed`; states: reported, triaged, in-progress, fixed, abandoned";
    assert_eq!(refusal.to_string(), known);
}

#[test]
fn what_is_blocked_goes_back_to_where_it_was_and_only_with_a_reason() {
    let mut rows = Rows::new();
    for (name, kind, stop) in [
        ("A-S01-T01", WorkKind::Task, "blocked"),
        ("A-S01-T02", WorkKind::Task, "escalated"),
        ("A-S01", WorkKind::Sprint, "blocked"),
    ] {
        let unblock = |why: &str| WorkCommand::Unblock { kind, id: id(name), why: why.to_owned() };
        assert!(matches!(rows.run(&unblock("x")), Err(WorkRefusal::NotBlocked { .. })));
        if kind == WorkKind::Task {
            rows.go(name, "planned").unwrap();
        }
        let before = rows.get(name).state;
        let silent = WorkCommand::Move { kind, id: id(name), to: stop.to_owned(), why: None };
        assert!(matches!(rows.run(&silent), Err(WorkRefusal::NeedsReason { .. })));
        rows.go(name, stop).unwrap();
        assert!(rows.run(&unblock(" ")).is_err());
        rows.run(&unblock("it is there")).unwrap();
        assert_eq!(rows.get(name).state, before);
    }
}

#[test]
fn an_id_cannot_be_a_way_out_of_a_folder() {
    for good in ["A", "ACME-S01-T02", "a_b-1", "T1.1", "T1.99", &"x".repeat(60)] {
        assert_eq!(good.parse::<WorkId>().unwrap().as_str(), good);
    }
    let long = "x".repeat(61);
    for bad in [
        "", ".", "..", "../a", "a/b", "a\\b", "/a", "-a", "_a", ".a", "a.", "a.0", "a.01", "a.100",
        "a.b", "a.1.2", "a b", "a\0", "a\n", "é", "a:b", "~", "a.json", &long,
    ] {
        assert!(bad.parse::<WorkId>().is_err(), "{bad:?}");
    }
    assert_eq!(id("acme-s01"), id("ACME-S01"));
    assert!(serde_json::from_str::<WorkId>("\"../x\"").is_err());
}

#[test]
fn new_ids_follow_the_highest_and_an_id_is_taken_whatever_its_case() {
    let mut rows = Rows::new();
    assert_eq!(rows.0.records.len(), 6);
    let create = |name: &str| WorkCommand::Create {
        kind: WorkKind::Task,
        id: Some(id(name)),
        prefix: "A".to_owned(),
        fields: fields(&[("title", text("t")), ("sprintId", text("a-s01"))]),
    };
    rows.run(&create("a-s01-t41")).unwrap();
    assert_eq!(rows.get("A-S01-T41").fields["sprintId"], text("A-S01"), "spelled as it is");
    rows.create(WorkKind::Task, &[("sprintId", text("A-S01"))]).unwrap();
    assert_eq!(rows.get("A-S01-T42").id.as_str(), "A-S01-T42");
    assert!(matches!(rows.run(&create("A-S01-T01")), Err(WorkRefusal::IdTaken { .. })));
    assert!(matches!(rows.run(&create("a-s01-t01")), Err(WorkRefusal::IdTaken { .. })));
}

#[test]
fn what_no_table_names_is_refused_at_every_depth() {
    let mut rows = Rows::new();
    let refused = rows.set("A-S01-T01", "sprint", text("A-S01")).unwrap_err();
    assert!(refused.to_string().starts_with("a task has no field `sprint`; fields: sprintId,"));
    let table = |name: &str, value| FieldValue::Table(fields(&[(name, value)]));
    for (field, value, path) in [
        ("locator", table("backendd", text("x")), "`locator.backendd` is not a field here"),
        ("locator", table("backend", text("x")), "`locator.ref` is missing"),
        ("summaries", table("commit", text("x")), "`summaries.commit` is not a field here"),
        (
            "summaries",
            table("plan", table("objectiv", text("x"))),
            "`summaries.plan.objectiv` is not a field here",
        ),
        (
            "summaries",
            table("plan", table("objective", text(&"x".repeat(281)))),
            "`summaries.plan.objective` has 281 characters",
        ),
        ("estimate", text("XXL"), "`estimate` can be S, M, L, XL, not `XXL`"),
        ("estimate", FieldValue::Count(3), "`estimate` must be one of S, M, L, XL, not a number"),
        ("planIterations", text("3"), "`planIterations` must be a whole number"),
        ("must", FieldValue::List(vec![FieldValue::Flag(true)]), "`must[0]` must be a text"),
        ("writes", texts(&["src", "../x"]), "`writes` has the path `../x`"),
        ("title", text(" "), "`title` is empty"),
        ("title", text("a\u{7}"), "`title` has a control character"),
        ("must", texts(&["x"; 101]), "`must` has 101 entries"),
    ] {
        let said = rows.set("A-S01-T01", field, value).unwrap_err().to_string();
        assert!(said.starts_with(path), "{said}");
    }
    for (name, field) in [("A-S01", "createdAt"), ("A-S01", "taskIds"), ("FEAT-001", "tasks")] {
        assert!(rows.set(name, field, text(NOW)).is_err(), "{field}");
    }
    let said = rows.change("A-S01-T01", "title", FieldChange::Clear).unwrap_err().to_string();
    assert!(said.starts_with("`title` is missing"), "{said}");
    assert_eq!(rows.get("A-S01-T01").rev, 1, "nothing of a refused change is there");
}

#[test]
fn a_field_takes_what_its_form_allows() {
    let mut rows = Rows::new();
    let summary = fields(&[
        ("objective", text("x")),
        ("verdict", text("n/a")),
        ("written_at", text("2026-01-31T12:00:00.123456789+01:00")),
    ]);
    let summaries = fields(&[("plan", FieldValue::Table(summary))]);
    rows.set("A-S01-T01", "summaries", FieldValue::Table(summaries)).unwrap();
    rows.set("A-BUG-001", "githubIssue", text("https://example.org/1")).unwrap();
    assert!(rows.set("A-BUG-001", "githubIssue", text("example.org")).is_err());
    let estimates = |name: &str| FieldValue::Table(fields(&[(name, text("two days"))]));
    rows.set("A-S01", "humanEstimates", estimates("a-s01-t01")).unwrap();
    assert_eq!(rows.get("A-S01").fields["humanEstimates"], estimates("A-S01-T01"));
    assert!(rows.set("A-S01", "humanEstimates", estimates("A-S01-T09")).is_err());
    for bad in [
        "2026-01-31",
        "2026-13-01T00:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:00:00",
        "x",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00é",
    ] {
        let table = fields(&[("objective", text("x")), ("written_at", text(bad))]);
        let summaries = fields(&[("plan", FieldValue::Table(table))]);
        assert!(rows.set("A-S01-T01", "summaries", FieldValue::Table(summaries)).is_err(), "{bad}");
    }
}

#[test]
fn a_reference_names_a_record_of_its_kind_and_never_itself() {
    let mut rows = Rows::new();
    for (name, field, value) in [
        ("A-S01-T01", "sprintId", text("A-S02")),
        ("A-S01-T01", "sprintId", text("FEAT-001")),
        ("A-S01-T01", "feature_id", text("FEAT-002")),
        ("A-S01-T01", "dependencies", texts(&["A-S01-T01"])),
        ("A-S01-T01", "dependencies", texts(&["A-S01"])),
        ("A-S01-T01", "dependencies", texts(&["A-S01-T02", "a-s01-t02"])),
        ("A-S01-T01", "dependencies", texts(&["../x"])),
        ("A-BUG-001", "similarBugs", texts(&["A-BUG-001"])),
        ("A-S01", "features", texts(&["A-BUG-001"])),
    ] {
        let said = rows.set(name, field, value.clone()).unwrap_err().to_string();
        assert!(said.contains(field), "{value:?}: {said}");
    }
    rows.set("A-S01-T01", "feature_id", text("feat-001")).unwrap();
    assert!(rows.create(WorkKind::Task, &[]).is_err(), "a task is of a sprint");
    assert!(rows.create(WorkKind::Bug, &[]).is_err(), "a bug has a severity");
}

#[test]
fn dependencies_make_no_circle() {
    let mut rows = Rows::new();
    rows.set("A-S01-T02", "dependencies", texts(&["A-S01-T01"])).unwrap();
    rows.set("A-S01-T03", "dependencies", texts(&["A-S01-T02"])).unwrap();
    for first in ["A-S01-T02", "A-S01-T03"] {
        let said = rows.set("A-S01-T01", "dependencies", texts(&[first])).unwrap_err();
        let expected = format!("`dependencies` make a circle: `{first}` waits for `A-S01-T01`");
        assert_eq!(said.to_string(), expected);
    }
    rows.change("A-S01-T03", "dependencies", FieldChange::Add(vec!["a-s01-t01".into()])).unwrap();
    assert_eq!(rows.get("A-S01-T03").texts("dependencies"), ["A-S01-T02", "A-S01-T01"]);
    rows.change("A-S01-T03", "dependencies", FieldChange::Remove(vec!["A-S01-T02".into()]))
        .unwrap();
    assert_eq!(rows.get("A-S01-T03").texts("dependencies"), ["A-S01-T01"]);
}

#[test]
fn forge_notes_the_times_and_a_change_of_nothing_is_no_fact() {
    let mut rows = Rows::new();
    assert_eq!(rows.get("A-S01").fields["createdAt"], text(NOW));
    for to in ["triaged", "in-progress", "fixed"] {
        rows.go("A-BUG-001", to).unwrap();
    }
    assert_eq!(rows.get("A-BUG-001").fields["resolvedAt"], text(NOW));
    rows.set("FEAT-001", "title", text("a title")).unwrap();
    assert_eq!(rows.get("FEAT-001").rev, 1);
    rows.set("FEAT-001", "title", text("another")).unwrap();
    assert_eq!(rows.get("FEAT-001").fields["updated_at"], text(NOW));
}

#[test]
fn an_edit_of_a_file_is_merged_by_field_and_moves_one_legal_step() {
    let mut rows = Rows::new();
    let base = rows.get("A-S01-T01").clone();
    rows.set("A-S01-T01", "estimate", text("L")).unwrap();
    let edit = |file: &mut WorkFile| {
        file.fields.insert("title".into(), text("by hand"));
        file.state = "planned".to_owned();
    };
    let facts = rows.take(&base, FileOrigin::Edit, edit).unwrap();
    assert!(matches!(&facts[..], [WorkFact::FileTaken { base: 1, .. }]), "{facts:?}");
    let record = rows.get("A-S01-T01");
    assert_eq!((record.title(), record.state), ("by hand", WorkState::Planned));
    assert_eq!(record.fields["estimate"], text("L"), "what a command set is kept");
    assert!(rows.take(&base, FileOrigin::Edit, edit).unwrap().is_empty(), "it says nothing new");
}

#[test]
fn an_edit_that_breaks_a_rule_is_refused_with_the_field() {
    let mut rows = Rows::new();
    let base = rows.get("A-S01-T01").clone();
    rows.set("A-S01-T01", "estimate", text("L")).unwrap();
    let set = |name: &'static str, value: FieldValue| {
        move |file: &mut WorkFile| {
            file.fields.insert(name.to_owned(), value);
        }
    };
    let mut refused = |edit: Box<dyn FnOnce(&mut WorkFile)>| {
        rows.take(&base, FileOrigin::Edit, edit).unwrap_err().to_string()
    };
    let said = refused(Box::new(set("estimate", text("S"))));
    assert_eq!(said, "`estimate` was changed in the file and by a command");
    assert!(refused(Box::new(set("nope", text("S")))).starts_with("`nope` is not a field here"));
    assert!(refused(Box::new(set("title", FieldValue::Flag(true)))).starts_with("`title` must be"));
    assert!(refused(Box::new(|file| file.rev = None)).starts_with("`forge.rev` is missing"));
    let said = refused(Box::new(|file| file.state = "committed".to_owned()));
    assert!(said.contains("is draft and cannot become committed"), "{said}");
    rows.go("A-S01-T01", "planned").unwrap();
    let edit = |file: &mut WorkFile| file.state = "blocked".to_owned();
    let said = rows.take(&base, FileOrigin::Edit, edit).unwrap_err().to_string();
    assert_eq!(said, "`status` was changed in the file and by a command");
    let sprint = rows.get("A-S01").clone();
    let edit = |file: &mut WorkFile| {
        file.fields.insert("createdAt".into(), text("2025-01-31T12:00:00Z"));
    };
    let said = rows.take(&sprint, FileOrigin::Edit, edit).unwrap_err().to_string();
    assert_eq!(said, "`createdAt` is set by Forge");
    let edit = |file: &mut WorkFile| {
        file.fields.insert("taskIds".into(), texts(&["A-S01-T01"]));
    };
    let said = rows.take(&sprint, FileOrigin::Edit, edit).unwrap_err().to_string();
    assert_eq!(said, "`taskIds` follows from other records and is written in no file");
}

#[test]
fn a_file_of_another_clone_may_be_several_legal_moves_ahead() {
    let mut rows = Rows::new();
    let base = rows.get("A-S01-T01").clone();
    let ahead = |state: &'static str| {
        move |file: &mut WorkFile| {
            file.rev = Some(9);
            file.state = state.to_owned();
        }
    };
    assert!(rows.take(&base, FileOrigin::Edit, ahead("implementing")).is_err());
    rows.take(&base, FileOrigin::OtherClone, ahead("implementing")).unwrap();
    assert_eq!(rows.get("A-S01-T01").state, WorkState::Implementing);
    assert_eq!(rows.get("A-S01-T01").rev, 9, "the file stays as it is");
    let base = rows.get("A-S01-T01").clone();
    assert!(rows.take(&base, FileOrigin::OtherClone, ahead("draft")).is_err());
}

#[test]
fn a_file_of_another_clone_that_says_the_same_keeps_its_higher_number() {
    let mut rows = Rows::new();
    let base = rows.get("A-S01-T01").clone();
    let numbered = |rev: u64| move |file: &mut WorkFile| file.rev = Some(rev);
    rows.take(&base, FileOrigin::OtherClone, numbered(9)).unwrap();
    assert_eq!(rows.get("A-S01-T01").rev, 9);
    rows.take(&base, FileOrigin::OtherClone, numbered(9)).unwrap();
    assert_eq!(rows.get("A-S01-T01").rev, 9, "once");
}

#[test]
fn a_file_without_a_record_makes_one_and_by_hand_only_at_its_beginning() {
    let mut rows = Rows::new();
    let mut new = |name: &str, origin, state: &str| {
        let fields = fields(&[("title", text("t")), ("severity", text("minor"))]);
        let file = WorkFile { rev: Some(3), origin, state: state.to_owned(), fields };
        let (kind, id) = (WorkKind::Bug, id(name));
        rows.run(&WorkCommand::TakeFile { kind, id, file, base: None })
    };
    new("B-1", FileOrigin::Edit, "reported").unwrap();
    assert!(new("B-2", FileOrigin::Edit, "fixed").is_err());
    new("B-2", FileOrigin::OtherClone, "fixed").unwrap();
    assert_eq!(rows.get("B-2").fields["reportedAt"], text(NOW));
}

#[test]
fn facts_and_records_are_read_as_they_were_written() {
    let mut rows = Rows::new();
    rows.set("A-S01-T01", "planIterations", FieldValue::Count(2)).unwrap();
    rows.set("A-BUG-001", "checklistItemAdded", FieldValue::Flag(true)).unwrap();
    let facts = rows.go("A-S01-T01", "blocked").unwrap();
    let written = serde_json::to_string(&facts).unwrap();
    assert_eq!(written, r#"[{"moved":{"from":"draft","to":"blocked","why":"because"}}]"#);
    assert_eq!(serde_json::from_str::<Vec<WorkFact>>(&written).unwrap(), facts);
    for record in rows.0.records.values() {
        let written = serde_json::to_string(record).unwrap();
        assert_eq!(serde_json::from_str::<WorkRecord>(&written).unwrap(), *record);
    }
}

#[test]
fn no_field_has_the_name_of_what_every_file_has() {
    for kind in WorkKind::ALL {
        let names: Vec<&str> = rules(kind).iter().map(|rule| rule.name).collect();
        for reserved in [kind.id_key(), "status", "forge"] {
            assert!(!names.contains(&reserved), "{kind}: {reserved}");
        }
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len(), "{kind}");
    }
}

#[test]
fn a_record_follows_a_run_by_legal_moves_alone_or_stays() {
    for (kind, name) in
        WorkKind::ALL.into_iter().zip(["FEAT-001", "A-S01", "A-S01-T01", "A-BUG-001"])
    {
        let table = table(kind);
        for from in kind.states() {
            for to in kind.states() {
                let mut rows = Rows::new();
                let record = rows.0.records.get_mut(&id(name)).unwrap();
                record.state = from;
                record.left = from.is_stop().then_some(kind.first_state());
                let why = Some("question Q1 is open".to_owned());
                let (id, run, target) = (id(name), "r".to_owned(), FollowedState::At(to));
                let facts =
                    rows.run(&WorkCommand::Follow { kind, id, run, to: target, why }).unwrap();
                let mut at = from;
                for fact in &facts {
                    let WorkFact::Moved { from, to, .. } = fact else { panic!("{fact:?}") };
                    let is_back = at == WorkState::Escalated && *to == kind.first_state();
                    let is_legal = table[at.as_str()].contains(&to.as_str().to_owned());
                    assert!(*from == at && (is_back || is_legal), "{kind}: {at} → {to}");
                    at = *to;
                }
                let stays = facts.is_empty() && rows.get(name).state == from;
                assert!(stays || at == to, "{kind}: {from} to {to} ended at {at}");
                if from == WorkState::Blocked {
                    assert!(stays, "what a person blocked stays");
                }
            }
        }
    }
}

#[test]
fn a_record_follows_by_way_of_all_states_between() {
    let mut rows = Rows::new();
    let follow = |to| WorkCommand::Follow {
        kind: WorkKind::Task,
        id: id("A-S01-T01"),
        run: "r".to_owned(),
        to: FollowedState::At(to),
        why: Some("it asks".to_owned()),
    };
    assert_eq!(rows.run(&follow(WorkState::Implementing)).unwrap().len(), 3);
    assert_eq!(rows.run(&follow(WorkState::Implementing)).unwrap().len(), 0, "it is there");
    rows.run(&follow(WorkState::Escalated)).unwrap();
    rows.run(&follow(WorkState::Committed)).unwrap();
    assert_eq!(rows.get("A-S01-T01").state, WorkState::Committed);
    assert_eq!(rows.run(&follow(WorkState::Implementing)).unwrap().len(), 0, "no way leads back");
}

#[test]
fn a_record_of_which_nothing_is_asked_any_more_is_where_it_was_before() {
    let mut rows = Rows::new();
    let follow = |to| {
        let why = Some("it asks".to_owned());
        WorkCommand::Follow {
            kind: WorkKind::Task,
            id: id("A-S01-T01"),
            run: "r".to_owned(),
            to,
            why,
        }
    };
    assert_eq!(rows.run(&follow(FollowedState::Unstopped)).unwrap().len(), 0, "nothing is asked");
    rows.run(&follow(FollowedState::At(WorkState::Escalated))).unwrap();
    rows.run(&follow(FollowedState::Unstopped)).unwrap();
    assert_eq!(rows.get("A-S01-T01").state, WorkState::Draft);
}

#[test]
fn a_record_does_not_follow_a_run_that_has_not_taken_it_on() {
    let mut rows = Rows::new();
    let (kind, name) = (WorkKind::Task, id("A-S01-T01"));
    let (run, over) = ("one".to_owned(), None);
    rows.run(&WorkCommand::Take { kind, id: name.clone(), run, over }).unwrap();
    let follow = |run: &str| WorkCommand::Follow {
        kind,
        id: name.clone(),
        run: run.to_owned(),
        to: FollowedState::At(WorkState::Implementing),
        why: None,
    };
    assert_eq!(rows.run(&follow("other")).unwrap().len(), 0);
    assert_eq!(rows.run(&follow("one")).unwrap().len(), 3);
}

#[test]
fn a_record_is_taken_on_by_one_run_at_a_time() {
    let mut rows = Rows::new();
    let take = |run: &str, over: Option<&str>| WorkCommand::Take {
        kind: WorkKind::Task,
        id: id("A-S01-T01"),
        run: run.to_owned(),
        over: over.map(str::to_owned),
    };
    assert_eq!(rows.run(&take("r1", None)).unwrap().len(), 1);
    assert_eq!(rows.run(&take("r1", None)).unwrap().len(), 0);
    let refusal = rows.run(&take("r2", None)).unwrap_err().to_string();
    assert_eq!(refusal, "`A-S01-T01` is worked on by the run r1");
    assert!(rows.run(&take("r2", Some("r0"))).is_err(), "another run has ended, not this one");
    rows.run(&take("r2", Some("r1"))).unwrap();
    assert_eq!(rows.get("A-S01-T01").run.as_deref(), Some("r2"));
}

/// What another system says of a task, after a last import.
fn import(title: &str, state: &str, last: Option<LastImport>) -> WorkCommand {
    let fields = fields(&[("title", text(title)), ("sprintId", text("A-S01"))]);
    let (source, sum, state) = ("old/X.json".to_owned(), title.to_owned(), state.to_owned());
    let record = ImportedRecord { source, sum, state, fields };
    WorkCommand::Import { kind: WorkKind::Task, id: id("X-1"), record, last }
}

fn last(sum: &str, rev: u64) -> LastImport {
    LastImport { source: "old/X.json".to_owned(), sum: sum.to_owned(), rev }
}

#[test]
fn an_import_makes_a_record_in_any_state_and_changes_only_what_nobody_changed_here() {
    let mut rows = Rows::new();
    assert_eq!(rows.run(&import("a", "approved", None)).unwrap().len(), 1);
    assert_eq!((rows.get("X-1").state, rows.get("X-1").rev), (WorkState::Approved, 1));
    assert_eq!(rows.run(&import("a", "approved", Some(last("a", 1)))).unwrap().len(), 0);
    // No legal way leads there: the other system says what it says.
    rows.run(&import("b", "draft", Some(last("a", 1)))).unwrap();
    assert_eq!((rows.get("X-1").state, rows.get("X-1").title()), (WorkState::Draft, "b"));
    rows.set("X-1", "estimate", text("M")).unwrap();
    assert_eq!(rows.run(&import("b", "draft", Some(last("b", 2)))).unwrap().len(), 0, "only here");
    let refusal = rows.run(&import("c", "draft", Some(last("b", 2)))).unwrap_err();
    assert!(matches!(refusal, WorkRefusal::ChangedHere { .. }), "{refusal}");
    let elsewhere = LastImport { source: "other".to_owned(), sum: "b".to_owned(), rev: 3 };
    for last in [None, Some(elsewhere)] {
        let refusal = rows.run(&import("c", "draft", last)).unwrap_err();
        assert!(matches!(refusal, WorkRefusal::NotImported { .. }), "{refusal}");
    }
    assert_eq!(rows.get("X-1").fields["estimate"], text("M"));
}

#[test]
fn an_import_is_checked_as_every_write_and_a_stopped_record_can_go_back() {
    let mut rows = Rows::new();
    let refused =
        |rows: &mut Rows, command: &WorkCommand| rows.run(command).unwrap_err().to_string();
    assert!(refused(&mut rows, &import("a", "bananas", None)).contains("has no state `bananas`"));
    let WorkCommand::Import { kind, id, mut record, last: none } = import("a", "draft", None)
    else {
        panic!()
    };
    record.fields.insert("dependencies".to_owned(), texts(&["X-2"]));
    let command = WorkCommand::Import { kind, id: id.clone(), record, last: none };
    assert!(refused(&mut rows, &command).contains("names `X-2`, which is not a task here"));
    rows.run(&import("a", "blocked", None)).unwrap();
    let unblock = WorkCommand::Unblock { kind, id, why: "it is here".to_owned() };
    rows.run(&unblock).unwrap();
    assert_eq!(rows.get("X-1").state, WorkState::Draft);
    let mut rows = Rows::new();
    rows.run(&import("a", "implementing", None)).unwrap();
    rows.run(&import("b", "escalated", Some(last("a", 1)))).unwrap();
    rows.run(&import("c", "escalated", Some(last("b", 2)))).unwrap();
    rows.run(&unblock).unwrap();
    assert_eq!(rows.get("X-1").state, WorkState::Implementing, "it is known where it was");
}

#[test]
fn a_write_that_is_allowed_is_used_once() {
    let mut rows = Rows::new();
    let (kind, name) = (WorkKind::Task, "A-S01-T01");
    let path = "x.json".to_owned();
    let bypass = WorkCommand::UseBypass { kind, id: id(name), path };
    assert_eq!(rows.run(&bypass).unwrap().len(), 0);
    let allow = |why: &str| WorkCommand::AllowWrite { kind, id: id(name), why: why.to_owned() };
    assert!(rows.run(&allow("  ")).unwrap_err().to_string().contains("`why` has 0 characters"));
    rows.run(&allow("it must be")).unwrap();
    assert_eq!(rows.get(name).allowed.as_deref(), Some("it must be"));
    assert_eq!(rows.run(&bypass).unwrap(), [WorkFact::Bypassed { path: "x.json".to_owned() }]);
    assert_eq!(rows.run(&bypass).unwrap().len(), 0);
}
