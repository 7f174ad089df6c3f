//! `forge show`: what a run has come to: what landed, what proves it, what it wrote.

use std::{fmt::Write as _, path::Path, process::ExitCode};

use clap::Args;
use forge_core::{
    event::Colour,
    id::UnitId,
    view::{ProofState, ResultView, Standing, short_commit},
};
use forge_runtime::{
    Trouble,
    show::{Change, Text},
};

use super::{doors, named_or_latest, say_json};
use crate::{
    format::{self, Form, Piece},
    pager::{Paging, page},
};

/// Stands for the run as a whole, which is no unit's name.
const WHOLE: &str = "";

/// Show what a run has come to: what landed, its proofs, its files
#[derive(Args)]
pub(crate) struct Show {
    /// The run; the latest if none is named
    run: Option<String>,
    /// Print this artifact
    artifact: Option<String>,
    /// Print the change of the run, or what one unit changed
    #[arg(
        long,
        value_name = "UNIT",
        num_args = 0..=1,
        default_missing_value = WHOLE,
        conflicts_with = "artifact"
    )]
    diff: Option<String>,
    /// Use no pager, however long it is
    #[arg(long)]
    no_pager: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["artifact", "diff"])]
    json: bool,
}

impl Show {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let doors = doors()?;
        let run = named_or_latest(&doors, self.run.as_deref())?;
        let paging = Paging::of(self.no_pager);
        if let Some(name) = &self.artifact {
            format::show(&[written(name, doors.artifact(&run, name)?)], paging);
        } else if let Some(unit) = &self.diff {
            let pieces = if unit == WHOLE {
                vec![Piece { bytes: doors.diff(&run)?, form: Form::Diff }]
            } else {
                changed(doors.change(&run, &unit_id(unit)?)?)
            };
            format::show(&pieces, paging);
        } else {
            let view = doors.result(&run)?;
            if self.json {
                say_json(&view);
            } else {
                let mut text = result(&view, format::width());
                let next = next_steps(&view);
                if !next.is_empty() {
                    text = format!("{text}\n\n{}", next.join("\n"));
                }
                page(&format::harmless(&text), paging);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What a unit changed: code as a diff, texts that replaced others as the lines that differ, and new ones whole.
fn changed(change: Change) -> Vec<Piece> {
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
fn written(name: &str, bytes: Vec<u8>) -> Piece {
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
