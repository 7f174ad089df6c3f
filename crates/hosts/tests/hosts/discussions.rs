//! Comments at issues and pull requests, which are there once, and the states of issues.

use forge_hosts::{
    CommentChange, HostError, HostTokens, HostedRepository, IssueMove, Kind, Known, PostedComment,
    PullRequests, TextMark, comment_at_issue, move_issue,
};
use serde_json::{Value, json};

use std::sync::{Arc, Mutex};

use crate::{
    forge_host::{Kept, start},
    loopback::{Host, Reply},
    world::{World, address, kinds, no_program, tokens, variables},
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

fn change(host: &Host, kind: Kind, to: &IssueMove) -> Result<(), HostError> {
    let address = address(host, kind, path(kind));
    move_issue(&address, &tokens(&address), &World::new().http, to)
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
fn a_pull_request_has_comments_of_its_own() {
    for kind in HOSTS {
        let (host, kept) = start(kind, Kept::default());
        let known = Known { kinds: kinds(&host.name, kind), ..Known::default() };
        let remote = format!("http://{}/o/r", host.name);
        let repository = HostedRepository::parse(&remote, &known).unwrap().unwrap();
        let tokens = HostTokens::find_for(&repository, &variables, &no_program);
        let world = World::new();
        let all = PullRequests::new(&repository, &tokens, &world.http).unwrap();
        for text in ["One.", "Two."] {
            all.comment(4, &mark(), text).unwrap();
        }
        assert_eq!(kept.lock().unwrap().comments.len(), 1);
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

#[test]
fn an_issue_of_a_host_of_repositories_is_closed() {
    for (kind, method, body) in [
        (Kind::GitHub, "PATCH", json!({"state": "closed"})),
        (Kind::Gitea, "PATCH", json!({"state": "closed"})),
        (Kind::GitLab, "PUT", json!({"state_event": "close"})),
    ] {
        let host = Host::always(|| Reply::json(&json!({})));
        change(&host, kind, &IssueMove::Close).unwrap();
        let asked = host.asked().pop().unwrap();
        assert_eq!((&*asked.method, &*asked.body), (method, &*body.to_string()));
        let error = change(&host, kind, &IssueMove::To("Done".to_owned())).unwrap_err();
        assert_eq!(error.next(), "use one of: closed");
    }
}

/// The comments of an issue, and its state.
type SharedIssue = Arc<Mutex<(Vec<Value>, String)>>;

/// Starts a Jira that keeps comments and the state of its issue. Its first post is not answered.
fn jira() -> (Host, SharedIssue) {
    let kept = Arc::new(Mutex::new((Vec::<Value>::new(), "To Do".to_owned())));
    let shared = Arc::clone(&kept);
    let host = Host::start(move |_, asked| {
        let mut kept = shared.lock().unwrap();
        let body: Value = serde_json::from_str(&asked.body).unwrap_or(Value::Null);
        let path = asked.path.split('?').next().unwrap();
        match (&*asked.method, path.trim_start_matches("/rest/api/2/issue/AB-1")) {
            ("GET", "/comment") => Reply::json(&json!({"total": kept.0.len(), "comments": kept.0})),
            ("POST", "/comment") => {
                let id = kept.0.len().to_string();
                kept.0.push(json!({"id": id, "body": body["body"]}));
                Reply::lost()
            }
            ("PUT", "/comment/0") => {
                kept.0[0]["body"] = body["body"].clone();
                Reply::json(&kept.0[0])
            }
            ("GET", "") => Reply::json(&json!({"fields": {"status": {"name": kept.1}}})),
            ("GET", "/transitions") => Reply::json(&json!({"transitions": [
                {"id": "11", "name": "Start work", "to": {"name": "In Progress"}},
                {"id": "31", "name": "Finish", "to": {"name": "Done"}},
            ]})),
            ("POST", "/transitions") => {
                assert_eq!(body["transition"]["id"], "31");
                "Done".clone_into(&mut kept.1);
                Reply::new(204, "")
            }
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
    let all: Vec<Value> = kept.lock().unwrap().0.clone();
    assert_eq!(all, [json!({"id": "0", "body": "Forge run abcd\n\nTwo."})]);
}

#[test]
fn an_issue_of_jira_gets_a_state_by_its_name_or_that_of_the_transition_once() {
    for state in ["done", "Finish"] {
        let (host, kept) = jira();
        for _ in 0..2 {
            change(&host, Kind::Jira, &IssueMove::To(state.to_owned())).unwrap();
        }
        assert_eq!(kept.lock().unwrap().1, "Done");
    }
    let (host, _) = jira();
    let error = change(&host, Kind::Jira, &IssueMove::To("Tested".to_owned())).unwrap_err();
    assert_eq!(error.next(), "use one of: In Progress, Done");
    change(&host, Kind::Jira, &IssueMove::Close).unwrap_err();
}

#[test]
fn an_issue_of_linear_gets_one_comment_and_a_state_of_its_team() {
    let kept = Arc::new(Mutex::new((Vec::<Value>::new(), "Todo".to_owned())));
    let shared = Arc::clone(&kept);
    let host = Host::start(move |_, asked| {
        let mut kept = shared.lock().unwrap();
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        let (query, given) = (body["query"].as_str().unwrap(), &body["variables"]);
        let data = if query.starts_with("query Comments") {
            json!({"issue": {"comments": {"nodes": kept.0, "pageInfo": {"hasNextPage": false}}}})
        } else if query.starts_with("query States") {
            let states =
                json!({"nodes": [{"id": "s1", "name": "Todo"}, {"id": "s2", "name": "Done"}]});
            json!({"issue": {"id": "u1", "state": {"name": kept.1}, "team": {"states": states}}})
        } else if query.starts_with("mutation Post") {
            assert_eq!(given["id"], "u1");
            kept.0.push(json!({"id": "c1", "url": "https://linear.app/c1", "body": given["body"]}));
            return Reply::lost();
        } else if query.starts_with("mutation Edit") {
            assert_eq!(given["id"], "c1");
            kept.0[0]["body"] = given["body"].clone();
            json!({"commentUpdate": {"comment": {"id": "c1"}}})
        } else {
            assert_eq!((&given["id"], &given["state"]), (&json!("u1"), &json!("s2")));
            "Done".clone_into(&mut kept.1);
            json!({"issueUpdate": {"issue": {"id": "u1"}}})
        };
        Reply::json(&json!({"data": data}))
    });
    let posted = comment(&host, Kind::Linear, "One.").unwrap();
    assert_eq!(posted.address.as_deref(), Some("https://linear.app/c1"));
    assert_eq!(comment(&host, Kind::Linear, "Two.").unwrap().change, CommentChange::Updated);
    assert_eq!(kept.lock().unwrap().0.len(), 1);
    for _ in 0..2 {
        change(&host, Kind::Linear, &IssueMove::To("done".to_owned())).unwrap();
    }
    assert_eq!(kept.lock().unwrap().1, "Done");
    let error = change(&host, Kind::Linear, &IssueMove::Close).unwrap_err();
    assert_eq!(error.next(), "use one of: Todo, Done");
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
