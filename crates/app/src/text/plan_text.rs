//! What a person sees when a run starts: agent, setup, checks, size, budget, estimate, branch.

use forge_api::start::{BudgetFrom, ChecksFrom, Estimate, Picked, StartPlan};
use forge_core::money::Money;

use crate::format;

/// Formats the plan of a run that starts.
pub(crate) fn plan_text(plan: &StartPlan, width: usize) -> String {
    let mut lines = Vec::new();
    let mut row = |name: &str, text: &str| {
        lines.push(format::hanging_indent(&format!("  {name:<9}"), text, width));
    };
    if !plan.agents.is_empty() {
        row("Agent", &agents_text(plan));
        if let Some(models) = models_text(plan) {
            row("Models", &models);
        }
    }
    if let Some(from) = plan.checks_from {
        if !plan.setup.is_empty() {
            row("Setup", &plan.setup.join("; "));
        }
        row("Checks", &checks_text(&plan.checks, from));
    }
    if let Some((effort, why)) = &plan.effort {
        let change = if why.contains("--effort") { "" } else { "; change it with --effort" };
        row("Size", &format!("{effort} ({why}{change})"));
    }
    if let Some(budget) = budget_text(plan) {
        row("Budget", &budget);
    }
    if let Some(estimate) = &plan.estimate {
        row("Estimate", &estimate_text(estimate));
    }
    if let Some(branch) = &plan.branch {
        let renamed = if plan.effort.is_some() { " (may be renamed after the design)" } else { "" };
        row("Branch", &format!("{branch}{renamed}"));
    }
    lines.join("\n")
}

/// Names each agent once.
fn agents_text(plan: &StartPlan) -> String {
    let mut names: Vec<String> = Vec::new();
    for agent in &plan.agents {
        let title = agent.title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        let name = format!("{}{title}", agent.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let found = match plan.picked {
        Picked::AsSet => "",
        Picked::OnlyOne => ", the only one found; change it with: forge agents use NAME",
        Picked::Chosen => ", kept in your settings",
    };
    format!("{}{found}", names.join(", "))
}

/// Names the models that agents are asked for.
fn models_text(plan: &StartPlan) -> Option<String> {
    let mut models: Vec<&str> = Vec::new();
    for model in plan.agents.iter().filter_map(|agent| agent.model.as_deref()) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    match models.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(format!("{}, by the work (--model for one)", several.join(", "))),
    }
}

fn checks_text(checks: &[String], from: ChecksFrom) -> String {
    let commands = checks.join("; ");
    match from {
        ChecksFrom::Settings if checks.is_empty() => {
            "none (verify.commands is empty): you are asked before an unverified result is merged"
                .to_owned()
        }
        ChecksFrom::Settings => commands,
        ChecksFrom::Found => format!("{commands} (found in the project)"),
        ChecksFrom::Nothing => {
            "none found: you are asked before an unverified result is merged; add them to [verify] \
             in forge.toml"
                .to_owned()
        }
    }
}

fn budget_text(plan: &StartPlan) -> Option<String> {
    let Some(budget) = plan.budget else {
        return (!plan.agents.is_empty()).then(|| "none".to_owned());
    };
    let from = match plan.budget_from {
        BudgetFrom::Flag => "--budget",
        BudgetFrom::Settings => "limits.budget; change it with --budget",
        BudgetFrom::Default => "default; change it with --budget",
    };
    let calls =
        plan.unpriced_calls.map(|calls| format!(" or after {calls} calls of unknown price"));
    let calls = calls.unwrap_or_default();
    Some(format!("stops at {}{calls} ({from})", budget.to_short_text()))
}

/// Formats what a run is likely to take.
pub(crate) fn estimate_text(estimate: &Estimate) -> String {
    let Estimate { calls, minutes, cost, earlier_runs } = estimate;
    let range = |(least, most): (u64, u64), unit: &str| {
        if least == most { format!("{least}{unit}") } else { format!("{least}{unit}-{most}{unit}") }
    };
    let call = if *calls == (1, 1) { "call" } else { "calls" };
    let mut parts = vec![format!("{} {call}", range(*calls, "")), range(*minutes, "m")];
    if let Some((least, most)) = cost {
        parts.push(money_range(*least, *most));
    }
    let basis = match earlier_runs {
        0 => "rough, no earlier runs of this flow".to_owned(),
        1 => "from 1 earlier run".to_owned(),
        n => format!("from {n} earlier runs"),
    };
    format!("{} ({basis})", parts.join(" · "))
}

fn money_range(least: Money, most: Money) -> String {
    let (least, most) = (least.to_string(), most.to_string());
    if least == most { least } else { format!("{least}-{most}") }
}
