//! What the definitions of `forge run` refuse, told as every other refusal of it: the reason, and two commands
//! that would be taken.
//!
//! Not here: what other commands refuse, which is told as it comes, and what is wrong with a request
//! that could be read (`start/words.rs` of the runtime).
//!
//! Invariant: nothing was looked at but the words of the command line.

use std::ffi::OsString;

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use forge_api::{
    Trouble,
    start::{examples, quoted},
};

use super::common::EXAMPLE_REQUEST;

/// The command whose refusals are told here.
const RUN: &str = "run";
/// Takes no flags at all.
const PLAIN: &str = "forge run 'show the total at the end of the list'";
/// Takes some.
const WITH_FLAGS: &str = "forge run --effort M --auto 'show the total at the end of the list'";
/// Takes its request from a file.
const BY_ISSUE: &str = "forge run --issue issue.json";

/// Why the words are no `forge run`, if that is what they were meant to be.
#[expect(clippy::wildcard_enum_match_arm, reason = "clap may come to know more kinds of errors")]
pub(super) fn run_usage_error(
    error: &clap::Error,
    args: &[OsString],
    cli: &Command,
) -> Option<Trouble> {
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
            Trouble::usage(what, with_help(WITH_FLAGS, PLAIN))
        }
        ErrorKind::ArgumentConflict => match named(ContextKind::PriorArg) {
            Some(prior) if prior != flag => Trouble::usage(
                contradiction(flag, prior),
                examples(&[&example_with(prior), &example_with(flag)]),
            ),
            Some(_) | None => Trouble::usage(
                format!("`{flag}` is given twice"),
                with_help(&example_with(flag), PLAIN),
            ),
        },
        ErrorKind::MissingRequiredArgument => {
            let what = "nothing is asked for: say in quotes what you want";
            Trouble::usage(what, examples(&[PLAIN, BY_ISSUE]))
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
            Trouble::usage(format!("{what}{can_be}"), examples_with_value(flag))
        }
        _ => {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            let what = first.strip_prefix("error: ").unwrap_or(first).to_owned();
            Trouble::usage(what, with_help(WITH_FLAGS, PLAIN))
        }
    };
    Some(refusal)
}

/// Two flags, or a flag and the request, that say different things.
fn contradiction(one: &str, other: &str) -> String {
    let named = |word: &str| {
        if word.contains("REQUEST") { "a request in words".to_owned() } else { format!("`{word}`") }
    };
    format!("{} and {} contradict each other", named(one), named(other))
}

/// Two commands, and where all flags are told.
fn with_help(first: &str, second: &str) -> String {
    format!("{}\n   all flags: forge run --help", examples(&[first, second]))
}

/// A command with a flag, which is named as in the help: `--budget <AMOUNT>`.
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

/// Two commands with a value for a flag.
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

/// Two values that a flag takes.
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

/// A request without quotes: the same command with them.
fn unquoted_request(run: &Command, words: &[String]) -> Trouble {
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
    Trouble::usage(
        format!("the request is {} words; put it into quotes", request.len()),
        examples(&[&flags.join(" "), BY_ISSUE]),
    )
}
