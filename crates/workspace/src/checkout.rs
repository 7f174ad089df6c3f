//! A private checkout: the agent's files, Forge's own git folder for them, and the agent's `.git`.
//!
//! Nothing here moves a ref or makes a commit.

pub(crate) mod agent_repository;
pub(crate) mod cache_seal;
pub(crate) mod files;
pub(crate) mod git_dir;
pub(crate) mod known_state;
pub(crate) mod nested_git;
pub(crate) mod prepared_setup;
pub(crate) mod run_records;
pub(crate) mod setup_baseline;
pub(crate) mod state;
pub(crate) mod submodules;
pub(crate) mod untracked_copies;
