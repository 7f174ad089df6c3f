//! `forge run`: builds a request from the command line and starts its run.

use std::{collections::BTreeMap, env, path::PathBuf, process::ExitCode};

use clap::{Args, ValueEnum};
use forge_api::{
    Error,
    start::{BranchChoice, Discussion, OnMissing, PullRequest, Request},
};
use forge_core::event::{Approvals, Detail};

use super::{
    common::{EXAMPLE_REQUEST, open_forge, parse_budget, print_json},
    drive_mode::{DriveArgs, OutputFormat, start_and_drive},
    dry_run_text,
};
use crate::{terminal_info, terminal_output};

/// Start a run, and drive it until it is done or needs you
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RunArgs {
    /// Say what you want, in plain words
    #[arg(required_unless_present = "issue", conflicts_with = "issue")]
    request: Option<String>,
    /// Read the request from a GitHub or Jira issue (JSON)
    #[arg(long, value_name = "FILE")]
    issue: Option<PathBuf>,
    /// Use this flow; `forge flow list` lists them
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Set how thorough to be: S, M or L
    #[arg(long, value_name = "SIZE")]
    effort: Option<String>,
    /// Set a parameter of the flow, such as effort=S
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Approve the design and tasks if all reviews pass
    #[arg(long)]
    auto: bool,
    /// Accept defaults instead of asking
    #[arg(long, short)]
    yes: bool,
    /// Answer a few questions about the request first
    #[arg(long)]
    discuss: bool,
    /// Choose the branch for the result: new or current
    #[arg(long, value_name = "WHICH", hide_possible_values = true)]
    branch: Option<BranchArg>,
    /// Write no text for a pull request
    #[arg(long)]
    no_pr: bool,
    /// Add details for debugging to the summary
    #[arg(long)]
    debug: bool,
    /// Cap the cost of the run in dollars, such as 2.50
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
    /// Print what would run, and do nothing
    #[arg(short = 'n', long = "dry-run")]
    dry: bool,
    #[command(flatten)]
    drive_args: DriveArgs,
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

    fn request(&self) -> Result<Request, Error> {
        Ok(Request {
            older: None,
            text: self.request.clone().unwrap_or_default(),
            issue: self.issue.clone(),
            flow: self.flow.clone(),
            params: parse_params(&self.params)?,
            effort: self.effort.clone(),
            approvals: if self.auto { Approvals::Automatic } else { Approvals::ByPeople },
            budget: match &self.budget {
                Some(text) => Some(parse_budget(text)?),
                None => None,
            },
            scenario: self.scenario.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            branch: self.branch.map(|branch| match branch {
                BranchArg::New => BranchChoice::New,
                BranchArg::Current => BranchChoice::Current,
            }),
            on_missing: if self.yes { OnMissing::UseDetected } else { OnMissing::Ask },
            discussion: if self.discuss { Discussion::First } else { Discussion::No },
            pull_request: if self.no_pr { PullRequest::Never } else { PullRequest::AsFlowSays },
            detail: if self.debug { Detail::Debug } else { Detail::Plain },
            typed: env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
        })
    }
}

fn parse_params(given: &[String]) -> Result<BTreeMap<String, String>, Error> {
    let wrong =
        |what: String| Error::usage(what, format!("forge run --param effort=S {EXAMPLE_REQUEST}"));
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
