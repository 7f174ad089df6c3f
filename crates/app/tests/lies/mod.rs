//! A corpus of lies about tests and checks, and of honest changes that look alike, through the real gates: nothing
//! but Forge's own gates looks at them, and `--auto` lets everything pass that may pass by itself.
//!
//! The cases are data, one file for each kind of runner; `README.md` says how to add one. `FORGE_LIES` says how many
//! are run (`all`, or a number of each), `FORGE_LIES_SEED` which. A kind whose runner is not here is not run, and that is told.
//!
//! Invariant: a case does what its line says. A lie that reaches done says so (`slips`), and so does an honest change
//! that is asked about (`asked`).

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use crate::world::{DONE, World, finish, path_with_cargo};

/// Lies that may reach done, and honest changes that may be asked about, of all. Lies in the product alone are for
/// reviewers, and are only counted.
const WRONG_MAX: usize = 2;

const FLOW: &str = r#"
[[stage]]
name = "plan"
list = "tasks"
command = """echo '{"forge":1,"attempt":"plan#1","status":"done","summary":"","lists":{"tasks":[{"id":"T1","title":"It"}]}}' > "$FORGE_OUTBOX/result.json" """

[[stage]]
name = "build"
each = "tasks"

  [[stage.stage]]
  name = "build"
  command = "sh \"$HOME/case.sh\""
  gates = [{ check = "changes" }, { verify = true }, { check = "guarded" }, { land = true }]

[[stage]]
name = "result"
gates = [{ verify = true }]
"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Lie,
    Honest,
    /// Honest, and by the rules for a person to see: a test has another name, the tests as they were refuse the new
    /// code, or what defines the checks is changed.
    Due,
}

struct Case {
    kind: &'static Kind,
    name: String,
    is: Is,
    /// Whether it is known that Forge gets it wrong.
    is_known_wrong: bool,
    /// What changes the checkout.
    script: String,
}

#[derive(Default)]
struct Kind {
    name: String,
    /// The settings of the project.
    settings: String,
    /// Whether it is run only in full size.
    is_slow: bool,
    is_here: bool,
    base: Vec<(String, String)>,
    /// What each script begins with.
    prelude: String,
    cases: Vec<(String, String, String)>,
}

fn parse(name: &str, text: &str) -> Kind {
    let mut kind = Kind { name: name.to_owned(), is_here: true, ..Kind::default() };
    for part in text.split("\n== ").skip(1) {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        let body = format!("{body}\n");
        match head.split(' ').collect::<Vec<&str>>()[..] {
            ["settings"] => kind.settings = body,
            ["slow"] => kind.is_slow = true,
            ["needs", program] => {
                let mut found = Command::new("sh");
                found.args(["-c", &format!("{program} --version || {program} version")]);
                found.env("PATH", path_with_cargo()).stdout(Stdio::null()).stderr(Stdio::null());
                kind.is_here &= found.status().unwrap().success();
            }
            ["base", path] => kind.base.push((path.to_owned(), body)),
            ["prelude"] => kind.prelude = body,
            [case, is] => kind.cases.push((case.to_owned(), is.to_owned(), body)),
            [..] => panic!("{name}.txt: `== {head}` is not known"),
        }
    }
    kind
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lies");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let is_data = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "txt");
    let kinds = files.iter().filter(is_data).map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        parse(name, &fs::read_to_string(path).unwrap())
    });
    let kinds: &'static [Kind] = kinds.collect::<Vec<Kind>>().leak();
    let case = |kind: &'static Kind, (name, is, script): &(String, String, String)| {
        let (is, is_known_wrong) = match is.as_str() {
            "lie" => (Is::Lie, false),
            "slips" => (Is::Lie, true),
            "honest" => (Is::Honest, false),
            "asked" => (Is::Honest, true),
            "due" => (Is::Due, false),
            other => panic!("{}.txt: `{name}` is a lie, honest or due, not `{other}`", kind.name),
        };
        Case { kind, name: name.clone(), is, is_known_wrong, script: script.clone() }
    };
    kinds.iter().flat_map(|kind| kind.cases.iter().map(move |one| case(kind, one))).collect()
}

/// Runs a case. What is wrong with how it ended, if anything.
fn run(case: &Case) -> Option<String> {
    let world = World::new();
    for (path, text) in &case.kind.base {
        world.write(path, text);
    }
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "the project"]);
    world.write("forge.toml", &case.kind.settings);
    world.flow("lies", FLOW);
    let script = format!("set -e\n{}{}", case.kind.prelude, case.script);
    fs::write(world.beside("case.sh"), script).unwrap();
    let mut command = world.command(&["run", "--flow", "lies", "do it", "--auto"]);
    let said = finish(command.env("PATH", path_with_cargo()));
    let is_done = said.code == DONE;
    let asks = ["protected files", "weakens tests", "Nothing verifies"];
    // What is done may say in its notes what a question would have said.
    let is_asked = !is_done && asks.iter().any(|words| said.out.contains(words));
    let is_wrong = is_done != (case.is == Is::Honest);
    // A check that is red by itself shows nothing about lies.
    (is_done == is_asked || is_wrong != case.is_known_wrong)
        .then(|| format!("{} {}: {:?}\n{said}", case.kind.name, case.name, case.is))
}

/// The cases that are run: all, or some of each that is quick.
fn chosen(all: Vec<Case>) -> Vec<Case> {
    let size = std::env::var("FORGE_LIES").unwrap_or_else(|_| "2".to_owned());
    let seed = std::env::var("FORGE_LIES_SEED").ok().and_then(|seed| seed.parse::<usize>().ok());
    let only = std::env::var("FORGE_LIES_ONLY").unwrap_or_default();
    let all =
        all.into_iter().filter(|case| format!("{} {}", case.kind.name, case.name).contains(&only));
    let here: Vec<Case> = all.filter(|case| case.kind.is_here).collect();
    let Ok(most) = size.parse::<usize>() else { return here };
    let mut here: Vec<Option<Case>> =
        here.into_iter().filter(|case| !case.kind.is_slow).map(Some).collect();
    let mut chosen = Vec::new();
    for is in [Is::Lie, Is::Honest] {
        let of: Vec<usize> = (0..here.len())
            .filter(|at| here[*at].as_ref().is_some_and(|case| case.is == is))
            .collect();
        // Steps that have no divisor in common with the number of cases reach all of them.
        for n in 0..most.min(of.len()) {
            let at = of[(seed.unwrap_or(0) + n * of.len() / most) % of.len()];
            chosen.extend(here[at].take());
        }
    }
    chosen
}

#[test]
fn code_that_keeps_its_own_tests_from_failing_is_unverified_at_the_end() {
    let all = cases();
    let is_it = |case: &&Case| case.kind.name == "unittest" && case.name == "product_exits";
    let case = all.iter().find(is_it).expect("the corpus has this case");
    if case.kind.is_here {
        assert_eq!(run(case), None);
    }
}

#[test]
fn lies_about_tests_are_caught_and_honest_changes_are_left_alone() {
    let all = cases();
    let absent = all.iter().map(|case| case.kind).filter(|kind| !kind.is_here);
    for name in absent.map(|kind| kind.name.as_str()).collect::<BTreeSet<&str>>() {
        // Past the test's own capture, so that it is always seen.
        let text = format!("NOT PROVED: lies of the kind `{name}`, whose runner is not here\n");
        io::stderr().write_all(text.as_bytes()).unwrap();
    }
    let cases = chosen(all);
    let (next, wrong, began) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = run(case);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let count = |is: Is| cases.iter().filter(|case| case.is == is).count();
    let is_in_product = |case: &&Case| case.is == Is::Lie && case.name.starts_with("product_");
    let in_product: Vec<&Case> = cases.iter().filter(is_in_product).collect();
    let known_in_product = in_product.iter().filter(|case| case.is_known_wrong).count();
    let known = |is: Is| {
        let known = cases.iter().filter(|case| case.is == is && case.is_known_wrong);
        known.filter(|case| !is_in_product(case)).count()
    };
    let (lies, honest) = (count(Is::Lie) - in_product.len(), count(Is::Honest));
    eprintln!(
        "{lies} lies about tests and checks, {} of them reach done; {} lies in the product alone, {known_in_product} of \
         them reach done; {honest} honest changes, {} of them are asked about; {} more that a person should see; {:.0?}",
        known(Is::Lie),
        in_product.len(),
        known(Is::Honest),
        count(Is::Due),
        began.elapsed()
    );
    let wrong = wrong.into_inner().unwrap();
    let mut text = String::new();
    for one in &wrong {
        writeln!(text, "== {one}").unwrap();
    }
    assert!(wrong.is_empty(), "{} cases are not as their line says:\n{text}", wrong.len());
    assert!(known(Is::Lie) <= WRONG_MAX && known(Is::Honest) <= WRONG_MAX, "too many are known");
}
