//! The last lines of a run: how it ended, and the commands that come next.
//!
//! Everything else is for `forge show`.
//!
//! Invariant: at most six lines, and what keeps a result from being trusted is in the first one.

use forge_api::merge::FileStat;
use forge_core::{
    event::Colour,
    view::{ProofState, ResultView, RunRow, RunView, Standing, capitalized},
};

use super::{
    state_words::standing_symbol,
    status_text::{next_command, standing_text},
};
use crate::{format, palette::Hue, terminal_info::Colours, text_width};

/// Formats how a run ended or stopped.
pub(crate) fn end_card(
    view: &RunView,
    result: &ResultView,
    files: &[FileStat],
    width: usize,
) -> String {
    let row = &view.row;
    let id = format::short_id(&row.run);
    let mut lines = vec![title(view, result, id, width)];
    let mut push = |name: &str, text: &str| {
        let indent = format!("  {name:<8}");
        let line =
            format!("{indent}{}", format::one_line(text, width.saturating_sub(indent.len())));
        lines.push(line);
    };
    if row.standing != Standing::Done && !row.why.is_empty() {
        push("Why", &row.why);
    }
    if let (Some(branch), Some(_)) = (&row.branch, &view.head) {
        push("Branch", &branch_text(branch, result, files));
    }
    if row.standing == Standing::Done && !result.evidence.is_empty() {
        push("Checks", &checks_text(result));
    }
    let notes = notes_text(result);
    if !notes.is_empty() {
        push("Notes", &notes.join(", "));
    }
    let next = match (row.standing, &view.head) {
        (Standing::Done, Some(_)) => {
            Some(format!("forge diff {id} · forge merge {id} · forge pr {id} · forge show {id}"))
        }
        (Standing::Done | Standing::Abandoned, _) => Some(format!("forge show {id}")),
        (_, _) => next_command(view),
    };
    if let Some(next) = next {
        push("Next", &next);
    }
    lines.join("\n")
}

/// Colours the symbol of a card, and makes its first words bold.
pub(crate) fn with_colour(card: &str, standing: Standing, colours: Colours) -> String {
    let (title, rest) = card.split_once('\n').unwrap_or((card, ""));
    match (colours, title.split_once(' ')) {
        (Colours::Yes, Some((symbol, words))) => {
            let (bold, rest_of_title) = words.split_once(" · ").unwrap_or((words, ""));
            let hue = if symbol == "!" { Hue::Yellow } else { standing_symbol(standing).1 };
            let title = format!(
                "\x1b[1m{}{symbol}\x1b[0m \x1b[1m{bold}\x1b[0m · {rest_of_title}",
                hue.code()
            );
            format!("{title}\n{rest}")
        }
        (Colours::Yes | Colours::No, _) => card.to_owned(),
    }
}

/// Formats the first line: the standing with what has to be known first, time and cost, and the run's short id at the
/// right edge.
fn title(view: &RunView, result: &ResultView, id: &str, width: usize) -> String {
    let row = &view.row;
    let took = format::duration(row.changed_at.saturating_sub(row.started_at));
    let doubt = doubt(row, result).filter(|_| row.standing == Standing::Done);
    let (symbol, standing) = if let Some(doubt) = doubt {
        ("!", format!("Done, but {doubt}"))
    } else {
        let text = capitalized(&standing_text(row, row.changed_at));
        (standing_symbol(row.standing).0, text)
    };
    let budget = view.budget.filter(|_| row.standing == Standing::Parked);
    let budget = budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let cost = match row.amount().to_text() {
        text if text.starts_with("unknown") => format!("cost {text}"),
        text => format!("{text}{budget}"),
    };
    let line = format!("{symbol} {standing} · {took} · {cost}");
    let line = format::cut_end(&line, width.saturating_sub(id.len() + 2));
    let gap = width.saturating_sub(text_width::width(&line) + id.len()).max(2);
    format!("{line}{}{id}", " ".repeat(gap))
}

/// Returns what keeps a result from being trusted, if anything does.
fn doubt(row: &RunRow, result: &ResultView) -> Option<String> {
    if !row.why.is_empty() {
        return Some(row.why.clone());
    }
    match result.proof {
        ProofState::Verified | ProofState::NothingLanded => None,
        ProofState::Unverified => Some("unverified: no check ran on this code".to_owned()),
        ProofState::Red => Some("a check fails on this code".to_owned()),
    }
}

fn branch_text(branch: &str, result: &ResultView, files: &[FileStat]) -> String {
    let lines = files.iter().filter_map(|file| file.lines);
    let (added, removed) = lines.fold((0, 0), |sum, lines| (sum.0 + lines.0, sum.1 + lines.1));
    let mut text = branch.to_owned();
    if let Some(files) = count(files.len(), "file") {
        text = format!("{text} · {files} +{added} -{removed}");
    }
    if let Some(commits) = count(result.landed.len(), "commit") {
        text = format!("{text} · {commits}");
    }
    text
}

fn checks_text(result: &ResultView) -> String {
    let check = |evidence: &forge_core::event::Evidence| match evidence.colour {
        Colour::Green => format!("✓ {}", evidence.command),
        Colour::Red => format!("✗ {}", evidence.command),
    };
    result.evidence.iter().map(check).collect::<Vec<_>>().join("   ")
}

fn notes_text(result: &ResultView) -> Vec<String> {
    [
        count(result.noted.len(), "open finding"),
        count(result.waived.len(), "override"),
        count(result.notes.len(), "note"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Formats a number of things. Nothing for none.
fn count(n: usize, what: &str) -> Option<String> {
    (n > 0).then(|| format::count(u32::try_from(n).unwrap_or(u32::MAX), what))
}
