//! `forge log`: prints the milestones of a run, its checks, or all its facts, as sentences or as JSON.

use std::{process::ExitCode, thread, time::Duration};

use clap::{ArgAction, Args};
use forge_api::{Error, forge::Forge};
use forge_core::{
    Run,
    event::{Event, Record},
    run::Phase,
    view::{LogLevel, LogLine, Names, sanitize, sentence},
};

use super::common::{json_line, named_or_latest, open_forge};
use crate::{
    format,
    pager::{Paging, print_paged},
    terminal_output::{self, coloured_symbol},
    text::state_words::fact_symbol,
    verbosity::Verbosity,
};

/// Show what happened in a run
#[derive(Args)]
pub(crate) struct LogArgs {
    /// Name the run; the latest by default
    run: Option<String>,
    /// Print new lines until the run is over
    #[arg(long, short)]
    follow: bool,
    /// Print every check; twice: every fact
    #[arg(long, short, action = ArgAction::Count)]
    verbose: u8,
    /// Print only the last N lines
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "json")]
    lines: Option<usize>,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
    /// Print a JSON object for each record: seq, at, facts
    #[arg(long)]
    json: bool,
}

/// How often a followed journal is read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Prints the facts of a run until it has ended. Before each read, `may_follow` says if more records may follow.
pub(crate) fn follow(
    forge: &Forge,
    run: &str,
    may_follow: &mut dyn FnMut() -> bool,
) -> Result<(), Error> {
    let (run_arg, lines) = (None, None);
    LogArgs { run: run_arg, follow: true, verbose: 1, lines, no_pager: true, json: false }
        .print_records(forge, run, may_follow)
}

impl LogArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let run = named_or_latest(&forge, self.run.as_deref())?;
        if !self.follow && !self.json {
            let records = forge.records(&run, 1)?;
            let lines: Vec<String> =
                records.iter().flat_map(|(seq, record)| self.fact_lines(*seq, record)).collect();
            let last = &lines[self.n_skipped(lines.len())..];
            print_paged(&last.join("\n"), Paging::from_no_pager(self.no_pager));
            return Ok(ExitCode::SUCCESS);
        }
        self.print_records(&forge, &run, &mut || true)?;
        Ok(ExitCode::SUCCESS)
    }

    fn print_records(
        &self,
        forge: &Forge,
        run: &str,
        may_follow: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        let mut state = Run::new();
        let mut seen = self.print_new(forge, run, 0, &mut state)?;
        let mut can_continue = true;
        while self.follow && can_continue && !matches!(state.phase(), Phase::Over(_)) {
            thread::sleep(POLL_INTERVAL);
            // A driver writes all records before it exits, so one more read gets them all.
            can_continue = may_follow();
            seen = self.print_new(forge, run, seen, &mut state)?;
        }
        Ok(())
    }

    /// Prints the records after `seen` and returns the number of the last one.
    fn print_new(
        &self,
        forge: &Forge,
        run: &str,
        seen: u64,
        state: &mut Run,
    ) -> Result<u64, Error> {
        let records = forge.records(run, seen + 1)?;
        let mut skipped = match seen {
            0 => self.n_skipped(records.iter().map(|(_, record)| self.shown(record).count()).sum()),
            _ => 0,
        };
        let mut last = seen;
        for (seq, record) in records {
            state.apply_record(&record);
            self.print_record(seq, &record, skipped);
            skipped = skipped.saturating_sub(self.shown(&record).count());
            last = seq;
        }
        Ok(last)
    }

    /// Returns how many of the first lines are left out.
    fn n_skipped(&self, all: usize) -> usize {
        self.lines.map_or(0, |lines| all.saturating_sub(lines))
    }

    /// Prints a record, but for its first `skipped` lines.
    fn print_record(&self, seq: u64, record: &Record, skipped: usize) {
        if self.json {
            let line = LogLine { seq, record: record.clone() };
            terminal_output::print_raw(&json_line(&line));
        } else {
            for line in self.fact_lines(seq, record).into_iter().skip(skipped) {
                terminal_output::print_raw(&line);
            }
        }
    }

    fn level(&self) -> LogLevel {
        // The flag may also stand before the command.
        match Verbosity::from_flags(false, self.verbose).max(Verbosity::chosen()) {
            Verbosity::Quiet | Verbosity::Normal => LogLevel::Milestone,
            Verbosity::Verbose => LogLevel::Check,
            Verbosity::Everything => LogLevel::Fact,
        }
    }

    fn shown<'a>(&self, record: &'a Record) -> impl Iterator<Item = &'a Event> {
        let level = self.level();
        record.facts.iter().filter(move |fact| LogLevel::new(fact) <= level)
    }

    /// Formats the facts of a record that are shown, each with its time and symbol, sanitized; every fact also with the
    /// record's number.
    fn fact_lines(&self, seq: u64, record: &Record) -> Vec<String> {
        let level = self.level();
        let at = format::date_and_time(record.at);
        let (beginning, names) = match level {
            LogLevel::Milestone | LogLevel::Check => (format!("{at}  "), Names::Short),
            LogLevel::Fact => (format!("{seq:>5}  {at}  "), Names::Exact),
        };
        self.shown(record)
            .map(|fact| {
                let (symbol, hue) = fact_symbol(fact);
                let beginning = format!("{beginning}{symbol} ");
                let line = terminal_output::fact_line(&beginning, &sentence(fact, names));
                coloured_symbol(&sanitize(&line), symbol, hue)
            })
            .collect()
    }
}
