//! The `forge` program: the command line and the live screen.
//!
//! Keepers, launchers and the scripted agent are dispatched before anything else is set up, so
//! that they stay small. Commands are in `cli/<command>.rs`, shared texts in `text/`, formatting in
//! `format.rs`, and the live screen in `live.rs`.
//!
//! Invariant: this crate holds no run, decides nothing, and opens no journal file.
//! Invariant: data goes to stdout, everything else to stderr.

mod cli;
mod document;
mod format;
mod live;
mod markdown;
mod pager;
mod palette;
mod terminal_info;
mod terminal_output;
mod text;
mod text_width;

use std::{ffi::OsString, panic, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand};

/// The exit code of a bug in Forge.
const BUG: u8 = 70;

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
    Demo(cli::demo::DemoArgs),
    Init(cli::init::InitArgs),
    Run(cli::run::RunArgs),
    Resume(cli::resume::ResumeArgs),
    Attach(cli::attach::AttachArgs),
    Status(cli::status::StatusArgs),
    Show(cli::show::ShowArgs),
    Log(cli::log::LogArgs),
    Watch(cli::watch::WatchArgs),
    Brief(cli::brief::BriefArgs),
    Answer(cli::answer::AnswerArgs),
    Pause(cli::stop::PauseArgs),
    Stop(cli::stop::StopArgs),
    Abandon(cli::stop::AbandonArgs),
    Edit(cli::edit::EditArgs),
    Rewind(cli::rewind::RewindArgs),
    Stats(cli::stats::StatsArgs),
    Flow(cli::flow::FlowArgs),
    Agents(cli::agents::AgentsArgs),
    Config(cli::config::ConfigArgs),
    Doctor(cli::doctor::DoctorArgs),
    Completions(cli::completions::CompletionsArgs),
    Man(cli::man::ManArgs),
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let args = cli::run::with_run(&args).unwrap_or(args);
    if let Some(code) = forge_api::inner_program(&args) {
        return code;
    }
    panic::set_hook(Box::new(|bug| {
        live::restore();
        terminal_output::print_stderr(&format!(
            "this is a bug of ours, not yours: {bug}\nnothing that was journaled is lost; `forge resume` goes on"
        ));
    }));
    panic::catch_unwind(|| run(&args)).unwrap_or(ExitCode::from(BUG))
}

/// Parses `args` and runs the command. Returns the exit code of the process.
fn run(args: &[OsString]) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            match cli::usage_errors::unquoted_request(&error, args, &Cli::command()) {
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
