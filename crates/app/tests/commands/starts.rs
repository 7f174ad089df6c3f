//! What is said, asked and refused before a run exists.

use std::{fs, path::Path};

use crate::world::{DONE, INTERRUPTED, Said, WAITS, WRONG, World, finish, has, until};

/// A flow with an effort that changes no code.
pub(crate) const SIZED: &str = r#"
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
pub(crate) const LANDING: &str = r#"
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
fn words_that_are_no_request_are_refused_with_examples_and_make_nothing() {
    let world = sized();
    for (request, why) in [
        ("", "the request is empty"),
        ("fix", "too short"),
        ("!?!?!?", "only punctuation"),
        ("123 456", "no word in it"),
        ("https:/github.com/o/r/issues/1", "is not a valid URL"),
        ("https://github.com/o/r", "is not the address of an issue"),
        ("fix it --effort=Q", "inside the quotes"),
    ] {
        let said = run(&world, &[request]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &["error: ", why, " help: ", "forge run"]);
    }
    assert!(world.is_untouched());
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let world = sized();
    for (args, why) in [
        (&["do it", "--effort", "XS"][..], "`XS` is not a valid --effort"),
        (&["do it", "--effort", "XL"], "`XL` is not a valid --effort; use S, M or L"),
        (&["do it", "--effort", "S", "--effort", "M"], "--effort"),
        (&["do it", "--effort", "S", "--param", "effort=M"], "given twice"),
        (&["do it", "--scenario", "x", "--agent", "claude"], "cannot be used with"),
        (&["do it", "--issue", "x.json"], "cannot be used with"),
        (&["do it", "--effort", "S", "--discuss"], "needs a terminal"),
        (&["do it", "--effort", "S", "--auto", "--discuss"], "needs a terminal"),
        (&["do it", "--effort", "S", "--branch", "old"], "old"),
        (&["do it", "--effort", "S", "--branch", "current"], "no branch to fast-forward"),
        (&["do it", "--effort", "S", "--efort", "M"], "--effort"),
    ] {
        let said = run(&world, args);
        assert_eq!(said.code, WRONG, "{args:?}: {said}");
        has(&said.err, &[why]);
    }
    let said = world.refused(&["run", "--flow", "draft", "--effort", "S", "do it"]);
    has(&said, &["the flow `draft` takes no --effort"]);
    let said = world.refused(&["run", "--flow", "draft", "--no-pr", "do it"]);
    has(&said, &["has no pull request"]);
    assert!(world.is_untouched());
}

#[test]
fn an_effort_that_nobody_says_is_detected_and_the_rule_is_kept() {
    let world = sized();
    for (request, effort, why) in [
        ("fix a typo in it", "S", "it is short and says \"typo\""),
        ("show the sum", "M", "no sign of S or L"),
    ] {
        let said = run(&world, &[request]);
        assert_eq!(said.code, DONE, "{said}");
        has(&said.err, &[&format!("Size     {effort} (detected: {why}; change it with --effort)")]);
        let start = start_of(&world);
        assert_eq!(start["params"]["effort"], effort);
        assert_eq!(start["chosen"]["effort"], format!("detected: {why}"));
    }
    let said = run(&world, &["--effort", "S", "rewrite the parser"]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(!said.err.contains("detected"), "{said}");
    assert_eq!(start_of(&world)["chosen"]["effort"], "set by --effort S");
}

#[test]
fn checkpoints_that_are_for_a_person_are_never_passed_by_auto() {
    let world = sized();
    let said = run(&world, &["--auto", "--effort", "L", "do it"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["`--auto` is not possible with sized at size L"]);
    assert_eq!(
        said.commands(),
        ["run --effort L --flow sized 'do it'", "run --effort M --flow sized --auto 'do it'"]
    );
    assert!(world.is_untouched());
    let said = run(&world, &["--auto", "--yes", "--effort", "L", "do it"]);
    assert_eq!(said.code, WAITS, "it asks at its checkpoint: {said}");
    has(&said.err, &["the run continues without `--auto`"]);
    assert_eq!(start_of(&world)["approvals"], "by_people");
}

#[test]
fn a_dry_run_that_wants_auto_where_it_cannot_be_says_what_would_be_asked() {
    let world = sized();
    let said = run(&world, &["--dry-run", "--auto", "--effort", "L", "do it"]);
    assert_eq!(said.code, DONE, "{said}");
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    has(&words, &["asked whether to continue without `--auto`, which is not possible with sized"]);
    has(&words, &["`forge run --effort L --flow sized 'do it'`"]);
    has(&words, &["`forge run --effort M --flow sized --auto 'do it'`"]);
    assert!(!words.contains("note the run continues"), "{said}");
    let said = run(&world, &["--dry-run", "--auto", "--yes", "--effort", "L", "do it"]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.out, &["the run continues without `--auto`"]);
    assert!(!said.out.contains("asked  "), "{said}");
    assert!(world.is_untouched());
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
        assert_eq!(start["params"]["source"], "text", "nobody asked for a comment there");
        assert_eq!(start["source"], "https://h.net/browse/AB-7");
        assert_eq!(
            start["request"],
            "# Show sums\n\nOf the list.\n\nIssue: https://h.net/browse/AB-7\n"
        );
    }
    world.write("forge.toml", "[effort]\nstory_points = \"points\"\n");
    world.write("issue.json", issue("4").replace("customfield_10016", "points"));
    assert_eq!(run(&world, &typed).code, DONE);
    assert_eq!(start_of(&world)["chosen"]["effort"], "detected: 4 story points in points");
    world.write("issue.json", r#"{"number": 7, "title": "Show sums", "body": "Of the list.", "html_url": "https://github.com/o/r/issues/7"}"#);
    assert_eq!(run(&world, &typed).code, DONE);
    assert_eq!(start_of(&world)["source"], "https://github.com/o/r/issues/7");
}

#[test]
fn files_that_are_no_issue_are_refused_in_words() {
    let world = sized();
    let issue = world.repo.join("issue.json");
    for (text, why) in [
        ("", "it is not JSON"),
        ("{\"title\":", "it is not JSON"),
        ("{}", "it is neither a GitHub issue"),
        (&" ".repeat(2 * 1024 * 1024), "bytes"),
    ] {
        fs::write(&issue, text).unwrap();
        let said = run(&world, &["--yes", "--issue", "issue.json"]);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &["issue.json", why, " help: "]);
    }
    let said = run(&world, &["--yes", "--issue", "nowhere.json"]);
    has(&said.err, &["does not exist", "help: gh api"]);
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
fn on_a_branch_of_its_own_the_result_goes_to_another_one_and_current_is_offered() {
    let world = World::new();
    world.flow("landing", LANDING);
    world.commit();
    world.git(&["checkout", "--quiet", "-b", "mine"]);
    let run = |more: &[&str]| world.forge(&[&["run", "--flow", "landing", "do it"], more].concat());
    has(&run(&[]).err, &["`--branch current` can fast-forward `mine` to it"]);
    assert!(start_of(&world).get("onto").is_none());
    run(&["--branch", "current"]);
    assert_eq!(start_of(&world)["onto"], "mine");
    let said = run(&["--branch", "new"]);
    assert!(!said.err.contains("--branch"), "{said}");
    // What the remote calls its own is nobody's branch.
    world.git(&["update-ref", "refs/remotes/origin/mine", "HEAD"]);
    world.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/mine"]);
    let said = run(&[]);
    assert!(!said.err.contains("--branch"), "{said}");
}

/// A flow whose request is looked at first.
const LOOKED_AT: &str = r#"
coherence = "coherence-checker"
[[stage]]
name = "first"
command = "true"
"#;

fn looked_at(verdict: &str) -> World {
    let world = World::new();
    world.flow("looked", LOOKED_AT);
    world.write(
        ".forge/roles/coherence-checker.md",
        "+++\nmust = [\"verdict\"]\n+++\nYou look at requests.\n",
    );
    world.scenario(&format!(
        "[[play]]\nrole = \"coherence-checker\"\nusage = {{ input = 10, output = 2, cost = \"0.001\" }}\n{verdict}\n"
    ));
    world
}

#[test]
fn an_agent_that_lets_a_request_pass_is_paid_by_the_run() {
    let world =
        looked_at("result = { summary = \"it can be done\", verdict = \"pass\", findings = [] }");
    let said = world.run("looked", &[]);
    assert_eq!(said.code, DONE, "{said}");
    let coherence = start_of(&world)["coherence"].clone();
    assert_eq!(coherence["summary"], "it can be done");
    assert_eq!(coherence["used"]["agent"], "scripted");
    assert!(coherence["spent"].to_string().contains("1000"), "{coherence}");
}

#[test]
fn a_request_that_nobody_could_act_on_is_refused_and_nothing_is_made() {
    let world = looked_at(
        "result = { summary = \"It says nothing about software.\", verdict = \"block\", findings = [] }",
    );
    let said = world.run("looked", &[]);
    assert_eq!(said.code, WRONG, "{said}");
    has(&said.err, &["the request is not clear enough to act on: It says nothing about software."]);
    has(&said.err, &["forge run \"", "forge run --issue", "this check cost <$0.01"]);
    assert!(world.is_untouched());
    // No run pays for it, and it is counted all the same.
    assert_eq!(world.run("looked", &[]).code, WRONG);
    has(&world.ok(&["stats", "--by", "run"]), &["(refused)", "<$0.01"]);
    has(&world.ok(&["stats", "--by", "role"]), &["coherence-checker"]);
    assert!(world.is_untouched());
    world.write("forge.toml", "coherence = \"off\"\n[agents.scripted]\nscenario = \"play.toml\"\n");
    let said = world.run("looked", &[]);
    assert_eq!(said.code, DONE, "it can be turned off: {said}");
}

#[test]
fn a_look_that_fails_is_said_and_paid_by_the_run_and_is_no_wall() {
    for played in [
        "exit = 3",
        "result = { summary = \"PASS, it is fine\" }",
        "result = { summary = \"hm\", verdict = \"revise\", findings = [{ severity = \"major\", what = \"x\" }] }",
    ] {
        let world = looked_at(played);
        let said = world.run("looked", &[]);
        assert_eq!(said.code, DONE, "{played}: {said}");
        has(&said.err, &["note: the request was not checked: scripted"]);
        let coherence = start_of(&world)["coherence"].clone();
        let summary = coherence["summary"].as_str().unwrap_or_default();
        assert!(summary.starts_with("the request was not checked: "), "{played}: {coherence}");
        assert_eq!(coherence["came_to"], "nothing", "it is not called a pass");
        assert!(coherence["spent"].to_string().contains("1000"), "{played}: {coherence}");
    }
}

#[test]
fn a_scenario_that_says_nothing_about_the_look_is_played_without_noise() {
    let world = looked_at("result = { summary = \"x\", verdict = \"pass\", findings = [] }");
    world.write(
        "play.toml",
        "scenario = 1\n[[play]]\nrole = \"writer\"\nresult = { summary = \"x\" }\n",
    );
    let said = world.run("looked", &[]);
    assert_eq!(said.code, DONE, "{said}");
    assert!(!said.err.contains("not checked"), "{said}");
}

#[test]
fn a_dry_run_says_what_would_run_and_has_no_effect() {
    let world = World::new();
    world.scenario("[[play]]\nresult = { summary = \"x\", verdict = \"pass\", findings = [] }\n");
    world.commit();
    let fingerprint = || {
        let mut files: Vec<String> = walk(&world.repo);
        files.sort();
        files
    };
    let before = fingerprint();
    let args = ["run", "--flow", "feature", "--dry-run", "show the sum", "--budget", "5"];
    let said = finish(&mut world.command_as_it_is(&args));
    assert_eq!(said.code, DONE, "{said}");
    has(
        &said.out,
        &[
            "would run feature",
            "size      M (detected: no sign of S or L)",
            "estimate  12 calls",
            "an agent as situation-analyst (scripted)",
            "file check: impl-T1.md exists",
            "at most 20",
            "limits    $5 · 45m per call · 15m without output · 8 calls at a time",
            "branch    forge/",
            "nothing was written, and no agent was called",
        ],
    );
    assert!(!said.out.contains("skipped"), "what does not apply is left out: {said}");
    assert_eq!(fingerprint(), before);
    assert!(world.is_untouched());
}

#[test]
fn a_dry_run_needs_no_right_to_write_and_is_data_for_programs() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = sized();
    world.commit();
    let git = world.repo.join(".git");
    fs::set_permissions(&git, fs::Permissions::from_mode(0o555)).unwrap();
    let args =
        ["run", "--flow", "sized", "--dry-run", "--json", "--auto", "--effort", "L", "do it"];
    let said = finish(&mut world.command_as_it_is(&args));
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(said.code, DONE, "{said}");
    let dry: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(dry["params"]["effort"], "L");
    assert_eq!(dry["approvals"], "by_people");
    let runs = |stage: &str| {
        let stages = dry["stages"].as_array().unwrap();
        stages.iter().find(|row| row["stage"] == stage).unwrap()["runs"].clone()
    };
    assert_eq!(runs("most"), "yes");
    let args = ["run", "--flow", "sized", "--dry-run", "--json", "--effort", "S", "do it"];
    let said = finish(&mut world.command_as_it_is(&args));
    let dry: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(dry["stages"][2]["runs"], "skipped");
    assert_eq!(dry["calls_max"], 0);
    assert_eq!(dry["calls_usual"], serde_json::json!({ "once": 0, "for_each": 0 }));
    assert_eq!(dry["to_allow"].as_array().unwrap().len(), 1);
    assert!(world.is_untouched());
}

/// Every file below a folder, with its size and its time.
fn walk(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let about = entry.metadata().unwrap();
        found.push(format!("{} {} {:?}", path.display(), about.len(), about.modified().unwrap()));
        if about.is_dir() {
            found.extend(walk(&path));
        }
    }
    found
}

#[test]
fn a_run_is_found_by_its_folder_and_an_older_one_begins_anew() {
    let world = sized();
    assert_eq!(run(&world, &["--effort", "L", "do it"]).code, WAITS);
    let id = world.latest();
    let said = world.forge(&["resume", &format!(".git/forge/runs/{id}")]);
    assert_eq!(said.code, WAITS, "{said}");
    assert_eq!(world.ids().len(), 1, "it is the same run");
    // What an older system left.
    let older = |name: &str, state: &str| {
        world.write(&format!(".specs/{name}/state.json"), state);
        world.write(
            &format!(".specs/{name}/request.md"),
            "---\r\nsource_type: text\r\n---\r\nShow sums\r\n",
        );
        world.forge(&["resume", &format!(".specs/{name}")])
    };
    for (name, state, why) in [
        ("a", r#"{"currentPhaseStatus": "abandoned"}"#, "was abandoned"),
        ("b", r#"{"currentPhase": "completed"}"#, "is completed"),
        (
            "b2",
            r#"{"currentPhase": "final-commit", "currentPhaseStatus": "completed"}"#,
            "is completed",
        ),
        ("c", r#"{"effort": "#, "cannot be read"),
        ("c2", "[]", "cannot be read"),
        ("c3", r#"{"flow": "sized"}"#, "uses the flow `sized`"),
        ("d", r#"{"skippedPhases": ["phase-2"]}"#, "--effort M"),
        ("e", r#"{"effort": "XS"}"#, "--effort M"),
    ] {
        let said = older(name, state);
        assert_eq!(said.code, WRONG, "{said}");
        has(&said.err, &[why, " help: "]);
    }
    let said = world.refused(&["resume", "/etc"]);
    has(&said, &["has no state.json"]);
    assert_eq!(world.ids().len(), 1);
    // A flow of the project stands for the one that older runs go through.
    world.flow("feature", SIZED);
    world.commit();
    world.approve("feature");
    let state = r#"{"effort": null, "flowTemplate": null, "skipPr": true, "debug": true, "autoApprove": true}"#;
    let said = older("f", state);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.err, &["a new run starts from the beginning", "names no effort; M is used"]);
    let start = start_of(&world);
    assert_eq!((&start["request"], &start["detail"]), (&"Show sums".into(), &"debug".into()));
    assert_eq!((&start["params"]["effort"], &start["params"]["pr"]), (&"M".into(), &"no".into()));
    assert_eq!(start["approvals"], "automatic");
    assert_eq!(fs::read_to_string(world.repo.join(".specs/f/state.json")).unwrap(), state);
    let said = world.forge(&["resume", ".specs/d", "--effort", "S"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(start_of(&world)["params"]["effort"], "S");
    // What came of a folder before is not begun, and paid for, a second time.
    let n_runs = world.ids().len();
    let said = world.refused(&["resume", ".specs/f"]);
    has(&said, &["which was started from", "is done", "to do it again: forge run \"$(cat "]);
    let said = older("g", r#"{"effort": "L"}"#);
    assert_eq!(said.code, WAITS, "{said}");
    let id = world.latest();
    let again = world.forge(&["resume", ".specs/g/"]);
    assert_eq!(again.code, WAITS, "{again}");
    has(
        &again.err,
        &[&format!("{} was started from ", crate::unnamed::short(&id)), "it is resumed"],
    );
    assert_eq!(world.ids().len(), n_runs + 1);
    // The folder of a run of another machine is ours, too, and has what was asked for among its artifacts.
    assert_eq!(world.ok(&["show", &id, "request.md"]), "Show sums\n");
    let ours = world.repo.join(".git/forge/runs").join(&id);
    let state = fs::read_to_string(ours.join("state.json")).unwrap();
    world.write(".specs/moved/state.json", state.replace(&id, "20200101-show-sums-moved"));
    let asked = fs::read_to_string(ours.join("artifacts/request.md")).unwrap();
    world.write(".specs/moved/artifacts/request.md", &asked);
    let said = world.forge(&["resume", ".specs/moved"]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.err, &["a new run starts from the beginning"]);
    assert_eq!(start_of(&world)["request"], "Show sums");
    has(&world.refused(&["edit", &id, "request.md"]), &["cannot be changed"]);
}

#[test]
fn who_interrupts_the_look_at_a_request_has_no_run_and_what_it_cost_is_kept() {
    let world = looked_at("run = \"cd ~ && echo $OLDPWD > new && mv new began\"\nhang = true");
    let running = world.start(&["run", "--flow", "looked", "do it"]);
    let work = until("the look to begin", || fs::read_to_string(world.beside("began")).ok());
    let transcript = Path::new(work.trim()).with_file_name("call").join("transcript");
    until("it to spend something", || {
        fs::read_to_string(&transcript).is_ok_and(|text| text.contains("spent")).then_some(())
    });
    running.signal(rustix::process::Signal::INT);
    let said = running.end();
    assert_eq!(said.code, INTERRUPTED, "{said}");
    has(&said.err, &["nothing was created", "this check cost <$0.01"]);
    assert!(world.is_untouched());
    has(&world.ok(&["stats", "--by", "run"]), &["(refused)", "<$0.01"]);
}

#[test]
fn variables_that_checks_are_to_get_and_that_are_not_set_are_named_at_the_start() {
    let world = World::new();
    world.flow("one", "[[stage]]\nname = \"look\"\ncommand = \"true\"\n");
    world.write("forge.toml", "[verify]\npass = [\"PATH\", \"FORGE_TEST_UNSET\"]\n");
    let note = "`FORGE_TEST_UNSET` is named in verify.pass but not set here";
    let said = world.run("one", &[]);
    assert_eq!(said.code, DONE, "{said}");
    has(&said.err, &[note]);
    let said = world.run("one", &["--dry-run"]);
    has(&format!("{}{}", said.out, said.err), &[note]);
}
