//! `forge diff`: shows what a run or one of its tasks changed.

use std::{fmt::Write as _, process::ExitCode};

use clap::Args;
use forge_api::{Error, merge::FileStat};
use forge_core::view::{Course, sanitize};

use super::common::{open_forge, run_and_name};
use crate::{
    document::{Document, DocumentFormat},
    format,
    pager::{self, Paging, print_paged},
    terminal_output,
    text::result_text::change_documents,
    text_width,
};

/// Show what a run changed, without Forge's own files
#[derive(Args)]
pub(crate) struct DiffArgs {
    /// Name the run; the latest by default
    run: Option<String>,
    /// Show only this task or stage, such as T2
    task: Option<String>,
    /// Print a line for each file, with how many lines changed
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Print only the names of the files
    #[arg(long)]
    name_only: bool,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
}

impl DiffArgs {
    /// Returns the arguments that show the change of a run.
    pub(crate) fn for_run(run: String) -> Self {
        Self { run: Some(run), task: None, stat: false, name_only: false, no_pager: false }
    }

    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let (run, task) = run_and_name(&forge, self.run.as_deref(), self.task.as_deref())?;
        let paging = Paging::from_no_pager(self.no_pager);
        let unit = task.map(|task| forge.find_unit("diff", &run, &task)).transpose()?;
        let files = match &unit {
            Some(unit) if self.stat || self.name_only => forge.unit_changed_files(&run, unit)?,
            Some(_) => Vec::new(),
            None => forge.changed_files(&run)?,
        };
        if let (Some(unit), []) = (&unit, files.as_slice()) {
            // Texts have no numbers of lines, and what changed nothing says so.
            pager::show_documents(&change_documents(forge.change(&run, unit)?), paging);
        } else if files.is_empty() {
            let view = forge.view(&run)?;
            let id = format::short_id(&run);
            let changed = forge.unmerged_change(&run)?;
            terminal_output::print(&match (view.row.standing.course(), changed) {
                (Course::Over, _) => {
                    format!("This run changed no files. Next: forge show {id}")
                }
                (_, Some(unit)) => {
                    let unit = unit.to_string();
                    let unit = format::unit_argument(&unit);
                    format!("Nothing is merged yet. The change so far: forge diff {id} {unit}")
                }
                (_, None) => "No changes yet.".to_owned(),
            });
        } else if self.name_only {
            let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            print_paged(&sanitize(&names.join("\n")), paging);
        } else if self.stat {
            print_paged(&sanitize(&stat_text(&files)), paging);
        } else {
            let bytes = forge.diff(&run)?;
            pager::show_documents(&[Document { bytes, format: DocumentFormat::Diff }], paging);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Formats a line for each file, and the sum: `2 files changed, 12 insertions(+), 1 deletion(-)`.
pub(crate) fn stat_text(files: &[FileStat]) -> String {
    let width = files.iter().map(|file| text_width::width(&file.path)).max().unwrap_or_default();
    let mut text = String::new();
    for file in files {
        let path = text_width::pad(&file.path, width);
        let _ = match file.lines {
            Some((added, removed)) => writeln!(text, " {path} | +{added} -{removed}"),
            None => writeln!(text, " {path} | binary"),
        };
    }
    let _ = write!(text, " {}", sum_text(files));
    text
}

/// Formats the sum of all files, as git does.
pub(crate) fn sum_text(files: &[FileStat]) -> String {
    let count = |n: u64, what: &str, sign: &str| {
        let ending = if n == 1 { "" } else { "s" };
        format!("{n} {what}{ending}{sign}")
    };
    let lines = files.iter().filter_map(|file| file.lines);
    let (added, removed) = lines.fold((0, 0), |sum, lines| (sum.0 + lines.0, sum.1 + lines.1));
    let mut parts = vec![format!("{} changed", count(files.len() as u64, "file", ""))];
    if added > 0 {
        parts.push(count(added, "insertion", "(+)"));
    }
    if removed > 0 {
        parts.push(count(removed, "deletion", "(-)"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_reads_like_that_of_git() {
        let file = |path: &str, lines| FileStat { path: path.to_owned(), lines };
        let files = [file("src/a.rs", Some((2, 0))), file("b.png", None), file("c", Some((1, 1)))];
        assert_eq!(
            stat_text(&files),
            " src/a.rs | +2 -0\n b.png    | binary\n c        | +1 -1\n 3 files changed, 3 insertions(+), 1 deletion(-)"
        );
        assert_eq!(sum_text(&files[1..2]), "1 file changed");
    }
}
