//! `forge brief`: exactly what an agent was told, and what it was given to read.

use std::{fmt::Write as _, process::ExitCode};

use clap::Args;
use forge_runtime::{
    Trouble,
    watch::{Told, TurnName, Which},
};

use super::common::{doors, say_json};
use crate::{
    document::{self, Form, Piece},
    pager::{Paging, page},
    terminal_output,
};

/// Show exactly what an agent was told, and what it could read
#[derive(Args)]
pub(crate) struct Brief {
    /// The run
    run: String,
    /// A unit, an attempt or a review, or a part of its name: T2, review#1
    unit: String,
    /// What was told at this attempt; the latest if none is named
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// What the reviewer of this gate was told
    #[arg(long, value_name = "NAME")]
    gate: Option<String>,
    /// Print this file that the agent could read
    #[arg(long, value_name = "NAME")]
    inbox: Option<String>,
    /// Use no pager, however long it is
    #[arg(long)]
    no_pager: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "inbox")]
    json: bool,
}

impl Brief {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = doors.resolve(&self.run)?;
        let which = Which { attempt: self.attempt, gate: self.gate };
        let told = doors.told(&run, &self.unit, &which)?;
        let paging = Paging::of(self.no_pager);
        if let Some(name) = &self.inbox {
            let bytes = doors.inbox_file(&told, name)?;
            document::show(&[Piece { bytes, form: Form::Text }], paging);
        } else if self.json {
            say_json(&told);
        } else {
            // Word for word, also on a terminal: it is what the agent read.
            page(&terminal_output::sanitize(&in_words(&told)), paging);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The words as they were, each turn below a line that says which it is.
fn in_words(told: &Told) -> String {
    let mut text = String::new();
    let who = match (&told.role, &told.agent) {
        (Some(role), Some(agent)) => format!(", {role} played by {agent}"),
        (Some(role), None) => format!(", {role}"),
        (None, _) => String::new(),
    };
    if let Some(due) = &told.due {
        let _ =
            write!(text, "--- {due} is due, but has not begun; before it was {}:\n\n", told.call);
    }
    let several = told.turns.len() > 1;
    for (position, turn) in told.turns.iter().enumerate() {
        let before = if position == 0 { "" } else { "\n\n" };
        let which = match (several, turn.turn) {
            (false, TurnName::First) => String::new(),
            (_, turn) => format!(": {}", turn_in_words(turn)),
        };
        let _ = write!(text, "{before}--- {}{who}{which}\n\n{}", told.call, turn.brief.trim_end());
    }
    match (&told.inbox_folder, told.inbox.is_empty()) {
        (None, _) => text.push_str("\n\n--- its inbox is gone"),
        (Some(_), true) => text.push_str("\n\n--- its inbox is empty"),
        (Some(_), false) => {
            let _ = write!(text, "\n\n--- its inbox (--inbox NAME prints one)\n");
            for file in &told.inbox {
                let _ = write!(text, "\n{:>9}  {}", size(file.bytes), file.name);
            }
        }
    }
    text
}

/// Bytes in a few letters.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} KiB", bytes / KIB),
        _ => format!("{} MiB", bytes / KIB / KIB),
    }
}

const fn turn_in_words(turn: TurnName) -> &'static str {
    match turn {
        TurnName::First => "first turn",
        TurnName::Resumed => "in the session that was interrupted",
        TurnName::Anew => "anew, because the session was gone",
        TurnName::Repair => "repair turn, because the result could not be used",
    }
}
