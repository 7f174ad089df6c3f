//! The executor of a machine in memory: how the driver reaches its steps, and how time passes.
//!
//! Not here: what steps do, and how they end. That is `machine`'s.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io::{self, Cursor},
    os::fd::BorrowedFd,
    panic::resume_unwind,
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};

use forge_core::{Time, id::CallId};
use forge_driver::executor::{CheckoutJob, Executor, Output, StepState, StopRequest};
use forge_keeper::{
    ArtifactFlaw, AttemptFolder, Ending, EndingProof, LostCall, Spec, StepLimits, Stop,
};
use forge_store::disk::Disk as _;
use serde_json::json;

use super::{
    disk::Crash,
    faults::Fault,
    machine::{Ends, Machine, SimulatedStep, StepPhase, job_file},
};

/// The executor of such a machine, with the key of its driver.
#[derive(Debug)]
pub(crate) struct SimulatedExecutor(pub Rc<Machine>, pub String);

impl Drop for SimulatedExecutor {
    /// With the driver, its work on checkouts ends.
    fn drop(&mut self) {
        self.0.end_jobs_of(&self.1);
    }
}

impl Executor for SimulatedExecutor {
    fn now(&self) -> Time {
        self.0.now.get()
    }

    fn wait(&self, _: &[BorrowedFd<'_>], longest: Duration) -> io::Result<()> {
        let machine = &self.0;
        machine.waits.set(machine.waits.get() + 1);
        if machine.waits.get() > 20_000 {
            machine.breaks("the run does not come to an end");
            resume_unwind(Box::new(Crash));
        }
        if machine.is_time(Fault::PowerLoss) {
            machine.lose_power();
            resume_unwind(Box::new(Crash));
        }
        if machine.is_time(Fault::ClockAhead) {
            machine.advance(machine.now.get() + 7 * 24 * 3_600_000);
            return Ok(());
        }
        if machine.is_time(Fault::ClockBack) {
            machine.now.set(machine.now.get() - 24 * 3_600_000);
            return Ok(());
        }
        if machine.is_time(Fault::Interrupt)
            && let Some(signals) = &*machine.signals.borrow()
        {
            signals.interrupt();
        }
        if machine.is_time(Fault::HangUp)
            && let Some(signals) = &*machine.signals.borrow()
        {
            signals.hang_up();
        }
        if machine.is_time(Fault::BaseMoves) {
            machine.history.commit_on("main", "docs.txt", "moved");
        }
        if machine.is_second.get() == 0 && machine.is_time(Fault::PausedElsewhere) {
            let pause = machine.pause.take();
            if let Some(pause) = &pause {
                pause();
            }
            machine.pause.replace(pause);
        }
        if machine.is_second.get() == 0 && machine.is_time(Fault::SecondDriver) {
            let second = machine.second_driver.take();
            machine.is_second.set(40);
            if let Some(second) = &second {
                second();
            }
            machine.second_driver.replace(second);
            machine.is_second.set(0);
            return Ok(());
        }
        if machine.is_second.get() > 1 {
            machine.is_second.set(machine.is_second.get() - 1);
            if machine.is_second.get() == 1 {
                // The second driver dies as well.
                resume_unwind(Box::new(Crash));
            }
        }
        let next = machine
            .steps
            .borrow()
            .values()
            .filter_map(|step| match step.phase {
                StepPhase::Running { ends_at, .. } => Some(ends_at),
                StepPhase::Ended(_) | StepPhase::Void | StepPhase::Dead => None,
            })
            .min();
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        match next {
            Some(at) => {
                machine.idle.set(0);
                machine.advance(at.max(machine.now.get()));
                if machine.is_time(Fault::EndsTwice) {
                    resume_unwind(Box::new(Crash));
                }
            }
            None => {
                // Where nothing happens, time goes by faster and faster.
                machine.idle.set((machine.idle.get() + 1).min(24));
                let by = longest.max(1) << machine.idle.get().saturating_sub(1).min(14);
                machine.advance(machine.now.get() + by);
            }
        }
        Ok(())
    }

    fn prepare(&self, folder: &Path, spec: &Spec) -> io::Result<()> {
        let disk = &self.0.disk;
        let folder = AttemptFolder::at(folder);
        disk.create_folder(&folder.inbox())?;
        disk.create_folder(&folder.outbox())?;
        disk.write(&folder.attempt(), &serde_json::to_vec(spec)?)?;
        Ok(())
    }

    fn start(
        &self,
        folder: &AttemptFolder,
        env: &[(OsString, OsString)],
        _: &[Vec<u8>],
    ) -> io::Result<()> {
        let machine = &self.0;
        // A second driver that died leaves a record that it never acknowledged, and nobody acts on.
        let is_alone = !machine.happened.borrow().contains(&Fault::SecondDriver);
        if is_alone && !machine.disk.is_synced(&machine.journal) {
            machine.breaks(format!(
                "{} was started before its fact was durable",
                folder.path.display()
            ));
        }
        if machine.is_time(Fault::KeeperCannotStart) {
            return Err(io::Error::other("no process can be made"));
        }
        let spec: Spec = serde_json::from_slice(&machine.disk.read(&folder.attempt())?)?;
        if let Some(step) = machine.steps.borrow().get(&folder.path) {
            // A keeper that finds the folder claimed ends; only a second driver may start one.
            let is_over = matches!(step.phase, StepPhase::Ended(_) | StepPhase::Void);
            if is_over && !machine.happened.borrow().contains(&Fault::SecondDriver) {
                machine
                    .breaks(format!("{} was started again after its end", folder.path.display()));
            }
            return Ok(());
        }
        if machine.is_time(Fault::KeeperDiesEarly) {
            return Ok(());
        }
        let is_job = spec.argv.iter().any(|word| word == "__bench");
        let is_command = spec.argv.first().is_some_and(|word| word == "/bin/sh");
        let is_review =
            spec.call.parse::<CallId>().is_ok_and(|call| matches!(call, CallId::Judgement(_)));
        let kinds: &[Fault] = if is_job {
            &[Fault::JobFails, Fault::JobKilled, Fault::JobKeeperDies]
        } else if is_command {
            &[Fault::KeeperDies, Fault::CallHangs, Fault::ProgramKilled, Fault::TooMuchOutput]
        } else if is_review {
            &[
                Fault::SentBack,
                Fault::KeeperDies,
                Fault::NoResult,
                Fault::BrokenResult,
                Fault::Limited,
            ]
        } else {
            &[
                Fault::CallHangs,
                Fault::KeeperDies,
                Fault::ProgramFails,
                Fault::NoRoom,
                Fault::ProgramKilled,
                Fault::TooMuchOutput,
                Fault::NoResult,
                Fault::BrokenResult,
                Fault::ForeignResult,
                Fault::Limited,
            ]
        };
        let fault = kinds.iter().copied().find(|fault| machine.is_time(*fault));
        let mut takes = match (is_job, is_command) {
            (true, _) => 20,
            (false, true) => 100,
            (false, false) => 5_000 + machine.below(55_000),
        };
        if fault == Some(Fault::CallHangs) {
            takes = spec.limits.wall_ms.max(1);
        }
        if machine.is_time(Fault::EndsLate) {
            takes += 3 * 3_600_000;
        }
        let role = env.iter().find(|(name, _)| name == "FORGE_ROLE");
        let role = role.map(|(_, role)| role.to_string_lossy().into_owned()).unwrap_or_default();
        let (started_at, ends) = (machine.now.get(), fault.map_or(Ends::Well, Ends::With));
        let phase = StepPhase::Running { ends_at: started_at + takes, ends };
        let variables = env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        let key = self.1.clone();
        let step = SimulatedStep { spec, role, variables, started_at, phase, key };
        machine.steps.borrow_mut().insert(folder.path.clone(), step);
        Ok(())
    }

    fn start_job(&self, folder: &AttemptFolder, job: CheckoutJob) -> io::Result<()> {
        // These two stand for the claim, which only the thread of the job can read.
        let limits = StepLimits { wall_ms: job.wall_ms, silence_ms: 0, output_bytes: 0 };
        let spec = Spec { argv: vec!["__bench".to_owned()], limits, ..no_spec(job.call) };
        self.prepare(&folder.path, &spec)?;
        self.0.disk.write(&job_file(folder), &serde_json::to_vec(&job.order)?)?;
        self.start(folder, &[], &[])
    }

    fn ending_key(&self) -> String {
        self.1.clone()
    }

    fn state(&self, folder: &AttemptFolder, proof: &EndingProof<'_>) -> io::Result<StepState> {
        let steps = self.0.steps.borrow();
        let Some(step) = steps.get(&folder.path) else { return Ok(StepState::Unclaimed) };
        let is_proved = |ending: &Ending| match proof {
            EndingProof::NotNeeded => false,
            EndingProof::Signed { call, keys, own: _ } => {
                *call == ending.call && keys.contains(&step.key)
            }
        };
        Ok(match &step.phase {
            StepPhase::Running { .. } => StepState::Running,
            StepPhase::Ended(ending) => {
                let is_alone = !self.0.happened.borrow().contains(&Fault::SecondDriver);
                if is_proved(ending) {
                    StepState::Ended(ending.clone())
                } else {
                    if is_alone {
                        let folder = folder.path.display();
                        self.0.breaks(format!("no fact names the key of {folder}"));
                    }
                    StepState::Dead
                }
            }
            StepPhase::Void => StepState::Void,
            StepPhase::Dead => StepState::Dead,
        })
    }

    fn has_ended(&self, folder: &AttemptFolder) -> bool {
        let steps = self.0.steps.borrow();
        !steps.get(&folder.path).is_some_and(|step| matches!(step.phase, StepPhase::Running { .. }))
    }

    fn stop(&self, folder: &AttemptFolder, how: Stop) -> io::Result<StopRequest> {
        let grace = match how {
            Stop::Gently => self.0.below(2_000),
            Stop::AtOnce => 0,
        };
        let now = self.0.now.get();
        if let Some(step) = self.0.steps.borrow_mut().get_mut(&folder.path)
            && let StepPhase::Running { ends_at, ends } = &mut step.phase
            && now + grace < *ends_at
        {
            (*ends_at, *ends) = (now + grace, Ends::Stopped);
        }
        Ok(StopRequest::Sent)
    }

    fn give_up(&self, folder: &AttemptFolder, proof: &EndingProof<'_>) -> io::Result<StepState> {
        let machine = &self.0;
        if !machine.steps.borrow().contains_key(&folder.path) {
            let spec = no_spec(String::new());
            let (role, started_at, phase) = (String::new(), machine.now.get(), StepPhase::Void);
            let (variables, key) = (BTreeSet::new(), String::new());
            let step = SimulatedStep { spec, role, variables, started_at, phase, key };
            machine.steps.borrow_mut().insert(folder.path.clone(), step);
            machine.disk.write_synced(&folder.claim(), b"void");
        }
        self.state(folder, proof)
    }

    fn sweep(&self, _: &AttemptFolder) -> io::Result<()> {
        Ok(())
    }

    fn check_caller(&self, _: i32, _: &[LostCall]) -> Result<(), String> {
        Ok(())
    }

    fn open_output(&self, file: &Path) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(Cursor::new(self.0.disk.read(file)?)))
    }

    fn collect(&self, outbox: &Path, name: &str, _: u64) -> Result<Vec<u8>, ArtifactFlaw> {
        let missing = |_| ArtifactFlaw::Missing { name: name.to_owned() };
        self.0.disk.read(&outbox.join(name)).map_err(missing)
    }

    fn entries(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = self.0.disk.list(folder).unwrap_or_default();
        entries.into_iter().map(|entry| entry.path).collect()
    }

    fn quarantine(&self, planted: &Path, aside: &Path) -> io::Result<Option<PathBuf>> {
        let machine = &self.0;
        let name = planted.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_call = planted.parent().is_some_and(|parent| parent.ends_with("run"));
        if is_call && machine.is_time(Fault::PlantedFiles) {
            let ending = json!({"forge": 1, "call": "x", "how": {"kind": "exited", "code": 0}});
            machine.disk.write_synced(&planted.join("ending.json"), ending.to_string().as_bytes());
        }
        let to = aside.join(format!("{name}.{}", machine.below(u64::MAX)));
        if machine.disk.move_folder(planted, &to) {
            machine.disk.create_folder(aside)?;
            machine.steps.borrow_mut().remove(planted);
            return Ok(Some(to));
        }
        Ok(None)
    }

    fn make_boxes(&self, boxes: &AttemptFolder) -> io::Result<()> {
        let disk = &self.0.disk;
        disk.remove_folder(&boxes.path);
        disk.create_folder(&boxes.inbox())?;
        disk.create_folder(&boxes.outbox())
    }
}

/// Nothing to run, for this call.
fn no_spec(call: String) -> Spec {
    Spec {
        forge: 1,
        call,
        argv: Vec::new(),
        dir: PathBuf::new(),
        stdin: None,
        stdout: forge_keeper::Stdout::Pipe,
        limits: StepLimits { wall_ms: 0, silence_ms: 0, output_bytes: 0 },
        secrets: Vec::new(),
        grace_ms: 0,
        stderr: forge_keeper::Stderr::Together,
        boxes: None,
        monitor: None,
        variables: forge_keeper::CallVariables::Told,
    }
}
