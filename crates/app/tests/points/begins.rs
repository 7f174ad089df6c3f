//! Before a run exists: what is no request (points 1 to 3), and what a person chooses (points 4 to 6).

use super::{
    project::{Project, REQUEST},
    world::{DONE, Said, WAITS, WRONG, World, finish, has},
};

/// Starts the flow with these words, after the settings were committed and allowed.
fn run(project: &Project, more: &[&str]) -> Said {
    project.world.forge(&[&["run", "--flow", "feature"], more].concat())
}

/// It was refused with the reason and a command that can be used, and nothing was made.
fn refused(project: &Project, request: &[&str], why: &str) {
    let said = run(project, request);
    assert_eq!(said.code, WRONG, "{request:?}: {said}");
    has(&said.err, &["error: ", why]);
    let next = ["help: forge ", "or: forge run ", "help: give the address"];
    assert!(next.iter().any(|next| said.err.contains(next)), "{request:?}: {said}");
    assert_eq!(said.out, "");
    assert!(project.world.is_untouched(), "{request:?}");
}

#[test]
fn what_is_no_request_is_refused_with_examples_and_nothing_is_made() {
    let project = Project::new("");
    for (request, why) in [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("fix", "too short"),
        ("?!?!?!", "punctuation"),
        ("12345678", "no word"),
        ("http//github.com/o/r/issues/1", "not a valid URL"),
        ("https://", "not a valid URL"),
    ] {
        refused(&project, &["--effort", "S", request], why);
    }
}

#[test]
fn a_file_or_a_folder_in_place_of_a_request_is_refused_with_what_to_type() {
    let project = Project::new("");
    for path in [".specs/old run/state.json", "issue.json", "notes.md", "it's.md"] {
        project.world.write(path, "{}\n");
    }
    for (request, what, next) in [
        (".specs", "is a folder", "help: forge resume .specs ("),
        (" .specs/ ", "is a folder", "help: forge resume .specs/ ("),
        ("issue.json", "is a file", "help: forge run --issue issue.json\n"),
        ("notes.md", "is a file", "help: forge run -F notes.md\n"),
        ("it's.md", "is a file", "help: forge run -F 'it'\\''s.md'\n"),
    ] {
        let said = run(&project, &["--effort", "S", request]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &[&format!("`{}` {what}, not a request", request.trim()), next]);
        assert!(project.world.is_untouched(), "{request}");
    }
    // Words about a file are words.
    has(&run(&project, &["--effort", "S", "--dry-run", "mend notes.md"]).out, &["mend notes.md"]);
}

#[test]
fn flags_that_cannot_be_are_refused_with_a_next_command_and_nothing_is_made() {
    let project = Project::new("");
    for (words, why) in [
        (&["--nonsense", REQUEST][..], "unknown flag `--nonsense` for `forge run`"),
        (&["--autto", REQUEST], "did you mean `--auto`?"),
        (&["-x", REQUEST], "unknown flag `-x` for `forge run`"),
        (&["--auto", "--auto", REQUEST], "`--auto` is given twice"),
        (&["--effort", "S", "--effort", "M", REQUEST], "`--effort` is given twice"),
        (&["--effort", "S", "--param", "effort=M", REQUEST], "given twice"),
        (&["--param", "effort=M", "--param", "effort=S", REQUEST], "given twice"),
        (&[REQUEST, "--effort"], "`--effort` needs a value"),
        (&["--auto=yes", REQUEST], "--auto"),
        (&["--effort", "Q", REQUEST], "`Q` is not a valid --effort; use S, M or L"),
        (&["--effort", "xs", REQUEST], "`xs` is not a valid --effort; use S, M or L"),
        (&["--effort", "", REQUEST], "use S, M or L"),
        (&["--param", "effort=Q", REQUEST], "can be S, M, L"),
        (&["--param", "colour=red", REQUEST], "has no parameter `colour`"),
        (&["--param", "effort", REQUEST], "has no `=`"),
        (&["--budget", "0", REQUEST], "`0` is not a valid --budget"),
        (&["--budget", "-3", REQUEST], "`-3` is not a valid --budget"),
        (&["--budget", "much", REQUEST], "`much` is not a valid --budget"),
        (&["--branch", "mine", REQUEST], "use new or current"),
        (&["--scenario", "play.toml", "--agent", "claude", REQUEST], "cannot be used with"),
        (&["--issue", "issue.json", REQUEST], "cannot be used with"),
        (&["--json", "--plain", REQUEST], "cannot be used with"),
        (&["--agent", "nobody", REQUEST], "unknown agent `nobody`"),
        (&[], "no request given"),
        (&["--auto"], "no request given"),
    ] {
        refused(&project, words, why);
    }
    let said = project.world.forge(&["run", "--flow", "nothing", REQUEST]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["help: forge flow list"]);
}

#[test]
fn a_request_without_quotes_is_refused_with_the_same_command_in_quotes() {
    let project = Project::new("");
    let said = run(&project, &["count", "--auto", "the", "lines", "--budget", "2.50"]);
    assert_eq!(said.code, WRONG, "{said}");
    has(
        &said.err,
        &[
            "3 arguments; put it in quotes",
            "help: forge run --flow feature --auto --budget 2.50 'count the lines'",
        ],
    );
    refused(&project, &["count", "the", "lines"], "put it in quotes");
}

#[test]
fn an_effort_may_be_said_in_small_letters() {
    let project = Project::new("");
    let said = run(&project, &["--effort", "m", "--dry-run", REQUEST]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["M (set by --effort M)"]);
}

#[test]
fn what_is_not_committed_is_named_before_anything_is_paid() {
    let note = |said: &Said| {
        let mut notes = said.err.lines().filter(|line| line.starts_with("note: the run starts"));
        let note = notes.next().map(str::to_owned);
        assert_eq!(notes.next(), None, "{said}");
        note
    };
    let project = Project::new(
        "[[play]]\nrole = \"coherence-checker\"\n\
         result = { summary = \"It is no wish.\", verdict = \"block\", findings = [] }\n",
    );
    let said = run(&project, &["--effort", "S", REQUEST]);
    assert_eq!((said.code, note(&said)), (WRONG, None), "{said}");
    for name in ["a", "b", "c", "d", "e", "f"] {
        project.world.write(name, "new\n");
    }
    project.world.write("src/main", "changed\n");
    project.world.write("forge.local.toml", "");
    let said = run(&project, &["--effort", "S", REQUEST]);
    assert_eq!(said.code, WRONG, "{said}");
    let note = note(&said).expect("a note");
    has(&note, &["7 changed files in your checkout are not in it (src/main, a, b, c, d, ...)"]);
    // First the note, then who is waited for, then what came of it.
    let order = [
        "note: the run starts from",
        "checking the request with scripted (at most 2m) ...",
        "no wish",
    ];
    let order = order.map(|words| said.err.find(words).expect(words));
    assert!(order.is_sorted(), "{said}");
    assert!(project.world.is_untouched());
    // What the person names is read where it lies.
    for name in ["b", "c", "d", "e", "f"] {
        std::fs::remove_file(project.world.repo.join(name)).unwrap();
    }
    project.world.git(&["checkout", "--quiet", "src/main"]);
    let said = run(&project, &["--effort", "S", "--dry-run", "--json", REQUEST]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["1 changed file in your checkout is not in it (a)"]);
    let said = run(&project, &["--effort", "S", "--dry-run", "--scenario", "a", REQUEST]);
    assert!(!said.out.contains("changed file"), "{said}");
}

#[test]
fn a_request_that_says_nothing_about_software_is_refused_with_the_reason_and_two_examples() {
    let project = Project::new(
        "[[play]]\nrole = \"coherence-checker\"\n\
         result = { summary = \"It is a recipe for soup.\", verdict = \"block\", findings = [] }\n",
    );
    let soup = &["--effort", "S", "Boil the carrots until soft"];
    refused(&project, soup, "It is a recipe for soup.");
    has(&run(&project, soup).err, &["help: forge run \"", "or: forge run --issue"]);
    // What it found is shown, too: a summary need not have the reason.
    let found = Project::new(
        "[[play]]\nrole = \"coherence-checker\"\n\
         [play.result]\nsummary = \"the checker is done\"\nverdict = \"block\"\n\
         [[play.result.findings]]\nseverity = \"major\"\nwhat = \"carrots are no software\"\nwhy = \"nothing here cooks\"\n",
    );
    refused(&found, soup, "the checker is done\n- carrots are no software: nothing here cooks");
    // Whoever is sure turns the look off.
    let mut command = project.world.command(&Project::words("S", &["--auto"]));
    let said = finish(command.env("FORGE_COHERENCE", "off"));
    assert_eq!(said.code, DONE, "{said}");
}

#[test]
fn an_address_that_is_of_no_issue_is_refused_and_a_saved_issue_is_taken() {
    let project = Project::new("");
    for (address, how) in [
        ("https://github.com/o/r", "is not the address of an issue"),
        ("https://github.com/o/r/pull/7", "is a pull request, not an issue"),
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
fn on_another_branch_the_result_still_goes_to_a_branch_of_its_own() {
    let project = Project::new("");
    project.world.git(&["checkout", "--quiet", "-b", "mine"]);
    for (flags, onto) in [(&[][..], None), (&["--branch", "current"], Some("mine"))] {
        let said = run(&project, &[&["--effort", "S", REQUEST], flags].concat());
        assert_eq!(said.code, WAITS, "it goes as far as checkpoint A: {said}");
        has(&said.out, &["Build it like this?"]);
        assert_eq!(
            said.err.contains("`--branch current` can fast-forward `mine` to it"),
            onto.is_none()
        );
        let start = project.world.facts(&project.world.latest())[0]["run_started"].clone();
        assert_eq!(start.get("onto").and_then(|onto| onto.as_str()), onto, "{flags:?}");
    }
}

#[test]
fn without_an_effort_the_detected_one_is_taken_and_shown() {
    let project = Project::new("");
    let said = run(&project, &[REQUEST]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["Size     M (detected: ", "change it with --effort"]);
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
    has(&said.err, &["`--auto` is not possible"]);
    assert_eq!(said.commands().len(), 2, "{said}");
    assert!(project.world.is_untouched());
    let said = run(&project, &["--effort", "L", "--auto", "--yes", REQUEST]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["without `--auto`"]);
    has(&said.out, &["Build it like this?"]);
    assert!(!said.out.contains("approved automatically"), "{said}");
}

#[test]
fn a_proposed_command_says_the_effort_once_and_is_taken() {
    let project = Project::new("");
    let said = run(&project, &["--param", "effort=M", "--effort", "S", REQUEST]);
    assert_eq!(said.code, WRONG, "{said}");
    let proposed: Vec<&str> = said
        .err
        .lines()
        .filter_map(|line| line.split_once(": forge run "))
        .map(|it| it.1)
        .collect();
    assert_eq!(proposed.len(), 1, "{said}");
    for command in proposed {
        assert_eq!(command.matches("effort").count(), 1, "{command}");
        let words: Vec<&str> = command.split('\'').collect();
        let mut args = vec!["run"];
        args.extend(words[0].split_whitespace());
        args.push(words[1]);
        let said = project.world.forge(&args);
        assert_eq!(said.code, WAITS, "it goes as far as checkpoint A: {said}");
    }
}

#[test]
fn for_an_agent_that_is_unknown_the_one_that_was_meant_is_proposed() {
    let project = Project::new("");
    let missing = "[agents.claude]\ncommand = [\"/nowhere/claude\"]\n";
    project.world.write("forge.local.toml", missing);
    let said = run(&project, &["--agent", "qwrtz", REQUEST]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["unknown agent `qwrtz`", "help: forge agents"]);
    assert!(!said.err.contains("forge run"), "nothing is near: {said}");
    let mine = format!("{missing}[agents.mine]\ncommand = [\"sh\"]\n");
    project.world.write("forge.local.toml", mine);
    let said = run(&project, &["--agent", "min", REQUEST]);
    has(&said.err, &["did you mean `mine`?"]);
    let proposed: Vec<&str> = said.err.lines().filter(|line| line.contains("--agent ")).collect();
    assert!(proposed[0].contains("help: forge run --agent mine "), "{said}");
    // Nobody could play.
    let world = World::new();
    world.write("forge.toml", missing);
    let refused = world.refused(&["run", "--agent", "qwrtz", REQUEST]);
    has(&refused, &["unknown agent `qwrtz`", "help: forge agents"]);
}
