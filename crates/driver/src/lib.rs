//! The driver: the only place where things happen.
//!
//! Read in this order:
//!
//! 1. [`run_loop`]: the loop. Everything else serves it.
//! 2. `calls`: makes what is under way equal to what is wanted, through an [`executor`]; `local_executor`
//!    has keepers and processes.
//! 3. `call_plan`, `gates`, [`deliver`] and `plan`: what a call goes through, step by step.
//! 4. `checkouts`, `setup` and `agent_call`: where a call works, what it is given, and what becomes
//!    of what it left.
//! 5. [`layout`], [`projection`], `refs`, [`notify`], [`work_records`]: places, and what shows the journal to others.
//!
//! Not here: user interfaces, and what they can ask for (`api`).
//!
//! Invariant: nothing is published or acted on before its fact is durable.
//! Invariant: one writer per run, by a lock of the operating system and an epoch.
//! Invariant: what agents and the world do is an outcome; an `Err` here is something that the user
//! can fix.

pub mod admission;
pub mod agent_call;
pub mod base_settings;
pub mod call_plan;
pub mod calls;
pub mod casting;
pub mod checkouts;
pub mod checks;
pub mod clock;
pub mod command_sender;
pub mod context;
pub mod deliver;
pub mod error;
pub mod executor;
pub mod gates;
pub mod layout;
pub mod local_executor;
pub mod missing_variables;
pub mod needs;
pub mod notify;
pub mod optional_keys;
pub mod outcome;
pub mod path_claims;
pub mod path_list;
pub mod person;
pub mod plan;
pub mod projection;
pub mod refs;
pub mod refusal;
pub mod result_keys;
pub mod run_id;
pub mod run_loop;
pub mod seats;
pub mod secrets;
pub mod setup;
pub mod signals;
pub mod snapshot;
pub mod summary_file;
pub mod trusted_folders;
pub mod work_pages;
pub mod work_records;

pub use error::Error;
