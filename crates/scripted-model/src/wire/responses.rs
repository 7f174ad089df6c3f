//! The `OpenAI` Responses API, as Codex 0.166 uses it. All its words are in this file.
//!
//! A tool whose input is a text and not an object is a custom tool, as `apply_patch` is.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    script::{TokenUsage, ToolOperation},
    wire::format::{
        ModelReply, ParsedRequest, ReplyBlock, ReplyDelivery, RequestPurpose, StopReason,
        WireFormat, leave_result, open_ai_failure, plain_text, split_texts, write_by_shell,
    },
};

/// `POST /v1/responses`.
pub(super) struct ResponsesFormat;

impl WireFormat for ResponsesFormat {
    fn purpose(&self, path: &str) -> Option<RequestPurpose> {
        (path == "/v1/responses").then_some(RequestPurpose::Answer)
    }

    fn ask(&self, _path: &str, body: &Value) -> Result<ParsedRequest, String> {
        let list = body.get("input").and_then(Value::as_array).ok_or("`input` is not a list")?;
        let newest = list.last().ok_or("`input` is empty")?;
        let (input_texts, model_texts) = split_texts(list, |item| {
            matches!(
                item["type"].as_str(),
                Some("function_call" | "custom_tool_call" | "reasoning")
            ) || item["role"] == "assistant"
        });
        let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
        Ok(ParsedRequest {
            model: body["model"].as_str().ok_or("`model` is not a text")?.to_owned(),
            delivery: match body.get("stream") {
                Some(Value::Bool(true)) => ReplyDelivery::Stream,
                Some(_) | None => ReplyDelivery::Whole,
            },
            tools: tools
                .filter_map(|tool| tool["name"].as_str().or(tool["type"].as_str()))
                .map(str::to_owned)
                .collect(),
            system: plain_text(&body["instructions"]),
            last: plain_text(newest),
            messages: body["input"].clone(),
            input_texts,
            model_texts,
        })
    }

    fn session<'a>(&self, headers: &'a BTreeMap<String, String>) -> Option<&'a str> {
        headers.get("session-id").map(String::as_str)
    }

    fn opaque(&self) -> &'static [&'static str] {
        &["arguments", "parameters"]
    }

    fn tool(
        &self,
        operation: &ToolOperation,
        offered: &[String],
    ) -> Result<(String, Value), String> {
        let shell = |command: String| ("exec_command", json!({"cmd": command}));
        let lines = |sign: char, text: &str| -> String {
            text.lines().fold(String::new(), |all, line| all + &format!("{sign}{line}\n"))
        };
        let patch = |kind: &str, path: &str, body: &str| {
            let text = format!("*** Begin Patch\n*** {kind} File: {path}\n{body}*** End Patch\n");
            ("apply_patch", json!(text))
        };
        let (name, input) = match operation {
            ToolOperation::Write { path, content }
                if offered.iter().any(|it| it == "apply_patch") =>
            {
                patch("Add", path, &lines('+', content))
            }
            ToolOperation::Write { path, content } => shell(write_by_shell(path, content)),
            ToolOperation::Read { path } => shell(format!("cat '{path}'")),
            ToolOperation::Edit { path, old, new } => {
                patch("Update", path, &format!("@@\n{}{}", lines('-', old), lines('+', new)))
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
        response(reply, "completed", &items(reply)).to_string()
    }

    fn events(&self, reply: &ModelReply) -> Vec<String> {
        let created = response(reply, "in_progress", &[]);
        let mut events = vec![event("response.created", json!({"response": created}))];
        for (index, item) in items(reply).into_iter().enumerate() {
            let added = json!({"output_index": index, "item": item});
            events.push(event("response.output_item.added", added.clone()));
            events.push(event("response.output_item.done", added));
        }
        let end = match reply.stop {
            StopReason::MaxTokens => {
                let mut response = response(reply, "incomplete", &items(reply));
                response["incomplete_details"] = json!({"reason": "max_output_tokens"});
                event("response.incomplete", json!({"response": response}))
            }
            StopReason::Done | StopReason::Tools | StopReason::Refusal => {
                let response = response(reply, "completed", &items(reply));
                event("response.completed", json!({"response": response}))
            }
        };
        events.push(end);
        events
    }

    fn failure(&self, code: u16, message: &str) -> String {
        open_ai_failure(code, message)
    }

    fn error_event(&self) -> String {
        let error = json!({"code": "server_error", "message": "Overloaded"});
        event(
            "response.failed",
            json!({"response": {"id": "resp", "status": "failed", "error": error}}),
        )
    }

    fn overflow(&self, _tokens: u64, _maximum: u64) -> (u16, String) {
        let message = "Your input exceeds the context window of this model. Please adjust your input and try again.";
        let error = json!({"type": "invalid_request_error", "code": "context_length_exceeded", "param": "input", "message": message});
        (400, json!({"error": error}).to_string())
    }

    fn count(&self, tokens: usize) -> String {
        json!({"input_tokens": tokens}).to_string()
    }
}

/// Returns the parts of an answer as items.
fn items(reply: &ModelReply) -> Vec<Value> {
    let each = reply.blocks.iter().enumerate().map(|(number, block)| {
        let id = format!("{}_{number}", reply.id);
        match block {
            ReplyBlock::Thinking(text) => json!({
                "type": "reasoning", "id": format!("rs_{id}"),
                "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "c2NyaXB0ZWQ=",
            }),
            ReplyBlock::Text(text) => message(&id, &json!({"type": "output_text", "text": text, "annotations": []})),
            ReplyBlock::Tool { id: call, name, input: Value::String(text) } => json!({
                "type": "custom_tool_call", "id": format!("ctc_{id}"), "status": "completed",
                "call_id": format!("call_{call}"), "name": name, "input": text,
            }),
            ReplyBlock::Tool { id: call, name, input } => json!({
                "type": "function_call", "id": format!("fc_{id}"), "status": "completed",
                "call_id": format!("call_{call}"), "name": name, "arguments": input.to_string(),
            }),
        }
    });
    let mut items: Vec<Value> = each.collect();
    if matches!(reply.stop, StopReason::Refusal) {
        let refusal = json!({"type": "refusal", "refusal": "I cannot help with that."});
        items.push(message(&reply.id, &refusal));
    }
    items
}

fn message(id: &str, content: &Value) -> Value {
    json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed", "content": [content]})
}

fn response(reply: &ModelReply, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{}", reply.id), "object": "response", "model": reply.model,
        "status": status, "output": output, "usage": usage(reply.usage),
    })
}

/// Cached tokens are part of what was read.
fn usage(usage: TokenUsage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + usage.output,
    })
}

/// Returns one event of a stream.
fn event(name: &str, mut data: Value) -> String {
    data["type"] = json!(name);
    format!("event: {name}\ndata: {data}\n\n")
}
