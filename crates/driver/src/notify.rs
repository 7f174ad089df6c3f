//! Tells somebody who is elsewhere: of questions, stops, hand-offs and the end.
//!
//! The driver writes a notice, starts `forge __notify FILE` (`notify/sender.rs`) as a
//! process of its own, and goes on. Why it is one: decisions/010-notify.md.
//!
//! - What is told lies in `<live folder>/notify/SEQ-N.json` until a teller has taken it.
//! - `<live folder>/notified` has the number of the last record that was looked at, so that the next driver
//!   tells what this one could not, and nothing twice.
//! - `<live folder>/notify.log` has what went wrong.
//!
//! Not here: the bell, which is rung by the interface whose terminal it is.
//!
//! Invariant: nothing of a run waits for a notifier, and nothing fails because of one.
//! Invariant: the address of a webhook is never written to the disk and never shown.

pub mod notice;
pub mod sender;

use std::{
    fs,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use forge_core::{
    Run, Time,
    event::{self, End, Event, Hold, Outcome, Ruling},
    view::{Names, Standing, sanitize, sentence_in},
};
use forge_keeper::Redactor;
use forge_project::settings::{NotifierKind, Settings, Switch};
use forge_store::{
    atomic_file::replace,
    journal::{JournalRecord, StoreError},
    records::facts,
};

use crate::{
    Error,
    base_settings::settings_at,
    layout::Home,
    notify::notice::{Kind, Notice, Recipients},
    run_id::short_id,
};

pub(crate) use self::sender::NOTIFY;

/// A limit is told of if it lasts at least this long.
const LONG_MS: u64 = 15 * 60_000;
/// The most characters of a message.
const MESSAGE_CHARS_MAX: usize = 2_000;
/// A driver makes at most this many failures facts of its run; all of them are in the log.
const FAILURES_MAX: usize = 3;
/// The most bytes of the log that are read at once.
const LOG_BYTES_MAX: u64 = 4 * 1024;

/// What the driver of one run tells others.
pub struct Notifier {
    home: Home,
    id: String,
    program: PathBuf,
    base: Option<String>,
    secrets: Vec<Vec<u8>>,
    /// Found out when there is something to tell.
    recipients: Option<Recipients>,
    tellers: Vec<Child>,
    /// How much of the log was there before.
    log_seen: u64,
    n_failures: usize,
}

impl Notifier {
    pub fn new(home: &Home, id: &str, run: &Run, program: &Path, secrets: &[Vec<u8>]) -> Self {
        let log = home.run(id).join(sender::LOG);
        Self {
            home: home.clone(),
            id: id.to_owned(),
            program: program.to_owned(),
            base: run.definition().start.base.clone(),
            secrets: secrets.to_vec(),
            recipients: None,
            tellers: Vec::new(),
            log_seen: fs::metadata(log).map_or(0, |log| log.len()),
            n_failures: 0,
        }
    }

    /// Tells of all records of a run that begins, and from now on of everything.
    pub fn begin(&mut self, records: &[JournalRecord]) -> Result<(), StoreError> {
        self.mark_processed(0);
        self.catch_up(records.last().map_or(0, |last| last.seq), || Ok(records.to_vec()))
    }

    /// Tells of a record that is durable.
    pub fn record(&mut self, seq: u64, record: &event::Record, before: Standing, run: &Run) {
        let notices = self.notices(record, before, Standing::from_run(run), run);
        if notices.is_empty() {
            return;
        }
        self.write(seq, &notices);
        self.mark_processed(seq);
        self.start_tellers();
    }

    /// Tells what a driver before this one could not. `all` reads the run again, which is seldom needed.
    pub fn catch_up(
        &mut self,
        last: u64,
        all: impl FnOnce() -> Result<Vec<JournalRecord>, StoreError>,
    ) -> Result<(), StoreError> {
        // A run of an older Forge has told nobody, and nobody wants to hear of its past.
        let text = fs::read_to_string(self.file("notified")).ok();
        let seen = text.and_then(|text| text.trim().parse().ok()).unwrap_or(last);
        if seen < last {
            let mut run = Run::new();
            for record in &all()? {
                let Ok(facts) = facts(record) else { continue };
                let again = event::Record { at: record.at, facts };
                run.apply_record(&again);
                if record.seq > seen {
                    let notices = self.notices(&again, Standing::Going, Standing::Going, &run);
                    self.write(record.seq, &notices);
                }
            }
            self.mark_processed(last);
        }
        self.start_tellers();
        Ok(())
    }

    /// What went wrong since somebody last looked, in whole sentences.
    pub fn failures(&mut self) -> Vec<String> {
        if self.tellers.is_empty() {
            return Vec::new();
        }
        let is_there = |teller: &mut Child| matches!(teller.try_wait(), Ok(None));
        self.tellers.retain_mut(is_there);
        let path = self.file(sender::LOG);
        let length = fs::metadata(&path).map_or(0, |log| log.len());
        if length <= self.log_seen {
            return Vec::new();
        }
        let mut text = Vec::new();
        let read = fs::File::open(&path).and_then(|mut log| {
            log.seek(SeekFrom::Start(self.log_seen))?;
            log.take(LOG_BYTES_MAX).read_to_end(&mut text)
        });
        self.log_seen = length;
        let text = if read.is_ok() { String::from_utf8_lossy(&text) } else { "".into() };
        // Without the time at the beginning of each line.
        let lines = text.lines().filter_map(|line| line.split_once("  "));
        let left = FAILURES_MAX.saturating_sub(self.n_failures);
        let failures: Vec<String> = lines
            .take(left)
            .map(|(_, what)| format!("some notifications failed: {what}"))
            .collect();
        self.n_failures += failures.len();
        failures
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.run(&self.id).join(name)
    }

    fn mark_processed(&self, seq: u64) {
        let path = self.file("notified");
        if let Err(error) = replace(&path, seq.to_string().as_bytes()) {
            self.note(&format!("{}: {error}", path.display()));
        }
    }

    fn note(&self, what: &str) {
        sender::note(&self.file(sender::LOG), what);
    }

    /// Collects the notices of one record.
    fn notices(
        &self,
        record: &event::Record,
        before: Standing,
        after: Standing,
        run: &Run,
    ) -> Vec<Notice> {
        let begins_to_wait = after == Standing::Limited && before != Standing::Limited;
        let facts = record.facts.iter().filter(|fact| {
            // Of many calls with the same limit one is told.
            begins_to_wait || limited_until(fact).is_none()
        });
        let mut limits = 0;
        let mut notices = Vec::new();
        for fact in facts {
            let Some((kind, next)) = occasion(&self.id, record.at, fact) else { continue };
            limits += u32::from(kind == Kind::Limit);
            if kind == Kind::Limit && limits > 1 {
                continue;
            }
            let message = Redactor::new(self.secrets.iter().cloned())
                .clean(sentence_in(run, fact, Names::Short).as_bytes());
            let message = sanitize(&String::from_utf8_lossy(&message));
            let top = self.home.repository.top.as_ref().unwrap_or(&self.home.repository.common_dir);
            notices.push(Notice {
                run: self.id.clone(),
                kind,
                message: message.chars().take(MESSAGE_CHARS_MAX).collect(),
                next,
                repo: top.display().to_string(),
                at: record.at,
            });
        }
        notices
    }

    fn write(&self, seq: u64, notices: &[Notice]) {
        let dir = self.file(sender::FOLDER);
        for (n, notice) in notices.iter().enumerate() {
            let path = dir.join(format!("{seq:08}-{n}.json"));
            let bytes = serde_json::to_vec(notice).expect("a notice can be written");
            if let Err(error) = replace(&path, &bytes) {
                self.note(&format!("{}: {error}", path.display()));
            }
        }
    }

    /// Starts a teller for all that nobody has taken.
    fn start_tellers(&mut self) {
        let entries = fs::read_dir(self.file(sender::FOLDER)).into_iter().flatten().flatten();
        let is_notice = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_notice).collect();
        files.sort();
        if files.is_empty() {
            return;
        }
        let recipients = match &self.recipients {
            Some(recipients) => recipients.clone(),
            None => self.who(),
        };
        self.recipients = Some(recipients.clone());
        for file in files {
            if recipients.is_empty() {
                let _gone_already = fs::remove_file(&file);
            } else if let Err(error) = self.start(&file, &recipients) {
                self.note(&format!("the notification failed: {error}"));
            }
        }
    }

    fn start(&mut self, file: &Path, recipients: &Recipients) -> std::io::Result<()> {
        let mut teller = Command::new(&self.program)
            .arg(NOTIFY)
            .arg(file)
            .current_dir(&recipients.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let bytes = serde_json::to_vec(recipients).expect("who is told can be written");
        // The pipe takes it as a whole: settings are far smaller than it is.
        let handed = teller.stdin.take().expect("it is piped").write_all(&bytes);
        self.tellers.push(teller);
        handed
    }

    /// Who is told, by what is set now. Of what the repository says, only what a person has allowed.
    fn who(&self) -> Recipients {
        let repository = &self.home.repository;
        let dir = repository.top.clone().unwrap_or_else(|| repository.common_dir.clone());
        let found = || -> Result<Recipients, Error> {
            let settings = settings_at(repository, self.base.as_deref())?;
            let notify = &settings.notify;
            let allowed = |notifier| is_allowed(&self.home, &settings, notifier);
            let command =
                notify.command.clone().map(Vec::from).filter(|_| allowed(NotifierKind::Command));
            let webhook =
                notify.webhook.clone().map(String::from).filter(|_| allowed(NotifierKind::Webhook));
            Ok(Recipients { command, webhook, desktop: notify.desktop, dir: dir.clone() })
        };
        found().unwrap_or_else(|error| {
            self.note(&format!("the notification failed: {error}"));
            Recipients { command: None, webhook: None, desktop: Switch::Off, dir: dir.clone() }
        })
    }
}

/// Whether a person lets a notifier be used: their own always, the repository's if they said so.
fn is_allowed(home: &Home, settings: &Settings, notifier: NotifierKind) -> bool {
    match settings.notifier_of_repository(notifier) {
        None => true,
        Some(line) => home.trust().is_ok_and(|trust| trust.is_approved(&[line]).unwrap_or(false)),
    }
}

/// Until when a fact says that nobody is served.
fn limited_until(fact: &Event) -> Option<Time> {
    if let Event::AttemptEnded { outcome: Outcome::Limited { until, .. }, .. } = fact {
        return Some(*until);
    }
    if let Event::Judged { ruling: Ruling::Limited { until, .. }, .. } = fact {
        return Some(*until);
    }
    None
}

/// Whether people are to be told of a fact, as what, and what they can do.
fn occasion(run: &str, at: Time, fact: &Event) -> Option<(Kind, String)> {
    let id = short_id(run);
    if let Event::QuestionAsked(_) = fact {
        return Some((Kind::Question, format!("forge status {id}")));
    }
    if let Event::RunHeld { hold } = fact {
        return match hold {
            // Whoever did this knows it.
            Hold::Paused { .. } | Hold::Interrupted { .. } | Hold::Stopped { .. } => None,
            Hold::OutOfBudget { .. } => {
                Some((Kind::Stop, format!("forge resume {id} --budget AMOUNT")))
            }
            Hold::Unfinished { .. } => Some((Kind::Stop, format!("forge resume {id}"))),
            Hold::Escalated { .. } => Some((
                Kind::HandOff,
                format!("forge log {id} (what failed), fix the cause, then forge resume {id}"),
            )),
        };
    }
    if let Event::RunEnded { end, .. } = fact {
        return Some(match end {
            End::Done | End::Abandoned => (Kind::End, format!("forge show {id}")),
            End::Failed => (Kind::Stop, format!("forge log {id}")),
            End::Blocked => (Kind::HandOff, format!("forge log {id}")),
        });
    }
    let until = limited_until(fact)?;
    (until.saturating_sub(at) >= LONG_MS).then(|| (Kind::Limit, format!("forge status {id}")))
}

#[cfg(test)]
mod tests {
    use forge_core::{
        event::Person,
        id::{AttemptId, UnitId},
    };

    use super::*;

    fn notice_of(fact: &Event) -> Option<(Kind, String)> {
        occasion("r1", 1_000, fact)
    }

    #[test]
    fn what_a_person_did_is_not_told_to_that_person_and_everything_else_that_stops_a_run_is() {
        let by = || Person { who: "ada".to_owned(), channel: "cli".to_owned() };
        let held = |hold| notice_of(&Event::RunHeld { hold });
        for hold in
            [Hold::Paused { by: by() }, Hold::Interrupted { by: by() }, Hold::Stopped { by: by() }]
        {
            assert_eq!(held(hold), None);
        }
        let what = || "x".to_owned();
        let unit: UnitId = "build".parse().unwrap();
        for (hold, kind, next) in [
            (Hold::OutOfBudget { what: what() }, Kind::Stop, "forge resume r1 --budget AMOUNT"),
            (Hold::Unfinished { unit, note: what() }, Kind::Stop, "forge resume r1"),
            (
                Hold::Escalated { what: what() },
                Kind::HandOff,
                "forge log r1 (what failed), fix the cause, then forge resume r1",
            ),
        ] {
            assert_eq!(held(hold), Some((kind, next.to_owned())));
        }
        for (end, kind) in [
            (End::Done, Kind::End),
            (End::Abandoned, Kind::End),
            (End::Failed, Kind::Stop),
            (End::Blocked, Kind::HandOff),
        ] {
            assert_eq!(notice_of(&Event::RunEnded { end }).map(|(kind, _)| kind), Some(kind));
        }
    }

    #[test]
    fn a_limit_is_told_of_only_if_it_lasts_long() {
        let attempt: AttemptId = "build#1".parse().unwrap();
        let limited = |until| {
            let outcome = Outcome::Limited { until, what: "too many calls".to_owned() };
            notice_of(&Event::AttemptEnded { attempt: attempt.clone(), outcome, receipt: None })
        };
        assert_eq!(limited(1_000 + LONG_MS - 1), None);
        let kind = limited(1_000 + LONG_MS).map(|(kind, _)| kind);
        assert_eq!(kind, Some(Kind::Limit));
    }
}
