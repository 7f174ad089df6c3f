//! The brief of a call: the text of each turn, and the files of its inbox.
//!
//! Not here: how a brief is made (`brief.rs`), and how it is shown. The text comes from the folder of the
//! call, as the agent found it; nothing is made anew.
//!
//! Invariant: an agent can put anything into its folders; only regular files are read, each up to a limit.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use forge_core::{Run, event::Event, id::CallId};
use forge_driver::{
    Error,
    agent_call::turns::{ANEW, REPAIR},
    plan::step::steps_of,
    run_id::short_id,
    setup::turn::BRIEF,
};
use forge_keeper::{AttemptFolder, open_regular};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    forge::{Forge, NumberedRecord},
    watch::{
        events::{TurnName, player, role},
        find_unit::{Target, find},
    },
};

/// The most bytes of a brief that are shown.
const BRIEF_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The most bytes of a file of an inbox that are shown.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The most files of an inbox that are listed.
const FILES_MAX: usize = 10_000;

/// A selection among the calls of a unit; by default the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSelector {
    /// The number of the attempt.
    pub attempt: Option<u32>,
    /// The gate that looked at it.
    pub gate: Option<String>,
}

/// The brief of one call, turn by turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Briefing {
    pub run: String,
    pub call: String,
    /// The next call of the unit, if it is due but has not started; the brief shown is of the call before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that the agent was told to use, if the flow or the settings name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub folder: String,
    pub turns: Vec<TurnBrief>,
    /// The files in its inbox.
    pub inbox: Vec<InboxFile>,
    /// Path of the call's folder; `null` if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbox_folder: Option<String>,
}

/// The brief of one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TurnBrief {
    pub turn: TurnName,
    pub brief: String,
}

/// A file that an agent was given to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InboxFile {
    /// Its name in the inbox.
    pub name: String,
    pub bytes: u64,
}

impl Forge {
    /// Reads the brief of a call of a unit.
    pub fn briefing(
        &self,
        id: &str,
        unit: &str,
        selector: &CallSelector,
    ) -> Result<Briefing, Error> {
        let (run, begun) = begun(&self.records(id, 1)?);
        let calls: Vec<CallId> = begun.iter().map(|begun| begun.call.clone()).collect();
        let target = find("brief", id, &run, &calls, unit)?;
        let (BriefedCall { call, ordinal, first }, due) =
            self.chosen(id, &run, &begun, &target, selector)?;
        let folder = self.home.attempt(id, ordinal);
        if !folder.is_dir() {
            let what = format!("the brief of {} was removed by `forge clean`", call.label());
            return Err(Error::usage(what, format!("forge log {}", short_id(id))));
        }
        let frozen = self.frozen(&run)?;
        let role = role(&run, &call);
        let agent = player(&run, &frozen, &call).map(|player| player.agent);
        let steps = steps_of(&folder);
        let turns = [
            (first, folder.clone()),
            (TurnName::Anew, steps.join(ANEW)),
            (TurnName::Repair, steps.join(REPAIR)),
        ];
        let mut briefs = Vec::new();
        for (turn, folder) in turns {
            let brief = read(&folder.join(BRIEF), BRIEF_BYTES_MAX)?;
            briefs.extend(brief.map(|bytes| TurnBrief {
                turn,
                brief: String::from_utf8_lossy(&bytes).into_owned(),
            }));
        }
        if briefs.is_empty() {
            let what = match role {
                Some(_) => format!("{call} has no brief yet: its agent has not started"),
                None => format!("{call} is not an agent's work, so it has no brief"),
            };
            return Err(Error::usage(what, format!("forge watch {} {call}", short_id(id))));
        }
        let boxes = self.home.checkouts(id, &frozen)?.join("boxes").join(format!("{ordinal:04}"));
        let inbox = [boxes, folder.clone()].map(|path| AttemptFolder::at(path).inbox());
        // Agents of an older Forge had theirs in the folder of the call.
        let files = |inbox: &PathBuf| listed(inbox).map(|files| (inbox.clone(), files));
        let found = inbox.iter().find_map(|inbox| files(inbox).filter(|(_, f)| !f.is_empty()));
        let found = found.or_else(|| inbox.iter().find_map(files));
        let (inbox_folder, inbox) = found.map_or((None, Vec::new()), |(at, f)| (Some(at), f));
        Ok(Briefing {
            run: id.to_owned(),
            call: call.to_string(),
            due: due.map(|due| due.to_string()),
            role,
            model: agent.as_ref().and_then(|agent| agent.model.clone()),
            agent: agent.map(|agent| agent.name),
            folder: folder.display().to_string(),
            turns: briefs,
            inbox,
            inbox_folder: inbox_folder.map(|path| path.display().to_string()),
        })
    }

    /// Returns the call that is meant. Where only a unit is named and its last call has not started, it is the one before;
    /// then that call is named, too.
    fn chosen(
        &self,
        id: &str,
        run: &Run,
        begun: &[BriefedCall],
        target: &Target,
        selector: &CallSelector,
    ) -> Result<(BriefedCall, Option<CallId>), Error> {
        // A driver makes the folder of a call when it starts it. What is under way without one was only wanted.
        let is_due = |one: &BriefedCall| {
            run.calls().contains_key(&one.call) && !self.home.attempt(id, one.ordinal).is_dir()
        };
        let last = chosen(id, run, begun, target, selector)?;
        if !is_due(&last) {
            return Ok((last, None));
        }
        let others: Vec<BriefedCall> = begun.iter().filter(|one| !is_due(one)).cloned().collect();
        let unit = Target::Unit(last.call.unit().clone());
        let before =
            chosen(id, run, &others, &unit, &CallSelector { attempt: None, ..selector.clone() });
        match (target, selector.attempt, before) {
            (Target::Unit(_), None, Ok(before)) => Ok((before, Some(last.call))),
            (Target::Unit(_) | Target::Call(_), _, before) => {
                let id = short_id(id);
                let what = format!("{} has not started yet, so it has no brief", last.call);
                let next = match before {
                    Ok(before) => format!("forge brief {id} {} (the one before)", before.call),
                    Err(_) => format!("forge status {id}"),
                };
                Err(Error::usage(what, next))
            }
        }
    }

    /// Returns a file that an agent was given to read.
    pub fn inbox_file(&self, briefing: &Briefing, name: &str) -> Result<Vec<u8>, Error> {
        let next = format!("forge brief {} {}", short_id(&briefing.run), briefing.call);
        let Some(folder) = &briefing.inbox_folder else {
            return Err(Error::usage(format!("the inbox of {} is gone", briefing.call), next));
        };
        let found = briefing.inbox.iter().find(|file| file.name == name);
        let Some(found) = found else {
            let names = briefing.inbox.iter().map(|file| file.name.as_str());
            let near = forge_project::suggest::nearest(name, names);
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let all: Vec<&str> = briefing.inbox.iter().map(|file| file.name.as_str()).collect();
            let there = if near.is_empty() { format!("; it has {}", all.join(", ")) } else { near };
            let call: Option<CallId> = briefing.call.parse().ok();
            let call = call.map_or_else(|| briefing.call.clone(), |call| call.label());
            let what = format!("the inbox of {call} has no `{name}`{there}");
            return Err(Error::usage(what, next));
        };
        let path = Path::new(folder).join(&found.name);
        read(&path, FILE_BYTES_MAX)?
            .ok_or_else(|| Error::usage(format!("{} is gone", path.display()), next))
    }
}

/// A call that was started.
#[derive(Clone)]
struct BriefedCall {
    call: CallId,
    /// The number of its folder.
    ordinal: u32,
    /// Whether its first turn went on in a session.
    first: TurnName,
}

/// Returns the run, and all calls that were ever started.
fn begun(records: &[NumberedRecord]) -> (Run, Vec<BriefedCall>) {
    let mut run = Run::new();
    let mut begun = Vec::new();
    for NumberedRecord { record, .. } in records {
        run.apply_record(record);
        for (call, ordinal) in record.facts.iter().filter_map(Event::call_started) {
            let first = match run.session(&call) {
                Some(_) => TurnName::Resumed,
                None => TurnName::First,
            };
            begun.push(BriefedCall { call, ordinal, first });
        }
    }
    (run, begun)
}

fn chosen(
    id: &str,
    run: &Run,
    begun: &[BriefedCall],
    target: &Target,
    selector: &CallSelector,
) -> Result<BriefedCall, Error> {
    let (unit, call) = match target {
        Target::Unit(unit) => (unit, None),
        Target::Call(call) => (call.unit(), Some(call)),
    };
    let fits = |one: &CallId| {
        let is_named = call.is_none_or(|call| call == one || is_look_at(one, call, selector));
        let gate = one.gate();
        let is_gate = match (&selector.gate, selector.attempt) {
            (Some(wanted), _) => gate == Some(wanted.as_str()),
            // An attempt that is named is meant itself, and not the review of it.
            (None, Some(_)) => gate.is_none() || call == Some(one),
            (None, None) => true,
        };
        let is_attempt = selector.attempt.is_none_or(|n| one.attempt().number == n);
        one.unit() == unit && is_named && is_gate && is_attempt
    };
    let fitting: Vec<&BriefedCall> = begun.iter().filter(|begun| fits(&begun.call)).collect();
    // Commands have no brief; if an agent took part, its call is meant: the worker's before the reviewer's.
    let by_agents = || fitting.iter().rev().filter(|begun| role(run, &begun.call).is_some());
    let worker = by_agents().find(|begun| begun.call.gate().is_none());
    worker
        .or_else(|| by_agents().next())
        .or(fitting.last())
        .map(|begun| (*begun).clone())
        .ok_or_else(|| {
            let attempt = selector.attempt.map(|n| format!(" at attempt {n}")).unwrap_or_default();
            let gate =
                selector.gate.as_ref().map(|gate| format!(" for `{gate}`")).unwrap_or_default();
            let what = format!("no agent was started for {}{attempt}{gate} yet", unit.label());
            Error::usage(what, format!("forge status {}", short_id(id)))
        })
}

/// Returns true if a call is the look of the wanted gate at a named attempt.
fn is_look_at(one: &CallId, named: &CallId, selector: &CallSelector) -> bool {
    let is_look_at_it = one.gate().is_some() && named.gate().is_none();
    is_look_at_it && selector.gate.is_some() && one.attempt() == named.attempt()
}

/// Returns the files of an inbox and of the folders in it, by name. Nothing, if it is gone.
fn listed(inbox: &Path) -> Option<Vec<InboxFile>> {
    let mut files = files_in(inbox, "")?;
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Some(files)
}

fn files_in(folder: &Path, below: &str) -> Option<Vec<InboxFile>> {
    let entries = fs::read_dir(folder).ok()?;
    let mut files = Vec::new();
    for entry in entries.flatten().take(FILES_MAX) {
        // Not where a link leads to: an agent could have put it there.
        let (Ok(metadata), Ok(name)) = (entry.metadata(), entry.file_name().into_string()) else {
            continue;
        };
        if metadata.is_file() {
            files.push(InboxFile { name: format!("{below}{name}"), bytes: metadata.len() });
        } else if metadata.is_dir() && below.is_empty() {
            files.extend(files_in(&entry.path(), &format!("{name}/")).unwrap_or_default());
        }
    }
    Some(files)
}

/// Returns a file up to a limit. Nothing, if there is none.
fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    match open_regular(path).and_then(|file| file.take(most).read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file(path, &error)),
    }
}
