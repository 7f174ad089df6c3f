//! A whole run on a simulated machine: begun, driven, killed, taken over, answered, and looked at.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::PathBuf,
    rc::Rc,
    sync::Arc,
};

use forge_core::{
    Command, Run,
    event::{self, Answer, Approvals, Blob, Choice, Detail, Limits, Person, QuestionReason, Start},
    run::{AskedQuestion, EndedCall},
    view::{Course, Standing},
};
use forge_driver::{
    Error,
    layout::Home,
    run_loop::{DriveEnd, Driver, KnownSecrets, Machine as DriverMachine, Notices},
    seats::Seats,
    signals::Signals,
};
use forge_project::{
    catalog::Catalog,
    settings::{Frozen, Settings, SourceFile, Sources},
};
use forge_store::{
    blobs::Blobs,
    disk::SyncPoint,
    journal::{Journal as _, SimulatedJournal, projection},
    records::{facts, fold},
};
use forge_workspace::Repository;

use super::{
    chance::Chance,
    disk::{Crash, DiskFault},
    executor::SimulatedExecutor,
    faults::Fault,
    history::{Files, SimulatedHistory},
    machine::{Machine, OLD_TEST},
    promises,
};

/// The name of the only run.
pub(crate) const RUN: &str = "run";

/// Drivers that one run may use up.
const DRIVERS_MAX: u32 = 60;
/// Answers that one run may get. Then it is given up.
const ANSWERS_MAX: u32 = 12;

/// A flow of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flow {
    Draft,
    Change,
    Feature,
    /// Eight tasks, each through seven roles.
    Sprint,
    /// Commands that only read, one after the other, in a project without a set-up.
    Commands,
}

const COMMANDS: &str = "name = 'commands'\n[[stage]]\nname = 'a'\ncommand = 'check'\n[[stage]]\nname = 'b'\ncommand = 'check'\n[[stage]]\nname = 'c'\ncommand = 'check'\n";

impl Flow {
    pub(crate) const ALL: [Flow; 5] =
        [Flow::Draft, Flow::Change, Flow::Feature, Flow::Sprint, Flow::Commands];

    fn name(self) -> &'static str {
        match self {
            Flow::Draft => "draft",
            Flow::Change => "change",
            Flow::Feature => "feature",
            Flow::Sprint => "sprint",
            Flow::Commands => "commands",
        }
    }
}

/// One run to simulate. Everything follows from it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) flow: Flow,
    pub(crate) faults: Vec<Fault>,
    /// Writes that go wrong, by their number, beside those of `faults`.
    pub(crate) writes: Vec<(u64, DiskFault)>,
    /// Whether the power goes with the driver.
    pub(crate) power: Power,
    /// A sync that is left out.
    pub(crate) without: Option<SyncPoint>,
}

/// What a driver takes with it when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    /// Nothing: all other processes go on, and everything that was written is there.
    Stays,
    /// All that was not synced.
    Goes,
    /// The one or the other.
    ByChance,
}

impl Case {
    pub(crate) fn new(seed: u64, flow: Flow, faults: &[Fault]) -> Self {
        let (faults, power) = (faults.to_vec(), Power::ByChance);
        Self { seed, flow, faults, writes: Vec::new(), power, without: None }
    }
}

/// What a case came to.
#[derive(Debug)]
pub(crate) struct Simulated {
    pub(crate) happened: Vec<Fault>,
    pub(crate) n_writes: u64,
    pub(crate) broken: Vec<String>,
    pub(crate) standing: Standing,
    pub(crate) n_records: u64,
    /// What stood in the way, by calls that were blocked.
    pub(crate) blocked: Vec<String>,
    /// How long each look of `verify` took that ran something.
    pub(crate) verified_in_ms: Vec<u64>,
    /// How often the set-up was run.
    pub(crate) n_setups: usize,
    /// Calls whose checkout was opened.
    pub(crate) n_opened: usize,
}

/// What does not change between cases of a flow, and is costly to make.
pub(crate) struct Template {
    texts: BTreeMap<String, String>,
    roles: BTreeMap<String, String>,
    params: BTreeMap<String, String>,
    frozen: Frozen,
    home: Home,
    secrets: KnownSecrets,
}

impl Template {
    /// The same, with another check.
    pub(crate) fn with_check(flow: Flow, line: &str) -> Self {
        let mut template = Self::new(flow);
        template.frozen.verify.commands = vec![line.to_owned()];
        template
    }

    /// The same, with a set-up of which nobody knows what it depends on.
    pub(crate) fn without_setup_inputs(flow: Flow) -> Self {
        let mut template = Self::new(flow);
        template.frozen.setup_inputs.clear();
        template
    }

    pub(crate) fn new(flow: Flow) -> Self {
        let catalog = Catalog::from_folder(None);
        if flow == Flow::Commands {
            let mut template = Self::new(Flow::Draft);
            template.texts = BTreeMap::from([(flow.name().to_owned(), COMMANDS.to_owned())]);
            template.roles.clear();
            template.frozen.setup.clear();
            return template;
        }
        let found = catalog.flow(flow.name()).expect("a shipped flow");
        let text = "agent = \"sim\"\n[agents.sim]\ncommand = [\"sim\"]\n[verify]\ncommands = [\"check\"]\n[workspace]\nsetup = [\"prepare\"]\nsetup_inputs = [\"package.json\"]\n";
        let file = SourceFile { name: "user".into(), text: text.into() };
        let sources = Sources { user: Some(file), ..Sources::default() };
        let settings = Settings::from_sources(&sources).expect("these settings are good");
        let names: Vec<&str> = found.flow.roles().into_iter().collect();
        let frozen = settings.freeze_cast(&names, None);
        let role = |name: &str| {
            let (text, _) = catalog.role_text(&found, name).expect("a shipped role");
            (name.to_owned(), text)
        };
        let params: &[(&str, &str)] = match flow {
            Flow::Draft | Flow::Change | Flow::Sprint | Flow::Commands => &[],
            Flow::Feature => &[("effort", "S"), ("pr", "yes"), ("source", "text")],
        };
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let repository = Repository {
            common_dir: PathBuf::from("/simulated/.git"),
            top: Some(PathBuf::from("/simulated")),
        };
        Self {
            texts: found.texts.clone(),
            roles: names.iter().map(|name| role(name)).collect(),
            params: params.iter().map(own).collect(),
            frozen,
            home: Home { dir: repository.common_dir.join("forge"), repository },
            secrets: KnownSecrets::new(Vec::new()),
        }
    }
}

/// A run on a simulated machine.
struct World<'a> {
    template: &'a Template,
    case: &'a Case,
    machine: Rc<Machine>,
    base: String,
}

/// Simulates a case to its end, and looks at all promises.
pub(crate) fn simulate(template: &Template, case: &Case) -> Simulated {
    let mut files = Files::from([("README".to_owned(), "project".to_owned())]);
    // Trials of the checks are many steps, and the same in each flow.
    if case.flow == Flow::Feature && case.seed % 4 == 1 {
        files.insert(OLD_TEST.to_owned(), String::new());
    }
    let (history, base) = SimulatedHistory::with_base(files);
    let tasks = match case.flow {
        Flow::Draft | Flow::Commands => 0,
        Flow::Change => 2,
        Flow::Feature => 3,
        Flow::Sprint => 8,
    };
    let journal = template.home.dir.join("journal.log");
    let machine = Machine::new(case.seed, tasks, case.faults.clone(), history, journal);
    let machine = Rc::new(machine);
    if let Some(point) = case.without {
        machine.disk.ignore(point);
    }
    machine.disk.write_synced(&template.home.repository.common_dir.join("HEAD"), b"");
    let world = World { template, case, machine, base };
    world.run_to_the_end()
}

fn person() -> Person {
    Person { who: "ada".into(), channel: "simulated".into() }
}

impl World<'_> {
    fn run_to_the_end(&self) -> Simulated {
        let machine = &self.machine;
        self.plan_disk_faults();
        let (mut n_drivers, mut n_answers, mut n_reopened) = (0, 0, 0);
        let (mut standing, mut error) = (Standing::Going, String::new());
        loop {
            n_drivers += 1;
            if n_drivers > DRIVERS_MAX {
                machine.breaks(format!(
                    "{DRIVERS_MAX} drivers were not enough; it stands at {standing:?}: {error}"
                ));
                break;
            }
            // What was not reached yet comes no more.
            if n_drivers > DRIVERS_MAX / 2 {
                machine.disk.heal();
                machine.faults.borrow_mut().clear();
            }
            match Self::catch(|| self.drive()) {
                None => {
                    let goes = match self.case.power {
                        Power::Stays => false,
                        Power::Goes => true,
                        Power::ByChance => machine.chance.borrow_mut().percent(30),
                    };
                    if goes {
                        machine.lose_power();
                    } else {
                        promises::state_is_shown_last(machine, &self.template.home);
                    }
                    promises::after_a_crash(machine, &self.template.home);
                }
                Some(Err(why)) => {
                    error = why.to_string();
                    if error.contains("No space left") {
                        machine.disk.free();
                    }
                }
                Some(Ok(DriveEnd::TerminalGone | DriveEnd::DrivenElsewhere)) => {}
                Some(Ok(DriveEnd::Stopped(stopped))) => {
                    standing = stopped;
                    match stopped.course() {
                        Course::Over => break,
                        Course::Driven => machine.breaks("a driver let go of a run that goes on"),
                        Course::Held => self.send(&Command::Resume { by: person(), budget: None }),
                        Course::Failed if n_reopened < 2 => {
                            n_reopened += 1;
                            self.send(&Command::Resume { by: person(), budget: None });
                        }
                        Course::Asking if n_answers < ANSWERS_MAX => {
                            n_answers += 1;
                            self.answer();
                        }
                        Course::Failed | Course::Asking => {
                            self.send(&Command::Abandon { by: person() });
                        }
                    }
                }
            }
            if !machine.broken.borrow().is_empty() {
                break;
            }
        }
        machine.disk.heal();
        let n_records = promises::at_the_end(machine, &self.template.home);
        let why = |asked: &AskedQuestion| match &asked.question.why {
            QuestionReason::Blocked { what, .. } => Some(what.clone()),
            _ => None,
        };
        let verified_in =
            |call: &EndedCall| (call.call.gate()? == "verify").then_some(call.took_ms);
        let proofs = self.machine.proofs.borrow();
        let n_setups = proofs.iter().filter(|(_, line, _)| line == "prepare").count();
        let verified_in_ms =
            machine.run.borrow().history().calls.iter().filter_map(verified_in).collect();
        let blocked = machine.run.borrow().history().asked.iter().filter_map(why).collect();
        Simulated {
            happened: machine.all_that_happened(),
            n_writes: machine.disk.n_writes(),
            broken: machine.broken.borrow().clone(),
            standing,
            n_records,
            blocked,
            verified_in_ms,
            n_setups,
            n_opened: machine
                .steps
                .borrow()
                .keys()
                .filter(|path| path.ends_with("steps/open"))
                .count(),
        }
    }

    /// Runs what may be killed. Nothing if it was.
    fn catch<T>(act: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(act)) {
            Ok(done) => Some(done),
            Err(payload) if payload.is::<Crash>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Faults of the disk come at writes by chance; a run has some hundreds of them.
    fn plan_disk_faults(&self) {
        let span = match self.case.flow {
            Flow::Draft | Flow::Commands => 60,
            Flow::Change => 200,
            Flow::Feature => 400,
            Flow::Sprint => 1_500,
        };
        let mut chance = Chance::new(self.case.seed.wrapping_mul(31));
        for fault in &self.case.faults {
            let how = match fault {
                Fault::DiskFull => DiskFault::Full,
                Fault::WriteFails => DiskFault::Broken,
                Fault::SyncFails => DiskFault::SyncFails,
                Fault::RenameFails => DiskFault::RenameFails,
                Fault::CrashBeforeWrite => DiskFault::CrashBefore,
                Fault::CrashAfterWrite => DiskFault::CrashAfter,
                _ => continue,
            };
            self.machine.disk.fail_at(1 + chance.below(span), how);
        }
        for (write, fault) in &self.case.writes {
            self.machine.disk.fail_at(*write, *fault);
        }
    }

    fn driver_machine(&self) -> DriverMachine {
        DriverMachine {
            executor: Rc::new(SimulatedExecutor(self.machine.clone(), self.machine.next_key())),
            disk: self.machine.disk.clone(),
            code: self.machine.history.clone(),
            program: PathBuf::from("/simulated/forge"),
            seats: Seats::new(None, |_| Ok(Vec::new())),
            notices: Notices::Unsent,
            secrets: Some(self.template.secrets.clone()),
        }
    }

    fn journal(&self) -> Result<SimulatedJournal, Error> {
        Ok(SimulatedJournal::open(self.machine.disk.clone(), &self.template.home.dir)?)
    }

    /// One driver, from its start to its end.
    fn drive(&self) -> Result<DriveEnd, Error> {
        let (mut signals, sender) = Signals::channel()?;
        self.machine.signals.replace(Some(sender));
        let weak = Rc::downgrade(&self.machine);
        let (home, case) = (self.template.home.clone(), self.case.clone());
        let again = move |machine: Rc<Machine>| {
            let template = Template { home: home.clone(), ..Template::empty() };
            let base = String::new();
            let world = World { template: &template, case: &case, machine, base };
            let _ = World::catch(|| world.take_over_and_drive());
        };
        self.machine.second_driver.replace(Some(Box::new(move || {
            if let Some(machine) = weak.upgrade() {
                again(machine);
            }
        })));
        let weak = Rc::downgrade(&self.machine);
        let dir = self.template.home.dir.clone();
        self.machine.pause.replace(Some(Box::new(move || {
            if let Some(machine) = weak.upgrade()
                && let Ok(mut journal) = SimulatedJournal::open(machine.disk.clone(), &dir)
            {
                let pause = Command::Pause { by: person() };
                let body = serde_json::to_string(&pause).expect("a command can be written");
                let _ = journal.insert_command(RUN, 1, "simulated", "ada", &body);
            }
        })));
        let journal = self.journal()?;
        if journal.read(RUN, 1).is_ok() {
            return self
                .take_over(journal)?
                .drive(&mut signals, &mut |_, record| self.published(record));
        }
        let mut driver = self.begin(journal)?;
        driver.tell_first(&mut |_, record| self.published(record))?;
        driver.hear_time(&mut |_, record| self.published(record))?;
        driver.drive(&mut signals, &mut |_, record| self.published(record))
    }

    fn take_over_and_drive(&self) -> Result<DriveEnd, Error> {
        let (mut signals, _sender) = Signals::channel()?;
        let mut driver = self.take_over(self.journal()?)?;
        driver.drive(&mut signals, &mut |_, record| self.published(record))
    }

    fn take_over(&self, journal: SimulatedJournal) -> Result<Driver, Error> {
        let records = journal.read(RUN, 1)?;
        self.machine.run.replace(fold(&records)?);
        let lock = journal.lock(RUN)?;
        Driver::take_over(&self.template.home, self.driver_machine(), Box::new(journal), RUN, lock)
    }

    fn begin(&self, journal: SimulatedJournal) -> Result<Driver, Error> {
        let home = &self.template.home;
        let blobs = Blobs::open_on(self.machine.disk.clone(), &home.dir);
        let blobs = blobs.map_err(|error| Error::file(&home.dir, &error))?;
        let put = |text: &[u8]| -> Result<Blob, Error> {
            let id = blobs.add(text).map_err(|error| Error::file(&home.dir, &error))?;
            Ok(Blob(id.as_str().to_owned()))
        };
        let mut roles = BTreeMap::new();
        for (name, text) in &self.template.roles {
            roles.insert(name.clone(), put(text.as_bytes())?);
        }
        let frozen = self.template.frozen.clone();
        let settings = put(&serde_json::to_vec(&frozen).expect("settings can be written"))?;
        let start = Start {
            request: "do it".into(),
            flow: self.case.flow.name().into(),
            texts: self.template.texts.clone(),
            format: forge_core::flow::FORMAT,
            params: self.template.params.clone(),
            approvals: if self.case.seed.is_multiple_of(4) {
                Approvals::ByPeople
            } else {
                Approvals::Automatic
            },
            limits: Limits { budget: None, call_budget: None, at_once: 3, unpriced_calls: None },
            settings: Some(settings),
            roles,
            skills: BTreeMap::new(),
            architecture: None,
            instructions: None,
            base: Some(self.base.clone()),
            base_branch: Some("main".into()),
            branch: (self.case.flow != Flow::Draft).then(|| "forge/run".to_owned()),
            onto: None,
            chosen: BTreeMap::new(),
            source: None,
            detail: Detail::default(),
            coherence: None,
            on_overlap: None,
            routing: None,
            about: None,
            lists: BTreeMap::new(),
            ending_key: None,
            version: "0".into(),
            by: person(),
        };
        Driver::begin(home, self.driver_machine(), Box::new(journal), RUN, start, frozen)
    }

    /// What was told is durable.
    fn published(&self, record: &event::Record) {
        if !self.machine.disk.is_synced(&self.machine.journal) {
            self.machine.breaks("a fact was published before it was durable");
        }
        self.machine.published.borrow_mut().push(record.clone());
        let mut run = self.machine.run.replace(Run::new());
        run.apply_record(record);
        self.machine.run.replace(run);
    }

    fn send(&self, command: &Command) {
        let body = serde_json::to_string(command).expect("a command can be written");
        Self::catch(|| {
            if let Ok(mut journal) = self.journal() {
                let _ = journal.insert_command(RUN, 1, "simulated", "ada", &body);
            }
        });
    }

    /// Answers the first open question, mostly so that the run goes on.
    fn answer(&self) {
        let question = self.machine.run.borrow().questions().next().cloned();
        let Some(question) = question else {
            self.machine.breaks("a run waits for an answer to no question");
            return;
        };
        let mut chance = self.machine.chance.borrow_mut();
        let liked = [Choice::Approve, Choice::Retry, Choice::Waive, Choice::Revise, Choice::GiveUp];
        let choice = if chance.percent(80) {
            liked.into_iter().find(|choice| question.options.contains(choice))
        } else {
            let n = chance.below(question.options.len() as u64);
            question.options.get(usize::try_from(n).expect("a place")).copied()
        };
        drop(chance);
        let answer = match choice {
            Some(Choice::Approve) => Answer::Approve,
            Some(Choice::Revise) => Answer::Revise,
            Some(Choice::Retry) => Answer::Retry,
            Some(Choice::Waive) => {
                Answer::Waive { gate: question.gate.clone().unwrap_or_default() }
            }
            Some(Choice::GiveUp) | None => Answer::GiveUp,
        };
        let words = "words".to_owned();
        self.send(&Command::Answer { question: question.id, answer, words, by: person() });
    }
}

impl Template {
    fn empty() -> Self {
        let settings = Settings::default();
        let repository = Repository { common_dir: PathBuf::new(), top: None };
        Self {
            texts: BTreeMap::new(),
            roles: BTreeMap::new(),
            params: BTreeMap::new(),
            frozen: settings.freeze(forge_project::settings::AgentChoice::Nobody),
            home: Home { dir: PathBuf::new(), repository },
            secrets: KnownSecrets::new(Vec::new()),
        }
    }
}

/// The records of the run as its journal has them now.
pub(crate) fn records_of(machine: &Machine, home: &Home) -> Vec<event::Record> {
    let Ok(journal) = SimulatedJournal::open(machine.disk.clone(), &home.dir) else {
        return Vec::new();
    };
    let records = journal.read(RUN, 1).unwrap_or_default();
    let record = |record: &forge_store::journal::JournalRecord| event::Record {
        at: record.at,
        facts: facts(record).expect("facts can be read"),
    };
    records.iter().map(record).collect()
}

/// Where `events.jsonl` of the run lies.
pub(crate) fn events_file(home: &Home) -> PathBuf {
    projection(&home.dir, RUN)
}

/// The blobs of the machine.
pub(crate) fn blobs_of(machine: &Machine, home: &Home) -> Blobs {
    Blobs::open_on(machine.disk.clone() as Arc<dyn forge_store::disk::Disk>, &home.dir)
        .expect("a disk that is healed")
}
