//! A folder that a person names to go on from: of a run of this repository, or of another system or machine
//! that left a `state.json` of the documented form.
//!
//! A run that is in the journal is that run. Any other is begun anew from its `request.md`, with what its state
//! says: effort, skips, flags. What its phases made is not taken for done: no gate has judged it.
//! The new run keeps the folder's path, so that whoever names it again goes on with that run.
//!
//! Invariant: nothing in the folder is written.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use forge_core::{
    event::{Approvals, Detail},
    view::{Course, RunRow},
};
use forge_driver::Error;
use forge_project::bounded_read::read_text;
use forge_store::journal::{Store, StoreError};
use serde::Deserialize;

use crate::{
    forge::Forge,
    start::{BranchChoice, OnMissing, PullRequest, Request},
};

/// The file that says where a run stands.
const STATE: &str = "state.json";
/// The file that says what was asked for.
const REQUEST: &str = "request.md";
/// The most bytes of a state.
const STATE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The most bytes of a request.
const REQUEST_BYTES_MAX: u64 = 1024 * 1024;
/// The last phase of an older run.
const LAST: &str = "final-commit";
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
    /// A run of this repository.
    Run(String),
    /// The run that was begun from this folder before, and what a person should know about it.
    CameOf {
        run: String,
        /// Which run it is, and that it goes on.
        note: String,
    },
    /// Something older, to begin anew from.
    Older(Box<Older>),
}

/// A run that is begun anew from the folder of another one.
#[derive(Debug)]
pub struct Older {
    pub request: Request,
    /// Notes for the person who resumes it.
    pub notes: Vec<String>,
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
        let is_folder = text.contains('/') || path.join(STATE).is_file();
        if !is_folder {
            return self.resolve(text).map(Named::Run);
        }
        // What no folder is there for is refused as a name is.
        if !path.is_dir() {
            return self.resolve(text).map(Named::Run);
        }
        let path = path.canonicalize().map_err(|error| Error::file(path, &error))?;
        let state = state(&path)?;
        let folder = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        for id in [state.run.clone(), folder].into_iter().flatten() {
            if let Ok(found) = self.resolve(&id)
                && found == id
            {
                return Ok(Named::Run(id));
            }
        }
        if let Some(row) = self.imported_run(&path)? {
            return go_on(&path, row);
        }
        older(&path, &state, effort).map(|older| Named::Older(Box::new(older)))
    }
}

impl Forge {
    /// Returns the newest run that was begun from this folder.
    fn imported_run(&self, folder: &Path) -> Result<Option<RunRow>, Error> {
        let store = match Store::open_to_read(&self.home.dir) {
            Ok(store) => store,
            Err(StoreError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let source = folder.display().to_string();
        let rows = store.rows_with("\"source\":")?;
        // A row that cannot be read says nothing that could be acted on.
        let rows = rows.iter().filter_map(|row| serde_json::from_str::<RunRow>(&row.row).ok());
        let own = rows.filter(|row| row.source.as_ref() == Some(&source));
        Ok(own.max_by_key(|row| (row.started_at, row.changed_at)))
    }
}

/// Goes on with the run that was begun from a folder before, instead of paying for another one.
fn go_on(folder: &Path, row: RunRow) -> Result<Named, Error> {
    let shown = folder.display();
    let run = row.run;
    match row.standing.course() {
        Course::Over => {}
        Course::Driven | Course::Asking | Course::Held | Course::Failed => {
            let note = format!("{run} was begun from {shown} before; it goes on");
            return Ok(Named::CameOf { run, note });
        }
    }
    let over = row.standing.as_str();
    let what = format!("{run}, which was begun from {shown}, is {over}");
    let anew = anew(folder);
    Err(Error::usage(what, format!("forge show {run}, or to do it again: {anew}")))
}

/// Returns the command that begins from what was asked for in a folder.
fn anew(folder: &Path) -> String {
    format!("forge run \"$(cat {})\"", asked_in(folder).display())
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
        Error::usage(
            format!("{} cannot be read: {error}", path.display()),
            format!("mend it, or begin anew: {}", anew(folder)),
        )
    })
}

/// Builds the request that continues an older folder.
fn older(folder: &Path, state: &State, given: Option<&str>) -> Result<Older, Error> {
    let shown = folder.display();
    let anew = anew(folder);
    let over = match (state.current_phase.as_deref(), state.current_phase_status.as_deref()) {
        (_, Some("abandoned")) => Some("was abandoned"),
        (Some("completed"), _) | (Some(LAST), Some("completed")) => Some("is completed"),
        _ => None,
    };
    if let Some(over) = over {
        let what = format!("the run in {shown} {over}, and there is nothing to go on with");
        return Err(Error::usage(what, format!("to do it again: {anew}")));
    }
    let flow = state.flow.as_deref().unwrap_or(FLOW);
    if flow != FLOW {
        let what = format!(
            "the run in {shown} is of the flow `{flow}`, and only `{FLOW}` can be begun from a folder"
        );
        let anew = anew.replacen("forge run", &format!("forge run --flow {flow}"), 1);
        return Err(Error::usage(what, format!("to begin it anew: {anew}")));
    }
    let text = read_text(&asked_in(folder), REQUEST_BYTES_MAX)?.ok_or_else(|| {
        let what = format!("{shown} has no {REQUEST}, so that nobody knows what was asked for");
        Error::usage(what, "forge run \"what you want, in plain words\"")
    })?;
    let mut notes = vec![format!(
        "{shown} is not of this repository's journal: a new run begins at its first phase; nothing in the folder is changed or taken for done"
    )];
    let effort = match given {
        Some(given) => given.to_owned(),
        None => effort(state, &shown.to_string(), &mut notes)?,
    };
    let is_on = |flag: Option<bool>| flag.unwrap_or_default();
    let text = without_head(&text.replace("\r\n", "\n")).trim().to_owned();
    let request = Request {
        older: Some(folder.to_owned()),
        flow: Some(FLOW.to_owned()),
        effort: Some(effort.clone()),
        approvals: if is_on(state.auto_approve) {
            Approvals::Automatic
        } else {
            Approvals::ByPeople
        },
        pull_request: if is_on(state.skip_pr) {
            PullRequest::Never
        } else {
            PullRequest::AsFlowSays
        },
        detail: if is_on(state.debug) { Detail::Debug } else { Detail::Plain },
        branch: Some(if is_on(state.use_current_branch) {
            BranchChoice::Current
        } else {
            BranchChoice::New
        }),
        on_missing: OnMissing::UseDetected,
        params: BTreeMap::new(),
        typed: ["run", "--flow", FLOW, "--effort", &effort, "--", &text].map(str::to_owned).into(),
        ..Request::new(text)
    };
    Ok(Older { request, notes })
}

/// Returns the effort that a state means: what its skips say, then what it says, then its template, then M.
fn effort(state: &State, shown: &str, notes: &mut Vec<String>) -> Result<String, Error> {
    let skips = state.skipped_phases.clone().unwrap_or_default();
    let mut skips: Vec<&str> = skips.iter().map(String::as_str).collect();
    skips.retain(|phase| !OTHER_SKIPS.contains(phase));
    let by_skips = SKIPS.iter().find(|(_, known)| {
        known.len() == skips.len() && known.iter().all(|phase| skips.contains(phase))
    });
    if !skips.is_empty() {
        return match by_skips {
            Some((effort, _)) => {
                if state.effort.as_deref().is_some_and(|said| said != *effort) {
                    notes.push(format!("its skips are those of effort {effort}, and they count"));
                }
                Ok((*effort).to_owned())
            }
            None => Err(Error::usage(
                format!(
                    "the run in {shown} skips {}, which is what no effort skips here",
                    skips.join(", ")
                ),
                format!("say which one is meant: forge resume {shown} --effort M (or S, L)"),
            )),
        };
    }
    match (state.effort.as_deref(), state.flow_template.as_deref()) {
        (Some(effort), _) if SKIPS.iter().any(|(known, _)| *known == effort) => {
            Ok(effort.to_owned())
        }
        (Some(other), _) => Err(Error::usage(
            format!("the run in {shown} has the effort `{other}`, which there is not"),
            format!("say which one is meant: forge resume {shown} --effort M (or S, L)"),
        )),
        (None, template) => {
            let effort = match template {
                Some("light") => "S",
                Some("full") => "L",
                Some(_) | None => "M",
            };
            notes.push(match template {
                Some(template) => {
                    format!("its state names no effort; {effort}, as its template is {template}")
                }
                None => "its state names no effort; M is taken".to_owned(),
            });
            Ok(effort.to_owned())
        }
    }
}

/// Returns a request without the lines between `---` that an older system put before it.
fn without_head(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n") else { return text };
    rest.split_once("\n---\n").map_or(text, |(_, body)| body)
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

    #[test]
    fn the_head_of_an_older_request_is_no_part_of_it() {
        assert_eq!(without_head("---\nsource_type: text\n---\n\nDo it\n"), "\nDo it\n");
        assert_eq!(without_head("Do it\n---\nmore\n"), "Do it\n---\nmore\n");
    }
}
