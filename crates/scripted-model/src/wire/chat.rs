//! The `OpenAI` Chat Completions API, as opencode 1.18 uses it. All its words are in this file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    script::{TokenUsage, ToolOperation},
    wire::format::{
        ModelReply, ParsedRequest, ReplyBlock, ReplyDelivery, RequestPurpose, StopReason,
        WireFormat, leave_result, open_ai_failure, plain_text, split_texts,
    },
};

/// `POST /v1/chat/completions`.
pub(super) struct ChatFormat;

impl WireFormat for ChatFormat {
    fn purpose(&self, path: &str) -> Option<RequestPurpose> {
        (path == "/v1/chat/completions").then_some(RequestPurpose::Answer)
    }

    fn ask(&self, _path: &str, body: &Value) -> Result<ParsedRequest, String> {
        let list = body["messages"].as_array().ok_or("`messages` is not a list")?;
        let newest = list.last().ok_or("`messages` is empty")?;
        let (systems, talk): (Vec<Value>, Vec<Value>) =
            list.iter().cloned().partition(|message| message["role"] == "system");
        let (mut input_texts, model_texts) =
            split_texts(&talk, |message| message["role"] == "assistant");
        let system = plain_text(&Value::Array(systems));
        input_texts.push(system.clone());
        let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
        Ok(ParsedRequest {
            model: body["model"].as_str().ok_or("`model` is not a text")?.to_owned(),
            delivery: match body.get("stream") {
                Some(Value::Bool(true)) => ReplyDelivery::Stream,
                Some(_) | None => ReplyDelivery::Whole,
            },
            tools: tools
                .filter_map(|tool| tool["function"]["name"].as_str())
                .map(str::to_owned)
                .collect(),
            system,
            last: plain_text(newest),
            messages: body["messages"].clone(),
            input_texts,
            model_texts,
        })
    }

    fn session<'a>(&self, headers: &'a BTreeMap<String, String>) -> Option<&'a str> {
        headers.get("x-session-id").map(String::as_str)
    }

    fn opaque(&self) -> &'static [&'static str] {
        &["arguments", "parameters"]
    }

    fn tool(
        &self,
        operation: &ToolOperation,
        offered: &[String],
    ) -> Result<(String, Value), String> {
        let shell =
            |command: String| ("bash", json!({"command": command, "description": "Runs it"}));
        let (name, input) = match operation {
            ToolOperation::Write { path, content } => {
                ("write", json!({"filePath": path, "content": content}))
            }
            ToolOperation::Read { path } => ("read", json!({"filePath": path})),
            ToolOperation::Edit { path, old, new } => {
                ("edit", json!({"filePath": path, "oldString": old, "newString": new}))
            }
            ToolOperation::Bash { command } => shell(command.clone()),
            ToolOperation::Answer { value } => shell(leave_result(value)),
        };
        if offered.iter().any(|tool| tool == name) {
            Ok((name.to_owned(), input))
        } else {
            Err(format!("the tool {name} is not offered, only {}", offered.join(", ")))
        }
    }

    fn whole(&self, reply: &ModelReply) -> String {
        let mut message = json!({"role": "assistant", "content": texts(reply)});
        let calls: Vec<Value> = reply.blocks.iter().filter_map(call).collect();
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": finish(reply.stop)});
        document(reply, "chat.completion", &[choice], Some(reply.usage)).to_string()
    }

    fn events(&self, reply: &ModelReply) -> Vec<String> {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        let mut calls = 0;
        for block in &reply.blocks {
            deltas.push(match block {
                ReplyBlock::Thinking(text) => json!({"reasoning_content": text}),
                ReplyBlock::Text(text) => json!({"content": text}),
                ReplyBlock::Tool { .. } => {
                    let mut call = call(block).expect("it is a call");
                    call["index"] = json!(calls);
                    calls += 1;
                    json!({"tool_calls": [call]})
                }
            });
        }
        let chunk = |delta: &Value, end: Option<&str>| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
            event(&document(reply, "chat.completion.chunk", &[choice], None))
        };
        let mut events: Vec<String> = deltas.into_iter().map(|delta| chunk(&delta, None)).collect();
        events.push(chunk(&json!({}), Some(finish(reply.stop))));
        let used = document(reply, "chat.completion.chunk", &[], Some(reply.usage));
        events.push(event(&used));
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    fn failure(&self, code: u16, message: &str) -> String {
        open_ai_failure(code, message)
    }

    fn error_event(&self) -> String {
        event(&json!({"error": {"message": "Overloaded", "type": "server_error", "code": null}}))
    }

    fn overflow(&self, tokens: u64, maximum: u64) -> (u16, String) {
        let message = format!(
            "This model's maximum context length is {maximum} tokens. However, your messages resulted in {tokens} tokens."
        );
        let error = json!({"type": "invalid_request_error", "code": "context_length_exceeded", "param": "messages", "message": message});
        (400, json!({"error": error}).to_string())
    }

    fn count(&self, tokens: usize) -> String {
        json!({"input_tokens": tokens}).to_string()
    }
}

fn texts(reply: &ModelReply) -> String {
    let texts = reply.blocks.iter().filter_map(|block| match block {
        ReplyBlock::Text(text) => Some(text.as_str()),
        ReplyBlock::Thinking(_) | ReplyBlock::Tool { .. } => None,
    });
    texts.collect()
}

/// Returns the call of a tool, if the part is one.
fn call(block: &ReplyBlock) -> Option<Value> {
    match block {
        ReplyBlock::Tool { id, name, input } => {
            let function = json!({"name": name, "arguments": input.to_string()});
            Some(json!({"id": format!("call_{id}"), "type": "function", "function": function}))
        }
        ReplyBlock::Thinking(_) | ReplyBlock::Text(_) => None,
    }
}

fn document(reply: &ModelReply, kind: &str, choices: &[Value], used: Option<TokenUsage>) -> Value {
    json!({
        "id": format!("chatcmpl_{}", reply.id), "object": kind, "created": 1, "model": reply.model,
        "choices": choices, "usage": used.map(usage),
    })
}

/// Cached tokens are part of the prompt.
fn usage(usage: TokenUsage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
    })
}

const fn finish(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Done => "stop",
        StopReason::Tools => "tool_calls",
        StopReason::Refusal => "content_filter",
        StopReason::MaxTokens => "length",
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
