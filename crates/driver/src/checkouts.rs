//! Where the calls of a run work: which private checkout belongs to a unit, at which commit it
//! stands, and who may change it.
//!
//! Work that lands has a checkout of its own for each item, so that items cannot disturb each
//! other. What only reads shares the nearest one further out. Proofs are made in a checkout that
//! no agent is ever given.
//!
//! Invariant: where a checkout stands follows from the facts alone, so that any driver, and a run
//! that was rewound, finds or makes it again.

use std::path::Path;

use forge_agents::CodeAccess;
use forge_core::{
    Run,
    flow::{Check, Stage, Work, lands},
    id::{CallId, Scope, UnitId},
    run::{FilesState as UnitFiles, LandedUnit},
};
use forge_project::{catalog::Code, settings::Frozen};
use forge_workspace::{
    CachesAfter, CheckoutLocation, CodeHistory, FileAccess, FilesPolicy, GitError, OpenCheckout,
    Operation, RestoreFiles,
};

use crate::{Error, context::RunContext, layout::Home};

/// The most bytes of the difference that a reviewer is given.
pub const DIFF_BYTES_MAX: usize = 1024 * 1024;

/// A checkout that calls work in.
#[derive(Clone, Debug)]
pub struct Place {
    /// The scope that it belongs to.
    pub scope: Scope,
    /// Where it lies.
    pub location: CheckoutLocation,
}

impl RunContext<'_> {
    /// The checkout that a unit works in.
    pub fn place(&self, run: &Run, unit: &UnitId) -> Place {
        let scope = scope_of(run, unit);
        Place { location: scope_location(self.home, &self.checkouts, &scope), scope }
    }

    /// The checkout in which proofs are made.
    pub fn verification(&self) -> CheckoutLocation {
        self.home.checkout_at(self.checkouts.join("_verify"))
    }

    /// Says if a call may change the code: its role, or its row in the flow.
    pub fn code_access(&self, run: &Run, call: &CallId) -> Result<CodeAccess, Error> {
        let CallId::Attempt(attempt) = call else { return Ok(CodeAccess::Reads) };
        let stages = run.definition().flow.table(&attempt.unit.scope);
        let row = stages.iter().position(|stage| stage.name == attempt.unit.stage);
        let row = row.expect("a unit names a stage of its flow");
        let work = &stages[row].work;
        let writes = match work.role() {
            Some(role) => self.role(run, call, role)?.code == Code::Writes,
            None => matches!(work, Work::Command { .. }) && lands(stages, row),
        };
        Ok(if writes { CodeAccess::Writes } else { CodeAccess::Reads })
    }

    /// How the checkout of a call is opened.
    pub fn open(
        &self,
        run: &Run,
        call: &CallId,
        place: &Place,
        access: CodeAccess,
    ) -> OpenCheckout {
        let unit = run.unit(call.unit());
        let is_shared = is_shared(run, call, &place.scope);
        let files = match (access, unit.files) {
            (CodeAccess::Writes, UnitFiles::Left) if unit.attempt > 1 => FilesPolicy::KeepWork,
            (CodeAccess::Reads | CodeAccess::Writes, _) if is_shared => FilesPolicy::KeepWork,
            (CodeAccess::Reads | CodeAccess::Writes, UnitFiles::Left | UnitFiles::Committed) => {
                FilesPolicy::ResetTracked
            }
        };
        let at = commit_of(run, &place.scope);
        // Only who can resolve conflicts gets them.
        let does_not_land =
            matches!(call, CallId::Attempt(_)) && access == CodeAccess::Writes && unit.landings > 0;
        let start = &run.definition().start;
        let base = start.base.clone().expect("a run with checkouts has a base");
        OpenCheckout {
            location: place.location.clone(),
            merge: run.head().filter(|head| does_not_land && *head != at).map(str::to_owned),
            at,
            files,
            worker: match access {
                CodeAccess::Writes => Some(call.unit().to_string()),
                CodeAccess::Reads => None,
            },
            access: match access {
                CodeAccess::Writes => FileAccess::Write,
                CodeAccess::Reads => FileAccess::Read,
            },
            branch: branch_of(self.id, &place.scope),
            base: start.base_branch.clone().map(|branch| (branch, base)),
            copy: self.frozen.copy.clone(),
            cache: self.frozen.cache.clone(),
            setup_inputs: self.frozen.setup_inputs.clone(),
        }
    }

    /// How the checkout for proofs is opened at a commit.
    pub fn open_verification(&self, run: &Run, commit: &str, caches: Caches) -> Operation {
        let start = &run.definition().start;
        let base = start.base.clone().expect("a run with checkouts has a base");
        Operation::Open(OpenCheckout {
            location: self.verification(),
            at: commit.to_owned(),
            merge: None,
            files: FilesPolicy::Pristine,
            worker: None,
            access: FileAccess::Write,
            branch: format!("forge/{}", self.id),
            base: start.base_branch.clone().map(|branch| (branch, base)),
            copy: self.frozen.copy.clone(),
            cache: match caches {
                Caches::Kept => self.frozen.cache.clone(),
                Caches::Cleared => Vec::new(),
            },
            setup_inputs: self.frozen.setup_inputs.clone(),
        })
    }

    /// How the files are put back after a proof.
    pub fn seal_verification(&self, commit: &str, caches: CachesAfter) -> Operation {
        let (location, at) = (self.verification(), commit.to_owned());
        Operation::Restore(RestoreFiles { location, at, access: FileAccess::Write, caches })
    }
}

/// The scope whose checkout a unit works in: its own if something in it lands, or the nearest one
/// further out.
pub fn scope_of(run: &Run, unit: &UnitId) -> Scope {
    let flow = &run.definition().flow;
    let mut scope = unit.scope.clone();
    while let Some(outer) = scope.parent() {
        let has_land = |stage: &Stage| stage.gates.iter().any(|gate| gate.check == Check::Land);
        if flow.table(&scope).iter().any(has_land) {
            break;
        }
        scope = outer;
    }
    scope
}

/// The checkout of a scope, for whoever has no driver.
pub fn checkout_location(
    home: &Home,
    frozen: &Frozen,
    run: &str,
    scope: &Scope,
) -> Result<CheckoutLocation, Error> {
    Ok(scope_location(home, &home.checkouts(run, frozen)?, scope))
}

fn scope_location(home: &Home, checkouts: &Path, scope: &Scope) -> CheckoutLocation {
    let steps = scope.steps().map(|(group, item)| format!("{group}.{item}"));
    let dir = steps.fold(checkouts.to_owned(), |dir, step| dir.join(step)).join("_");
    home.checkout_at(dir)
}

/// Whether another call works in the checkout of this scope.
pub fn is_shared(run: &Run, call: &CallId, scope: &Scope) -> bool {
    run.calls().keys().any(|other| {
        other != call
            && run.call_kind(other).needs_work_checkout()
            && scope_of(run, other.unit()) == *scope
    })
}

/// Whether caches of earlier proofs may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    /// They may.
    Kept,
    /// Everything is made anew.
    Cleared,
}

/// The commit of a scope's own work that has not landed, if there is one.
pub fn own_commit<'a>(run: &'a Run, scope: &Scope) -> Option<&'a str> {
    let (_, table) = run.table(scope);
    let landed =
        |commit: &str| table.units.iter().any(|unit| unit.landed.as_deref() == Some(commit));
    run.code(scope).map(|code| code.commit.as_str()).filter(|commit| !landed(commit))
}

/// The commit that the work of a scope stands at: its own that has not landed, or the run's result.
pub fn commit_of(run: &Run, scope: &Scope) -> String {
    let own = own_commit(run, scope).or(run.head());
    own.expect("a run with checkouts has a base").to_owned()
}

/// The branch that an agent sees itself on.
fn branch_of(run: &str, scope: &Scope) -> String {
    match scope.as_str() {
        "" => format!("forge/{run}"),
        scope => format!("forge/{run}/{scope}"),
    }
}

/// The change that a scope stands for: from where it left the run's result, to where it stands.
#[derive(Clone, Debug)]
pub struct Span {
    /// The commit that it is compared with.
    pub from: String,
    /// Where it stands.
    pub to: String,
}

/// The change that a look at a unit is about: that of the scope whose checkout it works in.
pub fn span(repository: &dyn CodeHistory, run: &Run, unit: &UnitId) -> Result<Span, GitError> {
    let to = judged_commit(run, unit);
    let head = run.head().expect("a run with checkouts has a base");
    let scope = scope_of(run, unit);
    // A look from the flow's own table, at no change of its own, is one at the whole run.
    let from = if scope.is_root() && own_commit(run, &scope).is_none() {
        run.definition().start.base.clone().expect("a run with checkouts has a base")
    } else {
        repository.merge_base(head, &to)?
    };
    Ok(Span { from, to })
}

/// The change that agents around a unit are shown: in an item all that landed from inside it, with its own that has not.
pub fn shown_change(
    repository: &dyn CodeHistory,
    run: &Run,
    unit: &UnitId,
) -> Result<Span, GitError> {
    let item = run.definition().flow.item_scope(&unit.scope);
    let is_inside = |landed: &&LandedUnit| {
        let scope = &landed.unit.scope;
        item.as_ref().is_some_and(|item| scope != item && scope.within(item))
    };
    let first = run.history().landed.iter().find(is_inside);
    // What landed is one commit, on what was there before.
    let before = first.and_then(|first| repository.resolve_commit(&format!("{}^", first.commit)));
    match before {
        Some(from) => Ok(Span { from, to: judged_commit(run, unit) }),
        None => span(repository, run, unit),
    }
}

/// All that the run has changed so far, as the checkout of a unit shows it.
pub fn so_far(run: &Run, unit: &UnitId) -> Span {
    let base = run.definition().start.base.clone();
    Span { from: base.expect("a run with checkouts has a base"), to: judged_commit(run, unit) }
}

/// The commit that a look at a unit is about.
pub fn judged_commit(run: &Run, unit: &UnitId) -> String {
    commit_of(run, &scope_of(run, unit))
}
