//! Findings that nobody dealt with: what a summary, an offer and `forge show` list, and what an agent may settle.
//!
//! Not here: what a check of the project found on work that is good all the same, which is with the checks.

use std::collections::BTreeSet;

use super::remaining_finding::{RemainingFinding, RemainingReason};
use crate::{
    event::{Choice, Remark},
    id::UnitId,
    run::{GivenAnswer, Run, State, Unit},
    verdict::{Finding, Proof, Says},
};

/// Returns findings that are left, the worst first, in the order of the flow where they are as bad.
pub fn open_findings(run: &Run) -> Vec<RemainingFinding> {
    let settled = settled(run);
    let is_check = |finding: &Finding| matches!(&finding.proof, Some(Proof::Command { command, .. }) if run.is_check(command));
    let mut all = Vec::new();
    for (id, _, unit) in run.units() {
        let is_good = unit.state == State::Accepted;
        // Until a review has looked again, what the work was sent back with is open.
        let is_stale = unit.found.is_empty() && !is_good && unit.review_tallies.is_empty();
        let found = if is_stale { &unit.findings } else { &unit.found };
        for finding in found.iter().filter(|finding| !(is_good && is_check(finding))) {
            let let_pass = let_pass(run, &id);
            let reason = remaining_reason(run, &id, unit, finding, let_pass);
            let by = match reason {
                RemainingReason::Waived => let_pass.map(|said| said.by.who.clone()),
                RemainingReason::Open | RemainingReason::Note => None,
            };
            all.push(RemainingFinding {
                unit: id.to_string(),
                reason,
                by,
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

/// Returns the last answer of a person that let something of a unit pass.
fn let_pass<'r>(run: &'r Run, unit: &UnitId) -> Option<&'r GivenAnswer> {
    let asked = run.history().asked.iter().filter(|asked| asked.question.unit == *unit);
    let said = asked.filter_map(|asked| asked.answer.as_ref());
    let mut lets =
        said.filter(|said| matches!(said.answer.choice(), Choice::Approve | Choice::Waive));
    lets.next_back()
}

fn remaining_reason(
    run: &Run,
    id: &UnitId,
    unit: &Unit,
    finding: &Finding,
    let_pass: Option<&GivenAnswer>,
) -> RemainingReason {
    let was_refused = unit.review_tallies.iter().any(|opinion| opinion.says >= Says::Revise);
    let (waived, passed) = (&run.history().waived, &run.history().passed);
    // Only what was let pass is called waived.
    let was_waived = let_pass.is_some()
        || waived.iter().any(|waived| waived.unit == *id)
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
