//! Turns clap's errors about `forge run` into the form of all its other errors: the reason, and two valid commands.
//!
//! Not here: errors of other commands, which clap prints itself, and validation of a parsed request.
//!
//! Invariant: only the command line is looked at.

use std::ffi::OsString;

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use forge_api::{
    Error,
    start::{examples, quoted},
};

use super::common::EXAMPLE_REQUEST;

/// The command whose errors are rewritten.
const RUN: &str = "run";
/// An example without flags.
const PLAIN: &str = "forge run 'show the total at the end of the list'";
/// An example with flags.
const WITH_FLAGS: &str = "forge run --effort M --auto 'show the total at the end of the list'";
/// An example that takes its request from a file.
const BY_ISSUE: &str = "forge run --issue issue.json";

/// Rewrites the error if the arguments call `forge run`.
#[expect(clippy::wildcard_enum_match_arm, reason = "clap may come to know more kinds of errors")]
pub(crate) fn run_usage_error(
    error: &clap::Error,
    args: &[OsString],
    cli: &Command,
) -> Option<Error> {
    if !error.use_stderr() || args.get(1)? != RUN {
        return None;
    }
    let run = cli.find_subcommand(RUN)?;
    let words: Vec<String> =
        args[2..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.as_str()),
        Some(ContextValue::Strings(names)) => names.first().map(String::as_str),
        Some(_) | None => None,
    };
    let flag = named(ContextKind::InvalidArg).unwrap_or_default();
    let refusal = match error.kind() {
        ErrorKind::UnknownArgument if !flag.starts_with('-') => unquoted_request(run, &words),
        ErrorKind::UnknownArgument => {
            let near = named(ContextKind::SuggestedArg);
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let what = format!("`forge run` has no flag `{flag}`{near}");
            Error::usage(what, with_help(WITH_FLAGS, PLAIN))
        }
        ErrorKind::ArgumentConflict => match named(ContextKind::PriorArg) {
            Some(prior) if prior != flag => Error::usage(
                contradiction(flag, prior),
                examples(&[&example_with(prior), &example_with(flag)]),
            ),
            Some(_) | None => Error::usage(
                format!("`{flag}` is given twice"),
                with_help(&example_with(flag), PLAIN),
            ),
        },
        ErrorKind::MissingRequiredArgument => {
            let what = "nothing is asked for: say in quotes what you want";
            Error::usage(what, examples(&[PLAIN, BY_ISSUE]))
        }
        ErrorKind::InvalidValue => {
            let what = match named(ContextKind::InvalidValue) {
                Some("") | None => format!("`{flag}` needs a value"),
                Some(value) => format!("`{flag}` cannot be `{value}`"),
            };
            let can_be = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(values)) if !values.is_empty() => {
                    format!("; it can be {}", values.join(" or "))
                }
                Some(_) | None => String::new(),
            };
            Error::usage(format!("{what}{can_be}"), examples_with_value(flag))
        }
        _ => {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            let what = first.strip_prefix("error: ").unwrap_or(first).to_owned();
            Error::usage(what, with_help(WITH_FLAGS, PLAIN))
        }
    };
    Some(refusal)
}

/// Describes two flags, or a flag and the request, that conflict.
fn contradiction(one: &str, other: &str) -> String {
    let named = |word: &str| {
        if word.contains("REQUEST") { "a request in words".to_owned() } else { format!("`{word}`") }
    };
    format!("{} and {} contradict each other", named(one), named(other))
}

/// Joins two examples and the command that lists all flags.
fn with_help(first: &str, second: &str) -> String {
    format!("{}\n   all flags: forge run --help", examples(&[first, second]))
}

/// Builds an example with a flag, which is given as in the help: `--budget <AMOUNT>`.
fn example_with(flag: &str) -> String {
    if flag.contains("REQUEST") {
        return PLAIN.to_owned();
    }
    let name = flag.split([' ', '=']).next().unwrap_or_default();
    match example_values(name) {
        _ if name == "--issue" => BY_ISSUE.to_owned(),
        Some([value, _]) => format!("forge run {name} {value} {EXAMPLE_REQUEST}"),
        None => format!("forge run {name} {EXAMPLE_REQUEST}"),
    }
}

/// Builds two examples with a value for a flag.
fn examples_with_value(flag: &str) -> String {
    let name = flag.split([' ', '=']).next().unwrap_or_default();
    match example_values(name) {
        Some(values) => {
            let commands =
                values.map(|value| format!("forge run {name} {value} {EXAMPLE_REQUEST}"));
            examples(&[&commands[0], &commands[1]])
        }
        None => examples(&[&example_with(flag), PLAIN]),
    }
}

/// Two valid values of a flag.
fn example_values(name: &str) -> Option<[&'static str; 2]> {
    match name {
        "--effort" => Some(["S", "M"]),
        "--branch" => Some(["new", "current"]),
        "--budget" => Some(["2.50", "10"]),
        "--param" => Some(["effort=S", "effort=M"]),
        "--flow" => Some(["feature", "change"]),
        "--agent" => Some(["claude", "scripted"]),
        "--scenario" => Some(["scenario.toml", "demo/scenario.toml"]),
        _ => None,
    }
}

/// Suggests the same command with the request in quotes.
fn unquoted_request(run: &Command, words: &[String]) -> Error {
    let takes_value = |word: &str| {
        let name = word.trim_start_matches('-');
        let mut flags = run.get_arguments();
        flags.any(|flag| flag.get_long() == Some(name) && flag.get_action().takes_values())
    };
    let (mut flags, mut request) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            request.extend(rest.by_ref().cloned());
        } else if word.starts_with("--") {
            flags.push(quoted(word));
            if takes_value(word) {
                flags.extend(rest.next().map(|value| quoted(value)));
            }
        } else {
            request.push(word.clone());
        }
    }
    flags.insert(0, "forge run".to_owned());
    flags.push(quoted(&request.join(" ")));
    Error::usage(
        format!("the request is {} words; put it into quotes", request.len()),
        examples(&[&flags.join(" "), BY_ISSUE]),
    )
}
