//! Agents of any kind at work: the real program, real processes, and nobody's model.
//!
//! `accounts`: who works in the place of whom. `any`: a program of the user's own plays all roles, and what a person reads when it cannot.
//! `turns`: a result is mended and an interrupted call goes on, with the scripted agent. `budgets`:
//! caps of run, stage and call, and who spends how. `first_run`: one command of a person who has set nothing. `ledger`: whatever was spent, all that tell of it
//! tell the same. `routing`: which agent and model a tier is. `recorded`: streams of the real Claude Code, played again. `pasted`: the example of the documentation works as it is written.
//!
//! Not here: what a vendor's program does, and how lines are understood (`forge-agents`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stands")]

mod world;

#[path = "agents/accounts.rs"]
mod accounts;
#[path = "agents/any.rs"]
mod any;
#[path = "agents/budgets.rs"]
mod budgets;
#[path = "agents/first_run.rs"]
mod first_run;
#[path = "agents/ledger.rs"]
mod ledger;
#[path = "agents/mine.rs"]
mod mine;
#[path = "agents/pasted.rs"]
mod pasted;
#[expect(dead_code, reason = "only a part of it is needed here")]
#[path = "crash/processes.rs"]
mod processes;
#[path = "agents/recorded.rs"]
mod recorded;
#[path = "agents/routing.rs"]
mod routing;
#[path = "agents/troubles.rs"]
mod troubles;
#[path = "agents/turns.rs"]
mod turns;
