//! Eight items with dependencies, overlaps, a conflict, a red merge, and a commit hook that refuses:
//! what lands, in which order, and that no kill after any record changes it.
//!
//! Read `flow.toml`, `agent.sh` and `story.rs` (what is played),
//! `promises.rs` (what must hold afterwards), `cases.rs` (when whom to kill),
//! `processes.rs` (who is there), then the tests below.
//!
//! ```text
//! FORGE_LANDING_RECORDS=all cargo test -p forge --test faults landing::    kill after every record
//! FORGE_LANDING_SEED=7                  other records, other victims
//! FORGE_LANDING_CASE=31                 one record alone, as a failure names it
//! ```

use crate::world;

mod cases;
mod processes;
mod promises;
mod story;
mod taking_in;

use serde_json::Value;

use cases::{Sizes, undisturbed};
use story::UNITS;
use world::has;

/// The most items of the table `build` that are open at a time, as its flow says.
const AT_ONCE: usize = 4;

#[test]
fn a_kill_after_any_record_changes_nothing_of_what_lands() {
    cases::play(&Sizes::from_environment());
}

#[test]
fn whatever_is_wrong_with_an_item_sends_it_back_once_and_says_why() {
    let undisturbed = undisturbed();
    let mut sent_back: Vec<(&str, String)> = Vec::new();
    for fact in &undisturbed.facts {
        let reopened = &fact["unit_reopened"];
        if let Some(unit) = reopened["unit"].as_str() {
            let by = reopened["by"]["gate"]["gate"].as_str().or(reopened["by"].as_str());
            sent_back.push((unit, by.unwrap().to_owned()));
        }
    }
    sent_back.sort();
    let expected = [
        ("build.code/implement", "verify"),
        ("build.refused/implement", "changes"),
        ("build.stray/implement", "changes"),
        ("build.upper/implement", "landing"),
        ("build.wide/implement", "review"),
        ("chores.other/implement", "landing"),
    ];
    assert_eq!(sent_back, expected.map(|(unit, by)| (unit, by.to_owned())));
    let brief = |unit: &str| undisturbed.briefs[&format!("{unit}/implement#2")].as_str();
    has(brief("build.code"), &["`sh test.sh` failed", "not ok 1 - something is broken"]);
    has(
        brief("build.refused"),
        &["`pre-commit` refuses it", "what is unfinished is not committed"],
    );
    has(brief("build.stray"), &["`STRAY.md` is outside what stray may change"]);
    has(brief("build.wide"), &["it must be the second"]);
    has(brief("build.upper"), &["not ok 2 - the port 8080 is used twice"]);
    let conflict = ["conflict markers", "merged meanwhile", "from A", "this change", "from X"];
    has(brief("chores.other"), &conflict);
}

#[test]
fn items_are_open_together_only_where_paths_and_dependencies_allow_it() {
    let mut open: Vec<&str> = Vec::new();
    let mut landed: Vec<&str> = Vec::new();
    let (mut most, mut shared) = (0, false);
    for fact in &undisturbed().facts {
        let unit_of = |name: &Value| name.as_str().and_then(unit);
        if let Some(unit) = unit_of(&fact["attempt_started"]["attempt"])
            && !open.contains(&unit)
        {
            let first = |wanted: &str| assert!(landed.contains(&wanted), "{unit} before {wanted}");
            match unit {
                "build.wide/implement" => first("build.lower/implement"),
                "build.stray/implement" => {
                    first("build.code/implement");
                    first("build.refused/implement");
                }
                _ => {}
            }
            open.push(unit);
        }
        if let Some(unit) = unit_of(&fact["landed"]["unit"]) {
            open.retain(|other| *other != unit);
            landed.push(unit);
        }
        let both = |a: &str, b: &str| open.contains(&a) && open.contains(&b);
        assert!(!both("build.code/implement", "build.wide/implement"), "they write the same");
        let of_build = open.iter().filter(|unit| unit.starts_with("build.")).count();
        most = most.max(of_build);
        assert!(of_build <= AT_ONCE, "{open:?}");
        shared |= both("build.shared/implement", "chores.other/implement");
    }
    assert_eq!(most, AT_ONCE, "as many as allowed were open together");
    // `core` compares the items of one table, not those of two. That is how a conflict can be.
    assert!(shared, "items of two tables that write the same were open together");
}

/// The unit that lands an item, by its own name or that of one of its attempts.
fn unit(name: &str) -> Option<&'static str> {
    let name = name.split('#').next().unwrap_or(name);
    UNITS.iter().copied().find(|unit| *unit == name)
}
