//! `forge log`: prints the milestones of a run, its checks, its phases, or all its facts, as sentences or as JSON.

use std::{process::ExitCode, thread, time::Duration};

use clap::{ArgAction, Args};
use forge_api::{Error, clock::now, forge::Forge};
use forge_core::{
    Run,
    event::Record,
    routing::Route,
    run::Phase,
    view::{LogLevel, LogLine, PhaseEvent, phase_total, sanitize, span},
};

use super::common::{json_line, named_or_latest, open_forge};
use crate::{
    character_set::CharacterSet,
    format,
    pager::{Paging, print_paged},
    terminal_output,
    text::fact_line::{fact_line, shown_facts},
    verbosity::Verbosity,
};

/// Show what happened in a run
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
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
    /// Print each phase: verdict, time, tokens and cost
    #[arg(long, conflicts_with_all = ["follow", "verbose"])]
    phases: bool,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
    /// Print a JSON object for each entry of the journal, or for each phase
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
    LogArgs {
        run: run_arg,
        follow: true,
        verbose: 0,
        lines,
        phases: false,
        no_pager: true,
        json: false,
    }
    .print_records(forge, run, may_follow)
}

impl LogArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let run = named_or_latest(&forge, self.run.as_deref())?;
        if self.phases {
            self.print_phases(&forge.phases(&run)?);
            return Ok(ExitCode::SUCCESS);
        }
        if !self.follow && !self.json {
            let lines = self.last_lines(&forge.records(&run, 1)?, &mut Run::new(), &mut today());
            let lines = CharacterSet::detect().encode_symbols(&lines.join("\n"));
            print_paged(&lines, Paging::from_no_pager(self.no_pager));
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
        let (mut state, mut day, mut seen) = (Run::new(), today(), 0);
        let mut can_continue = true;
        loop {
            let records = forge.records(run, seen + 1)?;
            if self.json {
                for (seq, record) in &records {
                    state.apply_record(record);
                    let line = LogLine { seq: *seq, record: record.clone() };
                    terminal_output::print_raw(&json_line(&line));
                }
            } else {
                let lines = match seen {
                    0 => self.last_lines(&records, &mut state, &mut day),
                    _ => self.lines(&records, 0, &mut state, &mut day),
                };
                for line in lines {
                    terminal_output::print_formatted(&line);
                }
            }
            seen = records.last().map_or(seen, |(seq, _)| *seq);
            if !self.follow || !can_continue || matches!(state.phase(), Phase::Over(_)) {
                return Ok(());
            }
            thread::sleep(POLL_INTERVAL);
            // A driver writes all records before it exits, so one more read gets them all.
            can_continue = may_follow();
        }
    }

    fn print_phases(&self, events: &[PhaseEvent]) {
        if self.json {
            for event in events {
                terminal_output::print_raw(&json_line(event));
            }
            return;
        }
        let (mut lines, mut day) = (Vec::new(), today());
        for event in events {
            let date = format::date(event.at);
            if day != date {
                day.clone_from(&date);
                lines.push(date);
            }
            lines.push(phase_line(event));
        }
        let skipped = self.lines.map_or(0, |last| lines.len().saturating_sub(last));
        print_paged(&lines[skipped..].join("\n"), Paging::from_no_pager(self.no_pager));
    }

    fn level(&self) -> LogLevel {
        // The flag may also stand before the command.
        Verbosity::from_flags(false, self.verbose).max(Verbosity::chosen()).log_level()
    }

    /// Formats the facts that are shown, or as many of the last ones as were asked for.
    fn last_lines(
        &self,
        records: &[(u64, Record)],
        run: &mut Run,
        day: &mut String,
    ) -> Vec<String> {
        let level = self.level();
        let all: usize = records.iter().map(|(_, record)| shown_facts(record, level).count()).sum();
        self.lines(records, self.lines.map_or(0, |lines| all.saturating_sub(lines)), run, day)
    }

    /// Applies records to their run, and formats the facts that are shown after the first `skipped` ones, each with its
    /// time. Where another day begins, its date comes before. Every fact has date and number of its record instead.
    fn lines(
        &self,
        records: &[(u64, Record)],
        mut skipped: usize,
        run: &mut Run,
        day: &mut String,
    ) -> Vec<String> {
        let level = self.level();
        let mut lines = Vec::new();
        for (seq, record) in records {
            run.apply_record(record);
            for fact in shown_facts(record, level) {
                if skipped > 0 {
                    skipped -= 1;
                    continue;
                }
                let prefix = match level {
                    LogLevel::Milestone | LogLevel::Check => {
                        let date = format::date(record.at);
                        if *day != date {
                            day.clone_from(&date);
                            lines.push(date);
                        }
                        format!("{}  ", format::clock_time(record.at))
                    }
                    LogLevel::Fact => format!("{seq:>5}  {}  ", format::date_and_time(record.at)),
                };
                lines.push(fact_line(&prefix, run, fact, level));
            }
        }
        lines
    }
}

/// Formats a record of a phase: when, whose, what came of it, and what it used.
fn phase_line(event: &PhaseEvent) -> String {
    let task = event.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
    let iteration =
        if event.iteration > 1 { format!(" {}", event.iteration) } else { String::new() };
    let mut parts = vec![format!("{task}{}{iteration}", event.phase)];
    parts.push(event.action.as_str().replace('_', " "));
    let is_call = event.is_call();
    parts.extend(event.verdict.filter(|_| is_call).map(|verdict| verdict.as_str().to_owned()));
    parts.extend(event.took_ms.map(span));
    parts.extend(
        event.tokens.map(|tokens| format!("{} tokens", format::short_number(tokens.total()))),
    );
    if is_call {
        parts.push(phase_total([event]).cost.to_figure());
    }
    let who = [&event.role, &event.agent, &event.model];
    let who: Vec<&str> =
        who.into_iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    if !who.is_empty() {
        parts.push(who.join("/"));
    }
    parts.extend(event.route.map(Route::to_words).filter(|words| !words.is_empty()));
    let said = if event.summary.is_empty() { event.notes.first() } else { Some(&event.summary) };
    let said = said.map(|said| format!(": {}", said.lines().next().unwrap_or_default()));
    let line = format!("{}{}", parts.join(" · "), said.unwrap_or_default());
    format!("{}  {}", format::clock_time(event.at), sanitize(&line))
}

fn today() -> String {
    format::date(now())
}
