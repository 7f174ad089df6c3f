//! The result of a run on its way into the user's branch: which files changed, what a merge would do, and the merge.
//!
//! Not here: the asking. Nothing is merged before a person said yes.
//!
//! Invariant: only the result of a run that is done is merged.

use std::collections::BTreeSet;

use forge_core::{
    id::UnitId,
    view::{ProofState, RemainingFinding, RunRow, Standing},
};
use forge_driver::{Error, run_id::short_id};

pub use forge_workspace::{FileStat, MergeWay};

use crate::{
    forge::{Forge, RUNS_MAX},
    watch::find_unit::{Target, find},
};

/// The most commits of a merge that are listed.
pub const SUBJECTS_MAX: usize = 20;
/// The most done runs that are looked at for a result that is not merged.
const LOOKED_AT_MAX: usize = 50;

/// A result, and the branch that it can be merged into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeOffer {
    pub row: RunRow,
    /// Where the result is: the run's branch, or a ref or commit if that was moved.
    pub from: String,
    /// The branch that is checked out; none if there is none.
    pub onto: Option<String>,
    pub way: MergeWay,
    pub proof: ProofState,
    /// Findings that are left in the result.
    pub noted: Vec<RemainingFinding>,
    /// The commits that are merged, newest first: short id and subject, at most [`SUBJECTS_MAX`].
    pub subjects: Vec<String>,
    pub files: Vec<FileStat>,
    /// The files that the run tells of itself, which come with it.
    pub record: Vec<String>,
}

impl Forge {
    /// Returns the files that a run changed so far, without the record of the run.
    pub fn changed_files(&self, id: &str) -> Result<Vec<FileStat>, Error> {
        let Some((from, to)) = self.changed_trees(id)? else { return Ok(Vec::new()) };
        Ok(self.home.repository.file_stats(&from, &to)?)
    }

    /// Returns the branches whose results are part of the user's branch; none where that cannot be told.
    pub fn merged_branches(&self) -> BTreeSet<String> {
        self.home.repository.merged_branches().unwrap_or_default()
    }

    /// Returns the unit that a person means by a name or a part of it, such as `T2`.
    pub fn find_unit(&self, command: &str, id: &str, name: &str) -> Result<UnitId, Error> {
        let (run, _) = self.fold(id)?;
        Ok(match find(command, id, &run, &[], name)? {
            Target::Unit(unit) => unit,
            Target::Call(call) => call.unit().clone(),
        })
    }

    /// Returns what a merge of the result of a run would do.
    pub fn merge_offer(&self, id: &str) -> Result<MergeOffer, Error> {
        let view = self.result(id)?;
        if view.row.standing != Standing::Done {
            let id = short_id(id);
            let what = format!("{id} is not done ({})", view.row.standing.label());
            return Err(Error::usage(what, format!("forge status {id}")));
        }
        self.refuse_undone(id)?;
        let (Some(from), Some(head)) = (view.row.branch.clone(), view.head) else {
            let id = short_id(id);
            let what = format!("{id} changed nothing, so there is nothing to merge");
            return Err(Error::usage(what, format!("forge show {id}")));
        };
        let repository = &self.home.repository;
        let onto = repository.branch();
        let here = repository.head().unwrap_or_else(|| head.clone());
        Ok(MergeOffer {
            way: repository.merge_way(&head)?,
            subjects: repository.subjects(&here, &head, SUBJECTS_MAX)?,
            files: self.changed_files(id)?,
            record: repository.files_at(&head, &format!(".forge/runs/{id}"))?,
            row: view.row,
            proof: view.proof,
            noted: view.noted,
            from,
            onto,
        })
    }

    /// Merges a result into the branch that is checked out. Only for a person who was asked and said yes. Returns the
    /// commit that is checked out then.
    pub fn merge(&self, offer: &MergeOffer) -> Result<String, Error> {
        self.refuse_agents()?;
        Ok(self.home.repository.merge_into_checkout(&offer.from)?)
    }

    /// Returns the latest done runs whose result is not in the branch that is checked out.
    pub fn unmerged_runs(&self) -> Result<Vec<RunRow>, Error> {
        let (rows, _) = self.rows(RUNS_MAX)?;
        let done = rows.into_iter().filter(|row| row.standing == Standing::Done);
        let is_unmerged = |row: &RunRow| {
            let name = format!("refs/forge/{}/head", row.run);
            let head = self.home.repository.resolve_commit(&name);
            head.is_some_and(|head| !self.is_merged(&head))
                && !self.is_undone(&row.run, row.branch.as_deref())
        };
        Ok(done.take(LOOKED_AT_MAX).filter(is_unmerged).collect())
    }

    /// Returns the branch that is checked out, or `HEAD` if there is none.
    pub fn checked_out(&self) -> String {
        self.home.repository.branch().unwrap_or_else(|| "HEAD".to_owned())
    }

    /// Returns true if the commit that is checked out has another one in its history.
    pub fn is_merged(&self, commit: &str) -> bool {
        let repository = &self.home.repository;
        let here = repository.head();
        here.is_some_and(|here| repository.is_ancestor(commit, &here).unwrap_or(false))
    }
}
