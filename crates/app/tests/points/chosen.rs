//! Before a run exists, in every way: what is refused, as a person at a terminal sees it (points 1 to 3), and each answer
//! to what is chosen first, by keys and by the commands that are printed (points 4 to 6). Where nobody is asked (points 7
//! and 9), the terminal says so, too.

use serde_json::Value;

use super::{
    project::{Project, REQUEST},
    world::{DONE, INTERRUPTED, Said, WAITS, WRONG, has, pty::Person},
};

/// Nobody analyses anything: whatever is chosen, the run asks at once, and a test saves time.
const STOPS_AT_ONCE: &str = "[[play]]\nrole = \"situation-analyst\"\nartifacts = { \"analysis.md\" = \"no\\n\" }\n\
     result = { status = \"blocked\", summary = \"no\", blocker = { class = \"unknown\", what = \"so far and no further\" } }\n";

/// The effort, the branch that is to follow, and who approves.
type Chosen<'a> = (&'a str, Option<&'a str>, &'a str);

/// Starts the flow with these words.
fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--flow", "feature"], more].concat()
}

/// How the latest run was started.
fn start(project: &Project) -> Value {
    project.world.facts(&project.world.latest())[0]["run_started"].clone()
}

/// The effort, the branch that is to follow, and who approves, of the latest run.
fn chosen(project: &Project) -> (String, Option<String>, String) {
    let start = start(project);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let effort = text(&start["params"]["effort"]).expect("there is an effort");
    let approvals = text(&start["approvals"]).unwrap_or_else(|| "by_people".to_owned());
    (effort, start.get("onto").and_then(text), approvals)
}

/// Types answers at what is asked before a run exists, each where its question is, until the run asks or there is none.
fn types(project: &Project, words: &[&str], answers: &[(&str, &str)]) -> i32 {
    let mut person = Person::at(&project.world, words);
    for (question, keys) in answers {
        person.until_sees(question);
        assert!(!person.is_on_its_own_screen(), "{}", person.screen());
        person.press(keys);
    }
    if answers.last().is_some_and(|(_, keys)| ["q", "s"].contains(keys)) {
        let code = person.end();
        person.is_left_sane();
        return code;
    }
    person.until_sees("Q1 · analyse");
    person.press("q");
    let code = person.end();
    person.is_left_sane();
    code
}

/// Calls the program with a command that it printed itself, as a shell would.
fn as_printed(project: &Project, command: &str) -> Said {
    let mut words = Vec::new();
    for (n, part) in command.split('\'').enumerate() {
        if n % 2 == 0 {
            words.extend(part.split_whitespace());
        } else {
            words.push(part);
        }
    }
    project.world.forge(&words)
}

/// Each printed command that has this in it goes on to the same choice.
fn each_command(project: &Project, said: &Said, wanted: &[(&str, Chosen<'_>)]) {
    let commands = said.commands();
    for (flag, (effort, onto, approvals)) in wanted {
        let command = commands.iter().find(|command| command.contains(flag));
        let command = command.unwrap_or_else(|| panic!("no {flag} in {commands:?}"));
        let said = as_printed(project, command);
        assert_eq!(said.code, WAITS, "{command}: {said}");
        has(&said.out, &["so far and no further"]);
        let expected = ((*effort).to_owned(), onto.map(ToOwned::to_owned), (*approvals).to_owned());
        assert_eq!(chosen(project), expected, "{command}");
    }
}

#[test]
fn at_a_terminal_what_is_no_request_is_refused_with_examples_and_the_terminal_is_as_it_was() {
    let soup = "[[play]]\nrole = \"coherence-checker\"\n\
         result = { summary = \"It is a recipe for soup.\", verdict = \"block\", findings = [] }\n";
    let project = Project::new(soup);
    for (request, why) in [
        // Point 1.
        ("", "empty"),
        ("fix", "too short"),
        ("https://", "not a valid URL"),
        // Point 2.
        ("Boil the carrots until soft", "It is a recipe for soup."),
        // Point 3.
        ("https://github.com/o/r", "is not the address of an issue"),
    ] {
        let mut person = Person::at(&project.world, &run(&["--effort", "S", request]));
        assert_eq!(person.end(), WRONG, "{request:?}: {}", person.screen());
        person.is_left_sane();
        let seen = person.text();
        has(&seen, &["error: ", why, "help: "]);
        let examples = seen.matches("forge run").count() + seen.matches("issue.json").count();
        assert!(examples >= 2, "{request:?}: {seen}");
        assert!(!person.bytes().contains("\x1b[?1049h"), "no screen of its own for it");
        assert!(project.world.is_untouched(), "{request:?}");
    }
    // Nobody is asked about the branch and the effort of what nobody can act on.
    project.world.git(&["checkout", "--quiet", "-b", "mine"]);
    for (request, why) in
        [("fix", "too short"), ("Boil the carrots until soft", "It is a recipe for soup.")]
    {
        let mut person = Person::at(&project.world, &run(&[request]));
        assert_eq!(person.end(), WRONG, "{request:?}: {}", person.screen());
        let seen = person.text();
        has(&seen, &["error: ", why]);
        assert!(!seen.contains("Enter for"), "{request:?}: {seen}");
        assert!(project.world.is_untouched(), "{request:?}");
    }
    // Flags that are unknown or contradict.
    for flags in [&["--perhaps"][..], &["--effort", "XS"], &["--json", "--plain"]] {
        let mut person = Person::at(&project.world, &[&run(&[REQUEST])[..], flags].concat());
        assert_eq!(person.end(), WRONG, "{flags:?}: {}", person.screen());
        person.is_left_sane();
        assert!(project.world.is_untouched(), "{flags:?}");
    }
}

const AUTO: &str = "continue without it";

#[test]
fn at_a_terminal_nothing_is_asked_about_branch_and_effort() {
    let project = Project::new(STOPS_AT_ONCE);
    project.world.git(&["checkout", "--quiet", "-b", "mine"]);
    for (flags, effort, onto) in [
        (&[][..], "M", None),
        (&["--effort", "S"], "S", None),
        (&["--yes"], "M", None),
        (&["--auto"], "M", None),
        (&["--branch", "current"], "M", Some("mine")),
    ] {
        assert_eq!(types(&project, &run(&[&[REQUEST], flags].concat()), &[]), WAITS);
        let (its_effort, its_onto, _) = chosen(&project);
        assert_eq!((its_effort.as_str(), its_onto.as_deref()), (effort, onto), "{flags:?}");
    }
}

#[test]
fn at_a_terminal_each_answer_about_effort_l_with_auto_is_done() {
    let project = Project::new(STOPS_AT_ONCE);
    // Not asked about: `--auto` takes a new branch, also where it goes on without it.
    project.world.git(&["checkout", "--quiet", "-b", "mine"]);
    let words = run(&["--effort", "L", "--auto", REQUEST]);
    for keys in ["s", "q"] {
        assert_eq!(types(&project, &words, &[(AUTO, keys)]), INTERRUPTED);
        assert!(project.world.is_untouched());
    }
    let by_people = ("L".to_owned(), None, "by_people".to_owned());
    assert_eq!(types(&project, &words, &[(AUTO, "c")]), WAITS);
    assert_eq!(chosen(&project), by_people);
    assert_eq!(types(&project, &[&words[..], &["--yes"]].concat(), &[]), WAITS);
    assert_eq!(chosen(&project), by_people);
}

#[test]
fn without_a_terminal_each_printed_answer_about_auto_is_done() {
    let project = Project::new(STOPS_AT_ONCE);
    let said = project.world.forge(&run(&["--effort", "L", "--auto", REQUEST]));
    assert_eq!(said.code, WAITS, "{said}");
    assert_eq!(said.commands().len(), 2, "{said}");
    each_command(
        &project,
        &said,
        &[("--effort L ", ("L", None, "by_people")), ("--effort M ", ("M", None, "automatic"))],
    );
}

#[test]
fn at_a_terminal_automatic_approvals_leave_their_lines_behind() {
    // The shipped flow asks at effort L; in a flow of one's own both checkpoints may pass by themselves.
    let shipped = include_str!("../../../../flows/feature/flow.toml");
    let project = Project::new("");
    let manual = "manual = { param = \"effort\", is = [\"L\"] }\n";
    project.world.write(".forge/flows/feature.toml", shipped.replace(manual, ""));
    let words = run(&["--effort", "L", "--auto", REQUEST]);
    let mut person = Person::at(&project.world, &words);
    assert_eq!(person.end(), DONE, "{}", person.screen());
    person.is_left_sane();
    let seen = person.bytes();
    let after = seen.rsplit("\x1b[?1049l").next().unwrap();
    for checkpoint in ["design", "split"] {
        let line = format!("{checkpoint} approved automatically (the review passed)");
        assert_eq!(after.matches(&line).count(), 1, "{after}");
    }
}
