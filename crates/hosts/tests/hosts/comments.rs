//! Many comments, over many pages: the newest are kept, and what was left out is counted.

use std::fmt::Write as _;

use forge_hosts::{COMMENTS_BYTES_MAX, COMMENTS_MAX, HostError, ISSUE_BODY_BYTES_MAX, Issue, Kind};
use serde_json::{Value, json};

use crate::{
    loopback::{Asked, Host, Reply},
    world::World,
};

fn number(asked: &Asked, key: &str) -> Option<usize> {
    let (_, query) = asked.path.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))?;
    value.parse().ok()
}

/// A GitHub whose issue has comments from 1 to `n`, those of a bot among them.
fn github(n: usize, is_bot: impl Fn(usize) -> bool + Send + Sync + 'static, text: String) -> Host {
    Host::start(move |_, asked| {
        let Some(page) = number(asked, "page") else {
            return Reply::json(&json!({"number": 1, "title": "T", "comments": n}));
        };
        let last = (page * 100).min(n);
        let all = ((page - 1) * 100 + 1..=last).map(|i| {
            let kind = if is_bot(i) { "Bot" } else { "User" };
            json!({"user": {"login": format!("u{i}"), "type": kind}, "created_at": "2026", "body": text})
        });
        Reply::json(&Value::Array(all.collect()))
    })
}

fn authors(issue: &Issue) -> Vec<String> {
    issue.comments.iter().map(|comment| comment.author.clone()).collect()
}

fn numbered(range: std::ops::RangeInclusive<usize>) -> Vec<String> {
    range.map(|i| format!("u{i}")).collect()
}

#[test]
fn of_three_thousand_comments_the_newest_hundred_are_kept_and_the_rest_is_not_asked_for() {
    let host = github(3_000, |_| false, "x".to_owned());
    let issue = World::new().fetch(&host, Kind::GitHub, "/o/r/issues/1").unwrap();
    assert_eq!(authors(&issue), numbered(2_901..=3_000));
    assert_eq!(issue.n_comments_left_out, 2_900);
    assert_eq!(host.asked().len(), 2);
}

#[test]
fn comments_of_bots_are_left_out_over_three_pages() {
    // 30 of people in each hundred, and half a page at the end.
    let host = github(250, |i| i % 10 > 2, "x".to_owned());
    let issue = World::new().fetch(&host, Kind::GitHub, "/o/r/issues/1").unwrap();
    let people: Vec<usize> = (1..=250).filter(|i| i % 10 <= 2).collect();
    assert_eq!((issue.comments.len(), people.len()), (75, 75));
    assert_eq!(authors(&issue), people.iter().map(|i| format!("u{i}")).collect::<Vec<_>>());
    assert_eq!((host.asked().len(), issue.n_comments_left_out), (4, 0));
}

#[test]
fn comments_end_at_their_most_pages_and_at_their_most_bytes() {
    let host = github(4_000, |_| true, "x".to_owned());
    let issue = World::new().fetch(&host, Kind::GitHub, "/o/r/issues/1").unwrap();
    assert_eq!((issue.comments.len(), issue.n_comments_left_out), (0, 1_000));
    assert_eq!(host.asked().len(), 31);
    let host = github(150, |_| false, "x".repeat(50 * 1024));
    let issue = World::new().fetch(&host, Kind::GitHub, "/o/r/issues/1").unwrap();
    assert_eq!(authors(&issue), numbered(131..=150));
    assert_eq!(issue.n_comments_left_out, 130);
    assert!(
        issue.comments.iter().map(|comment| comment.text.len()).sum::<usize>()
            <= COMMENTS_BYTES_MAX
    );
}

#[test]
fn gitlabs_notes_come_over_three_pages() {
    let host = Host::start(|_, asked| {
        let Some(page) = number(asked, "page") else {
            return Reply::json(&json!({"iid": 1, "title": "T", "user_notes_count": 110}));
        };
        let newest = 250 - (page - 1) * 100;
        let all = (newest.saturating_sub(99).max(1)..=newest).rev().map(|i| {
            json!({"author": {"username": format!("u{i}")}, "created_at": "2026", "body": "x", "system": i > 110})
        });
        let next = if page < 3 { (page + 1).to_string() } else { String::new() };
        Reply::json(&Value::Array(all.collect())).with("x-next-page", next)
    });
    let issue = World::new().fetch(&host, Kind::GitLab, "/g/p/-/issues/1").unwrap();
    assert_eq!(authors(&issue), numbered(11..=110));
    assert_eq!((issue.n_comments_left_out, host.asked().len()), (10, 4));
}

#[test]
fn giteas_comments_come_over_three_pages_if_it_has_pages() {
    let host = Host::start(|_, asked| {
        let Some(page) = number(asked, "page") else {
            return Reply::json(&json!({"number": 1, "title": "T", "comments": 120}));
        };
        let all = ((page - 1) * 50 + 1..=(page * 50).min(120)).map(
            |i| json!({"user": {"login": format!("u{i}")}, "created_at": "2026", "body": "x"}),
        );
        let link = if page < 3 {
            "<http://h/x?page=2>; rel=\"next\""
        } else {
            "<http://h/x>; rel=\"first\""
        };
        Reply::json(&Value::Array(all.collect())).with("link", link)
    });
    let issue = World::new().fetch(&host, Kind::Gitea, "/o/r/issues/1").unwrap();
    assert_eq!(authors(&issue), numbered(21..=120));
    assert_eq!((issue.n_comments_left_out, host.asked().len()), (20, 4));
}

#[test]
fn jiras_comments_come_over_three_pages_and_end_when_there_are_enough() {
    let jira = |n_apps: usize| {
        let host = Host::start(move |_, asked| {
            let Some(start) = number(asked, "startAt") else {
                return Reply::json(&json!({"key": "AB-1", "fields": {"summary": "T"}}));
            };
            // A server may give less than it was asked for.
            let all = (start..(start + 80).min(240)).map(|i| {
                let kind = if i < n_apps { "app" } else { "atlassian" };
                json!({"author": {"displayName": format!("u{}", 240 - i), "accountType": kind},
                    "created": "2026", "body": "x"})
            });
            Reply::json(&json!({"total": 240, "comments": all.collect::<Vec<_>>()}))
        });
        let issue = World::new().fetch(&host, Kind::Jira, "/browse/AB-1").unwrap();
        (authors(&issue), issue.n_comments_left_out, host.asked().len())
    };
    assert_eq!(jira(0), (numbered(141..=240), 140, 3));
    assert_eq!(jira(150), (numbered(1..=90), 0, 4));
}

#[test]
fn a_jira_that_knows_no_order_gives_its_newest_comments_as_well() {
    let host = Host::start(|_, asked| {
        let Some(start) = number(asked, "startAt") else {
            return Reply::json(&json!({"key": "AB-1", "fields": {"summary": "T"}}));
        };
        let all = (start + 1..=(start + 100).min(240)).map(|i| {
            let author = json!({"displayName": format!("u{i}")});
            json!({"author": author, "created": format!("2026-{i:04}"), "body": "x"})
        });
        Reply::json(&json!({"total": 240, "comments": all.collect::<Vec<_>>()}))
    });
    let issue = World::new().fetch(&host, Kind::Jira, "/browse/AB-1").unwrap();
    assert_eq!(authors(&issue), numbered(141..=240));
    assert_eq!((issue.n_comments_left_out, host.asked().len()), (140, 4));
}

#[test]
fn linears_comments_come_over_three_pages_in_any_order() {
    let host = Host::start(|_, asked| {
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        if !body["query"].as_str().unwrap().contains("comments") {
            return Reply::json(&json!({"data": {"issue": {"identifier": "E1-1", "title": "T"}}}));
        }
        let page = body["variables"]["after"].as_str().map_or(0, |after| after.parse().unwrap());
        let nodes = (page * 40 + 1..=page * 40 + 40).map(|i| {
            json!({"user": {"displayName": format!("u{i}")}, "createdAt": format!("2026-{i:04}"), "body": "x"})
        });
        let info = json!({"hasNextPage": page < 2, "endCursor": (page + 1).to_string()});
        let comments = json!({"nodes": nodes.collect::<Vec<_>>(), "pageInfo": info});
        Reply::json(&json!({"data": {"issue": {"comments": comments}}}))
    });
    let issue = World::new().fetch(&host, Kind::Linear, "/t/issue/E1-1").unwrap();
    assert_eq!(authors(&issue), numbered(21..=120));
    assert_eq!((issue.n_comments_left_out, host.asked().len()), (20, 4));
}

#[test]
fn a_text_of_more_than_a_mebibyte_is_an_error() {
    let fetch = |n_bytes: usize| {
        let host = Host::always(move || {
            Reply::json(&json!({"number": 1, "title": "T", "body": "x".repeat(n_bytes)}))
        });
        World::new().fetch(&host, Kind::GitHub, "/o/r/issues/1")
    };
    assert_eq!(fetch(ISSUE_BODY_BYTES_MAX).unwrap().body.len(), ISSUE_BODY_BYTES_MAX);
    let error = fetch(ISSUE_BODY_BYTES_MAX + 1).unwrap_err();
    assert!(matches!(error, HostError::TooLarge { bytes_max: 1_048_576, .. }), "{error:?}");
}

#[test]
fn a_request_names_each_comment_once() {
    let host = github(150, |_| false, "x".to_owned());
    let issue = World::new().fetch(&host, Kind::GitHub, "/o/r/issues/1").unwrap();
    let mut text = "# T\n\nIssue: #1\n\nComments:\n\n".to_owned();
    for i in 51..=150 {
        let _ = writeln!(text, "- u{i}, 2026: x");
    }
    assert_eq!(issue.request_text(), text);
    assert_eq!(issue.comments.len(), COMMENTS_MAX);
}
