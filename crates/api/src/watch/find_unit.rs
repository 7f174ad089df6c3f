//! The unit or call that a person means: by its whole name, by its end, or by a part of it.
//!
//! Invariant: a whole name is meant, also if it is a part of another.

use forge_core::{
    Run,
    flow::Work,
    id::{CallId, UnitId, is_meant},
};
use forge_driver::{Error, run_id::short_id};
use forge_project::suggest::nearest;

/// The most names that are offered to a person.
const NAMES_MAX: usize = 12;

/// The thing that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A unit, from call to call.
    Unit(UnitId),
    /// One call.
    Call(CallId),
}

/// The quality of a match of a name. The best comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Whole,
    End,
    Part,
    /// All parts are there in their order, with others between them.
    Scattered,
}

/// Finds it among the units of a run, or, if a number is named, among the calls that were started. The command
/// is the command that asks.
pub(crate) fn find(
    command: &str,
    id: &str,
    run: &Run,
    calls: &[CallId],
    name: &str,
) -> Result<Target, Error> {
    let wanted = parts(name);
    if wanted.is_empty() {
        return Err(Error::usage("the task has no name", format!("forge status {}", short_id(id))));
    }
    if name.contains('#') {
        let names: Vec<String> = calls.iter().map(ToString::to_string).collect();
        let best = best(&names, &wanted);
        return match best.as_slice() {
            [] => Err(nobody(id, name, &names)),
            // Of the looks of one gate, or of the attempts at one unit, the last is meant.
            [.., last] if is_one(&best.iter().map(|at| &calls[*at]).collect::<Vec<_>>()) => {
                Ok(Target::Call(calls[*last].clone()))
            }
            several => {
                Err(ambiguous(command, id, name, several.iter().map(|at| names[*at].as_str())))
            }
        };
    }
    let can_be_watched = |unit: &UnitId, work: &Work| match work {
        Work::Agent { .. } | Work::Command { .. } => true,
        Work::Each { .. } | Work::Flow { .. } | Work::Deliver { .. } | Work::Nothing => {
            calls.iter().any(|call| call.unit() == unit)
        }
    };
    let units: Vec<UnitId> = run
        .units()
        .into_iter()
        .filter(|(unit, stage, _)| can_be_watched(unit, &stage.work))
        .map(|(unit, _, _)| unit)
        .collect();
    let names: Vec<String> = units.iter().map(ToString::to_string).collect();
    match best(&names, &wanted).as_slice() {
        [] => Err(nobody(id, name, &names)),
        [one] => Ok(Target::Unit(units[*one].clone())),
        several => {
            // The name on screens is that of the stage in which the task is worked on.
            let is_shown = |at: &&usize| is_meant(&units[**at].label(), name);
            match several.iter().filter(is_shown).collect::<Vec<_>>().as_slice() {
                [one] => Ok(Target::Unit(units[**one].clone())),
                _ => {
                    Err(ambiguous(command, id, name, several.iter().map(|at| names[*at].as_str())))
                }
            }
        }
    }
}

/// Returns the unit that is worked on, if it is one.
pub(super) fn at_work(id: &str, run: &Run) -> Result<Target, Error> {
    let mut units: Vec<&UnitId> = run.calls().keys().map(CallId::unit).collect();
    units.sort();
    units.dedup();
    match units.as_slice() {
        [one] => Ok(Target::Unit((*one).clone())),
        [] => Err(Error::usage(
            format!("nothing is running in {} now; name the task or stage", short_id(id)),
            format!("forge status {}", short_id(id)),
        )),
        several => {
            let names: Vec<String> =
                several.iter().map(|unit| argument(&unit.to_string())).collect();
            Err(Error::usage(
                format!("several are running: {}", names.join(", ")),
                format!("forge watch {} {}", short_id(id), names[0]),
            ))
        }
    }
}

/// Returns true if all of them are tries at the same thing.
fn is_one(calls: &[&CallId]) -> bool {
    calls
        .windows(2)
        .all(|pair| pair[0].unit() == pair[1].unit() && pair[0].gate() == pair[1].gate())
}

/// Returns those that fit best.
fn best(names: &[String], wanted: &[&str]) -> Vec<usize> {
    let fits: Vec<Option<Fit>> = names.iter().map(|name| fit(&parts(name), wanted)).collect();
    let Some(best) = fits.iter().flatten().min() else { return Vec::new() };
    (0..names.len()).filter(|at| fits[*at].as_ref() == Some(best)).collect()
}

fn parts(name: &str) -> Vec<&str> {
    name.split(['/', '.']).filter(|part| !part.is_empty()).collect()
}

fn fit(name: &[&str], wanted: &[&str]) -> Option<Fit> {
    let same = |one: &[&str]| one.iter().zip(wanted).all(|(one, wanted)| fits(one, wanted));
    if name.len() < wanted.len() {
        return None;
    }
    let last = name.len() - wanted.len();
    if !(0..=last).any(|from| same(&name[from..from + wanted.len()])) {
        let mut rest = name.iter();
        let in_order = wanted.iter().all(|wanted| rest.any(|part| fits(part, wanted)));
        return in_order.then_some(Fit::Scattered);
    }
    Some(match (last, same(&name[last..])) {
        (0, _) => Fit::Whole,
        (_, true) => Fit::End,
        (_, false) => Fit::Part,
    })
}

/// Returns true if a part is meant, in upper or lower case, and a task also by the end of its id. One without a number fits every number.
fn fits(part: &str, wanted: &str) -> bool {
    let is = |part: &str| is_meant(part, wanted);
    is(part) || part.split_once('#').is_some_and(|(name, _)| is(name))
}

/// Returns the name of a unit as a person types it: `design`, `T2`, `T2/plan`. One of a call stays as it is.
fn argument(name: &str) -> String {
    name.parse::<UnitId>().map_or_else(|_| name.to_owned(), |unit| unit.label().replace(' ', "/"))
}

fn nobody(id: &str, name: &str, names: &[String]) -> Error {
    let names: Vec<String> = names.iter().map(|name| argument(name)).collect();
    let near = nearest(name, names.iter().map(String::as_str));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let id = short_id(id);
    let what = if name.contains('#') {
        format!("{id} has not started `{name}`{near}")
    } else {
        format!("{id} has no task or stage `{name}`{near}")
    };
    Error::usage(what, format!("forge status {id}"))
}

fn ambiguous<'a>(
    command: &str,
    id: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Error {
    let mut names: Vec<String> = names.map(argument).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = format!("`{name}` can be {}{more}", names.join(", "));
    Error::usage(what, format!("forge {command} {} {}", short_id(id), names[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str], wanted: &str) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        best(&names, &parts(wanted)).into_iter().map(|at| names[at].clone()).collect()
    }

    #[test]
    fn a_whole_name_wins_over_an_end_and_an_end_over_a_part() {
        let units = ["plan", "build.T1/implement", "build.T2/implement", "build.T2/plan"];
        for (wanted, expected) in [
            ("plan", vec!["plan"]),
            ("T2/plan", vec!["build.T2/plan"]),
            ("build.T1/implement", vec!["build.T1/implement"]),
            ("implement", vec!["build.T1/implement", "build.T2/implement"]),
            ("T1", vec!["build.T1/implement"]),
            ("T2", vec!["build.T2/implement", "build.T2/plan"]),
            ("T2/implement", vec!["build.T2/implement"]),
            ("T01", vec!["build.T1/implement"]),
            ("t02/plan", vec!["build.T2/plan"]),
            ("T3", vec![]),
            ("mplement", vec![]),
        ] {
            assert_eq!(found(&units, wanted), expected, "{wanted}");
        }
    }

    #[test]
    fn a_task_is_meant_by_the_end_of_its_id() {
        let units = ["tasks.ACME-S01-T01/implement", "tasks.ACME-S01-T03/implement/review-code"];
        assert_eq!(found(&units, "T03"), [units[1]]);
        assert_eq!(found(&units, "s01-t1"), [units[0]]);
        assert_eq!(found(&units, "T03/review-code"), [units[1]]);
        assert!(found(&units, "code").is_empty(), "a stage has no numbers at its end");
    }

    #[test]
    fn a_part_without_a_number_fits_every_number() {
        let calls = ["a#1", "a#1/review#1", "a#2", "a#2/review#1"];
        assert_eq!(found(&calls, "a#2"), ["a#2"]);
        assert_eq!(found(&calls, "review#1"), ["a#1/review#1", "a#2/review#1"]);
        assert_eq!(found(&calls, "a/review#1"), ["a#1/review#1", "a#2/review#1"]);
        assert_eq!(found(&calls, "a#2/review"), ["a#2/review#1"]);
        let calls = ["b.T1/a#1/review#1", "b.T2/a#1/review#1", "b.T2/a#1"];
        assert_eq!(found(&calls, "T2/review#1"), ["b.T2/a#1/review#1"]);
        assert!(found(&calls, "review#1/T2").is_empty());
    }
}
