//! The result of a run is offered: title, text, branch, commit and evidence, as a record in
//! `runs/RUN/delivery/NNN`. A host gets the same text: in the run, or later by `forge pr`.
//!
//! What is about to happen is journaled first, with a mark that says which commit of which unit is
//! meant. Whoever comes after a crash finds the mark in the record, and makes nothing twice.
//!
//! Invariant: the code of the commit is looked at again, right before the record is made.

use std::{
    io,
    path::{Path, PathBuf},
};

use forge_core::{
    Report,
    event::{Event, Outcome, Receipt},
    flow::Check,
    id::UnitId,
    money::Spent,
    run::EffectMark,
    verdict::BlockerClass,
};
use forge_project::settings::DeliveryTime;
use forge_store::{
    atomic_file::replace_synced_on,
    disk::{Disk, SyncPoint},
    records::facts,
};

use crate::{
    Error,
    checks::checks_at,
    deliver::{
        evidence,
        types::{Offer, title},
    },
    layout::Home,
    plan::{
        Pending, Plan,
        step::{OutsideEffect, PushOnto},
    },
};

/// The most bytes of a record.
const OFFER_BYTES_MAX: u64 = 1024 * 1024;
/// The text for people.
pub const TEXT: &str = "pull-request.md";
/// The record for programs.
const FILE: &str = "delivery.json";

/// The plan of the delivery `pull-request`.
pub(super) fn plan(plan: &Plan<'_>) -> Result<Report, Pending> {
    let Plan { context, run, call, .. } = *plan;
    let repository = context.code;
    let start = &run.definition().start;
    let (Some(base), Some(head)) = (&start.base, run.head()) else {
        return Ok(plan.nothing_delivered("nothing to deliver: the run has no code"));
    };
    let mark = format!("{}@{head}", call.unit());
    let (attempt, mark_of) = (plan.attempt().clone(), mark.clone());
    match run.mark(&mark) {
        None | Some(EffectMark::Intended) => {}
        Some(EffectMark::Done) => {
            let summary = match found(context.disk, &context.home.run(context.id), &mark)? {
                Some(_) => match context.frozen.opens {
                    // What was begun before the setting was changed is not left half-way.
                    DeliveryTime::OnRequest if !plan.has_begun_outside(&mark) => {
                        "the text of the pull request is ready; open it with forge pr".to_owned()
                    }
                    DeliveryTime::OnRequest | DeliveryTime::AtEnd => {
                        let commit = head.to_owned();
                        let onto = if plan.has_pushed_other(head) {
                            PushOnto::Own
                        } else {
                            PushOnto::Nothing
                        };
                        plan.outside(&mark, OutsideEffect::Push { commit, onto })?;
                        plan.outside(&mark, OutsideEffect::PullRequest)?;
                        "the pull request is open".to_owned()
                    }
                },
                None => "delivered before this run was rewound".to_owned(),
            };
            return Ok(plan.delivered(Receipt { summary, ..Receipt::from_spent(Spent::NOTHING) }));
        }
    }
    let tree = repository.code_tree(head).map_err(Error::from)?;
    if tree == repository.code_tree(base).map_err(Error::from)? {
        return Ok(plan.nothing_delivered("nothing to deliver: the code did not change"));
    }
    let offer = Offer {
        version: 1,
        run: context.id.to_owned(),
        title: title(run.title().unwrap_or(&start.request)),
        source: start.source.clone(),
        branch: run.branch().map(str::to_owned),
        base: base.clone(),
        base_branch: start.base_branch.clone(),
        commit: head.to_owned(),
        at: run.now(),
        mark,
        evidence: Vec::new(),
        waived: Vec::new(),
        tree,
    };
    let offer = proved(plan, offer)?;
    if run.mark(&mark_of).is_none() {
        return Err(Pending::RecordFirst(Box::new(Report::Intends { attempt, mark: mark_of })));
    }
    let reference = write_record(plan, &offer)?;
    Err(Pending::RecordFirst(Box::new(Report::Did { attempt, mark: mark_of, reference })))
}

/// The same with what speaks for its code. Without that, a person is asked, and nothing is made.
fn proved(plan: &Plan<'_>, offer: Offer) -> Result<Offer, Pending> {
    let Plan { context, run, .. } = *plan;
    let mut events: Vec<Event> = Vec::new();
    for record in context.journal.read(context.id, 1).map_err(Error::from)? {
        events.extend(facts(&record).map_err(Error::from)?);
    }
    let verifies = |unit: &UnitId, gate: &str| {
        run.has(unit)
            && run
                .stage(unit)
                .gates
                .iter()
                .any(|one| one.name == gate && one.check == Check::Verify)
    };
    let commands = checks_at(context.frozen, run, context.code, &offer.commit)?.known();
    match evidence::find(&events, verifies, &offer.tree, &commands) {
        Ok(proof) => Ok(Offer { evidence: proof.evidence, waived: proof.waived, ..offer }),
        Err(why) => {
            let what = format!("not delivered, because it is not verified: {why}");
            Err(plan.ends(Outcome::Blocked { class: BlockerClass::Unknown, what }))
        }
    }
}

/// Makes the record, unless it is there. What it is called, below the live folder of the run.
fn write_record(plan: &Plan<'_>, offer: &Offer) -> Result<String, Error> {
    let Plan { context, .. } = *plan;
    let live = context.home.run(context.id);
    let pin = || {
        let name = format!("refs/forge/{}/delivered", context.id);
        context.code.pin(&name, &offer.commit).map_err(Error::from)
    };
    let made = found(context.disk, &live, &offer.mark)?;
    let mut number = 1;
    while context.disk.length(&live.join(folder(number)).join(FILE)).is_ok() {
        number += 1;
    }
    let folder = made.clone().unwrap_or_else(|| folder(number));
    let has_text = made.is_some() && context.disk.length(&live.join(&folder).join(TEXT)).is_ok();
    let write = |name: &str, content: String, point: SyncPoint| {
        let path = live.join(&folder).join(name);
        replace_synced_on(context.disk, &path, content.as_bytes(), point)
            .map_err(|error| Error::file(&path, &error))
    };
    // A loss of power may have left the record the name that it was given last, and not the text.
    if !has_text {
        write(TEXT, plan.pull_request_text(offer)?, SyncPoint::DeliveryText)?;
    }
    // The file by which it is found comes last.
    if made.is_none() {
        let json = serde_json::to_string_pretty(offer).expect("an offer can be written") + "\n";
        write(FILE, json, SyncPoint::DeliveryRecord)?;
    }
    // What is a fact must outlive the machine: so must its name.
    let place = live.join(&folder);
    let synced = context.disk.sync(&place, SyncPoint::DeliveryName);
    synced.map_err(|error| Error::file(&place, &error))?;
    pin()?;
    Ok(format!("{folder}/{TEXT}"))
}

fn folder(number: u32) -> String {
    format!("delivery/{number:03}")
}

/// The folder of the record with this mark, below the live folder.
pub(super) fn found(disk: &dyn Disk, live: &Path, mark: &str) -> Result<Option<String>, Error> {
    let mut number = 1;
    while let Some(offer) = read(disk, &live.join(folder(number)).join(FILE))? {
        if offer.mark == mark {
            return Ok(Some(folder(number)));
        }
        number += 1;
    }
    Ok(None)
}

/// The text of what a run offered last.
pub fn latest(home: &Home, run: &str) -> Option<PathBuf> {
    let live = home.run(run);
    let there = (1..).map(|number| live.join(folder(number)));
    there.take_while(|place| place.join(FILE).exists()).last().map(|place| place.join(TEXT))
}

fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Offer>, Error> {
    if disk.length(path).is_ok_and(|length| length > OFFER_BYTES_MAX) {
        let what = format!("{} is larger than {OFFER_BYTES_MAX} bytes", path.display());
        return Err(Error::surroundings(what, "move its folder aside, then resume"));
    }
    let bytes = match disk.read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| Error::file(path, &error))?,
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        let what = format!("{} cannot be read: {error}", path.display());
        Error::surroundings(what, "move its folder aside, then resume")
    })
}
