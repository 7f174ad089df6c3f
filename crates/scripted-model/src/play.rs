//! A step becomes bytes, and what happens to the connection after them.
//!
//! Which step it is was decided before, and when the bytes go out is decided by the server.

use std::collections::BTreeMap;

use crate::{
    captures::{TextBetween, substitute, substitute_value},
    http::{BodyLength, LAST_CHUNK, chunk, head},
    script::{AnswerEnding, ScriptStep, ToolCall},
    wire::format::{ModelReply, ParsedRequest, ReplyBlock, ReplyDelivery, StopReason, WireFormat},
};

/// An answer as it goes out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    /// Written and sent one after the other.
    pub(crate) pieces: Vec<String>,
    pub(crate) then: AfterAnswer,
}

/// State of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterAnswer {
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

/// Returns a whole document.
pub(crate) fn document(code: u16, headers: &BTreeMap<String, String>, body: &str) -> HttpAnswer {
    let head = head(code, JSON, headers, BodyLength::Bytes(body.len()));
    HttpAnswer { pieces: vec![head + body], then: AfterAnswer::Listen }
}

/// Renders the answer of a step to a request. `id` is unique for the server.
pub(crate) fn answer(
    step: &ScriptStep,
    ask: &ParsedRequest,
    format: &dyn WireFormat,
    rules: &BTreeMap<String, TextBetween>,
    id: &str,
) -> Result<HttpAnswer, String> {
    let mut headers = step.headers.clone();
    headers.insert("request-id".to_owned(), format!("req_{id}"));
    let why = match &step.ending {
        AnswerEnding::Status { code, message } => {
            return Ok(document(*code, &headers, &format.failure(*code, message)));
        }
        AnswerEnding::Overflow { tokens, maximum } => {
            let (code, message) = format.overflow(*tokens, *maximum);
            return Ok(document(code, &headers, &format.failure(code, &message)));
        }
        AnswerEnding::StallBeforeHeaders => {
            return Ok(HttpAnswer { pieces: Vec::new(), then: AfterAnswer::Silence });
        }
        AnswerEnding::Refusal => StopReason::Refusal,
        AnswerEnding::MaxTokens => StopReason::MaxTokens,
        AnswerEnding::Whole
        | AnswerEnding::MidstreamError
        | AnswerEnding::Cut
        | AnswerEnding::Stall => {
            if step.calls.is_empty() {
                StopReason::Done
            } else {
                StopReason::Tools
            }
        }
    };
    let blocks = blocks(step, ask, format, rules, id)?;
    let usage = step.usage.unwrap_or_default();
    let reply =
        ModelReply { id: id.to_owned(), model: ask.model.clone(), blocks, stop: why, usage };
    Ok(match ask.delivery {
        ReplyDelivery::Stream => streamed(&step.ending, &headers, &reply, format),
        ReplyDelivery::Whole => in_one_document(&step.ending, &headers, &reply, format),
    })
}

/// Returns the parts of an answer.
fn blocks(
    step: &ScriptStep,
    ask: &ParsedRequest,
    format: &dyn WireFormat,
    rules: &BTreeMap<String, TextBetween>,
    id: &str,
) -> Result<Vec<ReplyBlock>, String> {
    let mut blocks = Vec::new();
    if let Some(text) = &step.thinking {
        blocks.push(ReplyBlock::Thinking(substitute(text, rules, &ask.input_texts)?));
    }
    if let Some(text) = &step.say {
        blocks.push(ReplyBlock::Text(substitute(text, rules, &ask.input_texts)?));
    }
    for (number, call) in step.calls.iter().enumerate() {
        let (name, input) = match call {
            ToolCall::Raw { tool, input } => (tool.clone(), input.clone()),
            ToolCall::Neutral(operation) => format.tool(operation, &ask.tools)?,
        };
        let input = substitute_value(&input, rules, &ask.input_texts)?;
        blocks.push(ReplyBlock::Tool { id: format!("{id}_{number}"), name, input });
    }
    Ok(blocks)
}

/// Returns the answer as events, whole or broken off in the middle.
fn streamed(
    ending: &AnswerEnding,
    headers: &BTreeMap<String, String>,
    reply: &ModelReply,
    format: &dyn WireFormat,
) -> HttpAnswer {
    let mut events = format.events(reply);
    let then = match ending {
        AnswerEnding::MidstreamError => {
            events.truncate(events.len() / 2);
            events.push(format.error_event());
            AfterAnswer::Listen
        }
        AnswerEnding::Cut => {
            events.truncate(events.len() / 2);
            AfterAnswer::Close
        }
        AnswerEnding::Stall => {
            events.clear();
            AfterAnswer::Silence
        }
        AnswerEnding::Whole
        | AnswerEnding::Refusal
        | AnswerEnding::MaxTokens
        | AnswerEnding::Status { .. }
        | AnswerEnding::Overflow { .. }
        | AnswerEnding::StallBeforeHeaders => AfterAnswer::Listen,
    };
    let mut pieces = vec![head(200, EVENTS, headers, BodyLength::Chunked)];
    pieces.extend(events.iter().map(|event| chunk(event)));
    match then {
        AfterAnswer::Listen => pieces.push(LAST_CHUNK.to_owned()),
        AfterAnswer::Close | AfterAnswer::Silence => {}
    }
    HttpAnswer { pieces, then }
}

/// Returns the answer as one document, whole or broken off in the middle.
fn in_one_document(
    ending: &AnswerEnding,
    headers: &BTreeMap<String, String>,
    reply: &ModelReply,
    format: &dyn WireFormat,
) -> HttpAnswer {
    let body = format.whole(reply);
    let promised = || head(200, JSON, headers, BodyLength::Bytes(body.len()));
    match ending {
        AnswerEnding::MidstreamError => document(500, headers, &format.failure(500, "Overloaded")),
        AnswerEnding::Cut => {
            let half: String = body.chars().take(body.chars().count() / 2).collect();
            HttpAnswer { pieces: vec![promised(), half], then: AfterAnswer::Close }
        }
        AnswerEnding::Stall => HttpAnswer { pieces: vec![promised()], then: AfterAnswer::Silence },
        AnswerEnding::Whole
        | AnswerEnding::Refusal
        | AnswerEnding::MaxTokens
        | AnswerEnding::Status { .. }
        | AnswerEnding::Overflow { .. }
        | AnswerEnding::StallBeforeHeaders => document(200, headers, &body),
    }
}
