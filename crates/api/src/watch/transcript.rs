//! What one call prints, turn by turn: read from its transcripts as they grow.
//!
//! Not here: what a line means (`forge_agents`), and when the call is over.
//!
//! Invariant: a piece of a transcript is in memory, never all of it.
//! Invariant: an agent can put anything in the place of a transcript; only a regular file is read.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use forge_agents::{
    AgentEnd, AgentKind, Earlier, Listener, Signal, Use, Watchdog,
    line_reader::{LINE_BYTES_MAX, Lines},
    registry,
    signal::add,
};
use forge_core::{Time, money::Spent};
use forge_driver::{
    agent_call::{
        turns::{ANEW, REPAIR},
        usage::{errors, spent},
    },
    clock::now,
    local_executor::LocalExecutor,
    plan::step::steps_of,
};
use forge_keeper::{AttemptFolder, AttemptStatus, EndingProof, ExitReason, look, open_regular};

use crate::watch::events::{Age, Form, StartedCall, TurnName, UnitEvent, WatchOutput};

/// So much of a transcript is read at once.
const PIECE_BYTES: usize = 64 * 1024;
/// The most characters of a line for people.
const LINE_CHARACTERS_MAX: usize = 2_000;

/// The kind of program that prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamSource {
    /// An agent.
    Agent(AgentKind),
    /// A command, whose lines are for people.
    Command,
}

/// The stream of one call.
pub(crate) struct TranscriptReader {
    turns: Vec<(TurnName, AttemptFolder)>,
    source: StreamSource,
    form: Form,
    /// Of what is read next.
    age: Age,
    /// The turn that is read.
    current: Option<TurnReader>,
    /// The number of the turn that comes next.
    next: usize,
    /// The use of the turns before this one.
    uses: Vec<Use>,
    /// The use that was reported last.
    reported: Spent,
}

/// The state of reading a turn.
#[derive(PartialEq, Eq)]
enum Drained {
    Empty,
    NotYet,
}

/// A turn that is read.
struct TurnReader {
    turn: TurnName,
    folder: AttemptFolder,
    tail: Tail,
    lines: Lines,
    listener: Listener,
}

/// A file that grows.
struct Tail {
    path: PathBuf,
    file: Option<File>,
    age: Age,
}

impl TranscriptReader {
    pub(crate) fn new(
        folder: &Path,
        source: StreamSource,
        begun: &StartedCall,
        form: Form,
    ) -> Self {
        let steps = steps_of(folder);
        let turns = vec![
            (begun.turn, AttemptFolder::at(folder)),
            (TurnName::Anew, AttemptFolder::at(steps.join(ANEW))),
            (TurnName::Repair, AttemptFolder::at(steps.join(REPAIR))),
        ];
        Self {
            turns,
            source,
            form,
            age: begun.age,
            current: None,
            next: 0,
            uses: Vec::new(),
            reported: Spent::NOTHING,
        }
    }

    /// Returns how the turn that is read stands, for people. What it proves is for the driver to say.
    pub(super) fn standing(&self) -> Option<AttemptStatus> {
        look(&self.current.as_ref()?.folder, &EndingProof::NotNeeded).ok()
    }

    /// Returns what the call has used up so far, as far as it was read.
    pub(crate) fn so_far(&self) -> Spent {
        self.current.as_ref().map_or_else(|| spent(&self.uses), |now| so_far(&self.uses, now))
    }

    /// Tells all that there is to be read.
    pub(super) fn read(&mut self, tell: &mut dyn FnMut(WatchOutput<'_>)) {
        self.read_some(usize::MAX, tell);
    }

    /// Tells what there is to be read, at most so many pieces of it. The rest is for the next time.
    pub(crate) fn read_some(&mut self, mut pieces: usize, tell: &mut dyn FnMut(WatchOutput<'_>)) {
        loop {
            if self.drain(&mut pieces, tell) == Drained::NotYet {
                return;
            }
            let is_there = |(_, folder): &(TurnName, AttemptFolder)| folder.attempt().exists();
            let due = self.turns[self.next..].iter().position(is_there);
            let Some(position) = due else { return };
            self.end_turn(tell);
            let (turn, folder) = self.turns[self.next + position].clone();
            self.next += position + 1;
            if let (Form::Signals, StreamSource::Agent(_)) = (self.form, self.source) {
                tell(WatchOutput::Event(UnitEvent::Turn { turn }));
            }
            self.current = Some(TurnReader::new(turn, folder, self.source, self.age));
        }
    }

    /// Reads the rest after the end of the call.
    pub(super) fn finish(&mut self, tell: &mut dyn FnMut(WatchOutput<'_>)) {
        self.read(tell);
        self.end_turn(tell);
    }

    fn drain(&mut self, pieces: &mut usize, tell: &mut dyn FnMut(WatchOutput<'_>)) -> Drained {
        let Some(reading) = &mut self.current else { return Drained::Empty };
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let Some(left) = pieces.checked_sub(1) else { return Drained::NotYet };
            *pieces = left;
            // Where it cannot be read any further, it ends.
            let read = reading.tail.read(&mut piece).unwrap_or(0);
            if read == 0 {
                (reading.tail.age, self.age) = (Age::New, Age::New);
                return Drained::Empty;
            }
            match self.form {
                Form::Bytes => tell(WatchOutput::Bytes(&piece[..read])),
                Form::Signals => {
                    let mut seen = reading.read_piece(&piece[..read], self.source);
                    let at = reading.tail.at();
                    let so_far = so_far(&self.uses, reading);
                    if at.is_some() && is_worth_telling(self.reported, so_far) {
                        self.reported = so_far;
                        seen.push(UnitEvent::Spent { at, spent: so_far });
                    }
                    for one in seen {
                        tell(WatchOutput::Event(one));
                    }
                }
            }
        }
    }

    fn end_turn(&mut self, tell: &mut dyn FnMut(WatchOutput<'_>)) {
        let Some(mut reading) = self.current.take() else { return };
        if self.form == Form::Bytes {
            return;
        }
        let mut rest = Vec::new();
        reading.lines.finish(|line| rest.push(line.to_vec()));
        for line in rest {
            let seen = reading.line(&line, self.source);
            for one in seen {
                tell(WatchOutput::Event(one));
            }
        }
        let TurnReader { turn, folder, listener, .. } = reading;
        let summary = listener.finish(|_| {});
        let how = folder.read_ending().ok().flatten().map(|ending| ending.how);
        let (how, spent) = match self.source {
            StreamSource::Agent(_) => {
                summary.uses().iter().for_each(|one| add(&mut self.uses, one));
                (
                    end_text(
                        &summary.end(how.as_ref(), &errors(&LocalExecutor::default(), &folder)),
                    ),
                    spent(&self.uses),
                )
            }
            StreamSource::Command => (exit_text(how.as_ref()), Spent::NOTHING),
        };
        tell(WatchOutput::Event(UnitEvent::TurnEnded { turn, how, spent }));
    }
}

/// Returns what all turns of the call have used so far.
fn so_far(before: &[Use], reading: &TurnReader) -> Spent {
    let mut uses = before.to_vec();
    let summary = reading.listener.summary();
    if summary.spent_micros() > 0 {
        summary.uses().iter().for_each(|one| add(&mut uses, one));
    }
    spent(&uses)
}

/// Returns true if the use is at least twice what was reported last.
fn is_worth_telling(reported: Spent, now: Spent) -> bool {
    let (reported, now) = (reported.tokens.total(), now.tokens.total());
    now > 0 && now >= reported.saturating_mul(2)
}

impl TurnReader {
    fn new(turn: TurnName, folder: AttemptFolder, source: StreamSource, age: Age) -> Self {
        let kind = match source {
            StreamSource::Agent(kind) => kind,
            StreamSource::Command => registry::PROGRAM,
        };
        let tail = Tail { path: folder.transcript(), file: None, age };
        let listener = Listener::new(kind, &Earlier::default());
        Self { turn, folder, tail, lines: Lines::new(LINE_BYTES_MAX), listener }
    }

    /// Reads one piece of the output.
    fn read_piece(&mut self, piece: &[u8], source: StreamSource) -> Vec<UnitEvent> {
        let mut whole = Vec::new();
        self.lines.push(piece, |line| whole.push(line.to_vec()));
        whole.iter().flat_map(|line| self.line(line, source)).collect()
    }

    fn line(&mut self, line: &[u8], source: StreamSource) -> Vec<UnitEvent> {
        let at = self.tail.at();
        let mut seen = Vec::new();
        if let StreamSource::Agent(_) = source {
            let signals = |signal: &Signal| seen.extend(event_from_signal(signal, at));
            self.listener.push(line, |_| unreachable!("a line without its end says nothing yet"));
            self.listener.push(b"\n", signals);
        }
        let is_for_programs = matches!(source, StreamSource::Agent(_)) && line.starts_with(b"{");
        if seen.is_empty() && !is_for_programs && !line.iter().all(u8::is_ascii_whitespace) {
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end().chars().take(LINE_CHARACTERS_MAX).collect();
            seen.push(UnitEvent::Printed { at, text });
        }
        seen
    }
}

impl Tail {
    fn at(&self) -> Option<Time> {
        match self.age {
            Age::Old => None,
            Age::New => Some(now()),
        }
    }

    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(open_regular(&self.path)?),
        };
        file.read(piece)
    }
}

/// Translates a signal of an agent; `None` if it is not shown.
fn event_from_signal(signal: &Signal, at: Option<Time>) -> Option<UnitEvent> {
    match signal {
        Signal::Began { model, version, .. } => {
            Some(UnitEvent::Began { at, model: model.clone(), version: version.clone() })
        }
        Signal::Said { text } => Some(UnitEvent::Said { at, text: text.clone() }),
        Signal::UsedTool { name, about } => {
            Some(UnitEvent::UsedTool { at, name: name.clone(), about: about.clone() })
        }
        Signal::Asked { what } => Some(UnitEvent::Asked { at, text: what.clone() }),
        Signal::Limit(limit) => {
            Some(UnitEvent::Limit { at, text: limit.what.clone(), until: limit.until_ms })
        }
        // Money is reported as a sum, and the end when the process has ended.
        Signal::Spent(_) | Signal::Windows(_) | Signal::Ended(_) | Signal::Unknown => None,
    }
}

fn end_text(end: &AgentEnd) -> String {
    match end {
        AgentEnd::Done => "done".to_owned(),
        AgentEnd::Limited(limit) => format!("it has to wait: {}", limit.what),
        AgentEnd::Failed { what, .. } => format!("it failed: {what}"),
        AgentEnd::Refused { what } => format!("the model refused: {what}"),
        AgentEnd::Overflowed { what } => format!("the text is too long for the model: {what}"),
        AgentEnd::OverBudget { what } => what.clone(),
        AgentEnd::SessionGone => "the session to continue is gone".to_owned(),
        AgentEnd::Stopped(Watchdog::Wall) => "it took too long".to_owned(),
        AgentEnd::Stopped(Watchdog::Silence) => "it printed nothing for too long".to_owned(),
        AgentEnd::Stopped(Watchdog::Output) => "it printed more than allowed".to_owned(),
        AgentEnd::NotStarted { why } => format!("it was not started: {why}"),
        AgentEnd::Interrupted => "it was interrupted".to_owned(),
        AgentEnd::Lost => "how it ended is unknown".to_owned(),
    }
}

fn exit_text(how: Option<&ExitReason>) -> String {
    match how {
        None => "how it ended is unknown".to_owned(),
        Some(ExitReason::Exited { code }) => format!("exit code {code}"),
        Some(ExitReason::Signalled { signal }) => format!("killed by signal {signal}"),
        Some(ExitReason::TimedOut) => "it took too long".to_owned(),
        Some(ExitReason::Silent) => "it printed nothing for too long".to_owned(),
        Some(ExitReason::TooMuchOutput) => "it printed more than allowed".to_owned(),
        Some(ExitReason::OverBudget) => "it reached its budget".to_owned(),
        Some(ExitReason::Interrupted) => "it was interrupted".to_owned(),
        Some(ExitReason::NotStarted { why }) => format!("it was not started: {why}"),
    }
}
