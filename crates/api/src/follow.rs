//! Follows a whole run: where it stands, what each call under way said last, and how long things usually
//! take. For screens, beside the driver or in another process.
//!
//! - `follow/durations.rs`: how long units were worked on, in this run and usually.
//! - `follow/latest_line.rs`: the latest line of a call.
//!
//! Not here: how it is shown, and who drives. Following changes nothing, and nobody notices it.
//!
//! Invariant: a look reads what is new, and of every stream only a bounded piece.
//! Invariant: what is shown is what `status` shows at the same record.

mod durations;
mod latest_line;

use std::collections::{BTreeMap, VecDeque};

use forge_core::{
    Run, Time,
    event::{Approval, Event, Record},
    id::CallId,
    money::Spent,
    view::{Names, RunView, describe_call, sentence},
};
use forge_driver::{Error, clock::now};
use forge_project::settings::Frozen;
use forge_store::{journal::Store, records::facts};

use self::{
    durations::{Times, Usual},
    latest_line::{LatestLineReader, RECENT_MAX, RunFolders},
};
use crate::{
    forge::Forge,
    watch::events::{UnitEvent, player},
};

/// A driver begins a call within so many milliseconds, unless there is none.
const BEGIN_WAIT_MS: u64 = 2_000;
/// The most units whose streams are remembered.
const STREAMS_MAX: usize = 64;

/// A run at one moment, with all that a screen shows of it.
#[derive(Clone, Debug)]
pub struct RunSnapshot {
    /// The view of `forge status`.
    pub view: RunView,
    /// The number of the record that it shows.
    pub seq: u64,
    /// The calls under way, by the names of their units.
    pub working: BTreeMap<String, Vec<Working>>,
    /// How long each unit was worked on so far, in milliseconds, by its name.
    pub took: BTreeMap<String, u64>,
    /// How long a stage usually takes, in milliseconds, by its place in the flow: `build/implement`.
    pub usual: BTreeMap<String, u64>,
    /// When somebody looked.
    pub now: Time,
}

/// A call that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Working {
    pub call: String,
    /// A few words about the work.
    pub does: String,
    /// The agent, unless the work is a command.
    pub agent: Option<String>,
    pub since: Time,
    /// The latest line that it said, printed or left in `progress`.
    pub line: Option<String>,
    /// What it has used up so far, as far as it said.
    pub spent: Spent,
}

/// A follower of one run, for screens.
pub struct Follower<'a> {
    forge: &'a Forge,
    id: String,
    store: Store,
    /// What the store said when we last read it.
    seen: Option<u64>,
    run: Run,
    seq: u64,
    view: RunView,
    frozen: Option<Frozen>,
    times: Times,
    usual: Usual,
    readers: BTreeMap<CallId, LatestLineReader>,
    /// What was said in the latest calls of units, the oldest first.
    remembered: VecDeque<(String, VecDeque<UnitEvent>)>,
    /// What passed without a person while we followed, as sentences.
    approvals: Vec<String>,
}

impl Forge {
    /// Follows a run from where it stands now.
    pub fn follow(&self, id: &str) -> Result<Follower<'_>, Error> {
        let store = Store::open_to_read(&self.home.dir)?;
        let run = Run::new();
        let mut follower = Follower {
            forge: self,
            id: id.to_owned(),
            usual: Usual::default(),
            store,
            seen: None,
            view: RunView::new(id, &run),
            run,
            seq: 0,
            frozen: None,
            times: Times::default(),
            readers: BTreeMap::new(),
            remembered: VecDeque::new(),
            approvals: Vec::new(),
        };
        follower.read_new_records()?;
        follower.approvals.clear();
        follower.usual = Usual::open(&follower.store, id, &follower.view.row.flow)?;
        Ok(follower)
    }
}

impl Follower<'_> {
    /// Returns the run as it is now.
    pub fn look(&mut self) -> Result<RunSnapshot, Error> {
        self.read_new_records()?;
        self.usual.learn(&self.store);
        let now = now();
        self.listen(now);
        Ok(RunSnapshot {
            view: self.view.clone(),
            seq: self.seq,
            working: self.working(now),
            took: self.times.at(now),
            usual: self.usual.medians().clone(),
            now,
        })
    }

    /// Returns the run that is followed.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns what passed without a person since this began, as sentences.
    pub fn approvals(&self) -> &[String] {
        &self.approvals
    }

    /// Returns true if somebody drives the run now. To be asked only now and then: who asks gets in the way
    /// of a driver.
    pub fn is_driven(&self) -> bool {
        self.forge.is_driven(&self.id)
    }

    /// Returns what was seen of the calls of a unit, the oldest first; bounded.
    pub fn stream(&self, unit: &str) -> impl Iterator<Item = &UnitEvent> {
        let kept = self.remembered.iter().find(|(of, _)| of == unit);
        let at_work = self.readers.iter().filter(move |(call, _)| call.unit().to_string() == unit);
        kept.into_iter()
            .flat_map(|(_, recent)| recent)
            .chain(at_work.flat_map(|(_, reader)| reader.recent()))
    }

    fn read_new_records(&mut self) -> Result<(), Error> {
        let version = self.store.data_version()?;
        if self.seen == Some(version) {
            return Ok(());
        }
        let records = self.store.read(&self.id, self.seq + 1)?;
        for record in &records {
            let facts = Record { at: record.at, facts: facts(record)? };
            let automatic = facts.facts.iter().filter(|fact| is_automatic(fact));
            let automatic = automatic.map(|fact| sentence(fact, Names::Short));
            self.approvals.extend(automatic);
            self.run.apply_record(&facts);
            self.times.apply_record(record.epoch, &facts, &self.run);
            self.seq = record.seq;
        }
        if !records.is_empty() {
            self.view = RunView::new(&self.id, &self.run);
            self.forge.add_location(&mut self.view);
        }
        self.seen = Some(version);
        Ok(())
    }

    /// Listens to the calls under way, and to no others.
    fn listen(&mut self, now: Time) {
        let over = |call: &CallId| !self.run.calls().contains_key(call);
        let ended: Vec<CallId> = self.readers.keys().filter(|call| over(call)).cloned().collect();
        for call in ended {
            if let Some(mut reader) = self.readers.remove(&call) {
                reader.listen();
                self.remember(call.unit().to_string(), reader.into_recent());
            }
        }
        if self.frozen.is_none() && !self.run.calls().is_empty() {
            self.frozen = self.forge.frozen(&self.run).ok();
        }
        for (call, begun) in self.run.calls() {
            let reader = self.readers.entry(call.clone()).or_insert_with(|| {
                let since = self.times.started(call).unwrap_or_else(|| self.run.now());
                let (home, id) = (&self.forge.home, self.id.as_str());
                let places = RunFolders { home, id, frozen: self.frozen.as_ref() };
                LatestLineReader::new(&self.run, call, begun.ordinal, since, &places)
            });
            reader.listen();
            if let Some(moment) = self.times.doubt(call)
                && reader.is_at_work_since(moment)
            {
                self.times.worked_through(call);
            }
            // A set-up is no time of its stage, as it is none when the stage is done.
            let begun = reader.begun().filter(|_| !reader.is_setting_up());
            self.times.not_before(call, begun.unwrap_or(now));
        }
    }

    fn remember(&mut self, unit: String, recent: VecDeque<UnitEvent>) {
        let position = self.remembered.iter().position(|(of, _)| *of == unit);
        let before = position.and_then(|position| self.remembered.remove(position));
        let mut all = before.map(|(_, all)| all).unwrap_or_default();
        all.extend(recent);
        let over = all.len().saturating_sub(RECENT_MAX);
        all.drain(..over);
        self.remembered.push_back((unit, all));
        if self.remembered.len() > STREAMS_MAX {
            self.remembered.pop_front();
        }
    }

    fn working(&self, now: Time) -> BTreeMap<String, Vec<Working>> {
        let mut working: BTreeMap<String, Vec<Working>> = BTreeMap::new();
        for (call, reader) in &self.readers {
            // An item may be gone by now.
            let does = if self.run.has(call.unit()) {
                describe_call(&self.run, call)
            } else {
                "no longer needed".to_owned()
            };
            let waits =
                reader.begun().is_none() && now.saturating_sub(reader.since()) >= BEGIN_WAIT_MS;
            let does = if waits { "not started yet".to_owned() } else { does };
            let frozen = self.frozen.as_ref();
            let player = frozen.and_then(|frozen| player(&self.run, frozen, call));
            working.entry(call.unit().to_string()).or_default().push(Working {
                call: call.to_string(),
                does,
                agent: player.map(|player| player.agent.name),
                since: reader.since(),
                line: reader.line().map(str::to_owned),
                spent: reader.spent(),
            });
        }
        working
    }
}

/// Returns true if a fact is an approval that nobody was asked for.
fn is_automatic(fact: &Event) -> bool {
    matches!(fact, Event::GatePassed { by: Approval::Automatic, .. })
}
