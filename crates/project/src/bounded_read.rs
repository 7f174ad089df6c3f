//! Reader of files that people write: flows, roles, settings, scenarios.
//!
//! Invariant: never more than was allowed is read, and nothing but a regular file, so that a pipe
//! cannot block the caller.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use crate::Error;

/// Reads a file; nothing if there is no such file.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<Option<String>, Error> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(Error::file(path, &error)),
    };
    if !meta.is_file() {
        let what = format!("{} is not a file", path.display());
        return Err(Error::usage(what, "put a text file there, or take it away"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes));
    read.map_err(|error| Error::file(path, &error))?;
    if bytes.len() as u64 > bytes_max {
        let what = format!("{} is larger than {bytes_max} bytes", path.display());
        return Err(Error::usage(what, "make it smaller"));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        let what = format!("{}, line {line}: it is not UTF-8 text", path.display());
        Error::usage(what, "save it as UTF-8, then run the same command again")
    })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
