//! A run over many items whose facts go into a real journal, record by record, as its driver would append them.
//!
//! `core` decides every record; only what agents, gates and a person do is made up, and is the same each time. Time is
//! the journal's own: so many facts a second.
//!
//! Not here: agents. No process runs, and no call has a directory.

use std::{
    collections::BTreeMap,
    path::Path,
    process::Command as Program,
    sync::mpsc::{Receiver, SyncSender, channel, sync_channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use forge_api::clock::now;
use forge_api::forge::{Forge, NumberedRecord};
use forge_core::{
    Command, Effect, Input, Report, Run, Time, decide,
    event::{
        Answer, Approvals, Blob, Detail, Event, Limits, Outcome, Person, Receipt, Ruling, Start,
    },
    id::{AttemptId, JudgementId, QuestionId, UnitId},
    item::Item,
    money::{Cost, Money, Spent, Tokens},
    verdict::{Finding, Severity, Verdict},
    view::RunView,
    wanted,
};
use forge_store::{
    journal::{RunLock, Store, Writer},
    records::row,
};

/// So many milliseconds go by with each fact: 200 facts a second.
pub(super) const PACE: Time = 5;
/// So many items are worked on at once.
const AT_ONCE: usize = 10;

/// A repository with an empty journal.
pub(super) fn repository() -> (tempfile::TempDir, Forge) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let made = Program::new("git").args(["init", "--quiet"]).current_dir(folder.path()).status();
    assert!(made.is_ok_and(|made| made.success()), "git makes a repository");
    let forge = Forge::open(folder.path()).expect("it is a repository");
    (folder, forge)
}

/// A run that is made.
#[derive(Clone, Copy)]
pub(super) struct Made {
    pub(super) id: &'static str,
    pub(super) n_items: usize,
    /// So many milliseconds ago it began.
    pub(super) began: Time,
    /// So many milliseconds go by with each fact.
    pub(super) pace: Time,
}

/// What the journal holds after some facts more.
pub(super) struct Fed {
    /// Its last record.
    pub(super) seq: u64,
    /// What `status` says then.
    pub(super) view: RunView,
}

/// A thread that appends facts.
pub(super) struct Feeder {
    more: SyncSender<usize>,
    fed: Receiver<Fed>,
    thread: JoinHandle<Spoken>,
}

/// How it went.
pub(super) struct Spoken {
    /// Its last record.
    pub(super) seq: u64,
    pub(super) n_facts: usize,
    /// The time between first and last record, by the journal.
    pub(super) journal: Duration,
    /// How long the appending took.
    pub(super) appending: Duration,
}

impl Feeder {
    /// Begins a run and holds its lock, as a driver does. Gives what `status` says after its first record.
    pub(super) fn start(forge: &Forge, made: Made) -> (Self, Fed) {
        let (more, wants) = sync_channel::<usize>(0);
        let (sender, fed) = sync_channel(0);
        let dir = forge.home.dir.clone();
        let thread = thread::spawn(move || {
            let mut journal = Journal::begin(&dir, made);
            while sender.send(journal.fed()).is_ok() {
                let Ok(n_facts) = wants.recv() else { break };
                journal.feed(n_facts);
            }
            journal.spoken()
        });
        let first = fed.recv().expect("a run begins");
        (Self { more, fed, thread }, first)
    }

    /// Appends about so many facts more. What `status` says then.
    pub(super) fn feed(&self, n_facts: usize) -> Fed {
        self.more.send(n_facts).expect("the feeder waits for this");
        self.fed.recv().expect("the feeder has appended them")
    }

    /// Lets go of the run.
    pub(super) fn end(self) -> Spoken {
        drop((self.more, self.fed));
        self.thread.join().expect("the feeder does not fail")
    }
}

/// Appends all facts of a run as fast as the disk takes them, and tells what `status` says after each record.
pub(super) fn freely(forge: &Forge, made: Made) -> (Receiver<Fed>, Fed, JoinHandle<Spoken>) {
    let (sender, frames) = channel();
    let mut journal = Journal::begin(&forge.home.dir, made);
    let first = journal.fed();
    let thread = thread::spawn(move || {
        let mut seq = 0;
        while seq != journal.writer.seq() {
            seq = journal.writer.seq();
            journal.feed(1);
            let _nobody_looks = sender.send(journal.fed());
        }
        journal.spoken()
    });
    (frames, first, thread)
}

/// Appends all facts of a run.
pub(super) fn whole(forge: &Forge, made: Made) {
    Journal::begin(&forge.home.dir, made).feed(usize::MAX);
}

/// How long the calls of a unit were under way, one after the other, in milliseconds.
pub(super) fn worked_on(records: &[NumberedRecord], unit: &str) -> u64 {
    let (mut since, mut total) = (None, 0);
    for NumberedRecord { record, .. } in records {
        for fact in &record.facts {
            if let Event::AttemptEnded { attempt: AttemptId { unit: of, .. }, .. }
            | Event::Judged {
                judgement: JudgementId { attempt: AttemptId { unit: of, .. }, .. },
                ..
            } = fact
                && of.to_string() == unit
            {
                total += since.take().map_or(0, |since: Time| record.at - since);
            }
            if let Event::AttemptStarted { attempt: AttemptId { unit: of, .. }, call: Some(_) }
            | Event::JudgementStarted {
                judgement: JudgementId { attempt: AttemptId { unit: of, .. }, .. },
                ..
            } = fact
                && of.to_string() == unit
            {
                since = Some(record.at);
            }
        }
    }
    total
}

/// A run and where it is written.
pub(super) struct Journal {
    made: Made,
    store: Store,
    writer: Writer,
    run: Run,
    n_facts: usize,
    /// Facts of the last record.
    n_last: u64,
    n_steps: usize,
    /// The last step of each unit.
    steps: BTreeMap<Option<UnitId>, usize>,
    appending: Duration,
}

impl Journal {
    pub(super) fn begin(dir: &Path, made: Made) -> Self {
        let mut store = Store::open(dir).expect("a journal can be made");
        let input = Input::Command(Command::Start(Box::new(start())));
        let record = decide(&Run::new(), now() - made.began, &input).expect("the flow is right");
        let mut run = Run::new();
        run.apply_record(&record);
        let lock = RunLock::acquire(dir, made.id).expect("nobody holds it");
        let facts = serde_json::to_string(&record.facts).expect("facts can be written");
        let writer = store
            .begin_run(lock, record.at, &facts, &row(made.id, &run))
            .expect("a run can be begun");
        let n_facts = record.facts.len();
        Self {
            made,
            store,
            writer,
            run,
            n_facts,
            n_last: 1,
            n_steps: 0,
            steps: BTreeMap::new(),
            appending: Duration::ZERO,
        }
    }

    fn fed(&self) -> Fed {
        Fed { seq: self.writer.seq(), view: RunView::new(self.made.id, &self.run) }
    }

    /// Appends so many facts, and those of the same record.
    pub(super) fn feed(&mut self, n_facts: usize) {
        let until = self.n_facts.saturating_add(n_facts);
        while self.n_facts < until {
            let all = wanted(&self.run);
            if all.is_empty() {
                return;
            }
            let due = self.run.now() + self.n_last * self.made.pace;
            let moment = |effect: &Effect| match effect {
                Effect::Wake { at } => due.max(*at),
                Effect::Work { .. }
                | Effect::Judge { .. }
                | Effect::Ask { .. }
                | Effect::Need { .. }
                | Effect::Claim { .. } => due,
            };
            let at = all.iter().map(moment).min().unwrap_or(due);
            // The one whose unit had to wait longest, so that all go on together.
            let due = all.into_iter().filter(|effect| moment(effect) == at);
            let effect = due.min_by_key(|effect| self.steps.get(&self.unit(effect)).copied());
            let effect = effect.expect("one of them is due");
            self.n_steps += 1;
            self.steps.insert(self.unit(&effect), self.n_steps);
            let input = self.answer(effect);
            let record = decide(&self.run, at, &input).expect("it was wanted");
            self.run.apply_record(&record);
            self.n_facts += record.facts.len();
            self.n_last = record.facts.len() as u64;
            let facts = serde_json::to_string(&record.facts).expect("facts can be written");
            let began = Instant::now();
            self.store
                .append(&mut self.writer, record.at, &facts, &row(self.made.id, &self.run), &[])
                .expect("the disk takes it");
            self.appending += began.elapsed();
        }
    }

    fn spoken(&self) -> Spoken {
        let first = self.store.read(self.made.id, 1).expect("it can be read")[0].at;
        let journal = Duration::from_millis(self.run.now() - first);
        let seq = self.writer.seq();
        Spoken { seq, n_facts: self.n_facts, journal, appending: self.appending }
    }

    /// What the world says when this is wanted.
    fn answer(&self, effect: Effect) -> Input {
        match effect {
            Effect::Work { attempt, .. } => {
                let number = item(&attempt.unit);
                let is_list = attempt.unit.stage == "plan";
                let lists = is_list.then(|| vec![("tasks".to_owned(), self.items())]);
                // Every eighth item meets a limit at its second attempt.
                let is_limited = number.is_some_and(|n| n % 8 == 0) && attempt.number == 2;
                let outcome = if is_limited {
                    let until = self.run.now() + 400;
                    Outcome::Limited { until, what: "usage limit of nobody".to_owned() }
                } else {
                    Outcome::Done
                };
                let lists = lists.unwrap_or_default();
                let report = Report::Worked { attempt, outcome, lists, receipt: receipt() };
                Input::Report(report)
            }
            Effect::Judge { judgement, .. } => {
                let number = item(&judgement.attempt.unit);
                // Every review sends the first attempt back.
                let is_first = judgement.gate == "review" && judgement.attempt.number == 1;
                let verdict = match number.filter(|_| is_first) {
                    Some(number) => Verdict::Revise { findings: vec![finding(number)] },
                    None => Verdict::Pass { findings: Vec::new() },
                };
                let ruling = Ruling::Verdict(verdict);
                Input::Report(Report::Judged { judgement, ruling, receipt: receipt() })
            }
            Effect::Ask { question } => Input::Command(self.said_to(question)),
            Effect::Claim { unit } => Input::Report(Report::PathsFree { unit: unit.clone() }),
            Effect::Need { unit, gate } => {
                let (unit, gate) = (unit.clone(), gate.clone());
                Input::Report(Report::NeedsMet { unit, gate })
            }
            Effect::Wake { .. } => Input::Tick,
        }
    }

    /// What an effect is about.
    fn unit(&self, effect: &Effect) -> Option<UnitId> {
        match effect {
            Effect::Work { attempt, .. } => Some(attempt.unit.clone()),
            Effect::Judge { judgement, .. } => Some(judgement.attempt.unit.clone()),
            Effect::Ask { question } => Some(self.asked(*question)),
            Effect::Claim { .. } | Effect::Need { .. } | Effect::Wake { .. } => None,
        }
    }

    fn asked(&self, question: QuestionId) -> UnitId {
        let asked = self.run.questions().find(|asked| asked.id == question);
        asked.expect("it is wanted because it is open").unit.clone()
    }

    fn said_to(&self, question: QuestionId) -> Command {
        // A few fail, and stay on the screen.
        let answer = match item(&self.asked(question)) {
            Some(number) if number % 150 == 0 => Answer::GiveUp,
            Some(_) | None => Answer::Approve,
        };
        Command::Answer { question, answer, words: String::new(), by: person() }
    }

    fn items(&self) -> Vec<Item> {
        let item = |n: usize| Item {
            id: format!("T{n}"),
            title: format!("the part 部分 with the number {n}"),
            writes: vec![format!("p{n}")],
            ..Item::default()
        };
        (1..=self.made.n_items).map(item).collect()
    }
}

/// The number of the item that a unit is about.
fn item(unit: &UnitId) -> Option<usize> {
    let name = unit.to_string();
    let number = name.strip_prefix("build.T")?.strip_suffix("/implement")?;
    number.parse().ok()
}

fn finding(number: usize) -> Finding {
    Finding {
        id: String::new(),
        severity: Severity::Major,
        path: Some(format!("p{number}")),
        line: None,
        what: format!("part {number} is not there yet"),
        why: String::new(),
        proof: None,
        was: None,
        doubt: None,
    }
}

fn receipt() -> Receipt {
    let tokens = Tokens { input: 900, output: 100, ..Tokens::default() };
    Receipt::from_spent(Spent { cost: Cost::Known(Money(1_500)), tokens, ..Spent::NOTHING })
}

fn person() -> Person {
    Person { who: "somebody".to_owned(), channel: "test".to_owned() }
}

fn start() -> Start {
    let text = format!(
        "name = 'many'\n[[stage]]\nname = 'plan'\nagent = 'planner'\nlist = 'tasks'\n\
         [[stage]]\nname = 'build'\neach = 'tasks'\nat_once = {AT_ONCE}\nitems_max = 300\n\
         [[stage.stage]]\nname = 'implement'\nagent = 'implementer'\ngates = [\
         {{ name = 'review', review = 'reviewer' }},\
         {{ name = 'approval', human = 'Good?' }}]\n\
         [[stage]]\nname = 'end'\ncommand = 'true'\n"
    );
    let role = |name: &str| (name.to_owned(), Blob("0".repeat(64)));
    Start {
        request: "build three hundred parts".to_owned(),
        flow: "many".to_owned(),
        texts: BTreeMap::from([("many".to_owned(), text)]),
        format: 1,
        params: BTreeMap::new(),
        approvals: Approvals::ByPeople,
        limits: Limits { budget: None, call_budget: None, at_once: 20, unpriced_calls: None },
        settings: None,
        roles: ["planner", "implementer", "reviewer"].map(role).into(),
        skills: BTreeMap::new(),
        architecture: None,
        instructions: None,
        base: None,
        base_branch: None,
        branch: None,
        onto: None,
        chosen: BTreeMap::new(),
        source: None,
        detail: Detail::Plain,
        coherence: None,
        on_overlap: None,
        routing: None,
        about: None,
        lists: BTreeMap::new(),
        ending_key: None,
        version: "test".to_owned(),
        by: person(),
    }
}
