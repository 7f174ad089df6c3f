//! Which errors of ACP, and which words of agents about their providers, mean which class of error.
//!
//! Agents pass on what their providers say, each in its own form: a status or a word in `data`, or only a text.
//!
//! Invariant: codes first, then fields, texts last.

use serde_json::Value;

use super::rpc::{AUTH_REQUIRED, RpcError};
use crate::signal::{ErrorClass, WHAT_CHARACTERS_MAX, truncate};

/// Fields of `data` that may hold a status or a word, also below `error`.
const FIELDS: &[&str] = &["errorKind", "kind", "type", "code", "status", "statusCode", "name"];

/// Returns the class of an error, if it can be recognized.
pub(super) fn class_of(error: &RpcError) -> Option<ErrorClass> {
    if error.code == AUTH_REQUIRED {
        return Some(ErrorClass::Auth);
    }
    let places = [&error.data, &error.data["error"], &error.data["cause"]];
    let mut fields = places.iter().flat_map(|place| FIELDS.iter().map(|key| &place[key]));
    let class = fields.find_map(class_of_field);
    class.or_else(|| class_of_status(error.code)).or_else(|| class_of_text(&text_of(error)))
}

/// Returns what an error says, for people.
pub(super) fn text_of(error: &RpcError) -> String {
    let details = ["details", "message", "stderr"].iter().find_map(|key| error.data[key].as_str());
    let details = details.or(error.data.as_str()).map(str::trim).unwrap_or_default();
    let message = error.message.trim();
    let text = if details.is_empty() || message.contains(details) {
        message.to_owned()
    } else {
        format!("{message}: {details}")
    };
    let text = if text.is_empty() { format!("error {}", error.code) } else { text };
    truncate(&text, WHAT_CHARACTERS_MAX)
}

fn class_of_field(value: &Value) -> Option<ErrorClass> {
    let status = value.as_i64().or_else(|| value.as_str()?.parse().ok());
    status.map_or_else(|| class_of_word(value.as_str()?), class_of_status)
}

fn class_of_status(status: i64) -> Option<ErrorClass> {
    match status {
        401 | 402 => Some(ErrorClass::Auth),
        403 => Some(ErrorClass::Permission),
        404 => Some(ErrorClass::NoModel),
        413 => Some(ErrorClass::Overflow),
        429 => Some(ErrorClass::RateLimit),
        500..600 => Some(ErrorClass::Server),
        _ => None,
    }
}

fn class_of_word(word: &str) -> Option<ErrorClass> {
    match word {
        "rate_limit" | "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => {
            Some(ErrorClass::RateLimit)
        }
        "usage_limit_reached" | "insufficient_quota" => Some(ErrorClass::UsageWindow),
        "authentication_failed"
        | "authentication_error"
        | "billing_error"
        | "auth_required"
        | "invalid_api_key" => Some(ErrorClass::Auth),
        "permission_error" => Some(ErrorClass::Permission),
        "connection_failed" | "ECONNREFUSED" | "ENOTFOUND" | "ECONNRESET" | "ETIMEDOUT" => {
            Some(ErrorClass::Network)
        }
        "server_error" | "overloaded" | "overloaded_error" | "api_error" => {
            Some(ErrorClass::Server)
        }
        "model_not_found" | "not_found_error" => Some(ErrorClass::NoModel),
        "max_output_tokens" | "request_too_large" | "context_length_exceeded" => {
            Some(ErrorClass::Overflow)
        }
        _ => None,
    }
}

/// Parts of texts, in small letters. The first that is there wins.
const TEXTS: &[(&str, ErrorClass)] = &[
    ("usage limit", ErrorClass::UsageWindow),
    ("hit your limit", ErrorClass::UsageWindow),
    ("quota exceeded", ErrorClass::UsageWindow),
    ("exceeded your current quota", ErrorClass::UsageWindow),
    ("prompt is too long", ErrorClass::Overflow),
    ("context length", ErrorClass::Overflow),
    ("context window", ErrorClass::Overflow),
    ("not logged in", ErrorClass::Auth),
    ("/login", ErrorClass::Auth),
    ("invalid api key", ErrorClass::Auth),
    ("api key is missing", ErrorClass::Auth),
    ("failed to authenticate", ErrorClass::Auth),
    ("authentication required", ErrorClass::Auth),
    ("unauthorized", ErrorClass::Auth),
    ("credit balance is too low", ErrorClass::Auth),
    ("rate limit", ErrorClass::RateLimit),
    ("too many requests", ErrorClass::RateLimit),
    ("(429)", ErrorClass::RateLimit),
    ("connection refused", ErrorClass::Network),
    ("econnrefused", ErrorClass::Network),
    ("enotfound", ErrorClass::Network),
    ("econnreset", ErrorClass::Network),
    ("unable to connect", ErrorClass::Network),
    ("connection error", ErrorClass::Network),
    ("connection lost", ErrorClass::Network),
    ("fetch failed", ErrorClass::Network),
    ("request timed out", ErrorClass::Network),
    ("overloaded", ErrorClass::Server),
    ("internal server error", ErrorClass::Server),
    ("issue with the selected model", ErrorClass::NoModel),
    ("model not found", ErrorClass::NoModel),
];

/// Returns the class of an error that is only a text.
pub(super) fn class_of_text(text: &str) -> Option<ErrorClass> {
    let small = text.to_lowercase();
    TEXTS.iter().find(|(part, _)| small.contains(part)).map(|(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn class(code: i64, message: &str, data: Value) -> Option<ErrorClass> {
        class_of(&RpcError { code, message: message.to_owned(), data })
    }

    #[test]
    fn codes_come_before_fields_and_fields_before_texts() {
        assert_eq!(class(-32000, "overloaded", json!({"status": 429})), Some(ErrorClass::Auth));
        assert_eq!(
            class(-32603, "overloaded", json!({"errorKind": "rate_limit"})),
            Some(ErrorClass::RateLimit)
        );
        assert_eq!(
            class(-32603, "x", json!({"error": {"status": "503"}})),
            Some(ErrorClass::Server)
        );
        assert_eq!(
            class(-32603, "x", json!({"cause": {"code": "ECONNREFUSED"}})),
            Some(ErrorClass::Network)
        );
        assert_eq!(class(429, "x", Value::Null), Some(ErrorClass::RateLimit));
        assert_eq!(class(-32603, "Overloaded", Value::Null), Some(ErrorClass::Server));
        assert_eq!(
            class(-32603, "Internal error", json!({"details": "Usage limit reached"})),
            Some(ErrorClass::UsageWindow)
        );
        assert_eq!(class(-32603, "Internal error", Value::Null), None);
    }

    #[test]
    fn an_error_is_told_with_its_details_and_never_without_a_word() {
        let text = |message: &str, data| {
            text_of(&RpcError { code: -1, message: message.to_owned(), data })
        };
        assert_eq!(
            text("Internal error", json!({"details": "no disk"})),
            "Internal error: no disk"
        );
        assert_eq!(text("Internal error", json!("no disk")), "Internal error: no disk");
        assert_eq!(text("no disk", json!({"details": "no disk"})), "no disk");
        assert_eq!(text("", Value::Null), "error -1");
    }
}
