//! A step becomes bytes, and what happens to the connection after them.
//!
//! Which step it is was decided before, and when the bytes go out is decided by the server.

use std::collections::BTreeMap;

use crate::{
    captures::{Between, filled, filled_value},
    http::{LAST_CHUNK, Length, chunk, head},
    script::{Call, Ending, Step},
    wire::format::{Ask, Block, Delivery, Format, Reply, Stop},
};

/// An answer as it goes out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Written and sent one after the other.
    pub(crate) pieces: Vec<String>,
    /// What happens then.
    pub(crate) then: Then,
}

/// What happens to the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next request may come.
    Listen,
    /// It is closed.
    Close,
    /// Nothing, until the client goes.
    Silence,
}

/// Kinds of content.
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream; charset=utf-8";

/// A whole document.
pub(crate) fn document(code: u16, headers: &BTreeMap<String, String>, body: &str) -> Answer {
    let head = head(code, JSON, headers, Length::Bytes(body.len()));
    Answer { pieces: vec![head + body], then: Then::Listen }
}

/// What a step answers to a request. `id` is unique for the server.
pub(crate) fn answer(
    step: &Step,
    ask: &Ask,
    format: &dyn Format,
    rules: &BTreeMap<String, Between>,
    id: &str,
) -> Result<Answer, String> {
    let mut headers = step.headers.clone();
    headers.insert("request-id".to_owned(), format!("req_{id}"));
    let why = match &step.ending {
        Ending::Status { code, message } => {
            return Ok(document(*code, &headers, &format.failure(*code, message)));
        }
        Ending::Overflow { tokens, maximum } => {
            let (code, message) = format.overflow(*tokens, *maximum);
            return Ok(document(code, &headers, &format.failure(code, &message)));
        }
        Ending::StallBeforeHeaders => {
            return Ok(Answer { pieces: Vec::new(), then: Then::Silence });
        }
        Ending::Refusal => Stop::Refusal,
        Ending::MaxTokens => Stop::MaxTokens,
        Ending::Whole | Ending::MidstreamError | Ending::Cut | Ending::Stall => {
            if step.calls.is_empty() { Stop::Done } else { Stop::Tools }
        }
    };
    let blocks = blocks(step, ask, format, rules, id)?;
    let usage = step.usage.unwrap_or_default();
    let reply = Reply { id: id.to_owned(), model: ask.model.clone(), blocks, stop: why, usage };
    Ok(match ask.delivery {
        Delivery::Stream => streamed(&step.ending, &headers, &reply, format),
        Delivery::Whole => in_one(&step.ending, &headers, &reply, format),
    })
}

/// The parts of an answer.
fn blocks(
    step: &Step,
    ask: &Ask,
    format: &dyn Format,
    rules: &BTreeMap<String, Between>,
    id: &str,
) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    if let Some(text) = &step.thinking {
        blocks.push(Block::Thinking(filled(text, rules, &ask.told)?));
    }
    if let Some(text) = &step.say {
        blocks.push(Block::Text(filled(text, rules, &ask.told)?));
    }
    for (number, call) in step.calls.iter().enumerate() {
        let (name, input) = match call {
            Call::Raw { tool, input } => (tool.clone(), input.clone()),
            Call::Neutral(operation) => format.tool(operation, &ask.tools)?,
        };
        let input = filled_value(&input, rules, &ask.told)?;
        blocks.push(Block::Tool { id: format!("{id}_{number}"), name, input });
    }
    Ok(blocks)
}

/// The answer as events, whole or broken off in the middle.
fn streamed(
    ending: &Ending,
    headers: &BTreeMap<String, String>,
    reply: &Reply,
    format: &dyn Format,
) -> Answer {
    let mut events = format.events(reply);
    let then = match ending {
        Ending::MidstreamError => {
            events.truncate(events.len() / 2);
            events.push(format.error_event());
            Then::Listen
        }
        Ending::Cut => {
            events.truncate(events.len() / 2);
            Then::Close
        }
        Ending::Stall => {
            events.clear();
            Then::Silence
        }
        Ending::Whole
        | Ending::Refusal
        | Ending::MaxTokens
        | Ending::Status { .. }
        | Ending::Overflow { .. }
        | Ending::StallBeforeHeaders => Then::Listen,
    };
    let mut pieces = vec![head(200, EVENTS, headers, Length::Chunked)];
    pieces.extend(events.iter().map(|event| chunk(event)));
    match then {
        Then::Listen => pieces.push(LAST_CHUNK.to_owned()),
        Then::Close | Then::Silence => {}
    }
    Answer { pieces, then }
}

/// The answer as one document, whole or broken off in the middle.
fn in_one(
    ending: &Ending,
    headers: &BTreeMap<String, String>,
    reply: &Reply,
    format: &dyn Format,
) -> Answer {
    let body = format.whole(reply);
    let promised = || head(200, JSON, headers, Length::Bytes(body.len()));
    match ending {
        Ending::MidstreamError => document(500, headers, &format.failure(500, "Overloaded")),
        Ending::Cut => {
            let half: String = body.chars().take(body.chars().count() / 2).collect();
            Answer { pieces: vec![promised(), half], then: Then::Close }
        }
        Ending::Stall => Answer { pieces: vec![promised()], then: Then::Silence },
        Ending::Whole
        | Ending::Refusal
        | Ending::MaxTokens
        | Ending::Status { .. }
        | Ending::Overflow { .. }
        | Ending::StallBeforeHeaders => document(200, headers, &body),
    }
}
