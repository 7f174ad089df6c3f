//! What a run has come to so far: what landed, what proves it, what was waived, what it made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    open_findings::open_findings,
    proof::{ProofState, WaivedView},
    remaining_finding::RemainingFinding,
    remarks::{RemarkView, remarks},
    run_row::RunRow,
    sentence::settings_changed,
};
use crate::{
    event::{Evidence, QuestionReason, ResultChange, Waiver},
    flow::Work,
    id::{Scope, UnitId},
    inbox::artifacts,
    run::{Run, RunNote, WaivedGate},
};

/// The result of a run so far: `forge show RUN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultView {
    /// The line of the list.
    #[serde(flatten)]
    pub row: RunRow,
    /// The full request.
    pub request: String,
    /// The commit that it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The user's branch that pointed to this commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// The tip of the run's branch, once something was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub proof: ProofState,
    /// The commands that Forge ran on exactly this code, with their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Merged units, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<LandedView>,
    /// Gates that a person overrode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<WaivedView>,
    /// Notes for the person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Open findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noted: Vec<RemainingFinding>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<RemarkView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactView>,
}

/// A merged unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandedView {
    pub unit: String,
    /// One line about its item.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The commit that was checked.
    pub commit: String,
    /// The title of the commit, if it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The attempts that it took.
    pub attempts: u32,
}

/// A written artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactView {
    /// The name of the artifact, with the scope of its item if it has one.
    pub name: String,
    /// Its content, by its hash.
    pub blob: String,
}

impl ResultView {
    /// Returns what a run has come to.
    pub fn new(id: &str, run: &Run) -> Self {
        let start = run.is_started().then(|| &run.definition().start);
        // Forge's own last commit holds no work.
        let is_work = |unit: &UnitId| !matches!(run.stage(unit).work, Work::Deliver { .. });
        let landed = run.history().landed.iter().filter(|landed| {
            landed.brings == ResultChange::Changed && run.has(&landed.unit) && is_work(&landed.unit)
        });
        let waived = run.history().waived_by_persons();
        // That nothing had to change was agreed to, and is with the notes.
        let waived = waived.filter(|(waived, _)| !agrees_to_no_change(run, waived));
        Self {
            row: RunRow::new(id, run),
            request: start.map(|start| start.request.clone()).unwrap_or_default(),
            base: start.and_then(|start| start.base.clone()),
            base_branch: start.and_then(|start| start.base_branch.clone()),
            head: run.has_landed().then(|| run.head().map(str::to_owned)).flatten(),
            proof: ProofState::from_colours(run.tree(), &run.colours_on_result()),
            evidence: run.evidence_on_result(),
            landed: landed
                .map(|landed| LandedView {
                    unit: landed.unit.to_string(),
                    title: run
                        .item(&landed.unit.scope)
                        .map(|item| item.title.clone())
                        .unwrap_or_default(),
                    commit: landed.commit.clone(),
                    subject: None,
                    attempts: run.unit(&landed.unit).attempt,
                })
                .collect(),
            waived: waived.map(|(waived, said)| WaivedView::new(waived, said)).collect(),
            notes: notes(run),
            noted: open_findings(run),
            remarks: remarks(run.history()),
            artifacts: artifacts(run)
                .into_iter()
                .map(|(scope, name, blob)| ArtifactView {
                    name: named(&scope, &name),
                    blob: blob.0,
                })
                .collect(),
        }
    }
}

/// Returns how an artifact is called outside its scope.
fn named(scope: &Scope, name: &str) -> String {
    match scope.as_str() {
        "" => name.to_owned(),
        scope => format!("{scope}/{name}"),
    }
}

/// Returns true if a person agreed that nothing changes, which is no override of a check.
fn agrees_to_no_change(run: &Run, waived: &WaivedGate) -> bool {
    let Waiver::Person { question } = waived.why else { return false };
    let asked = run.history().question(question);
    asked.is_some_and(|asked| asked.question.why == QuestionReason::NothingChanged)
}

/// Returns what the person should know, in the order of the facts. What is said of several units is said once.
fn notes(run: &Run) -> Vec<String> {
    let agreed = run.history().waived_by_persons();
    let agreed = agreed.filter(|(waived, _)| agrees_to_no_change(run, waived));
    let mut notes: Vec<(Vec<String>, String)> = agreed
        .filter_map(|(waived, said)| {
            let who = &said?.by.who;
            Some((vec![waived.unit.label()], format!("{who} agreed that nothing changes")))
        })
        .collect();
    for note in run.history().notes.iter() {
        match note {
            RunNote::Call { unit, what } | RunNote::Noticed { unit, what } => {
                let (label, what) = (unit.label(), what.clone());
                match notes.iter_mut().find(|(_, said)| *said == what) {
                    Some((units, _)) if units.contains(&label) => {}
                    Some((units, _)) => units.push(label),
                    None => notes.push((vec![label], what)),
                }
            }
            RunNote::Edited { unit, by, why } => {
                let what = format!("{} was changed by hand by {}: {why}", unit.label(), by.who);
                notes.push((Vec::new(), what));
            }
            RunNote::Settings { change, by } => {
                notes.push((Vec::new(), settings_changed(change, by)));
            }
        }
    }
    let line = |(units, what): (Vec<String>, String)| match units.as_slice() {
        [] => what,
        units => format!("{}: {what}", units.join(", ")),
    };
    notes.into_iter().map(line).collect()
}
