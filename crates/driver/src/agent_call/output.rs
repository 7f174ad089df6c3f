//! What becomes of what a call left: from an ending, a transcript and an outbox to a report.
//!
//! Everything here is data from outside. What cannot be read is a fault, never a pass.

use std::{collections::BTreeMap, path::Path};

use forge_agents::{parse_result, result_bytes};
use forge_core::{
    Report, Run,
    event::{Blob, Outcome, Receipt, Remark, Ruling},
    failure::FaultClass,
    id::{AttemptId, CallId, JudgementId, is_item_id},
    inbox::artifact_name,
    item::{Item, resolved},
    money::Spent,
    result::{
        AgentResult, MustState, RESULT_BYTES_MAX, RESULT_FILE, ReportedVerdict, ResultError,
        ResultKey, Status,
    },
    run::CallKind,
    verdict::{Finding, Proof, Severity, Verdict},
};
use forge_keeper::{AttemptFolder, Ending};
use serde_json::Value;

use crate::{
    Error,
    context::RunContext,
    outcome::{CommandEnd, command_end, without_result},
};

/// The most findings of a worker that are kept, the worst of them.
const FOUND_MAX: usize = 50;
/// The most bytes of one artifact.
pub const ARTIFACT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The valid result and the artifacts of an agent.
pub struct AgentOutput {
    pub result: AgentResult,
    pub artifacts: BTreeMap<String, Blob>,
}

/// What a call that has an ending comes to.
pub fn report(
    context: &RunContext<'_>,
    run: &Run,
    call: &CallId,
    folder: &AttemptFolder,
    ending: &Ending,
) -> Result<Report, Error> {
    let took_ms = ending.ended_at_ms.saturating_sub(ending.started_at_ms);
    match (run.call_kind(call), call) {
        (CallKind::Command { .. }, CallId::Attempt(attempt)) => {
            let mut receipt = Receipt { took_ms, ..Receipt::from_spent(Spent::NOTHING) };
            let mut lists = Vec::new();
            let outcome = match command_end(context.executor, folder, ending) {
                CommandEnd::Success => match take_artifacts(context, run, call, folder)? {
                    Ok(artifacts) => {
                        receipt.artifacts = artifacts;
                        // A command that reports a list does so as an agent would.
                        let has_list = run.stage(&attempt.unit).list.is_some();
                        let result = has_list
                            .then(|| clean_result(context, folder, call, &[ResultKey::Lists]));
                        match result.transpose() {
                            Ok(result) => {
                                let reported = result.map(|result| result.lists);
                                lists = resolve_symlinked_writes(
                                    context,
                                    run,
                                    reported.unwrap_or_default(),
                                )?
                                .into_iter()
                                .collect();
                                Outcome::Done
                            }
                            Err(flaw) => {
                                let what = flaw.to_string();
                                Outcome::Fault { class: FaultClass::NoResult, what }
                            }
                        }
                    }
                    Err(what) => Outcome::Fault { class: FaultClass::NoArtifact, what },
                },
                CommandEnd::Failure { what, .. } => {
                    Outcome::Fault { class: FaultClass::CommandFailed, what }
                }
                CommandEnd::Fault { class, what } => Outcome::Fault { class, what },
                CommandEnd::Interrupted => Outcome::Interrupted,
            };
            Ok(Report::Worked { attempt: attempt.clone(), outcome, lists, receipt })
        }
        (CallKind::Command { run: command }, CallId::Judgement(judgement)) => {
            let receipt = Receipt { took_ms, ..Receipt::from_spent(Spent::NOTHING) };
            let ruling = match command_end(context.executor, folder, ending) {
                CommandEnd::Success => Ruling::Verdict(Verdict::Pass { findings: Vec::new() }),
                CommandEnd::Failure { code, what } => Ruling::Verdict(Verdict::Revise {
                    findings: vec![failed_command(&command, code, &what)],
                }),
                CommandEnd::Fault { class, what } => Ruling::Fault { class, what },
                CommandEnd::Interrupted => Ruling::Interrupted,
            };
            Ok(Report::Judged { judgement: judgement.clone(), ruling, receipt })
        }
        (_, _) => unreachable!("agents have turns, and our own gates have plans of their own"),
    }
}

/// Turns the output of an agent's call into its report.
pub fn report_agent_call(
    call: &CallId,
    left: Result<AgentOutput, Outcome>,
    mut receipt: Receipt,
) -> Report {
    let left = left.map(|AgentOutput { result, artifacts }| {
        receipt.summary.clone_from(&result.summary);
        receipt.shown = result.shown.clone().map(Into::into);
        receipt.friction.clone_from(&result.friction.entries);
        receipt.notes.extend(result.friction.flaws.iter().cloned());
        receipt.artifacts = artifacts;
        result
    });
    match call {
        CallId::Attempt(attempt) => worked(attempt, left, receipt),
        CallId::Judgement(judgement) => reviewed(judgement, left, receipt),
    }
}

/// What an agent left that can be used: the result that its program vouches for, or the file in its
/// outbox, or what it answered in a turn before; and the artifacts.
pub fn read_agent_output(
    context: &RunContext<'_>,
    run: &Run,
    call: &CallId,
    folder: &AttemptFolder,
    answers: [Option<&Value>; 2],
    must: &[ResultKey],
) -> Result<Result<AgentOutput, Outcome>, Error> {
    let [last, before] = answers;
    let answered = |answer: Option<&Value>| {
        let bytes = serde_json::to_vec(answer?).expect("what was read as JSON can be written");
        let result = parse_result(&context.redacted_json(&bytes), &call.to_string(), must);
        Some(result.map_err(|flaw| flaw.to_string()))
    };
    let from_file = || match clean_result(context, folder, call, must) {
        Err(ResultError::Missing) => None,
        other => Some(other.map_err(|flaw| flaw.to_string())),
    };
    let mut flaw = None;
    let mut result = None;
    let from_file: &dyn Fn() -> Option<Result<AgentResult, String>> = &from_file;
    for candidate in [&|| answered(last), from_file, &|| answered(before)] {
        match candidate() {
            None => {}
            Some(Ok(valid)) => {
                result = Some(valid);
                break;
            }
            Some(Err(what)) => flaw = flaw.or(Some(what)),
        }
    }
    let Some(mut result) = result else {
        let what = flaw.unwrap_or_else(|| ResultError::Missing.to_string());
        return Ok(Err(Outcome::Fault { class: FaultClass::NoResult, what }));
    };
    result.lists = resolve_symlinked_writes(context, run, result.lists)?;
    Ok(match (take_artifacts(context, run, call, folder)?, result.status) {
        (Ok(artifacts), _) => Ok(AgentOutput { result, artifacts }),
        // Whoever is not done owes nothing yet.
        (Err(_), Status::Partial | Status::Blocked) => {
            Ok(AgentOutput { result, artifacts: BTreeMap::new() })
        }
        (Err(what), Status::Done) => Err(Outcome::Fault { class: FaultClass::NoArtifact, what }),
    })
}

/// The gate for an artifact: it is there, has something in it, and can be read as what it is.
pub fn look_for_artifact(
    context: &RunContext<'_>,
    run: &Run,
    judgement: &JudgementId,
    name: &str,
) -> Result<Report, Error> {
    let unit = run.unit(&judgement.attempt.unit);
    let name = artifact_name(run, name, &judgement.attempt.unit.scope);
    // A blob that cannot be read is no fault of the author's.
    let flaw = match unit.artifacts.get(&name) {
        None => Some("it is not there".to_owned()),
        Some(blob) => {
            let bytes = context.blob(blob)?;
            let list = run.stage(&judgement.attempt.unit).list.as_deref();
            let items = list.and_then(|list| run.items(&judgement.attempt.unit, list));
            form_flaw(&name, &bytes).or_else(|| heading_flaw(&bytes, items.unwrap_or_default()))
        }
    };
    let verdict = match flaw {
        None => Verdict::Pass { findings: Vec::new() },
        Some(flaw) => Verdict::Revise {
            findings: vec![Finding {
                id: String::new(),
                severity: Severity::Major,
                path: Some(name.clone()),
                line: None,
                what: format!("`{name}`: {flaw}"),
                why: String::new(),
                proof: None,
                was: None,
                doubt: None,
            }],
        },
    };
    let (judgement, ruling) = (judgement.clone(), Ruling::Verdict(verdict));
    Ok(Report::Judged { judgement, ruling, receipt: Receipt::from_spent(Spent::NOTHING) })
}

fn form_flaw(name: &str, bytes: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some("it is not UTF-8".to_owned()) };
    if text.trim().is_empty() {
        return Some("it is empty".to_owned());
    }
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("json") => serde_json::from_str::<Value>(text)
            .err()
            .map(|error| format!("it is not JSON: {error}")),
        Some("toml") => toml::from_str::<toml::Table>(text)
            .err()
            .map(|error| format!("it is not TOML: {}", error.message())),
        Some(_) | None => None,
    }
}

/// A text that has a heading such as `## T1: title` for items has one for each item of the list that was reported with it.
fn heading_flaw(bytes: &[u8], items: &[Item]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let heading = |line: &str| {
        let (id, _) = line.strip_prefix("## ")?.split_once(':')?;
        is_item_id(id.trim()).then(|| id.trim().to_owned())
    };
    let headings: Vec<String> = text.lines().filter_map(heading).collect();
    let unlisted = headings.iter().find(|id| !items.iter().any(|item| item.id == **id));
    let untold = items.iter().find(|item| !headings.contains(&item.id));
    match (unlisted, untold) {
        _ if headings.is_empty() || items.is_empty() => None,
        (Some(id), _) => Some(format!("it has a heading for `{id}`, which is not in the list")),
        (None, Some(item)) => {
            Some(format!("it has no heading for `{}`, which the list has", item.id))
        }
        (None, None) => None,
    }
}

fn failed_command(command: &str, code: i32, what: &str) -> Finding {
    let failed = format!("`{command}` failed with exit code {code}");
    let proof = Proof::Command { command: command.to_owned(), output: what.to_owned() };
    Finding {
        id: String::new(),
        severity: Severity::Major,
        path: None,
        line: None,
        what: failed,
        why: String::new(),
        proof: Some(proof),
        was: None,
        doubt: None,
    }
}

fn worked(attempt: &AttemptId, left: Result<AgentResult, Outcome>, mut receipt: Receipt) -> Report {
    let attempt = attempt.clone();
    let (outcome, lists) = match left {
        Err(outcome) => (outcome, Vec::new()),
        Ok(result) => {
            receipt.remarks = remarks(&result);
            report_found(&mut receipt, result.findings.into_iter().map(Finding::from));
            let lists = result.lists.into_iter().collect();
            let outcome = match (result.status, result.blocker) {
                (Status::Done, _) => Outcome::Done,
                (Status::Partial, _) => Outcome::Partial { note: result.summary },
                (Status::Blocked, blocker) => {
                    let blocker = blocker.expect("a blocked result says why");
                    Outcome::Blocked { class: blocker.class.into(), what: blocker.what }
                }
            };
            (outcome, lists)
        }
    };
    Report::Worked { attempt, outcome, lists, receipt }
}

/// What an agent wants others to know, besides its findings.
fn remarks(result: &AgentResult) -> Vec<Remark> {
    let unmet = result.must.iter().filter(|must| must.state == MustState::Unmet);
    let unmet = unmet.map(|must| match must.proof.trim() {
        "" => Remark::Unmet(must.id.clone()),
        proof => Remark::Unmet(format!("{} ({proof})", must.id)),
    });
    let decisions = result.decisions.iter().cloned().map(Remark::Decision);
    let follow_ups = result.follow_ups.iter().cloned().map(Remark::FollowUp);
    let memory = result.memory.iter().cloned().map(Remark::Memory);
    let settled = result.settled.iter().cloned().map(Remark::Settled);
    unmet.chain(decisions).chain(follow_ups).chain(memory).chain(settled).collect()
}

/// Reports what a worker found itself and did not fix, the worst first. A person is asked about what is serious.
fn report_found(receipt: &mut Receipt, findings: impl Iterator<Item = Finding>) {
    let mut found: Vec<Finding> = findings.collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let n_cut = found.len().saturating_sub(FOUND_MAX);
    if n_cut > 0 {
        receipt.notes.push(format!("{n_cut} more findings of its own are only in what it left"));
        found.truncate(FOUND_MAX);
    }
    receipt.found = found;
}

fn reviewed(
    judgement: &JudgementId,
    left: Result<AgentResult, Outcome>,
    mut receipt: Receipt,
) -> Report {
    match left {
        Ok(result) => {
            receipt.remarks = remarks(&result);
            let ruling = verdict_of(result);
            Report::Judged { judgement: judgement.clone(), ruling, receipt }
        }
        Err(outcome) => without_result(&CallId::Judgement(judgement.clone()), outcome, receipt),
    }
}

fn verdict_of(result: AgentResult) -> Ruling {
    let fault = |what: String| Ruling::Fault { class: FaultClass::NoResult, what };
    match result.status {
        Status::Done => {}
        Status::Partial => {
            return fault(format!("the review is only partly done: {}", result.summary));
        }
        Status::Blocked => {
            let what = result.blocker.map(|blocker| blocker.what).unwrap_or_default();
            return fault(format!("the reviewer says it is blocked: {what}"));
        }
    }
    let findings: Vec<Finding> = result.findings.into_iter().map(Finding::from).collect();
    match result.verdict.expect("the result of a review has a verdict") {
        ReportedVerdict::Pass => Ruling::Verdict(Verdict::Pass { findings }),
        ReportedVerdict::Revise => Ruling::Verdict(Verdict::Revise { findings }),
        ReportedVerdict::Block => {
            Ruling::Verdict(Verdict::Block { reason: result.summary, findings })
        }
    }
}

/// Takes the declared artifacts into the blobs, or says which one cannot be taken.
fn take_artifacts(
    context: &RunContext<'_>,
    run: &Run,
    call: &CallId,
    folder: &AttemptFolder,
) -> Result<Result<BTreeMap<String, Blob>, String>, Error> {
    let mut artifacts = BTreeMap::new();
    for name in declared_artifacts(run, call) {
        let bytes = match context.executor.collect(&folder.outbox(), &name, ARTIFACT_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(flaw) => return Ok(Err(flaw.to_string())),
        };
        // A full disk is nobody's miss: the driver stops, and the outbox is still there later.
        let blob = context.blobs.add(&context.redacted(&bytes));
        let blob = blob.map_err(|error| Error::file(&context.home.dir.join("blobs"), &error))?;
        artifacts.insert(name, Blob(blob.as_str().to_owned()));
    }
    Ok(Ok(artifacts))
}

/// The names of the artifacts that a call leaves.
pub fn declared_artifacts(run: &Run, call: &CallId) -> Vec<String> {
    let stage = run.stage(call.unit());
    let writes = match call {
        CallId::Attempt(_) => &stage.writes,
        CallId::Judgement(judgement) => {
            let gate = stage.gate(&judgement.gate).expect("a judgement names a gate of its stage");
            &stage.gates[gate].writes
        }
    };
    writes.iter().map(|name| artifact_name(run, name, &call.unit().scope)).collect()
}

/// Reads the result as it will be kept: without secrets, whoever put them there.
fn clean_result(
    context: &RunContext<'_>,
    folder: &AttemptFolder,
    call: &CallId,
    must: &[ResultKey],
) -> Result<AgentResult, ResultError> {
    let name = &call.to_string();
    let collected = context.executor.collect(&folder.outbox(), RESULT_FILE, RESULT_BYTES_MAX);
    let bytes = result_bytes(collected)?;
    // A flaw is told in the words of the agent, before anything is redacted.
    parse_result(&bytes, name, must)?;
    parse_result(&context.redacted_json(&bytes), name, must)
}

/// The lists with the paths that their items write as they really lead, through the symbolic links
/// of the project: two names for one place are one place.
fn resolve_symlinked_writes(
    context: &RunContext<'_>,
    run: &Run,
    mut lists: BTreeMap<String, Vec<Item>>,
) -> Result<BTreeMap<String, Vec<Item>>, Error> {
    let has_paths = lists.values().flatten().any(|item| !item.writes.is_empty());
    let (true, Some(_), Some(head)) = (has_paths, &run.definition().start.base, run.head()) else {
        return Ok(lists);
    };
    let links = context.code.links_at(head)?;
    if !links.is_empty() {
        for item in lists.values_mut().flatten() {
            item.writes = item.writes.iter().flat_map(|path| resolved(path, &links)).collect();
            item.writes.dedup();
        }
    }
    Ok(lists)
}

#[cfg(test)]
mod tests;
