//! Formats the result of a run with its proofs and next steps, and the change of a unit as documents.

use std::{fmt::Write as _, path::Path};

use forge_api::{
    Error,
    show::{Change, UnitText},
};
use forge_core::{
    event::Colour,
    id::{UnitId, gate_label},
    view::{
        Course, ProofState, QuestionView, RemainingFinding, RemarkView, ResultView, RunView,
        Standing, short_commit,
    },
};

use super::{
    question_text::asked_text,
    state_words::{DrivenBy, TakenResults, has_result, listed_mark},
    status_text::next_command,
};
use crate::{
    document::{Document, DocumentFormat},
    format,
};

/// Formats the result of a run.
pub(crate) fn result_text(
    view: &ResultView,
    asked: &[QuestionView],
    driven_by: DrivenBy,
    merged_into: Option<&str>,
    width: usize,
) -> String {
    let row = &view.row;
    let (symbol, _, word) = listed_mark(row, driven_by, &TakenResults::default());
    let state = match merged_into {
        Some(branch) if row.doubt.is_some() || row.serious_findings > 0 || row.unfinished > 0 => {
            format!("merged into {branch}, {word}")
        }
        Some(branch) => format!("merged into {branch}"),
        None => word.to_owned(),
    };
    let id = format::short_id(&row.run);
    let mut text = format!("{symbol} {id}  {state}");
    let mut push = |name: &str, value: &str| {
        let _ = write!(text, "\n{}", format::hanging_indent(&format!("  {name:<9}"), value, width));
    };
    push("request", &format::one_line(&view.request, width.saturating_sub(11)));
    if row.standing != Standing::Done && !row.why.is_empty() {
        push("why", &row.why);
    }
    for question in asked {
        push("asks", &format!("{} {}", question.question, asked_text(question)));
    }
    push("cost", &row.amount().to_text());
    if let Some(base) = &view.base {
        let from_branch = view.base_branch.as_deref().map(|branch| format!(" ({branch})"));
        push("from", &format!("{}{}", short_commit(base), from_branch.unwrap_or_default()));
    }
    if let Some(head) = &view.head {
        let branch = row.branch.as_deref().map(|branch| format!(" on {branch}"));
        push("result", &format!("{}{}", short_commit(head), branch.unwrap_or_default()));
        push("checks", proof_text(view.proof));
        if let Some(address) = &row.pull_request {
            push("opened", address);
        }
    } else {
        push("result", "none");
    }
    for evidence in &view.evidence {
        let colour = match evidence.colour {
            Colour::Green => "passed",
            Colour::Red => "failed",
        };
        push("", &format!("{colour}  {}", evidence.command));
    }
    for waived in &view.waived {
        let words = if waived.words.is_empty() { "no reason given" } else { &waived.words };
        let check = gate_label(&waived.gate);
        let what =
            format!("{check} of {}, by {}: {words}", format::unit_label(&waived.unit), waived.who);
        push("override", &what);
    }
    push_section(
        &mut text,
        "commits",
        view.landed.iter().map(|landed| {
            let attempts = match landed.attempts {
                1 => String::new(),
                n => format!("  ({n} attempts)"),
            };
            // Where the commit is gone, what was asked for is known.
            let asked = if landed.title.is_empty() { &row.title } else { &landed.title };
            let title = landed.subject.as_ref().unwrap_or(asked);
            let what = if landed.title.is_empty() {
                title.clone()
            } else {
                format!("{}  {title}", format::unit_label(&landed.unit))
            };
            format!("{}  {what}{attempts}", short_commit(&landed.commit))
        }),
        width,
    );
    push_section(&mut text, "notes", view.notes.iter().cloned(), width);
    push_section(
        &mut text,
        "open findings",
        view.noted.iter().map(|left @ RemainingFinding { unit, finding, .. }| {
            let (unit, words) = (format::unit_label(unit), left.severity_words());
            format!("{unit}, {words}: {}", finding.to_line())
        }),
        width,
    );
    push_section(
        &mut text,
        "from the agents",
        view.remarks.iter().map(|RemarkView { unit, remark }| {
            let (kind, words) = remark.parts();
            format!("{kind}, {}: {words}", format::unit_label(unit))
        }),
        width,
    );
    push_section(
        &mut text,
        "artifacts",
        view.artifacts.iter().map(|artifact| format::artifact_argument(&artifact.name).to_owned()),
        width,
    );
    text
}

/// Returns the commands that come next, if there are any.
pub(crate) fn next_steps(
    view: &RunView,
    driven_by: DrivenBy,
    merged_into: Option<&str>,
) -> Option<String> {
    let id = format::short_id(&view.row.run);
    let diff = view.head.as_ref().map(|_| format!("forge diff {id}"));
    match (view.row.standing.course(), driven_by) {
        (Course::Over, _) => match (view.row.standing, merged_into) {
            (Standing::Done, None) if has_result(&view.row) => {
                Some(format!("forge diff {id} · forge merge {id} · forge pr {id}"))
            }
            (_, _) => diff,
        },
        (Course::Driven | Course::Held | Course::Failed, DrivenBy::Nothing) => next_command(view),
        (Course::Driven | Course::Held | Course::Failed | Course::Asking, _) => {
            Some(format!("forge attach {id}"))
        }
    }
}

/// Says whether the result is verified.
pub(crate) const fn proof_text(proof: ProofState) -> &'static str {
    match proof {
        ProofState::NothingLanded => "none ran: there is no result yet",
        ProofState::Verified => "verified: Forge ran the checks on exactly this code",
        ProofState::Unverified => "unverified: no check ran on this code",
        ProofState::Red => "check failed, on exactly this code",
    }
}

fn push_section(text: &mut String, title: &str, lines: impl Iterator<Item = String>, width: usize) {
    for (position, line) in lines.enumerate() {
        if position == 0 {
            let _ = write!(text, "\n\n  {title}");
        }
        let _ = write!(text, "\n{}", format::hanging_indent("    ", &line, width));
    }
}

/// Returns the change of a unit as documents: code as a diff, replaced texts as the lines that differ, new ones in full.
pub(crate) fn change_documents(change: Change) -> Vec<Document> {
    match change {
        Change::Code(bytes) => vec![Document { bytes, format: DocumentFormat::Diff }],
        Change::Texts { since: Some(since), texts } => vec![differing_lines(&since, &texts)],
        Change::Texts { since: None, texts } => {
            texts.into_iter().map(|text| artifact_document(&text.name, text.content)).collect()
        }
    }
}

/// Returns the change of a unit for a decision: like `change_documents`, but replaced texts are also there in full.
pub(crate) fn review_documents(change: Change) -> Vec<Document> {
    let Change::Texts { since: Some(since), texts } = change else {
        return change_documents(change);
    };
    let mut documents = vec![differing_lines(&since, &texts)];
    for text in texts {
        let head = format!("──── all of {} ────", text.name);
        documents.push(Document { bytes: head.into_bytes(), format: DocumentFormat::Text });
        documents.push(artifact_document(&text.name, text.content));
    }
    documents
}

fn differing_lines(since: &str, texts: &[UnitText]) -> Document {
    if since.is_empty() {
        let names: Vec<&str> = texts.iter().map(|text| text.name.as_str()).collect();
        let same = format!("no changes since the previous version: {}\n", names.join(", "));
        return Document { bytes: same.into_bytes(), format: DocumentFormat::Text };
    }
    Document { bytes: since.as_bytes().to_vec(), format: DocumentFormat::Diff }
}

/// Returns a text that a run wrote, as a document.
pub(crate) fn artifact_document(name: &str, bytes: Vec<u8>) -> Document {
    let format = match Path::new(name).extension() {
        Some(end) if end.eq_ignore_ascii_case("md") => DocumentFormat::Markdown,
        Some(_) | None => DocumentFormat::Text,
    };
    Document { bytes, format }
}

/// Parses the name of a unit.
pub(crate) fn parse_unit_id(text: &str) -> Result<UnitId, Error> {
    text.parse().map_err(|_| {
        let what = format!("`{text}` is not a stage or task, such as design or T2");
        Error::usage(what, "forge status RUN")
    })
}
