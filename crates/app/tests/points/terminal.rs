//! The same points at a real terminal: what is asked before a run exists, and checkpoints answered in place by
//! keys.

use super::{
    building::breaks,
    project::{Project, REQUEST, design_review, short_id},
    ways::{CTRL_D, choose},
    world::{DONE, FAILED, INTERRUPTED, WAITS, has, pty::Person},
};

/// Starts the flow with these words.
fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--flow", "feature", REQUEST], more].concat()
}

#[test]
fn at_a_terminal_checkpoint_a_is_asked_in_place_and_a_card_is_shown_at_the_end() {
    let project = Project::new(&design_review("pass", &["minor"]));
    let mut person = Person::at(&project.world, &run(&[]));
    let asked = person.until_sees("Build it like this?");
    has(&asked, &["approach", "a file of its own", "risk", "medium", "passed with notes"]);
    has(
        &asked,
        &[
            "minor thing 1",
            "approve",
            "request changes",
            "reject",
            "design is accepted, and split starts next",
        ],
    );
    // Words in several lines, which reach the brief as they were typed.
    person.press("r");
    person.until_sees("What should change?");
    person.press("# Not \"like this\":\x1b\rin 世界.");
    person.until_sees("in 世界.");
    person.press(CTRL_D);
    person.until_sees("Q2 · design");
    let run = project.world.latest();
    has(&project.world.brief(&run, "design#2"), &["> # Not \"like this\":\n> in 世界.\n"]);
    choose(&mut person, "a", "approve");
    assert_eq!(person.end(), DONE, "{}", person.screen());
    has(&person.bytes(), &["✓", "Done", "forge merge "]);
}

#[test]
fn at_a_terminal_red_tests_are_overridden_only_with_a_reason_and_a_confirmation_that_names_the_gate()
 {
    let project = Project::new(&breaks(9));
    let mut person = Person::at(&project.world, &run(&["--effort", "S", "--auto"]));
    let asked = person.until_sees("Q1 · T1");
    assert!(!asked.contains("approve"), "{asked}");
    // What cannot be answered here does nothing.
    person.press("a");
    person.until_sees("Keys: ");
    person.press("o");
    person.until_sees("Why do you override it?");
    person.press("\r");
    person.until_sees("Type a few words first.");
    person.press("it is flaky\r");
    person.until_sees("Override the checks in your name?");
    person.press("\r");
    // At the end it is red in the same way, and nobody is asked again.
    assert_eq!(person.end(), DONE, "{}", person.screen());
    let run = project.world.latest();
    has(&project.world.ok(&["show", &run]), &["by ada: it is flaky"]);
}

#[test]
fn at_a_terminal_an_agent_that_left_nothing_is_tried_again_or_given_up() {
    let nothing = "[[play]]\nrole = \"situation-analyst\"\nno_result = true\n";
    let project = Project::new(nothing);
    let mut person = Person::at(&project.world, &run(&["--effort", "S"]));
    person.until_sees("Q1 · analyse");
    choose(&mut person, "t", "retry");
    person.until_sees("Q2 · analyse");
    choose(&mut person, "x", "reject");
    assert_eq!(person.end(), FAILED, "{}", person.screen());
    has(&person.bytes(), &["rejected by ada"]);
}

#[test]
fn at_a_terminal_effort_l_with_auto_goes_on_without_it_to_both_checkpoints() {
    let project = Project::new("");
    let mut person = Person::at(&project.world, &run(&["--effort", "L", "--auto"]));
    has(&person.until_sees("continue without it"), &["`--auto` is not possible with"]);
    person.press("c");
    person.until_sees("Build it like this?");
    choose(&mut person, "a", "approve");
    let asked = person.until_sees("Build it in these tasks?");
    has(&asked, &["1 tasks", "Greet people", "passed"]);
    person.press("q");
    assert_eq!(person.end(), WAITS, "{}", person.screen());
    person.is_left_sane();
}

#[test]
fn at_a_terminal_commands_of_the_repository_are_asked_about_first_and_what_is_no_answer_again() {
    let project = Project::new("");
    let forge = project.world.command_as_it_is(&run(&["--discuss"]));
    let mut words = vec![forge.get_program().to_owned()];
    words.extend(forge.get_args().map(ToOwned::to_owned));
    let mut person = Person::with(&project.world, &words);
    let asked = person.until_sees("Allow them? [y/N]");
    has(&asked, &["$ sh check.sh"]);
    assert!(!asked.contains("End each answer with"), "{asked}");
    person.press("S\r");
    person.until_sees("`s` is not one of the answers");
    person.press("y\r");
    person.until_sees("End each answer with");
    person.press(CTRL_D);
    assert_eq!(person.end(), INTERRUPTED, "{}", person.screen());
    assert!(project.world.ids().is_empty());
}

#[test]
fn a_blocked_agent_can_be_told_something_before_it_tries_again() {
    let blocked = "[[play]]\nrole = \"situation-analyst\"\n\
        result = { status = \"blocked\", summary = \"no\", blocker = { class = \"unknown\", what = \"I need a database\" } }\n";
    let project = Project::new(blocked);
    let left = project.asks("S", &[]);
    let run = left.run.clone();
    // In a pipe the command says that words are possible.
    left.shows(&[&format!("forge retry {} [-m \"WORDS\"]", short_id(&run))]);
    project.world.ok(&["answer", &run, "Q1", "retry", "it is at db.local"]);
    let mut person = Person::at(&project.world, &["resume", &run]);
    person.until_sees("Q2 · analyse");
    has(&project.world.brief(&run, "analyse#2"), &["> it is at db.local"]);
    // At a terminal they can be typed.
    person.press("t");
    let asked = person.until_sees("Enter retry");
    has(&asked, &["What should the agent know? Optional"]);
    person.press("port 5432");
    person.until_sees("> port 5432");
    person.press("\r");
    person.until_sees("Q3 · analyse");
    has(&project.world.brief(&run, "analyse#3"), &["> it is at db.local", "> port 5432"]);
    // Enter alone is a plain retry.
    choose(&mut person, "t", "retry");
    person.until_sees("Q4 · analyse");
    choose(&mut person, "x", "reject");
    assert_eq!(person.end(), FAILED, "{}", person.screen());
}
