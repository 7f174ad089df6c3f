//! Breaks the core's rules one by one, and sees whether its tests notice.
//!
//! Each file of `crates/core/tests/mutants` breaks one rule. The tree is copied once to a place
//! outside any repository, each patch is applied there, the core's tests are run, and the patch
//! is taken back. A mutant that the tests let live is a rule that nobody guards. A patch that no
//! longer applies or does not compile guards nothing either, and is a failure, too. A mutant can
//! make the law go round in circles: tests that do not end in time have noticed it.
//!
//! All of them take many minutes. So for every change it is only checked that each still applies, and a sample is tried where the
//! core is not the one for which all were caught. Which are in the sample is up to the seed of the commit.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

use crate::{
    command::say,
    proved::Subject,
    repository::{root, target},
    seed,
};

/// Chance needs fewer steps here: most mutants are caught by a story.
const CHANCE_STEPS: &str = "6000";
/// How long the tests may take with one mutant. Without any, they take some seconds.
const TESTS_MAX: Duration = Duration::from_mins(2);
/// How often we look whether the tests are over.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What one process of the tests may compute, should nobody be left to end it.
const CPU_SECONDS_MAX: u64 = 1_800;
/// Names that are not copied.
const LEFT_OUT: &[&str] = &["target", ".git"];

/// In a sample, one mutant of this many is tried.
const SAMPLE: usize = 24;
/// The test programs that they are tried with.
const TESTS: [&str; 4] = ["stories", "overlap", "work", "chance"];

/// What decides whether all mutants are caught: the core, its tests and the mutants.
const CAUGHT: Subject = Subject {
    name: "mutants",
    files: &["crates/core/src", "crates/core/tests", "crates/core/Cargo.toml"],
    more: "",
};

/// How one mutant fared.
enum Fate {
    /// The tests failed, as they should.
    Caught,
    /// The tests did not come to an end, and were ended.
    CaughtByLimit,
    /// The tests passed.
    Survived,
    /// The patch does not fit the code any more.
    DoesNotApply,
    /// The patch makes no program.
    DoesNotCompile,
}

/// Tries all mutants. Fails if one of them survives or is stale; records it if all are caught.
pub(crate) fn all() -> ExitCode {
    let code = run(|patches| patches);
    if code == ExitCode::SUCCESS
        && let Err(error) = CAUGHT.record(&root())
    {
        say(&format!("mutants: all are caught, but that cannot be recorded: {error}"));
    }
    code
}

/// Checks that all mutants still apply, which takes a moment.
pub(crate) fn check() -> ExitCode {
    match stale(&root()) {
        Ok(stale) if stale.is_empty() => ExitCode::SUCCESS,
        Ok(stale) => {
            say(&format!("these do not apply any more: {}", stale.join(", ")));
            ExitCode::FAILURE
        }
        Err(error) => {
            say(&format!("mutants: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Tries a sample if the core is not the one for which all were caught.
pub(crate) fn sample_if_changed(seed: u64) -> ExitCode {
    if CAUGHT.is_proved(&root()) {
        say("all were caught in the core as it is");
        return ExitCode::SUCCESS;
    }
    say("the core has changed since all were caught (`cargo xtask mutants`)");
    sample(seed)
}

/// Tries a sample.
pub(crate) fn sample(seed: u64) -> ExitCode {
    say(&format!("the same sample again: cargo xtask mutants --seed {seed}"));
    run(|patches| {
        let wanted = patches.len().div_ceil(SAMPLE);
        seed::sample(patches, wanted, seed)
    })
}

fn run(choose: impl FnOnce(Vec<PathBuf>) -> Vec<PathBuf>) -> ExitCode {
    match in_a_copy(choose) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(trouble) => {
            say(&format!("mutants: {trouble}"));
            ExitCode::FAILURE
        }
    }
}

/// The number of mutants that were not caught.
fn in_a_copy(choose: impl FnOnce(Vec<PathBuf>) -> Vec<PathBuf>) -> io::Result<usize> {
    let root = root();
    let tree = std::env::temp_dir().join(format!("forge-mutants-{}", std::process::id()));
    copy(&root, &tree)?;
    let result = each(&choose(patches(&root)?), &tree, &target().join("mutants"));
    fs::remove_dir_all(&tree)?;
    result
}

/// All mutants, in the order of their numbers.
fn patches(root: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root.join("crates/core/tests/mutants"))?;
    let mut patches: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    patches.retain(|path| path.extension() == Some(OsStr::new("patch")));
    patches.sort();
    Ok(patches)
}

/// The mutants that do not fit the code any more.
fn stale(root: &Path) -> io::Result<Vec<String>> {
    let mut stale = Vec::new();
    for patch in patches(root)? {
        if !apply(&patch, root, &["--check"])? {
            stale.push(patch.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    Ok(stale)
}

fn each(patches: &[PathBuf], tree: &Path, target: &Path) -> io::Result<usize> {
    if !compiles(tree, target)? {
        return Err(io::Error::other("the tests do not compile without any mutant"));
    }
    match tests(tree, target)? {
        Ended::Well => {}
        Ended::Badly => return Err(io::Error::other("the tests fail without any mutant")),
        Ended::ByLimit => {
            let problem = format!("without any mutant, the tests take more than {TESTS_MAX:?}");
            return Err(io::Error::other(problem));
        }
    }
    let mut missed = 0;
    for patch in patches {
        let began = Instant::now();
        let fate = try_one(patch, tree, target)?;
        let words = match fate {
            Fate::Caught => "caught",
            Fate::CaughtByLimit => "caught by limit",
            Fate::Survived => "SURVIVED",
            Fate::DoesNotApply => "DOES NOT APPLY",
            Fate::DoesNotCompile => "DOES NOT COMPILE",
        };
        missed += usize::from(!matches!(fate, Fate::Caught | Fate::CaughtByLimit));
        let name = patch.file_stem().unwrap_or_default().to_string_lossy();
        say(&format!("{words:<16} {:>6.1} s  {name}", began.elapsed().as_secs_f32()));
    }
    say(&format!("{} mutants, {missed} not caught", patches.len()));
    Ok(missed)
}

fn try_one(patch: &Path, tree: &Path, target: &Path) -> io::Result<Fate> {
    if !apply(patch, tree, &[])? {
        return Ok(Fate::DoesNotApply);
    }
    let fate = if compiles(tree, target)? {
        match tests(tree, target)? {
            Ended::Well => Fate::Survived,
            Ended::Badly => Fate::Caught,
            Ended::ByLimit => Fate::CaughtByLimit,
        }
    } else {
        Fate::DoesNotCompile
    };
    if apply(patch, tree, &["--reverse"])? {
        Ok(fate)
    } else {
        Err(io::Error::other(format!("{} cannot be taken back", patch.display())))
    }
}

fn apply(patch: &Path, tree: &Path, options: &[&str]) -> io::Result<bool> {
    let mut git = Command::new("git");
    git.arg("apply").args(options).arg(patch).current_dir(tree);
    // The copy is no part of any repository, whatever lies above it.
    git.env("GIT_CEILING_DIRECTORIES", tree.parent().unwrap_or(tree));
    succeeds(&mut git)
}

fn compiles(tree: &Path, target: &Path) -> io::Result<bool> {
    let mut options = vec!["--no-run"];
    options.extend(TESTS.iter().flat_map(|test| ["--test", test]));
    succeeds(&mut cargo(tree, target, &options))
}

/// Runs all tests, the quick ones first, until one fails.
fn tests(tree: &Path, target: &Path) -> io::Result<Ended> {
    let deadline = Instant::now() + TESTS_MAX;
    for test in TESTS {
        match within(cargo(tree, target, &["--test", test]), deadline)? {
            Ended::Well => {}
            ended @ (Ended::Badly | Ended::ByLimit) => return Ok(ended),
        }
    }
    Ok(Ended::Well)
}

fn cargo(tree: &Path, target: &Path, options: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--package", "forge-core"]).args(options);
    cargo.current_dir(tree).env("CARGO_TARGET_DIR", target);
    cargo.env("FORGE_CHANCE_STEPS", CHANCE_STEPS).env("RUST_BACKTRACE", "0");
    // Each mutant is built once and run for seconds.
    cargo.args(["--config", "profile.dev.package.forge-core.opt-level=0"]);
    cargo
}

fn succeeds(command: &mut Command) -> io::Result<bool> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status()?.success())
}

/// How a program with a time limit ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
    ByLimit,
}

/// Runs a program and all that it starts, until the deadline at most.
fn within(mut command: Command, deadline: Instant) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    // In a group of its own it does not hear the person's Ctrl-C, so it must end by itself, too.
    let cpu = Rlimit { current: Some(CPU_SECONDS_MAX), maximum: Some(CPU_SECONDS_MAX) };
    let _ = prlimit(Some(Pid::from_child(&child)), Resource::Cpu, cpu);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { Ended::Well } else { Ended::Badly });
        }
        if Instant::now() >= deadline {
            end(&mut child)?;
            return Ok(Ended::ByLimit);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Ends a program with all that it started. It was not waited for, so its number is still its own.
fn end(child: &mut Child) -> io::Result<()> {
    kill_process_group(Pid::from_child(child), Signal::KILL)?;
    child.wait()?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if LEFT_OUT.iter().any(|left_out| name == *left_out) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&entry.path(), &to.join(name))?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]);
        shell
    }

    #[test]
    fn what_never_ends_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        let line = format!("sh -c 'echo $$ > {}; exec sleep 600' & wait", path.display());
        let limit = Duration::from_secs(2);
        assert_eq!(within(shell(&line), Instant::now() + limit).unwrap(), Ended::ByLimit);
        let pid = fs::read_to_string(path).unwrap();
        let is_gone = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.map_or(true, |stat| stat.contains(") Z") || stat.contains(") X"))
        };
        // A signal takes a moment to arrive.
        let asked = Instant::now();
        while !is_gone() && asked.elapsed() < Duration::from_secs(30) {
            thread::yield_now();
        }
        assert!(is_gone());
    }

    #[test]
    fn a_mutant_that_does_not_fit_the_code_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mutants = folder.path().join("crates/core/tests/mutants");
        fs::create_dir_all(&mutants).unwrap();
        let patch = |from: &str| format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{from}\n+c\n");
        fs::write(folder.path().join("x"), "a\n").unwrap();
        fs::write(mutants.join("01-fits.patch"), patch("a")).unwrap();
        assert_eq!(stale(folder.path()).unwrap(), [] as [&str; 0]);
        fs::write(mutants.join("02-is-stale.patch"), patch("b")).unwrap();
        assert_eq!(stale(folder.path()).unwrap(), ["02-is-stale"]);
        assert_eq!(fs::read_to_string(folder.path().join("x")).unwrap(), "a\n", "nothing changes");
    }

    #[test]
    fn what_ends_in_time_says_how() {
        let deadline = || Instant::now() + Duration::from_mins(1);
        assert_eq!(within(shell("exit 0"), deadline()).unwrap(), Ended::Well);
        assert_eq!(within(shell("exit 1"), deadline()).unwrap(), Ended::Badly);
    }
}
