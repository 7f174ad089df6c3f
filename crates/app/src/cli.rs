//! The command line: parses it and runs one command. Each command has a file of its own.

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
    command: CliCommand,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong use or surroundings, 3 waits for a person,
4 escalated or blocked, 5 parked by a limit or pause, 70 a bug of ours,
130 interrupted.
A RUN can be shortened to any unique beginning, or to its last four letters.";

#[derive(Subcommand)]
enum CliCommand {
    Demo(demo::DemoArgs),
    Init(init::InitArgs),
    Run(run::RunArgs),
    Resume(resume::ResumeArgs),
    Attach(attach::AttachArgs),
    Status(status::StatusArgs),
    Show(show::ShowArgs),
    Log(log::LogArgs),
    Watch(watch::WatchArgs),
    Brief(brief::BriefArgs),
    Answer(answer::AnswerArgs),
    Pause(stop::PauseArgs),
    Stop(stop::StopArgs),
    Abandon(stop::AbandonArgs),
    Edit(edit::EditArgs),
    Rewind(rewind::RewindArgs),
    Stats(stats::StatsArgs),
    Flow(flow::FlowArgs),
    Agents(agents::AgentsArgs),
    Config(config::ConfigArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Parses `args` and runs the command. Returns the exit code of the process.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            match usage_errors::run_usage_error(&error, args, &Cli::command()) {
                Some(refusal) => terminal_output::print_error(&refusal),
                None => {
                    let _ignored = error.print();
                }
            }
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let done = match cli.command {
        CliCommand::Demo(command) => command.run(),
        CliCommand::Init(command) => command.run(),
        CliCommand::Show(command) => command.run(),
        CliCommand::Edit(command) => command.run(),
        CliCommand::Rewind(command) => command.run(),
        CliCommand::Run(command) => command.run(),
        CliCommand::Attach(command) => command.run(),
        CliCommand::Resume(command) => command.run(),
        CliCommand::Status(command) => command.run(),
        CliCommand::Watch(command) => command.run(),
        CliCommand::Brief(command) => command.run(),
        CliCommand::Stats(command) => command.run(),
        CliCommand::Log(command) => command.run(),
        CliCommand::Answer(command) => command.run(),
        CliCommand::Pause(command) => command.run(),
        CliCommand::Stop(command) => command.run(),
        CliCommand::Abandon(command) => command.run(),
        CliCommand::Flow(command) => command.run(),
        CliCommand::Agents(command) => command.run(),
        CliCommand::Config(command) => command.run(),
        CliCommand::Doctor(command) => command.run(),
        CliCommand::Completions(command) => Ok(command.run(&mut Cli::command())),
        CliCommand::Man(command) => command.run(Cli::command()),
    };
    done.unwrap_or_else(|error| {
        terminal_output::print_error(&error);
        ExitCode::from(error.kind.exit_code())
    })
}
