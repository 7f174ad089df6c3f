//! The live screen of a run: the tree of units, one agent's stream, and questions.
//!
//! - `header.rs`, `frame.rs`, `unit_rows.rs`, `question.rs`, `input_box.rs`, `unsent_text.rs`, `agent_stream.rs`:
//!   what is shown. Pure.
//! - `line.rs`, `painter.rs`: styled lines, and writing them to the terminal.
//! - `terminal.rs`, `keys.rs`, `signals.rs`: raw mode and input.
//! - `driver_thread.rs`: a driver in this process.
//! - `external_program.rs`: the pager and the editor, which get the terminal for a while.
//!
//! The screen has the main thread and handles all signals. If this process drives the run, the driver has a thread of
//! its own and gets Ctrl-C through a channel. Answers are sent like those of any other user interface.
//!
//! Invariant: the screen decides nothing, and the run does not depend on it.

mod agent_stream;
mod driver_thread;
mod external_program;
mod frame;
mod header;
mod input_box;
mod keys;
mod line;
mod painter;
mod question;
#[cfg(test)]
mod replay_tests;
mod signals;
mod status_message;
mod terminal;
#[cfg(test)]
mod tests;
mod unit_rows;
mod unsent_text;

use std::{
    collections::BTreeSet,
    io,
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};

use forge_api::{
    Error,
    attendance::Attended,
    follow::{Follower, RunSnapshot},
    forge::{Forge, RunOutcome},
    person::person,
    run_loop::DriveEnd,
    settings::Switch,
};
use forge_core::{
    Command,
    event::Answer,
    id::QuestionId,
    money::Money,
    view::{Course, QuestionView, Standing, sanitize},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::{
    agent_stream::stream_frame,
    driver_thread::DriverThread,
    frame::{FrameOptions, KEY_HELP, OnLeave, ScreenFrame, frame, on_leave},
    header::{DrivenBy, lacks_driver},
    input_box::InputResult,
    keys::{KeyPress, KeyReader},
    painter::Painter,
    question::{DialogResult, QuestionDialog},
    signals::{ScreenSignal, ScreenSignals},
    status_message::StatusMessage,
    terminal::RawTerminal,
    unsent_text::UnsentText,
};
use crate::{
    document, terminal_info, terminal_output,
    text::{
        question_text::{QuestionLayout, question_text},
        result_text::{parse_unit_id, review_documents},
    },
};

pub(crate) use terminal::restore;

/// How often the screen reads the run.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long the rest of an escape sequence may take.
const ESCAPE_WAIT: Duration = Duration::from_millis(40);
/// How often the driver of a run is checked that this process does not drive.
const DRIVER_INTERVAL: Duration = Duration::from_secs(1);
/// After this many checks without a driver a run counts as not driven; drivers may replace each other.
const ABSENT_LOOKS_MAX: u32 = 3;
/// The most lines of the tree that are printed when the screen is closed.
const LAST_LINES_MAX: usize = 60;

/// The purpose of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenTask {
    /// This process drives the run, perhaps with a new budget.
    Drive { budget: Option<Money> },
    /// Another process drives the run, or none.
    Attach,
}

/// Why a screen was closed.
#[derive(Debug)]
pub(crate) enum ScreenExit {
    /// The run stopped, or waits for answers that the person postponed.
    Finished(Box<RunOutcome>),
    /// The run is to continue without this terminal.
    Detached,
    /// The person closed the screen of a run that another process drives and that has this standing.
    Closed(Standing),
    /// No process drives the run.
    NotDriven,
}

/// Returns true if stdin and stdout are terminals that can show a screen.
pub(crate) fn is_supported() -> bool {
    use std::io::IsTerminal as _;
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}

/// Shows a run until it stops or the person leaves. The final tree is printed to the scrollback.
pub(crate) fn show(forge: &Forge, id: &str, task: ScreenTask) -> Result<ScreenExit, Error> {
    let mut screen = LiveScreen::new(forge, id, task)?;
    let exit = screen.run();
    if let Some(driver) = screen.driver.take() {
        // The screen failed, not the run.
        driver.stop();
    }
    screen.terminal = None;
    let colours = terminal_info::stdout_colours();
    for approval in screen.follower.approvals() {
        terminal_output::print_progress(approval);
    }
    screen.show_tree();
    for unsent in &screen.unsent {
        terminal_output::print_progress(&format!(
            "{}:\n{}\n",
            unsent.explanation(),
            unsent.text.trim_end()
        ));
    }
    if let Some(snapshot) = &screen.last_snapshot {
        for line in frame::final_lines(
            snapshot,
            screen.driven_by,
            terminal_info::terminal_width(),
            LAST_LINES_MAX,
        ) {
            terminal_output::print_progress_raw(&line.render(colours));
        }
    }
    exit
}

/// The view that fills the screen.
enum ScreenMode {
    Tree,
    Stream {
        unit: String,
        back: usize,
    },
    Asking(Box<QuestionDialog>),
    /// The question was answered elsewhere while the person was typing.
    Unsent(UnsentText),
}

struct LiveScreen<'a> {
    forge: &'a Forge,
    follower: Follower<'a>,
    signals: ScreenSignals,
    terminal: Option<RawTerminal>,
    painter: Painter,
    keys: KeyReader,
    mode: ScreenMode,
    chosen: Option<String>,
    /// The units that can be selected, from the top.
    units: Vec<String>,
    message: Option<StatusMessage>,
    /// Questions that the person wants to answer later.
    postponed: BTreeSet<String>,
    /// Questions for which the bell was rung.
    rung: BTreeSet<String>,
    task: ScreenTask,
    driver: Option<DriverThread>,
    /// Tells other processes that the run continues here once it is answered.
    attended: Option<Attended>,
    /// Whether Ctrl-C was forwarded to the driver.
    is_interrupted: bool,
    outcome: Option<RunOutcome>,
    driven_by: DrivenBy,
    asked_driver: Option<Instant>,
    absent_looks: u32,
    last_snapshot: Option<Rc<RunSnapshot>>,
    /// Why the screen closes once the person has stopped typing.
    exit: Option<ScreenExit>,
    /// Texts that were not sent, for the scrollback.
    unsent: Vec<UnsentText>,
}

impl<'a> LiveScreen<'a> {
    fn new(forge: &'a Forge, id: &str, task: ScreenTask) -> Result<Self, Error> {
        let follower = forge.follow(id)?;
        let mut screen = Self {
            forge,
            follower,
            signals: ScreenSignals::listen()?,
            terminal: None,
            painter: Painter::new(terminal_info::stdout_colours()),
            keys: KeyReader::default(),
            mode: ScreenMode::Tree,
            chosen: None,
            units: Vec::new(),
            message: None,
            postponed: BTreeSet::new(),
            rung: BTreeSet::new(),
            task,
            driver: None,
            attended: None,
            is_interrupted: false,
            outcome: None,
            driven_by: DrivenBy::AnotherProcess,
            asked_driver: None,
            absent_looks: 0,
            last_snapshot: None,
            exit: None,
            unsent: Vec::new(),
        };
        if let ScreenTask::Drive { budget } = task {
            screen.drive(budget)?;
        }
        Ok(screen)
    }

    /// Starts a driver thread for the run.
    fn drive(&mut self, budget: Option<Money>) -> Result<(), Error> {
        self.driver = Some(DriverThread::start(self.forge, self.follower.id(), budget)?);
        if self.attended.is_none() {
            self.attended = self.forge.attend(self.follower.id());
        }
        (self.outcome, self.driven_by) = (None, DrivenBy::ThisProcess);
        self.is_interrupted = false;
        Ok(())
    }

    fn run(&mut self) -> Result<ScreenExit, Error> {
        loop {
            if self.terminal.is_none() && RawTerminal::is_foreground() {
                self.terminal = Some(RawTerminal::enter()?);
                self.painter.invalidate();
            }
            self.collect_driver()?;
            let snapshot = Rc::new(self.follower.look()?);
            self.last_snapshot = Some(Rc::clone(&snapshot));
            self.keep_unsent_text(&snapshot);
            if self.exit.is_none() {
                self.exit = self.exit_reason(&snapshot)?;
            }
            // Keys that are still typed must not reach the shell.
            if !matches!(self.mode, ScreenMode::Unsent(_))
                && let Some(exit) = self.exit.take()
            {
                return Ok(exit);
            }
            self.show_next_question(&snapshot);
            self.paint(&snapshot);
            self.wait()?;
            if let Some(exit) = self.handle_signals() {
                return Ok(exit);
            }
            while let Some(key) = self.keys.next() {
                if let Some(exit) = self.key(&key, &snapshot) {
                    return Ok(exit);
                }
            }
        }
    }

    /// Collects the outcome of the driver thread if it has ended.
    fn collect_driver(&mut self) -> Result<(), Error> {
        let Some(driver) = self.driver.take_if(|driver| driver.is_finished()) else {
            return Ok(());
        };
        match driver.join() {
            Ok(left) => self.outcome = Some(left),
            // Another process took the run while it had no driver.
            Err(_) if self.follower.is_driven() => {
                (self.task, self.driven_by) = (ScreenTask::Attach, DrivenBy::AnotherProcess);
                self.attended = None;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns why the screen closes, if it does.
    fn exit_reason(&mut self, snapshot: &RunSnapshot) -> Result<Option<ScreenExit>, Error> {
        match self.task {
            ScreenTask::Drive { .. } => self.exit_when_driving(snapshot),
            ScreenTask::Attach => Ok(self.exit_when_attached(snapshot)),
        }
    }

    fn exit_when_driving(&mut self, snapshot: &RunSnapshot) -> Result<Option<ScreenExit>, Error> {
        let Some(left) = self.outcome.take() else { return Ok(None) };
        match left.how {
            DriveEnd::DrivenElsewhere => {
                (self.task, self.driven_by) = (ScreenTask::Attach, DrivenBy::AnotherProcess);
                self.attended = None;
                return Ok(None);
            }
            // After a forwarded Ctrl-C, any stop ends the screen.
            DriveEnd::Stopped(Standing::Waiting) if !self.is_interrupted => {}
            DriveEnd::TerminalGone | DriveEnd::Stopped(_) => {
                return Ok(Some(ScreenExit::Finished(Box::new(left))));
            }
        }
        let standing = snapshot.view.row.standing;
        match standing.course() {
            // A question was answered, here or elsewhere: the run continues.
            Course::Driven => {
                self.drive(None)?;
                Ok(None)
            }
            Course::Asking if !self.is_all_postponed(snapshot) => {
                self.outcome = Some(left);
                Ok(None)
            }
            Course::Asking | Course::Held | Course::Failed | Course::Over => {
                let how = DriveEnd::Stopped(standing);
                Ok(Some(ScreenExit::Finished(Box::new(RunOutcome { how, view: None, ..left }))))
            }
        }
    }

    fn exit_when_attached(&mut self, snapshot: &RunSnapshot) -> Option<ScreenExit> {
        if self.asked_driver.is_none_or(|asked| asked.elapsed() >= DRIVER_INTERVAL) {
            self.asked_driver = Some(Instant::now());
            self.absent_looks = if self.follower.is_driven() { 0 } else { self.absent_looks + 1 };
        }
        let is_alone = self.absent_looks >= ABSENT_LOOKS_MAX;
        self.driven_by = if is_alone { DrivenBy::Nothing } else { DrivenBy::AnotherProcess };
        match snapshot.view.row.standing.course() {
            Course::Failed | Course::Over => Some(self.finished(snapshot)),
            Course::Asking if self.absent_looks > 0 => {
                self.is_all_postponed(snapshot).then(|| self.finished(snapshot))
            }
            Course::Held if is_alone => Some(self.finished(snapshot)),
            Course::Driven | Course::Asking | Course::Held => None,
        }
    }

    fn finished(&self, snapshot: &RunSnapshot) -> ScreenExit {
        let (run, how) =
            (self.follower.id().to_owned(), DriveEnd::Stopped(snapshot.view.row.standing));
        ScreenExit::Finished(Box::new(RunOutcome { run, how, view: None, behind: None }))
    }

    fn is_all_postponed(&self, snapshot: &RunSnapshot) -> bool {
        snapshot.view.asked.iter().all(|asked| self.postponed.contains(&asked.question))
    }

    /// Keeps the input box open if the question was answered elsewhere while the person was typing.
    fn keep_unsent_text(&mut self, snapshot: &RunSnapshot) {
        if let ScreenMode::Asking(dialog) = &self.mode
            && find_question(snapshot, &dialog.question).is_none()
            && let Some(text) = dialog.unsent_text()
        {
            let (question, text) = (dialog.question.clone(), text.to_owned());
            self.mode = ScreenMode::Unsent(UnsentText { question, text });
        }
    }

    /// Switches to the tree. A text that was not sent is kept.
    fn show_tree(&mut self) {
        let mode = std::mem::replace(&mut self.mode, ScreenMode::Tree);
        if let ScreenMode::Unsent(unsent) = mode
            && !unsent.text.trim().is_empty()
        {
            self.unsent.push(unsent);
        }
    }

    /// Opens the next question, and closes one that was answered elsewhere.
    fn show_next_question(&mut self, snapshot: &RunSnapshot) {
        if let ScreenMode::Asking(dialog) = &self.mode
            && find_question(snapshot, &dialog.question).is_none()
        {
            let text = format!("{} was answered elsewhere", dialog.question);
            self.message = Some(StatusMessage::briefly(text, snapshot));
            self.mode = ScreenMode::Tree;
        }
        if let ScreenMode::Tree = self.mode {
            let open = snapshot.view.asked.iter();
            let next = open.into_iter().find(|asked| !self.postponed.contains(&asked.question));
            if let Some(question) = next {
                let mut dialog = QuestionDialog::new(question);
                if let Some(message) = self.message.take() {
                    dialog.set_message(message);
                }
                self.mode = ScreenMode::Asking(Box::new(dialog));
                match self.forge.bell() {
                    Switch::On if self.rung.insert(question.question.clone()) => {
                        terminal_output::ring_bell();
                    }
                    Switch::On | Switch::Off => {}
                }
            }
        }
    }

    fn paint(&mut self, snapshot: &RunSnapshot) {
        if self.terminal.is_none() {
            return;
        }
        let size = RawTerminal::size();
        let folder = shortest_path(&self.forge.home.run(self.follower.id()));
        let (lines, cursor) = match &self.mode {
            ScreenMode::Tree => {
                let message = self.message.as_ref().and_then(|message| message.text_at(snapshot));
                let (chosen, message) = (self.chosen.clone(), message.map(str::to_owned));
                let options = FrameOptions { size, driven_by: self.driven_by, chosen, message };
                let ScreenFrame { lines, units } = frame(snapshot, &options);
                self.units = units;
                (lines, None)
            }
            ScreenMode::Stream { unit, back } => {
                let seen = self.follower.stream(unit);
                (stream_frame(snapshot, self.driven_by, unit, seen, *back, size), None)
            }
            ScreenMode::Asking(dialog) => match find_question(snapshot, &dialog.question) {
                Some(question) => dialog.frame(snapshot, question, self.driven_by, &folder, size),
                None => return,
            },
            ScreenMode::Unsent(unsent) => unsent.frame(snapshot, self.driven_by, size),
        };
        terminal::write(&self.painter.paint(&lines, cursor, size));
    }

    /// Waits for a key, a signal, or the next poll.
    fn wait(&mut self) -> Result<(), Error> {
        let stdin = io::stdin();
        let is_half = !self.keys.is_empty();
        let wait = if is_half { ESCAPE_WAIT } else { POLL_INTERVAL };
        let mut files: Vec<PollFd<'_>> = self
            .signals
            .files()
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN))
            .collect();
        // A background process that reads from the terminal is stopped by the system.
        if self.terminal.is_some() && RawTerminal::is_foreground() {
            files.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN));
        }
        let wait = Timespec::try_from(wait).expect("a wait is short");
        match poll(&mut files, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                let what = format!("cannot wait: {error}");
                return Err(Error::surroundings(what, "forge doctor"));
            }
        }
        let n_signals = self.signals.files().count();
        let is_typed = files.get(n_signals).is_some_and(|file| !file.revents().is_empty());
        if is_typed {
            let mut bytes = [0_u8; 4096];
            match rustix::io::read(&stdin, &mut bytes) {
                Ok(n) if n > 0 => self.keys.push(&bytes[..n]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Ok(_) | Err(_) => self.hang_up(),
            }
        } else if is_half && let Some(key) = self.keys.flush_incomplete() {
            self.keys.unread(key);
        }
        Ok(())
    }

    fn handle_signals(&mut self) -> Option<ScreenExit> {
        for signal in self.signals.received() {
            match signal {
                ScreenSignal::Interrupt => match (&self.driver, self.task) {
                    (Some(driver), _) => {
                        driver.interrupt();
                        self.is_interrupted = true;
                        self.show_tree();
                        let text = "agents have 10 s to end; Ctrl-C again kills them";
                        self.message = Some(StatusMessage::until_key(text));
                    }
                    (None, ScreenTask::Drive { .. }) => self.postpone_all(),
                    (None, ScreenTask::Attach) => return Some(self.exit_without_driving()),
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
    fn hang_up(&mut self) {
        self.show_tree();
        match &self.driver {
            Some(driver) => driver.hang_up(),
            None => self.postpone_all(),
        }
    }

    fn postpone_all(&mut self) {
        if let Some(snapshot) = &self.last_snapshot {
            self.postponed.extend(snapshot.view.asked.iter().map(|asked| asked.question.clone()));
        }
        self.show_tree();
    }

    fn key(&mut self, key: &KeyPress, snapshot: &RunSnapshot) -> Option<ScreenExit> {
        match &mut self.mode {
            ScreenMode::Tree => return self.tree_key(key, snapshot),
            ScreenMode::Stream { back, .. } => match key {
                KeyPress::Up | KeyPress::Char('k') => *back += 1,
                KeyPress::Down | KeyPress::Char('j') => *back = back.saturating_sub(1),
                KeyPress::PageUp => *back += 10,
                KeyPress::PageDown => *back = back.saturating_sub(10),
                KeyPress::Escape | KeyPress::Enter | KeyPress::Char('q' | 'w') => {
                    self.mode = ScreenMode::Tree;
                }
                KeyPress::Char(_)
                | KeyPress::Backspace
                | KeyPress::Ctrl(_)
                | KeyPress::Pasted(_) => {}
            },
            ScreenMode::Asking(dialog) => {
                let question = find_question(snapshot, &dialog.question)?;
                let result = dialog.handle_key(key, question);
                self.apply_dialog_result(result, question, snapshot);
            }
            ScreenMode::Unsent(unsent) => match unsent.handle_key(key) {
                InputResult::Pending => {}
                InputResult::Submitted | InputResult::Cancelled => self.show_tree(),
            },
        }
        None
    }

    fn tree_key(&mut self, key: &KeyPress, snapshot: &RunSnapshot) -> Option<ScreenExit> {
        self.message = None;
        match key {
            KeyPress::Up | KeyPress::Char('k') => self.choose(Direction::Up),
            KeyPress::Down | KeyPress::Char('j') => self.choose(Direction::Down),
            KeyPress::Enter | KeyPress::Char('w') => {
                let at_work = snapshot.working.keys().next();
                match self.chosen.as_ref().or(at_work) {
                    Some(unit) => self.mode = ScreenMode::Stream { unit: unit.clone(), back: 0 },
                    None => {
                        self.message =
                            Some(StatusMessage::briefly("nobody is at work now", snapshot));
                    }
                }
            }
            KeyPress::Char('a') => self.postponed.clear(),
            KeyPress::Char('p') => self.pause_or_resume(snapshot),
            KeyPress::Char('r') => self.take_over(snapshot),
            KeyPress::Char('?') => self.message = Some(StatusMessage::until_key(KEY_HELP)),
            KeyPress::Char('q') => return self.leave(snapshot),
            KeyPress::Escape => self.chosen = None,
            KeyPress::PageUp
            | KeyPress::PageDown
            | KeyPress::Char(_)
            | KeyPress::Backspace
            | KeyPress::Ctrl(_)
            | KeyPress::Pasted(_) => {}
        }
        None
    }

    fn choose(&mut self, direction: Direction) {
        let at =
            self.chosen.as_ref().and_then(|chosen| self.units.iter().position(|u| u == chosen));
        let last = self.units.len().saturating_sub(1);
        let next = match (at, direction) {
            (None, Direction::Up) => last,
            (None, Direction::Down) => 0,
            (Some(at), Direction::Up) => at.saturating_sub(1),
            (Some(at), Direction::Down) => (at + 1).min(last),
        };
        self.chosen = self.units.get(next).cloned();
    }

    /// Pauses the run, or resumes it if it is paused.
    fn pause_or_resume(&mut self, snapshot: &RunSnapshot) {
        let (command, done) = if snapshot.view.row.standing == Standing::Paused {
            (Command::Resume { by: person(), budget: None }, "it goes on")
        } else {
            let done = "paused: what runs may end, nothing new starts";
            (Command::Pause { by: person() }, done)
        };
        let message = match self.send(&command) {
            Ok(()) => done.to_owned(),
            Err(error) => error.what,
        };
        self.message = Some(StatusMessage::until_key(message));
    }

    fn send(&self, command: &Command) -> Result<(), Error> {
        self.forge.send(self.follower.id(), command).map(|_| ())
    }

    /// Closes the screen. A run that this process drives is handed to a detached driver, unless it is held.
    fn leave(&mut self, snapshot: &RunSnapshot) -> Option<ScreenExit> {
        if self.driver.is_some() && on_leave(snapshot.view.row.standing) == OnLeave::Stops {
            self.message =
                Some(StatusMessage::until_key("it is stopping; Ctrl-C does not wait for it"));
            return None;
        }
        match (self.driver.take(), self.task) {
            (Some(driver), _) => {
                driver.hang_up();
                match driver.join() {
                    Ok(RunOutcome { how: DriveEnd::TerminalGone, view, run, behind }) => {
                        let last = view.as_ref().unwrap_or(&snapshot.view).row.standing;
                        match on_leave(last) {
                            OnLeave::Continues => Some(ScreenExit::Detached),
                            // A new driver would resume the run; that is for the person to decide.
                            OnLeave::StaysHeld | OnLeave::Stops => {
                                let how = DriveEnd::Stopped(last);
                                Some(ScreenExit::Finished(Box::new(RunOutcome {
                                    run,
                                    how,
                                    view,
                                    behind,
                                })))
                            }
                        }
                    }
                    Ok(left) => {
                        self.outcome = Some(left);
                        None
                    }
                    Err(error) => {
                        self.message = Some(StatusMessage::until_key(error.what));
                        None
                    }
                }
            }
            (None, ScreenTask::Attach) => Some(self.exit_without_driving()),
            (None, ScreenTask::Drive { .. }) => {
                self.postpone_all();
                None
            }
        }
    }

    /// Returns the exit of a screen whose process does not drive the run.
    fn exit_without_driving(&self) -> ScreenExit {
        match &self.last_snapshot {
            Some(snapshot) if lacks_driver(snapshot, self.driven_by) => ScreenExit::NotDriven,
            Some(snapshot) => ScreenExit::Closed(snapshot.view.row.standing),
            None => ScreenExit::Closed(Standing::Going),
        }
    }

    /// Drives a run here that has no driver.
    fn take_over(&mut self, snapshot: &RunSnapshot) {
        if !lacks_driver(snapshot, self.driven_by) {
            return;
        }
        self.task = ScreenTask::Drive { budget: None };
        if let Err(error) = self.drive(None) {
            self.task = ScreenTask::Attach;
            self.message = Some(StatusMessage::until_key(error.what));
        }
    }

    /// Applies what a key at a question resulted in.
    fn apply_dialog_result(
        &mut self,
        result: DialogResult,
        question: &QuestionView,
        snapshot: &RunSnapshot,
    ) {
        let run = self.follower.id().to_owned();
        match result {
            DialogResult::Pending => {}
            DialogResult::Postponed => {
                self.postponed.insert(question.question.clone());
                self.mode = ScreenMode::Tree;
                let text = format!("{} is left open", question.question);
                self.message = Some(StatusMessage::briefly(text, snapshot));
            }
            DialogResult::Answered { answer, words } => {
                self.answer(question, answer, words, snapshot);
            }
            DialogResult::ShowChange => {
                let change =
                    parse_unit_id(&question.unit).and_then(|unit| self.forge.change(&run, &unit));
                let text = change.map(|change| document::render(&review_documents(change)));
                self.page(text);
            }
            DialogResult::ShowFullText => {
                let folder = shortest_path(&self.forge.home.run(&run));
                let text = question_text(
                    &run,
                    question,
                    QuestionLayout::FullText { folder: &folder },
                    terminal_info::terminal_width(),
                );
                self.page(Ok(sanitize(&text)));
            }
            DialogResult::Edit { so_far } => {
                let written = self.with_released_terminal(|signals| {
                    external_program::run_editor(&so_far, signals)
                });
                if let ScreenMode::Asking(dialog) = &mut self.mode {
                    match written {
                        Ok(text) => dialog.set_text(&text),
                        Err(error) => dialog.set_message(StatusMessage::until_key(error.what)),
                    }
                }
            }
        }
    }

    /// Shows a text in the pager. Errors are shown at the question.
    fn page(&mut self, text: Result<String, Error>) {
        let done = text.and_then(|text| {
            self.with_released_terminal(|signals| external_program::run_pager(text, signals))
        });
        if let (Err(error), ScreenMode::Asking(dialog)) = (done, &mut self.mode) {
            dialog.set_message(StatusMessage::until_key(error.what));
        }
    }

    fn answer(
        &mut self,
        question: &QuestionView,
        answer: Answer,
        words: String,
        snapshot: &RunSnapshot,
    ) {
        let Ok(id) = question.question.parse::<QuestionId>() else { return };
        let command = Command::Answer { question: id, answer, words, by: person() };
        match self.send(&command) {
            Ok(()) => {
                self.message = Some(StatusMessage::briefly(format!("{id} is answered"), snapshot));
                self.mode = ScreenMode::Tree;
                // Not asked again before the next read shows the answer.
                self.postponed.insert(question.question.clone());
            }
            Err(error) => {
                if let ScreenMode::Asking(dialog) = &mut self.mode {
                    dialog.set_message(StatusMessage::until_key(error.what));
                }
            }
        }
    }

    /// Gives the terminal to another program, which gets Ctrl-C meanwhile.
    fn with_released_terminal<T>(
        &mut self,
        run: impl FnOnce(&mut ScreenSignals) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.terminal = None;
        let done = run(&mut self.signals);
        self.signals.received();
        done
    }
}

/// A direction of the selection in the tree.
#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// Makes a path relative to the current directory, if it is below it.
fn shortest_path(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let from_here = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    from_here.unwrap_or_else(|| path.to_owned())
}

fn find_question<'a>(snapshot: &'a RunSnapshot, question: &str) -> Option<&'a QuestionView> {
    snapshot.view.asked.iter().find(|asked| asked.question == question)
}
