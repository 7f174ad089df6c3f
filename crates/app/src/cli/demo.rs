//! `forge demo`: creates a small project and lets scripted agents build a feature on it.
//!
//! At a terminal it is the live screen, at a pace that one can watch, with one question. With `--fast`, and where there
//! is no terminal, it is one line for each fact. What is shown of the run comes from the journal, as everywhere.
//!
//! Invariant: nothing that the person has set is used: agents, notifiers, limits, budgets, `FORGE_` variables.

use std::{
    env, fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command as Program, ExitCode},
    time::Duration,
};

use clap::Args;
use forge_api::{
    Error,
    demo::{self, Pace},
    forge::Forge,
    person::person,
    refuse_agents,
    run_id::new_run_id,
    start::{Allowed, Asks, PullRequest, Request, StartedRun, quoted},
};
use forge_core::{
    Command, Run,
    event::{Approvals, Record},
    view::{Course, Standing},
};

use super::drive_mode::{OutputFormat, Project, report_outcome_with};
use crate::{
    live::{self, OnSilence, ScreenExit, ScreenTask},
    terminal_output,
};

/// How long the question waits before it is approved by itself.
const APPROVED_AFTER: Duration = Duration::from_secs(10);
/// Variables with the prefix of the settings that set nothing in a run.
const KEPT_VARIABLES: [&str; 2] = ["FORGE_PAGER", "FORGE_MOTION"];

/// Watch Forge build a small feature with scripted agents
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Keep the project in this folder, which must be empty or new
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Print log lines, as fast as possible
    #[arg(long)]
    fast: bool,
    /// Set in the process that has no settings of the person
    #[arg(long, hide = true)]
    isolated: bool,
}

impl DemoArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        refuse_agents()?;
        if !self.isolated {
            return Err(self.isolate());
        }
        let temporary = env::temp_dir().join(format!("forge-demo-{}", new_run_id("")));
        let dir = self.dir.clone().unwrap_or(temporary);
        let is_on_screen = !self.fast && live::is_supported();
        demo::make(&dir, if is_on_screen { Pace::Watchable } else { Pace::Fast })?;
        terminal_output::print(&format!(
            "Demo agents are scripted. No model is called, nothing is charged.\n\
             Everything else is real: git, the project's tests, the reviews, the journal.\n\
             Project: {}\n\n$ forge \"{}\"",
            dir.display(),
            demo::REQUEST
        ));
        let forge = Forge::open(&dir)?;
        let request = Request {
            flow: Some(demo::FLOW.to_owned()),
            effort: Some(demo::EFFORT.to_owned()),
            approvals: if is_on_screen { Approvals::ByPeople } else { Approvals::Automatic },
            pull_request: PullRequest::Never,
            ..Request::new(demo::REQUEST)
        };
        let begun = forge.begin(&request, &mut DemoPrompts)?;
        let run = begun.run.clone();
        let code = if is_on_screen {
            watch(&forge, begun, self.project())?
        } else {
            print_facts(&forge, begun, self.project())?
        };
        self.print_farewell(&dir, forge.view(&run)?.row.standing);
        Ok(code)
    }

    /// Starts this program again without anything that the person has set. Returns only if that fails.
    fn isolate(&self) -> Error {
        let failed = |error: std::io::Error| {
            let what = format!("the demo cannot be started: {error}");
            Error::surroundings(what, "forge doctor")
        };
        let program = match env::current_exe() {
            Ok(program) => program,
            Err(error) => return failed(error),
        };
        let mut command = Program::new(program);
        command.args(["demo", "--isolated"]);
        if let Some(dir) = &self.dir {
            command.arg("--dir").arg(dir);
        }
        if self.fast {
            command.arg("--fast");
        }
        let is_setting = |name: &str| name.starts_with("FORGE_") && !KEPT_VARIABLES.contains(&name);
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_setting)) {
            command.env_remove(name);
        }
        // A folder that does not exist has no settings of the person.
        command.env("XDG_CONFIG_HOME", env::temp_dir().join(new_run_id("no-settings")));
        failed(command.exec())
    }

    const fn project(&self) -> Project {
        match self.dir {
            Some(_) => Project::Kept,
            None => Project::Removed,
        }
    }

    fn print_farewell(&self, dir: &Path, standing: Standing) {
        let folder = dir.display();
        if self.dir.is_some() {
            let next = match standing.course() {
                Course::Over => "diff",
                Course::Asking => "attach",
                Course::Driven | Course::Held | Course::Failed => "resume",
            };
            let folder = quoted(&folder.to_string());
            terminal_output::print(&format!("\nNext: cd {folder} && forge {next}"));
        } else {
            let keep = "its project is removed. Keep it with: forge demo --dir DIR";
            terminal_output::print(&match (fs::remove_dir_all(dir), standing) {
                (Ok(()), Standing::Done) => format!("\nThat was the demo; {keep}"),
                (Ok(()), _) => format!("\n■ The demo was ended; {keep}"),
                (Err(_), _) => "\nThe project could not be removed.".to_owned(),
            });
        }
        if standing == Standing::Done {
            terminal_output::print("Now your own project: cd there, then forge \"what you want\"");
        }
    }
}

/// Prints one line for each fact.
fn print_facts(forge: &Forge, begun: StartedRun, project: Project) -> Result<ExitCode, Error> {
    let run = begun.run.clone();
    let format = OutputFormat::Sentences;
    format.print_started(&run);
    let outcome =
        begun.drive(&mut |run: &Run, record: &Record| format.print_record(run, record))?;
    report_outcome_with(forge, outcome, format, project)
}

/// Shows the live screen. A run that the person leaves is stopped: its project may be removed.
fn watch(forge: &Forge, begun: StartedRun, project: Project) -> Result<ExitCode, Error> {
    let run = begun.let_go()?;
    let on_silence = OnSilence::Approve { after: APPROVED_AFTER };
    let exit = live::show_with(forge, &run, ScreenTask::Drive { budget: None }, on_silence)?;
    match exit {
        ScreenExit::Finished(outcome) => {
            report_outcome_with(forge, *outcome, OutputFormat::Sentences, project)
        }
        ScreenExit::Detached | ScreenExit::Closed(_) | ScreenExit::NotDriven => {
            forge.send(&run, &Command::Stop { by: person() })?;
            forge.wait_for_calls(&run)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Answers for the demo: it approves the commands, which come from the project just created.
struct DemoPrompts;

impl Asks for DemoPrompts {
    fn commands(&mut self, _commands: &[String]) -> Allowed {
        Allowed::Once
    }
}
