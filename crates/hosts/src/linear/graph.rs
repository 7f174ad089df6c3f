//! Questions and changes in Linear's GraphQL.
//!
//! Its errors are in the answer, with a status that does not matter.

use serde_json::{Value, json};

use crate::{
    client::Client,
    error::HostError,
    http::HttpMethod,
    issue::{list_at, text_at},
};

/// Linear counts by the hour, and does not say when one ends. In seconds.
const LIMIT_SECONDS: i64 = 60 * 60;

/// Asks about an issue, and returns what is said of it.
pub(crate) fn ask(client: &Client<'_>, query: &str, variables: &Value) -> Result<Value, HostError> {
    ask_for(client, HttpMethod::Query, query, variables, "/data/issue")
}

/// Asks, and returns the object at a place of the answer.
pub(crate) fn ask_for(
    client: &Client<'_>,
    method: HttpMethod,
    query: &str,
    variables: &Value,
    place: &str,
) -> Result<Value, HostError> {
    let body = json!({"query": query, "variables": variables});
    let (status, mut answer) = client.query(method, "/graphql", &body)?;
    if let Some(error) = list_at(&answer, "errors").first() {
        let message = text_at(error, "message").unwrap_or("an error without a message");
        let extensions = error.get("extensions").unwrap_or(&Value::Null);
        let code = text_at(extensions, "code").unwrap_or_default();
        return Err(match code {
            "AUTHENTICATION_ERROR" | "FORBIDDEN" => client.refused(status, None),
            "RATELIMITED" => client.limited(LIMIT_SECONDS),
            _ if message.starts_with("Entity not found") => client.not_found(),
            _ => client.unexpected(&format!("{code} {message}")),
        });
    }
    match answer.pointer_mut(place).map(Value::take) {
        Some(issue @ Value::Object(_)) => Ok(issue),
        Some(_) | None => Err(client.not_found()),
    }
}
