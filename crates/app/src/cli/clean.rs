//! `forge clean`: shows what could be removed, and removes it with `--force`.

use std::process::ExitCode;

use clap::Args;
use forge_api::{
    Error,
    clean::{Fate, RunLeftovers},
};

use super::common::open_forge;
use crate::{format, terminal_info, terminal_output, verbosity::Verbosity};

/// Remove checkouts and logs of runs that are merged or empty
#[derive(Args)]
#[command(
    after_help = "Without --force nothing is removed. Never removed: the journal, branches, work\nthat is not merged, and runs that can be continued. -v lists what is kept."
)]
pub(crate) struct CleanArgs {
    /// Remove what is listed
    #[arg(long, short)]
    force: bool,
    /// Only list, which is the default
    #[arg(long, short = 'n', conflicts_with = "force")]
    dry_run: bool,
}

impl CleanArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let (removed, kept): (Vec<RunLeftovers>, Vec<RunLeftovers>) =
            forge.cleanup()?.into_iter().partition(|run| matches!(run.fate, Fate::Removed { .. }));
        let is_dry = self.dry_run || !self.force;
        let mut freed = 0;
        for run in &removed {
            if !is_dry {
                forge.remove_folders(run)?;
            }
            freed += run.bytes;
            print_line(if is_dry { "would free" } else { "freed" }, run);
        }
        if Verbosity::chosen() >= Verbosity::Verbose {
            for run in &kept {
                print_line("keeps", run);
            }
        }
        let n = |runs: &[RunLeftovers]| {
            format::count(u32::try_from(runs.len()).unwrap_or(u32::MAX), "run")
        };
        let total = byte_size(freed);
        terminal_output::print(&match (removed.as_slice(), is_dry) {
            ([], _) => "Nothing to clean.".to_owned(),
            (_, true) => {
                format!("{total} of {} can be removed: forge clean --force", n(&removed))
            }
            (_, false) => format!("Freed {total} of {}.", n(&removed)),
        });
        if !kept.is_empty() {
            let bytes = kept.iter().map(|run| run.bytes).sum();
            let hint =
                if Verbosity::chosen() >= Verbosity::Verbose { "" } else { " (-v lists them)" };
            terminal_output::print(&format!(
                "Kept {} of {}: not merged, or not finished{hint}.",
                byte_size(bytes),
                n(&kept)
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print_line(what: &str, run: &RunLeftovers) {
    let (Fate::Removed { because } | Fate::Kept { because }) = &run.fate;
    let size = byte_size(run.bytes);
    let start = format!("{what} {size:>8}  {}  ", format::short_id(&run.row.run));
    let text = format!("{}: {because}", format::one_line(&run.row.title, 40));
    terminal_output::print(&format::hanging_indent(&start, &text, terminal_info::terminal_width()));
}

/// Formats a number of bytes: `12 kB`, `3.4 MB`.
fn byte_size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    for (unit, name) in UNITS {
        if bytes >= unit {
            let tenths = bytes / (unit / 10);
            return if tenths < 100 {
                format!("{}.{} {name}", tenths / 10, tenths % 10)
            } else {
                format!("{} {name}", tenths / 10)
            };
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::byte_size;

    #[test]
    fn sizes_have_two_digits_or_more() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (12_345, "12 kB"),
            (3_450_000, "3.4 MB"),
            (5_000_000_000, "5.0 GB"),
        ] {
            assert_eq!(byte_size(bytes), text);
        }
    }
}
