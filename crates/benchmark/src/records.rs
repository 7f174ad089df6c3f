//! Records of work: a change of one and a look at gates, as whole processes, in a store with many facts and in one with few.

use std::{path::Path, process::Command, time::Duration};

use forge_core::work::{
    FieldChange, FieldValue, Fields, WorkAuthor, WorkCommand, WorkId, WorkKind,
};
use forge_store::work::{WorkMoment, WorkStore};

use crate::measurement::{
    Bench, Bound, Measured, Unit, children_cpu, commit, in_ms, repository, spend, write_files,
};

/// The task that is changed and looked at.
const TASK: &str = "A-S01-T01";
const MOST_MS: f64 = 10.0;

pub(crate) fn measure(bench: &Bench) -> Measured {
    let times = bench.sized(5, 100);
    let node = cpu(times, |_| {
        let mut node = Command::new("node");
        node.args(["-e", "0"]);
        node
    });
    let compared = node.map_or_else(
        |_| "node is not here".to_owned(),
        |node| format!("an empty node process: {:.1} ms", in_ms(node)),
    );
    for facts in [0, bench.sized(300, 20_000)] {
        let folder = repository()?;
        write_files(folder.path(), &[("README.md", "a project\n")])?;
        commit(folder.path())?;
        let made = fill(&folder.path().join(".git/forge"), facts)?;
        // Writes the files of all records.
        let mut list = Command::new(&bench.forge);
        spend(list.args(["task", "list"]).current_dir(folder.path()), 0)?;
        let figure = |what: &str, words: &dyn Fn(usize) -> Vec<String>| -> Measured {
            let time = cpu(times, |n| {
                let mut command = Command::new(&bench.forge);
                command.args(words(n)).current_dir(folder.path());
                command
            })?;
            let what = format!("CPU of {what}, {made} facts");
            bench.figure(&what, in_ms(time), Unit::Ms, Bound::AtMost(MOST_MS), &compared);
            Ok(())
        };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        figure("task set", &|n| owned(&["task", "set", TASK, &format!("description=text {n}")]))?;
        figure("gate check", &|_| owned(&["gate", "check", "plan", TASK]))?;
    }
    Ok(())
}

/// Returns the processor time of a command, on average.
fn cpu(times: usize, command: impl Fn(usize) -> Command) -> Measured<Duration> {
    spend(&mut command(0), 0)?;
    let before = children_cpu();
    for n in 1..=times {
        spend(&mut command(n), 0)?;
    }
    let spent = children_cpu().saturating_sub(before);
    Ok(spent / u32::try_from(times).unwrap_or(u32::MAX))
}

/// Makes a store with a task and so many facts more, and returns how many it has.
fn fill(dir: &Path, facts: usize) -> Measured<String> {
    std::fs::create_dir_all(dir).map_err(|error| error.to_string())?;
    let mut store = WorkStore::open(dir).map_err(|error| error.to_string())?;
    change(&mut store, &new(WorkKind::Sprint))?;
    // Each task has a hundred facts; the first one has few.
    change(&mut store, &new(WorkKind::Task))?;
    let mut made = 2;
    while made < facts {
        let id = change(&mut store, &new(WorkKind::Task))?;
        made += 1;
        for n in 0..100.min(facts.saturating_sub(made)) {
            let text = FieldValue::Text(n.to_string());
            let changes = vec![("description".to_owned(), FieldChange::Set(text))];
            let (kind, id) = (WorkKind::Task, id.clone());
            change(&mut store, &WorkCommand::Set { kind, id, changes })?;
            made += 1;
        }
    }
    Ok(made.to_string())
}

fn new(kind: WorkKind) -> WorkCommand {
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let mut fields = Fields::from([("title".to_owned(), text("a title"))]);
    if kind == WorkKind::Task {
        fields.insert("sprintId".to_owned(), text("A-S01"));
    }
    WorkCommand::Create { kind, id: None, prefix: "A".to_owned(), fields }
}

fn change(store: &mut WorkStore, command: &WorkCommand) -> Measured<WorkId> {
    let by = WorkAuthor::Person { who: "ada".to_owned() };
    let moment = WorkMoment { at: 1_000, now: "2026-01-31T12:00:00Z", by: &by, place: None };
    Ok(store.change(&moment, command).map_err(|error| error.to_string())?.0.record.id)
}
