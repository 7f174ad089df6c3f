//! What the ways in can do: drive a run, send it a command, read it. How one is started is in
//! `start.rs`.
//!
//! Forge decide nothing. A command goes to the run's driver if there is one; if not, the caller
//! takes the lock, lets `core` decide, journals, starts nothing, and lets go.
//!
//! Invariant: a changing command from inside an attempt is refused, so that no agent can answer
//! its own gate.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use forge_core::{
    Command, Input, Refusal, Run,
    event::{Blob, End, Record},
    money::Money,
    run::Phase,
    view::{ResultView, RunRow, RunView, Standing},
};
use forge_driver::{
    Error,
    clock::now,
    layout::Home,
    person::person,
    plan::step::steps_of,
    projection::Projector,
    refs,
    refusal::refused,
    run_id::short_id,
    run_loop::{CommandOutcome, DriveEnd, Driver, Machine, Tell},
    secrets::without_secrets,
    signals::Signals,
    snapshot::frozen,
    summary_file::SUMMARY,
};
use forge_keeper::{AttemptFolder, CallerFlaw, check_beside, check_own_process, is_kept_elsewhere};
use forge_project::{
    catalog::Catalog,
    refuse_agents,
    settings::{Frozen, Settings, Switch},
};
use forge_store::{
    blobs::Blobs,
    disk::RealDisk,
    journal::{CommandId, JournalRecord, JournalRow, RunLock, Store, StoreError, named_drivers},
    records::{facts, read_run},
};

/// How long a caller waits for a driver to take its command.
const ANSWER_WAIT: Duration = Duration::from_secs(15);
/// How long a caller waits for the end of what it stopped.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// How often a caller looks whether its command was accepted.
const ANSWER_LOOK: Duration = Duration::from_millis(20);

/// So many of the runs that are over are listed.
const LISTED_MAX: usize = 100;
/// More runs than this are never read.
pub const RUNS_MAX: usize = 1_000_000;

/// The ways in to the runs of one repository.
pub struct Forge {
    /// Where things lie.
    pub home: Home,
}

/// The fate of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The run's driver took it.
    ToDriver,
    /// There is no driver: it is journaled, and nothing was started.
    Journaled,
}

/// What a process that takes a run over makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// A person resumes it, perhaps with a new budget: what is held, or waits for a limit, is tried at once.
    Resume { budget: Option<Money> },
    /// It continues as another process leaves it.
    AsItIs,
}

/// The projections that were rebuilt from the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Rebuilt {
    /// How many runs were.
    pub n_made: u32,
    /// Runs that were not, because they are driven.
    pub driven: Vec<String>,
    /// Runs that could not be, and why.
    pub failed: Vec<String>,
}

/// The outcome of driving a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    pub run: String,
    /// How it was left.
    pub how: DriveEnd,
    /// What it was then, unless somebody else drives it.
    pub left: Option<LeftRun>,
    /// Why the files that show it are behind, if they are.
    pub behind: Option<String>,
}

/// A record of a run's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedRecord {
    /// Its number, from 1.
    pub seq: u64,
    /// Each process that writes has one of its own, and a later one has a greater one.
    pub epoch: u64,
    pub record: Record,
}

/// A run as it was left.
#[derive(Clone, Debug)]
pub struct LeftRun {
    pub view: RunView,
    pub result: ResultView,
}

impl RunOutcome {
    pub(crate) fn from_driver(driver: &mut Driver, run: String, how: DriveEnd) -> Self {
        let (view, result) = (driver.view(), ResultView::new(&run, driver.run()));
        let left = Some(LeftRun { view, result });
        Self { run, how, left, behind: driver.behind().map(ToString::to_string) }
    }

    fn elsewhere(run: String) -> Self {
        Self { run, how: DriveEnd::DrivenElsewhere, left: None, behind: None }
    }
}

impl LeftRun {
    fn new(id: &str, run: &Run) -> Self {
        Self { view: RunView::new(id, run), result: ResultView::new(id, run) }
    }
}

impl Forge {
    /// Opens the repository that contains a folder.
    pub fn open(from: &Path) -> Result<Self, Error> {
        Ok(Self { home: Home::find(from)? })
    }

    /// Returns the flows and roles of this repository.
    pub fn catalog(&self) -> Catalog {
        // Settings that cannot be read are refused where they are needed.
        self.catalog_with(&self.settings().unwrap_or_default())
    }

    /// Returns the flows and roles of this repository with those of these settings.
    pub(crate) fn catalog_with(&self, settings: &Settings) -> Catalog {
        let catalog = Catalog::from_folder(self.home.repository.top.as_deref());
        catalog.with_pipelines(&settings.pipelines)
    }

    /// Returns what is set here by all layers, with `forge.toml` as it lies in the checkout. What counts for
    /// a run is `settings_at` its base.
    pub fn settings(&self) -> Result<Settings, Error> {
        Ok(Settings::read(self.home.repository.top.as_deref())?)
    }

    /// Returns the setting of the terminal bell. If it cannot be read, it is on.
    pub fn bell(&self) -> Switch {
        self.settings().map_or(Switch::On, |settings| settings.notify.bell)
    }

    /// Reads the settings that were frozen at the start of a run.
    pub(crate) fn frozen(&self, run: &Run) -> Result<Frozen, Error> {
        frozen(run, &self.blobs()?)
    }

    /// Returns the content of a blob.
    pub fn blob(&self, blob: &Blob) -> Result<Vec<u8>, Error> {
        forge_driver::context::read_blob(&self.blobs()?, blob)
    }

    fn follow_refs(&self, id: &str, run: &Run) -> Result<Option<String>, Error> {
        let repository = &self.home.repository;
        refs::follow(repository, &repository.common_dir, id, run)
    }

    fn take_over(&self, id: &str, lock: RunLock) -> Result<Driver, Error> {
        let journal = Box::new(Store::open(&self.home.dir)?);
        let driver = Driver::take_over(&self.home, Machine::local(&self.home)?, journal, id, lock)?;
        self.refuse_agents_of(id, &driver)?;
        Ok(driver)
    }

    /// Fails for an agent, and for a process that a driver of this repository cannot see, whichever run it wants to
    /// change: it may be an agent of that driver.
    pub fn refuse_agents(&self) -> Result<(), Error> {
        refuse_agents()?;
        for (run, pid) in named_drivers(&self.home.dir) {
            let Err(flaw) = check_beside(pid.cast_signed()) else { continue };
            // One that has ended meanwhile, or was killed, hides nothing.
            let lock = RunLock::acquire_briefly(&self.home.dir, &run);
            if matches!(lock, Err(StoreError::Held { pid: Some(now), .. }) if now == pid) {
                return Err(refused_caller(&flaw));
            }
        }
        Ok(())
    }

    /// Fails for an agent, also where no driver is there to look at it: while its keeper lives it can hide in
    /// namespaces, and after its keeper was killed nobody is above it.
    fn refuse_agents_of(&self, id: &str, driver: &Driver) -> Result<(), Error> {
        check_own_process(&driver.lost_calls()?).map_err(|flaw| refused_caller(&flaw))?;
        for call in driver.run().calls().values() {
            let folder = self.home.attempt(id, call.ordinal);
            let steps = fs::read_dir(steps_of(&folder)).into_iter().flatten().flatten();
            let folders = steps.map(|step| step.path()).chain([folder]);
            for folder in folders.map(AttemptFolder::at) {
                if is_kept_elsewhere(&folder).unwrap_or(false) {
                    let flaw = CallerFlaw::OtherNamespace { namespace: "PID or user" };
                    return Err(refused_caller(&flaw));
                }
            }
        }
        Ok(())
    }

    /// Takes a run up again and drives it until it stops.
    pub fn resume(
        &self,
        prefix: &str,
        takeover: Takeover,
        tell: Tell<'_>,
    ) -> Result<RunOutcome, Error> {
        self.resume_hearing(prefix, takeover, &mut Signals::listen()?, &mut |_| {}, tell)
    }

    /// Does the same for a user interface that handles signals itself.
    pub fn resume_hearing(
        &self,
        prefix: &str,
        takeover: Takeover,
        signals: &mut Signals,
        began: &mut dyn FnMut(&str),
        tell: Tell<'_>,
    ) -> Result<RunOutcome, Error> {
        self.refuse_agents()?;
        let id = self.resolve(prefix)?;
        let lock = match RunLock::acquire(&self.home.dir, &id) {
            Ok(lock) => lock,
            Err(StoreError::Held { run, pid }) => {
                let Takeover::Resume { budget } = takeover else {
                    return Ok(RunOutcome::elsewhere(id));
                };
                let resume = Command::Resume { by: person(), budget };
                if budget.is_some() {
                    self.send_to_driver(&id, &resume)?;
                    return Ok(RunOutcome::elsewhere(id));
                }
                // If it is refused, the run goes on already, and nothing in it waits for a moment.
                if self.send_to_driver(&id, &resume).is_ok() {
                    return Ok(RunOutcome::elsewhere(id));
                }
                let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                return Err(Error::usage(
                    format!("{} is already running{pid}", short_id(&run)),
                    format!("forge attach {}", short_id(&run)),
                ));
            }
            Err(error) => return Err(error.into()),
        };
        let mut driver = self.take_over(&id, lock)?;
        driver.take_commands(tell)?;
        // Calls of a run that was stopped or given up must not outlive a driver that died meanwhile.
        if driver.is_to_be_stopped() {
            driver.drive(signals, tell)?;
        }
        // Whoever resumes after the last answer finds that there is nothing left to do. A run that
        // only lost its driver goes on as it is.
        let is_done = *driver.run().phase() == Phase::Over(End::Done);
        let resumed = match takeover {
            Takeover::Resume { budget: None } if is_done => None,
            Takeover::Resume { budget } => Some(budget),
            Takeover::AsItIs => None,
        };
        if let Some(budget) = resumed {
            let input = Input::Command(Command::Resume { by: person(), budget });
            match driver.submit(&input, tell)? {
                Ok(()) | Err(Refusal::AlreadyGoing) => {}
                Err(refusal) => return Err(refused(&id, &refusal)),
            }
        }
        began(&id);
        let how = driver.drive(signals, tell)?;
        Ok(RunOutcome::from_driver(&mut driver, id, how))
    }

    /// Sends a command to a run: to its driver, or into the journal if it has none.
    pub fn send(&self, id: &str, command: &Command) -> Result<Sent, Error> {
        self.refuse_agents()?;
        let command = &without_secrets(command.clone());
        match RunLock::acquire_briefly(&self.home.dir, id) {
            Ok(lock) => self.settle(id, lock, Some(command)).map(|()| Sent::Journaled),
            Err(StoreError::Held { .. }) => self.send_to_driver(id, command),
            Err(error) => Err(error.into()),
        }
    }

    /// Does as a driver would with a command, but starts nothing. What is to be stopped is stopped.
    pub(crate) fn settle(
        &self,
        id: &str,
        lock: RunLock,
        command: Option<&Command>,
    ) -> Result<(), Error> {
        let tell: Tell<'_> = &mut |_, _| {};
        let mut driver = self.take_over(id, lock)?;
        driver.take_commands(tell)?;
        let refusal = match command {
            Some(command) => driver.submit(&Input::Command(command.clone()), tell)?.err(),
            None => None,
        };
        // Also where the command means nothing any more: a driver may have died before it was done.
        if driver.is_to_be_stopped() {
            driver.drive(&mut Signals::listen()?, tell)?;
        }
        driver.show();
        refusal.map_or(Ok(()), |refusal| Err(refused(id, &refusal)))
    }

    /// Waits a moment for the calls of a run that was stopped. Returns how many have not ended.
    pub fn wait_for_calls(&self, id: &str) -> Result<usize, Error> {
        let began = Instant::now();
        loop {
            let alive = self.fold(id)?.0.calls().len();
            if alive == 0 || began.elapsed() >= STOP_WAIT {
                return Ok(alive);
            }
            std::thread::sleep(ANSWER_LOOK);
        }
    }

    fn send_to_driver(&self, id: &str, command: &Command) -> Result<Sent, Error> {
        let mut store = Store::open(&self.home.dir)?;
        let body = serde_json::to_string(command).expect("a command can be written");
        let person = person();
        let sent = store.insert_command(id, now(), &person.channel, &person.who, &body)?;
        let began = Instant::now();
        while began.elapsed() < ANSWER_WAIT {
            if let Some(taken) = outcome(&store, id, sent)? {
                return taken.map(|()| Sent::ToDriver);
            }
            // The driver may have gone just now. Then this process settles the command.
            if let Ok(lock) = RunLock::acquire_briefly(&self.home.dir, id) {
                self.settle(id, lock, None)?;
                if let Some(taken) = outcome(&store, id, sent)? {
                    return taken.map(|()| Sent::Journaled);
                }
            }
            std::thread::sleep(ANSWER_LOOK);
        }
        Err(Error::surroundings(
            format!("{} is busy; the command is queued and will be applied", short_id(id)),
            format!("forge status {}", short_id(id)),
        ))
    }

    /// Returns the run that a prefix means.
    pub fn resolve(&self, prefix: &str) -> Result<String, Error> {
        // Nothing is the beginning of everything; whoever says it forgot to say something.
        if prefix.is_empty() {
            return Err(Error::usage("the run name is empty", "forge status"));
        }
        Ok(self.read_store()?.resolve(prefix)?)
    }

    /// Returns the run that was changed last, for commands that name none.
    pub fn latest(&self) -> Result<String, Error> {
        let (rows, _) = self.rows(1)?;
        let row = rows.into_iter().next();
        row.map(|row| row.run)
            .ok_or_else(|| Error::usage("no runs yet", "forge run \"what you want\""))
    }

    /// Returns the line of one run, without reading its facts.
    pub fn row(&self, id: &str) -> Result<RunRow, Error> {
        parse_row(&self.read_store()?.row(id)?)
    }

    /// Returns the lines of the runs that changed last, at most this many, and how many runs there are.
    pub fn rows(&self, most: usize) -> Result<(Vec<RunRow>, u64), Error> {
        let Some(store) = self.find_store()? else { return Ok((Vec::new(), 0)) };
        let (rows, all) = store.latest(most)?;
        Ok((rows.iter().map(parse_row).collect::<Result<_, _>>()?, all))
    }

    /// Returns the lines of a list, and how many runs there are: all runs that are not over, then those that changed last.
    pub fn rows_to_list(&self) -> Result<(Vec<RunRow>, u64), Error> {
        let Some(store) = self.find_store()? else { return Ok((Vec::new(), 0)) };
        // A row keeps the word of its standing, and quotes inside of texts have a backslash.
        let words = |standing: Standing| format!(r#""standing":"{}""#, standing.as_str());
        let over = [Standing::Done, Standing::Abandoned, Standing::Failed, Standing::Blocked];
        let over = over.map(words);
        let mut rows = store.rows_without(&over.each_ref().map(String::as_str))?;
        let open: BTreeSet<String> = rows.iter().map(|row| row.run.clone()).collect();
        let (latest, all) = store.latest(LISTED_MAX)?;
        rows.extend(latest.into_iter().filter(|row| !open.contains(&row.run)));
        Ok((rows.iter().map(parse_row).collect::<Result<_, _>>()?, all))
    }

    /// Returns all of one run. Files that show it and are behind are brought up to date on the way.
    pub fn view(&self, id: &str) -> Result<RunView, Error> {
        let mut view = RunView::new(id, &self.caught_up(id)?);
        self.add_location(&mut view);
        self.add_differences(&mut view);
        Ok(view)
    }

    /// Completes what a driver left of a run. Of one that was driven elsewhere, it is read.
    pub fn complete(&self, id: &str, left: Option<LeftRun>) -> Result<LeftRun, Error> {
        let mut left = match left {
            Some(left) => left,
            None => LeftRun::new(id, &self.caught_up(id)?),
        };
        self.add_location(&mut left.view);
        self.add_differences(&mut left.view);
        left.result.row.branch.clone_from(&left.view.row.branch);
        Ok(left)
    }

    /// Returns a run, whose files are up to date then if they can be.
    pub(crate) fn caught_up(&self, id: &str) -> Result<Run, Error> {
        match self.catch_up(id) {
            Some(run) => Ok(run),
            None => Ok(self.fold(id)?.0),
        }
    }

    /// Returns true while a driver holds the lock of the run.
    pub fn is_driven(&self, id: &str) -> bool {
        // Other processes hold the lock for a moment, and leave no pid.
        matches!(RunLock::attempt(&self.home.dir, id), Err(StoreError::Held { pid: Some(_), .. }))
    }

    /// Returns the run and the number of its last record.
    pub fn fold(&self, id: &str) -> Result<(Run, u64), Error> {
        Ok(read_run(&self.read_store()?, id)?)
    }

    /// Returns the records of a run from a number on, with their facts.
    pub fn records(&self, id: &str, from: u64) -> Result<Vec<NumberedRecord>, Error> {
        let records = self.read_store()?.read(id, from)?;
        let read = |record: &JournalRecord| {
            let (seq, epoch) = (record.seq, record.epoch);
            Ok(NumberedRecord {
                seq,
                epoch,
                record: Record { at: record.at, facts: facts(record)? },
            })
        };
        records.iter().map(read).collect()
    }

    /// Opens the journal to read it, if there is one.
    pub(crate) fn find_store(&self) -> Result<Option<Store>, Error> {
        match Store::open_to_read(&self.home.dir) {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read_store(&self) -> Result<Store, Error> {
        Ok(Store::open_to_read(&self.home.dir)?)
    }

    pub(crate) fn blobs(&self) -> Result<Blobs, Error> {
        Blobs::open(&self.home.dir).map_err(|error| Error::file(&self.home.dir, &error))
    }

    /// Rebuilds the files of a run that are behind, after it has brought the branch to
    /// the result, which a driver does first. If it cannot, they stay behind.
    /// Gives the run, if it could be looked at under its lock.
    fn catch_up(&self, id: &str) -> Option<Run> {
        let _lock = RunLock::attempt(&self.home.dir, id).ok()?;
        // Read under the lock, so that nothing older is put over something newer.
        let (run, seq) = self.fold(id).ok()?;
        let catch_up = || -> Result<(), Error> {
            let mut projector = Projector::new(Arc::new(RealDisk), &self.home, id);
            let shown = projector.shown()?;
            if shown == seq && projector.state_shown() == Some(seq) {
                return Ok(());
            }
            // The driver may have died before the refs followed the last record, too.
            self.follow_refs(id, &run)?;
            projector.add(&self.read_store()?.read(id, shown + 1)?)?;
            projector.show(&run, seq, &self.blobs()?)
        };
        let _stays_behind = catch_up();
        Some(run)
    }

    /// Makes all files and rows anew from the records, but those of runs that are driven: their
    /// drivers do that all the time.
    pub fn rebuild(&self) -> Result<Rebuilt, Error> {
        self.refuse_agents()?;
        let mut rebuilt = Rebuilt::default();
        if self.find_store().is_ok_and(|store| store.is_none()) {
            return Ok(rebuilt);
        }
        let mut store = Store::open(&self.home.dir)?;
        let blobs = self.blobs()?;
        let rows = store.rows()?;
        for found in &rows {
            let id = &found.run;
            let lock = match RunLock::acquire_briefly(&self.home.dir, id) {
                Ok(lock) => lock,
                Err(StoreError::Held { .. }) => {
                    rebuilt.driven.push(id.clone());
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            match self.rebuild_one(&mut store, &blobs, &lock) {
                Ok(()) => rebuilt.n_made += 1,
                Err(error) => rebuilt.failed.push(format!("{}: {error}", short_id(id))),
            }
        }
        Ok(rebuilt)
    }

    fn rebuild_one(&self, store: &mut Store, blobs: &Blobs, lock: &RunLock) -> Result<(), Error> {
        let id = lock.run();
        let (run, last) = read_run(store, id)?;
        store.replace_row(lock, &forge_store::records::row(id, &run))?;
        let dir = self.home.run(id);
        for path in ["state.json", "events.jsonl", SUMMARY].map(|name| dir.join(name)) {
            remove(&path, fs::remove_file(&path))?;
        }
        let artifacts = dir.join("artifacts");
        remove(&artifacts, fs::remove_dir_all(&artifacts))?;
        let mut projector = Projector::new(Arc::new(RealDisk), &self.home, id);
        projector.add(&store.read(id, 1)?)?;
        projector.show(&run, last, blobs)?;
        // By files that are behind it would have been seen that this is missing.
        self.follow_refs(id, &run).map(|_| ())
    }
}

fn refused_caller(flaw: &CallerFlaw) -> Error {
    Error::usage(format!("this command is refused: {flaw}"), "run it in another terminal")
}

/// Returns what was said to a command, once somebody took it.
fn outcome(store: &Store, id: &str, sent: CommandId) -> Result<Option<Result<(), Error>>, Error> {
    let Some(text) = store.command_outcome(sent)? else { return Ok(None) };
    match serde_json::from_str::<CommandOutcome>(&text) {
        Ok(CommandOutcome::Accepted) => Ok(Some(Ok(()))),
        Ok(CommandOutcome::Refused { why }) => {
            Ok(Some(Err(Error::usage(why, format!("forge status {}", short_id(id))))))
        }
        Err(error) => Err(Error::surroundings(
            format!("the reply of the running process cannot be read: {error}"),
            "forge doctor",
        )),
    }
}

fn remove(path: &Path, removed: std::io::Result<()>) -> Result<(), Error> {
    match removed {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::file(path, &error)),
    }
}

/// Reads what a row of the journal says of its run.
fn parse_row(row: &JournalRow) -> Result<RunRow, Error> {
    serde_json::from_str(&row.row).map_err(|error| {
        let what = format!("the row of {} cannot be read: {error}", row.run);
        Error::surroundings(what, "forge doctor --rebuild")
    })
}
