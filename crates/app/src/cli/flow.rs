//! `forge flow`: lists, shows and checks flows.

use std::{fmt::Write as _, process::ExitCode};

use clap::{Args, Subcommand};
use forge_api::{
    Error,
    catalog::{Catalog, FlowRow, FlowShown, FoundFlow, Origin},
    start::DryCalls,
};
use forge_core::{
    flow::{
        self, Check, CodeLimit, Condition, Delivery, Exhausted, Gate, GateWeight, ItemOrder, Stage,
        StageOrder, StuckItems, When, Work,
    },
    id::gate_label,
    routing::Hints,
};

use super::common::{open_forge, print_json};
use crate::{format, terminal_info, terminal_output};

/// List, show and check flows
#[derive(Args)]
pub(crate) struct FlowArgs {
    #[command(subcommand)]
    subcommand: FlowSubcommand,
}

#[derive(Subcommand)]
enum FlowSubcommand {
    /// List the flows that can be used
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the stages of a flow
    Show {
        /// Name the flow
        name: String,
        /// Print the text of the flow as it is written
        #[arg(long)]
        text: bool,
        /// Print JSON
        #[arg(long, conflicts_with = "text")]
        json: bool,
    },
    /// Check a flow, or all of them
    Check {
        /// Name the flow; all by default
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl FlowArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let catalog = forge.catalog();
        match self.subcommand {
            FlowSubcommand::List { json } => {
                let rows = flow_rows(&catalog, &catalog.names()?);
                if json {
                    print_json(&rows);
                } else {
                    for row in rows {
                        let about = row.problem.map_or(row.description, |_| {
                            format!("is wrong: forge flow check {}", row.name)
                        });
                        let name = format!("{:<16} ", row.name);
                        let about = format!("{about} ({})", row.origin);
                        let width = terminal_info::terminal_width();
                        terminal_output::print(&format::hanging_indent(&name, &about, width));
                    }
                }
                if let Err(error) = forge.settings() {
                    let what = error.what;
                    terminal_output::print_note(&format!("pipelines are left out: {what}"));
                }
                Ok(ExitCode::SUCCESS)
            }
            FlowSubcommand::Show { name, json: true, .. } => {
                let texts = catalog.flow(&name)?.texts;
                let row = flow_rows(&catalog, &[name]).remove(0);
                print_json(&FlowShown { row, texts });
                Ok(ExitCode::SUCCESS)
            }
            FlowSubcommand::Show { name, text: true, json: false } => {
                terminal_output::print(catalog.text(&name)?.0.trim_end());
                Ok(ExitCode::SUCCESS)
            }
            FlowSubcommand::Show { name, text: false, json: false } => {
                let width = terminal_info::terminal_width();
                terminal_output::print(&flow_text(&catalog.flow(&name)?, width));
                Ok(ExitCode::SUCCESS)
            }
            FlowSubcommand::Check { name: Some(name), json: false } => {
                let found = match (catalog.flow(&name), forge.settings()) {
                    (Ok(found), _) => found,
                    // It may be a pipeline of settings that cannot be read.
                    (Err(_), Err(error)) if !catalog.names()?.contains(&name) => return Err(error),
                    (Err(error), _) => return Err(error.into()),
                };
                terminal_output::print(&check_text(&found));
                Ok(ExitCode::SUCCESS)
            }
            FlowSubcommand::Check { name, json } => {
                let checked = check_flows(&catalog, name.as_deref(), json);
                // Pipelines of settings that cannot be read are not known.
                if name.is_none() {
                    forge.settings()?;
                }
                checked
            }
        }
    }
}

fn check_text(found: &FoundFlow) -> String {
    format!("`{}` is valid; {}", found.flow.name, calls_text(&found.flow))
}

/// Formats how many calls of agents a flow makes.
fn calls_text(flow: &flow::Flow) -> String {
    let DryCalls { once, for_each } = DryCalls::for_flow(flow);
    let for_each =
        if for_each > 0 { format!(" and {for_each} for each task") } else { String::new() };
    let most = flow.calls_max().0;
    let usual = format::count(u32::try_from(once).unwrap_or(u32::MAX), "agent call");
    format!("usually {usual}{for_each}, at most {most} if all work is sent back each time")
}

fn check_flows(catalog: &Catalog, name: Option<&str>, json: bool) -> Result<ExitCode, Error> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => catalog.names()?,
    };
    let rows = flow_rows(catalog, &names);
    let wrong = rows.iter().filter(|row| row.problem.is_some()).count();
    if json {
        print_json(&rows);
    } else {
        for row in &rows {
            let text = match (&row.problem, catalog.flow(&row.name)) {
                (None, Ok(found)) => format!("{}: valid; {}", row.name, calls_text(&found.flow)),
                (Some(problem), _) => format!("{}: {problem}", row.name),
                (None, Err(error)) => format!("{}: {}", row.name, error.what),
            };
            terminal_output::print(&text);
        }
    }
    Ok(ExitCode::from(if wrong > 0 { 2 } else { 0 }))
}

fn flow_rows(catalog: &Catalog, names: &[String]) -> Vec<FlowRow> {
    let row = |name: &String| match catalog.flow(name) {
        Ok(found) => FlowRow {
            name: name.clone(),
            description: found.flow.description.clone(),
            origin: origin_text(&found.origin),
            problem: None,
            calls_max: Some(found.flow.calls_max().0),
        },
        Err(error) => FlowRow {
            name: name.clone(),
            description: String::new(),
            origin: match catalog.text(name) {
                Ok((_, from)) => origin_text(&from),
                Err(_) if catalog.is_pipeline(name) => origin_text(&Origin::Settings),
                Err(_) => String::new(),
            },
            problem: Some(error.what),
            calls_max: None,
        },
    };
    names.iter().map(row).collect()
}

fn origin_text(origin: &Origin) -> String {
    match origin {
        Origin::Shipped => "built in".to_owned(),
        Origin::Project(path) => path.display().to_string(),
        Origin::Settings => "settings".to_owned(),
    }
}

fn flow_text(found: &FoundFlow, width: usize) -> String {
    let flow::Flow { name, description, params, manual, coherence, lists, stages } = &found.flow;
    let mut text = format::hanging_indent(&format!("{name}  "), description, width);
    for (name, param) in params {
        let _ = write!(
            text,
            "\n  --param {name}={}  (default {})",
            param.values.join("|"),
            param.default
        );
    }
    if let Some(role) = coherence {
        let _ = write!(text, "\n  an agent checks your request first, as {role}");
    }
    if !lists.is_empty() {
        let _ = write!(text, "\n  {} that exist already are taken as they are", lists.join(", "));
    }
    if !manual.0.is_empty() {
        let _ = write!(text, "\n  --auto is refused{}", condition_text(manual));
    }
    push_stages(&mut text, stages, 1, width);
    text
}

fn push_stages(text: &mut String, stages: &[Stage], depth: usize, width: usize) {
    let indent = "  ".repeat(depth);
    for stage in stages {
        let work = match &stage.work {
            Work::Agent { role } => {
                let reads = match stage.code {
                    CodeLimit::AsRole => "",
                    CodeLimit::Reads => ", without changing code",
                };
                format!("agent as {role}{}{reads}", asked_text(stage.model.as_ref(), stage.hints))
            }
            Work::Command { run } => format!("command: {run}"),
            Work::Each { list, at_once, items_max, order, stuck, .. } => {
                let order = match order {
                    ItemOrder::Paths => "",
                    ItemOrder::Waves => ", in waves",
                };
                let stuck = match stuck {
                    StuckItems::Fail => "",
                    StuckItems::PassWithNotes => ", without those that cannot be finished",
                    StuckItems::Hold => ", stops where one needs you",
                };
                format!(
                    "for each of {list}, {at_once} in parallel{order}, at most {items_max}{stuck}"
                )
            }
            Work::Flow { name, .. } => format!("the flow {name}"),
            Work::Deliver { what } => format!("delivers {}", delivery_text(*what)),
            Work::Nothing
                if stage.gates.iter().any(|gate| matches!(gate.check, Check::Human { .. })) =>
            {
                "you".to_owned()
            }
            Work::Nothing => "Forge".to_owned(),
        };
        let order = match stage.order {
            StageOrder::WorkFirst => "",
            StageOrder::GatesFirst => ", only if its checks find something",
        };
        let prefix = format!("{indent}{:<18} ", stage.name);
        let what = format!("{work}{order}{}", condition_text(&stage.when));
        let _ = write!(text, "\n{}", format::hanging_indent(&prefix, &what, width));
        for gate in &stage.gates {
            let prefix = format!("{indent}  - {}: ", gate_label(&gate.name));
            let line = format::hanging_indent(&prefix, &gate_line(stage, gate), width);
            let _ = write!(text, "\n{line}");
        }
        push_stages(text, stage.inner(), depth + 1, width);
    }
}

const fn delivery_text(what: Delivery) -> &'static str {
    match what {
        Delivery::PullRequest => {
            "the text of a pull request for the verified result (forge pr opens it, or the run)"
        }
        Delivery::Summary => "summary.md",
        Delivery::Comment => "a comment where the request came from",
        Delivery::Commit => "a last commit with the documents of the run",
        Delivery::Pages => "pages about all records (work.pages)",
    }
}

fn gate_line(stage: &Stage, gate: &Gate) -> String {
    let check = match &gate.check {
        Check::Artifact { name } => format!("{name} exists"),
        Check::Outputs { .. } => "the files are there, and long enough".to_owned(),
        Check::Command { run } => format!("`{run}` succeeds"),
        Check::Review { role } => {
            format!("by an agent as {role}{}", asked_text(gate.model.as_ref(), gate.hints))
        }
        Check::Human { question, .. } => format!("you are asked: {question}"),
        Check::Verify => "the project's checks pass".to_owned(),
        Check::Land => "the change is merged".to_owned(),
        Check::BuiltIn { check } => check.description().to_owned(),
    };
    let back = match (&gate.redo, gate.weight) {
        (_, GateWeight::Advisory) => "; advisory".to_owned(),
        (Some(redo), GateWeight::Binding) => format!("; sends back to {redo}"),
        (None, GateWeight::Binding) => String::new(),
    };
    let is_review = matches!(gate.check, Check::Review { .. });
    let rounds = if is_review || gate.rounds.is_some() {
        let then = match stage.exhausted {
            Exhausted::Ask => "you are asked",
            Exhausted::PassWithNotes => "it passes with notes",
            Exhausted::Fail => "it fails",
        };
        format!(", {}, then {then}", format::count(gate.rounds.unwrap_or(stage.rounds), "revision"))
    } else {
        String::new()
    };
    format!("{check}{rounds}{back}{}", condition_text(&gate.when))
}

/// Phrases what the flow asks of an agent: the model, the tier, effort and thinking.
fn asked_text(model: Option<&String>, hints: Hints) -> String {
    let Hints { tier, effort, thinking } = hints;
    let mut parts: Vec<String> = model.cloned().into_iter().collect();
    parts.extend(tier.map(|tier| format!("tier {}", tier.as_str())));
    parts.extend(effort.map(|effort| format!("effort {}", effort.as_str())));
    parts.extend(thinking.map(|thinking| format!("thinking {}", thinking.as_str())));
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn condition_text(when: &When) -> String {
    let words: Vec<String> = when
        .0
        .iter()
        .map(|condition| match condition {
            Condition::Param { name, is } => format!("{name} is {}", is.join(" or ")),
            Condition::Item { tag, is } => format!("the task has {tag} = {}", is.join(" or ")),
        })
        .collect();
    if words.is_empty() { String::new() } else { format!(" (if {})", words.join(" and ")) }
}
