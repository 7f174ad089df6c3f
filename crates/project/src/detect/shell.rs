//! Plain scripts: `test.sh` and its like, `tests/*.sh` as one loop, and bats.
//!
//! Only at the top. The loop is a last resort: beside a real test runner, scripts in `tests/` are
//! mostly its helpers.

use super::project_folder::{CommandWords, Findings, ProjectFolder};
use crate::path_names::{base_name, quoted};

pub(super) const NAME: &str = "shell";

/// Scripts that run all tests, and how others call them.
const SCRIPTS: &[(&str, &[CommandWords])] = &[
    ("test.sh", &[&["test.sh"]]),
    ("tests.sh", &[&["tests.sh"]]),
    ("run-tests.sh", &[&["run-tests.sh"]]),
    ("run_tests.sh", &[&["run_tests.sh"]]),
    ("runtests.sh", &[&["runtests.sh"]]),
    ("tests/run.sh", &[&["run.sh"]]),
    ("test/run.sh", &[&["run.sh"]]),
    ("scripts/test.sh", &[&["test.sh"]]),
];

/// Scripts beside tests that are not tests themselves.
const HELPERS: &[&str] = &[
    "common",
    "env",
    "functions",
    "helper",
    "helpers",
    "lib",
    "setup",
    "setup_suite",
    "teardown",
    "test_helper",
    "util",
    "utils",
];

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    if let Some((path, signs)) = SCRIPTS.iter().find(|(path, _)| place.exists(path)) {
        let text = place.read(path).unwrap_or_default();
        let command = match interpreter(&text) {
            Interpreter::Named(name) => format!("{name} {path}"),
            Interpreter::Itself => format!("./{path}"),
        };
        findings.add_wrapping_check(
            &command,
            &format!("there is a script {path}"),
            path,
            signs,
            text,
        );
    }
    for folder in ["tests", "test"] {
        let inside = format!("{folder}/");
        let bats: Vec<&str> =
            place.own_paths().filter(|path| path.starts_with(&inside) && is_bats(path)).collect();
        if let Some(first) = bats.first() {
            let is_deep = bats.iter().any(|path| path.matches('/').count() > 1);
            let option = if is_deep { "-r " } else { "" };
            let why = format!("{folder}/ has {} bats files", bats.len());
            findings.add_check(&format!("bats {option}{folder}"), &why, first, &[&["bats"]]);
        }
    }
    findings
}

fn is_bats(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "bats")
}

/// Detects `tests/*.sh`, run one after the other, all of them even if one fails.
pub(super) fn each_script(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    for folder in ["tests", "test"] {
        let inside = format!("{folder}/");
        let scripts: Vec<&str> = place
            .own_paths()
            .filter(|path| path.strip_prefix(&inside).is_some_and(|name| !name.contains('/')))
            .filter(|path| path.rsplit_once('.').is_some_and(|(_, extension)| extension == "sh"))
            .collect();
        let is_helper = |path: &&str| HELPERS.contains(&base_name(path).trim_end_matches(".sh"));
        let (helpers, tests): (Vec<&str>, Vec<&str>) = scripts.into_iter().partition(is_helper);
        let Some(first) = tests.first() else { continue };
        let uses_bash = tests.iter().take(100).any(|path| {
            let text = place.read(path).unwrap_or_default();
            text.lines().next().is_some_and(|line| line.starts_with("#!") && line.contains("bash"))
        });
        let shell = if uses_bash { "bash" } else { "sh" };
        let skip = if helpers.is_empty() {
            String::new()
        } else {
            let names: Vec<String> = helpers.iter().map(|path| quoted(path)).collect();
            format!("case \"$t\" in {}) continue;; esac; ", names.join("|"))
        };
        let command = format!(
            "r=0; for t in {folder}/*.sh; do {skip}echo \"== $t\"; {shell} \"$t\" || r=1; done; \
             [ $r = 0 ]"
        );
        let why =
            format!("{folder}/ has {} shell scripts and there is no other check", tests.len());
        findings.add_check(&command, &why, first, &[]);
        break;
    }
    findings
}

/// The program that runs a script.
enum Interpreter {
    Named(&'static str),
    /// Its first line names something else than a shell.
    Itself,
}

fn interpreter(text: &str) -> Interpreter {
    let first = text.lines().next().unwrap_or_default();
    let program = first.strip_prefix("#!").unwrap_or("/bin/sh");
    let is = |name: &str| program.split(['/', ' ']).any(|word| word == name);
    if is("bash") {
        Interpreter::Named("bash")
    } else if is("sh") || is("dash") {
        Interpreter::Named("sh")
    } else {
        Interpreter::Itself
    }
}
