//! The command line: one file for each command.

mod agents;
mod answer;
mod attach;
mod brief;
mod choose_run;
mod common;
mod completions;
mod config;
mod demo;
mod doctor;
mod drive_mode;
mod dry_run_text;
mod edit;
mod flow;
mod init;
mod log;
mod man;
mod prompt;
mod resume;
mod rewind;
mod run;
mod show;
mod start_prompts;
mod stats;
mod status;
mod stop;
mod usage_errors;
mod watch;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::terminal_output;

/// Drives AI coding agents from a request to a result: stages, gates, reviews, you.
#[derive(Parser)]
#[command(name = "forge", version, disable_help_subcommand = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Cmd,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong use or surroundings, 3 waits for a person,
4 escalated or blocked, 5 parked by a limit or pause, 70 a bug of ours,
130 interrupted.
A RUN can be shortened to any unique beginning, or to its last four letters.";

#[derive(Subcommand)]
enum Cmd {
    Demo(demo::Demo),
    Init(init::Init),
    Run(run::Run),
    Resume(resume::Resume),
    Attach(attach::Attach),
    Status(status::Status),
    Show(show::Show),
    Log(log::Log),
    Watch(watch::Watch),
    Brief(brief::Brief),
    Answer(answer::Answer),
    Pause(stop::Pause),
    Stop(stop::Stop),
    Abandon(stop::Abandon),
    Edit(edit::Edit),
    Rewind(rewind::Rewind),
    Stats(stats::Stats),
    Flow(flow::Flow),
    Agents(agents::Agents),
    Config(config::Config),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(man::Man),
}

/// Reads the command line and does what it says.
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            match usage_errors::refusal(&error, args, &Cli::command()) {
                Some(refusal) => terminal_output::print_error(&refusal),
                None => {
                    let _nobody_reads = error.print();
                }
            }
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let done = match cli.command {
        Cmd::Demo(command) => command.main(),
        Cmd::Init(command) => command.main(),
        Cmd::Show(command) => command.main(),
        Cmd::Edit(command) => command.main(),
        Cmd::Rewind(command) => command.main(),
        Cmd::Run(command) => command.main(),
        Cmd::Attach(command) => command.main(),
        Cmd::Resume(command) => command.main(),
        Cmd::Status(command) => command.main(),
        Cmd::Watch(command) => command.main(),
        Cmd::Brief(command) => command.main(),
        Cmd::Stats(command) => command.main(),
        Cmd::Log(command) => command.main(),
        Cmd::Answer(command) => command.main(),
        Cmd::Pause(command) => command.main(),
        Cmd::Stop(command) => command.main(),
        Cmd::Abandon(command) => command.main(),
        Cmd::Flow(command) => command.main(),
        Cmd::Agents(command) => command.main(),
        Cmd::Config(command) => command.main(),
        Cmd::Doctor(command) => command.main(),
        Cmd::Completions(command) => Ok(command.main(&mut Cli::command())),
        Cmd::Man(command) => command.main(Cli::command()),
    };
    done.unwrap_or_else(|trouble| {
        terminal_output::print_error(&trouble);
        ExitCode::from(trouble.kind.exit_code())
    })
}
