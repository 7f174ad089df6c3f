//! How a run is executed and shown: on the live screen, as one line per fact, or by a detached process; then the
//! report at the end.

use std::{
    env,
    fs::OpenOptions,
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use forge_api::{
    Error,
    forge::{Forge, LeftRun, RunOutcome, Takeover},
    run_loop::DriveEnd,
    settings::Switch,
    start::{Request, StartedRun},
};
use forge_core::{
    Run,
    event::{Event, Hold, Record},
    money::Money,
    view::{Course, RunLine, Standing, sanitize},
};

use super::{
    common::json_line,
    start_prompts::{TerminalPrompts, offer_fast_forward},
};
use crate::{
    format,
    live::{self, ScreenExit, ScreenTask},
    terminal_info, terminal_output,
    text::{
        end_card::{CardEnd, end_card, with_colour},
        fact_line::{fact_line, shown_facts},
        plan_text::plan_text,
        state_words::MergeState,
        status_text::next_command,
    },
    verbosity::Verbosity,
};

/// The file in the run's directory that takes the output of a detached driver.
const DRIVER_LOG: &str = "driver.log";

/// How long a detached driver may take to lock the run.
const DRIVER_WAIT: Duration = Duration::from_secs(15);

/// How often that lock is checked meanwhile.
const DRIVER_POLL: Duration = Duration::from_millis(20);

/// Flags that say how a run is driven and shown.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct DriveArgs {
    /// Print each entry and the end as a JSON object
    #[arg(long)]
    json: bool,
    /// Print log lines instead of the live screen
    #[arg(long, conflicts_with = "json")]
    plain: bool,
    /// Run in the background; `forge attach` shows it
    #[arg(long, conflicts_with_all = ["json", "plain"])]
    detach: bool,
    /// Leave the terminal for good: for a driver that has none
    #[arg(long, hide = true)]
    pub(crate) own_session: bool,
}

/// Where a run is driven and shown.
#[derive(Clone, Copy)]
pub(crate) enum DriveMode {
    /// In this process, on the live screen.
    Screen,
    /// In this process, with its facts printed.
    Here(OutputFormat),
    /// In a detached process.
    Detached,
}

/// How facts are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Sentences,
    Json,
}

impl OutputFormat {
    pub(crate) fn from_json_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::Sentences }
    }

    pub(crate) fn print_started(self, run: &str) {
        match self {
            Self::Sentences => {
                terminal_output::print_stderr(&format!("run {}", format::short_id(run)));
            }
            Self::Json => {}
        }
    }

    pub(crate) fn print_record(self, run: &Run, record: &Record) {
        match self {
            Self::Sentences => {
                let level = Verbosity::chosen().log_level();
                let prefix = format!("{}  ", format::clock_time(record.at));
                for fact in shown_facts(record, level) {
                    terminal_output::print_fact(&fact_line(&prefix, run, fact, level));
                    if let Event::RunHeld { hold: Hold::Interrupted { .. } } = fact {
                        let hint = "          agents have 10s to finish; Ctrl-C again kills them";
                        terminal_output::print_hint(hint);
                    }
                }
            }
            Self::Json => {
                terminal_output::print_progress_raw(&json_line(record));
            }
        }
    }
}

impl DriveArgs {
    /// Returns the output format where there is no live screen.
    pub(crate) fn output_format(&self) -> OutputFormat {
        OutputFormat::from_json_flag(self.json)
    }

    pub(crate) fn mode(&self) -> DriveMode {
        if self.detach {
            DriveMode::Detached
        } else if self.json || self.plain || !live::is_supported() {
            DriveMode::Here(self.output_format())
        } else {
            DriveMode::Screen
        }
    }

    /// Drives a run again, or detaches it.
    pub(crate) fn resume(
        &self,
        forge: &Forge,
        run: &str,
        takeover: Takeover,
    ) -> Result<ExitCode, Error> {
        match (self.mode(), takeover) {
            (DriveMode::Here(form), _) => {
                let mut tell = |run: &Run, record: &Record| form.print_record(run, record);
                let outcome = forge.resume(run, takeover, &mut tell)?;
                report_outcome(forge, outcome, form)
            }
            (DriveMode::Screen, Takeover::Resume { budget }) => drive_on_screen(forge, run, budget),
            (DriveMode::Screen, Takeover::AsItIs) => drive_on_screen(forge, run, None),
            (DriveMode::Detached, _) => detach(forge, run, takeover),
        }
    }

    /// Drives a run that was just started, or detaches it.
    pub(crate) fn drive(
        &self,
        forge: &Forge,
        begun: StartedRun,
        notes: &[String],
    ) -> Result<ExitCode, Error> {
        let (mode, run) = (self.mode(), begun.run.clone());
        let plan = plan_text(&begun.plan, terminal_info::terminal_width());
        if let DriveMode::Here(form) = mode {
            form.print_started(&run);
        }
        if let DriveMode::Screen | DriveMode::Detached | DriveMode::Here(OutputFormat::Sentences) =
            mode
        {
            terminal_output::print_hint(&plan);
        }
        for note in notes.iter().chain(&begun.notes) {
            terminal_output::print_note(note);
        }
        match mode {
            DriveMode::Here(form) => {
                let outcome = begun
                    .drive(&mut |run: &Run, record: &Record| form.print_record(run, record))?;
                report_outcome(forge, outcome, form)
            }
            DriveMode::Screen => {
                let run = begun.let_go()?;
                let exit = live::show_begun(forge, &run, &plan)?;
                report_screen_exit(forge, &run, exit)
            }
            DriveMode::Detached => detach(forge, &begun.let_go()?, Takeover::AsItIs),
        }
    }
}

/// Starts a run and drives it until it stops.
pub(crate) fn start_and_drive(
    forge: &Forge,
    request: &Request,
    notes: &[String],
    drive_args: &DriveArgs,
) -> Result<ExitCode, Error> {
    let begun = forge.begin(request, &mut TerminalPrompts)?;
    drive_args.drive(forge, begun, notes)
}

pub(crate) fn drive_on_screen(
    forge: &Forge,
    run: &str,
    budget: Option<Money>,
) -> Result<ExitCode, Error> {
    let exit = live::show(forge, run, ScreenTask::Drive { budget })?;
    report_screen_exit(forge, run, exit)
}

/// Reports why the live screen was closed and what to do next.
pub(crate) fn report_screen_exit(
    forge: &Forge,
    run: &str,
    exit: ScreenExit,
) -> Result<ExitCode, Error> {
    let id = format::short_id(run);
    match exit {
        ScreenExit::Finished(outcome) => report_outcome(forge, *outcome, OutputFormat::Sentences),
        ScreenExit::Detached => detach(forge, run, Takeover::AsItIs),
        ScreenExit::Closed(standing) => {
            let (text, code) = match standing.course() {
                Course::Driven | Course::Asking => {
                    (format!("Still running. Next: forge attach {id}"), ExitCode::SUCCESS)
                }
                Course::Held | Course::Failed | Course::Over => {
                    let next = next_command(&forge.view(run)?);
                    let next = next.map(|next| format!(" Next: {next}")).unwrap_or_default();
                    let text = format!("Not running ({}).{next}", standing.label());
                    (text, ExitCode::from(standing.exit_code()))
                }
            };
            terminal_output::print_progress(&format!("\n{text}"));
            Ok(code)
        }
        ScreenExit::NotDriven => {
            terminal_output::print_progress(&format!("\nNot running. Next: forge resume {id}"));
            Ok(ExitCode::from(Standing::Going.exit_code()))
        }
    }
}

/// Reports how the run ended or stopped and what to do next. Returns the exit code.
pub(crate) fn report_outcome(
    forge: &Forge,
    outcome: RunOutcome,
    form: OutputFormat,
) -> Result<ExitCode, Error> {
    report_outcome_with(forge, outcome, form, Project::Kept)
}

/// What becomes of the project of a run after the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Project {
    Kept,
    /// It is removed, so no command would work; for the demo.
    Removed,
}

/// Does the same, and names the next commands only if they will work.
pub(crate) fn report_outcome_with(
    forge: &Forge,
    outcome: RunOutcome,
    form: OutputFormat,
    project: Project,
) -> Result<ExitCode, Error> {
    if let Some(behind) = &outcome.behind {
        terminal_output::print_note(&format!("the files of the run are not up to date: {behind}"));
    }
    let standing = match outcome.how {
        DriveEnd::Stopped(standing) => standing,
        DriveEnd::TerminalGone => return Ok(ExitCode::from(Standing::Interrupted.exit_code())),
        DriveEnd::DrivenElsewhere => {
            let id = format::short_id(&outcome.run);
            terminal_output::print_progress(&format!(
                "{id} is running in another process. Next: forge attach {id}"
            ));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let LeftRun { view, result } = forge.complete(&outcome.run, outcome.left)?;
    match forge.bell() {
        Switch::On => terminal_output::ring_bell(),
        Switch::Off => {}
    }
    match form {
        OutputFormat::Json => {
            let (run, asked) = (outcome.run.clone(), view.asked);
            let line = RunLine::Left { run, standing, asked };
            terminal_output::print_progress_raw(&json_line(&line));
        }
        OutputFormat::Sentences => {
            let files = match view.head {
                Some(_) => forge.changed_files(&outcome.run)?,
                None => Vec::new(),
            };
            let width = terminal_info::terminal_width();
            let end = match project {
                Project::Kept => {
                    let head = view.head.as_deref();
                    CardEnd::NextCommands(MergeState::new(forge, &view.row, head))
                }
                Project::Removed => CardEnd::Nothing,
            };
            let card = end_card(&view, &result, &files, end, width);
            let card = with_colour(&sanitize(&card), standing, terminal_info::stdout_colours());
            terminal_output::print_progress_raw(&format!("\n{card}"));
            if let (Standing::Done, Some(_)) = (standing, &view.head) {
                offer_fast_forward(forge, &outcome.run)?;
            }
        }
    }
    Ok(ExitCode::from(standing.exit_code()))
}

/// Starts a driver process with a session of its own and without a terminal.
fn detach(forge: &Forge, run: &str, takeover: Takeover) -> Result<ExitCode, Error> {
    let folder = forge.home.run(run);
    let log = folder.join(DRIVER_LOG);
    let file = |error| Error::file(&log, &error);
    let out = OpenOptions::new().create(true).append(true).open(&log).map_err(file)?;
    let err = out.try_clone().map_err(file)?;
    let cannot = |error| {
        let what = format!("the background process cannot be started: {error}");
        Error::surroundings(what, format!("forge resume {}", format::short_id(run)))
    };
    let program = env::current_exe().map_err(cannot)?;
    let mut command = Command::new(program);
    command.args(["resume", run, "--plain", "--own-session"]);
    match takeover {
        Takeover::Resume { budget: None } => {}
        Takeover::Resume { budget: Some(budget) } => {
            command.args(["--budget", &budget.to_decimal()]);
        }
        Takeover::AsItIs => {
            command.arg("--as-it-is");
        }
    }
    let spawned = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
    let mut child = spawned.map_err(cannot)?;
    let began = Instant::now();
    while began.elapsed() < DRIVER_WAIT {
        if forge.is_driven(run) {
            break;
        }
        // It may have finished already.
        if let Some(status) = child.try_wait().map_err(cannot)? {
            if status.code() == Some(2) {
                let what = format!("the background process failed: {}", log.display());
                return Err(Error::surroundings(
                    what,
                    format!("forge resume {} --plain", format::short_id(run)),
                ));
            }
            break;
        }
        thread::sleep(DRIVER_POLL);
    }
    let id = format::short_id(run);
    terminal_output::print(&format!("{id} is running in the background. Next: forge attach {id}"));
    Ok(ExitCode::SUCCESS)
}
