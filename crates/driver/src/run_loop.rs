//! Drives a run until it stops. The only loop in the program that changes anything.
//!
//! ```text
//!   commands, endings, signals, time ──► decide ──► append ──► apply ──► tell
//!              ▲                                                           │
//!              └────────── wait ◄────────── reconcile with wanted ◄────────┘
//! ```
//!
//! Crash table. Before `append`: it never happened; endings are found again. During: the same,
//! a transaction is whole or not there. After: the fact is there, and `wanted` says what follows
//! from it. While calls run: their keepers go on, and the next driver finds them.

use std::{io::ErrorKind, path::PathBuf, rc::Rc, sync::Arc, time::Duration};

use forge_core::{
    Command, Effect, Input, Refusal, Report, Run, Time, decide,
    event::{self, Event, Outcome, Ruling},
    id::UnitId,
    run::CallEnding,
    view::{Course, RunView, Standing},
    wanted,
};
use forge_keeper::{LostCall, Redactor};
use forge_project::settings::Frozen;
use forge_store::{
    blobs::Blobs,
    disk::{Disk, RealDisk},
    journal::{CommandId, CommandRow, Journal, JournalRecord, RunLock, Writer},
    records::{body, facts, read_run, row},
};
use forge_workspace::CodeHistory;
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    base_settings::settings_at,
    calls::Calls,
    command_sender,
    context::RunContext,
    executor::Executor,
    layout::Home,
    local_executor::{LocalExecutor, own_program},
    needs,
    notify::Notifier,
    path_claims::Looker,
    projection::Projector,
    refs,
    refusal::refused,
    seats::{self, Seats},
    secrets::{known, table},
    signals::{Signals, drain},
    snapshot::frozen,
    trusted_folders::{self, TrustedFolders},
    work_records::FollowedRecords,
};

/// How often the driver looks for commands from other interfaces.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How often `state.json` and the artifacts follow a run that goes on.
const SHOW_EVERY_MS: u64 = 200;

/// A run in the hands of this process.
pub struct Driver {
    home: Home,
    id: String,
    machine: Machine,
    journal: Box<dyn Journal>,
    writer: Writer,
    run: Run,
    blobs: Blobs,
    frozen: Frozen,
    calls: Calls,
    trusted: TrustedFolders,
    projector: Projector,
    /// What the store said when we last looked for commands.
    seen: Option<u64>,
    /// What the store and the run said when we last looked for paths that are free.
    claims_seen: Option<(u64, u64)>,
    /// When the files were last brought up to date.
    shown: Option<Time>,
    /// Why they no longer can be.
    behind: Option<Error>,
    /// The last moment of which the run has heard.
    ticked: Option<u64>,
    /// Where the checkouts of the run lie.
    checkouts: PathBuf,
    /// What a person should know, and what is not a fact yet.
    notices: Vec<(UnitId, String)>,
    /// Values that are known to be secret.
    secrets: Vec<Vec<u8>>,
    redactor: Redactor,
    /// Tells people who are elsewhere.
    notifier: Option<Notifier>,
    records: FollowedRecords,
}

/// What a driver acts through: this machine, or a simulated one.
pub struct Machine {
    pub executor: Rc<dyn Executor>,
    pub disk: Arc<dyn Disk>,
    pub code: Rc<dyn CodeHistory>,
    /// Our own program, which also sends notices.
    pub program: PathBuf,
    pub notices: Notices,
    pub seats: Seats,
    /// What takes secrets out; found out where it is not given.
    pub secrets: Option<KnownSecrets>,
}

/// Values that are known to be secret, and what takes them out.
#[derive(Clone)]
pub struct KnownSecrets {
    pub values: Vec<Vec<u8>>,
    /// Nothing went through it yet.
    pub redactor: Redactor,
}

impl KnownSecrets {
    pub fn new(values: Vec<Vec<u8>>) -> Self {
        Self { redactor: Redactor::new(values.iter().cloned()), values }
    }
}

/// Whether a driver tells people who are elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notices {
    Sent,
    /// A simulation tells nobody.
    Unsent,
}

impl Machine {
    /// This machine, for the runs of one repository.
    pub fn local(home: &Home) -> Result<Self, Error> {
        let program = own_program()?;
        let executor = LocalExecutor::new(program.clone());
        let executor = executor.map_err(|error| Error::file(&program, &error))?;
        Ok(Self {
            executor: Rc::new(executor),
            disk: Arc::new(RealDisk),
            code: Rc::new(home.repository.clone()),
            program,
            notices: Notices::Sent,
            seats: {
                let repository = home.repository.clone();
                let read = move |base: Option<&str>| Ok(settings_at(&repository, base)?.accounts());
                Seats::new(seats::folder().ok(), read)
            },
            secrets: None,
        })
    }
}

/// How an interface learns what happens: once for each record, after it is durable, with the run that it led to.
pub type Tell<'a> = &'a mut dyn FnMut(&Run, &event::Record);

/// What became of a command from another interface, as it is kept beside the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    /// It was done.
    Accepted,
    /// It means nothing now.
    Refused {
        /// Why.
        why: String,
    },
}

/// Why the driver let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveEnd {
    /// The run stopped like this.
    Stopped(Standing),
    /// The terminal is gone. Calls go on under their keepers.
    TerminalGone,
    /// Another process drives the run, and was told to go on.
    DrivenElsewhere,
}

impl Driver {
    /// Begins a run with its first record.
    pub fn begin(
        home: &Home,
        machine: Machine,
        mut journal: Box<dyn Journal>,
        id: &str,
        start: event::Start,
        frozen: Frozen,
    ) -> Result<Self, Error> {
        let lock = journal.lock(id)?;
        let start = event::Start { ending_key: Some(machine.executor.ending_key()), ..start };
        let input = Input::Command(Command::Start(Box::new(start)));
        let record = decide(&Run::new(), machine.executor.now(), &input)
            .map_err(|refusal| refused(id, &refusal))?;
        let mut run = Run::new();
        run.apply_record(&record);
        let writer = journal.begin_run(lock, record.at, &body(&record), &row(id, &run))?;
        Self::over(home, machine, id, journal, writer, run, frozen)
    }

    /// Tells the record that a run began with.
    pub fn tell_first(&mut self, tell: Tell<'_>) -> Result<(), Error> {
        let records = self.journal.read(&self.id, 1)?;
        self.behind = self.projector.add(&records).err();
        let mut run = Run::new();
        for record in &records {
            let record = event::Record { at: record.at, facts: facts(record)? };
            run.apply_record(&record);
            tell(&run, &record);
        }
        if let Some(notifier) = &mut self.notifier {
            notifier.begin(&records)?;
        }
        Ok(())
    }

    /// Takes a run over: folds its records, and settles what other interfaces asked meanwhile.
    pub fn take_over(
        home: &Home,
        machine: Machine,
        mut journal: Box<dyn Journal>,
        id: &str,
        lock: RunLock,
    ) -> Result<Self, Error> {
        let writer = journal.take_over(lock)?;
        let (run, last) = read_run(&*journal, id)?;
        let blobs = Blobs::open_on(machine.disk.clone(), &home.dir);
        let blobs = blobs.map_err(|error| Error::file(&home.dir, &error))?;
        let frozen = frozen(&run, &blobs)?;
        let mut driver = Self::over(home, machine, id, journal, writer, run, frozen)?;
        driver.behind = match driver.projector.shown() {
            Ok(shown) if shown < last => {
                driver.projector.add(&driver.journal.read(id, shown + 1)?).err()
            }
            shown => shown.err(),
        };
        if let Some(notifier) = &mut driver.notifier {
            notifier.catch_up(last, || driver.journal.read(id, 1))?;
        }
        Ok(driver)
    }

    pub fn over(
        home: &Home,
        machine: Machine,
        id: &str,
        journal: Box<dyn Journal>,
        writer: Writer,
        run: Run,
        frozen: Frozen,
    ) -> Result<Self, Error> {
        refs::pin_base(&*machine.code, id, &run)?;
        let first = run.units().first().map(|(unit, _, _)| unit.clone());
        let first = first.expect("a run that started has units");
        let notices = refs::follow(&*machine.code, &home.repository.common_dir, id, &run)?;
        let mut records = FollowedRecords::default();
        let unkept = records.follow(&home.dir, id, machine.executor.now(), &run);
        let notices = notices.into_iter().chain(unkept).map(|what| (first.clone(), what));
        let trusted = TrustedFolders::found(&*machine.executor, home.attempts(id), &run);
        let KnownSecrets { values: secrets, redactor } = match &machine.secrets {
            Some(secrets) => secrets.clone(),
            None => KnownSecrets::new(known(&table(home.repository.top.as_deref(), &frozen, &run))),
        };
        Ok(Self {
            notifier: match machine.notices {
                Notices::Sent => Some(Notifier::new(home, id, &run, &machine.program, &secrets)),
                Notices::Unsent => None,
            },
            redactor,
            secrets,
            checkouts: home.checkouts(id, &frozen)?,
            notices: notices.collect(),
            records,
            blobs: Blobs::open_on(machine.disk.clone(), &home.dir)
                .map_err(|error| Error::file(&home.dir, &error))?,
            projector: Projector::new(machine.disk.clone(), home, id),
            home: home.clone(),
            id: id.to_owned(),
            machine,
            journal,
            writer,
            run,
            frozen,
            calls: Calls::default(),
            trusted,
            seen: None,
            claims_seen: None,
            shown: None,
            behind: None,
            ticked: None,
        })
    }

    /// Where the run stands.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Whether calls are under way in a run that was stopped or is over: they are to end now.
    pub fn is_to_be_stopped(&self) -> bool {
        let goes_on =
            |effect: &Effect| matches!(effect, Effect::Work { .. } | Effect::Judge { .. });
        !self.run.calls().is_empty() && !wanted(&self.run).iter().any(goes_on)
    }

    /// Decides on an input, and makes it true. Whether anything followed.
    pub fn submit(&mut self, input: &Input, tell: Tell<'_>) -> Result<Result<(), Refusal>, Error> {
        self.put_settling(input, &[], tell)
    }

    fn put_settling(
        &mut self,
        input: &Input,
        settled: &[(CommandId, String)],
        tell: Tell<'_>,
    ) -> Result<Result<(), Refusal>, Error> {
        let record = match decide(&self.run, self.machine.executor.now(), input) {
            Ok(record) => record,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if record.facts.is_empty() {
            for (id, outcome) in settled {
                self.journal.settle_command(&self.writer, *id, outcome)?;
            }
            return Ok(Ok(()));
        }
        let mut next = self.run.clone();
        let before = Standing::from_run(&next);
        next.apply_record(&record);
        let row = row(&self.id, &next);
        self.notices.extend(trusted_folders::quarantine_before_start(
            &*self.machine.executor,
            &self.home.attempts(&self.id),
            &record.facts,
        )?);
        self.journal.append(&mut self.writer, record.at, &body(&record), &row, settled)?;
        self.run = next;
        for fact in &record.facts {
            if let Event::Landed { unit, .. } = fact {
                let (code, common_dir) = (&*self.machine.code, &self.home.repository.common_dir);
                let what = refs::follow(code, common_dir, &self.id, &self.run)?;
                self.notices.extend(what.map(|what| (unit.clone(), what)));
            }
        }
        let unkept = self.records.follow(&self.home.dir, &self.id, record.at, &self.run);
        let about = record.facts.iter().find_map(Event::unit);
        self.notices.extend(about.zip(unkept));
        self.publish(&record, tell);
        if let Some(notifier) = &mut self.notifier {
            notifier.record(self.writer.seq(), &record, before, &self.run);
        }
        Ok(Ok(()))
    }

    /// Tells of a record that is durable. Files that cannot follow stay behind: any interface makes them
    /// anew, and nothing that was journaled fails because of them.
    fn publish(&mut self, record: &event::Record, tell: Tell<'_>) {
        let line = JournalRecord {
            seq: self.writer.seq(),
            at: record.at,
            epoch: self.writer.epoch(),
            body: body(record),
            sum: self.writer.head().to_owned(),
        };
        if self.behind.is_none() {
            self.behind = self.projector.add(&[line]).err();
        }
        tell(&self.run, record);
    }

    /// Settles what other interfaces asked. They learn the outcome with the facts, or why not.
    pub fn take_commands(&mut self, tell: Tell<'_>) -> Result<(), Error> {
        let version = self.journal.data_version()?;
        if self.seen == Some(version) {
            return Ok(());
        }
        for row in self.journal.open_commands(&self.id)? {
            let command = match row {
                CommandRow::Whole(command) => command,
                CommandRow::Foreign(id) => {
                    let why = "the command is refused: Forge did not write it".to_owned();
                    let text = outcome(&CommandOutcome::Refused { why });
                    self.journal.settle_command(&self.writer, id, &text)?;
                    continue;
                }
            };
            let (executor, lost) = (&*self.machine.executor, self.lost_calls()?);
            let refusal = command_sender::refusal(executor, &*self.journal, &command, &lost)?;
            let outcome = match serde_json::from_str::<Command>(&command.body) {
                _ if refusal.is_some() => refusal,
                Err(error) => Some(format!("it cannot be read: {error}")),
                Ok(Command::Start(_)) => {
                    Some("a run is started by the process that runs it".to_owned())
                }
                Ok(wanted) => {
                    let settled = [(command.id, outcome(&CommandOutcome::Accepted))];
                    let put = self.put_settling(&Input::Command(wanted), &settled, tell)?;
                    put.err().map(|refusal| refusal.to_string())
                }
            };
            if let Some(why) = outcome {
                let text = self::outcome(&CommandOutcome::Refused { why });
                self.journal.settle_command(&self.writer, command.id, &text)?;
            }
        }
        self.seen = Some(version);
        Ok(())
    }

    /// The times of all calls whose keepers were killed.
    pub fn lost_calls(&self) -> Result<Vec<LostCall>, Error> {
        let is_lost = |ending: &CallEnding| {
            matches!(ending, CallEnding::Work(Outcome::Lost) | CallEnding::Look(Ruling::Lost))
        };
        if !self.run.history().calls.iter().any(|call| is_lost(&call.ending)) {
            return Ok(Vec::new());
        }
        let records = self.journal.read(&self.id, 1)?;
        let mut all = Vec::new();
        for record in &records {
            all.extend(facts(record)?.into_iter().map(|fact| (record.at, fact)));
        }
        Ok(command_sender::lost_calls(all.iter().map(|(at, fact)| (*at, fact))))
    }

    /// Drives until the run stops: done, failed, held, waiting for a person.
    pub fn drive(&mut self, signals: &mut Signals, tell: Tell<'_>) -> Result<DriveEnd, Error> {
        loop {
            if let Err(error) = self.machine.disk.list(&self.home.dir)
                && error.kind() == ErrorKind::NotFound
            {
                return Err(moved_away(&self.home));
            }
            self.take_commands(tell)?;
            self.note_failures();
            for (unit, what) in std::mem::take(&mut self.notices) {
                self.hear(&Input::Report(Report::Noticed { unit, what }), tell)?;
            }
            let context = RunContext {
                home: &self.home,
                id: &self.id,
                blobs: &self.blobs,
                frozen: &self.frozen,
                program: &self.machine.program,
                checkouts: self.checkouts.clone(),
                journal: &*self.journal,
                executor: &*self.machine.executor,
                disk: &*self.machine.disk,
                code: &*self.machine.code,
                trusted: &self.trusted,
                seats: &self.machine.seats,
                secrets: &self.secrets,
                redactor: &self.redactor,
            };
            let mut reports = self.calls.reconcile(&context, &self.run)?;
            reports.extend(needs::look(&context, &self.run));
            if !reports.is_empty() {
                for report in reports {
                    self.hear(&Input::Report(report), tell)?;
                }
                continue;
            }
            if self.claim_paths(tell)? {
                continue;
            }
            let standing = Standing::from_run(&self.run);
            if self.calls.is_empty() && self.run.calls().is_empty() && is_stopped(standing) {
                self.show();
                return Ok(DriveEnd::Stopped(standing));
            }
            self.show_now_and_then();
            self.machine.executor.wait(&signals.files(), self.longest_wait()).map_err(|error| {
                Error::surroundings(format!("cannot wait: {error}"), "forge doctor")
            })?;
            if drain(&mut signals.hang_ups) > 0 {
                return Ok(DriveEnd::TerminalGone);
            }
            for _ in 0..drain(&mut signals.interrupts) {
                signals.n_interrupts += 1;
                let by = crate::person::person();
                let command = match signals.n_interrupts {
                    1 => Command::Interrupt { by },
                    _ => Command::Stop { by },
                };
                self.hear(&Input::Command(command), tell)?;
            }
            if let Some(at) = self.wake().filter(|at| *at <= self.machine.executor.now()) {
                self.ticked = Some(at);
                self.hear(&Input::Tick, tell)?;
            }
        }
    }

    /// Claims the paths of units that wait for them, if nobody else has them. Whether anything followed.
    fn claim_paths(&mut self, tell: Tell<'_>) -> Result<bool, Error> {
        let claimed = |effect| match effect {
            Effect::Claim { unit } => Some(unit),
            Effect::Work { .. }
            | Effect::Judge { .. }
            | Effect::Ask { .. }
            | Effect::Need { .. }
            | Effect::Wake { .. } => None,
        };
        let units: Vec<UnitId> = wanted(&self.run).into_iter().filter_map(claimed).collect();
        let seen = (self.journal.data_version()?, self.writer.seq());
        if units.is_empty() || self.claims_seen == Some(seen) {
            return Ok(false);
        }
        for unit in units {
            // Between the look and the fact nobody else claims anything.
            let Some(_lock) = self.journal.lock_claims()? else { return Ok(false) };
            let (journal, claims) = (&*self.journal, self.frozen.claims);
            let looker = Looker { journal, id: &self.id, claims };
            let report = match looker.others_at_work(&self.run, &unit)? {
                Some(what) => Report::PathsTaken { unit, what },
                None => Report::PathsFree { unit },
            };
            self.hear(&Input::Report(report), tell)?;
        }
        self.claims_seen = Some(seen);
        Ok(self.writer.seq() != seen.1)
    }

    /// Lets the run hear that time went by: what is ready starts.
    pub fn hear_time(&mut self, tell: Tell<'_>) -> Result<(), Error> {
        self.hear(&Input::Tick, tell)
    }

    /// Puts an input that nobody waits for. A refusal means that it no longer matters.
    fn hear(&mut self, input: &Input, tell: Tell<'_>) -> Result<(), Error> {
        let _no_longer_matters = self.submit(input, tell)?;
        Ok(())
    }

    /// Makes facts of what could not be told.
    fn note_failures(&mut self) {
        for what in self.notifier.iter_mut().flat_map(Notifier::failures) {
            let first = self.run.units().first().map(|(unit, _, _)| unit.clone());
            self.notices.push((first.expect("a run that started has units"), what));
        }
    }

    /// Between two looks of a person nothing needs to be shown twice.
    fn show_now_and_then(&mut self) {
        let now = self.machine.executor.now();
        // A clock that went back shows at once.
        if self.shown.is_none_or(|shown| now.abs_diff(shown) >= SHOW_EVERY_MS) {
            self.shown = Some(now);
            self.show();
        }
    }

    /// Brings the files that show the run up to date, as far as that can be done.
    pub fn show(&mut self) {
        let shown = self.projector.show(&self.run, self.writer.seq(), &self.blobs);
        self.behind = self.behind.take().or(shown.err());
    }

    /// The run as people see it where it stands.
    pub fn view(&mut self) -> RunView {
        let shown = self.projector.take_view(self.writer.seq());
        shown.unwrap_or_else(|| RunView::new(&self.id, &self.run))
    }

    /// Why the files that show the run are behind, if they are.
    pub fn behind(&self) -> Option<&Error> {
        self.behind.as_ref()
    }

    /// When time is to be heard of next. What was heard already only waits for room by now.
    fn wake(&self) -> Option<u64> {
        let wake = wanted(&self.run).into_iter().find_map(|effect| match effect {
            Effect::Wake { at } => Some(at),
            Effect::Work { .. }
            | Effect::Judge { .. }
            | Effect::Ask { .. }
            | Effect::Claim { .. }
            | Effect::Need { .. } => None,
        });
        wake.filter(|at| self.ticked != Some(*at))
    }

    fn longest_wait(&self) -> Duration {
        match self.wake() {
            Some(at) => LOOK_EVERY
                .min(Duration::from_millis(at.saturating_sub(self.machine.executor.now()))),
            None => LOOK_EVERY,
        }
    }
}

/// Whether a driver has nothing more to do with a run that stands like this.
/// Nothing is made anew where the repository was: it may come back.
fn moved_away(home: &Home) -> Error {
    let what = format!("{} is gone", home.dir.display());
    Error::surroundings(what, "move the repository back, then forge resume")
}

fn is_stopped(standing: Standing) -> bool {
    match standing.course() {
        Course::Driven => false,
        Course::Asking | Course::Held | Course::Failed | Course::Over => true,
    }
}

fn outcome(outcome: &CommandOutcome) -> String {
    serde_json::to_string(outcome).expect("an outcome can be written")
}
