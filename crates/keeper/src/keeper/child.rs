//! Starts the child.
//!
//! Everything that can be known beforehand to fail is looked at first, so that a person reads what is missing, and not
//! only what the kernel says.
//!
//! Invariant: the child gets the keeper's environment with its mark, and what it is told of its call, nothing else.

use std::env;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, Mode, OFlags, access, fcntl_setfl};

use super::output::OutputSource;
use crate::attempt::dir::{AttemptFolder, CallVariables, Spec, Stderr, Stdout};
use crate::launch::dies_with_keeper;
use crate::variables::{
    ATTEMPT_DIR_VARIABLE, CALL_VARIABLE, INBOX_VARIABLE, OUTBOX_VARIABLE, SECRETS_VARIABLE,
};

/// The child, and where its output comes from.
pub(super) struct StartedChild {
    pub(super) pid: i32,
    pub(super) source: OutputSource,
    /// If its errors are kept apart.
    pub(super) errors: Option<OutputSource>,
}

/// Starts the child, or says in a sentence why that is impossible.
pub(super) fn start(folder: &AttemptFolder, spec: &Spec) -> Result<StartedChild, String> {
    let program = check(spec)?;
    let mut command = Command::new(program);
    command.args(&spec.argv[1..]).current_dir(&spec.dir);
    dies_with_keeper(&mut command);
    match spec.variables {
        CallVariables::Told => {
            command.env(ATTEMPT_DIR_VARIABLE, &folder.path).env(CALL_VARIABLE, &spec.call);
            let boxes = boxes(folder, spec);
            command.env(INBOX_VARIABLE, boxes.inbox()).env(OUTBOX_VARIABLE, boxes.outbox());
        }
        CallVariables::Untold => {}
    }
    command.env_remove(SECRETS_VARIABLE).stdin(stdin(spec.stdin.as_deref())?);
    let no_place = |error: io::Error| format!("cannot make a place for its output: {error}");
    let source = connect(&mut command, folder, spec.stdout).map_err(no_place)?;
    let errors = keep_apart(&mut command, spec.stderr).map_err(no_place)?;
    let child = command.spawn().map_err(|error| format!("cannot run `{program}`: {error}"))?;
    Ok(StartedChild { pid: child.id().cast_signed(), source, errors })
}

/// The folder whose inbox and outbox the child works with.
pub(super) fn boxes(folder: &AttemptFolder, spec: &Spec) -> AttemptFolder {
    spec.boxes.as_ref().map_or_else(|| folder.clone(), AttemptFolder::at)
}

/// Returns the program to run, if it looks as if it can be.
fn check(spec: &Spec) -> Result<&str, String> {
    if !spec.dir.is_dir() {
        return Err(format!("the working directory `{}` does not exist", spec.dir.display()));
    }
    let program = spec.argv.first().ok_or("no program to run")?;
    let mut candidates = candidates(program, &spec.dir).peekable();
    if candidates.peek().is_none() {
        return Err(format!("program `{program}` not found: PATH is empty"));
    }
    let existing: Vec<PathBuf> = candidates.filter(|path| path.is_file()).collect();
    if existing.is_empty() {
        return Err(format!("program `{program}` not found"));
    }
    if existing.iter().any(|path| access(path, Access::EXEC_OK).is_ok()) {
        return Ok(program);
    }
    Err(format!("program `{program}` is not executable"))
}

/// Where the program may be, as `exec` will look for it.
fn candidates(program: &str, dir: &Path) -> impl Iterator<Item = PathBuf> {
    let directories: Vec<PathBuf> = if program.contains('/') {
        vec![dir.to_owned()]
    } else {
        env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .map(|path| dir.join(path))
            .collect()
    };
    let program = program.to_owned();
    directories.into_iter().map(move |directory| directory.join(&program))
}

fn stdin(path: Option<&Path>) -> Result<Stdio, String> {
    let Some(path) = path else { return Ok(Stdio::null()) };
    let file = File::open(path)
        .map_err(|error| format!("cannot open its input `{}`: {error}", path.display()))?;
    Ok(file.into())
}

/// Output and errors go to the same place, in the order in which they are written.
fn connect(
    command: &mut Command,
    folder: &AttemptFolder,
    stdout: Stdout,
) -> io::Result<OutputSource> {
    match stdout {
        Stdout::Pipe => {
            let (reader, writer) = io::pipe()?;
            fcntl_setfl(&reader, OFlags::NONBLOCK)?;
            command.stdout(writer.try_clone()?).stderr(writer);
            Ok(OutputSource::Pipe(reader))
        }
        Stdout::UnnamedFile => {
            let file = unnamed_file(&folder.path)?;
            command.stdout(file.try_clone()?).stderr(file.try_clone()?);
            Ok(OutputSource::File { file, offset: 0 })
        }
    }
}

/// Errors have a pipe of their own, if they are not to be mixed with the output.
fn keep_apart(command: &mut Command, stderr: Stderr) -> io::Result<Option<OutputSource>> {
    match stderr {
        Stderr::Together => Ok(None),
        Stderr::Apart => {
            let (reader, writer) = io::pipe()?;
            fcntl_setfl(&reader, OFlags::NONBLOCK)?;
            command.stderr(writer);
            Ok(Some(OutputSource::Pipe(reader)))
        }
    }
}

fn unnamed_file(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR) {
        return Ok(file.into());
    }
    // Some file systems know no files without a name: make one, and take the name away.
    let path = directory.join("output.tmp");
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}
