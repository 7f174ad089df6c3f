//! All that can go wrong between an address and its issue.

use std::time::Duration;

use forge_hosts::{
    Address, HostError, HostTokens, Http, HttpSettings, Kind, Known, NotJsonForm, TokenUse, fetch,
};
use serde_json::json;

use crate::{
    loopback::{Asked, Host, Reply},
    world::{
        NOW, TOKEN, World, address, assert_hides_the_token, certificates, kinds, no_program,
        settings, tokens, variables,
    },
};

const PATH: &str = "/o/r/issues/3";
/// Nothing listens here, and no test gets this port by chance.
const UNUSED_PORT: u16 = 1;

fn issue() -> Reply {
    Reply::json(&json!({"number": 3, "title": "Sums"}))
}

/// Fetches from a host that answers the same every time.
fn ask(answer: impl Fn() -> Reply + Send + Sync + 'static) -> HostError {
    let host = Host::always(answer);
    World::new().fetch(&host, Kind::GitHub, PATH).expect_err("the answer is not an issue")
}

#[test]
fn what_is_not_found_may_be_private_and_says_what_may_be_missing() {
    let host = Host::always(|| Reply::new(404, r#"{"message": "Not Found"}"#));
    let error = World::new().fetch_bare(&host, Kind::GitHub, PATH).unwrap_err();
    assert!(matches!(error, HostError::NotFound { token: TokenUse::Missing, .. }), "{error:?}");
    assert!(error.what().contains("does not exist, or it is private"), "{error}");
    let login = format!("set GH_ENTERPRISE_TOKEN, or run: gh auth login --hostname {}", host.name);
    assert_eq!(error.next(), format!("check the address, or {login}"));
    for status in [404, 410] {
        let error = ask(move || Reply::new(status, ""));
        assert!(matches!(error, HostError::NotFound { token: TokenUse::Sent, .. }), "{error:?}");
        assert!(error.what().ends_with("or the token may not read it"), "{error}");
    }
    // Jira says the same to a wrong token as to none.
    let host =
        Host::always(|| Reply::new(404, "").with("x-seraph-loginreason", "AUTHENTICATED_FAILED"));
    let error = World::new().fetch(&host, Kind::Jira, "/browse/AB-1").unwrap_err();
    assert!(matches!(error, HostError::Refused { status: 401, .. }), "{error:?}");
}

#[test]
fn what_is_refused_says_how_to_sign_in() {
    let error = ask(|| Reply::new(401, r#"{"message": "Bad credentials"}"#));
    assert!(matches!(error, HostError::Refused { status: 401, sso: None, .. }), "{error:?}");
    assert!(error.next().contains("gh auth login"), "{}", error.next());
    let url = "https://github.com/orgs/o/sso?authorization_request=A";
    let error =
        ask(move || Reply::new(403, "").with("x-github-sso", format!("required; url={url}")));
    let HostError::Refused { status: 403, sso: Some(sso), .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(sso, url);
    assert_eq!(error.next(), format!("open {url} and authorize the token"));
}

#[test]
fn a_limit_is_waited_for_as_long_as_the_host_says() {
    let host = Host::start(|n, _| match n {
        0 => Reply::new(429, "").with("retry-after", "7"),
        1 => Reply::new(403, "")
            .with("x-ratelimit-remaining", "0")
            .with("x-ratelimit-reset", (NOW + 7 + 5).to_string()),
        2 => Reply::new(403, "secondary").with("retry-after", "0"),
        _ => issue(),
    });
    let world = World::new();
    assert_eq!(world.fetch(&host, Kind::GitHub, PATH).unwrap().title, "Sums");
    assert_eq!(*world.slept.borrow(), [7, 5, 1]);
}

#[test]
fn a_limit_of_more_than_a_minute_is_an_error_that_says_until_when() {
    for (name, value) in
        [("retry-after", "61".to_owned()), ("x-ratelimit-reset", (NOW + 61).to_string())]
    {
        let host = Host::always(move || {
            Reply::new(403, "").with("x-ratelimit-remaining", "0").with(name, value.clone())
        });
        let world = World::new();
        let error = world.fetch(&host, Kind::GitHub, PATH).unwrap_err();
        assert!(
            matches!(error, HostError::Limited { until, .. } if until == NOW + 61),
            "{error:?}"
        );
        assert!(error.what().ends_with("until 2027-01-15 08:01:01 UTC"), "{error}");
        assert_eq!((world.slept.borrow().len(), host.asked().len()), (0, 1));
    }
    // Also if it comes bit by bit, or in no time at all.
    for (pause, n_waits) in [("25", 2), ("0", 60)] {
        let host = Host::always(move || Reply::new(429, "").with("retry-after", pause));
        let world = World::new();
        let error = world.fetch(&host, Kind::GitHub, PATH).unwrap_err();
        assert!(matches!(error, HostError::Limited { .. }), "{error:?}");
        assert_eq!(world.slept.borrow().len(), n_waits);
        assert!(world.slept.borrow().iter().sum::<u64>() <= 60);
    }
}

#[test]
fn what_is_not_json_is_shown_by_its_first_words() {
    let page = "<!doctype html><html><head><style>a{}</style><title>Sign in</title></head><body><p>Please &amp;</p>";
    for kind in ["text/html; charset=utf-8", "application/json"] {
        let error = ask(move || Reply::new(200, page).with("content-type", kind));
        let HostError::NotJson { form: NotJsonForm::Html, words, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(words, "Sign in Please &amp;");
        assert!(error.what().contains("an HTML page instead of JSON"), "{error}");
    }
    for (broken, shown) in [
        (r#"{"number": 3, "title": "#, r#"{"number": 3, "title":"#),
        ("", ""),
        ("hello\n\x1b[31m", "hello [31m"),
        ("\u{fffd}", "\u{fffd}"),
    ] {
        let error = ask(move || Reply::new(200, broken));
        let HostError::NotJson { form: NotJsonForm::Broken, words, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(words, shown);
    }
    let deep = "[".repeat(100_000);
    assert!(matches!(ask(move || Reply::new(200, deep.clone())), HostError::NotJson { .. }));
    let error = ask(|| Reply::json(&json!([1, 2])));
    assert!(matches!(error, HostError::Unexpected { .. }), "{error:?}");
}

#[test]
fn an_answer_of_eleven_mebibytes_is_not_read() {
    let error = ask(|| Reply::new(200, vec![b' '; 11 * 1024 * 1024]));
    assert!(matches!(error, HostError::TooLarge { bytes_max: 10_485_760, .. }), "{error:?}");
    assert!(error.what().ends_with("is larger than 10 MiB"), "{error}");
}

#[test]
fn a_slow_answer_is_tried_three_times_with_growing_pauses() {
    let host = Host::always(Reply::hanging);
    let time = Duration::from_millis(200);
    let world = World::with(&HttpSettings { total_time: time, ..settings() });
    let error = world.fetch(&host, Kind::GitHub, PATH).unwrap_err();
    assert!(matches!(error, HostError::Timeout { after, .. } if after == time), "{error:?}");
    assert_eq!((host.asked().len(), &**world.slept.borrow()), (3, &[1, 3][..]));
}

#[test]
fn a_host_that_is_down_for_a_moment_is_asked_again() {
    for status in [502, 503, 504] {
        let host = Host::start(move |n, _| if n < 2 { Reply::new(status, "") } else { issue() });
        let world = World::new();
        world.fetch(&host, Kind::GitHub, PATH).unwrap();
        assert_eq!(*world.slept.borrow(), [1, 3]);
        let host = Host::always(move || Reply::new(status, "down"));
        let error = World::new().fetch(&host, Kind::GitHub, PATH).unwrap_err();
        assert!(error.what().ends_with(&format!("{status} down")), "{error}");
        assert_eq!(host.asked().len(), 3);
    }
    let host = Host::always(|| Reply::new(500, "broken"));
    let error = World::new().fetch(&host, Kind::GitHub, PATH).unwrap_err();
    assert!(matches!(error, HostError::Unexpected { .. }), "{error:?}");
    assert_eq!(host.asked().len(), 1);
}

#[test]
fn a_redirect_to_another_host_does_not_carry_the_token() {
    let other = Host::always(issue);
    let target = format!("http://{}/elsewhere", other.name);
    let host = Host::always(move || Reply::new(302, "").with("location", target.clone()));
    let world = World::new();
    assert_eq!(world.fetch(&host, Kind::GitHub, PATH).unwrap().title, "Sums");
    assert!(host.asked()[0].header("authorization").is_some());
    assert_eq!(other.asked()[0].header("authorization"), None);
    assert!(!format!("{:?}", other.asked()).contains(TOKEN));
}

#[test]
fn a_redirect_within_a_host_carries_the_token_five_times_at_most() {
    let at = |n_redirects: usize| {
        let host = Host::start(move |n, _: &Asked| {
            let next = Reply::new(301, "").with("location", format!("/repositories/{n}"));
            if n < n_redirects { next } else { issue() }
        });
        let found = World::new().fetch(&host, Kind::GitHub, PATH);
        assert!(host.asked().iter().all(|asked| asked.header("authorization").is_some()));
        (found.map(|issue| issue.title), host.asked().len())
    };
    assert_eq!(at(5), (Ok("Sums".to_owned()), 6));
    let (found, n_asked) = at(6);
    assert!(found.unwrap_err().what().ends_with("it redirects more than 5 times"));
    assert_eq!(n_asked, 6);
    for location in ["ftp://h/x", "javascript:x", "http://", "//a b/"] {
        let error = ask(move || Reply::new(302, "").with("location", location));
        assert!(matches!(error, HostError::Unexpected { .. }), "{location}: {error:?}");
    }
    // What is posted stays where it is.
    let host = Host::always(|| Reply::new(307, "").with("location", "/x"));
    let error = World::new().fetch(&host, Kind::Linear, "/t/issue/AB-1").unwrap_err();
    assert!(error.what().contains("redirects what was posted"), "{error}");
}

#[test]
fn a_token_is_in_no_error_even_if_the_host_repeats_it() {
    let mut n_errors = 0;
    for kind in Kind::ALL {
        let path = match kind {
            Kind::GitHub | Kind::GitLab | Kind::Gitea => PATH,
            Kind::Jira => "/browse/AB-1",
            Kind::Linear => "/t/issue/AB-1",
        };
        for status in [200, 201, 301, 400, 401, 403, 404, 410, 418, 422, 429, 500, 503] {
            for form in 0..4 {
                let host = Host::start(move |_, asked| {
                    let own = asked.header("authorization").unwrap_or("none");
                    let body = match form {
                        0 => own.to_owned(),
                        1 => format!("<html>{own}</html>"),
                        2 => json!({"message": own, "errors": [{"message": own}]}).to_string(),
                        _ => format!("{}{own}", "x".repeat(110)),
                    };
                    let sso = format!("required; url=https://h/{}", own.replace(' ', "%20"));
                    let location = format!("ftp://{own}@h/");
                    Reply::new(status, body).with("x-github-sso", sso).with("location", location)
                });
                if let Err(error) = World::new().fetch(&host, *kind, path) {
                    assert_hides_the_token(&error);
                    assert!(!error.what().is_empty() && !error.next().is_empty());
                    n_errors += 1;
                }
            }
        }
    }
    assert!(n_errors >= 250, "{n_errors}");
}

#[test]
fn the_pair_of_name_and_token_is_in_no_error_either() {
    let host = Host::start(|_, asked| {
        let own = asked.header("authorization").unwrap_or_default();
        Reply::new(418, own.strip_prefix("Basic ").unwrap_or("nothing came").to_owned())
    });
    let address = address(&host, Kind::Jira, "/browse/AB-1");
    let env = |name: &str| match name {
        "JIRA_EMAIL" => Some("a@b.c".to_owned()),
        _ => variables(name),
    };
    let tokens = HostTokens::find(&address, &env, &no_program);
    let error = fetch(&address, &tokens, &World::new().http, "").unwrap_err();
    assert!(error.what().ends_with("418 ***"), "{error}");
    assert_hides_the_token(&error);
}

#[test]
fn a_host_that_is_not_there_is_unreachable() {
    let kinds = kinds(&format!("127.0.0.1:{UNUSED_PORT}"), Kind::GitHub);
    let known = Known { kinds, ..Known::default() };
    let url = format!("http://127.0.0.1:{UNUSED_PORT}{PATH}");
    let address = Address::parse(&url, &known).unwrap().unwrap();
    let tokens = tokens(&address);
    let error = fetch(&address, &tokens, &World::new().http, "").unwrap_err();
    assert!(matches!(error, HostError::Unreachable { .. }), "{error:?}");
    assert_hides_the_token(&error);
}

#[test]
fn the_proxy_of_the_environment_is_used_unless_the_host_is_excepted() {
    let proxy = Host::always(issue);
    let host = Host::always(issue);
    let with = |names: &'static [(&'static str, &'static str)]| {
        let address = format!("http://me:pass@{}", proxy.name);
        let env = move |name: &str| {
            let value = names.iter().find(|(own, _)| *own == name);
            value.map_or_else(|| certificates(name), |pair| Some(pair.1.replace("PROXY", &address)))
        };
        let settings = HttpSettings::from_env(&env);
        assert!(!format!("{settings:?}").contains("pass"), "{settings:?}");
        World::with(&settings).fetch(&host, Kind::GitHub, PATH).unwrap();
        (proxy.asked().len(), host.asked().len())
    };
    for name in [[("HTTPS_PROXY", "PROXY")], [("https_proxy", "PROXY")], [("ALL_PROXY", "PROXY")]] {
        let before = proxy.asked().len();
        assert_eq!(with(name.to_vec().leak()), (before + 2, 0));
    }
    let tunnel = &proxy.asked()[0];
    assert_eq!(tunnel.path, host.name);
    // The token is for the host, and not for the proxy.
    assert_eq!(tunnel.header("authorization"), None);
    assert_eq!(tunnel.header("proxy-authorization"), Some("Basic bWU6cGFzcw=="));
    let before = proxy.asked().len();
    assert_eq!(
        with(&[("HTTPS_PROXY", "PROXY"), ("NO_PROXY", "x.example, 127.0.0.1")]),
        (before, 1)
    );
    assert_eq!(with(&[("HTTPS_PROXY", " ")]), (before, 2));
}

#[test]
fn a_proxy_that_is_not_there_is_unreachable_without_its_password() {
    let proxy = Some(format!("http://me:pa55w0rd@127.0.0.1:{UNUSED_PORT}"));
    let world = World::with(&HttpSettings { proxy, ..settings() });
    let error = world.fetch(&Host::always(issue), Kind::GitHub, PATH).unwrap_err();
    assert!(matches!(error, HostError::Unreachable { .. }), "{error:?}");
    assert!(!format!("{error:?} {} {}", error, error.next()).contains("pa55w0rd"), "{error:?}");
}

#[test]
fn settings_that_cannot_work_are_an_error_without_their_secrets() {
    let new = |settings: &HttpSettings| Http::new(settings, |_| (), || NOW).unwrap_err();
    let proxy = Some("nonsense://me:pass@h:x".to_owned());
    let error = new(&HttpSettings { proxy, ..settings() });
    assert!(
        error.what().contains("HTTPS_PROXY") && !format!("{error:?}").contains("pass"),
        "{error:?}"
    );
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty.pem");
    for (path, why) in [(&dir.path().join("missing"), "No such file"), (&empty, "no certificate")] {
        std::fs::write(&empty, "nothing").unwrap();
        let certificates = Some(path.to_string_lossy().into_owned());
        let error = new(&HttpSettings { certificates, ..settings() });
        assert!(error.what().contains(why) && error.what().contains("SSL_CERT_FILE"), "{error}");
    }
}
