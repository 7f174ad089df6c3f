//! Findings that nobody dealt with: what a summary, an offer and `forge show` list, and what an agent may settle.
//!
//! Not here: what a check of the project found on work that is good all the same, which is with the checks.

use std::collections::BTreeSet;

use super::remaining_finding::{RemainingFinding, RemainingReason};
use crate::{
    event::Remark,
    id::UnitId,
    run::{Run, State, Unit},
    verdict::{Finding, Proof, Says},
};

/// Returns findings that are left, the worst first, in the order of the flow where they are as bad.
pub fn open_findings(run: &Run) -> Vec<RemainingFinding> {
    let settled = settled(run);
    let is_check = |finding: &Finding| matches!(&finding.proof, Some(Proof::Command { command, .. }) if run.is_check(command));
    let mut all = Vec::new();
    for (id, _, unit) in run.units() {
        let is_good = unit.state == State::Accepted;
        let found = if unit.found.is_empty() && !is_good { &unit.findings } else { &unit.found };
        for finding in found.iter().filter(|finding| !(is_good && is_check(finding))) {
            all.push(RemainingFinding {
                unit: id.to_string(),
                reason: remaining_reason(run, &id, unit, finding),
                finding: finding.clone(),
            });
        }
    }
    all.retain(|left| !settled.contains(&left.id()));
    all.sort_by_key(|view| std::cmp::Reverse(view.finding.severity));
    all
}

/// Returns the findings that others dealt with. What was done in a unit counts once that unit is good.
fn settled(run: &Run) -> BTreeSet<String> {
    let is_good = |unit: &UnitId| run.has(unit) && run.unit(unit).state == State::Accepted;
    let remarks = run.history().remarks.iter().filter(|(unit, _)| is_good(unit));
    let settled = remarks.filter_map(|(_, remark)| match remark {
        Remark::Settled(finding) => Some(finding.clone()),
        Remark::Decision(_) | Remark::FollowUp(_) | Remark::Memory(_) | Remark::Unmet(_) => None,
    });
    settled.collect()
}

fn remaining_reason(run: &Run, id: &UnitId, unit: &Unit, finding: &Finding) -> RemainingReason {
    let was_refused = unit.review_tallies.iter().any(|opinion| opinion.says >= Says::Revise);
    let (waived, passed) = (&run.history().waived, &run.history().passed);
    // Only what was let pass is called waived.
    let was_waived = waived.iter().any(|waived| waived.unit == *id)
        || passed.iter().any(|passed| passed.unit == *id);
    let is_accepted = unit.state == State::Accepted;
    if is_accepted && was_waived && (finding.is_serious() || was_refused) {
        RemainingReason::Waived
    } else if !is_accepted && finding.is_serious() {
        RemainingReason::Open
    } else {
        RemainingReason::Note
    }
}
