//! Which words are an issue, and whose.

use forge_hosts::{Address, HostError, KeyTracker, Kind, Known};
use serde_json::json;

use crate::{
    loopback::{Host, Reply},
    world::{World, kinds},
};

/// All that can be known but for a client.
fn known() -> Known<'static> {
    let mut kinds = kinds("git.example", Kind::GitHub);
    kinds.insert("code.example:8443".to_owned(), Kind::Gitea);
    kinds.insert("issues.example".to_owned(), Kind::Jira);
    Known {
        remote: Some("git@github.com:o/r.git".to_owned()),
        kinds,
        jira: Some("https://j.atlassian.net/".to_owned()),
        ..Known::default()
    }
}

#[test]
fn words_that_are_an_address_are_an_issue() {
    for (words, kind, page) in [
        ("https://github.com/o/r/issues/12", Kind::GitHub, "https://github.com/o/r/issues/12"),
        (
            "  https://github.com/o/r/issues/12/ \n",
            Kind::GitHub,
            "https://github.com/o/r/issues/12",
        ),
        (
            "https://GitHub.com/o/r.x/issues/1?a=b#issuecomment-1",
            Kind::GitHub,
            "https://github.com/o/r.x/issues/1",
        ),
        (
            "https://me:pass@github.com/o/r/issues/1",
            Kind::GitHub,
            "https://github.com/o/r/issues/1",
        ),
        (
            "https://github.corp.example/o/r/issues/12",
            Kind::GitHub,
            "https://github.corp.example/o/r/issues/12",
        ),
        ("https://git.example/o/r/issues/12", Kind::GitHub, "https://git.example/o/r/issues/12"),
        ("https://gitlab.com/g/p/-/issues/12", Kind::GitLab, "https://gitlab.com/g/p/-/issues/12"),
        (
            "https://gitlab.com/g/s/t/p/-/issues/12",
            Kind::GitLab,
            "https://gitlab.com/g/s/t/p/-/issues/12",
        ),
        (
            "https://gitlab.com/g/p/-/work_items/12",
            Kind::GitLab,
            "https://gitlab.com/g/p/-/issues/12",
        ),
        ("https://gitlab.com/g/p/issues/12", Kind::GitLab, "https://gitlab.com/g/p/-/issues/12"),
        (
            "https://any.example/g/s/p/-/issues/3",
            Kind::GitLab,
            "https://any.example/g/s/p/-/issues/3",
        ),
        ("https://codeberg.org/o/r/issues/3", Kind::Gitea, "https://codeberg.org/o/r/issues/3"),
        (
            "https://gitea.corp.example/o/r/issues/3",
            Kind::Gitea,
            "https://gitea.corp.example/o/r/issues/3",
        ),
        (
            "https://code.example:8443/o/r/issues/3",
            Kind::Gitea,
            "https://code.example:8443/o/r/issues/3",
        ),
        (
            "https://x.atlassian.net/browse/PROJ-123",
            Kind::Jira,
            "https://x.atlassian.net/browse/PROJ-123",
        ),
        ("https://jira.example/browse/A1-1", Kind::Jira, "https://jira.example/browse/A1-1"),
        (
            "https://any.example/tools/jira/browse/AB-1?x",
            Kind::Jira,
            "https://any.example/tools/jira/browse/AB-1",
        ),
        ("https://issues.example/browse/UTF-8", Kind::Jira, "https://issues.example/browse/UTF-8"),
        (
            "https://linear.app/team/issue/ENG-12/a-slug",
            Kind::Linear,
            "https://linear.app/issue/ENG-12",
        ),
        ("https://linear.app/team/issue/eng-12", Kind::Linear, "https://linear.app/issue/ENG-12"),
        ("#12", Kind::GitHub, "https://github.com/o/r/issues/12"),
        ("PROJ-123", Kind::Jira, "https://j.atlassian.net/browse/PROJ-123"),
        ("A2-1", Kind::Jira, "https://j.atlassian.net/browse/A2-1"),
    ] {
        let address = Address::parse(words, &known()).expect(words).expect(words);
        assert_eq!((address.kind(), address.page()), (kind, page), "{words}");
        assert_eq!(address.to_string(), page);
    }
}

#[test]
fn words_that_are_not_an_address_are_a_request() {
    for words in [
        "",
        " ",
        "#",
        "#0",
        "#012",
        "#12a",
        "#-1",
        "##12",
        "#12345678901",
        "12",
        "fix #12",
        "#12 and #13",
        "see https://github.com/o/r/issues/12",
        "https://github.com/o/r/issues/12 please",
        "https://github.com/o/r/issues/12?a please",
        "https://github.com/o/r/issues/12#x and #13",
        "Show the sum of each month",
        "fix",
        "fix the UTF-8 output",
        "src/main.rs",
        "./issues/12",
        "o/r/issues/12",
        "github.com/o/r/issues/12",
        "https://example.com",
        "https://example.com/",
        "https://example.com/a/b",
        "https://github.com/o/r",
        "https://github.com/o/r/issues",
        "https://github.com/o/r/issues/new",
        "https://github.com/o/r/issues/0",
        "https://github.com/o/r/blob/main/x",
        "https://github.com/o/../issues/1",
        "https://github.com/o/a%2Fb/issues/1",
        "https://gitlab.com/g/-/issues/1",
        "https://x.atlassian.net/browse/proj-1",
        "https://x.atlassian.net/browse/",
        "https://linear.app/team/issue/ENG",
        "ftp://github.com/o/r/issues/1",
        "https:///o/r/issues/1",
        "http://example.com/a",
        "file:///o/r/issues/1",
        "UTF-8",
        "SHA-256",
        "ISO-8601",
        "RFC-2119",
        "IEEE-754",
        "CVE-2026",
        "proj-1",
        "Proj-1",
        "P-1",
        "1A-1",
        "ABCDEFGHIJK-1",
        "PROJ-0",
        "PROJ-01",
        "PROJ-1a",
        "PROJ-",
        "PROJ-1-2",
        "-1",
        "PROJ_1",
    ] {
        assert_eq!(Address::parse(words, &known()), None, "{words}");
    }
}

#[test]
fn a_key_is_of_the_tracker_that_is_set_up_and_no_request_where_there_is_none() {
    let (jira, linear) = (KeyTracker::Jira, KeyTracker::Linear);
    let parse = |with_token: &[KeyTracker], key_tracker, jira: Option<&str>| {
        let jira = jira.map(str::to_owned);
        let with_token = with_token.to_vec();
        let known = Known { with_token, key_tracker, jira, ..Known::default() };
        let found = Address::parse("ENG-12", &known)?;
        Some(found.map(|address| address.to_string()).map_err(|error| error.to_string()))
    };
    let site = Some("jira.example/tools");
    let at_jira = Some(Ok("https://jira.example/tools/browse/ENG-12".to_owned()));
    let at_linear = Some(Ok("https://linear.app/issue/ENG-12".to_owned()));
    let both = Some(Err("`ENG-12` could be an issue of Jira or of Linear".to_owned()));
    let nowhere = Some(Err("`ENG-12` is an issue of Jira, whose address is not known".to_owned()));
    let neither =
        "`ENG-12` looks like an issue of Jira or Linear, but there is a token for neither";
    assert_eq!(parse(&[], None, None), Some(Err(neither.to_owned())));
    assert_eq!(parse(&[], None, site), at_jira);
    assert_eq!(parse(&[jira], None, site), at_jira);
    assert_eq!(parse(&[jira], None, None), nowhere);
    assert_eq!(parse(&[linear], None, None), at_linear);
    assert_eq!(parse(&[linear], None, site), both);
    assert_eq!(parse(&[jira, linear], None, site), both);
    assert_eq!(parse(&[jira, linear], Some(linear), site), at_linear);
    assert_eq!(parse(&[linear], Some(jira), site), at_jira);
    let known = Known { with_token: vec![jira, linear], ..Known::default() };
    let error = Address::parse("ENG-12", &known).unwrap().unwrap_err();
    assert!(matches!(&error, HostError::Ambiguous { trackers: [Kind::Jira, Kind::Linear], .. }));
    assert!(error.next().contains("hosts.keys jira --user, or linear"), "{}", error.next());
}

#[test]
fn a_number_is_an_issue_of_the_remote() {
    for (remote, page) in [
        ("https://github.com/o/r.git", Some("https://github.com/o/r/issues/12")),
        ("https://token@github.com/o/r", Some("https://github.com/o/r/issues/12")),
        ("git@github.com:o/r.git", Some("https://github.com/o/r/issues/12")),
        ("ssh://git@ssh.github.com:443/o/r.git", Some("https://github.com/o/r/issues/12")),
        ("git://github.com/o/r.git/", Some("https://github.com/o/r/issues/12")),
        (
            "ssh://git@gitlab.corp.example:2222/g/s/p.git",
            Some("https://gitlab.corp.example/g/s/p/-/issues/12"),
        ),
        ("gitlab.com:g/p.git", Some("https://gitlab.com/g/p/-/issues/12")),
        ("http://gitea.example/o/r", Some("https://gitea.example/o/r/issues/12")),
        ("/srv/git/o/r.git", None),
        ("../r", None),
        ("C:/o/r", None),
        ("file:///srv/o/r", None),
        ("git@github.com:r.git", None),
        ("", None),
    ] {
        let known = Known { remote: Some(remote.to_owned()), ..Known::default() };
        let found = Address::parse("#12", &known).expect("it is a number");
        assert_eq!(found.as_ref().ok().map(Address::page), page, "{remote}");
        if let Err(error) = found {
            assert!(error.next().contains("git remote add"), "{}", error.next());
        }
    }
    let error = Address::parse("#12", &Known::default()).unwrap().unwrap_err();
    assert!(matches!(error, HostError::NotAnIssue { .. }), "{error}");
}

#[test]
fn a_pull_request_and_an_open_connection_are_refused_in_words() {
    for (words, why) in [
        ("https://github.com/o/r/pull/12", "is a pull request"),
        ("https://github.com/o/r/pull/12/files", "is a pull request"),
        ("https://any.example/o/r/pull/12", "is a pull request"),
        ("https://codeberg.org/o/r/pulls/12", "is a pull request"),
        ("https://any.example/o/r/pulls/12", "is a pull request"),
        ("https://gitlab.com/g/p/-/merge_requests/12", "is a pull request"),
        ("http://github.com/o/r/issues/12", "over https only"),
        ("http://x.atlassian.net/browse/PROJ-1", "over https only"),
        ("https://any.example/o/r/issues/12", "the kind of tracker at any.example"),
    ] {
        let error = Address::parse(words, &known()).expect(words).unwrap_err();
        assert!(matches!(error, HostError::NotAnIssue { .. }), "{words}: {error:?}");
        assert!(error.what().contains(why) && !error.next().is_empty(), "{words}: {error}");
    }
}

#[test]
fn a_host_of_unknown_kind_is_asked_without_a_token() {
    let ask = |answering: &'static str, status: u16, answer: serde_json::Value| {
        let host = Host::start(move |_, asked| {
            let is_known = asked.path == answering;
            if is_known {
                Reply::new(status, answer.to_string())
            } else {
                Reply::new(404, "<html>")
            }
        });
        let world = World::new();
        let known = Known { http: Some(&world.http), ..Known::default() };
        let url = format!("http://{}/o/r/issues/12", host.name);
        let found = Address::parse(&url, &known).unwrap();
        assert!(host.asked().iter().all(|asked| asked.header("authorization").is_none()));
        (found.map(|address| address.kind()).map_err(|error| error.what()), host.paths().len())
    };
    let (gitea, github) = (json!({"version": "1.24.0"}), json!({"installed_version": "3.17.0"}));
    let gitlab = json!({"message": "401 Unauthorized"});
    assert_eq!(ask("/api/v1/version", 200, gitea), (Ok(Kind::Gitea), 1));
    assert_eq!(ask("/api/v3/meta", 200, github), (Ok(Kind::GitHub), 2));
    assert_eq!(ask("/api/v4/version", 401, gitlab), (Ok(Kind::GitLab), 3));
    let (found, n_asked) = ask("/api/v1/version", 200, json!({"message": "hello"}));
    assert!(found.unwrap_err().starts_with("the kind of tracker at 127.0.0.1"));
    assert_eq!(n_asked, 3);
}

#[test]
fn every_kind_has_a_word_for_settings() {
    for kind in Kind::ALL {
        assert_eq!(Kind::parse(kind.as_str()), Some(*kind));
    }
    assert_eq!((Kind::parse("forgejo"), Kind::parse("GitHub")), (Some(Kind::Gitea), None));
}
