//! `forge run`: what a person wants, read from the command line, and the start of its run.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use clap::Args;
use forge_core::{
    event::{Approvals, Record},
    money::Money,
};
use forge_runtime::{Trouble, start::Request};

use super::{
    asks::Terminal,
    doors,
    driving::{Form, leave},
};
use crate::screen;

/// Start a run and drive it until it is done or needs you
#[derive(Args)]
pub(crate) struct Run {
    /// What you want, in plain words
    request: String,
    /// The flow, see `forge flow list`
    #[arg(long, default_value = "draft", value_name = "NAME")]
    flow: String,
    /// A choice that the flow offers, such as effort=S
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Pass checkpoints that allow it if all reviews pass
    #[arg(long)]
    auto: bool,
    /// What the run may cost in dollars, such as 2.50
    #[arg(long, value_name = "AMOUNT")]
    budget: Option<String>,
    /// What the scripted agent plays from
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Who plays the roles, see `forge agents`
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    agent: Option<String>,
    /// Print a JSON object for each record and for the end
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let request = Request {
            text: self.request.clone(),
            flow: self.flow.clone(),
            params: params(&self.params)?,
            approvals: if self.auto { Approvals::Automatic } else { Approvals::ByPeople },
            budget: self.budget.as_deref().map(amount).transpose()?,
            scenario: self.scenario.clone(),
            agent: self.agent.clone(),
        };
        let form = Form::of(self.json);
        let doors = doors()?;
        let begun = doors.begin(&request, &mut Terminal)?;
        let run = begun.run.clone();
        form.began(&run);
        for note in &begun.notes {
            screen::warn(&format!("note: {note}"));
        }
        let left = begun.drive(&mut |record: &Record| form.tell(&run, record))?;
        leave(&doors, left, form)
    }
}

fn params(given: &[String]) -> Result<BTreeMap<String, String>, Trouble> {
    let mut params = BTreeMap::new();
    for param in given {
        let Some((name, value)) = param.split_once('=') else {
            let what = format!("`--param {param}` has no `=`");
            return Err(Trouble::usage(what, "--param NAME=VALUE"));
        };
        if params.insert(name.to_owned(), value.to_owned()).is_some() {
            let what = format!("`{name}` is given twice");
            return Err(Trouble::usage(what, "give each --param once"));
        }
    }
    Ok(params)
}

pub(crate) fn amount(text: &str) -> Result<Money, Trouble> {
    let text = text.strip_prefix('$').unwrap_or(text);
    Money::parse(text)
        .filter(|amount| amount.0 > 0)
        .ok_or_else(|| Trouble::usage(format!("`{text}` is no amount in dollars"), "--budget 2.50"))
}
