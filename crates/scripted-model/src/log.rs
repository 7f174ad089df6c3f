//! The log of requests. It has no credential, only whether there was one.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// One request.
#[derive(Clone, Debug, Serialize)]
pub struct ModelRequest {
    /// Counted for each key, from 1.
    pub number: usize,
    /// With the query, without the key.
    pub path: String,
    /// Names in small letters; a credential is only said to be there.
    pub headers: BTreeMap<String, String>,
    /// The session it belongs to, if the program says so.
    pub session: Option<String>,
    /// The model it is for.
    pub model: String,
    /// True if the answer is wanted as events.
    pub stream: bool,
    /// Names of the tools it offers.
    pub tools: Vec<String>,
    /// All system text.
    pub system: String,
    /// The messages as they came.
    pub messages: Value,
    /// All text of the last message.
    pub last: String,
    pub played: PlayedAnswer,
    /// Where it came from.
    pub client: String,
}

/// The part of the script that answered a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlayedAnswer {
    /// A step, counted from 0.
    Step(usize),
    /// The answer to requests without tools.
    Aux,
    /// The length of the prompt.
    Count,
    /// A refusal, because the script could not be played. Also a flaw.
    Nothing,
}
