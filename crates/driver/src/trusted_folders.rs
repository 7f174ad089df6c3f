//! Which folders of calls and steps are trusted, and what they said when we first read them.
//!
//! Agents run as the user, are given the folder of their own call, and can guess all others. So a
//! folder that was there before Forge prepared it says nothing about anything: it is put aside and
//! kept for people. Two rules make that so:
//!
//! - Before a fact gives a number to a call, whatever lies at that number is put aside
//!   ([`quarantine_before_start`]). So a driver that dies right after the fact leaves nothing that could be forged.
//! - A driver believes the steps that it started, and those that it found in calls under way when it
//!   took the run over. What it read once it does not read again.
//!
//! Not here: what keeps out somebody who kills the driver and forges before the next one comes. They
//! run as the user; that takes a sandbox.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use forge_agents::StreamSummary;
use forge_core::{
    Run,
    event::{Call, Event},
    id::UnitId,
};
use forge_keeper::Ending;
use forge_workspace::{Operation, OperationResult};

use crate::{
    Error,
    executor::Executor,
    plan::step::{Step, StepKind, call_folder, steps_of},
};

/// What is put aside of a run lies here, beside the folders of its calls.
const ASIDE: &str = "aside";

/// Between the name of a step and the number of a try after the first.
const AGAIN: &str = "-again-";

/// Returns the folder of a try of a step that may be done again, of which the first try has this folder.
pub fn try_folder(first: &Path, number: u32) -> PathBuf {
    let name = first.file_name().expect("a step has a name").to_string_lossy();
    match number {
        0 => first.to_owned(),
        number => first.with_file_name(format!("{name}{AGAIN}{number}")),
    }
}

/// What this driver knows of the folders of one run.
pub struct TrustedFolders {
    /// The folders of all calls.
    attempts: PathBuf,
    known: RefCell<KnownFolders>,
}

#[derive(Default)]
struct KnownFolders {
    /// The calls that were under way when it was looked last.
    open: BTreeSet<u32>,
    /// Folders of steps that were prepared by us, or by a driver before us.
    steps: BTreeSet<PathBuf>,
    /// Calls whose checkout needed no opening.
    ready: BTreeSet<PathBuf>,
    orders: BTreeMap<PathBuf, Operation>,
    endings: BTreeMap<PathBuf, Ending>,
    made: BTreeMap<PathBuf, OperationResult>,
    summaries: BTreeMap<PathBuf, StreamSummary>,
}

impl TrustedFolders {
    /// What a driver finds when it takes a run over: the steps of all calls under way.
    pub fn found(executor: &dyn Executor, attempts: PathBuf, run: &Run) -> Self {
        let mut known = KnownFolders::default();
        for Call { ordinal, .. } in run.calls().values() {
            let folder = call_folder(&attempts, *ordinal);
            let steps = steps_of(&folder);
            known.steps.extend(executor.entries(&steps));
            if executor.entries(&folder).iter().any(|entry| *entry != steps) {
                known.steps.insert(folder);
            }
        }
        Self { attempts, known: RefCell::new(known) }
    }

    /// From now on, what lies in the folder of this step is trusted.
    pub fn prepared(&self, step: &Step) {
        let mut known = self.known.borrow_mut();
        known.steps.insert(step.folder.clone());
        if let StepKind::Operation(order) = &step.what {
            known.orders.insert(step.folder.clone(), (**order).clone());
        }
    }

    /// From now on, nothing will ever be in the folder of this step.
    pub fn given_up(&self, folder: &Path) {
        self.known.borrow_mut().steps.insert(folder.to_owned());
    }

    /// Whether the folder of this step is trusted.
    pub fn knows(&self, folder: &Path) -> bool {
        self.known.borrow().steps.contains(folder)
    }

    /// The number of the last try of a step that was ever prepared.
    pub fn last_try(&self, first: &Path) -> Option<u32> {
        let name = first.file_name()?.to_str()?;
        let known = self.known.borrow();
        let names = known.steps.range(first.to_owned()..);
        let names = names.take_while(|step| step.parent() == first.parent());
        let rests = names.map_while(|step| step.file_name()?.to_str()?.strip_prefix(name));
        let number = |rest: &str| match rest {
            "" => Some(0),
            rest => rest.strip_prefix(AGAIN)?.parse().ok(),
        };
        rests.filter_map(number).max()
    }

    /// Whether any step of a call was ever prepared.
    pub fn has_begun(&self, call: &Path) -> bool {
        self.known.borrow().steps.iter().any(|step| step.starts_with(call))
    }

    /// Whether the checkout of a call needed no opening, by what this driver found.
    pub fn was_ready(&self, call: &Path) -> bool {
        self.known.borrow().ready.contains(call)
    }

    /// Remembers that the checkout of a call needs no opening.
    pub fn keep_ready(&self, call: &Path) {
        self.known.borrow_mut().ready.insert(call.to_owned());
    }

    /// What the agent of an ended step reported.
    pub fn summary(&self, folder: &Path) -> Option<StreamSummary> {
        self.known.borrow().summaries.get(folder).cloned()
    }

    /// Remembers what the agent of a step reported.
    pub fn keep_summary(&self, folder: &Path, summary: &StreamSummary) {
        self.known.borrow_mut().summaries.insert(folder.to_owned(), summary.clone());
    }

    /// Puts aside what somebody left where the folder of a step belongs, and says where it is now.
    pub fn quarantine_foreign(
        &self,
        executor: &dyn Executor,
        folder: &Path,
    ) -> Result<Option<PathBuf>, Error> {
        if self.knows(folder) {
            return Ok(None);
        }
        // The folder of a call is also that of its main step, and holds the other steps.
        let steps = steps_of(folder);
        let is_call = folder.parent() == Some(self.attempts.as_path());
        let planted: Vec<PathBuf> = if is_call {
            executor.entries(folder).into_iter().filter(|entry| *entry != steps).collect()
        } else {
            vec![folder.to_owned()]
        };
        let mut last = None;
        for planted in planted {
            last = quarantine(executor, &self.attempts, &planted)?.or(last);
        }
        Ok(last)
    }

    /// The order that was given to a step, if it was given by this driver.
    pub fn order(&self, folder: &Path) -> Option<Operation> {
        self.known.borrow().orders.get(folder).cloned()
    }

    /// How a step ended, if that was read before.
    pub fn ending(&self, folder: &Path) -> Option<Ending> {
        self.known.borrow().endings.get(folder).cloned()
    }

    /// Remembers how a step ended.
    pub fn ended(&self, folder: &Path, ending: &Ending) {
        self.known.borrow_mut().endings.insert(folder.to_owned(), ending.clone());
    }

    /// What the worker made in a step, if that was read before.
    pub fn operation_result(&self, folder: &Path) -> Option<OperationResult> {
        self.known.borrow().made.get(folder).cloned()
    }

    /// Remembers what the worker made.
    pub fn keep_operation_result(&self, folder: &Path, made: &OperationResult) {
        self.known.borrow_mut().made.insert(folder.to_owned(), made.clone());
    }

    /// Forgets all but these calls, by the numbers of their folders, once the others are over.
    pub fn forget_all_but(&self, open: BTreeSet<u32>) {
        let known = &mut *self.known.borrow_mut();
        if known.open == open {
            return;
        }
        let calls = open.iter().map(|ordinal| call_folder(&self.attempts, *ordinal));
        let calls: BTreeSet<PathBuf> = calls.collect();
        let is_open = |folder: &Path| folder.ancestors().any(|folder| calls.contains(folder));
        known.steps.retain(|folder| is_open(folder));
        known.ready.retain(|folder| is_open(folder));
        known.orders.retain(|folder, _| is_open(folder));
        known.endings.retain(|folder, _| is_open(folder));
        known.made.retain(|folder, _| is_open(folder));
        known.summaries.retain(|folder, _| is_open(folder));
        known.open = open;
    }
}

/// Puts aside what lies at the numbers that these facts give to calls, and says so.
pub fn quarantine_before_start(
    executor: &dyn Executor,
    attempts: &Path,
    facts: &[Event],
) -> Result<Vec<(UnitId, String)>, Error> {
    let mut notices = Vec::new();
    for fact in facts {
        let (unit, call) = if let Event::AttemptStarted { attempt, call: Some(call) } = fact {
            (&attempt.unit, call)
        } else if let Event::JudgementStarted { judgement, call } = fact {
            (&judgement.attempt.unit, call)
        } else {
            continue;
        };
        let aside = quarantine(executor, attempts, &call_folder(attempts, call.ordinal))?;
        notices.extend(aside.map(|aside| (unit.clone(), foreign_files_notice(&aside))));
    }
    Ok(notices)
}

/// What a person should know about something that was put aside.
pub fn foreign_files_notice(aside: &Path) -> String {
    let aside = aside.display();
    format!("files were in the way where Forge works; they were set aside: {aside}")
}

/// Moves something away from where a folder of ours belongs; where it is now, if it was there.
fn quarantine(
    executor: &dyn Executor,
    attempts: &Path,
    planted: &Path,
) -> Result<Option<PathBuf>, Error> {
    let moved = executor.quarantine(planted, &attempts.join(ASIDE));
    moved.map_err(|error| Error::file(planted, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt as _,
    };

    use crate::local_executor::LocalExecutor;

    fn executor() -> LocalExecutor {
        LocalExecutor::new(PathBuf::from("forge")).unwrap()
    }
    use crate::plan::step::OnStop;
    use forge_project::settings::PassedVariables;

    fn trusted_folders() -> (tempfile::TempDir, TrustedFolders) {
        let home = tempfile::tempdir().unwrap();
        let attempts = home.path().join("attempts");
        fs::create_dir(&attempts).unwrap();
        (home, TrustedFolders { attempts, known: RefCell::default() })
    }

    fn plant(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("ending.json"), "{}").unwrap();
    }

    fn prepared(trusted: &TrustedFolders, folder: &Path) {
        let (line, dir) = (String::new(), PathBuf::new());
        let limits = forge_keeper::StepLimits { wall_ms: 0, silence_ms: 0, output_bytes: 0 };
        let what = StepKind::Shell { line, dir, limits, pass: PassedVariables::default() };
        trusted.prepared(&Step { folder: folder.to_owned(), what, on_stop: OnStop::Cancel });
    }

    #[test]
    fn what_lies_in_the_place_of_a_step_before_it_is_prepared_is_put_aside() {
        let (_home, trusted) = trusted_folders();
        let step = trusted.attempts.join("0001/steps/check-1");
        assert_eq!(
            trusted.quarantine_foreign(&executor(), &step).ok(),
            Some(None),
            "nothing is there"
        );
        plant(&step);
        fs::set_permissions(&step, Permissions::from_mode(0o000)).unwrap();
        let aside = trusted.quarantine_foreign(&executor(), &step).ok().flatten().unwrap();
        assert!(!step.exists());
        assert_eq!(fs::read(aside.join("ending.json")).unwrap(), b"{}", "it is kept for people");
        assert!(!trusted.has_begun(&trusted.attempts.join("0001")));
        prepared(&trusted, &step);
        plant(&step);
        assert_eq!(
            trusted.quarantine_foreign(&executor(), &step).ok(),
            Some(None),
            "now it is ours"
        );
        assert!(step.exists() && trusted.has_begun(&trusted.attempts.join("0001")));
    }

    #[test]
    fn the_steps_of_a_call_stay_when_its_own_folder_is_sifted() {
        let (_home, trusted) = trusted_folders();
        let call = trusted.attempts.join("0001");
        let step = call.join("steps/open");
        prepared(&trusted, &step);
        plant(&step);
        plant(&call);
        assert!(trusted.quarantine_foreign(&executor(), &call).ok().flatten().is_some());
        assert!(step.exists() && !call.join("ending.json").exists());
    }

    #[test]
    fn a_link_in_the_place_where_things_are_put_aside_leads_nowhere() {
        let (home, trusted) = trusted_folders();
        let user = home.path().join("user");
        fs::create_dir(&user).unwrap();
        std::os::unix::fs::symlink(&user, trusted.attempts.join(ASIDE)).unwrap();
        let step = trusted.attempts.join("0001/steps/check-1");
        plant(&step);
        assert!(trusted.quarantine_foreign(&executor(), &step).ok().flatten().is_some());
        assert_eq!(fs::read_dir(&user).unwrap().count(), 0);
    }

    #[test]
    fn what_lies_at_a_number_is_put_aside_before_the_number_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let (seven, eight) = (call_folder(folder.path(), 7), call_folder(folder.path(), 8));
        plant(&seven);
        plant(&eight);
        let judgement = "build#1/verify#1".parse().unwrap();
        let call = Call { ordinal: 7, reserved: None, wish: None };
        let notices = quarantine_before_start(
            &executor(),
            folder.path(),
            &[Event::JudgementStarted { judgement, call }],
        );
        assert_eq!(notices.ok().map(|notices| notices.len()), Some(1));
        assert!(!seven.exists());
        assert!(eight.exists(), "nobody has given that number yet");
    }

    #[test]
    fn the_last_try_is_known_without_those_before_it() {
        let (_home, trusted) = trusted_folders();
        let first = trusted.attempts.join("0001/steps/open");
        assert_eq!(trusted.last_try(&first), None);
        for number in [2, 11] {
            prepared(&trusted, &try_folder(&first, number));
        }
        prepared(&trusted, &first.with_file_name("opened"));
        assert_eq!(trusted.last_try(&first), Some(11));
    }

    #[test]
    fn calls_that_are_over_are_forgotten() {
        let (_home, trusted) = trusted_folders();
        let steps = ["0001/steps/open", "0002/steps/open"].map(|step| trusted.attempts.join(step));
        for step in &steps {
            prepared(&trusted, step);
        }
        trusted.forget_all_but(BTreeSet::from([2]));
        assert_eq!(steps.map(|step| trusted.knows(&step)), [false, true]);
    }
}
