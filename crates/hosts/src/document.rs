//! The words of a document of Jira (the Atlassian Document Format), and JSON as issues have it.
//!
//! Nothing is refused here: kinds of nodes that are not known are their content.

use serde_json::Value;

/// Returns the words of a document of Jira. Kinds that are not known are their content.
fn plain(node: &Value) -> String {
    let kind = node.get("type").and_then(Value::as_str).unwrap_or_default();
    let attribute = |name: &str| {
        let value = node.get("attrs").and_then(|attrs| attrs.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    match kind {
        "text" => return node.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        "hardBreak" => return "\n".to_owned(),
        "rule" => return "---\n\n".to_owned(),
        "mention" | "emoji" | "status" => return attribute("text"),
        "inlineCard" | "blockCard" => return attribute("url"),
        _ => {}
    }
    let content = node.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let inner: String = content.iter().map(plain).collect();
    match kind {
        "paragraph" => format!("{}\n\n", inner.trim_end()),
        "heading" => format!("## {}\n\n", inner.trim()),
        "listItem" | "taskItem" => {
            format!("- {}\n", inner.trim().replace("\n\n", "\n").replace('\n', "\n  "))
        }
        "bulletList" | "orderedList" | "taskList" => format!("{inner}\n"),
        "codeBlock" => format!("```\n{}\n```\n\n", inner.trim_end()),
        "blockquote" => format!("> {}\n\n", inner.trim().replace('\n', "\n> ")),
        "tableRow" => format!("{}\n", inner.replace('\n', " ").trim()),
        "tableCell" | "tableHeader" => format!("| {} ", inner.trim()),
        _ => inner,
    }
}

/// Returns the words of a text or a document. None if it is neither.
pub(crate) fn text_of(value: Option<&Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text.trim().to_owned()),
        Some(document @ Value::Object(_)) => Some(plain(document).trim().to_owned()),
        Some(Value::Null) | None => Some(String::new()),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => None,
    }
}

/// Returns the same JSON, in which a number that is too large to be one says nothing.
pub(crate) fn within_range(text: &str) -> String {
    let mut same = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let n_bytes = match first {
            '"' => string_bytes(rest),
            '-' | '0'..='9' => {
                let is_part = |c: char| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
                rest.find(|c| !is_part(c)).unwrap_or(rest.len())
            }
            other => other.len_utf8(),
        };
        let (token, after) = rest.split_at(n_bytes);
        let is_endless = token.parse().is_ok_and(f64::is_infinite);
        same.push_str(if is_endless { "null" } else { token });
        rest = after;
    }
    same
}

/// Returns how long the string is that a text begins with, with its quotes.
fn string_bytes(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().enumerate().skip(1).find(|(_, byte)| {
        let is_end = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |(position, _)| position + 1)
}
