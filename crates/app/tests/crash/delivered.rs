//! What must hold after every run of the flow `feature`: delivered once, recorded once, asked once,
//! nothing done twice that was done well, and every cent accounted for.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Value, json};

use super::world::World;

/// The course of a run that must always be the same. Looks at the rest on the way.
pub(crate) fn course(world: &World, run: &str) -> BTreeMap<String, Value> {
    let facts = world.facts(run);
    let state: Value = read(&world.live(run).join("state.json"));
    let mut course = BTreeMap::from([
        ("completed".to_owned(), state["completedPhases"].clone()),
        ("skipped".to_owned(), state["skippedPhases"].clone()),
        ("asked".to_owned(), every_answer_counted_once(&facts)),
    ]);
    for what in finished(&facts) {
        let n = course.entry(what).or_insert_with(|| json!(0));
        *n = json!(n.as_u64().unwrap() + 1);
    }
    delivered_once(world, run, &facts);
    recorded_once(world, run, &state);
    the_ledger_is_the_sum_of_the_receipts(world, run, &facts);
    course
}

/// The attempts that were done and the gates that had a verdict, each without its number.
fn finished(facts: &[Value]) -> impl Iterator<Item = String> + '_ {
    facts.iter().filter_map(|fact| {
        let (attempt, judged) = (&fact["attempt_ended"], &fact["judged"]);
        if attempt["outcome"] == "done" {
            let attempt = attempt["attempt"].as_str().unwrap();
            return Some(format!("done {}", attempt.split('#').next().unwrap()));
        }
        let verdict = judged["ruling"]["verdict"].as_object()?.keys().next().unwrap();
        let judgement = judged["judgement"].as_str().unwrap();
        let (unit, gate) = judgement.split_once('#').unwrap();
        let gate = gate.split_once('/').unwrap().1.split('#').next().unwrap();
        Some(format!("{verdict} by {gate} of {unit}"))
    })
}

/// What was asked, and that every question has one answer.
fn every_answer_counted_once(facts: &[Value]) -> Value {
    let asked = facts.iter().filter_map(|fact| fact.get("question_asked"));
    let answered = facts.iter().filter_map(|fact| fact.get("answered"));
    let mut answered: Vec<&Value> = answered.map(|fact| &fact["question"]).collect();
    let (questions, asked): (Vec<&Value>, Vec<Value>) =
        asked.map(|asked| (&asked["id"], json!([asked["unit"], asked["gate"]]))).unzip();
    answered.dedup();
    assert_eq!(questions, answered, "every question has one answer");
    json!(asked)
}

/// One record of one commit, which is meant and done once in the journal.
fn delivered_once(world: &World, run: &str, facts: &[Value]) {
    let marks = |kind: &str| -> Vec<&str> {
        let of = facts.iter().filter_map(|fact| fact.get(kind));
        of.map(|fact| fact["mark"].as_str().unwrap()).collect()
    };
    let done = marks("effect_done");
    assert_eq!(done.len(), 1, "{done:?}");
    assert_eq!(marks("effect_intended"), done);
    let folder = world.live(run).join("delivery");
    let records: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|one| one.unwrap().path()).collect();
    assert_eq!(records, [folder.join("001")], "there is one record");
    let mut names: Vec<PathBuf> =
        fs::read_dir(&records[0]).unwrap().map(|one| one.unwrap().path()).collect();
    names.sort();
    assert_eq!(names, ["delivery.json", "pull-request.md"].map(|name| records[0].join(name)));
    let record = read(&records[0].join("delivery.json"));
    assert_eq!(record["mark"], done[0]);
    assert_eq!(record["evidence"][0]["colour"], "green", "{record:#}");
    let below = world.git(&["rev-parse", &format!("forge/{run}~1")]);
    assert_eq!(record["commit"], below.as_str(), "what is below the last commit was delivered");
    assert_eq!(world.git(&["rev-parse", &format!("refs/forge/{run}/delivered")]), below);
}

/// One commit with the record of the run, the last one, which changes no code.
fn recorded_once(world: &World, run: &str, state: &Value) {
    let (branch, folder) = (format!("forge/{run}"), format!(".forge/runs/{run}/"));
    let mut records = world.git(&["log", "--format=%H", "--grep=^Add the .* of run", &branch]);
    records.push('\n');
    assert_eq!(records, world.git(&["rev-parse", &branch]) + "\n", "the last commit, and no other");
    let changed = world.git(&["diff", "--name-only", &format!("{branch}~1"), &branch]);
    assert!(changed.lines().all(|path| path.starts_with(&folder)), "{changed}");
    let kept = |name: &str| world.git(&["show", &format!("{branch}:{folder}{name}")]);
    // It shows the run as it stood when it was done, and knows nothing of itself.
    let events = fs::read_to_string(world.live(run).join("events.jsonl")).unwrap();
    assert!(
        events.starts_with(&(kept("events.jsonl") + "\n")),
        "the same events, up to the commit"
    );
    let shown: Value = serde_json::from_str(&kept("state.json")).unwrap();
    for key in ["standing", "completedPhases", "skippedPhases", "currentPhase", "tasks"] {
        assert_eq!(shown[key], state[key], "{key} in the last commit");
    }
    assert!(kept("summary.md").contains("T3"), "the summary has its table of tasks");
}

/// Asserts that commands show the spending that the receipts say.
fn the_ledger_is_the_sum_of_the_receipts(world: &World, run: &str, facts: &[Value]) {
    let (mut known, mut tokens) = (0, 0);
    for fact in facts {
        let receipts = [
            &fact["attempt_ended"]["receipt"]["spent"],
            &fact["judged"]["receipt"]["spent"],
            &fact["call_settled"]["spent"],
            &fact["run_started"]["coherence"]["spent"],
        ];
        for spent in receipts {
            known += spent["cost"]["known"].as_u64().unwrap_or(0);
            let kinds = ["input", "output", "cache_read", "cache_write"];
            tokens += kinds.iter().filter_map(|kind| spent["tokens"][kind].as_u64()).sum::<u64>();
        }
    }
    let view = world.json(&["status", run, "--json"]);
    assert_eq!((&view["spent"], &view["tokens"]), (&json!(known), &json!(tokens)), "{view:#}");
    let total = &world.json(&["stats", run, "--json"])["total"];
    assert_eq!(total["known"], json!(known), "{total:#}");
    assert!(known > 0, "agents cost something");
}

fn read(path: &std::path::Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}
