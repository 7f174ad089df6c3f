//! A summary as text: `summary.md`. It says nothing that the view does not say.
//!
//! Invariant: what others wrote makes no table, heading or tag of this text.

use std::fmt::Write as _;

use super::types::{DeliveryState, PhaseRow, RemainingWork, SummaryView};
use crate::{
    event::Colour,
    flow::Delivery,
    id::UnitId,
    money::Cost,
    view::{
        format::{Amount, moment, short_number, shorten, span},
        proof::ProofState,
        remarks::RemarkView,
        sentence::short_commit,
        standing::Standing,
        stats::{StatsRow, stage_label},
    },
};

/// The most characters of a request that a summary quotes.
const REQUEST_CHARS_MAX: usize = 8_000;

/// Returns all of a summary.
pub fn markdown(view: &SummaryView) -> String {
    let mut text = String::new();
    head(view, &mut text);
    result(view, &mut text);
    tasks(view, &mut text);
    findings(view, &mut text);
    remarks(view, &mut text);
    improvements(view, &mut text);
    stats(view, &mut text);
    debug(view, &mut text);
    text
}

/// One line of a document.
macro_rules! line {
    ($text:expr) => { $text.push('\n') };
    ($text:expr, $($part:tt)*) => {
        writeln!($text, $($part)*).expect("a text can be written to")
    };
}

/// Returns how long a run was at work, in milliseconds.
fn time_at_work(view: &SummaryView) -> u64 {
    view.at.saturating_sub(view.started_at).saturating_sub(view.waited_ms)
}

fn head(view: &SummaryView, text: &mut String) {
    line!(text, "# {}", plain(&shorten(view.title.trim_start_matches('#').trim(), 80)));
    line!(text);
    let id = id(view);
    let asked = view.waited_ms.saturating_sub(view.held_ms);
    let idle = [(asked, "waited ", " for a person"), (view.held_ms, "not running for ", "")];
    let idle = idle.iter().filter(|(ms, _, _)| *ms >= 1_000);
    let idle: Vec<String> =
        idle.map(|(ms, before, after)| format!("{before}{}{after}", span(*ms))).collect();
    let idle = if idle.is_empty() { String::new() } else { format!(" ({})", idle.join(", ")) };
    let took = format!("{}{idle}", span(time_at_work(view)));
    let cost = view.total.amount().to_text();
    line!(text, "Summary of run {id}: {}, {took}, cost {cost}.", view.standing.label());
    line!(text);
    line!(text, "## Request");
    line!(text);
    let request = view.request.trim();
    let cut: String = request.chars().take(REQUEST_CHARS_MAX).collect();
    // A carriage return alone ends a line for those who show this, though not for `lines`.
    let cut = cut.replace("\r\n", "\n").replace('\r', "\n");
    for row in cut.lines() {
        line!(text, "{}", format!("> {}", tagless(row)).trim_end());
    }
    let more = request.chars().count().saturating_sub(REQUEST_CHARS_MAX);
    if more > 0 {
        line!(text, ">");
        line!(text, "> … and {more} characters more, in request.md");
    }
    line!(text);
    if let Some(source) = &view.source {
        line!(text, "Source: {}", plain(source));
        line!(text);
    }
    let ended = match view.standing {
        Standing::Done => "The run is **done**",
        Standing::Failed => "The run **failed**",
        Standing::Blocked => "The run is **blocked**",
        Standing::Abandoned => "The run was **abandoned**",
        Standing::Going if view.rest == RemainingWork::ToBeWrittenDown => {
            "The work is **done**, and is being saved"
        }
        Standing::Going => "The run is **running**",
        Standing::Waiting => "The run **needs you**",
        Standing::Limited => "The run is **rate-limited**",
        Standing::Paused => "The run is **paused**",
        Standing::Interrupted => "The run was **interrupted**",
        Standing::Stopped => "The run was **stopped**",
        Standing::Parked => "The run is **out of budget**",
        Standing::Escalated => "The run **needs attention**",
    };
    line!(text, "## Run");
    line!(text);
    // The first line says that it is done.
    if view.standing != Standing::Done || !view.why.is_empty() {
        let why = match view.why.as_str() {
            "" => String::new(),
            why => format!(": {}", plain(why)),
        };
        line!(text, "{ended}{why}.");
        line!(text);
    }
    line!(text, "- from {} to {}", moment(view.started_at), moment(view.at));
    line!(text, "- flow `{}`", view.flow);
    for param in &view.params {
        let name = if param.name == "effort" { "size" } else { &param.name };
        match param.chosen.as_str() {
            "" => line!(text, "- {name} `{}`", param.value),
            chosen => line!(text, "- {name} `{}`: {}", param.value, plain(chosen)),
        }
    }
    for approval in &view.approvals {
        let unit = label(&approval.unit);
        match (approval.who.as_str(), plain(&approval.words).as_str()) {
            ("", _) => line!(text, "- {unit} approved automatically (--auto)"),
            (who, "") => line!(text, "- {unit} approved by {}", plain(who)),
            (who, words) => line!(text, "- {unit} approved by {}: {words}", plain(who)),
        }
    }
    for edit in &view.edits {
        let what =
            edit.artifact.as_deref().map_or("the code".to_owned(), |name| format!("`{name}`"));
        let (who, why) = (plain(&edit.who), plain(&edit.why));
        line!(text, "- {}: {what} changed by hand by {who}: {why}", label(&edit.unit));
    }
    for change in &view.settings {
        line!(text, "- {}", plain(change));
    }
    line!(text);
}

/// Returns the short id of the run.
fn id(view: &SummaryView) -> &str {
    view.run.rsplit('-').next().unwrap_or_default()
}

/// Returns the name of a unit on screens.
fn label(unit: &str) -> String {
    unit.parse::<UnitId>().map_or_else(|_| unit.to_owned(), |unit| unit.label())
}

fn result(view: &SummaryView, text: &mut String) {
    line!(text, "## Result");
    line!(text);
    match &view.branch {
        Some(branch) => line!(text, "- branch `{branch}`"),
        None => line!(text, "- no branch"),
    }
    match &view.head {
        Some(head) => line!(text, "- commit `{}`", short_commit(head)),
        None => line!(text, "- nothing was merged"),
    }
    match view.proof.state {
        ProofState::NothingLanded => {}
        ProofState::Verified => line!(text, "- checks: passed on exactly this code"),
        ProofState::Red => line!(text, "- checks: **failed** on exactly this code"),
        ProofState::Unverified => {
            line!(text, "- checks: **unverified**, no check ran on this code");
        }
    }
    for check in &view.proof.checks {
        let colour = match check.colour {
            Colour::Green => "passed",
            Colour::Red => "failed",
        };
        line!(text, "  - {colour}: `{}`", one_line(&check.command).replace('`', "'"));
    }
    for waived in &view.proof.waived {
        line!(text, "- {}", plain(&waived.sentence()));
    }
    for delivery in &view.deliveries {
        let what = delivery.what.replace('-', " ");
        match (delivery.state, delivery.reference.as_str()) {
            // A reference without an address is a file that only Forge has.
            (DeliveryState::Delivered, file)
                if !file.contains("://") && delivery.what == Delivery::PullRequest.as_str() =>
            {
                line!(text, "- {what}: its text is ready; open it with `forge pr {}`", id(view));
            }
            (DeliveryState::Delivered, "") => line!(text, "- {what}: delivered"),
            (DeliveryState::Delivered, reference) => {
                line!(text, "- {what}: {}", plain(reference));
            }
            (DeliveryState::NotWanted | DeliveryState::NotDelivered, _) => {
                line!(text, "- {what}: not delivered: {}", plain(&delivery.why));
            }
        }
    }
    line!(text);
}

fn tasks(view: &SummaryView, text: &mut String) {
    line!(text, "## Tasks");
    line!(text);
    if view.tasks.is_empty() {
        line!(text, "None.");
        line!(text);
        return;
    }
    line!(text, "| task | title | state | attempts | revisions | cost |");
    line!(text, "|---|---|---|--:|--:|--:|");
    for task in &view.tasks {
        line!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            task.id,
            cell(&task.title),
            task.state.as_str(),
            task.attempts,
            task.rounds,
            task.amount().to_short_text()
        );
    }
    more(text, view.more_tasks, "tasks");
    line!(text);
}

fn findings(view: &SummaryView, text: &mut String) {
    line!(text, "## Open findings");
    line!(text);
    if view.findings.is_empty() {
        line!(text, "None.");
    }
    for left in &view.findings {
        line!(
            text,
            "- {}, {}: {}",
            plain(&left.severity_words()),
            label(&left.unit),
            plain(&left.finding.to_line())
        );
    }
    more(text, view.more_findings, "findings");
    line!(text);
}

fn remarks(view: &SummaryView, text: &mut String) {
    if view.remarks.is_empty() {
        return;
    }
    line!(text, "## Notes from the agents");
    line!(text);
    for RemarkView { unit, remark } in &view.remarks {
        let (kind, words) = remark.parts();
        line!(text, "- {kind}, {}: {}", label(unit), plain(words));
    }
    more(text, view.more_remarks, "remarks");
    line!(text);
}

fn improvements(view: &SummaryView, text: &mut String) {
    line!(text, "## What to improve");
    line!(text);
    if view.improvements.is_empty() {
        line!(text, "Nothing to improve.");
    }
    for improvement in &view.improvements {
        line!(text, "- {}.", plain(&improvement.fact).trim_end_matches('.'));
        line!(text, "  Next time: {}.", plain(&improvement.advice));
    }
    line!(text);
}

fn stats(view: &SummaryView, text: &mut String) {
    line!(text, "## Time and cost");
    line!(text);
    line!(text, "| stage | calls | time | tokens | cost |");
    line!(text, "|---|--:|--:|--:|--:|");
    // What Forge does itself takes no time that matters; checks do.
    let matters = |row: &&PhaseRow| row.used.calls > 0 || row.used.took_ms >= 1_000;
    for PhaseRow { stage, used, .. } in view.phases.iter().filter(matters) {
        line!(
            text,
            "| {} | {} | {} | {} | {} |",
            stage_label(stage),
            used.calls,
            span(used.took_ms),
            tokens(used),
            used.amount().to_short_text()
        );
    }
    line!(
        text,
        "| all | {} | {} | {} | {} |",
        view.total.calls,
        span(view.total.took_ms),
        tokens(&view.total),
        view.total.amount().to_short_text()
    );
    line!(text);
    let took_ms = time_at_work(view);
    if view.total.took_ms > took_ms {
        line!(text, "Parallel work is added up here; the run itself took {}.", span(took_ms));
        line!(text);
    } else if took_ms >= view.total.took_ms + 1_000 {
        line!(
            text,
            "The run itself took {}: setup, interrupted work and Forge itself took the other {}.",
            span(took_ms),
            span(took_ms - view.total.took_ms)
        );
        line!(text);
    }
}

/// Formats what a phase used. Agents that tell nothing of their tokens used some all the same.
fn tokens(used: &StatsRow) -> String {
    match (used.calls, used.tokens.total()) {
        (0, 0) => "-".to_owned(),
        (_, 0) => "unknown".to_owned(),
        (_, total) => short_number(total),
    }
}

fn debug(view: &SummaryView, text: &mut String) {
    if view.calls.is_empty() {
        return;
    }
    line!(text, "## Debug report");
    line!(text);
    line!(text, "Folder NNNN of a call is `.git/forge/attempts/{}/NNNN`.", view.run);
    line!(text);
    line!(
        text,
        "| folder | call | role | agent, model | outcome | session | time | tokens | cost |"
    );
    line!(text, "|---|---|---|---|---|---|--:|--:|--:|");
    for call in &view.calls {
        let folder = match call.ordinal {
            0 => "-".to_owned(),
            ordinal => format!("{ordinal:04}"),
        };
        let models = call.models.join(", ");
        let who = match (call.agent.as_str(), models.as_str()) {
            ("", "") => "-".to_owned(),
            (agent, "") => cell(agent),
            ("", models) => cell(models),
            (agent, models) => format!("{}, {}", cell(agent), cell(models)),
        };
        line!(
            text,
            "| {folder} | {} | {} | {who} | {} | {} | {} | {} | {} |",
            call.call,
            cell(&call.role),
            call.end.as_str(),
            call.session.as_deref().map_or_else(|| "-".to_owned(), cell),
            span(call.took_ms),
            if call.tokens == 0 { "-".to_owned() } else { short_number(call.tokens) },
            amount(call.cost).to_short_text()
        );
    }
    more(text, view.more_calls, "calls");
    line!(text);
    let chosen: Vec<_> = view.params.iter().filter(|param| !param.chosen.is_empty()).collect();
    for param in chosen {
        line!(text, "- {} = {} was chosen by: {}", param.name, param.value, plain(&param.chosen));
    }
}

fn amount(cost: Cost) -> Amount {
    match cost {
        Cost::Known(known) => Amount { known, ..Amount::default() },
        Cost::Estimated(estimated) => Amount { estimated, ..Amount::default() },
        Cost::Unknown => Amount { unknown_calls: 1, ..Amount::default() },
    }
}

fn more(text: &mut String, more: u32, what: &str) {
    if more > 0 {
        line!(text);
        line!(text, "… and {more} more {what}");
    }
}

/// Returns the words of others on one line, without a tag.
fn plain(words: &str) -> String {
    tagless(&one_line(words))
}

/// Words that stand between backticks, where a tag is none.
fn one_line(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ")
}

/// Words that begin no tag, as in what is offered.
fn tagless(words: &str) -> String {
    words.replace('<', "&lt;")
}

/// Returns the words of others in a table.
fn cell(words: &str) -> String {
    // Backslashes first, so that none of theirs removes one of these.
    plain(words).replace('\\', "\\\\").replace('|', "\\|")
}
