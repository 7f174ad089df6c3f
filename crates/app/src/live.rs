//! A run on a terminal, while it goes on: the tree, one agent's stream, and questions in their place.
//!
//! - `live/frame.rs`, `rows.rs`, `ask.rs`, `words.rs`, `stream.rs`: what is shown. Pure.
//! - `live/line.rs`, `paint.rs`: lines, and how they get to the terminal.
//! - `live/terminal.rs`, `keys.rs`, `signals.rs`: what comes from it.
//! - `live/child.rs`: a pager or an editor, which have the terminal for a while.
//!
//! The screen has the main thread and all signals. Where this process drives the run, the driver has a thread of its
//! own and is told of Ctrl-C by hand. What a person answers goes through `Doors::send`, as from any other door.
//!
//! Invariant: the screen decides nothing, and the run does not depend on it.

mod agent_stream;
mod external_program;
mod frame;
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

use std::{
    collections::BTreeSet,
    io,
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    rc::Rc,
    sync::mpsc::channel,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use forge_core::{
    Command,
    event::Answer,
    id::QuestionId,
    money::Money,
    view::{Course, QuestionView, Standing},
};
use forge_runtime::{
    Trouble,
    attended::Attended,
    doors::{Doors, Left, person},
    drive::{Hands, LetGo, Signals as Told},
    follow::{Follower, Picture},
    settings::Switch,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::{
    frame::{Frame, KEYS, Leaving, Look, Seat, frame, leaving},
    input_box::{Typed, Unsent},
    keys::{Key, Keys},
    line::Colours,
    painter::Painter,
    question::{Ask, Asked},
    signals::{Heard, Signals},
    status_message::Said,
    terminal::Terminal,
};
use crate::{
    document, terminal_output,
    text::{
        question_text::{Ways, asked as in_words},
        result_text::{to_decide_on, unit_id},
    },
};

pub(crate) use terminal::restore;

/// How often the screen looks at the run.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long after an escape the rest of a sequence may come.
const ESCAPE_WAIT: Duration = Duration::from_millis(40);
/// How often it is asked whether somebody drives a run that we do not.
const DRIVER_EVERY: Duration = Duration::from_secs(1);
/// After so many looks without a driver it has none: drivers hand over to each other.
const LOOKS_ALONE: u32 = 3;
/// The most lines of the tree that stays when the screen is left.
const LAST_LINES_MAX: usize = 60;

/// What the screen is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// This process drives the run, perhaps with a new cap.
    Drive { budget: Option<Money> },
    /// Somebody else does, or nobody.
    Attach,
}

/// How a screen was left.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The run stopped, or waits for answers that the person put off.
    Left(Box<Left>),
    /// The person wants the run to go on without this terminal.
    Detached,
    /// The person looks away from a run that others drive, and that stands like this.
    LookedAway(Standing),
    /// Nobody drives it.
    Alone,
}

/// Whether there is a terminal on both sides that can show a screen.
pub(crate) fn is_possible() -> bool {
    use std::io::IsTerminal as _;
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}

/// Shows a run until it stops or the person leaves. The last tree stays in the scrollback.
pub(crate) fn show(doors: &Doors, id: &str, task: Task) -> Result<Ended, Trouble> {
    let mut screen = Screen::of(doors, id, task)?;
    let ended = screen.run();
    if let Some(driver) = screen.driver.take() {
        // Something went wrong with the screen, not with the run.
        driver.hands.hang_up();
        let _how = driver.thread.join();
    }
    screen.terminal = None;
    let colours = colours();
    for approval in screen.follower.approvals() {
        terminal_output::print_progress(approval);
    }
    screen.show_tree();
    for unsent in &screen.unsent {
        terminal_output::print_progress(&format!(
            "{}:\n{}\n",
            unsent.what(),
            unsent.text.trim_end()
        ));
    }
    if let Some(picture) = &screen.shown {
        for line in
            frame::last(picture, screen.seat, terminal_output::terminal_width(), LAST_LINES_MAX)
        {
            terminal_output::print_progress_raw(&line.render(colours));
        }
    }
    ended
}

fn colours() -> Colours {
    if terminal_output::has_colours(&io::stdout()) { Colours::Yes } else { Colours::No }
}

/// What is on the screen.
enum Mode {
    Tree,
    Stream {
        unit: String,
        back: usize,
    },
    Asking(Box<Ask>),
    /// The question is gone, and the person is still typing.
    Unsent(Unsent),
}

/// A driver in this process.
struct Driving {
    hands: Hands,
    thread: JoinHandle<Result<Left, Trouble>>,
}

struct Screen<'a> {
    doors: &'a Doors,
    follower: Follower<'a>,
    signals: Signals,
    terminal: Option<Terminal>,
    painter: Painter,
    keys: Keys,
    mode: Mode,
    chosen: Option<String>,
    /// What can be chosen now.
    units: Vec<String>,
    said: Option<Said>,
    /// Questions that the person wants to answer later.
    put_off: BTreeSet<String>,
    /// Questions for which the bell was rung.
    rung: BTreeSet<String>,
    task: Task,
    driver: Option<Driving>,
    /// Lets other doors know that the run goes on here once it is answered.
    attended: Option<Attended>,
    /// Whether the driver was told of Ctrl-C.
    is_interrupted: bool,
    left: Option<Left>,
    seat: Seat,
    asked_driver: Option<Instant>,
    n_alone: u32,
    shown: Option<Rc<Picture>>,
    /// How the run ended while the person was still typing.
    over: Option<Ended>,
    /// Words that were not sent, for the scrollback.
    unsent: Vec<Unsent>,
}

impl<'a> Screen<'a> {
    fn of(doors: &'a Doors, id: &str, task: Task) -> Result<Self, Trouble> {
        let follower = doors.follow(id)?;
        let mut screen = Self {
            doors,
            follower,
            signals: Signals::listen()?,
            terminal: None,
            painter: Painter::new(colours()),
            keys: Keys::default(),
            mode: Mode::Tree,
            chosen: None,
            units: Vec::new(),
            said: None,
            put_off: BTreeSet::new(),
            rung: BTreeSet::new(),
            task,
            driver: None,
            attended: None,
            is_interrupted: false,
            left: None,
            seat: Seat::Attached,
            asked_driver: None,
            n_alone: 0,
            shown: None,
            over: None,
            unsent: Vec::new(),
        };
        if let Task::Drive { budget } = task {
            screen.drive(budget)?;
        }
        Ok(screen)
    }

    /// Lets a thread of this process drive the run.
    fn drive(&mut self, budget: Option<Money>) -> Result<(), Trouble> {
        let (mut told, hands) = Told::by_hand()?;
        let doors = Doors { home: self.doors.home.clone() };
        let id = self.follower.id().to_owned();
        let (began, has_begun) = channel();
        let thread = thread::spawn(move || {
            let mut begins = |_: &str| {
                let _nobody_waits = began.send(());
            };
            doors.resume_hearing(&id, budget, &mut told, &mut begins, &mut |_| {})
        });
        // An answer that came before the driver has the run would be undone by its resuming: whoever gives up
        // would be asked again. If it cannot have the run, its thread ends.
        let _begun = has_begun.recv();
        self.driver = Some(Driving { hands, thread });
        if self.attended.is_none() {
            self.attended = self.doors.attend(self.follower.id());
        }
        (self.left, self.seat) = (None, Seat::Driving);
        self.is_interrupted = false;
        Ok(())
    }

    fn run(&mut self) -> Result<Ended, Trouble> {
        loop {
            if self.terminal.is_none() && Terminal::is_ours() {
                self.terminal = Some(Terminal::take()?);
                self.painter.forget();
            }
            self.settle_driver()?;
            let picture = Rc::new(self.follower.look()?);
            self.shown = Some(Rc::clone(&picture));
            self.keep_words(&picture);
            if self.over.is_none() {
                self.over = self.is_over(&picture)?;
            }
            // What is typed must not go to the shell.
            if !matches!(self.mode, Mode::Unsent(_))
                && let Some(ended) = self.over.take()
            {
                return Ok(ended);
            }
            self.turn_to_questions(&picture);
            self.paint(&picture);
            self.wait()?;
            if let Some(ended) = self.hear() {
                return Ok(ended);
            }
            while let Some(key) = self.keys.next() {
                if let Some(ended) = self.key(&key, &picture) {
                    return Ok(ended);
                }
            }
        }
    }

    /// Finds out whether the driver in this process has let go.
    fn settle_driver(&mut self) -> Result<(), Trouble> {
        let Some(driver) = self.driver.take_if(|driver| driver.thread.is_finished()) else {
            return Ok(());
        };
        match driver.thread.join() {
            Ok(Ok(left)) => self.left = Some(left),
            // Somebody else took it up while nobody drove it.
            Ok(Err(_)) if self.follower.is_driven() => {
                (self.task, self.seat) = (Task::Attach, Seat::Attached);
                self.attended = None;
            }
            Ok(Err(trouble)) => return Err(trouble),
            Err(bug) => std::panic::resume_unwind(bug),
        }
        Ok(())
    }

    /// Whether there is nothing more to show.
    fn is_over(&mut self, picture: &Picture) -> Result<Option<Ended>, Trouble> {
        match self.task {
            Task::Drive { .. } => self.is_driven_to_its_end(picture),
            Task::Attach => Ok(self.is_followed_to_its_end(picture)),
        }
    }

    fn is_driven_to_its_end(&mut self, picture: &Picture) -> Result<Option<Ended>, Trouble> {
        let Some(left) = self.left.take() else { return Ok(None) };
        match left.how {
            LetGo::DrivenElsewhere => {
                (self.task, self.seat) = (Task::Attach, Seat::Attached);
                self.attended = None;
                return Ok(None);
            }
            // Where it had let go when it was to hear of Ctrl-C, that is its answer.
            LetGo::Stopped(Standing::Waiting) if !self.is_interrupted => {}
            LetGo::TerminalGone | LetGo::Stopped(_) => {
                return Ok(Some(Ended::Left(Box::new(left))));
            }
        }
        let standing = picture.view.row.standing;
        match standing.course() {
            // Somebody answered, here or elsewhere: it goes on.
            Course::Driven => {
                self.drive(None)?;
                Ok(None)
            }
            Course::Asking if !self.is_all_put_off(picture) => {
                self.left = Some(left);
                Ok(None)
            }
            Course::Asking | Course::Held | Course::Failed | Course::Over => {
                let how = LetGo::Stopped(standing);
                Ok(Some(Ended::Left(Box::new(Left { how, view: None, ..left }))))
            }
        }
    }

    fn is_followed_to_its_end(&mut self, picture: &Picture) -> Option<Ended> {
        if self.asked_driver.is_none_or(|asked| asked.elapsed() >= DRIVER_EVERY) {
            self.asked_driver = Some(Instant::now());
            self.n_alone = if self.follower.is_driven() { 0 } else { self.n_alone + 1 };
        }
        let is_alone = self.n_alone >= LOOKS_ALONE;
        self.seat = if is_alone { Seat::Alone } else { Seat::Attached };
        match picture.view.row.standing.course() {
            Course::Failed | Course::Over => Some(self.stopped(picture)),
            Course::Asking if self.n_alone > 0 => {
                self.is_all_put_off(picture).then(|| self.stopped(picture))
            }
            Course::Held if is_alone => Some(self.stopped(picture)),
            Course::Driven | Course::Asking | Course::Held => None,
        }
    }

    fn stopped(&self, picture: &Picture) -> Ended {
        let (run, how) = (self.follower.id().to_owned(), LetGo::Stopped(picture.view.row.standing));
        Ended::Left(Box::new(Left { run, how, view: None, behind: None }))
    }

    fn is_all_put_off(&self, picture: &Picture) -> bool {
        picture.view.asked.iter().all(|asked| self.put_off.contains(&asked.question))
    }

    /// Somebody else has answered while the person was typing: the box stays, and nothing else hears the keys.
    fn keep_words(&mut self, picture: &Picture) {
        if let Mode::Asking(ask) = &self.mode
            && find(picture, &ask.question).is_none()
            && let Some(unsent) = ask.unsent()
        {
            self.mode = Mode::Unsent(unsent);
        }
    }

    /// Turns to the tree. Words that were not sent are kept.
    fn show_tree(&mut self) {
        match std::mem::replace(&mut self.mode, Mode::Tree) {
            Mode::Unsent(unsent) if !unsent.text.trim().is_empty() => self.unsent.push(unsent),
            Mode::Unsent(_) | Mode::Tree | Mode::Stream { .. } | Mode::Asking(_) => {}
        }
    }

    /// Puts the next question before the person, and takes away one that was answered elsewhere.
    fn turn_to_questions(&mut self, picture: &Picture) {
        if let Mode::Asking(ask) = &self.mode
            && find(picture, &ask.question).is_none()
        {
            let text = format!("{} was answered elsewhere", ask.question);
            self.said = Some(Said::briefly(text, picture));
            self.mode = Mode::Tree;
        }
        if let Mode::Tree = self.mode {
            let open = picture.view.asked.iter();
            let next = open.into_iter().find(|asked| !self.put_off.contains(&asked.question));
            if let Some(question) = next {
                let mut ask = Ask::of(question);
                if let Some(said) = self.said.take() {
                    ask.say(said);
                }
                self.mode = Mode::Asking(Box::new(ask));
                match self.doors.bell() {
                    Switch::On if self.rung.insert(question.question.clone()) => {
                        terminal_output::ring_bell()
                    }
                    Switch::On | Switch::Off => {}
                }
            }
        }
    }

    fn paint(&mut self, picture: &Picture) {
        if self.terminal.is_none() {
            return;
        }
        let size = Terminal::size();
        let folder = shortest(&self.doors.home.run(self.follower.id()));
        let (lines, cursor) = match &self.mode {
            Mode::Tree => {
                let said = self.said.as_ref().and_then(|said| said.in_picture(picture));
                let (chosen, said) = (self.chosen.clone(), said.map(str::to_owned));
                let look = Look { size, seat: self.seat, chosen, said };
                let Frame { lines, units } = frame(picture, &look);
                self.units = units;
                (lines, None)
            }
            Mode::Stream { unit, back } => {
                let seen = self.follower.stream(unit);
                (agent_stream::frame(picture, self.seat, unit, seen, *back, size).lines, None)
            }
            Mode::Asking(ask) => match find(picture, &ask.question) {
                Some(question) => ask.frame(picture, question, self.seat, &folder, size),
                None => return,
            },
            Mode::Unsent(unsent) => unsent.frame(picture, self.seat, size),
        };
        terminal::write(&self.painter.paint(&lines, cursor, size));
    }

    /// Waits for a key, a signal, or until it is time to look again.
    fn wait(&mut self) -> Result<(), Trouble> {
        let stdin = io::stdin();
        let is_half = !self.keys.is_empty();
        let wait = if is_half { ESCAPE_WAIT } else { LOOK_EVERY };
        let mut files: Vec<PollFd<'_>> = self
            .signals
            .files()
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN))
            .collect();
        // Who reads in the background is stopped by the system.
        if self.terminal.is_some() && Terminal::is_ours() {
            files.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN));
        }
        let wait = Timespec::try_from(wait).expect("a wait is short");
        match poll(&mut files, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                let what = format!("cannot wait: {error}");
                return Err(Trouble::surroundings(what, "forge doctor"));
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
        } else if is_half && let Some(key) = self.keys.give_up() {
            self.keys.put_back(key);
        }
        Ok(())
    }

    fn hear(&mut self) -> Option<Ended> {
        for heard in self.signals.heard() {
            match heard {
                Heard::Interrupt => match (&self.driver, self.task) {
                    (Some(driver), _) => {
                        driver.hands.interrupt();
                        self.is_interrupted = true;
                        self.show_tree();
                        let text = "agents have 10 s to end; Ctrl-C again kills them";
                        self.said = Some(Said::until_key(text));
                    }
                    (None, Task::Drive { .. }) => self.put_off_all(),
                    (None, Task::Attach) => return Some(self.turned_away()),
                },
                Heard::HangUp => self.hang_up(),
                Heard::Suspend => {
                    self.terminal = None;
                    external_program::suspend();
                }
                // A shell may have left anything on the screen meanwhile.
                Heard::Anew => self.painter.forget(),
            }
        }
        None
    }

    /// The terminal is gone: whoever drives lets go, and calls go on.
    fn hang_up(&mut self) {
        self.show_tree();
        match &self.driver {
            Some(driver) => driver.hands.hang_up(),
            None => self.put_off_all(),
        }
    }

    fn put_off_all(&mut self) {
        if let Some(picture) = &self.shown {
            self.put_off.extend(picture.view.asked.iter().map(|asked| asked.question.clone()));
        }
        self.show_tree();
    }

    fn key(&mut self, key: &Key, picture: &Picture) -> Option<Ended> {
        match &mut self.mode {
            Mode::Tree => return self.tree_key(key, picture),
            Mode::Stream { back, .. } => match key {
                Key::Up | Key::Char('k') => *back += 1,
                Key::Down | Key::Char('j') => *back = back.saturating_sub(1),
                Key::PageUp => *back += 10,
                Key::PageDown => *back = back.saturating_sub(10),
                Key::Escape | Key::Enter | Key::Char('q' | 'w') => self.mode = Mode::Tree,
                Key::Char(_) | Key::Backspace | Key::Ctrl(_) | Key::Pasted(_) => {}
            },
            Mode::Asking(ask) => {
                let question = find(picture, &ask.question)?;
                let asked = ask.key(key, question);
                self.asked(asked, question, picture);
            }
            Mode::Unsent(unsent) => match unsent.key(key) {
                Typed::Goes => {}
                Typed::Ready | Typed::Away => self.show_tree(),
            },
        }
        None
    }

    fn tree_key(&mut self, key: &Key, picture: &Picture) -> Option<Ended> {
        self.said = None;
        match key {
            Key::Up | Key::Char('k') => self.choose(Step::Up),
            Key::Down | Key::Char('j') => self.choose(Step::Down),
            Key::Enter | Key::Char('w') => {
                let at_work = picture.working.keys().next();
                match self.chosen.as_ref().or(at_work) {
                    Some(unit) => self.mode = Mode::Stream { unit: unit.clone(), back: 0 },
                    None => self.said = Some(Said::briefly("nobody is at work now", picture)),
                }
            }
            Key::Char('a') => self.put_off.clear(),
            Key::Char('p') => self.pause_or_go_on(picture),
            Key::Char('r') => self.drive_on(picture),
            Key::Char('?') => self.said = Some(Said::until_key(KEYS)),
            Key::Char('q') => return self.look_away(picture),
            Key::Escape => self.chosen = None,
            Key::PageUp
            | Key::PageDown
            | Key::Char(_)
            | Key::Backspace
            | Key::Ctrl(_)
            | Key::Pasted(_) => {}
        }
        None
    }

    fn choose(&mut self, step: Step) {
        let at =
            self.chosen.as_ref().and_then(|chosen| self.units.iter().position(|u| u == chosen));
        let last = self.units.len().saturating_sub(1);
        let next = match (at, step) {
            (None, Step::Up) => last,
            (None, Step::Down) => 0,
            (Some(at), Step::Up) => at.saturating_sub(1),
            (Some(at), Step::Down) => (at + 1).min(last),
        };
        self.chosen = self.units.get(next).cloned();
    }

    /// One key holds a run and lets it go on: whoever paused it finds the way back at the same place.
    fn pause_or_go_on(&mut self, picture: &Picture) {
        let (command, done) = if picture.view.row.standing == Standing::Paused {
            (Command::Resume { by: person(), budget: None }, "it goes on")
        } else {
            let done = "paused: what runs may end, nothing new starts";
            (Command::Pause { by: person() }, done)
        };
        let said = match self.send(&command) {
            Ok(()) => done.to_owned(),
            Err(trouble) => trouble.what,
        };
        self.said = Some(Said::until_key(said));
    }

    fn send(&self, command: &Command) -> Result<(), Trouble> {
        self.doors.send(self.follower.id(), command).map(|_| ())
    }

    /// The person leaves. A run that this process drives is left to another one, unless it is held.
    fn look_away(&mut self, picture: &Picture) -> Option<Ended> {
        if self.driver.is_some() && leaving(picture.view.row.standing) == Leaving::Waits {
            self.said = Some(Said::until_key("it is stopping; Ctrl-C does not wait for it"));
            return None;
        }
        match (self.driver.take(), self.task) {
            (Some(driver), _) => {
                driver.hands.hang_up();
                match driver.thread.join() {
                    Ok(Ok(Left { how: LetGo::TerminalGone, view, run, behind })) => {
                        let last = view.as_ref().unwrap_or(&picture.view).row.standing;
                        match leaving(last) {
                            Leaving::GoesOn => Some(Ended::Detached),
                            // Who takes it up resumes it: that is for the person to say.
                            Leaving::Stays | Leaving::Waits => {
                                let how = LetGo::Stopped(last);
                                Some(Ended::Left(Box::new(Left { run, how, view, behind })))
                            }
                        }
                    }
                    Ok(Ok(left)) => {
                        self.left = Some(left);
                        None
                    }
                    Ok(Err(trouble)) => {
                        self.said = Some(Said::until_key(trouble.what));
                        None
                    }
                    Err(bug) => std::panic::resume_unwind(bug),
                }
            }
            (None, Task::Attach) => Some(self.turned_away()),
            (None, Task::Drive { .. }) => {
                self.put_off_all();
                None
            }
        }
    }

    /// How whoever only looked leaves a run.
    fn turned_away(&self) -> Ended {
        match &self.shown {
            Some(picture) if frame::is_left_alone(picture, self.seat) => Ended::Alone,
            Some(picture) => Ended::LookedAway(picture.view.row.standing),
            None => Ended::LookedAway(Standing::Going),
        }
    }

    /// Goes on with a run that nobody drives.
    fn drive_on(&mut self, picture: &Picture) {
        if !frame::is_left_alone(picture, self.seat) {
            return;
        }
        self.task = Task::Drive { budget: None };
        if let Err(trouble) = self.drive(None) {
            self.task = Task::Attach;
            self.said = Some(Said::until_key(trouble.what));
        }
    }

    /// Does what a key at a question asks for.
    fn asked(&mut self, asked: Asked, question: &QuestionView, picture: &Picture) {
        let run = self.follower.id().to_owned();
        match asked {
            Asked::Goes => {}
            Asked::Later => {
                self.put_off.insert(question.question.clone());
                self.mode = Mode::Tree;
                let text = format!("{} is left open", question.question);
                self.said = Some(Said::briefly(text, picture));
            }
            Asked::Answered { answer, words } => self.answer(question, answer, words, picture),
            Asked::See => {
                let change =
                    unit_id(&question.unit).and_then(|unit| self.doors.change(&run, &unit));
                let text = change.map(|change| document::render(&to_decide_on(change)));
                self.page(text);
            }
            Asked::Read => {
                let folder = shortest(&self.doors.home.run(&run));
                let text = in_words(
                    &run,
                    question,
                    Ways::Read { folder: &folder },
                    terminal_output::terminal_width(),
                );
                self.page(Ok(terminal_output::sanitize(&text)));
            }
            Asked::Edit { so_far } => {
                let written = self.with_child(|signals| external_program::edit(&so_far, signals));
                if let Mode::Asking(ask) = &mut self.mode {
                    match written {
                        Ok(text) => ask.written(&text),
                        Err(trouble) => ask.say(Said::until_key(trouble.what)),
                    }
                }
            }
        }
    }

    /// Shows a text in the pager. What went wrong is said at the question.
    fn page(&mut self, text: Result<String, Trouble>) {
        let done =
            text.and_then(|text| self.with_child(|signals| external_program::page(text, signals)));
        if let (Err(trouble), Mode::Asking(ask)) = (done, &mut self.mode) {
            ask.say(Said::until_key(trouble.what));
        }
    }

    fn answer(
        &mut self,
        question: &QuestionView,
        answer: Answer,
        words: String,
        picture: &Picture,
    ) {
        let Ok(id) = question.question.parse::<QuestionId>() else { return };
        let command = Command::Answer { question: id, answer, words, by: person() };
        match self.send(&command) {
            Ok(()) => {
                self.said = Some(Said::briefly(format!("{id} is answered"), picture));
                self.mode = Mode::Tree;
                // Until the next look shows it, it is not asked again.
                self.put_off.insert(question.question.clone());
            }
            Err(trouble) => {
                if let Mode::Asking(ask) = &mut self.mode {
                    ask.say(Said::until_key(trouble.what));
                }
            }
        }
    }

    /// Gives the terminal to a program for a while. Ctrl-C is for that program then.
    fn with_child<T>(
        &mut self,
        run: impl FnOnce(&mut Signals) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.terminal = None;
        let done = run(&mut self.signals);
        self.signals.heard();
        done
    }
}

/// Which way a person goes through what can be chosen.
#[derive(Clone, Copy)]
enum Step {
    Up,
    Down,
}

/// A path from here, if that is shorter.
fn shortest(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let from_here = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    from_here.unwrap_or_else(|| path.to_owned())
}

fn find<'a>(picture: &'a Picture, question: &str) -> Option<&'a QuestionView> {
    picture.view.asked.iter().find(|asked| asked.question == question)
}
