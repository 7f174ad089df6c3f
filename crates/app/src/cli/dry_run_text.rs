//! The text of `forge run --dry-run`.

use forge_api::start::{ChecksFrom, DryPlayer, DryRun, DryStage, Runs};
use forge_core::{
    event::Approvals, id::gate_label, money::Money, routing::Route, slug::branch_words,
};

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
    // The usual values of these parameters say nothing about the request.
    let is_usual =
        |name: &str, value: &str| matches!((name, value), ("pr", "yes") | ("source", "text"));
    for (name, value) in dry.params.iter().filter(|(name, value)| !is_usual(name, value)) {
        let why = dry.chosen.get(name).map(|why| format!(" ({why})")).unwrap_or_default();
        // Also at the start, the effort is called the size.
        let name = if name == "effort" { "size" } else { name };
        row(name, &format!("{value}{why}"));
    }
    for asked in &dry.asked {
        row("asked", asked);
    }
    row(
        "approvals",
        match dry.approvals {
            Approvals::Automatic => "automatic, if every review passes",
            Approvals::ByPeople => "you are asked",
        },
    );
    if let Some(branch) = &dry.branch {
        let onto = dry.onto.as_ref().map(|onto| format!("; then, if you say so, {onto}"));
        let branch = branch
            .replace("{words}", &branch_words(&dry.request))
            .replace("{id}", "…")
            .replace("{run}", "…");
        row("branch", &format!("{branch}{}", onto.unwrap_or_default()));
    }
    if let Some(player) = &dry.looked_at_by {
        row("first", &format!("the request is checked by {}", role_text(player)));
    }
    lines.push(String::new());
    for stage in dry.stages.iter().filter(|stage| stage.runs != Runs::Skipped) {
        lines.extend(stage_lines(stage, width));
    }
    lines.push(String::new());
    let mut row = |name: &str, text: &str| {
        lines.push(format::hanging_indent(&format!("{name:<9} "), text, width));
    };
    match (&dry.estimate, dry.calls_usual.for_each) {
        (Some(estimate), _) => row("estimate", &estimate_text(estimate)),
        (None, 0) => row("calls", &dry.calls_usual.once.to_string()),
        (None, n) => row("calls", &format!("{}, and {n} for each task", dry.calls_usual.once)),
    }
    let caps = &dry.caps;
    let money = |amount: Money| amount.to_short_text();
    let parts = [
        Some(caps.budget.map_or_else(|| "no budget".to_owned(), money)),
        caps.call_budget.map(|budget| format!("{} per call", money(budget))),
        Some(format!("{}m per call", caps.wall_minutes)),
        Some(format!("{}m without output", caps.silence_minutes)),
        Some(format!("{} at a time", format::count(caps.at_once, "call"))),
    ];
    row("limits", &parts.into_iter().flatten().collect::<Vec<String>>().join(" · "));
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
        row("allow", command);
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
    let depends = |runs: Runs| match runs {
        Runs::Yes | Runs::Skipped => "",
        Runs::Perhaps => "depends on the task: ",
    };
    let player = stage.player.as_ref().map(|player| format!(" ({})", agent_text(player)));
    let budget = stage.budget.map(|budget| format!(", at most {budget}")).unwrap_or_default();
    let what =
        format!("{}{}{}{budget}", depends(stage.runs), stage.does, player.unwrap_or_default());
    let mut lines = vec![format::hanging_indent(&format!("{indent}{name:<12} "), &what, width)];
    for gate in stage.gates.iter().filter(|gate| gate.runs != Runs::Skipped) {
        let player = gate.player.as_ref().map(|player| format!(" ({})", agent_text(player)));
        let n_rounds = gate.rounds.unwrap_or(stage.rounds);
        let is_said = gate.player.is_some() || gate.rounds.is_some();
        let rounds = is_said
            .then(|| format!(", {}, then {}", format::count(n_rounds, "revision"), stage.then));
        let what = format!(
            "{}{}{}{}",
            depends(gate.runs),
            // The names of tasks are not known yet.
            gate.wants.replace("{item}", "T1"),
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
    let route = player.route.map(Route::to_words).filter(|words| !words.is_empty());
    let route = route.map(|words| format!(", {words}")).unwrap_or_default();
    format!("{}{model}{route}", player.agent)
}

fn role_text(player: &DryPlayer) -> String {
    format!("{} ({})", player.role, agent_text(player))
}
