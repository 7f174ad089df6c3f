//! `forge completions`: prints a completion script for a shell.
//!
//! Generated from the clap definitions. Names of runs and flows are not completed.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use clap_complete::{Shell, generate};

use crate::terminal_output;

/// Print the completion script for your shell
#[derive(Args)]
#[command(after_help = HOW)]
pub(crate) struct CompletionsArgs {
    /// Name your shell: bash, zsh, fish, elvish or powershell
    #[arg(hide_possible_values = true)]
    shell: ShellName,
}

const HOW: &str = "\
bash   forge completions bash > ~/.local/share/bash-completion/completions/forge
zsh    forge completions zsh > _forge, in a folder of your $fpath
fish   forge completions fish > ~/.config/fish/completions/forge.fish";

/// A shell that we have a script for.
#[derive(Clone, Copy, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

impl CompletionsArgs {
    pub(crate) fn run(self, cli: &mut clap::Command) -> ExitCode {
        let shell = match self.shell {
            ShellName::Bash => Shell::Bash,
            ShellName::Zsh => Shell::Zsh,
            ShellName::Fish => Shell::Fish,
            ShellName::Elvish => Shell::Elvish,
            ShellName::Powershell => Shell::PowerShell,
        };
        let mut script = Vec::new();
        generate(shell, cli, "forge", &mut script);
        terminal_output::print_bytes(&script);
        ExitCode::SUCCESS
    }
}
