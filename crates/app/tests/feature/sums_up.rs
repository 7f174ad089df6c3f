//! Every run that is over or held has a summary, however it came to that, and it can be made anew.

use std::fs;

use super::project::{Project, REQUEST};
use super::world::{WAITS, World, has};

/// The analyst is never content with itself.
const GIVES_UP: &str = r#"
[[play]]
role = "situation-analyst"
no_result = true
"#;

#[test]
fn the_end_is_a_card_and_the_summary_is_shown_whenever_it_is_asked_for() {
    let project = Project::new("");
    let said = project.run("S", &["--auto"]);
    assert_eq!(said.code, 0, "{said}");
    let run = project.world.latest();
    let live = summary(&project.world, &run).expect("a run that is done has one");
    assert_eq!(project.world.ok(&["show", &run, "summary.md"]), live);
    let card = said.out.lines().rev().take_while(|line| !line.is_empty()).count();
    assert!(card <= 6 && !said.out.contains("## Request"), "{said}");
}

#[test]
fn a_run_that_waits_or_is_given_up_has_a_summary_that_can_be_made_anew() {
    let project = Project::new(GIVES_UP);
    let world = &project.world;
    let said = project.run("S", &["--auto"]);
    assert_eq!(said.code, WAITS, "{said}");
    let run = world.latest();
    // It still goes on.
    assert_eq!(summary(world, &run), None);
    world.ok(&["answer", &run, "Q1", "give-up"]);
    let failed = summary(world, &run).expect("a run that failed has one");
    has(&failed, &[REQUEST, "failed"]);
    fs::remove_file(path(world, &run)).unwrap();
    world.ok(&["doctor", "--rebuild"]);
    assert_eq!(summary(world, &run), Some(failed));
    world.ok(&["abandon", "--yes", &run]);
    has(&summary(world, &run).expect("an abandoned run has one"), &["abandoned"]);
    assert!(project.deliveries(&run).is_empty());
}

fn path(world: &World, run: &str) -> std::path::PathBuf {
    world.place().join("runs").join(run).join("summary.md")
}

fn summary(world: &World, run: &str) -> Option<String> {
    fs::read_to_string(path(world, run)).ok()
}
