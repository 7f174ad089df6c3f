//! The flows and roles that can be used: the project's own, which shadow the shipped ones.
//!
//! A flow is `.forge/flows/NAME.toml` or `.forge/flows/NAME/flow.toml`; its roles lie in
//! `.forge/flows/NAME/roles/` or, for all flows, in `.forge/roles/`. Skills that roles name are in `skills.rs`.

mod flow_rules;
mod skills;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use forge_core::result::ResultKey;
use forge_core::routing::{HintWords, Hints, RawHints};
use forge_core::{
    flow::{Flow, FlowError, only_blocks, pipeline_key, role_blocks_key, without_blocks},
    id::is_plain_name,
    view::short_commit,
};
use forge_workspace::{GitError, Repository};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    bounded_read::read_text,
    pipelines::{PipelineUse, pipeline_flow},
    settings::{PipelineName, PipelineTable},
    suggest::{explain, nearest},
};

/// A flow that comes with Forge.
struct Shipped {
    name: &'static str,
    text: &'static str,
    /// Names and texts.
    roles: &'static [(&'static str, &'static str)],
}

/// A flow of ours: its name, and the roles that it has in its own folder and in those of others.
macro_rules! shipped {
    ($flow:literal: $($folder:literal / $role:literal),*) => {
        Shipped {
            name: $flow,
            text: include_str!(concat!("../../../flows/", $flow, "/flow.toml")),
            roles: &[$((
                $role,
                include_str!(concat!("../../../flows/", $folder, "/roles/", $role, ".md")),
            )),*],
        }
    };
}

/// The flows that come with Forge.
const SHIPPED: &[Shipped] = &[
    shipped!("change": "change" / "planner", "change" / "implementer", "change" / "reviewer"),
    shipped!("feature": "feature" / "architect", "feature" / "coherence-checker", "feature" / "comprehensive-reviewer", "feature" / "design-reviewer", "feature" / "impl-reviewer", "feature" / "implementer", "feature" / "investigator", "feature" / "situation-analyst", "feature" / "task-decomposer", "feature" / "task-reviewer", "feature" / "verifier"),
    shipped!("quick": "quick" / "implementer", "quick" / "reviewer"),
    shipped!("draft": "draft" / "writer", "draft" / "reviewer"),
    shipped!("task": "task" / "architect", "task" / "engineer", "task" / "engineer-plan", "task" / "qa-engineer", "task" / "supervisor", "task" / "supervisor-plan"),
    shipped!("sprint": "sprint" / "architect-plan", "sprint" / "architect-retrospective", "sprint" / "architect-review", "sprint" / "product-manager", "sprint" / "verifier", "task" / "architect", "task" / "engineer", "task" / "engineer-plan", "task" / "qa-engineer", "task" / "supervisor", "task" / "supervisor-plan"),
    shipped!("bug": "bug" / "architect", "bug" / "bug-fixer", "bug" / "engineer-plan", "bug" / "supervisor", "bug" / "supervisor-plan", "bug" / "triager", "bug" / "verifier"),
];

/// The flow that comes with Forge whose roles play the phases of pipelines.
const PIPELINE_ROLES: &str = "task";

/// Where the flows of a project lie.
const FLOWS: &str = ".forge/flows";

/// The most bytes of a flow or role file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The most skills of a role.
const SKILLS_MAX: usize = 8;

/// The flows and roles of a project, with those that Forge ships.
#[derive(Clone, Debug)]
pub struct Catalog {
    source: CatalogSource,
    pipelines: BTreeMap<PipelineName, PipelineTable>,
}

/// The source of the project's own ones.
#[derive(Clone, Debug)]
enum CatalogSource {
    /// There is no project.
    Nothing,
    /// In a checkout, as somebody writes them.
    Folder(PathBuf),
    /// In a commit, as a run uses them.
    Commit(Repository, String),
}

impl CatalogSource {
    /// Returns the text of a file, by its path from the top.
    fn read(&self, path: &str) -> Result<Option<String>, Error> {
        match self {
            Self::Nothing => Ok(None),
            Self::Folder(top) => read_text(&top.join(path), FILE_BYTES_MAX),
            Self::Commit(repository, commit) => text_at(repository, commit, path, FILE_BYTES_MAX),
        }
    }

    /// Returns the paths of all files below a folder, from the top.
    fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Folder(top) => {
                let mut found = Vec::new();
                list_folder(top, folder, LIST_DEPTH_MAX, &mut found)?;
                Ok(found)
            }
            Self::Commit(repository, commit) => Ok(repository.files_at(commit, folder)?),
        }
    }
}

/// How deep flows may lie.
const LIST_DEPTH_MAX: u32 = 4;

/// Returns what is wrong with a flow, with the nearest right key where one is unknown.
fn wrong_flow(name: &str, error: FlowError) -> Error {
    let error = FlowError { problem: explain(&error.problem), ..error };
    Error::usage(error.to_string(), format!("fix the flow, then `forge flow check {name}`"))
}

fn list_folder(top: &Path, folder: &str, depth: u32, found: &mut Vec<String>) -> Result<(), Error> {
    let path = top.join(folder);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    for entry in entries.map_err(|error| Error::file(&path, &error))? {
        let below = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            if depth > 0 {
                list_folder(top, &below, depth - 1, found)?;
            }
        } else {
            found.push(below);
        }
    }
    Ok(())
}

/// Returns the text of a file in a commit, or nothing if it has none there.
pub fn text_at(
    repository: &Repository,
    commit: &str,
    path: &str,
    bytes_max: u64,
) -> Result<Option<String>, Error> {
    let short = short_commit(commit);
    let bytes = match repository.file_at(commit, path, bytes_max) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        Err(GitError::TooLarge { .. }) => {
            let what = format!("{path} is larger than {bytes_max} bytes in the commit {short}");
            return Err(Error::usage(what, "make it smaller, and commit it"));
        }
        Err(error) => return Err(error.into()),
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        let what = format!("{path}, line {line}: it is not UTF-8 text in the commit {short}");
        Error::usage(what, "save it as UTF-8, commit it, then run the same command again")
    })
}

/// A flow that was found and is right, with the texts of all flows that it uses.
#[derive(Clone, Debug)]
pub struct FoundFlow {
    pub flow: Flow,
    /// Its text and those of the flows that it uses, by name.
    pub texts: BTreeMap<String, String>,
    pub origin: Origin,
}

/// The origin of a flow or role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It comes with Forge.
    Shipped,
    /// The project has it.
    Project(PathBuf),
    /// It is a pipeline of the settings.
    Settings,
}

/// One line of `forge flow list` and `forge flow check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlowRow {
    pub name: String,
    pub description: String,
    /// `shipped`, or the file.
    pub origin: String,
    /// The error, if the flow cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The largest number of agent calls that it can make by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_max: Option<u64>,
}

/// `forge flow show --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlowShown {
    /// The line of the list.
    #[serde(flatten)]
    pub row: FlowRow,
    /// Its text and those of the flows that it uses, by name.
    pub texts: BTreeMap<String, String>,
}

/// A role: a prompt and the rights of its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Keys of `result.json` that must be there.
    pub must: Vec<ResultKey>,
    /// How strong an agent it wants, and how hard it is to think.
    pub hints: Hints,
    pub code: Code,
    /// The names of its skills.
    pub skills: Vec<String>,
    /// The text of the brief.
    pub prompt: String,
}

/// Access of a role to the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// It only reads: what it changes is discarded.
    #[default]
    Reads,
    /// Changes become a commit.
    Writes,
}

impl FoundFlow {
    /// Returns true if all of it comes with Forge, with no word of the project's.
    pub fn is_shipped(&self) -> bool {
        // Gates of roles go by the roles, which are looked at for themselves.
        let mut flows = self.texts.iter().filter(|(name, _)| is_plain_name(name));
        flows.all(|(name, text)| {
            SHIPPED.iter().any(|shipped| shipped.name == name && shipped.text == text)
        })
    }
}

impl Catalog {
    /// Returns the catalog of a checkout, as it lies there.
    pub fn from_folder(top: Option<&Path>) -> Self {
        Self {
            source: top.map_or(CatalogSource::Nothing, |top| CatalogSource::Folder(top.to_owned())),
            pipelines: BTreeMap::new(),
        }
    }

    /// Returns the catalog of a commit.
    pub fn from_commit(repository: &Repository, commit: Option<&str>) -> Self {
        let source = commit.map_or(CatalogSource::Nothing, |commit| {
            CatalogSource::Commit(repository.clone(), commit.to_owned())
        });
        Self { source, pipelines: BTreeMap::new() }
    }

    /// Adds the pipelines of the settings, each of which is a flow of its own, too.
    #[must_use]
    pub fn with_pipelines(mut self, pipelines: &BTreeMap<PipelineName, PipelineTable>) -> Self {
        self.pipelines.clone_from(pipelines);
        self
    }

    /// Returns true for the name of a pipeline of the settings.
    pub fn is_pipeline(&self, name: &str) -> bool {
        self.pipelines.contains_key(name)
    }

    /// Returns the names of all flows, sorted.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> =
            SHIPPED.iter().map(|shipped| shipped.name.to_owned()).collect();
        for path in self.source.list(FLOWS)? {
            let below = path.strip_prefix(FLOWS).unwrap_or(&path).trim_start_matches('/');
            match below.split_once('/') {
                Some((name, "flow.toml")) => names.push(name.to_owned()),
                Some(_) => {}
                None => names.extend(below.strip_suffix(".toml").map(str::to_owned)),
            }
        }
        names.extend(self.pipelines.keys().map(|name| name.to_string()));
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Finds a flow and all it uses, and checks it: its form, its rules, and its roles.
    pub fn flow(&self, name: &str) -> Result<FoundFlow, Error> {
        let mut texts = BTreeMap::new();
        let origin = self.collect(name, &mut texts)?;
        let parse = |texts: &BTreeMap<String, String>| {
            Flow::parse(name, texts).map_err(|error| wrong_flow(name, error))
        };
        let mut found = FoundFlow { flow: parse(&texts)?, texts, origin };
        let mut more = BTreeMap::new();
        // A pipeline says itself what its phases need.
        if found.origin != Origin::Settings {
            for role in found.flow.roles() {
                let blocks = only_blocks(&self.role_text(&found, role)?.0);
                if !blocks.is_empty() {
                    more.insert(role_blocks_key(role), blocks);
                }
            }
            if found.texts.values().any(|text| text.contains("pipelines")) {
                for (name, table) in &self.pipelines {
                    let text = pipeline_flow(name, &table.phases, PipelineUse::SprintTask)?;
                    more.insert(pipeline_key(name), text);
                }
            }
        }
        if !more.is_empty() {
            found.texts.extend(more);
            found.flow = parse(&found.texts)?;
        }
        let mut writers = BTreeSet::new();
        for role in found.flow.roles() {
            if self.role_text(&found, role)?.1.code == Code::Writes {
                writers.insert(role.to_owned());
            }
        }
        self.skills(&found)?;
        flow_rules::check(&found.flow, &writers).map_err(|problem| {
            let what = format!("flow `{name}`: {problem}");
            Error::usage(what, format!("fix the flow, then `forge flow check {name}`"))
        })?;
        Ok(found)
    }

    fn collect(&self, name: &str, texts: &mut BTreeMap<String, String>) -> Result<Origin, Error> {
        let (text, origin) = self.text(name)?;
        let used = Flow::uses(name, &text).map_err(|error| wrong_flow(name, error))?;
        texts.insert(name.to_owned(), text);
        for name in used {
            if !texts.contains_key(&name) {
                self.collect(&name, texts)?;
            }
        }
        Ok(origin)
    }

    /// Returns the text of a flow.
    pub fn text(&self, name: &str) -> Result<(String, Origin), Error> {
        let found = self.flow_text(name)?;
        match (&found, self.pipelines.get(name)) {
            (Some((_, Origin::Project(_) | Origin::Shipped)), Some(_)) => Err(Error::usage(
                format!(
                    "`{name}` is both a flow and a pipeline of the settings; rename the pipeline"
                ),
                "forge config edit",
            )),
            (_, _) => found.map_or_else(|| Err(self.unknown_flow(name)?), Ok),
        }
    }

    fn flow_text(&self, name: &str) -> Result<Option<(String, Origin)>, Error> {
        if is_plain_name(name) {
            for path in [format!("{FLOWS}/{name}.toml"), format!("{FLOWS}/{name}/flow.toml")] {
                if let Some(text) = self.source.read(&path)? {
                    return Ok(Some((text, Origin::Project(PathBuf::from(path)))));
                }
            }
            if let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == name) {
                return Ok(Some((shipped.text.to_owned(), Origin::Shipped)));
            }
            if let Some(table) = self.pipelines.get(name) {
                let text = pipeline_flow(name, &table.phases, PipelineUse::Task)?;
                return Ok(Some((text, Origin::Settings)));
            }
        }
        Ok(None)
    }

    fn unknown_flow(&self, name: &str) -> Result<Error, Error> {
        let names = self.names()?;
        let others = names.iter().map(String::as_str).filter(|other| *other != name);
        let near = nearest(name, others);
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Ok(Error::usage(format!("unknown flow `{name}`{near}"), "forge flow list"))
    }

    /// Returns the text of a role of a flow: the flow's own, the project's, or a shipped one.
    pub fn role_text(&self, found: &FoundFlow, role: &str) -> Result<(String, Role), Error> {
        let name = &found.flow.name;
        let mut text = None;
        for path in [format!("{FLOWS}/{name}/roles/{role}.md"), format!(".forge/roles/{role}.md")] {
            if text.is_none() {
                text = self.source.read(&path)?;
            }
        }
        let is_used = |flow: &&Shipped| {
            let is_pipeline = found.origin == Origin::Settings && flow.name == PIPELINE_ROLES;
            is_pipeline || found.texts.contains_key(flow.name)
        };
        let shipped = SHIPPED.iter().filter(is_used);
        let mut shipped = shipped.flat_map(|flow| flow.roles.iter());
        let text = text.or_else(|| {
            shipped.find(|(shipped, _)| *shipped == role).map(|(_, text)| (*text).to_owned())
        });
        let Some(text) = text else {
            return Err(Error::usage(
                format!("the flow `{name}` uses the role `{role}`, but no file defines it"),
                format!("create .forge/roles/{role}.md (a prompt in Markdown)"),
            ));
        };
        let parsed = Role::parse(role, &text)?;
        Ok((text, parsed))
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRole {
    #[serde(default)]
    must: Vec<String>,
    tier: Option<String>,
    effort: Option<String>,
    thinking: Option<String>,
    #[serde(default)]
    code: Code,
    #[serde(default)]
    skills: Vec<String>,
}

impl Role {
    /// Reads a role: TOML between two lines of `+++`, if it has any, and then the prompt.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        Self::read(name, text, HintWords::Known)
    }

    /// Reads a role as a run froze it: in those of an older Forge, the word for a tier could be any and meant nothing.
    pub fn read_frozen(name: &str, text: &str) -> Result<Self, Error> {
        Self::read(name, text, HintWords::Any)
    }

    fn read(name: &str, text: &str, words: HintWords) -> Result<Self, Error> {
        let wrong =
            |what: String| Error::usage(format!("the role `{name}`: {what}"), "forge flow check");
        // Whatever the line endings of a checkout are.
        let text = if text.contains('\r') { &text.replace("\r\n", "\n") } else { text };
        let (head, prompt) = match text.strip_prefix("+++\n") {
            Some(rest) => rest
                .split_once("\n+++\n")
                .ok_or_else(|| wrong("its header has no closing line `+++`".to_owned()))?,
            None => ("", text),
        };
        let raw: RawRole = toml::from_str(head).map_err(|error| wrong(explain(error.message())))?;
        let key = |word: &String| {
            ResultKey::ALL.into_iter().find(|key| key.as_str() == word).ok_or_else(|| {
                wrong(format!("`{word}` is not a key of result.json that a role can ask for"))
            })
        };
        let must = raw.must.iter().map(key).collect::<Result<_, _>>()?;
        if prompt.trim().is_empty() {
            return Err(wrong("it is empty".to_owned()));
        }
        if raw.skills.len() > SKILLS_MAX {
            return Err(wrong(format!("it can have at most {SKILLS_MAX} skills")));
        }
        let hints = RawHints { tier: raw.tier, effort: raw.effort, thinking: raw.thinking };
        let hints = hints.parse(words).map_err(wrong)?;
        let (code, skills) = (raw.code, raw.skills);
        Ok(Self { must, hints, code, skills, prompt: without_blocks(prompt.trim()) })
    }
}
