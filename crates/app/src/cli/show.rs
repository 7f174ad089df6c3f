//! `forge show`: shows the result of a run, an artifact, or a change.

use std::process::ExitCode;

use clap::Args;
use forge_api::Error;
use forge_core::view::sanitize;

use super::common::{open_forge, print_json, run_and_name};
use crate::{
    character_set::CharacterSet,
    document::{Document, DocumentFormat},
    format,
    pager::{self, Paging, print_paged},
    terminal_info,
    terminal_output::{self, coloured_symbol},
    text::{
        result_text::{artifact_document, change_documents, next_steps, result_text},
        state_words::{DrivenBy, MergeState, TakenResults, has_result, listed_mark},
    },
};

/// The value of `--diff` without a unit; not a valid unit name.
const WHOLE: &str = "";

/// Show the result of a run: commits, checks, notes, files
#[derive(Args)]
pub(crate) struct ShowArgs {
    /// Name the run; the latest by default
    run: Option<String>,
    /// Print this file of the run, such as design.md
    artifact: Option<String>,
    /// Print the diff of the run, or of one task
    #[arg(
        long,
        value_name = "TASK",
        num_args = 0..=1,
        default_missing_value = WHOLE,
        conflicts_with = "artifact"
    )]
    diff: Option<String>,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["artifact", "diff"])]
    json: bool,
}

impl ShowArgs {
    /// Returns the arguments that show the result of a run.
    pub(crate) fn for_run(run: String) -> Self {
        Self { run: Some(run), artifact: None, diff: None, no_pager: false, json: false }
    }

    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let (run, artifact) = run_and_name(&forge, self.run.as_deref(), self.artifact.as_deref())?;
        let paging = Paging::from_no_pager(self.no_pager);
        if let Some(name) = &artifact {
            pager::show_documents(&[artifact_document(name, forge.artifact(&run, name)?)], paging);
        } else if let Some(unit) = &self.diff {
            let documents = if unit == WHOLE {
                vec![Document { bytes: forge.diff(&run)?, format: DocumentFormat::Diff }]
            } else {
                change_documents(forge.change(&run, &forge.find_unit("show", &run, unit)?)?)
            };
            let is_empty = |document: &Document| document.bytes.is_empty();
            if documents.iter().all(is_empty) {
                terminal_output::print_note("No changes yet.");
            }
            pager::show_documents(&documents, paging);
        } else {
            let mut result = forge.result(&run)?;
            forge.add_subjects(&mut result);
            if self.json {
                print_json(&result);
            } else {
                let view = forge.view(&run)?;
                let driven_by = DrivenBy::from_lock(forge.is_driven(&run));
                let merge = MergeState::new(&forge, &result.row, result.head.as_deref());
                let merged_into = match merge {
                    MergeState::Merged if has_result(&result.row) => Some(forge.checked_out()),
                    MergeState::Merged | MergeState::Undone | MergeState::Open => None,
                };
                let merged_into = merged_into.as_deref();
                let width = terminal_info::terminal_width();
                let mut text = result_text(&result, &view.asked, driven_by, merged_into, width);
                let next = match merge {
                    MergeState::Undone => Some(format!("forge undo {}", format::short_id(&run))),
                    MergeState::Merged | MergeState::Open => {
                        next_steps(&view, driven_by, merged_into)
                    }
                };
                if let Some(next) = next {
                    text = format!("{text}\n\n{}", format::hanging_parts("Next: ", &next, width));
                }
                let (symbol, hue, _) =
                    listed_mark(&result.row, driven_by, &TakenResults::default());
                let text = coloured_symbol(&sanitize(&text), symbol, Some(hue));
                print_paged(&CharacterSet::detect().encode_symbols(&text), paging);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
