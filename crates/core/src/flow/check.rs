//! Rules for a flow whose form is right: no reads before any write, lists that
//! no stage reports, conditions that can never hold, files that are folders elsewhere, stages to go
//! back to that are not there, deliveries of what nothing proved. And how many agent calls a flow
//! can make at most.

use std::collections::{BTreeMap, BTreeSet};

use super::table::{
    BuiltIn, CHANGE, Check, Condition, Delivery, FRICTION, Flow, FlowError, Gate, REQUEST,
    STATISTICS, Stage, TagRule, When, Work, firsts, followers,
};
use crate::id::is_plain_name;

/// The largest number of agent calls that a flow can make by itself.
///
/// People can ask for more, and attempts that were lost, interrupted or limited do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallsMax(pub u64);

/// The facts that hold at one place of a flow.
#[derive(Clone, Default)]
struct FlowKnowledge {
    /// Stages that a gate may send back to.
    stages: BTreeSet<String>,
    /// Lists that were reported, with the tags of their items.
    lists: BTreeMap<String, BTreeMap<String, TagRule>>,
    /// Artifacts that may be there.
    artifacts: BTreeSet<String>,
    /// Whether there is an item whose tags a condition can ask for.
    is_in_each: bool,
    /// The tags of the items around this place whose values are known.
    tags: BTreeMap<String, TagRule>,
    /// True if a stage before this place lands code.
    lands: bool,
    /// True if a stage before this place is verified.
    verifies: bool,
}

pub(super) fn check(flow: &Flow) -> Result<(), FlowError> {
    let mut known = FlowKnowledge::default();
    known.artifacts.insert(REQUEST.to_owned());
    let wrong =
        |problem: String| FlowError { flow: flow.name.clone(), line: None, stage: None, problem };
    conditions(flow, &known, &flow.manual)
        .map_err(|problem| wrong(format!("its `manual` {problem}")))?;
    if let Some(role) = flow.coherence.as_ref().filter(|role| !is_plain_name(role)) {
        return Err(wrong(format!(
            "its `coherence` is `{role}`, which is not a plain name of a role"
        )));
    }
    let reports =
        |list: &&String| flow.stages.iter().any(|stage| stage.list.as_ref() == Some(*list));
    if let Some(list) = flow.lists.iter().find(|list| !reports(list)) {
        return Err(wrong(format!("its `lists` name `{list}`, which no stage reports")));
    }
    table(flow, &flow.stages, &known)?;
    let mut files: BTreeSet<String> = flow.stages.iter().flat_map(all_writes).collect();
    files.insert(REQUEST.to_owned());
    folders(flow, &flow.stages, &files)
}

fn table(flow: &Flow, stages: &[Stage], outer: &FlowKnowledge) -> Result<(), FlowError> {
    for (position, stage) in stages.iter().enumerate() {
        let mut known = outer.clone();
        for first in firsts(stages, position) {
            known.artifacts.extend(all_writes(&stages[first]));
            let Stage { list, tags, .. } = &stages[first];
            known.lists.extend(list.iter().map(|list| (list.clone(), tags.clone())));
            known.stages.insert(stages[first].name.clone());
            known.lands |= has(&stages[first], &Check::Land);
            known.verifies |= has(&stages[first], &Check::Verify);
        }
        known.stages.insert(stage.name.clone());
        row(flow, stage, &known)?;
        if let Work::Each { list, .. } = &stage.work {
            known.is_in_each = true;
            known.tags.extend(known.lists.get(list).cloned().unwrap_or_default());
        }
        // Of the items that its own waited for, a stage may read what they wrote.
        let inside: Vec<String> = stage.inner().iter().flat_map(all_writes).collect();
        known.artifacts.extend(below(stage, &inside));
        table(flow, stage.inner(), &known)?;
    }
    Ok(())
}

fn wrong_stage(flow: &Flow, stage: &Stage, problem: String) -> FlowError {
    FlowError { flow: flow.name.clone(), line: None, stage: Some(stage.name.clone()), problem }
}

/// Refuses a name that is a file in one place and a folder in another.
fn folders(flow: &Flow, stages: &[Stage], files: &BTreeSet<String>) -> Result<(), FlowError> {
    for stage in stages {
        for name in own_writes(stage) {
            let mut above = name.match_indices('/').map(|(end, _)| &name[..end]);
            if let Some(file) = above.find(|folder| files.contains(*folder)) {
                let problem = format!(
                    "writes `{name}`, but `{file}` is a file of this flow and cannot be a folder"
                );
                return Err(wrong_stage(flow, stage, problem));
            }
        }
        folders(flow, stage.inner(), files)?;
    }
    Ok(())
}

fn row(flow: &Flow, stage: &Stage, known: &FlowKnowledge) -> Result<(), FlowError> {
    let wrong = |problem: String| wrong_stage(flow, stage, problem);
    for name in own_writes(stage) {
        if !is_artifact_name(name) || name.contains('*') {
            return Err(wrong(format!("writes `{name}`, which is not a plain relative file name")));
        }
        if name == REQUEST {
            return Err(wrong(format!("writes `{REQUEST}`, which is the user's")));
        }
    }
    let roles = stage.gates.iter().filter_map(|gate| gate.check.role());
    if let Some(role) = roles.into_iter().find(|role| !is_plain_name(role)) {
        return Err(wrong(format!("is reviewed by `{role}`, which is not a plain name of a role")));
    }
    if let Work::Deliver { what } = stage.work {
        delivery(what, known).map_err(wrong)?;
        if what == Delivery::Pages && !stage.gates.iter().any(|gate| gate.check == Check::Land) {
            let problem = "delivers `pages`, which is a commit: add the gates { verify = true } and { land = true }";
            return Err(wrong(problem.to_owned()));
        }
    }
    // On a revision, the worker may read what it wrote itself, and what its gates left.
    let by_own_gates: BTreeSet<String> =
        stage.gates.iter().flat_map(|gate| gate.writes.iter().cloned()).collect();
    let read = |name: &String, also: &BTreeSet<String>| {
        if [CHANGE, STATISTICS, FRICTION].contains(&name.as_str()) {
            return Ok(());
        }
        if !is_artifact_name(name) {
            return Err(wrong(format!("reads `{name}`, which is not a plain relative file name")));
        }
        let mut there = known.artifacts.iter().chain(also);
        if there.any(|written| matches_name(name, &sample(written))) {
            Ok(())
        } else {
            Err(wrong(format!("reads `{name}` before any stage writes it")))
        }
    };
    let at_a_revision: BTreeSet<String> =
        by_own_gates.iter().chain(&stage.writes).cloned().collect();
    stage.reads.iter().try_for_each(|name| read(name, &at_a_revision))?;
    let reads_change = |reads: &[String]| reads.iter().any(|name| name == CHANGE);
    let changes = Check::BuiltIn { check: BuiltIn::Changes };
    let is_judged = stage.gates.iter().any(|gate| reads_change(&gate.reads));
    let makes_one = has(stage, &Check::Land) || has(stage, &changes);
    if (reads_change(&stage.reads) && !known.lands) || (is_judged && !known.lands && !makes_one) {
        return Err(wrong(format!("reads `{CHANGE}`, but no stage before it has `land`")));
    }
    if let Work::Each { list, .. } = &stage.work
        && !known.lists.contains_key(list)
    {
        return Err(wrong(format!(
            "has `each = \"{list}\"`, but no stage before it has `list = \"{list}\"`"
        )));
    }
    if let Some(list) = &stage.list
        && !matches!(stage.work, Work::Agent { .. } | Work::Command { .. })
    {
        return Err(wrong(format!(
            "has `list = \"{list}\"`, but only an agent or a command reports a list"
        )));
    }
    conditions(flow, known, &stage.when).map_err(wrong)?;
    let mut made: BTreeSet<String> = stage.writes.iter().cloned().collect();
    made.extend(stage.inner().iter().flat_map(all_writes));
    made.extend(by_own_gates.iter().cloned());
    for (position, gate) in stage.gates.iter().enumerate() {
        if gate.check == Check::Land && position + 1 < stage.gates.len() {
            return Err(wrong(format!(
                "has gates after `{}`, but merged work is never sent back",
                gate.name
            )));
        }
        gate.reads.iter().try_for_each(|name| read(name, &made))?;
        conditions(flow, known, &gate.when).map_err(wrong)?;
        if let Some(redo) = &gate.redo
            && !known.stages.contains(redo)
        {
            return Err(wrong(format!(
                "has a gate `{}` that sends back to `{redo}`, which does not come before it",
                gate.name
            )));
        }
        if let Check::Artifact { name } = &gate.check
            && !made.contains(name)
        {
            return Err(wrong(format!(
                "has a gate for the artifact `{name}`, which it does not write"
            )));
        }
    }
    Ok(())
}

/// Checks a delivery: each happens once, and code only after it was proved and landed.
fn delivery(what: Delivery, known: &FlowKnowledge) -> Result<(), String> {
    let word = what.as_str();
    if known.is_in_each {
        return Err(format!("delivers `{word}` for each item, but a run delivers it only once"));
    }
    match what {
        Delivery::PullRequest | Delivery::Commit | Delivery::Pages => {
            match (known.verifies, known.lands) {
                (true, true) => Ok(()),
                (false, _) => Err(format!("delivers `{word}`, but nothing before it has `verify`")),
                (true, false) => {
                    Err(format!("delivers `{word}`, but nothing before it has `land`"))
                }
            }
        }
        Delivery::Summary | Delivery::Comment => Ok(()),
    }
}

/// Returns true if a stage, or something inside it, has such a gate.
fn has(stage: &Stage, check: &Check) -> bool {
    stage.gates.iter().any(|gate| gate.check == *check)
        || stage.inner().iter().any(|inner| has(inner, check))
}

/// Checks that conditions can hold at all, and together.
fn conditions(flow: &Flow, known: &FlowKnowledge, when: &When) -> Result<(), String> {
    let mut left: BTreeMap<(&str, &str), Vec<&String>> = BTreeMap::new();
    for condition in &when.0 {
        let (subject, is) = match condition {
            Condition::Param { name, is } => {
                param(flow, name, is)?;
                (("parameter", name.as_str()), is)
            }
            Condition::Item { tag, .. } if !known.is_in_each => {
                return Err(format!(
                    "has a condition on the item's `{tag}`, but is not inside a table with items"
                ));
            }
            Condition::Item { tag, is } => {
                let values = known.tags.get(tag).map(|rule| rule.values.as_slice());
                let never = |value: &&String| values.is_some_and(|values| !values.contains(value));
                if let Some(value) = is.iter().find(never) {
                    return Err(format!(
                        "has a condition on the tag `{tag}` = `{value}`, which it can never be"
                    ));
                }
                (("tag", tag.as_str()), is)
            }
        };
        let common = left.entry(subject).or_insert_with(|| is.iter().collect());
        common.retain(|value| is.contains(value));
        if common.is_empty() {
            let (kind, name) = subject;
            return Err(format!(
                "has conditions on the {kind} `{name}` that can never hold together"
            ));
        }
    }
    Ok(())
}

fn param(flow: &Flow, name: &str, is: &[String]) -> Result<(), String> {
    let Some(param) = flow.params.get(name) else {
        return Err(format!("has a condition on `{name}`, which is not a parameter of the flow"));
    };
    match is.iter().find(|value| !param.values.contains(value)) {
        Some(value) => {
            Err(format!("has a condition on `{name}` = `{value}`, which it can never be"))
        }
        None => Ok(()),
    }
}

/// Returns all that a stage, its gates and the tables inside it write. What is written inside is also known
/// by the name of its item.
fn all_writes(stage: &Stage) -> Vec<String> {
    let mut writes: Vec<String> = own_writes(stage).cloned().collect();
    let inside: Vec<String> = stage.inner().iter().flat_map(all_writes).collect();
    writes.extend(below(stage, &inside));
    writes.extend(inside);
    writes
}

/// Names of what was written inside the items of a stage, with the item in front.
fn below(stage: &Stage, written: &[String]) -> Vec<String> {
    written.iter().map(|name| format!("{}.x/{name}", stage.name)).collect()
}

/// Returns all that a stage and its gates write.
fn own_writes(stage: &Stage) -> impl Iterator<Item = &String> {
    stage.writes.iter().chain(stage.gates.iter().flat_map(|gate| &gate.writes))
}

fn is_artifact_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.*{}".contains(c);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain);
    let braces = name.replace("{item}", "");
    !braces.contains(['{', '}']) && name.split('/').all(part)
}

/// Returns a name that a pattern for writing could stand for.
fn sample(written: &str) -> String {
    written.replace("{item}", "x")
}

/// Returns true if an artifact is meant by a name with `*` in it. A `*` stays inside one path component.
pub fn matches_name(pattern: &str, name: &str) -> bool {
    let (pattern, mut names) = (sample(pattern), name.split('/'));
    let fits = pattern.split('/').all(|part| {
        names.next().is_some_and(|name| matches_component(part.as_bytes(), name.as_bytes()))
    });
    fits && names.next().is_none()
}

/// Looks at each byte at most once for each star: if a piece of the pattern does not fit, only the last star can
/// stand for more.
fn matches_component(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star = None;
    while read < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&name[read]) {
            (at, read) = (at + 1, read + 1);
        } else if let Some((last, before)) = star {
            (at, read) = (last + 1, before + 1);
            star = Some((last, before + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

impl Flow {
    /// Returns the largest number of agent calls that a run of this flow can make by itself.
    pub fn calls_max(&self) -> CallsMax {
        CallsMax(table_calls(&self.stages, 0))
    }
}

/// Returns the rows that a gate of this row may send back to in its table.
fn rows_before(stages: &[Stage], row: usize) -> impl Iterator<Item = usize> {
    firsts(stages, row).into_iter().chain([row])
}

/// Returns where gates of a row send back to, by name: none for itself. Those from inside it are the ones that no table
/// in it has.
fn targets<'a>(stage: &'a Stage, of: &impl Fn(&Gate) -> bool) -> Vec<(Option<&'a str>, &'a Gate)> {
    let own = stage.gates.iter().filter(|gate| of(gate));
    let mut found: Vec<(Option<&str>, &Gate)> =
        own.map(|gate| (gate.redo.as_deref(), gate)).collect();
    for row in 0..stage.inner().len() {
        let inner = targets(&stage.inner()[row], of).into_iter();
        let leaves = |(redo, _): &(Option<&str>, &Gate)| {
            redo.is_some_and(|redo| {
                !rows_before(stage.inner(), row).any(|before| stage.inner()[before].name == *redo)
            })
        };
        found.extend(inner.filter(leaves));
    }
    found
}

/// Returns the row that is sent back to from a row, if it is in this table.
fn target_row(stages: &[Stage], row: usize, redo: Option<&str>) -> Option<usize> {
    let named = |before: &usize| redo == Some(stages[*before].name.as_str());
    redo.map_or(Some(row), |_| rows_before(stages, row).find(named))
}

/// Counts the calls of a table. `reopenings` is how often the whole table can be opened again from outside.
fn table_calls(stages: &[Stage], reopenings: u64) -> u64 {
    let mut again = vec![reopenings; stages.len()];
    for (position, stage) in stages.iter().enumerate() {
        for follower in followers(stages, position) {
            again[follower] += u64::from(stage.rounds);
        }
    }
    // What does not land goes back once more, with all that was done since: by target, the last row that sends there.
    let mut landings = BTreeMap::new();
    for (row, stage) in stages.iter().enumerate() {
        for (redo, _) in targets(stage, &|gate| matches!(gate.check, Check::Land)) {
            landings.extend(target_row(stages, row, redo).map(|target| (target, row)));
        }
        // Gates with rounds of their own send back so often besides.
        for (redo, gate) in targets(stage, &|gate| gate.rounds.is_some()) {
            let target = target_row(stages, row, redo);
            for follower in target.into_iter().flat_map(|target| followers(stages, target)) {
                again[follower] += u64::from(gate.rounds.unwrap_or_default());
            }
        }
    }
    for (target, last) in landings {
        for follower in followers(stages, target).into_iter().filter(|row| *row <= last) {
            again[follower] += 1;
        }
    }
    let calls = stages.iter().zip(again).map(|(stage, again)| {
        let reviews = stage.gates.iter().filter(|gate| matches!(gate.check, Check::Review { .. }));
        let agents = u64::from(matches!(stage.work, Work::Agent { .. }));
        let at_a_time = (agents + reviews.count() as u64) * u64::from(stage.misses);
        let inside = match &stage.work {
            Work::Each { items_max, stages, .. } => {
                table_calls(stages, again).saturating_mul(*items_max as u64)
            }
            Work::Flow { stages, .. } => table_calls(stages, again),
            Work::Agent { .. } | Work::Command { .. } | Work::Deliver { .. } | Work::Nothing => 0,
        };
        at_a_time.saturating_mul(again.saturating_add(1)).saturating_add(inside)
    });
    calls.fold(0, u64::saturating_add)
}
