//! `forge run`: builds a request from the command line and starts its run.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use forge_api::{
    Error,
    start::{BranchChoice, Discussion, OnMissing, PullRequest, QUICK_FLOW, Request, quoted},
};
use forge_core::event::{Approvals, Detail};

use super::{
    common::{EXAMPLE_REQUEST, open_forge, parse_budget, print_json},
    drive_mode::{DriveArgs, OutputFormat, start_and_drive},
    dry_run_text,
};
use crate::{editor::edit_text, terminal_info, terminal_output};

/// Start a run, and show it until it is done or needs you
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RunArgs {
    /// Request, or an issue's URL; `-` reads stdin, none opens $EDITOR
    #[arg(conflicts_with_all = ["issue", "file"])]
    request: Option<String>,
    /// Read the request from a file
    #[arg(long, short = 'F', value_name = "FILE", conflicts_with = "issue")]
    file: Option<PathBuf>,
    /// Read the request from a saved issue (JSON)
    #[arg(long, value_name = "FILE")]
    issue: Option<PathBuf>,
    /// Make a small change: implement, check, review
    #[arg(long, conflicts_with = "flow")]
    quick: bool,
    /// Use this flow, see `forge flow list`
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Set the size: S, M or L [default: detected]
    #[arg(long, value_name = "SIZE")]
    effort: Option<String>,
    /// Set a parameter of the flow, such as effort=S
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Approve the design if its review passed
    #[arg(long)]
    auto: bool,
    /// Accept defaults instead of asking
    #[arg(long, short = 'y')]
    yes: bool,
    /// Answer a few questions about the request first
    #[arg(long)]
    discuss: bool,
    /// Choose the branch of the result: new or current
    #[arg(long, value_name = "WHICH", hide_possible_values = true)]
    branch: Option<BranchArg>,
    /// Open the pull request at the end of the run
    #[arg(long, conflicts_with = "no_pr")]
    pr: bool,
    /// Write no text for a pull request
    #[arg(long)]
    no_pr: bool,
    /// Add details for debugging to the summary
    #[arg(long)]
    debug: bool,
    /// Cap the cost of the run in dollars [default: 10]
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    budget: Option<String>,
    /// Use the scripted agent with this file
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Use this agent; `forge agents` lists them
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    agent: Option<String>,
    /// Use this model for all agents of the run
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How strong models are: light, standard, heavy, max
    #[arg(long, value_name = "TIER")]
    tier: Option<String>,
    /// Print what would run, and do nothing
    #[arg(short = 'n', long = "dry-run")]
    dry: bool,
    #[command(flatten)]
    drive_args: DriveArgs,
}

/// The name that stands for standard input.
const STDIN: &str = "-";
/// The last line of a new request in the editor, which is not a part of it.
const EDITOR_HINT: &str =
    "\n<!-- Say what you want above this line, save, and close the editor. -->\n";
/// The flags of every command that take a value, and those that take none.
const WITH_VALUE: [&str; 2] = ["-C", "--color"];
const WITHOUT_VALUE: [&str; 5] = ["-q", "--quiet", "-v", "-vv", "--verbose"];

/// Returns the arguments of `forge run` if a request was given without it: the first argument that is not a flag or the
/// value of one has a space in it or is an address, so it is not a command.
pub(crate) fn with_run(args: &[OsString]) -> Option<Vec<OsString>> {
    let (mut at, mut may_be_value) = (1, false);
    loop {
        let word = args.get(at)?.to_str()?;
        let is_request = word.trim().is_empty()
            || word.trim().contains(char::is_whitespace)
            || word.contains("://");
        match word {
            flag if WITH_VALUE.contains(&flag) => at += 1,
            flag if WITHOUT_VALUE.contains(&flag) => {}
            flag if flag.starts_with('-') => may_be_value = !flag.contains('='),
            _ if is_request => break,
            _ if may_be_value => may_be_value = false,
            _ => return None,
        }
        at += 1;
    }
    let mut args = args.to_vec();
    args.insert(1, "run".into());
    Some(args)
}

/// For which branch the result is.
#[derive(Clone, Copy, ValueEnum)]
enum BranchArg {
    New,
    Current,
}

impl RunArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let request = self.request()?;
        let forge = open_forge()?;
        if self.dry {
            let dry = forge.dry_run(&request)?;
            match self.drive_args.output_format() {
                OutputFormat::Json => print_json(&dry),
                OutputFormat::Sentences => terminal_output::print(&dry_run_text::dry_run_text(
                    &dry,
                    terminal_info::terminal_width(),
                )),
            }
            return Ok(ExitCode::SUCCESS);
        }
        start_and_drive(&forge, &request, &[], &self.drive_args)
    }

    /// Reads the request: as it was typed, from standard input, from a file, or from the user's editor.
    fn text(&self) -> Result<String, Error> {
        let stdin = Path::new(STDIN);
        let bytes = match (&self.request, &self.file, &self.issue) {
            (_, _, Some(_)) => return Ok(String::new()),
            (Some(text), _, None) if text != STDIN => return Ok(text.clone()),
            (None, Some(path), None) if path != stdin => fs::read(path).map_err(|error| {
                if error.kind() != io::ErrorKind::NotFound {
                    return Error::file(path, &error);
                }
                Error::usage(
                    format!("cannot read the request: {} does not exist", path.display()),
                    format!("forge run -F FILE\n   or: forge run {EXAMPLE_REQUEST}"),
                )
            })?,
            (Some(_), _, None) | (None, Some(_), None) => {
                let mut bytes = Vec::new();
                let read = io::stdin().lock().read_to_end(&mut bytes);
                read.map_err(|error| Error::file(Path::new("standard input"), &error))?;
                bytes
            }
            (None, None, None) if self.dry => {
                return Err(Error::usage("no request given", "forge run -n \"what you want\""));
            }
            (None, None, None) => {
                let otherwise = Error::usage(
                    "no request given",
                    format!("forge run {EXAMPLE_REQUEST}\n   or: forge run -F request.md"),
                );
                edit_text("request.md", EDITOR_HINT.as_bytes(), otherwise)?
            }
        };
        let text = String::from_utf8(bytes).map_err(|_| {
            let what = "the request is not UTF-8 text";
            Error::usage(what, format!("forge run {EXAMPLE_REQUEST}"))
        })?;
        Ok(text.replace(EDITOR_HINT, "").trim().to_owned())
    }

    fn request(&self) -> Result<Request, Error> {
        Ok(Request {
            about: None,
            older: None,
            text: self.text()?,
            issue: self.issue.clone(),
            flow: if self.quick { Some(QUICK_FLOW.to_owned()) } else { self.flow.clone() },
            params: parse_params(&self.params, self.request.as_deref())?,
            effort: self.effort.clone(),
            approvals: if self.auto { Approvals::Automatic } else { Approvals::ByPeople },
            budget: match &self.budget {
                Some(text) => Some(parse_budget(text)?),
                None => None,
            },
            scenario: self.scenario.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            tier: self.tier.clone(),
            branch: self.branch.map(|branch| match branch {
                BranchArg::New => BranchChoice::New,
                BranchArg::Current => BranchChoice::Current,
            }),
            on_missing: if self.yes { OnMissing::UseDetected } else { OnMissing::Ask },
            discussion: if self.discuss { Discussion::First } else { Discussion::No },
            pull_request: match (self.pr, self.no_pr) {
                (true, _) => PullRequest::AtEnd,
                (false, true) => PullRequest::Never,
                (false, false) => PullRequest::AsSet,
            },
            detail: if self.debug { Detail::Debug } else { Detail::Plain },
            typed: typed(),
        })
    }
}

/// Returns what was typed after `forge`, with the `run` that a request alone stands for.
fn typed() -> Vec<String> {
    let args: Vec<OsString> = env::args_os().collect();
    let args = with_run(&args).unwrap_or(args);
    args.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

fn parse_params(
    given: &[String],
    request: Option<&str>,
) -> Result<BTreeMap<String, String>, Error> {
    let request = request.map_or_else(|| EXAMPLE_REQUEST.to_owned(), quoted);
    let wrong = |what: String| Error::usage(what, format!("forge run --param effort=S {request}"));
    let mut params = BTreeMap::new();
    for param in given {
        let Some((name, value)) = param.split_once('=') else {
            return Err(wrong(format!("`--param {param}` has no `=`")));
        };
        if params.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(wrong(format!("`{name}` is given twice")));
        }
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_alone_is_that_of_run_with_flags_on_either_side() {
        let run = |line: &str| {
            let args: Vec<OsString> = line.split('|').map(OsString::from).collect();
            with_run(&args).map(|args| args.join("|".as_ref()).into_string().unwrap())
        };
        let found = |line: &str| run(line).expect(line);
        assert_eq!(found("forge|add a list"), "forge|run|add a list");
        assert_eq!(found("forge|--quick|add a list"), "forge|run|--quick|add a list");
        assert_eq!(found("forge|--budget|2|-y|add it"), "forge|run|--budget|2|-y|add it");
        assert_eq!(found("forge|-C|a b|-v|add it|-n"), "forge|run|-C|a b|-v|add it|-n");
        for line in ["forge", "forge|--quick|improve", "forge|-v|log|a b", "forge|status|a b"] {
            assert_eq!(run(line), None, "{line}");
        }
    }
}
