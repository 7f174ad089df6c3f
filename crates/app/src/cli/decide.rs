//! `forge approve`, `revise`, `reject`, `retry` and `override`: answer the open question of a run, and continue it.
//!
//! Not here: `forge answer`, which names the question and continues nothing.
//!
//! Invariant: an answer that the question does not offer is refused here, with those that it does; nothing is journaled.

use std::process::ExitCode;

use clap::Args;
use forge_api::{
    Error,
    forge::{Forge, NumberedRecord, RunOutcome, Sent, Takeover},
    person::person,
    run_loop::DriveEnd,
};
use forge_core::{
    Command, Run,
    event::{Answer, Choice},
    id::QuestionId,
    view::{Course, QuestionView, Standing},
};

use super::{
    choose_run::{RunAction, choose_run},
    common::open_forge,
    drive_mode::{DriveArgs, DriveMode, OutputFormat, report_outcome},
    prompt::can_ask,
};
use crate::{
    format,
    picker::pick,
    terminal_output,
    text::answer_text::{
        AnswerOption, OpenQuestions, answer_commands, answer_options, none_of, not_offered, offers,
        override_reason,
    },
};

/// Approve what a run asks about, and continue it
#[derive(Args)]
pub(crate) struct ApproveArgs {
    /// Name the run; the one that needs you by default
    run: Option<String>,
    /// Add a remark for the agents
    #[arg(long, short, value_name = "WORDS")]
    message: Option<String>,
    #[command(flatten)]
    rest: DecideArgs,
}

/// Request changes to what a run asks about, and continue it
#[derive(Args)]
#[command(override_usage = "forge revise [OPTIONS] [RUN] WORDS...")]
pub(crate) struct ReviseArgs {
    /// Say what to change; a run can be named first
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    #[command(flatten)]
    rest: DecideArgs,
}

/// Reject what a run asks about, and continue what does not need it
#[derive(Args)]
pub(crate) struct RejectArgs {
    /// Name the run; the one that needs you by default
    run: Option<String>,
    /// Say why; it is kept with your name
    #[arg(long, short, value_name = "WORDS")]
    message: Option<String>,
    #[command(flatten)]
    rest: DecideArgs,
}

/// Try again what failed, and continue the run
#[derive(Args)]
pub(crate) struct RetryArgs {
    /// Name the run; the one that needs you by default
    run: Option<String>,
    /// Add a remark for the agents
    #[arg(long, short, value_name = "WORDS")]
    message: Option<String>,
    #[command(flatten)]
    rest: DecideArgs,
}

/// Override a check in your name, and continue the run
#[derive(Args)]
#[command(override_usage = "forge override [OPTIONS] [RUN] [CHECK] WHY...")]
pub(crate) struct OverrideArgs {
    /// Say why; a run and the check can be named first
    #[arg(value_name = "WHY")]
    words: Vec<String>,
    #[command(flatten)]
    rest: DecideArgs,
}

/// Flags that all of them share.
#[derive(Args)]
struct DecideArgs {
    /// Name the question, if several are open
    #[arg(long, value_name = "QUESTION")]
    question: Option<QuestionId>,
    /// Answer only; continue later with `forge resume`
    #[arg(long, conflicts_with_all = ["json", "plain", "detach"])]
    no_resume: bool,
    #[command(flatten)]
    drive_args: DriveArgs,
}

/// An answer that has a command of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb<'a> {
    Approve,
    Revise,
    Reject,
    Retry,
    Override {
        /// The name of a check, and the reason.
        words: &'a [String],
    },
}

impl Verb<'_> {
    const fn command(self) -> &'static str {
        self.choice().command()
    }

    const fn choice(self) -> Choice {
        match self {
            Self::Approve => Choice::Approve,
            Self::Revise => Choice::Revise,
            Self::Reject => Choice::GiveUp,
            Self::Retry => Choice::Retry,
            Self::Override { .. } => Choice::Waive,
        }
    }
}

impl ApproveArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        self.rest.decide(Verb::Approve, self.run.as_deref(), self.message.unwrap_or_default())
    }
}

impl ReviseArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let (run, words) = split_run(&self.words, |word| {
            open_forge().is_ok_and(|forge| forge.resolve(word).is_ok())
        });
        if let (Some(run), true) = (run, words.is_empty()) {
            let what = "a request for changes needs words: say what should change";
            return Err(Error::usage(what, format!("forge revise {run} \"WORDS\"")));
        }
        self.rest.decide(Verb::Revise, run, words)
    }
}

impl RejectArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        self.rest.decide(Verb::Reject, self.run.as_deref(), self.message.unwrap_or_default())
    }
}

impl RetryArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        self.rest.decide(Verb::Retry, self.run.as_deref(), self.message.unwrap_or_default())
    }
}

impl OverrideArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let is_run = |word: &str| open_forge().is_ok_and(|forge| forge.resolve(word).is_ok());
        let (run, words) = match self.words.as_slice() {
            [run, words @ ..] if is_run(run) => (Some(run.as_str()), words),
            words => (None, words),
        };
        self.rest.decide(Verb::Override { words }, run, String::new())
    }
}

impl DecideArgs {
    fn decide(&self, verb: Verb<'_>, run: Option<&str>, words: String) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let run = choose_run(&forge, run, RunAction::Decide { choice: verb.choice() })?;
        let id = format::short_id(&run);
        let asked = forge.view(&run)?.asked;
        let question = self.choose_question(id, verb, &asked)?;
        let offered = answer_options(question);
        let is_meant = |option: &&AnswerOption| option.answer.choice() == verb.choice();
        let Some(option) = offered.iter().find(is_meant) else {
            return Err(not_offered(id, verb.command(), question, OpenQuestions::new(&asked)));
        };
        let words = match (verb, &option.answer) {
            (Verb::Override { words }, Answer::Waive { gate }) => override_reason(id, words, gate)?,
            (_, _) => words,
        };
        let number = question.question.parse().expect("a view names questions as they are");
        let answer = Command::Answer {
            question: number,
            answer: option.answer.clone(),
            words,
            by: person(),
        };
        let known = forge.records(&run, 1)?.last().map_or(0, |last| last.seq);
        let sent = forge.send(&run, &answer)?;
        let unit = format::unit_label(&question.unit);
        let done = match verb {
            Verb::Approve => format!("{id}: {unit} is approved"),
            Verb::Revise => format!("{id}: {unit} is sent back with your words"),
            Verb::Reject => format!("{id}: {unit} is rejected"),
            // It may be the work or only a review that is repeated.
            Verb::Retry | Verb::Override { .. } => format!("{id}: {}", option.does),
        };
        self.proceed(&forge, &run, sent, &done, known)
    }

    /// Returns the question that is meant: the named one, the only one, or the one that the person picks.
    fn choose_question<'a>(
        &self,
        id: &str,
        verb: Verb<'_>,
        asked: &'a [QuestionView],
    ) -> Result<&'a QuestionView, Error> {
        if let Some(named) = &self.question {
            let named = named.to_string();
            let open: Vec<&str> = asked.iter().map(|one| one.question.as_str()).collect();
            return asked.iter().find(|one| one.question == named).ok_or_else(|| {
                let open = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
                let what = format!("{id} does not ask {named} now; open questions: {open}");
                Error::usage(what, format!("forge status {id}"))
            });
        }
        let line = |one: &&QuestionView| {
            format!("{}  {}: {}", one.question, format::unit_label(&one.unit), one.text)
        };
        let offering: Vec<&QuestionView> =
            asked.iter().filter(|one| offers(one, verb.choice())).collect();
        match asked {
            [one] => Ok(one),
            [] => {
                let what = format!("{id} has no open question");
                Err(Error::usage(what, format!("forge status {id}")))
            }
            several if offering.is_empty() => {
                let (number, none) = (several.len(), none_of(several.len()));
                let what = format!(
                    "{id} has {number} open questions, and {none} offers {}",
                    verb.command()
                );
                let commands = several
                    .iter()
                    .map(|one| answer_commands(id, one, OpenQuestions::Several))
                    .collect::<Vec<String>>();
                Err(Error::usage(what, commands.join("\n   or: ")))
            }
            _ if can_ask() => {
                let lines: Vec<String> = offering.iter().map(line).collect();
                let command = verb.command();
                let picked = pick(&format!("Which question do you {command}?"), &lines, &[]);
                picked.map(|picked| offering[picked.line]).ok_or_else(Error::left)
            }
            several => {
                let command = |one: &&QuestionView| {
                    format!("forge {} {id} --question {}", verb.command(), one.question)
                };
                let what = format!("{id} has {} open questions; name one", several.len());
                let commands: Vec<String> = offering.iter().map(command).collect();
                Err(Error::usage(what, commands.join("\n   or: ")))
            }
        }
    }

    /// Continues the run, unless another process runs it, it is over, or it was not to be continued. Records after `known` came
    /// with the answer.
    fn proceed(
        &self,
        forge: &Forge,
        run: &str,
        sent: Sent,
        done: &str,
        known: u64,
    ) -> Result<ExitCode, Error> {
        let id = format::short_id(run);
        let standing = forge.view(run)?.row.standing;
        let is_over = matches!(standing.course(), Course::Failed | Course::Over);
        let next = match sent {
            Sent::ToDriver => Some("The run continues in its own process.".to_owned()),
            Sent::Journaled if is_over => None,
            Sent::Journaled if forge.is_attended(run) => {
                Some("The run continues where it is shown.".to_owned())
            }
            Sent::Journaled if self.no_resume => Some(format!("Next: forge resume {id}")),
            Sent::Journaled => None,
        };
        if let Some(next) = next {
            terminal_output::print(&format!("{done}. {next}"));
            return Ok(ExitCode::SUCCESS);
        }
        terminal_output::print_stderr(done);
        if let DriveMode::Here(form @ OutputFormat::Sentences) = self.drive_args.mode() {
            let mut state = Run::new();
            for NumberedRecord { seq, record, .. } in forge.records(run, 1)? {
                state.apply_record(&record);
                if seq > known {
                    form.print_record(&state, &record);
                }
            }
        }
        if is_over && (standing != Standing::Done || self.no_resume) {
            // Resumed, it would be opened again.
            let how = DriveEnd::Stopped(standing);
            let outcome = RunOutcome { run: run.to_owned(), how, left: None, behind: None };
            return report_outcome(forge, outcome, self.drive_args.output_format());
        }
        // The same end as that of `forge resume`, which starts nothing where the run is done.
        let takeover = if is_over { Takeover::AsItIs } else { Takeover::Resume { budget: None } };
        self.drive_args.resume(forge, run, takeover)
    }
}

/// Splits `[RUN] WORDS...`. A first word before a quoted text is a run, also if there is none of this name.
fn split_run(words: &[String], is_run: impl Fn(&str) -> bool) -> (Option<&str>, String) {
    match words {
        [run, rest @ ..]
            if !rest.is_empty()
                && !run.contains(char::is_whitespace)
                && (rest[0].contains(char::is_whitespace) || is_run(run)) =>
        {
            (Some(run), rest.join(" "))
        }
        [run] if is_run(run) => (Some(run), String::new()),
        _ => (None, words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_text_is_the_reason_for_an_override_and_a_name_alone_is_not() {
        let reason = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            override_reason("oqmd", &words, "verify").map_err(|error| error.what)
        };
        assert_eq!(reason(&["checks", "it", "is flaky"]), Ok("it is flaky".to_owned()));
        assert_eq!(reason(&["verify", "flaky"]), Ok("flaky".to_owned()));
        assert_eq!(reason(&["flaky"]), Ok("flaky".to_owned()));
        for incomplete in [&[][..], &["checks"], &["verify"]] {
            let what = "say which check you override, and why".to_owned();
            assert_eq!(reason(incomplete), Err(what), "{incomplete:?}");
        }
        for other in [&["review"][..], &["review", "it is fine"], &["merge"]] {
            let what = format!("only `checks` can be overridden here, not `{}`", other[0]);
            assert_eq!(reason(other), Err(what));
        }
        let unquoted = Err("name what you override: `checks`".to_owned());
        assert_eq!(reason(&["it", "is", "flaky"]), unquoted);
    }

    #[test]
    fn a_run_in_front_of_the_words_is_told_from_them() {
        let split = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let (run, words) = split_run(&words, |word| word == "oqmd");
            (run.map(str::to_owned), words)
        };
        let expected = |run: Option<&str>, words: &str| (run.map(str::to_owned), words.to_owned());
        assert_eq!(split(&["keep it short"]), expected(None, "keep it short"));
        assert_eq!(split(&["keep", "it", "short"]), expected(None, "keep it short"));
        assert_eq!(split(&["oqmd", "shorter"]), expected(Some("oqmd"), "shorter"));
        assert_eq!(split(&["oqmd", "keep it"]), expected(Some("oqmd"), "keep it"));
        // A run that was misspelt is refused, not sent to the agents.
        assert_eq!(split(&["oqmx", "keep it"]), expected(Some("oqmx"), "keep it"));
        assert_eq!(split(&["oqmd"]), expected(Some("oqmd"), ""), "a run is not what should change");
        assert_eq!(split(&["a quoted one", "and more"]), expected(None, "a quoted one and more"));
    }
}
