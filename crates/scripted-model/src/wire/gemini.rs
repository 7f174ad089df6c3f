//! The API of Gemini, as Gemini CLI 0.61 uses it. All its words are in this file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    script::{TokenUsage, ToolOperation},
    wire::format::{
        ModelReply, ParsedRequest, ReplyBlock, ReplyDelivery, RequestPurpose, StopReason,
        WireFormat, leave_result, plain_text, split_texts,
    },
};

/// `POST /v1beta/models/MODEL:streamGenerateContent` and its like.
pub(super) struct GeminiFormat;

impl WireFormat for GeminiFormat {
    fn purpose(&self, path: &str) -> Option<RequestPurpose> {
        match model_and_method(path)?.1 {
            "generateContent" | "streamGenerateContent" => Some(RequestPurpose::Answer),
            "countTokens" => Some(RequestPurpose::Count),
            _ => None,
        }
    }

    fn ask(&self, path: &str, body: &Value) -> Result<ParsedRequest, String> {
        let (model, method) = model_and_method(path).ok_or("the path names no model")?;
        let contents = body["contents"].as_array().ok_or("`contents` is not a list")?;
        let newest = contents.last().ok_or("`contents` is empty")?;
        let (mut input_texts, model_texts) =
            split_texts(contents, |content| content["role"] == "model");
        let system = plain_text(&body["systemInstruction"]);
        input_texts.push(system.clone());
        let tools = body["tools"].as_array().into_iter().flatten();
        let tools = tools.filter_map(|tool| tool["functionDeclarations"].as_array()).flatten();
        Ok(ParsedRequest {
            model: model.to_owned(),
            delivery: match method {
                "streamGenerateContent" => ReplyDelivery::Stream,
                _ => ReplyDelivery::Whole,
            },
            tools: tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect(),
            system,
            last: plain_text(newest),
            messages: body["contents"].clone(),
            input_texts,
            model_texts,
        })
    }

    fn session<'a>(&self, _headers: &'a BTreeMap<String, String>) -> Option<&'a str> {
        None
    }

    fn opaque(&self) -> &'static [&'static str] {
        &["args", "parametersJsonSchema", "response"]
    }

    fn tool(
        &self,
        operation: &ToolOperation,
        offered: &[String],
    ) -> Result<(String, Value), String> {
        let shell = |command: String| {
            ("run_shell_command", json!({"command": command, "description": "Runs it"}))
        };
        let (name, input) = match operation {
            ToolOperation::Write { path, content } => {
                ("write_file", json!({"file_path": path, "content": content}))
            }
            ToolOperation::Read { path } => ("read_file", json!({"file_path": path})),
            ToolOperation::Edit { path, old, new } => (
                "replace",
                json!({"file_path": path, "instruction": "Edit", "old_string": old, "new_string": new}),
            ),
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
        let parts: Vec<Value> = reply.blocks.iter().map(part).collect();
        document(reply, &parts, Some(finish(reply.stop))).to_string()
    }

    fn events(&self, reply: &ModelReply) -> Vec<String> {
        let parts = reply.blocks.iter().map(|block| document(reply, &[part(block)], None));
        let mut events: Vec<String> = parts.map(|document| event(&document)).collect();
        events.push(event(&document(reply, &[], Some(finish(reply.stop)))));
        events
    }

    fn failure(&self, code: u16, message: &str) -> String {
        if message.starts_with('{') {
            return message.to_owned();
        }
        let status = match code {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({"error": {"code": code, "message": message, "status": status}}).to_string()
    }

    fn error_event(&self) -> String {
        event(&json!({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}))
    }

    fn overflow(&self, tokens: u64, maximum: u64) -> (u16, String) {
        let message = format!(
            "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({maximum})."
        );
        (400, message)
    }

    fn count(&self, tokens: usize) -> String {
        json!({"totalTokens": tokens}).to_string()
    }
}

/// Splits `/v1beta/models/MODEL:METHOD?…`.
fn model_and_method(path: &str) -> Option<(&str, &str)> {
    let path = path.split('?').next()?;
    let (version, rest) = path.strip_prefix('/')?.split_once("/models/")?;
    (version == "v1beta").then(|| rest.split_once(':'))?
}

fn part(block: &ReplyBlock) -> Value {
    match block {
        ReplyBlock::Thinking(text) => json!({"text": text, "thought": true}),
        ReplyBlock::Text(text) => json!({"text": text}),
        ReplyBlock::Tool { id: _, name, input } => {
            json!({"functionCall": {"name": name, "args": input}})
        }
    }
}

fn document(reply: &ModelReply, parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    let mut document = json!({"responseId": reply.id, "modelVersion": reply.model});
    if let Some(reason) = finish {
        candidate["finishReason"] = json!(reason);
        document["usageMetadata"] = usage(reply.usage);
    }
    document["candidates"] = json!([candidate]);
    document
}

/// Cached tokens are part of the prompt.
fn usage(usage: TokenUsage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "promptTokenCount": prompt, "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output, "totalTokenCount": prompt + usage.output,
    })
}

const fn finish(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Done | StopReason::Tools => "STOP",
        StopReason::Refusal => "SAFETY",
        StopReason::MaxTokens => "MAX_TOKENS",
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
