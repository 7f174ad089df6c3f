//! What the work store promises: nothing of several writers is lost, wrong bytes are noticed, a file is read as it was written.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[path = "journals/world.rs"]
mod world;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command},
};

use forge_core::work::{
    FieldChange, FieldValue, Fields, FileOrigin, WorkAuthor, WorkCommand, WorkFact, WorkId,
    WorkKind, WorkRecord,
};
use forge_store::{
    journal::StoreError,
    work::{
        LoggedFact, WorkCounts, WorkError, WorkMoment, WorkRow, WorkStore, file_bytes, file_sum,
        read_file, work_database,
    },
};
use tempfile::tempdir;
use world::Chance;

const NOW: &str = "2026-01-31T12:00:00Z";
const CHILD: &str = "FORGE_TEST_WORK_CHILD";
const WRITERS: usize = 4;

fn size(variable: &str, default: usize) -> usize {
    env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn id(text: &str) -> WorkId {
    text.parse().unwrap()
}

fn change(store: &mut WorkStore, who: &str, command: &WorkCommand) -> Result<WorkRow, WorkError> {
    let by = WorkAuthor::Person { who: who.to_owned() };
    let moment = WorkMoment { at: 1000, now: NOW, by: &by, place: Some("/here") };
    store.change(&moment, command).map(|(row, _)| row)
}

fn create(store: &mut WorkStore, kind: WorkKind, more: &[(&str, &str)]) -> WorkRecord {
    let fields = [("title", "a title")].iter().chain(more);
    let fields: Fields = fields
        .map(|(name, text)| ((*name).to_owned(), FieldValue::Text((*text).to_owned())))
        .collect();
    let command = WorkCommand::Create { kind, id: None, prefix: "A".to_owned(), fields };
    change(store, "ann", &command).unwrap().record
}

fn add(id: &WorkId, entry: &str) -> WorkCommand {
    let changes = vec![("must".to_owned(), FieldChange::Add(vec![entry.to_owned()]))];
    WorkCommand::Set { kind: WorkKind::Task, id: id.clone(), changes }
}

/// A sprint with tasks, some of them with a few facts.
fn fill(dir: &Path) -> WorkStore {
    let mut store = WorkStore::open(dir).unwrap();
    create(&mut store, WorkKind::Feature, &[]);
    create(&mut store, WorkKind::Sprint, &[("feature_id", "FEAT-001")]);
    for n in 0..30 {
        let task = create(&mut store, WorkKind::Task, &[("sprintId", "A-S01")]);
        for entry in 0..n % 4 {
            change(&mut store, "ann", &add(&task.id, &format!("condition {entry}"))).unwrap();
        }
    }
    store
}

#[test]
fn four_processes_that_write_one_record_lose_and_tear_nothing() {
    let writes = size("FORGE_WORK_WRITES", 400) / WRITERS;
    let dir = tempdir().unwrap();
    let mut store = WorkStore::open(dir.path()).unwrap();
    create(&mut store, WorkKind::Sprint, &[]);
    let task = create(&mut store, WorkKind::Task, &[("sprintId", "A-S01")]).id;
    drop(store);
    let child = |writer: usize| {
        let args = ["--ignored", "--exact", "the_child_that_writes_one_record", "--nocapture"];
        let child = Command::new(env::current_exe().unwrap())
            .args(args)
            .env(CHILD, format!("{writer} {writes} {}", dir.path().display()))
            .spawn();
        child.unwrap()
    };
    let children: Vec<Child> = (0..WRITERS).map(child).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = WorkStore::open_to_read(dir.path()).unwrap().unwrap();
    let all = (WRITERS * writes) as u64;
    assert_eq!(store.verify().unwrap(), WorkCounts { records: 2, facts: 2 + all });
    let history = store.history(&task).unwrap();
    assert_eq!(history.len() as u64, 1 + all);
    for writer in 0..WRITERS {
        let own = history.iter().filter(|fact| fact.entry.by.who() == writer.to_string());
        let counts: Vec<Option<u64>> = own.map(count).collect();
        let expected: Vec<Option<u64>> = (1..=writes as u64).map(Some).collect();
        assert_eq!(counts, expected, "each write of {writer} is there once, in its order");
    }
    // What one writer set is still there after all others wrote.
    let last = store.get(&task).unwrap().unwrap().record;
    for writer in 0..WRITERS {
        assert!(last.texts("must").contains(&format!("{writer} was here").as_str()), "{last:?}");
    }
}

/// The number of a write, as its writer counted.
fn count(fact: &LoggedFact) -> Option<u64> {
    let WorkFact::FieldsSet { fields } = &fact.entry.fact else { return None };
    let text = fields.get("assignedModel")?.as_ref()?.as_text()?;
    text.split(' ').next_back()?.parse().ok()
}

#[test]
#[ignore = "not a test: the process that the test above starts four times"]
fn the_child_that_writes_one_record() {
    // Who runs all tests that are ignored gives it nothing to write.
    let Ok(text) = env::var(CHILD) else { return };
    let mut words = text.splitn(3, ' ');
    let mut next = || words.next().unwrap().to_owned();
    let (who, n_writes) = (next(), next().parse::<u64>().unwrap());
    let mut store = WorkStore::open(&PathBuf::from(next())).unwrap();
    for number in 1..=n_writes {
        let model = FieldValue::Text(format!("{who} {number}"));
        let mut changes = vec![("assignedModel".to_owned(), FieldChange::Set(model))];
        if number == 1 {
            let entry = FieldChange::Add(vec![format!("{who} was here")]);
            changes.push(("must".to_owned(), entry));
        }
        let command = WorkCommand::Set { kind: WorkKind::Task, id: id("A-S01-T01"), changes };
        change(&mut store, &who, &command).unwrap();
    }
}

#[test]
fn a_flipped_byte_is_noticed_or_changes_nothing() {
    let flips = size("FORGE_WORK_FLIPS", 100);
    let dir = tempdir().unwrap();
    drop(fill(dir.path()));
    let everything =
        |store: &WorkStore| -> Result<(Vec<WorkRow>, Vec<Vec<LoggedFact>>), WorkError> {
            let rows = store.all()?;
            let facts = rows.iter().map(|row| store.history(&row.record.id));
            Ok((rows.clone(), facts.collect::<Result<_, _>>()?))
        };
    let whole = WorkStore::open_to_read(dir.path()).unwrap().unwrap();
    let expected = everything(&whole).unwrap();
    drop(whole);
    let bytes = fs::read(work_database(dir.path())).unwrap();
    let mut chance = Chance::new("work flips");
    let mut n_noticed = 0;
    for _ in 0..flips {
        let copy = tempdir().unwrap();
        let mut flipped = bytes.clone();
        let at = chance.below(bytes.len());
        flipped[at] ^= 1 << chance.below(8);
        fs::write(work_database(copy.path()), flipped).unwrap();
        let read =
            WorkStore::open_to_read(copy.path()).and_then(|store| everything(&store.unwrap()));
        match read {
            Ok(read) => assert!(read == expected, "byte {at} was read as something else"),
            Err(error) => {
                assert!(!matches!(error, WorkError::Refused(_)), "byte {at}: {error}");
                n_noticed += 1;
            }
        }
    }
    eprintln!("{n_noticed} of {flips} flipped bytes were noticed by reading");
    assert!(n_noticed > 0);
}

#[test]
fn facts_that_a_damaged_index_does_not_find_are_missed() {
    for lost in 1..=3 {
        let dir = tempdir().unwrap();
        drop(fill(dir.path()));
        let connection = rusqlite::Connection::open(work_database(dir.path())).unwrap();
        // An index without one entry, which says of itself that it has all.
        let sql = format!(
            "DROP INDEX log_by_record;
             CREATE UNIQUE INDEX log_by_record ON log (id, rev) WHERE rev <> {lost};
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX log_by_record ON log (id, rev)'
                 WHERE name = 'log_by_record';"
        );
        connection.execute_batch(&sql).unwrap();
        drop(connection);
        let store = WorkStore::open_to_read(dir.path()).unwrap().unwrap();
        let error = store.history(&id("A-S01-T04")).unwrap_err().to_string();
        assert!(error.contains("A-S01-T04"), "{lost}: {error}");
    }
}

#[test]
fn a_log_that_was_cut_or_changed_is_noticed_before_anything_is_added() {
    for sql in [
        "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)",
        "UPDATE totals SET seq = seq - 1",
        "UPDATE rows SET body = replace(body, 'a title', 'another') WHERE id = 'A-S01-T01'",
    ] {
        let dir = tempdir().unwrap();
        let mut store = fill(dir.path());
        let connection = rusqlite::Connection::open(work_database(dir.path())).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0);
        drop(connection);
        let refused = change(&mut store, "ann", &add(&id("A-S01-T01"), "x")).unwrap_err();
        assert!(matches!(refused, WorkError::Store(StoreError::Damaged(_))), "{sql}: {refused}");
        assert!(refused.next_step().unwrap().contains("forge work check"));
        assert!(store.verify().is_err(), "{sql}");
    }
    for sql in [
        "UPDATE log SET fact = replace(fact, 'ann', 'bob') WHERE seq = 3",
        "UPDATE log SET after = replace(after, 'a title', 'another') WHERE seq = 3",
        "DELETE FROM rows WHERE id = 'A-S01-T30'",
    ] {
        let dir = tempdir().unwrap();
        let store = fill(dir.path());
        let connection = rusqlite::Connection::open(work_database(dir.path())).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0);
        drop(connection);
        assert!(store.verify().is_err(), "{sql}");
    }
}

#[test]
fn an_empty_or_cut_database_is_never_taken_for_a_new_one() {
    let dir = tempdir().unwrap();
    fs::write(work_database(dir.path()), "").unwrap();
    let refused = WorkStore::open(dir.path()).unwrap_err();
    assert!(matches!(refused, WorkError::Store(StoreError::Damaged(_))), "{refused}");
    assert!(WorkStore::open_to_read(tempdir().unwrap().path()).unwrap().is_none());
}

#[test]
fn what_is_refused_leaves_nothing() {
    let dir = tempdir().unwrap();
    let mut store = fill(dir.path());
    let before = store.verify().unwrap();
    let to = "committed".to_owned();
    let command = WorkCommand::Move { kind: WorkKind::Task, id: id("a-s01-t01"), to, why: None };
    let refused = change(&mut store, "ann", &command).unwrap_err();
    assert!(matches!(refused, WorkError::Refused(_)), "{refused}");
    assert_eq!(store.verify().unwrap(), before);
}

#[test]
fn ids_are_found_whatever_their_case_and_circles_over_several_records_are_seen() {
    let dir = tempdir().unwrap();
    let mut store = fill(dir.path());
    let wait = |name: &str, first: &str| {
        let entry = FieldChange::Add(vec![first.to_owned()]);
        let changes = vec![("dependencies".to_owned(), entry)];
        WorkCommand::Set { kind: WorkKind::Task, id: id(name), changes }
    };
    change(&mut store, "ann", &wait("a-s01-t02", "a-S01-t01")).unwrap();
    change(&mut store, "ann", &wait("A-S01-T03", "A-S01-T02")).unwrap();
    let refused = change(&mut store, "ann", &wait("A-S01-T01", "A-S01-T03")).unwrap_err();
    assert!(refused.to_string().contains("make a circle"), "{refused}");
}

#[test]
fn a_file_has_one_form_and_says_whether_forge_wrote_it() {
    let dir = tempdir().unwrap();
    let store = fill(dir.path());
    let record = store.get(&id("A-S01-T04")).unwrap().unwrap().record;
    let bytes = file_bytes(&record);
    let text = String::from_utf8(bytes.clone()).unwrap();
    let (head, sum) = text.split_once("\"sum\": \"").unwrap();
    assert_eq!(
        head,
        "{\n  \"taskId\": \"A-S01-T04\",\n  \"status\": \"draft\",\n  \"sprintId\": \"A-S01\",\n  \"title\": \"a title\",\n  \
         \"must\": [\n    \"condition 0\",\n    \"condition 1\",\n    \"condition 2\"\n  ],\n  \"forge\": {\n    \"rev\": 4,\n    "
    );
    assert!(sum.ends_with("\"\n  }\n}\n"), "{sum}");
    let read = read_file(WorkKind::Task, &bytes).unwrap();
    assert_eq!((read.file.origin, read.file.rev), (FileOrigin::OtherClone, Some(4)));
    assert_eq!(read.file.fields, record.fields);
    assert!(store.has_written(&record.id, &file_sum(&bytes)).unwrap());
    assert!(store.has_written_in(&record.id, "/here").unwrap());
    assert!(!store.has_written_in(&record.id, "/there").unwrap());
    let edited = text.replace("a title", "my title");
    let read = read_file(WorkKind::Task, edited.as_bytes()).unwrap();
    assert_eq!(read.file.origin, FileOrigin::Edit);
    assert!(!store.has_written(&record.id, &file_sum(edited.as_bytes())).unwrap());
    for (wrong, what) in [
        (text.replace("\"status\": \"draft\",", "<<<<<<< HEAD"), "line 3 is not JSON"),
        (text.replace("\"A-S01-T04\"", "\"../x\""), "`taskId` is wrong"),
        (text.replace("\"rev\": 4", "\"rev\": -4"), "`forge.rev` must be a number above 0"),
        (text.replace("\"rev\": 4", "\"rev\": 4, \"x\": 1"), "`forge.x` is not a field here"),
        (text.replace("\"a title\"", "1.5"), "`title` must be a whole number"),
        (text.replace("\"status\"", "\"state\""), "`status` is missing"),
        (text.replace("\"title\"", "\"status\""), "line 5: the key `status` is there twice"),
        (
            text.replace("\"rev\": 4", "\"rev\": 4, \"rev\": 5"),
            "line 12: the key `rev` is there twice",
        ),
        ("[]".to_owned(), "line 1: must be an object"),
    ] {
        let flaw = read_file(WorkKind::Task, wrong.as_bytes()).unwrap_err().to_string();
        assert!(flaw.starts_with(what), "{flaw}");
    }
}

#[test]
fn a_record_as_it_was_at_a_revision_is_kept() {
    let dir = tempdir().unwrap();
    let store = fill(dir.path());
    let task = id("A-S01-T04");
    for rev in 1..=4 {
        let record = store.at_revision(&task, rev).unwrap().unwrap();
        assert_eq!((record.rev, record.texts("must").len() as u64), (rev, rev - 1));
    }
    assert_eq!(store.at_revision(&task, 9).unwrap().unwrap().rev, 4);
    assert!(store.at_revision(&id("A-S01-T99"), 1).unwrap().is_none());
}
