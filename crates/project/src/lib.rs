//! A project as Forge finds it: its settings, flows and roles, the commands that a person approved,
//! its checks, and what the output of its tests means.
//!
//! Read in this order:
//!
//! 1. [`settings`]: the layers, which of them wins, and the snapshot that a run keeps.
//! 2. [`catalog`]: flows and roles; the project's own shadow the shipped ones.
//! 3. [`trust`]: the commands of a repository that a person approved on this machine.
//! 4. [`detect`]: the checks and the set-up that files of a project suggest.
//! 5. [`test_output`], [`test_probes`], [`test_weakening`], [`protected_files`]: what evidence is made of.
//!
//! Not here: runs and their journal.

mod attempt_guard;
pub mod bounded_read;
pub mod bounded_text;
pub mod catalog;
pub mod commit_files;
pub mod detect;
pub mod error;
pub mod executables;
pub mod markdown;
mod path_names;
pub mod personal_dirs;
pub mod pipelines;
pub mod protected_files;
pub mod settings;
pub mod suggest;
pub mod test_output;
pub mod test_probes;
pub mod test_weakening;
pub mod trust;

pub use attempt_guard::refuse_agents;
pub use error::Error;
