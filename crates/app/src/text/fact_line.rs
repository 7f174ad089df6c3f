//! What happened in a run, as lines: those of `forge log`, and of commands that print a run while it is driven.

use forge_api::clock::now;
use forge_core::{
    Run, Time,
    event::{Event, Outcome, Record, Ruling},
    view::{LogLevel, Names, moment, sanitize, sentence_in},
};

use super::state_words::fact_symbol;
use crate::{
    format,
    palette::Hue,
    terminal_output::{self, coloured_symbol},
    verbosity::Verbosity,
};

impl Verbosity {
    /// Returns the least important facts that are printed.
    pub(crate) const fn log_level(self) -> LogLevel {
        match self {
            Self::Quiet | Self::Normal => LogLevel::Milestone,
            Self::Verbose => LogLevel::Check,
            Self::Everything => LogLevel::Fact,
        }
    }
}

/// Returns the facts of a record that are printed.
pub(crate) fn shown_facts(record: &Record, level: LogLevel) -> impl Iterator<Item = &Event> {
    record.facts.iter().filter(move |fact| LogLevel::new(fact) <= level)
}

/// Formats one of the last facts of a run with its symbol after a prefix, sanitized. Only where every fact is printed,
/// names are exact.
pub(crate) fn fact_line(prefix: &str, run: &Run, fact: &Event, level: LogLevel) -> String {
    let names = match level {
        LogLevel::Milestone | LogLevel::Check => Names::Short,
        LogLevel::Fact => Names::Exact,
    };
    let mut text = sentence_in(run, fact, names);
    if let (Names::Short, Some(until)) = (names, limited_until(fact)) {
        // The times of log lines are local, so this one is, too.
        text = text.replace(&moment(until), &format::future_time(until, now()));
    }
    text_line(prefix, fact_symbol(fact), &text)
}

/// Formats a line of a log with its symbol after a prefix, sanitized.
pub(crate) fn text_line(prefix: &str, (symbol, hue): (&str, Option<Hue>), text: &str) -> String {
    let line = terminal_output::fact_line(&format!("{prefix}{symbol} "), text);
    coloured_symbol(&sanitize(&line), symbol, hue)
}

/// Returns when the limit ends that a fact is about.
fn limited_until(fact: &Event) -> Option<Time> {
    if let Event::AttemptEnded { outcome: Outcome::Limited { until, .. }, .. }
    | Event::Judged { ruling: Ruling::Limited { until, .. }, .. } = fact
    {
        return Some(*until);
    }
    None
}
