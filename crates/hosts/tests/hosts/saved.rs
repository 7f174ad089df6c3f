//! Issues that a person saved, and the request that an issue is.

use forge_hosts::{Comment, Issue, Kind};
use serde_json::json;

use crate::world::POINTS;

#[test]
fn an_issue_of_jira_is_its_summary_and_the_words_of_its_document() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let paragraph = |all: Vec<_>| json!({"type": "paragraph", "content": all});
    let item = |word: &str| json!({"type": "listItem", "content": [paragraph(vec![text(word)])]});
    let document = json!({"type": "doc", "content": [
        paragraph(vec![text("Show "), text("sums.")]),
        {"type": "bulletList", "content": [item("one"), item("two")]},
        {"type": "codeBlock", "content": [text("let a = 1;")]},
        {"type": "unheard", "content": [paragraph(vec![text("end")])]},
    ]});
    let issue = json!({"key": "AB-7", "self": "https://h.net/rest/api/3/issue/9",
        "fields": {"summary": "Sums", "description": document, POINTS: 5.0}});
    let issue = Issue::parse(&issue, POINTS).unwrap();
    assert_eq!(
        issue.request_text(),
        "# Sums\n\nShow sums.\n\n- one\n- two\n\n```\nlet a = 1;\n```\n\nend\n\nIssue: https://h.net/browse/AB-7\n"
    );
    assert_eq!(issue.source, "https://h.net/browse/AB-7");
    assert_eq!((issue.tracker, &*issue.key, issue.points), (Kind::Jira, "AB-7", Some(5.0)));
}

#[test]
fn an_issue_of_github_is_its_title_and_body_with_its_address_and_labels() {
    let address = "https://github.com/o/r/issues/7";
    let labels = json!([{"name": "bug"}, "easy", {"color": "red"}]);
    let issue = json!({"number": 7, "title": "Sums", "body": "Show them.", "html_url": address, "labels": labels});
    let issue = Issue::parse(&issue, POINTS).unwrap();
    let text = format!("# Sums\n\nShow them.\n\nIssue: {address}\nLabels: bug, easy\n");
    assert_eq!(issue.request_text(), text);
    assert_eq!(issue.source, address);
    assert_eq!((issue.tracker, issue.points), (Kind::GitHub, None));
    let bare = Issue::parse(&json!({"number": 7, "title": "Sums", "body": null}), POINTS);
    assert_eq!(bare.unwrap().request_text(), "# Sums\n\nIssue: #7\n");
}

#[test]
fn what_people_said_follows_the_issue_with_its_lines_indented() {
    let issue = json!({"number": 7, "title": "Sums", "body": null});
    let mut issue = Issue::parse(&issue, POINTS).unwrap();
    let comment = |author: &str, at: &str, text: &str| Comment {
        author: author.to_owned(),
        at: at.to_owned(),
        text: text.to_owned(),
    };
    issue.comments = vec![
        comment("ada", "2026-01-02T03:04:05Z", "One.\n\n- two\n  three"),
        comment("bob", "later", "Four."),
    ];
    assert_eq!(
        issue.request_text(),
        "# Sums\n\nIssue: #7\n\nComments:\n\n- ada, 2026-01-02: One.\n\n  - two\n    three\n- bob, later: Four.\n"
    );
}

#[test]
fn points_that_are_too_large_or_too_small_for_a_number_say_nothing() {
    for points in ["1e400", "-1e400", "1E+999", "1e-400", "[1e400]", "0", "-3", "\"5\"", "{}"] {
        let fields = format!(r#"{{"summary": "a \"1e400\" \\", "{POINTS}": {points}}}"#);
        let text = format!(r#"{{"key": "A-1", "fields": {fields}}}"#);
        let issue = Issue::parse_text(&text, POINTS).unwrap();
        let text = "# a \"1e400\" \\\n\nIssue: A-1\n";
        assert_eq!((issue.points, &*issue.request_text()), (None, text), "{points}");
    }
    assert!(Issue::parse_text("{", POINTS).unwrap_err().starts_with("it is not JSON: "));
}

#[test]
fn what_is_not_an_issue_is_refused_in_words() {
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
