//! Gives each call of an agent its seat before it begins, and keeps what it tells of that seat when it has ended.
//!
//! Not here: what is known of seats, and the choice among them (`seats`).
//!
//! Invariant: the seat of a call is a fact before its program starts, and does not change while it is under way.

use forge_agents::{ErrorClass, Limit, UsageWindow};
use forge_core::{
    Report, Run,
    event::{Outcome, Receipt},
    id::CallId,
    money::Spent,
    routing::{AgentOrigin, Assignment},
    verdict::BlockerClass,
};

use crate::{
    Error,
    casting::usual_player,
    context::RunContext,
    outcome::without_result,
    plan::{Pending, Plan},
    seats::{Pick, Seat, SeatState, keep_state, pick},
};

/// How long an account is left alone whose provider did not say for how long it is used up.
const USED_UP_MS: u64 = 5 * 3_600_000;
/// The same for too many requests.
const RATE_MS: u64 = 5 * 60_000;
/// Nothing waits for less.
const WAIT_MS_MIN: u64 = 1_000;

/// Gives a call its seat, before anything of it has begun. Where there is nothing to choose, nothing is done.
pub fn admit(plan: &Plan<'_>) -> Result<(), Pending> {
    let Plan { context, run, call, .. } = *plan;
    if plan.has_begun() {
        return Ok(());
    }
    let now = context.executor.now();
    let Some(Seating { usual, why, seats }) = Seating::new(context, run, call, now)? else {
        return Ok(());
    };
    if let Some(to) = run.assignment(call) {
        let own = |(seat, _): &&(Seat<'_>, SeatState)| {
            seat.agent == to.agent && seat.account.map(|one| &one.name) == to.account.as_ref()
        };
        return match seats.iter().find(own) {
            Some((seat, state)) => match state.until(now) {
                Some(until) => Err(waits(plan, seat, until)),
                None => Ok(()),
            },
            // It was there when it was chosen.
            None => Err(plan.interrupted()),
        };
    }
    let to = match pick(seats, context.frozen.handoff_threshold, now) {
        Pick::Seat(seat) | Pick::Later(seat, _) => seat,
        Pick::None => {
            let what = format!(
                "no account of `{usual}` can be used: its login is over, or its key is not set"
            );
            return Err(plan.ends(Outcome::Blocked { class: BlockerClass::NoAccess, what }));
        }
    };
    let why = if to.agent == usual { why } else { AgentOrigin::Limit };
    let account = to.account.map(|account| account.name.clone());
    let to = Assignment { agent: to.agent.to_owned(), account, why };
    Err(Pending::RecordFirst(Box::new(Report::Assigned { call: call.clone(), to })))
}

/// The agents and accounts of which a call gets one.
struct Seating<'c> {
    /// The agent that works on it while no limit is in the way.
    usual: &'c str,
    /// Why it is that one.
    why: AgentOrigin,
    /// With what is known of them.
    seats: Vec<(Seat<'c>, SeatState)>,
}

impl<'c> Seating<'c> {
    /// Returns what there is to choose from. Nothing, where nobody set an account or who takes over.
    fn new(
        context: &RunContext<'c>,
        run: &Run,
        call: &CallId,
        now: u64,
    ) -> Result<Option<Self>, Error> {
        let frozen = context.frozen;
        let Some(player) = usual_player(frozen, run, call) else { return Ok(None) };
        let why = player.route.map(|route| route.agent_from).unwrap_or_default();
        if player.agent.like.plays_scenario() {
            return Ok(None);
        }
        let usual = frozen.agents.get_key_value(&player.agent.name);
        let Some((usual, _)) = usual else { return Ok(None) };
        let mut seats = context.seats.of_agent(run, usual, now)?;
        let has_accounts = !matches!(seats.as_slice(), [Seat { account: None, .. }]);
        for other in frozen.fallback.iter().filter(|name| *name != usual) {
            seats.extend(context.seats.of_agent(run, other, now)?);
        }
        if !has_accounts && seats.len() == 1 {
            return Ok(None);
        }
        let known = |seat: Seat<'c>| {
            let state = context.seats.state(context.disk, &seat);
            (seat, state)
        };
        let seats = seats.into_iter().map(known).collect();
        Ok(Some(Self { usual, why, seats }))
    }
}

/// The call waits for its seat, which is used up.
fn waits(plan: &Plan<'_>, seat: &Seat<'_>, until: u64) -> Pending {
    let what = format!("the limit of {} is reached, and no other is free", seat.words());
    let used_up = Some(seat.name().to_owned());
    let receipt = Receipt { used_up, ..Receipt::from_spent(Spent::NOTHING) };
    let outcome = Outcome::Limited { until, what };
    Pending::Report(Box::new(without_result(plan.call, outcome, receipt)))
}

/// Keeps what a turn told of its seat, and says how the call ends if that seat is used up: another one takes over at once, or it waits for
/// the first that is free again. Nothing, if the call has no seat of several, or waits for something else.
pub fn leave(
    plan: &Plan<'_>,
    windows: &[UsageWindow],
    limit: Option<&Limit>,
) -> Result<Option<(Outcome, String)>, Error> {
    let Plan { context, run, call, .. } = *plan;
    let now = context.executor.now();
    let Some(to) = run.assignment(call) else { return Ok(None) };
    // Of an account that was taken out of the settings meanwhile, nothing needs to be known.
    let Ok(account) = context.seats.account_of(run, call) else { return Ok(None) };
    let seat = Seat { agent: &to.agent, account };
    let before = context.seats.state(context.disk, &seat);
    let lasts = limit.and_then(|limit| match limit.class {
        ErrorClass::UsageWindow => Some(USED_UP_MS),
        ErrorClass::RateLimit => Some(limit.delay_ms.unwrap_or_default().max(RATE_MS)),
        ErrorClass::Auth
        | ErrorClass::Network
        | ErrorClass::Server
        | ErrorClass::Overflow
        | ErrorClass::Refusal
        | ErrorClass::Tooling
        | ErrorClass::Unusable
        | ErrorClass::Permission
        | ErrorClass::NoModel
        | ErrorClass::NoSession
        | ErrorClass::OutOfBudget
        | ErrorClass::Stopped
        | ErrorClass::Unknown => None,
    });
    let announced = limit.and_then(|limit| limit.until_ms).filter(|until| *until > now);
    let until_ms = lasts.map(|lasts| announced.unwrap_or(now + lasts)).or(before.until(now));
    let windows = if windows.is_empty() { before.windows } else { windows.to_vec() };
    let state = SeatState { until_ms, windows, used_at_ms: now, run: context.id.to_owned() };
    if let Some(folder) = &context.seats.folder {
        keep_state(folder, context.disk, &seat, &state)?;
    }
    let (Some(limit), Some(_)) = (limit, lasts) else { return Ok(None) };
    let seats = Seating::new(context, run, call, now)?.map(|seating| seating.seats);
    let seats = seats.unwrap_or_default();
    let (until, then) = match pick(seats, context.frozen.handoff_threshold, now) {
        Pick::Seat(next) => (now, format!("{} takes over", next.words())),
        Pick::Later(next, until) => {
            (until, format!("{} is the first that is free again", next.words()))
        }
        Pick::None => (until_ms.unwrap_or(now), "no other can".to_owned()),
    };
    let said = context.redacted(limit.what.as_bytes());
    let said = String::from_utf8_lossy(&said);
    let what = format!("{said} ({}); {then}", seat.words());
    let until = until.max(now + WAIT_MS_MIN);
    Ok(Some((Outcome::Limited { until, what }, seat.name().to_owned())))
}
