//! What a door shows of a run's result: what landed, what proves it, artifacts, diffs.

use forge_core::{
    event::{Blob, Record},
    flow::{Stage, Work},
    id::UnitId,
    view::{ResultView, RunView},
};

use crate::{Trouble, deliver::offer, doors::Doors, gates::span, mend::Editable, summary::SUMMARY};

/// The most bytes of a diff that is shown.
const DIFF_BYTES_MAX: usize = 16 * 1024 * 1024;

impl Doors {
    /// What a run has come to so far.
    pub fn result(&self, id: &str) -> Result<ResultView, Trouble> {
        let records: Vec<Record> =
            self.records(id, 1)?.into_iter().map(|(_, record)| record).collect();
        let run = crate::drive::fold_facts(&records);
        let mut view = ResultView::of(id, &run, &records);
        view.branch = self.found_at(id, view.branch, view.head.as_deref());
        Ok(view)
    }

    /// Where the result of a run is found: on its branch, or, if that was left alone, on Forge's own ref.
    pub(crate) fn found_at(
        &self,
        id: &str,
        branch: Option<String>,
        head: Option<&str>,
    ) -> Option<String> {
        let (Some(branch), Some(head)) = (&branch, head) else { return branch };
        let there = self.home.repository.commit_of(&format!("refs/heads/{branch}"));
        if there.as_deref() == Some(head) {
            return Some(branch.clone());
        }
        Some(format!("refs/forge/{id}/head"))
    }

    /// Says in a view where the result of the run is found.
    pub fn say_where(&self, view: &mut RunView) {
        view.branch = self.found_at(&view.row.run, view.branch.take(), view.head.as_deref());
    }

    /// The content of an artifact.
    pub fn artifact(&self, id: &str, name: &str) -> Result<Vec<u8>, Trouble> {
        if name == SUMMARY && !self.is_written_by_an_agent(id, name)? {
            return self.summary(id).map(String::into_bytes);
        }
        if name == offer::TEXT
            && let Some(path) = offer::latest(&self.home, id)
        {
            return std::fs::read(&path).map_err(|error| Trouble::file(&path, &error));
        }
        let view = self.result(id)?;
        if let Some(found) = view.artifacts.iter().find(|artifact| artifact.name == name) {
            return self.blob(&Blob(found.blob.clone()));
        }
        let Editable { content, .. } = self.editable(id, name)?;
        Ok(content)
    }

    /// Whether an artifact of this name is for an agent or a command to write, in the run's own table.
    fn is_written_by_an_agent(&self, id: &str, name: &str) -> Result<bool, Trouble> {
        let (run, _) = self.fold(id)?;
        let writes = |stage: &Stage| stage.writes.iter().any(|written| written == name);
        let is_ours = |stage: &Stage| matches!(stage.work, Work::Deliver { .. });
        Ok(run.law().flow.stages.iter().any(|stage| writes(stage) && !is_ours(stage)))
    }

    /// The change of a run's result, or of one unit.
    pub fn diff(&self, id: &str, unit: Option<&UnitId>) -> Result<Vec<u8>, Trouble> {
        let (run, _) = self.fold(id)?;
        let repository = &self.home.repository;
        let Some(base) = &run.law().start.base else {
            let what = format!("{id} works on no code");
            return Err(Trouble::usage(what, format!("forge show {id}")));
        };
        let (from, to) = match unit {
            None => (base.clone(), run.head().unwrap_or(base).to_owned()),
            Some(unit) if run.has(unit) => {
                match (run.unit(unit).landed.as_ref(), run.code(&unit.scope)) {
                    // What landed is one commit.
                    (Some(commit), _) => {
                        let before = repository.commit_of(&format!("{commit}^"));
                        (before.unwrap_or_else(|| base.clone()), commit.clone())
                    }
                    (None, Some(_)) => {
                        let span = span(repository, &run, unit)?;
                        (span.from, span.to)
                    }
                    (None, None) => {
                        let what = format!("`{unit}` has changed nothing yet");
                        return Err(Trouble::usage(what, format!("forge status {id}")));
                    }
                }
            }
            Some(unit) => {
                let what = format!("{id} has no unit `{unit}`");
                return Err(Trouble::usage(what, format!("forge status {id}")));
            }
        };
        Ok(repository.diff(&from, &to, &[], DIFF_BYTES_MAX)?)
    }
}
