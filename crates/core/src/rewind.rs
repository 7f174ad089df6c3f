//! A run that goes another way: it shares the facts of another one up to a unit.
//!
//! The facts are copied, never changed. What was under way at the cut has no ending in the new
//! run, so that its driver starts it again, in folders of its own.
//!
//! Invariant: the last record is settled, although the cut may be in the middle of a decision.
//! The fold of the records wants the right things without another input.

use crate::{
    Input, Run, Time, decide,
    event::{Event, Person, Record},
    id::UnitId,
};

/// Returns the records of a run that shares the facts of `from` up to the first attempt at `unit`.
///
/// Nothing, if that unit was never begun.
pub fn rewind(
    records: &[Record],
    from: &str,
    unit: &UnitId,
    at: Time,
    by: &Person,
) -> Option<Vec<Record>> {
    let begins = |fact: &Event| matches!(fact, Event::AttemptStarted { attempt, .. } if attempt.unit == *unit);
    let cut = |record: &Record| record.facts.iter().position(begins);
    let (n, cut) = records.iter().enumerate().find_map(|(n, record)| Some((n, cut(record)?)))?;
    let mut shared = records[..n].to_vec();
    if cut > 0 {
        shared.push(Record { at: records[n].at, facts: records[n].facts[..cut].to_vec() });
    }
    let (from, unit, by) = (from.to_owned(), unit.clone(), by.clone());
    let mut last = Record {
        at: at.max(records[n].at),
        facts: vec![Event::RunRewound { from, unit, branch: None, by }],
    };
    let mut run = Run::new();
    shared.iter().chain([&last]).for_each(|record| run.apply_record(record));
    let settled = decide(&run, last.at, &Input::Tick).expect("time is never refused");
    last.facts.extend(settled.facts);
    shared.push(last);
    Some(shared)
}
