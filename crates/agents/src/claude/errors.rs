//! Which of Claude Code's words mean which class of error, and for how long.
//!
//! Invariant: structured fields first, texts last.

use serde_json::Value;

use super::wire::ResultLine;
use crate::signal::{ErrorClass, Limit, UsageWindow, WHAT_CHARACTERS_MAX, truncate};

/// Seconds since 1970 between these are believed to be a time: 2001 and 2286.
const SECONDS: std::ops::Range<u64> = 1_000_000_000..10_000_000_000;

/// Reads the line about another request to the provider.
pub(super) fn retry(line: &Value) -> Limit {
    let word = line["error"].as_str();
    let status = line["error_status"].as_u64();
    let class = status.and_then(class_from_status).or(word.and_then(class_from_word));
    let class = class.unwrap_or(match status {
        // No answer at all.
        None => ErrorClass::Network,
        Some(_) => ErrorClass::Unknown,
    });
    let what = match status {
        Some(status) => format!("the provider answered {status} ({})", word.unwrap_or("no reason")),
        None => format!("the provider did not answer ({})", word.unwrap_or("no reason")),
    };
    let delay_ms = line["retry_delay_ms"].as_u64();
    Limit { class, until_ms: None, delay_ms, what: truncate(&what, WHAT_CHARACTERS_MAX) }
}

/// Returns what the provider says of the account's limits, if that is a no.
pub(super) fn rejected(info: &Value) -> Option<Limit> {
    if info["status"] != "rejected" {
        return None;
    }
    let until_ms = info["resetsAt"].as_u64().and_then(milliseconds);
    let (class, what) = match info["rateLimitType"].as_str() {
        Some(window) => (
            ErrorClass::UsageWindow,
            format!("the usage limit ({}) is reached", truncate(window, 50)),
        ),
        None => (ErrorClass::RateLimit, "rate-limited by the provider".to_owned()),
    };
    Some(Limit { class, until_ms, delay_ms: None, what })
}

/// Returns how much of the account is used up, by window: of all of them, or of the one that is warned of.
pub(super) fn windows(info: &Value) -> Vec<UsageWindow> {
    let all = info["unifiedWindows"].as_object().into_iter().flatten();
    let warned = info["rateLimitType"].as_str().map(|name| (name, info));
    let all = all.map(|(name, said)| (name.as_str(), said));
    let mut windows: Vec<UsageWindow> = all.filter_map(window).collect();
    if windows.is_empty() {
        windows.extend(warned.and_then(window));
    }
    windows
}

fn window((name, said): (&str, &Value)) -> Option<UsageWindow> {
    // A part of one.
    let used = said["utilization"].as_f64()?.clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between nothing and a hundred"
    )]
    let used_percent = (used * 100.0).round() as u32;
    let resets_at_ms = said["resetsAt"].as_u64().and_then(milliseconds);
    Some(UsageWindow { name: truncate(name, 50), used_percent, resets_at_ms })
}

/// Returns why it ended badly. `error` is the word of its last message, `limit` the last limit it ran into.
pub(super) fn ending(line: &ResultLine, error: Option<&str>, limit: Option<&Limit>) -> Limit {
    let what = what(line);
    let class = class_from_fields(line, error)
        .or_else(|| class_from_text(&what))
        .unwrap_or(ErrorClass::Unknown);
    let limit = limit.filter(|limit| is_about(limit.class, class));
    let until_ms = limit.and_then(|limit| limit.until_ms).or_else(|| until_in(&what));
    let delay_ms = limit.and_then(|limit| limit.delay_ms);
    Limit { class, until_ms, delay_ms, what }
}

/// Returns true if a limit on the way tells something about the end.
fn is_about(limit: ErrorClass, end: ErrorClass) -> bool {
    let is_limit = |class| matches!(class, ErrorClass::RateLimit | ErrorClass::UsageWindow);
    limit == end || is_limit(limit) && is_limit(end)
}

fn what(line: &ResultLine) -> String {
    let errors = line.errors.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut texts: Vec<&str> = line.result.as_str().into_iter().chain(errors).collect();
    texts.retain(|text| !text.trim().is_empty());
    let text = texts.join("\n");
    if text.is_empty() {
        let subtype = line.subtype.as_str().unwrap_or("an unknown error");
        return format!("it ended with {}", truncate(subtype, 100));
    }
    truncate(text.trim(), WHAT_CHARACTERS_MAX)
}

fn class_from_fields(line: &ResultLine, error: Option<&str>) -> Option<ErrorClass> {
    let terminal = line.terminal_reason.as_str().unwrap_or_default();
    if line.subtype == "error_max_budget_usd" || terminal == "budget_exhausted" {
        return Some(ErrorClass::OutOfBudget);
    }
    if terminal == "prompt_too_long" {
        return Some(ErrorClass::Overflow);
    }
    if terminal.starts_with("aborted") {
        return Some(ErrorClass::Stopped);
    }
    if line.stop_reason == "refusal" {
        return Some(ErrorClass::Refusal);
    }
    let words = [line.api_error.as_str(), error, line.api_error_type.as_str()];
    // Who cannot pay gets a status that says nothing.
    let [first, second, third] = words.map(|word| word.and_then(class_from_word));
    first.or(line.api_error_status.as_u64().and_then(class_from_status)).or(second).or(third)
}

fn class_from_status(status: u64) -> Option<ErrorClass> {
    match status {
        401 | 402 => Some(ErrorClass::Auth),
        403 => Some(ErrorClass::Permission),
        404 => Some(ErrorClass::NoModel),
        413 => Some(ErrorClass::Overflow),
        429 => Some(ErrorClass::RateLimit),
        500.. => Some(ErrorClass::Server),
        _ => None,
    }
}

fn class_from_word(word: &str) -> Option<ErrorClass> {
    match word {
        "rate_limit" | "rate_limit_error" => Some(ErrorClass::RateLimit),
        "usage_limit_reached" => Some(ErrorClass::UsageWindow),
        "authentication_failed" | "authentication_error" | "billing_error" => {
            Some(ErrorClass::Auth)
        }
        "permission_error" => Some(ErrorClass::Permission),
        "connection_failed" => Some(ErrorClass::Network),
        "server_error" | "overloaded" | "overloaded_error" | "api_error" => {
            Some(ErrorClass::Server)
        }
        "model_not_found" | "not_found_error" => Some(ErrorClass::NoModel),
        "max_output_tokens" | "request_too_large" => Some(ErrorClass::Overflow),
        _ => None,
    }
}

/// Parts of texts, in small letters. The first that is there wins.
const TEXTS: &[(&str, ErrorClass)] = &[
    ("no conversation found with session id", ErrorClass::NoSession),
    ("usage limit reached", ErrorClass::UsageWindow),
    ("5-hour limit", ErrorClass::UsageWindow),
    ("weekly limit", ErrorClass::UsageWindow),
    ("session limit", ErrorClass::UsageWindow),
    ("hit your limit", ErrorClass::UsageWindow),
    ("prompt is too long", ErrorClass::Overflow),
    ("not logged in", ErrorClass::Auth),
    ("please run /login", ErrorClass::Auth),
    ("invalid api key", ErrorClass::Auth),
    ("failed to authenticate", ErrorClass::Auth),
    ("oauth token", ErrorClass::Auth),
    ("credit balance is too low", ErrorClass::Auth),
    ("connection refused", ErrorClass::Network),
    ("econnrefused", ErrorClass::Network),
    ("enotfound", ErrorClass::Network),
    ("econnreset", ErrorClass::Network),
    ("unable to connect", ErrorClass::Network),
    ("connection error", ErrorClass::Network),
    ("request timed out", ErrorClass::Network),
    ("overloaded", ErrorClass::Server),
    ("unknown option", ErrorClass::Tooling),
    ("is not a valid json schema", ErrorClass::Tooling),
    ("already in use", ErrorClass::Tooling),
    ("cannot be used with root", ErrorClass::Tooling),
    ("invalid session id", ErrorClass::Tooling),
];

fn class_from_text(text: &str) -> Option<ErrorClass> {
    let text = text.to_lowercase();
    TEXTS.iter().find(|(part, _)| text.contains(part)).map(|(_, class)| *class)
}

/// Returns the same for what it wrote as errors, when that is all there is.
pub(super) fn class_of_errors(errors: &str) -> Option<ErrorClass> {
    class_from_text(errors)
}

/// Reads the end of a limit behind a bar: `…limit reached|1700000000`.
fn until_in(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once('|')?;
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok().and_then(milliseconds)
}

fn milliseconds(seconds: u64) -> Option<u64> {
    SECONDS.contains(&seconds).then(|| seconds * 1000)
}
