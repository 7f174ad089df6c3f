//! Breaks the core's rules one by one, and sees whether its tests notice.
//!
//! Each file of `crates/core/tests/mutants` breaks one rule. The tree is copied once to a place
//! outside any repository, each patch is applied there, the core's tests are run, and the patch
//! is taken back. A mutant that the tests let live is a rule that nobody guards. A patch that no
//! longer applies or does not compile guards nothing either, and is a failure, too. A mutant can
//! make the law go round in circles: tests that do not end in time have noticed it.

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

use super::{root, say};

/// Chance needs fewer steps here: most mutants are caught by a story.
const CHANCE_STEPS: &str = "6000";
/// How long the tests may take with one mutant. Without any, they take some seconds.
const TESTS_MAX: Duration = Duration::from_mins(2);
/// How often we look whether the tests are over.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What one process of the tests may compute, should nobody be left to end it.
const CPU_SECONDS_MAX: u64 = 1_800;
/// What is not copied.
const LEFT_OUT: &[&str] = &["target", ".git"];

/// In a sample, one mutant of this many is tried.
const SAMPLE: usize = 8;

/// How many mutants are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// All of them.
    All,
    /// A few, for every day.
    Sample,
}

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

/// Runs the mutants. Fails if one of them survives or is stale.
pub(crate) fn run(size: Size) -> ExitCode {
    match all(size) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(trouble) => {
            say(&format!("mutants: {trouble}"));
            ExitCode::FAILURE
        }
    }
}

/// The number of mutants that were not caught.
fn all(size: Size) -> io::Result<usize> {
    let root = root();
    let tree = std::env::temp_dir().join(format!("forge-mutants-{}", std::process::id()));
    copy(&root, &tree)?;
    let target = root.join("target").join("mutants");
    let result = each(&root, &tree, &target, size);
    fs::remove_dir_all(&tree)?;
    result
}

fn each(root: &Path, tree: &Path, target: &Path, size: Size) -> io::Result<usize> {
    let mut patches: Vec<PathBuf> = fs::read_dir(root.join("crates/core/tests/mutants"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    patches.retain(|path| path.extension() == Some(OsStr::new("patch")));
    patches.sort();
    if size == Size::Sample {
        patches = patches.into_iter().step_by(SAMPLE).collect();
    }
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
    for patch in &patches {
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
    succeeds(&mut cargo(tree, target, &["--tests", "--no-run"]))
}

/// Runs all tests, the quick ones first.
fn tests(tree: &Path, target: &Path) -> io::Result<Ended> {
    let deadline = Instant::now() + TESTS_MAX;
    let quick = cargo(tree, target, &["--test", "stories", "--test", "overlap"]);
    match within(quick, deadline)? {
        Ended::Well => within(cargo(tree, target, &["--test", "chance"]), deadline),
        ended @ (Ended::Badly | Ended::ByLimit) => Ok(ended),
    }
}

fn cargo(tree: &Path, target: &Path, options: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--package", "forge-core"]).args(options);
    cargo.current_dir(tree).env("CARGO_TARGET_DIR", target);
    cargo.env("FORGE_CHANCE_STEPS", CHANCE_STEPS).env("RUST_BACKTRACE", "0");
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
    fn what_ends_in_time_says_how() {
        let deadline = || Instant::now() + Duration::from_mins(1);
        assert_eq!(within(shell("exit 0"), deadline()).unwrap(), Ended::Well);
        assert_eq!(within(shell("exit 1"), deadline()).unwrap(), Ended::Badly);
    }
}
