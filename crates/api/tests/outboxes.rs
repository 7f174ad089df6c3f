//! One recorded outbox for each role of the flow `feature`, as a fresh agent left it: Forge takes it in by the contract of today.
//!
//! `outboxes/ROLE/` holds `result.json` and the artifacts. Not here: how well a prompt is understood. That is tried by hand, and
//! `cargo xtask readers` says which prompts have changed since.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use forge_agents::read_result;
use forge_core::flow::{Check, Stage, Work};
use forge_core::result::ResultKey;
use forge_keeper::collect;
use forge_project::catalog::Catalog;

/// More than anybody writes by hand.
const ARTIFACT_BYTES_MAX: u64 = 256 * 1024;

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outboxes")
}

fn folders_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// What the flow wants of a role: the artifacts, and the keys that its row needs.
fn wanted(stages: &[Stage], role: &str) -> Option<(Vec<String>, Vec<ResultKey>)> {
    for stage in stages {
        if matches!(&stage.work, Work::Agent { role: played } if played == role) {
            let keys = stage.list.iter().map(|_| ResultKey::Lists).collect();
            return Some((stage.writes.clone(), keys));
        }
        for gate in &stage.gates {
            if matches!(&gate.check, Check::Review { role: played } if played == role) {
                return Some((gate.writes.clone(), vec![ResultKey::Verdict]));
            }
        }
        if let Some(found) = wanted(stage.inner(), role) {
            return Some(found);
        }
    }
    None
}

/// The name of the call, as the result says it.
fn call(outbox: &Path) -> String {
    let text = fs::read_to_string(outbox.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    result["attempt"].as_str().expect("a result names its attempt").to_owned()
}

/// The item that a call lies in.
fn item(call: &str) -> &str {
    call.split_once('.').and_then(|(_, rest)| rest.split_once('/')).map_or("", |(item, _)| item)
}

#[test]
fn an_outbox_of_every_role_is_one_that_forge_takes_in() {
    let catalog = Catalog::from_folder(None);
    let found = catalog.flow("feature").unwrap();
    let roles = found.flow.roles();
    assert_eq!(folders_in(&place()), roles.iter().map(|role| (*role).to_owned()).collect());
    for role_name in roles {
        let (_, role) = catalog.role_text(&found, role_name).unwrap();
        let (artifacts, keys) = wanted(&found.flow.stages, role_name).unwrap_or_default();
        let must: Vec<ResultKey> = role.must.iter().copied().chain(keys).collect();
        let outbox = place().join(role_name);
        let call = call(&outbox);
        let result = read_result(&outbox, &call, &must);
        assert!(result.is_ok(), "{role_name}: {result:?}");
        for name in &artifacts {
            let name = name.replace("{item}", item(&call));
            let bytes = collect(&outbox, &name, ARTIFACT_BYTES_MAX);
            let text = bytes.map(|bytes| String::from_utf8(bytes).unwrap());
            assert!(text.is_ok_and(|text| text.len() > 100), "{role_name}: {name}");
        }
    }
}

/// The roles that review, and write what they found into a file.
fn reviewers(stages: &[Stage]) -> BTreeSet<&str> {
    let gates = stages.iter().flat_map(|stage| &stage.gates).filter(|gate| !gate.writes.is_empty());
    let of_gates = gates.filter_map(|gate| {
        if let Check::Review { role } = &gate.check { Some(role.as_str()) } else { None }
    });
    of_gates.chain(stages.iter().flat_map(|stage| reviewers(stage.inner()))).collect()
}

#[test]
fn every_reviewer_is_told_to_write_the_verdict_in_the_word_of_its_result() {
    let catalog = Catalog::from_folder(None);
    let mut n_reviewers = 0;
    for flow in ["feature", "change", "quick", "draft"] {
        let found = catalog.flow(flow).unwrap();
        for name in reviewers(&found.flow.stages) {
            n_reviewers += 1;
            let (_, role) = catalog.role_text(&found, name).unwrap();
            let words: Vec<&str> = role.prompt.split_whitespace().collect();
            let asked = "the verdict, in the same word as in the result";
            assert!(words.join(" ").contains(asked), "{flow}: {name}");
        }
    }
    assert_eq!(n_reviewers, 6, "three of a feature, and one of each other flow");
}

#[test]
fn a_role_whose_work_a_person_is_asked_about_must_show_it() {
    let catalog = Catalog::from_folder(None);
    let found = catalog.flow("feature").unwrap();
    let mut n_asked = 0;
    for stage in &found.flow.stages {
        let Work::Agent { role } = &stage.work else { continue };
        if !stage.gates.iter().any(|gate| matches!(gate.check, Check::Human { .. })) {
            continue;
        }
        n_asked += 1;
        let (_, role) = catalog.role_text(&found, role).unwrap();
        assert!(role.must.contains(&ResultKey::Shown), "{}: nothing to show", stage.name);
        for word in ["`shown`", "risk"] {
            assert!(role.prompt.contains(word), "{}: {word}", stage.name);
        }
    }
    assert_eq!(n_asked, 2, "checkpoints A and B");
}
