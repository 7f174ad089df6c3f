//! A folder that a person names to go on from: of a run of this repository, or of another system or machine
//! that left a `state.json` of the documented form.
//!
//! A run that is in the journal is that run. Any other is begun anew from its `request.md`, with what its state
//! says: effort, skips, flags. What its phases made is not taken for done: no gate has judged it.
//! The new run keeps the folder's path, so that whoever names it again goes on with that run.
//!
//! Invariant: nothing in the folder is written.

use std::path::{Path, PathBuf};

use forge_core::{
    event::{Approvals, Detail},
    view::{Course, RunRow},
};
use forge_driver::{Error, run_id::short_id};
use forge_project::bounded_read::read_text;
use serde::Deserialize;

use crate::{
    forge::Forge,
    older_workspace::{OlderEnd, REQUEST, STATE, older_end, without_head},
    start::{BranchChoice, OnMissing, PullRequest, Request},
};

/// The most bytes of a state.
const STATE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The most bytes of a request.
const REQUEST_BYTES_MAX: u64 = 1024 * 1024;
/// The flow that older runs go through.
const FLOW: &str = "feature";

/// What each effort leaves out of the older phases, as this flow does it.
const SKIPS: [(&str, &[&str]); 3] = [
    ("S", &["phase-4b", "checkpoint-b", "phase-7"]),
    ("M", &["phase-4b", "checkpoint-b"]),
    ("L", &[]),
];
/// Skips that say nothing about the effort.
const OTHER_SKIPS: [&str; 2] = ["pr-creation", "post-to-source"];

/// The run or folder that a person named.
#[derive(Debug)]
pub enum Named {
    /// A run of this repository, and what a person should know who named the folder that it was begun from.
    Run { run: String, note: Option<String> },
    /// Something older, to begin anew from, with notes for the person who resumes it.
    Older { request: Box<Request>, notes: Vec<String> },
}

/// The fields of a state that matter here. Others are of no interest.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct State {
    run: Option<String>,
    flow: Option<String>,
    effort: Option<String>,
    flow_template: Option<String>,
    skipped_phases: Option<Vec<String>>,
    auto_approve: Option<bool>,
    skip_pr: Option<bool>,
    debug: Option<bool>,
    use_current_branch: Option<bool>,
    current_phase: Option<String>,
    current_phase_status: Option<String>,
}

impl Forge {
    /// Returns the run that somebody means with its id, a beginning or its last letters, or with a folder.
    pub fn named(&self, text: &str, effort: Option<&str>) -> Result<Named, Error> {
        let path = Path::new(text);
        // What no folder is there for is refused as a name is.
        if !path.is_dir() || !(text.contains('/') || path.join(STATE).is_file()) {
            return Ok(Named::Run { run: self.resolve(text)?, note: None });
        }
        let path = path.canonicalize().map_err(|error| Error::file(path, &error))?;
        let state = state(&path)?;
        let folder = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        for run in [state.run.clone(), folder].into_iter().flatten() {
            if self.resolve(&run).is_ok_and(|found| found == run) {
                return Ok(Named::Run { run, note: None });
            }
        }
        match self.imported_run(&path)? {
            Some(row) => go_on(&path, row),
            None => older(&path, &state, effort),
        }
    }

    /// Returns the newest run that was begun from this folder.
    fn imported_run(&self, folder: &Path) -> Result<Option<RunRow>, Error> {
        let Some(store) = self.find_store()? else { return Ok(None) };
        let source = folder.display().to_string();
        let rows = store.rows_with("\"source\":")?;
        // A row that cannot be read says nothing that could be acted on.
        let rows = rows.iter().filter_map(|row| serde_json::from_str::<RunRow>(&row.row).ok());
        let own = rows.filter(|row| row.source.as_ref() == Some(&source));
        Ok(own.max_by_key(|row| (row.started_at, row.changed_at)))
    }
}

/// Goes on with the run that was begun from a folder before, instead of paying for another one.
fn go_on(folder: &Path, RunRow { run, standing, .. }: RunRow) -> Result<Named, Error> {
    let shown = folder.display();
    if standing.course() != Course::Over {
        let note = format!("{} was started from {shown} before; it is resumed", short_id(&run));
        return Ok(Named::Run { run, note: Some(note) });
    }
    let what =
        format!("{}, which was started from {shown}, is {}", short_id(&run), standing.label());
    Err(Error::usage(
        what,
        format!("forge show {}, or to do it again: {}", short_id(&run), anew(folder, "")),
    ))
}

/// Returns the command that begins from what was asked for in a folder.
fn anew(folder: &Path, flags: &str) -> String {
    format!("forge run {flags}\"$(cat {})\"", asked_in(folder).display())
}

/// Returns the file that says what was asked for: beside the state, or, in a folder of Forge, among the artifacts.
fn asked_in(folder: &Path) -> PathBuf {
    let among = folder.join("artifacts").join(REQUEST);
    if among.is_file() { among } else { folder.join(REQUEST) }
}

fn state(folder: &Path) -> Result<State, Error> {
    let path = folder.join(STATE);
    let text = read_text(&path, STATE_BYTES_MAX)?.ok_or_else(|| {
        let what = format!("{} has no {STATE}", folder.display());
        Error::usage(what, "forge status (which runs there are)")
    })?;
    // A list would be taken for the fields in their order.
    let read = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text);
    read.and_then(|map| serde_json::from_value(map.into())).map_err(|error| {
        let what = format!("{} cannot be read: {error}", path.display());
        Error::usage(what, format!("fix it, or start again: {}", anew(folder, "")))
    })
}

/// Builds the request that continues an older folder.
fn older(folder: &Path, state: &State, given: Option<&str>) -> Result<Named, Error> {
    let shown = folder.display().to_string();
    let (phase, status) = (state.current_phase.as_deref(), state.current_phase_status.as_deref());
    if let Some(end) = older_end(phase, status) {
        let over = match end {
            OlderEnd::Abandoned => "was abandoned",
            OlderEnd::Completed => "is completed",
        };
        let what = format!("the run in {shown} {over}; there is nothing to resume");
        return Err(Error::usage(what, format!("to do it again: {}", anew(folder, ""))));
    }
    if let Some(flow) = state.flow.as_deref().filter(|flow| *flow != FLOW) {
        let what = format!(
            "the run in {shown} uses the flow `{flow}`; only `{FLOW}` can be resumed from a \
             folder"
        );
        let anew = anew(folder, &format!("--flow {flow} "));
        return Err(Error::usage(what, format!("to start it again: {anew}")));
    }
    let text = read_text(&asked_in(folder), REQUEST_BYTES_MAX)?.ok_or_else(|| {
        let what = format!("{shown} has no {REQUEST}, so the request is unknown");
        Error::usage(what, "forge run \"what you want, in plain words\"")
    })?;
    let mut notes = vec![format!(
        "{shown} is not in this repository's journal: a new run starts from the beginning; the \
         folder is not changed, and nothing in it counts as done"
    )];
    let effort = match given {
        Some(given) => given.to_owned(),
        None => effort(state, &shown, &mut notes)?,
    };
    let text = without_head(&text.replace("\r\n", "\n")).trim().to_owned();
    let typed = ["run", "--flow", FLOW, "--effort", &effort, "--", &text].map(str::to_owned);
    let mut request = Request {
        older: Some(folder.to_owned()),
        flow: Some(FLOW.to_owned()),
        effort: Some(effort),
        branch: Some(BranchChoice::New),
        on_missing: OnMissing::UseDetected,
        typed: typed.into(),
        ..Request::new(text)
    };
    if state.auto_approve == Some(true) {
        request.approvals = Approvals::Automatic;
    }
    if state.skip_pr == Some(true) {
        request.pull_request = PullRequest::Never;
    }
    if state.debug == Some(true) {
        request.detail = Detail::Debug;
    }
    if state.use_current_branch == Some(true) {
        request.branch = Some(BranchChoice::Current);
    }
    Ok(Named::Older { request: Box::new(request), notes })
}

/// Returns the effort that a state means: what its skips say, then what it says, then its template, then M.
fn effort(state: &State, shown: &str, notes: &mut Vec<String>) -> Result<String, Error> {
    let unclear = |what: String| {
        let next = format!("name the effort: forge resume {shown} --effort M (or S, L)");
        Error::usage(format!("the run in {shown} {what}"), next)
    };
    let skips = state.skipped_phases.iter().flatten().map(String::as_str);
    let skips: Vec<&str> = skips.filter(|phase| !OTHER_SKIPS.contains(phase)).collect();
    if !skips.is_empty() {
        let is_it = |known: &[&str]| {
            known.len() == skips.len() && known.iter().all(|phase| skips.contains(phase))
        };
        let Some((effort, _)) = SKIPS.iter().find(|(_, known)| is_it(known)) else {
            let skips = skips.join(", ");
            return Err(unclear(format!("skips {skips}, which matches no effort")));
        };
        if state.effort.as_deref().is_some_and(|said| said != *effort) {
            notes.push(format!("it skips what effort {effort} skips, so that effort is used"));
        }
        return Ok((*effort).to_owned());
    }
    if let Some(said) = &state.effort {
        if SKIPS.iter().any(|(known, _)| known == said) {
            return Ok(said.clone());
        }
        return Err(unclear(format!("has the unknown effort `{said}`")));
    }
    let template = state.flow_template.as_deref();
    let effort = match template {
        Some("light") => "S",
        Some("full") => "L",
        Some(_) | None => "M",
    };
    let why = template.map_or("M is used".to_owned(), |template| {
        format!("{effort}, as its template is {template}")
    });
    notes.push(format!("its state names no effort; {why}"));
    Ok(effort.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(json: &str) -> Result<(String, Vec<String>), String> {
        let state: State = serde_json::from_str(json).unwrap();
        let mut notes = Vec::new();
        let effort = effort(&state, "there", &mut notes).map_err(|error| error.what)?;
        Ok((effort, notes))
    }

    #[test]
    fn skips_say_the_effort_then_the_effort_itself_then_the_template_then_m() {
        let effort = |json: &str| import(json).unwrap().0;
        assert_eq!(
            effort(r#"{"effort": "L", "skippedPhases": ["checkpoint-b", "phase-4b"]}"#),
            "M"
        );
        assert_eq!(
            effort(r#"{"skippedPhases": ["phase-4b", "checkpoint-b", "phase-7", "pr-creation"]}"#),
            "S"
        );
        assert_eq!(effort(r#"{"effort": "S", "skippedPhases": []}"#), "S");
        assert_eq!(effort(r#"{"effort": null, "flowTemplate": "full"}"#), "L");
        assert_eq!(effort(r#"{"effort": null, "flowTemplate": "light"}"#), "S");
        let (effort, notes) = import(r#"{"effort": null, "flowTemplate": null}"#).unwrap();
        assert_eq!((effort.as_str(), notes.len()), ("M", 1));
    }

    #[test]
    fn skips_and_efforts_that_are_none_of_ours_are_refused() {
        assert!(
            import(r#"{"effort": "S", "skippedPhases": ["phase-2", "phase-4"]}"#)
                .unwrap_err()
                .contains("phase-2, phase-4")
        );
        assert!(import(r#"{"effort": "XS"}"#).unwrap_err().contains("XS"));
    }
}
