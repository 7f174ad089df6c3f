//! The tree of a run: tables of units, and the items inside those that are an `each`.
//!
//! Tables of items are shared between copies of a run and copied when one of them changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, OnceLock},
};

use super::before_start::{NeedsState, PathsState};
use crate::{
    Time,
    event::{Blob, Evidence, FailureKind, Outcome, Receipt, SentBack},
    failure::Fault,
    flow::{Flow, Stage},
    id::{QuestionId, UnitId},
    item::Item,
    money::{Money, Tokens},
    routing::Successor,
    verdict::{BlockerClass, Finding, Says, Severity, Verdict},
};

/// The units of one scope, in the order of its rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// One for each row.
    pub units: Vec<Unit>,
    pub opened: TableOpened,
    /// The commit that its work stands at, once Forge has made one.
    pub code: Option<CommittedCode>,
    /// For each row, the rows that come first.
    after: Arc<Vec<Vec<usize>>>,
}

/// A commit and its code tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedCode {
    pub commit: String,
    /// Its tree, without what Forge itself keeps in it.
    pub tree: String,
}

/// The state of the files that the latest attempt at a unit changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilesState {
    /// They are in a commit, or there were none.
    #[default]
    Committed,
    /// They are as the attempt left them.
    Left,
}

/// The state of a table: untouched, or begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableOpened {
    /// Nothing.
    NotYet,
    /// Something.
    Yes,
}

/// The status of an item as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableStatus {
    /// Nothing has begun.
    Waiting,
    /// It was begun and may go on.
    Open,
    /// All that applies is good.
    Closed,
    /// Something in it failed, and all that is left waits for that.
    Failed,
}

/// A stage under way.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    pub state: State,
    /// When it came to stand there.
    pub since: Time,
    /// The number of the latest attempt. It only grows.
    pub attempt: u32,
    /// How often it was sent back by what is not a person. It only grows.
    pub round: u32,
    /// How often gates with rounds of their own sent it back, by stage and name. They only grow.
    pub gate_rounds: BTreeMap<(String, String), u32>,
    /// Attempts in a row that ended without a result.
    pub misses: u32,
    /// Calls in a row that were lost, interrupted or limited.
    pub setbacks: u32,
    /// Looks of the current gate at the current attempt.
    pub looks: u32,
    /// Looks in a row that ended without a verdict.
    pub faults: u32,
    /// How often it did not land.
    pub landings: u32,
    /// The number of the latest attempt that only waited for other work.
    pub waited: u32,
    /// How it stands with the paths that its work may change.
    pub paths: PathsState,
    /// How it stands with what must hold before its next call.
    pub needs: NeedsState,
    /// Paths that its work changes, as they were last listed.
    pub changed: Vec<String>,
    /// The checks that failed when they last looked at the current attempt.
    pub red: Vec<Evidence>,
    /// Gates that a person waived at the current attempt.
    pub waived: BTreeSet<String>,
    /// Nothing starts before this moment, because of a limit.
    pub not_before: Time,
    /// The event that it waits for.
    pub waits_for: String,
    /// The session of its agent that its next call continues: an attempt's, or that of the gate
    /// that is to look again.
    pub session: Option<String>,
    /// Who took over what an agent could not do, and why: the work itself, or the look of a gate. It only grows.
    pub passed_on: BTreeMap<Option<String>, (BlockerClass, Successor)>,
    /// How its latest attempt failed, if no attempt has had a result since.
    pub fault: Option<Fault>,
    /// Whether every review of the current attempt passed without serious findings.
    pub reviews_clean: AllReviewsClean,
    /// The findings that the next attempt must deal with.
    pub findings: Vec<Finding>,
    /// Whether it is to be worked on again, or for the first time.
    pub due: Due,
    /// What its latest attempt says is left to do, if it did only a part.
    pub left_to_do: String,
    pub authorship: Authorship,
    /// The findings of the current attempt.
    pub found: Vec<Finding>,
    /// How many of those, from the first on, a person accepted with the answer to a question.
    pub accepted: Vec<(QuestionId, usize)>,
    /// What reviews say of the current attempt, in the order of their looks.
    pub review_tallies: Vec<ReviewTally>,
    /// All that was found so far.
    pub notes: Vec<Finding>,
    /// Findings ever numbered.
    pub n_findings: u32,
    /// Serious findings when a gate last sent it back, by gate.
    pub serious: BTreeMap<String, usize>,
    /// The code that a review last judged, by gate.
    pub looked_at: BTreeMap<String, String>,
    /// Gates that do not apply.
    pub skipped: BTreeSet<String>,
    /// What became of the files that the latest attempt changed.
    pub files: FilesState,
    /// The commit that landed.
    pub landed: Option<String>,
    /// What the latest good attempt left behind.
    pub receipt: Option<Arc<Receipt>>,
    /// The written files, by name.
    pub artifacts: BTreeMap<String, Blob>,
    /// What those were before the latest attempt that left some.
    pub replaced: BTreeMap<String, Blob>,
    /// The cost of its calls, with reserved amounts of lost ones.
    pub spent: Money,
    /// The part of it that is estimated.
    pub estimated: Money,
    /// The part of it that calls of unknown cost may have cost.
    pub unknown_at_most: Money,
    /// How many calls ended without saying what they cost.
    pub n_unknown: u32,
    /// What it had spent when a person last let it go on.
    pub granted: Money,
    /// Tokens of all its calls.
    pub tokens: Tokens,
    /// The order in which its current attempt came to its gate, once that has ended.
    pub arrived: Option<u64>,
    /// Its items, if it is an `each` or a flow.
    pub inner: Inner,
}

/// The life of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Not started, or reset.
    #[default]
    Waiting,
    /// It is being worked on. For an `each`: its items are under way.
    Working,
    /// A gate is to look, or looks, at the latest attempt.
    Judging {
        /// The position of the gate.
        gate: usize,
        look: LookState,
    },
    /// A person has to choose.
    Asking { question: QuestionId },
    /// Good.
    Accepted,
    /// Does not apply.
    Skipped,
    /// Will not be tried again by itself.
    Failed { kind: FailureKind },
}

/// The state of a judgement: wanted, or running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookState {
    /// It is to look.
    Pending,
    /// It looks, and this is the number of its look.
    UnderWay(u32),
}

/// The tally of a review, without its findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewTally {
    pub gate: String,
    pub says: Says,
    pub critical: u32,
    /// Major ones.
    pub major: u32,
    /// Minor ones.
    pub minor: u32,
}

impl ReviewTally {
    /// Counts the findings of a verdict.
    pub(super) fn new(gate: &str, verdict: &Verdict) -> Self {
        let count = |severity| {
            let found = verdict.findings().iter().filter(|found| found.severity == severity);
            u32::try_from(found.count()).unwrap_or(u32::MAX)
        };
        let must_change = |found: &Finding| found.is_serious() && found.is_grounded();
        Self {
            gate: gate.to_owned(),
            says: match verdict {
                Verdict::Pass { findings } if findings.is_empty() => Says::Pass,
                // Whatever its word is: with something serious in it, it is no pass.
                Verdict::Pass { findings } if findings.iter().any(must_change) => Says::Revise,
                Verdict::Pass { .. } => Says::PassWithNotes,
                Verdict::Revise { .. } => Says::Revise,
                Verdict::Block { .. } => Says::Block,
            },
            critical: count(Severity::Critical),
            major: count(Severity::Major),
            minor: count(Severity::Minor),
        }
    }
}

/// The reason why a unit is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Due {
    /// It was never worked on, or it was reset by something before it.
    #[default]
    Fresh,
    /// It was sent back.
    Again,
}

/// The authors of the current content of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorship {
    /// Agents alone.
    #[default]
    Agents,
    /// A person, too: what is made of it later is not approved by itself.
    PersonToo,
}

impl Authorship {
    /// Returns how an attempt of an agent begins.
    pub(super) const fn first_reviews_clean(self) -> AllReviewsClean {
        match self {
            Self::Agents => AllReviewsClean::Yes,
            Self::PersonToo => AllReviewsClean::No,
        }
    }
}

/// The answer to "did every review pass without critical findings?".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllReviewsClean {
    /// So far.
    #[default]
    Yes,
    /// Something was found, waived or left open.
    No,
}

/// The items of a unit.
#[derive(Clone, Debug, Default)]
pub struct Inner {
    members: Arc<Members>,
    tables: Vec<ItemTable>,
    /// Items that are no longer listed. Their numbers are never reused.
    retired: Arc<BTreeMap<String, (Item, Arc<Table>)>>,
}

/// The table of one item, and how it stands once that was asked. Most items of a long list are as they were at the last decision.
#[derive(Clone)]
struct ItemTable {
    table: Arc<Table>,
    standing: OnceLock<TableStatus>,
}

#[derive(Debug, Default)]
struct Members {
    items: Vec<Item>,
    /// Positions of what comes first, for each item.
    after: Vec<Vec<usize>>,
    /// All positions, what comes first before what waits for it.
    order: Vec<usize>,
    /// For each item, how many come one after the other before it, at most.
    layers: Vec<usize>,
    index: BTreeMap<String, usize>,
}

impl State {
    /// Returns true if later units may begin.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Accepted | Self::Skipped)
    }
}

impl Table {
    pub(super) fn fresh(stages: &[Stage]) -> Self {
        let after = stages.iter().map(|stage| stage.after.clone()).collect();
        Self {
            units: vec![Unit::default(); stages.len()],
            opened: TableOpened::NotYet,
            code: None,
            after: Arc::new(after),
        }
    }

    /// Returns how it stands as a whole.
    pub fn standing(&self) -> TableStatus {
        let is_failed = |unit: &Unit| matches!(unit.state, State::Failed { .. });
        if self.units.iter().any(is_failed) {
            match (self.can_go_on(), self.opened) {
                (true, TableOpened::Yes) => TableStatus::Open,
                (true, TableOpened::NotYet) => TableStatus::Waiting,
                (false, _) => TableStatus::Failed,
            }
        } else if self.units.iter().all(|unit| unit.state.is_closed()) {
            TableStatus::Closed
        } else if self.opened == TableOpened::Yes {
            TableStatus::Open
        } else {
            TableStatus::Waiting
        }
    }

    /// Returns true if a row and all before it are over. A row that was skipped at the start says nothing
    /// about the rows before it.
    pub(crate) fn is_over(&self, row: usize) -> bool {
        let state = self.units[row].state;
        let is_skipped = state == State::Skipped;
        state == State::Accepted
            || (is_skipped && self.after[row].iter().all(|first| self.is_over(*first)))
    }

    /// Returns true if something in it is neither over nor waits for what failed.
    fn can_go_on(&self) -> bool {
        let mut stuck = vec![false; self.units.len()];
        for (row, unit) in self.units.iter().enumerate() {
            let waits = self.after[row].iter().any(|first| stuck[*first]);
            stuck[row] = waits || matches!(unit.state, State::Failed { .. });
            if !stuck[row] && !unit.state.is_closed() {
                return true;
            }
        }
        false
    }

    /// Returns true if some work in it is part of the run's result.
    pub fn has_landed(&self) -> bool {
        let inside = |unit: &Unit| unit.inner.tables.iter().any(|inside| inside.table.has_landed());
        self.units.iter().any(|unit| unit.landed.is_some() || inside(unit))
    }

    /// Returns true if something in it waits for an answer.
    fn is_asking(&self) -> bool {
        let inside = |unit: &Unit| unit.inner.tables.iter().any(|inside| inside.table.is_asking());
        self.units.iter().any(|unit| matches!(unit.state, State::Asking { .. }) || inside(unit))
    }

    /// Lets no call continue an earlier session.
    pub(super) fn forget_sessions(&mut self) {
        for unit in &mut self.units {
            unit.session = None;
            for table in &mut unit.inner.tables {
                table.change().forget_sessions();
            }
        }
    }

    /// Gives back the paths that units have claimed, and looks again at what they need.
    pub(super) fn release_paths(&mut self) {
        for unit in &mut self.units {
            unit.paths = PathsState::Unclaimed;
            unit.needs = NeedsState::Unasked;
            for table in &mut unit.inner.tables {
                table.change().release_paths();
            }
        }
    }

    /// Lets nothing wait for a moment any more, and looks again at what units need.
    pub(super) fn end_waits(&mut self) {
        for unit in &mut self.units {
            unit.not_before = 0;
            unit.needs = NeedsState::Unasked;
            for table in &mut unit.inner.tables {
                table.change().end_waits();
            }
        }
    }

    /// Begins again, but for the items inside that are good already.
    fn reset(&mut self, stages: &[Stage]) {
        self.opened = TableOpened::NotYet;
        for (unit, stage) in self.units.iter_mut().zip(stages) {
            unit.reset(stage);
        }
    }
}

impl Unit {
    /// Back to the start. What was counted over the whole run is kept, and so is that it does not apply:
    /// neither parameters nor the tags of the same item change.
    pub(super) fn reset(&mut self, stage: &Stage) {
        for table in &mut self.inner.tables {
            if table.standing() != TableStatus::Closed {
                table.change().reset(stage.inner());
            }
        }
        let old = std::mem::take(self);
        *self = Self {
            state: if old.state == State::Skipped { State::Skipped } else { State::Waiting },
            since: old.since,
            attempt: old.attempt,
            round: old.round,
            gate_rounds: old.gate_rounds,
            landings: old.landings,
            paths: match old.paths {
                // What was begun is still there, and may land.
                PathsState::Claimed => PathsState::Claimed,
                PathsState::Unclaimed | PathsState::Wanted | PathsState::Taken { .. } => {
                    PathsState::Unclaimed
                }
            },
            authorship: old.authorship,
            passed_on: old.passed_on,
            notes: old.notes,
            n_findings: old.n_findings,
            serious: old.serious,
            looked_at: old.looked_at,
            skipped: old.skipped,
            landed: old.landed,
            files: old.files,
            artifacts: old.artifacts,
            replaced: old.replaced,
            spent: old.spent,
            estimated: old.estimated,
            unknown_at_most: old.unknown_at_most,
            n_unknown: old.n_unknown,
            granted: old.granted,
            tokens: old.tokens,
            inner: old.inner,
            ..Self::default()
        };
    }

    /// Takes in what an attempt wrote; what that replaces is remembered.
    pub(super) fn replace_artifacts(&mut self, written: &BTreeMap<String, Blob>) {
        if !written.is_empty() {
            let names = written.keys();
            let old = names.filter_map(|name| self.artifacts.get_key_value(name));
            self.replaced = old.map(|(name, blob)| (name.clone(), blob.clone())).collect();
            self.artifacts.extend(written.clone());
        }
    }

    /// Returns what its latest good attempt noted; of a delivery that delivered nothing, why.
    pub(crate) fn receipt_notes(&self) -> String {
        self.receipt.as_ref().map(|receipt| receipt.notes.join("; ")).unwrap_or_default()
    }

    /// Returns true if a reset would undo work that has landed. Items that are good are not reset.
    pub fn has_landed_and_open(&self) -> bool {
        let undone = |table: &ItemTable| {
            table.standing() != TableStatus::Closed
                && table.table.units.iter().any(Self::has_landed_and_open)
        };
        self.landed.is_some() || self.inner.tables.iter().any(undone)
    }

    /// Counts who sent it back. Gates with rounds of their own count for themselves, those of all items together.
    pub(super) fn sent_back(&mut self, by: &SentBack, flow: &Flow) {
        self.due = Due::Again;
        match by {
            SentBack::Gate { unit, gate } => {
                match flow.gate(unit, gate).and_then(|gate| gate.rounds) {
                    Some(_) => {
                        *self.gate_rounds.entry((unit.stage.clone(), gate.clone())).or_default() +=
                            1;
                    }
                    None => self.round += 1,
                }
            }
            SentBack::Partial => self.round += 1,
            SentBack::Landing => self.landings += 1,
            SentBack::Person { .. } | SentBack::Resumed => {}
        }
    }

    /// Notes the state of the files that an attempt changed. One that made way touched none.
    pub(super) fn keep_files(&mut self, outcome: &Outcome, receipt: &Receipt) {
        match outcome {
            Outcome::Deferred { .. } => {}
            Outcome::Done
            | Outcome::Partial { .. }
            | Outcome::Blocked { .. }
            | Outcome::Fault { .. }
            | Outcome::Limited { .. }
            | Outcome::Lost
            | Outcome::Interrupted => {
                let is_committed = receipt.commit.is_some();
                self.files = if is_committed { FilesState::Committed } else { FilesState::Left };
            }
        }
    }

    pub(super) fn come_to_gate(&mut self, stage: &Stage, gate: usize, arrived: u64) {
        self.state = State::Judging { gate, look: LookState::Pending };
        self.looks = 0;
        self.faults = 0;
        self.needs = NeedsState::Unasked;
        self.session = None;
        self.arrived = Some(arrived);
        self.step_over_skipped(stage);
    }

    pub(super) fn step_over_skipped(&mut self, stage: &Stage) {
        if let State::Judging { gate, look: LookState::Pending } = &mut self.state {
            while stage.gates.get(*gate).is_some_and(|gate| self.skipped.contains(&gate.name)) {
                *gate += 1;
            }
        }
    }
}

impl Inner {
    /// Takes a list over. The same item keeps where it stands; a changed one begins again.
    pub(super) fn bind(&mut self, stages: &[Stage], items: &[Item]) {
        let mut retired = self.retired.as_ref().clone();
        let mut old: BTreeMap<&str, (&Item, Arc<Table>)> = BTreeMap::new();
        for (item, table) in self.members.items.iter().zip(&self.tables) {
            old.insert(&item.id, (item, Arc::clone(&table.table)));
        }
        let fresh = Arc::new(Table::fresh(stages));
        let mut tables = Vec::with_capacity(items.len());
        for item in items {
            tables.push(ItemTable::new(match old.remove(item.id.as_str()) {
                Some((before, table)) if before == item => table,
                Some((_, table)) => again(table, stages),
                None => match retired.remove(&item.id) {
                    Some((before, table)) if before == *item => table,
                    Some((_, table)) => again(table, stages),
                    None => Arc::clone(&fresh),
                },
            }));
        }
        for (id, (item, table)) in old {
            retired.insert(id.to_owned(), (item.clone(), table));
        }
        let index: BTreeMap<String, usize> =
            items.iter().enumerate().map(|(n, item)| (item.id.clone(), n)).collect();
        let positions = |item: &Item| -> Vec<usize> {
            item.after.iter().filter_map(|id| index.get(id).copied()).collect()
        };
        let after: Vec<Vec<usize>> = items.iter().map(positions).collect();
        let order = in_order(&after);
        let mut layers = vec![0; items.len()];
        for position in &order {
            let firsts = after[*position].iter().map(|first| layers[*first] + 1);
            layers[*position] = firsts.max().unwrap_or(0);
        }
        self.members = Arc::new(Members { items: items.to_vec(), after, order, layers, index });
        self.tables = tables;
        self.retired = Arc::new(retired);
    }

    /// Begins the items again that waited for this one, directly or by way of others.
    pub(super) fn reset_after(&mut self, id: &str, stages: &[Stage]) {
        let Some(first) = self.members.index.get(id) else { return };
        let mut waited = BTreeSet::from([*first]);
        for position in &self.members.order {
            if self.members.after[*position].iter().any(|first| waited.contains(first)) {
                waited.insert(*position);
            }
        }
        for position in waited.into_iter().filter(|position| position != first) {
            self.tables[position].change().reset(stages);
        }
    }

    /// Returns the items with their tables, in the order of the list.
    pub fn members(&self) -> impl Iterator<Item = (&Item, &Table)> {
        self.members.items.iter().zip(self.tables.iter().map(|inside| inside.table.as_ref()))
    }

    /// Returns the items that were begun and may go on, with their tables.
    pub fn open_members(&self) -> impl Iterator<Item = (&Item, &Table)> {
        let open = |inside: &ItemTable| inside.standing() == TableStatus::Open;
        let all = self.members.items.iter().zip(&self.tables);
        all.filter(move |(_, inside)| open(inside)).map(|(item, inside)| (item, &*inside.table))
    }

    /// Returns how all items stand, in the order of the list.
    pub fn standings(&self) -> impl Iterator<Item = TableStatus> {
        self.tables.iter().map(ItemTable::standing)
    }

    /// Returns the items that are no longer listed, with their tables.
    pub fn retired(&self) -> impl Iterator<Item = (&Item, &Table)> {
        self.retired.values().map(|(item, table)| (item, table.as_ref()))
    }

    /// Returns how many items there are.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Returns true if there is no inner table.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns how the item at a position stands.
    pub fn standing(&self, position: usize) -> TableStatus {
        self.tables[position].standing()
    }

    /// Returns true if something in the item at a position waits for an answer.
    pub fn is_asking(&self, position: usize) -> bool {
        self.tables[position].table.is_asking()
    }

    /// Returns the item at a position, and the positions of what comes first.
    pub fn member(&self, position: usize) -> (&Item, &[usize]) {
        (&self.members.items[position], &self.members.after[position])
    }

    /// Returns the positions of items that failed, or wait for one that did.
    pub fn stuck(&self) -> BTreeSet<usize> {
        self.stuck_by(|position| self.standing(position) == TableStatus::Failed)
    }

    /// Returns the positions of items for which this holds, or that wait for such a one.
    fn stuck_by(&self, is_stuck: impl Fn(usize) -> bool) -> BTreeSet<usize> {
        let mut stuck = BTreeSet::new();
        for position in &self.members.order {
            let waits = self.members.after[*position].iter().any(|first| stuck.contains(first));
            let is_closed = self.standing(*position) == TableStatus::Closed;
            if is_stuck(*position) || (waits && !is_closed) {
                stuck.insert(*position);
            }
        }
        stuck
    }

    /// Returns the layer of the item at a position: how many items come one after the other before it, at most.
    pub fn layer(&self, position: usize) -> usize {
        self.members.layers[position]
    }

    /// Returns the lowest layer in which something can go on without a person.
    pub fn wave(&self) -> Option<usize> {
        let stuck = self
            .stuck_by(|item| self.standing(item) == TableStatus::Failed || self.is_asking(item));
        let can_go_on =
            |item: &usize| self.standing(*item) != TableStatus::Closed && !stuck.contains(item);
        (0..self.len()).filter(can_go_on).map(|item| self.layer(item)).min()
    }

    /// Returns the item with this id.
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.members.index.get(id).map(|position| &self.members.items[*position])
    }

    /// Returns the table of the item with this id.
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.members.index.get(id).map(|position| self.tables[*position].table.as_ref())
    }

    pub(super) fn table_mut(&mut self, id: &str) -> Option<&mut Table> {
        let position = *self.members.index.get(id)?;
        Some(self.tables[position].change())
    }
}

impl ItemTable {
    fn new(table: Arc<Table>) -> Self {
        Self { table, standing: OnceLock::new() }
    }

    fn standing(&self) -> TableStatus {
        *self.standing.get_or_init(|| self.table.standing())
    }

    /// Returns the table to be changed, which may stand otherwise then.
    fn change(&mut self) -> &mut Table {
        self.standing = OnceLock::new();
        Arc::make_mut(&mut self.table)
    }
}

impl fmt::Debug for ItemTable {
    /// The same whether it was asked how it stands or not.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.standing(), &self.table).fmt(formatter)
    }
}

/// Returns the same table from the start, with numbers that go on. Nothing inside is kept as good.
fn again(mut table: Arc<Table>, stages: &[Stage]) -> Arc<Table> {
    let inside = Arc::make_mut(&mut table);
    inside.reset(stages);
    inside.code = None;
    for (unit, stage) in inside.units.iter_mut().zip(stages) {
        unit.artifacts.clear();
        unit.replaced.clear();
        unit.files = FilesState::default();
        unit.serious.clear();
        // Another item may have other tags, so that other gates apply, and other stages.
        unit.skipped.clear();
        if unit.state == State::Skipped {
            unit.state = State::Waiting;
        }
        let tables = std::mem::take(&mut unit.inner.tables);
        let fresh = |inside: ItemTable| ItemTable::new(again(inside.table, stage.inner()));
        unit.inner.tables = tables.into_iter().map(fresh).collect();
    }
    table
}

/// Returns the positions of all items, what comes first before what waits for it.
fn in_order(after: &[Vec<usize>]) -> Vec<usize> {
    let mut waits: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (position, firsts) in after.iter().enumerate() {
        for first in firsts {
            followers[*first].push(position);
        }
    }
    let mut order: Vec<usize> = (0..after.len()).filter(|n| waits[*n] == 0).collect();
    let mut next = 0;
    while let Some(done) = order.get(next).copied() {
        next += 1;
        for follower in &followers[done] {
            waits[*follower] -= 1;
            if waits[*follower] == 0 {
                order.push(*follower);
            }
        }
    }
    order
}

/// Returns the position of a row. Names in facts were checked when they were written.
pub(super) fn position(stages: &[Stage], name: &str) -> usize {
    let found = stages.iter().position(|stage| stage.name == name);
    found.expect("a unit names a stage of its flow")
}

pub(super) fn locate<'a>(flow: &'a Flow, root: &'a Table, id: &UnitId) -> (&'a Stage, &'a Unit) {
    find(flow, root, id).expect("a unit names a stage of its flow and an item of its list")
}

pub(super) fn find<'a>(
    flow: &'a Flow,
    root: &'a Table,
    id: &UnitId,
) -> Option<(&'a Stage, &'a Unit)> {
    let (mut stages, mut table): (&[Stage], &Table) = (&flow.stages, root);
    for (group, item) in id.scope.steps() {
        let position = stages.iter().position(|stage| stage.name == group)?;
        table = table.units[position].inner.table(item)?;
        stages = stages[position].inner();
    }
    let position = stages.iter().position(|stage| stage.name == id.stage)?;
    Some((&stages[position], &table.units[position]))
}
