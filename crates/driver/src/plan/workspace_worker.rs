//! Orders for work on checkouts and their answers, and the program that does it where code of others takes part, `forge __bench`.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use forge_keeper::{AttemptFolder, Ending, ExitReason};
use forge_project::settings::SecretsTable;
use forge_store::{
    atomic_file::replace_on,
    disk::{Disk, RealDisk, SyncPoint},
};
use forge_workspace::{Operation, OperationResult, WorkspaceError};
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    executor::{Executor, Output},
    secrets::guard,
};

/// Argument 1 of the program that works on checkouts.
pub const BENCH: &str = "__bench";

/// The most bytes of what the worker made.
pub const MADE_BYTES_MAX: u64 = 64 * 1024 * 1024;

pub fn order_file(folder: &AttemptFolder) -> PathBuf {
    folder.inbox().join("order.json")
}

/// Not in the outbox, which the keeper may change.
pub fn made_file(folder: &AttemptFolder) -> PathBuf {
    folder.path.join("made.json")
}

pub fn unreadable(path: &Path, error: &serde_json::Error) -> Error {
    Error::surroundings(format!("{}: {error}", path.display()), "forge doctor")
}

/// Writes down what the worker is to do.
pub fn write_order(disk: &dyn Disk, folder: &AttemptFolder, order: &Operation) -> io::Result<()> {
    let bytes = serde_json::to_vec(order).expect("an order can be written");
    replace_on(disk, &order_file(folder), &bytes)
}

/// The command line of the program that does it.
pub fn worker_argv(program: &str, folder: &AttemptFolder, secrets: &SecretsTable) -> Vec<String> {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let secrets = serde_json::to_string(secrets).expect("settings can be written");
    let files = [text(order_file(folder)), text(made_file(folder))];
    [&[program.to_owned(), BENCH.to_owned()][..], &files, &[secrets]].concat()
}

/// What the worker left: what it made, or why not.
pub fn operation_result(
    executor: &dyn Executor,
    folder: &AttemptFolder,
    ending: &Ending,
) -> Result<Option<Result<OperationResult, WorkspaceError>>, Error> {
    Ok(answer(executor, folder, ending)?.map(|answer| match answer.made {
        Made::Ok(made) => Ok(made),
        Made::Err(failure) => Err(failure),
    }))
}

/// Reads the answer from the ending of a job of the driver's, or from the file of the program.
fn answer(
    executor: &dyn Executor,
    folder: &AttemptFolder,
    ending: &Ending,
) -> Result<Option<OperationAnswer>, Error> {
    if let Some(result) = &ending.result {
        let answer = serde_json::from_str(result);
        return answer.map(Some).map_err(|error| unreadable(&folder.ending(), &error));
    }
    // Whoever did not end well left no file that could be believed.
    if ending.how != (ExitReason::Exited { code: 0 }) {
        return Ok(None);
    }
    // An older Forge left it in the outbox.
    let paths = [made_file(folder), folder.outbox().join("made.json")];
    let found = paths.iter().find_map(|path| Some((path, executor.open_output(path).ok()?)));
    found.map(|(path, file)| read_answer(path, file)).transpose()
}

/// What the program leaves: the result, and the order that it was given. Only this file is synced, so
/// that the order outlives the machine with it.
#[derive(Serialize, Deserialize)]
pub struct OperationAnswer {
    /// An older Forge left only the result.
    #[serde(default)]
    pub order: Option<Operation>,
    #[serde(flatten)]
    pub made: Made,
}

/// The result of an operation, in the words of older versions.
#[derive(Serialize, Deserialize)]
pub enum Made {
    Ok(OperationResult),
    Err(WorkspaceError),
}

impl OperationAnswer {
    /// The answer to an order.
    pub fn new(order: Operation, made: Result<OperationResult, WorkspaceError>) -> Self {
        let made = match made {
            Ok(made) => Made::Ok(made),
            Err(failure) => Made::Err(failure),
        };
        Self { order: Some(order), made }
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an answer can be written")
    }
}

fn read_answer(path: &Path, file: Box<dyn Output>) -> Result<OperationAnswer, Error> {
    let mut bytes = Vec::new();
    let read = file.take(MADE_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| Error::file(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(path, &error))
}

/// The order of a step that has ended, or that was only prepared for a keeper.
pub fn read_order(
    executor: &dyn Executor,
    disk: &dyn Disk,
    folder: &AttemptFolder,
    ending: Option<&Ending>,
) -> Result<Operation, Error> {
    let answer = ending.map(|ending| answer(executor, folder, ending)).transpose()?.flatten();
    if let Some(order) = answer.and_then(|answer| answer.order) {
        return Ok(order);
    }
    let path = order_file(folder);
    let bytes = disk.read(&path).map_err(|error| Error::file(&path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(&path, &error))
}

/// Writes an answer down so that it outlives the machine. Its name is synced with the folder of the step.
pub fn write_answer(disk: &dyn Disk, path: &Path, answer: &OperationAnswer) -> io::Result<()> {
    replace_on(disk, path, answer.to_json().as_bytes())?;
    disk.sync(path, SyncPoint::OperationResult)
}

/// The program that works on checkouts: reads an order, does it, and writes what came of it.
pub fn main(args: &[std::ffi::OsString]) -> std::process::ExitCode {
    let perform = || -> io::Result<()> {
        let (order, answer, secrets) = match args {
            [order, answer] => (order, answer, SecretsTable::default()),
            [order, answer, secrets] => {
                (order, answer, serde_json::from_slice(secrets.as_encoded_bytes())?)
            }
            _ => return Err(io::Error::other("it wants an order and a place for the answer")),
        };
        let order: Operation = serde_json::from_slice(&fs::read(order)?)?;
        let made = forge_workspace::perform_with_guard(&order, &mut guard(&secrets));
        write_answer(&RealDisk, Path::new(answer), &OperationAnswer::new(order, made))
    };
    let performed = perform();
    forge_workspace::end_readers();
    match performed {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            use io::Write as _;
            let _nobody_listens = writeln!(io::stderr(), "the workspace worker: {error}");
            std::process::ExitCode::from(70)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_executor::LocalExecutor;

    fn ending(how: &ExitReason, result: Option<&str>) -> Ending {
        let json = serde_json::json!({
            "forge": 1, "call": "a#1", "how": how, "started_at_ms": 1, "ended_at_ms": 2,
            "output_bytes": 0, "swept": 0, "transcript_cut": null, "result": result,
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_file_in_the_folder_of_a_step_counts_only_for_a_program_that_ended_well() {
        let home = tempfile::tempdir().unwrap();
        let folder = AttemptFolder::at(home.path());
        let answer = |ending: &Ending| {
            let executor = LocalExecutor::default();
            operation_result(&executor, &folder, ending).ok().flatten().and_then(Result::ok)
        };
        let (theirs, ours) = (r#"{"Ok":{"reused":"missing"}}"#, r#"{"Ok":{"reused":"copied"}}"#);
        fs::write(made_file(&folder), theirs).unwrap();
        let well = ExitReason::Exited { code: 0 };
        let made = |word: &str| serde_json::from_str::<OperationResult>(word).ok();
        assert_eq!(answer(&ending(&well, None)), made(r#"{"reused":"missing"}"#));
        assert_eq!(answer(&ending(&well, Some(ours))), made(r#"{"reused":"copied"}"#));
        for how in [ExitReason::TimedOut, ExitReason::Exited { code: 70 }] {
            assert_eq!(answer(&ending(&how, None)), None);
        }
    }
}
