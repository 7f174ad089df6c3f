//! The turns of an agent's call, and what they come to.
//!
//! ```text
//! first ──► done ──► the result is valid            ──► its report
//!   │        └─────► it is not, and can be mended   ──► repair, in the same session ──► its report
//!   └─────► its session is gone                     ──► anew, in a new session      ──► as the first
//! ```
//! Each turn is a step with a folder and a keeper of its own. All of them read and write the inbox and
//! the outbox of the call, and all of them are paid.
//!
//! Not here: what an agent prints (`forge_agents`), what a result means to the run (`output.rs`).
//!
//! Invariant: what a turn used is counted once, however the call ends.
//! Invariant: without a valid result there is no outcome but a fault, a limit, a block or an interruption.

use std::path::Path;

use forge_agents::{
    AgentEnd, AgentKind, Earlier, ErrorClass, Limit, StreamSummary, UsageWindow, Use, Watchdog,
};
use forge_core::routing::Route;
use forge_core::{
    Run,
    event::{Outcome, Receipt},
    failure::FaultClass,
    id::CallId,
    money::{Cost, ModelUse, Money, Spent, Used},
    result::ResultKey,
    run::CallKind,
    verdict::BlockerClass,
};
use forge_keeper::{AttemptFolder, Ending, ExitReason};
use forge_project::settings::{FrozenAgent, Player};
use serde_json::Value;

use crate::{
    agent_call::{
        output,
        output::AgentOutput,
        usage::{errors, listen, model_use, spent, used_before},
    },
    casting::successor,
    context::RunContext,
    executor::{Executor, StepState},
    outcome,
    outcome::last_words,
    plan::{
        Pending, Plan,
        step::{StepKind, Turn},
    },
    result_keys::required_result_keys,
};

/// The step in which a session begins anew.
pub const ANEW: &str = "anew";
/// The step in which a result is mended.
pub const REPAIR: &str = "repair";
/// How long a call waits whose provider did not say how long: this much, doubled each time.
const BACK_OFF_MS: u64 = 30_000;
/// It never waits longer than this by itself.
const BACK_OFF_MS_MAX: u64 = 30 * 60_000;
/// Nothing waits for less.
const WAIT_MS_MIN: u64 = 1_000;
/// No provider has a longer window: a month. Then it is tried again, whatever was said.
const WAIT_MS_MAX: u64 = 31 * 24 * 3_600_000;

const MINUTE_MS: u64 = 60_000;
/// SIGKILL and SIGTERM, which come from outside: a system without memory, or a person.
const KILLED_BY: [i32; 2] = [9, 15];
/// Programs that are told to end by a signal say so by an exit code above this.
const SIGNALS: i32 = 128;

/// The sum of all turns of a call.
pub struct Turned {
    /// How the last one ended.
    pub ending: Ending,
    /// The result and the artifacts, or what became of the call instead.
    pub left: Result<AgentOutput, Outcome>,
    /// What was used, by whom, and how long it took.
    pub receipt: Receipt,
    /// How much of its account is used up, if it told.
    pub windows: Vec<UsageWindow>,
    /// The limit that it waits for.
    pub limit: Option<Limit>,
}

/// Usage, sessions and refusals of the turns so far.
struct UsageTotals {
    agent: FrozenAgent,
    account: Option<String>,
    /// What the session had used before this call.
    before: Earlier,
    route: Option<Route>,
    uses: Vec<Use>,
    /// What of them has a price, also where the sum has none.
    known_micros: u64,
    took_ms: u64,
    session: Option<String>,
    denied: Vec<String>,
}

/// Brings the turns of a call on as far as they go.
pub fn turns(plan: &Plan<'_>, dir: &Path, conflicts: &[String]) -> Result<Turned, Pending> {
    let Plan { context, run, call, .. } = *plan;
    let CallKind::Agent { role } = run.call_kind(call) else {
        unreachable!("only agents have turns")
    };
    let player = context.player(run, call);
    let mut tally = UsageTotals::new(context, run, call, player.clone());
    let mut ending = plan.turn(Turn::First, dir, conflicts)?;
    let before = tally.before.clone();
    let mut summary = tally.take(plan, &plan.folder(), &ending, &before);
    let mut end = summary.end(Some(&ending.how), &errors(context.executor, &plan.folder()));
    if end == AgentEnd::SessionGone {
        tally.before = context.frozen_prices();
        ending = plan.turn(Turn::Anew, dir, conflicts)?;
        let folder = plan.step_folder(ANEW);
        summary = tally.take(plan, &folder, &ending, &context.frozen_prices());
        end = summary.end(Some(&ending.how), &errors(context.executor, &folder));
    }
    let must = required_result_keys(context, run, call, &role)?;
    let mut left = match ended(plan, tally.agent.like, &end, &last_folder(plan), &ending) {
        Ok(()) => plan.output([summary.answer.as_ref(), None], &must)?,
        Err(outcome) => Err(outcome),
    };
    let mut windows = std::mem::take(&mut summary.windows);
    let flaw = match &left {
        Err(Outcome::Fault { class: FaultClass::NoResult | FaultClass::NoArtifact, what })
            if end == AgentEnd::Done =>
        {
            Some(what.clone())
        }
        Ok(_) | Err(_) => None,
    };
    let session = tally.session.clone().filter(|_| tally.agent.can_resume());
    // Whoever has used up its cap does not get another turn.
    let held = run.calls()[call].reserved;
    let can_pay = held.is_none_or(|held| held.0 > tally.known_micros);
    let is_due = plan.step_was_prepared(REPAIR) || flaw.is_some() && can_pay;
    if let (true, Some(session)) = (is_due, session) {
        let repair = Turn::Repair {
            // A repair that was begun has mended the flaw, perhaps; it is in its brief.
            flaw: flaw.unwrap_or_default(),
            session,
            spent_micros: tally.known_micros,
            earlier: tally.earlier(),
        };
        let earlier = tally.earlier();
        let repaired = plan.turn(repair, dir, &[])?;
        let folder = plan.step_folder(REPAIR);
        let before = summary.answer;
        let mut mended = tally.take(plan, &folder, &repaired, &earlier);
        if !mended.windows.is_empty() {
            windows = std::mem::take(&mut mended.windows);
        }
        end = mended.end(Some(&repaired.how), &errors(context.executor, &folder));
        let outcome = ended(plan, tally.agent.like, &end, &folder, &repaired);
        // What the first turn did is there, also if nobody could mend its result.
        if !matches!(repaired.how, ExitReason::NotStarted { .. }) {
            ending = repaired;
        }
        left = match outcome {
            Ok(()) => plan.output([mended.answer.as_ref(), before.as_ref()], &must)?,
            Err(outcome) => Err(outcome),
        };
    }
    let limit = if let AgentEnd::Limited(limit) = end { Some(limit) } else { None };
    let left = left.map_err(|outcome| without_secrets(context, outcome));
    let mut receipt = tally.receipt();
    let blocker = match &left {
        Err(Outcome::Blocked { class, .. }) => Some(*class),
        Ok(output) => output.result.blocker.as_ref().map(|blocker| blocker.class.into()),
        Err(_) => None,
    };
    receipt.successor =
        blocker.and_then(|class| successor(context.frozen, run, call, class, &player));
    Ok(Turned { ending, left, receipt, windows, limit })
}

/// What an agent printed was redacted by its keeper. But the agent could write to that file as well.
fn without_secrets(context: &RunContext<'_>, outcome: Outcome) -> Outcome {
    let clean =
        |text: String| String::from_utf8_lossy(&context.redacted(text.as_bytes())).into_owned();
    match outcome {
        Outcome::Partial { note } => Outcome::Partial { note: clean(note) },
        Outcome::Blocked { class, what } => Outcome::Blocked { class, what: clean(what) },
        Outcome::Fault { class, what } => Outcome::Fault { class, what: clean(what) },
        Outcome::Limited { until, what } => Outcome::Limited { until, what: clean(what) },
        Outcome::Deferred { until, what } => Outcome::Deferred { until, what: clean(what) },
        Outcome::Done | Outcome::Lost | Outcome::Interrupted => outcome,
    }
}

/// Whether the cost of a whole call is known.
#[derive(PartialEq, Eq)]
enum UsageKnown {
    Yes,
    No,
}

/// What is known of a call that was lost, or whose next turn is not wanted any more.
pub fn usage_of_lost_call(plan: &Plan<'_>) -> Receipt {
    let Plan { context, run, call, .. } = *plan;
    let mut tally = UsageTotals::new(context, run, call, context.player(run, call));
    let mut end = UsageKnown::Yes;
    for folder in [plan.folder(), plan.step_folder(ANEW), plan.step_folder(REPAIR)] {
        if !context.trusted.knows(&folder.path) {
            continue;
        }
        match plan.state(&folder) {
            Ok(StepState::Void | StepState::Unclaimed) => {}
            Ok(StepState::Ended(ending)) => {
                tally.hear(context.executor, &folder, Some(&ending));
            }
            // What came after the last line that there is has a price, too.
            Ok(StepState::Running | StepState::Dead) | Err(_) => {
                tally.hear(context.executor, &folder, None);
                end = UsageKnown::No;
            }
        }
    }
    let known = tally.known_micros;
    let mut receipt = tally.receipt();
    if end == UsageKnown::No {
        receipt.spent = Spent { cost: Cost::Unknown, at_least: Money(known), ..receipt.spent };
        let models = receipt.used.iter_mut().flat_map(|used| &mut used.models);
        models.for_each(|model| model.cost = Cost::Unknown);
    }
    receipt
}

impl Plan<'_> {
    /// Reads what the agent left.
    fn output(
        &self,
        answers: [Option<&Value>; 2],
        must: &[ResultKey],
    ) -> Result<Result<AgentOutput, Outcome>, Pending> {
        let Plan { context, run, call, .. } = *self;
        Ok(output::read_agent_output(context, run, call, &self.boxes(), answers, must)?)
    }

    /// One turn of the agent.
    fn turn(&self, turn: Turn, dir: &Path, conflicts: &[String]) -> Result<Ending, Pending> {
        let folder = match &turn {
            Turn::First => self.folder(),
            Turn::Anew => self.step_folder(ANEW),
            Turn::Repair { .. } => self.step_folder(REPAIR),
        };
        let (dir, conflicts) = (dir.to_owned(), conflicts.to_vec());
        self.while_wanted(folder.path, || Ok(StepKind::Turn { turn, dir, conflicts }))
    }
}

impl UsageTotals {
    fn new(context: &RunContext<'_>, run: &Run, call: &CallId, player: Player) -> Self {
        let Player { agent, route } = player;
        let before = used_before(run, call, agent.like, context.frozen);
        let account = run.assignment(call).and_then(|to| to.account.clone());
        Self {
            agent,
            account,
            route,
            before,
            uses: Vec::new(),
            known_micros: 0,
            took_ms: 0,
            session: None,
            denied: Vec::new(),
        }
    }

    /// Use of the session before the next turn, for programs that report totals.
    fn earlier(&self) -> Earlier {
        let prices = self.before.prices.clone();
        Earlier { uses: [self.before.uses.as_slice(), &self.uses].concat(), prices }
    }

    /// A plan is run again and again; what has ended is listened to once.
    fn take(
        &mut self,
        plan: &Plan<'_>,
        folder: &AttemptFolder,
        ending: &Ending,
        earlier: &Earlier,
    ) -> StreamSummary {
        self.took_ms += ending.ended_at_ms.saturating_sub(ending.started_at_ms);
        let trusted = plan.context.trusted;
        let summary = trusted.summary(&folder.path).unwrap_or_else(|| {
            let summary = self.listen(plan.context.executor, folder, earlier);
            trusted.keep_summary(&folder.path, &summary);
            summary
        });
        self.count(&summary, Some(ending));
        summary
    }

    fn listen(
        &self,
        executor: &dyn Executor,
        folder: &AttemptFolder,
        earlier: &Earlier,
    ) -> StreamSummary {
        listen(executor, self.agent.like, self.agent.model.as_deref(), folder, earlier)
    }

    fn hear(&mut self, executor: &dyn Executor, folder: &AttemptFolder, ending: Option<&Ending>) {
        let earlier = self.earlier();
        let summary = self.listen(executor, folder, &earlier);
        self.count(&summary, ending);
    }

    fn count(&mut self, summary: &StreamSummary, ending: Option<&Ending>) {
        // A program that was never started has used nothing, and that is known.
        let has_run =
            !ending.is_some_and(|ending| matches!(ending.how, ExitReason::NotStarted { .. }));
        for one in summary.uses().iter().filter(|_| has_run) {
            forge_agents::signal::add(&mut self.uses, one);
        }
        self.known_micros = self.known_micros.saturating_add(summary.spent_micros());
        self.session = summary.session.clone().or(self.session.take());
        self.denied.extend(summary.denied.iter().cloned());
    }

    fn receipt(self) -> Receipt {
        let models: Vec<ModelUse> = self.uses.iter().map(model_use).collect();
        let mut receipt = Receipt::from_spent(spent(&self.uses));
        if receipt.spent.cost == Cost::Unknown {
            receipt.spent.at_least = Money(self.known_micros);
        }
        receipt.took_ms = self.took_ms;
        receipt.session = self.session;
        let FrozenAgent { name, model, .. } = self.agent;
        receipt.used = Some(Used { agent: name, account: self.account, asked_for: model, models });
        receipt.route = self.route;
        if !self.denied.is_empty() {
            receipt.notes.push(format!("it was not allowed: {}", self.denied.join("; ")));
        }
        receipt
    }
}

/// Whether a turn ended in a way that lets its result count.
fn ended(
    plan: &Plan<'_>,
    kind: AgentKind,
    end: &AgentEnd,
    folder: &AttemptFolder,
    ending: &Ending,
) -> Result<(), Outcome> {
    let fault = |class, what: &str| Err(Outcome::Fault { class, what: what.to_owned() });
    let blocked = |class, what: &str| Err(Outcome::Blocked { class, what: what.to_owned() });
    match end {
        AgentEnd::Done => Ok(()),
        AgentEnd::Limited(limit) => Err(Outcome::Limited {
            until: until(plan, ending, limit.until_ms, limit.delay_ms),
            what: limit.what.clone(),
        }),
        AgentEnd::Refused { what } => blocked(BlockerClass::ModelRefusal, what),
        AgentEnd::Overflowed { what } => blocked(BlockerClass::ContextOverflow, what),
        AgentEnd::OverBudget { what } => fault(FaultClass::OutOfBudget, what),
        AgentEnd::Failed { class, what } => match class {
            ErrorClass::Auth | ErrorClass::Permission | ErrorClass::NoModel => {
                blocked(BlockerClass::NoAccess, what)
            }
            ErrorClass::Overflow => blocked(BlockerClass::ContextOverflow, what),
            ErrorClass::Refusal => blocked(BlockerClass::ModelRefusal, what),
            // To try it again would come to the same.
            ErrorClass::Unusable => blocked(BlockerClass::ToolingFailure, what),
            ErrorClass::OutOfBudget => fault(FaultClass::OutOfBudget, what),
            ErrorClass::RateLimit
            | ErrorClass::UsageWindow
            | ErrorClass::Network
            | ErrorClass::Server => {
                Err(Outcome::Limited { until: until(plan, ending, None, None), what: what.clone() })
            }
            ErrorClass::Tooling
            | ErrorClass::NoSession
            | ErrorClass::Stopped
            | ErrorClass::Unknown => {
                let executor = plan.context.executor;
                let mut words = if kind.has_readable_output() {
                    last_words(executor, folder)
                } else {
                    String::new()
                };
                let errors = errors(executor, folder);
                if !what.contains(errors.trim()) {
                    words = format!("{words}\n{errors}");
                }
                let class =
                    if is_killed(&ending.how) { FaultClass::Killed } else { FaultClass::Crashed };
                // What a program says of its failure leaves out its exit code.
                let exit = if let ExitReason::Exited { code: code @ 1.. } = &ending.how
                    && !what.contains("exit code")
                {
                    format!(" (exit code {code})")
                } else {
                    String::new()
                };
                fault(class, &outcome::ended(&words, &format!("{what}{exit}")))
            }
        },
        AgentEnd::SessionGone => fault(FaultClass::Crashed, "its session is gone"),
        AgentEnd::Stopped(Watchdog::Wall) => {
            let minutes = plan.context.limits().wall_ms / MINUTE_MS;
            let what = format!("it took longer than {minutes} min (limits.wall_minutes)");
            fault(FaultClass::TimedOut, &what)
        }
        AgentEnd::Stopped(Watchdog::Silence) => {
            let minutes = plan.context.limits().silence_ms / MINUTE_MS;
            let what = format!("it printed nothing for {minutes} min (limits.silence_minutes)");
            fault(FaultClass::TimedOut, &what)
        }
        AgentEnd::Stopped(Watchdog::Output) => {
            fault(FaultClass::TooMuchOutput, "it printed more than allowed")
        }
        AgentEnd::NotStarted { why } => fault(FaultClass::NotStarted, why),
        AgentEnd::Interrupted => Err(Outcome::Interrupted),
        AgentEnd::Lost => Err(Outcome::Lost),
    }
}

/// Whether something outside ended a program.
fn is_killed(how: &ExitReason) -> bool {
    match how {
        ExitReason::Signalled { signal } => KILLED_BY.contains(signal),
        ExitReason::Exited { code } => KILLED_BY.contains(&(code - SIGNALS)),
        ExitReason::TimedOut
        | ExitReason::Silent
        | ExitReason::TooMuchOutput
        | ExitReason::OverBudget
        | ExitReason::Interrupted
        | ExitReason::NotStarted { .. } => false,
    }
}

/// When a call that has to wait goes on: when the provider says, or after longer and longer times.
fn until(plan: &Plan<'_>, ending: &Ending, until_ms: Option<u64>, delay_ms: Option<u64>) -> u64 {
    let setbacks = plan.run.unit(plan.call.unit()).setbacks;
    // A time that came while the turn ended is over, and nothing is left to wait for. One from before
    // it began is of a clock that is wrong.
    let announced = until_ms.filter(|until| *until > ending.started_at_ms);
    wait_until(plan.context.executor.now(), setbacks, announced, delay_ms)
}

fn wait_until(now: u64, setbacks: u32, announced: Option<u64>, delay_ms: Option<u64>) -> u64 {
    let back_off = (BACK_OFF_MS << setbacks.min(16)).min(BACK_OFF_MS_MAX);
    // A delay is the least that the provider wants. If that had been enough, it would have let us in.
    let delay = delay_ms.unwrap_or_default().max(back_off);
    let reset = announced.unwrap_or(now.saturating_add(delay));
    reset.clamp(now + WAIT_MS_MIN, now + WAIT_MS_MAX)
}

/// The folder of the last turn that was begun.
fn last_folder(plan: &Plan<'_>) -> AttemptFolder {
    let anew = plan.step_folder(ANEW);
    if plan.context.trusted.knows(&anew.path) { anew } else { plan.folder() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_waited_for_as_long_as_was_said_and_a_month_at_most() {
        const DAY_MS: u64 = 86_400_000;
        assert_eq!(wait_until(5, 0, Some(9 * DAY_MS), None), 9 * DAY_MS);
        assert_eq!(wait_until(5, 0, Some(90 * DAY_MS), None), 5 + 31 * DAY_MS);
        assert_eq!(wait_until(5, 0, Some(0), None), 5 + WAIT_MS_MIN);
        // Nobody said how long: longer each time, and not for ever.
        assert_eq!(wait_until(5, 0, None, None), 5 + BACK_OFF_MS);
        assert_eq!(wait_until(5, 2, None, None), 5 + 4 * BACK_OFF_MS);
        assert_eq!(wait_until(5, 99, None, None), 5 + BACK_OFF_MS_MAX);
        assert_eq!(wait_until(5, 0, None, Some(DAY_MS)), 5 + DAY_MS);
        assert_eq!(wait_until(5, 2, None, Some(1)), 5 + 4 * BACK_OFF_MS);
    }
}
