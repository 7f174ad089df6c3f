//! What every wire format has in common: a request and an answer in the words of no vendor.
//!
//! A request of any format becomes an [`Ask`], and a step becomes a [`Reply`] which the format writes
//! as one document or as events. Nothing of HTTP is here.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::script::{Operation, Usage};

/// How an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// As events while it is made.
    Stream,
    /// As one document.
    Whole,
}

/// What a request says, in no vendor's words.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The model it is for.
    pub(crate) model: String,
    /// How the answer is wanted.
    pub(crate) delivery: Delivery,
    /// Names of the tools it offers.
    pub(crate) tools: Vec<String>,
    /// All system text.
    pub(crate) system: String,
    /// The messages as they came.
    pub(crate) messages: Value,
    /// All text of the last message.
    pub(crate) last: String,
    /// What the model was told and did not say itself, newest first, the system text last.
    pub(crate) told: Vec<String>,
    /// What the model said itself.
    pub(crate) said: Vec<String>,
}

/// An answer, in no vendor's words.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Its name, unique for the server.
    pub(crate) id: String,
    /// The model that gives it.
    pub(crate) model: String,
    /// Its parts, in order.
    pub(crate) blocks: Vec<Block>,
    /// Why it ends.
    pub(crate) stop: Stop,
    /// What it costs.
    pub(crate) usage: Usage,
}

/// A part of an answer.
#[derive(Debug)]
pub(crate) enum Block {
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
        /// What it is given.
        input: Value,
    },
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// The model is done.
    Done,
    /// It waits for its tools.
    Tools,
    /// It declines.
    Refusal,
    /// It may say no more.
    MaxTokens,
}

/// What a path asks a format for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An answer of the model.
    Answer,
    /// How long the prompt is.
    Count,
}

/// One format.
pub(crate) trait Format: Sync {
    /// What a path below the key asks for, if it is one of this format.
    fn purpose(&self, path: &str) -> Option<Purpose>;
    /// Reads a request.
    fn ask(&self, body: &Value) -> Result<Ask, String>;
    /// The session a request belongs to, if the program says so.
    fn session<'a>(&self, headers: &'a BTreeMap<String, String>) -> Option<&'a str>;
    /// Keys whose values are not the program's own and have any shape.
    fn opaque(&self) -> &'static [&'static str];
    /// The tool of the program that does this, and its input.
    fn tool(&self, operation: &Operation, offered: &[String]) -> Result<(String, Value), String>;
    /// The answer as one document.
    fn whole(&self, reply: &Reply) -> String;
    /// The answer as events.
    fn events(&self, reply: &Reply) -> Vec<String>;
    /// The document that comes with a status.
    fn failure(&self, code: u16, message: &str) -> String;
    /// The event that breaks an answer off.
    fn error_event(&self) -> String;
    /// What is said when the prompt is too long.
    fn overflow(&self, tokens: u64, maximum: u64) -> (u16, String);
    /// The length of the prompt.
    fn count(&self, tokens: usize) -> String;
}
