//! All test programs of the workspace: built once, then run by us instead of by cargo, so that each has its own time and one
//! that keeps a single core busy runs beside the others.
//!
//! What a program says is kept in `target/test-output`. Of one that passes only its result is shown, of one that fails all.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    command::say,
    repository::{files_below, root, target},
};

/// Programs with one thread, which leave a core to others.
const ONE_THREAD: &[(&str, &str)] = &[("forge-core", "chance"), ("forge-agents", "long_line")];

/// Programs whose tests start others and wait for them: they get one thread more than there are cores.
const WAITING: &[(&str, &str)] =
    &[("forge", "commands"), ("forge", "faults"), ("forge", "agents"), ("forge", "claude")];

/// How libtest begins its last line.
const RESULT: &str = "test result: ";
/// What a test says, past libtest, that could not be done here.
const NOT_PROVED: &str = "NOT PROVED";
/// What a test says, past libtest, of a case that is in its sample.
const SAMPLE: &str = "SAMPLE: ";

/// One test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) package: String,
    /// The name of the test, or of the library or program whose unit tests these are.
    pub(crate) name: String,
    /// The folder of its package.
    folder: PathBuf,
    path: PathBuf,
}

/// How one program is run.
pub(crate) struct Task {
    pub(crate) program: Program,
    /// Only tests whose names contain one of these; all, if there is none.
    pub(crate) filters: Vec<String>,
    pub(crate) variables: Vec<(String, OsString)>,
    /// Shown after its name.
    pub(crate) note: String,
}

/// How one program ended.
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) took: Duration,
    pub(crate) is_good: bool,
    /// Tests that could not run here, and why.
    pub(crate) not_proved: Vec<String>,
}

#[cfg(test)]
impl Program {
    /// A program of this name that is never run.
    pub(crate) fn for_test(package: &str, name: &str) -> Self {
        let (package, name) = (package.to_owned(), name.to_owned());
        Self { package, name, folder: PathBuf::new(), path: PathBuf::new() }
    }
}

/// Builds all test programs of the workspace, and everything that they start.
pub(crate) fn build() -> Result<Vec<Program>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace", "--no-run", "--quiet"]);
    command.arg("--message-format=json-render-diagnostics").current_dir(root());
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not compile".to_owned());
    }
    let programs = from_messages(&String::from_utf8_lossy(&output.stdout));
    if programs.is_empty() { Err("there is no test program".to_owned()) } else { Ok(programs) }
}

/// The test programs that cargo's messages name.
fn from_messages(messages: &str) -> Vec<Program> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tests = messages.filter(|message| {
        message["reason"] == "compiler-artifact" && message["profile"]["test"] == true
    });
    let program = |message: Value| {
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        Some(Program {
            package: package_name(&folder)?,
            name: message["target"]["name"].as_str()?.to_owned(),
            folder,
            path: message["executable"].as_str()?.into(),
        })
    };
    tests.filter_map(program).collect()
}

fn package_name(folder: &Path) -> Option<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse::<toml::Table>();
    Some(manifest.ok()?.get("package")?.get("name")?.as_str()?.to_owned())
}

/// Runs all tasks, even if one fails: those with one thread one after the other, and beside them the others.
pub(crate) fn run(tasks: Vec<Task>) -> Vec<Ended> {
    let has_one_thread = |task: &Task| {
        let program = (task.program.package.as_str(), task.program.name.as_str());
        ONE_THREAD.contains(&program)
    };
    let (beside, others): (Vec<Task>, Vec<Task>) = tasks.into_iter().partition(has_one_thread);
    let all = Mutex::new(Vec::new());
    let lane = |tasks: Vec<Task>| {
        for task in tasks {
            let ended = run_one(&task);
            all.lock().expect("no lane panics").push(ended);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| lane(beside));
        lane(others);
    });
    all.into_inner().expect("no lane panics")
}

fn run_one(task: &Task) -> Ended {
    let name = format!("{} {}{}", task.program.package, task.program.name, task.note);
    let began = Instant::now();
    let path = target().join("test-output").join(format!("{}.txt", name.replace([' ', ','], "-")));
    let ended = start(task, &path);
    let took = began.elapsed();
    let said = fs::read(&path).map(|said| String::from_utf8_lossy(&said).into_owned());
    let said = said.unwrap_or_default();
    let problem = match ended {
        Err(error) => Some(format!("cannot be run: {error}")),
        Ok(status) if !status.success() => Some(format!("FAILED with {status}")),
        Ok(_) if has_run_nothing(task, &said) => {
            Some(format!("no test has a name with {}", task.filters.join(" or ")))
        }
        Ok(_) => None,
    };
    let shown = shown(&said);
    let seconds = took.as_secs_f32();
    if let Some(problem) = &problem {
        say(&format!("{said}\n{seconds:>7.1} s  {name}: {problem}"));
    } else {
        say(&format!("{seconds:>7.1} s  {name}\n{}", shown.join("\n")));
    }
    let not_proved = said.lines().filter(|line| line.contains(NOT_PROVED));
    let not_proved = not_proved.map(|line| format!("{name}: {line}")).collect();
    Ended { name, took, is_good: problem.is_none(), not_proved }
}

/// Selects the lines that are shown of a program that passes.
fn shown(said: &str) -> Vec<&str> {
    let is_shown = |line: &&str| {
        line.starts_with(RESULT) || line.contains(NOT_PROVED) || line.contains(SAMPLE)
    };
    said.lines().filter(is_shown).collect()
}

/// Runs a program as `cargo test` would, and keeps all that it says in a file.
fn start(task: &Task, said: &Path) -> io::Result<ExitStatus> {
    fs::create_dir_all(said.parent().expect("the file is in a folder"))?;
    let file = fs::File::create(said)?;
    let mut command = Command::new(&task.program.path);
    command.args(&task.filters).current_dir(&task.program.folder);
    // Ours are about `xtask`.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
    if WAITING.contains(&(task.program.package.as_str(), task.program.name.as_str())) {
        let n_cores = thread::available_parallelism().map_or(2, std::num::NonZero::get);
        command.env("RUST_TEST_THREADS", (n_cores + 1).to_string());
    }
    command.env("CARGO_MANIFEST_DIR", &task.program.folder);
    command.env("CARGO_PKG_NAME", &task.program.package);
    command.envs(task.variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    command.status()
}

/// Whether names were asked for that no test has, which libtest takes for a success.
fn has_run_nothing(task: &Task, said: &str) -> bool {
    let result = said.lines().rfind(|line| line.starts_with(RESULT)).unwrap_or_default();
    !task.filters.is_empty() && result.contains(" 0 passed; 0 failed;")
}

/// Packages of the workspace whose comments have examples that `rustdoc` would run.
pub(crate) fn packages_with_doc_tests(programs: &[Program]) -> Vec<String> {
    let mut packages: Vec<&Program> = programs.iter().collect();
    packages.sort_by(|a, b| a.package.cmp(&b.package));
    packages.dedup_by(|a, b| a.package == b.package);
    let has_any = |program: &&Program| {
        let files = files_below(&program.folder.join("src"), "rs");
        files.iter().any(|file| has_doc_test(&fs::read_to_string(file).unwrap_or_default()))
    };
    packages.into_iter().filter(has_any).map(|program| program.package.clone()).collect()
}

/// Whether a comment of this text opens a block of Rust.
fn has_doc_test(text: &str) -> bool {
    let comments = text.lines().map(str::trim_start);
    let comments = comments.filter_map(|line| {
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
    });
    let mut is_open = false;
    comments.filter_map(|line| line.strip_prefix("```")).any(|language| {
        is_open = !is_open;
        let is_rust = language.split(',').all(|word| {
            ["", "rust", "should_panic", "no_run", "compile_fail"].contains(&word.trim())
        });
        is_open && is_rust
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(filters: &[&str]) -> Task {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
        let (package, name) = ("xtask".to_owned(), "xtask".to_owned());
        let program = Program { package, name, folder, path: "/bin/sh".into() };
        let filters = filters.iter().map(|filter| (*filter).to_owned()).collect();
        Task { program, filters, variables: Vec::new(), note: String::new() }
    }

    #[test]
    fn test_programs_are_found_among_the_messages_of_cargo() {
        let here = env!("CARGO_MANIFEST_DIR");
        let message = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{here}/Cargo.toml","target":{{"name":"x"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let messages = [
            message(true, r#""/t/x-1""#),
            message(false, r#""/t/x""#),
            message(true, "null"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            "not a message".to_owned(),
        ];
        let found = from_messages(&messages.join("\n"));
        let expected = Program {
            package: "xtask".to_owned(),
            name: "x".to_owned(),
            folder: here.into(),
            path: "/t/x-1".into(),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_program_runs_in_its_folder_and_is_told_of_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let said = folder.path().join("said/x.txt");
        let script = "pwd; echo $CARGO_MANIFEST_DIR $CARGO_PKG_NAME $CARGO_PKG_VERSION; exit 3";
        let status = start(&task(&["-c", script]), &said).unwrap();
        assert_eq!(status.code(), Some(3));
        let here = env!("CARGO_MANIFEST_DIR");
        assert_eq!(fs::read_to_string(said).unwrap(), format!("{here}\n{here} xtask\n"));
    }

    #[test]
    fn samples_and_what_is_not_proved_are_shown_of_a_program_that_passes() {
        let said =
            "test a ... ok\nSAMPLE: b by keys\ntest c ... NOT PROVED: no disk\ntest result: ok.";
        let wanted = ["SAMPLE: b by keys", "test c ... NOT PROVED: no disk", "test result: ok."];
        assert_eq!(shown(said), wanted);
        let mut task = task(&["-c", "echo NOT PROVED: no disk >&2; exit 0"]);
        task.program.name = "of-not-proved".to_owned();
        let ended = run_one(&task);
        assert!(ended.is_good);
        assert_eq!(ended.not_proved, ["xtask of-not-proved: NOT PROVED: no disk"]);
    }

    #[test]
    fn a_filter_that_no_test_has_is_noticed() {
        let nothing = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out";
        let one = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 8 filtered out";
        assert!(has_run_nothing(&task(&["x"]), nothing));
        assert!(!has_run_nothing(&task(&["x"]), one));
        assert!(!has_run_nothing(&task(&[]), nothing), "some programs have no tests");
    }

    #[test]
    fn only_blocks_of_rust_are_doc_tests() {
        assert!(has_doc_test("/// X.\n/// ```\n/// let x = 1;\n/// ```\n"));
        assert!(has_doc_test("//! ```text\n//! ```\n//! ```rust,no_run\n//! ```\n"));
        assert!(!has_doc_test("//! ```text\n//! a\n//! ```\n"));
        assert!(!has_doc_test("let x = \"```\";\n"));
    }
}
