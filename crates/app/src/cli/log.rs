//! `forge log`: the facts of a run, as sentences or as they are.

use std::{process::ExitCode, thread, time::Duration};

use clap::Args;
use forge_core::{
    Run,
    event::Record,
    run::Phase,
    view::{LogLine, sentence},
};
use forge_runtime::{Trouble, doors::Doors};

use super::common::{doors, named_or_latest};
use crate::{
    format,
    pager::{Paging, page},
    terminal_output,
};

/// Show what happened in a run, fact by fact
#[derive(Args)]
pub(crate) struct Log {
    /// The run; the latest if none is named
    run: Option<String>,
    /// Go on until the run is over
    #[arg(long, short)]
    follow: bool,
    /// Use no pager, however long it is
    #[arg(long)]
    no_pager: bool,
    /// One JSON object for each record: seq, at, facts
    #[arg(long)]
    json: bool,
}

/// How often a log that is followed looks for more.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Until when a run is followed that is not over.
pub(crate) trait Until {
    /// Whether more may come. Asked before each look.
    fn goes_on(&mut self) -> bool;
}

/// However long it takes.
struct ForEver;

impl Until for ForEver {
    fn goes_on(&mut self) -> bool {
        true
    }
}

/// Tells the facts of a run until it is over or nothing more comes.
pub(crate) fn follow(doors: &Doors, run: &str, until: &mut dyn Until) -> Result<(), Trouble> {
    Log { run: None, follow: true, no_pager: true, json: false }.tell(doors, run, until)
}

impl Log {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = named_or_latest(&doors, self.run.as_deref())?;
        if !self.follow && !self.json {
            let records = doors.records(&run, 1)?;
            let lines: Vec<String> =
                records.iter().flat_map(|(seq, record)| sentences(*seq, record)).collect();
            page(&terminal_output::sanitize(&lines.join("\n")), Paging::of(self.no_pager));
            return Ok(ExitCode::SUCCESS);
        }
        self.tell(&doors, &run, &mut ForEver)?;
        Ok(ExitCode::SUCCESS)
    }

    fn tell(&self, doors: &Doors, run: &str, until: &mut dyn Until) -> Result<(), Trouble> {
        let mut state = Run::new();
        let mut seen = self.show(doors, run, 0, &mut state)?;
        let mut goes_on = true;
        while self.follow && goes_on && !matches!(state.phase(), Phase::Over(_)) {
            thread::sleep(LOOK_EVERY);
            // Whoever lets go has written all of it down before.
            goes_on = until.goes_on();
            seen = self.show(doors, run, seen, &mut state)?;
        }
        Ok(())
    }

    /// Shows the records after `seen`, and says which was the last.
    fn show(&self, doors: &Doors, run: &str, seen: u64, state: &mut Run) -> Result<u64, Trouble> {
        let mut last = seen;
        for (seq, record) in doors.records(run, seen + 1)? {
            state.take(&record);
            self.say(seq, &record);
            last = seq;
        }
        Ok(last)
    }

    fn say(&self, seq: u64, record: &Record) {
        if self.json {
            let line = LogLine { seq, record: record.clone() };
            terminal_output::print_raw(
                &serde_json::to_string(&line).expect("a record can be written"),
            );
        } else {
            for line in sentences(seq, record) {
                terminal_output::print(&line);
            }
        }
    }
}

/// The facts of a record, each with its number and its time.
fn sentences(seq: u64, record: &Record) -> Vec<String> {
    let at = format::day_and_clock(record.at);
    let beginning = format!("{seq:>5}  {at}  ");
    record.facts.iter().map(|fact| format::fact(&beginning, &sentence(fact))).collect()
}
