//! An issue that a person saved as JSON: of GitHub or of Jira, as their interfaces give it.
//!
//! Nothing is fetched here. What an issue says is the request, word for word, with its title as a heading.
//!
//! Invariant: what is no issue is refused in words, and nothing is guessed.

use std::{fmt::Write as _, path::Path};

use forge_driver::Error;
use forge_project::bounded_read::read_text;
use serde_json::Value;

use crate::start::effort;

/// The most bytes of an issue.
const ISSUE_BYTES_MAX: u64 = 1024 * 1024;

/// An issue, as far as a run cares.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Issue {
    /// Title and text.
    pub(super) text: String,
    /// Its address, or its name.
    pub(super) source: String,
    /// Whose issue it is.
    pub(super) tracker: Tracker,
    /// Its story points, if they say anything.
    pub(super) points: Option<f64>,
}

/// A tracker of issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tracker {
    GitHub,
    Jira,
}

impl Tracker {
    /// Returns the word that a flow has for it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::Jira => "jira",
        }
    }
}

impl Issue {
    /// Reads the file of an issue. The name of the field with story points is a setting.
    pub(super) fn read(path: &Path, points: &str) -> Result<Self, Error> {
        let next = "gh api repos/OWNER/REPO/issues/7 > issue.json && forge run --issue issue.json";
        let wrong = |what: String| Error::usage(format!("{}: {what}", path.display()), next);
        let text = read_text(path, ISSUE_BYTES_MAX)?.ok_or_else(|| {
            Error::usage(format!("cannot read the issue: {} does not exist", path.display()), next)
        })?;
        let value: Value = serde_json::from_str(&within_range(&text))
            .map_err(|error| wrong(format!("it is not JSON: {error}")))?;
        Self::parse(&value, points).map_err(wrong)
    }

    fn parse(value: &Value, points: &str) -> Result<Self, String> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::trim);
        if let Some(fields) = value.get("fields") {
            let key = text("key").filter(|key| !key.is_empty()).ok_or("the issue has no `key`")?;
            let title = fields.get("summary").and_then(Value::as_str).unwrap_or_default();
            let body = match fields.get("description") {
                Some(Value::String(text)) => text.trim().to_owned(),
                Some(document @ Value::Object(_)) => plain(document).trim().to_owned(),
                Some(Value::Null) | None => String::new(),
                Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
                    return Err("its `description` is neither a text nor a document".to_owned());
                }
            };
            let source = browse(text("self"), key);
            return Ok(Self {
                text: together(title, &body, "fields.summary", &source, &labels(fields))?,
                source,
                tracker: Tracker::Jira,
                points: effort::points(fields.get(points)),
            });
        }
        let is_number = value.get("number").is_some_and(Value::is_u64);
        if value.get("title").is_some() && is_number {
            let number = value.get("number").and_then(Value::as_u64).unwrap_or_default();
            let address = text("html_url").or(text("url")).map(str::to_owned);
            let source = address.unwrap_or_else(|| format!("#{number}"));
            return Ok(Self {
                text: together(
                    text("title").unwrap_or_default(),
                    text("body").unwrap_or_default(),
                    "title",
                    &source,
                    &labels(value),
                )?,
                source,
                tracker: Tracker::GitHub,
                points: None,
            });
        }
        Err("it is neither a GitHub issue (`number`, `title`, `body`) nor a Jira issue (`key`, \
             `fields`)"
            .to_owned())
    }
}

/// Returns the same JSON, in which a number that is too large to be one says nothing.
fn within_range(text: &str) -> String {
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

/// Returns where a person finds the issue: beside the interface that gave it.
fn browse(own: Option<&str>, key: &str) -> String {
    let host = own.and_then(|own| own.split_once("/rest/")).map(|(host, _)| host);
    host.map_or_else(|| key.to_owned(), |host| format!("{host}/browse/{key}"))
}

/// Returns the request that an issue is: its words, and where it comes from.
fn together(
    title: &str,
    body: &str,
    key: &str,
    source: &str,
    labels: &[&str],
) -> Result<String, String> {
    let title = title.trim();
    if title.is_empty() {
        return Err(format!("the issue has no `{key}`"));
    }
    let mut text = format!("# {title}\n\n");
    if !body.is_empty() {
        let _ = write!(text, "{body}\n\n");
    }
    let _ = writeln!(text, "Issue: {source}");
    if !labels.is_empty() {
        let _ = writeln!(text, "Labels: {}", labels.join(", "));
    }
    Ok(text)
}

/// Returns the labels of an issue: texts, or objects with a name.
fn labels(issue: &Value) -> Vec<&str> {
    let labels = issue.get("labels").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let names = labels.iter().filter_map(|label| label.get("name").unwrap_or(label).as_str());
    names.map(str::trim).filter(|name| !name.is_empty()).collect()
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const POINTS: &str = "customfield_10016";

    #[test]
    fn an_issue_of_jira_is_its_summary_and_the_words_of_its_document() {
        let document = json!({"type": "doc", "content": [
            {"type": "paragraph", "content": [{"type": "text", "text": "Show "}, {"type": "text", "text": "sums."}]},
            {"type": "bulletList", "content": [
                {"type": "listItem", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "one"}]}]},
                {"type": "listItem", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "two"}]}]},
            ]},
            {"type": "codeBlock", "content": [{"type": "text", "text": "let a = 1;"}]},
            {"type": "unheard", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "end"}]}]},
        ]});
        let issue = json!({"key": "AB-7", "self": "https://h.net/rest/api/3/issue/9",
            "fields": {"summary": "Sums", "description": document, POINTS: 5.0}});
        let issue = Issue::parse(&issue, POINTS).unwrap();
        assert_eq!(
            issue.text,
            "# Sums\n\nShow sums.\n\n- one\n- two\n\n```\nlet a = 1;\n```\n\nend\n\nIssue: https://h.net/browse/AB-7\n"
        );
        assert_eq!(issue.source, "https://h.net/browse/AB-7");
        assert_eq!((issue.tracker, issue.points), (Tracker::Jira, Some(5.0)));
    }

    #[test]
    fn an_issue_of_github_is_its_title_and_body_with_its_address_and_labels() {
        let address = "https://github.com/o/r/issues/7";
        let labels = json!([{"name": "bug"}, "easy", {"color": "red"}]);
        let issue = json!({"number": 7, "title": "Sums", "body": "Show them.", "html_url": address, "labels": labels});
        let issue = Issue::parse(&issue, POINTS).unwrap();
        let text = format!("# Sums\n\nShow them.\n\nIssue: {address}\nLabels: bug, easy\n");
        assert_eq!(issue.text, text);
        assert_eq!(issue.source, address);
        assert_eq!(issue.points, None);
        let bare = Issue::parse(&json!({"number": 7, "title": "Sums", "body": null}), POINTS);
        assert_eq!(bare.unwrap().text, "# Sums\n\nIssue: #7\n");
    }

    #[test]
    fn points_that_are_too_large_or_too_small_for_a_number_say_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issue.json");
        for points in ["1e400", "-1e400", "1E+999", "1e-400", "[1e400]"] {
            let fields = format!(r#"{{"summary": "a \"1e400\" \\", "{POINTS}": {points}}}"#);
            std::fs::write(&path, format!(r#"{{"key": "A-1", "fields": {fields}}}"#)).unwrap();
            let issue = Issue::read(&path, POINTS).unwrap();
            let text = "# a \"1e400\" \\\n\nIssue: A-1\n";
            assert_eq!((issue.points, &*issue.text), (None, text), "{points}");
        }
    }

    #[test]
    fn what_is_no_issue_is_refused_in_words() {
        for (value, why) in [
            (json!({}), "neither a GitHub issue"),
            (json!([1]), "neither a GitHub issue"),
            (json!({"title": "x"}), "neither a GitHub issue"),
            (json!({"number": 1, "title": " "}), "no `title`"),
            (json!({"fields": {"summary": "x"}}), "no `key`"),
            (json!({"key": "A-1", "fields": {}}), "no `fields.summary`"),
            (json!({"key": "A-1", "fields": {"summary": "x", "description": 5}}), "neither a text"),
        ] {
            let flaw = Issue::parse(&value, POINTS).unwrap_err();
            assert!(flaw.contains(why), "{value}: {flaw}");
        }
    }
}
