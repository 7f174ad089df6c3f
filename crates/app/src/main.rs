//! The `forge` program: the command line and the live screen.
//!
//! Keepers and the scripted agent are dispatched before anything else is set up, so
//! that they stay small. Commands are in `cli/<command>.rs`, shared texts in `text/`, formatting in
//! `format.rs`, and the live screen in `live.rs`.
//!
//! Invariant: this crate holds no run, decides nothing, and opens no journal file.
//! Invariant: data goes to stdout, everything else to stderr.

mod character_set;
mod cli;
mod document;
mod editor;
mod format;
mod live;
mod markdown;
mod pager;
mod palette;
mod picker;
mod terminal_info;
mod terminal_output;
mod text;
mod text_width;
mod verbosity;

use std::{ffi::OsString, panic, process::ExitCode};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use cli::{
    help::{HelpLength, with_help},
    home::HomeAction,
};
use forge_core::work::WorkKind;
use terminal_info::has_colours;

/// The exit code of a bug in Forge.
const BUG: u8 = 70;

/// Turn a request into a reviewed branch whose tests pass, with AI coding agents
#[derive(Parser)]
#[command(name = "forge", version, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    global: cli::global_args::GlobalArgs,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Subcommand)]
enum CliCommand {
    Demo(cli::demo::DemoArgs),
    Init(cli::init::InitArgs),
    Run(cli::run::RunArgs),
    Resume(cli::resume::ResumeArgs),
    Attach(cli::attach::AttachArgs),
    #[command(visible_alias = "ls", aliases = ["runs", "list"])]
    Status(cli::status::StatusArgs),
    Show(cli::show::ShowArgs),
    #[command(visible_alias = "logs")]
    Log(cli::log::LogArgs),
    Watch(cli::watch::WatchArgs),
    Brief(cli::brief::BriefArgs),
    Approve(cli::decide::ApproveArgs),
    Revise(cli::decide::ReviseArgs),
    Reject(cli::decide::RejectArgs),
    Retry(cli::decide::RetryArgs),
    Override(cli::decide::OverrideArgs),
    Answer(cli::answer::AnswerArgs),
    Pause(cli::stop::PauseArgs),
    #[command(visible_alias = "cancel")]
    Stop(cli::stop::StopArgs),
    Abandon(cli::stop::AbandonArgs),
    Edit(cli::edit::EditArgs),
    Rewind(cli::rewind::RewindArgs),
    Diff(cli::diff::DiffArgs),
    Open(cli::open::OpenArgs),
    Merge(cli::merge::MergeArgs),
    Pr(cli::pull_request::PullRequestArgs),
    Undo(cli::undo::UndoArgs),
    Clean(cli::clean::CleanArgs),
    Stats(cli::stats::StatsArgs),
    /// Plan features: create, list, show and change them
    Feature(cli::record::RecordArgs),
    /// Plan sprints: create, list, show and change them
    Sprint(cli::record::BlockableArgs),
    /// Plan tasks of sprints: create, list, show and change them
    Task(cli::record::BlockableArgs),
    /// Track bugs: create, list, show and change them
    Bug(cli::record::RecordArgs),
    Work(cli::work::WorkArgs),
    Import(cli::import::ImportArgs),
    Hook(cli::hook::HookArgs),
    Verdict(cli::verdict::VerdictArgs),
    Gate(cli::gate::GateArgs),
    Flow(cli::flow::FlowArgs),
    Agents(cli::agents::AgentsArgs),
    Accounts(cli::accounts::AccountsArgs),
    Config(cli::config::ConfigArgs),
    Doctor(cli::doctor::DoctorArgs),
    Completions(cli::completions::CompletionsArgs),
    Man(cli::man::ManArgs),
    Help(cli::help::HelpArgs),
    /// Print the version
    Version,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let args = cli::run::with_run(&args).unwrap_or(args);
    if let Some(code) = forge_api::inner_program(&args) {
        return code;
    }
    panic::set_hook(Box::new(|bug| {
        // It is caught, and the job is done again.
        if std::thread::current().name() == Some(forge_api::JOB_THREAD) {
            return;
        }
        live::restore();
        terminal_output::print_stderr(&format!(
            "error: internal error: {bug}\n help: forge resume (no recorded work is lost)"
        ));
    }));
    let code = panic::catch_unwind(|| run(&args)).unwrap_or(ExitCode::from(BUG));
    forge_api::end_readers();
    code
}

/// Parses `args` and runs the command. Returns the exit code of the process.
fn run(args: &[OsString]) -> ExitCode {
    if args.get(1).is_some_and(|word| word == cli::complete::COMPLETE) {
        let words = args.iter().skip(2).map(|word| word.to_string_lossy().into_owned());
        cli::complete::print_candidates(&words.collect::<Vec<String>>(), &Cli::command());
        return ExitCode::SUCCESS;
    }
    cli::global_args::colour_choice(args).choose();
    parse_and_execute(args)
}

fn parse_and_execute(args: &[OsString]) -> ExitCode {
    let parse = |mut command: clap::Command| {
        let matches = command.try_get_matches_from_mut(args)?;
        Cli::from_arg_matches(&matches)
    };
    // Help, and what is said of mistakes, costs as much as everything else here. It is put together where it is needed.
    let cli = match parse(Cli::command()) {
        Ok(cli) => cli,
        Err(_) => match parse(with_help(Cli::command(), HelpLength::from_args(args))) {
            Ok(cli) => cli,
            Err(error) => return explain(&error, args),
        },
    };
    let done = cli.global.apply().and_then(|()| match cli.command {
        Some(command) => execute(command),
        None => go_home(),
    });
    done.unwrap_or_else(|error| {
        terminal_output::print_error(&error);
        ExitCode::from(error.kind.exit_code())
    })
}

fn execute(command: CliCommand) -> Result<ExitCode, forge_api::Error> {
    match command {
        CliCommand::Demo(command) => command.run(),
        CliCommand::Init(command) => command.run(),
        CliCommand::Show(command) => command.run(),
        CliCommand::Edit(command) => command.run(),
        CliCommand::Rewind(command) => command.run(),
        CliCommand::Run(command) => command.run(),
        CliCommand::Attach(command) => command.run(),
        CliCommand::Resume(command) => command.run(),
        CliCommand::Status(command) if command.watch => {
            cli::attach::AttachArgs::for_run(command.run).run()
        }
        CliCommand::Status(command) => command.run(),
        CliCommand::Watch(command) => command.run(),
        CliCommand::Brief(command) => command.run(),
        CliCommand::Stats(command) => command.run(),
        CliCommand::Log(command) => command.run(),
        CliCommand::Approve(command) => command.run(),
        CliCommand::Revise(command) => command.run(),
        CliCommand::Reject(command) => command.run(),
        CliCommand::Retry(command) => command.run(),
        CliCommand::Override(command) => command.run(),
        CliCommand::Answer(command) => command.run(),
        CliCommand::Pause(command) => command.run(),
        CliCommand::Stop(command) => command.run(),
        CliCommand::Abandon(command) => command.run(),
        CliCommand::Diff(command) => command.run(),
        CliCommand::Open(command) => command.run(),
        CliCommand::Merge(command) => command.run(),
        CliCommand::Pr(command) => command.run(),
        CliCommand::Undo(command) => command.run(),
        CliCommand::Clean(command) => command.run(),
        CliCommand::Feature(command) => command.run(WorkKind::Feature),
        CliCommand::Sprint(command) => command.run(WorkKind::Sprint),
        CliCommand::Task(command) => command.run(WorkKind::Task),
        CliCommand::Bug(command) => command.run(WorkKind::Bug),
        CliCommand::Work(command) => command.run(),
        CliCommand::Import(command) => command.run(),
        CliCommand::Hook(command) => command.run(),
        CliCommand::Verdict(command) => command.run(),
        CliCommand::Gate(command) => command.run(),
        CliCommand::Flow(command) => command.run(),
        CliCommand::Agents(command) => command.run(),
        CliCommand::Accounts(command) => command.run(),
        CliCommand::Config(command) => command.run(),
        CliCommand::Doctor(command) => command.run(),
        CliCommand::Completions(command) => Ok(command.run(&mut Cli::command())),
        CliCommand::Man(command) => command.run(with_help(Cli::command(), HelpLength::Full)),
        CliCommand::Help(command) => Ok(parse_and_execute(&command.command_line())),
        CliCommand::Version => {
            terminal_output::print(Cli::command().render_version().trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Shows the runs to pick one from, or lists them where there is nothing to pick.
fn go_home() -> Result<ExitCode, forge_api::Error> {
    loop {
        return match cli::home::choose() {
            HomeAction::List => cli::status::StatusArgs::all().run(),
            HomeAction::NoRepository => Err(forge_api::Error::usage(
                "this folder is not in a git repository",
                "cd to your project, or git init\n   or: forge demo",
            )),
            HomeAction::Leave => Ok(ExitCode::SUCCESS),
            HomeAction::Attach(run) => cli::attach::AttachArgs::for_run(Some(run)).run(),
            HomeAction::Show(run) => cli::show::ShowArgs::for_run(run).run(),
            HomeAction::Merge(run) => cli::merge::MergeArgs::for_run(run).run(),
            // Whoever has read it chooses again.
            HomeAction::Diff(run) => {
                cli::diff::DiffArgs::for_run(run).run()?;
                continue;
            }
        };
    }
}

/// Prints the help or the version that was asked for, or what is wrong with the command line.
fn explain(error: &clap::Error, args: &[OsString]) -> ExitCode {
    use clap::error::ErrorKind;
    let (kind, text) = (error.kind(), error.render());
    if [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&kind) {
        let is_coloured = has_colours(&std::io::stdout());
        let text = if is_coloured { text.ansi().to_string() } else { text.to_string() };
        terminal_output::print_formatted(text.trim_end());
        return ExitCode::SUCCESS;
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        terminal_output::print_stderr(text.to_string().trim_end());
        return ExitCode::from(2);
    }
    let refusal = cli::usage_errors::usage_error(error, args, &Cli::command());
    terminal_output::print_error(&refusal);
    ExitCode::from(refusal.kind.exit_code())
}
