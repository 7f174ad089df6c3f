//! While a run is driven in the foreground: one line for each fact, how it was left, and what to do
//! next. Also `forge resume`.

use std::process::ExitCode;

use clap::Args;
use forge_core::{
    event::{Event, Hold, Record},
    view::{RunLine, RunView, Standing, sentence},
};
use forge_runtime::{
    Trouble,
    doors::{Doors, Left},
    drive::LetGo,
    older::Named,
    settings::Switch,
    start::Request,
};

use super::{
    asks::offer,
    doors,
    run::{amount, drive},
    show, status,
};
use crate::screen;

/// Take a run up again after a stop, a crash, an answer or a failure
#[derive(Args)]
pub(crate) struct Resume {
    /// The run, or a folder with a state.json; the latest if none is named
    run: Option<String>,
    /// The effort, where such a folder says none
    #[arg(long, value_name = "SIZE")]
    effort: Option<String>,
    /// A new cap in dollars for the whole run
    #[arg(long, value_name = "AMOUNT")]
    budget: Option<String>,
    /// Print a JSON object for each record and for the end
    #[arg(long)]
    json: bool,
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
            Self::Sentences => screen::warn(&format!("run {run}")),
            Self::Json => {}
        }
    }

    pub(crate) fn tell(self, run: &str, record: &Record) {
        match self {
            Self::Sentences => {
                for fact in &record.facts {
                    let beginning = format!("{}  ", screen::clock(record.at));
                    screen::tell(&screen::fact(&beginning, &sentence(fact)));
                    if let Some(hint) = hint(run, fact) {
                        screen::warn(&hint);
                    }
                }
            }
            Self::Json => {
                let line = serde_json::to_string(record).expect("a record can be written");
                screen::tell_as_it_is(&line);
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

impl Resume {
    pub(crate) fn main(self) -> Result<ExitCode, Trouble> {
        let form = Form::of(self.json);
        let doors = doors()?;
        let budget = self.budget.as_deref().map(amount).transpose()?;
        let run = match self.run.as_deref().map(|named| doors.named(named, self.effort.as_deref()))
        {
            None => doors.latest()?,
            Some(named) => match named? {
                Named::Run(run) => run,
                Named::Older(older) => {
                    let request = Request { budget, ..older.request };
                    return drive(&doors, &request, &older.notes, form);
                }
            },
        };
        let mut tell = |record: &Record| form.tell(&run, record);
        let left = doors.resume(&run, budget, &mut |run| form.began(run), &mut tell)?;
        leave(&doors, left, form)
    }
}

/// Says how the run was left, and what to do next.
pub(crate) fn leave(doors: &Doors, left: Left, form: Form) -> Result<ExitCode, Trouble> {
    if let Some(behind) = &left.behind {
        screen::warn(&format!("note: the files that show the run are behind: {behind}"));
    }
    let standing = match left.how {
        LetGo::Stopped(standing) => standing,
        LetGo::TerminalGone => return Ok(ExitCode::from(Standing::Interrupted.exit_code())),
        LetGo::DrivenElsewhere => {
            let run = &left.run;
            screen::tell(&format!("{run} goes on where it is driven: forge log {run} --follow"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let view = match left.view {
        Some(mut view) => {
            doors.say_where(&mut view);
            view
        }
        None => doors.view(&left.run)?,
    };
    match doors.bell() {
        Switch::On => screen::ring(),
        Switch::Off => {}
    }
    match form {
        Form::Json => {
            let (run, asked) = (left.run.clone(), view.asked);
            let line = RunLine::Left { run, standing, asked };
            screen::tell_as_it_is(&serde_json::to_string(&line).expect("a view can be written"));
        }
        Form::Sentences => {
            screen::tell("");
            if let Some(summary) = doors.last_words(&left.run)? {
                screen::tell(&summary);
            }
            screen::tell(&status::end(&view, &doors.home.run(&left.run), screen::width()));
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
    screen::tell(&format!("proof  {}; forge show {run}", show::proof(result.proof)));
    if let Some(branch) = &result.branch {
        screen::tell(&format!("take it over: git merge {branch}"));
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
        Standing::Escalated => Some(format!("mend the cause, then forge resume {run}")),
        Standing::Failed | Standing::Blocked => {
            Some(format!("forge log {run}; then, if it can be mended, forge resume {run}"))
        }
        // What a run waits for is said by its questions.
        Standing::Waiting | Standing::Done | Standing::Abandoned => None,
    }
}
