//! What must hold after every case, whatever was killed and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    processes::nobody_is_left,
    story::{Story, UNITS},
    world::World,
};

/// The endings that were there at some moment, by folder.
pub(crate) type Endings = BTreeMap<PathBuf, Vec<u8>>;

/// Checks everything in a story whose run is done. `known` are endings from before a kill.
pub(crate) fn hold(story: &Story, run: &str, expected_tree: &str, known: &Endings) {
    assert_eq!(story.landed_tree(run), expected_tree, "the same tree landed");
    let facts = story.world.facts(run);
    every_item_landed_once(&facts);
    every_call_came_to_one_end(&facts);
    nothing_finished_was_redone(story, run, &facts, known);
    story.person_has_lost_nothing();
    nobody_is_left(story.world.repo.parent().unwrap());
    let findings: Value = serde_json::from_str(&story.world.ok(&["doctor", "--json"])).unwrap();
    for finding in findings.as_array().unwrap() {
        // None is about the run; what is left in the folder for temporary files is of others.
        let known = [
            "left checkouts",
            "no usable agent",
            "stay unverified",
            "no checks",
            "was left by a crashed process",
        ];
        let is_known = known.iter().any(|known| finding["what"].as_str().unwrap().contains(known));
        assert!(finding["health"] == "good" || is_known, "{finding}");
    }
}

/// All endings of calls and of their steps.
pub(crate) fn endings(story: &Story) -> Endings {
    let mut found = Endings::new();
    let mut left = vec![story.world.place().join("attempts")];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
            } else if path.file_name().is_some_and(|name| name == "ending.json") {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// The calls whose agent said that it began, in order.
pub(crate) fn starts(world: &World, run: &str) -> Vec<String> {
    let log = world.place().join("attempts").join(run).join("scripted.log");
    let text = fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let starts = lines.filter(|line| line["what"] == "start");
    starts.map(|line| line["call"].as_str().unwrap().to_owned()).collect()
}

/// The units that landed, in order.
pub(crate) fn landed(facts: &[Value]) -> Vec<String> {
    let units = facts.iter().filter_map(|fact| fact["landed"]["unit"].as_str());
    units.map(str::to_owned).collect()
}

fn every_item_landed_once(facts: &[Value]) {
    let mut landed = landed(facts);
    landed.sort();
    assert_eq!(landed, UNITS, "one landing for each item");
}

/// In the journal, whatever was started ended once, and no number was used twice.
fn every_call_came_to_one_end(facts: &[Value]) {
    let of = |kind: &str, name: &str| -> Vec<String> {
        let named = facts.iter().filter_map(|fact| fact[kind][name].as_str());
        named.map(str::to_owned).collect()
    };
    for (begin, end, name) in [
        ("attempt_started", "attempt_ended", "attempt"),
        ("judgement_started", "judged", "judgement"),
    ] {
        let (mut began, mut ended) = (of(begin, name), of(end, name));
        began.sort();
        ended.sort();
        assert_eq!(began, ended, "{begin} and {end} do not fit together");
        began.dedup();
        assert_eq!(began.len(), ended.len(), "a number was used twice: {ended:?}");
    }
}

/// A call with an ending was started once, is not taken for lost, and keeps its ending.
fn nothing_finished_was_redone(story: &Story, run: &str, facts: &[Value], known: &Endings) {
    for (path, bytes) in known {
        let now = fs::read(path).unwrap_or_default();
        assert!(now == *bytes, "{} is no longer what it was", path.display());
    }
    let attempts = story.world.place().join("attempts").join(run);
    let mut started = BTreeSet::new();
    for call in starts(&story.world, run) {
        assert!(started.insert(call.clone()), "{call} was started twice");
    }
    let mut checked = BTreeSet::new();
    let steps = fs::read_to_string(story.world.beside("checks.log")).unwrap();
    for step in steps.lines() {
        assert!(checked.insert(step), "the check in {step} was started twice");
    }
    let lost = lost(facts);
    for (path, bytes) in endings(story) {
        let is_call = path.parent().and_then(Path::parent) == Some(attempts.as_path());
        let ending: Value = serde_json::from_slice(&bytes).unwrap();
        let call = ending["call"].as_str().unwrap();
        assert!(!is_call || !lost.contains(call), "{call} has an ending, and was taken for lost");
    }
}

fn lost(facts: &[Value]) -> BTreeSet<String> {
    let lost = facts.iter().filter_map(|fact| {
        let (attempt, judged) = (&fact["attempt_ended"], &fact["judged"]);
        match (attempt["outcome"].as_str(), judged["ruling"].as_str()) {
            (Some("lost"), _) => attempt["attempt"].as_str(),
            (_, Some("lost")) => judged["judgement"].as_str(),
            _ => None,
        }
    });
    lost.map(str::to_owned).collect()
}
