//! The common interface of all wire formats: a request and an answer, independent of the vendor.
//!
//! A request of any format becomes an [`ParsedRequest`], and a step becomes a [`ModelReply`] which the format writes
//! as one document or as events. Nothing of HTTP is here.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::script::{TokenUsage, ToolOperation};

/// The wanted form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyDelivery {
    /// As events while it is made.
    Stream,
    /// As one document.
    Whole,
}

/// The content of a request, independent of the vendor.
#[derive(Debug)]
pub(crate) struct ParsedRequest {
    /// The model it is for.
    pub(crate) model: String,
    /// How the answer is wanted.
    pub(crate) delivery: ReplyDelivery,
    /// Names of the tools it offers.
    pub(crate) tools: Vec<String>,
    /// All system text.
    pub(crate) system: String,
    /// The messages as they came.
    pub(crate) messages: Value,
    /// All text of the last message.
    pub(crate) last: String,
    /// Texts that do not come from the model, newest first, the system text last.
    pub(crate) input_texts: Vec<String>,
    /// Texts that come from the model, newest first.
    pub(crate) model_texts: Vec<String>,
}

/// An answer, independent of the vendor.
#[derive(Debug)]
pub(crate) struct ModelReply {
    /// Its name, unique for the server.
    pub(crate) id: String,
    /// The model that gives it.
    pub(crate) model: String,
    /// Its parts, in order.
    pub(crate) blocks: Vec<ReplyBlock>,
    /// Why it ends.
    pub(crate) stop: StopReason,
    pub(crate) usage: TokenUsage,
}

/// A part of an answer.
#[derive(Debug)]
pub(crate) enum ReplyBlock {
    /// A thought.
    Thinking(String),
    /// A text.
    Text(String),
    /// A call of a tool.
    Tool {
        /// The name of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// Its arguments.
        input: Value,
    },
}

/// The reason why an answer ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StopReason {
    /// The model is done.
    Done,
    /// It waits for its tools.
    Tools,
    /// It declines.
    Refusal,
    /// It may say no more.
    MaxTokens,
}

/// The kind of request that a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    /// An answer of the model.
    Answer,
    /// How long the prompt is.
    Count,
}

/// One format.
pub(crate) trait WireFormat: Sync {
    /// Returns the purpose of a path below the key, if it belongs to this format.
    fn purpose(&self, path: &str) -> Option<RequestPurpose>;
    /// Reads a request.
    fn ask(&self, path: &str, body: &Value) -> Result<ParsedRequest, String>;
    /// Returns the session a request belongs to, if the program says so.
    fn session<'a>(&self, headers: &'a BTreeMap<String, String>) -> Option<&'a str>;
    /// Keys whose values are not the program's own and have any shape.
    fn opaque(&self) -> &'static [&'static str];
    /// Returns the tool of the program that does this, and its input.
    fn tool(
        &self,
        operation: &ToolOperation,
        offered: &[String],
    ) -> Result<(String, Value), String>;
    /// Returns the answer as one document.
    fn whole(&self, reply: &ModelReply) -> String;
    /// Returns the answer as events.
    fn events(&self, reply: &ModelReply) -> Vec<String>;
    /// Returns the document that comes with a status.
    fn failure(&self, code: u16, message: &str) -> String;
    /// Returns the event that breaks an answer off.
    fn error_event(&self) -> String;
    /// Returns status and message for a prompt that is too long.
    fn overflow(&self, tokens: u64, maximum: u64) -> (u16, String);
    /// Returns the length of the prompt.
    fn count(&self, tokens: usize) -> String;
}

/// Returns the command that leaves a result in the outbox, for programs that are held to no form.
pub(super) fn leave_result(value: &Value) -> String {
    write_by_shell("$FORGE_OUTBOX/result.json", &format!("{value}\n"))
}

/// Returns the command that writes a whole file.
pub(super) fn write_by_shell(path: &str, content: &str) -> String {
    format!("cat > \"{path}\" <<'END_OF_FILE'\n{content}END_OF_FILE")
}

/// Returns the document of `OpenAI` that comes with a status. A message that is a document is sent as it is.
pub(super) fn open_ai_failure(code: u16, message: &str) -> String {
    if message.starts_with('{') {
        return message.to_owned();
    }
    let (kind, word) = match code {
        401 => ("invalid_request_error", "invalid_api_key"),
        403 => ("invalid_request_error", "unsupported_country_region_territory"),
        404 => ("invalid_request_error", "model_not_found"),
        429 => ("requests", "rate_limit_exceeded"),
        500.. => ("server_error", "server_error"),
        _ => ("invalid_request_error", "invalid_value"),
    };
    serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": word}})
        .to_string()
}

/// Splits messages into the texts that are not the model's and those that are, newest first.
pub(super) fn split_texts(
    messages: &[Value],
    is_of_model: impl Fn(&Value) -> bool,
) -> (Vec<String>, Vec<String>) {
    let (model, input): (Vec<&Value>, Vec<&Value>) =
        messages.iter().rev().partition(|message| is_of_model(message));
    let texts = |all: Vec<&Value>| all.into_iter().map(plain_text).collect();
    (texts(input), texts(model))
}

/// The keys below which the text of a message stands, in all formats.
const TEXT_KEYS: &[&str] =
    &["text", "content", "parts", "output", "response", "functionResponse", "functionCall", "args"];

/// Returns all text of a message, also of what tools gave back.
pub(super) fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(plain_text).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(part) => {
            let texts = TEXT_KEYS.iter().filter_map(|key| part.get(*key)).map(plain_text);
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
