//! The engine of a run: pure, without IO, clock or chance.
//!
//! Read in this order:
//!
//! 1. [`flow`]: what a person writes.
//! 2. [`event`]: what can happen. The journal holds these, and only these.
//! 3. [`run`]: the state of a run, as a fold over events. It decides nothing.
//! 4. [`decide`](mod@decide): what an input means now. The only place with rules.
//! 5. [`wanted`](mod@wanted): what should be under way outside, given the state of the run.
//! 6. [`view`]: what a user interface may show. Made from a run, never turned back into one.
//! 7. [`work`]: records of features, sprints, tasks and bugs. It knows nothing of runs; what a run means for them is in [`followed`](mod@followed).
//!
//! What is not here: files, processes, git, a database, agents, the time of day. Everything that
//! happens outside arrives as an [`Input`] that carries its time, and everything that should
//! happen outside is said by [`wanted()`].
//!
//! Invariant: the same run and input always give the same facts.
//! Invariant: [`Run::apply_record`] cannot fail and decides nothing, so that an old journal means the
//! same to every later version.
//! Invariant: no floats. Money is micro-dollars, time is milliseconds, both `u64`.

pub mod event;
pub mod failure;
pub mod flow;
pub mod friction;
pub mod hex;
pub mod id;
pub mod item;
pub mod item_list;
pub mod ledger;
pub mod money;
pub mod path_claims;
pub mod result;
pub mod routing;
pub mod run;
pub mod slug;
mod task_origin;
mod time;
pub mod verdict;

pub mod decide;
pub mod followed;
pub mod inbox;
pub mod needs;
pub mod phase_verdict;
pub mod rewind;
pub mod view;
pub mod wanted;
pub mod work;

pub use decide::{Command, Input, Refusal, Report, decide};
pub use run::Run;
pub use time::Time;
pub use wanted::{Effect, wanted};
