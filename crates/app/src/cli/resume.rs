//! `forge resume`: drives a run again that was stopped, interrupted, answered or has failed.

use std::process::ExitCode;

use clap::Args;
use forge_api::{
    Error,
    change_settings::WantedSettings,
    forge::{Forge, Takeover},
    import_run::Named,
    start::Request,
};
use forge_core::{
    Run,
    event::Record,
    view::{QuestionView, RunRow, Standing},
};

use super::{
    choose_run::{RunAction, choose_run},
    common::{open_forge, parse_budget},
    drive_mode::{DriveArgs, DriveMode, OutputFormat, report_outcome, start_and_drive},
};
use crate::{format, terminal_output, text::answer_text::OpenQuestions};

/// Continue a run after a stop, a crash, an answer or a failure
#[derive(Args)]
pub(crate) struct ResumeArgs {
    /// Name the run, or a folder of an older system; the open run by default
    run: Option<String>,
    /// Set the size for such a folder: S, M or L
    #[arg(long, value_name = "SIZE")]
    effort: Option<String>,
    /// Set a new cap in dollars for the whole run
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    budget: Option<String>,
    /// Use another model for all roles from here on
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Use another agent for all roles from here on
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Change a setting from here on
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Continue it as another process leaves it: what waits for a limit waits on
    #[arg(long, hide = true, conflicts_with = "budget")]
    as_it_is: bool,
    #[command(flatten)]
    drive_args: DriveArgs,
}

impl ResumeArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        if self.drive_args.own_session {
            // Fails for a process-group leader, which needs no other session.
            let _leads_already = rustix::process::setsid();
        }
        let forge = open_forge()?;
        let budget = match &self.budget {
            Some(text) => Some(parse_budget(text)?),
            None => None,
        };
        let run = match self.run.as_deref().map(|named| forge.named(named, self.effort.as_deref()))
        {
            None => choose_run(&forge, None, RunAction::Resume)?,
            Some(named) => match named? {
                Named::Run { run, note } => {
                    if let Some(note) = note {
                        terminal_output::print_note(&note);
                    }
                    run
                }
                Named::Older { request, notes } => {
                    let request = Request { budget, ..*request };
                    return start_and_drive(&forge, &request, &notes, &self.drive_args);
                }
            },
        };
        if let Some(effort) = &self.effort {
            let what = format!(
                "--effort {effort} is only for a folder with a state.json; a run keeps its size"
            );
            return Err(Error::usage(what, format!("forge resume {}", format::short_id(&run))));
        }
        let wanted = self.wanted_settings()?;
        forge.refuse_agents()?;
        let row = forge.row(&run)?;
        refuse_abandoned(&forge, &row)?;
        if row.standing == Standing::Done && !self.as_it_is && !forge.is_driven(&run) {
            let id = format::short_id(&run);
            terminal_output::print_note(&format!("{id} is done, so there is nothing to resume"));
            // A driver that died at the very end may have left something to save.
            let form = self.drive_args.output_format();
            let mut tell = |run: &Run, record: &Record| form.print_record(run, record);
            let outcome = forge.resume(&run, Takeover::AsItIs, &mut tell)?;
            return report_outcome(&forge, outcome, form);
        }
        if !wanted.is_empty() {
            forge.change_settings(&run, &wanted)?;
            let (id, asked) = (format::short_id(&run), forge.view(&run)?.asked);
            let open = OpenQuestions::new(&asked);
            for QuestionView { question, options, .. } in &asked {
                if options.iter().any(|option| option.answer == "retry") {
                    terminal_output::print_note(&format!(
                        "{question} is still open; to try again with what you changed: forge retry {id}{}",
                        open.flag(question)
                    ));
                }
            }
        }
        let takeover = if self.as_it_is { Takeover::AsItIs } else { Takeover::Resume { budget } };
        let is_changed = budget.is_some() || !wanted.is_empty();
        // A process in the background has nobody to tell; the card in its log says what is asked.
        let is_told = !self.drive_args.own_session;
        let asks = row.standing == Standing::Waiting && !is_changed;
        if is_told && asks && takeover != Takeover::AsItIs {
            return self.resume_asking(&forge, &run, takeover);
        }
        if let DriveMode::Here(form) = self.drive_args.mode() {
            form.print_started(&run);
        }
        self.drive_args.resume(&forge, &run, takeover)
    }

    /// Resumes a run that needs an answer. Fails if it was not given meanwhile, and cannot be given here.
    fn resume_asking(
        &self,
        forge: &Forge,
        run: &str,
        takeover: Takeover,
    ) -> Result<ExitCode, Error> {
        let form = match self.drive_args.mode() {
            DriveMode::Here(form @ OutputFormat::Sentences) => form,
            DriveMode::Here(OutputFormat::Json) | DriveMode::Screen | DriveMode::Detached => {
                return self.drive_args.resume(forge, run, takeover);
            }
        };
        let mut is_unchanged = true;
        let mut tell = |run: &Run, record: &Record| {
            is_unchanged = false;
            form.print_record(run, record);
        };
        let outcome = forge.resume(run, takeover, &mut tell)?;
        if is_unchanged {
            let id = format::short_id(run);
            let what = format!("{id} needs an answer first");
            return Err(Error::person(what, format!("forge attach {id}")));
        }
        report_outcome(forge, outcome, form)
    }

    fn wanted_settings(&self) -> Result<WantedSettings, Error> {
        let pair = |said: &String| match said.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
            None => Err(Error::usage(
                format!("`--set {said}` has no value"),
                "forge resume RUN --set limits.silence_minutes=30",
            )),
        };
        let set = self.set.iter().map(pair).collect::<Result<_, _>>()?;
        Ok(WantedSettings { agent: self.agent.clone(), model: self.model.clone(), set })
    }
}

/// Fails for a run that was abandoned. Calls that were left behind by a driver that died are stopped first, so a run with
/// them is taken over.
fn refuse_abandoned(forge: &Forge, row: &RunRow) -> Result<(), Error> {
    if row.standing != Standing::Abandoned || row.working > 0 {
        return Ok(());
    }
    let id = format::short_id(&row.run);
    let next = match forge.view(&row.run)?.units.iter().find(|unit| unit.attempt > 0) {
        Some(unit) => format!("forge rewind {id} {}", unit.unit),
        None => format!("forge show {id}"),
    };
    Err(Error::usage(format!("{id} was abandoned, so it cannot be resumed"), next))
}
