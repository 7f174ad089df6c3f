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
    fn ask(&self, body: &Value) -> Result<ParsedRequest, String>;
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
