//! JSON-RPC 2.0 as ACP uses it: one message in each line, both sides ask.
//!
//! Not here: what a method means.

use serde::Deserialize;
use serde_json::{Value, json};

/// A message of the agent.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum PeerMessage {
    /// It wants an answer.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// To a request of ours.
    Answer {
        id: Value,
        answer: Result<Value, RpcError>,
    },
    /// Not a message.
    Rubbish,
}

/// An error as JSON-RPC tells it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Value,
}

/// Codes of errors.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL_ERROR: i64 = -32603;
pub(super) const AUTH_REQUIRED: i64 = -32000;
pub(super) const NOT_FOUND: i64 = -32002;

impl RpcError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }
}

impl PeerMessage {
    /// Reads one line.
    pub(super) fn parse(line: &[u8]) -> Self {
        let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else {
            return Self::Rubbish;
        };
        let mut take = |key: &str| message.remove(key);
        let (id, params) = (take("id"), take("params").unwrap_or_default());
        match (take("method"), id) {
            (Some(Value::String(method)), Some(id)) => Self::Request { id, method, params },
            (Some(Value::String(method)), None) => Self::Notification { method, params },
            (None, Some(id)) => match (take("error"), take("result")) {
                (Some(error), _) if !error.is_null() => {
                    Self::Answer { id, answer: Err(read_error(&error)) }
                }
                (_, Some(result)) => Self::Answer { id, answer: Ok(result) },
                // Some leave out a result of nothing.
                (_, None) => Self::Answer { id, answer: Ok(Value::Null) },
            },
            (None | Some(_), _) => Self::Rubbish,
        }
    }
}

/// Reads an error; one of another form is told as it is.
fn read_error(error: &Value) -> RpcError {
    RpcError::deserialize(error).unwrap_or_else(|_| RpcError {
        code: 0,
        message: error.to_string(),
        data: Value::Null,
    })
}

/// Returns a request of ours.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Returns a message of ours that has no answer.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Returns our answer to a request of the agent.
pub(super) fn answer(id: &Value, answer: Result<Value, RpcError>) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(RpcError { code, message, .. }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_message_is_known_by_its_keys() {
        let parse = |text: &str| PeerMessage::parse(text.as_bytes());
        assert_eq!(
            parse(r#"{"id":"a","method":"m","params":{"x":1}}"#),
            PeerMessage::Request {
                id: json!("a"),
                method: "m".to_owned(),
                params: json!({"x": 1})
            }
        );
        assert_eq!(
            parse(r#"{"method":"m"}"#),
            PeerMessage::Notification { method: "m".to_owned(), params: Value::Null }
        );
        let answer = |answer| PeerMessage::Answer { id: json!(1), answer };
        assert_eq!(parse(r#"{"id":1,"result":2}"#), answer(Ok(json!(2))));
        assert_eq!(parse(r#"{"id":1,"error":null,"result":2}"#), answer(Ok(json!(2))));
        assert_eq!(parse(r#"{"id":1}"#), answer(Ok(Value::Null)));
        assert_eq!(
            parse(r#"{"id":1,"error":{"code":-32000,"message":"no"}}"#),
            answer(Err(RpcError::new(AUTH_REQUIRED, "no")))
        );
        let odd = RpcError::new(0, r#""no""#);
        assert_eq!(parse(r#"{"id":1,"error":"no"}"#), answer(Err(odd)));
        for rubbish in ["", "hello", "[]", "{}", "1", r#"{"method":1}"#, "{\"id\":1", "\u{0}"] {
            assert_eq!(parse(rubbish), PeerMessage::Rubbish, "{rubbish}");
        }
    }

    #[test]
    fn our_messages_are_one_line_each() {
        let params = json!({"text": "two\nlines"});
        for message in [
            request(1, "m", &params),
            notification("m", &params),
            answer(&json!("x"), Ok(params.clone())),
            answer(&json!(1), Err(RpcError::new(METHOD_NOT_FOUND, "two\nlines"))),
        ] {
            assert!(!message.to_string().contains('\n'));
            assert_eq!(message["jsonrpc"], "2.0");
        }
    }
}
