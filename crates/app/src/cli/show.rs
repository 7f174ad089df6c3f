//! `forge show`: what a run has come to: what landed, what proves it, what it wrote.

use std::process::ExitCode;

use clap::Args;
use forge_runtime::Trouble;

use super::common::{doors, named_or_latest, say_json};
use crate::{
    document::{self, Form, Piece},
    pager::{Paging, page},
    terminal_output,
    text::result_text::{changed, next_steps, result, unit_id, written},
};

/// Stands for the run as a whole, which is no unit's name.
const WHOLE: &str = "";

/// Show what a run has come to: what landed, its proofs, its files
#[derive(Args)]
pub(crate) struct Show {
    /// The run; the latest if none is named
    run: Option<String>,
    /// Print this artifact
    artifact: Option<String>,
    /// Print the change of the run, or what one unit changed
    #[arg(
        long,
        value_name = "UNIT",
        num_args = 0..=1,
        default_missing_value = WHOLE,
        conflicts_with = "artifact"
    )]
    diff: Option<String>,
    /// Use no pager, however long it is
    #[arg(long)]
    no_pager: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["artifact", "diff"])]
    json: bool,
}

impl Show {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = named_or_latest(&doors, self.run.as_deref())?;
        let paging = Paging::of(self.no_pager);
        if let Some(name) = &self.artifact {
            document::show(&[written(name, doors.artifact(&run, name)?)], paging);
        } else if let Some(unit) = &self.diff {
            let pieces = if unit == WHOLE {
                vec![Piece { bytes: doors.diff(&run)?, form: Form::Diff }]
            } else {
                changed(doors.change(&run, &unit_id(unit)?)?)
            };
            document::show(&pieces, paging);
        } else {
            let view = doors.result(&run)?;
            if self.json {
                say_json(&view);
            } else {
                let mut text = result(&view, terminal_output::terminal_width());
                let next = next_steps(&view);
                if !next.is_empty() {
                    text = format!("{text}\n\n{}", next.join("\n"));
                }
                page(&terminal_output::sanitize(&text), paging);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
