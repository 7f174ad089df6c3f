//! The result of a run for user interfaces: what landed, what proves it, artifacts, diffs.
//!
//! Not here: how they look on a terminal.

use std::{fmt::Write as _, time::Duration};

use forge_core::{
    Run,
    event::Blob,
    flow::{REQUEST, Stage, Work},
    id::UnitId,
    view::{self, ResultView, RunView, TextVersion, versions},
};
use forge_driver::{
    Error, checkouts::span, deliver::offer, run_id::short_id, summary_file::SUMMARY,
};
use forge_workspace::FileStat;
use similar::TextDiff;

use crate::{edit::Editable, forge::Forge};

/// The most bytes of a diff that is shown.
const DIFF_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most bytes of a difference that is part of a question.
const ASKED_BYTES_MAX: usize = 64 * 1024;
/// How long two versions of a text are compared; after that the difference is right, but not the shortest one.
const COMPARE_MAX: Duration = Duration::from_secs(2);

/// The change of a unit, for a person to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The project's files, as a diff.
    Code(Vec<u8>),
    /// Texts that it wrote.
    Texts {
        /// Where they differ from the versions that they replaced, as a diff. Nothing, if they replaced none.
        since: Option<String>,
        /// The texts, whole.
        texts: Vec<UnitText>,
    },
}

/// A text that a unit wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitText {
    pub name: String,
    pub content: Vec<u8>,
}

impl Forge {
    /// Returns the result of a run so far.
    pub fn result(&self, id: &str) -> Result<ResultView, Error> {
        let mut view = ResultView::new(id, &self.fold(id)?.0);
        view.row.branch = self.found_at(id, view.row.branch.take(), view.head.as_deref());
        Ok(view)
    }

    /// Reads the titles of the commits of a result.
    pub fn add_subjects(&self, view: &mut ResultView) {
        for landed in &mut view.landed {
            landed.subject = self.home.repository.subject(&landed.commit);
        }
    }

    /// Returns the first unit of a run whose code is not part of its result.
    pub fn unmerged_change(&self, id: &str) -> Result<Option<UnitId>, Error> {
        let (run, _) = self.fold(id)?;
        let is_open = |unit: &UnitId| {
            view::ChangeKind::from_run(&run, unit) == view::ChangeKind::Code
                && run.unit(unit).landed.is_none()
        };
        Ok(run.units().into_iter().map(|(unit, _, _)| unit).find(is_open))
    }

    /// Returns where the result of a run is found: on its branch, or, if that was left alone, on Forge's own ref. If
    /// somebody moved both, only the commit itself is left to be named.
    pub(crate) fn found_at(
        &self,
        id: &str,
        branch: Option<String>,
        head: Option<&str>,
    ) -> Option<String> {
        let (Some(branch), Some(head)) = (&branch, head) else { return branch };
        let is_at = |name: &str| self.home.repository.resolve_commit(name).as_deref() == Some(head);
        if is_at(&format!("refs/heads/{branch}")) {
            return Some(branch.clone());
        }
        let own = format!("refs/forge/{id}/head");
        Some(if is_at(&own) { own } else { head.to_owned() })
    }

    /// Adds to a view where the result of the run is.
    pub fn add_location(&self, view: &mut RunView) {
        let branch = view.row.branch.take();
        view.row.branch = self.found_at(&view.row.run, branch, view.head.as_deref());
    }

    /// Returns the content of an artifact.
    pub fn artifact(&self, id: &str, name: &str) -> Result<Vec<u8>, Error> {
        if name == SUMMARY && !self.is_written_by_an_agent(id, name)? {
            return self.summary(id).map(String::into_bytes);
        }
        if name == REQUEST {
            let (run, _) = self.fold(id)?;
            return Ok(run.definition().start.request.clone().into_bytes());
        }
        if name == offer::TEXT
            && let Some(path) = offer::latest(&self.home, id)
        {
            return std::fs::read(&path).map_err(|error| Error::file(&path, &error));
        }
        let view = self.result(id)?;
        let is_it = |known: &str| known == name || known.strip_suffix(".md") == Some(name);
        if let Some(found) = view.artifacts.iter().find(|artifact| is_it(&artifact.name)) {
            return self.blob(&Blob(found.blob.clone()));
        }
        let Editable { content, .. } = self.editable(id, name)?;
        Ok(content)
    }

    /// Returns true if a run has a file, stage or task of this name.
    pub fn knows_name(&self, id: &str, name: &str) -> bool {
        self.artifact(id, name).is_ok() || self.find_unit("show", id, name).is_ok()
    }

    /// Returns true if an agent or a command writes this artifact, in the run's own table.
    fn is_written_by_an_agent(&self, id: &str, name: &str) -> Result<bool, Error> {
        let (run, _) = self.fold(id)?;
        let writes = |stage: &Stage| stage.writes.iter().any(|written| written == name);
        let is_by_forge = |stage: &Stage| matches!(stage.work, Work::Deliver { .. });
        Ok(run.definition().flow.stages.iter().any(|stage| writes(stage) && !is_by_forge(stage)))
    }

    /// Returns the change of a run's result, without the record of the run.
    pub fn diff(&self, id: &str) -> Result<Vec<u8>, Error> {
        let Some((from, to)) = self.changed_trees(id)? else {
            let what = format!("the flow of {} changes no code", short_id(id));
            return Err(Error::usage(what, format!("forge show {}", short_id(id))));
        };
        Ok(self.home.repository.diff(&from, &to, &[], DIFF_BYTES_MAX)?.text)
    }

    /// Returns the code trees before and after a run. Nothing, if it has no code.
    pub(crate) fn changed_trees(&self, id: &str) -> Result<Option<(String, String)>, Error> {
        let (run, _) = self.fold(id)?;
        let Some(base) = &run.definition().start.base else { return Ok(None) };
        let repository = &self.home.repository;
        let to = repository.code_tree(run.head().unwrap_or(base))?;
        Ok(Some((repository.code_tree(base)?, to)))
    }

    /// Returns the change of one unit.
    pub fn change(&self, id: &str, unit: &UnitId) -> Result<Change, Error> {
        let (run, _) = self.fold(id)?;
        if !run.has(unit) {
            let what = format!("{} has no task or stage `{unit}`", short_id(id));
            return Err(Error::usage(what, format!("forge status {}", short_id(id))));
        }
        match view::ChangeKind::from_run(&run, unit) {
            view::ChangeKind::Nothing => {
                let what = format!("`{unit}` has changed nothing yet");
                Err(Error::usage(what, format!("forge status {}", short_id(id))))
            }
            view::ChangeKind::Code => self.code_change(&run, unit).map(Change::Code),
            view::ChangeKind::NewTexts => {
                Ok(Change::Texts { since: None, texts: self.texts(&versions(&run, unit))? })
            }
            view::ChangeKind::ChangedTexts | view::ChangeKind::UnchangedTexts => {
                let versions = versions(&run, unit);
                let since = Some(self.since(&versions)?);
                Ok(Change::Texts { since, texts: self.texts(&versions)? })
            }
        }
    }

    /// Adds to each question of a view where its texts differ from those that they replaced. What cannot be
    /// read is left out: `forge show` says why.
    pub fn add_differences(&self, view: &mut RunView) {
        let is_again =
            |asked: &&mut view::QuestionView| asked.change == view::ChangeKind::ChangedTexts;
        for asked in view.asked.iter_mut().filter(is_again) {
            let Ok(unit) = asked.unit.parse::<UnitId>() else { continue };
            if let Ok(Change::Texts { since: Some(since), .. }) = self.change(&view.row.run, &unit)
            {
                asked.diff = at_most(since, ASKED_BYTES_MAX);
            }
        }
    }

    /// Returns the files that a task or stage changed; none if it changes texts.
    pub fn unit_changed_files(&self, id: &str, unit: &UnitId) -> Result<Vec<FileStat>, Error> {
        let (run, _) = self.fold(id)?;
        match view::ChangeKind::from_run(&run, unit) {
            view::ChangeKind::Code => {
                let (from, to) = self.changed_commits(&run, unit)?;
                Ok(self.home.repository.file_stats(&from, &to)?)
            }
            view::ChangeKind::Nothing
            | view::ChangeKind::NewTexts
            | view::ChangeKind::ChangedTexts
            | view::ChangeKind::UnchangedTexts => Ok(Vec::new()),
        }
    }

    fn code_change(&self, run: &Run, unit: &UnitId) -> Result<Vec<u8>, Error> {
        let (from, to) = self.changed_commits(run, unit)?;
        Ok(self.home.repository.diff(&from, &to, &[], DIFF_BYTES_MAX)?.text)
    }

    /// Returns the commits before and after the change of a unit.
    fn changed_commits(&self, run: &Run, unit: &UnitId) -> Result<(String, String), Error> {
        let repository = &self.home.repository;
        if let Some(commit) = &run.unit(unit).landed {
            // What landed is one commit.
            let before = repository.resolve_commit(&format!("{commit}^"));
            let base = || run.definition().start.base.clone().expect("a run with code has a base");
            return Ok((before.unwrap_or_else(base), commit.clone()));
        }
        let span = span(repository, run, unit)?;
        Ok((span.from, span.to))
    }

    fn texts(&self, versions: &[TextVersion]) -> Result<Vec<UnitText>, Error> {
        let text = |version: &TextVersion| {
            Ok(UnitText { name: version.name.clone(), content: self.blob(&version.now)? })
        };
        versions.iter().map(text).collect()
    }

    /// Returns where texts differ from what they replaced.
    fn since(&self, versions: &[TextVersion]) -> Result<String, Error> {
        let mut since = String::new();
        for version in versions {
            let before = version.before.as_ref().map(|blob| self.blob(blob)).transpose()?;
            let now = self.blob(&version.now)?;
            since.push_str(&difference(&version.name, before.as_deref(), &now));
        }
        Ok(since)
    }
}

/// Returns where two versions of a text differ, as a diff. Nothing, if they do not.
fn difference(name: &str, before: Option<&[u8]>, now: &[u8]) -> String {
    let from = if before.is_some() { format!("a/{name}") } else { "/dev/null".to_owned() };
    let before = String::from_utf8_lossy(before.unwrap_or_default());
    let now = String::from_utf8_lossy(now);
    if before == now {
        return String::new();
    }
    let differ = TextDiff::configure().timeout(COMPARE_MAX).diff_lines(&before, &now);
    let lines = differ.unified_diff().header(&from, &format!("b/{name}")).to_string();
    at_most(format!("diff --git a/{name} b/{name}\n{lines}"), DIFF_BYTES_MAX)
}

/// Returns the whole lines of a text in at most so many bytes, and whether there are more.
fn at_most(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        let end = text.as_bytes()[..bytes_max].iter().rposition(|byte| *byte == b'\n');
        text.truncate(end.map_or(0, |end| end + 1));
        let _ = writeln!(text, "[cut here: the difference has more than {bytes_max} bytes]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{at_most, difference};

    #[test]
    fn a_difference_has_the_lines_that_differ_and_three_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n";
        let now = "1\n2\n3\n4\nfive\n6\n7\n";
        let expected = "diff --git a/design.md b/design.md\n--- a/design.md\n+++ b/design.md\n\
                        @@ -2,6 +2,6 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n";
        assert_eq!(difference("design.md", Some(before.as_bytes()), now.as_bytes()), expected);
        assert_eq!(difference("design.md", Some(now.as_bytes()), now.as_bytes()), "");
        let new = difference("design.md", None, b"one\n");
        assert!(new.contains("--- /dev/null\n+++ b/design.md\n@@ -0,0 +1 @@\n+one\n"), "{new}");
        // Whatever an agent left, it can be shown.
        let odd = difference("x.md", Some(b"\xff\n"), b"no end");
        assert!(odd.contains("+no end\n\\ No newline at end of file\n"), "{odd}");
    }

    #[test]
    fn a_long_difference_ends_with_a_whole_line_and_says_so() {
        assert_eq!(at_most("ab\ncd\n".to_owned(), 6), "ab\ncd\n");
        let cut = "ab\n[cut here: the difference has more than 5 bytes]\n";
        assert_eq!(at_most("ab\ncd\n".to_owned(), 5), cut);
        assert!(at_most("世界世界".to_owned(), 5).starts_with("[cut here"));
    }
}
