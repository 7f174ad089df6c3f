//! Three small real projects in Python, JavaScript and shell (`repos/`), each with two requests and a
//! play of every role for both (`plays/`): one in which all goes well, and one in which each task is
//! green and the whole is red from nothing. They are also what the role prompts are tried with.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use super::world::{DONE, Running, WAITS, World, has};

/// The folder of these tests.
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/feature");

/// A repository with one of the projects in it.
struct Golden {
    world: World,
    name: &'static str,
}

impl Golden {
    /// The project, if what its checks need is here.
    fn new(name: &'static str, tool: &str) -> Option<Self> {
        let mut asked = Command::new(tool);
        asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if !asked.status().is_ok_and(|status| status.success()) {
            // Past the test's own capture, so that it is always seen.
            let note = format!("NOT PROVED: {tool} is not here\n");
            io::stderr().write_all(note.as_bytes()).unwrap();
            return None;
        }
        let world = World::new();
        copy(&Path::new(HERE).join("repos").join(name), &world.repo);
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "-m", "the project"]);
        Some(Self { world, name })
    }

    fn python() -> Option<Self> {
        Self::new("python", "python3")
    }

    fn node() -> Option<Self> {
        Self::new("node", "npm")
    }

    fn shell() -> Option<Self> {
        Self::new("shell", "make")
    }

    /// Starts the flow: the request and its play lie beside each other.
    fn start(&self, request: &str, play: &str, more: &[&str]) -> Running {
        let plays = Path::new(HERE).join("plays").join(self.name);
        let request = fs::read_to_string(plays.join(request)).unwrap();
        let play = plays.join(play).into_os_string().into_string().unwrap();
        let args = ["run", "--flow", "feature", "--scenario", &play, request.trim_end()];
        self.world.start(&[&args, more].concat())
    }

    /// The artifacts of the latest run, by name.
    fn artifacts(&self) -> Vec<String> {
        let folder = self.world.place().join("runs").join(self.world.latest()).join("artifacts");
        let mut names = Vec::new();
        list(&folder, &folder, &mut names);
        names.sort();
        names
    }
}

/// Copies what is in a folder into another one.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// The files below a folder, relative to the top.
fn list(top: &Path, folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(top, &path, names);
        } else {
            names.push(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
        }
    }
}

/// All artifacts of a run with three tasks and effort M.
const ARTIFACTS: [&str; 14] = [
    "analysis.md",
    "build.T1/impl-T1.md",
    "build.T1/review-T1.md",
    "build.T2/impl-T2.md",
    "build.T2/review-T2.md",
    "build.T3/impl-T3.md",
    "build.T3/review-T3.md",
    "comprehensive-review.md",
    "design.md",
    "investigation.md",
    "request.md",
    "review-design.md",
    "summary.md",
    "tasks.md",
];

/// Plays the good play with effort M, in which only the first design is sent back.
fn goes_well(golden: &Golden) {
    let mut run = golden.start("request.txt", "play.toml", &["--param", "effort=M", "--auto"]);
    run.until_says("split done");
    run.until_says("build done");
    run.until_says("verify done");
    let said = run.end();
    assert_eq!(said.code, DONE, "{said}");
    let story = golden.world.story(&golden.world.latest());
    let sent_back: Vec<&String> =
        story.iter().filter(|line| line.contains(" sent back by ")).collect();
    assert_eq!(sent_back.len(), 1, "{sent_back:?}");
    assert!(sent_back[0].contains("design sent back by review"), "{sent_back:?}");
    assert_eq!(golden.artifacts(), ARTIFACTS);
}

/// Plays the play in which the whole is red from nothing, until the verifier has worked.
fn is_red_from_nothing(golden: &Golden, why: &str) -> Running {
    let mut run = golden.start("red.txt", "red.toml", &["--param", "effort=S", "--auto"]);
    run.until_says("build done");
    run.until_says("verify sent back by checks");
    run.until_says("verify (attempt 2) finished");
    let brief = golden.world.brief(&golden.world.latest(), "verify#2");
    has(&brief, &["Findings to deal with", why]);
    run
}

#[test]
fn a_feature_of_a_python_project_is_built_and_its_reviewer_mends_a_message() {
    let Some(golden) = Golden::python() else { return };
    goes_well(&golden);
    let (world, run) = (&golden.world, golden.world.latest());
    has(&world.story(&run).join("\n"), &["review merged as"]);
    let cli = world.git(&["show", &format!("forge/{run}:pocket/cli.py")]);
    has(&cli, &["def months(", "def export_all(", "def parse_day("]);
}

#[test]
fn a_feature_of_a_node_project_is_built_and_its_reviewer_mends_nothing() {
    let Some(golden) = Golden::node() else { return };
    goes_well(&golden);
    let (world, run) = (&golden.world, golden.world.latest());
    has(&world.story(&run).join("\n"), &["review: nothing to merge"]);
    world.git(&["cat-file", "-e", &format!("forge/{run}:src/ignore.js")]);
}

#[test]
fn a_feature_of_a_shell_project_is_built_and_its_reviewer_mends_nothing() {
    let Some(golden) = Golden::shell() else { return };
    goes_well(&golden);
    let (world, run) = (&golden.world, golden.world.latest());
    has(&world.story(&run).join("\n"), &["review: nothing to merge"]);
    world.git(&["cat-file", "-e", &format!("forge/{run}:lib/age.sh")]);
    // The task whose tests are new is the only one whose tests were tried without the change.
    let facts = world.facts(&run);
    let judged: Vec<&serde_json::Value> = facts
        .iter()
        .map(|fact| &fact["judged"])
        .filter(|fact| fact["judgement"].to_string().contains("/new-tests#"))
        .collect();
    assert_eq!(judged.len(), 1, "{judged:?}");
    assert_eq!(judged[0]["judgement"], "build.T2/implement#1/new-tests#1");
    has(&judged[0]["receipt"]["notes"].to_string(), &["without the change and passes with it"]);
}

#[test]
fn with_the_largest_effort_the_tasks_are_reviewed_and_both_checkpoints_are_for_a_person() {
    let Some(golden) = Golden::shell() else { return };
    let world = &golden.world;
    let said = golden.start("request.txt", "play.toml", &["--param", "effort=L"]).end();
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.all(), &["Build it like this?"]);
    let run = world.latest();
    world.ok(&["answer", &run, "Q1", "approve"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, WAITS, "{said}");
    has(&said.all(), &["Build it in these tasks?"]);
    world.ok(&["answer", &run, "Q2", "approve"]);
    let mut again = world.start(&["resume", &run]);
    again.until_says("build done");
    let said = again.end();
    assert_eq!(said.code, DONE, "{said}");
    assert!(golden.artifacts().contains(&"review-tasks.md".to_owned()));
}

#[test]
fn what_was_only_green_because_of_a_file_made_before_is_mended_by_the_verifier() {
    let why = "units.txt:1: expected a unit and its bytes";
    let Some(golden) = Golden::shell() else { return };
    let said = is_red_from_nothing(&golden, why).end();
    assert_eq!(said.code, DONE, "{said}");
    let branch = format!("forge/{}", golden.world.latest());
    golden.world.git(&["cat-file", "-e", &format!("{branch}:tests/units.sh")]);
}

#[test]
fn a_verifier_that_changes_what_a_check_runs_needs_the_word_of_a_person() {
    let why = "categories.txt:1: '# One category in each line' is no name";
    let Some(golden) = Golden::python() else { return };
    let said = is_red_from_nothing(&golden, why).end();
    assert_eq!(said.code, WAITS, "{said}");
    has(
        &said.all(),
        &["This change touches protected files (tests, CI, settings)", "tools/make_categories.py"],
    );
    let (world, run) = (&golden.world, golden.world.latest());
    world.ok(&["answer", &run, "Q1", "approve"]);
    let said = world.forge(&["resume", &run]);
    assert_eq!(said.code, DONE, "{said}");
}
