//! A machine in memory: a clock, keepers, agents, commands, and what goes wrong with them.
//!
//! Steps belong to the machine and not to the driver: they go on while no driver is there.
//!
//! Invariant: everything follows from the seed.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use forge_core::{
    Run, Time,
    event::{Colour, Record},
    id::CallId,
    inbox::artifact_name,
};
use forge_driver::plan::workspace_worker::OperationAnswer;
use forge_keeper::{AttemptFolder, Ending, ExitReason, Spec};
use forge_store::disk::Disk as _;
use forge_workspace::{Operation, WorkspaceError};
use serde_json::{Value, json};

use super::{
    chance::Chance,
    disk::{DiskFault, SimulatedDisk},
    faults::{Fault, OUT_OF_ORDER, TURN_MICROS},
    history::{Files, SimulatedHistory, code_tree},
};

/// A test that some projects have.
pub(crate) const OLD_TEST: &str = "tests/test_a.py";

/// The test that the second task brings to them.
const NEW_TEST: &str = "tests/test_t2.py";

/// The machine of one simulated run.
pub(crate) struct Machine {
    pub(crate) disk: Arc<SimulatedDisk>,
    pub(crate) history: Rc<SimulatedHistory>,
    pub(crate) chance: RefCell<Chance>,
    /// The run as it was last published.
    pub(crate) run: RefCell<Run>,
    /// All records that were published.
    pub(crate) published: RefCell<Vec<Record>>,
    /// What is still to go wrong.
    pub(crate) faults: RefCell<Vec<Fault>>,
    pub(crate) happened: RefCell<BTreeSet<Fault>>,
    /// Promises that were broken.
    pub(crate) broken: RefCell<Vec<String>>,
    /// What commands came to, by code tree and line.
    pub(crate) proofs: RefCell<Vec<(String, String, Colour)>>,
    /// What each call was charged for.
    pub(crate) charged: RefCell<BTreeMap<String, u64>>,
    /// Calls that ended because the disk was full.
    pub(crate) without_room: RefCell<BTreeSet<String>>,
    /// What stands in for the person at the terminal.
    pub(crate) signals: RefCell<Option<forge_driver::signals::SignalSender>>,
    /// Runs a second driver, when it is time for one.
    pub(crate) second_driver: RefCell<Option<Box<dyn Fn()>>>,
    /// Pauses the run from elsewhere.
    pub(crate) pause: RefCell<Option<Box<dyn Fn()>>>,
    pub(crate) tasks: u64,
    /// Where the journal is written.
    pub(crate) journal: PathBuf,
    pub(crate) now: Cell<Time>,
    pub(crate) idle: Cell<u64>,
    pub(crate) waits: Cell<u64>,
    pub(crate) steps: RefCell<BTreeMap<PathBuf, SimulatedStep>>,
    pub(crate) is_second: Cell<u32>,
    n_drivers: Cell<u32>,
}

#[derive(Debug, Clone)]
pub(crate) enum StepPhase {
    Running { ends_at: Time, ends: Ends },
    Ended(Ending),
    Void,
    Dead,
}

/// How a step that is running will end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Well,
    With(Fault),
    Stopped,
}

#[derive(Debug, Clone)]
pub(crate) struct SimulatedStep {
    pub(crate) spec: Spec,
    pub(crate) role: String,
    /// Names of its variables.
    pub(crate) variables: BTreeSet<String>,
    pub(crate) started_at: Time,
    pub(crate) phase: StepPhase,
    /// The key of the driver that started it.
    pub(crate) key: String,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Machine")
    }
}

impl Machine {
    pub(crate) fn new(
        seed: u64,
        tasks: u64,
        faults: Vec<Fault>,
        history: SimulatedHistory,
        journal: PathBuf,
    ) -> Self {
        Self {
            disk: Arc::default(),
            history: Rc::new(history),
            chance: RefCell::new(Chance::new(seed)),
            run: RefCell::new(Run::new()),
            published: RefCell::default(),
            faults: RefCell::new(faults),
            happened: RefCell::default(),
            broken: RefCell::default(),
            proofs: RefCell::default(),
            charged: RefCell::default(),
            without_room: RefCell::default(),
            signals: RefCell::default(),
            second_driver: RefCell::default(),
            pause: RefCell::default(),
            tasks,
            journal,
            now: Cell::new(1_800_000_000_000),
            idle: Cell::new(0),
            waits: Cell::new(0),
            n_drivers: Cell::new(0),
            steps: RefCell::default(),
            is_second: Cell::new(0),
        }
    }

    /// The key of the next driver.
    pub(crate) fn next_key(&self) -> String {
        self.n_drivers.set(self.n_drivers.get() + 1);
        format!("key-{}", self.n_drivers.get())
    }

    /// Notes a broken promise.
    pub(crate) fn breaks(&self, what: impl Into<String>) {
        self.broken.borrow_mut().push(what.into());
    }

    /// All that went wrong, on the disk and elsewhere.
    pub(crate) fn all_that_happened(&self) -> Vec<Fault> {
        let disk = self.disk.fired().into_iter().map(|fault| match fault {
            DiskFault::CrashBefore => Fault::CrashBeforeWrite,
            DiskFault::CrashAfter => Fault::CrashAfterWrite,
            DiskFault::Full => Fault::DiskFull,
            DiskFault::Broken => Fault::WriteFails,
            DiskFault::SyncFails => Fault::SyncFails,
            DiskFault::RenameFails => Fault::RenameFails,
        });
        self.happened.borrow().iter().copied().chain(disk).collect()
    }

    pub(crate) fn percent(&self, n: u64) -> bool {
        self.chance.borrow_mut().percent(n)
    }

    pub(crate) fn below(&self, n: u64) -> u64 {
        self.chance.borrow_mut().below(n)
    }

    /// Whether this is to go wrong now. Some occasions are let go by, so that it happens anywhere.
    pub(crate) fn is_time(&self, fault: Fault) -> bool {
        let place = self.faults.borrow().iter().position(|planned| *planned == fault);
        let Some(place) = place else { return false };
        if self.percent(60) {
            return false;
        }
        self.faults.borrow_mut().remove(place);
        self.happened.borrow_mut().insert(fault);
        true
    }

    /// Everything that is known to the processes of this machine is gone, and so are they.
    pub(crate) fn lose_power(&self) {
        self.disk.lose_power(&mut self.chance.borrow_mut());
        let mut unclaimed = Vec::new();
        for (folder, step) in self.steps.borrow_mut().iter_mut() {
            // An ending that nobody waited for is lost with what is in it, or is there whole.
            let is_lost = |path: &Path| self.disk.read(path).is_err();
            if matches!(step.phase, StepPhase::Ended(_))
                && is_lost(&AttemptFolder::at(folder).ending())
            {
                let answer = self.disk.read(&folder.join("made.json")).unwrap_or_default();
                if serde_json::from_slice::<OperationAnswer>(&answer).is_err() {
                    unclaimed.push(folder.clone());
                }
            }
            if matches!(step.phase, StepPhase::Running { .. } | StepPhase::Dead) {
                step.phase = StepPhase::Dead;
                // The claim itself may not have reached the disk, nor the folder that it is in.
                let is_there = self.disk.read(&AttemptFolder::at(folder).attempt()).is_ok();
                if !is_there || self.percent(50) {
                    unclaimed.push(folder.clone());
                }
            }
        }
        for folder in unclaimed {
            self.steps.borrow_mut().remove(&folder);
        }
    }

    /// A driver is gone, and with it the threads that worked on checkouts: somewhere in the middle.
    pub(crate) fn end_jobs_of(&self, key: &str) {
        let is_running = |step: &SimulatedStep| {
            let is_its = step.key == key && step.spec.argv == ["__bench"];
            is_its && matches!(step.phase, StepPhase::Running { .. })
        };
        for (folder, step) in self.steps.borrow_mut().iter_mut() {
            if is_running(step) {
                step.phase = StepPhase::Dead;
                if let Some(order) = self.order(&AttemptFolder::at(folder))
                    && self.percent(50)
                {
                    let _nobody_hears = self.history.operate(&order);
                }
            }
        }
    }

    /// Lets time go by, and steps end in it.
    pub(crate) fn advance(&self, to: Time) {
        loop {
            let due = self
                .steps
                .borrow()
                .iter()
                .filter_map(|(folder, step)| match step.phase {
                    StepPhase::Running { ends_at, .. } if ends_at <= to => {
                        Some((ends_at, folder.clone()))
                    }
                    StepPhase::Running { .. }
                    | StepPhase::Ended(_)
                    | StepPhase::Void
                    | StepPhase::Dead => None,
                })
                .min();
            let Some((at, folder)) = due else { break };
            self.now.set(self.now.get().max(at));
            self.end(&folder);
        }
        self.now.set(self.now.get().max(to));
    }

    /// A step ends: what it did is there, and how it ended is written down.
    pub(crate) fn end(&self, path: &Path) {
        let step = self.steps.borrow()[path].clone();
        let StepPhase::Running { ends, .. } = step.phase else { return };
        let folder = AttemptFolder::at(path);
        let how = if step.spec.argv.iter().any(|word| word == "__bench") {
            self.end_job(&folder, ends)
        } else if step.spec.argv.first().is_some_and(|word| word == "/bin/sh") {
            self.end_command(&folder, &step, ends)
        } else {
            self.end_turn(&folder, &step, ends)
        };
        let is_volatile = how == Some(ExitReason::Exited { code: 0 })
            && step.spec.argv == ["__bench"]
            && self.order(&folder).is_some_and(|order| is_volatile(&order));
        if how.is_some() && !is_volatile {
            // The folder of a step gets its name on the disk with its ending.
            self.disk.write_synced(&folder.ending(), b"");
        }
        let phase = match how {
            None => StepPhase::Dead,
            Some(how) => StepPhase::Ended(Ending {
                forge: 1,
                call: step.spec.call.clone(),
                how,
                started_at_ms: step.started_at,
                ended_at_ms: self.now.get(),
                output_bytes: 0,
                swept: 0,
                transcript_cut: None,
                left_over: 0,
                disk_full: self.disk.is_full(),
                result: None,
                kept: None,
                signature: None,
            }),
        };
        self.steps.borrow_mut().get_mut(path).expect("it was there").phase = phase;
    }

    /// What is to be done in a checkout: by a thread of the driver, or by a program under a keeper.
    fn order(&self, folder: &AttemptFolder) -> Option<Operation> {
        let files = [job_file(folder), folder.inbox().join("order.json")];
        let order = files.iter().find_map(|file| self.disk.read(file).ok())?;
        serde_json::from_slice(&order).ok()
    }

    fn end_job(&self, folder: &AttemptFolder, ends: Ends) -> Option<ExitReason> {
        match ends {
            Ends::With(Fault::JobKilled) => return Some(ExitReason::Signalled { signal: 9 }),
            Ends::With(Fault::JobKeeperDies) => return None,
            Ends::Stopped => return Some(ExitReason::Interrupted),
            Ends::Well | Ends::With(_) => {}
        }
        let order = self.order(folder);
        let is_volatile = order.as_ref().is_some_and(is_volatile);
        let answer = match order {
            None => return Some(ExitReason::Exited { code: 70 }),
            Some(order) if ends == Ends::With(Fault::JobFails) => {
                let failure = WorkspaceError::new(OUT_OF_ORDER, "retry");
                OperationAnswer::new(order, Err(failure))
            }
            Some(order) => {
                let made = self.history.operate(&order);
                if let Operation::Open(open) = &order {
                    let readme = open.location.dir.join("tree/README");
                    self.disk.write_synced(&readme, b"");
                }
                OperationAnswer::new(order, made)
            }
        };
        let made = serde_json::to_vec(&answer).expect("a result can be written");
        let path = folder.path.join("made.json");
        if is_volatile {
            self.disk.look(|| self.disk.write(&path, &made)).expect("its folder is there");
        } else {
            self.disk.write_synced(&path, &made);
        }
        Some(ExitReason::Exited { code: 0 })
    }

    fn end_command(
        &self,
        folder: &AttemptFolder,
        step: &SimulatedStep,
        ends: Ends,
    ) -> Option<ExitReason> {
        let line = step.spec.argv.last().cloned().unwrap_or_default();
        if line == "prepare" {
            // As `npm install` leaves a lock file.
            let text = "made by the set-up".to_owned();
            self.history.edit(&step.spec.dir, |files| files.insert("set-up.lock".into(), text));
        }
        let files = self.history.worked(&step.spec.dir);
        // The last is a failing test of Forge's own, which a set-up does not run.
        let marks: &[&str] = match line.as_str() {
            "prepare" => &["BUG", "<<<<<<<"],
            _ => &["BUG", "<<<<<<<", "TestOfForge"],
        };
        let needs = line.strip_prefix("needs ");
        let is_red = needs.is_some_and(|name| !step.variables.contains(name));
        let is_red =
            is_red || files.values().any(|text| marks.iter().any(|mark| text.contains(mark)));
        let is_red = is_red || is_red_together(&files);
        let n_tests = files.keys().filter(|path| path.starts_with("tests/")).count();
        let said = format!("Ran {n_tests} tests in 1s\n");
        self.disk.write_synced(&folder.transcript(), said.as_bytes());
        match ends {
            Ends::With(Fault::KeeperDies) => None,
            Ends::With(Fault::CallHangs) => Some(ExitReason::TimedOut),
            Ends::With(Fault::ProgramKilled) => Some(ExitReason::Signalled { signal: 9 }),
            Ends::With(Fault::TooMuchOutput) => Some(ExitReason::TooMuchOutput),
            Ends::Stopped => Some(ExitReason::Interrupted),
            Ends::Well | Ends::With(_) => {
                let colour = if is_red { Colour::Red } else { Colour::Green };
                self.proofs.borrow_mut().push((code_tree(&files), line, colour));
                Some(ExitReason::Exited { code: i32::from(is_red) })
            }
        }
    }

    fn end_turn(
        &self,
        folder: &AttemptFolder,
        step: &SimulatedStep,
        ends: Ends,
    ) -> Option<ExitReason> {
        let call = &step.spec.call;
        let transcript = |lines: &[Value]| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            self.disk.write_synced(&folder.transcript(), text.as_bytes());
        };
        let began = json!({"type": "began", "session": "s1", "model": "m"});
        let spent = json!({"type": "spent", "model": "m", "input": 10, "output": 5, "cost_micros": TURN_MICROS});
        let ended = json!({"type": "ended", "ok": true});
        *self.charged.borrow_mut().entry(call.clone()).or_default() += TURN_MICROS;
        match ends {
            Ends::With(Fault::KeeperDies) => {
                self.work(step, &mut Vec::new());
                transcript(&[began, spent]);
                return None;
            }
            Ends::With(Fault::CallHangs) => {
                transcript(&[began, spent]);
                return Some(ExitReason::TimedOut);
            }
            Ends::With(Fault::TooMuchOutput) => {
                transcript(&[began, spent]);
                return Some(ExitReason::TooMuchOutput);
            }
            Ends::With(Fault::ProgramKilled) => {
                transcript(&[began, spent]);
                return Some(ExitReason::Signalled { signal: 9 });
            }
            Ends::With(Fault::ProgramFails) => {
                transcript(&[began, spent]);
                return Some(ExitReason::Exited { code: 1 });
            }
            Ends::With(Fault::NoRoom) => {
                self.disk.fill();
                self.without_room.borrow_mut().insert(call.clone());
                transcript(&[began, spent]);
                return Some(ExitReason::Exited { code: 1 });
            }
            Ends::With(Fault::Limited) => {
                let until = self.now.get() + 3_600_000;
                transcript(&[
                    began,
                    spent,
                    json!({"type": "limited", "kind": "usage", "until_ms": until}),
                    json!({"type": "ended", "ok": false}),
                ]);
                return Some(ExitReason::Exited { code: 1 });
            }
            Ends::Stopped => {
                if self.percent(50) {
                    self.work(step, &mut Vec::new());
                }
                transcript(&[began, spent]);
                return Some(ExitReason::Interrupted);
            }
            Ends::Well | Ends::With(_) => {}
        }
        let mut files = Vec::new();
        let result = self.work(step, &mut files);
        let outbox =
            AttemptFolder::at(step.spec.boxes.clone().unwrap_or(folder.path.clone())).outbox();
        for (name, text) in files {
            self.disk.write_synced(&outbox.join(name), text.as_bytes());
        }
        let bytes = match ends {
            Ends::With(Fault::NoResult) => None,
            Ends::With(Fault::BrokenResult) => Some(b"{ \"forge\": 1, ".to_vec()),
            Ends::With(Fault::ForeignResult) => {
                let mut foreign = result;
                foreign["attempt"] = json!("other#1");
                Some(foreign.to_string().into_bytes())
            }
            Ends::With(Fault::SentBack) => {
                let mut back = result;
                back["verdict"] = json!("revise");
                back["findings"] =
                    json!([{"severity": "major", "what": "it does not work", "why": "tried"}]);
                Some(back.to_string().into_bytes())
            }
            Ends::Well | Ends::With(_) | Ends::Stopped => Some(result.to_string().into_bytes()),
        };
        if let Some(bytes) = bytes {
            self.disk.write_synced(&outbox.join("result.json"), &bytes);
        }
        transcript(&[began, spent, ended]);
        Some(ExitReason::Exited { code: 0 })
    }

    /// What an agent does: it changes its checkout if it may, writes its artifacts, and has a result.
    fn work(&self, step: &SimulatedStep, files: &mut Vec<(String, String)>) -> Value {
        let run = self.run.borrow();
        let name = &step.spec.call;
        let mut result = json!({"forge": 1, "attempt": name, "status": "done", "summary": format!("{name} by {}", step.role)});
        let Ok(call) = name.parse::<CallId>() else { return result };
        if !run.has(call.unit()) {
            return result;
        }
        let stage = run.stage(call.unit());
        let scope = &call.unit().scope;
        let writes = match &call {
            CallId::Attempt(_) => &stage.writes,
            CallId::Judgement(judgement) => {
                let gate = stage.gate(&judgement.gate).expect("a judgement names a gate");
                &stage.gates[gate].writes
            }
        };
        for artifact in writes {
            files.push((
                artifact_name(&run, artifact, scope),
                format!("# {name}\n\n{}", "A line of text.\n".repeat(14)),
            ));
        }
        result["findings"] = json!([]);
        match &call {
            CallId::Judgement(_) => result["verdict"] = json!("pass"),
            CallId::Attempt(_) => {
                result["shown"] = json!({"approach": "so", "key_changes": ["it"], "risk": "low"});
                if let Some(list) = &stage.list {
                    let item = |number: u64| {
                        let mut writes = vec![format!("src/t{number}.txt")];
                        if number == 2 {
                            writes.push(NEW_TEST.to_owned());
                        }
                        let after: &[&str] = if number == 3 { &["T1"] } else { &[] };
                        let (id, title) = (format!("T{number}"), format!("task {number}"));
                        json!({"id": id, "title": title, "writes": writes, "after": after})
                    };
                    let items: Vec<Value> = (1..=self.tasks).map(item).collect();
                    result["lists"] = json!({ list.clone(): items });
                }
                if matches!(
                    step.role.as_str(),
                    "implementer" | "engineer" | "verifier" | "comprehensive-reviewer"
                ) {
                    result["commit"] = json!(format!("Work of {name}"));
                    let has_test = scope.item() == Some("T2");
                    let path = scope.item().map_or("src/all.txt".to_owned(), |item| {
                        format!("src/{}.txt", item.to_lowercase())
                    });
                    let is_bad = self.is_time(Fault::ChecksRed);
                    let is_alone = self.is_time(Fault::RedTogether);
                    let strays = self.is_time(Fault::StrayWrite);
                    let is_fix = matches!(step.role.as_str(), "implementer" | "engineer");
                    self.history.edit(&step.spec.dir, |tree| {
                        for text in tree.values_mut() {
                            *text = text.replace("BUG", "fixed").replace("<<<<<<<", "resolved");
                        }
                        tree.remove("other.txt");
                        if strays {
                            tree.insert("other.txt".to_owned(), "stray".to_owned());
                        }
                        if is_fix {
                            let copes = tree.values().any(|text| text.starts_with("ALONE"));
                            let mark = match (is_bad, copes, is_alone) {
                                (true, _, _) => "BUG of",
                                (false, true, _) => "copes, made by",
                                (false, false, true) => "ALONE made by",
                                (false, false, false) => "made by",
                            };
                            let text = format!("{mark} {name}");
                            if has_test && tree.contains_key(OLD_TEST) {
                                tree.insert(NEW_TEST.to_owned(), text.clone());
                            }
                            tree.insert(path, text);
                        }
                    });
                }
            }
        }
        result
    }
}

/// Whether somebody's work goes only with work that knows of it.
fn is_red_together(files: &Files) -> bool {
    let works = || files.iter().filter(|(path, _)| path.starts_with("src/t"));
    let alone = works().find(|(_, text)| text.starts_with("ALONE"));
    alone.is_some_and(|alone| works().any(|other| other != alone && !other.1.starts_with("copes")))
}

/// What only the thread of a job knows.
pub(crate) fn job_file(folder: &AttemptFolder) -> PathBuf {
    folder.path.join("job.json")
}

/// Work on a checkout whose ending nobody waits for.
fn is_volatile(order: &Operation) -> bool {
    match order {
        Operation::Open(open) => open.worker.is_none(),
        Operation::Restore(_) => true,
        _ => false,
    }
}
