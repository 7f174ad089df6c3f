//! Follows a whole run: where it stands, what each call under way said last, and how long things usually
//! take. For screens, beside the driver or in another process.
//!
//! - `follow/times.rs`: how long units were worked on, in this run and usually.
//! - `follow/latest.rs`: the latest line of a call.
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
    view::{RunView, call_in_words, sentence},
};
use forge_driver::{Error, clock::now};
use forge_project::settings::Frozen;
use forge_store::{journal::Store, records::facts};

use self::{
    durations::{Times, Usual},
    latest_line::{Ear, Places, RECENT_MAX},
};
use crate::{
    forge::Forge,
    watch::events::{Seen, role},
};

/// A driver begins a call within so many milliseconds, unless there is none.
const BEGIN_WAIT_MS: u64 = 2_000;
/// The most units whose streams are remembered.
const STREAMS_MAX: usize = 64;

/// A run at one moment, with all that a screen shows of it.
#[derive(Clone, Debug)]
pub struct Picture {
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

/// Somebody who follows a run.
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
    ears: BTreeMap<CallId, Ear>,
    /// What was said in the latest calls of units, the oldest first.
    remembered: VecDeque<(String, VecDeque<Seen>)>,
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
            ears: BTreeMap::new(),
            remembered: VecDeque::new(),
            approvals: Vec::new(),
        };
        follower.take_new()?;
        follower.approvals.clear();
        follower.usual = Usual::of(&follower.store, id, &follower.view.row.flow)?;
        Ok(follower)
    }
}

impl Follower<'_> {
    /// The run as it is now.
    pub fn look(&mut self) -> Result<Picture, Error> {
        self.take_new()?;
        self.usual.learn(&self.store);
        let now = now();
        self.listen(now);
        Ok(Picture {
            view: self.view.clone(),
            seq: self.seq,
            working: self.working(now),
            took: self.times.at(now),
            usual: self.usual.medians().clone(),
            now,
        })
    }

    /// The run that is followed.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What passed without a person since this began, as sentences.
    pub fn approvals(&self) -> &[String] {
        &self.approvals
    }

    /// Whether somebody drives the run now. To be asked only now and then: who asks gets in the way
    /// of a driver.
    pub fn is_driven(&self) -> bool {
        self.forge.is_driven(&self.id)
    }

    /// What was seen of the calls of a unit, the oldest first; bounded.
    pub fn stream(&self, unit: &str) -> impl Iterator<Item = &Seen> {
        let kept = self.remembered.iter().find(|(of, _)| of == unit);
        let at_work = self.ears.iter().filter(move |(call, _)| call.unit().to_string() == unit);
        kept.into_iter()
            .flat_map(|(_, recent)| recent)
            .chain(at_work.flat_map(|(_, ear)| ear.recent()))
    }

    fn take_new(&mut self) -> Result<(), Error> {
        let version = self.store.data_version()?;
        if self.seen == Some(version) {
            return Ok(());
        }
        let records = self.store.read(&self.id, self.seq + 1)?;
        for record in &records {
            let facts = Record { at: record.at, facts: facts(record)? };
            let automatic = facts.facts.iter().filter(|fact| is_automatic(fact)).map(sentence);
            self.approvals.extend(automatic);
            self.run.take(&facts);
            self.times.hear(record.epoch, &facts, &self.run);
            self.seq = record.seq;
        }
        if !records.is_empty() {
            self.view = RunView::new(&self.id, &self.run);
            self.forge.say_where(&mut self.view);
        }
        self.seen = Some(version);
        Ok(())
    }

    /// Listens to the calls under way, and to no others.
    fn listen(&mut self, now: Time) {
        let over = |call: &CallId| !self.run.calls().contains_key(call);
        let ended: Vec<CallId> = self.ears.keys().filter(|call| over(call)).cloned().collect();
        for call in ended {
            if let Some(mut ear) = self.ears.remove(&call) {
                ear.listen();
                self.remember(call.unit().to_string(), ear.into_recent());
            }
        }
        if self.frozen.is_none() && !self.run.calls().is_empty() {
            self.frozen = self.forge.frozen(&self.run).ok();
        }
        for (call, begun) in self.run.calls() {
            let ear = self.ears.entry(call.clone()).or_insert_with(|| {
                let since = self.times.started(call).unwrap_or_else(|| self.run.now());
                let (home, id) = (&self.forge.home, self.id.as_str());
                let places = Places { home, id, frozen: self.frozen.as_ref() };
                Ear::of(&self.run, call, begun.ordinal, since, &places)
            });
            ear.listen();
            if let Some(moment) = self.times.doubt(call)
                && ear.is_at_work_since(moment)
            {
                self.times.worked_through(call);
            }
            self.times.not_before(call, ear.begun().unwrap_or(now));
        }
    }

    fn remember(&mut self, unit: String, recent: VecDeque<Seen>) {
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
        for (call, ear) in &self.ears {
            // An item may be gone by now.
            let does = if self.run.has(call.unit()) {
                call_in_words(&self.run, call)
            } else {
                "no longer needed".to_owned()
            };
            let waits = ear.begun().is_none() && now.saturating_sub(ear.since()) >= BEGIN_WAIT_MS;
            let does = if waits { format!("{does}: not begun yet") } else { does };
            let player = role(&self.run, call)
                .and_then(|role| self.frozen.as_ref().and_then(|frozen| frozen.who_plays(&role)));
            working.entry(call.unit().to_string()).or_default().push(Working {
                call: call.to_string(),
                does,
                agent: player.map(|player| player.name),
                since: ear.since(),
                line: ear.line().map(str::to_owned),
                spent: ear.spent(),
            });
        }
        working
    }
}

/// Whether a fact is an approval that nobody was asked for.
fn is_automatic(fact: &Event) -> bool {
    matches!(fact, Event::GatePassed { by: Approval::Automatic, .. })
}
