//! A good issue of each tracker, in the shape that its documentation publishes.

use forge_hosts::{Address, HostError, HostTokens, Issue, Kind, Known, TokenUse, fetch};
use serde_json::{Value, json};

use crate::{
    loopback::{Asked, Host, Reply},
    world::{POINTS, TOKEN, World, kinds, tokens},
};

fn said(issue: &Issue) -> Vec<(&str, &str, &str)> {
    let said = issue.comments.iter();
    said.map(|comment| (&*comment.author, &*comment.at, &*comment.text)).collect()
}

fn is_of(asked: &Asked, path: &str) -> bool {
    asked.path.split('?').next() == Some(path)
}

#[test]
fn an_issue_of_github_comes_with_what_people_said() {
    let host = Host::start(|_, asked| {
        let user = |name: &str, kind: &str| json!({"login": name, "id": 1, "type": kind});
        if is_of(asked, "/api/v3/repos/o/r/issues/12") {
            Reply::json(
                &json!({"id": 1, "number": 12, "state": "open", "title": " Sums ", "body": "Show them.\r\n",
                "html_url": "https://github.example/o/r/issues/12", "user": user("ada", "User"), "comments": 4,
                "labels": [{"id": 2, "name": "bug", "color": "f29513"}], "pull_request": null}),
            )
        } else if is_of(asked, "/api/v3/repos/o/r/issues/12/comments") {
            Reply::json(&json!([
                {"id": 1, "user": user("ada", "User"), "created_at": "2026-01-01T00:00:00Z", "body": "One"},
                {"id": 2, "user": user("ci[bot]", "Bot"), "created_at": "2026-01-02T00:00:00Z", "body": "Two"},
                {"id": 3, "user": null, "created_at": "2026-01-03T00:00:00Z", "body": "Three"},
                {"id": 4, "user": user("bob", "User"), "created_at": "2026-01-04T00:00:00Z", "body": " "},
            ]))
        } else {
            Reply::new(404, "")
        }
    });
    let issue = World::new().fetch(&host, Kind::GitHub, "/o/r/issues/12").unwrap();
    assert_eq!((issue.tracker, &*issue.key, &*issue.title), (Kind::GitHub, "#12", "Sums"));
    assert_eq!((&*issue.body, issue.points), ("Show them.", None));
    assert_eq!(issue.source, "https://github.example/o/r/issues/12");
    assert_eq!(issue.labels, ["bug"]);
    let all =
        [("ada", "2026-01-01T00:00:00Z", "One"), ("unknown", "2026-01-03T00:00:00Z", "Three")];
    assert_eq!((said(&issue), issue.n_comments_left_out), (all.to_vec(), 0));
    for asked in host.asked() {
        assert_eq!(asked.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
        assert_eq!(asked.header("accept"), Some("application/vnd.github+json"));
        assert_eq!(asked.header("user-agent"), Some("forge"));
    }
}

#[test]
fn an_issue_of_gitlab_comes_without_its_own_notes() {
    let host = Host::start(|_, asked| {
        if is_of(asked, "/api/v4/projects/g%2Fs%2Fp/issues/12") {
            Reply::json(&json!({"id": 76, "iid": 12, "title": "Sums", "description": "Show them.",
                "web_url": "https://gitlab.example/g/s/p/-/issues/12", "labels": ["bug", "easy"],
                "user_notes_count": 2, "weight": null}))
        } else if is_of(asked, "/api/v4/projects/g%2Fs%2Fp/issues/12/notes") {
            let note = |name: &str, at: &str, body: &str, system: bool| {
                json!({"id": 1, "body": body,
                "author": {"username": name, "name": "N"}, "created_at": at, "system": system})
            };
            Reply::json(&json!([
                note("bob", "2026-01-03T00:00:00.000Z", "Two", false),
                note("ada", "2026-01-02T00:00:00.000Z", "changed the description", true),
                note("ada", "2026-01-01T00:00:00.000Z", "One", false),
            ]))
        } else {
            Reply::new(404, "")
        }
    });
    let issue = World::new().fetch(&host, Kind::GitLab, "/g/s/p/-/issues/12").unwrap();
    assert_eq!((issue.tracker, &*issue.key, &*issue.body), (Kind::GitLab, "#12", "Show them."));
    assert_eq!(issue.source, "https://gitlab.example/g/s/p/-/issues/12");
    assert_eq!(issue.labels, ["bug", "easy"]);
    let all =
        [("ada", "2026-01-01T00:00:00.000Z", "One"), ("bob", "2026-01-03T00:00:00.000Z", "Two")];
    assert_eq!((said(&issue), issue.n_comments_left_out), (all.to_vec(), 0));
    assert!(host.paths()[1].contains("sort=desc&order_by=created_at"));
    assert_eq!(host.asked()[0].header("authorization"), Some(&*format!("Bearer {TOKEN}")));
}

#[test]
fn an_issue_of_gitea_is_read_as_githubs() {
    let host = Host::start(|_, asked| {
        if is_of(asked, "/api/v1/repos/o/r/issues/3") {
            Reply::json(&json!({"id": 9, "number": 3, "title": "Sums", "body": "Show them.",
                "html_url": "https://gitea.example/o/r/issues/3", "comments": 2, "pull_request": null,
                "labels": [{"id": 1, "name": "bug", "color": "ee0701"}]}))
        } else {
            Reply::json(&json!([
                {"id": 1, "user": {"login": "ada"}, "created_at": "2026-01-01T00:00:00+02:00", "body": "One"},
                {"id": 2, "user": {"login": "bob"}, "created_at": "2026-01-02T00:00:00+02:00", "body": "Two"},
            ]))
        }
    });
    let issue = World::new().fetch(&host, Kind::Gitea, "/o/r/issues/3").unwrap();
    assert_eq!((issue.tracker, &*issue.key, &*issue.title), (Kind::Gitea, "#3", "Sums"));
    assert_eq!(issue.source, "https://gitea.example/o/r/issues/3");
    let all =
        [("ada", "2026-01-01T00:00:00+02:00", "One"), ("bob", "2026-01-02T00:00:00+02:00", "Two")];
    assert_eq!(said(&issue), all);
    assert_eq!(host.asked()[0].header("authorization"), Some(&*format!("token {TOKEN}")));
}

#[test]
fn an_issue_of_jira_is_a_text_or_a_document_with_its_points() {
    let document = |text: &str| {
        json!({"type": "doc", "version": 1, "content": [
        {"type": "paragraph", "content": [{"type": "text", "text": text}]}]})
    };
    for (body, comment) in [
        (json!("Show them."), json!("One")),
        (document("Show them."), document("One")),
        (document("Show them."), json!("One")),
    ] {
        let host = Host::start(move |_, asked| {
            if is_of(asked, "/tools/rest/api/2/issue/AB-7") {
                Reply::json(
                    &json!({"id": "9", "key": "AB-7", "self": "http://inner:8080/rest/api/2/issue/9",
                    "fields": {"summary": "Sums", "description": body, "labels": ["bug"], POINTS: 3.0}}),
                )
            } else if is_of(asked, "/tools/rest/api/2/issue/AB-7/comment") {
                let said = |name: &str, kind: &str, at: &str, body: &Value| {
                    json!({"id": "1", "body": body,
                    "author": {"displayName": name, "accountType": kind}, "created": at})
                };
                Reply::json(&json!({"startAt": 0, "maxResults": 100, "total": 3, "comments": [
                    said("Bob B", "atlassian", "2026-01-03T00:00:00.000+0100", &json!("Two")),
                    said("Automation", "app", "2026-01-02T00:00:00.000+0100", &json!("Moved")),
                    said("Ada A", "atlassian", "2026-01-01T00:00:00.000+0100", &comment),
                ]}))
            } else {
                Reply::new(404, "")
            }
        });
        let issue = World::new().fetch(&host, Kind::Jira, "/tools/browse/AB-7").unwrap();
        assert_eq!((issue.tracker, &*issue.key, &*issue.body), (Kind::Jira, "AB-7", "Show them."));
        assert_eq!(issue.source, format!("http://{}/tools/browse/AB-7", host.name));
        assert_eq!((&*issue.labels, issue.points), (&["bug".to_owned()][..], Some(3.0)));
        let all = [
            ("Ada A", "2026-01-01T00:00:00.000+0100", "One"),
            ("Bob B", "2026-01-03T00:00:00.000+0100", "Two"),
        ];
        assert_eq!((said(&issue), issue.n_comments_left_out), (all.to_vec(), 0));
        let first = &host.asked()[0];
        assert!(first.path.ends_with(&format!("?fields=summary,description,labels,{POINTS}")));
        assert_eq!(first.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    }
}

#[test]
fn jira_gets_name_and_token_where_there_is_an_email() {
    let host = Host::always(|| Reply::json(&json!({"key": "AB-7", "fields": {"summary": "Sums"}})));
    let kinds = kinds(&host.name, Kind::Jira);
    let url = format!("http://{}/browse/AB-7", host.name);
    let address = Address::parse(&url, &Known { kinds, ..Known::default() }).unwrap().unwrap();
    let env = |name: &str| match name {
        "JIRA_EMAIL" => Some("a@b.c".to_owned()),
        "JIRA_TOKEN" => Some("abc".to_owned()),
        _ => None,
    };
    let tokens = HostTokens::find(&address, &env, &|_| None);
    fetch(&address, &tokens, &World::new().http, POINTS).unwrap();
    assert_eq!(host.asked()[0].header("authorization"), Some("Basic YUBiLmM6YWJj"));
}

#[test]
fn an_issue_of_linear_is_asked_for_by_its_key() {
    let host = Host::start(|_, asked| {
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        assert_eq!(body["variables"]["id"], "ENG-12");
        if body["query"].as_str().unwrap().contains("comments") {
            let node = |at: &str, user: Value, bot: Value| json!({"body": at, "createdAt": at, "user": user, "botActor": bot});
            let person = |name: &str| json!({"displayName": name});
            Reply::json(&json!({"data": {"issue": {"comments": {"nodes": [
                node("2026-01-03", person("bob"), Value::Null),
                node("2026-01-02", Value::Null, json!({"name": "GitHub"})),
                node("2026-01-01", person("ada"), Value::Null),
            ], "pageInfo": {"hasNextPage": false, "endCursor": "c"}}}}}))
        } else {
            Reply::json(
                &json!({"data": {"issue": {"identifier": "ENG-12", "title": "Sums", "description": null,
                "url": "https://linear.app/team/issue/ENG-12/sums", "estimate": 5,
                "labels": {"nodes": [{"name": "Bug"}]}}}}),
            )
        }
    });
    let issue = World::new().fetch(&host, Kind::Linear, "/team/issue/ENG-12/sums").unwrap();
    assert_eq!((issue.tracker, &*issue.key, &*issue.title), (Kind::Linear, "ENG-12", "Sums"));
    assert_eq!(issue.source, "https://linear.app/team/issue/ENG-12/sums");
    assert_eq!(
        (&*issue.body, &*issue.labels, issue.points),
        ("", &["Bug".to_owned()][..], Some(5.0))
    );
    let all = [("ada", "2026-01-01", "2026-01-01"), ("bob", "2026-01-03", "2026-01-03")];
    assert_eq!(said(&issue), all);
    assert!(host.asked().iter().all(|asked| asked.header("authorization") == Some(TOKEN)));
    assert!(host.paths().iter().all(|path| path == "/graphql"));
}

#[test]
fn an_error_of_linear_is_in_its_answer() {
    let ask = |status: u16, message: &str, code: &str| {
        let answer =
            json!({"data": null, "errors": [{"message": message, "extensions": {"code": code}}]});
        let host = Host::always(move || Reply::new(status, answer.to_string()));
        World::new().fetch(&host, Kind::Linear, "/team/issue/ENG-12").unwrap_err()
    };
    let error = ask(200, "Entity not found: Issue - Could not find", "INPUT_ERROR");
    assert!(matches!(error, HostError::NotFound { token: TokenUse::Sent, .. }), "{error}");
    let error = ask(400, "Authentication required", "AUTHENTICATION_ERROR");
    assert!(matches!(error, HostError::Refused { .. }), "{error}");
    let error = ask(400, "Rate limit exceeded", "RATELIMITED");
    assert!(matches!(error, HostError::Limited { .. }), "{error}");
    let error = ask(200, "Something broke", "INTERNAL");
    assert!(error.what().contains("Something broke"), "{error}");
}

#[test]
fn a_public_issue_needs_no_token_but_jira_and_linear_say_which_they_want() {
    let host = Host::always(|| {
        Reply::json(&json!({"number": 3, "iid": 3, "title": "Sums", "html_url": "h"}))
    });
    let world = World::new();
    for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea] {
        world.fetch_bare(&host, kind, "/o/r/issues/3").unwrap();
    }
    assert!(host.asked().iter().all(|asked| asked.header("authorization").is_none()));
    let n_asked = host.asked().len();
    for (kind, path, variable) in [
        (Kind::Jira, "/browse/AB-7", "JIRA_TOKEN"),
        (Kind::Linear, "/team/issue/ENG-12", "LINEAR_API_KEY"),
    ] {
        let error = world.fetch_bare(&host, kind, path).unwrap_err();
        assert!(matches!(error, HostError::NoToken { .. }), "{error:?}");
        assert_eq!(error.next(), format!("set {variable}"));
    }
    assert_eq!(host.asked().len(), n_asked);
}

#[test]
fn a_pull_request_is_not_an_issue_and_what_has_no_title_is_unexpected() {
    for kind in [Kind::GitHub, Kind::Gitea] {
        let host = Host::always(|| {
            Reply::json(&json!({"number": 3, "title": "Sums", "pull_request": {"url": "u"}}))
        });
        let error = World::new().fetch(&host, kind, "/o/r/issues/3").unwrap_err();
        assert!(matches!(error, HostError::NotAnIssue { .. }), "{error:?}");
        assert!(error.what().ends_with("/o/r/issues/3 is a pull request, not an issue"), "{error}");
        let host = Host::always(|| Reply::json(&json!({"number": 3, "title": ""})));
        let error = World::new().fetch(&host, kind, "/o/r/issues/3").unwrap_err();
        assert!(matches!(error, HostError::Unexpected { .. }), "{error:?}");
    }
}

#[test]
fn a_token_of_one_host_is_not_for_another() {
    let answer = || Reply::json(&json!({"number": 3, "title": "Sums"}));
    let (one, other) = (Host::always(answer), Host::always(answer));
    let of = |host: &Host| crate::world::address(host, Kind::GitHub, "/o/r/issues/3");
    fetch(&of(&other), &tokens(&of(&one)), &World::new().http, POINTS).unwrap();
    assert_eq!(other.asked()[0].header("authorization"), None);
}
