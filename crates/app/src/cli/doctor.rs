//! `forge doctor`: reports problems of the environment and the journal, and repairs some.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use forge_api::{
    Error,
    doctor::{Consent, Health, HealthFinding, Salvaged, examine_outside},
    forge::{Forge, Rebuilt},
};
use forge_core::view::sanitize;

use super::{
    common::{current_dir, open_forge, print_json},
    prompt::{Confirmation, confirm},
};
use crate::{
    format,
    palette::Hue,
    terminal_output::{self, coloured_symbol, fact_line},
};

/// Check the setup, and say how to fix what is wrong
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct DoctorArgs {
    /// Rewrite the files of all runs from the journal
    #[arg(long, conflicts_with = "salvage")]
    rebuild: bool,
    /// Export all intact entries into this new folder
    #[arg(long, value_name = "FOLDER")]
    salvage: Option<PathBuf>,
    /// Fix what can be fixed without loss, and say what
    #[arg(long, conflicts_with_all = ["salvage", "rebuild"])]
    fix: bool,
    /// Repair a damaged journal
    #[arg(long, conflicts_with_all = ["salvage", "rebuild", "fix"])]
    restore: bool,
    /// Rename settings of older versions without asking
    #[arg(long, short, requires = "fix")]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let is_look = self.salvage.is_none() && !(self.restore || self.rebuild || self.fix);
        let forge = match open_forge() {
            Ok(forge) => forge,
            Err(error) if is_look => {
                return Ok(self.print_findings(&examine_outside(&current_dir()?, error), 0));
            }
            Err(error) => return Err(error),
        };
        if let Some(folder) = &self.salvage {
            let report = forge.salvage(folder)?;
            if self.json {
                print_json(&report);
            } else {
                terminal_output::print(&salvage_text(&report));
            }
            return Ok(ExitCode::SUCCESS);
        }
        if self.restore {
            let report = forge.restore()?;
            match report {
                report if self.json => print_json(&report),
                Some(report) => terminal_output::print(&restored_text(&report)),
                None => {
                    terminal_output::print("the journal is intact; there is nothing to restore");
                }
            }
            return Ok(ExitCode::SUCCESS);
        }
        if self.rebuild {
            let rebuilt = forge.rebuild()?;
            let code = ExitCode::from(if rebuilt.failed.is_empty() { 0 } else { 2 });
            if self.json {
                print_json(&rebuilt);
                return Ok(code);
            }
            let Rebuilt { n_made, driven, failed } = rebuilt;
            terminal_output::print(&format!(
                "wrote the files of {} again",
                format::count(n_made, "run")
            ));
            for run in driven {
                terminal_output::print(&format!("skipped {run}: it is running"));
            }
            for failure in failed {
                terminal_output::print(&format!("could not: {failure}"));
            }
            return Ok(code);
        }
        let mut code = 0;
        if self.fix {
            code = self.fix(&forge);
        }
        Ok(self.print_findings(&forge.examine(), code))
    }

    /// Prints what was found, and returns the exit code.
    fn print_findings(&self, findings: &[HealthFinding], code: u8) -> ExitCode {
        if self.json {
            print_json(&findings);
        } else {
            for HealthFinding { what, health, next } in findings {
                let (symbol, word, hue) = match health {
                    Health::Good => ("✓", "ok", Hue::Green),
                    Health::Note => ("!", "note", Hue::Yellow),
                    Health::Bad => ("✗", "wrong", Hue::Red),
                };
                let line = sanitize(&fact_line(&format!("{symbol} {word:<6}"), what));
                terminal_output::print_formatted(&coloured_symbol(&line, symbol, Some(hue)));
                if let Some(next) = next {
                    let next = next.replace("\n   or: ", "\n            or: ");
                    terminal_output::print(&fact_line("          help: ", &next));
                }
            }
        }
        let is_bad = findings.iter().any(|finding| finding.health == Health::Bad);
        ExitCode::from(if is_bad { 2 } else { code })
    }

    /// Repairs what can be repaired, reports it on stderr, and returns the exit code.
    fn fix(&self, forge: &Forge) -> u8 {
        let mut code = 0;
        for found in forge.fixable() {
            let may = match found.consent {
                Consent::Nobodys => Confirmation::Given,
                Consent::ThePersons if self.yes => Confirmation::Given,
                Consent::ThePersons => {
                    terminal_output::print_stderr(&sanitize(&found.what));
                    confirm(&format!("--fix {}: continue? [y/N]", found.fix))
                }
            };
            // Repairs go to stderr; the findings that remain are the data.
            match may {
                Confirmation::Given => match forge.fix(&found) {
                    Ok(done) => terminal_output::print_stderr(&sanitize(&format!("fixed  {done}"))),
                    Err(error) => {
                        terminal_output::print_error(&error);
                        code = error.kind.exit_code();
                    }
                },
                Confirmation::Refused => terminal_output::print_stderr("left   as it is"),
                Confirmation::NoTerminal => {
                    terminal_output::print_stderr(
                        "left   cannot ask here: forge doctor --fix --yes",
                    );
                    code = 3;
                }
            }
        }
        code
    }
}

fn restored_text(report: &Salvaged) -> String {
    let mut lines = vec!["the journal is intact again".to_owned()];
    lines.extend(report.runs.iter().map(|run| format!("  {}  {} entries", run.run, run.records)));
    lines.extend(report.notes.iter().map(|note| format!("  note: {note}")));
    lines.push(format!("the damaged files are kept in {}", report.folder));
    lines.join("\n")
}

fn salvage_text(report: &Salvaged) -> String {
    let mut lines = vec![format!("exported to {}", report.folder)];
    for run in &report.runs {
        let whole = match run.first_damaged {
            Some(seq) => format!("up to the damage at entry {seq}"),
            None => run.completeness.to_owned(),
        };
        lines.push(format!("  {}  {} entries, {whole}", run.run, run.records));
    }
    lines.extend(report.notes.iter().map(|note| format!("  note: {note}")));
    lines.push(
        "the damaged journal is no longer written; to start with a new one, move .git/forge away"
            .to_owned(),
    );
    lines.join("\n")
}
