//! `forge log`: prints the milestones of a run, its checks, its phases, or all its facts, as sentences or as JSON.

use std::{
    io::{self, IsTerminal as _},
    num::NonZeroUsize,
    process::ExitCode,
    thread,
    time::Duration,
};

use clap::{ArgAction, Args};
use forge_api::{
    Error,
    clock::now,
    forge::{Forge, NumberedRecord},
};
use forge_core::{
    Run,
    event::{Event, Record},
    id::{CallId, gate_label},
    routing::Route,
    run::Phase,
    verdict::PhaseVerdict,
    view::{
        LogLevel, LogLine, PhaseAction, PhaseEvent, REQUEST_CHECK, STOPPED, phase_total, sanitize,
        span,
    },
};

use super::common::{json_line, named_or_latest, open_forge};
use crate::{
    character_set::CharacterSet,
    format,
    pager::{Paging, print_paged},
    palette::Hue,
    terminal_info, terminal_output,
    text::fact_line::{fact_line, shown_facts, text_line},
    text_width,
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
    lines: Option<NonZeroUsize>,
    /// Print each phase: verdict, time, tokens and cost
    #[arg(long, conflicts_with = "follow")]
    phases: bool,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
    /// Print a JSON object for each entry or phase: seq, at, facts
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
            let lines = self.last_lines(&forge.records(&run, 1)?, &mut PrintedRun::new());
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
        let (mut state, mut seen) = (PrintedRun::new(), 0);
        let mut can_continue = true;
        loop {
            let records = forge.records(run, seen + 1)?;
            if self.json {
                for NumberedRecord { seq, epoch, record } in &records {
                    state.apply(*epoch, record);
                    let line = LogLine { seq: *seq, record: record.clone() };
                    terminal_output::print_raw(&json_line(&line));
                }
            } else {
                let lines = match seen {
                    0 => self.last_lines(&records, &mut state),
                    _ => self.lines(&records, 0, &mut state),
                };
                for line in lines {
                    terminal_output::print_formatted(&line);
                }
            }
            seen = records.last().map_or(seen, |last| last.seq);
            if !self.follow || !can_continue || matches!(state.run.phase(), Phase::Over(_)) {
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
        let mut rows: Vec<PhaseLine> = events.iter().map(PhaseLine::new).collect();
        if self.level() == LogLevel::Milestone {
            for row in &mut rows {
                row.route.clear();
            }
        }
        // A pipe has room for all of a line.
        let is_terminal = io::stdout().is_terminal();
        let width = if is_terminal { terminal_info::terminal_width() } else { usize::MAX };
        let lines = phase_lines(&rows, width);
        let skipped = self.lines.map_or(0, |last| lines.len().saturating_sub(last.get()));
        print_paged(&lines[skipped..].join("\n"), Paging::from_no_pager(self.no_pager));
    }

    fn level(&self) -> LogLevel {
        // The flag may also stand before the command.
        Verbosity::from_flags(false, self.verbose).max(Verbosity::chosen()).log_level()
    }

    /// Formats the facts that are shown, or as many of the last ones as were asked for.
    fn last_lines(&self, records: &[NumberedRecord], state: &mut PrintedRun) -> Vec<String> {
        let level = self.level();
        let all: usize = records.iter().map(|one| shown_facts(&one.record, level).count()).sum();
        self.lines(records, self.lines.map_or(0, |lines| all.saturating_sub(lines.get())), state)
    }

    /// Applies records to their run, and formats the facts that are shown after the first `skipped` ones, each with its
    /// time. Where another day begins, its date comes before. Every fact has date and number of its record instead.
    fn lines(
        &self,
        records: &[NumberedRecord],
        mut skipped: usize,
        state: &mut PrintedRun,
    ) -> Vec<String> {
        let level = self.level();
        let mut lines = Vec::new();
        for NumberedRecord { seq, epoch, record } in records {
            let continues = state.is_continued_by(*epoch);
            state.apply(*epoch, record);
            let prefix = |day: &mut String, lines: &mut Vec<String>| match level {
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
            if continues && skipped == 0 {
                let prefix = prefix(&mut state.day, &mut lines);
                lines.push(text_line(&prefix, ("●", Some(Hue::Blue)), CONTINUED));
            }
            for fact in shown_facts(record, level) {
                if skipped > 0 {
                    skipped -= 1;
                    continue;
                }
                let prefix = prefix(&mut state.day, &mut lines);
                let line = fact_line(&prefix, &state.run, fact, level);
                lines.push(line);
            }
        }
        lines
    }
}

/// Said where a process takes over agents at work: from one that was left, or that was killed.
const CONTINUED: &str = "another process continues the run";

/// The run as far as its log is printed.
struct PrintedRun {
    run: Run,
    /// The date of the last line.
    day: String,
    /// The process that wrote the last record, and the last one that drove the run.
    epoch: u64,
    driver: u64,
}

impl PrintedRun {
    fn new() -> Self {
        Self { run: Run::new(), day: today(), epoch: 0, driver: 0 }
    }

    fn apply(&mut self, epoch: u64, record: &Record) {
        self.run.apply_record(record);
        // Who only starts a run or gives an answer writes one record.
        let signs = record.facts.iter().any(|fact| matches!(fact, Event::EndingKeyAdded { .. }));
        if signs || self.epoch == epoch {
            self.driver = epoch;
        }
        self.epoch = epoch;
    }

    /// Returns true if the process that drove the run is followed by another one while agents work.
    fn is_continued_by(&self, next: u64) -> bool {
        self.driver != 0
            && self.epoch == self.driver
            && self.epoch != next
            && *self.run.phase() == Phase::Going
            && !self.run.calls().is_empty()
    }
}

/// A line of the table of phases, and what is said below it.
struct PhaseLine {
    date: String,
    time: String,
    phase: String,
    result: String,
    took: String,
    tokens: String,
    cost: String,
    agent: String,
    said: String,
    /// Why this tier, effort and model. Shown with `-v`.
    route: String,
}

impl PhaseLine {
    fn new(event: &PhaseEvent) -> Self {
        let call: Option<CallId> = event.call.as_ref().and_then(|call| call.parse().ok());
        let phase = gate_label(&event.phase);
        let place = match (&event.task, &event.sprint, &call) {
            (Some(task), Some(sprint), call) => {
                let item = call.as_ref().and_then(|call| call.unit().scope.steps().next());
                let item = item.map(|(_, item)| item).filter(|item| item != task);
                let own = task.strip_prefix(sprint.as_str()).and_then(|own| own.strip_prefix('-'));
                format!("{} {phase}", item.or(own).unwrap_or(task))
            }
            (None, _, Some(call)) if phase != REQUEST_CHECK => place(call),
            (_, _, _) => phase.to_owned(),
        };
        let iteration = if event.iteration > 1 {
            format!(" (attempt {})", event.iteration)
        } else {
            String::new()
        };
        let names = [&event.agent, &event.model];
        let names = names.into_iter().map(String::as_str);
        let names = names.filter(|name| !name.is_empty() && *name != UNKNOWN_MODEL);
        let is_call = event.is_call();
        let said = match blocked_by(event) {
            Some(what) => what.to_owned(),
            None if event.summary.is_empty() => {
                let notes = event.notes.join("; ");
                notes.strip_prefix("failed: ").map(str::to_owned).unwrap_or(notes)
            }
            None => event.summary.clone(),
        };
        Self {
            date: format::date(event.at),
            time: format::clock_time(event.at),
            phase: sanitize(&format!("{place}{iteration}")),
            result: result_text(event).to_owned(),
            took: event.took_ms.map(span).unwrap_or_default(),
            tokens: event
                .tokens
                .map(|tokens| format::short_number(tokens.total()))
                .unwrap_or_default(),
            cost: if is_call { phase_total([event]).cost.to_figure() } else { String::new() },
            agent: sanitize(&names.collect::<Vec<&str>>().join(" ")),
            said: said.split_whitespace().collect::<Vec<&str>>().join(" "),
            route: event.route.map(Route::to_words).unwrap_or_default(),
        }
    }
}

/// Names the phase of a call: `design`, `design review`, `T2`, `T2 review`.
fn place(call: &CallId) -> String {
    let unit = call.unit().label();
    call.gate().map_or(unit.clone(), |gate| format!("{unit} {}", gate_label(gate)))
}

/// Returns what blocks an agent, if it said so.
fn blocked_by(event: &PhaseEvent) -> Option<&str> {
    event.notes.first()?.strip_prefix("blocked: ")
}

/// Says what came of a phase, in the words of screens.
fn result_text(event: &PhaseEvent) -> &'static str {
    let begins = |word: &str| event.notes.first().is_some_and(|note| note.starts_with(word));
    match event.action {
        PhaseAction::Start => "running",
        PhaseAction::Complete => match event.verdict {
            Some(PhaseVerdict::Approved) => "approved",
            Some(PhaseVerdict::Revision) => "changes requested",
            Some(PhaseVerdict::NotApplicable) | None => "done",
            Some(PhaseVerdict::Unknown) => "partly done",
        },
        PhaseAction::GateFailed => "failed",
        PhaseAction::SubagentRetry if begins(STOPPED) => "interrupted",
        PhaseAction::SubagentRetry => "no result, again",
        PhaseAction::SubagentEscalated if blocked_by(event).is_some() => "blocked",
        PhaseAction::SubagentEscalated => "no result",
        PhaseAction::VerdictMalformed => "unreadable",
        PhaseAction::Escalated if begins("failed: ") => "failed",
        PhaseAction::Escalated if blocked_by(event).is_some() => "blocked",
        PhaseAction::Escalated => "needs you",
        PhaseAction::TaskSkipped => "not finished",
    }
}

/// The longest name in the column of phases.
const PHASE_WIDTH_MAX: usize = 34;
/// The width to which names of phases are cut before other columns are left out.
const PHASE_WIDTH_MIN: usize = 16;
/// The width of a time.
const TIME_WIDTH: usize = 8;
/// The space between columns.
const GAP: &str = "  ";
/// The name of a model that no program has told.
const UNKNOWN_MODEL: &str = "unknown";
/// The spaces before what is said of a phase.
const SAID_INDENT: &str = "          ";

/// Formats the table, with the date where it changes.
fn phase_lines(rows: &[PhaseLine], width: usize) -> Vec<String> {
    let longest = |cell: fn(&PhaseLine) -> &String, heading: &str| {
        let cells = rows.iter().map(|row| text_width::width(cell(row)));
        cells.max().unwrap_or_default().max(heading.len())
    };
    let longest_phase = longest(|row| &row.phase, "PHASE").min(PHASE_WIDTH_MAX);
    let result = longest(|row| &row.result, "RESULT");
    let took = longest(|row| &row.took, "TOOK");
    let tokens = longest(|row| &row.tokens, "TOKENS");
    let cost = longest(|row| &row.cost, "COST");
    let agent = longest(|row| &row.agent, "AGENT");
    // Where there is no room, names of phases are cut; then tokens, and then agents are left out. The cost stays.
    let room_without = |other: usize| {
        let fixed = TIME_WIDTH + result + took + cost + 4 * GAP.len() + other;
        width.saturating_sub(fixed)
    };
    let needed = longest_phase.min(PHASE_WIDTH_MIN);
    let (with_agent, with_both) = (agent + GAP.len(), agent + tokens + 2 * GAP.len());
    let (room, has_tokens, has_agent) = if room_without(with_both) >= needed {
        (room_without(with_both), true, true)
    } else if room_without(with_agent) >= needed {
        (room_without(with_agent), false, true)
    } else {
        (room_without(0), false, false)
    };
    let phase = longest_phase.min(room.max(needed));
    let line = |cells: [&str; 7]| {
        let [time, name, what, time_at_work, used, price, agent] = cells;
        let mut cells = vec![
            format!("{time:<TIME_WIDTH$}"),
            text_width::pad(&text_width::cut_middle(name, phase), phase),
            format!("{what:<result$}"),
            format!("{time_at_work:>took$}"),
        ];
        cells.extend(has_tokens.then(|| format!("{used:>tokens$}")));
        cells.push(format!("{price:>cost$}"));
        cells.extend(has_agent.then(|| agent.to_owned()));
        format::cut_end(cells.join(GAP).trim_end(), width)
    };
    let headings = ["ENDED", "PHASE", "RESULT", "TOOK", "TOKENS", "COST", "AGENT"];
    let (mut lines, mut day) = (vec![line(headings)], today());
    for row in rows {
        if day != row.date {
            day.clone_from(&row.date);
            lines.push(row.date.clone());
        }
        let PhaseLine { time, phase, result, took, tokens, cost, agent, said, route, .. } = row;
        lines.push(line([time, phase, result, took, tokens, cost, agent]));
        if !said.is_empty() {
            lines.push(format::hanging_indent(SAID_INDENT, &sanitize(said), width));
        }
        if !route.is_empty() {
            lines.push(format::hanging_indent(SAID_INDENT, route, width));
        }
    }
    lines
}

fn today() -> String {
    format::date(now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(phase: &str) -> PhaseLine {
        let text = |text: &str| text.to_owned();
        PhaseLine {
            date: today(),
            time: text("10:00:00"),
            phase: text(phase),
            result: text("changes requested"),
            took: text("2m34s"),
            tokens: text("148k"),
            cost: text("$0.04"),
            agent: text("claude claude-opus-4-8"),
            said: String::new(),
            route: String::new(),
        }
    }

    #[test]
    fn where_there_is_no_room_names_are_cut_and_tokens_and_agents_are_left_out_but_never_costs() {
        let rows = [row("T1 implement protected-file check"), row("T1 plan")];
        for (width, headings) in [
            (120, "ENDED PHASE RESULT TOOK TOKENS COST AGENT"),
            (92, "ENDED PHASE RESULT TOOK TOKENS COST AGENT"),
            (84, "ENDED PHASE RESULT TOOK COST AGENT"),
            (60, "ENDED PHASE RESULT TOOK COST"),
        ] {
            let lines = phase_lines(&rows, width);
            let found: Vec<&str> = lines[0].split_whitespace().collect();
            assert_eq!(found.join(" "), headings, "{width}");
            assert!(lines[1].contains("$0.04"), "{width}: {}", lines[1]);
            assert!(lines.iter().all(|line| text_width::width(line) <= width), "{lines:?}");
        }
    }
}
