//! What is said, asked and refused before a run exists.

use std::fs;

use crate::world::{DONE, Said, WAITS, WRONG, World, finish, has};

/// A flow with an effort that changes no code.
const SIZED: &str = r#"
manual = { param = "effort", is = ["L"] }
[params]
effort = { values = ["S", "M", "L"], default = "M" }
pr = { values = ["yes", "no"], default = "yes" }
source = { values = ["text", "github", "jira"], default = "text" }
[[stage]]
name = "first"
command = "true"
[[stage]]
name = "more"
command = "true"
when = { param = "effort", is = ["M", "L"] }
[[stage]]
name = "most"
command = "true"
when = { param = "effort", is = ["L"] }
gates = [{ name = "look", human = "Is it good?", auto = true }]
[[stage]]
name = "offer"
command = "true"
when = { param = "pr", is = ["yes"] }
"#;

/// A flow that changes code.
const LANDING: &str = r#"
[[stage]]
name = "work"
command = "echo more >> README.md"
gates = [{ check = "changes" }, { verify = true }, { check = "guarded" }, { land = true }]
"#;

fn sized() -> World {
    let world = World::new();
    world.flow("sized", SIZED);
    world
}

fn run(world: &World, args: &[&str]) -> Said {
    world.forge(&[&["run", "--flow", "sized"], args].concat())
}

fn start_of(world: &World) -> serde_json::Value {
    world.facts(&world.latest())[0]["run_started"].clone()
}

#[test]
fn a_run_that_names_no_flow_takes_the_one_that_is_set() {
    let world = sized();
    world.write("forge.toml", "flow = \"sized\"\n");
    world.commit();
    world.approve("sized");
    let said = finish(&mut world.command_as_it_is(&["run", "--effort", "S", "do it"]));
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(start_of(&world)["flow"], "sized");
    has(&world.ok(&["config", "explain", "flow"]), &["flow = \"sized\"", "\"feature\""]);
}

#[test]
fn words_that_are_no_request_are_refused_with_two_examples_and_make_nothing() {
    let world = sized();
    for (request, why) in [
        ("", "the request is empty"),
        ("fix", "too short"),
        ("!?!?!?", "only punctuation"),
        ("123 456", "no word in it"),
        ("https:/github.com/o/r/issues/1", "looks like an address"),
        ("https://github.com/o/r/issues/1", "cannot fetch"),
        ("https://me.atlassian.net/browse/AB-1", "rest/api/3/issue/AB-1"),
        ("fix it --effort=Q", "inside the quotes"),
    ] {
        let said = run(&world, &[request]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &["error: ", why, " next: ", "forge run"]);
        assert!(
            said.err.matches("forge run").count() + said.err.matches("issue.json").count() >= 2
        );
    }
    assert!(world.is_untouched());
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let world = sized();
    for (args, why) in [
        (&["do it", "--effort", "XS"][..], "no effort XS"),
        (&["do it", "--effort", "XL"], "`effort` can be S, M, L, not `XL`"),
        (&["do it", "--effort", "S", "--effort", "M"], "--effort"),
        (&["do it", "--effort", "S", "--param", "effort=M"], "given twice"),
        (&["do it", "--scenario", "x", "--agent", "claude"], "cannot be used with"),
        (&["do it", "--issue", "x.json"], "cannot be used with"),
        (&["do it", "--effort", "S", "--discuss"], "there is none"),
        (&["do it", "--effort", "S", "--auto", "--discuss"], "there is none"),
        (&["do it", "--effort", "S", "--branch", "old"], "old"),
        (&["do it", "--effort", "S", "--branch", "current"], "no branch can follow"),
        (&["do it", "--effort", "S", "--efort", "M"], "--effort"),
    ] {
        let said = run(&world, args);
        assert_eq!(said.code, WRONG, "{args:?}: {said}");
        has(&said.err, &[why]);
    }
    let said = world.refused(&["run", "--flow", "draft", "--effort", "S", "do it"]);
    has(&said, &["the flow `draft` has no parameter"]);
    let said = world.refused(&["run", "--flow", "draft", "--no-pr", "do it"]);
    has(&said, &["offers no pull request"]);
    assert!(world.is_untouched());
}

#[test]
fn an_effort_that_nobody_says_is_a_question_with_the_exact_commands() {
    let world = sized();
    let said = run(&world, &["it's a wish"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["how much effort", "M was detected: nothing says more or less"]);
    assert!(world.is_untouched());
    let commands = said.commands();
    assert_eq!(
        commands,
        [
            r"run --effort S --flow sized 'it'\''s a wish'",
            r"run --effort M --flow sized 'it'\''s a wish'",
            r"run --effort L --flow sized 'it'\''s a wish'",
            r"run --yes --flow sized 'it'\''s a wish'",
        ]
    );
}

#[test]
fn what_is_detected_is_taken_if_a_person_says_so_and_the_rule_is_kept() {
    let world = sized();
    for (flag, request, effort, why) in [
        ("--yes", "fix a typo in it", "S", "it is short and says \"typo\""),
        ("--auto", "show the sum", "M", "nothing says more or less"),
    ] {
        let said = run(&world, &[flag, request]);
        assert_eq!(said.code, DONE, "{said}");
        has(&said.err, &[&format!("note: effort {effort} was detected and taken: {why}")]);
        let start = start_of(&world);
        assert_eq!(start["params"]["effort"], effort);
        assert_eq!(start["chosen"]["effort"], format!("detected: {why}"));
    }
    let said = run(&world, &["--effort", "S", "rewrite the parser"]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(!said.err.contains("detected"), "{said}");
    assert_eq!(start_of(&world)["chosen"]["effort"], "said by --effort S");
}

#[test]
fn checkpoints_that_are_for_a_person_are_never_passed_by_auto() {
    let world = sized();
    let said = run(&world, &["--auto", "--effort", "L", "do it"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["`--auto` cannot be with sized with effort L"]);
    assert_eq!(
        said.commands(),
        ["run --effort L --flow sized 'do it'", "run --effort M --flow sized --auto 'do it'"]
    );
    assert!(world.is_untouched());
    let said = run(&world, &["--auto", "--yes", "--effort", "L", "do it"]);
    assert_eq!(said.code, WAITS, "it asks at its checkpoint: {said}");
    has(&said.err, &["it goes on without `--auto`"]);
    assert_eq!(start_of(&world)["approvals"], "by_people");
}

#[test]
fn an_issue_is_the_request_and_its_points_are_the_effort() {
    let world = sized();
    let issue = |points: &str| {
        format!(
            r#"{{"key": "AB-7", "self": "https://h.net/rest/api/3/issue/1",
                "fields": {{"summary": "Show sums", "description": "Of the list.", "customfield_10016": {points}}}}}"#
        )
    };
    let typed = ["--yes", "--issue", "issue.json"];
    for (points, effort) in [
        ("4", "S"),
        ("12", "M"),
        ("13", "L"),
        ("0", "M"),
        ("-1", "M"),
        ("null", "M"),
        ("\"3\"", "M"),
    ] {
        world.write("issue.json", issue(points));
        let said = run(&world, &typed);
        assert!([DONE, WAITS].contains(&said.code), "{said}");
        let start = start_of(&world);
        assert_eq!(start["params"]["effort"], effort, "{points}");
        assert_eq!(start["params"]["source"], "jira");
        assert_eq!(start["source"], "https://h.net/browse/AB-7");
        assert_eq!(start["request"], "# Show sums\n\nOf the list.\n");
    }
    world.write("forge.toml", "[effort]\nstory_points = \"points\"\n");
    world.write("issue.json", issue("4").replace("customfield_10016", "points"));
    assert_eq!(run(&world, &typed).code, DONE);
    assert_eq!(start_of(&world)["chosen"]["effort"], "detected: 4 story points in points");
    world.write("issue.json", r#"{"number": 7, "title": "Show sums", "body": "Of the list.", "html_url": "https://github.com/o/r/issues/7"}"#);
    assert_eq!(run(&world, &typed).code, DONE);
    assert_eq!(start_of(&world)["params"]["source"], "github");
}

#[test]
fn files_that_are_no_issue_are_refused_in_words() {
    let world = sized();
    let issue = world.repo.join("issue.json");
    for (text, why) in [
        ("", "it is not JSON"),
        ("{\"title\":", "it is not JSON"),
        ("{}", "it is no issue of GitHub"),
        (&" ".repeat(2 * 1024 * 1024), "bytes"),
    ] {
        fs::write(&issue, text).unwrap();
        let said = run(&world, &["--yes", "--issue", "issue.json"]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &["issue.json", why, " next: "]);
    }
    let said = run(&world, &["--yes", "--issue", "nowhere.json"]);
    has(&said.err, &["there is no such file"]);
    assert!(world.is_untouched());
}

#[test]
fn what_is_said_by_flags_is_in_the_first_record() {
    let world = sized();
    let said = run(&world, &["--effort", "S", "--no-pr", "--debug", "do it"]);
    assert_eq!(said.code, DONE, "{said}");
    let start = start_of(&world);
    assert_eq!(start["params"]["pr"], "no");
    assert_eq!(start["detail"], "debug");
    assert!(start.get("onto").is_none() && start.get("source").is_none());
}

#[test]
fn on_a_branch_of_its_own_it_is_asked_where_the_result_goes() {
    let world = World::new();
    world.flow("landing", LANDING);
    world.commit();
    world.git(&["checkout", "--quiet", "-b", "mine"]);
    let run = |more: &[&str]| world.forge(&[&["run", "--flow", "landing", "do it"], more].concat());
    let said = run(&[]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["`mine` is checked out"]);
    assert_eq!(
        said.commands(),
        [
            "run --branch new --flow landing 'do it'",
            "run --branch current --flow landing 'do it'",
            "run --yes --flow landing 'do it'",
        ]
    );
    assert!(world.is_untouched());
    run(&["--branch", "new"]);
    assert!(start_of(&world).get("onto").is_none());
    run(&["--branch", "current"]);
    assert_eq!(start_of(&world)["onto"], "mine");
    let said = run(&["--yes"]);
    has(&said.err, &["not to `mine`"]);
    // What the remote calls its own is nobody's branch.
    world.git(&["update-ref", "refs/remotes/origin/mine", "HEAD"]);
    world.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/mine"]);
    let said = run(&[]);
    assert!(!said.err.contains("is checked out"), "{said}");
}
