//! What a watched unit does, as events for people and programs.

use forge_core::{Run, Time, id::CallId, money::Spent};
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

/// Something that happened in the unit. A time is missing where it happened before anybody watched, and
/// nobody noted when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "what", rename_all = "kebab-case")]
#[schemars(rename = "Seen")]
pub enum UnitEvent {
    /// A fact of the run about the unit.
    Fact {
        at: Time,
        /// As a sentence.
        sentence: String,
    },
    /// From here on it is about this call.
    Call {
        /// When it was started.
        at: Time,
        call: String,
        /// The agent, unless a command runs.
        agent: Option<String>,
        /// Which model it is asked to use.
        model: Option<String>,
        is_over: bool,
    },
    /// A turn of the agent begins.
    Turn { turn: TurnName },
    /// The program is up.
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
    /// The agent asked for something that nobody could grant.
    Asked { at: Option<Time>, text: String },
    /// The provider does not serve it now.
    Limit {
        at: Option<Time>,
        text: String,
        /// Until when, if that was said.
        until: Option<Time>,
    },
    /// A line for people.
    Printed { at: Option<Time>, text: String },
    /// The use of the call so far.
    Spent { at: Option<Time>, spent: Spent },
    /// A turn has ended.
    TurnEnded {
        turn: TurnName,
        /// How, in words.
        how: String,
        /// The use of the call so far.
        spent: Spent,
    },
    /// Nothing more will come, for now or for good.
    Over {
        why: String,
        /// What to do next, if something can be done.
        next: Option<String>,
    },
}

/// A turn of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TurnName {
    /// The first one, in a new session.
    First,
    /// The first one, in the session of a call that was interrupted.
    Resumed,
    /// The session was gone, so it began anew.
    Anew,
    /// The result could not be used.
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

/// The age of output: printed before or after the watching began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// It was there before anybody looked.
    Old,
    New,
}
