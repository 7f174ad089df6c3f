//! `forge accounts`: lists the accounts of agents with what is left of them, and checks whether one works.

use std::{fmt::Write as _, process::ExitCode};

use clap::{Args, Subcommand};
use forge_api::{
    Error,
    accounts::{AccountRow, AccountState, Accounts, WindowRow},
    clock::now,
};
use forge_core::view::{day, moment, span};

use super::{
    agents::{announce, check_code, check_text},
    common::{current_dir, print_json},
    start_prompts::approve_commands,
};
use crate::{terminal_info, terminal_output};

/// List accounts of agents and what is left of each, or check one
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AccountsArgs {
    #[command(subcommand)]
    subcommand: Option<AccountsSubcommand>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum AccountsSubcommand {
    /// Make one tiny real call with an account, and explain a failure
    Check {
        /// Name the account
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The width of the column of names.
const NAME_WIDTH: usize = 10;
/// The column in which descriptions start.
const INDENT: usize = NAME_WIDTH + 2;

impl AccountsArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let accounts = Accounts::open(&current_dir()?)?;
        match self.subcommand {
            Some(AccountsSubcommand::Check { name, json }) => {
                let probed = accounts.check(&name, &mut approve_commands, &mut announce)?;
                if json {
                    print_json(&probed);
                } else {
                    terminal_output::print(&check_text(&probed, terminal_info::terminal_width()));
                }
                Ok(check_code(&probed))
            }
            None => {
                let rows = accounts.rows()?;
                if self.json {
                    print_json(&rows);
                } else if rows.is_empty() {
                    terminal_output::print(
                        "no accounts are set; each agent uses the login that it has\n help: forge config set accounts.NAME.agent AGENT --user",
                    );
                } else {
                    terminal_output::print(&list_text(&rows, terminal_info::terminal_width()));
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn list_text(rows: &[AccountRow], width: usize) -> String {
    let rows = rows.iter().map(|row| {
        let mut text = format!("{:<NAME_WIDTH$}  {}, {}", row.name, row.agent, state_text(row));
        for line in lines(row) {
            let line = crate::format::wrap(&line, INDENT, width - INDENT);
            let _ = write!(text, "\n{:INDENT$}{line}", "");
        }
        text
    });
    rows.collect::<Vec<String>>().join("\n")
}

fn state_text(row: &AccountRow) -> String {
    let until = row.until.filter(|_| row.state == AccountState::UsedUp);
    let until = until.map(|until| format!(" until {}", moment(until))).unwrap_or_default();
    format!("{}{until}", row.state.as_str())
}

fn lines(row: &AccountRow) -> Vec<String> {
    let mut lines: Vec<String> = row.windows.iter().map(window_text).collect();
    lines.extend(row.expires.map(|until| {
        // A day is over when the next one begins.
        format!("login until {}", day(until.saturating_sub(1)))
    }));
    lines.extend(row.calls.iter().map(|call| format!("in use by {call}")));
    if let (Some(at), true) = (row.used_at, row.calls.is_empty()) {
        let ago = span(now().saturating_sub(at));
        let by = row.used_by.as_ref().map(|run| format!(" by {run}")).unwrap_or_default();
        lines.push(format!("last used {ago} ago{by}"));
    }
    lines.extend(row.wrong.as_ref().map(|wrong| format!("error: {wrong}")));
    lines.extend(row.next.as_ref().map(|next| format!("help: {next}")));
    lines
}

fn window_text(window: &WindowRow) -> String {
    let WindowRow { name, used_percent, resets_at } = window;
    let resets = resets_at.map(|at| format!(", new at {}", moment(at))).unwrap_or_default();
    format!("{}: {used_percent} % used{resets}", name.replace('_', " "))
}
