//! What fresh readers made of the role prompts: each got only the brief, the inbox and the checkout of
//! one call of the flow `feature`, as Forge had made them, and left an outbox.
//!
//! `readers/ROLE/PROJECT-READER/` holds the brief as it was read, the outbox as it was left, what the reader did
//! step by step (`transcript.md`), and for roles that change code the difference; `misread-READER.md` is what they
//! found unclear. These are the third readers of each role: what those before them misread was mended. Each played
//! one role and saw nothing of the others. The test holds every outbox against the contract of today, and the brief against
//! the prompt of today, so that a role that changes is tried again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use forge_agents::{Key, read_result};
use forge_core::flow::{Check, Stage, Work};
use forge_keeper::collect;
use forge_runtime::catalog::{Catalog, Code};

/// More than anybody writes by hand.
const ARTIFACT_BYTES_MAX: u64 = 256 * 1024;

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers")
}

fn folders_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// What the flow wants of a role: the artifacts, and the keys that its row needs.
fn wanted(stages: &[Stage], role: &str) -> Option<(Vec<String>, Vec<Key>)> {
    for stage in stages {
        if matches!(&stage.work, Work::Agent { role: played } if played == role) {
            let keys = stage.list.iter().map(|_| Key::Lists).collect();
            return Some((stage.writes.clone(), keys));
        }
        for gate in &stage.gates {
            if matches!(&gate.check, Check::Review { role: played } if played == role) {
                return Some((gate.writes.clone(), vec![Key::Verdict]));
            }
        }
        if let Some(found) = wanted(stage.inner(), role) {
            return Some(found);
        }
    }
    None
}

/// The name of the call, as the brief says it.
fn call(brief: &str) -> &str {
    let line = brief.lines().find_map(|line| line.strip_prefix("attempt  "));
    line.expect("a brief names its attempt").trim().trim_matches('"')
}

/// The item that a call lies in.
fn item(call: &str) -> &str {
    call.split_once('.').and_then(|(_, rest)| rest.split_once('/')).map_or("", |(item, _)| item)
}

#[test]
fn every_role_was_tried_by_two_readers_on_three_projects() {
    let found = Catalog::of(None).flow("feature").unwrap();
    let roles: BTreeSet<String> = found.flow.roles().into_iter().map(str::to_owned).collect();
    assert_eq!(folders_in(&place()), roles);
    let trials: BTreeSet<String> = ["node", "python", "shell"]
        .iter()
        .flat_map(|project| ["1", "2"].map(|reader| format!("{project}-{reader}")))
        .collect();
    for role in roles {
        assert_eq!(folders_in(&place().join(&role)), trials, "{role}");
    }
}

#[test]
fn every_outbox_of_a_reader_is_one_that_forge_takes_in() {
    let catalog = Catalog::of(None);
    let found = catalog.flow("feature").unwrap();
    for role_name in found.flow.roles() {
        let (_, role) = catalog.role_text(&found, role_name).unwrap();
        let (artifacts, keys) = wanted(&found.flow.stages, role_name).unwrap_or_default();
        let must: Vec<Key> = role.must.iter().copied().chain(keys).collect();
        for trial in folders_in(&place().join(role_name)) {
            let folder = place().join(role_name).join(&trial);
            let brief = fs::read_to_string(folder.join("brief.md")).unwrap();
            assert!(brief.starts_with(role.prompt.trim()), "{role_name} {trial}: another prompt");
            let steps = fs::read_to_string(folder.join("transcript.md")).unwrap();
            assert!(steps.lines().count() >= 5, "{role_name} {trial}: {steps}");
            let (outbox, call) = (folder.join("outbox"), call(&brief));
            let result = read_result(&outbox, call, &must);
            assert!(result.is_ok(), "{role_name} {trial}: {result:?}");
            for name in &artifacts {
                let name = name.replace("{item}", item(call));
                let bytes = collect(&outbox, &name, ARTIFACT_BYTES_MAX);
                let text = bytes.map(|bytes| String::from_utf8(bytes).unwrap());
                assert!(text.is_ok_and(|text| text.len() > 100), "{role_name} {trial}: {name}");
            }
            let change = fs::read_to_string(folder.join("change.diff")).unwrap_or_default();
            match role.code {
                Code::Reads => assert_eq!(change, "", "{role_name} {trial} changed the code"),
                Code::Writes => {}
            }
        }
    }
}

#[test]
fn whoever_makes_what_a_person_is_asked_about_is_told_to_show_it() {
    let catalog = Catalog::of(None);
    let found = catalog.flow("feature").unwrap();
    let mut n_asked = 0;
    for stage in &found.flow.stages {
        let Work::Agent { role } = &stage.work else { continue };
        if !stage.gates.iter().any(|gate| matches!(gate.check, Check::Human { .. })) {
            continue;
        }
        n_asked += 1;
        let (_, role) = catalog.role_text(&found, role).unwrap();
        assert!(role.must.contains(&Key::Shown), "{}: nothing to show", stage.name);
        for word in ["`shown`", "risk"] {
            assert!(role.prompt.contains(word), "{}: {word}", stage.name);
        }
    }
    assert_eq!(n_asked, 2, "checkpoints A and B");
}
