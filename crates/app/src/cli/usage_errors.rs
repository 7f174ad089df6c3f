//! A request without quotes, which clap takes for unknown arguments: the same command with them.
//!
//! Not here: every other error of a command line, which clap prints itself, and validation of a parsed request.
//!
//! Invariant: only the command line is looked at.

use std::ffi::OsString;

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use forge_api::{Error, start::quoted};

/// The command that takes a request.
const RUN: &str = "run";

/// Returns an error that puts the request of `forge run` into quotes, if that is what clap stumbled over.
pub(crate) fn unquoted_request(
    error: &clap::Error,
    args: &[OsString],
    cli: &Command,
) -> Option<Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_word = error.kind() == ErrorKind::UnknownArgument && !word.starts_with('-');
    if !is_word || args.get(1)? != RUN {
        return None;
    }
    let run = cli.find_subcommand(RUN)?;
    let takes_value = |word: &str| {
        let name = word.trim_start_matches('-');
        let mut flags = run.get_arguments();
        flags.any(|flag| flag.get_long() == Some(name) && flag.get_action().takes_values())
    };
    let (mut command, mut request) = (vec!["forge run".to_owned()], Vec::new());
    let mut words = args[2..].iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        if word == "--" {
            request.extend(words.by_ref());
        } else if word.starts_with("--") {
            command.push(quoted(&word));
            if takes_value(&word) {
                command.extend(words.next().map(|value| quoted(&value)));
            }
        } else {
            request.push(word);
        }
    }
    command.push(quoted(&request.join(" ")));
    let what = format!("the request is {} words; put it into quotes", request.len());
    Some(Error::usage(what, command.join(" ")))
}
