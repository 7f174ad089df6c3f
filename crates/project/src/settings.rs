//! The settings of a project: which layer sets what, which one wins, and the snapshot that a run keeps.
//!
//! Layers, lowest first: shipped < user < repo < local < environment < flags. Start with
//! [`Sources`], which gathers their texts, and [`Settings::from_sources`], which reads them. Then:
//!
//! - `settings/types.rs`: every key. A new setting begins there; `settings/values.rs` has the rules of its value.
//! - `settings/schema.rs`, `settings/keys.rs`, `settings/read_value.rs`: what follows from the types.
//! - `settings/sources.rs`, `settings/layers.rs`, `settings/resolve.rs`: from texts to the values that count.
//! - `settings/snapshot.rs`: what a run keeps.
//! - `settings/accounts.rs`: the accounts of agents.
//! - `settings/notes.rs`, `settings/repository_commands.rs`: what a person should know and approve.
//! - `settings/explain.rs`, `settings/edit.rs`, `settings/renamed_keys.rs`: what `forge config` and
//!   `forge doctor` show and change; `settings/toml_text.rs` keeps the comments.
//!
//! Not here: whether the commands of a repository may be run at all; that is `trust.rs`.
//!
//! Invariant: every value here is the one that `forge config explain` says has won.
//! Invariant: an unknown key or a value that is refused is an error that names its file and line.

mod accounts;
#[cfg(test)]
mod agents_and_roles_tests;
pub mod edit;
mod explain;
mod glob;
mod keys;
mod layers;
mod notes;
mod read_value;
mod renamed_keys;
mod repository_commands;
mod resolve;
#[cfg(test)]
mod routing_tests;
mod schema;
mod snapshot;
mod sources;
#[cfg(test)]
mod tests;
mod toml_text;
mod types;
mod values;

pub use accounts::Account;
pub use explain::{Explained, SettingRow};
pub use glob::PathGlobs;
pub use layers::{Layer, SaidRow};
pub use renamed_keys::{RenamedKeys, rename_keys};
pub use repository_commands::NotifierKind;
pub use resolve::Settings;
pub use schema::schema;
pub use snapshot::{
    AgentChoice, Frozen, FrozenAgent, PassedVariables, Player, RoleAgent, SecretsTable, Sessions,
    TierAgent, Verify, VerifyFrom,
};
pub use sources::{FILE, FILE_BYTES_MAX, LOCAL_FILE, LocalFile, SourceFile, Sources, USER_FILE};
pub use types::{
    AgentTable, Claims, DeliveryTime, DraftRule, Escalated, FinalCheckout, FlowModels,
    HostSettings, KeyOwner, PipelineTable, PullRequestMerge, PullRequestSettings, Reviewer,
    RoleTable, RunRecord, SettingValues, Switch,
};
pub use values::{AgentName, Dollars, ModelName, PipelineName, PipelinePhase, Value, shown_url};
