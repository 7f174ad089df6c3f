//! Every key of the settings, as one tree of serde types.
//!
//! A new key is one field here: its doc comment is what `forge config explain` says that it is for, its type is what
//! it may be, and `Default` is what Forge ships. Reading, variables, `forge config` and the published schema follow
//! from this tree. Not here: which layer wins (`layers.rs`, `resolve.rs`), and rules of single values (`values.rs`).
//!
//! Invariant: every table is optional and every field has a default, so that any part of the tree can be read alone.

use std::collections::BTreeMap;

use forge_agents::{AgentKind, registry};
use forge_core::{
    money::Money,
    routing::{Effort, Hints, Thinking, Tier},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::values::{
    AGENT_NAME_PATTERN, AccountVariable, AgentName, BranchTemplate, Count, Day, Dollars, FilePath,
    HostName, LabelName, ModelName, PagesFolder, PathPattern, PipelineName, PipelinePhase,
    PlainName, PriceLine, ProgramLine, ROLE_NAME_PATTERN, RelPath, RemoteName, ReviewerName,
    RoleName, RunBudget, ShellCommand, SiteAddress, VariableName, Webhook, cut,
};

/// More calls than this are never under way at the same time.
const AT_ONCE_MAX: u32 = 1_024;
/// More calls than this are unlimited for every purpose.
const UNPRICED_CALLS_MAX: u32 = 100_000;
/// A day.
const MINUTES_MAX: u32 = 24 * 60;
const OUTPUT_MIB_MAX: u32 = 4096;
const PERCENT: u32 = 100;

/// The tree of all keys. `forge.toml`, `forge.local.toml` and the user's `config.toml` are each a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct SettingValues {
    /// The agent for all roles that do not set their own.
    pub agent: Option<AgentName>,
    /// The agents that take over, in this order, from one that has reached a limit or cannot do the work.
    pub fallback_agents: Vec<AgentName>,
    /// Which agent reviews: the one that is set, or one of another vendor than the author's where one is usable.
    pub review: Reviewer,
    /// The flow of a run that names none.
    pub flow: PlainName,
    /// Whether an agent checks a request before its run starts.
    pub coherence: Switch,
    /// Whether briefs include the project's AGENTS.md and CLAUDE.md.
    pub agents_md: Switch,
    /// The project's documents about its architecture, or their folders; briefs say what each is about.
    pub architecture: Vec<RelPath>,
    pub limits: LimitSettings,
    #[serde(rename = "agents")]
    pub agent_tables: AgentTables,
    #[schemars(with = "BTreeMap<String, RoleTable>", extend("propertyNames" = {"pattern": ROLE_NAME_PATTERN}))]
    pub roles: BTreeMap<RoleName, RoleTable>,
    pub tiers: TierSettings,
    #[schemars(with = "BTreeMap<String, PipelineTable>", extend("propertyNames" = {"pattern": ROLE_NAME_PATTERN}))]
    pub pipelines: BTreeMap<PipelineName, PipelineTable>,
    #[schemars(with = "BTreeMap<String, AccountTable>", extend("propertyNames" = {"pattern": AGENT_NAME_PATTERN}))]
    pub accounts: BTreeMap<AgentName, AccountTable>,
    /// The prices of models, instead of those that Forge knows.
    pub prices: Vec<PriceLine>,
    pub secrets: SecretSettings,
    pub workspace: WorkspaceSettings,
    pub verify: VerifySettings,
    pub land: LandSettings,
    pub effort: EffortSettings,
    pub hosts: HostSettings,
    pub pull_request: PullRequestSettings,
    pub push: PushSettings,
    pub notify: NotifySettings,
    pub work: WorkSettings,
}

/// How much a run may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct LimitSettings {
    /// The number of calls at the same time.
    pub at_once: Count<AT_ONCE_MAX>,
    /// Dollars for a whole run.
    pub budget: RunBudget,
    /// Calls of unknown price, in a run with the default budget.
    pub unpriced_calls: Count<UNPRICED_CALLS_MAX>,
    /// Dollars for one call.
    pub call_budget: Option<Dollars>,
    /// How long one call may take.
    pub wall_minutes: Count<MINUTES_MAX>,
    /// How long one call may be silent.
    pub silence_minutes: Count<MINUTES_MAX>,
    /// How much one call may print.
    pub output_mib: Count<OUTPUT_MIB_MAX>,
    /// How many percent of an account's limit are used before the next account takes over.
    pub handoff_threshold: Count<PERCENT>,
}

/// The tables of agents: the scripted one, and those that a person names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, expecting = "a table")]
#[schemars(extend("propertyNames" = {"pattern": AGENT_NAME_PATTERN}))]
pub struct AgentTables {
    pub scripted: ScriptedSettings,
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, AgentKeys>")]
    pub named: BTreeMap<AgentName, AgentKeys>,
}

/// `[agents.scripted]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct ScriptedSettings {
    /// The scenario of the scripted agent.
    pub scenario: Option<FilePath>,
}

/// `[agents.NAME]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct AgentKeys {
    /// The kind of agent; by default what its name says, or a program.
    #[serde(deserialize_with = "like")]
    #[schemars(schema_with = "likes")]
    pub like: Option<AgentKind>,
    /// The program to start, without a shell.
    pub command: Option<ProgramLine>,
    /// The program to start, without a shell, if it speaks the Agent Client Protocol.
    pub acp: Option<ProgramLine>,
    /// The model to use.
    pub model: Option<ModelName>,
    /// More variables of your environment that it gets.
    pub pass: Option<Vec<VariableName>>,
}

/// `[roles.NAME]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct RoleTable {
    /// The agent that runs as this role.
    pub agent: Option<AgentName>,
    /// The model to use for this role.
    pub model: Option<ModelName>,
    /// How strong a model this role needs.
    pub tier: Option<Tier>,
    /// How hard a model is to think as this role.
    pub effort: Option<Effort>,
    /// Whether a model thinks before it answers as this role.
    pub thinking: Option<Thinking>,
}

/// `[tiers.TIER]`, for each of the tiers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TierSettings {
    pub light: TierTable,
    pub standard: TierTable,
    pub heavy: TierTable,
    pub max: TierTable,
}

/// `[tiers.TIER]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TierTable {
    /// The agent for calls of this tier whose role does not set its own.
    pub agent: Option<AgentName>,
    /// The model to use for this tier.
    pub model: Option<ModelName>,
    /// How hard a model is to think, where neither flow nor role say.
    pub effort: Option<Effort>,
    /// Whether a model thinks before it answers, where neither flow nor role say.
    pub thinking: Option<Thinking>,
}

/// `[pipelines.NAME]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct PipelineTable {
    /// The phases of a task that names this pipeline, in their order.
    pub phases: Vec<PipelinePhase>,
}

/// `[accounts.NAME]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct AccountTable {
    /// The agent that is used with this account.
    pub agent: Option<AgentName>,
    /// The variables that make the agent use this account: folders, and names of variables that hold a key.
    pub env: Vec<AccountVariable>,
    /// The last day of its login.
    pub expires: Option<Day>,
}

/// Settings about secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct SecretSettings {
    /// Files whose values are secrets, as lines of NAME=VALUE.
    pub files: Vec<RelPath>,
    /// Paths in which a change may hold what looks like a secret.
    pub allow: Vec<PathPattern>,
}

/// How checkouts are made ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct WorkspaceSettings {
    /// Commands that make a new checkout ready.
    pub setup: Vec<ShellCommand>,
    /// Files whose change makes setup run again.
    pub setup_inputs: Vec<RelPath>,
    /// Files outside git that a new checkout gets.
    pub copy: Vec<RelPath>,
    /// Folders that checkouts keep between calls.
    pub cache: Vec<RelPath>,
    /// What happens if two runs write the same paths.
    pub claims: Claims,
    /// The folder for checkouts; only in forge.local.toml or your own settings.
    pub root: Option<FilePath>,
}

/// The project's checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct VerifySettings {
    /// The project's checks; [] means that there are none.
    pub commands: Option<Vec<ShellCommand>>,
    /// How long one check may take.
    pub timeout_minutes: Count<MINUTES_MAX>,
    /// How much one check may print.
    pub output_mib: Count<OUTPUT_MIB_MAX>,
    /// More variables of your environment that the project's commands get.
    pub pass: Vec<VariableName>,
    /// The checkout of the last verification: new, or with its caches.
    pub r#final: FinalCheckout,
}

/// The branch and the record of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct LandSettings {
    /// The run's branch; {words} are the first words of the request, {id} is the short id of the run, {run} the long one.
    pub branch: BranchTemplate,
    /// What the last commit of a run keeps of it in .forge/runs.
    pub record: RunRecord,
}

/// How the effort of a request is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct EffortSettings {
    /// The field of an issue that holds its story points.
    pub story_points: PlainName,
}

/// Where issues are, besides at hosts that are known by their names. A person's own: their tokens are sent there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct HostSettings {
    /// Hosts that are GitHub Enterprise.
    pub github: Vec<HostName>,
    /// Hosts that are GitLab.
    pub gitlab: Vec<HostName>,
    /// Hosts that are Gitea or Forgejo.
    pub gitea: Vec<HostName>,
    /// The address of Jira, for keys such as PROJ-123.
    pub jira: Option<SiteAddress>,
    /// Whose keys such as PROJ-123 are, if both have a token.
    pub keys: Option<KeyOwner>,
}

/// The pull request of a run. Read when it is opened or merged, not when the run starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct PullRequestSettings {
    /// Who opens the pull request: you with `forge pr`, or the run at its end; only in forge.local.toml or your own settings.
    pub open: DeliveryTime,
    /// Whether the run then writes its summary at its issue; only in forge.local.toml or your own settings.
    pub comment: DeliveryTime,
    /// When a pull request is opened as a draft.
    pub draft: DraftRule,
    /// The labels that a pull request is opened with.
    pub labels: Vec<LabelName>,
    /// The people and teams that are asked to review a pull request when it is opened.
    pub reviewers: Vec<ReviewerName>,
    /// Whether merging a pull request closes the issue that the run came from, if that is in the same repository.
    pub closes_issue: Switch,
    /// How `forge merge` merges a pull request.
    pub merge: PullRequestMerge,
}

/// Where the branch of a run is pushed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct PushSettings {
    /// The remote that `forge pr` pushes to, such as your fork; only in forge.local.toml or your own settings.
    pub remote: Option<RemoteName>,
}

/// When something of a run goes to its host: when you ask for it, or at the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryTime {
    #[default]
    OnRequest,
    AtEnd,
}

impl DeliveryTime {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    pub(super) fn is_on_request(&self) -> bool {
        *self == Self::OnRequest
    }
}

/// When a pull request is opened as a draft: never, while the run has open findings, or always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DraftRule {
    #[default]
    Never,
    OpenNotes,
    Always,
}

/// How a pull request is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullRequestMerge {
    #[default]
    Merge,
    Squash,
    Rebase,
}

/// A tracker whose issues have keys such as PROJ-123.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyOwner {
    Jira,
    Linear,
}

/// Who is notified of stops, questions and the end. None of it is in a run's snapshot: it is about who is here now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct NotifySettings {
    /// A program to run at stops, questions and the end.
    pub command: Option<ProgramLine>,
    /// A URL to call at stops, questions and the end.
    pub webhook: Option<Webhook>,
    /// Whether the terminal rings at stops, questions and the end.
    pub bell: Switch,
    /// Whether the desktop notifies of stops, questions and the end.
    pub desktop: Switch,
}

/// Settings about records of work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct WorkSettings {
    /// The folder of the pages about records of work; without it there are none.
    pub pages: Option<PagesFolder>,
    /// The folder that `{engineering}` stands for in gates; `engineering` without it.
    pub engineering: Option<RelPath>,
    /// What a sprint does when a task of it needs a person.
    pub escalated: Escalated,
}

/// A yes or no. A file may write `true` and `false` as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("type" = ["string", "boolean"], "enum" = ["on", "off", true, false]))]
pub enum Switch {
    On,
    Off,
}

/// Which agent reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reviewer {
    /// The one that is set for the role, the tier, or all.
    #[default]
    AsSet,
    /// One of another vendor than the author's.
    OtherVendor,
}

/// What happens if two runs write the same paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Claims {
    /// A note says so, and both continue.
    #[default]
    Warn,
    /// The second one waits for the first.
    Defer,
    /// The second one is held until a person decides.
    Block,
}

/// What a sprint does when a task of it needs a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Escalated {
    /// The tasks that do not depend on it continue.
    #[default]
    Continue,
    /// The sprint stops there.
    Halt,
}

/// The kind of checkout in which the last verification runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinalCheckout {
    /// A new one, set up from nothing.
    #[default]
    Pristine,
    /// One that kept its caches.
    Cached,
}

/// What the last commit of a run keeps of it, below `.forge/runs/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunRecord {
    /// Artifacts, summary, state and events.
    #[default]
    All,
    /// The summary.
    Summary,
    /// There is no such commit.
    #[serde(rename = "none")]
    Nothing,
}

/// Whether the models that a flow names count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowModels {
    /// Each counts for its stage or review.
    #[default]
    Used,
    /// None does: a person chose one model for all.
    Overridden,
}

impl FlowModels {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    pub(super) fn is_used(&self) -> bool {
        *self == Self::Used
    }
}

/// An agent that is set up, or that needs no setting up, put together from all layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTable {
    /// The protocol that Forge speaks with it.
    pub like: AgentKind,
    /// The program and its arguments, if they are not those of its kind. A program with a slash in
    /// it is absolute if a person set it, and relative to the agent's checkout if the repository
    /// did.
    pub command: Option<Vec<String>>,
    /// The model to use.
    pub model: Option<String>,
    /// More variables of the environment that it gets.
    pub pass: Vec<String>,
    /// The models that it is asked for by tier, where the settings name none.
    pub tier_models: BTreeMap<Tier, String>,
}

impl RoleTable {
    /// Returns what it says of tiers.
    pub fn hints(&self) -> Hints {
        Hints { tier: self.tier, effort: self.effort, thinking: self.thinking }
    }
}

impl TierSettings {
    pub fn get(&self, tier: Tier) -> &TierTable {
        match tier {
            Tier::Light => &self.light,
            Tier::Standard => &self.standard,
            Tier::Heavy => &self.heavy,
            Tier::Max => &self.max,
        }
    }

    /// Returns all tables.
    pub(super) fn tables_mut(&mut self) -> [&mut TierTable; 4] {
        [&mut self.light, &mut self.standard, &mut self.heavy, &mut self.max]
    }
}

impl AgentTable {
    /// Returns the key that names its program.
    pub fn program_key(&self) -> &'static str {
        if self.like == registry::ACP { "acp" } else { "command" }
    }
}

impl Default for SettingValues {
    fn default() -> Self {
        Self {
            agent: None,
            fallback_agents: Vec::new(),
            review: Reviewer::default(),
            flow: shipped("feature".to_owned()),
            coherence: Switch::On,
            agents_md: Switch::On,
            architecture: Vec::new(),
            limits: LimitSettings::default(),
            agent_tables: AgentTables::default(),
            roles: BTreeMap::new(),
            tiers: TierSettings::default(),
            pipelines: BTreeMap::new(),
            accounts: BTreeMap::new(),
            prices: Vec::new(),
            secrets: SecretSettings::default(),
            workspace: WorkspaceSettings::default(),
            verify: VerifySettings::default(),
            land: LandSettings::default(),
            effort: EffortSettings::default(),
            hosts: HostSettings::default(),
            pull_request: PullRequestSettings::default(),
            push: PushSettings::default(),
            notify: NotifySettings::default(),
            work: WorkSettings::default(),
        }
    }
}

impl LimitSettings {
    /// Returns what a whole run may cost.
    pub fn budget(&self) -> Option<Money> {
        self.budget.0
    }

    /// Returns what one call may cost.
    pub fn call_budget(&self) -> Option<Money> {
        self.call_budget.map(|dollars| dollars.0)
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            at_once: shipped(8),
            budget: shipped("10".to_owned()),
            unpriced_calls: shipped(60),
            call_budget: None,
            wall_minutes: shipped(45),
            silence_minutes: shipped(15),
            output_mib: shipped(64),
            handoff_threshold: shipped(90),
        }
    }
}

impl Default for VerifySettings {
    fn default() -> Self {
        let r#final = FinalCheckout::default();
        let pass = Vec::new();
        Self {
            commands: None,
            timeout_minutes: shipped(30),
            output_mib: shipped(16),
            pass,
            r#final,
        }
    }
}

impl Default for LandSettings {
    fn default() -> Self {
        let branch = shipped("forge/{words}-{id}".to_owned());
        Self { branch, record: RunRecord::Summary }
    }
}

impl Default for EffortSettings {
    fn default() -> Self {
        Self { story_points: shipped("customfield_10016".to_owned()) }
    }
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self { command: None, webhook: None, bell: Switch::On, desktop: Switch::Off }
    }
}

impl Default for PullRequestSettings {
    fn default() -> Self {
        Self {
            open: DeliveryTime::default(),
            comment: DeliveryTime::default(),
            draft: DraftRule::default(),
            labels: Vec::new(),
            reviewers: Vec::new(),
            closes_issue: Switch::On,
            merge: PullRequestMerge::default(),
        }
    }
}

fn shipped<F, T: TryFrom<F, Error = String>>(value: F) -> T {
    T::try_from(value).expect("what is shipped follows the rules")
}

/// Lists the kinds of agents that a table can name: all but those that have a key of their own.
fn likes(_: &mut SchemaGenerator) -> Schema {
    let kinds = registry::ALL.iter().filter(|kind| is_named_by_like(**kind));
    json_schema!({"type": "string", "enum": kinds.map(|kind| kind.name()).collect::<Vec<_>>()})
}

/// Returns true for a kind of agent that `like` can name.
pub(super) fn is_named_by_like(kind: AgentKind) -> bool {
    !kind.plays_scenario() && kind != registry::ACP
}

fn like<'de, D: Deserializer<'de>>(word: D) -> Result<Option<AgentKind>, D::Error> {
    let word = String::deserialize(word)?;
    let kind = AgentKind::find(&word).filter(|kind| is_named_by_like(*kind));
    kind.map(Some).ok_or_else(|| D::Error::custom(format!("unknown variant `{}`", cut(&word))))
}
