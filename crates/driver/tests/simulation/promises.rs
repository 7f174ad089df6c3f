//! What must hold in every simulated run, whatever went wrong in it.

use std::collections::BTreeSet;

use forge_core::{
    Run,
    event::{Blob, Colour, Event, Outcome, Receipt, Record, Ruling},
    run::Phase,
};
use forge_driver::{layout::Home, projection::StateFile};
use forge_store::{disk::Disk as _, records::fold_facts};

use super::{
    faults::Fault,
    faults::{OUT_OF_ORDER, TURN_MICROS},
    machine::Machine,
    world::{RUN, blobs_of, events_file, records_of},
};

/// After a crash, everything that the journal says is still there.
pub(crate) fn after_a_crash(machine: &Machine, home: &Home) {
    machine.disk.look(|| hold_after_a_crash(machine, home));
}

fn hold_after_a_crash(machine: &Machine, home: &Home) {
    let records = records_of(machine, home);
    blobs_are_there(machine, home, &records);
    deliveries_are_there(machine, home, &records);
    what_was_told_is_there(machine, &records);
}

/// Where the machine goes on, whoever finds the `state.json` of a run that is over finds its summary, too.
pub(crate) fn state_is_shown_last(machine: &Machine, home: &Home) {
    machine.disk.look(|| {
        let run = fold_facts(&records_of(machine, home));
        let read = |name: &str| machine.disk.read(&home.run(RUN).join(name));
        let is_over = matches!(run.phase(), Phase::Over(_));
        let seq = records_of(machine, home).len();
        let is_shown = read("state.json")
            .is_ok_and(|state| state == StateFile::new(seq as u64, RUN, &run).text().as_bytes());
        if is_over && is_shown && read("summary.md").is_err() {
            machine.breaks("`state.json` shows a run that is over, and there is no summary");
        }
    });
}

/// At the end. The number of records.
pub(crate) fn at_the_end(machine: &Machine, home: &Home) -> u64 {
    machine.disk.look(|| hold_at_the_end(machine, home))
}

fn hold_at_the_end(machine: &Machine, home: &Home) -> u64 {
    let records = records_of(machine, home);
    let run = fold_facts(&records);
    blobs_are_there(machine, home, &records);
    deliveries_are_there(machine, home, &records);
    what_was_told_is_there(machine, &records);
    evidence_is_true(machine, &records);
    what_landed_is_proved(machine, &records);
    what_landed_stays(machine, &records);
    nobody_is_blamed_for_files_of_others(machine, &records);
    each_call_ends_once(machine, &records);
    what_forge_cannot_do_is_nobodys_fault(machine, &records);
    a_full_disk_is_no_agents_fault(machine, &records);
    refs_follow_the_facts(machine, &run);
    prices_are_true(machine, &run);
    files_show_the_journal(machine, home, &records, &run);
    records.len() as u64
}

fn receipts(records: &[Record]) -> impl Iterator<Item = &Receipt> {
    records.iter().flat_map(|record| &record.facts).filter_map(|fact| match fact {
        Event::AttemptEnded { receipt, .. } => receipt.as_ref(),
        Event::Judged { receipt, .. } => Some(receipt),
        _ => None,
    })
}

fn blobs_are_there(machine: &Machine, home: &Home, records: &[Record]) {
    let blobs = blobs_of(machine, home);
    let mut named: BTreeSet<&Blob> = BTreeSet::new();
    for fact in records.iter().flat_map(|record| &record.facts) {
        if let Event::RunStarted(start) = fact {
            named.extend(start.roles.values().chain(&start.settings));
        }
    }
    named.extend(receipts(records).flat_map(|receipt| receipt.artifacts.values()));
    for blob in named {
        let is_there = blob.0.parse().is_ok_and(|id| blobs.get(&id).is_ok());
        if !is_there {
            machine.breaks(format!("a fact names the blob {}, which is lost", blob.0));
        }
    }
}

/// What is told as delivered is there, once, and whole.
fn deliveries_are_there(machine: &Machine, home: &Home, records: &[Record]) {
    let mut n_done = 0;
    for fact in records.iter().flat_map(|record| &record.facts) {
        if let Event::EffectDone { reference, .. } = fact {
            n_done += 1;
            let text = home.run(RUN).join(reference);
            let record = text.with_file_name("delivery.json");
            let is_whole =
                |bytes: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&bytes).is_ok();
            if machine.disk.read(&text).is_ok_and(|text| !text.is_empty())
                && machine.disk.read(&record).is_ok_and(is_whole)
            {
                continue;
            }
            machine.breaks(format!("{reference} is a fact, and not there"));
        }
    }
    let folders = machine.disk.list(&home.run(RUN).join("delivery")).unwrap_or_default();
    if folders.len() > n_done.max(1) {
        machine.breaks("the same result was delivered twice");
    }
}

fn what_was_told_is_there(machine: &Machine, records: &[Record]) {
    let mut journaled = records.iter();
    for published in &*machine.published.borrow() {
        if !journaled.any(|record| record == published) {
            machine.breaks("a fact was published, and the journal does not have it");
            return;
        }
    }
}

/// Forge tries its own steps again; no call pays for them.
fn what_forge_cannot_do_is_nobodys_fault(machine: &Machine, records: &[Record]) {
    for fact in records.iter().flat_map(|record| &record.facts) {
        let (Event::AttemptEnded { outcome: Outcome::Fault { what, .. }, .. }
        | Event::Judged { ruling: Ruling::Fault { what, .. }, .. }) = fact
        else {
            continue;
        };
        if what.contains(OUT_OF_ORDER) {
            machine
                .breaks(format!("a step of Forge's own failed, and somebody is blamed: {fact:?}"));
        }
    }
}

fn a_full_disk_is_no_agents_fault(machine: &Machine, records: &[Record]) {
    // A second driver that died may have had a call of the same name.
    if machine.happened.borrow().contains(&Fault::SecondDriver) {
        return;
    }
    for fact in records.iter().flat_map(|record| &record.facts) {
        if let Event::AttemptEnded { attempt, outcome: Outcome::Fault { .. }, .. } = fact
            && machine.without_room.borrow().contains(&attempt.to_string())
        {
            machine.breaks(format!("{attempt} is blamed for a full disk"));
        }
    }
}

/// Evidence is what a command came to on exactly that code.
fn evidence_is_true(machine: &Machine, records: &[Record]) {
    let proofs = machine.proofs.borrow();
    for one in receipts(records).flat_map(|receipt| &receipt.evidence) {
        let proof = (one.tree.clone(), one.command.clone(), one.colour);
        if !proofs.contains(&proof) {
            machine.breaks(format!("`{}` was never {:?} on {}", one.command, one.colour, one.tree));
        }
    }
}

/// What lands was proved, or a person let it go without.
fn what_landed_is_proved(machine: &Machine, records: &[Record]) {
    let (mut green, mut waived) = (BTreeSet::new(), BTreeSet::new());
    for fact in records.iter().flat_map(|record| &record.facts) {
        let receipt = match fact {
            Event::AttemptEnded { receipt, .. } => receipt.as_ref(),
            Event::Judged { receipt, .. } => Some(receipt),
            Event::GateWaived { unit, .. } => {
                waived.insert(unit.clone());
                None
            }
            Event::Landed { unit, tree, .. } => {
                let is_record = unit.stage == "record";
                if !green.contains(tree) && !waived.contains(unit) && !is_record {
                    machine.breaks(format!("{unit} landed without proof"));
                }
                None
            }
            _ => None,
        };
        for one in receipt.iter().flat_map(|receipt| &receipt.evidence) {
            if one.colour == Colour::Green {
                green.insert(one.tree.clone());
            }
        }
    }
}

/// No agent here removes a file, so no work that lands may take one away that landed before.
fn what_landed_stays(machine: &Machine, records: &[Record]) {
    let mut before: Option<&String> = None;
    for fact in records.iter().flat_map(|record| &record.facts) {
        let Event::Landed { unit, commit, head, .. } = fact else { continue };
        let head = head.as_ref().unwrap_or(commit);
        for path in before.iter().flat_map(|before| machine.history.removed(before, head)) {
            machine.breaks(format!("{unit} landed, and {path} of others is gone"));
        }
        before = Some(head);
    }
}

/// Agents here leave the files of other tasks alone.
fn nobody_is_blamed_for_files_of_others(machine: &Machine, records: &[Record]) {
    for fact in records.iter().flat_map(|record| &record.facts) {
        let Event::Judged { judgement, ruling: Ruling::Verdict(verdict), .. } = fact else {
            continue;
        };
        for finding in verdict.findings() {
            let is_of_others = finding.path.as_deref().is_some_and(|path| path != "other.txt");
            if finding.what.contains("outside") && is_of_others {
                machine.breaks(format!("{judgement} blames {finding:?}"));
            }
        }
    }
}

fn each_call_ends_once(machine: &Machine, records: &[Record]) {
    let mut ended = BTreeSet::new();
    for fact in records.iter().flat_map(|record| &record.facts) {
        let call = match fact {
            Event::AttemptEnded { attempt, .. } => attempt.to_string(),
            Event::Judged { judgement, .. } => judgement.to_string(),
            _ => continue,
        };
        if !ended.insert(call.clone()) {
            machine.breaks(format!("{call} ended twice"));
        }
    }
}

fn refs_follow_the_facts(machine: &Machine, run: &Run) {
    if !run.has_landed() {
        return;
    }
    let head = run.head().map(str::to_owned);
    for name in ["refs/forge/run/head", "refs/heads/forge/run"] {
        if machine.history.reference(name) != head {
            machine.breaks(format!("{name} is not where the facts say"));
        }
    }
}

/// Nothing is paid twice, and where nothing was lost, nothing is missing.
fn prices_are_true(machine: &Machine, run: &Run) {
    let charged: u64 = machine.charged.borrow().values().sum();
    let ledger = run.ledger();
    if ledger.known.0 > charged {
        machine
            .breaks(format!("{} is known to be paid, and {charged} was charged", ledger.known.0));
    }
    let lossy = [
        Fault::KeeperDies,
        Fault::PowerLoss,
        Fault::SecondDriver,
        Fault::KeeperCannotStart,
        Fault::CrashBeforeWrite,
        Fault::CrashAfterWrite,
        Fault::EndsTwice,
    ];
    let is_lossy = machine.all_that_happened().iter().any(|fault| lossy.contains(fault));
    if !is_lossy
        && ledger.n_unknown == 0
        && ledger.known.0 + TURN_MICROS < charged
        && run.calls().is_empty()
    {
        machine.breaks(format!("only {} of {charged} are in the ledger", ledger.known.0));
    }
}

/// `events.jsonl` and `state.json` say what the journal says, or less.
fn files_show_the_journal(machine: &Machine, home: &Home, records: &[Record], run: &Run) {
    let shown = machine.disk.read(&events_file(home)).unwrap_or_default();
    let n_lines = shown.split(|byte| *byte == b'\n').count().saturating_sub(1);
    if n_lines > records.len() {
        machine.breaks(format!("events.jsonl shows {n_lines} records of {}", records.len()));
    }
    if let Ok(state) = machine.disk.read(&home.run(RUN).join("state.json")) {
        let seq = serde_json::from_slice::<serde_json::Value>(&state).ok();
        let seq = seq.and_then(|state| state.get("seq")?.as_u64());
        if seq == Some(records.len() as u64) {
            let wanted = StateFile::new(records.len() as u64, RUN, run).text();
            if state != wanted.as_bytes() {
                machine.breaks("state.json is not what the journal says");
            }
        }
    }
}
