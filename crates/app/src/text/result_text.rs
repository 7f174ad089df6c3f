//! What a run has come to, in words: its result with proofs and next steps, and what a unit changed as documents.

use std::{fmt::Write as _, path::Path};

use forge_core::{
    event::Colour,
    id::UnitId,
    view::{ProofState, ResultView, Standing, short_commit},
};
use forge_runtime::{
    Trouble,
    show::{Change, Text},
};

use crate::{
    document::{Form, Piece},
    format,
};

/// What a run has come to, for people.
pub(crate) fn result(view: &ResultView, width: usize) -> String {
    let row = &view.row;
    let mut text = format!("{}  {}", row.run, row.standing.word());
    let mut say = |name: &str, value: &str| {
        let _ = write!(text, "\n{}", format::block(&format!("  {name:<9}"), value, width));
    };
    say("request", &format::cut(&view.request, width.saturating_sub(11)));
    say("spent", &row.amount().in_words());
    if let Some(base) = &view.base {
        let of = view.base_branch.as_deref().map(|branch| format!(" ({branch})"));
        say("from", &format!("{}{}", short_commit(base), of.unwrap_or_default()));
    }
    if let Some(head) = &view.head {
        let branch = view.branch.as_deref().map(|branch| format!(" on {branch}"));
        say("result", &format!("{}{}", short_commit(head), branch.unwrap_or_default()));
    }
    say("proof", proof(view.proof));
    for evidence in &view.evidence {
        let colour = match evidence.colour {
            Colour::Green => "green",
            Colour::Red => "RED",
        };
        say("", &format!("{colour}  {}", evidence.command));
    }
    for waived in &view.waived {
        let words = if waived.words.is_empty() { "no reason given" } else { &waived.words };
        let what = format!("{} of {} by {}: {words}", waived.gate, waived.unit, waived.who);
        say("WAIVED", &what);
    }
    section(
        &mut text,
        "landed",
        view.landed.iter().map(|landed| {
            let attempts = match landed.attempts {
                1 => String::new(),
                n => format!(", attempt {n}"),
            };
            let title =
                if landed.title.is_empty() { String::new() } else { format!("  {}", landed.title) };
            format!("{}  {}{attempts}{title}", short_commit(&landed.commit), landed.unit)
        }),
        width,
    );
    section(&mut text, "to know", view.notes.iter().cloned(), width);
    section(
        &mut text,
        "noted",
        view.noted.iter().map(|noted| format!("{}: {}", noted.unit, noted.finding.in_words())),
        width,
    );
    section(
        &mut text,
        "artifacts",
        view.artifacts.iter().map(|artifact| artifact.name.clone()),
        width,
    );
    text
}

/// What can be done with it.
pub(crate) fn next_steps(view: &ResultView) -> Vec<String> {
    let run = &view.row.run;
    let mut next = Vec::new();
    if view.head.is_some() {
        next.push(format!("see the change    forge show {run} --diff"));
    }
    if let Some(artifact) = view.artifacts.first() {
        next.push(format!("read an artifact  forge show {run} {}", artifact.name));
    }
    if let (Standing::Done, Some(_), Some(branch)) = (view.row.standing, &view.head, &view.branch) {
        next.push(format!("take it over      git merge {branch}"));
    }
    next
}

/// Whether the result is proved, in a few words.
pub(crate) const fn proof(proof: ProofState) -> &'static str {
    match proof {
        ProofState::NothingLanded => "nothing landed",
        ProofState::Verified => "verified: Forge ran the checks on exactly this code",
        ProofState::Unverified => "UNVERIFIED: no check was run on this code",
        ProofState::Red => "RED: a check failed on exactly this code",
    }
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>, width: usize) {
    for (position, line) in lines.enumerate() {
        if position == 0 {
            let _ = write!(text, "\n\n  {title}");
        }
        let _ = write!(text, "\n{}", format::block("    ", &line, width));
    }
}

/// What a unit changed: code as a diff, texts that replaced others as the lines that differ, and new ones whole.
pub(crate) fn changed(change: Change) -> Vec<Piece> {
    match change {
        Change::Code(bytes) => vec![Piece { bytes, form: Form::Diff }],
        Change::Texts { since: Some(since), texts } => vec![lines_that_differ(&since, &texts)],
        Change::Texts { since: None, texts } => {
            texts.into_iter().map(|text| written(&text.name, text.content)).collect()
        }
    }
}

/// The same for somebody who has to decide on it: texts are there whole, too.
pub(crate) fn to_decide_on(change: Change) -> Vec<Piece> {
    let Change::Texts { since: Some(since), texts } = change else { return changed(change) };
    let mut pieces = vec![lines_that_differ(&since, &texts)];
    for text in texts {
        let head = format!("──── all of {} ────", text.name);
        pieces.push(Piece { bytes: head.into_bytes(), form: Form::Text });
        pieces.push(written(&text.name, text.content));
    }
    pieces
}

fn lines_that_differ(since: &str, texts: &[Text]) -> Piece {
    if since.is_empty() {
        let names: Vec<&str> = texts.iter().map(|text| text.name.as_str()).collect();
        let same = format!("nothing changed since the version before: {}\n", names.join(", "));
        return Piece { bytes: same.into_bytes(), form: Form::Text };
    }
    Piece { bytes: since.as_bytes().to_vec(), form: Form::Diff }
}

/// A text that a run wrote.
pub(crate) fn written(name: &str, bytes: Vec<u8>) -> Piece {
    let form = match Path::new(name).extension() {
        Some(end) if end.eq_ignore_ascii_case("md") => Form::Markdown,
        Some(_) | None => Form::Text,
    };
    Piece { bytes, form }
}

/// The unit that a person named.
pub(crate) fn unit_id(text: &str) -> Result<UnitId, Trouble> {
    text.parse().map_err(|_| {
        let what =
            format!("`{text}` is not the name of a unit, such as plan or build.T2/implement");
        Trouble::usage(what, "forge status RUN")
    })
}
