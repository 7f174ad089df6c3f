//! What a watched unit does, as events for people and programs.

use forge_core::{Run, Time, id::CallId, money::Spent, routing::Route};
use forge_driver::casting;
use forge_project::settings::{Frozen, Player};
use schemars::JsonSchema;
use serde::Serialize;

/// The form in which streams are passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As events.
    Signals,
    /// As the printed bytes, and nothing else.
    Bytes,
}

/// Output of a watched unit.
#[derive(Debug)]
pub enum WatchOutput<'a> {
    Event(UnitEvent),
    /// A piece of a stream.
    Bytes(&'a [u8]),
}

/// An event of the unit. The time is missing if the event happened before `forge watch` was started and its time was
/// not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "what", rename_all = "kebab-case")]
#[schemars(rename = "Seen")]
pub enum UnitEvent {
    /// A fact of the run about the unit.
    Fact {
        at: Time,
        /// The fact as a sentence.
        sentence: String,
        /// Whether `forge watch` prints it: not for passed checks, nor for what the stream already shows.
        is_milestone: bool,
    },
    /// The following events belong to this call.
    Call {
        /// When it was started.
        at: Time,
        call: String,
        /// The agent, unless a command runs.
        agent: Option<String>,
        /// The model that it is asked to use.
        model: Option<String>,
        /// The tier, effort and thinking that it is asked for, and why.
        route: Option<Route>,
        is_over: bool,
    },
    /// A turn of the agent begins.
    Turn { turn: TurnName },
    /// The program has started.
    Began {
        at: Option<Time>,
        /// The model that it uses.
        model: Option<String>,
        /// Its own version.
        version: Option<String>,
    },
    /// The agent said something.
    Said { at: Option<Time>, text: String },
    /// The agent uses a tool.
    UsedTool {
        at: Option<Time>,
        name: String,
        /// The argument that matters, in one line.
        about: String,
    },
    /// The agent asked for a permission, which was refused.
    Asked { at: Option<Time>, text: String },
    /// The provider reported a rate limit.
    Limit {
        at: Option<Time>,
        text: String,
        /// The end of the limit, if it is known.
        until: Option<Time>,
    },
    /// A line of text for people.
    Printed { at: Option<Time>, text: String },
    /// The use of the call so far.
    Spent { at: Option<Time>, spent: Spent },
    /// A turn has ended.
    TurnEnded {
        turn: TurnName,
        /// How the turn ended, in words.
        how: String,
        /// The use of the call so far.
        spent: Spent,
    },
    /// The end of the stream: the call has finished or is waiting.
    Over {
        why: String,
        /// The next command, if there is one.
        next: Option<String>,
    },
}

/// A turn of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TurnName {
    /// The first turn, in a new session.
    First,
    /// The first turn, in the session of an interrupted call.
    Resumed,
    /// The first turn again, in a new session, because the old session no longer exists.
    Anew,
    /// A turn that asks the agent to fix an invalid result.
    Repair,
}

/// A call whose stream can be followed.
#[derive(Clone)]
pub(crate) struct StartedCall {
    pub(crate) at: Time,
    pub(crate) call: CallId,
    pub(crate) ordinal: u32,
    pub(crate) turn: TurnName,
    pub(crate) age: Age,
}

/// Returns true if a call prints something that can be followed. A unit that is gone may have.
pub(crate) fn has_stream(run: &Run, call: &CallId) -> bool {
    !run.has(call.unit()) || run.find_call_kind(call).is_some_and(|kind| kind.has_stream())
}

/// Returns the role that an agent plays in a call.
pub(crate) fn role(run: &Run, call: &CallId) -> Option<String> {
    run.find_call_kind(call)?.role().map(str::to_owned)
}

/// Returns the agent of a call, with the model that it is told to use there.
pub(crate) fn player(run: &Run, frozen: &Frozen, call: &CallId) -> Option<Player> {
    casting::player(frozen, run, call)
}

/// The age of output: printed before or after the watching began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// It was there before anybody looked.
    Old,
    New,
}
