//! Comments at issues, which are there once.

use forge_hosts::{
    CommentChange, HostError, HostTokens, Kind, PostedComment, TextMark, comment_at_issue,
    delete_comment, has_comment,
};
use serde_json::{Value, json};

use std::sync::{Arc, Mutex};

use crate::{
    forge_host::{Kept, start},
    loopback::{Host, Reply},
    world::{World, address, tokens},
};

const HOSTS: [Kind; 3] = [Kind::GitHub, Kind::GitLab, Kind::Gitea];

fn mark() -> TextMark {
    TextMark::new("abcd", "summary", "Forge run abcd")
}

fn path(kind: Kind) -> &'static str {
    match kind {
        Kind::GitHub | Kind::Gitea | Kind::GitLab => "/o/r/issues/3",
        Kind::Jira => "/browse/AB-1",
        Kind::Linear => "/t/issue/AB-1",
    }
}

fn comment(host: &Host, kind: Kind, text: &str) -> Result<PostedComment, HostError> {
    let address = address(host, kind, path(kind));
    comment_at_issue(&address, &tokens(&address), &World::new().http, &mark(), text)
}

#[test]
fn a_comment_is_written_once_then_updated_and_left_alone_if_it_says_the_same() {
    for kind in HOSTS {
        // Enough for three pages, and one that quotes the mark.
        let mut comments: Vec<Value> =
            (1..=210).map(|id| json!({"id": id, "body": "hm"})).collect();
        comments[7]["body"] = "> <!-- forge:abcd:summary -->\nWhat is this?".into();
        let (host, kept) = start(kind, Kept { comments, n_lost: 1, ..Kept::default() });
        let changes: Vec<CommentChange> =
            ["One.", "One.", "Two."].map(|text| comment(&host, kind, text).unwrap().change).into();
        let all = [CommentChange::Posted, CommentChange::Same, CommentChange::Updated];
        assert_eq!(changes, all, "{kind:?}");
        let kept = kept.lock().unwrap();
        assert_eq!(kept.comments.len(), 211, "{kind:?}");
        assert_eq!(kept.comments[210]["body"], "<!-- forge:abcd:summary -->\nTwo.");
    }
}

#[test]
fn a_comment_that_was_never_answered_is_not_written_again_while_it_is_there() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept { n_lost: 1, ..Kept::default() });
        assert_eq!(comment(&host, kind, "One.").unwrap().change, CommentChange::Posted);
        assert_eq!(kept.lock().unwrap().comments.len(), 1);
        // One that had no effect is.
        let (host, kept) = start(kind, Kept { refusal: Some(Reply::lost()), ..Kept::default() });
        assert_eq!(comment(&host, kind, "One.").unwrap().change, CommentChange::Posted);
        assert_eq!(kept.lock().unwrap().comments.len(), 1);
    }
}

fn delete(host: &Host, kind: Kind) {
    let address = address(host, kind, path(kind));
    let (tokens, http) = (tokens(&address), World::new().http);
    delete_comment(&address, &tokens, &http, &mark()).unwrap();
    assert_eq!(has_comment(&address, &tokens, &http, &mark()), Ok(false));
}

#[test]
fn a_comment_of_another_user_with_the_mark_is_neither_changed_nor_taken_for_ours() {
    for kind in HOSTS {
        let (user, author) = (json!({"id": 5}), json!({"id": 5}));
        let text = "<!-- forge:abcd:summary -->\nI am Forge.";
        let theirs = json!({"id": 1, "body": text, "user": user, "author": author});
        let comments = vec![theirs.clone()];
        let (host, kept) = start(kind, Kept { comments, user: Some(9), ..Kept::default() });
        let changes: Vec<CommentChange> =
            ["One.", "Two."].map(|text| comment(&host, kind, text).unwrap().change).into();
        assert_eq!(changes, [CommentChange::Posted, CommentChange::Updated], "{kind:?}");
        delete(&host, kind);
        assert_eq!(kept.lock().unwrap().comments, [theirs], "{kind:?}");
    }
}

#[test]
fn a_comment_is_deleted_once_also_where_the_answer_is_lost_and_it_is_not_known_whose_the_token_is()
{
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        comment(&host, kind, "One.").unwrap();
        kept.lock().unwrap().comments.push(json!({"id": 77, "body": "Thanks!"}));
        // It was deleted, and the second try finds nothing.
        kept.lock().unwrap().refusal = Some(Reply::new(503, ""));
        delete(&host, kind);
        delete(&host, kind);
        assert_eq!(kept.lock().unwrap().comments.len(), 1, "{kind:?}");
    }
}

#[test]
fn a_comment_that_is_too_long_for_its_host_is_cut_and_says_so() {
    let (host, kept) = start(Kind::GitHub, Kept::default());
    for change in [CommentChange::Posted, CommentChange::Same] {
        let posted = comment(&host, Kind::GitHub, &"💡".repeat(70_000)).unwrap();
        assert_eq!(posted.change, change);
    }
    let text = kept.lock().unwrap().comments[0]["body"].as_str().unwrap().to_owned();
    assert!(
        text.ends_with("\n\n(shortened: the rest is too long for this host)"),
        "{}",
        text.len()
    );
    assert!((60_000..65_536).contains(&text.encode_utf16().count()));
}

type SharedComments = Arc<Mutex<Vec<Value>>>;

/// Starts a Jira that keeps comments. Its first post is not answered.
fn jira() -> (Host, SharedComments) {
    let kept = SharedComments::default();
    let shared = Arc::clone(&kept);
    let host = Host::start(move |_, asked| {
        let mut kept = shared.lock().unwrap();
        let body: Value = serde_json::from_str(&asked.body).unwrap_or(Value::Null);
        let path = asked.path.split('?').next().unwrap();
        match (&*asked.method, path.trim_start_matches("/rest/api/2/issue/AB-1")) {
            ("GET", "/comment") => Reply::json(&json!({"total": kept.len(), "comments": *kept})),
            ("POST", "/comment") => {
                let id = kept.len().to_string();
                let author = json!({"key": "JIRAUSER1"});
                kept.push(json!({"id": id, "body": body["body"], "author": author}));
                Reply::lost()
            }
            ("PUT", "/comment/0") => {
                kept[0]["body"] = body["body"].clone();
                Reply::json(&kept[0])
            }
            ("DELETE", "/comment/0") => {
                kept.clear();
                Reply::new(204, "")
            }
            ("GET", "/rest/api/2/myself") => Reply::json(&json!({"key": "JIRAUSER1"})),
            _ => Reply::new(404, ""),
        }
    });
    (host, kept)
}

#[test]
fn a_comment_of_jira_is_found_by_its_first_line() {
    let (host, kept) = jira();
    for text in ["One.", "Two."] {
        comment(&host, Kind::Jira, text).unwrap();
    }
    let all: Vec<Value> = kept.lock().unwrap().clone();
    let own = json!({"key": "JIRAUSER1"});
    assert_eq!(all, [json!({"id": "0", "body": "Forge run abcd\n\nTwo.", "author": own})]);
    kept.lock().unwrap()[0]["author"] = json!({"key": "JIRAUSER2"});
    delete(&host, Kind::Jira);
    assert_eq!(kept.lock().unwrap().len(), 1, "another's stays");
    kept.lock().unwrap()[0]["author"] = own;
    delete(&host, Kind::Jira);
    assert!(kept.lock().unwrap().is_empty());
}

#[test]
fn an_issue_of_linear_gets_one_comment() {
    let kept = SharedComments::default();
    let shared = Arc::clone(&kept);
    let host = Host::start(move |_, asked| {
        let mut kept = shared.lock().unwrap();
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        let (query, given) = (body["query"].as_str().unwrap(), &body["variables"]);
        let data = if query.starts_with("query Comments") {
            json!({"issue": {"comments": {"nodes": *kept, "pageInfo": {"hasNextPage": false}}}})
        } else if query.starts_with("query Viewer") {
            json!({"viewer": {"id": "me"}})
        } else if query.starts_with("mutation Delete") {
            assert_eq!(given["id"], "c1");
            kept.clear();
            json!({"commentDelete": {"success": true}})
        } else if query.starts_with("query Issue") {
            json!({"issue": {"id": "u1"}})
        } else if query.starts_with("mutation Post") {
            assert_eq!(given["id"], "u1");
            kept.push(json!({
                "id": "c1", "url": "https://linear.app/c1", "body": given["body"],
                "user": {"id": "me"},
            }));
            return Reply::lost();
        } else {
            assert_eq!(given["id"], "c1");
            kept[0]["body"] = given["body"].clone();
            json!({"commentUpdate": {"comment": {"id": "c1"}}})
        };
        Reply::json(&json!({"data": data}))
    });
    let posted = comment(&host, Kind::Linear, "One.").unwrap();
    assert_eq!(posted.address.as_deref(), Some("https://linear.app/c1"));
    assert_eq!(comment(&host, Kind::Linear, "Two.").unwrap().change, CommentChange::Updated);
    assert_eq!(kept.lock().unwrap().len(), 1);
    kept.lock().unwrap()[0]["user"]["id"] = "another".into();
    delete(&host, Kind::Linear);
    assert_eq!(kept.lock().unwrap().len(), 1, "another's stays");
    kept.lock().unwrap()[0]["user"]["id"] = "me".into();
    delete(&host, Kind::Linear);
    assert!(kept.lock().unwrap().is_empty());
}

#[test]
fn a_comment_needs_a_token_and_the_right_to_write() {
    let (host, kept) = start(Kind::GitHub, Kept::default());
    let address = address(&host, Kind::GitHub, path(Kind::GitHub));
    let bare = comment_at_issue(&address, &HostTokens::none(), &World::new().http, &mark(), "One.");
    assert!(matches!(bare, Err(HostError::NoToken { .. })), "{bare:?}");
    kept.lock().unwrap().refusal =
        Some(Reply::new(403, r#"{"message": "Must have write access"}"#));
    let error = comment(&host, Kind::GitHub, "One.").unwrap_err();
    assert!(error.what().contains("Must have write access"), "{error}");
}
