//! `forge completions`: prints a completion script for a shell.
//!
//! Commands and flags are generated from the clap definitions. For the names of runs, tasks, flows, agents and settings
//! the scripts of bash, zsh and fish ask `forge __complete` (`complete.rs`).

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
fish   forge completions fish > ~/.config/fish/completions/forge.fish

These three also complete names of runs, tasks, flows, agents and settings.";

/// Asks for names first; only if there are none, the words that clap knows are offered.
const BASH_NAMES: &str = r#"
_forge_names() {
    local name words=()
    _forge "$@"
    while IFS=$'\t' read -r name _; do
        words+=("$name")
    done < <("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#words[@]} -gt 0 ]]; then
        COMPREPLY=("${words[@]}")
    else
        for name in "${COMPREPLY[@]}"; do
            [[ $name == [\[\<]* ]] || words+=("$name")
        done
        COMPREPLY=("${words[@]}")
    fi
}
complete -F _forge_names -o bashdefault -o default forge
"#;

/// Does the same in zsh, where the script may be loaded as the function `_forge`.
const ZSH_NAMES: &str = r#"
_forge_names() {
    local -a names
    names=(${(f)"$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null | tr '\t' ':')"})
    if (( $#names )); then _describe -t names 'forge' names; else _forge "$@"; fi
}

if [ "$funcstack[1]" = "_forge" ]; then
    _forge_names "$@"
else
    compdef _forge_names forge
fi
"#;

/// Adds names to what clap knows.
const FISH_NAMES: &str = r"
complete -c forge -a '(forge __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
";

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
        let mut script = String::from_utf8_lossy(&script).into_owned();
        match self.shell {
            ShellName::Bash => script.push_str(BASH_NAMES),
            ShellName::Zsh => {
                let end = script.rfind("\nif [ \"$funcstack[1]\"").unwrap_or(script.len());
                script.truncate(end);
                script.push_str(ZSH_NAMES);
            }
            ShellName::Fish => script.push_str(FISH_NAMES),
            ShellName::Elvish | ShellName::Powershell => {}
        }
        terminal_output::print_bytes(script.as_bytes());
        ExitCode::SUCCESS
    }
}
