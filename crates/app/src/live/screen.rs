//! The loop of the live screen: look at the run, paint it, wait for a key, a signal or the next look.
//!
//! Not here: the driver and the end of the screen (`lifecycle.rs`), and what keys do (`screen_keys.rs`).

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::AsFd as _,
    rc::Rc,
    time::{Duration, Instant},
};

use forge_api::{
    Error,
    attendance::Attended,
    clock::now,
    follow::{Follower, RunSnapshot},
    forge::{Forge, RunOutcome},
    settings::Switch,
};
use forge_core::{
    money::Money,
    view::{QuestionView, Standing},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    agent_stream::{stream_frame, stream_lines},
    ansi::to_ansi,
    driver_thread::DriverThread,
    frame::{FrameOptions, ScreenFrame, UnitStream, final_lines, frame},
    header::{ScreenContext, WhenLeft, header},
    keys::KeyReader,
    line::{ScreenSize, wrap},
    painter::Painter,
    question::QuestionDialog,
    signals::ScreenSignals,
    status_message::StatusMessage,
    terminal::{self, RawTerminal},
    terminal_features::{Motion, TerminalFeatures},
    unsent_text::UnsentText,
    window_state::window_state,
};
use crate::{terminal_info, terminal_output, text::state_words::DrivenBy};

/// How often the screen reads the run.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long the rest of an escape sequence may take.
const ESCAPE_WAIT: Duration = Duration::from_millis(40);
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

/// What happens to a question while nobody presses a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnSilence {
    Wait,
    /// It is approved after this time, which is counted down on the screen; for the demo.
    Approve {
        after: Duration,
    },
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
    show_with(forge, id, task, OnSilence::Wait)
}

/// The lines of the tree that stay beside the lines that say how a run begins.
const TREE_LINES_MIN: usize = 16;

/// Drives a run that has just begun, and first says how it begins where there is room.
pub(crate) fn show_begun(forge: &Forge, id: &str, opening: &str) -> Result<ScreenExit, Error> {
    let task = ScreenTask::Drive { budget: None };
    let mut screen = LiveScreen::new(forge, id, task, OnSilence::Wait)?;
    let ScreenSize { width, height } = RawTerminal::size();
    let lines = wrap(opening, width.saturating_sub(1));
    // Checks, size, budget and estimate come last.
    let room = height.saturating_sub(TREE_LINES_MIN);
    let opening = lines[lines.len().saturating_sub(room)..].join("\n");
    if !opening.is_empty() {
        screen.message = Some(StatusMessage::opening(opening, now()));
    }
    screen.run_and_leave()
}

/// Does the same, and says what happens to questions that nobody answers.
pub(crate) fn show_with(
    forge: &Forge,
    id: &str,
    task: ScreenTask,
    on_silence: OnSilence,
) -> Result<ScreenExit, Error> {
    LiveScreen::new(forge, id, task, on_silence)?.run_and_leave()
}

/// The view that fills the screen.
pub(super) enum ScreenMode {
    Tree,
    Stream {
        unit: String,
        back: usize,
    },
    /// A question, by its id.
    Asking(String),
    /// The question was answered elsewhere while the person was typing.
    Unsent(Box<UnsentText>),
}

pub(super) struct LiveScreen<'a> {
    pub(super) forge: &'a Forge,
    pub(super) follower: Follower<'a>,
    pub(super) signals: ScreenSignals,
    pub(super) terminal: Option<RawTerminal>,
    pub(super) painter: Painter,
    features: TerminalFeatures,
    pub(super) keys: KeyReader,
    pub(super) mode: ScreenMode,
    /// The selected unit of the tree.
    pub(super) chosen: Option<String>,
    /// The running unit in the pane, if the person chose one with Tab.
    pub(super) watched: Option<String>,
    /// The units that can be selected, from the top.
    pub(super) units: Vec<String>,
    pub(super) message: Option<StatusMessage>,
    /// The open questions that were shown, with what was typed.
    pub(super) dialogs: BTreeMap<String, QuestionDialog>,
    /// Questions that the person wants to answer later.
    pub(super) postponed: BTreeSet<String>,
    /// Questions for which the bell was rung.
    rung: BTreeSet<String>,
    pub(super) task: ScreenTask,
    on_silence: OnSilence,
    /// When the question on the screen is approved by itself.
    pub(super) approval_due: Option<(String, Instant)>,
    pub(super) driver: Option<DriverThread>,
    /// Tells other processes that the run continues here once it is answered.
    pub(super) attended: Option<Attended>,
    /// Whether Ctrl-C was forwarded to the driver.
    pub(super) is_interrupted: bool,
    /// Whether the person answered or resumed a run that has no driver, and wants it to continue.
    pub(super) wants_driver: bool,
    pub(super) outcome: Option<RunOutcome>,
    pub(super) driven_by: DrivenBy,
    pub(super) asked_driver: Option<Instant>,
    pub(super) absent_looks: u32,
    /// Whether another process drove the run while the screen was open.
    pub(super) has_seen_driver: bool,
    pub(super) last_snapshot: Option<Rc<RunSnapshot>>,
    /// Why the screen closes once the person has stopped typing.
    exit: Option<ScreenExit>,
    /// Texts that were not sent, with their questions, for the scrollback.
    pub(super) unsent: Vec<(String, String)>,
}

impl<'a> LiveScreen<'a> {
    fn new(
        forge: &'a Forge,
        id: &str,
        task: ScreenTask,
        on_silence: OnSilence,
    ) -> Result<Self, Error> {
        let follower = forge.follow(id)?;
        let features = TerminalFeatures::detect();
        let mut screen = Self {
            forge,
            follower,
            signals: ScreenSignals::listen()?,
            terminal: None,
            painter: Painter::new(features),
            features,
            keys: KeyReader::default(),
            mode: ScreenMode::Tree,
            chosen: None,
            watched: None,
            units: Vec::new(),
            message: None,
            dialogs: BTreeMap::new(),
            postponed: BTreeSet::new(),
            rung: BTreeSet::new(),
            task,
            on_silence,
            approval_due: None,
            driver: None,
            attended: None,
            is_interrupted: false,
            wants_driver: false,
            outcome: None,
            driven_by: DrivenBy::AnotherProcess,
            asked_driver: None,
            absent_looks: 0,
            has_seen_driver: false,
            last_snapshot: None,
            exit: None,
            unsent: Vec::new(),
        };
        if let ScreenTask::Drive { budget } = task {
            screen.drive(budget)?;
        }
        Ok(screen)
    }

    fn run_and_leave(mut self) -> Result<ScreenExit, Error> {
        let exit = self.run();
        if let Some(driver) = self.driver.take() {
            // The screen failed, not the run.
            driver.stop();
        }
        self.terminal = None;
        self.print_last();
        exit
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
            self.close_answered_questions(&snapshot);
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
            self.approve_on_silence(&snapshot);
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

    pub(super) fn context(&self) -> ScreenContext {
        let when_left = match self.on_silence {
            OnSilence::Wait => WhenLeft::KeepsRunning,
            OnSilence::Approve { .. } => WhenLeft::Ends,
        };
        ScreenContext { driven_by: self.driven_by, motion: self.features.motion, when_left }
    }

    /// Forgets questions that were answered. A text that is being typed for one of them stays on the screen.
    fn close_answered_questions(&mut self, snapshot: &RunSnapshot) {
        let is_open = |question: &str| find_question(snapshot, question).is_some();
        let is_closed = |question: &&String| !is_open(question);
        let closed: Vec<String> = self.dialogs.keys().filter(is_closed).cloned().collect();
        for question in closed {
            let Some(dialog) = self.dialogs.remove(&question) else { continue };
            let is_shown = matches!(&self.mode, ScreenMode::Asking(shown) if *shown == question);
            if let Some(text) = dialog.open_box().filter(|_| is_shown) {
                let text = text.clone();
                self.mode = ScreenMode::Unsent(Box::new(UnsentText { question, text }));
                continue;
            }
            self.unsent.extend(dialog.unsent_texts().map(|text| (question.clone(), text)));
            if is_shown {
                let text = format!("{question} was answered elsewhere.");
                self.message = Some(StatusMessage::briefly(text, snapshot));
                self.mode = ScreenMode::Tree;
            }
        }
    }

    /// Closes the screen, once the person has stopped typing.
    pub(super) fn close(&mut self, exit: ScreenExit) {
        self.exit = Some(exit);
    }

    /// Switches to the tree. A text that was not sent is kept.
    pub(super) fn show_tree(&mut self) {
        let mode = std::mem::replace(&mut self.mode, ScreenMode::Tree);
        if let ScreenMode::Unsent(unsent) = mode
            && !unsent.text.is_blank()
        {
            self.unsent.push((unsent.question, unsent.text.text()));
        }
    }

    /// Opens the next question that was not postponed.
    fn show_next_question(&mut self, snapshot: &RunSnapshot) {
        let ScreenMode::Tree = self.mode else { return };
        let mut open = snapshot.view.asked.iter();
        let next = open.find(|asked| !self.postponed.contains(&asked.question));
        if let Some(question) = next {
            self.open_question(question);
            match self.forge.bell() {
                Switch::On if self.rung.insert(question.question.clone()) => {
                    terminal_output::ring_bell();
                }
                Switch::On | Switch::Off => {}
            }
        }
    }

    /// Shows a question, with what was typed for it before.
    pub(super) fn open_question(&mut self, question: &QuestionView) {
        let id = question.question.clone();
        if let OnSilence::Approve { after } = self.on_silence
            && !self.dialogs.contains_key(&id)
        {
            self.approval_due = Some((id.clone(), Instant::now() + after));
        }
        let message = self.message.take().filter(|message| !message.is_of_this_screen());
        let dialog =
            self.dialogs.entry(id.clone()).or_insert_with(|| QuestionDialog::new(question));
        if let Some(message) = message {
            dialog.set_message(message);
        }
        self.mode = ScreenMode::Asking(id);
    }

    fn paint(&mut self, snapshot: &RunSnapshot) {
        if self.terminal.is_none() {
            return;
        }
        let (size, context) = (RawTerminal::size(), self.context());
        let (lines, cursor) = match &self.mode {
            ScreenMode::Tree => {
                let message = self.message.as_ref().and_then(|message| message.text_at(snapshot));
                let unit = self.pane_unit(snapshot);
                let stream = unit.as_deref().map(|unit| {
                    let lines = stream_lines(self.follower.stream(unit), size.width);
                    UnitStream { unit, lines }
                });
                let chosen = self.chosen.as_deref();
                let options = FrameOptions { size, context, chosen, message, stream };
                let ScreenFrame { lines, units } = frame(snapshot, &options);
                self.units = units;
                (lines, None)
            }
            ScreenMode::Stream { unit, back } => {
                let header = header(snapshot, context, size.width, 0);
                let seen = self.follower.stream(unit);
                (stream_frame(header, snapshot, unit, seen, *back, size), None)
            }
            ScreenMode::Asking(id) => {
                let dialog = self.dialogs.get(id).zip(find_question(snapshot, id));
                let Some((dialog, question)) = dialog else { return };
                dialog.frame(snapshot, question, context, size)
            }
            ScreenMode::Unsent(unsent) => unsent.frame(snapshot, context, size),
        };
        let window = window_state(snapshot, self.driven_by);
        terminal::write(&self.painter.paint(&lines, cursor, size, &window));
    }

    /// Returns the unit whose stream is in the pane: the selected one, the one chosen with Tab, or the latest.
    fn pane_unit(&self, snapshot: &RunSnapshot) -> Option<String> {
        let is_working = |unit: &&String| snapshot.working.contains_key(*unit);
        let named = self.chosen.as_ref().into_iter().chain(&self.watched).find(is_working);
        let latest = snapshot
            .working
            .iter()
            .max_by_key(|(_, calls)| calls.iter().map(|call| call.since).max().unwrap_or_default());
        named.or(latest.map(|(unit, _)| unit)).cloned()
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

    /// Prints to the scrollback what should stay there: automatic approvals, words that were not sent, the tree.
    fn print_last(&mut self) {
        for approval in self.follower.approvals() {
            terminal_output::print_progress(approval);
        }
        self.show_tree();
        for (question, dialog) in &self.dialogs {
            let texts = dialog.unsent_texts().map(|text| (question.clone(), text));
            self.unsent.extend(texts);
        }
        for (question, text) in &self.unsent {
            let text = format!("{question}: your words were not sent:\n{text}\n");
            terminal_output::print_progress(&text);
        }
        if let Some(snapshot) = &self.last_snapshot {
            let width = terminal_info::terminal_width();
            let context = ScreenContext { motion: Motion::Off, ..self.context() };
            for line in final_lines(snapshot, context, width, LAST_LINES_MAX) {
                terminal_output::print_progress_raw(&to_ansi(&line, self.features));
            }
        }
    }
}

pub(super) fn find_question<'a>(
    snapshot: &'a RunSnapshot,
    question: &str,
) -> Option<&'a QuestionView> {
    snapshot.view.asked.iter().find(|asked| asked.question == question)
}
