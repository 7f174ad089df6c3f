//! Formats one event of an agent's stream as a mark and a text.

use forge_api::watch::events::{TurnName, UnitEvent};
use forge_core::{
    Time,
    money::{Cost, Spent},
    view::moment,
};

use crate::{format, text_width};

/// The width of a time and a mark.
pub(crate) const INDENT: usize = 12;

/// How prominently an event is shown.
pub(crate) enum Emphasis {
    Normal,
    Dimmed,
}

/// Formats an event: its time, its mark, its text, and how prominent it is.
pub(crate) fn event_text(seen: &UnitEvent) -> (Option<Time>, char, String, Emphasis) {
    match seen {
        UnitEvent::Fact { at, sentence } => (Some(*at), ' ', sentence.clone(), Emphasis::Normal),
        UnitEvent::Call { at, call, agent, model, is_over } => {
            let who = agent.as_ref().map(|agent| format!(", played by {agent}"));
            let model = model.as_ref().map(|model| format!(" with {model}"));
            let over = if *is_over { " (it is over)" } else { "" };
            let text = format!(
                "{call} started{}{}{over}",
                who.unwrap_or_default(),
                model.unwrap_or_default()
            );
            (Some(*at), '=', text, Emphasis::Normal)
        }
        UnitEvent::Turn { turn } => (None, '-', turn_text(*turn).to_owned(), Emphasis::Dimmed),
        UnitEvent::Began { at, model, version } => {
            let model = model.as_deref().unwrap_or("an unknown model");
            let version = version.as_ref().map(|version| format!(", version {version}"));
            (
                *at,
                '-',
                format!("is up with {model}{}", version.unwrap_or_default()),
                Emphasis::Dimmed,
            )
        }
        UnitEvent::Said { at, text } => (*at, '»', text.clone(), Emphasis::Normal),
        UnitEvent::UsedTool { at, name, about } => {
            (*at, '>', format!("{name}  {about}"), Emphasis::Dimmed)
        }
        UnitEvent::Asked { at, text } => {
            (*at, '?', format!("nobody could grant: {text}"), Emphasis::Normal)
        }
        UnitEvent::Limit { at, text, until } => {
            let until = until.map(|until| format!(" until {}", moment(until)));
            (*at, '!', format!("{text}{}", until.unwrap_or_default()), Emphasis::Normal)
        }
        UnitEvent::Printed { at, text } => (*at, '|', text.clone(), Emphasis::Normal),
        UnitEvent::Spent { at, spent } => {
            (*at, '-', format!("{} so far", spent_text(spent)), Emphasis::Dimmed)
        }
        UnitEvent::TurnEnded { turn, how, spent } => {
            let spent = if *spent == Spent::NOTHING {
                String::new()
            } else {
                format!(" ({})", spent_text(spent))
            };
            let turn = match turn {
                TurnName::First | TurnName::Resumed => "",
                TurnName::Anew | TurnName::Repair => "this turn: ",
            };
            (None, '-', format!("{turn}{how}{spent}"), Emphasis::Dimmed)
        }
        UnitEvent::Over { why, next } => {
            let next = next.as_ref().map(|next| format!("\nnext: {next}"));
            (None, '=', format!("{why}{}", next.unwrap_or_default()), Emphasis::Normal)
        }
    }
}

/// Wraps the long lines of a text after a head as wide as the indent; its own line breaks stay.
pub(crate) fn indented_paragraph(head: &str, text: &str, width: usize) -> String {
    let room = width.saturating_sub(INDENT).max(20);
    let mut lines = Vec::new();
    for line in text.trim_end().lines() {
        if text_width::width(line) <= room {
            lines.push(line.to_owned());
        } else {
            lines.extend(format::wrap(line, 0, room).lines().map(str::to_owned));
        }
    }
    let between = format!("\n{:INDENT$}", "");
    format!("{head}{}", lines.join(&between)).trim_end().to_owned()
}

const fn turn_text(turn: TurnName) -> &'static str {
    match turn {
        TurnName::First => "first turn",
        TurnName::Resumed => "goes on in the session that was interrupted",
        TurnName::Anew => "the session was gone: begins anew",
        TurnName::Repair => "repair turn: its result could not be used",
    }
}

fn spent_text(spent: &Spent) -> String {
    let cost = match spent.cost {
        Cost::Known(money) => money.to_string(),
        Cost::Estimated(money) => format!("about {money}"),
        Cost::Unknown => "at an unknown cost".to_owned(),
    };
    let tokens = format::tokens(spent.tokens.total()).map(|tokens| format!(", {tokens}"));
    format!("{cost}{}", tokens.unwrap_or_default())
}
