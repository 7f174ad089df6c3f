//! The driver of the run that a screen shows, and when the screen closes.

use std::time::{Duration, Instant};

use forge_api::{
    Error, follow::RunSnapshot, forge::RunOutcome, person::person, run_loop::DriveEnd,
};
use forge_core::{
    Command,
    money::Money,
    view::{Course, Standing},
};

use super::{
    driver_thread::DriverThread,
    external_program,
    frame::{OnLeave, on_leave},
    screen::{LiveScreen, ScreenExit, ScreenTask},
    signals::ScreenSignal,
    status_message::StatusMessage,
};
use crate::text::state_words::{DrivenBy, is_halted};

/// How often the driver of a run is checked that this process does not drive.
const DRIVER_INTERVAL: Duration = Duration::from_secs(1);
/// After this many checks without a driver a run counts as not driven; drivers may replace each other.
const ABSENT_LOOKS_MAX: u32 = 3;

impl LiveScreen<'_> {
    /// Starts a driver thread for the run.
    pub(super) fn drive(&mut self, budget: Option<Money>) -> Result<(), Error> {
        self.driver = Some(DriverThread::start(self.forge, self.follower.id(), budget)?);
        if self.attended.is_none() {
            self.attended = self.forge.attend(self.follower.id());
        }
        (self.outcome, self.driven_by) = (None, DrivenBy::ThisProcess);
        (self.is_interrupted, self.wants_driver) = (false, false);
        Ok(())
    }

    /// Collects the outcome of the driver thread if it has ended.
    pub(super) fn collect_driver(&mut self) -> Result<(), Error> {
        let Some(driver) = self.driver.take_if(|driver| driver.is_finished()) else {
            return Ok(());
        };
        match driver.join() {
            Ok(left) => self.outcome = Some(left),
            // Another process took the run while it had no driver.
            Err(_) if self.follower.is_driven() => self.attach(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn attach(&mut self) {
        (self.task, self.driven_by) = (ScreenTask::Attach, DrivenBy::AnotherProcess);
        self.attended = None;
    }

    /// Returns why the screen closes, if it does.
    pub(super) fn exit_reason(
        &mut self,
        snapshot: &RunSnapshot,
    ) -> Result<Option<ScreenExit>, Error> {
        match self.task {
            ScreenTask::Drive { .. } => self.exit_when_driving(snapshot),
            ScreenTask::Attach => Ok(self.exit_when_attached(snapshot)),
        }
    }

    fn exit_when_driving(&mut self, snapshot: &RunSnapshot) -> Result<Option<ScreenExit>, Error> {
        let Some(left) = self.outcome.take() else { return Ok(None) };
        match left.how {
            DriveEnd::DrivenElsewhere => {
                self.attach();
                return Ok(None);
            }
            // After a forwarded Ctrl-C, any stop ends the screen.
            DriveEnd::Stopped(Standing::Waiting | Standing::Paused) if !self.is_interrupted => {}
            DriveEnd::TerminalGone | DriveEnd::Stopped(_) => {
                return Ok(Some(ScreenExit::Finished(Box::new(left))));
            }
        }
        let standing = snapshot.view.row.standing;
        match standing.course() {
            // A question was answered, or the run was resumed, here or elsewhere: it continues.
            Course::Driven => {
                self.drive(None)?;
                Ok(None)
            }
            Course::Asking => {
                self.outcome = Some(left);
                Ok(None)
            }
            Course::Held if standing == Standing::Paused => {
                self.outcome = Some(left);
                Ok(None)
            }
            Course::Held | Course::Failed | Course::Over => Ok(Some(self.finished(standing))),
        }
    }

    fn exit_when_attached(&mut self, snapshot: &RunSnapshot) -> Option<ScreenExit> {
        if self.asked_driver.is_none_or(|asked| asked.elapsed() >= DRIVER_INTERVAL) {
            self.asked_driver = Some(Instant::now());
            let is_driven = self.follower.is_driven();
            self.absent_looks = if is_driven { 0 } else { self.absent_looks + 1 };
            self.has_seen_driver |= is_driven;
        }
        let standing = snapshot.view.row.standing;
        // No driver follows that of a run which is held.
        let looks = if standing.course() == Course::Held { 1 } else { ABSENT_LOOKS_MAX };
        let is_alone = self.absent_looks >= looks;
        self.driven_by = if is_alone { DrivenBy::Nothing } else { DrivenBy::AnotherProcess };
        match standing.course() {
            Course::Failed | Course::Over => Some(self.finished(standing)),
            // One that was stopped before stays, and can be resumed here.
            Course::Held if standing.is_stopped() && !self.has_seen_driver => None,
            Course::Held if is_alone && standing != Standing::Paused => {
                Some(self.finished(standing))
            }
            Course::Driven if self.wants_driver => {
                self.wants_driver = false;
                let run = self.follower.id();
                // A screen that attends to the run drives it on itself.
                if !self.forge.is_driven(run) && !self.forge.is_attended(run) {
                    self.drive_here();
                }
                None
            }
            Course::Driven | Course::Asking | Course::Held => None,
        }
    }

    fn finished(&self, standing: Standing) -> ScreenExit {
        let (run, how) = (self.follower.id().to_owned(), DriveEnd::Stopped(standing));
        ScreenExit::Finished(Box::new(RunOutcome { run, how, left: None, behind: None }))
    }

    pub(super) fn handle_signals(&mut self) -> Option<ScreenExit> {
        for signal in self.signals.received() {
            match signal {
                ScreenSignal::Interrupt => match &self.driver {
                    Some(driver) => {
                        driver.interrupt();
                        self.is_interrupted = true;
                        self.show_tree();
                        let text = "Stopping: agents have 10s to finish. Ctrl-C again kills them.";
                        self.message = Some(StatusMessage::until_key(text));
                    }
                    None => return Some(self.exit_without_driver()),
                },
                ScreenSignal::HangUp => self.hang_up(),
                ScreenSignal::Suspend => {
                    self.terminal = None;
                    external_program::suspend();
                }
                // A shell may have written to the screen meanwhile.
                ScreenSignal::Redraw => self.painter.invalidate(),
            }
        }
        None
    }

    /// Handles the loss of the terminal: the driver exits, and running calls continue.
    pub(super) fn hang_up(&mut self) {
        self.show_tree();
        match &self.driver {
            Some(driver) => driver.hang_up(),
            None => self.close(self.exit_without_driver()),
        }
    }

    /// Closes the screen. A run that this process drives is handed to a detached driver, unless it is held.
    pub(super) fn leave(&mut self, snapshot: &RunSnapshot) -> Option<ScreenExit> {
        if self.driver.is_some() && on_leave(snapshot.view.row.standing) == OnLeave::Stops {
            let text = "The run is stopping. Press Ctrl-C to leave without waiting.";
            self.message = Some(StatusMessage::until_key(text));
            return None;
        }
        let Some(driver) = self.driver.take() else { return Some(self.exit_without_driver()) };
        driver.hang_up();
        match driver.join() {
            Ok(RunOutcome { how: DriveEnd::TerminalGone, left, run, behind }) => {
                let last = left.as_ref().map_or(&snapshot.view, |left| &left.view).row.standing;
                match on_leave(last) {
                    OnLeave::Continues => Some(ScreenExit::Detached),
                    // A new driver would resume the run; that is for the person to decide.
                    OnLeave::StaysHeld | OnLeave::Stops => {
                        let how = DriveEnd::Stopped(last);
                        let outcome = RunOutcome { run, how, left, behind };
                        Some(ScreenExit::Finished(Box::new(outcome)))
                    }
                }
            }
            Ok(left) => Some(ScreenExit::Finished(Box::new(left))),
            Err(error) => {
                self.message = Some(StatusMessage::until_key(error.what));
                None
            }
        }
    }

    /// Returns the exit of a screen whose process has no driver for the run now.
    fn exit_without_driver(&self) -> ScreenExit {
        let snapshot = self.last_snapshot.as_ref();
        let standing = snapshot.map_or(Standing::Going, |snapshot| snapshot.view.row.standing);
        match self.task {
            ScreenTask::Drive { .. } => self.finished(standing),
            ScreenTask::Attach => match snapshot {
                Some(snapshot) if self.driven_by.is_missing(snapshot) => ScreenExit::NotDriven,
                Some(_) | None if standing == Standing::Waiting => self.finished(standing),
                Some(_) | None => ScreenExit::Closed(standing),
            },
        }
    }

    /// Pauses the run, or continues it if a person halted it.
    pub(super) fn pause_or_resume(&mut self, snapshot: &RunSnapshot) {
        let (command, done) = if is_halted(snapshot.view.row.standing) {
            (Command::Resume { by: person(), budget: None }, "Running again.")
        } else {
            (Command::Pause { by: person() }, "Pausing: running agents finish, nothing new starts.")
        };
        self.message = Some(match self.send(&command) {
            Ok(()) => {
                self.wants_driver = matches!(command, Command::Resume { .. });
                StatusMessage::briefly(done, snapshot)
            }
            Err(error) => StatusMessage::until_key(error.what),
        });
    }

    pub(super) fn send(&self, command: &Command) -> Result<(), Error> {
        self.forge.send(self.follower.id(), command).map(|_| ())
    }

    /// Drives a run here that has no driver.
    pub(super) fn take_over(&mut self, snapshot: &RunSnapshot) {
        if is_halted(snapshot.view.row.standing) {
            self.pause_or_resume(snapshot);
        } else if self.driven_by.is_missing(snapshot) {
            self.drive_here();
        }
    }

    fn drive_here(&mut self) {
        self.task = ScreenTask::Drive { budget: None };
        if let Err(error) = self.drive(None) {
            self.attach();
            self.message = Some(StatusMessage::until_key(error.what));
        }
    }
}
