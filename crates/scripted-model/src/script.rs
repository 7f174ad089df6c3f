//! The script of a model as data: written in Rust by a test, or in JSON by a person.
//!
//! Which step answers a request: of the steps that were not played yet, the first one whose conditions
//! hold. When none is left, the last one played whose conditions hold is played again, or, with
//! `"end": "fail"`, the request is refused and noted as a flaw. The form of a step on the wire is
//! defined in `wire`.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::captures::TextBetween;

/// Everything one key answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// One for each request that offers tools.
    pub steps: Vec<ScriptStep>,
    #[serde(default)]
    pub end: AfterLastStep,
    #[serde(default)]
    pub places: ScriptScope,
    /// The answer to a request without tools, such as one for a title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aux: Option<String>,
    /// Where `${name}` is found in a request, besides the names that are always there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub captures: BTreeMap<String, TextBetween>,
}

/// The answer to requests after the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterLastStep {
    /// The last step that fits is played again.
    #[default]
    Repeat,
    /// The request is refused, and noted as a flaw.
    Fail,
}

/// The scope in which each step is played once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptScope {
    /// The key: every step is played once for all sessions.
    #[default]
    Key,
    /// Each session of the program: several agents play the same script at once, each from its top.
    Session,
}

/// One answer of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptStep {
    /// Only if the last message of the request contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_contains: Option<String>,
    /// Only if anything the request says contains this: system text or any message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_talk_contains: Option<String>,
    /// Answers only after `ModelKey::release` of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<String>,
    /// Silence before the answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub delay_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// Text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// The tools it then calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Usage that the answer reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Headers of the answer, besides the usual ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How the answer ends.
    pub ending: AnswerEnding,
}

/// The ending of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AnswerEnding {
    /// As it should.
    #[default]
    Whole,
    /// The model declines.
    Refusal,
    /// The answer is as long as it may be.
    MaxTokens,
    /// No answer: a status that is not 200.
    Status {
        /// The status of HTTP.
        code: u16,
        /// Message of the error document.
        message: String,
    },
    /// No answer: the prompt is too long for the model.
    Overflow {
        /// How long the prompt is said to be.
        tokens: u64,
        /// How long it may be.
        maximum: u64,
    },
    /// An error event in the middle of the answer.
    MidstreamError,
    /// The connection is closed in the middle of the answer.
    Cut,
    /// Headers, and then silence until the client goes or the server stops.
    Stall,
    /// Not even headers.
    StallBeforeHeaders,
}

/// A tool that the model calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolCall {
    /// Sent as it is.
    Raw {
        /// The name of the tool.
        tool: String,
        /// Its arguments.
        input: Value,
    },
    /// Sent to the tool of the program that does this.
    Neutral(ToolOperation),
}

/// An operation that every agent program has a tool for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolOperation {
    /// Write a whole file.
    Write {
        /// Absolute.
        path: String,
        content: String,
    },
    /// Read a file.
    Read {
        /// Absolute.
        path: String,
    },
    /// Replace one text in a file.
    Edit {
        /// Absolute.
        path: String,
        /// Text to replace.
        old: String,
        /// Its replacement.
        new: String,
    },
    /// Run a command.
    Bash {
        /// For the shell.
        command: String,
    },
    /// Give the structured answer that was asked for.
    Answer {
        /// The answer.
        value: Value,
    },
}

/// Usage that an answer reports, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenUsage {
    /// Read for the first time.
    pub input: u64,
    /// Said.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
}

impl Default for TokenUsage {
    fn default() -> Self {
        Self { input: 1000, output: 50, cache_read: 200, cache_write: 100 }
    }
}

impl Script {
    /// Returns a script of these steps, the last of which repeats.
    pub fn new(steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        Self { steps: steps.into_iter().collect(), ..Self::default() }
    }

    /// Returns the same script, in which a request after the last step is a flaw.
    #[must_use]
    pub fn fail_after_last(mut self) -> Self {
        self.end = AfterLastStep::Fail;
        self
    }

    /// Returns the same script, in which each session has its own place.
    #[must_use]
    pub fn for_each_session(mut self) -> Self {
        self.places = ScriptScope::Session;
        self
    }

    /// Returns the same script, with one more place where a `${name}` is found.
    #[must_use]
    pub fn capture(mut self, name: &str, between: TextBetween) -> Self {
        self.captures.insert(name.to_owned(), between);
        self
    }
}

impl ScriptStep {
    /// Builds an answer with this text, after which the model is done.
    pub fn say(text: &str) -> Self {
        Self { say: Some(text.to_owned()), ..Self::default() }
    }

    /// Returns the model calls a tool.
    pub fn call(call: ToolCall) -> Self {
        Self { calls: vec![call], ..Self::default() }
    }

    /// Returns the server answers with an error status.
    pub fn status(code: u16, message: &str) -> Self {
        Self::default().ending(AnswerEnding::Status { code, message: message.to_owned() })
    }

    /// Returns the server says that the prompt is too long.
    pub fn overflow(tokens: u64, maximum: u64) -> Self {
        Self::default().ending(AnswerEnding::Overflow { tokens, maximum })
    }

    /// Returns a refusal for a while, as a subscription gets it: until `reset`, in seconds since 1970.
    pub fn usage_window(claim: &str, reset: u64) -> Self {
        let reset = reset.to_string();
        let window = if claim == "five_hour" { "5h" } else { "7d" };
        Self::status(429, "This request would exceed your account's rate limit.")
            .header("anthropic-ratelimit-unified-status", "rejected")
            .header("anthropic-ratelimit-unified-reset", &reset)
            .header("anthropic-ratelimit-unified-representative-claim", claim)
            .header(&format!("anthropic-ratelimit-unified-{window}-status"), "rejected")
            .header(&format!("anthropic-ratelimit-unified-{window}-reset"), &reset)
            .header(&format!("anthropic-ratelimit-unified-{window}-utilization"), "1.0")
    }

    /// Returns the same step, ending otherwise.
    #[must_use]
    pub fn ending(mut self, ending: AnswerEnding) -> Self {
        self.ending = ending;
        self
    }

    /// Returns the same step, with a text before its calls.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        self.say = Some(text.to_owned());
        self
    }

    /// Returns the same step, with a thought before all else.
    #[must_use]
    pub fn thinking(mut self, text: &str) -> Self {
        self.thinking = Some(text.to_owned());
        self
    }

    /// Returns the same step, with one more call.
    #[must_use]
    pub fn and_call(mut self, call: ToolCall) -> Self {
        self.calls.push(call);
        self
    }

    /// Returns the same step, at this price.
    #[must_use]
    pub fn usage(mut self, usage: TokenUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Returns the same step, with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Returns the same step, only if the last message contains this.
    #[must_use]
    pub fn when_contains(mut self, text: &str) -> Self {
        self.when_contains = Some(text.to_owned());
        self
    }

    /// Returns the same step, only if anything in the request contains this.
    #[must_use]
    pub fn when_talk_contains(mut self, text: &str) -> Self {
        self.when_talk_contains = Some(text.to_owned());
        self
    }

    /// Returns the same step, answering only when the barrier is released.
    #[must_use]
    pub fn wait_for(mut self, barrier: &str) -> Self {
        self.wait_for = Some(barrier.to_owned());
        self
    }

    /// Returns the same step, after a silence.
    #[must_use]
    pub fn after(mut self, silence: Duration) -> Self {
        self.delay_ms = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
        self
    }
}

impl ToolCall {
    /// Returns a tool by its name.
    pub fn raw(tool: &str, input: Value) -> Self {
        Self::Raw { tool: tool.to_owned(), input }
    }

    /// Write a whole file.
    pub fn write(path: &str, content: &str) -> Self {
        Self::Neutral(ToolOperation::Write { path: path.to_owned(), content: content.to_owned() })
    }

    /// Read a file.
    pub fn read(path: &str) -> Self {
        Self::Neutral(ToolOperation::Read { path: path.to_owned() })
    }

    /// Replace one text in a file.
    pub fn edit(path: &str, old: &str, new: &str) -> Self {
        let (path, old, new) = (path.to_owned(), old.to_owned(), new.to_owned());
        Self::Neutral(ToolOperation::Edit { path, old, new })
    }

    /// Run a command.
    pub fn bash(command: &str) -> Self {
        Self::Neutral(ToolOperation::Bash { command: command.to_owned() })
    }

    /// Give the structured answer.
    pub fn answer(value: Value) -> Self {
        Self::Neutral(ToolOperation::Answer { value })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_script_in_json_is_the_script_in_rust() {
        let written = json!({
            "end": "fail", "places": "session", "aux": "A title",
            "captures": {"task": {"after": "Task: ", "before": "\n"}},
            "steps": [
                {"say": "I write.", "calls": [
                    {"op": "write", "path": "${cwd}/a", "content": "a"},
                    {"tool": "Task", "input": {"x": 1}}]},
                {"when_contains": "Review", "calls": [{"op": "answer", "value": {"verdict": "pass"}}]},
                {"ending": {"status": {"code": 429, "message": "slow"}}, "headers": {"retry-after": "2"}},
                {"ending": {"overflow": {"tokens": 3, "maximum": 2}}},
                {"say": "half", "ending": "cut", "wait_for": "go", "delay_ms": 5}
            ]
        });
        let read: Script = serde_json::from_value(written).unwrap();
        let mut made = Script::new([
            ScriptStep::call(ToolCall::write("${cwd}/a", "a"))
                .and_call(ToolCall::raw("Task", json!({"x": 1})))
                .saying("I write."),
            ScriptStep::call(ToolCall::answer(json!({"verdict": "pass"}))).when_contains("Review"),
            ScriptStep::status(429, "slow").header("retry-after", "2"),
            ScriptStep::overflow(3, 2),
            ScriptStep::say("half")
                .ending(AnswerEnding::Cut)
                .wait_for("go")
                .after(Duration::from_millis(5)),
        ])
        .fail_after_last()
        .for_each_session()
        .capture("task", TextBetween::new("Task: ", "\n"));
        made.aux = Some("A title".to_owned());
        assert_eq!(read, made);
        let again = serde_json::to_string(&made).unwrap();
        assert_eq!(serde_json::from_str::<Script>(&again).unwrap(), made);
    }

    #[test]
    fn a_misspelt_key_of_a_script_is_refused() {
        for wrong in [
            json!({"steps": [{"sai": "x"}]}),
            json!({"steps": [], "and": "fail"}),
            json!({"steps": [{"ending": "cutt"}]}),
            json!({"steps": [{"calls": [{"op": "wright", "path": "x"}]}]}),
        ] {
            assert!(serde_json::from_value::<Script>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
