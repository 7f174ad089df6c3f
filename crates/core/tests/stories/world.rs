//! A world in which every worker does what a script says, and time is the order of inputs.
//!
//! What a worker answers depends on the call alone, as it would with workers that can be asked
//! twice. Every report and every answer is delivered twice: the second must mean nothing. The
//! journal is kept as lines of JSON, so that a crash can cut it anywhere.

use std::{collections::BTreeMap, sync::LazyLock};

use forge_core::{
    Command, Effect, Input, Refusal, Report, Run, Time, decide,
    event::{
        Answer, Approvals, Blob, Call, Choice, Detail, Edit, Event, Limits, Outcome, Person,
        Receipt, Record, Ruling, Start,
    },
    flow::{Check, Stage, Work},
    id::{AttemptId, CallId, JudgementId, QuestionId},
    item::Item,
    money::{Cost, Money, Spent, Tokens},
    rewind::rewind,
    run::{Phase, Unit},
    verdict::{Finding, Proof, Severity, Verdict},
    view, wanted,
};

use crate::invariants::{Watch, watched};

pub(crate) const FEATURE: &str = include_str!("../../../../flows/feature/flow.toml");
pub(crate) const SPRINT: &str = include_str!("../flows/sprint.toml");
pub(crate) const MILESTONE: &str = include_str!("../flows/milestone.toml");
pub(crate) const NESTED: &str = include_str!("../flows/nested.toml");

/// More inputs than any story needs.
const STEPS_MAX: usize = 5_000;

/// What the sentences of a journal are made of: the texts in their source.
static SENTENCES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let source = include_str!("../../src/view/sentence.rs");
    source.split('"').skip(1).step_by(2).collect()
});

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) start: Start,
    pub(crate) run: Run,
    /// One line of JSON for each record.
    pub(crate) journal: Vec<String>,
    /// By attempt or judgement, used once each, since numbers are.
    outcomes: BTreeMap<String, Outcome>,
    rulings: BTreeMap<String, Ruling>,
    costs: BTreeMap<String, Cost>,
    at_least: BTreeMap<String, Money>,
    /// What a call leaves behind besides its price.
    left: BTreeMap<String, Receipt>,
    /// By attempt, or by unit for all its attempts.
    lists: BTreeMap<String, Vec<Item>>,
    answers: BTreeMap<u32, (Answer, String)>,
    watch: Watch,
}

pub(crate) fn person(who: &str) -> Person {
    Person { who: who.to_owned(), channel: "cli".to_owned() }
}

pub(crate) fn start_of(flow: &str, texts: &[(&str, &str)], params: &[(&str, &str)]) -> Start {
    let own = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    Start {
        request: "add a queue".to_owned(),
        flow: flow.to_owned(),
        texts: own(texts),
        format: 1,
        params: own(params),
        approvals: Approvals::ByPeople,
        limits: Limits { budget: None, call_budget: None, at_once: 4, unpriced_calls: None },
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
        coherence: None,
        on_overlap: None,
        routing: None,
        about: None,
        lists: BTreeMap::new(),
        ending_key: None,
        version: "0.1.0".to_owned(),
        by: person("ada"),
    }
}

impl World {
    pub(crate) fn of(start: Start) -> Self {
        Self {
            start,
            run: Run::new(),
            journal: Vec::new(),
            outcomes: BTreeMap::new(),
            rulings: BTreeMap::new(),
            costs: BTreeMap::new(),
            at_least: BTreeMap::new(),
            left: BTreeMap::new(),
            lists: BTreeMap::new(),
            answers: BTreeMap::new(),
            watch: Watch::default(),
        }
    }

    /// A flow called `f`, made for one story.
    pub(crate) fn small(rows: &str) -> Self {
        let text = format!("name = \"f\"\n{rows}");
        Self::of(start_of("f", &[("f", &text)], &[]))
    }

    pub(crate) fn feature(effort: &str) -> Self {
        let start = start_of("feature", &[("feature", FEATURE)], &[("effort", effort)]);
        Self::of(start).list("split", vec![writes("T1", "src/a"), writes("T2", "src/b")])
    }

    /// T1, then T2 after it; T3 beside them.
    pub(crate) fn sprint() -> Self {
        let tasks = vec![writes("T1", "a"), after(writes("T2", "b"), "T1"), writes("T3", "c")];
        Self::of(start_of("sprint", &[("sprint", SPRINT)], &[])).list("plan-sprint", tasks)
    }

    /// S1 with tasks A and B, then S2 with task C; S2 is risky.
    pub(crate) fn milestone() -> Self {
        let s2 = tag(after(writes("S2", "y"), "S1"), "risk", "high");
        Self::of(start_of("milestone", &[("milestone", MILESTONE)], &[]))
            .list("plan", vec![writes("S1", "x"), s2])
            .list(
                "slices.S1/plan",
                vec![tag(writes("A", "x/a"), "security", "yes"), writes("B", "x/b")],
            )
            .list("slices.S2/plan", vec![writes("C", "y/c")])
    }

    pub(crate) fn nested() -> Self {
        Self::of(start_of("nested", &[("nested", NESTED), ("sprint", SPRINT)], &[]))
            .list("sprint.sprint/plan-sprint", vec![writes("T1", "a"), writes("T2", "b")])
    }

    pub(crate) fn outcome(mut self, attempt: &str, outcome: Outcome) -> Self {
        self.outcomes.insert(attempt.to_owned(), outcome);
        self
    }

    pub(crate) fn ruling(mut self, judgement: &str, ruling: Ruling) -> Self {
        self.rulings.insert(judgement.to_owned(), ruling);
        self
    }

    pub(crate) fn verdict(self, judgement: &str, verdict: Verdict) -> Self {
        self.ruling(judgement, Ruling::Verdict(verdict))
    }

    /// What is known of the unknown price of a call.
    pub(crate) fn at_least(mut self, call: &str, money: Money) -> Self {
        self.at_least.insert(call.to_owned(), money);
        self
    }

    pub(crate) fn cost(mut self, call: &str, cost: Cost) -> Self {
        self.costs.insert(call.to_owned(), cost);
        self
    }

    /// What a worker found itself, and left.
    pub(crate) fn leaves_found(self, call: &str, found: Vec<Finding>) -> Self {
        self.leaves(call, Receipt { found, ..Receipt::from_spent(Spent::NOTHING) })
    }

    /// What a call leaves behind besides its price.
    pub(crate) fn leaves(mut self, call: &str, left: Receipt) -> Self {
        self.left.insert(call.to_owned(), left);
        self
    }

    pub(crate) fn list(mut self, by: &str, items: Vec<Item>) -> Self {
        self.lists.insert(by.to_owned(), items);
        self
    }

    pub(crate) fn answer(mut self, question: u32, answer: Answer, words: &str) -> Self {
        self.answers.insert(question, (answer, words.to_owned()));
        self
    }

    pub(crate) fn auto(mut self) -> Self {
        self.start.approvals = Approvals::Automatic;
        self
    }

    pub(crate) fn budget(mut self, dollars: &str) -> Self {
        self.start.limits.budget = Money::parse(dollars);
        self
    }

    pub(crate) fn call_budget(mut self, dollars: &str) -> Self {
        self.start.limits.call_budget = Money::parse(dollars);
        self
    }

    pub(crate) fn unpriced_calls(mut self, n: u32) -> Self {
        self.start.limits.unpriced_calls = Some(n);
        self
    }

    pub(crate) fn at_once(mut self, n: u32) -> Self {
        self.start.limits.at_once = n;
        self
    }

    /// One second for each record.
    pub(crate) fn now(&self) -> Time {
        self.run.now().max(1_000 * (self.journal.len() as Time + 1))
    }

    /// Decides, journals and takes in.
    pub(crate) fn input(&mut self, input: &Input) -> Result<Record, Refusal> {
        self.input_at(self.now(), input)
    }

    pub(crate) fn input_at(&mut self, at: Time, input: &Input) -> Result<Record, Refusal> {
        let record = decide(&self.run, at, input)?;
        assert_eq!(Ok(&record), decide(&self.run, at, input).as_ref(), "deciding is no function");
        if !record.facts.is_empty() {
            self.take(&record);
        }
        Ok(record)
    }

    /// Delivers a report twice. The second must mean nothing.
    pub(crate) fn report(&mut self, report: Report) -> Record {
        let input = Input::Report(report);
        let record = self.input(&input).unwrap();
        let again = decide(&self.run, self.run.now(), &input).unwrap();
        assert_eq!(again.facts, [], "a report counted twice");
        record
    }

    pub(crate) fn command(&mut self, command: Command) -> Result<Record, Refusal> {
        self.input(&Input::Command(command))
    }

    /// Only the beginning. What follows is up to the story.
    pub(crate) fn begin(mut self) -> Self {
        let start = self.start.clone();
        self.command(Command::Start(Box::new(start))).unwrap();
        self
    }

    /// Why it cannot even begin.
    pub(crate) fn refused(mut self) -> Refusal {
        let start = self.start.clone();
        self.command(Command::Start(Box::new(start))).unwrap_err()
    }

    pub(crate) fn pause(&mut self) {
        self.command(Command::Pause { by: person("ada") }).unwrap();
    }

    pub(crate) fn interrupt(&mut self) {
        self.command(Command::Interrupt { by: person("ada") }).unwrap();
    }

    pub(crate) fn stop(&mut self) {
        self.command(Command::Stop { by: person("ada") }).unwrap();
    }

    pub(crate) fn resume(&mut self) {
        self.command(Command::Resume { by: person("ada"), budget: None }).unwrap();
    }

    pub(crate) fn resume_with(&mut self, dollars: &str) -> Result<Record, Refusal> {
        self.command(Command::Resume { by: person("ada"), budget: Money::parse(dollars) })
    }

    pub(crate) fn abandon(&mut self) {
        self.command(Command::Abandon { by: person("ada") }).unwrap();
    }

    /// Answers twice. The second is refused.
    pub(crate) fn say(&mut self, question: u32, answer: Answer, words: &str) -> Record {
        let record = self.try_say(question, answer.clone(), words).unwrap();
        if !matches!(self.run.phase(), Phase::Over(_)) {
            let refused = Refusal::AnsweredAlready(QuestionId(question));
            assert_eq!(self.try_say(question, answer, words), Err(refused));
        }
        record
    }

    pub(crate) fn try_say(
        &mut self,
        question: u32,
        answer: Answer,
        words: &str,
    ) -> Result<Record, Refusal> {
        let (question, words, by) = (QuestionId(question), words.to_owned(), person("bob"));
        self.command(Command::Answer { question, answer, words, by })
    }

    /// Changes an artifact by hand.
    pub(crate) fn edit(&mut self, unit: &str, name: &str) -> Record {
        self.try_edit(unit, rewritten(name)).unwrap()
    }

    pub(crate) fn try_edit(&mut self, unit: &str, edit: Edit) -> Result<Record, Refusal> {
        let (unit, why, by) = (unit.parse().unwrap(), "it was wrong".to_owned(), person("eve"));
        self.command(Command::Edit { unit, edit, why, by })
    }

    /// Another run that goes another way from the first attempt at a unit.
    pub(crate) fn rewound(&self, unit: &str) -> Option<Self> {
        let records = self.records();
        let unit = unit.parse().unwrap();
        let shared = rewind(&records, "20261115-queue-aaaa", &unit, self.now(), &person("eve"))?;
        let (run, watch) = watched(&shared);
        let lines = shared.iter().map(|record| serde_json::to_string(record).unwrap());
        Some(Self { run, watch, journal: lines.collect(), ..self.clone() })
    }

    /// The same world after its first records.
    pub(crate) fn cut(&self, kept: usize) -> Self {
        let mut cut =
            Self { run: Run::new(), journal: Vec::new(), watch: Watch::default(), ..self.clone() };
        self.records().iter().take(kept).for_each(|record| cut.take(record));
        cut
    }

    fn take(&mut self, record: &Record) {
        let before = self.run.phase().clone();
        self.run.apply_record(record);
        self.watch.saw(&before, record, &self.run);
        self.journal.push(serde_json::to_string(record).unwrap());
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.journal.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The report that a call makes, as the script says.
    pub(crate) fn response(&self, call: &CallId) -> Report {
        let name = call.to_string();
        let known =
            |run: &Run, call: &CallId| run.has(call.unit()) && run.calls().contains_key(call);
        let is_free = self.run.calls().get(call).is_none_or(|call| call.reserved.is_none());
        let default = if is_free { Cost::Known(Money(0)) } else { Cost::Known(Money(20_000)) };
        let cost = self.costs.get(&name).copied().unwrap_or(default);
        let used = Tokens { input: 10, output: 1, ..Tokens::default() };
        let tokens = if self.is_agents(call) { used } else { Tokens::default() };
        let at_least = self.at_least.get(&name).copied().unwrap_or_default();
        let spent = Spent { cost, tokens, at_least };
        let left = self.left.get(&name).cloned();
        let mut receipt =
            left.map_or_else(|| Receipt::from_spent(spent), |left| Receipt { spent, ..left });
        match call {
            CallId::Attempt(attempt) => {
                let unit = attempt.unit.to_string();
                let listed = self.lists.get(&name).or_else(|| self.lists.get(&unit)).cloned();
                let stages = self.run.definition().flow.table(&attempt.unit.scope);
                let stage = stages.iter().find(|stage| stage.name == attempt.unit.stage).unwrap();
                let lists = stage.list.clone().zip(listed).into_iter().collect();
                receipt.summary = format!("did {name}");
                receipt.artifacts = written(&self.run, &stage.writes, call);
                let outcome = self.outcomes.get(&name).cloned().unwrap_or(Outcome::Done);
                Report::Worked { attempt: attempt.clone(), outcome, lists, receipt }
            }
            CallId::Judgement(judgement) => {
                if known(&self.run, call) {
                    let stage = self.run.stage(call.unit());
                    let gate = &stage.gates[stage.gate(&judgement.gate).unwrap()];
                    receipt.artifacts = written(&self.run, &gate.writes, call);
                    if gate.check == Check::Land && receipt.commit.is_none() {
                        receipt.commit = Some(format!("commit-of-{}", judgement.attempt.unit));
                        receipt.tree = Some("tree".to_owned());
                    }
                }
                let pass = Ruling::Verdict(Verdict::Pass { findings: vec![] });
                let ruling = self.rulings.get(&name).cloned().unwrap_or(pass);
                Report::Judged { judgement: judgement.clone(), ruling, receipt }
            }
        }
    }

    /// Whether an agent is at work in it, and not Forge itself.
    fn is_agents(&self, call: &CallId) -> bool {
        let stages = self.run.definition().flow.table(&call.unit().scope);
        let stage = stages.iter().find(|stage| stage.name == call.unit().stage);
        stage.is_some_and(|stage| match call {
            CallId::Attempt(_) => matches!(stage.work, Work::Agent { .. }),
            CallId::Judgement(judgement) => stage
                .gate(&judgement.gate)
                .is_some_and(|gate| matches!(stage.gates[gate].check, Check::Review { .. })),
        })
    }

    /// Lets one call end as the script says.
    pub(crate) fn end(&mut self, call: &str) -> Record {
        let call: CallId = call.parse().unwrap();
        assert!(
            self.run.calls().contains_key(&call),
            "{call} is not under way: {:?}",
            self.calls()
        );
        let report = self.response(&call);
        self.report(report)
    }

    /// Lets an attempt end in this way.
    pub(crate) fn ends(&mut self, attempt: &str, outcome: Outcome) -> Record {
        self.outcomes.insert(attempt.to_owned(), outcome);
        self.end(attempt)
    }

    /// Lets a look end in this way.
    pub(crate) fn rules(&mut self, judgement: &str, ruling: Ruling) -> Record {
        self.rulings.insert(judgement.to_owned(), ruling);
        self.end(judgement)
    }

    /// Drives as far as the script goes: to the end, to a hold, or to a question without answer.
    pub(crate) fn go_on(&mut self) {
        for _ in 0..STEPS_MAX {
            // The last effect first, so that parallel work overtakes as much as it can.
            let effects = wanted(&self.run);
            let next = effects.iter().rev().find_map(|effect| self.respond(effect));
            match next {
                None => return,
                Some((at, Input::Report(report))) => {
                    assert!(at <= self.now());
                    self.report(report);
                }
                Some((at, input)) => {
                    self.input_at(at, &input).unwrap();
                }
            }
        }
        panic!("the run never ends");
    }

    /// Goes on, and lets the calls end that no longer matter.
    pub(crate) fn go_to_the_end(&mut self) {
        self.go_on();
        let wanted = self.wanted();
        for call in self.calls().iter().filter(|call| !wanted.contains(call)) {
            self.end(call);
        }
        self.go_on();
    }

    fn respond(&self, effect: &Effect) -> Option<(Time, Input)> {
        let input = match effect {
            Effect::Work { attempt, .. } => {
                Input::Report(self.response(&CallId::Attempt(attempt.clone())))
            }
            Effect::Judge { judgement, .. } => {
                Input::Report(self.response(&CallId::Judgement(judgement.clone())))
            }
            Effect::Claim { unit } => Input::Report(Report::PathsFree { unit: unit.clone() }),
            Effect::Need { unit, gate } => {
                let (unit, gate) = (unit.clone(), gate.clone());
                Input::Report(Report::NeedsMet { unit, gate })
            }
            Effect::Wake { at } => return Some(((*at).max(self.now()), Input::Tick)),
            Effect::Ask { question } => {
                let asked = self.run.question(*question).unwrap();
                let approve = || {
                    let is_checkpoint =
                        matches!(asked.why, forge_core::event::QuestionReason::Checkpoint { .. });
                    (is_checkpoint && asked.options.contains(&Choice::Approve))
                        .then(|| (Answer::Approve, String::new()))
                };
                let (answer, words) = self.answers.get(&question.0).cloned().or_else(approve)?;
                let (question, by) = (*question, person("bob"));
                Input::Command(Command::Answer { question, answer, words, by })
            }
        };
        Some((self.now(), input))
    }

    /// From the beginning as far as the script goes.
    pub(crate) fn played(self) -> Self {
        let mut world = self.begin();
        world.go_on();
        world
    }

    /// From the beginning until something of this name is wanted.
    pub(crate) fn played_until(self, name: &str) -> Self {
        let mut world = self.begin();
        for _ in 0..STEPS_MAX {
            let wanted = world.wanted();
            if wanted.iter().any(|wanted| wanted == name) {
                return world;
            }
            world.end(wanted.last().unwrap());
        }
        panic!("`{name}` is never wanted");
    }

    /// The journal as sentences.
    pub(crate) fn story(&self) -> Vec<String> {
        self.facts().iter().map(|fact| view::sentence(fact, view::Names::Exact)).collect()
    }

    pub(crate) fn facts(&self) -> Vec<Event> {
        let read = |line: &String| serde_json::from_str::<Record>(line).unwrap().facts;
        self.journal.iter().flat_map(read).collect()
    }

    /// The part of the story that is about something.
    pub(crate) fn about(&self, what: &str) -> Vec<String> {
        self.story().into_iter().filter(|line| line.contains(what)).collect()
    }

    #[track_caller]
    pub(crate) fn says(&self, line: &str) {
        let story = self.story();
        assert!(story.iter().any(|l| l == line), "no `{line}` in\n{}", story.join("\n"));
    }

    /// Nothing in the story has this in it, although a story of this flow could.
    #[track_caller]
    pub(crate) fn never_says(&self, part: &str) {
        let words = self.words_not_of_names(part);
        let cannot = words.iter().find(|words| !SENTENCES.iter().any(|said| said.contains(*words)));
        assert_eq!(
            cannot, None,
            "no name of this flow and in no sentence: `{part}` proves nothing"
        );
        let about = self.about(part);
        assert_eq!(about, [] as [String; 0], "`{part}` in\n{}", self.story().join("\n"));
    }

    /// What is between the names of this flow, each as it stands there.
    fn words_not_of_names(&self, part: &str) -> Vec<String> {
        let mut between = vec![Vec::new()];
        for word in part.split_whitespace() {
            if self.is_name(word.trim_end_matches(':')) {
                between.push(Vec::new());
            } else {
                between.last_mut().unwrap().push(word);
            }
        }
        between.iter().filter(|words| !words.is_empty()).map(|words| words.join(" ")).collect()
    }

    /// Whether this is a question, a gate, or the whole or the beginning of the name of a unit or call that this flow can have.
    fn is_name(&self, word: &str) -> bool {
        if word.parse::<QuestionId>().is_ok() {
            return true;
        }
        let flow = &self.run.definition().flow;
        let mut items: Vec<&str> = self.lists.values().flatten().map(|item| &*item.id).collect();
        items.extend(self.start.texts.keys().map(String::as_str));
        let (mut table, mut gates) = (&*flow.stages, all_gates(&flow.stages));
        for piece in word.split('/') {
            let (name, number) = piece.split_once('#').unwrap_or((piece, "1"));
            let (name, item) = name.split_once('.').map_or((name, None), |(n, i)| (n, Some(i)));
            let stage = table.iter().find(|stage| stage.name == name);
            let is_known = stage.is_some() || name.is_empty() || gates.contains(&name);
            if !is_known
                || number.parse::<u32>().is_err()
                || item.is_some_and(|item| !items.contains(&item))
            {
                return false;
            }
            table = item.and(stage).map_or(&[], |stage| stage.inner());
            gates = stage.iter().flat_map(|stage| &stage.gates).map(|gate| &*gate.name).collect();
        }
        true
    }

    /// Whether one line comes before another.
    #[track_caller]
    pub(crate) fn before(&self, first: &str, second: &str) {
        let story = self.story();
        let at = |line: &str| story.iter().position(|l| l == line);
        let (a, b) = (at(first), at(second));
        assert!(
            a.is_some() && b.is_some() && a < b,
            "not `{first}` before `{second}` in\n{}",
            story.join("\n")
        );
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.run.calls().keys().map(ToString::to_string).collect()
    }

    /// Calls that should be under way now.
    pub(crate) fn wanted(&self) -> Vec<String> {
        wanted(&self.run)
            .iter()
            .map(|effect| match effect {
                Effect::Work { attempt, .. } => attempt.to_string(),
                Effect::Judge { judgement, .. } => judgement.to_string(),
                Effect::Ask { question } => question.to_string(),
                Effect::Claim { unit } => format!("paths of {unit}"),
                Effect::Need { unit, gate: None } => format!("needs of {unit}"),
                Effect::Need { unit, gate: Some(gate) } => format!("needs of {unit}/{gate}"),
                Effect::Wake { at } => format!("wake at {at}"),
            })
            .collect()
    }

    pub(crate) fn unit(&self, unit: &str) -> &Unit {
        self.run.unit(&unit.parse().unwrap())
    }

    /// What persons said that concerns a unit.
    pub(crate) fn said(&self, unit: &str) -> Vec<String> {
        let said = self.run.said_about(&unit.parse().unwrap());
        said.into_iter().map(|said| said.words).collect()
    }

    pub(crate) fn options(&self, question: u32) -> Vec<Choice> {
        self.run.question(QuestionId(question)).expect("an open question").options.clone()
    }

    #[track_caller]
    pub(crate) fn is(&self, phase: &Phase) {
        assert_eq!(self.run.phase(), phase, "after\n{}", self.story().join("\n"));
    }

    /// Kills the driver after every record, restarts it, and lets it go on.
    pub(crate) fn survives_every_crash(self) {
        let whole = self.clone().played();
        assert!(whole.journal.len() > 3);
        for kept in 0..whole.journal.len() {
            let mut again = whole.cut(kept);
            if kept == 0 {
                again = again.begin();
            }
            again.go_on();
            assert_eq!(again.journal, whole.journal, "after a crash behind record {kept}");
        }
    }
}

/// The names of all gates of a table, and of those inside.
fn all_gates(table: &[Stage]) -> Vec<&str> {
    let mut names = Vec::new();
    for stage in table {
        names.extend(stage.gates.iter().map(|gate| &*gate.name));
        names.extend(all_gates(stage.inner()));
    }
    names
}

fn written(run: &Run, names: &[String], call: &CallId) -> BTreeMap<String, Blob> {
    let scope = &call.unit().scope;
    let name = |name: &String| forge_core::inbox::artifact_name(run, name, scope);
    names.iter().map(|n| (name(n), Blob(format!("{} by {call}", name(n))))).collect()
}

/// A new content for an artifact.
pub(crate) fn rewritten(name: &str) -> Edit {
    Edit::Artifact { name: name.to_owned(), content: Blob("by hand".to_owned()) }
}

/// A new commit for the code.
pub(crate) fn recoded() -> Edit {
    Edit::Code { commit: "by-hand".to_owned(), tree: "tree-by-hand".to_owned() }
}

pub(crate) fn item(id: &str) -> Item {
    Item { id: id.to_owned(), ..Item::default() }
}

pub(crate) fn writes(id: &str, path: &str) -> Item {
    Item { writes: vec![path.to_owned()], ..item(id) }
}

pub(crate) fn after(mut item: Item, first: &str) -> Item {
    item.after.push(first.to_owned());
    item
}

pub(crate) fn tag(mut item: Item, tag: &str, value: &str) -> Item {
    item.tags.insert(tag.to_owned(), value.to_owned());
    item
}

pub(crate) fn finding(severity: Severity, what: &str) -> Finding {
    Finding {
        id: String::new(),
        severity,
        path: Some("src/a.rs".to_owned()),
        line: Some(7),
        what: what.to_owned(),
        why: String::new(),
        proof: None,
        was: None,
        doubt: None,
    }
}

pub(crate) fn revise(majors: usize) -> Verdict {
    let major = |n| finding(Severity::Major, &format!("problem {n}"));
    Verdict::Revise { findings: (0..majors).map(major).collect() }
}

pub(crate) fn revises(majors: usize) -> Ruling {
    Ruling::Verdict(revise(majors))
}

/// What a command that failed says.
pub(crate) fn red(output: &str) -> Verdict {
    let command = "cargo test".to_owned();
    let proof = Some(Proof::Command { command, output: output.to_owned() });
    Verdict::Revise {
        findings: vec![Finding {
            path: None,
            line: None,
            proof,
            ..finding(Severity::Major, "red")
        }],
    }
}

pub(crate) fn block(reason: &str) -> Verdict {
    Verdict::Block { reason: reason.to_owned(), findings: Vec::new() }
}

pub(crate) fn fault(what: &str) -> Outcome {
    Outcome::Fault { class: forge_core::failure::FaultClass::NoResult, what: what.to_owned() }
}

pub(crate) fn unread(what: &str) -> Ruling {
    Ruling::Fault { class: forge_core::failure::FaultClass::NoResult, what: what.to_owned() }
}

pub(crate) fn partial(note: &str) -> Outcome {
    Outcome::Partial { note: note.to_owned() }
}

pub(crate) fn attempt(name: &str) -> AttemptId {
    name.parse().unwrap()
}

pub(crate) fn judgement(name: &str) -> JudgementId {
    name.parse().unwrap()
}

pub(crate) fn reserved(world: &World, call: &str) -> Option<Money> {
    let call: CallId = call.parse().unwrap();
    let Call { reserved, .. } = world.run.calls()[&call];
    reserved
}
