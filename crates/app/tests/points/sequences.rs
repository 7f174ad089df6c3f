//! Everything that starts, passes, is skipped and is asked, in its order. Names only: no times, no ids.
//!
//! Not here: each effort, by hand and automatic, with and without an offer (`core/tests/stories/paths.rs`).

use serde_json::Value;

use super::{
    project::{Left, Project},
    world::{DONE, WAITS},
};

/// One fact in a few words, if it is a step of the way.
fn step(fact: &Value) -> Option<String> {
    let (name, about) = fact.as_object()?.iter().next()?;
    let text = |key: &str| about[key].as_str().unwrap_or_default().to_owned();
    Some(match name.as_str() {
        "unit_skipped" => format!("skip    {}", text("unit")),
        "gate_skipped" => format!("skip    {}/{}", text("unit"), text("gate")),
        "attempt_started" => format!("start   {}", text("attempt")),
        "judged" => {
            let verdict = about["ruling"]["verdict"].as_object();
            let word = verdict.and_then(|verdict| verdict.keys().next());
            format!("{:<7} {}", word.map_or("none", String::as_str), text("judgement"))
        }
        "gate_passed" => {
            let by = about["by"].as_str().unwrap_or("person").to_owned();
            format!("{by:<7} {}/{}", text("unit"), text("gate"))
        }
        "gate_waived" => format!("waived  {}/{}", text("unit"), text("gate")),
        "question_asked" => format!("ask     {} {}/{}", text("id"), text("unit"), text("gate")),
        "answered" => format!("answer  {} {}", text("question"), about["answer"]),
        "landed" if text("brings") == "nothing" => format!("nothing {}", text("unit")),
        "landed" => format!("landed  {}", text("unit")),
        "effect_done" => "offered".to_owned(),
        "run_ended" => format!("end     {}", text("end")),
        _ => return None,
    })
}

fn steps(project: &Project, left: &Left<'_>) -> String {
    let facts = project.world.facts(&left.run);
    facts.iter().filter_map(step).collect::<Vec<String>>().join("\n")
}

/// The way of a run in which everybody is content, and a person approves whatever is asked.
fn way(effort: &str, more: &[&str]) -> String {
    let project = Project::new("");
    let mut left = project.run(effort, more);
    for n in 1..=3 {
        if left.said.code == WAITS {
            left = left.answer(&[&format!("Q{n}"), "approve"]);
        }
    }
    left.ends(DONE);
    steps(&project, &left)
}

#[test]
fn the_way_of_the_least_and_of_the_most_that_a_run_does() {
    for (effort, more) in [("S", &["--auto", "--no-pr"][..]), ("L", &[])] {
        insta::assert_snapshot!(format!("{effort}{}", more.concat()), way(effort, more));
    }
}
