//! The table that a flow is: stages, gates, conditions, and which rows come before which.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::brief_shape::BriefShape;
use super::directive::Directive;
use crate::{
    id::{Scope, UnitId},
    money::Money,
    routing::{CallPlace, Hints, Tier},
};

/// The version of the format that this parser reads.
pub const FORMAT: u32 = 1;
/// How often a stage may be sent back, unless it says otherwise.
pub const ROUNDS_DEFAULT: u32 = 2;
/// More rounds than this are no bound at all.
pub const ROUNDS_MAX: u32 = 20;
/// Attempts without a result before a person is asked, unless the stage says otherwise.
pub const MISSES_DEFAULT: u32 = 2;
/// More misses than this are no bound at all.
pub const MISSES_MAX: u32 = 10;
/// Items of one `each` open at the same time, unless the stage says otherwise.
pub const AT_ONCE_DEFAULT: u32 = 1;
/// More than this is never open at the same time.
pub const AT_ONCE_MAX: u32 = 1_024;
/// Items of one `each`, unless the stage says otherwise.
pub const ITEMS_MAX_DEFAULT: usize = 100;
/// Tables inside tables.
pub const DEPTH_MAX: usize = 4;
/// The artifact that is there before any stage.
pub const REQUEST: &str = "request.md";
/// What a reader of code finds under this name: the difference that its unit, or the run so far, makes.
pub const CHANGE: &str = "change.diff";
/// What the phases of the run came to so far, unless a stage of the flow writes a file of this name.
pub const STATISTICS: &str = "statistics.md";
/// What hindered agents of the run so far, unless a stage of the flow writes a file of this name.
pub const FRICTION: &str = "friction.md";

/// A named table of stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// How a person calls it.
    pub name: String,
    /// One line that says what it is for.
    pub description: String,
    pub params: BTreeMap<String, Param>,
    /// With these parameters no checkpoint passes by itself, and `--auto` is refused.
    pub manual: When,
    /// The role that looks at a request before anything is created.
    pub coherence: Option<String>,
    /// Lists that may be known at the start.
    pub lists: Vec<String>,
    /// In reading order.
    pub stages: Vec<Stage>,
}

/// A parameter that a person can choose at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// All it can be.
    pub values: Vec<String>,
    /// The value where none is given.
    pub default: String,
}

/// One row: what to do, when, and what makes it good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Unique in its table.
    pub name: String,
    /// A label of the original system, shown and never looked at.
    pub phase: Option<String>,
    /// Rows of the same table that come first, by position. By default, the row above.
    pub after: Vec<usize>,
    pub when: When,
    pub work: Work,
    /// Artifacts that the worker may read.
    pub reads: Vec<String>,
    /// Artifacts that the worker must leave.
    pub writes: Vec<String>,
    /// The list that the worker must report.
    pub list: Option<String>,
    /// The tags that each item of the list has, by name.
    pub tags: BTreeMap<String, TagRule>,
    /// What makes it good, asked in this order.
    pub gates: Vec<Gate>,
    /// How many times it may be sent back by what is not a person.
    pub rounds: u32,
    /// What happens at a gate when the rounds are used up.
    pub exhausted: Exhausted,
    /// Attempts in a row without a result before a person is asked.
    pub misses: u32,
    /// How strong an agent it wants, and how hard it is to think.
    pub hints: Hints,
    /// How strong an agent it wants for an item with the tag `risk = high`.
    pub high_risk: Option<Tier>,
    /// The model of the agent, where the settings name another one for its role.
    pub model: Option<String>,
    pub code: CodeLimit,
    pub brief: BriefShape,
    /// The budget of all calls of one unit.
    pub budget: Option<Money>,
    /// Whether the work or the gates come first.
    pub order: StageOrder,
    /// Directives that must hold before each attempt.
    pub needs: Vec<Directive>,
}

/// The work of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// One agent session in this role.
    Agent { role: String },
    /// One program, whose exit status is the outcome.
    Command {
        /// A line for the shell.
        run: String,
    },
    /// The inner table, once for each item of a list that an earlier stage reported.
    Each {
        list: String,
        /// Items open at the same time.
        at_once: usize,
        /// Items in all.
        items_max: usize,
        /// With fewer than these nothing worth the name would be done.
        items_min: usize,
        order: ItemOrder,
        stuck: StuckItems,
        /// The inner table.
        stages: Vec<Stage>,
    },
    /// The table of another flow, once.
    Flow {
        /// Its name, which is also the id of its one item.
        name: String,
        /// Its table.
        stages: Vec<Stage>,
    },
    /// Something that must happen outside, once.
    Deliver { what: Delivery },
    /// Nothing: the stage is only its gates. A checkpoint.
    Nothing,
}

impl Work {
    /// Returns the line for the shell, if it is a command.
    pub fn command(&self) -> Option<&str> {
        if let Self::Command { run } = self { Some(run) } else { None }
    }

    /// Returns the role of the agent that works, if it is one.
    pub fn role(&self) -> Option<&str> {
        if let Self::Agent { role } = self { Some(role) } else { None }
    }
}

/// A delivery out of the run, once. Forge does it itself, without an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The verified result is offered: title, text, branch, commit and evidence.
    PullRequest,
    /// What the run came to is written down, as `summary.md`.
    Summary,
    /// A comment where the request came from.
    Comment,
    /// Artifacts, summary and state become a last commit below `.forge/runs/`.
    Commit,
    /// The pages of all records of work become a commit, which is verified and lands like any other.
    Pages,
}

impl Delivery {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::PullRequest, Self::Summary, Self::Comment, Self::Commit, Self::Pages];

    /// Returns the word in a flow.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PullRequest => "pull-request",
            Self::Summary => "summary",
            Self::Comment => "comment",
            Self::Commit => "commit",
            Self::Pages => "pages",
        }
    }

    /// Returns the delivery of this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|delivery| delivery.as_str() == word)
    }
}

/// What a stage takes away of what its role may do with the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeLimit {
    /// Nothing: the role says whether it may change the code.
    AsRole,
    /// Changing it: whatever the role says, the stage only reads.
    Reads,
}

/// The order of the work and the gates of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageOrder {
    /// The gates look at what was worked.
    WorkFirst,
    /// The gates look first, and the work is only done where they find something.
    GatesFirst,
}

/// One thing that has to be true before a stage counts as done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Unique in its stage.
    pub name: String,
    /// A label of the original system, shown and never looked at.
    pub phase: Option<String>,
    pub check: Check,
    /// Directives that must hold before each look.
    pub needs: Vec<Directive>,
    /// Artifacts that the judge may read.
    pub reads: Vec<String>,
    /// Artifacts that the judge must leave.
    pub writes: Vec<String>,
    /// The stage to send back to, here or in an outer table. By default, the gate's own.
    pub redo: Option<String>,
    /// How often it may send back. Without a number of its own it draws on the rounds of the stage that it sends back.
    pub rounds: Option<u32>,
    pub when: When,
    pub weight: GateWeight,
    /// How strong a reviewer it wants, and how hard it is to think.
    pub hints: Hints,
    /// The model of the reviewer, where the settings name another one for its role.
    pub model: Option<String>,
    pub brief: BriefShape,
}

/// The values that a tag of an item can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagRule {
    pub values: Vec<String>,
    /// The value of an item that names none. Without it, each item must name one.
    pub default: Option<String>,
}

/// The power of a gate to send work back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateWeight {
    /// Its findings go back to work.
    Binding,
    /// Its findings are noted.
    Advisory,
}

/// The judge of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// The artifact is there and has a form that can be read.
    Artifact { name: String },
    /// The program exits with success.
    Command {
        /// A line for the shell.
        run: String,
    },
    /// An agent in this role reads the result.
    Review { role: String },
    /// A person says yes.
    Human {
        question: String,
        /// Whether it may pass by itself in a run that says `--auto`.
        auto: Auto,
    },
    /// The project's own checks pass on the exact commit.
    Verify,
    /// The change becomes part of the run's result. A conflict is a finding like any other.
    Land,
    /// A check that Forge brings along.
    BuiltIn { check: BuiltIn },
    /// What the work left is what it was to leave.
    Outputs { directives: Vec<Directive> },
}

impl Check {
    /// Returns the line for the shell, if it is a command.
    pub fn command(&self) -> Option<&str> {
        if let Self::Command { run } = self { Some(run) } else { None }
    }

    /// Returns the role of the agent that reads the result, if one does.
    pub fn role(&self) -> Option<&str> {
        if let Self::Review { role } = self { Some(role) } else { None }
    }

    /// Returns true if an agent or a person is called for it.
    pub const fn is_call(&self) -> bool {
        matches!(self, Self::Review { .. } | Self::Human { .. })
    }
}

/// The checks that Forge brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// The change stays within what was declared, leaves Forge's settings alone, and the
    /// repository's commit hooks take it.
    Changes,
    /// Files that guard the project (tests, CI, lint, lock files, settings) are as they were, or
    /// a person agrees to how they changed.
    Guarded,
    /// New tests fail without the change and pass with it.
    NewTests,
}

impl BuiltIn {
    /// Returns what it checks, in a few words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Changes => "only the declared files changed, and commit hooks pass",
            Self::Guarded => "tests, CI and settings are not weakened",
            Self::NewTests => "new tests fail without the change",
        }
    }

    /// All of them.
    pub const ALL: [Self; 3] = [Self::Changes, Self::Guarded, Self::NewTests];

    /// Returns the word in a flow.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Guarded => "guarded",
            Self::NewTests => "new-tests",
        }
    }

    /// Returns the check of this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.as_str() == word)
    }
}

/// The permission of a human gate to pass by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auto {
    /// A person is always asked.
    Never,
    /// In a run that says `--auto`, if every review passed without critical findings.
    Allowed,
}

/// Conditions that must all hold. Never over the disk, the clock or the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When(pub Vec<Condition>);

/// A condition over facts in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A parameter of the run has one of these values.
    Param { name: String, is: Vec<String> },
    /// A tag of the item, or of an item further out, has one of these values.
    Item { tag: String, is: Vec<String> },
}

/// The consequence of a stage that was sent back too often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exhausted {
    /// A person chooses.
    #[default]
    Ask,
    /// This gate lets it pass, with the open findings as notes. The gates after it still look.
    PassWithNotes,
    /// The unit fails.
    Fail,
}

/// The order in which the items of an `each` are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemOrder {
    /// Each as soon as what it comes after is done, and no open item writes the same paths.
    Paths,
    /// Besides, only when nothing of an earlier wave can go on. The first wave is what comes after nothing.
    Waves,
}

/// The consequence of items that cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StuckItems {
    /// Their stage fails.
    Fail,
    /// Their stage is done if any item is, and the others are named.
    PassWithNotes,
    /// The same, but the run is held at the first item that asks or fails.
    Hold,
}

/// The reason why a text is not a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowError {
    /// The flow at fault, by name.
    pub flow: String,
    /// The line at fault, counted from one, where the form itself is wrong.
    pub line: Option<usize>,
    /// The stage at fault, where there is one.
    pub stage: Option<String>,
    /// What is wrong, as the end of a sentence.
    pub problem: String,
}

impl Flow {
    /// Returns all roles that its agents and reviewers play.
    pub fn roles(&self) -> Vec<&str> {
        let roles: BTreeSet<&str> = self.players().iter().map(|(place, _)| place.role).collect();
        roles.into_iter().collect()
    }

    /// Returns all places at which an agent is called, each with the model that the flow names there.
    pub fn players(&self) -> Vec<(CallPlace<'_>, Option<&str>)> {
        fn collect<'a>(stages: &'a [Stage], found: &mut Vec<(CallPlace<'a>, Option<&'a str>)>) {
            for stage in stages {
                found.extend(stage.place().map(|place| (place, stage.model.as_deref())));
                for gate in &stage.gates {
                    found.extend(gate.place().map(|place| (place, gate.model.as_deref())));
                }
                collect(stage.inner(), found);
            }
        }
        let looker = self.coherence.as_deref().map(|role| (CallPlace::of_role(role), None));
        let mut found = looker.into_iter().collect();
        collect(&self.stages, &mut found);
        found
    }

    /// Returns the rows that are skipped where a list is known at the start: the one that reports it, and what comes before that.
    pub fn rows_for_list(&self, list: &str) -> Option<BTreeSet<usize>> {
        let row = self.stages.iter().position(|stage| stage.list.as_deref() == Some(list))?;
        let mut rows = firsts(&self.stages, row);
        rows.insert(row);
        self.lists.iter().any(|known| known == list).then_some(rows)
    }

    /// Returns the table that is in use in a scope.
    pub fn table(&self, scope: &Scope) -> &[Stage] {
        scope.steps().fold(&self.stages, |table, (group, _)| {
            let row = table.iter().find(|stage| stage.name == group);
            row.expect("a scope names stages of its flow").inner()
        })
    }

    /// Returns the scope of the innermost item that a scope is in. The table of a flow inside a flow is in the item around it.
    pub fn item_scope(&self, scope: &Scope) -> Option<Scope> {
        let (outer, group) = scope.origin()?;
        let row = self.table(&outer).iter().find(|stage| stage.name == group)?;
        match row.work {
            Work::Flow { .. } => self.item_scope(&outer),
            Work::Each { .. }
            | Work::Agent { .. }
            | Work::Command { .. }
            | Work::Deliver { .. }
            | Work::Nothing => Some(scope.clone()),
        }
    }

    /// Returns the stage that a unit is of, if this flow has it.
    pub fn stage(&self, unit: &UnitId) -> Option<&Stage> {
        self.table(&unit.scope).iter().find(|stage| stage.name == unit.stage)
    }

    /// Returns a gate of a unit, by its name.
    pub fn gate(&self, unit: &UnitId, name: &str) -> Option<&Gate> {
        self.stage(unit)?.gates.iter().find(|gate| gate.name == name)
    }

    /// Returns true if no checkpoint may pass by itself in a run with these parameters.
    pub fn is_manual(&self, params: &BTreeMap<String, String>) -> bool {
        let holds = |condition: &Condition| match condition {
            Condition::Param { name, is } => {
                let default = self.params.get(name).map(|param| &param.default);
                params.get(name).or(default).is_some_and(|value| is.contains(value))
            }
            Condition::Item { .. } => false,
        };
        !self.manual.0.is_empty() && self.manual.0.iter().all(holds)
    }

    /// Checks that a parameter may have this value.
    pub fn accepts(&self, name: &str, value: &str) -> Result<(), String> {
        let Some(param) = self.params.get(name) else {
            let known: Vec<&str> = self.params.keys().map(String::as_str).collect();
            return Err(if known.is_empty() {
                format!("the flow `{}` has no parameters", self.name)
            } else {
                format!(
                    "the flow `{}` has no parameter `{name}`, only {}",
                    self.name,
                    known.join(", ")
                )
            });
        };
        if param.values.iter().any(|known| known == value) {
            Ok(())
        } else {
            Err(format!("`{name}` can be {}, not `{value}`", param.values.join(", ")))
        }
    }
}

impl Stage {
    /// Returns a stage that does this, and nothing else.
    pub(super) fn new(name: String, work: Work) -> Self {
        Self {
            name,
            phase: None,
            after: Vec::new(),
            when: When::default(),
            work,
            reads: Vec::new(),
            writes: Vec::new(),
            list: None,
            tags: BTreeMap::new(),
            gates: Vec::new(),
            rounds: ROUNDS_DEFAULT,
            exhausted: Exhausted::default(),
            misses: MISSES_DEFAULT,
            hints: Hints::default(),
            high_risk: None,
            budget: None,
            model: None,
            code: CodeLimit::AsRole,
            brief: BriefShape::default(),
            order: StageOrder::WorkFirst,
            needs: Vec::new(),
        }
    }

    /// Returns the table inside, if there is one.
    pub fn inner(&self) -> &[Stage] {
        match &self.work {
            Work::Each { stages, .. } | Work::Flow { stages, .. } => stages,
            Work::Agent { .. } | Work::Command { .. } | Work::Deliver { .. } | Work::Nothing => &[],
        }
    }

    /// Returns the table inside, to be changed.
    pub(super) fn inner_mut(&mut self) -> &mut [Stage] {
        match &mut self.work {
            Work::Each { stages, .. } | Work::Flow { stages, .. } => stages,
            Work::Agent { .. } | Work::Command { .. } | Work::Deliver { .. } | Work::Nothing => {
                &mut []
            }
        }
    }

    /// Returns true if a call outside does the work.
    pub fn is_called(&self) -> bool {
        match self.work {
            Work::Agent { .. } | Work::Command { .. } | Work::Deliver { .. } => true,
            Work::Each { .. } | Work::Flow { .. } | Work::Nothing => false,
        }
    }

    /// Returns the last gate up to this one that has a label of its own.
    pub(crate) fn labelled_gate(&self, upto: Option<&str>) -> Option<&Gate> {
        let upto = upto.and_then(|gate| self.gate(gate)).map_or(0, |position| position + 1);
        self.gates[..upto].iter().rev().find(|gate| gate.phase.is_some())
    }

    /// Returns the place of its agent, if it has one.
    pub fn place(&self) -> Option<CallPlace<'_>> {
        let role = self.work.role()?;
        Some(CallPlace { role, hints: self.hints, high_risk: self.high_risk })
    }

    /// Returns the position of a gate.
    pub fn gate(&self, name: &str) -> Option<usize> {
        self.gates.iter().position(|gate| gate.name == name)
    }
}

impl Gate {
    /// Returns the place of its reviewer, if it has one.
    pub fn place(&self) -> Option<CallPlace<'_>> {
        let role = self.check.role()?;
        Some(CallPlace { role, hints: self.hints, high_risk: None })
    }

    /// Returns true if it proves something that no person can see at a glance: waived only by name.
    pub fn is_proof(&self) -> bool {
        matches!(self.check, Check::Verify | Check::Land)
    }
}

/// Returns the rows that come after `from`, directly or by way of others, with `from` itself.
pub fn followers(table: &[Stage], from: usize) -> Vec<usize> {
    let mut follows = vec![false; table.len()];
    follows[from] = true;
    for (position, stage) in table.iter().enumerate().skip(from + 1) {
        follows[position] = stage.after.iter().any(|first| follows[*first]);
    }
    (from..table.len()).filter(|position| follows[*position]).collect()
}

/// Returns true if the work of a row becomes part of the run's result: it, or a row after it, lands.
pub fn lands(table: &[Stage], row: usize) -> bool {
    let mut rows = followers(table, row).into_iter();
    rows.any(|row| table[row].gates.iter().any(|gate| gate.check == Check::Land))
}

/// Returns the rows that are surely over before `row` starts.
pub fn firsts(table: &[Stage], row: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open: Vec<usize> = table[row].after.clone();
    while let Some(first) = open.pop() {
        if found.insert(first) {
            open.extend(&table[first].after);
        }
    }
    found
}

impl fmt::Display for FlowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow `{}`", self.flow)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        match &self.stage {
            Some(stage) => write!(f, ": stage `{stage}` {}", self.problem),
            None => write!(f, ": {}", self.problem),
        }
    }
}

impl std::error::Error for FlowError {}
