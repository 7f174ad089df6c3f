//! Breaks the core's rules one by one, and sees whether its tests notice.
//!
//! Each file of `crates/core/tests/mutants` breaks one rule. The tree is copied once to a place
//! outside any repository, each patch is applied there, the core's tests are run, and the patch
//! is taken back. A mutant that the tests let live is a rule that nobody guards. A patch that no
//! longer applies or does not compile guards nothing either, and is a failure, too.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use super::{root, say};

/// Chance needs fewer steps here: most mutants are caught by a story.
const CHANCE_STEPS: &str = "6000";
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
    if !(cargo(tree, target, &["--tests", "--no-run"])? && passes(tree, target)?) {
        return Err(io::Error::other("the tests fail without any mutant"));
    }
    let mut missed = 0;
    for patch in &patches {
        let began = Instant::now();
        let fate = try_one(patch, tree, target)?;
        let words = match fate {
            Fate::Caught => "caught",
            Fate::Survived => "SURVIVED",
            Fate::DoesNotApply => "DOES NOT APPLY",
            Fate::DoesNotCompile => "DOES NOT COMPILE",
        };
        missed += usize::from(!matches!(fate, Fate::Caught));
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
    let fate = if !cargo(tree, target, &["--tests", "--no-run"])? {
        Fate::DoesNotCompile
    } else if passes(tree, target)? {
        Fate::Survived
    } else {
        Fate::Caught
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

/// Whether all tests pass, the quick ones first.
fn passes(tree: &Path, target: &Path) -> io::Result<bool> {
    Ok(cargo(tree, target, &["--test", "stories", "--test", "overlap"])?
        && cargo(tree, target, &["--test", "chance"])?)
}

fn cargo(tree: &Path, target: &Path, options: &[&str]) -> io::Result<bool> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--package", "forge-core"]).args(options);
    cargo.current_dir(tree).env("CARGO_TARGET_DIR", target);
    cargo.env("FORGE_CHANCE_STEPS", CHANCE_STEPS).env("RUST_BACKTRACE", "0");
    succeeds(&mut cargo)
}

fn succeeds(command: &mut Command) -> io::Result<bool> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status()?.success())
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
