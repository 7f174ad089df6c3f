//! The store of the second predecessor: `.forge/config.json` and `.forge/store/KIND/ID.json`.
//!
//! Its records have our ids, states and fields. Fields that follow from other records here are compared with them; the few
//! that have no place here are listed.

use std::collections::BTreeMap;

use forge_core::{
    item::path_flaw,
    work::{FieldOwner, FieldValue, Fields, WorkId, WorkKind, rule},
};
use forge_project::settings::{PipelineName, PipelinePhase};
use forge_store::work::field_value;
use serde_json::{Map, Value};

use super::{draft::ImportDraft, source_folder::SourceFolder};

pub(super) const CONFIG: &str = ".forge/config.json";
pub(super) const STORE: &str = ".forge/store";

/// The field of summaries there without a place here.
const FILES_CHANGED: &str = "files_changed";

/// What a file says, but for what follows from other files.
type Derived = (String, WorkId, Vec<(&'static str, FieldValue)>);

/// Reads all of it.
pub(super) fn read(folder: &SourceFolder, draft: &mut ImportDraft) {
    let config = config(folder, draft);
    let store = match store_path(&config) {
        Ok(store) => store,
        Err(rule) => {
            draft.finding(folder.shown(CONFIG), format!("`paths.store` {rule}"));
            return;
        }
    };
    let mut derived = Vec::new();
    for kind in WorkKind::ALL {
        let below = format!("{store}/{}", kind.folder());
        let entries = folder.entries(&below);
        let Some(entries) = draft.keep(folder.shown(&below), entries) else { continue };
        for name in entries.other {
            draft.finding(folder.shown(&format!("{below}/{name}")), "is not a regular file");
        }
        for name in entries.files {
            let path = format!("{below}/{name}");
            let Some(stem) = name.strip_suffix(".json") else {
                draft.notes.push(format!("{} is not a record", folder.shown(&path)));
                continue;
            };
            let read = record(folder, kind, &path, stem, draft);
            if let Some(one) = draft.keep(folder.shown(&path), read) {
                derived.push(one);
            }
        }
    }
    compare(&derived, draft);
}

fn config(folder: &SourceFolder, draft: &mut ImportDraft) -> Map<String, Value> {
    let text = folder.text(CONFIG);
    let Some(Some(text)) = draft.keep(folder.shown(CONFIG), text) else { return Map::new() };
    let read = serde_json::from_str::<Map<String, Value>>(&text).map_err(|error| not_json(&error));
    let Some(config) = draft.keep(folder.shown(CONFIG), read) else { return Map::new() };
    settings(&config, draft);
    config
}

/// Returns the folder of the store, which the config may move.
fn store_path(config: &Map<String, Value>) -> Result<String, String> {
    match config.get("paths").and_then(|paths| paths.get("store")) {
        None => Ok(STORE.to_owned()),
        Some(Value::String(path)) => {
            let path = path.trim_end_matches('/');
            let path = path.strip_prefix("./").unwrap_or(path);
            match path_flaw(path) {
                None if !path.is_empty() => Ok(path.to_owned()),
                None => Err("is empty".to_owned()),
                Some(why) => Err(format!("has the path `{path}`, {why}")),
            }
        }
        Some(_) => Err("must be a text".to_owned()),
    }
}

/// Converts what has a setting here to lines of `forge.toml`, and names the rest.
fn settings(config: &Map<String, Value>, draft: &mut ImportDraft) {
    let mut other = Vec::new();
    for (key, value) in config {
        match (key.as_str(), value) {
            ("version" | "paths", _) => {}
            ("project", project) => {
                if let Some(prefix) = project.get("prefix").and_then(Value::as_str) {
                    draft.notes.push(format!(
                        "ids begin with `{prefix}` there; new ids here begin like the first sprint or bug"
                    ));
                }
            }
            ("commands", Value::Object(commands)) => {
                let known = ["build", "lint", "test"].iter();
                let known = known.filter_map(|name| commands.get(*name)?.as_str());
                let known: Vec<String> = known
                    .filter(|command| !command.trim().is_empty())
                    .map(|command| toml_edit::Value::from(command).to_string())
                    .collect();
                if !known.is_empty() {
                    draft.settings.push("[verify]".to_owned());
                    draft.settings.push(format!("commands = [{}]", known.join(", ")));
                }
                let rest = commands
                    .keys()
                    .filter(|key| !["build", "lint", "test"].contains(&key.as_str()));
                other.extend(rest.map(|name| format!("commands.{name}")));
            }
            ("sprint", Value::Object(_)) => {
                let most = value.pointer("/execution/maxConcurrentAgents").and_then(Value::as_u64);
                if let Some(most) = most {
                    draft.settings.push("[limits]".to_owned());
                    draft.settings.push(format!("at_once = {most}"));
                }
                if value.pointer("/execution/mode").is_some() {
                    other.push(
                        "sprint.execution.mode (here: executionMode of each sprint)".to_owned(),
                    );
                }
            }
            ("pipelines", Value::Object(pipelines)) => {
                for (name, pipeline) in pipelines {
                    match pipeline_lines(name, pipeline) {
                        Some(lines) => draft.settings.extend(lines),
                        None => other.push(format!("pipelines.{name}")),
                    }
                }
            }
            _ => other.push(key.clone()),
        }
    }
    if !other.is_empty() {
        draft.notes.push(format!("{CONFIG} has no setting here for: {}", other.join(", ")));
    }
}

fn not_json(error: &serde_json::Error) -> String {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default().to_owned();
    format!("line {} is not JSON: {what}", error.line())
}

/// Reads one record. Returns what follows from other records here.
fn record(
    folder: &SourceFolder,
    kind: WorkKind,
    path: &str,
    stem: &str,
    draft: &mut ImportDraft,
) -> Result<Derived, String> {
    let text = folder.text(path)?.ok_or("is missing")?;
    let mut top: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| not_json(&error))?;
    let mut take = |key: &str| match top.remove(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{key}` must be a text")),
        None => Err(format!("`{key}` is missing")),
    };
    let (id_key, found) = (kind.id_key(), take(kind.id_key())?);
    let id: WorkId = found.parse().map_err(|error| format!("`{id_key}` is wrong: {error}"))?;
    if id.as_str() != stem {
        return Err(format!("`{id_key}` is `{id}`, unlike the name of the file"));
    }
    let state = take("status")?;
    let (mut fields, mut derived) = (Fields::new(), Vec::new());
    for (name, mut value) in top {
        if name == "summaries" {
            for (phase, summary) in value.as_object_mut().into_iter().flatten() {
                if summary.as_object_mut().is_some_and(|one| one.remove(FILES_CHANGED).is_some()) {
                    draft.leave_out(format!("summaries.{phase}.{FILES_CHANGED}"));
                }
            }
        }
        let Some(value) = field_value(&name, value).map_err(|flaw| flaw.to_string())? else {
            continue;
        };
        match rule(kind, &name) {
            Some(rule) if rule.owner == FieldOwner::Derived => derived.push((rule.name, value)),
            Some(_) | None => {
                fields.insert(name, value);
            }
        }
    }
    let source = folder.shown(path);
    draft.candidate((kind, id.clone()), source.clone(), state, fields);
    Ok((source, id, derived))
}

/// Reports what a record says of others, and these do not say themselves.
fn compare(derived: &[Derived], draft: &mut ImportDraft) {
    let records: BTreeMap<&str, &Fields> =
        draft.candidates.iter().map(|one| (one.id.as_str(), &one.record.fields)).collect();
    let names = |id: &str, field: &str, other: &str| {
        let named = records.get(id).and_then(|fields| fields.get(field));
        named.is_some_and(|value| {
            value.as_text() == Some(other) || value.texts().any(|text| text == other)
        })
    };
    let mut flaws = Vec::new();
    for (path, own, values) in derived {
        let mut flaw = |what: String| flaws.push((path.clone(), what));
        for (field, value) in values {
            let back: &[&str] =
                if *field == "taskIds" { &["sprintId"] } else { &["feature_id", "features"] };
            for id in value.texts() {
                if !records.contains_key(id) {
                    flaw(format!("`{field}` names `{id}`, which is not a record there"));
                } else if !back.iter().any(|back| names(id, back, own.as_str())) {
                    flaw(format!("`{field}` names `{id}`, which does not name `{own}`"));
                }
            }
            // A sprint says which of its tasks wait for which.
            let FieldValue::Table(table) = value else { continue };
            for (id, first) in
                table.iter().flat_map(|(id, all)| all.texts().map(move |first| (id, first)))
            {
                if !names(id, "dependencies", first) {
                    flaw(format!(
                        "`{field}.{id}` names `{first}`, which `dependencies` of `{id}` does not"
                    ));
                }
            }
        }
    }
    for (path, what) in flaws {
        draft.finding(path, what);
    }
}

/// Returns a pipeline as lines of settings, if it has a form that they can have. A phase is there called by what it does.
fn pipeline_lines(name: &str, pipeline: &Value) -> Option<Vec<String>> {
    let phases = pipeline.get("phases")?.as_array()?;
    let text = |phase: &Value, key: &str| phase.get(key)?.as_str().map(str::to_owned);
    let mut lines = Vec::new();
    for phase in phases {
        let mut line = text(phase, "role")?;
        if let Some(target) = text(phase, "on_revision") {
            let by_command = |other: &&Value| text(other, "command").as_ref() == Some(&target);
            let target = phases.iter().find(by_command)?;
            line = format!("{line} on_revision={}", text(target, "role")?);
        }
        if let Some(most) = phase.get("maxIterations").and_then(Value::as_u64) {
            line = format!("{line} max_iterations={most}");
        }
        if let Some(model) = text(phase, "model") {
            line = format!("{line} model={model}");
        }
        PipelinePhase::try_from(line.clone()).ok()?;
        lines.push(format!("\"{line}\""));
    }
    PipelineName::try_from(name.to_owned()).ok()?;
    Some(vec![format!("[pipelines.{name}]"), format!("phases = [{}]", lines.join(", "))])
}
