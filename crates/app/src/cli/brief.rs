//! `forge brief`: prints the brief of an agent and its inbox.

use std::{fmt::Write as _, process::ExitCode};

use clap::Args;
use forge_api::{
    Error,
    watch::{Briefing, CallSelector, events::TurnName},
};
use forge_core::{id::CallId, view::sanitize};

use super::common::{open_forge, print_json, run_and_name};
use crate::{
    document::{Document, DocumentFormat},
    format,
    pager::{self, Paging, print_paged},
};

/// Print the exact prompt of an agent, and its input files
#[derive(Args)]
#[command(override_usage = "forge brief [OPTIONS] [RUN] [TASK]")]
pub(crate) struct BriefArgs {
    /// Name the run; the latest by default
    run: Option<String>,
    /// Name the task or stage: T2, design, or review#1 for one review
    task: Option<String>,
    /// Choose an attempt; the latest by default
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Print the brief of the reviewer of this check
    #[arg(long, value_name = "NAME")]
    gate: Option<String>,
    /// Print this file that the agent could read
    #[arg(long, value_name = "NAME")]
    inbox: Option<String>,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "inbox")]
    json: bool,
}

impl BriefArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let (run, task) = run_and_name(&forge, self.run.as_deref(), self.task.as_deref())?;
        let tried = forge.view(&run)?.units;
        let tried: Vec<_> = tried.into_iter().filter(|unit| unit.attempt > 0).collect();
        let only = match tried.as_slice() {
            [only] => Some(only.unit.clone()),
            [] | [_, _, ..] => None,
        };
        let Some(task) = task.or(only) else {
            let id = format::short_id(&run);
            let what = format!("name the task or stage of {id} whose brief you want");
            return Err(Error::usage(
                what,
                format!("forge brief {id} TASK (forge status {id} lists them)"),
            ));
        };
        let which = CallSelector { attempt: self.attempt, gate: self.gate };
        let briefing = forge.briefing(&run, &task, &which)?;
        let paging = Paging::from_no_pager(self.no_pager);
        if let Some(name) = &self.inbox {
            let bytes = forge.inbox_file(&briefing, name)?;
            pager::show_documents(&[Document { bytes, format: DocumentFormat::Text }], paging);
        } else if self.json {
            print_json(&briefing);
        } else {
            // Verbatim, also on a terminal: it is what the agent read.
            print_paged(&sanitize(&brief_text(&briefing)), paging);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Formats the briefs verbatim, each turn below a line that names it.
fn brief_text(briefing: &Briefing) -> String {
    let mut text = String::new();
    let who = match (&briefing.role, &briefing.agent) {
        (Some(role), Some(agent)) => {
            let model = briefing.model.as_ref().map(|model| format!(" ({model})"));
            format!(", {role}, agent {agent}{}", model.unwrap_or_default())
        }
        (Some(role), None) => format!(", {role}"),
        (None, _) => String::new(),
    };
    if let Some(due) = &briefing.due {
        let _ = write!(
            text,
            "--- {} has not started yet; the call before it is {}:\n\n",
            call_label(due),
            call_label(&briefing.call)
        );
    }
    let several = briefing.turns.len() > 1;
    for (position, turn) in briefing.turns.iter().enumerate() {
        let before = if position == 0 { "" } else { "\n\n" };
        let which = match (several, turn.turn) {
            (false, TurnName::First) => String::new(),
            (_, turn) => format!(": {}", turn_text(turn)),
        };
        let call = call_label(&briefing.call);
        let _ = write!(text, "{before}--- {call}{who}{which}\n\n{}", turn.brief.trim_end());
    }
    match (&briefing.inbox_folder, briefing.inbox.is_empty()) {
        (None, _) => text.push_str("\n\n--- its inbox is gone"),
        (Some(_), true) => text.push_str("\n\n--- its inbox is empty"),
        (Some(_), false) => {
            let _ = write!(text, "\n\n--- its inbox (--inbox NAME prints one)\n");
            for file in &briefing.inbox {
                let _ = write!(text, "\n{:>9}  {}", byte_size(file.bytes), file.name);
            }
        }
    }
    text
}

/// Returns the name of a call on screens.
fn call_label(call: &str) -> String {
    call.parse::<CallId>().map_or_else(|_| call.to_owned(), |call| call.label())
}

/// Formats a number of bytes with a unit.
fn byte_size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} KiB", bytes / KIB),
        _ => format!("{} MiB", bytes / KIB / KIB),
    }
}

const fn turn_text(turn: TurnName) -> &'static str {
    match turn {
        TurnName::First => "first turn",
        TurnName::Resumed => "in the session that was interrupted",
        TurnName::Anew => "again, because the session was gone",
        TurnName::Repair => "repair turn, because the result could not be used",
    }
}
