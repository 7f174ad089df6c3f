//! `forge doctor`: what is wrong with the surroundings and the journal, and what to do about it.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use forge_runtime::{
    Trouble,
    doctor::{Consent, Finding, Health, Salvaged},
    doors::{Doors, Rebuilt},
};

use super::{config, doors, say_json};
use crate::format;

/// Look for what is wrong, and say what to do about it
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Doctor {
    /// Make all files that show runs anew from the journal
    #[arg(long, conflicts_with = "salvage")]
    rebuild: bool,
    /// Export all records that are whole into this new folder
    #[arg(long, value_name = "FOLDER")]
    salvage: Option<PathBuf>,
    /// Mend what can be mended without loss, and say what
    #[arg(long, conflicts_with_all = ["salvage", "rebuild"])]
    fix: bool,
    /// Rewrite settings with older names without asking
    #[arg(long, requires = "fix")]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        if let Some(folder) = &self.salvage {
            let report = doors.salvage(folder)?;
            if self.json {
                say_json(&report);
            } else {
                format::say(&salvaged(&report));
            }
            return Ok(ExitCode::SUCCESS);
        }
        if self.rebuild {
            let rebuilt = doors.rebuild()?;
            let code = ExitCode::from(if rebuilt.failed.is_empty() { 0 } else { 2 });
            if self.json {
                say_json(&rebuilt);
                return Ok(code);
            }
            let Rebuilt { n_made, driven, failed } = rebuilt;
            format::say(&format!("made the files of {} anew", format::count(n_made, "run")));
            for run in driven {
                format::say(&format!("left {run} to its driver"));
            }
            for failure in failed {
                format::say(&format!("could not: {failure}"));
            }
            return Ok(code);
        }
        let mut code = 0;
        if self.fix {
            code = self.mend(&doors);
        }
        let findings = doors.examine();
        if self.json {
            say_json(&findings);
        } else {
            for Finding { what, health, next } in &findings {
                let mark = match health {
                    Health::Good => "ok   ",
                    Health::Note => "note ",
                    Health::Bad => "WRONG",
                };
                format::say(&format!("{mark}  {what}"));
                if let Some(next) = next {
                    format::say(&format!("       next: {next}"));
                }
            }
        }
        let is_bad = findings.iter().any(|finding| finding.health == Health::Bad);
        Ok(ExitCode::from(if is_bad { 2 } else { code }))
    }

    /// Mends what can be mended, says what was done, and gives the exit code.
    fn mend(&self, doors: &Doors) -> u8 {
        let mut code = 0;
        for found in doors.fixable() {
            let may = match found.consent {
                Consent::Nobodys => config::Consent::Given,
                Consent::ThePersons if self.yes => config::Consent::Given,
                Consent::ThePersons => {
                    format::warn(&format::harmless(&found.what));
                    config::yes_or_no(&format!("--fix {}: go on? [y/N]", found.fix))
                }
            };
            // What was done is not data: what is found afterwards is.
            match may {
                config::Consent::Given => match doors.fix(&found) {
                    Ok(done) => format::warn(&format::harmless(&format!("fixed  {done}"))),
                    Err(trouble) => {
                        format::trouble(&trouble);
                        code = trouble.kind.exit_code();
                    }
                },
                config::Consent::Refused => format::warn("left   as it is"),
                config::Consent::NobodyToAsk => {
                    format::warn("left   nobody can be asked: forge doctor --fix --yes");
                    code = 3;
                }
            }
        }
        code
    }
}

fn salvaged(report: &Salvaged) -> String {
    let mut lines = vec![format!("exported to {}", report.folder)];
    for run in &report.runs {
        let whole = match run.first_damaged {
            Some(seq) => format!("up to the damage at record {seq}"),
            None => run.completeness.to_owned(),
        };
        lines.push(format!("  {}  {} records, {whole}", run.run, run.records));
    }
    lines.extend(report.notes.iter().map(|note| format!("  note: {note}")));
    lines.push(
        "the damaged journal is not written any more; to start anew, move .git/forge aside"
            .to_owned(),
    );
    lines.join("\n")
}
