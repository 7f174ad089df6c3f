//! From text to [`Flow`]: the form, the names, and what each row may say.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::brief_shape::{BriefShape, RawBriefShape};
use super::check;
use super::count::{CountValues, RawCount, RawWord, word};
use super::phases::{DEFAULT_PIPELINE, attach, pipeline_key, pipeline_of_key, role_of_key};
use super::table::{
    AT_ONCE_DEFAULT, AT_ONCE_MAX, Auto, BuiltIn, Check, CodeLimit, Condition, DEPTH_MAX, Delivery,
    Exhausted, FORMAT, Flow, FlowError, Gate, GateWeight, ITEMS_MAX_DEFAULT, MISSES_DEFAULT,
    MISSES_MAX, Param, ROUNDS_DEFAULT, ROUNDS_MAX, Stage, StageOrder, TagRule, When, Work,
};
use crate::{
    id::is_plain_name,
    item::ITEMS_MAX,
    money::Money,
    routing::{HintWords, RawHints, Tier},
};

/// The word for all pipelines.
const PIPELINES: &str = "pipelines";
/// The most bytes of the name of a model.
const MODEL_BYTES_MAX: usize = 200;

impl Flow {
    /// Reads the flow `name`. `texts` holds its text, and those of the flows it uses.
    pub fn parse(name: &str, texts: &BTreeMap<String, String>) -> Result<Self, FlowError> {
        let chosen = &BTreeMap::new();
        let words = HintWords::Known;
        let flow = FlowReader { texts, chosen, words, path: Vec::new() }.flow(name, 0)?;
        check::check(&flow)?;
        Ok(flow)
    }

    /// Reads a flow that was checked when its run started, with the parameters of that run. Later Forges may refuse more, and must
    /// still be able to go on with it.
    pub fn read_frozen(
        name: &str,
        texts: &BTreeMap<String, String>,
        chosen: &BTreeMap<String, String>,
    ) -> Result<Self, FlowError> {
        FlowReader { texts, chosen, words: HintWords::Any, path: Vec::new() }.flow(name, 0)
    }

    /// Returns the names of the flows that a text uses, without reading them.
    pub fn uses(name: &str, text: &str) -> Result<Vec<String>, FlowError> {
        fn collect(rows: &[RawStage], used: &mut Vec<String>) {
            for row in rows {
                used.extend(row.flow.clone());
                collect(&row.stage, used);
            }
        }
        let mut used = Vec::new();
        collect(&read(name, text)?.stage, &mut used);
        Ok(used)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFlow {
    #[serde(default = "format_default")]
    format: u32,
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    params: BTreeMap<String, RawParam>,
    manual: Option<RawWhen>,
    coherence: Option<String>,
    #[serde(default)]
    lists: Vec<String>,
    blocks: Option<String>,
    #[serde(default)]
    stage: Vec<RawStage>,
}

const fn format_default() -> u32 {
    FORMAT
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParam {
    values: Vec<String>,
    default: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTag {
    values: RawTagValues,
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a list of values, or \"pipelines\"")]
enum RawTagValues {
    List(Vec<String>),
    Word(String),
}

impl RawTag {
    fn parse(self, name: &str, pipelines: &[&str]) -> Result<TagRule, String> {
        let Self { values, default } = self;
        let values = match values {
            RawTagValues::List(values) => values,
            RawTagValues::Word(word) if word == PIPELINES => {
                let all = [DEFAULT_PIPELINE].into_iter().chain(pipelines.iter().copied());
                all.map(str::to_owned).collect()
            }
            RawTagValues::Word(word) => {
                return Err(format!(
                    "has the tag `{name}` with values = \"{word}\"; possible: a list, \"pipelines\""
                ));
            }
        };
        if !is_plain_name(name) {
            return Err(format!("has the tag `{name}`, which is not a plain name"));
        }
        if values.is_empty() {
            return Err(format!("has the tag `{name}` without values"));
        }
        if default.as_ref().is_some_and(|default| !values.contains(default)) {
            return Err(format!("has the tag `{name}`, whose default is not one of its values"));
        }
        Ok(TagRule { values, default })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStage {
    name: String,
    phase: Option<String>,
    after: Option<Vec<String>>,
    when: Option<RawWhen>,
    agent: Option<String>,
    command: Option<String>,
    each: Option<String>,
    flow: Option<String>,
    deliver: Option<String>,
    at_once: Option<RawCount>,
    items_max: Option<usize>,
    items_min: Option<usize>,
    order: Option<RawWord>,
    stuck: Option<RawWord>,
    pipelines: Option<String>,
    #[serde(default)]
    stage: Vec<RawStage>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    list: Option<String>,
    #[serde(default)]
    tags: BTreeMap<String, RawTag>,
    #[serde(default)]
    gates: Vec<RawGate>,
    rounds: Option<RawCount>,
    #[serde(default)]
    exhausted: Exhausted,
    misses: Option<RawCount>,
    tier: Option<String>,
    effort: Option<String>,
    thinking: Option<String>,
    high_risk: Option<String>,
    model: Option<String>,
    code: Option<String>,
    brief: Option<RawBriefShape>,
    budget: Option<RawMoney>,
    #[serde(default)]
    gates_first: bool,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a condition is { param = \"…\", is = [\"…\"] } or { item = \"…\", is = [\"…\"] }, or a list of them"
)]
enum RawWhen {
    One(RawCondition),
    All(Vec<RawCondition>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCondition {
    param: Option<String>,
    item: Option<String>,
    is: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an amount in dollars: a whole number, or a text such as \"2.50\"")]
enum RawMoney {
    Dollars(u32),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGate {
    name: Option<String>,
    phase: Option<String>,
    artifact: Option<String>,
    command: Option<String>,
    review: Option<String>,
    human: Option<String>,
    verify: Option<bool>,
    land: Option<bool>,
    check: Option<String>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    redo: Option<String>,
    rounds: Option<RawCount>,
    when: Option<RawWhen>,
    #[serde(default)]
    advisory: bool,
    #[serde(default)]
    auto: bool,
    tier: Option<String>,
    effort: Option<String>,
    thinking: Option<String>,
    model: Option<String>,
    brief: Option<RawBriefShape>,
}

fn read(name: &str, text: &str) -> Result<RawFlow, FlowError> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map(|span| &text[..span.start.min(text.len())]);
        let line = before.map(|before| before.matches('\n').count() + 1);
        let problem = error.message().trim().to_owned();
        FlowError { flow: name.to_owned(), line, stage: None, problem }
    })
}

/// Reads flows by name. `path` holds the flows on the way in, so that a circle is seen.
struct FlowReader<'a> {
    texts: &'a BTreeMap<String, String>,
    /// The parameters of the run.
    chosen: &'a BTreeMap<String, String>,
    words: HintWords,
    path: Vec<String>,
}

impl FlowReader<'_> {
    fn wrong(&self, stage: Option<&str>, problem: impl Into<String>) -> FlowError {
        let flow = self.path.last().cloned().unwrap_or_default();
        FlowError { flow, line: None, stage: stage.map(str::to_owned), problem: problem.into() }
    }

    /// Returns the names of the pipelines whose texts are there.
    fn pipelines(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().filter_map(|key| pipeline_of_key(key))
    }

    /// Lets items take another table than their own: that of the pipeline that their tag names.
    fn add_pipelines(
        &mut self,
        stages: &mut Vec<Stage>,
        tag: &str,
        depth: usize,
    ) -> Result<(), FlowError> {
        let names: Vec<String> = self.pipelines().map(str::to_owned).collect();
        let is = |name: &str| Condition::Item { tag: tag.to_owned(), is: vec![name.to_owned()] };
        if !names.is_empty() {
            for stage in stages.iter_mut() {
                stage.when.0.push(is(DEFAULT_PIPELINE));
            }
        }
        for name in names {
            if stages.iter().any(|stage| stage.name == name) {
                return Err(self.wrong(Some(&name), "is the name of a pipeline and of a stage"));
            }
            let inner = self.flow_from(&pipeline_key(&name), &name, depth + 1)?;
            let work = Work::Flow { name: name.clone(), stages: inner.stages };
            stages.push(Stage { when: When(vec![is(&name)]), ..Stage::new(name, work) });
        }
        Ok(())
    }

    fn flow(&mut self, name: &str, depth: usize) -> Result<Flow, FlowError> {
        self.flow_from(name, name, depth)
    }

    fn flow_from(&mut self, key: &str, name: &str, depth: usize) -> Result<Flow, FlowError> {
        let Some(text) = self.texts.get(key) else {
            let flow = self.path.last().map_or(name, String::as_str).to_owned();
            let problem = format!("unknown flow `{name}`");
            return Err(FlowError { flow, line: None, stage: None, problem });
        };

        if self.path.iter().any(|outer| outer == name) {
            return Err(self.wrong(None, format!("it uses `{name}`, which uses it")));
        }
        self.path.push(name.to_owned());
        if !is_plain_name(name) {
            return Err(self.wrong(None, "its name is not plain"));
        }
        let raw = read(name, text)?;
        if raw.format != FORMAT {
            let problem =
                format!("it has format {}, but this version reads format {FORMAT}", raw.format);
            return Err(self.wrong(None, problem));
        }
        if raw.name != name {
            let problem = format!("its `name` is `{}`, but its file is named `{name}`", raw.name);
            return Err(self.wrong(None, problem));
        }
        if raw.stage.is_empty() {
            return Err(self.wrong(None, "it has no stages"));
        }
        let mut params = BTreeMap::new();
        for (name, RawParam { values, default }) in raw.params {
            if !is_plain_name(&name) {
                return Err(self.wrong(None, format!("`{name}` is not a plain name")));
            }
            if !values.contains(&default) {
                let problem = format!("the default of `{name}` is not one of its values");
                return Err(self.wrong(None, problem));
            }
            params.insert(name, Param { values, default });
        }
        let mut stages = self.table(raw.stage, &mut params, depth)?;
        let wrong = |problem: String| self.wrong(None, problem);
        let pipelines: Vec<&str> = self.pipelines().collect();
        if let Some(text) = &raw.blocks {
            attach(&mut stages, text, None, &pipelines).map_err(wrong)?;
        }
        if depth == 0 {
            for (key, text) in self.texts {
                if let Some(role) = role_of_key(key) {
                    attach(&mut stages, text, Some(role), &pipelines).map_err(wrong)?;
                }
            }
        }
        let manual = RawWhen::parse(raw.manual)
            .map_err(|problem| self.wrong(None, format!("its `manual` {problem}")))?;
        self.path.pop();
        Ok(Flow {
            name: raw.name,
            description: raw.description,
            params,
            manual,
            coherence: raw.coherence,
            lists: raw.lists,
            stages,
        })
    }

    fn table(
        &mut self,
        rows: Vec<RawStage>,
        params: &mut BTreeMap<String, Param>,
        depth: usize,
    ) -> Result<Vec<Stage>, FlowError> {
        let mut stages: Vec<Stage> = Vec::new();
        for row in rows {
            let name = row.name.clone();
            if depth >= DEPTH_MAX {
                return Err(self.wrong(Some(&name), "is nested in too many tables"));
            }
            if !is_plain_name(&name) {
                let problem = "has a name that is not plain (a letter or digit, then at most 39 letters, digits, `-` or `_`)";
                return Err(self.wrong(Some(&name), problem));
            }
            if stages.iter().any(|above| above.name == name) {
                return Err(self.wrong(Some(&name), "has the name of a stage above it"));
            }
            let stage = self.row(row, &stages, params, depth)?;
            stages.push(stage);
        }
        Ok(stages)
    }

    fn row(
        &mut self,
        mut row: RawStage,
        above: &[Stage],
        params: &mut BTreeMap<String, Param>,
        depth: usize,
    ) -> Result<Stage, FlowError> {
        let name = row.name.clone();
        let after = self.after(&name, row.after.take(), above)?;
        let gates = std::mem::take(&mut row.gates);
        let work = self.work(&mut row, gates.is_empty(), params, depth)?;
        let wrong = |problem: String| self.wrong(Some(&name), problem);
        let counts = CountValues { params, chosen: self.chosen };
        let mut parsed: Vec<Gate> = Vec::new();
        for gate in gates {
            let gate = gate.parse(&counts).map_err(&wrong)?;
            if parsed.iter().any(|other| other.name == gate.name) {
                return Err(wrong(format!(
                    "has two gates called `{}`: give each a `name`",
                    gate.name
                )));
            }
            parsed.push(gate);
        }
        let settled = |key: &str, count: Option<RawCount>, default: u32, bounds: (u32, u32)| {
            let number = count.map(|count| count.settle(key, bounds, &counts)).transpose();
            number.map(|number| number.unwrap_or(default)).map_err(&wrong)
        };
        let budget = match row.budget {
            None => None,
            Some(RawMoney::Dollars(dollars)) => Some(Money(u64::from(dollars) * 1_000_000)),
            Some(RawMoney::Text(text)) => Some(Money::parse(&text).ok_or_else(|| {
                wrong(format!("has budget = \"{text}\", which is not an amount such as \"2.50\""))
            })?),
        };
        if row.list.is_none() && !row.tags.is_empty() {
            return Err(wrong("has tags of items, but no `list`".to_owned()));
        }
        let mut tags = BTreeMap::new();
        let pipelines: Vec<&str> = self.pipelines().collect();
        for (name, tag) in row.tags {
            let rule = tag.parse(&name, &pipelines).map_err(&wrong)?;
            tags.insert(name, rule);
        }
        let is_agent = matches!(work, Work::Agent { .. });
        let hints = RawHints { tier: row.tier, effort: row.effort, thinking: row.thinking };
        let is_lenient = self.words == HintWords::Any;
        let has = |what: String| wrong(format!("has {what}"));
        let own = [
            ("tier", hints.tier.is_some() && !is_lenient),
            ("effort", hints.effort.is_some() && !is_lenient),
            ("thinking", hints.thinking.is_some()),
            ("high_risk", row.high_risk.is_some()),
            ("model", row.model.is_some()),
            ("brief", row.brief.is_some()),
            ("code", row.code.is_some()),
        ];
        if let Some((key, _)) = own.iter().find(|(_, is_given)| *is_given && !is_agent) {
            return Err(wrong(format!("has `{key}`, but no `agent`")));
        }
        let code = match row.code.as_deref() {
            None => CodeLimit::AsRole,
            Some("reads") => CodeLimit::Reads,
            Some(other) => {
                return Err(wrong(format!(
                    "has code = \"{other}\"; possible: reads (only a role can let its agent write)"
                )));
            }
        };
        if row.gates_first && parsed.is_empty() {
            return Err(wrong("has `gates_first`, but no gates".to_owned()));
        }
        Ok(Stage {
            phase: row.phase,
            after,
            when: RawWhen::parse(row.when).map_err(&wrong)?,
            work,
            reads: row.reads,
            writes: row.writes,
            list: row.list,
            tags,
            gates: parsed,
            rounds: settled("rounds", row.rounds, ROUNDS_DEFAULT, (0, ROUNDS_MAX))?,
            exhausted: row.exhausted,
            misses: settled("misses", row.misses, MISSES_DEFAULT, (1, MISSES_MAX))?,
            hints: hints.parse(self.words).map_err(has)?,
            high_risk: Tier::read("high_risk", row.high_risk.as_deref(), HintWords::Known)
                .map_err(has)?,
            model: model(row.model).map_err(&wrong)?,
            code,
            brief: brief(row.brief).map_err(&wrong)?,
            budget,
            order: if row.gates_first { StageOrder::GatesFirst } else { StageOrder::WorkFirst },
            needs: Vec::new(),
            name,
        })
    }

    fn after(
        &self,
        name: &str,
        after: Option<Vec<String>>,
        above: &[Stage],
    ) -> Result<Vec<usize>, FlowError> {
        let Some(after) = after else {
            return Ok(above.len().checked_sub(1).into_iter().collect());
        };
        let position = |first: &String| {
            above.iter().position(|stage| stage.name == *first).ok_or_else(|| {
                self.wrong(
                    Some(name),
                    format!("waits for `{first}`, which is not a stage above it"),
                )
            })
        };
        after.iter().map(position).collect()
    }

    fn work(
        &mut self,
        row: &mut RawStage,
        has_no_gates: bool,
        params: &mut BTreeMap<String, Param>,
        depth: usize,
    ) -> Result<Work, FlowError> {
        let name = row.name.clone();
        let is_each = row.each.is_some();
        let kinds = (
            row.agent.take(),
            row.command.take(),
            row.each.take(),
            row.flow.take(),
            row.deliver.take(),
        );
        if !is_each
            && (row.at_once.is_some()
                || row.items_max.is_some()
                || row.items_min.is_some()
                || row.order.is_some()
                || row.stuck.is_some()
                || row.pipelines.is_some()
                || !row.stage.is_empty())
        {
            let problem = "has `at_once`, `items_max`, `items_min`, `order`, `stuck`, `pipelines` or a table inside, but no `each`";
            return Err(self.wrong(Some(&name), problem));
        }
        match kinds {
            (Some(role), None, None, None, None) => {
                if is_plain_name(&role) {
                    Ok(Work::Agent { role })
                } else {
                    Err(self.wrong(
                        Some(&name),
                        format!("has the role `{role}`, which is not a plain name"),
                    ))
                }
            }
            (None, Some(run), None, None, None) => Ok(Work::Command { run }),
            (None, None, Some(list), None, None) => {
                let counts = CountValues { params, chosen: self.chosen };
                let at_once = row.at_once.take().map_or(Ok(AT_ONCE_DEFAULT), |count| {
                    let number = count.settle("at_once", (1, AT_ONCE_MAX), &counts);
                    number.map_err(|problem| self.wrong(Some(&name), problem))
                })?;
                let wrong = |problem| self.wrong(Some(&name), problem);
                let order = word(row.order.as_ref(), "order", &counts).map_err(wrong)?;
                let stuck = word(row.stuck.as_ref(), "stuck", &counts).map_err(wrong)?;
                let items_max = row.items_max.unwrap_or(ITEMS_MAX_DEFAULT);
                if !(1..=ITEMS_MAX).contains(&items_max) {
                    let problem = format!(
                        "has items_max = {items_max}, which is not between 1 and {ITEMS_MAX}"
                    );
                    return Err(self.wrong(Some(&name), problem));
                }
                let items_min = row.items_min.unwrap_or(0);
                if items_min > items_max {
                    let problem =
                        format!("has items_min = {items_min}, which is more than items_max");
                    return Err(self.wrong(Some(&name), problem));
                }
                if row.stage.is_empty() {
                    return Err(
                        self.wrong(Some(&name), "goes over a list, but has no table inside")
                    );
                }
                let mut stages = self.table(std::mem::take(&mut row.stage), params, depth + 1)?;
                if let Some(tag) = row.pipelines.take() {
                    self.add_pipelines(&mut stages, &tag, depth + 1)?;
                }
                let at_once = usize::try_from(at_once).unwrap_or(usize::MAX);
                Ok(Work::Each { list, at_once, items_max, items_min, order, stuck, stages })
            }
            (None, None, None, Some(used), None) => {
                let inner = self.flow(&used, depth + 1)?;
                for (name, param) in inner.params {
                    params.entry(name).or_insert(param);
                }
                Ok(Work::Flow { name: used, stages: inner.stages })
            }
            (None, None, None, None, Some(word)) => {
                let what = Delivery::parse(&word).ok_or_else(|| {
                    let known: Vec<&str> = Delivery::ALL.iter().map(|what| what.as_str()).collect();
                    let known = known.join(", ");
                    let problem = format!("delivers `{word}`; possible: {known}");
                    self.wrong(Some(&name), problem)
                })?;
                Ok(Work::Deliver { what })
            }
            (None, None, None, None, None) if !has_no_gates => Ok(Work::Nothing),
            (None, None, None, None, None) => {
                Err(self.wrong(Some(&name), "has neither work nor gates"))
            }
            _ => {
                let problem =
                    "has more than one of `agent`, `command`, `each`, `flow` and `deliver`";
                Err(self.wrong(Some(&name), problem))
            }
        }
    }
}

impl RawWhen {
    fn parse(when: Option<Self>) -> Result<When, String> {
        let conditions = match when {
            None => Vec::new(),
            Some(Self::One(condition)) => vec![condition],
            Some(Self::All(conditions)) => conditions,
        };
        let parsed = conditions.into_iter().map(|RawCondition { param, item, is }| {
            if is.is_empty() {
                return Err("has a condition that can never hold: `is` is empty".to_owned());
            }
            match (param, item) {
                (Some(name), None) => Ok(Condition::Param { name, is }),
                (None, Some(tag)) => Ok(Condition::Item { tag, is }),
                (Some(_), Some(_)) | (None, None) => {
                    Err("has a condition without exactly one of `param` and `item`".to_owned())
                }
            }
        });
        parsed.collect::<Result<_, _>>().map(When)
    }
}

/// Returns the name of a model. A program gets it as an argument, so no option of that program may hide in it.
fn model(name: Option<String>) -> Result<Option<String>, String> {
    let is_plain =
        |name: &String| !name.starts_with('-') && name.chars().all(|c| c.is_ascii_graphic());
    match name {
        Some(name) if !is_plain(&name) || !(1..=MODEL_BYTES_MAX).contains(&name.len()) => {
            Err(format!("has model = {name:?}, which is not the name of a model"))
        }
        name => Ok(name),
    }
}

fn brief(raw: Option<RawBriefShape>) -> Result<BriefShape, String> {
    raw.map_or_else(|| Ok(BriefShape::default()), RawBriefShape::parse)
}

/// Returns the check of this name, or which there are.
fn built_in(word: &str) -> Result<BuiltIn, String> {
    BuiltIn::parse(word).ok_or_else(|| {
        let known: Vec<&str> = BuiltIn::ALL.iter().map(|check| check.as_str()).collect();
        format!(
            "has a gate with the check `{word}`, which Forge does not have; it has {}",
            known.join(", ")
        )
    })
}

impl RawGate {
    fn parse(self, counts: &CountValues<'_>) -> Result<Gate, String> {
        let auto = if self.auto { Auto::Allowed } else { Auto::Never };
        let is_human = self.human.is_some();
        let built_in = self.check.as_deref().map(built_in).transpose()?;
        let checks = [
            self.artifact.map(|name| ("artifact".to_owned(), Check::Artifact { name })),
            self.command.map(|run| ("command".to_owned(), Check::Command { run })),
            self.review.map(|role| (role.clone(), Check::Review { role })),
            self.human.map(|question| ("human".to_owned(), Check::Human { question, auto })),
            self.verify.filter(|on| *on).map(|_| ("verify".to_owned(), Check::Verify)),
            self.land.filter(|on| *on).map(|_| ("land".to_owned(), Check::Land)),
            built_in.map(|check| (check.as_str().to_owned(), Check::BuiltIn { check })),
        ];
        let mut checks = checks.into_iter().flatten();
        let (Some((default, check)), None) = (checks.next(), checks.next()) else {
            return Err("has a gate without exactly one of `artifact`, `command`, `review`, `human`, `verify`, `land` and `check`".to_owned());
        };
        let name = self.name.unwrap_or(default);
        if !is_plain_name(&name) {
            return Err(format!("has a gate called `{name}`, which is not a plain name"));
        }
        if self.auto && !is_human {
            return Err(format!(
                "has a gate `{name}` with `auto`, which only a human gate can have"
            ));
        }
        let weight = if self.advisory { GateWeight::Advisory } else { GateWeight::Binding };
        let rounds = self.rounds.map(|count| count.settle("rounds", (0, ROUNDS_MAX), counts));
        let is_review = matches!(check, Check::Review { .. });
        let hints = RawHints { tier: self.tier, effort: self.effort, thinking: self.thinking };
        let has_own = self.model.is_some() || self.brief.is_some() || !hints.is_empty();
        if has_own && !is_review {
            return Err(format!(
                "has a gate `{name}` with `tier`, `effort`, `thinking`, `model` or `brief`, which only a review can have"
            ));
        }
        let gate = Gate {
            name,
            phase: self.phase,
            check,
            needs: Vec::new(),
            reads: self.reads,
            writes: self.writes,
            redo: self.redo,
            rounds: rounds.transpose()?,
            when: RawWhen::parse(self.when)?,
            weight,
            hints: hints.parse(HintWords::Known).map_err(|what| format!("has {what}"))?,
            model: model(self.model)?,
            brief: brief(self.brief)?,
        };
        if gate.rounds.is_some() && (is_human || gate.check == Check::Land) {
            return Err(format!(
                "has a gate `{}` with `rounds`, which a person and `land` cannot have",
                gate.name
            ));
        }
        if weight == GateWeight::Advisory && (is_human || gate.is_proof()) {
            return Err(format!(
                "has an advisory gate `{}`: a person, `verify` and `land` cannot be advisory",
                gate.name
            ));
        }
        Ok(gate)
    }
}
