//! The text of `forge run --dry-run`.

use forge_api::start::{ChecksFrom, DryPlayer, DryRun, DryStage, Runs};
use forge_core::{event::Approvals, id::gate_label, money::Money};

use crate::{format, text::plan_text::estimate_text};

/// Formats the plan of a run, wrapped at `width`.
pub(super) fn dry_run_text(dry: &DryRun, width: usize) -> String {
    let mut lines = Vec::new();
    let mut row = |name: &str, text: &str| {
        lines.push(format::hanging_indent(&format!("{name:<9} "), text, width));
    };
    row("would run", &dry.flow);
    row("request", &format::one_line(&dry.request, width.saturating_sub(10)));
    if let Some(source) = &dry.source {
        row("from", source);
    }
    for (name, value) in &dry.params {
        let why = dry.chosen.get(name).map(|why| format!(" ({why})")).unwrap_or_default();
        row(name, &format!("{value}{why}"));
    }
    for asked in &dry.asked {
        row("asked", asked);
    }
    row(
        "approvals",
        match dry.approvals {
            Approvals::Automatic => "automatic, if every review passes",
            Approvals::ByPeople => "yours",
        },
    );
    if let Some(branch) = &dry.branch {
        let onto = dry.onto.as_ref().map(|onto| format!("; then, if you say so, {onto}"));
        row("branch", &format!("{branch}{}", onto.unwrap_or_default()));
    }
    if let Some(player) = &dry.looked_at_by {
        row("first", &format!("the request is checked by {}", role_text(player)));
    }
    lines.push(String::new());
    for stage in &dry.stages {
        lines.extend(stage_lines(stage, width));
    }
    lines.push(String::new());
    let mut row = |name: &str, text: &str| {
        lines.push(format::hanging_indent(&format!("{name:<9} "), text, width));
    };
    let each = match dry.calls_usual.for_each {
        0 => String::new(),
        n => format!(", and {n} for each task"),
    };
    row("calls", &format!("{}{each} if nothing is sent back", dry.calls_usual.once));
    if let Some(estimate) = &dry.estimate {
        row("estimate", &estimate_text(estimate));
    }
    let money =
        |amount: Option<Money>| amount.map_or_else(|| "no cap".to_owned(), Money::to_short_text);
    row(
        "caps",
        &format!(
            "run {}, each call {}; {} calls in parallel; each call at most {} min, and {} min \
             without output",
            money(dry.caps.budget),
            money(dry.caps.call_budget),
            dry.caps.at_once,
            dry.caps.wall_minutes,
            dry.caps.silence_minutes
        ),
    );
    let checks = dry.checks.join("; ");
    row(
        "checks",
        &match dry.checks_from {
            ChecksFrom::Settings if checks.is_empty() => "none, as it is set".to_owned(),
            ChecksFrom::Settings => checks,
            ChecksFrom::Found => format!("{checks} (found)"),
            ChecksFrom::Nothing => "none: the result stays unverified".to_owned(),
        },
    );
    for command in &dry.setup {
        row("setup", command);
    }
    for command in &dry.to_allow {
        row("to allow", command);
    }
    for note in &dry.notes {
        row("note", note);
    }
    lines.push("nothing was written, and no agent was called".to_owned());
    lines.join("\n")
}

fn stage_lines(stage: &DryStage, width: usize) -> Vec<String> {
    let depth = stage.stage.matches('/').count();
    let name = stage.stage.rsplit('/').next().unwrap_or_default();
    let indent = "  ".repeat(depth);
    let skipped = |runs: Runs| match runs {
        Runs::Yes => "",
        Runs::Skipped => "skipped: ",
        Runs::Perhaps => "depends on the task: ",
    };
    let player = stage.player.as_ref().map(|player| format!(" ({})", agent_text(player)));
    let budget = stage.budget.map(|budget| format!(", at most {budget}")).unwrap_or_default();
    let what =
        format!("{}{}{}{budget}", skipped(stage.runs), stage.does, player.unwrap_or_default());
    let mut lines = vec![format::hanging_indent(&format!("{indent}{name:<12} "), &what, width)];
    if stage.runs == Runs::Skipped {
        return lines;
    }
    for gate in &stage.gates {
        let player = gate.player.as_ref().map(|player| format!(" ({})", agent_text(player)));
        let rounds = gate
            .player
            .as_ref()
            .map(|_| format!(", {} revisions, then {}", stage.rounds, stage.then));
        let what = format!(
            "{}{}{}{}",
            skipped(gate.runs),
            gate.wants,
            player.unwrap_or_default(),
            rounds.unwrap_or_default()
        );
        let prefix = format!("{indent}  - {}: ", gate_label(&gate.gate));
        lines.push(format::hanging_indent(&prefix, &what, width));
    }
    lines
}

fn agent_text(player: &DryPlayer) -> String {
    let model = player.model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
    format!("{}{model}", player.agent)
}

fn role_text(player: &DryPlayer) -> String {
    format!("{} ({})", player.role, agent_text(player))
}
