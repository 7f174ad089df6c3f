//! Edits of a person to a run: change an artifact or the code, or let it go another way.

use std::path::{Path, PathBuf};

use forge_core::{
    Command, Refusal, Run,
    event::{Blob, Edit, End, Event},
    flow::REQUEST,
    id::{Scope, UnitId, is_meant},
    inbox::artifacts,
    rewind::rewind,
    run::Phase,
};
use forge_driver::{
    Error,
    checkouts::{checkout_location, commit_of, scope_of},
    clock::now,
    person::person,
    refusal::refused,
    run_id::{new_run_id, short_id},
    run_loop::{Driver, Machine, Tell},
    secrets::{guard, redacted, redacted_text, table},
    signals::Signals,
};
use forge_project::suggest::nearest;
use forge_store::{
    journal::{RunLock, Store},
    records::{body, fold_facts, row},
};
use forge_workspace::{
    CodeHistory as _, CommitFiles, Operation, OperationResult, Repository, perform_with_guard,
};

use crate::forge::{Forge, RunOutcome, Sent};

/// An artifact of a run that a person may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Editable {
    /// The unit that wrote it.
    pub unit: UnitId,
    pub name: String,
    pub content: Vec<u8>,
}

/// A run that shares its first facts with another one, and that nobody drives yet.
pub struct RewoundRun {
    pub run: String,
    driver: Driver,
    signals: Signals,
}

impl RewoundRun {
    /// Drives it until it stops.
    pub fn drive(mut self, tell: Tell<'_>) -> Result<RunOutcome, Error> {
        self.begin(tell)?;
        let how = self.driver.drive(&mut self.signals, tell)?;
        Ok(RunOutcome::from_driver(&mut self.driver, self.run, how))
    }

    /// Leaves it to somebody else. The files that show it are there when this returns.
    pub fn let_go(mut self) -> Result<String, Error> {
        self.begin(&mut |_, _| {})?;
        self.driver.show();
        Ok(self.run)
    }

    fn begin(&mut self, tell: Tell<'_>) -> Result<(), Error> {
        self.driver.tell_first(tell)?;
        self.driver.hear_time(tell)
    }
}

impl Forge {
    /// Returns the artifact of this name, as `forge show` names it: with its scope, if it has one.
    pub fn editable(&self, id: &str, name: &str) -> Result<Editable, Error> {
        if name == REQUEST {
            let what = "the request of a run cannot be changed";
            let next =
                format!("forge abandon {}, then forge run \"the new request\"", short_id(id));
            return Err(Error::usage(what, next));
        }
        let (run, _) = self.fold(id)?;
        let known = |unit: &UnitId, artifact: &str| -> String {
            match unit.scope.item() {
                None => artifact.to_owned(),
                Some(item) => format!("{item}/{artifact}"),
            }
        };
        let mut found = Vec::new();
        for (unit, _, state) in run.units() {
            for (artifact, blob) in &state.artifacts {
                let full = known(&unit, artifact);
                // `design` means `design.md`.
                let is_task = |task: &str| unit.scope.item().is_some_and(|id| is_meant(id, task));
                let is_in_task = |(task, own): (&str, &str)| own == artifact && is_task(task);
                let exact = name == full
                    || name == format!("{}/{artifact}", unit.scope)
                    || name.split_once('/').is_some_and(is_in_task);
                if exact || artifact == name || artifact.strip_suffix(".md") == Some(name) {
                    found.push((unit.clone(), artifact.clone(), full, blob.clone(), exact));
                }
            }
        }
        if found.iter().any(|(_, _, _, _, exact)| *exact) {
            found.retain(|(_, _, _, _, exact)| *exact);
        }
        match found.as_slice() {
            [(unit, name, _, blob, _)] => {
                let content = self.blob(blob)?;
                Ok(Editable { unit: unit.clone(), name: name.clone(), content })
            }
            [] => {
                let names: Vec<String> = artifacts(&run)
                    .into_iter()
                    .map(|(scope, name, _)| known(&scope.unit("x"), &name))
                    .collect();
                let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                Err(Error::usage(
                    format!("{} has no file `{name}`; it has {there}", short_id(id)),
                    format!("forge show {}", short_id(id)),
                ))
            }
            [..] => {
                let names: Vec<&str> =
                    found.iter().map(|(_, _, full, _, _)| full.as_str()).collect();
                Err(Error::usage(
                    format!("`{name}` could be {}", names.join(" or ")),
                    format!("forge edit {} {}", short_id(id), names[0]),
                ))
            }
        }
    }

    /// Takes a person's change of an artifact for an attempt of its own.
    pub fn edit_artifact(
        &self,
        id: &str,
        unit: &UnitId,
        name: &str,
        content: &[u8],
        why: &str,
    ) -> Result<Sent, Error> {
        self.refuse_agents()?;
        let blob = self.blobs()?.add(&redacted(content));
        let blob = blob.map_err(|error| Error::file(&self.home.dir.join("blobs"), &error))?;
        let content = Blob(blob.as_str().to_owned());
        let edit = Edit::Artifact { name: name.to_owned(), content };
        let (unit, why, by) = (unit.clone(), why.to_owned(), person());
        self.send(id, &Command::Edit { unit, edit, why, by })
    }

    /// Returns the checkout of a unit, where a person may change the code.
    pub fn checkout(&self, id: &str, unit: &UnitId) -> Result<PathBuf, Error> {
        let (run, _) = self.fold(id)?;
        known_unit(&run, id, unit)?;
        let frozen = self.frozen(&run)?;
        let scope = scope_of(&run, unit);
        let tree = checkout_location(&self.home, &frozen, id, &scope)?.dir.join("tree");
        if tree.is_dir() {
            return Ok(tree);
        }
        Err(Error::usage(
            format!(
                "{} has no checkout: it has not started, or its checkout was removed",
                unit.label()
            ),
            format!("forge status {}", short_id(id)),
        ))
    }

    /// Takes what a person changed in the checkout of a unit for an attempt of its own.
    pub fn edit_code(&self, id: &str, unit: &UnitId, why: &str) -> Result<Sent, Error> {
        self.refuse_agents()?;
        let why = &redacted_text(why);
        let (run, _) = self.fold(id)?;
        known_unit(&run, id, unit)?;
        if run.calls().keys().any(|call| scope_of(&run, call.unit()) == scope_of(&run, unit)) {
            return Err(Error::usage(
                format!("an agent is working in the checkout of `{unit}`"),
                format!("forge stop {}", short_id(id)),
            ));
        }
        if let Phase::Over(end @ (End::Done | End::Abandoned)) = run.phase() {
            return Err(refused(id, &Refusal::Over(*end)));
        }
        let checkout = self.checkout(id, unit)?;
        let frozen = self.frozen(&run)?;
        let scope = scope_of(&run, unit);
        let from = commit_of(&run, &scope);
        let mut onto = vec![from.clone()];
        onto.extend(run.head().filter(|head| is_merged(&checkout, head)).map(str::to_owned));
        let pin = format!("refs/forge/{id}/edits/{}", now());
        let order = Operation::Commit(CommitFiles {
            location: checkout_location(&self.home, &frozen, id, &scope)?,
            onto,
            message: format!("{why}\n\nForge-Run: {id}\nForge-Call: {}, by hand\n", unit.label()),
            rewords: None,
            when_ms: now(),
            pin: pin.clone(),
        });
        let table = table(self.home.repository.top.as_deref(), &frozen, &run);
        let made = perform_with_guard(&order, &mut guard(&table))?;
        if let OperationResult::Refused(refused) = made {
            let place = self.checkout(id, unit)?.display().to_string();
            return Err(Error::usage(refused.flaws.join("\n"), format!("see {place}")));
        }
        let OperationResult::Committed(made) = made else {
            unreachable!("the worker was asked to commit")
        };
        if made.commit == from {
            self.home.repository.unpin(&pin)?;
            return Err(Error::usage(
                format!("nothing has changed in the checkout of `{unit}`"),
                format!("change files in {}", self.checkout(id, unit)?.display()),
            ));
        }
        let edit = Edit::Code { commit: made.commit, tree: made.tree };
        let (unit, why, by) = (unit.clone(), why.clone(), person());
        let sent = self.send(id, &Command::Edit { unit, edit, why, by });
        if sent.is_err() {
            self.home.repository.unpin(&pin)?;
        }
        sent
    }

    /// Begins a run that shares the facts of another one up to a unit. Who drives it is for the caller to say.
    pub fn rewind(&self, id: &str, unit: &UnitId) -> Result<RewoundRun, Error> {
        self.refuse_agents()?;
        let records: Vec<_> = self.records(id, 1)?.into_iter().map(|one| one.record).collect();
        let Some(mut shared) = rewind(&records, id, unit, now(), &person()) else {
            let (run, _) = self.fold(id)?;
            let tried: Vec<String> = run
                .units()
                .into_iter()
                .filter(|(_, _, unit)| unit.attempt > 0)
                .map(|(unit, _, _)| unit.label())
                .collect();
            let (id, unit) = (short_id(id), unit.label());
            if let Some(near) = nearest(&unit, tried.iter().map(String::as_str)) {
                let what = format!("{id} has not started `{unit}`; did you mean `{near}`?");
                let near = near.replace(' ', "/");
                return Err(Error::usage(what, format!("forge rewind {id} {near}")));
            }
            return Err(Error::usage(
                format!("{id} has not started `{unit}`; started: {}", tried.join(", ")),
                format!("forge rewind {id} STAGE"),
            ));
        };
        let run = fold_facts(&shared);
        let new = new_run_id(&run.definition().start.request);
        let frozen = self.frozen(&run)?;
        let lands = run.definition().start.branch.is_some();
        for fact in shared.iter_mut().rev().flat_map(|record| &mut record.facts) {
            if let Event::RunRewound { branch, from, .. } = fact
                && from == id
            {
                *branch = lands.then(|| frozen.branch_of(&new));
            }
        }
        let run = fold_facts(&shared);
        self.keep_shared(&new, &run)?;
        let mut store = Store::open(&self.home.dir)?;
        let lock = RunLock::acquire(&self.home.dir, &new)?;
        self.take_rewound_records(&run, unit, (id, &new))?;
        let first: Vec<(u64, String)> =
            shared.iter().map(|record| (record.at, body(record))).collect();
        let writer = store.begin_run_with(lock, &first, &row(&new, &run))?;
        let signals = Signals::listen()?;
        let machine = Machine::local(&self.home)?;
        let driver = Driver::over(&self.home, machine, &new, Box::new(store), writer, run, frozen)?;
        Ok(RewoundRun { run: new, driver, signals })
    }

    /// Commits that a rewound run goes on from are kept by refs of its own.
    fn keep_shared(&self, new: &str, run: &Run) -> Result<(), Error> {
        let mut scopes: Vec<Scope> =
            run.units().into_iter().map(|(unit, _, _)| unit.scope).collect();
        scopes.sort();
        scopes.dedup();
        for (number, scope) in (1..).zip(scopes) {
            if let Some(code) = run.code(&scope) {
                let name = format!("refs/forge/{new}/shared/{number:04}");
                self.home.repository.pin(&name, &code.commit)?;
            }
        }
        Ok(())
    }
}

fn known_unit(run: &Run, id: &str, unit: &UnitId) -> Result<(), Error> {
    if run.is_started() && run.has(unit) {
        return Ok(());
    }
    let what = format!("{} has no task or stage `{unit}`", short_id(id));
    Err(Error::usage(what, format!("forge status {}", short_id(id))))
}

/// Returns true if a person has merged a commit into a checkout: in its history, or about to be.
fn is_merged(checkout: &Path, commit: &str) -> bool {
    let Ok(theirs) = Repository::find(checkout) else { return false };
    let is_in = |head: String| theirs.is_ancestor(commit, &head).unwrap_or(false);
    theirs.resolve_commit("MERGE_HEAD").is_some_and(|merged| merged == commit)
        || theirs.head().is_some_and(is_in)
}
