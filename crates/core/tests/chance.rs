//! The engine against chance: workers, people, clocks and crashes that do what they like.
//!
//! Each run has a seed of its own. A failure prints the seed that reproduces it alone:
//! `FORGE_CHANCE_SEED=17 FORGE_CHANCE_STEPS=1 cargo test -p forge-core --test chance`.
//! `FORGE_CHANCE_TELL=1` tells what happened on the way. `FORGE_CHANCE_STEPS` is how many
//! inputs are given at least, all in all.
//!
//! After a while every run is treated kindly: everything passes and people say yes. Then it has
//! to come to its end, so that no run can get stuck.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that panics has failed")]
#![expect(clippy::disallowed_methods, reason = "its size and seed come from outside")]
#![expect(clippy::wildcard_enum_match_arm, reason = "chance looks at what it needs")]

#[path = "chance/calls.rs"]
mod calls;
#[path = "chance/edits.rs"]
mod edits;
#[path = "chance/flows.rs"]
mod flows;
#[path = "stories/invariants.rs"]
mod invariants;
#[path = "chance/numbers.rs"]
mod numbers;
#[path = "chance/sometimes.rs"]
mod sometimes;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use flows::{flow_by_chance, plain_item, routing_by_chance, tier_by_chance, wants_items};
use forge_core::{
    Command, Input, Report, Run, Time, decide,
    event::{
        Answer, Approvals, Blob, Choice, Coherence, Colour, Detail, End, Evidence, Limits,
        OnOverlap, Outcome, Person, PlannedTaskIds, ProofStart, QuestionReason, Receipt, Record,
        Ruling, RunSubject, Start, TriageOutcome, UnmetNeed,
    },
    failure::FaultClass,
    flow::{Check, Delivery, Flow, Work},
    id::{CallId, QuestionId},
    item::Item,
    money::{Cost, ModelUse, Money, Spent, Tokens, Used},
    run::Phase,
    verdict::{Finding, Severity, Verdict},
    view, wanted,
    work::WorkKind,
};
use invariants::Watch;
use numbers::Chance;
use sometimes::{SOMETIMES, is_look};

const STEPS_DEFAULT: u64 = 50_000;
const SEED_DEFAULT: u64 = 20_261_115;
/// After this many inputs a run is treated kindly.
const WILD_STEPS_MAX: u64 = 250;
/// A kind world needs fewer inputs than this to come to the end.
const KIND_STEPS_MAX: u64 = 3_000;

const FLOWS: &[(&str, &[(&str, &str)])] = &[
    ("feature", &[("feature", include_str!("../../../flows/feature/flow.toml"))]),
    ("sprint", &[("sprint", include_str!("flows/sprint.toml"))]),
    ("milestone", &[("milestone", include_str!("flows/milestone.toml"))]),
    (
        "nested",
        &[
            ("nested", include_str!("flows/nested.toml")),
            ("sprint", include_str!("flows/sprint.toml")),
        ],
    ),
    ("odd", &[("odd", include_str!("flows/odd.toml"))]),
    ("odd", &[("odd", include_str!("flows/odd.toml"))]),
];

/// How a run of the world is inclined, so that rare things happen often in some runs.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Calm,
    Faulty,
    Losing,
    Critical,
    Conflicting,
    Wild,
}

struct Game {
    chance: Chance,
    mood: Mood,
    is_kind: bool,
    now: Time,
    run: Run,
    journal: Vec<Record>,
    watch: Watch,
    /// Reports that were made, to be made again.
    inputs: Vec<Input>,
    lists: BTreeMap<String, Vec<Item>>,
    counts: BTreeMap<&'static str, u64>,
    /// Whether a person had something done once more.
    has_asked_for_more: bool,
    tell: bool,
}

fn somebody() -> Person {
    Person { who: "eve".to_owned(), channel: "cli".to_owned() }
}

impl Game {
    fn count(&mut self, what: &'static str) {
        assert!(SOMETIMES.contains(&what), "`{what}` is not in the list");
        *self.counts.entry(what).or_default() += 1;
    }

    fn start(&mut self) -> Start {
        let chance = &mut self.chance;
        let (flow, texts) = if chance.one_in(3) {
            let text = flow_by_chance(chance);
            ("any".to_owned(), [("any".to_owned(), text)].into())
        } else {
            let (name, texts) = chance.of(FLOWS);
            let own = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
            ((*name).to_owned(), texts.iter().map(own).collect())
        };
        let parsed = Flow::parse(&flow, &texts);
        let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{}", texts[&flow]));
        let mut params = BTreeMap::new();
        for (name, param) in &parsed.params {
            params.insert(name.clone(), chance.of(&param.values).clone());
        }
        let money = |chance: &mut Chance, most: usize| {
            chance.one_in(2).then(|| Money(10_000 * (1 + chance.below(most)) as u64))
        };
        let limits = Limits {
            budget: money(chance, 200),
            call_budget: money(chance, 20),
            at_once: u32::try_from(1 + chance.below(5)).unwrap(),
            unpriced_calls: chance.one_in(4).then(|| u32::try_from(1 + chance.below(9)).unwrap()),
        };
        let approvals = match chance.of(&[Approvals::ByPeople, Approvals::Automatic]) {
            Approvals::Automatic if !parsed.is_manual(&params) => Approvals::Automatic,
            Approvals::Automatic | Approvals::ByPeople => Approvals::ByPeople,
        };
        let cost = *chance.of(&[Cost::Known(Money(700)), Cost::Estimated(Money(9)), Cost::Unknown]);
        let coherence = chance.one_in(3).then(|| Coherence {
            spent: Spent { cost, ..Spent::NOTHING },
            used: None,
            took_ms: 5,
            summary: String::new(),
            came_to: TriageOutcome::Pass,
        });
        // A list that is known at the start; tags of items have a value that all flows take.
        let given = parsed.lists.iter().filter(|_| chance.one_in(3)).map(|list| {
            let tags = [("risk".to_owned(), "high".to_owned())].into();
            (list.clone(), vec![Item { tags, ..plain_item() }])
        });
        let lists: BTreeMap<String, Vec<Item>> = given.collect();
        let about = chance.one_in(4).then(|| {
            let kinds = [WorkKind::Task, WorkKind::Sprint, WorkKind::Bug, WorkKind::Feature];
            Box::new(RunSubject {
                kind: *chance.of(&kinds),
                item: plain_item(),
                left_out: Vec::new(),
                reasons: BTreeMap::new(),
                sprint: None,
                task_ids: *chance.of(&[PlannedTaskIds::AsPlanned, PlannedTaskIds::TwoDigits]),
            })
        });
        let overlap = [OnOverlap::Warn, OnOverlap::Defer, OnOverlap::Block];
        let routing = chance.one_in(2).then(|| routing_by_chance(chance, parsed.roles()));
        let on_overlap = chance.one_in(2).then(|| *chance.of(&overlap));
        Start {
            request: "chance".to_owned(),
            flow,
            texts,
            format: 1,
            params,
            approvals,
            limits,
            settings: None,
            roles: BTreeMap::new(),
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
            coherence,
            on_overlap,
            routing,
            about,
            lists,
            ending_key: None,
            version: "0.1.0".to_owned(),
            by: somebody(),
        }
    }

    fn findings(&mut self) -> Vec<Finding> {
        let n = self.chance.below(4);
        (0..n)
            .map(|_| {
                let severity =
                    *self.chance.of(&[Severity::Minor, Severity::Major, Severity::Critical]);
                let path = (!self.chance.one_in(4)).then(|| "src/a.rs".to_owned());
                let proof = self.chance.one_in(3).then(|| forge_core::verdict::Proof::Command {
                    command: "test".to_owned(),
                    output: "the same".to_owned(),
                });
                Finding {
                    id: String::new(),
                    severity,
                    path,
                    line: None,
                    what: "something".to_owned(),
                    why: String::new(),
                    proof,
                    was: None,
                    doubt: None,
                }
            })
            .collect()
    }

    fn items(&mut self, before: Option<Vec<Item>>) -> Vec<Item> {
        let mut items = before.unwrap_or_default();
        if items.is_empty() || self.chance.one_in(3) {
            let n = self.chance.below(5);
            items = (0..n).map(|i| self.item(i)).collect();
        } else if self.chance.one_in(2) {
            let n = self.chance.below(items.len());
            match self.chance.below(3) {
                0 => items[n].title.push('!'),
                1 => {
                    let gone = items.remove(n);
                    for item in &mut items {
                        item.after.retain(|id| *id != gone.id);
                    }
                }
                _ => items[n].tags = [("risk".to_owned(), "high".to_owned())].into(),
            }
        }
        if self.chance.one_in(8) && !items.is_empty() {
            let n = self.chance.below(items.len());
            match self.chance.below(5) {
                0 => "..".clone_into(&mut items[n].id),
                1 => items[n].after.push("nobody".to_owned()),
                2 => items[n].writes.push("../outside".to_owned()),
                3 => {
                    let own = items[n].id.clone();
                    items[n].after.push(own);
                }
                _ => items.push(items[n].clone()),
            }
        }
        items
    }

    fn item(&mut self, n: usize) -> Item {
        let after = if n > 0 && self.chance.one_in(3) {
            vec![format!("I{}", self.chance.below(n))]
        } else {
            vec![]
        };
        let writes = if self.chance.one_in(8) {
            vec![]
        } else {
            vec![self.chance.of(&["a", "a/b", "B", "b", "c/*", "d"]).to_string()]
        };
        let tag = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let risk = ["high", "low"][self.chance.below(2)];
        let security = ["yes", "no"][self.chance.below(2)];
        let mut tags = BTreeMap::from([tag("risk", risk), tag("security", security)]);
        tags.extend(tier_by_chance(&mut self.chance));
        Item { id: format!("I{n}"), title: String::new(), after, writes, tags, must: vec![] }
    }

    fn spent(&mut self, call: &CallId) -> Spent {
        let reserved = self.run.calls().get(call).and_then(|call| call.reserved);
        let cost = match (reserved, self.chance.below(6)) {
            (None, _) => Cost::Known(Money(0)),
            (Some(_), 0) => Cost::Unknown,
            (Some(held), 1) if self.chance.one_in(10) => Cost::Known(Money(held.0 + 5_000)),
            (Some(held), n) => {
                let part = self.chance.below(101) as u64;
                let money = Money(held.0.min(40_000) * part / 100);
                if n == 2 { Cost::Estimated(money) } else { Cost::Known(money) }
            }
        };
        match cost {
            Cost::Known(_) => {}
            Cost::Estimated(_) => self.count("an estimated cost"),
            Cost::Unknown => self.count("an unknown cost"),
        }
        let tokens = Tokens { input: self.chance.below(9) as u64, ..Tokens::default() };
        let at_least = match cost {
            Cost::Unknown => Money(self.chance.below(3) as u64 * 7_000),
            Cost::Known(_) | Cost::Estimated(_) => Money(0),
        };
        Spent { cost, tokens, at_least }
    }

    /// Models that need not add up to what the call used up.
    fn used(&mut self) -> Used {
        let mut models = Vec::new();
        for model in ["large", "small"].into_iter().take(self.chance.below(3)) {
            let money = Money(self.chance.below(30_000) as u64);
            let cost =
                *self.chance.of(&[Cost::Known(money), Cost::Estimated(money), Cost::Unknown]);
            let tokens = Tokens { input: self.chance.below(9) as u64, ..Tokens::default() };
            let (provider, model) = ("somebody".to_owned(), model.to_owned());
            models.push(ModelUse { provider, model, tokens, cost });
        }
        if models.len() > 1 {
            self.count("two models in a call");
        }
        Used { agent: "agent".to_owned(), account: None, asked_for: None, models }
    }

    fn receipt(&mut self, call: &CallId) -> Receipt {
        let mut receipt = Receipt::from_spent(self.spent(call));
        if self.chance.one_in(2) {
            receipt.session = Some(format!("session{}", self.chance.below(1_000)));
        }
        self.tell_of_its_agent(&mut receipt);
        if self.chance.one_in(2) {
            receipt.artifacts = [("a.md".to_owned(), Blob(call.to_string()))].into();
        }
        if self.chance.one_in(3) {
            let n = self.chance.below(1_000);
            receipt.commit = Some(format!("commit{n}"));
            receipt.tree = Some(format!("tree{n}"));
            receipt.head = self.chance.one_in(2).then(|| format!("head{n}"));
            let colour = *self.chance.of(&[Colour::Green, Colour::Red]);
            let (command, tree) = ("test".to_owned(), format!("tree{n}"));
            receipt.evidence = vec![Evidence {
                command,
                tree,
                colour,
                took_ms: None,
                start: ProofStart::Cached,
                failure: None,
            }];
            let commits = Work::Deliver { what: Delivery::Commit };
            if self.run.has(call.unit()) && self.run.stage(call.unit()).work == commits {
                let same = self.is_kind || !self.chance.one_in(4);
                receipt.tree = self.run.tree().filter(|_| same).map(str::to_owned);
                receipt.evidence.clear();
                if same {
                    self.count("the last commit");
                }
            }
        }
        receipt
    }

    /// What a call says when it ends.
    fn ending(&mut self, call: &CallId) -> Report {
        let receipt = self.receipt(call);
        let is_wanted = wanted(&self.run).iter().any(|effect| match (effect, call) {
            (forge_core::Effect::Work { attempt, .. }, CallId::Attempt(a)) => attempt == a,
            (forge_core::Effect::Judge { judgement, .. }, CallId::Judgement(j)) => judgement == j,
            _ => false,
        });
        match call.clone() {
            CallId::Attempt(attempt) => {
                let outcome = if is_wanted || self.chance.one_in(3) {
                    self.outcome()
                } else {
                    Outcome::Interrupted
                };
                let stages = self.run.definition().flow.table(&attempt.unit.scope);
                let stage = stages.iter().find(|stage| stage.name == attempt.unit.stage).unwrap();
                let list = stage.list.clone();
                let mut lists = Vec::new();
                if let Some(list) = list {
                    let key = attempt.unit.to_string();
                    let known = self.run.items(&attempt.unit, &list).map(<[Item]>::to_vec);
                    let before = if self.is_kind { known } else { self.lists.get(&key).cloned() };
                    let items = match before {
                        Some(before) if self.is_kind => before,
                        // A flow may want something to be done.
                        _ if self.is_kind && wants_items(&self.run, &list) => vec![plain_item()],
                        _ if self.is_kind => vec![],
                        before => self.items(before),
                    };
                    if !self.is_kind {
                        self.lists.insert(key, items.clone());
                    }
                    if self.is_kind || !self.chance.one_in(30) {
                        lists.push((list, items));
                    }
                }
                Report::Worked { attempt, outcome, lists, receipt }
            }
            CallId::Judgement(judgement) => {
                let stage = self.run.definition().flow.table(&judgement.attempt.unit.scope);
                let stage = stage.iter().find(|s| s.name == judgement.attempt.unit.stage).unwrap();
                let check = stage.gates[stage.gate(&judgement.gate).unwrap()].check.clone();
                let ruling = if is_wanted || self.chance.one_in(3) {
                    self.ruling(check == Check::Land)
                } else {
                    Ruling::Interrupted
                };
                Report::Judged { judgement, ruling, receipt }
            }
        }
    }

    fn until(&mut self) -> Time {
        (self.now + self.chance.below(5_000) as Time).saturating_sub(500)
    }

    fn fault(&mut self) -> (FaultClass, String) {
        let class =
            *self.chance.of(&[FaultClass::Crashed, FaultClass::NoResult, FaultClass::OutOfBudget]);
        let what = match self.mood {
            Mood::Faulty => "no such tool".to_owned(),
            _ => format!("trouble {}", ["a", "b", "c", "d", "e"][self.chance.below(5)]),
        };
        (class, what)
    }

    fn outcome(&mut self) -> Outcome {
        if self.is_kind {
            return Outcome::Done;
        }
        let trouble = match self.mood {
            Mood::Calm | Mood::Critical | Mood::Conflicting => self.chance.one_in(12),
            Mood::Wild => self.chance.one_in(3),
            Mood::Faulty | Mood::Losing => self.chance.one_in(2),
        };
        if !trouble {
            return Outcome::Done;
        }
        let n = match self.mood {
            Mood::Losing => 4 + self.chance.below(4),
            Mood::Faulty => 0,
            Mood::Calm | Mood::Critical | Mood::Conflicting | Mood::Wild => self.chance.below(8),
        };
        match n {
            0 | 1 => {
                let (class, what) = self.fault();
                Outcome::Fault { class, what }
            }
            2 => Outcome::Partial { note: "the rest".to_owned() },
            3 => {
                let class = self.blocker();
                Outcome::Blocked { class, what: "a licence".to_owned() }
            }
            4 => Outcome::Limited { until: self.until(), what: String::new() },
            5 => Outcome::Lost,
            6 => Outcome::Deferred { until: self.until(), what: "another run".to_owned() },
            _ => Outcome::Interrupted,
        }
    }

    fn ruling(&mut self, is_land: bool) -> Ruling {
        let pass = |findings| Ruling::Verdict(Verdict::Pass { findings });
        if self.is_kind {
            return pass(vec![]);
        }
        let trouble = match self.mood {
            Mood::Calm => self.chance.one_in(10),
            Mood::Critical => self.chance.one_in(2),
            Mood::Conflicting => self.chance.one_in(if is_land { 2 } else { 6 }),
            Mood::Wild | Mood::Faulty | Mood::Losing => self.chance.one_in(4),
        };
        if !trouble {
            let findings = self.findings();
            return pass(findings);
        }
        let n = match self.mood {
            Mood::Losing => 8 + self.chance.below(3),
            Mood::Faulty => 6 + self.chance.below(2),
            Mood::Critical | Mood::Conflicting => [0, 1, 2, 3, 4, 5, 11][self.chance.below(7)],
            Mood::Calm | Mood::Wild => self.chance.below(12),
        };
        match n {
            0..=4 => Ruling::Verdict(Verdict::Revise { findings: self.findings() }),
            5 if self.chance.one_in(6) => {
                let findings = self.findings();
                Ruling::Verdict(Verdict::Block { reason: "no way".to_owned(), findings })
            }
            5..=7 => {
                let (class, what) = self.fault();
                Ruling::Fault { class, what }
            }
            8 => Ruling::Limited { until: self.until(), what: String::new() },
            9 => Ruling::Lost,
            10 => Ruling::Interrupted,
            11 if self.chance.one_in(4) => {
                self.count("a judge that cannot go on");
                Ruling::Blocked { class: self.blocker(), what: "no key".to_owned() }
            }
            _ if self.chance.one_in(3) => {
                self.count("checks that the run added");
                let (what, found) = ("new checks".to_owned(), vec!["make check".to_owned()]);
                Ruling::Unverified { what, found }
            }
            _ => Ruling::Unverified { what: "no checks".to_owned(), found: Vec::new() },
        }
    }

    fn answer(&mut self) -> Option<Command> {
        let open: Vec<QuestionId> = self.run.questions().map(|question| question.id).collect();
        if open.is_empty() {
            return None;
        }
        let question = *self.chance.of(&open);
        let asked = self.run.question(question).unwrap().clone();
        let of = |choice: Choice| match choice {
            Choice::Approve => Answer::Approve,
            Choice::Revise => Answer::Revise,
            Choice::Retry => Answer::Retry,
            Choice::Waive => Answer::Waive { gate: asked.gate.clone().unwrap_or_default() },
            Choice::GiveUp => Answer::GiveUp,
        };
        let by = somebody();
        if self.is_kind {
            let order =
                [Choice::Approve, Choice::Retry, Choice::Waive, Choice::Revise, Choice::GiveUp];
            // Nothing proves more when it is looked at again.
            let is_unproved = matches!(asked.why, QuestionReason::Unverified { .. });
            let again = [Choice::Retry, Choice::Approve];
            let fits = |choice: &&Choice| {
                asked.options.contains(choice) && !(is_unproved && again.contains(choice))
            };
            let choice = *order.iter().find(fits).unwrap();
            return Some(Command::Answer { question, answer: of(choice), words: "go".into(), by });
        }
        let all = [Choice::Approve, Choice::Revise, Choice::Retry, Choice::Waive, Choice::GiveUp];
        let wild = self.chance.one_in(6);
        let choice = *self.chance.of(if wild { &all } else { &asked.options });
        let choice = if choice == Choice::GiveUp && !self.chance.one_in(3) {
            asked.options[0]
        } else {
            choice
        };
        let mut answer = of(choice);
        if let Answer::Waive { gate } = &mut answer
            && self.chance.one_in(4)
        {
            gate.push('x');
        }
        let words = if self.chance.one_in(8) { String::new() } else { "as I say".to_owned() };
        let question = match self.chance.below(20) {
            0 => QuestionId(question.0 + 50),
            1 => QuestionId(1),
            _ => question,
        };
        Some(Command::Answer { question, answer, words, by })
    }

    fn command(&mut self) -> Command {
        let by = somebody();
        match self.chance.below(14) {
            0 | 1 => Command::Pause { by },
            2 => Command::Interrupt { by },
            3 => Command::Stop { by },
            4 if self.chance.one_in(6) => Command::Abandon { by },
            5 => Command::Start(Box::new(self.run.definition().start.clone())),
            6 | 7 => {
                let more = 10_000 * (self.chance.below(80)) as u64;
                let committed = self.run.ledger().committed().0;
                let budget = Some(Money((committed + more).saturating_sub(50_000)));
                Command::Resume { by, budget }
            }
            _ => Command::Resume { by, budget: None },
        }
    }

    /// The next input.
    fn next(&mut self) -> Input {
        if self.chance.one_in(10) {
            self.now += self.chance.below(8_000) as Time;
        }
        let is_held = matches!(self.run.phase(), Phase::Held(_) | Phase::Over(_));
        if self.is_kind && is_held && self.run.calls().is_empty() {
            let unpriced = self.run.definition().start.limits.unpriced_calls;
            let cap = self.run.budget().or(unpriced.map(|_| Money(0)));
            let committed = self.run.ledger().committed().0;
            let budget = cap.map(|cap| Money(cap.0.max(committed) + 10_000_000));
            return Input::Command(Command::Resume { by: somebody(), budget });
        }
        let n = if self.is_kind { 99 } else { self.chance.below(30) };
        match n {
            0 => return Input::Command(self.command()),
            1 if is_held => return Input::Command(self.command()),
            2 => return Input::Tick,
            3..=8 => {
                if let Some(answer) = self.answer() {
                    return Input::Command(answer);
                }
            }
            9 => return Input::Command(self.edit()),
            10 if self.chance.one_in(4) => return Input::Report(self.notice()),
            _ => {}
        }
        let claimed = |effect| match effect {
            forge_core::Effect::Claim { unit } => Some(unit),
            _ => None,
        };
        let calls: Vec<CallId> = self.run.calls().keys().cloned().collect();
        if let Some(unit) = wanted(&self.run).into_iter().find_map(claimed)
            && (calls.is_empty() || self.chance.one_in(3))
        {
            let is_taken = !self.is_kind && self.chance.one_in(2);
            let what = format!("run {} may change the same files", self.chance.below(3));
            return Input::Report(if is_taken {
                Report::PathsTaken { unit, what }
            } else {
                Report::PathsFree { unit }
            });
        }
        let needs = |effect| match effect {
            forge_core::Effect::Need { unit, gate } => Some((unit, gate)),
            _ => None,
        };
        if let Some((unit, gate)) = wanted(&self.run).into_iter().find_map(needs)
            && (calls.is_empty() || self.chance.one_in(3))
        {
            return Input::Report(if !self.is_kind && self.chance.one_in(4) {
                let unmet = vec![UnmetNeed::misconfigured("task.status", "it cannot be read")];
                Report::NeedsUnmet { unit, gate, unmet }
            } else {
                Report::NeedsMet { unit, gate }
            });
        }
        if !calls.is_empty() {
            let call = self.chance.of(&calls).clone();
            if !self.is_kind && self.chance.one_in(8) {
                return Input::Report(self.assigned(call));
            }
            return Input::Report(self.ending(&call));
        }
        for effect in wanted(&self.run) {
            if let forge_core::Effect::Wake { at } = effect
                && (self.is_kind || self.chance.one_in(2))
            {
                self.now = self.now.max(at);
                self.count("a limit that ended");
                return Input::Tick;
            }
        }
        match self.answer() {
            Some(answer) => Input::Command(answer),
            None if self.is_kind => Input::Tick,
            None => Input::Command(self.command()),
        }
    }

    fn give(&mut self, input: &Input) {
        self.has_asked_for_more |= calls::asks_for_more(input);
        let decided = decide(&self.run, self.now, input);
        assert_eq!(decided, decide(&self.run, self.now, input), "deciding is not a function");
        if self.tell {
            println!("{input:?}");
        }
        let record = match decided {
            Ok(record) => record,
            Err(refusal) => return self.refused(&refusal),
        };
        if !record.facts.is_empty() {
            let before = self.run.phase().clone();
            self.run.apply_record(&record);
            if self.tell {
                record
                    .facts
                    .iter()
                    .for_each(|fact| println!("    {}", view::sentence(fact, view::Names::Exact)));
            }
            self.watch.saw(&before, &record, &self.run);
            self.went_back(&before, &record);
            record.facts.iter().for_each(|fact| self.happened(fact));
            self.now = self.now.max(record.at);
            self.journal.push(record);
        }
        // What is noticed twice is noted twice.
        if matches!(input, Input::Report(report) if !matches!(report, Report::Noticed { .. })) {
            let again = decide(&self.run, self.now, input).unwrap();
            assert_eq!(again.facts, [], "a report counted twice");
            // Nobody else claims anything between a look at paths and its report, so none is old.
            if !is_look(input) {
                self.inputs.push(input.clone());
            }
        }
    }

    /// A driver that starts anew sees the same run.
    fn replay(&mut self) {
        let mut again = Run::new();
        self.journal.iter().for_each(|record| again.apply_record(record));
        assert_eq!(wanted(&again), wanted(&self.run), "a crash changed what is wanted");
        assert_eq!(again.phase(), self.run.phase());
        assert_eq!(again.calls(), self.run.calls());
        assert_eq!(again.ledger(), self.run.ledger());
        let units = |run: &Run| format!("{:?}", run.units());
        assert_eq!(units(&again), units(&self.run), "a crash changed a unit");
        self.run = again;
        self.count("a replay");
    }

    fn play(&mut self) -> u64 {
        let start = self.start();
        if start.flow == "any" {
            self.count("a flow by chance");
        }
        self.give(&Input::Command(Command::Start(Box::new(start))));
        let wild = 1 + self.chance.below(usize::try_from(WILD_STEPS_MAX).unwrap()) as u64;
        for step in 0..wild + KIND_STEPS_MAX {
            self.is_kind = step > wild;
            let is_over = match self.run.phase() {
                Phase::Over(End::Done | End::Abandoned) => true,
                Phase::Over(End::Failed | End::Blocked) => self.is_kind || self.chance.one_in(2),
                Phase::Fresh | Phase::Going | Phase::Held(_) => false,
            };
            if is_over && self.run.calls().is_empty() {
                self.made_no_more_calls();
                if self.chance.one_in(4) {
                    self.replay();
                }
                return step + 1;
            }
            let input = self.next();
            self.give(&input);
            self.now += 10;
            // Reading the flow again is what takes its time.
            if self.chance.one_in(100) {
                self.replay();
            }
            if !self.is_kind && self.chance.one_in(400) {
                self.rewind();
            }
            if !self.inputs.is_empty() && self.chance.one_in(8) {
                let n = self.chance.below(self.inputs.len());
                let again = decide(&self.run, self.now, &self.inputs[n]).unwrap();
                let is_tick = decide(&self.run, self.now, &Input::Tick).unwrap();
                assert_eq!(again.facts, is_tick.facts, "an old report counted");
                self.count("a report twice");
            }
        }
        panic!("the run never ends, although the world is kind");
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn chance_finds_nothing() {
    let seed = number("FORGE_CHANCE_SEED", SEED_DEFAULT);
    let steps_min = number("FORGE_CHANCE_STEPS", STEPS_DEFAULT);
    let tell = std::env::var_os("FORGE_CHANCE_TELL").is_some();
    let (mut steps, mut runs) = (0, 0);
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    while steps < steps_min {
        let own = seed + runs;
        let mut chance = Chance(own);
        (0..4).for_each(|_| _ = chance.below(2));
        let moods =
            [Mood::Calm, Mood::Faulty, Mood::Losing, Mood::Critical, Mood::Conflicting, Mood::Wild];
        let mut game = Game {
            mood: *chance.of(&moods),
            chance,
            is_kind: false,
            now: 1_000_000,
            run: Run::new(),
            journal: Vec::new(),
            watch: Watch::default(),
            inputs: Vec::new(),
            lists: BTreeMap::new(),
            counts: BTreeMap::new(),
            has_asked_for_more: false,
            tell,
        };
        let played = catch_unwind(AssertUnwindSafe(|| game.play()));
        let Ok(played) = played else {
            panic!("seed {own} fails: FORGE_CHANCE_SEED={own} FORGE_CHANCE_STEPS=1");
        };
        steps += played;
        runs += 1;
        for (what, n) in game.counts {
            *counts.entry(what).or_default() += n;
        }
    }
    println!("seed {seed}: {runs} runs, {steps} steps");
    for what in SOMETIMES {
        println!("{:>8}  {what}", counts.get(what).copied().unwrap_or_default());
    }
    if steps_min >= STEPS_DEFAULT {
        let never: Vec<&&str> = SOMETIMES.iter().filter(|w| !counts.contains_key(**w)).collect();
        assert_eq!(never, [] as [&&str; 0], "these never happened");
    }
}
