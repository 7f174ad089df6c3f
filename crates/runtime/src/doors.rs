//! What the ways in can do: start a run, drive it, send it a command, read it.
//!
//! Doors decide nothing. A command goes to the run's driver if there is one; if not, the door
//! takes the lock, lets the law decide, journals, starts nothing, and lets go.
//!
//! Invariant: a changing command from inside an attempt is refused, so that no agent can answer
//! its own gate.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use forge_core::{
    Command, Input, Run,
    event::{self, Approvals, Blob, End, Limits, Person, Start},
    flow::{Check, FORMAT, Stage, Work},
    money::Money,
    run::Phase,
    view::{RunRow, RunView},
};

use crate::{
    Trouble,
    blobs::Blobs,
    catalog::{Catalog, Found},
    drive::{CommandOutcome, Driver, LetGo, Signals, Tell, facts, fold, refused},
    home::{Home, new_run_id, now},
    journal::{CommandId, Record, RunLock, Store, StoreError},
    projection::Projector,
    settings::{Agent, Settings},
    text::read_text,
};

/// How long a door waits for a driver to take its command.
const ANSWER_WAIT: Duration = Duration::from_secs(15);
/// How often a door looks whether its command was taken.
const ANSWER_LOOK: Duration = Duration::from_millis(20);

/// The most bytes of a scenario.
const SCENARIO_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// More runs than this are never listed.
pub const RUNS_MAX: usize = 1_000_000;

/// The ways in to the runs of one repository.
pub struct Doors {
    /// Where things lie.
    pub home: Home,
}

/// What a person wants to be run.
#[derive(Clone, Debug)]
pub struct Request {
    /// In their words.
    pub text: String,
    /// Which flow.
    pub flow: String,
    /// Choices, by parameter.
    pub params: BTreeMap<String, String>,
    /// Whether human gates marked `auto` may pass by themselves.
    pub approvals: Approvals,
    /// What the run may cost.
    pub budget: Option<Money>,
    /// What the scripted agent plays from.
    pub scenario: Option<PathBuf>,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The run's driver took it.
    ToDriver,
    /// There is no driver: it is journaled, and nothing was started.
    Journaled,
}

/// What was made anew from the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Rebuilt {
    /// How many runs were.
    pub n_made: u32,
    /// Runs that were not, because they are driven.
    pub driven: Vec<String>,
    /// Runs that could not be, and why.
    pub failed: Vec<String>,
}

/// How a run was left.
#[derive(Clone, Debug)]
pub struct Left {
    /// The run.
    pub run: String,
    /// How it was left.
    pub how: LetGo,
    /// Where it stood then, unless somebody else drives it.
    pub view: Option<RunView>,
    /// Why the files that show it are behind, if they are.
    pub behind: Option<String>,
}

impl Left {
    fn by(driver: &Driver, run: String, how: LetGo) -> Self {
        let view = Some(RunView::of(&run, driver.run()));
        Self { run, how, view, behind: driver.behind().map(ToString::to_string) }
    }

    fn elsewhere(run: String) -> Self {
        Self { run, how: LetGo::DrivenElsewhere, view: None, behind: None }
    }
}

impl Doors {
    /// The doors of the repository that a folder lies in.
    pub fn open(from: &Path) -> Result<Self, Trouble> {
        Ok(Self { home: Home::find(from)? })
    }

    /// The flows and roles of this repository.
    pub fn catalog(&self) -> Catalog {
        Catalog::of(self.home.repository.top.as_deref())
    }

    /// Starts a run and drives it until it stops.
    pub fn run(
        &self,
        request: &Request,
        began: &mut dyn FnMut(&str),
        tell: Tell<'_>,
    ) -> Result<Left, Trouble> {
        refuse_agents()?;
        if request.text.trim().is_empty() {
            let next = "forge run \"what you want, in plain words\"";
            return Err(Trouble::usage("the request is empty", next));
        }
        let settings = Settings::read(self.home.repository.top.as_deref())?;
        let found = self.catalog().flow(&request.flow)?;
        refuse_unsupported(&found)?;
        for (name, value) in &request.params {
            found.flow.accepts(name, value).map_err(|problem| {
                Trouble::usage(problem, format!("forge flow show {}", request.flow))
            })?;
        }
        let scenario = self.scenario(request, &settings, &found)?;
        // Everything that could be wrong was looked at: from here on, things are written. First the
        // journal: where that cannot be written, nothing else is.
        let store = Store::open(&self.home.dir)?;
        let blobs = self.blobs()?;
        let put = |bytes: &[u8]| -> Result<Blob, Trouble> {
            let blob = blobs.put(bytes);
            let blob = blob.map_err(|error| Trouble::file(&self.home.dir.join("blobs"), &error))?;
            Ok(Blob(blob.as_str().to_owned()))
        };
        let agent = match scenario {
            Some(text) => Agent::Scripted { scenario: put(text.as_bytes())? },
            None => Agent::Nobody,
        };
        let frozen = settings.freeze(agent);
        let mut roles = BTreeMap::new();
        for role in found.flow.roles() {
            let (text, _) = self.catalog().role_text(&found, role)?;
            roles.insert(role.to_owned(), put(text.as_bytes())?);
        }
        let text = serde_json::to_vec(&frozen).expect("settings can be written");
        let amount = |text: &Option<String>| text.as_deref().and_then(Money::parse);
        let start = Start {
            request: request.text.clone(),
            flow: request.flow.clone(),
            texts: found.texts,
            format: FORMAT,
            params: request.params.clone(),
            approvals: request.approvals,
            limits: Limits {
                budget: request.budget.or(amount(&settings.limits.budget)),
                call_budget: amount(&settings.limits.call_budget),
                at_once: settings.at_once(),
            },
            settings: Some(put(&text)?),
            roles,
            instructions: None,
            base: self.home.repository.head(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            by: person(),
        };
        let mut signals = Signals::listen()?;
        let id = new_run_id(&request.text);
        let mut driver = Driver::begin(&self.home, store, &id, start, frozen)?;
        began(&id);
        driver.tell_first(tell)?;
        let how = driver.drive(&mut signals, tell)?;
        Ok(Left::by(&driver, id, how))
    }

    fn scenario(
        &self,
        request: &Request,
        settings: &Settings,
        found: &Found,
    ) -> Result<Option<String>, Trouble> {
        if found.flow.roles().is_empty() {
            return Ok(None);
        }
        let set = settings.agents.scripted.scenario.as_ref();
        let set = set.and_then(|set| self.home.repository.top.as_ref().map(|top| top.join(set)));
        let Some(path) = request.scenario.clone().or(set) else {
            return Err(Trouble::usage(
                format!(
                    "the flow `{}` has roles, and no agent is set up to play them",
                    request.flow
                ),
                "this version has the scripted agent: `--scenario FILE`, or `[agents.scripted] scenario` in forge.toml",
            ));
        };
        let text = read_text(&path, SCENARIO_BYTES_MAX)?.ok_or_else(|| {
            let what = format!("there is no scenario {}", path.display());
            Trouble::usage(what, "`--scenario FILE`, or `[agents.scripted] scenario` in forge.toml")
        })?;
        let scenario = forge_agents::scripted::Scenario::parse(&text).map_err(|flaw| {
            Trouble::usage(
                format!("{}, {flaw}", path.display()),
                "mend the scenario, then try again",
            )
        })?;
        let plays = |role: &&str| {
            scenario
                .play
                .iter()
                .any(|play| play.role.as_deref().is_none_or(|played| played == *role))
        };
        if let Some(role) = found.flow.roles().into_iter().find(|role| !plays(role)) {
            let what = format!("{}: nobody plays the role `{role}`", path.display());
            return Err(Trouble::usage(what, format!("add a [[play]] with role = \"{role}\"")));
        }
        Ok(Some(text))
    }

    /// Takes a run up again and drives it until it stops.
    pub fn resume(
        &self,
        prefix: &str,
        budget: Option<Money>,
        began: &mut dyn FnMut(&str),
        tell: Tell<'_>,
    ) -> Result<Left, Trouble> {
        refuse_agents()?;
        let id = self.resolve(prefix)?;
        let lock = match RunLock::take(&self.home.dir, &id) {
            Ok(lock) => lock,
            Err(StoreError::Held { run, pid }) => {
                let is_held = matches!(self.fold(&id)?.0.phase(), Phase::Held(_));
                let resume = Command::Resume { by: person(), budget };
                if budget.is_some() {
                    self.send_to_driver(&id, &resume)?;
                    return Ok(Left::elsewhere(id));
                }
                // If it is refused, somebody else was faster, and the run goes on already.
                if is_held && self.send_to_driver(&id, &resume).is_ok() {
                    return Ok(Left::elsewhere(id));
                }
                let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                return Err(Trouble::usage(
                    format!("{run} is driven already{pid}"),
                    format!("forge log {run} --follow"),
                ));
            }
            Err(error) => return Err(error.into()),
        };
        let mut signals = Signals::listen()?;
        let mut driver = Driver::take_over(&self.home, &id, lock)?;
        driver.take_commands(tell)?;
        began(&id);
        // Calls of a run that was stopped or given up must not outlive a driver that died meanwhile.
        if driver.is_to_be_stopped() {
            driver.drive(&mut signals, tell)?;
        }
        // Whoever resumes after the last answer finds that there is nothing left to do. A run that
        // only lost its driver goes on as it is.
        let is_done = *driver.run().phase() == Phase::Over(End::Done) && budget.is_none();
        if !is_done && (*driver.run().phase() != Phase::Going || budget.is_some()) {
            let input = Input::Command(Command::Resume { by: person(), budget });
            driver.put(&input, tell)?.map_err(|refusal| refused(&id, &refusal))?;
        }
        let how = driver.drive(&mut signals, tell)?;
        Ok(Left::by(&driver, id, how))
    }

    /// Sends a command to a run: to its driver, or into the journal if it has none.
    pub fn send(&self, id: &str, command: &Command) -> Result<Sent, Trouble> {
        refuse_agents()?;
        match RunLock::take_briefly(&self.home.dir, id) {
            Ok(lock) => self.settle(id, lock, Some(command)).map(|()| Sent::Journaled),
            Err(StoreError::Held { .. }) => self.send_to_driver(id, command),
            Err(error) => Err(error.into()),
        }
    }

    /// Does as a driver would with a command, but starts nothing. What is to be stopped is stopped.
    fn settle(&self, id: &str, lock: RunLock, command: Option<&Command>) -> Result<(), Trouble> {
        let tell: Tell<'_> = &mut |_| {};
        let mut driver = Driver::take_over(&self.home, id, lock)?;
        driver.take_commands(tell)?;
        let refusal = match command {
            Some(command) => driver.put(&Input::Command(command.clone()), tell)?.err(),
            None => None,
        };
        // Also where the command means nothing any more: a driver may have died before it was done.
        if driver.is_to_be_stopped() {
            driver.drive(&mut Signals::listen()?, tell)?;
        }
        driver.show();
        refusal.map_or(Ok(()), |refusal| Err(refused(id, &refusal)))
    }

    fn send_to_driver(&self, id: &str, command: &Command) -> Result<Sent, Trouble> {
        let mut store = Store::open(&self.home.dir)?;
        let body = serde_json::to_string(command).expect("a command can be written");
        let person = person();
        let sent = store.insert_command(id, now(), &person.door, &person.who, &body)?;
        let began = Instant::now();
        while began.elapsed() < ANSWER_WAIT {
            if let Some(taken) = outcome(&store, id, sent)? {
                return taken.map(|()| Sent::ToDriver);
            }
            // The driver may have gone just now. Then the command is ours to settle.
            if let Ok(lock) = RunLock::take_briefly(&self.home.dir, id) {
                self.settle(id, lock, None)?;
                if let Some(taken) = outcome(&store, id, sent)? {
                    return taken.map(|()| Sent::Journaled);
                }
            }
            std::thread::sleep(ANSWER_LOOK);
        }
        Err(Trouble::surroundings(
            format!("the driver of {id} has not taken the command; it is kept and will be"),
            format!("forge status {id}"),
        ))
    }

    /// The run that a prefix means.
    pub fn resolve(&self, prefix: &str) -> Result<String, Trouble> {
        // Nothing is the beginning of everything; whoever says it forgot to say something.
        if prefix.is_empty() {
            return Err(Trouble::usage("the run has no name", "forge status"));
        }
        Ok(self.read_store()?.resolve(prefix)?)
    }

    /// The run that was changed last, for commands that name none.
    pub fn latest(&self) -> Result<String, Trouble> {
        let (rows, _) = self.rows(1)?;
        let row = rows.into_iter().next();
        row.map(|row| row.run)
            .ok_or_else(|| Trouble::usage("there are no runs yet", "forge run \"what you want\""))
    }

    /// The lines of the runs that changed last, at most this many, and how many runs there are.
    pub fn rows(&self, most: usize) -> Result<(Vec<RunRow>, u64), Trouble> {
        let store = match Store::open_to_read(&self.home.dir) {
            Ok(store) => store,
            Err(StoreError::Missing { .. }) => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error.into()),
        };
        let (rows, all) = store.latest(most)?;
        let parsed = rows.iter().map(|row| {
            serde_json::from_str(&row.row).map_err(|error| {
                let what = format!("the row of {} cannot be read: {error}", row.run);
                Trouble::surroundings(what, "forge doctor --rebuild")
            })
        });
        Ok((parsed.collect::<Result<_, _>>()?, all))
    }

    /// All of one run. Files that show it and are behind are brought up to date on the way.
    pub fn view(&self, id: &str) -> Result<RunView, Trouble> {
        let run = match self.catch_up(id) {
            Some(run) => run,
            None => self.fold(id)?.0,
        };
        Ok(RunView::of(id, &run))
    }

    /// Whether a driver holds the run now.
    pub fn is_driven(&self, id: &str) -> bool {
        // Other doors hold the lock for a moment, and leave no pid.
        matches!(RunLock::attempt(&self.home.dir, id), Err(StoreError::Held { pid: Some(_), .. }))
    }

    /// The run and its records.
    pub fn fold(&self, id: &str) -> Result<(Run, Vec<Record>), Trouble> {
        let records = self.read_store()?.read(id, 1)?;
        Ok((fold(&records)?, records))
    }

    /// The records of a run from a number on, with their facts.
    pub fn records(&self, id: &str, from: u64) -> Result<Vec<(u64, event::Record)>, Trouble> {
        let records = self.read_store()?.read(id, from)?;
        records
            .iter()
            .map(|record| Ok((record.seq, event::Record { at: record.at, facts: facts(record)? })))
            .collect()
    }

    fn read_store(&self) -> Result<Store, Trouble> {
        Ok(Store::open_to_read(&self.home.dir)?)
    }

    fn blobs(&self) -> Result<Blobs, Trouble> {
        Blobs::open(&self.home.dir).map_err(|error| Trouble::file(&self.home.dir, &error))
    }

    /// A door that finds the files of a run behind makes them anew. If it cannot, they stay behind.
    /// Gives the run, if it could be looked at under its lock.
    fn catch_up(&self, id: &str) -> Option<Run> {
        let _lock = RunLock::attempt(&self.home.dir, id).ok()?;
        // Read under the lock, so that nothing older is put over something newer.
        let (run, records) = self.fold(id).ok()?;
        let catch_up = || -> Result<(), Trouble> {
            let mut projector = Projector::new(&self.home, id);
            let seq = records.last().map_or(0, |record| record.seq);
            if projector.shown()? == seq && projector.state_shown() == Some(seq) {
                return Ok(());
            }
            projector.add(&records)?;
            projector.show(&run, seq, &self.blobs()?)
        };
        let _stays_behind = catch_up();
        Some(run)
    }

    /// Makes all files and rows anew from the records, but those of runs that are driven: their
    /// drivers do that all the time.
    pub fn rebuild(&self) -> Result<Rebuilt, Trouble> {
        refuse_agents()?;
        let mut rebuilt = Rebuilt::default();
        if let Err(StoreError::Missing { .. }) = Store::open_to_read(&self.home.dir) {
            return Ok(rebuilt);
        }
        let mut store = Store::open(&self.home.dir)?;
        let blobs = self.blobs()?;
        let rows = store.rows()?;
        for found in &rows {
            let id = &found.run;
            let lock = match RunLock::take_briefly(&self.home.dir, id) {
                Ok(lock) => lock,
                Err(StoreError::Held { .. }) => {
                    rebuilt.driven.push(id.clone());
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            match self.rebuild_one(&mut store, &blobs, &lock) {
                Ok(()) => rebuilt.n_made += 1,
                Err(trouble) => rebuilt.failed.push(format!("{id}: {trouble}")),
            }
        }
        Ok(rebuilt)
    }

    fn rebuild_one(&self, store: &mut Store, blobs: &Blobs, lock: &RunLock) -> Result<(), Trouble> {
        let id = lock.run();
        let records = store.read(id, 1)?;
        let run = fold(&records)?;
        store.replace_row(lock, &crate::drive::row(id, &run))?;
        let dir = self.home.run(id);
        for path in [dir.join("state.json"), dir.join("events.jsonl")] {
            remove(&path, fs::remove_file(&path))?;
        }
        let artifacts = dir.join("artifacts");
        remove(&artifacts, fs::remove_dir_all(&artifacts))?;
        let mut projector = Projector::new(&self.home, id);
        projector.add(&records)?;
        projector.show(&run, records.last().map_or(0, |record| record.seq), blobs)
    }
}

/// What was said to a command, once somebody took it.
fn outcome(
    store: &Store,
    id: &str,
    sent: CommandId,
) -> Result<Option<Result<(), Trouble>>, Trouble> {
    let Some(text) = store.command_outcome(sent)? else { return Ok(None) };
    match serde_json::from_str::<CommandOutcome>(&text) {
        Ok(CommandOutcome::Accepted) => Ok(Some(Ok(()))),
        Ok(CommandOutcome::Refused { why }) => {
            Ok(Some(Err(Trouble::usage(why, format!("forge status {id}")))))
        }
        Err(error) => Err(Trouble::surroundings(
            format!("the driver's answer cannot be read: {error}"),
            "forge doctor",
        )),
    }
}

fn remove(path: &Path, removed: std::io::Result<()>) -> Result<(), Trouble> {
    match removed {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Trouble::file(path, &error)),
    }
}

/// Who speaks: the name by which the system knows the user.
pub fn person() -> Person {
    let known = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let uid = rustix::process::getuid().as_raw();
    let who = known.filter(|who| !who.is_empty()).or_else(|| user_name(uid));
    Person { who: who.unwrap_or_else(|| format!("uid {uid}")), door: "cli".to_owned() }
}

fn user_name(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().map(|line| line.split(':').collect::<Vec<&str>>());
    let user = fields.find(|fields| fields.get(2) == Some(&uid.to_string().as_str()))?;
    user.first().map(|name| (*name).to_owned())
}

/// No agent answers its own gate.
pub fn refuse_agents() -> Result<(), Trouble> {
    match forge_agents::inside_attempt() {
        None => Ok(()),
        Some(attempt) => Err(Trouble::usage(
            format!("this is inside an attempt ({attempt}), and agents do not change runs"),
            "leave what you have to say in result.json",
        )),
    }
}

/// Flows may say more than this version can do. That is found out before anything is created.
fn refuse_unsupported(found: &Found) -> Result<(), Trouble> {
    fn find(stages: &[Stage]) -> Option<(&Stage, &'static str)> {
        for stage in stages {
            if matches!(stage.work, Work::Deliver { .. }) {
                return Some((stage, "deliver"));
            }
            for gate in &stage.gates {
                match gate.check {
                    Check::Verify => return Some((stage, "verify")),
                    Check::Land => return Some((stage, "land")),
                    Check::BuiltIn { .. } => return Some((stage, "check")),
                    Check::Artifact { .. }
                    | Check::Command { .. }
                    | Check::Review { .. }
                    | Check::Human { .. } => {}
                }
            }
            if let Some(inner) = find(stage.inner()) {
                return Some(inner);
            }
        }
        None
    }
    match find(&found.flow.stages) {
        None => Ok(()),
        Some((stage, what)) => Err(Trouble::usage(
            format!(
                "the flow `{}` is right, but its stage `{}` uses `{what}`, which this version cannot do: runs work in a folder of their own, without a git workspace",
                found.flow.name, stage.name
            ),
            "use a flow without verify, land, check and deliver",
        )),
    }
}
