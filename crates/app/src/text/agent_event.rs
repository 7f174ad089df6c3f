//! Formats one event of an agent's stream as a label and a text.

use forge_api::watch::events::{TurnName, UnitEvent};
use forge_core::{
    Time,
    id::CallId,
    money::{Cost, Spent},
    routing::Route,
    view::moment,
};

use crate::{format, text_width};

/// The width of a label.
pub(crate) const LABEL: usize = 6;
/// The width of a time and a label.
const INDENT: usize = 8 + 2 + LABEL + 1;

/// An event for people.
pub(crate) struct EventText {
    pub(crate) at: Option<Time>,
    /// The kind of the event, in one word.
    pub(crate) label: &'static str,
    pub(crate) text: String,
}

/// Returns true if an event is for people: every call has a first turn, and a passed check or an unnamed model says
/// nothing about the agent.
pub(crate) fn is_printed(seen: &UnitEvent) -> bool {
    match seen {
        UnitEvent::Turn { turn } => *turn != TurnName::First,
        UnitEvent::Began { model, version, .. } => model.is_some() || version.is_some(),
        UnitEvent::Fact { is_milestone, .. } => *is_milestone,
        UnitEvent::Call { .. }
        | UnitEvent::Said { .. }
        | UnitEvent::UsedTool { .. }
        | UnitEvent::Asked { .. }
        | UnitEvent::Limit { .. }
        | UnitEvent::Printed { .. }
        | UnitEvent::Spent { .. }
        | UnitEvent::TurnEnded { .. }
        | UnitEvent::Over { .. } => true,
    }
}

pub(crate) fn event_text(seen: &UnitEvent) -> EventText {
    let (at, label, text) = match seen {
        UnitEvent::Fact { at, sentence, .. } => (Some(*at), "", sentence.clone()),
        UnitEvent::Call { at, call, agent, model, route, is_over: _ } => {
            let call = call.parse::<CallId>().map_or_else(|_| call.clone(), |call| call.label());
            let route = route.map(Route::to_words).filter(|words| !words.is_empty());
            let parts = [Some(&call), agent.as_ref(), model.as_ref(), route.as_ref()];
            let parts = parts.into_iter().flatten();
            (Some(*at), "", parts.map(String::as_str).collect::<Vec<&str>>().join(" · "))
        }
        UnitEvent::Turn { turn } => (None, "turn", turn_text(*turn).to_owned()),
        UnitEvent::Began { at, model, version } => {
            let model = model.as_ref().map(|model| format!("model {model}"));
            let version = version.as_ref().map(|version| format!("version {version}"));
            let parts: Vec<String> = model.into_iter().chain(version).collect();
            (*at, "start", parts.join(", "))
        }
        UnitEvent::Said { at, text } => (*at, "says", text.clone()),
        UnitEvent::UsedTool { at, name, about } => (*at, "tool", format!("{name}  {about}")),
        UnitEvent::Asked { at, text } => (*at, "denied", text.clone()),
        UnitEvent::Limit { at, text, until } => {
            let until = until.map(|until| format!(" until {}", moment(until)));
            (*at, "limit", format!("{text}{}", until.unwrap_or_default()))
        }
        UnitEvent::Printed { at, text } => (*at, "output", text.clone()),
        UnitEvent::Spent { at, spent } => (*at, "cost", format!("{} so far", spent_text(spent))),
        UnitEvent::TurnEnded { turn, how, spent } => {
            let spent = if *spent == Spent::NOTHING {
                String::new()
            } else {
                format!(" · {}", spent_text(spent))
            };
            let turn = match turn {
                TurnName::First | TurnName::Resumed => "",
                TurnName::Anew | TurnName::Repair => "this turn: ",
            };
            (None, "", format!("{turn}{how}{spent}"))
        }
        UnitEvent::Over { why, next } => {
            let next = next.as_ref().map(|next| format!("\nNext: {next}"));
            (None, "", format!("{why}{}", next.unwrap_or_default()))
        }
    };
    EventText { at, label, text }
}

/// Wraps the long lines of an event after its time and its label; its own line breaks stay.
pub(crate) fn event_paragraph(event: &EventText, width: usize) -> String {
    let time = event.at.map(format::clock_time).unwrap_or_default();
    let room = width.saturating_sub(INDENT).max(20);
    let mut lines = Vec::new();
    for line in event.text.trim_end().lines() {
        if text_width::width(line) <= room {
            lines.push(line.to_owned());
        } else {
            lines.extend(format::wrap(line, 0, room).lines().map(str::to_owned));
        }
    }
    let between = format!("\n{:INDENT$}", "");
    let head = format!("{time:<8}  {:<LABEL$} ", event.label);
    format!("{head}{}", lines.join(&between)).trim_end().to_owned()
}

const fn turn_text(turn: TurnName) -> &'static str {
    match turn {
        TurnName::First => "first turn",
        TurnName::Resumed => "continues in the session that was interrupted",
        TurnName::Anew => "the session was gone: starts again in a new one",
        TurnName::Repair => "asked to fix its result, which could not be used",
    }
}

fn spent_text(spent: &Spent) -> String {
    let cost = match spent.cost {
        Cost::Known(money) => money.to_string(),
        Cost::Estimated(money) => format!("about {money}"),
        Cost::Unknown => "cost unknown".to_owned(),
    };
    let tokens = format::tokens(spent.tokens.total()).map(|tokens| format!(" · {tokens}"));
    format!("{cost}{}", tokens.unwrap_or_default())
}
