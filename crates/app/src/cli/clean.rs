//! `forge clean`: shows what could be removed, and removes it with `--force`.

use std::process::ExitCode;

use clap::Args;
use forge_api::{
    Error,
    clean::{Fate, RunLeftovers},
    clock::now,
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
    /// Only runs that ended at least 12h, 30d or 8w ago
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    older_than: Option<MinimumAge>,
}

/// The age of a run, since its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MinimumAge {
    ms: u64,
}

impl CleanArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let ended_before = self.older_than.map_or(u64::MAX, |age| now().saturating_sub(age.ms));
        let (removed, kept): (Vec<RunLeftovers>, Vec<RunLeftovers>) = forge
            .cleanup(ended_before)?
            .into_iter()
            .partition(|run| matches!(run.fate, Fate::Removed { .. }));
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
                "Kept {} of {}: not merged, {}or not finished{hint}.",
                byte_size(bytes),
                n(&kept),
                if self.older_than.is_some() { "not old enough, " } else { "" },
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads hours, days or weeks.
fn parse_age(text: &str) -> Result<MinimumAge, String> {
    const HOUR_MS: u64 = 60 * 60 * 1_000;
    let (number, unit_ms) = match text.split_at_checked(text.len().saturating_sub(1)) {
        Some((number, "h")) => (number, HOUR_MS),
        Some((number, "d")) => (number, 24 * HOUR_MS),
        Some((number, "w")) => (number, 7 * 24 * HOUR_MS),
        _ => return Err("use hours, days or weeks, such as 30d".to_owned()),
    };
    let ms = number.parse().ok().and_then(|number: u64| number.checked_mul(unit_ms));
    ms.map(|ms| MinimumAge { ms }).ok_or_else(|| format!("`{number}` is not a number of them"))
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
    use super::{MinimumAge, byte_size, parse_age};

    #[test]
    fn an_age_is_hours_days_or_weeks() {
        let hour = 3_600_000;
        for (text, hours) in [("0h", 0), ("12h", 12), ("30d", 720), ("8w", 1_344)] {
            assert_eq!(parse_age(text), Ok(MinimumAge { ms: hours * hour }), "{text}");
        }
        for text in ["", "d", "30", "30m", "-1d", "1.5d", "99999999999999d", "3ü"] {
            assert!(parse_age(text).is_err(), "{text}");
        }
    }

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
