//! The last lines of a run: how it ended, and the commands that come next.
//!
//! Everything else is for `forge show`.
//!
//! Invariant: what keeps a result from being trusted is in the first line, and no command is cut.

use forge_api::merge::FileStat;
use forge_core::{
    event::Colour,
    id::gate_label,
    view::{
        ProofState, RemainingFinding, ResultView, RunRow, RunView, Standing, WaivedView,
        capitalized, serious_counts,
    },
};

use super::{
    answer_text::{OpenQuestions, answer_command, answer_options},
    question_text::{asked_text, read_commands},
    state_words::{MergeState, has_result, standing_symbol},
    status_text::{next_command, result_commands, standing_text},
};
use crate::{format, palette::Hue, terminal_info::Colours, text_width};

/// The most lines of a reason.
const WHY_LINES: usize = 3;

/// The most findings of a question, and the most lines of one.
const FINDINGS_MAX: usize = 3;
const FINDING_LINES: usize = 2;

/// The last line of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CardEnd {
    /// The commands that come next.
    NextCommands(MergeState),
    /// None, because the project is removed; for the demo.
    Nothing,
}

/// Formats how a run ended or stopped.
pub(crate) fn end_card(
    view: &RunView,
    result: &ResultView,
    files: &[FileStat],
    end: CardEnd,
    width: usize,
) -> String {
    let row = &view.row;
    let id = format::short_id(&row.run);
    let mut lines = vec![title(view, result, end, width)];
    if row.standing != Standing::Done && !row.why.is_empty() {
        let prefix = "  Why     ";
        let room = width.saturating_sub(prefix.len()) * WHY_LINES;
        let why = format::hanging_indent(prefix, &format::one_line(&row.why, room), width);
        lines.push(why);
    }
    let mut push = |name: &str, text: &str| {
        lines.push(format::hanging_parts(&format!("  {name:<8}"), text, width));
    };
    if let (Some(branch), Some(_)) = (&row.branch, &view.head) {
        push("Branch", &branch_text(branch, files));
    }
    if row.standing == Standing::Done && result.proof != ProofState::NothingLanded {
        push("Checks", &checks_text(result));
    }
    if let Some(address) = &row.pull_request {
        push("Opened", address);
    }
    push_questions(view, end, width, &mut lines);
    let (serious, others): (Vec<_>, Vec<_>) =
        result.noted.iter().partition(|left| left.finding.is_serious());
    for left in serious.iter().take(FINDINGS_MAX).filter(|_| view.head.is_some()) {
        let room = width.saturating_sub(10) * FINDING_LINES;
        let text = format::one_line(&open_finding_text(left), room);
        lines.push(format::hanging_indent("  Open    ", &text, width));
    }
    let mut push = |name: &str, text: &str| {
        lines.push(format::hanging_parts(&format!("  {name:<8}"), text, width));
    };
    let notes = notes_text(result, others.len());
    if !notes.is_empty() && view.head.is_some() {
        push("Notes", &notes.join(", "));
    }
    let next = match (end, row.standing, &view.head) {
        (CardEnd::Nothing, _, _) => None,
        (CardEnd::NextCommands(merge), Standing::Done, Some(_)) => Some(result_commands(id, merge)),
        (CardEnd::NextCommands(_), Standing::Done | Standing::Abandoned, _) => {
            Some(format!("forge show {id}"))
        }
        (CardEnd::NextCommands(_), _, _) => next_command(view),
    };
    if let Some(next) = next {
        push("Next", &next);
    }
    lines.join("\n")
}

/// Appends the open questions, what was found, and the commands that show and answer them. Effects of answers are in
/// `forge status RUN`.
fn push_questions(view: &RunView, end: CardEnd, width: usize, lines: &mut Vec<String>) {
    let run = &view.row.run;
    let id = format::short_id(run);
    for question in &view.asked {
        let prefix = format!("  {:<8}", question.question);
        lines.push(format::hanging_indent(&prefix, &asked_text(question), width));
        for finding in question.findings.iter().take(FINDINGS_MAX) {
            let text = format!("{} {}", finding.severity.as_str(), finding.to_line());
            let room = width.saturating_sub(prefix.len()) * FINDING_LINES;
            let text = format::one_line(&text, room);
            lines.push(format::hanging_indent(&" ".repeat(prefix.len()), &text, width));
        }
    }
    let mut push = |name: &str, text: &str| {
        lines.push(format::hanging_parts(&format!("  {name:<8}"), text, width));
    };
    match (end, view.asked.as_slice()) {
        (CardEnd::Nothing, _) | (_, []) => {}
        (CardEnd::NextCommands(_), [question]) => {
            let full = std::iter::once(format!("forge status {id}"));
            let read: Vec<String> = full.chain(read_commands(run, question)).collect();
            push("Read", &read.join(" · "));
            let attach = std::iter::once(format!("forge attach {id}"));
            let options = answer_options(question);
            let answers = options
                .iter()
                .map(|option| answer_command(id, &question.question, option, OpenQuestions::One));
            push("Answer", &attach.chain(answers).collect::<Vec<String>>().join(" · "));
        }
        (CardEnd::NextCommands(_), _) => {
            push("Read", &format!("forge status {id}"));
            push("Answer", &format!("forge attach {id}"));
        }
    }
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
fn title(view: &RunView, result: &ResultView, end: CardEnd, width: usize) -> String {
    let row = &view.row;
    let id = format::short_id(&row.run);
    let took = format::time_at_work(row, row.changed_at);
    let doubt = doubt(row, result).filter(|_| row.standing == Standing::Done);
    let (symbol, standing) = match (doubt, end) {
        (Some(doubt), _) => ("!", format!("Done, {doubt}")),
        (None, CardEnd::NextCommands(MergeState::Merged)) if has_result(row) => {
            ("✓", "Merged".to_owned())
        }
        (None, CardEnd::NextCommands(_) | CardEnd::Nothing) => {
            let text = capitalized(&standing_text(row, row.changed_at));
            (standing_symbol(row.standing).0, text)
        }
    };
    let budget = view.budget.filter(|_| row.standing == Standing::Parked);
    let budget = budget.map(|budget| format!(" of {}", budget.to_short_text()));
    let cost = match row.amount().to_figure() {
        text if text == "unknown" => format!("cost {text}"),
        text => format!("{text}{}", budget.unwrap_or_default()),
    };
    let room = width.saturating_sub(id.len() + 2);
    let line = format!("{symbol} {standing} · {took} · {cost}");
    let line = if text_width::width(&line) <= room {
        line
    } else {
        let took = format::bare_time_at_work(row, row.changed_at);
        format!("{symbol} {standing} · {took} · {cost}")
    };
    let line = format::cut_end(&line, room);
    let gap = width.saturating_sub(text_width::width(&line) + id.len()).max(2);
    format!("{line}{}{id}", " ".repeat(gap))
}

/// Returns what keeps a result from being trusted, if anything does.
fn doubt(row: &RunRow, result: &ResultView) -> Option<String> {
    match result.proof {
        ProofState::Verified | ProofState::NothingLanded if row.unfinished > 0 => {
            let tasks = count(usize::try_from(row.unfinished).unwrap_or(usize::MAX), "task");
            tasks.map(|tasks| format!("{tasks} not finished"))
        }
        ProofState::Verified | ProofState::NothingLanded => {
            serious_counts(result.noted.iter().map(|left| &left.finding))
                .map(|counts| format!("{counts} open"))
        }
        ProofState::Unverified => Some("unverified".to_owned()),
        ProofState::Red => Some("check failed".to_owned()),
    }
}

/// Formats a finding that is left, and who accepted it.
fn open_finding_text(left: &RemainingFinding) -> String {
    let by = left.by.as_ref().map(|who| format!(" (accepted by {who})")).unwrap_or_default();
    format!("{}: {}{by}", left.finding.severity.as_str(), left.finding.to_line())
}

fn branch_text(branch: &str, files: &[FileStat]) -> String {
    let lines = files.iter().filter_map(|file| file.lines);
    let (added, removed) = lines.fold((0, 0), |sum, lines| (sum.0 + lines.0, sum.1 + lines.1));
    match count(files.len(), "file") {
        Some(files) => format!("{branch} · {files} +{added} -{removed}"),
        None => branch.to_owned(),
    }
}

/// Formats the checks of a result.
pub(crate) fn checks_text(result: &ResultView) -> String {
    if result.proof == ProofState::Unverified || result.evidence.is_empty() {
        return "none: no check ran on this code".to_owned();
    }
    let check = |evidence: &forge_core::event::Evidence| match evidence.colour {
        Colour::Green => format!("✓ {}", evidence.command),
        Colour::Red => format!("✗ {}", evidence.command),
    };
    let checks = result.evidence.iter().map(check).collect::<Vec<_>>().join(" · ");
    // Who let a red one pass is the first thing to know of it.
    let overrode = told_override(result).map(|waived| match waived.words.as_str() {
        "" => format!(" (overridden by {})", waived.who),
        words => format!(" (overridden by {}: {words})", waived.who),
    });
    format!("{checks}{}", overrode.unwrap_or_default())
}

/// Returns the override that is told with the checks: of a failed one.
fn told_override(result: &ResultView) -> Option<&WaivedView> {
    let is_red = result.evidence.iter().any(|evidence| evidence.colour == Colour::Red);
    result.waived.iter().find(|waived| is_red && gate_label(&waived.gate) == "checks")
}

fn notes_text(result: &ResultView, n_minor: usize) -> Vec<String> {
    [
        count(n_minor, "minor finding"),
        count(result.waived.len() - told_override(result).iter().count(), "override"),
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
