//! Before a run exists: what is no request (points 1 to 3), and what a person chooses (points 4 to 6).

use crate::{
    project::{Project, REQUEST},
    world::{DONE, Said, WAITS, WRONG, finish, has},
};

/// Starts the flow with these words, after the settings were committed and allowed.
fn run(project: &Project, more: &[&str]) -> Said {
    project.world.forge(&[&["run", "--flow", "feature"], more].concat())
}

/// It was refused with the reason and two examples that can be used, and nothing was made.
fn refused(project: &Project, request: &[&str], why: &str) {
    let said = run(project, request);
    assert_eq!(said.code, WRONG, "{request:?}: {said}");
    has(&said.err, &["error: ", why, "next: "]);
    let examples = said.err.matches("forge run").count() + said.err.matches("issue.json").count();
    assert!(examples >= 2, "{request:?}: {said}");
    assert_eq!(said.out, "");
    assert!(project.world.is_untouched(), "{request:?}");
}

#[test]
fn what_is_no_request_is_refused_with_two_examples_and_nothing_is_made() {
    let project = Project::new("");
    for (request, why) in [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("fix", "too short"),
        ("?!?!?!", "punctuation"),
        ("12345678", "no word"),
        ("http//github.com/o/r/issues/1", "address"),
        ("https://", "address"),
    ] {
        refused(&project, &["--effort", "S", request], why);
    }
}

#[test]
fn a_request_that_says_nothing_about_software_is_refused_with_the_reason_and_two_examples() {
    let project = Project::new(
        "[[play]]\nrole = \"coherence-checker\"\n\
         result = { summary = \"It is a recipe for soup.\", verdict = \"block\", findings = [] }\n",
    );
    refused(
        &project,
        &["--effort", "S", "Boil the carrots until soft"],
        "It is a recipe for soup.",
    );
    // Whoever is sure turns the look off.
    let mut command = project.world.command(&Project::words("S", &["--auto"]));
    let said = finish(command.env("FORGE_COHERENCE", "off"));
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn the_address_of_an_issue_is_refused_with_how_to_save_it_and_the_saved_one_is_taken() {
    let project = Project::new("");
    for (address, how) in [
        ("https://me.atlassian.net/browse/AB-1", "rest/api/3/issue/AB-1"),
        ("https://github.com/o/r/issues/7", "gh api repos/o/r/issues/7"),
    ] {
        refused(&project, &["--effort", "S", address], how);
    }
    project.world.write(
        "issue.json",
        r#"{"number": 7, "title": "Greet people", "body": "All of them.", "html_url": "https://github.com/o/r/issues/7"}"#,
    );
    let said = run(&project, &["--effort", "S", "--auto", "--issue", "issue.json"]);
    // Hosts come later: nothing can be posted, and that is no reason to fail.
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn on_a_branch_that_is_not_the_main_one_a_person_chooses_where_the_result_goes() {
    let project = Project::new("");
    project.world.git(&["checkout", "--quiet", "-b", "mine"]);
    let said = run(&project, &["--effort", "S", REQUEST]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["`mine`"]);
    assert!(project.world.is_untouched());
    let commands = said.commands();
    for (flag, onto) in
        [("--branch new", None), ("--branch current", Some("mine")), ("--yes", None)]
    {
        let command = commands.iter().find(|command| command.contains(flag));
        let command = command.unwrap_or_else(|| panic!("no {flag} in {commands:?}"));
        // The exact command, as a shell would read it.
        let words: Vec<&str> = command.split('\'').collect();
        let mut args: Vec<&str> = words[0].split_whitespace().collect();
        args.push(words[1]);
        let said = project.world.forge(&args);
        assert_eq!(said.code, WAITS, "it goes as far as checkpoint A: {said}");
        has(&said.out, &["Build it like this?"]);
        let start = project.world.facts(&project.world.latest())[0]["run_started"].clone();
        assert_eq!(start.get("onto").and_then(|onto| onto.as_str()), onto, "{flag}");
    }
}

#[test]
fn without_an_effort_a_person_chooses_one() {
    let project = Project::new("");
    let said = run(&project, &[REQUEST]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["how much effort", "M was detected"]);
    assert!(project.world.is_untouched());
    let commands = said.commands();
    for effort in ["S", "M", "L"] {
        let wanted = format!("--effort {effort} ");
        assert!(commands.iter().any(|command| command.contains(&wanted)), "{commands:?}");
    }
    assert!(commands.iter().any(|command| command.contains("--yes")), "{commands:?}");
    // What is detected is taken if a person says so; then all goes its way.
    let said = run(&project, &["--yes", REQUEST]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["was detected and taken"]);
    has(&said.out, &["Build it like this?"]);
    for wrong in ["XS", "XL", ""] {
        let said = run(&project, &["--effort", wrong, REQUEST]);
        assert_eq!(said.code, WRONG, "{said}");
    }
}

#[test]
fn effort_l_with_auto_is_asked_about_and_never_approves_by_itself() {
    let project = Project::new("");
    let said = run(&project, &["--effort", "L", "--auto", REQUEST]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["`--auto` cannot be"]);
    assert_eq!(said.commands().len(), 2, "{said}");
    assert!(project.world.is_untouched());
    let said = run(&project, &["--effort", "L", "--auto", "--yes", REQUEST]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["without `--auto`"]);
    has(&said.out, &["Build it like this?"]);
    assert!(!said.out.contains("approved automatically"), "{said}");
}
