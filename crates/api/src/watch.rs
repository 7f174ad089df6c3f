//! Follows one unit of a run: the streams of its agents and commands as they come, and what becomes of them.
//!
//! - `watch/find_unit.rs`: which unit a name means.
//! - `watch/transcript.rs`: the output of one call, turn by turn.
//! - `watch/briefing.rs`: the brief of one call.
//!
//! Not here: how it is shown. Watching changes nothing, and nobody notices it.
//!
//! Invariant: memory is bounded, however much an agent prints.
//! Invariant: what was printed before a call ended is reported before its end.

mod briefing;
pub mod events;
pub(crate) mod find_unit;
pub(crate) mod transcript;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use forge_core::{
    Run, Time,
    event::{Event, Outcome},
    id::{CallId, QuestionId, UnitId},
    run::{Phase, State},
    view::{LogLevel, Names, sentence_in},
};
use forge_driver::{Error, local_executor::wait_for, run_id::short_id, signals::Signals};
use forge_keeper::AttemptStatus;
use forge_project::settings::Frozen;
use rustix::event::{PollFd, PollFlags};

use self::{
    find_unit::{Target, at_work, find},
    transcript::{StreamSource, TranscriptReader},
};
use crate::watch::events::Age;
use crate::{
    forge::{Forge, NumberedRecord},
    watch::events::{Form, StartedCall, TurnName, UnitEvent, WatchOutput, has_stream, player},
};

pub use self::briefing::{Briefing, CallSelector, InboxFile, TurnBrief};

/// How often somebody who watches looks for more.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// After so many looks it is found out whether somebody drives the run at all.
const LOOKS_PER_DRIVER: u32 = 10;

/// The end of watching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Nothing more will come.
    ToTheEnd,
    /// A person has seen enough. Whoever was watched goes on.
    Interrupted,
}

/// Output that is still to be shown.
enum PendingOutput {
    Fact { at: Time, sentence: String, is_milestone: bool },
    Call(StartedCall),
}

/// A watcher of one unit.
struct Watcher<'a> {
    forge: &'a Forge,
    id: &'a str,
    form: Form,
    run: Run,
    seq: u64,
    target: Target,
    asked: BTreeMap<QuestionId, UnitId>,
    queue: VecDeque<PendingOutput>,
    frozen: Frozen,
    signals: Signals,
    looks: u32,
    age: Age,
}

impl Forge {
    /// Follows a unit until nothing more comes, or until a person wants to stop.
    pub fn watch(
        &self,
        id: &str,
        name: Option<&str>,
        form: Form,
        tell: &mut dyn FnMut(WatchOutput<'_>),
    ) -> Result<Watched, Error> {
        let records = self.records(id, 1)?;
        let mut run = Run::new();
        for NumberedRecord { record, .. } in &records {
            run.apply_record(record);
        }
        let target = match name {
            Some(name) => find("watch", id, &run, &calls(&records), name)?,
            None => at_work(id, &run)?,
        };
        let mut watch = Watcher {
            forge: self,
            id,
            form,
            frozen: self.frozen(&run)?,
            run: Run::new(),
            seq: 0,
            target,
            asked: BTreeMap::new(),
            queue: VecDeque::new(),
            signals: Signals::listen()?,
            looks: 0,
            age: Age::Old,
        };
        watch.apply_records(&records);
        watch.age = Age::New;
        watch.begin_late();
        watch.watch(tell)
    }
}

/// Returns all calls that were ever started, in their order.
fn calls(records: &[NumberedRecord]) -> Vec<CallId> {
    let facts = records.iter().flat_map(|one| &one.record.facts);
    facts.filter_map(|fact| fact.call_started().map(|(call, _)| call)).collect()
}

impl Watcher<'_> {
    fn watch(&mut self, tell: &mut dyn FnMut(WatchOutput<'_>)) -> Result<Watched, Error> {
        loop {
            while let Some(item) = self.queue.pop_front() {
                match item {
                    PendingOutput::Fact { at, sentence, is_milestone } => {
                        self.tell(tell, UnitEvent::Fact { at, sentence, is_milestone });
                    }
                    PendingOutput::Call(begun) => {
                        if self.follow(&begun, tell)? == Watched::Interrupted {
                            return Ok(Watched::Interrupted);
                        }
                    }
                }
            }
            if let Some((why, next)) = self.is_over() {
                self.tell(tell, UnitEvent::Over { why, next });
                return Ok(Watched::ToTheEnd);
            }
            if self.wait()? == Watched::Interrupted {
                return Ok(Watched::Interrupted);
            }
            self.read_new_records()?;
        }
    }

    fn tell(&self, tell: &mut dyn FnMut(WatchOutput<'_>), seen: UnitEvent) {
        match self.form {
            Form::Signals => tell(WatchOutput::Event(seen)),
            Form::Bytes => {}
        }
    }

    fn read_new_records(&mut self) -> Result<(), Error> {
        let records = self.forge.records(self.id, self.seq + 1)?;
        self.apply_records(&records);
        Ok(())
    }

    /// Applies records, and queues the output about them.
    fn apply_records(&mut self, records: &[NumberedRecord]) {
        for NumberedRecord { seq, record, .. } in records {
            self.run.apply_record(record);
            self.seq = *seq;
            for fact in &record.facts {
                if let Some(item) = self.item(record.at, fact) {
                    self.queue.push_back(item);
                }
            }
        }
    }

    fn item(&mut self, at: Time, fact: &Event) -> Option<PendingOutput> {
        if let Event::QuestionAsked(question) = fact {
            self.asked.insert(question.id, question.unit.clone());
        }
        let is_about_target = match &self.target {
            Target::Unit(unit) => self.unit_of(fact).as_ref() == Some(unit),
            Target::Call(call) => fact.call().as_ref() == Some(call),
        };
        if !is_about_target {
            return None;
        }
        match fact.call_started() {
            Some((call, ordinal)) if has_stream(&self.run, &call) => {
                let turn = match self.run.session(&call) {
                    Some(_) => TurnName::Resumed,
                    None => TurnName::First,
                };
                Some(PendingOutput::Call(StartedCall { at, call, ordinal, turn, age: self.age }))
            }
            Some(_) | None => {
                // The end of work that is done is the end of its stream.
                let is_done = matches!(fact, Event::AttemptEnded { outcome: Outcome::Done, .. });
                let is_milestone = LogLevel::new(fact) == LogLevel::Milestone && !is_done;
                let sentence = sentence_in(&self.run, fact, Names::Short);
                Some(PendingOutput::Fact { at, sentence, is_milestone })
            }
        }
    }

    /// Returns the unit that a fact is about.
    fn unit_of(&self, fact: &Event) -> Option<UnitId> {
        if let Event::Answered { question, .. } = fact {
            return self.asked.get(question).cloned();
        }
        fact.unit()
    }

    /// Drops queued output before the call that is running, or before the last attempt.
    fn begin_late(&mut self) {
        let position = |fits: &dyn Fn(&CallId) -> bool| {
            self.queue.iter().rposition(|item| match item {
                PendingOutput::Fact { .. } => false,
                PendingOutput::Call(begun) => fits(&begun.call),
            })
        };
        let first = position(&|call| self.run.calls().contains_key(call))
            .or_else(|| position(&|call| matches!(call, CallId::Attempt(_))))
            .or_else(|| position(&|_| true));
        self.queue.drain(..first.unwrap_or(self.queue.len()));
    }

    /// Tells what a call prints until it is over.
    fn follow(
        &mut self,
        begun: &StartedCall,
        tell: &mut dyn FnMut(WatchOutput<'_>),
    ) -> Result<Watched, Error> {
        let player = player(&self.run, &self.frozen, &begun.call);
        let source = player
            .as_ref()
            .map_or(StreamSource::Command, |player| StreamSource::Agent(player.agent.like));
        let folder = self.forge.home.attempt(self.id, begun.ordinal);
        let mut stream = TranscriptReader::new(&folder, source, begun, self.form);
        self.tell(
            tell,
            UnitEvent::Call {
                at: begun.at,
                call: begun.call.to_string(),
                agent: player.as_ref().map(|player| player.agent.name.clone()),
                route: player.as_ref().and_then(|player| player.route),
                model: player.and_then(|player| player.agent.model),
                is_over: !self.run.calls().contains_key(&begun.call),
            },
        );
        loop {
            stream.read(tell);
            if !self.run.calls().contains_key(&begun.call) || self.is_left(&stream) {
                // Reads once more, so that what it printed last is not missed.
                stream.finish(tell);
                return Ok(Watched::ToTheEnd);
            }
            if self.wait()? == Watched::Interrupted {
                return Ok(Watched::Interrupted);
            }
            self.read_new_records()?;
        }
    }

    /// Returns true if a call is under way only on paper: nobody works on it, and nobody drives the run.
    fn is_left(&mut self, stream: &TranscriptReader) -> bool {
        self.has_no_driver() && !matches!(stream.standing(), Some(AttemptStatus::Alive(_)))
    }

    /// Returns true if nobody drives the run. Asked only now and then: who asks gets in the way of a driver.
    fn has_no_driver(&mut self) -> bool {
        self.looks += 1;
        self.looks % LOOKS_PER_DRIVER == 1 && !self.forge.is_driven(self.id)
    }

    /// Returns why nothing more comes, and what to do about it. Nothing, if something may come.
    fn is_over(&mut self) -> Option<(String, Option<String>)> {
        let resume = Some(format!("forge resume {}", short_id(self.id)));
        let unit = match &self.target {
            Target::Call(call) => return Some((format!("{} has ended", call.label()), None)),
            Target::Unit(unit) => unit,
        };
        let state = self.run.unit(unit).state;
        let unit = unit.label();
        match state {
            State::Accepted | State::Skipped => {
                return Some((format!("{unit} is done"), None));
            }
            State::Failed { .. } => return Some((format!("{unit} has failed"), resume)),
            State::Asking { question } => {
                let next = format!("forge status {}", short_id(self.id));
                return Some((format!("{unit} needs your answer to {question}"), Some(next)));
            }
            State::Waiting | State::Working | State::Judging { .. } => {}
        }
        match self.run.phase() {
            Phase::Over(_) => return Some(("the run has ended".to_owned(), None)),
            Phase::Held(_) if self.run.calls().is_empty() => {
                return Some(("the run is not running".to_owned(), resume));
            }
            Phase::Fresh | Phase::Going | Phase::Held(_) => {}
        }
        self.has_no_driver().then(|| ("the run is not running".to_owned(), resume))
    }

    /// Waits a little, or until a person has seen enough.
    fn wait(&mut self) -> Result<Watched, Error> {
        let mut files =
            self.signals.files().map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
        wait_for(&mut files, LOOK_EVERY).map_err(|error| {
            Error::surroundings(format!("cannot wait: {error}"), "forge doctor")
        })?;
        Ok(if self.signals.want_an_end() { Watched::Interrupted } else { Watched::ToTheEnd })
    }
}
