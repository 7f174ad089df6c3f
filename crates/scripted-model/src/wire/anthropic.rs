//! The Anthropic `MessagesFormat` API, as Claude Code 2.1 uses it. All its words are in this file.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    script::{TokenUsage, ToolOperation},
    wire::format::{
        ModelReply, ParsedRequest, ReplyBlock, ReplyDelivery, RequestPurpose, StopReason,
        WireFormat,
    },
};

/// `POST /v1/messages`.
pub(super) struct MessagesFormat;

impl WireFormat for MessagesFormat {
    fn purpose(&self, path: &str) -> Option<RequestPurpose> {
        match path {
            "/v1/messages" => Some(RequestPurpose::Answer),
            "/v1/messages/count_tokens" => Some(RequestPurpose::Count),
            _ => None,
        }
    }

    fn ask(&self, _path: &str, body: &Value) -> Result<ParsedRequest, String> {
        let field = |name: &str| body.get(name).ok_or_else(|| format!("the body has no `{name}`"));
        let messages = field("messages")?;
        let list = messages.as_array().ok_or("`messages` is not a list")?;
        let newest = list.last().ok_or("`messages` is empty")?;
        let mut input_texts = Vec::new();
        let mut model_texts = Vec::new();
        for message in list.iter().rev() {
            let text = plain_text(message.get("content").unwrap_or(&Value::Null));
            match message.get("role").and_then(Value::as_str) {
                Some("assistant") => model_texts.push(text),
                Some(_) | None => input_texts.push(text),
            }
        }
        let system = body.get("system").map(plain_text).unwrap_or_default();
        input_texts.push(system.clone());
        let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
        Ok(ParsedRequest {
            model: field("model")?.as_str().ok_or("`model` is not a text")?.to_owned(),
            delivery: match body.get("stream") {
                Some(Value::Bool(true)) => ReplyDelivery::Stream,
                Some(_) | None => ReplyDelivery::Whole,
            },
            tools: tools
                .filter_map(|tool| tool.get("name").and_then(Value::as_str))
                .map(str::to_owned)
                .collect(),
            system,
            last: plain_text(newest.get("content").unwrap_or(&Value::Null)),
            messages: messages.clone(),
            input_texts,
            model_texts,
        })
    }

    fn session<'a>(&self, headers: &'a BTreeMap<String, String>) -> Option<&'a str> {
        headers.get("x-claude-code-session-id").map(String::as_str)
    }

    fn opaque(&self) -> &'static [&'static str] {
        &["input", "input_schema"]
    }

    fn tool(
        &self,
        operation: &ToolOperation,
        offered: &[String],
    ) -> Result<(String, Value), String> {
        let (name, input) = match operation {
            ToolOperation::Write { path, content } => {
                ("Write", json!({"file_path": path, "content": content}))
            }
            ToolOperation::Read { path } => ("Read", json!({"file_path": path})),
            ToolOperation::Edit { path, old, new } => {
                ("Edit", json!({"file_path": path, "old_string": old, "new_string": new}))
            }
            ToolOperation::Bash { command } => ("Bash", json!({"command": command})),
            ToolOperation::Answer { value } => ("StructuredOutput", value.clone()),
        };
        if offered.iter().any(|tool| tool == name) {
            Ok((name.to_owned(), input))
        } else {
            Err(format!("the tool {name} is not offered, only {}", offered.join(", ")))
        }
    }

    fn whole(&self, reply: &ModelReply) -> String {
        let content: Vec<Value> = reply.blocks.iter().map(block).collect();
        let mut message = message(reply, &content, reply.usage.output);
        message["stop_reason"] = json!(stop_reason(reply.stop));
        message.to_string()
    }

    fn events(&self, reply: &ModelReply) -> Vec<String> {
        let mut events = vec![event("message_start", json!({"message": message(reply, &[], 1)}))];
        for (index, block) in reply.blocks.iter().enumerate() {
            let (start, deltas) = pieces(block);
            let start = json!({"index": index, "content_block": start});
            events.push(event("content_block_start", start));
            for delta in deltas {
                let delta = json!({"index": index, "delta": delta});
                events.push(event("content_block_delta", delta));
            }
            events.push(event("content_block_stop", json!({"index": index})));
        }
        let delta = json!({"stop_reason": stop_reason(reply.stop), "stop_sequence": null});
        let usage = usage(reply.usage, reply.usage.output);
        events.push(event("message_delta", json!({"delta": delta, "usage": usage})));
        events.push(event("message_stop", json!({})));
        events
    }

    fn failure(&self, code: u16, message: &str) -> String {
        let kind = match code {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
    }

    fn error_event(&self) -> String {
        let error = json!({"type": "overloaded_error", "message": "Overloaded"});
        event("error", json!({"error": error}))
    }

    fn overflow(&self, tokens: u64, maximum: u64) -> (u16, String) {
        (400, format!("prompt is too long: {tokens} tokens > {maximum} maximum"))
    }

    fn count(&self, tokens: usize) -> String {
        json!({"input_tokens": tokens}).to_string()
    }
}

/// Returns all text of a `content` or `system`, also of what tools gave back.
fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| {
                let text = ["text", "content"].into_iter().find_map(|key| block.get(key));
                text.map(plain_text).unwrap_or_default()
            });
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn message(reply: &ModelReply, content: &[Value], output: u64) -> Value {
    json!({
        "id": format!("msg_{}", reply.id), "type": "message", "role": "assistant",
        "model": reply.model, "content": content, "stop_reason": null, "stop_sequence": null,
        "usage": usage(reply.usage, output),
    })
}

fn usage(usage: TokenUsage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    })
}

/// Returns a part as it stands in a document.
fn block(block: &ReplyBlock) -> Value {
    match block {
        ReplyBlock::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": SIGNATURE})
        }
        ReplyBlock::Text(text) => json!({"type": "text", "text": text}),
        ReplyBlock::Tool { id, name, input } => {
            json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": input})
        }
    }
}

/// Returns a part as events: how it begins, and what is then added.
fn pieces(part: &ReplyBlock) -> (Value, Vec<Value>) {
    let mut start = block(part);
    let deltas = match part {
        ReplyBlock::Thinking(text) => {
            start["thinking"] = json!("");
            start["signature"] = json!("");
            vec![
                json!({"type": "thinking_delta", "thinking": text}),
                json!({"type": "signature_delta", "signature": SIGNATURE}),
            ]
        }
        ReplyBlock::Text(text) => {
            start["text"] = json!("");
            vec![json!({"type": "text_delta", "text": text})]
        }
        ReplyBlock::Tool { id: _, name: _, input } => {
            start["input"] = Value::Object(Map::new());
            vec![json!({"type": "input_json_delta", "partial_json": input.to_string()})]
        }
    };
    (start, deltas)
}

/// A thinking block carries a signature of the model. Clients send it back without checking it.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

fn stop_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Done => "end_turn",
        StopReason::Tools => "tool_use",
        StopReason::Refusal => "refusal",
        StopReason::MaxTokens => "max_tokens",
    }
}

/// Returns one event of a stream.
fn event(name: &str, mut data: Value) -> String {
    data["type"] = json!(name);
    format!("event: {name}\ndata: {data}\n\n")
}
