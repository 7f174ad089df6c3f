//! Who drives a run and how it is shown meanwhile: on a live screen, as one line for each fact, or by a process of its
//! own; how it was left, and what to do next. Also `forge resume`.

use std::{
    env,
    fs::OpenOptions,
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use forge_core::{
    event::{Event, Hold, Record},
    money::Money,
    view::{RunLine, RunView, Standing, sentence},
};
use forge_runtime::{
    Trouble,
    doors::{Doors, Left},
    drive::LetGo,
    older::Named,
    settings::Switch,
    start::{Begun, Request},
};

use super::{
    choose_run::{self, Wanted},
    doors,
    run::{amount, drive},
    show,
    start_prompts::offer,
    status,
};
use crate::{
    format,
    live::{self, Ended, Task},
};

/// What a driver without a terminal says goes into this file, in the folder of its run.
const DRIVER_LOG: &str = "driver.log";
/// How long a driver of its own may take until it has the run.
const DRIVER_WAIT: Duration = Duration::from_secs(15);
/// How often it is looked at meanwhile.
const DRIVER_LOOK: Duration = Duration::from_millis(20);

/// Who drives, and how it is shown.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Manner {
    /// Print each record and the end as a JSON object
    #[arg(long)]
    json: bool,
    /// Print one line for each fact, also on a terminal
    #[arg(long, conflicts_with = "json")]
    plain: bool,
    /// Let it go on by itself; see `forge attach`
    #[arg(long, conflicts_with_all = ["json", "plain"])]
    detach: bool,
    /// Leave the terminal for good: for a driver that has none
    #[arg(long, hide = true)]
    own_session: bool,
}

/// Take a run up again after a stop, a crash, an answer or a failure
#[derive(Args)]
pub(crate) struct Resume {
    /// The run, or a folder with a state.json; else the open one
    run: Option<String>,
    /// The effort, where such a folder says none
    #[arg(long, value_name = "SIZE")]
    effort: Option<String>,
    /// A new cap in dollars for the whole run
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    budget: Option<String>,
    #[command(flatten)]
    manner: Manner,
}

/// Where a run is driven.
#[derive(Clone, Copy)]
enum Place {
    /// Here, and a screen shows it.
    Screen,
    /// Here, and its facts are told.
    Here(Form),
    /// By a process of its own.
    Elsewhere,
}

/// How facts are told.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Sentences,
    Json,
}

impl Form {
    pub(crate) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Sentences }
    }

    pub(crate) fn began(self, run: &str) {
        match self {
            Self::Sentences => format::warn(&format!("run {run}")),
            Self::Json => {}
        }
    }

    pub(crate) fn tell(self, run: &str, record: &Record) {
        match self {
            Self::Sentences => {
                for fact in &record.facts {
                    let beginning = format!("{}  ", format::clock(record.at));
                    format::tell(&format::fact(&beginning, &sentence(fact)));
                    if let Some(hint) = hint(run, fact) {
                        format::warn(&hint);
                    }
                }
            }
            Self::Json => {
                let line = serde_json::to_string(record).expect("a record can be written");
                format::tell_as_it_is(&line);
            }
        }
    }
}

/// What a person at the terminal can do about a fact.
fn hint(run: &str, fact: &Event) -> Option<String> {
    if let Event::QuestionAsked(_) = fact {
        return Some(format!("          how to answer: forge status {run}"));
    }
    if let Event::RunHeld { hold: Hold::Interrupted { .. } } = fact {
        return Some("          agents have 10 s to end; Ctrl-C again kills them".to_owned());
    }
    None
}

impl Manner {
    /// How things are told where there is no screen.
    pub(crate) fn form(&self) -> Form {
        Form::of(self.json)
    }

    fn place(&self) -> Place {
        if self.detach {
            Place::Elsewhere
        } else if self.json || self.plain || !live::is_possible() {
            Place::Here(self.form())
        } else {
            Place::Screen
        }
    }

    /// Drives a run that has begun, or lets somebody else do it.
    pub(crate) fn drive(
        &self,
        doors: &Doors,
        begun: Begun,
        notes: &[String],
    ) -> Result<ExitCode, Trouble> {
        let (place, run) = (self.place(), begun.run.clone());
        if let Place::Here(form) = place {
            form.began(&run);
        }
        for note in notes.iter().chain(&begun.notes) {
            format::note(note);
        }
        match place {
            Place::Here(form) => {
                let left = begun.drive(&mut |record: &Record| form.tell(&run, record))?;
                leave(doors, left, form)
            }
            Place::Screen => drive_on_screen(doors, &begun.let_go()?, None),
            Place::Elsewhere => detach(doors, &begun.let_go()?, None),
        }
    }
}

impl Resume {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        if self.manner.own_session {
            // Who leads a group already has a session of its own as far as we need one.
            let _leads_already = rustix::process::setsid();
        }
        let doors = doors()?;
        let budget = match &self.budget {
            Some(text) => Some(amount(text, "forge resume RUN --budget AMOUNT")?),
            None => None,
        };
        let run = match self.run.as_deref().map(|named| doors.named(named, self.effort.as_deref()))
        {
            None => choose_run::run(&doors, None, Wanted::Resume)?,
            Some(named) => match named? {
                Named::Run(run) => run,
                Named::CameOf { run, note } => {
                    format::note(&note);
                    run
                }
                Named::Older(older) => {
                    let request = Request { budget, ..older.request };
                    return drive(&doors, &request, &older.notes, &self.manner);
                }
            },
        };
        match self.manner.place() {
            Place::Here(form) => {
                let mut tell = |record: &Record| form.tell(&run, record);
                let left = doors.resume(&run, budget, &mut |run| form.began(run), &mut tell)?;
                leave(&doors, left, form)
            }
            Place::Screen => drive_on_screen(&doors, &run, budget),
            Place::Elsewhere => detach(&doors, &run, budget),
        }
    }
}

pub(crate) fn drive_on_screen(
    doors: &Doors,
    run: &str,
    budget: Option<Money>,
) -> Result<ExitCode, Trouble> {
    let ended = live::show(doors, run, Task::Drive { budget })?;
    leave_screen(doors, run, ended)
}

/// Says how a screen was left, and what to do next.
pub(crate) fn leave_screen(doors: &Doors, run: &str, ended: Ended) -> Result<ExitCode, Trouble> {
    match ended {
        Ended::Left(left) => leave(doors, *left, Form::Sentences),
        Ended::Detached => detach(doors, run, None),
        Ended::LookedAway(standing) => {
            let text = match standing {
                Standing::Paused => format!("{run} stays paused\nnext: forge resume {run}"),
                Standing::Going
                | Standing::Limited
                | Standing::Waiting
                | Standing::Interrupted
                | Standing::Stopped
                | Standing::Parked
                | Standing::Escalated
                | Standing::Done
                | Standing::Failed
                | Standing::Blocked
                | Standing::Abandoned => {
                    format!("{run} goes on; look again with: forge attach {run}")
                }
            };
            format::tell(&format!("\n{text}"));
            Ok(ExitCode::SUCCESS)
        }
        Ended::Alone => {
            format::tell(&format!("\nnobody drives {run}\nnext: forge resume {run}"));
            Ok(ExitCode::from(Standing::Going.exit_code()))
        }
    }
}

/// Lets a process of its own drive a run: with its own session, without a terminal.
fn detach(doors: &Doors, run: &str, budget: Option<Money>) -> Result<ExitCode, Trouble> {
    let folder = doors.home.run(run);
    let log = folder.join(DRIVER_LOG);
    let file = |error| Trouble::file(&log, &error);
    let out = OpenOptions::new().create(true).append(true).open(&log).map_err(file)?;
    let err = out.try_clone().map_err(file)?;
    let cannot = |error| {
        let what = format!("a driver cannot be started: {error}");
        Trouble::surroundings(what, format!("forge resume {run}"))
    };
    let program = env::current_exe().map_err(cannot)?;
    let mut command = Command::new(program);
    command.args(["resume", run, "--plain", "--own-session"]);
    if let Some(budget) = budget {
        command.args(["--budget", &budget.to_string()]);
    }
    let spawned = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
    let mut child = spawned.map_err(cannot)?;
    let began = Instant::now();
    while began.elapsed() < DRIVER_WAIT {
        if doors.is_driven(run) {
            break;
        }
        // It may have come to its end already.
        if let Some(status) = child.try_wait().map_err(cannot)? {
            if status.code() == Some(2) {
                let what = format!("the driver could not go on; why: {}", log.display());
                return Err(Trouble::surroundings(what, format!("forge resume {run} --plain")));
            }
            break;
        }
        thread::sleep(DRIVER_LOOK);
    }
    format::say(&format!("run {run}"));
    format::say(&format!("it goes on without this terminal; look at it with: forge attach {run}"));
    Ok(ExitCode::SUCCESS)
}

/// Says how the run was left, and what to do next.
pub(crate) fn leave(doors: &Doors, left: Left, form: Form) -> Result<ExitCode, Trouble> {
    if let Some(behind) = &left.behind {
        format::note(&format!("the files that show the run are behind: {behind}"));
    }
    let standing = match left.how {
        LetGo::Stopped(standing) => standing,
        LetGo::TerminalGone => return Ok(ExitCode::from(Standing::Interrupted.exit_code())),
        LetGo::DrivenElsewhere => {
            let run = &left.run;
            format::tell(&format!("{run} goes on where it is driven: forge attach {run}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let view = match left.view {
        Some(mut view) => {
            doors.say_where(&mut view);
            doors.say_differences(&mut view);
            view
        }
        None => doors.view(&left.run)?,
    };
    match doors.bell() {
        Switch::On => format::ring(),
        Switch::Off => {}
    }
    match form {
        Form::Json => {
            let (run, asked) = (left.run.clone(), view.asked);
            let line = RunLine::Left { run, standing, asked };
            format::tell_as_it_is(&serde_json::to_string(&line).expect("a view can be written"));
        }
        Form::Sentences => {
            format::tell("");
            if let Some(summary) = doors.last_words(&left.run)? {
                format::tell_markdown(&summary);
            }
            format::tell(&status::end(&view, &doors.home.run(&left.run), format::width()));
            if let (Standing::Done, Some(_)) = (standing, &view.head) {
                tell_result(doors, &left.run)?;
                offer(doors, &left.run)?;
            }
        }
    }
    Ok(ExitCode::from(standing.exit_code()))
}

/// What a person who was away wants to know first: whether it is proved, and how to get it.
fn tell_result(doors: &Doors, run: &str) -> Result<(), Trouble> {
    let result = doors.result(run)?;
    format::tell(&format!("proof  {}; forge show {run}", show::proof(result.proof)));
    if let Some(branch) = &result.branch {
        format::tell(&format!("take it over: git merge {branch}"));
    }
    Ok(())
}

/// The next command for a run that was left like this.
pub(crate) fn next_step(view: &RunView) -> Option<String> {
    let run = &view.row.run;
    match view.row.standing {
        Standing::Parked if view.budget.is_some() => {
            Some(format!("forge resume {run} --budget AMOUNT"))
        }
        Standing::Going
        | Standing::Limited
        | Standing::Paused
        | Standing::Interrupted
        | Standing::Stopped
        | Standing::Parked => Some(format!("forge resume {run}")),
        Standing::Escalated => {
            Some(format!("forge log {run} (what failed), mend the cause, then forge resume {run}"))
        }
        Standing::Failed | Standing::Blocked => {
            Some(format!("forge log {run}; then, if it can be mended, forge resume {run}"))
        }
        // What a run waits for is said by its questions.
        Standing::Waiting | Standing::Done | Standing::Abandoned => None,
    }
}
