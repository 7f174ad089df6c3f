//! `forge agents`: lists the agents, and checks whether one answers.

use std::{fmt::Write as _, process::ExitCode};

use clap::{Args, Subcommand};
use forge_api::{
    Error,
    agents::{
        check::{CheckPlan, ProbeState, Probed},
        list::{AgentRow, Roster},
    },
    start::Allowed,
};
use forge_core::view::{sanitize, span};

use super::{
    common::{INTERRUPTED, current_dir, print_json},
    start_prompts::approve_commands,
};
use crate::{format, terminal_info, terminal_output};

/// List the agents on this machine, check one, or choose one
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    subcommand: Option<AgentsSubcommand>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum AgentsSubcommand {
    /// Make one tiny real call, and explain a failure
    Check(CheckArgs),
    /// Use an agent for all your runs
    Use {
        /// Name the agent, as `forge agents` lists it
        name: String,
    },
}

#[derive(Args)]
struct CheckArgs {
    /// Name the agent
    name: String,
    /// Use this model; the one of the settings by default
    #[arg(long, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Allow from now on what this repository runs for it
    #[arg(long)]
    allow: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The most characters of a command line that are announced before it is run.
const ANNOUNCED_CHARACTERS: usize = 150;
/// The width of the column of names.
const NAME_WIDTH: usize = 10;
/// The column in which descriptions start.
const INDENT: usize = NAME_WIDTH + 2;
/// The exit code if the agent cannot be used here.
const UNUSABLE: u8 = 2;

impl AgentsArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let roster = Roster::open(&current_dir()?)?;
        match self.subcommand {
            Some(AgentsSubcommand::Check(check)) => check.run(&roster),
            Some(AgentsSubcommand::Use { name }) => {
                let (path, other) = roster.use_for_user(&name)?;
                terminal_output::print(&format!(
                    "{name} is your agent now (set in {})",
                    path.display()
                ));
                let row = roster.rows().into_iter().find(|row| row.name == name);
                if let Some(wrong) = row.and_then(|row| row.wrong) {
                    terminal_output::print_note(&format!("it cannot be used yet: {wrong}"));
                }
                if let Some(other) = other {
                    terminal_output::print_note(&format!(
                        "{other} names another agent, and wins here"
                    ));
                }
                Ok(ExitCode::SUCCESS)
            }
            None => {
                let rows = roster.rows();
                if self.json {
                    print_json(&rows);
                } else {
                    terminal_output::print(&list_text(&rows, terminal_info::terminal_width()));
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl CheckArgs {
    fn run(self, roster: &Roster) -> Result<ExitCode, Error> {
        let mut allowed = |commands: &[String]| {
            // `--allow` names the agent, so it counts as consent.
            if self.allow { Allowed::FromNowOn } else { approve_commands(commands) }
        };
        let probed =
            roster.check(&self.name, self.model.as_deref(), &mut allowed, &mut announce)?;
        if self.json {
            print_json(&probed);
        } else {
            terminal_output::print(&check_text(&probed, terminal_info::terminal_width()));
        }
        Ok(check_code(&probed))
    }
}

/// Tells that a call is about to be made.
pub(crate) fn announce(plan: &CheckPlan) {
    terminal_output::print_stderr(&sanitize(&announcement(plan)));
}

/// Returns the exit code of a check.
pub(crate) fn check_code(probed: &Probed) -> ExitCode {
    if probed.state == ProbeState::Ready {
        ExitCode::SUCCESS
    } else if probed.state == ProbeState::Interrupted {
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::from(UNUSABLE)
    }
}

/// Announces the call that is about to be made and what it may cost.
fn announcement(plan: &CheckPlan) -> String {
    let Some(cap) = plan.cap else {
        return format!("one tiny call to {}, which costs nothing", plan.agent);
    };
    let cost = format!("which may cost a little (stopped at {cap}, if it reports its cost)");
    let words = format::one_line(&plan.argv.join(" "), ANNOUNCED_CHARACTERS);
    let words = format::hanging_indent("  ", &words, terminal_info::terminal_width());
    format!("one tiny call to {}, {cost}:\n{words}", plan.agent)
}

fn list_text(rows: &[AgentRow], width: usize) -> String {
    let mut text = String::new();
    for (position, row) in rows.iter().enumerate() {
        if position > 0 {
            text.push('\n');
        }
        let head = format!(
            "{:<NAME_WIDTH$}  {}",
            row.name,
            format::wrap(&description(row), INDENT, width - INDENT)
        );
        text.push_str(&head);
        let mut push = |mark: &str, words: &str| {
            let words = format!("{mark}{words}");
            let _ =
                write!(text, "\n{:INDENT$}{}", "", format::wrap(&words, INDENT, width - INDENT));
        };
        let roles_text = roles_text(row);
        if !roles_text.is_empty() {
            push("runs as ", &roles_text);
        }
        if let Some(model) = &row.model {
            push("model ", model);
        }
        let can: Vec<&str> = row.can.iter().map(|ability| ability.description()).collect();
        if !can.is_empty() {
            push("", &can.join(", "));
        }
        if let Some(wrong) = &row.wrong {
            // A problem of an agent without roles harms no run.
            let mark = if roles_text.is_empty() { "not usable: " } else { "error: " };
            push(mark, wrong);
        }
        if let Some(next) = &row.next {
            push("help: ", next);
        }
    }
    text
}

/// Describes an agent: program, version and path.
fn description(row: &AgentRow) -> String {
    let version = row.version.as_deref().unwrap_or("version unknown");
    let path = row.path.as_deref().unwrap_or("not found");
    let kind = row.kind.0;
    match (kind.title(), &row.path) {
        _ if kind.plays_scenario() => format!("part of Forge {version}; follows a script"),
        (Some(title), Some(path)) => match row.newer_than() {
            Some(tested) => format!("{title} {version}, newer than the tried {tested}, {path}"),
            None => format!("{title} {version}, {path}"),
        },
        (Some(title), None) => format!("{title}, not found"),
        (None, _) => format!("a program, {path}"),
    }
}

fn roles_text(row: &AgentRow) -> String {
    let roles = row.roles.join(", ");
    match (row.is_default, roles.as_str()) {
        (true, "") => "all roles".to_owned(),
        (true, roles) => format!("{roles}, and all roles without another agent"),
        (false, roles) => roles.to_owned(),
    }
}

pub(crate) fn check_text(probed: &Probed, width: usize) -> String {
    let version = probed.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut text = format!("{}{version} {}", probed.agent, probed.state.as_str());
    if probed.state == ProbeState::Ready {
        let mut facts = vec![span(probed.took_ms), probed.cost()];
        facts.extend(probed.model.as_ref().map(|model| format!("model {model}")));
        let _ = write!(text, " ({})", facts.join(", "));
        return text;
    }
    for line in probed.what.iter().flat_map(|what| what.lines()) {
        let _ = write!(text, "\n{}", format::hanging_indent("  ", line, width));
    }
    if let Some(next) = &probed.next {
        let _ = write!(text, "\n{}", format::hanging_indent("  help: ", next, width));
    }
    if let Some(transcript) = &probed.transcript {
        let _ = write!(text, "\n  what it printed: {transcript}");
    }
    text
}
