//! Workspaces of the first predecessor, `.specs/NAME/`: each becomes a feature with the request as its description.
//!
//! To continue a workspace as a run is `forge resume .specs/NAME`, and not done here (`import_run`).

use forge_core::work::{FieldValue, Fields, WorkId, WorkKind};
use serde_json::{Map, Value};

use super::{draft::ImportDraft, source_folder::SourceFolder};
use crate::older_workspace::{OlderEnd, REQUEST, STATE, older_end, without_head};

pub(super) const FOLDER: &str = ".specs";

/// The phases of that system, in their order.
const PHASES: [&str; 18] = [
    "setup",
    "phase-1",
    "phase-2",
    "phase-3",
    "phase-3b",
    "checkpoint-a",
    "phase-4",
    "phase-4b",
    "checkpoint-b",
    "phase-5",
    "phase-6",
    "phase-7",
    "final-verification",
    "pr-creation",
    "final-summary",
    "post-to-source",
    "final-commit",
    "completed",
];
const STATUSES: [&str; 6] =
    ["pending", "in_progress", "completed", "failed", "awaiting_human", "abandoned"];
/// Headings of a request below which its requirements are listed.
const REQUIREMENTS: [&str; 2] = ["requirements", "acceptance criteria"];
/// The most characters of a title, of a requirement and of an id, and the most requirements.
pub(super) const TITLE_CHARS_MAX: usize = 200;
pub(super) const LINE_CHARS_MAX: usize = 300;
const ID_CHARS_MAX: usize = 60;
const REQUIREMENTS_MAX: usize = 100;

/// Returns true if a folder has workspaces.
pub(super) fn are_there(folder: &SourceFolder) -> bool {
    let entries = folder.entries(FOLDER).unwrap_or_default();
    entries.folders.iter().any(|name| folder.may_have(&format!("{FOLDER}/{name}/{STATE}")))
}

/// Reads all workspaces.
pub(super) fn read(folder: &SourceFolder, draft: &mut ImportDraft) {
    let entries = folder.entries(FOLDER);
    let Some(entries) = draft.keep(folder.shown(FOLDER), entries) else { return };
    for name in entries.other {
        draft.finding(folder.shown(&format!("{FOLDER}/{name}")), "is not a regular file or folder");
    }
    if !entries.files.is_empty() {
        draft.notes.push(format!("left in {FOLDER}: {}", entries.files.join(", ")));
    }
    for name in entries.folders {
        let path = format!("{FOLDER}/{name}");
        let state = format!("{path}/{STATE}");
        if !folder.may_have(&state) {
            draft
                .notes
                .push(format!("{} has no {STATE}, so it is not a workspace", folder.shown(&path)));
            continue;
        }
        let read = workspace(folder, &path, &name, draft);
        draft.keep(folder.shown(&state), read);
    }
}

fn workspace(
    folder: &SourceFolder,
    path: &str,
    name: &str,
    draft: &mut ImportDraft,
) -> Result<(), String> {
    let text = folder.text(&format!("{path}/{STATE}"))?.ok_or("is missing")?;
    let state: Map<String, Value> = serde_json::from_str(&text)
        .map_err(|error| format!("line {} is not JSON", error.line()))?;
    let known = |key: &str, known: &[&str]| match state.get(key) {
        Some(Value::String(text)) if known.contains(&text.as_str()) => Ok(text.as_str()),
        Some(Value::String(text)) => {
            Err(format!("`{key}` can be {}, not `{text}`", known.join(", ")))
        }
        Some(_) => Err(format!("`{key}` must be a text")),
        None => Err(format!("`{key}` is missing")),
    };
    let phase = known("currentPhase", &PHASES)?;
    let status = known("currentPhaseStatus", &STATUSES)?;
    let end = older_end(Some(phase), Some(status));
    let request = format!("{path}/{REQUEST}");
    let request = folder.text(&request)?.ok_or(format!("{REQUEST} beside it is missing"))?;
    let request = without_head(&request.replace("\r\n", "\n")).trim().to_owned();
    if request.is_empty() {
        return Err(format!("{REQUEST} beside it is empty"));
    }
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let title = shortened(first_line(&request), TITLE_CHARS_MAX);
    let mut fields = Fields::from([
        ("title".to_owned(), text(&title)),
        ("description".to_owned(), text(&request)),
    ]);
    let requirements = requirements(&request);
    let (taken, long): (Vec<&str>, Vec<&str>) =
        requirements.into_iter().partition(|line| line.chars().count() <= LINE_CHARS_MAX);
    if !long.is_empty() || taken.len() > REQUIREMENTS_MAX {
        draft.notes.push(format!(
            "{path}: requirements that are too long or too many are in the description only"
        ));
    }
    if !taken.is_empty() {
        let all = taken.into_iter().take(REQUIREMENTS_MAX).map(text).collect();
        fields.insert("requirements".to_owned(), FieldValue::List(all));
    }
    for (field, key) in [("created_at", "created"), ("updated_at", "lastUpdated")] {
        if let Some(time) = state.get("timestamps").and_then(|times| times.get(key)?.as_str()) {
            fields.insert(field.to_owned(), text(time));
        }
    }
    let id = id(name)?;
    if id.as_str() != name {
        draft.notes.push(format!("{path}: its name is too long for an id, so it is `{id}`"));
    }
    let state = match end {
        Some(OlderEnd::Completed) => "shipped",
        Some(OlderEnd::Abandoned) => "retired",
        None => {
            let path = folder.shown(path);
            draft.notes.push(format!(
                "{path} is not finished; to continue it as a run: forge resume {path}"
            ));
            "active"
        }
    };
    let source = folder.shown(&format!("{path}/{STATE}"));
    draft.candidate((WorkKind::Feature, id), source, state.to_owned(), fields);
    Ok(())
}

/// Returns the id of a workspace: its name, up to the last word that fits.
fn id(name: &str) -> Result<WorkId, String> {
    let mut fits = name;
    while fits.len() > ID_CHARS_MAX {
        match fits.rfind('-') {
            Some(at) => fits = &fits[..at],
            None => break,
        }
    }
    fits.parse().map_err(|error| format!("the name of the folder cannot be an id: {error}"))
}

/// Returns the first line with something on it, without the marks of a heading.
pub(super) fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches('#').trim());
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns the beginning of a text that is too long.
pub(super) fn shortened(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(chars_max - 1).collect();
    short.push('…');
    short
}

/// Returns the entries of the lists below the headings that announce requirements.
fn requirements(request: &str) -> Vec<&str> {
    let mut is_below = false;
    let mut found = Vec::new();
    for line in request.lines().map(str::trim) {
        if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim().trim_end_matches(':');
            is_below = REQUIREMENTS.iter().any(|known| heading.eq_ignore_ascii_case(known));
        } else if let Some(entry) = list_entry(line)
            && is_below
        {
            found.push(entry);
        }
    }
    found
}

/// Returns the text of an entry of a list, without its box.
pub(super) fn list_entry(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let entry = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))?.trim();
    let boxes = ["[ ]", "[x]", "[X]"];
    let entry = boxes.iter().find_map(|mark| entry.strip_prefix(mark)).unwrap_or(entry).trim();
    Some(entry).filter(|entry| !entry.is_empty())
}
